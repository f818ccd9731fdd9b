//! The screen of a run: the thread that takes the samples, so that sampling waits neither for the terminal nor for a disk, the
//! one that shows intervals and takes keys, recordings that begin with the history, and exports of the time that is shown as
//! a recording or a report.

use std::ffi::OsString;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf, absolute};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::super::follow::{Observer, Run, follow};
use super::Top;
use crate::capture::RecordFilter;
use crate::clock::{Clock, RealClock, poll_inputs};
use crate::commands::options::{Host, RangeOptions, SourceOptions};
use crate::commands::record::Recorder;
use crate::commands::report::{Report, base_name};
use crate::console::RunContext;
use crate::counters::Sample;
use crate::exit::Exit;
use crate::intervals::{
    BaselineStore, Detail, DeviceSelection, IncidentSummary, Input, IntervalRows, Intervals,
};
use crate::report::layout::sentence_numbers::counted;
use crate::screen::{
    Action, App, AppOptions, BY_VERDICT, Event, InputParser, LIVE_HISTORY_BYTES, LIVE_HISTORY_S,
    MAX_TEXT_BYTES, SampleTexts, Screen, Source, Theme, is_trouble,
};
use crate::signals::{ScreenSignals, Signals, StopOnDrop, suspend_process};
use crate::sink::{Destination, IfExists, RecordingFile, SampleBlock, WriteQueue, write_recording};
use crate::source::{Live, copy_capture_range, read_hostname};
use crate::terminal::{Keyboard, screen_size};
use crate::topology::Topology;

/// The most intervals that may wait for the screen, as while a terminal is stopped: an hour.
const MAX_WAITING: usize = 3600;
/// The number of intervals of a capture between two lists of incidents.
const INTERVALS_PER_LIST: u64 = 500;

/// The mean number of listed events per interval of the running system: a list of incidents is made of all events, so it is
/// sent less often if there are many.
const EVENTS_PER_INTERVAL: u64 = 200;

/// A message of the sampling thread to the screen.
pub(super) enum Update {
    /// The first sample has been taken.
    Started(Started),
    /// An interval, and how its devices are stacked.
    Interval(Box<IntervalRows>, Arc<Topology>),
    Incidents(Vec<IncidentSummary>),
    /// The fraction of the capture that has been read.
    Progress(f64),
    /// There are no more intervals, for this reason; `None` at a normal end.
    Ended(Option<anyhow::Error>),
}

/// The name of the host that was recorded, and the interval of the source.
pub(super) type Started = (Option<String>, Option<Duration>);

/// The state that the sampling thread and the screen share.
pub(super) struct Shared {
    /// The samples so far; none of a capture.
    texts: Mutex<SampleTexts>,
    /// The queue of the recording in progress.
    queue: Mutex<Option<Arc<WriteQueue>>>,
    /// Warnings and other messages, to be printed after the screen is closed.
    messages: Mutex<Vec<u8>>,
}

impl Shared {
    pub(super) fn texts(&self) -> MutexGuard<'_, SampleTexts> {
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Passes all further samples to the queue of a recording, or to none. Each sample is either in the texts before
    /// this call or in the queue.
    pub(super) fn set_queue(&self, queue: Option<Arc<WriteQueue>>) {
        *self.queue.lock().unwrap_or_else(PoisonError::into_inner) = queue;
    }

    pub(super) fn take_messages(&self) -> Vec<u8> {
        std::mem::take(&mut self.messages.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Stores a sample for recordings that begin in the past, and passes it to the one in progress.
    fn push_sample(&self, block: SampleBlock) {
        let mut texts = self.texts();
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

/// Keeps messages.
impl Write for &Shared {
    fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).write(text)
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
    /// The state shared with the thread.
    pub(super) shared: Arc<Shared>,
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
        zone: TimeZone,
    ) -> Result<Self> {
        let (signals, stop) = Signals::of_thread().context("cannot start to sample")?;
        let (wake, waker) = UnixStream::pair().context("cannot start to sample")?;
        wake.set_nonblocking(true)?;
        waker.set_nonblocking(true)?;
        let (sender, updates) = sync_channel(MAX_WAITING);
        let texts = Mutex::new(SampleTexts::new(LIVE_HISTORY_S, MAX_TEXT_BYTES));
        let shared = Arc::new(Shared { texts, queue: Mutex::default(), messages: Mutex::default() });
        let thread_shared = Arc::clone(&shared);
        let run = move || {
            let outlet = Outlet { sender, waker, is_live: input.from.is_none() };
            let clock = RealClock::new(Some(&signals));
            let ended = sample(&input, &selection, &baselines, &zone, &clock, &thread_shared, &outlet);
            outlet.send(Update::Ended(ended.err()));
        };
        thread::Builder::new()
            .name("blkstat-sample".to_owned())
            .spawn(run)
            .context("cannot start to sample")?;
        Ok(Self { updates, wake, shared, _stop: stop })
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
            Update::Interval(..) if self.is_live => {
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
    input: &Input,
    selection: &DeviceSelection,
    baselines: &BaselineStore,
    zone: &TimeZone,
    clock: &dyn Clock,
    shared: &Shared,
    outlet: &Outlet,
) -> Result<()> {
    let mut intervals = Intervals::open(input, selection, Detail::Report, baselines, clock)?;
    let interval = intervals.requested_interval();
    let filter = RecordFilter::default();
    let mut recorder =
        Recorder::new(&input.root, filter, baselines, interval.unwrap_or_default(), zone.clone());
    intervals.tap(Box::new(move |sample: &mut Sample, live: &Live<'_>| {
        shared.push_sample(recorder.block(sample, live, &mut |_| {}));
    }));
    let mut context = RunContext {
        clock,
        environment: &|_| None,
        out: &mut std::io::sink(),
        err: &mut &*shared,
        is_terminal: false,
        err_is_terminal: false,
        may_lock_memory: false,
    };
    let topology = Arc::default();
    let mut feed = Feed { outlet, topology, revision: None, has_trouble: false, count: 0, next_list: 0 };
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
        let (host, interval) = (run.intervals.host().host, run.intervals.requested_interval());
        self.outlet.send(Update::Started((host, interval)));
        Ok(())
    }

    fn observe(&mut self, rows: Option<IntervalRows>, run: &mut Run<'_, '_, '_>) -> Result<()> {
        let Some(rows) = rows.filter(|rows| rows.has_found_any) else { return Ok(()) };
        let Run { intervals, context } = run;
        let revision = Some(intervals.topology_revision);
        if std::mem::replace(&mut self.revision, revision) != revision {
            self.topology = Arc::new(intervals.topology().clone());
        }
        self.count += 1;
        self.has_trouble |= rows.devices.iter().any(|device| is_trouble(device.verdict()));
        let is_list_due = match intervals.is_live() {
            true => self.has_trouble && self.count >= self.next_list,
            false => self.count.is_multiple_of(INTERVALS_PER_LIST),
        };
        let update = Update::Interval(Box::new(rows), Arc::clone(&self.topology));
        if !self.outlet.send(update) || context.clock.signal().is_some() {
            bail!("the screen was closed");
        }
        if is_list_due {
            let events = intervals.events();
            self.has_trouble = intervals.is_live() && events.list.iter().any(|event| event.is_ongoing);
            self.next_list = self.count + (events.list.len() as u64 / EVENTS_PER_INTERVAL).max(1);
            self.outlet.send(Update::Incidents(events.incidents));
        }
        if let Some(progress) = intervals.progress().filter(|_| self.count.is_multiple_of(50)) {
            self.outlet.send(Update::Progress(progress));
        }
        Ok(())
    }

    fn end(&mut self, _: &Result<Exit>, run: &mut Run<'_, '_, '_>) -> Result<()> {
        self.outlet.send(Update::Incidents(run.intervals.events().incidents));
        Ok(())
    }
}

/// The limits for exact intervals of a capture: memory in bytes and time in seconds.
const CAPTURE_HISTORY: (usize, f64) = (256 << 20, f64::INFINITY);
/// The time between checks of the clock, and below while a recording plays.
const TICK: Duration = Duration::from_millis(500);
const PLAY_TICK: Duration = Duration::from_millis(100);
/// The time between checks for a signal before the screen is shown.
const START_TICK: Duration = Duration::from_millis(50);
/// The time after which an escape character is the Esc key, not the beginning of a sequence.
const ESCAPE_PATIENCE: Duration = Duration::from_millis(40);
/// The shortest time between two frames while a capture is read.
const MIN_READING_TICK: Duration = Duration::from_millis(100);
/// SIGHUP, for the exit code.
const SIGHUP: u8 = 1;
/// SIGINT, for the exit code.
const SIGINT: u8 = 2;

/// Shows the screen until the user quits.
///
/// # Errors
/// If there is no terminal, or the source cannot be read.
pub(super) fn run(
    top: &Top,
    (input, selection): (Input, DeviceSelection),
    host: &Host,
    context: &mut RunContext<'_>,
) -> Result<Exit> {
    let variable = context.environment;
    let term = variable("TERM").unwrap_or_default();
    let reason = match term.to_str() {
        _ if !context.is_terminal => Some("standard output is not a terminal"),
        Some("") => Some("TERM is not set"),
        Some("dumb") => Some("TERM is 'dumb'"),
        _ => None,
    };
    if let Some(reason) = reason {
        bail!("cannot show the full screen: {reason}; 'blkstat' prints the same as lines");
    }
    let baselines = top.verdicts.load_baselines(host.baselines_for(&input), context)?;
    let time_zone = context.time_zone();
    let is_live = input.from.is_none();
    let sampler = Sampler::start(input.clone(), selection.clone(), baselines, time_zone.clone())?;
    let ((recorded_host, interval), first) = match wait_for_start(&sampler, is_live, context)? {
        Ok(started) => started,
        Err(exit) => return Ok(exit),
    };
    let options = AppOptions {
        source: input.from.as_ref().map_or(Source::Live, |path| Source::Capture(path.display().to_string())),
        host: recorded_host.or_else(|| read_hostname(&host.root).filter(|_| is_live)).unwrap_or_default(),
        interval_s: interval.or(input.interval).map(|interval| interval.as_secs_f64()),
        time_zone,
        theme: Theme::from_environment(top.ascii, &variable),
        saturation_threshold: top.verdicts.saturation_threshold,
        sort: top.sort.unwrap_or(BY_VERDICT),
        folds: !selection.all,
        plays: top.realtime,
        history: if is_live { (LIVE_HISTORY_BYTES, LIVE_HISTORY_S) } else { CAPTURE_HISTORY },
    };
    let signals = ScreenSignals::catch().context("cannot catch signals")?;
    let Some(screen) = Screen::open(!top.no_mouse).context("cannot write to the terminal")? else {
        bail!("standard input is not a terminal, so no keys can be read; 'blkstat' prints the same as lines");
    };
    // Paths are absolute, so that none is taken for a device.
    let more = input.more.iter().filter_map(|path| absolute(path).ok()?.into_os_string().into_string().ok());
    let report = Report {
        source: SourceOptions {
            operands: more.chain(selection.devices.iter().cloned()).collect(),
            from: input.from.clone(),
            range: RangeOptions::default(),
            capture: top.source.capture.clone(),
        },
        devices_regex: selection.regex,
        output: None,
        force: false,
        no_who: false,
        verdicts: top.verdicts.clone(),
    };
    let mut session = Session {
        app: App::new(options),
        screen,
        sampler,
        signals,
        parser: InputParser::default(),
        recording: None,
        is_memory_locked: false,
        has_sampling_ended: false,
        error: None,
        exports: Exports::new(ExportSource {
            files: input.from.into_iter().chain(input.more).collect(),
            report,
            host: host.clone(),
            tz: variable("TZ"),
        }),
    };
    first.into_iter().for_each(|(rows, topology)| session.app.push(*rows, topology));
    let exit = session.run(context);
    let message = session.end();
    session.exports.finish(context.clock, &mut |message| context.print_error(message));
    let Session { sampler, error, .. } = session;
    let messages = sampler.shared.take_messages();
    // The screen is closed: now print the messages that it could not show.
    let _ = context.err.write_all(&messages);
    if let Some(message) = message {
        context.print_error(message);
    }
    match error {
        Some(error) => Err(error),
        None => exit,
    }
}

/// The start of the sampling, and the first interval of a capture.
type Beginning = (Started, Option<(Box<IntervalRows>, Arc<Topology>)>);

/// Waits for the first sample, or for the first interval of a capture. Returns the exit code of a run that ends before
/// it.
fn wait_for_start(
    sampler: &Sampler,
    is_live: bool,
    context: &mut RunContext<'_>,
) -> Result<Result<Beginning, Exit>> {
    let mut known = None;
    let mut print_messages = || drop(context.err.write_all(&sampler.shared.take_messages()));
    loop {
        match sampler.updates.recv_timeout(START_TICK) {
            Ok(Update::Started(started)) if is_live => {
                print_messages();
                return Ok(Ok((started, None)));
            }
            Ok(Update::Started(started)) => known = Some(started),
            Ok(Update::Interval(rows, topology)) => {
                return Ok(Ok((known.unwrap_or_default(), Some((rows, topology)))));
            }
            Ok(Update::Ended(error)) => {
                print_messages();
                return Err(error.unwrap_or_else(|| anyhow!("no samples")));
            }
            Ok(Update::Incidents(_) | Update::Progress(_)) => {}
            Err(_) => {
                if let Some(signal) = context.clock.signal() {
                    return Ok(Err(Exit::Signal(signal)));
                }
            }
        }
    }
}

/// Panics on Ctrl-X, so that tests can check the state of the terminal afterwards.
#[cfg(debug_assertions)]
#[expect(clippy::panic, reason = "it is what this is for")]
fn panic_on_key(event: &Event) {
    if *event == Event::Key(crate::screen::Key::Ctrl('x')) {
        panic!("Ctrl-X in a debug build");
    }
}

struct Session {
    app: App,
    screen: Screen,
    sampler: Sampler,
    signals: ScreenSignals,
    parser: InputParser,
    recording: Option<Recording>,
    is_memory_locked: bool,
    /// True if the sampling thread has ended, as at the end of a capture.
    has_sampling_ended: bool,
    /// The error that ended the sampling.
    error: Option<anyhow::Error>,
    exports: Exports,
}

impl Session {
    /// Shows intervals and takes keys until the user quits or a signal comes.
    fn run(&mut self, context: &mut RunContext<'_>) -> Result<Exit> {
        loop {
            self.draw(context)?;
            if let Some(exit) = self.wait(context)? {
                return Ok(exit);
            }
            self.take_updates(context);
            self.update_recording();
            if let Some(message) = self.exports.take_message() {
                self.app.say(message);
            }
            if self.signals.take_stop() {
                self.suspend()?;
            }
        }
    }

    fn draw(&mut self, context: &RunContext<'_>) -> Result<()> {
        let (columns, rows) = screen_size().unwrap_or((80, 24));
        let limit = |length: usize| u16::try_from(length).unwrap_or(u16::MAX).min(1000);
        let area = Rect { x: 0, y: 0, width: limit(columns), height: limit(rows) };
        self.app.tick(context.clock.monotonic().as_secs_f64());
        let mut buffer = Buffer::empty(area);
        self.app.draw(&mut buffer);
        self.screen.show(&buffer).context("cannot write to the terminal")
    }

    /// Waits for something to do. Returns the exit code if the program must end.
    fn wait(&mut self, context: &mut RunContext<'_>) -> Result<Option<Exit>> {
        let limit = match () {
            () if self.parser.is_waiting() => ESCAPE_PATIENCE,
            () if self.app.play_speed().is_some() => PLAY_TICK,
            () => TICK,
        };
        let input = std::io::stdin();
        let wake = (!self.has_sampling_ended).then(|| self.sampler.wake.as_fd());
        let inputs = [Some(input.as_fd()), wake, Some(self.signals.as_fd())];
        let [has_keys, has_updates, has_signals] = poll_inputs(Some(limit), &inputs);
        if let Some(signal) = context.clock.signal() {
            return Ok(Some(Exit::Signal(signal)));
        }
        if self.signals.has_hung_up() {
            return Ok(Some(Exit::Signal(SIGHUP)));
        }
        if has_signals {
            self.signals.clear();
        }
        if has_updates {
            loop {
                match (&self.sampler.wake).read(&mut [0; 256]) {
                    Ok(1..) => {}
                    // The thread has ended. Its pipe would now always be readable, so it is no longer waited for.
                    Ok(0) => break self.has_sampling_ended = true,
                    Err(_) => break,
                }
            }
        }
        let mut events = Vec::new();
        if has_keys {
            let mut bytes = [0; 1024];
            match Keyboard::read_bytes(&mut bytes) {
                // The end of the input means that the terminal was closed.
                Ok(0) | Err(_) => return Ok(Some(Exit::Signal(SIGHUP))),
                Ok(length) => self.parser.push(&bytes[..length], |event| events.push(event)),
            }
        } else {
            self.parser.flush(|event| events.push(event));
        }
        self.handle(events, context)
    }

    fn handle(&mut self, events: Vec<Event>, context: &mut RunContext<'_>) -> Result<Option<Exit>> {
        for event in events {
            #[cfg(debug_assertions)]
            panic_on_key(&event);
            match self.app.handle(event) {
                Some(Action::Quit) => return Ok(Some(Exit::Success)),
                Some(Action::Interrupt) => return Ok(Some(Exit::Signal(SIGINT))),
                Some(Action::Suspend) => self.suspend()?,
                Some(Action::Redraw) => self.screen.forget(),
                Some(Action::ToggleRecording) => self.toggle_recording(context),
                Some(Action::Export(extension, range)) => self.export(extension, range),
                None => {}
            }
        }
        Ok(None)
    }

    /// Returns the terminal to the shell until the shell continues the program.
    fn suspend(&mut self) -> Result<()> {
        self.screen.leave();
        suspend_process();
        self.signals.clear();
        let _ = self.signals.take_stop();
        self.screen.resume().context("cannot write to the terminal")
    }

    /// Takes the updates of the sampling thread.
    fn take_updates(&mut self, context: &RunContext<'_>) {
        let began = context.clock.monotonic();
        while let Ok(update) = self.sampler.updates.try_recv() {
            match update {
                Update::Interval(rows, topology) => {
                    if self.app.options.source == Source::Live {
                        // The memory that samples do not need is for intervals.
                        let unused = MAX_TEXT_BYTES.saturating_sub(self.sampler.shared.texts().memory());
                        self.app.history.max_bytes = LIVE_HISTORY_BYTES + unused;
                    }
                    self.app.push(*rows, topology);
                    if !std::mem::replace(&mut self.is_memory_locked, true)
                        && self.app.options.source == Source::Live
                    {
                        context.lock_memory();
                    }
                }
                Update::Incidents(incidents) => self.app.incidents = incidents,
                Update::Progress(progress) => self.app.progress = Some(progress),
                Update::Ended(None) => self.app.finish_loading(),
                Update::Ended(Some(error)) => {
                    self.app.finish_loading();
                    let text = format!("{error:#}");
                    self.app.say(text.clone());
                    self.app.ended = Some(text);
                    self.error = Some(error);
                }
                Update::Started(_) => {}
            }
            // A long capture is shown while it is read.
            if context.clock.monotonic().saturating_sub(began) > MIN_READING_TICK {
                break;
            }
        }
    }

    fn toggle_recording(&mut self, context: &RunContext<'_>) {
        if let Some(recording) = self.recording.take() {
            let message = recording.end(&self.sampler.shared);
            self.app.recording = None;
            self.app.say(message);
            return;
        }
        let options = &self.app.options;
        let now = context.clock.wall();
        match Recording::start(&self.sampler.shared, &options.host, now, &options.time_zone) {
            Ok(recording) => {
                self.app.say(format!("recording to {}; r stops", recording.name()));
                self.app.recording = Some(recording.status());
                self.recording = Some(recording);
            }
            Err(error) => self.app.say(format!("{error:#}")),
        }
    }

    /// Shows the state of the recording, and its failure.
    fn update_recording(&mut self) {
        let Some(recording) = &self.recording else { return };
        if let Some(error) = recording.take_failure() {
            self.sampler.shared.set_queue(None);
            self.app.say(format!("the recording ended: {error:#}"));
            self.app.recording = None;
            self.recording = None;
            return;
        }
        self.app.recording = Some(recording.status());
    }

    /// Starts exporting the time shown.
    fn export(&mut self, extension: &'static str, range: Option<(Timestamp, Timestamp)>) {
        let history = self.sampler.shared.texts().clone();
        let message = match self.exports.start(extension, range, history, &self.app.options) {
            Ok(name) => format!("exporting to {name}"),
            Err(error) => format!("{error:#}"),
        };
        self.app.say(message);
    }

    /// Ends the recording and restores the terminal. Returns a message about the recording.
    fn end(&mut self) -> Option<String> {
        self.screen.leave();
        self.recording.take().map(|recording| recording.end(&self.sampler.shared))
    }
}

/// The memory in bytes for samples that wait to be written.
const MAX_QUEUE_BYTES: usize = 32 << 20;
/// The longest time that the end of a recording waits for the disk.
const END_PATIENCE: Duration = Duration::from_secs(5);
/// The number of file names that are tried if files exist.
const MAX_NAMES: usize = 100;

pub(super) struct Recording {
    path: PathBuf,
    queue: Arc<WriteQueue>,
    /// The number of samples from the history at its beginning.
    samples_before: u64,
    writer: Option<JoinHandle<()>>,
}

impl Recording {
    /// Starts a recording in a new file of the current directory.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(super) fn start(shared: &Shared, host: &str, now: Timestamp, zone: &TimeZone) -> Result<Self> {
        let queue = Arc::new(WriteQueue::new(MAX_QUEUE_BYTES).context("cannot start to write")?);
        let path = new_path(&base_name(host, now, zone), "gz", &[])?;
        // No sample may be lost between the history and the queue.
        let history = {
            let texts = shared.texts();
            shared.set_queue(Some(Arc::clone(&queue)));
            texts.clone()
        };
        let samples_before = history.len();
        let (thread_queue, thread_path) = (Arc::clone(&queue), path.clone());
        let write = move || {
            write_recording(&thread_queue, || {
                Ok(Destination::File(Box::new(write_history(&thread_path, &history)?)))
            });
        };
        let writer = thread::Builder::new().name("blkstat-record".to_owned()).spawn(write);
        let writer = Some(writer.context("cannot start to write")?);
        Ok(Self { path, queue, samples_before, writer })
    }

    pub(super) fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Returns its file, and the number of samples or the reason why nothing is written at present.
    pub(super) fn status(&self) -> String {
        let progress = self.queue.progress();
        match progress.obstacle {
            Some(problem) => format!("{}: {problem}", self.name()),
            None => format!("{} {}", self.name(), counted(self.samples_before + progress.samples, "sample")),
        }
    }

    /// Returns the error that ended the recording; `None` while it is in progress.
    pub(super) fn take_failure(&self) -> Option<anyhow::Error> {
        self.queue.is_done().then(|| self.queue.take_error()).flatten()
    }

    /// Ends the recording and returns a message about it.
    pub(super) fn end(mut self, shared: &Shared) -> String {
        shared.set_queue(None);
        self.queue.end();
        let is_done = self.queue.wait_until_done(END_PATIENCE);
        if is_done && let Some(writer) = self.writer.take() {
            // A writer that failed has left its error.
            let _ = writer.join();
        }
        let name = self.name();
        let samples = self.samples_before + self.queue.progress().samples;
        match self.queue.take_error() {
            Some(error) => format!("{name}: {error:#}"),
            None if !is_done => format!("{name}: the disk does not answer; the last samples may be lost"),
            None => format!("{samples} samples recorded in {name}"),
        }
    }
}

/// Writes samples to a new file.
///
/// # Errors
/// If the file exists or cannot be written.
pub(super) fn write_history(path: &Path, history: &SampleTexts) -> Result<RecordingFile> {
    let mut file = RecordingFile::open(path, &path.display().to_string(), IfExists::Refuse, None)?;
    history.try_for_each(|text| file.write(text).map(drop))?;
    Ok(file)
}

/// Returns the path of a file that does not exist yet and is not among `pending`, the files about to be written.
///
/// # Errors
/// If files of all names exist.
pub(super) fn new_path(base_name: &str, extension: &str, pending: &[PathBuf]) -> Result<PathBuf> {
    let name = |number: usize| match number {
        1 => format!("{base_name}.{extension}"),
        number => format!("{base_name}-{number}.{extension}"),
    };
    let mut paths = (1..=MAX_NAMES).map(|number| PathBuf::from(name(number)));
    paths
        .find(|path| !path.exists() && !path.is_symlink() && !pending.contains(path))
        .with_context(|| format!("{base_name}.{extension} exists"))
}

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
        extension: &'static str,
        range: Option<Range>,
        history: SampleTexts,
        options: &AppOptions,
    ) -> Result<String> {
        let range = range.context("these intervals have no time of day")?;
        let base = base_name(&options.host, range.0, &options.time_zone);
        let path = new_path(&base, extension, &self.pending)?;
        let name = path.display().to_string();
        self.pending.push(path.clone());
        let (source, sender) = (self.source.clone(), self.sender.clone());
        let write = move || {
            let written = match extension {
                "html" => write_report(&path, &base, range, history, &source),
                _ => write_samples(&path, range, history, &source.files),
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
