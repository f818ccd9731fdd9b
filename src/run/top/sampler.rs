//! The thread that takes the samples, so that sampling waits neither for the terminal nor for a disk.

use std::io::Write;
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use jiff::tz::TimeZone;

use crate::capture::RecordFilter;
use crate::clock::{Clock, StoppableClock};
use crate::counters::{DeviceNumber, Sample};
use crate::intervals::{BaselineStore, Detail, Event, Input, Intervals, NextInterval};
use crate::plan::Top;
use crate::run::latency::trace_changed_devices;
use crate::run::recorder::Recorder;
use crate::run::warnings::Warnings;
use crate::run::{end_reason, missing_data};
use crate::screen::{Frame, FrameEncoder, LIVE_HISTORY_S, MAX_TEXT_BYTES, SampleTexts, is_trouble};
use crate::sink::{SampleBlock, WriteQueue};
use crate::source::{Live, NoBlockDevices, TraceError, TraceOptions, Tracer};
use crate::topology::Topology;

/// The most intervals that may wait for the screen, as while a terminal is stopped: an hour.
const MAX_WAITING: usize = 3600;
/// The number of intervals of a capture between two lists of events.
const INTERVALS_PER_LIST: u64 = 500;

/// The mean number of listed events per interval of the running system: a list has all events, so it is sent less often
/// if there are many.
const EVENTS_PER_INTERVAL: u64 = 200;

/// The longest wait for the sampling thread to notice that it must end.
const MAX_END_WAIT: Duration = Duration::from_secs(5);
/// The longest wait until the kernel has set up or removed a trace: for each trigger, it waits for all CPUs.
const MAX_TRACE_WAIT: Duration = Duration::from_secs(60);

/// A message of the sampling thread to the screen.
pub(super) enum Update {
    /// The first sample has been taken.
    Started(Started),
    /// An interval.
    Frame(Box<Frame>),
    /// The events so far.
    Events(Vec<Event>),
    /// The fraction of the capture that has been read.
    Progress(f64),
    /// The kernel begins to set up or remove a trace of requests, which takes a while.
    TraceChanges,
    /// Requests can no longer be traced, for this reason.
    TraceFailed(String),
    /// There are no more intervals, for this reason; `None` at a normal end.
    Ended(Option<anyhow::Error>),
}

/// The properties of the source, known with the first sample.
#[derive(Debug, Default)]
pub(super) struct Started {
    /// The name of the host that was recorded.
    pub(super) host: Option<String>,
    /// The requested time between intervals.
    pub(super) interval: Option<Duration>,
}

/// The state that the sampling thread and the screen share.
#[derive(Default)]
pub(super) struct Shared {
    /// True if cgroups and processes are to be scanned.
    pub(super) wants_io_scans: AtomicBool,
    /// True if single requests are to be traced.
    pub(super) wants_trace: AtomicBool,
    texts: Mutex<Option<SampleTexts>>,
    /// The queue of the recording in progress.
    queue: Mutex<Option<Arc<WriteQueue>>>,
    /// Warnings and other messages, to be printed after the screen is closed.
    messages: Mutex<Vec<u8>>,
}

impl Shared {
    /// The samples so far as text; `None` before the first, and for a capture.
    pub(super) fn texts(&self) -> MutexGuard<'_, Option<SampleTexts>> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes all further samples to the queue of a recording, or to none. Each sample is either in the texts before
    /// this call or in the queue.
    pub(super) fn set_queue(&self, queue: Option<Arc<WriteQueue>>) {
        *self.queue.lock().unwrap_or_else(PoisonError::into_inner) = queue;
    }

    /// Takes the messages so far.
    pub(super) fn take_messages(&self) -> Vec<u8> {
        std::mem::take(&mut self.messages.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn say(&self, message: &dyn std::fmt::Display) {
        // Writing to memory cannot fail.
        let mut messages = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = writeln!(messages, "blkstat: {message}");
    }

    /// Stores a sample for recordings that begin in the past, and passes it to the one in progress.
    fn push_sample(&self, block: SampleBlock) {
        let mut texts = self.texts();
        let texts = texts.get_or_insert_with(|| SampleTexts::new(LIVE_HISTORY_S, MAX_TEXT_BYTES));
        let mut text = block.notes.clone();
        if let Some(scan) = &block.scan {
            scan.write(&mut text);
        }
        text.extend_from_slice(&block.text);
        texts.push(block.at, &block.header, &text);
        if let Some(queue) = &*self.queue.lock().unwrap_or_else(PoisonError::into_inner) {
            queue.push(block);
        }
    }
}

/// The running thread. It ends when this is dropped. If requests may be traced, dropping waits for the end, because no
/// trace may remain in the kernel.
pub(super) struct Sampler {
    /// Its updates.
    pub(super) updates: Receiver<Update>,
    /// Becomes readable when there are updates.
    pub(super) wake: UnixStream,
    /// The state shared with the thread.
    pub(super) shared: Arc<Shared>,
    stop: Option<UnixStream>,
    may_trace: bool,
}

impl Drop for Sampler {
    fn drop(&mut self) {
        self.stop = None;
        // The wait is limited, because a thread that waits for a disk might never end. When it ends, after its tracer,
        // the channel is disconnected.
        let mut wait = MAX_END_WAIT;
        while self.may_trace
            && let Ok(update) = self.updates.recv_timeout(wait)
        {
            wait = if matches!(update, Update::TraceChanges) { MAX_TRACE_WAIT } else { MAX_END_WAIT };
        }
    }
}

impl Sampler {
    /// Starts the thread.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(super) fn start(plan: &Top, baselines: BaselineStore, zone: TimeZone) -> Result<Self> {
        let (clock, stop) = StoppableClock::new().context("cannot start to sample")?;
        let (wake, waker) = UnixStream::pair().context("cannot start to sample")?;
        wake.set_nonblocking(true)?;
        waker.set_nonblocking(true)?;
        let (sender, updates) = sync_channel(MAX_WAITING);
        let shared = Arc::new(Shared::default());
        let may_trace = plan.trace.is_some();
        let (plan, thread_shared) = (plan.clone(), Arc::clone(&shared));
        let run = move || {
            let outlet = Outlet { sender, waker, is_live: plan.input.from.is_none() };
            let ended = sample(&plan, &baselines, &zone, &clock, &thread_shared, &outlet);
            outlet.send(Update::Ended(ended.err()));
        };
        thread::Builder::new()
            .name("blkstat-sample".to_owned())
            .spawn(run)
            .context("cannot start to sample")?;
        Ok(Self { updates, wake, shared, stop: Some(stop), may_trace })
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
            Update::Frame(_) if self.is_live => {
                !matches!(self.sender.try_send(update), Err(TrySendError::Disconnected(_)))
            }
            update => self.sender.send(update).is_ok(),
        };
        // A full pipe also wakes the screen.
        let _ = (&self.waker).write(&[0]);
        is_open
    }
}

/// Takes samples until the capture or the screen ends.
fn sample(
    plan: &Top,
    baselines: &BaselineStore,
    zone: &TimeZone,
    clock: &StoppableClock,
    shared: &Shared,
    outlet: &Outlet,
) -> Result<()> {
    let input = Input { realtime: false, ..plan.input.clone() };
    let mut intervals = Intervals::open(&input, &plan.selection, Detail::Report, baselines, clock)?;
    let mut warnings = Warnings::about(&intervals.source_name());
    let interval = intervals.requested_interval();
    let filter = RecordFilter::default();
    let mut recorder =
        Recorder::new(&plan.input.root, filter, baselines, interval.unwrap_or_default(), zone.clone());
    intervals.tap(Box::new(move |sample: &mut Sample, live: &Live<'_>| {
        shared.push_sample(recorder.block(sample, live, &mut |_| {}));
    }));
    let mut text = Vec::new();
    let mut tracing = Tracing::new(plan, clock)?;
    let outcome = follow(&mut intervals, &mut tracing, clock, shared, outlet, &mut warnings, &mut text);
    if tracing.is_on {
        end_trace(&mut intervals, outlet);
    }
    warnings.finish(&mut text);
    shared.messages.lock().unwrap_or_else(PoisonError::into_inner).append(&mut text);
    outcome
}

fn follow(
    intervals: &mut Intervals<'_>,
    tracing: &mut Tracing<'_>,
    clock: &StoppableClock,
    shared: &Shared,
    outlet: &Outlet,
    warnings: &mut Warnings,
    text: &mut Vec<u8>,
) -> Result<()> {
    if !intervals.start(&mut |warning| warnings.warn_capture(warning, text))? {
        return no_data(intervals);
    }
    if let Some(not_found) = intervals.not_found().filter(|_| intervals.is_live()) {
        return Err(NoData(not_found.to_string()).into());
    }
    if let Some(message) = intervals.mismatched_baselines() {
        shared.say(&message);
    }
    let started = Started { host: intervals.host().name, interval: intervals.requested_interval() };
    outlet.send(Update::Started(started));
    let mut frames = Frames::default();
    let mut count = 0;
    // For the running system, the interval from which the next list is sent.
    let mut next_list = 0;
    loop {
        intervals.set_io_scans(shared.wants_io_scans.load(Ordering::Relaxed), clock)?;
        tracing.update(intervals, shared, outlet, clock);
        frames.update_topology(intervals);
        let frame = match intervals.next(&mut |warning| warnings.warn_capture(warning, text))? {
            NextInterval::Rows(rows) if rows.has_found_any => frames.encode(rows),
            NextInterval::Rows(_) => continue,
            NextInterval::Break => {
                frames.encoder.interrupt();
                continue;
            }
            NextInterval::End => break,
            NextInterval::Signal(_) => return Ok(()),
        };
        count += 1;
        frames.has_trouble |= (0..frame.len()).any(|row| is_trouble(frame.verdict(row)));
        let is_list_due = match intervals.is_live() {
            true => frames.has_trouble && count >= next_list,
            false => count % INTERVALS_PER_LIST == 0,
        };
        if !outlet.send(Update::Frame(Box::new(frame))) || clock.signal().is_some() {
            return Ok(());
        }
        if is_list_due {
            outlet.send(Update::Events(frames.events()));
            frames.has_trouble = intervals.is_live() && frames.is_any_ongoing;
            next_list = count + (frames.events as u64 / EVENTS_PER_INTERVAL).max(1);
        }
        if let Some(progress) = intervals.progress().filter(|_| count % 50 == 0) {
            outlet.send(Update::Progress(progress));
        }
    }
    outlet.send(Update::Events(frames.events()));
    if count == 0 { no_data(intervals) } else { Ok(()) }
}

fn end_trace(intervals: &mut Intervals<'_>, outlet: &Outlet) {
    outlet.send(Update::TraceChanges);
    intervals.set_tracer(None);
}

/// Starts and stops tracing requests as the screen wants it.
struct Tracing<'a> {
    plan: &'a Top,
    is_on: bool,
    /// The devices whose requests are traced; all if empty.
    devices: Vec<DeviceNumber>,
    /// True if tracing could not be started; it is not tried again.
    has_failed: bool,
}

impl<'a> Tracing<'a> {
    /// Tests whether requests can be traced, if the screen may want it.
    ///
    /// # Errors
    /// The reason why they cannot.
    fn new(plan: &'a Top, clock: &StoppableClock) -> Result<Self> {
        let tracing = Self { plan, is_on: false, devices: Vec::new(), has_failed: false };
        if plan.trace.is_some() {
            drop(tracing.start(Vec::new(), clock)?);
        }
        Ok(tracing)
    }

    fn update(
        &mut self,
        intervals: &mut Intervals<'_>,
        shared: &Shared,
        outlet: &Outlet,
        clock: &StoppableClock,
    ) {
        let is_wanted = shared.wants_trace.load(Ordering::Relaxed) && !self.has_failed;
        let is_restricted = self.plan.selection.names_devices();
        if is_wanted == self.is_on {
            if self.is_on && is_restricted {
                trace_changed_devices(intervals, &mut self.devices);
            }
            return;
        }
        self.is_on = is_wanted;
        if !is_wanted {
            end_trace(intervals, outlet);
            return;
        }
        outlet.send(Update::TraceChanges);
        self.devices = if is_restricted { intervals.selected_disk_numbers() } else { Vec::new() };
        match self.start(self.devices.clone(), clock) {
            Ok(tracer) => intervals.set_tracer(Some(tracer)),
            Err(error) => {
                (self.is_on, self.has_failed) = (false, true);
                shared.say(&error);
                outlet.send(Update::TraceFailed(error.to_string()));
            }
        }
    }

    fn start(&self, devices: Vec<DeviceNumber>, clock: &StoppableClock) -> Result<Tracer, TraceError> {
        let max_overhead = self.plan.trace.unwrap_or_default();
        let options = TraceOptions {
            latencies: true,
            queued: false,
            users: true,
            devices,
            user_devices: Vec::new(),
            max_overhead,
        };
        Tracer::start(&self.plan.input.root, options, clock)
    }
}

/// Turns intervals into frames.
#[derive(Default)]
struct Frames {
    encoder: FrameEncoder,
    topology: Arc<Topology>,
    revision: Option<u64>,
    /// True if devices are in trouble or recently were.
    has_trouble: bool,
    is_any_ongoing: bool,
    /// The number of events in the last list.
    events: usize,
}

impl Frames {
    fn update_topology(&mut self, intervals: &Intervals<'_>) {
        if self.revision != Some(intervals.topology_revision()) {
            self.revision = Some(intervals.topology_revision());
            if *self.topology != *intervals.topology() {
                self.topology = Arc::new(intervals.topology().clone());
            }
        }
    }

    fn encode(&mut self, rows: crate::intervals::IntervalRows<'_>) -> Frame {
        self.encoder.encode(rows, Arc::clone(&self.topology))
    }

    fn events(&mut self) -> Vec<Event> {
        let list = self.encoder.events().list;
        self.events = list.len();
        self.is_any_ongoing = list.iter().any(|event| event.is_ongoing);
        list
    }
}

/// The error of a source without data.
#[derive(Debug)]
pub(super) struct NoData(String);

impl std::fmt::Display for NoData {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoData {}

/// Returns the error about a source without intervals.
fn no_data(intervals: &Intervals<'_>) -> Result<()> {
    match missing_data(intervals)? {
        Some(reason) => Err(NoData(end_reason(&reason, intervals)).into()),
        None => bail!("no intervals"),
    }
}

/// Returns whether an error is about missing data rather than about a file.
pub(super) fn is_no_data(error: &anyhow::Error) -> bool {
    error.is::<NoData>() || error.is::<NoBlockDevices>()
}
