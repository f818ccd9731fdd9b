//! The state of the screen: the history, where in time the user looks, and how the devices are shown.
//!
//! Pure: it takes events and intervals, and what it asks of the rest of the program are [`Action`]s.

use std::collections::HashMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use regex_lite::Regex;

use super::history::{DeviceId, Frame, History, Moment, is_trouble, severity};
use super::prompt::Prompt;
use super::sort::Sort;
use super::theme::Theme;
use super::time_axis::TimeAxis;
use super::trouble::Trouble;
use crate::analysis::Verdict;
use crate::report::native::event_text;

/// Where in time the user looks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cursor {
    /// At the newest interval, always.
    Newest,
    /// At the interval that ends then: seconds of all intervals so far.
    At(f64),
}

/// The source of the intervals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// The running system.
    Live,
    /// A capture of this name.
    Capture(String),
}

/// What the screen shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// The devices, with the selected one below where there is space.
    List,
    /// The selected device.
    Detail,
    /// The keys.
    Help,
}

/// The time that a capture opens with, as a multiple of its worst event, and at least.
const EVENT_CONTEXT: f64 = 3.0;
const DEFAULT_SPAN_S: f64 = 180.0;

/// The speeds at which a recording plays: seconds of the recording per second.
const PLAY_SPEEDS: [f64; 4] = [1.0, 2.0, 10.0, 60.0];

/// Something that the program should do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Action {
    /// End.
    Quit,
    /// Stop until the shell continues it.
    Suspend,
    /// Draw everything, as the terminal may show something else.
    Redraw,
    /// Start a recording, or stop it.
    ToggleRecording,
    /// Export the samples between two times.
    Export {
        /// The kind of file.
        kind: ExportKind,
        /// The first and the last time.
        range: Option<(Timestamp, Timestamp)>,
    },
}

/// The kinds of files that a range of time can be exported to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExportKind {
    /// A recording, which every view replays.
    Recording,
    /// A page with charts.
    Report,
}

/// The unit of throughput.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ThroughputUnit {
    /// MiB per second, as in the table.
    #[default]
    Mib,
    /// KiB per second.
    Kib,
    /// Million bits per second.
    Mbit,
}

impl ThroughputUnit {
    /// The title of the column.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Mib => "MB/s",
            Self::Kib => "KB/s",
            Self::Mbit => "Mbit/s",
        }
    }

    /// Returns the amount per KiB.
    pub(crate) fn per_kib(self) -> f64 {
        match self {
            Self::Mib => 1.0 / 1024.0,
            Self::Kib => 1.0,
            Self::Mbit => 1024.0 * 8.0 / 1e6,
        }
    }

    fn next(self) -> Self {
        match self {
            Self::Mib => Self::Kib,
            Self::Kib => Self::Mbit,
            Self::Mbit => Self::Mib,
        }
    }
}

/// A recording under way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RecordingStatus {
    /// The name of the file.
    pub(crate) name: String,
    /// Samples written.
    pub(crate) samples: u64,
    /// The reason why nothing is written at present; `None` if there is none.
    pub(crate) problem: Option<String>,
}

/// How the screen was started.
#[derive(Clone, Debug)]
pub(crate) struct AppOptions {
    /// The source of the intervals.
    pub(crate) source: Source,
    /// The name of the host; empty where it is not known.
    pub(crate) host: String,
    /// The requested length of an interval in seconds; `None` for a capture that does not record it.
    pub(crate) interval_s: Option<f64>,
    /// The time zone of the times shown.
    pub(crate) time_zone: TimeZone,
    /// Colors and characters.
    pub(crate) theme: Theme,
    /// Latency, as a multiple of unloaded latency, from which it is colored as an alert.
    pub(crate) saturation_threshold: f64,
    /// The order of the devices.
    pub(crate) sort: Sort,
    /// Devices that are ok or idle are listed.
    pub(crate) unfolds: bool,
    /// A capture plays at the recorded speed from its beginning.
    pub(crate) plays: bool,
    /// The memory for intervals, in bytes, and the seconds for which they are kept.
    pub(crate) history: (usize, f64),
}

/// The state of the screen.
#[derive(Debug)]
pub(crate) struct App {
    pub(crate) options: AppOptions,
    pub(crate) history: History,
    pub(crate) cursor: Cursor,
    pub(crate) page: Page,
    pub(crate) axis: TimeAxis,
    pub(crate) selected: Option<DeviceId>,
    /// The first line of the list, or of a page of text, that is shown.
    pub(crate) scroll: usize,
    pub(crate) sort: Sort,
    pub(crate) folds: bool,
    pub(crate) is_tree: bool,
    pub(crate) unit: ThroughputUnit,
    pub(crate) filter: Option<(String, Regex)>,
    pub(crate) prompt: Option<Prompt>,
    pub(crate) events: Vec<Trouble>,
    pub(crate) recording: Option<RecordingStatus>,
    /// A message, and the time until which it is shown.
    pub(crate) message: Option<(String, f64)>,
    /// The part of a capture that has been read; `None` when all of it has.
    pub(crate) progress: Option<f64>,
    /// The reason why no more samples come; `None` while they do.
    pub(crate) ended: Option<String>,
    /// Speed of the replay, as an index; `None` while it does not play.
    playing: Option<usize>,
    /// The worst interval so far, and for each device: its severity and how bad it was.
    worst: Option<Worst>,
    worst_of: HashMap<DeviceId, Worst>,
    /// The time on the monotonic clock, and that of the last interval.
    pub(crate) now_s: f64,
    pub(crate) arrived_s: Option<f64>,
    /// The user has moved in time or selected a device, so that the screen does not do it.
    pub(crate) has_moved: bool,
    pub(crate) has_selected: bool,
    pub(crate) size: (u16, u16),
    pub(crate) regions: super::draw::Regions,
}

/// A bad interval.
#[derive(Clone, Copy, Debug)]
struct Worst {
    end_s: f64,
    severity: u8,
    badness: f64,
}

impl App {
    /// Creates the state before the first interval.
    pub(crate) fn new(options: AppOptions) -> Self {
        let (max_bytes, max_seconds) = options.history;
        let playing = options.plays.then_some(0);
        Self {
            history: History::new(max_seconds, max_bytes),
            cursor: Cursor::Newest,
            page: Page::List,
            axis: TimeAxis::default(),
            selected: None,
            scroll: 0,
            sort: options.sort,
            folds: !options.unfolds,
            is_tree: false,
            unit: ThroughputUnit::default(),
            filter: None,
            prompt: None,
            events: Vec::new(),
            recording: None,
            message: None,
            progress: (options.source != Source::Live).then_some(0.0),
            ended: None,
            playing,
            worst: None,
            worst_of: HashMap::new(),
            now_s: 0.0,
            arrived_s: None,
            has_moved: playing.is_some(),
            has_selected: false,
            size: (80, 24),
            regions: super::draw::Regions::default(),
            options,
        }
    }

    /// Takes the next interval.
    pub(crate) fn push(&mut self, frame: Frame) {
        self.arrived_s = Some(self.now_s);
        self.note_worst(&frame);
        if let Some(event) = frame.events().last().filter(|_| self.follows() && self.progress.is_none()) {
            self.say(event_text(event));
        }
        if self.playing.is_some() && self.cursor == Cursor::Newest {
            self.cursor = Cursor::At(frame.end_s);
        }
        self.history.push(frame);
    }

    /// Remembers the interval if it is the worst so far, of all devices or of one.
    fn note_worst(&mut self, frame: &Frame) {
        for row in 0..frame.len() {
            let verdict = frame.verdict(row);
            if !is_trouble(verdict) {
                continue;
            }
            let rank = severity(verdict);
            let id = frame.names(row).id;
            let known = self.worst_of.get(&id).map_or(0, |worst| worst.severity);
            if rank < known {
                continue;
            }
            let worst = Worst { end_s: frame.end_s, severity: rank, badness: badness(frame, row) };
            let is_worse = |than: Option<&Worst>| {
                than.is_none_or(|than| (worst.severity, worst.badness) > (than.severity, than.badness))
            };
            if is_worse(self.worst.as_ref()) {
                self.worst = Some(worst);
            }
            if is_worse(self.worst_of.get(&id)) {
                self.worst_of.insert(id, worst);
            }
        }
    }

    /// Takes the events so far, in the order in which they began.
    pub(crate) fn set_events(&mut self, events: Vec<Trouble>) {
        self.events = events;
    }

    /// Notes that the whole capture has been read. The screen goes to the worst event, unless the user has moved.
    pub(crate) fn finish_loading(&mut self) {
        self.progress = None;
        if self.has_moved || self.options.source == Source::Live {
            return;
        }
        let worst = self.events.iter().min_by(|a, b| a.worst_first(b)).cloned();
        let all_s = self.history.newest().map_or(0.0, |newest| newest.end_s);
        let event_s = worst.as_ref().map_or(0.0, |event| event.end_s - event.begin_s);
        self.axis.show_at_least(all_s.min((EVENT_CONTEXT * event_s).max(DEFAULT_SPAN_S)));
        match worst {
            Some(event) => self.go_to_worst_of(&event),
            None => self.go_to_worst(),
        }
        self.message = None;
        if self.cursor == Cursor::Newest
            && let Some(newest) = self.history.newest()
        {
            self.cursor = Cursor::At(newest.end_s);
        }
    }

    /// What is under the cursor; `None` before the first interval.
    pub(crate) fn moment(&self) -> Option<Moment<'_>> {
        match self.cursor {
            Cursor::Newest => self.history.newest().map(Moment::Exact),
            Cursor::At(end_s) => self.history.at(end_s),
        }
    }

    /// The end of the interval under the cursor: seconds of all intervals so far.
    pub(crate) fn cursor_s(&self) -> f64 {
        self.moment().map_or(0.0, |moment| moment.end_s())
    }

    /// Returns whether the screen follows the newest interval.
    pub(crate) fn follows(&self) -> bool {
        self.cursor == Cursor::Newest
    }

    /// The speed of the replay; `None` while it does not play.
    pub(crate) fn play_speed(&self) -> Option<f64> {
        self.playing.map(|at| PLAY_SPEEDS[at])
    }

    /// Notes the time on the monotonic clock. A replay plays.
    pub(crate) fn tick(&mut self, now_s: f64) {
        let passed = now_s - self.now_s;
        self.now_s = now_s;
        if self.message.as_ref().is_some_and(|(_, until)| *until < now_s) {
            self.message = None;
        }
        let (Some(speed), Cursor::At(end_s)) = (self.play_speed(), self.cursor) else { return };
        // The beginning is no time that has passed.
        if passed > 60.0 {
            return;
        }
        self.axis.played_s += passed * speed;
        while let Some(next) = self.history.after(self.cursor_end(end_s)).map(|moment| moment.end_s())
            && let Cursor::At(current) = self.cursor
            && self.axis.played_s >= next - current
        {
            self.axis.played_s -= next - current;
            self.cursor = Cursor::At(next);
        }
        if self.progress.is_none() && self.history.after(self.cursor_end(end_s)).is_none() {
            self.playing = None;
            self.say("end of the recording");
        }
    }

    fn cursor_end(&self, default: f64) -> f64 {
        match self.cursor {
            Cursor::At(end_s) => end_s,
            Cursor::Newest => default,
        }
    }

    /// Pauses at the interval that is shown, or follows the newest one again. A recording plays, or stops.
    pub(crate) fn toggle_pause(&mut self) {
        self.has_moved = true;
        self.axis.played_s = 0.0;
        if self.options.source != Source::Live {
            self.playing = if self.playing.is_some() { None } else { Some(0) };
            if self.cursor == Cursor::Newest {
                self.cursor = Cursor::At(self.cursor_s());
            }
            return;
        }
        self.cursor = match self.cursor {
            Cursor::Newest => Cursor::At(self.cursor_s()),
            Cursor::At(_) => Cursor::Newest,
        };
    }

    /// Plays faster; at the fastest, at the recorded speed again.
    pub(crate) fn change_speed(&mut self) {
        self.playing = self.playing.map(|at| (at + 1) % PLAY_SPEEDS.len());
    }

    /// Moves by a number of intervals.
    pub(crate) fn step(&mut self, forward: bool) {
        let current = self.cursor_s();
        let next = if forward { self.history.after(current) } else { self.history.before(current) };
        self.move_to(next.map(|moment| moment.end_s()), forward);
    }

    /// Moves by some seconds, at least by an interval.
    pub(crate) fn move_by(&mut self, seconds: f64) {
        let current = self.cursor_s();
        let target = self.history.at((current + seconds).max(0.0)).map(|moment| moment.end_s());
        if target.is_some_and(|target| (target - current).abs() < 1e-9) {
            self.step(seconds > 0.0);
        } else {
            self.move_to(target, seconds > 0.0);
        }
    }

    /// Moves to the first or the newest interval.
    pub(crate) fn move_to_end(&mut self, newest: bool) {
        let end = if newest { self.history.newest().map(Moment::Exact) } else { self.history.oldest() };
        let end = end.map(|moment| moment.end_s());
        if newest && self.options.source == Source::Live {
            self.cursor = Cursor::Newest;
            return;
        }
        self.move_to(end, newest);
    }

    fn move_to(&mut self, end_s: Option<f64>, forward: bool) {
        self.has_moved = true;
        self.playing = None;
        match end_s {
            Some(end_s) => self.cursor = Cursor::At(end_s),
            // Forward from the newest interval, the screen follows again.
            None if forward && self.options.source == Source::Live => self.cursor = Cursor::Newest,
            None => self.say(if forward { "this is the newest interval" } else { "no earlier interval" }),
        }
        if self.cursor == Cursor::At(self.history.newest().map_or(0.0, |newest| newest.end_s))
            && forward
            && self.options.source == Source::Live
        {
            self.cursor = Cursor::Newest;
        }
    }

    /// Moves to a time of day, of the day that the screen shows.
    pub(crate) fn go_to_wall(&mut self, wall: Timestamp) {
        match self.history.at_wall(wall).map(|moment| moment.end_s()) {
            Some(end_s) => self.move_to(Some(end_s), false),
            None => self.say("these intervals have no time of day"),
        }
    }

    /// Moves to the worst interval: of the selected device where only that is shown, or of all devices.
    pub(crate) fn go_to_worst(&mut self) {
        let own = self.selected.filter(|_| self.page == Page::Detail);
        let worst = match own {
            Some(id) => self.worst_of.get(&id),
            None => self.worst.as_ref(),
        };
        let Some(worst) = worst.copied() else {
            self.say("no trouble so far");
            return;
        };
        self.move_to(Some(worst.end_s), false);
        if own.is_none() {
            let by_rank =
                |(_, one): &(&DeviceId, &Worst)| one.end_s == worst.end_s && one.severity == worst.severity;
            if let Some((id, _)) = self.worst_of.iter().find(by_rank) {
                self.selected = Some(*id);
            }
        }
    }

    /// Moves to the beginning of the next or of the previous event: of the selected device where only that is shown.
    pub(crate) fn go_to_next_event(&mut self, forward: bool) {
        let current = self.cursor_s();
        let only = self.selected.filter(|_| self.page == Page::Detail);
        let candidates =
            self.events.iter().filter(|event| only.is_none_or(|id| self.id_of(&event.device) == Some(id)));
        let target =
            |event: &Trouble| self.history.at(event.begin_s + 1e-6).map_or(0.0, |moment| moment.end_s());
        let found = if forward {
            candidates
                .filter(|event| target(event) > current + 1e-9)
                .min_by(|a, b| a.begin_s.total_cmp(&b.begin_s))
        } else {
            candidates
                .filter(|event| target(event) < current - 1e-9)
                .max_by(|a, b| a.begin_s.total_cmp(&b.begin_s))
        };
        match found.cloned() {
            Some(event) => self.go_to_event(&event),
            None if forward => self.say("no later event"),
            None => self.say("no earlier event"),
        }
    }

    /// Moves to the worst interval of an event.
    fn go_to_worst_of(&mut self, event: &Trouble) {
        self.go_to_event(event);
        let Some(id) = self.selected else { return };
        let frames = self.history.frames();
        let first = frames.partition_point(|frame| frame.begin_s() < event.begin_s - 1e-6);
        let within = frames.range(first..).take_while(|frame| frame.end_s <= event.end_s + 1e-6);
        let rank =
            |frame: &Frame| frame.row_of(id).map(|row| (severity(frame.verdict(row)), badness(frame, row)));
        let worst = within.max_by(|a, b| rank(a).partial_cmp(&rank(b)).unwrap_or(std::cmp::Ordering::Equal));
        if let Some(end_s) = worst.map(|frame| frame.end_s) {
            self.move_to(Some(end_s), false);
        }
    }

    fn go_to_event(&mut self, event: &Trouble) {
        let begin = self.history.at(event.begin_s + 1e-6).map(|moment| moment.end_s());
        self.move_to(begin, false);
        if let Some(id) = self.id_of(&event.device) {
            self.selected = Some(id);
        }
    }

    /// The number of the event under the cursor, from 1, and the number of events; `None` outside events.
    pub(crate) fn event_at_cursor(&self) -> Option<(usize, usize)> {
        let moment = self.moment()?;
        let end_s = moment.end_s();
        let selected = self.selected;
        let is_at = |event: &Trouble| event.begin_s < end_s - 1e-9 && end_s <= event.end_s + 1e-9;
        let own = |event: &Trouble| self.id_of(&event.device) == selected;
        let at = self.events.iter().position(|event| is_at(event) && own(event));
        at.or_else(|| self.events.iter().position(is_at)).map(|at| (at + 1, self.events.len()))
    }

    /// Returns the number of a device by the kernel's name; `None` where no interval has it.
    pub(crate) fn id_of(&self, device: &str) -> Option<DeviceId> {
        let of_frame = |frame: &Frame| {
            (0..frame.len()).map(|row| frame.names(row)).find(|names| *names.device == *device).map(|n| n.id)
        };
        let shown = match self.moment() {
            Some(Moment::Exact(frame)) => of_frame(frame),
            _ => None,
        };
        shown.or_else(|| self.history.newest().and_then(of_frame)).or_else(|| {
            // A device that has gone: a look at some of the past.
            self.history.frames().iter().rev().step_by(16).find_map(of_frame)
        })
    }

    /// Shows a message for some seconds.
    pub(crate) fn say(&mut self, text: impl Into<String>) {
        const SHOWN_S: f64 = 6.0;
        self.message = Some((text.into(), self.now_s + SHOWN_S));
    }

    /// The seconds by which the next interval is late; `None` while it is not.
    pub(crate) fn late_s(&self) -> Option<f64> {
        const TOLERANCE_S: f64 = 0.75;
        let interval_s = self.options.interval_s.unwrap_or(1.0);
        let waited = self.now_s - self.arrived_s?;
        let is_live = self.options.source == Source::Live && self.ended.is_none();
        (is_live && waited > interval_s + interval_s.max(TOLERANCE_S)).then_some(waited)
    }

    /// Uses the next unit of throughput.
    pub(crate) fn change_unit(&mut self) {
        self.unit = self.unit.next();
        self.say(format!("throughput in {}", self.unit.title()));
    }

    /// Sets the filter of device names; an empty text lists all. A text that is no regular expression is searched as it is.
    pub(crate) fn set_filter(&mut self, text: &str) {
        let pattern = |text: &str| Regex::new(&format!("(?i){text}")).ok();
        self.filter = if text.is_empty() {
            None
        } else {
            let regex = pattern(text).or_else(|| pattern(&escape(text)));
            regex.map(|regex| (text.to_owned(), regex))
        };
        self.scroll = 0;
    }

    /// The range of time that the charts show; `None` without a wall clock.
    pub(crate) fn shown_range(&self) -> Option<(Timestamp, Timestamp)> {
        let (begin_s, end_s) = self.axis.window(self);
        let begin = self.history.at(begin_s + 1e-6)?;
        let begin = match begin {
            Moment::Exact(frame) => frame.header.start,
            Moment::Coarse(span) => span.end,
        };
        let end = self.history.at(end_s)?.end();
        begin.zip(end)
    }

    /// Returns whether cgroups and processes are wanted: only while they are shown.
    pub(crate) fn wants_io_scans(&self) -> bool {
        self.options.source == Source::Live && (self.page == Page::Detail || self.regions.shows_detail)
    }
}

/// Returns text in which no character has a meaning in regular expressions.
fn escape(text: &str) -> String {
    text.chars().flat_map(|c| (!c.is_alphanumeric()).then_some('\\').into_iter().chain([c])).collect()
}

/// How bad the row of a device is among those with one verdict: by the longest of its latencies, or its requests in
/// flight where none has one.
fn badness(frame: &Frame, row: usize) -> f64 {
    let Some(stats) = frame.stats(row) else { return 0.0 };
    let latencies = [stats.reads.await_ms, stats.writes.await_ms, stats.flush_await_ms];
    let longest = latencies.into_iter().flatten().fold(0.0, f64::max);
    if frame.verdict(row) == Some(Verdict::Stalled) { frame.lasted_s(row) } else { longest }
}
