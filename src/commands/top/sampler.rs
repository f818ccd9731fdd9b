//! The thread that takes the samples, so that sampling waits neither for the terminal nor for a disk.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::clock::{Clock, RealClock};
use crate::commands::follow::{Observer, Run, follow};
use crate::commands::hindsight::open_view;
use crate::console::RunContext;
use crate::exit::Exit;
use crate::intervals::{BaselineStore, DeviceSelection, IncidentReport, IntervalRows};
use crate::screen::is_trouble;
use crate::signals::{Signals, StopOnDrop};
use crate::source::{Input, SharedInterval};
use crate::topology::Topology;

/// The most intervals that may wait for the screen, as while a terminal is stopped.
const MAX_WAITING: usize = 64;
/// The number of intervals of a capture between two lists of incidents.
const INTERVALS_PER_LIST: u64 = 500;

/// The mean number of listed incidents per interval of the running system: the list is sent less often if there are many.
const INCIDENTS_PER_INTERVAL: u64 = 100;

/// A message of the sampling thread to the screen.
pub(super) enum Update {
    /// The first sample has been taken.
    Started(Started),
    /// An interval, and how its devices are stacked.
    Interval(Box<IntervalRows>, Arc<Topology>),
    Incidents(Box<IncidentReport>),
    /// The fraction of the capture that has been read.
    Progress(f64),
    /// There are no more intervals, for this reason; `None` at a normal end.
    Ended(Option<anyhow::Error>),
}

/// What is known of the source at its first sample.
#[derive(Default)]
pub(super) struct Started {
    /// The name of the host that was recorded.
    pub(super) host: Option<String>,
    pub(super) interval: Option<Duration>,
    /// The interval of the running system, to be changed; `None` for a capture.
    pub(super) shared_interval: Option<SharedInterval>,
}

/// Warnings and other messages of the sampling thread, to be printed after the screen is closed.
#[derive(Default)]
pub(super) struct Messages(Mutex<Vec<u8>>);

impl Messages {
    pub(super) fn take(&self) -> Vec<u8> {
        std::mem::take(&mut self.text())
    }

    fn text(&self) -> MutexGuard<'_, Vec<u8>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps messages.
impl Write for &Messages {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.text().write(text)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// The running thread. It ends when this is dropped.
pub(super) struct Sampler {
    pub(super) updates: Receiver<Update>,
    /// Becomes readable when there are updates.
    pub(super) wake: UnixStream,
    pub(super) messages: Arc<Messages>,
    _stop: StopOnDrop,
}

impl Sampler {
    /// Starts the thread.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(super) fn start(
        input: Input,
        selection: DeviceSelection,
        baselines: BaselineStore,
    ) -> Result<Self> {
        let (signals, stop) = Signals::of_thread().context("cannot start to sample")?;
        let (wake, waker) = UnixStream::pair().context("cannot start to sample")?;
        wake.set_nonblocking(true)?;
        waker.set_nonblocking(true)?;
        let (sender, updates) = sync_channel(MAX_WAITING);
        let messages = Arc::new(Messages::default());
        let thread_messages = Arc::clone(&messages);
        let run = move || {
            let outlet = Outlet {
                sender,
                waker,
                is_live: input.from.is_none(),
            };
            let clock = RealClock::new(Some(&signals));
            let ended = sample(
                &input,
                &selection,
                &baselines,
                &clock,
                &thread_messages,
                &outlet,
            );
            outlet.send(Update::Ended(ended.err()));
        };
        let builder = thread::Builder::new().name("blkstat-sample".to_owned());
        builder.spawn(run).context("cannot start to sample")?;
        Ok(Self {
            updates,
            wake,
            messages,
            _stop: stop,
        })
    }

    /// What is left of a sampler whose thread panicked.
    #[cfg(test)]
    pub(super) fn that_panicked() -> Self {
        let (_, stop) = Signals::of_thread().unwrap();
        let (wake, _) = UnixStream::pair().unwrap();
        let (_, updates) = sync_channel(1);
        Self {
            updates,
            wake,
            messages: Arc::default(),
            _stop: stop,
        }
    }
}

/// Sends updates and wakes the screen.
struct Outlet {
    sender: SyncSender<Update>,
    waker: UnixStream,
    is_live: bool,
}

impl Outlet {
    /// Sends an update. Returns `false` once there is no receiver. While a terminal is stopped for long, intervals of
    /// the running system are left out; a capture waits.
    fn send(&self, update: Update) -> bool {
        let is_open = match update {
            Update::Interval(..) if self.is_live => !matches!(
                self.sender.try_send(update),
                Err(TrySendError::Disconnected(_))
            ),
            update => self.sender.send(update).is_ok(),
        };
        // A full pipe also wakes the screen.
        let _ = (&self.waker).write(&[0]);
        is_open
    }
}

/// Takes samples until the capture or the screen ends.
fn sample(
    input: &Input,
    selection: &DeviceSelection,
    baselines: &BaselineStore,
    clock: &dyn Clock,
    messages: &Messages,
    outlet: &Outlet,
) -> Result<()> {
    let mut context = RunContext {
        clock,
        environment: &|_| None,
        out: &mut std::io::sink(),
        err: &mut &*messages,
        is_terminal: false,
        err_is_terminal: false,
        may_lock_memory: false,
    };
    let intervals = open_view(input, selection, baselines, &mut context)?;
    let topology = Arc::default();
    let mut feed = Feed {
        outlet,
        topology,
        revision: None,
        has_trouble: false,
        count: 0,
        next_list: 0,
    };
    follow(intervals, &mut feed, &mut context).map(drop)
}

/// Sends the intervals.
struct Feed<'a> {
    outlet: &'a Outlet,
    topology: Arc<Topology>,
    /// The revision of the topology.
    revision: Option<u64>,
    /// True if devices are in trouble or recently were.
    has_trouble: bool,
    count: u64,
    /// For the running system, the interval from which the next list is sent.
    next_list: u64,
}

impl Observer for Feed<'_> {
    fn begin(&mut self, run: &mut Run<'_, '_, '_>) -> Result<()> {
        let started = Started {
            host: run.intervals.host().host,
            interval: run.intervals.requested_interval(),
            shared_interval: run.intervals.shared_interval(),
        };
        self.outlet.send(Update::Started(started));
        Ok(())
    }

    fn observe(&mut self, rows: Option<IntervalRows>, run: &mut Run<'_, '_, '_>) -> Result<()> {
        let Some(rows) = rows.filter(|rows| rows.has_found_any) else {
            return Ok(());
        };
        let Run { intervals, context } = run;
        let revision = Some(intervals.topology_revision);
        if std::mem::replace(&mut self.revision, revision) != revision {
            self.topology = Arc::new(intervals.topology().clone());
        }
        self.count += 1;
        self.has_trouble |= rows
            .devices
            .iter()
            .any(|device| is_trouble(device.verdict()));
        let is_list_due = match intervals.is_live() {
            true => self.has_trouble && self.count >= self.next_list,
            false => self.count.is_multiple_of(INTERVALS_PER_LIST),
        };
        let update = Update::Interval(Box::new(rows), Arc::clone(&self.topology));
        if !self.outlet.send(update) || context.clock.signal().is_some() {
            bail!("the screen was closed");
        }
        if is_list_due {
            let incidents = intervals.incidents();
            self.has_trouble =
                intervals.is_live() && incidents.list.iter().any(|told| told.is_ongoing);
            let count = incidents.list.len() as u64;
            self.next_list = self.count + (count / INCIDENTS_PER_INTERVAL).max(1);
            self.outlet.send(Update::Incidents(Box::new(incidents)));
        }
        if let Some(progress) = intervals
            .progress()
            .filter(|_| self.count.is_multiple_of(50))
        {
            self.outlet.send(Update::Progress(progress));
        }
        Ok(())
    }

    fn end(&mut self, _: &Result<Exit>, run: &mut Run<'_, '_, '_>) -> Result<()> {
        let incidents = Box::new(run.intervals.incidents());
        self.outlet.send(Update::Incidents(incidents));
        Ok(())
    }
}
