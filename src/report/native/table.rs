//! The table for people: one block of lines an interval.

use std::io::Write;

use jiff::tz::TimeZone;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::columns::{COLUMNS, fitting, response};
use super::{Block, Judged, Line, State};
use crate::analysis::Verdict;
use crate::metrics::{DirectionStats, IntervalStats};
use crate::report::evidence::evidence_text;
use crate::report::layout::number_format as cells;
use crate::report::layout::wrap;
use crate::sanitize::sanitize;

/// How the table is laid out.
#[derive(Clone, Debug)]
pub struct Layout {
    /// Characters on a line; `None` shows all columns, however wide.
    pub width: Option<usize>,
    /// What each verdict but idle and ok rests on, below its line.
    pub explain: bool,
    /// Lines on a screen, after which the header is repeated.
    pub rows: usize,
    /// Lines go to a screen, on which the header is to stay in sight within a block too. What goes elsewhere is read
    /// by programs as well, to which a block is one table.
    pub is_screen: bool,
    /// Discards and flushes even where there are none.
    pub all_columns: bool,
    /// Where devices are mounted, at the end of their lines.
    pub mounts: bool,
    /// Colours.
    pub colors: bool,
    /// Where printed times are.
    pub time_zone: TimeZone,
}

/// The least room for a name.
const NAME: usize = 11;
/// Room for where a device is mounted.
const MOUNTS: usize = 24;

/// Writes blocks one after the other, with columns that stay where they are.
pub struct Table {
    layout: Layout,
    name_width: usize,
    worked: [bool; COLUMNS.len()],
    shown: Vec<usize>,
    /// Lines since the header was printed; `None` before the first.
    since_header: Option<usize>,
    date: String,
    noted_left_out: Vec<&'static str>,
    noted_doubt: bool,
}

/// What a piece of text is coloured for.
#[derive(Clone, Copy)]
enum Color {
    Plain,
    Bold,
    Dim,
    Red,
    Yellow,
}

impl Table {
    /// An empty table.
    pub fn new(layout: Layout) -> Self {
        Self {
            worked: [layout.all_columns; COLUMNS.len()],
            layout,
            name_width: NAME,
            shown: Vec::new(),
            since_header: None,
            date: String::new(),
            noted_left_out: Vec::new(),
            noted_doubt: false,
        }
    }

    /// The number of characters on a line from now on: the terminal has another size.
    pub fn resize(&mut self, width: Option<usize>, rows: usize) {
        if self.layout.width != width {
            self.since_header = None;
        }
        self.layout.width = width;
        self.layout.rows = rows;
    }

    /// Appends the block of an interval: the machine, then a line for each device; `news` are devices that came
    /// or went.
    pub fn block(&mut self, block: &Block, lines: &[Line<'_>], news: &[String], out: &mut Vec<u8>) {
        self.fit(lines, out);
        let header = self.header_is_due(lines.len() + news.len() + 2);
        if self.since_header.is_some() {
            self.line("", Color::Plain, out);
        }
        self.machine(block, out);
        for text in news {
            let text = sanitize(text);
            self.line(&cut(&text, self.width()), Color::Yellow, out);
        }
        if !lines.is_empty() {
            if header {
                self.header(out);
            }
            for line in lines {
                if self.is_out_of_sight() {
                    self.header(out);
                }
                self.device(line, out);
            }
        }
        self.explain_doubt(lines, out);
    }

    /// Appends a line of its own.
    pub fn note(&mut self, text: &str, out: &mut Vec<u8>) {
        self.line(&sanitize(text), Color::Dim, out);
    }

    fn width(&self) -> usize {
        self.layout.width.unwrap_or(usize::MAX)
    }

    /// Finds the columns that fit. They only change when a longer name or a new kind of work came.
    fn fit(&mut self, lines: &[Line<'_>], out: &mut Vec<u8>) {
        let longest = lines.iter().map(|line| sanitize(line.shown).width()).max().unwrap_or(0);
        let name_width = self.name_width.max(longest.min(name_room(self.width())));
        let mut worked = self.worked;
        for figures in lines.iter().filter_map(Line::figures) {
            for (worked, column) in worked.iter_mut().zip(&COLUMNS) {
                *worked |= column.only_with.is_some_and(|had| had(figures));
            }
        }
        let mounts = if self.layout.mounts { MOUNTS + 2 } else { 0 };
        let (shown, left_out) = fitting(self.width().saturating_sub(name_width + mounts), &worked);
        if shown != self.shown || name_width != self.name_width {
            self.since_header = self.since_header.map(|_| usize::MAX / 2);
        }
        (self.shown, self.name_width, self.worked) = (shown, name_width, worked);
        if left_out.iter().any(|title| !self.noted_left_out.contains(title)) {
            let text = format!(
                "{} columns are too few for {}; --width N or --all-columns shows all",
                self.width(),
                left_out.join(" ")
            );
            wrap(&text, self.width()).iter().for_each(|text| self.line(text, Color::Dim, out));
            self.noted_left_out.extend(left_out);
        }
    }

    /// Whether the header must be printed again to stay in sight.
    fn header_is_due(&self, lines: usize) -> bool {
        self.since_header.is_none_or(|since| since.saturating_add(lines + 1) >= self.layout.rows)
    }

    /// Whether the header leaves the screen with the next line, which has the cursor below it.
    fn is_out_of_sight(&self) -> bool {
        const LOWEST_SCREEN: usize = 5;
        let rows = self.layout.rows.max(LOWEST_SCREEN);
        self.layout.is_screen && self.since_header.is_some_and(|since| since.saturating_add(2) >= rows)
    }

    fn header(&mut self, out: &mut Vec<u8>) {
        let mut text = format!("{:<width$}", "device", width = self.name_width);
        for column in self.shown.iter().map(|at| &COLUMNS[*at]) {
            text += &format!("{:>width$}", column.title, width = column.width);
        }
        if self.layout.mounts {
            text += "  mounted at";
        }
        self.line(&cut(&text, self.width()), Color::Bold, out);
        self.since_header = Some(0);
    }

    /// When, how long, and what the machine did; as much of it as fits.
    fn machine(&mut self, block: &Block, out: &mut Vec<u8>) {
        let zoned = block.time.map(|time| time.to_zoned(self.layout.time_zone.clone()));
        let format = |format: &str| zoned.as_ref().map(|time| time.strftime(format).to_string());
        let date = format("%Y-%m-%d %Z").unwrap_or_default();
        let mut text = format("%H:%M:%S").unwrap_or_else(|| "--:--:--".to_owned());
        if date != self.date {
            self.line(&date, Color::Dim, out);
            self.date = date;
        }
        let fine = if block.elapsed_s < 9.995 { 3 } else { 1 };
        text += &format!("  {:.fine$}s", block.elapsed_s);
        for segment in segments(block, self.width() < 100) {
            if text.chars().count() + 2 + segment.chars().count() <= self.width() {
                text += "  ";
                text += &segment;
            }
        }
        self.line(&text, Color::Plain, out);
    }

    fn device(&mut self, line: &Line<'_>, out: &mut Vec<u8>) {
        let name = cut(&sanitize(line.shown), self.name_width);
        out.extend_from_slice(name.as_bytes());
        out.resize(out.len() + self.name_width.saturating_sub(name.width()), b' ');
        let has_mounts = self.layout.mounts && !line.mounts.is_empty();
        match &line.state {
            State::Worked(judged) if judged.stalled_s > 0.0 => {
                // For less than a second a slow disk may do without being stalled (formulas).
                let (what, color) =
                    if judged.stalled_s >= 1.0 { ("STALLED", Color::Red) } else { ("waiting", Color::Plain) };
                let count = judged.figures.in_flight.unwrap_or(0);
                let lasted = cells::duration(judged.stalled_s);
                let long = format!("{what} for {lasted}: {count} in flight, nothing completed");
                let short = format!("{what} {lasted}, {count} in flight");
                self.words(&long, &short, color, has_mounts, out);
            }
            State::Worked(judged) if self.is_hidden_work(judged) => {
                let text = other_work(&judged.figures);
                self.words(&format!("no reads or writes; {text}"), &text, Color::Plain, has_mounts, out);
            }
            State::Worked(judged) => self.cells(judged, out),
            State::Reset => {
                let long = "its counters started anew: no figures for this interval";
                self.words(long, "counters started anew", Color::Yellow, has_mounts, out);
            }
            State::PartReset => {
                let long = "the counters of a device started anew: no figures for this interval";
                self.words(long, "counters started anew", Color::Yellow, has_mounts, out);
            }
            State::AccountingOff => {
                let long = "accounting is off (queue/iostats is 0): nothing is counted";
                self.words(long, "accounting is off", Color::Yellow, has_mounts, out);
            }
        }
        let room: usize = self.shown.iter().map(|at| COLUMNS[*at].width).sum();
        let left = self.width().saturating_sub(self.name_width + room + 2).min(MOUNTS);
        if has_mounts && left > 0 {
            // Writing to a Vec cannot fail, here and below.
            let _ = write!(out, "  {}", cut(&sanitize(&line.mounts), left));
        }
        out.push(b'\n');
        self.since_header = self.since_header.map(|since| since.saturating_add(1));
        if self.layout.explain {
            self.explain(line, out);
        }
    }

    /// What a verdict rests on.
    fn explain(&mut self, line: &Line<'_>, out: &mut Vec<u8>) {
        let is_worth_it = !matches!(line.verdict(), Some(Verdict::Idle | Verdict::Ok));
        let evidence = line.judged().map_or(&[][..], |judged| &judged.judgement.evidence);
        for text in evidence.iter().filter(|_| is_worth_it).map(evidence_text) {
            for text in wrap(&sanitize(&text), self.width().saturating_sub(2)) {
                self.line(&format!("  {text}"), Color::Dim, out);
            }
        }
    }

    fn cells(&self, judged: &Judged, out: &mut Vec<u8>) {
        for column in self.shown.iter().map(|at| &COLUMNS[*at]) {
            let text = column.cell(judged).unwrap_or_else(|| "-".to_owned());
            let room = column.width.saturating_sub(text.chars().count());
            let color = match text.as_str() {
                "0" | "-" | "0%" => Color::Dim,
                _ if column.title == "util" && judged.mark.is_some() => Color::Yellow,
                "saturated" | "capped" | "stalled" => Color::Red,
                "queueing" => Color::Yellow,
                _ => Color::Plain,
            };
            out.resize(out.len() + room, b' ');
            self.paint(&text, color, out);
        }
    }

    /// Whether all it did is in columns that are not shown: discards and flushes.
    fn is_hidden_work(&self, judged: &Judged) -> bool {
        let figures = &judged.figures;
        let none = |of: &DirectionStats| of.ios == Some(0);
        let is_shown = |title: &str| self.shown.iter().any(|at| COLUMNS[*at].title == title);
        let discards = figures.discards.ios.is_some_and(|ios| ios > 0) && !is_shown("d/s");
        let flushes = figures.flushes_per_s.is_some_and(|rate| rate > 0.0) && !is_shown("f/s");
        none(&figures.reads) && none(&figures.writes) && (discards || flushes)
    }

    /// Words in place of the cells, the short ones where there is no room, and as wide as the cells where something
    /// follows.
    fn words(&self, long: &str, short: &str, color: Color, is_followed: bool, out: &mut Vec<u8>) {
        let cells: usize = self.shown.iter().map(|at| COLUMNS[*at].width).sum();
        let width = self.width().saturating_sub(self.name_width + 1);
        let width = if is_followed { width.min(cells.saturating_sub(1)) } else { width };
        let text = cut(if long.width() <= width { long } else { short }, width);
        out.push(b' ');
        self.paint(&text, color, out);
        if is_followed {
            out.resize(out.len() + cells.saturating_sub(1 + text.width()), b' ');
        }
    }

    /// Says once what the question mark means.
    fn explain_doubt(&mut self, lines: &[Line<'_>], out: &mut Vec<u8>) {
        let is_doubtful = |line: &Line<'_>| {
            line.judged().is_some_and(|judged| judged.mark.is_some() && judged.figures.util_pct.is_some())
        };
        if !self.noted_doubt && lines.iter().any(is_doubtful) {
            self.noted_doubt = true;
            let text =
                "? the kernel's util cannot be true here: more than the bound, or too little for the queue";
            wrap(text, self.width()).iter().for_each(|text| self.line(text, Color::Dim, out));
        }
    }

    fn line(&mut self, text: &str, color: Color, out: &mut Vec<u8>) {
        self.paint(text, color, out);
        out.push(b'\n');
        self.since_header = self.since_header.map(|since| since.saturating_add(1));
    }

    fn paint(&self, text: &str, color: Color, out: &mut Vec<u8>) {
        let sgr = match color {
            Color::Plain => "",
            Color::Bold => "1",
            Color::Dim => "2",
            Color::Red => "1;31",
            Color::Yellow => "33",
        };
        if sgr.is_empty() || text.is_empty() || !self.layout.colors {
            out.extend_from_slice(text.as_bytes());
        } else {
            let _ = write!(out, "\u{1b}[{sgr}m{text}\u{1b}[0m");
        }
    }
}

/// Discards and flushes in words.
fn other_work(figures: &IntervalStats) -> String {
    let mut parts = Vec::new();
    let discards = &figures.discards;
    if discards.ios.is_some_and(|ios| ios > 0) {
        let rate = discards.per_s.map(cells::number).unwrap_or_default();
        let data = discards.kib_per_s.map(|kib| cells::number(kib / 1024.0)).unwrap_or_default();
        let time = response(discards).unwrap_or_default();
        parts.push(format!("discards {rate}/s {data}MB/s {time}"));
    }
    if let Some(rate) = figures.flushes_per_s.filter(|rate| *rate > 0.0) {
        let time = figures.flush_await_ms.map(cells::time).unwrap_or_default();
        parts.push(format!("flushes {}/s {time}", cells::number(rate)));
    }
    parts.extend(figures.util_pct.map(|util| format!("util {}", cells::percent(util))));
    parts.join(", ")
}

/// What the machine did, in pieces of which the last may be left out.
fn segments(block: &Block, short: bool) -> Vec<String> {
    let machine = &block.machine;
    let mut segments = Vec::new();
    if let Some(cpu) = &machine.cpu {
        let share = |value: f64| format!("{value:.0}%");
        let (user, system, available) =
            (share(cpu.user + cpu.nice), share(cpu.system), share(cpu.available()));
        let steal = if cpu.steal >= 1.0 { format!(" {} steal", share(cpu.steal)) } else { String::new() };
        segments.push(if short {
            format!("cpu {user} user {system} sys {available} avail{steal}")
        } else {
            format!("cpu: {user} user {system} system {available} available{steal}")
        });
    }
    if let Some(blocked) = machine.blocked {
        segments.push(if short { format!("blocked {blocked}") } else { format!("blocked: {blocked}") });
    }
    if let Some((some, full)) = machine.pressure_some_pct.zip(machine.pressure_full_pct) {
        let (some, full) = (cells::percent(some), cells::percent(full));
        segments.push(if short {
            format!("io {some} some {full} full")
        } else {
            format!("pressure: {some} some {full} full")
        });
    }
    if block.missed > 0 {
        segments.push(format!("missed: {}", block.missed));
    }
    segments
}

/// The most room that a name gets on lines of `width` characters.
pub(super) fn name_room(width: usize) -> usize {
    (width / 5).max(NAME).min(width)
}

/// `text` in at most `width` columns; what is in the middle goes.
pub(super) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let Some(kept) = width.checked_sub(1) else { return String::new() };
    let head = fitting_in(text.chars(), kept.div_ceil(2));
    let tail: Vec<char> = fitting_in(text.chars().rev(), kept / 2).chars().rev().collect();
    format!("{head}…{}", tail.iter().collect::<String>())
}

/// As many of the characters as fit.
fn fitting_in(characters: impl Iterator<Item = char>, width: usize) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= width
    };
    characters.take_while(fits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::HostStats;

    /// The lines of two blocks of so many devices, on a screen of ten lines or none.
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
        let block = Block { time: None, elapsed_s: 1.0, missed: 0, machine: HostStats::default() };
        let state = || State::Worked(Box::default());
        let line = |_| Line { device: "sda", shown: "sda", mounts: String::new(), state: state() };
        let lines: Vec<Line<'_>> = (0..devices).map(line).collect();
        let mut out = Vec::new();
        table.block(&block, &lines, &[], &mut out);
        table.block(&block, &lines, &[], &mut out);
        String::from_utf8(out).unwrap().lines().map(str::to_owned).collect()
    }

    #[test]
    fn the_header_stays_in_sight_within_a_block_on_a_screen() {
        let is_header = |line: &&String| line.starts_with("device");
        let lines = printed(100, true);
        // The last of ten lines is the cursor's.
        let seen = |lines: &[String]| lines.iter().any(|line| is_header(&line));
        let first = lines.iter().position(|line| is_header(&line)).unwrap();
        let devices = lines[first..].split(|line| line.is_empty()).flat_map(|block| block.windows(9));
        for screen in devices.filter(|screen| screen.iter().all(|line| !line.contains("1.000s"))) {
            assert!(seen(screen), "{screen:#?}");
        }
        assert_eq!(lines.iter().filter(is_header).count(), 2 * 100usize.div_ceil(8));
        assert_eq!(printed(100, false).iter().filter(is_header).count(), 2);
        assert_eq!(printed(2, true).iter().filter(is_header).count(), 1);
    }
}
