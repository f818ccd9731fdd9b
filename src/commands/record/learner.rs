//! Learns unloaded latencies while samples are recorded. A thread of its own keeps a file of saved baselines up to date, so
//! that neither the analysis nor the disk with the file delays a sample.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{
    Receiver, RecvTimeoutError, SendError, Sender, SyncSender, channel, sync_channel,
};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, Scope};
use std::time::Duration;

use anyhow::{Context, Result};

use super::OPEN_PATIENCE;
use crate::baselines::SavedBaselines;
use crate::clock::RealClock;
use crate::commands::baseline_file::{read_replaceable_baselines, write_baselines};
use crate::counters::Sample;
use crate::intervals::{BaselineStore, DeviceSelection, Intervals, NextInterval};
use crate::source::Input;

/// The most samples that may wait to be learned from. Further ones are left out, which makes an interval longer.
const MAX_WAITING: usize = 64;

const UPDATE_INTERVAL_S: f64 = 600.0;
/// Seconds after which everything is learned again: a device may become slower or faster over time.
const FORGET_AFTER_S: f64 = 24.0 * 3600.0;

/// The file in which baselines are saved.
struct BaselineFile {
    path: PathBuf,
    baselines: SavedBaselines,
}

impl BaselineFile {
    /// Reads the file, if it exists, and checks that it can be written.
    ///
    /// # Errors
    /// If it cannot be written, or holds anything else.
    fn open(path: &Path) -> Result<Self> {
        let file = Self {
            path: path.to_owned(),
            baselines: read_replaceable_baselines(path)?,
        };
        write_baselines(&file.path, &file.baselines)?;
        Ok(file)
    }

    /// Adds the learned baselines to the file.
    fn update(&mut self, learned: &SavedBaselines) -> Result<()> {
        let before = self.baselines.clone();
        self.baselines.update(learned);
        if self.baselines == before {
            Ok(())
        } else {
            write_baselines(&self.path, &self.baselines)
        }
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
        let input = Input {
            root: root.to_owned(),
            interval: Some(interval),
            ..Input::default()
        };
        // Idle devices are included: idle intervals show that a device is unloaded.
        let selection = DeviceSelection {
            all: devices.is_empty(),
            devices,
            ..DeviceSelection::default()
        };
        let (hang_up, ended) = channel();
        let (open_error, open_errors) = channel();
        let learn = move || {
            let _hang_up: Sender<()> = hang_up;
            let learned = match BaselineFile::open(path) {
                Ok(mut file) => {
                    // Says that the file is open.
                    drop(open_error);
                    let clock = RealClock::new(None);
                    let intervals =
                        Intervals::receive(&input, &selection, baselines, received, &clock);
                    intervals.and_then(|intervals| learn_baselines(intervals, &mut file, problem))
                }
                Err(error) => match open_error.send(error) {
                    Ok(()) => Ok(()),
                    // Sampling has begun.
                    Err(SendError(error)) => Err(error),
                },
            };
            if let Err(error) = learned {
                report(problem, &error);
            }
        };
        let thread = Builder::new().name("learner".to_owned());
        thread
            .spawn_scoped(scope, learn)
            .context("cannot start to learn baselines")?;
        if let Ok(error) = open_errors.recv_timeout(OPEN_PATIENCE) {
            return Err(error);
        }
        Ok(Self {
            samples: Some(samples),
            ended,
        })
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

/// Learns the baselines of devices from their quiet intervals, and saves them every ten minutes and at the end.
///
/// # Errors
/// When the source cannot be read.
fn learn_baselines(
    mut intervals: Intervals<'_>,
    file: &mut BaselineFile,
    problem: &Mutex<Option<String>>,
) -> Result<()> {
    if !intervals.start(&mut |_| {})? {
        return Ok(());
    }
    let mut since_update_s = 0.0;
    let mut since_start_s = 0.0;
    loop {
        let is_over = match intervals.next(&mut |_| {})? {
            NextInterval::Rows(rows) => {
                since_update_s += rows.header.elapsed_s;
                since_start_s += rows.header.elapsed_s;
                false
            }
            NextInterval::Break => false,
            NextInterval::End | NextInterval::Signal(_) => true,
        };
        if !is_over && since_update_s < UPDATE_INTERVAL_S {
            continue;
        }
        since_update_s = 0.0;
        if let Err(error) = file.update(&intervals.learned_baselines()) {
            report(problem, &error);
        }
        if is_over {
            return Ok(());
        }
        if since_start_s >= FORGET_AFTER_S {
            since_start_s = 0.0;
            intervals.forget_devices();
        }
    }
}
