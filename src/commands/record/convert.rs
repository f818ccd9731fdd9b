//! Converts a capture of any form into a recording, whose samples begin with `TS` lines; and keeps a file of saved baselines
//! up to date during a recording, in a separate thread, so that neither the analysis nor the disk with the file delays a
//! sample.

use std::fs::canonicalize;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, Scope};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::super::analyze::{read_replaceable_baselines, write_baselines};
use super::{OPEN_PATIENCE, Record};
use crate::analysis::SavedBaselines;
use crate::capture::proc_files::cpu_line;
use crate::capture::{
    CaptureWarning, RecordFilter, RecordingHeader, SampleText, write_header, write_line, write_sample,
};
use crate::clock::RealClock;
use crate::console::{RunContext, Warnings, require_text};
use crate::counters::Sample;
use crate::exit::{Exit, NoData};
use crate::intervals::{BaselineStore, DeviceSelection, Input, Intervals, learn_baselines};
use crate::sanitize::sanitize;
use crate::sink::{Destination, OutputError};
use crate::source::{Replay, copy_capture_range};

/// The least number of bytes of a file that are written at a time.
const BLOCK_BYTES: usize = 256 * 1024;

impl Record {
    /// Writes the samples of the capture `from` to the file, whose name in messages is `name`.
    ///
    /// # Errors
    /// If the capture cannot be read, or the file cannot be written. The samples before that point are in the file.
    pub(super) fn convert(&self, from: &Path, name: &str, context: &mut RunContext<'_>) -> Result<Exit> {
        if canonicalize(from).is_ok_and(|from| canonicalize(&self.file).is_ok_and(|file| file == from)) {
            bail!("{name} is the capture itself; convert it to another file");
        }
        let zone = context.time_zone();
        let mut replay = Replay::open(from, self.every, context.clock)?;
        let from_name = sanitize(replay.name()).into_owned();
        let mut warnings = Warnings::about(&from_name);
        let mut first = Sample::default();
        let found = replay.next(&Sample::default(), &mut first);
        warnings.warn_all(&replay.take_warnings(), context.err);
        // Nothing is written before the capture has proved to be one.
        if !found? {
            require_text(&replay)?;
            return Err(NoData(format!("{from_name}: {}", replay.no_samples_reason())).into());
        }
        let mut destination = self.open_destination(None, name, &mut *context.out)?;
        let mut write = |text: &[u8]| match &mut destination {
            Destination::File(file) => file.write(text).map(drop),
            Destination::Output(out) => out.write_all(text).and_then(|()| out.flush()).context(OutputError),
        };
        let written = match replay.header() {
            Some(_) if !replay.state().is_log && replay.is_file() => {
                copy_capture_range(from, (Timestamp::MIN, Timestamp::MAX), &mut write).map(drop)
            }
            Some(_) if !replay.state().is_log => {
                bail!("{from_name}: this is a recording already; save it as it is")
            }
            _ => {
                let mut on_warnings = |found: &[CaptureWarning]| warnings.warn_all(found, context.err);
                write_samples(first, &mut replay, &zone, &mut on_warnings, &mut write)
            }
        };
        if let Destination::File(file) = &mut destination {
            file.remove_if_empty();
            file.finish()?;
            file.sync()?;
        }
        warnings.finish(context.err);
        written.map(|()| Exit::Success)
    }
}

/// Writes the sample `first` and those that follow it.
fn write_samples(
    first: Sample,
    replay: &mut Replay<'_>,
    zone: &TimeZone,
    on_warnings: &mut dyn FnMut(&[CaptureWarning]),
    write: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let (mut previous, mut sample) = (Sample::default(), first);
    let mut text = Vec::new();
    let mut last_header = None;
    loop {
        // No interval spans two boots.
        let boot_id = Some(sample.segment.to_string());
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let header = replay.header().map(|log| RecordingHeader { version, boot_id, ..log.clone() });
        if header != last_header {
            header.iter().for_each(|header| write_header(header, &mut text));
            last_header = header;
        }
        append_sample(&sample, zone, &mut text);
        // A stream may end at any time.
        if text.len() >= BLOCK_BYTES || !replay.is_file() {
            write(&std::mem::take(&mut text))?;
        }
        std::mem::swap(&mut previous, &mut sample);
        let found = replay.next(&previous, &mut sample);
        on_warnings(&replay.take_warnings());
        let is_other = replay.header().is_some() && !replay.state().is_log;
        if !matches!(found, Ok(true)) || is_other {
            write(&text)?;
            if is_other {
                bail!(
                    "{}: a recording follows other samples; save it to a file of its own",
                    sanitize(replay.name())
                );
            }
            return found.map(drop);
        }
    }
}

/// Appends a sample as it is in a recording.
fn append_sample(sample: &Sample, zone: &TimeZone, out: &mut Vec<u8>) {
    let mut diskstats = Vec::new();
    sample.devices.iter().for_each(|device| write_line(device, &mut diskstats));
    let cpu = sample.cpu.as_ref().map(cpu_line).unwrap_or_default();
    let text = SampleText {
        at: sample.at,
        diskstats: &diskstats,
        cpu: cpu.as_bytes(),
        host: sample.host,
        missed_samples: sample.missed_samples,
    };
    write_sample(&text, &RecordFilter::default(), zone, out);
}

/// The most samples that may wait to be learned from. Further ones are left out, which makes an interval longer.
const MAX_WAITING: usize = 64;

/// The file in which baselines are saved.
struct BaselineFile {
    path: PathBuf,
    baselines: SavedBaselines,
}

impl BaselineFile {
    /// Reads the file, if it exists, and checks that it can be written.
    ///
    /// # Errors
    /// If it cannot be written, or is not a saved baseline.
    fn open(path: &Path) -> Result<Self> {
        let name = || sanitize(&path.display().to_string()).into_owned();
        let mut baselines = SavedBaselines::default();
        if let Some(text) = read_replaceable_baselines(path)? {
            baselines =
                serde_json::from_str(&text).with_context(|| format!("{} is not a saved baseline", name()))?;
            baselines.retain_possible();
        }
        let file = Self { path: path.to_owned(), baselines };
        write_baselines(&file.path, &file.baselines)?;
        Ok(file)
    }

    /// Adds the learned baselines to the file.
    fn update(&mut self, learned: &SavedBaselines) -> Result<()> {
        let before = self.baselines.clone();
        self.baselines.update(learned);
        if self.baselines == before { Ok(()) } else { write_baselines(&self.path, &self.baselines) }
    }
}

/// The sampling thread's handle of the learning thread.
pub(super) struct Learner {
    /// `None` while the thread saves its baselines for the last time.
    pub(super) samples: Option<SyncSender<Sample>>,
    ended: Receiver<()>,
}

impl Learner {
    /// Starts learning the baselines of these devices, by kernel name (all if empty), and saving them in a file.
    /// `baselines` are those already known, which show when a device is loaded. Later errors are stored in `problem`.
    ///
    /// # Errors
    /// If the thread cannot be created, or if the file is soon found to be unusable.
    pub(super) fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        path: &'env Path,
        devices: Vec<String>,
        root: &Path,
        interval: Duration,
        baselines: &'env BaselineStore,
        problem: &'env Mutex<Option<String>>,
    ) -> Result<Self> {
        let (samples, received) = sync_channel(MAX_WAITING);
        let input = Input { root: root.to_owned(), interval: Some(interval), ..Input::default() };
        // Idle devices are included: idle intervals show that a device is unloaded.
        let selection = DeviceSelection { all: devices.is_empty(), devices, ..DeviceSelection::default() };
        let (hang_up, ended) = channel();
        let (opened, failed) = channel();
        let learn = move || {
            let _hang_up: Sender<()> = hang_up;
            let learned = match BaselineFile::open(path) {
                Ok(mut file) => {
                    drop(opened);
                    let clock = RealClock::new(None);
                    let intervals = Intervals::receive(&input, &selection, baselines, received, &clock);
                    intervals.and_then(|mut intervals| {
                        learn_baselines(&mut intervals, &mut |learned| {
                            file.update(learned).unwrap_or_else(|error| report(problem, &error));
                        })
                    })
                }
                // If the receiver is gone, sampling has begun.
                Err(error) => opened.send(error).map_err(|unsent| unsent.0),
            };
            if let Err(error) = learned {
                report(problem, &error);
            }
        };
        let thread = Builder::new().name("learner".to_owned());
        thread.spawn_scoped(scope, learn).context("cannot start to learn baselines")?;
        if let Ok(error) = failed.recv_timeout(OPEN_PATIENCE) {
            return Err(error);
        }
        Ok(Self { samples: Some(samples), ended })
    }

    pub(super) fn push(&self, sample: &Sample) {
        // If a sample is left out, the next interval is longer.
        if let Some(samples) = &self.samples {
            let _ = samples.try_send(sample.clone());
        }
    }

    /// Waits for the end of the thread, at most for `limit`. Returns whether it has ended.
    pub(super) fn wait_until_done(&self, limit: Duration) -> bool {
        // Nothing is ever sent: the channel is disconnected when the thread ends.
        self.ended.recv_timeout(limit) == Err(RecvTimeoutError::Disconnected)
    }
}

fn report(problem: &Mutex<Option<String>>, error: &anyhow::Error) {
    *problem.lock().unwrap_or_else(PoisonError::into_inner) = Some(format!("{error:#}"));
}
