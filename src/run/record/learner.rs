//! Keeps a file of saved baselines up to date during a recording, in a thread of its own: neither the analysis nor the disk
//! with the file delays a sample.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{Builder, Scope};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::OPEN_PATIENCE;
use crate::analysis::SavedBaselines;
use crate::clock::RealClock;
use crate::counters::Sample;
use crate::intervals::{BaselineStore, DeviceSelection, Input, Intervals, learn_baselines};
use crate::plan::Record;
use crate::sanitize::sanitize;
use crate::sink::write_atomically;
use crate::source::read_json_object;

/// The most samples that wait to be learned from. Further ones are left out, which makes an interval longer.
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
        if path.exists() {
            let Some(text) = read_json_object(path)? else {
                bail!("{} exists and is not a saved baseline", name());
            };
            baselines =
                serde_json::from_str(&text).with_context(|| format!("{} is not a saved baseline", name()))?;
            baselines.retain_possible();
        }
        let file = Self { path: path.to_owned(), baselines };
        file.write()?;
        Ok(file)
    }

    /// Adds what was learned to the file.
    fn update(&mut self, learned: &SavedBaselines) -> Result<()> {
        let before = self.baselines.clone();
        self.baselines.update(learned);
        if self.baselines == before { Ok(()) } else { self.write() }
    }

    fn write(&self) -> Result<()> {
        let mut text = serde_json::to_vec_pretty(&self.baselines)?;
        text.push(b'\n');
        write_atomically(&self.path, &text)
            .with_context(|| format!("cannot write {}", sanitize(&self.path.display().to_string())))
    }
}

/// The thread that learns, as the thread that samples sees it.
pub(super) struct Learner {
    samples: SyncSender<Sample>,
    ended: Receiver<()>,
}

/// A thread that saves what it has learned, and ends.
pub(super) struct EndingLearner {
    ended: Receiver<()>,
}

impl EndingLearner {
    /// Waits for the end, at most for `limit`. Returns whether it was reached.
    pub(super) fn wait_until_done(&self, limit: Duration) -> bool {
        // Nothing is ever sent: the thread hangs up when it ends.
        self.ended.recv_timeout(limit) == Err(RecvTimeoutError::Disconnected)
    }
}

impl Learner {
    /// Starts to learn the baselines of these devices, by kernel name (all if empty), and to save them in a file.
    /// `baselines` are known already, and show when a device is not unloaded. Later errors are put into `problem`.
    ///
    /// # Errors
    /// If the thread cannot be created, or the file cannot be used and that is known soon.
    pub(super) fn start<'scope, 'env>(
        scope: &'scope Scope<'scope, 'env>,
        path: &'env Path,
        devices: Vec<String>,
        plan: &'env Record,
        interval: Duration,
        baselines: &'env BaselineStore,
        problem: &'env Mutex<Option<String>>,
    ) -> Result<Self> {
        let (samples, received) = sync_channel(MAX_WAITING);
        let input = Input { root: plan.root.clone(), interval: Some(interval), ..Input::default() };
        let (hang_up, ended) = channel();
        let (opened, failed) = channel();
        let learn = move || {
            let _hang_up: Sender<()> = hang_up;
            let learned = match BaselineFile::open(path) {
                Ok(file) => {
                    drop(opened);
                    learn(file, &input, devices, baselines, received, problem)
                }
                // Without a receiver, sampling has begun.
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
        Ok(Self { samples, ended })
    }

    /// Learns from a sample.
    pub(super) fn push(&self, sample: &Sample) {
        // Without it, the next interval is longer.
        let _ = self.samples.try_send(sample.clone());
    }

    /// Makes it save what it has learned, and end.
    pub(super) fn end(self) -> EndingLearner {
        EndingLearner { ended: self.ended }
    }
}

fn learn(
    mut file: BaselineFile,
    input: &Input,
    devices: Vec<String>,
    baselines: &BaselineStore,
    received: Receiver<Sample>,
    problem: &Mutex<Option<String>>,
) -> Result<()> {
    let clock = RealClock::new(None);
    // All: idle intervals show that a device is unloaded.
    let selection = DeviceSelection { all: devices.is_empty(), devices, ..DeviceSelection::default() };
    let mut intervals = Intervals::receive(input, &selection, baselines, received, &clock)?;
    learn_baselines(&mut intervals, &mut |learned| {
        if let Err(error) = file.update(learned) {
            report(problem, &error);
        }
    })
}

fn report(problem: &Mutex<Option<String>>, error: &anyhow::Error) {
    *problem.lock().unwrap_or_else(PoisonError::into_inner) = Some(format!("{error:#}"));
}
