//! Exports of the time that is shown: as a recording, and as a report.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use jiff::Timestamp;

use super::super::options::VerdictOptions;
use super::super::report::PageRequest;
use super::recording::{base_name, new_path, write_history};
use crate::clock::{Clock, RealClock};
use crate::console::RunContext;
use crate::exit::Exit;
use crate::intervals::{DeviceSelection, Input};
use crate::screen::{AppOptions, ExportKind, TextSnapshot};
use crate::sink::{IfExists, RecordingFile};
use crate::source::copy_capture_range;
use crate::time_range::{TimePoint, TimeRange};

/// The time between checks of the exports that the end of the program waits for.
const END_TICK: Duration = Duration::from_millis(50);

/// A range of time: the times of its first and its last sample.
type Range = (Timestamp, Timestamp);

/// An export that has ended: its file, and a message.
type Ended = (PathBuf, String);

/// What is exported, and how a report judges it.
#[derive(Clone)]
pub(super) struct ExportSource {
    /// The capture that is shown; `None` for the running system.
    pub(super) capture: Option<Input>,
    pub(super) selection: DeviceSelection,
    pub(super) verdicts: VerdictOptions,
    pub(super) saved_baselines: Vec<PathBuf>,
    /// The value of the environment variable TZ.
    pub(super) tz: Option<OsString>,
}

/// The exports in progress. Each is written in a thread, because it may take long.
pub(super) struct Exports {
    source: ExportSource,
    sender: Sender<Ended>,
    ended: Receiver<Ended>,
    /// The files that are being written.
    pending: Vec<PathBuf>,
}

impl Exports {
    pub(super) fn new(source: ExportSource) -> Self {
        let (sender, ended) = channel();
        Self { source, sender, ended, pending: Vec::new() }
    }

    /// Starts an export. Returns the name of its file.
    ///
    /// # Errors
    /// If the intervals have no time of day, files of all names exist, or no thread can be started.
    pub(super) fn start(
        &mut self,
        kind: ExportKind,
        range: Option<Range>,
        history: TextSnapshot,
        options: &AppOptions,
    ) -> Result<String> {
        let range = range.context("these intervals have no time of day")?;
        let base = base_name(&options.host, range.0, &options.time_zone);
        let extension = match kind {
            ExportKind::Recording => "gz",
            ExportKind::Report => "html",
        };
        let path = new_path(&base, extension, &self.pending)?;
        let name = path.display().to_string();
        self.pending.push(path.clone());
        let (source, sender) = (self.source.clone(), self.sender.clone());
        let write = move || {
            let written = match kind {
                ExportKind::Recording => write_samples(&path, range, &history, &source),
                ExportKind::Report => write_report(&path, &base, range, &history, &source),
            };
            let message = written.unwrap_or_else(|error| format!("export failed: {error:#}"));
            // The receiver is gone if the program ended without waiting.
            let _ = sender.send((path, message));
        };
        thread::Builder::new()
            .name("blkstat-export".to_owned())
            .spawn(write)
            .context("cannot start to write")?;
        Ok(name)
    }

    /// Takes the message of an export that has ended; `None` if there is none.
    pub(super) fn take_message(&mut self) -> Option<String> {
        let (path, message) = self.ended.try_recv().ok()?;
        self.pending.retain(|pending| *pending != path);
        Some(message)
    }

    /// Waits for the exports in progress, until a signal comes, and prints their messages. Must be called after the
    /// screen is closed.
    pub(super) fn finish(&mut self, clock: &dyn Clock, print: &mut dyn FnMut(&str)) {
        let mut has_said = false;
        loop {
            while let Some(message) = self.take_message() {
                print(&message);
            }
            if self.pending.is_empty() || clock.signal().is_some() {
                return;
            }
            if !std::mem::replace(&mut has_said, true) {
                print("waiting for the export; Ctrl-C abandons it");
            }
            clock.wait_until(clock.monotonic() + END_TICK);
        }
    }
}

/// Writes the samples of a range of time to a new recording. Returns a message.
fn write_samples(path: &Path, range: Range, history: &TextSnapshot, source: &ExportSource) -> Result<String> {
    let name = path.display().to_string();
    let samples = match &source.capture {
        None => {
            let samples = history.samples_in(range) as u64;
            if samples < 2 {
                bail!("there are no samples of this time");
            }
            let mut file = write_history(path, history, Some(range))?;
            file.finish()?;
            file.sync()?;
            samples
        }
        Some(capture) => {
            let mut file = RecordingFile::open(path, &name, IfExists::Refuse, None)?;
            let mut samples = 0;
            for capture in capture.from.iter().chain(&capture.more) {
                samples += copy_capture_range(capture, range, |text| file.write(text).map(drop))?;
            }
            file.finish()?;
            file.sync()?;
            samples
        }
    };
    Ok(format!("exported {samples} samples to {name}"))
}

/// Writes a report of a range of time. For the running system, it writes a recording first, which it keeps, and reports
/// on that. Returns a message.
fn write_report(
    path: &Path,
    base_name: &str,
    range: Range,
    history: &TextSnapshot,
    source: &ExportSource,
) -> Result<String> {
    let (input, recording) = match &source.capture {
        None => {
            let recording = new_path(base_name, "gz", &[])?;
            write_samples(&recording, range, history, source)?;
            (Input { from: Some(recording.clone()), ..Input::default() }, Some(recording))
        }
        Some(capture) => {
            let point = |at: Timestamp| at.to_string().parse::<TimePoint>().ok();
            let range = TimeRange { begin: point(range.0), end: point(range.1), time_zone: None };
            (Input { range, ..capture.clone() }, None)
        }
    };
    run_report(path, input, source)?;
    let name = path.display();
    Ok(match recording {
        Some(recording) => format!("exported a report to {name}, its samples to {}", recording.display()),
        None => format!("exported a report to {name}"),
    })
}

/// Writes a report as the command does.
fn run_report(path: &Path, input: Input, source: &ExportSource) -> Result<()> {
    let page = PageRequest {
        input,
        selection: source.selection.clone(),
        says_name: false,
        output: path,
        force: false,
        verdicts: &source.verdicts,
        saved_baselines: &source.saved_baselines,
    };
    let clock = RealClock::new(None);
    let (mut out, mut err) = (std::io::sink(), Vec::new());
    let mut context = RunContext {
        clock: &clock,
        environment: &|name| source.tz.clone().filter(|_| name == "TZ"),
        out: &mut out,
        err: &mut err,
        is_terminal: false,
        err_is_terminal: false,
        may_lock_memory: false,
    };
    match page.write(&mut context)? {
        Exit::Success => Ok(()),
        _ => bail!("{}", String::from_utf8_lossy(&err).trim()),
    }
}
