//! The table: a block of lines for each interval.

use std::io::Write;

use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr;

use super::columns::{COLUMNS, has_discards, has_flushes, latency, visible_columns};
use super::header_line::{date, header_line};
use super::style::{Emphasis, paint};
use crate::analysis::Verdict;
use crate::intervals::{DeviceActivity, DeviceEvent, DeviceInterval, DeviceState, IntervalRows};
use crate::metrics::{DirectionStats, IntervalStats};
use crate::report::evidence::evidence_text;
use crate::report::layout::number_format::{duration, number, percent, time};
use crate::report::layout::{ellipsize, wrap};
use crate::sanitize::sanitize;

/// The layout of the table.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    /// The columns of a line; `None` shows all columns, however wide.
    pub(super) width: Option<usize>,
    /// Show the evidence below every verdict except idle and ok.
    pub(super) explain: bool,
    /// The lines of the screen, after which the header is repeated.
    pub(super) rows: usize,
    /// Lines go to a terminal: the header is repeated within a block too, before it scrolls off. Elsewhere programs
    /// read along, and a block is one table.
    pub(super) is_screen: bool,
    /// Show discards and flushes even where there are none.
    pub(super) all_columns: bool,
    /// Show mount points at the end of the lines.
    pub(super) mounts: bool,
    /// Use colors.
    pub(super) colors: bool,
    /// The time zone of the times shown.
    pub(super) time_zone: TimeZone,
}

/// The minimum width of the device column.
const MIN_NAME_WIDTH: usize = 10;
/// The width of the mount points.
const MOUNTS_WIDTH: usize = 24;
/// From this length on, in seconds, hung requests are a stall: a slow disk may take longer than an interval.
const MIN_STALL_S: f64 = 1.0;
/// Lower screens than this repeat the header as if they had this many lines.
const MIN_SCREEN_ROWS: usize = 5;

/// Writes intervals one after the other, in columns that keep their places.
pub(super) struct Table {
    layout: Layout,
    name_width: usize,
    /// For each column, whether there was activity of its kind.
    has_activity: [bool; COLUMNS.len()],
    /// The columns shown.
    shown: Vec<usize>,
    /// Lines since the header was printed; `None` before the first.
    since_header: Option<usize>,
    date: String,
    noted_hidden: Vec<&'static str>,
    has_noted_doubt: bool,
}

impl Table {
    /// Makes an empty table.
    pub(super) fn new(layout: Layout) -> Self {
        Self {
            has_activity: [layout.all_columns; COLUMNS.len()],
            layout,
            name_width: MIN_NAME_WIDTH,
            shown: Vec::new(),
            since_header: None,
            date: String::new(),
            noted_hidden: Vec::new(),
            has_noted_doubt: false,
        }
    }

    /// Sets the size of the terminal.
    pub(super) fn resize(&mut self, width: Option<usize>, rows: usize) {
        if self.layout.width != width {
            self.since_header = None;
        }
        self.layout.width = width;
        self.layout.rows = rows;
    }

    /// Appends an interval: the host, devices that came or went, then a line for each device.
    pub(super) fn interval(&mut self, rows: &IntervalRows<'_>, out: &mut Vec<u8>) {
        let lines: Vec<&DeviceInterval<'_>> = rows.devices.iter().chain(&rows.total).collect();
        self.fit(&lines, out);
        let is_header_due = self.is_header_due(lines.len() + rows.events.len() + 2);
        if self.since_header.is_some() {
            self.line("", Emphasis::Plain, out);
        }
        let date = date(&rows.header, &self.layout.time_zone);
        if date != self.date {
            self.line(&date, Emphasis::Dim, out);
            self.date = date;
        }
        let text = header_line(&rows.header, &self.layout.time_zone, self.width());
        self.line(&text, Emphasis::Plain, out);
        for event in &rows.events {
            let text = event_text(event);
            self.line(&ellipsize(&sanitize(&text), self.width()), Emphasis::Warning, out);
        }
        if is_header_due && !lines.is_empty() {
            self.column_header(out);
        }
        for line in &lines {
            if self.is_header_out_of_sight() {
                self.column_header(out);
            }
            self.device(line, out);
        }
        self.explain_doubt(&lines, out);
    }

    /// Appends a line of its own.
    pub(super) fn note(&mut self, text: &str, out: &mut Vec<u8>) {
        self.line(&sanitize(text), Emphasis::Dim, out);
    }

    /// The columns of a line; `None` for no limit.
    pub(super) fn limit(&self) -> Option<usize> {
        self.layout.width
    }

    fn width(&self) -> usize {
        self.layout.width.unwrap_or(usize::MAX)
    }

    /// The width of all cells.
    fn cells_width(&self) -> usize {
        self.shown.iter().map(|index| COLUMNS[*index].width).sum()
    }

    /// Finds the columns that fit. They change only for a longer name or a new kind of activity.
    fn fit(&mut self, lines: &[&DeviceInterval<'_>], out: &mut Vec<u8>) {
        let longest = lines.iter().map(|line| sanitize(line.label).width()).max().unwrap_or(0);
        let name_width = self.name_width.max(longest.min(max_name_width(self.width())));
        let mut has_activity = self.has_activity;
        for stats in lines.iter().filter_map(|line| line.stats()) {
            for (has_activity, column) in has_activity.iter_mut().zip(&COLUMNS) {
                *has_activity |= column.only_with.is_some_and(|only_with| only_with(stats));
            }
        }
        let mounts = if self.layout.mounts { MOUNTS_WIDTH + 2 } else { 0 };
        let room = self.width().saturating_sub(name_width + mounts);
        let (shown, hidden) = visible_columns(room, &has_activity);
        if shown != self.shown || name_width != self.name_width {
            self.since_header = self.since_header.map(|_| usize::MAX / 2);
        }
        (self.shown, self.name_width, self.has_activity) = (shown, name_width, has_activity);
        if hidden.iter().any(|title| !self.noted_hidden.contains(title)) {
            let titles = hidden.join(" ");
            let note = format!("hidden at width {}: {titles} (--width N, --all-columns)", self.width());
            wrap(&note, self.width()).iter().for_each(|text| self.line(text, Emphasis::Dim, out));
            self.noted_hidden.extend(hidden);
        }
    }

    /// Whether the header must be repeated to stay in sight for a block of this number of lines.
    fn is_header_due(&self, lines: usize) -> bool {
        self.since_header.is_none_or(|since| since.saturating_add(lines + 1) >= self.layout.rows)
    }

    /// Whether the header scrolls off with the next line, below which the cursor stands.
    fn is_header_out_of_sight(&self) -> bool {
        let rows = self.layout.rows.max(MIN_SCREEN_ROWS);
        self.layout.is_screen && self.since_header.is_some_and(|since| since.saturating_add(2) >= rows)
    }

    fn column_header(&mut self, out: &mut Vec<u8>) {
        let mut text = format!("{:<width$}", "device", width = self.name_width);
        for column in self.shown.iter().map(|index| &COLUMNS[*index]) {
            text += &format!("{:>width$}", column.title, width = column.width);
        }
        if self.layout.mounts {
            text += "  mountpoints";
        }
        self.line(&ellipsize(&text, self.width()), Emphasis::Bold, out);
        self.since_header = Some(0);
    }

    fn device(&mut self, line: &DeviceInterval<'_>, out: &mut Vec<u8>) {
        let name = ellipsize(&sanitize(line.label), self.name_width);
        out.extend_from_slice(name.as_bytes());
        out.resize(out.len() + self.name_width.saturating_sub(name.width()), b' ');
        let has_mounts = self.layout.mounts && !line.mountpoints.is_empty();
        match self.message(&line.state) {
            Some(message) => self.push_message(&message, has_mounts, out),
            None => line.activity().into_iter().for_each(|activity| self.cells(activity, out)),
        }
        let room = self.width().saturating_sub(self.name_width + self.cells_width() + 2).min(MOUNTS_WIDTH);
        if has_mounts && room > 0 {
            // Writing to a Vec cannot fail.
            let _ = write!(out, "  {}", ellipsize(&sanitize(line.mountpoints), room));
        }
        out.push(b'\n');
        self.since_header = self.since_header.map(|since| since.saturating_add(1));
        if self.layout.explain {
            self.explain(line, out);
        }
    }

    /// Returns the message that a device shows instead of cells; `None` for cells.
    fn message(&self, state: &DeviceState) -> Option<Message> {
        let message = |long: &str, short: &str, emphasis| Message {
            long: long.to_owned(),
            short: short.to_owned(),
            emphasis,
        };
        match state {
            DeviceState::Active(activity) if activity.stalled_s > 0.0 => Some(stall_message(activity)),
            DeviceState::Active(activity) if self.is_activity_hidden(&activity.stats) => {
                let text = other_activity(&activity.stats);
                Some(message(&format!("no reads or writes; {text}"), &text, Emphasis::Plain))
            }
            DeviceState::Active(_) => None,
            DeviceState::Reset => {
                let long = "counters reset: no data for this interval";
                Some(message(long, "counters reset", Emphasis::Warning))
            }
            DeviceState::MemberReset => {
                let long = "counters of a device in the total reset: no data for this interval";
                Some(message(long, "counters reset", Emphasis::Warning))
            }
            DeviceState::AccountingOff(_) => {
                let long = "I/O accounting disabled (queue/iostats=0)";
                Some(message(long, "accounting disabled", Emphasis::Warning))
            }
            DeviceState::Appeared => Some(message("appeared", "appeared", Emphasis::Plain)),
        }
    }

    /// Appends the evidence of a verdict.
    fn explain(&mut self, line: &DeviceInterval<'_>, out: &mut Vec<u8>) {
        if matches!(line.verdict(), Some(Verdict::Idle | Verdict::Ok)) {
            return;
        }
        let evidence = line.activity().map_or(&[][..], |activity| &activity.assessment.evidence);
        for sentence in evidence.iter().map(evidence_text) {
            for text in wrap(&sanitize(&sentence), self.width().saturating_sub(2)) {
                self.line(&format!("  {text}"), Emphasis::Dim, out);
            }
        }
    }

    fn cells(&self, activity: &DeviceActivity, out: &mut Vec<u8>) {
        for column in self.shown.iter().map(|index| &COLUMNS[*index]) {
            let text = column.cell(activity).unwrap_or_else(|| "-".to_owned());
            let emphasis = match text.as_str() {
                "0" | "-" | "0%" => Emphasis::Dim,
                _ if column.title == "util" && activity.flag.is_some() => Emphasis::Warning,
                "saturated" | "capped" | "stalled" => Emphasis::Alert,
                "queueing" => Emphasis::Warning,
                _ => Emphasis::Plain,
            };
            out.resize(out.len() + column.width.saturating_sub(text.chars().count()), b' ');
            paint(&text, emphasis, self.layout.colors, out);
        }
    }

    /// Whether a device only had discards or flushes, and their columns are hidden.
    fn is_activity_hidden(&self, stats: &IntervalStats) -> bool {
        let has_none = |of: &DirectionStats| of.ios == Some(0);
        let is_shown = |title: &str| self.shown.iter().any(|index| COLUMNS[*index].title == title);
        let has_hidden = has_discards(stats) && !is_shown("d/s") || has_flushes(stats) && !is_shown("f/s");
        has_none(&stats.reads) && has_none(&stats.writes) && has_hidden
    }

    /// Appends a message in the place of the cells: padded to their width if something follows.
    fn push_message(&self, message: &Message, is_followed: bool, out: &mut Vec<u8>) {
        let cells = self.cells_width();
        let width = self.width().saturating_sub(self.name_width + 1);
        let width = if is_followed { width.min(cells.saturating_sub(1)) } else { width };
        let fits = message.long.width() <= width;
        let text = ellipsize(if fits { &message.long } else { &message.short }, width);
        out.push(b' ');
        paint(&text, message.emphasis, self.layout.colors, out);
        if is_followed {
            out.resize(out.len() + cells.saturating_sub(1 + text.width()), b' ');
        }
    }

    /// Explains the question mark behind util, once.
    fn explain_doubt(&mut self, lines: &[&DeviceInterval<'_>], out: &mut Vec<u8>) {
        let is_doubtful =
            |activity: &DeviceActivity| activity.flag.is_some() && activity.stats.util_pct.is_some();
        if !self.has_noted_doubt && lines.iter().filter_map(|line| line.activity()).any(is_doubtful) {
            self.has_noted_doubt = true;
            let text = "? kernel util is implausible: above its upper bound or too low for the queue";
            wrap(text, self.width()).iter().for_each(|text| self.line(text, Emphasis::Dim, out));
        }
    }

    fn line(&mut self, text: &str, emphasis: Emphasis, out: &mut Vec<u8>) {
        paint(text, emphasis, self.layout.colors, out);
        out.push(b'\n');
        self.since_header = self.since_header.map(|since| since.saturating_add(1));
    }
}

/// A text in the place of the cells.
struct Message {
    long: String,
    /// For lines with too little room.
    short: String,
    emphasis: Emphasis,
}

fn stall_message(activity: &DeviceActivity) -> Message {
    let is_stall = activity.stalled_s >= MIN_STALL_S;
    let (word, emphasis) = if is_stall { ("STALLED", Emphasis::Alert) } else { ("waiting", Emphasis::Plain) };
    let in_flight = activity.stats.in_flight.unwrap_or(0);
    let length = duration(activity.stalled_s);
    Message {
        long: format!("{word} for {length}: {in_flight} in flight, nothing completed"),
        short: format!("{word} {length}, {in_flight} in flight"),
        emphasis,
    }
}

fn event_text(event: &DeviceEvent) -> String {
    match event {
        DeviceEvent::Appeared(name) => format!("+ {name} appeared"),
        DeviceEvent::Disappeared(name) => format!("- {name} disappeared"),
        DeviceEvent::Reappeared(name) => format!("- {name} disappeared and reappeared"),
        DeviceEvent::AppearedBriefly(name) => format!("+ {name} appeared briefly"),
    }
}

/// Returns discards and flushes as a text.
fn other_activity(stats: &IntervalStats) -> String {
    let mut parts = Vec::new();
    let discards = &stats.discards;
    if has_discards(stats) {
        let rate = discards.per_s.map(number).unwrap_or_default();
        let data = discards.kib_per_s.map(|kib| number(kib / 1024.0)).unwrap_or_default();
        parts.push(format!("discards {rate}/s {data}MB/s {}", latency(discards).unwrap_or_default()));
    }
    if let Some(rate) = stats.flushes_per_s.filter(|rate| *rate > 0.0) {
        let latency = stats.flush_await_ms.map(time).unwrap_or_default();
        parts.push(format!("flushes {}/s {latency}", number(rate)));
    }
    parts.extend(stats.util_pct.map(|util| format!("util {}", percent(util))));
    parts.join(", ")
}

/// Returns the maximum width of names on lines of `width` columns.
pub(super) fn max_name_width(width: usize) -> usize {
    (width / 5).max(MIN_NAME_WIDTH).min(width)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::IntervalHeader;
    use crate::metrics::HostStats;

    /// Prints two intervals of this number of devices, on a screen of ten lines or none.
    fn printed(devices: usize, is_screen: bool) -> Vec<String> {
        let mut table = Table::new(Layout {
            width: Some(100),
            explain: false,
            rows: 10,
            is_screen,
            all_columns: false,
            mounts: false,
            colors: false,
            time_zone: TimeZone::UTC,
        });
        let header = IntervalHeader {
            start: None,
            time: None,
            clock_s: None,
            elapsed_s: 1.0,
            missed_samples: 0,
            host: HostStats::default(),
        };
        let device = |_| DeviceInterval {
            device: "sda",
            label: "sda",
            mountpoints: "",
            state: DeviceState::Active(Box::default()),
        };
        let devices = (0..devices).map(device).collect();
        let rows = IntervalRows { header, devices, total: None, events: Vec::new(), has_found_any: true };
        let mut out = Vec::new();
        table.interval(&rows, &mut out);
        table.interval(&rows, &mut out);
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_header_stays_in_sight_within_a_block_on_a_screen() {
        let is_header = |line: &&String| line.starts_with("device");
        let lines = printed(100, true);
        // The last of ten lines is the cursor's.
        let is_seen = |lines: &[String]| lines.iter().any(|line| is_header(&line));
        let first = lines.iter().position(|line| is_header(&line)).unwrap();
        let devices = lines[first..].split(|line| line.is_empty()).flat_map(|block| block.windows(9));
        for screen in devices.filter(|screen| screen.iter().all(|line| !line.contains("1.000s"))) {
            assert!(is_seen(screen), "{screen:#?}");
        }
        assert_eq!(lines.iter().filter(is_header).count(), 2 * 100usize.div_ceil(8));
        assert_eq!(printed(100, false).iter().filter(is_header).count(), 2);
        assert_eq!(printed(2, true).iter().filter(is_header).count(), 1);
    }
}
