//! The table: a block of lines for each interval.

use std::io::Write;

use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr;

use super::lines::{GAP, Message, date, event_text, header_line, who_line};
use super::summary::draw_summary;
use super::{
    ColumnChoice, Emphasis, MOUNTS_GAP, TableOptions, max_mounts_width, paint, paint_from,
};
use crate::attribution::Attribution;
use crate::intervals::{DeviceActivity, DeviceInterval, DeviceSummary, IntervalRows, RunSpan};
use crate::judge::{IoDirection, Verdict};
use crate::metrics::Completed;
use crate::quantities::Quantity;
use crate::quantities::device::{DISCARDS_PER_S, FLUSH_AWAIT_MS, FLUSHES_PER_S};
use crate::report::evidence::{
    hidden_io_wait_text, incident_parts, no_cpu_text, present_harm, timed_evidence_sentences,
};
use crate::report::layout::{
    DEFAULT_WIDTH, UNLIMITED_WIDTH, ellipsize, sentence_width, text_width, time_of_day, wrap,
};
use crate::sanitize::sanitize;

/// The fewest lines of a screen: smaller ones repeat the column titles as if they had this many.
const MIN_SCREEN_ROWS: usize = 5;
/// The number of lines after which the column titles are repeated without a terminal.
const DEFAULT_ROWS: usize = 50;

/// Draws intervals one after the other, in columns that keep their positions.
pub struct TableWriter {
    options: TableOptions,
    /// The width of a line.
    width: usize,
    /// The lines of the screen, after which the column titles are repeated.
    rows: usize,
    /// True if lines go to a terminal: the column titles are then repeated even within a block before they scroll off.
    /// Otherwise a block is one table, for programs that read it.
    is_screen: bool,
    time_zone: TimeZone,
    columns: ColumnChoice,
    /// True once the columns have been chosen for devices.
    has_columns: bool,
    /// The number of lines since the column titles; `None` before the first titles.
    lines_since_titles: Option<usize>,
    /// The date of the last interval.
    date: String,
    has_explained_mark: bool,
    /// True if the last interval had hardly any CPU available.
    lacked_cpu: bool,
}

impl TableWriter {
    /// Creates a writer of the default size, which [`Self::resize`] changes.
    pub fn new(options: &TableOptions, is_screen: bool, time_zone: TimeZone) -> Self {
        let options = TableOptions {
            colors: options.colors && is_screen,
            ..*options
        };
        let width = options.fitted_width(is_screen.then_some(DEFAULT_WIDTH));
        Self {
            columns: ColumnChoice::new(&options, width, &[]),
            has_columns: false,
            options,
            width,
            rows: DEFAULT_ROWS,
            is_screen,
            time_zone,
            lines_since_titles: None,
            date: String::new(),
            has_explained_mark: false,
            lacked_cpu: false,
        }
    }

    /// Adapts to the size of a terminal. Must be called before each interval that a terminal shows.
    pub fn resize(&mut self, columns: usize, rows: usize) {
        self.rows = rows;
        let width = self.options.fitted_width(Some(columns));
        if std::mem::replace(&mut self.width, width) != width {
            self.has_columns = false;
            self.lines_since_titles = None;
        }
    }

    /// Appends a line for people.
    pub fn push_note(&mut self, text: &str, out: &mut Vec<u8>) {
        self.push_line(&sanitize(text), Emphasis::Dim, out);
    }

    /// Appends the summary of a run: the label and summary of each device.
    pub fn push_summary(
        &mut self,
        devices: &[(String, DeviceSummary)],
        span: &RunSpan,
        out: &mut Vec<u8>,
    ) {
        draw_summary(devices, span, self.width, &self.time_zone, out);
    }

    /// Appends an interval: the host, devices that appeared or disappeared, then a line for each device.
    pub fn push_interval(&mut self, rows: &IntervalRows, out: &mut Vec<u8>) {
        let lines: Vec<&DeviceInterval> = rows.devices.iter().chain(&rows.total).collect();
        if !self.has_columns && !lines.is_empty() {
            self.columns = ColumnChoice::new(&self.options, self.width, &lines);
            self.has_columns = true;
        }
        let are_titles_due = self.are_titles_due(lines.len() + rows.events.len() + 2);
        if self.lines_since_titles.is_some() {
            self.push_line("", Emphasis::Plain, out);
        }
        let date = date(&rows.header, &self.time_zone);
        if date != self.date {
            self.push_line(&date, Emphasis::Dim, out);
            self.date = date;
        }
        let segments = header_line(&rows.header, &self.time_zone, self.width);
        for (index, (text, emphasis)) in segments.iter().enumerate() {
            out.extend_from_slice(if index == 0 { b"" } else { GAP.as_bytes() });
            paint(text, *emphasis, self.options.colors, out);
        }
        self.push_line("", Emphasis::Plain, out);
        if let Some(text) = hidden_io_wait_text(&rows.header).filter(|_| self.options.explain) {
            self.push_wrapped(&text, "  ", out);
        }
        let no_cpu = no_cpu_text(&rows.header);
        // The host line has the number; the sentence is said when it begins.
        if let Some(text) = no_cpu.as_ref().filter(|_| !self.lacked_cpu) {
            self.push_wrapped(text, "  ", out);
        }
        self.lacked_cpu = no_cpu.is_some();
        for event in &rows.events {
            let text = event_text(event);
            self.push_line(
                &ellipsize(&sanitize(&text), self.width),
                Emphasis::Warning,
                out,
            );
        }
        if are_titles_due && !lines.is_empty() {
            self.push_titles(out);
        }
        for line in &lines {
            if self.are_titles_scrolling_off() {
                self.push_titles(out);
            }
            self.push_device(line, out);
            if let Some(attribution) = rows.attribution.as_ref().filter(|_| self.options.who) {
                self.push_who(line, attribution, out);
            }
        }
        self.explain_mark(&lines, out);
    }

    /// Appends a note that names the hidden columns, at the end of a run.
    pub fn name_hidden(&mut self, out: &mut Vec<u8>) {
        if self.has_columns && !self.columns.hidden.is_empty() {
            let (width, titles) = (self.width, self.columns.hidden.join(" "));
            let note = format!("hidden at width {width}: {titles} (--width N, --all-columns)");
            self.push_wrapped(&note, "", out);
        }
    }

    /// Returns whether the column titles must be repeated to stay visible during a block of this number of lines.
    fn are_titles_due(&self, lines: usize) -> bool {
        self.lines_since_titles
            .is_none_or(|since| since.saturating_add(lines + 1) >= self.rows)
    }

    /// Returns whether the next line makes the column titles scroll off; the cursor needs a line, too.
    fn are_titles_scrolling_off(&self) -> bool {
        let rows = self.rows.max(MIN_SCREEN_ROWS);
        self.is_screen
            && self
                .lines_since_titles
                .is_some_and(|since| since.saturating_add(2) >= rows)
    }

    fn push_titles(&mut self, out: &mut Vec<u8>) {
        paint(
            &self.columns.titles,
            Emphasis::Bold,
            self.options.colors,
            out,
        );
        out.push(b'\n');
        self.lines_since_titles = Some(0);
    }

    fn push_device(&mut self, line: &DeviceInterval, out: &mut Vec<u8>) {
        self.push_name(line.label(), out);
        let has_mounts = self.options.mounts && !line.names.mountpoints.is_empty();
        let activity = line.activity();
        let hidden = activity.filter(|activity| self.is_activity_hidden(activity));
        let message = Message::for_state(&line.state);
        if let Some(message) = message.or_else(|| hidden.map(Message::for_hidden_activity)) {
            self.push_message(&message, has_mounts, out);
        } else if let Some(activity) = activity {
            self.push_cells(activity, out);
        }
        if has_mounts {
            self.push_mounts(&line.names.mountpoints, out);
        }
        out.push(b'\n');
        self.lines_since_titles = self.lines_since_titles.map(|since| since.saturating_add(1));
        self.push_incident(line, out);
        if self.options.explain {
            self.push_evidence(line, out);
        }
    }

    fn push_name(&self, label: &str, out: &mut Vec<u8>) {
        let width = self.columns.name_width;
        let mut name = sanitize(label);
        let mut used = text_width(&name);
        // Without a limit, a longer name that comes later moves its cells rather than being cut.
        if used > width && self.width < UNLIMITED_WIDTH {
            name = ellipsize(&name, width).into();
            used = text_width(&name);
        }
        out.extend_from_slice(name.as_bytes());
        out.resize(out.len() + width.saturating_sub(used), b' ');
    }

    /// Appends as much of the mount points as fits after the cells.
    fn push_mounts(&self, mountpoints: &str, out: &mut Vec<u8>) {
        let used = self.columns.name_width + self.columns.cells_width + MOUNTS_GAP;
        let width = self
            .width
            .saturating_sub(used)
            .min(max_mounts_width(self.width));
        if width > 0 {
            // Writing to a Vec cannot fail.
            let _ = write!(
                out,
                "{:MOUNTS_GAP$}{}",
                "",
                ellipsize(&sanitize(mountpoints), width)
            );
        }
    }

    /// Appends what is known of the incident of a device that suffers from it: on one line, and on several if the
    /// latency that made the verdict would be nowhere else, because the columns of flushes are hidden.
    fn push_incident(&mut self, line: &DeviceInterval, out: &mut Vec<u8>) {
        let is_trouble = line.shown_verdict().is_some_and(Verdict::is_trouble);
        let Some(ongoing) = line.incident().filter(|one| one.is_victim && is_trouble) else {
            return;
        };
        let parts = incident_parts(
            &ongoing.incident,
            &present_harm(&ongoing.incident, line.stats()),
        );
        if ongoing.incident.requests == Some(IoDirection::Flushes)
            && !self.is_shown(&FLUSH_AWAIT_MS)
        {
            self.push_paragraph(&parts.join("; "), "  ", Emphasis::Warning, out);
            return;
        }
        let mut text = String::new();
        for part in parts {
            let separator = if text.is_empty() { "  " } else { "; " };
            if text.is_empty() || text.width() + 2 + part.width() <= self.width {
                text += &format!("{separator}{part}");
            }
        }
        if !text.is_empty() {
            self.push_line(&ellipsize(&text, self.width), Emphasis::Warning, out);
        }
    }

    /// Appends the cgroups that use a device, and the tasks that are blocked.
    fn push_who(&mut self, line: &DeviceInterval, attribution: &Attribution, out: &mut Vec<u8>) {
        let has_work = line.shown_verdict() > Some(Verdict::Ok);
        if has_work && let Some(text) = who_line(line.device(), attribution) {
            self.push_wrapped(&text, "  ", out);
        }
    }

    /// Appends the evidence for a verdict; if it is not trouble, only the evidence that means hide.
    fn push_evidence(&mut self, line: &DeviceInterval, out: &mut Vec<u8>) {
        let Some(activity) = line.activity() else {
            return;
        };
        // A word that is not shown yet needs no reason.
        let is_shown = activity.shown_verdict == activity.judged.assessment().verdict;
        if !is_shown || activity.shown_verdict <= Some(Verdict::Ok) {
            return;
        }
        for sentence in timed_evidence_sentences(activity, |at| time_of_day(at, &self.time_zone)) {
            self.push_wrapped(&sanitize(&sentence), "  ", out);
        }
    }

    fn push_cells(&self, activity: &DeviceActivity, out: &mut Vec<u8>) {
        for column in &self.columns.shown {
            let (begin, width) = (out.len(), self.columns.width(column));
            column.push_cell(activity, width, width - 1, out);
            if self.options.colors {
                let cell = &out[begin..];
                let blanks = cell.iter().take_while(|byte| **byte == b' ').count();
                let begin = begin + blanks;
                let threshold = self.options.saturation_threshold;
                paint_from(
                    begin,
                    column.emphasis(&out[begin..], activity, threshold),
                    out,
                );
            }
        }
    }

    fn is_shown(&self, quantity: &Quantity) -> bool {
        self.columns
            .shown
            .iter()
            .any(|column| column.title == quantity.title)
    }

    /// Returns whether a device only had discards or flushes, and their columns are hidden.
    fn is_activity_hidden(&self, activity: &DeviceActivity) -> bool {
        let stats = &activity.judged.interval;
        let has_none = |of: &Completed| of.count() == Some(0.0);
        let is_hidden = |of: &Completed, rate| of.ios.sum > 0.0 && !self.is_shown(rate);
        has_none(&stats.reads)
            && has_none(&stats.writes)
            && (is_hidden(&stats.discards, &DISCARDS_PER_S)
                || is_hidden(&stats.flushes, &FLUSHES_PER_S))
    }

    /// Appends a message instead of the cells: padded to their width if something follows.
    fn push_message(&self, message: &Message, is_followed: bool, out: &mut Vec<u8>) {
        let cells = self.columns.cells_width;
        let mut width = self.width.saturating_sub(self.columns.name_width + 1);
        if is_followed {
            width = width.min(cells.saturating_sub(1));
        }
        let text = message
            .fitting(width)
            .map(|text| ellipsize(text, width))
            .unwrap_or_default();
        out.push(b' ');
        paint(&text, message.emphasis, self.options.colors, out);
        if is_followed {
            out.resize(out.len() + cells.saturating_sub(1 + text.width()), b' ');
        }
    }

    /// Explains the question mark after util, once.
    fn explain_mark(&mut self, lines: &[&DeviceInterval], out: &mut Vec<u8>) {
        let has_mark = |activity: &DeviceActivity| {
            activity.flag.is_some() && activity.judged.interval.util_pct().is_some()
        };
        let mut activities = lines.iter().filter_map(|line| line.activity());
        if !self.has_explained_mark && activities.any(has_mark) {
            self.has_explained_mark = true;
            let text = "? kernel util is implausible: above its upper bound";
            self.push_wrapped(text, "", out);
        }
    }

    /// Appends a text in dim lines, each after `indent`.
    fn push_wrapped(&mut self, text: &str, indent: &str, out: &mut Vec<u8>) {
        self.push_paragraph(text, indent, Emphasis::Dim, out);
    }

    fn push_paragraph(&mut self, text: &str, indent: &str, emphasis: Emphasis, out: &mut Vec<u8>) {
        for line in wrap(
            text,
            sentence_width(self.width).saturating_sub(indent.len()),
        ) {
            self.push_line(&format!("{indent}{line}"), emphasis, out);
        }
    }

    fn push_line(&mut self, text: &str, emphasis: Emphasis, out: &mut Vec<u8>) {
        paint(text, emphasis, self.options.colors, out);
        out.push(b'\n');
        self.lines_since_titles = self.lines_since_titles.map(|since| since.saturating_add(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::{DeviceState, IntervalHeader};
    use crate::judge::Assessment;
    use crate::metrics::Interval;

    fn table(width: usize, is_screen: bool) -> TableWriter {
        let options = TableOptions {
            width: Some(width),
            ..TableOptions::default()
        };
        let mut table = TableWriter::new(&options, is_screen, TimeZone::UTC);
        table.rows = 10;
        table
    }

    fn device(state: DeviceState) -> DeviceInterval {
        DeviceInterval::without_alias("sda", state)
    }

    fn interval(devices: Vec<DeviceInterval>) -> IntervalRows {
        let header = IntervalHeader {
            elapsed_s: 1.0,
            ..IntervalHeader::default()
        };
        IntervalRows {
            header,
            devices,
            total: None,
            events: Vec::new(),
            attribution: None,
            has_found_any: true,
        }
    }

    /// Prints two intervals of this number of devices, on a screen of ten lines or none.
    fn printed(devices: usize, is_screen: bool) -> Vec<String> {
        let mut table = table(100, is_screen);
        let rows = interval(
            (0..devices)
                .map(|_| device(DeviceState::Active(Box::default())))
                .collect(),
        );
        let mut out = Vec::new();
        table.push_interval(&rows, &mut out);
        table.push_interval(&rows, &mut out);
        String::from_utf8(out)
            .unwrap()
            .lines()
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn the_titles_stay_in_sight_within_a_block_on_a_screen() {
        let is_header = |line: &&String| line.starts_with("device");
        let lines = printed(100, true);
        // The last of the ten lines is needed for the cursor.
        let is_seen = |lines: &[String]| lines.iter().any(|line| is_header(&line));
        let first = lines.iter().position(|line| is_header(&line)).unwrap();
        let devices = lines[first..]
            .split(|line| line.is_empty())
            .flat_map(|block| block.windows(9));
        for screen in devices.filter(|screen| screen.iter().all(|line| !line.contains("1.000s"))) {
            assert!(is_seen(screen), "{screen:#?}");
        }
        assert_eq!(
            lines.iter().filter(is_header).count(),
            2 * 100usize.div_ceil(8)
        );
        assert_eq!(printed(100, false).iter().filter(is_header).count(), 2);
        assert_eq!(printed(2, true).iter().filter(is_header).count(), 1);
    }

    #[test]
    fn columns_stay_whatever_devices_do() {
        let with_ios = |reads, writes, discards| {
            let of = |ios| Completed::example(1.0, ios, 1.0);
            let (reads, writes, discards) = (of(reads), of(writes), of(discards));
            let stats = Interval {
                reads,
                writes,
                discards,
                ..Interval::default()
            };
            DeviceState::Active(Box::new(DeviceActivity::example(
                stats,
                Assessment::default(),
            )))
        };
        let longer = DeviceInterval::without_alias("a-longer-name-than-before", with_ios(1, 1, 1));
        let mut table = table(60, false);
        let mut out = Vec::new();
        for device in [
            device(with_ios(0, 0, 0)),
            device(with_ios(5, 0, 0)),
            device(with_ios(5, 5, 5)),
            longer,
        ] {
            table.push_interval(&interval(vec![device]), &mut out);
        }
        table.name_hidden(&mut out);
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        let (rest, notes) = lines.split_at(lines.len() - 3);
        let expected = [
            "hidden at width 60: rMB/s r_sz wMB/s w_sz d/s dMB/s d_await",
            "d_sz rmrg wmrg dmrg inflt ≤util r_sat w_sat (--width N,",
            "--all-columns)",
        ];
        assert_eq!(notes, expected, "{text}");
        let mut titles: Vec<&str> = rest
            .iter()
            .copied()
            .filter(|line| line.starts_with("device"))
            .collect();
        titles.dedup();
        assert_eq!(
            titles,
            ["device       r/s r_await   w/s w_await queue  util   verdict"]
        );
        let devices = rest
            .iter()
            .filter(|line| line.starts_with("sda") || line.starts_with("a-lon…"));
        assert!(
            devices.clone().count() == 4 && devices.clone().all(|line| line.chars().count() == 60),
            "{text}"
        );
    }
}
