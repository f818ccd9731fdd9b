//! Exports of the time that is shown: as a recording, and as a report.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use jiff::Timestamp;

use super::super::options::{Host, RangeOptions};
use super::super::report::{Report, base_name};
use super::recording::{new_path, write_history};
use crate::clock::{Clock, RealClock};
use crate::console::RunContext;
use crate::exit::Exit;
use crate::screen::{AppOptions, ExportKind, SampleTexts};
use crate::source::copy_capture_range;

/// The time between checks of the exports that the end of the program waits for.
const END_TICK: Duration = Duration::from_millis(50);

/// A range of time: the times of its first and its last sample.
type Range = (Timestamp, Timestamp);

/// An export that has ended: its file, and a message.
type Ended = (PathBuf, String);

/// The source of an export: a recording, or the running system.
#[derive(Clone)]
pub(super) struct ExportSource {
    /// The files of the capture that is shown; none for the running system.
    pub(super) files: Vec<PathBuf>,
    /// The report, except its range and the file that it is about.
    pub(super) report: Report,
    pub(super) host: Host,
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
        history: SampleTexts,
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
                ExportKind::Recording => write_samples(&path, range, history, &source.files),
                ExportKind::Report => write_report(&path, &base, range, history, &source),
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
fn write_samples(path: &Path, range: Range, history: SampleTexts, files: &[PathBuf]) -> Result<String> {
    let history = history.within(range);
    let mut samples = history.len();
    if files.is_empty() && samples < 2 {
        bail!("there are no samples of this time");
    }
    let mut file = write_history(path, &history)?;
    for capture in files {
        samples += copy_capture_range(capture, range, |text| file.write(text).map(drop))?;
    }
    file.finish()?;
    file.sync()?;
    Ok(format!("exported {samples} samples to {}", path.display()))
}

/// Writes a report of a range of time. For the running system, it writes a recording first, which it keeps, and reports
/// on that. Returns a message.
fn write_report(
    path: &Path,
    base_name: &str,
    range: Range,
    history: SampleTexts,
    source: &ExportSource,
) -> Result<String> {
    let mut report = Report { output: Some(path.to_owned()), ..source.report.clone() };
    let mut message = format!("exported a report to {}", path.display());
    if source.files.is_empty() {
        let recording = new_path(base_name, "gz", &[])?;
        write_samples(&recording, range, history, &[])?;
        message += &format!(", its samples to {}", recording.display());
        report.source.from = Some(recording);
    } else {
        report.source.range = RangeOptions::between(range);
    }
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
    match report.run(&source.host, &mut context)? {
        Exit::Success => Ok(message),
        _ => bail!("{}", String::from_utf8_lossy(&err).trim()),
    }
}
