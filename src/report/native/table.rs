//! The table: a block of lines for each interval.

use std::collections::{HashMap, HashSet};

use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr;

use super::lines::{GAP, Message, date, event_text, header_line, who_line};
use super::summary::draw_summary;
use super::{ColumnChoice, EXPLANATION, Emphasis, TIME_WIDTH, TableOptions, paint, paint_from};
use crate::attribution::{Attribution, ReachedLimit};
use crate::intervals::{DeviceActivity, DeviceInterval, DeviceSummary, IntervalRows, RunSpan};
use crate::judge::Verdict;
use crate::quantities::Quantity;
use crate::quantities::device::{DISCARDS_PER_S, FLUSHES_PER_S};
use crate::report::evidence::{
    HostTrouble, at_limit_text, cgroup_limit_text, health_text, host_texts, incident_parts,
    timed_evidence_sentences, user_text,
};
use crate::report::layout::number_format::percent;
use crate::report::layout::sentence_numbers::counted;
use crate::report::layout::{
    DEFAULT_WIDTH, UNLIMITED_WIDTH, ellipsize, sentence_width, text_width, time_of_day, wrap,
};
use crate::sanitize::sanitize;

/// The fewest lines of a screen: smaller ones repeat the column titles as if they had this many.
const MIN_SCREEN_ROWS: usize = 5;
/// The number of lines after which the column titles are repeated without a terminal.
const DEFAULT_ROWS: usize = 50;

/// The most lines about an incident below a device.
const MAX_INCIDENT_LINES: usize = 2;

/// Returns the limit of a cgroup that does not hold the device back; `None` if none is reached.
fn limit_beside(activity: &DeviceActivity) -> Option<&ReachedLimit> {
    activity
        .reached_limit()
        .filter(|reached| !reached.holds_device)
}

/// The calm devices that have no line of their own: `18 more devices, ok, at most 3.1% util; 30 idle`.
fn folded_text(devices: &[DeviceInterval]) -> String {
    let mut most = 0.0_f64;
    let mut idle_count = 0;
    for device in devices {
        if is_idle(device) {
            idle_count += 1;
        } else if let Some(stats) = device.stats() {
            most = most.max(stats.util_pct().unwrap_or(0.0));
        }
    }
    let ok_count = devices.len() as u64 - idle_count;
    if ok_count == 0 {
        return counted(idle_count, "idle device");
    }
    let ok = format!(
        "{}, ok, at most {} util",
        counted(ok_count, "more device"),
        percent(most)
    );
    if idle_count == 0 {
        return ok;
    }
    format!("{ok}; {idle_count} idle")
}

/// What a screen has said and still holds: only what changes is said again.
#[derive(Default)]
struct Said {
    host: Vec<HostTrouble>,
    /// The devices of which it was said what the kernel says is wrong.
    health: HashSet<String>,
    /// The limits of cgroups that were said below devices which they don't hold back, by device.
    limits: HashMap<String, String>,
}

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
    /// The time of day at its end.
    time: String,
    has_explained_mark: bool,
    said: Said,
}

impl TableWriter {
    /// Creates a writer of the default size, which [`Self::resize`] changes.
    pub fn new(options: &TableOptions, is_screen: bool, time_zone: TimeZone) -> Self {
        let options = options.clone();
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
            time: String::new(),
            has_explained_mark: false,
            said: Said::default(),
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
        let (devices, folded) = rows.devices.split_at(self.shown_count(&rows.devices));
        let mut lines = Vec::from_iter(devices);
        lines.extend(&rows.total);
        if !self.has_columns && !lines.is_empty() {
            self.columns = ColumnChoice::new(&self.options, self.width, &lines);
            self.has_columns = true;
        }
        let are_titles_due = self.are_titles_due(lines.len() + rows.events.len() + 2);
        if are_titles_due && !lines.is_empty() {
            // A new screen says it again.
            self.said = Said::default();
        }
        if self.lines_since_titles.is_some() {
            self.push_line("", Emphasis::Plain, out);
        }
        let date = date(&rows.header, &self.time_zone);
        if date != self.date {
            self.push_line(&date, Emphasis::Dim, out);
            self.date = date;
        }
        self.time = match rows.header.end {
            Some(end) => time_of_day(end, &self.time_zone),
            None => String::new(),
        };
        let segments = header_line(&rows.header, &self.time_zone, self.width);
        for (index, (text, emphasis)) in segments.iter().enumerate() {
            out.extend_from_slice(if index == 0 { b"" } else { GAP.as_bytes() });
            paint(text, *emphasis, self.options.colors, out);
        }
        self.push_line("", Emphasis::Plain, out);
        self.push_host_texts(rows, out);
        for event in &rows.events {
            self.explain(&sanitize(&event_text(event)), Emphasis::Warning, out);
        }
        if are_titles_due && !lines.is_empty() {
            self.push_titles(out);
        }
        for line in &lines {
            if self.are_titles_scrolling_off() {
                self.push_titles(out);
            }
            self.push_device(line, out);
            self.push_doubt(line, rows.attribution.as_ref(), out);
            if self.options.who
                && let Some(attribution) = &rows.attribution
            {
                self.push_who(line, attribution, out);
            }
        }
        if !folded.is_empty() {
            self.explain(&folded_text(folded), Emphasis::Dim, out);
        }
        self.explain_mark(&lines, out);
    }

    /// Returns how many of the devices, the remarkable ones first, get a line of their own: on a screen no more calm ones
    /// than fit on it, and if not all fit, no idle ones.
    fn shown_count(&self, devices: &[DeviceInterval]) -> usize {
        if !self.is_screen {
            return devices.len();
        }
        let Some(first_calm) = devices.iter().position(is_calm) else {
            return devices.len();
        };
        if !devices[first_calm..].iter().all(is_calm) {
            return devices.len();
        }
        // The others are for the host, the titles and explanations.
        let room = self.rows - self.rows.div_ceil(3);
        if devices.len() <= room {
            return devices.len();
        }
        let last_working = devices.iter().rposition(|device| !is_idle(device));
        let working_count = last_working.map_or(0, |last| last + 1);
        working_count.min(room).max(first_calm)
    }

    /// Appends what keeps programs waiting whatever the disks do, once on each screen: the host line goes on to show its
    /// numbers. A device in trouble, or a limit of a cgroup, may be what no device shows.
    fn push_host_texts(&mut self, rows: &IntervalRows, out: &mut Vec<u8>) {
        let mut is_explained = false;
        for row in &rows.devices {
            is_explained |= row.is_in_trouble() || row.activity().and_then(limit_beside).is_some();
        }
        let said = std::mem::take(&mut self.said.host);
        for (trouble, text) in host_texts(&rows.header, rows.attribution.as_ref()) {
            self.said.host.push(trouble);
            let is_known = said.contains(&trouble) || is_explained && trouble.may_be_of_device();
            if !is_known {
                self.explain(&text, Emphasis::Dim, out);
            }
        }
    }

    /// Appends what the kernel says is wrong with a device that is not in trouble, once on each screen.
    fn push_health(&mut self, line: &DeviceInterval, out: &mut Vec<u8>) {
        let device = line.device();
        let Some(activity) = line.activity() else {
            return;
        };
        // Compared with itself, it has no new errors: what is left is its state.
        if !line.is_in_trouble()
            && let Some(now) = &activity.health
            && let Some(text) = health_text(device, &now.troubles(Some(now)), None)
        {
            if self.said.health.insert(device.to_owned()) {
                self.explain(&text, Emphasis::Dim, out);
            }
        } else {
            self.said.health.remove(device);
        }
    }

    /// Appends a note that names the hidden columns, at the end of a run.
    pub fn name_hidden(&mut self, out: &mut Vec<u8>) {
        if self.has_columns && !self.columns.hidden.is_empty() {
            let (width, titles) = (self.width, self.columns.hidden.join(" "));
            let note = format!("hidden at width {width}: {titles} (--width N, -o)");
            self.explain(&note, Emphasis::Dim, out);
        }
    }

    /// Returns whether the column titles must be repeated to stay visible during a block of this number of lines.
    fn are_titles_due(&self, lines: usize) -> bool {
        match self.lines_since_titles {
            Some(since) => since.saturating_add(lines + 1) >= self.rows,
            None => true,
        }
    }

    /// Returns whether the next line makes the column titles scroll off; the cursor needs a line, too.
    fn are_titles_scrolling_off(&self) -> bool {
        let rows = self.rows.max(MIN_SCREEN_ROWS);
        match self.lines_since_titles {
            Some(since) => self.is_screen && since.saturating_add(2) >= rows,
            None => false,
        }
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
        if self.options.has_times {
            let time = format!("{:TIME_WIDTH$}", self.time);
            out.extend_from_slice(time.as_bytes());
        }
        self.push_name(line.label(), out);
        if let Some(message) = Message::for_state(&line.state) {
            self.push_message(&message, out);
        } else if let Some(activity) = line.activity() {
            if self.is_activity_hidden(activity) {
                self.push_message(&Message::for_hidden_activity(activity), out);
            } else {
                self.push_cells(activity, out);
            }
        }
        self.end_line(out);
        self.push_incident(line, out);
        self.push_limit(line, out);
        self.push_health(line, out);
        if self.options.explain {
            self.push_evidence(line, out);
        }
    }

    /// Appends the limit that holds a cgroup back but not the device, once when it is reached.
    fn push_limit(&mut self, line: &DeviceInterval, out: &mut Vec<u8>) {
        let device = line.device();
        if let Some(activity) = line.activity()
            && activity.incident.is_none()
            && let Some(reached) = limit_beside(activity)
        {
            let limit = at_limit_text(&reached.limit);
            if self.said.limits.get(device) != Some(&limit) {
                self.explain(&cgroup_limit_text(reached), Emphasis::Dim, out);
                self.said.limits.insert(device.to_owned(), limit);
            }
        } else {
            self.said.limits.remove(device);
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

    /// Appends what is known of the incident of a device that suffers from it.
    fn push_incident(&mut self, line: &DeviceInterval, out: &mut Vec<u8>) {
        let Some(ongoing) = line.incident() else {
            return;
        };
        if !ongoing.is_victim || line.shown_verdict() <= Some(Verdict::Ok) {
            return;
        }
        self.push_parts(&incident_parts(&ongoing.told), Emphasis::Warning, out);
    }

    /// Appends the parts of a sentence. A screen leaves out those that do not fit on two lines, but never the first.
    fn push_parts(&mut self, parts: &[String], emphasis: Emphasis, out: &mut Vec<u8>) {
        let width = sentence_width(self.width).saturating_sub(2 * EXPLANATION.width());
        let mut text = String::new();
        for part in parts {
            let longer = if text.is_empty() {
                part.clone()
            } else {
                format!("{text}; {part}")
            };
            if text.is_empty()
                || !self.is_screen
                || wrap(&longer, width).len() <= MAX_INCIDENT_LINES
            {
                text = longer;
            }
        }
        if !text.is_empty() {
            self.explain(&text, emphasis, out);
        }
    }

    /// Appends why a device that is not in trouble is not ok either, and who uses it.
    fn push_doubt(
        &mut self,
        line: &DeviceInterval,
        attribution: Option<&Attribution>,
        out: &mut Vec<u8>,
    ) {
        let (Some(Verdict::Busy | Verdict::Queueing), Some(activity)) =
            (line.shown_verdict(), line.activity())
        else {
            return;
        };
        if activity.incident.is_some() || self.options.explain {
            return;
        }
        let sentences = timed_evidence_sentences(activity, |at| time_of_day(at, &self.time_zone));
        let mut parts = Vec::new();
        // The others say the same of another kind of requests.
        if let Some(sentence) = sentences.first() {
            parts.push(sanitize(sentence).into_owned());
        }
        if let Some(attribution) = attribution
            && let Some(usage) = attribution.device(line.device())
        {
            parts.extend(user_text(usage));
        }
        self.push_parts(&parts, Emphasis::Dim, out);
    }

    /// Appends the cgroups that use a device, and the tasks that are blocked.
    fn push_who(&mut self, line: &DeviceInterval, attribution: &Attribution, out: &mut Vec<u8>) {
        let has_work = line.shown_verdict() > Some(Verdict::Ok);
        if has_work && let Some(text) = who_line(line.device(), attribution) {
            self.explain(&text, Emphasis::Dim, out);
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
            self.explain(&sanitize(&sentence), Emphasis::Dim, out);
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
                paint_from(begin, column.emphasis(&out[begin..], activity), out);
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
        if stats.reads.count() != Some(0.0) || stats.writes.count() != Some(0.0) {
            return false;
        }
        stats.discards.ios.sum > 0.0 && !self.is_shown(&DISCARDS_PER_S)
            || stats.flushes.ios.sum > 0.0 && !self.is_shown(&FLUSHES_PER_S)
    }

    /// Appends a message instead of the cells: padded to their width if something follows.
    fn push_message(&self, message: &Message, out: &mut Vec<u8>) {
        let width = self.width.saturating_sub(self.columns.name_width + 1);
        let text = match message.fitting(width) {
            Some(text) => ellipsize(text, width),
            None => String::new(),
        };
        out.push(b' ');
        paint(&text, message.emphasis, self.options.colors, out);
    }

    /// Explains the question mark after util, once.
    fn explain_mark(&mut self, lines: &[&DeviceInterval], out: &mut Vec<u8>) {
        for line in lines {
            if let Some(activity) = line.activity()
                && activity.flag.is_some()
                && activity.judged.interval.util_pct().is_some()
                && !self.has_explained_mark
            {
                self.has_explained_mark = true;
                let text = "? kernel util is implausible: above its upper bound";
                self.explain(text, Emphasis::Dim, out);
            }
        }
    }

    /// Appends a sentence that explains the line above.
    fn explain(&mut self, text: &str, emphasis: Emphasis, out: &mut Vec<u8>) {
        let width = sentence_width(self.width).saturating_sub(2 * EXPLANATION.width());
        for (index, line) in wrap(text, width).iter().enumerate() {
            let indent = if index == 0 { "" } else { "  " };
            self.push_line(&format!("{EXPLANATION}{indent}{line}"), emphasis, out);
        }
    }

    fn push_line(&mut self, text: &str, emphasis: Emphasis, out: &mut Vec<u8>) {
        paint(text, emphasis, self.options.colors, out);
        self.end_line(out);
    }

    fn end_line(&mut self, out: &mut Vec<u8>) {
        out.push(b'\n');
        if let Some(lines) = &mut self.lines_since_titles {
            *lines = lines.saturating_add(1);
        }
    }
}

fn is_calm(device: &DeviceInterval) -> bool {
    device.activity().is_some() && device.shown_verdict() <= Some(Verdict::Ok)
}

fn is_idle(device: &DeviceInterval) -> bool {
    device.shown_verdict() == Some(Verdict::Idle)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::{DeviceState, IntervalHeader};
    use crate::judge::Assessment;
    use crate::metrics::Completed;
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

    /// Prints two intervals of this number of devices with a verdict, on a screen of ten lines or none.
    fn printed(devices: usize, is_screen: bool, verdict: Verdict) -> Vec<String> {
        let mut table = table(100, is_screen);
        let activity = DeviceActivity {
            shown_verdict: Some(verdict),
            ..DeviceActivity::default()
        };
        let row = device(DeviceState::Active(Box::new(activity)));
        let rows = interval(vec![row; devices]);
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
        let lines = printed(100, true, Verdict::Busy);
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
        let count = |lines: Vec<String>| lines.iter().filter(is_header).count();
        assert_eq!(count(printed(100, false, Verdict::Busy)), 2);
        assert_eq!(count(printed(2, true, Verdict::Busy)), 1);
    }

    #[test]
    fn on_a_screen_calm_devices_take_no_more_lines_than_it_has() {
        let count = |lines: &[String]| lines.iter().filter(|line| line.starts_with("sda")).count();
        let lines = printed(100, true, Verdict::Ok);
        assert_eq!(count(&lines), 2 * 6);
        let folded = "└ 94 more devices, ok, at most 0% util";
        assert!(lines.iter().any(|line| line == folded), "{lines:#?}");
        assert_eq!(count(&printed(100, false, Verdict::Ok)), 200);
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
            "└ hidden at width 60: rMiB/s r_sz wMiB/s w_sz d/s dMiB/s",
            "└   d_await d_sz rmrg wmrg dmrg r_qu w_qu d_qu inflt ≤util",
            "└   r_sat w_sat (--width N, -o)",
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
