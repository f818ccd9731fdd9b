//! Draws the state into a buffer of cells. Here are the first line (the host,
//! the time, and whether the screen is live, paused or a replay), the last line (the text being
//! typed, a message, or the keys that matter now), and the help: keys, marks and colors.

mod chart;
mod detail;
mod device_charts;
mod list;

use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};
use unicode_width::UnicodeWidthStr;

use super::app::{App, Page, Question, Source};
use super::history::is_trouble;
use super::keys::KEYS;
use super::regions::Regions;
use super::theme::{BOLD, REVERSED};
use crate::intervals::{DeviceActivity, DeviceInterval, IntervalHeader};
use crate::judge::Verdict;
use crate::quantities::verdict_meaning;
use crate::report::evidence::verdict_mark;
use crate::report::layout::number_format::{duration, number};
use crate::report::layout::{ellipsize, format_time, wrap};
use crate::report::native::{Emphasis, available_cpu_text, header_line, see_text};
use crate::sanitize::sanitize;
use crate::terminal::to_ascii;

pub(crate) const MIN_SIZE: (u16, u16) = (60, 15);

impl App {
    pub(crate) fn draw(&mut self, buffer: &mut Buffer) {
        let area = buffer.area;
        self.size = (area.width, area.height);
        if area.width < MIN_SIZE.0 || area.height < MIN_SIZE.1 {
            let text = format!(
                "{}x{} is too small: {}x{} needed",
                area.width, area.height, MIN_SIZE.0, MIN_SIZE.1
            );
            put(buffer, 0, 0, area.width, &text, Style::new());
            return;
        }
        self.select_default();
        let (cursor_s, follows) = (self.cursor_s(), self.follows());
        self.axis.follow(cursor_s, self.history.end_s(), follows);
        let mut regions = Regions {
            scroll: self.scroll,
            ..Regions::default()
        };
        self.draw_head(buffer, Rect { height: 1, ..area });
        let body = Rect {
            y: area.y + 1,
            height: area.height - 2,
            ..area
        };
        match self.page {
            Page::Help => self.draw_help(buffer, body, &mut regions),
            Page::Detail => self.draw_detail(buffer, body, &mut regions),
            Page::List => {
                let pane = self.draw_list(buffer, body, &mut regions);
                if pane.height > 0 {
                    self.draw_pane(buffer, pane, &mut regions);
                }
            }
        }
        self.draw_status(
            buffer,
            Rect {
                y: area.y + area.height - 1,
                height: 1,
                ..area
            },
        );
        if self.options.theme.is_ascii {
            buffer.content.iter_mut().for_each(make_ascii);
        }
        self.scroll = regions.scroll;
        self.regions = regions;
    }

    /// Selects the first device of the list, unless the user has selected one.
    fn select_default(&mut self) {
        let names = self.listed_names();
        let is_listed = match &self.selected {
            Some(name) => names.contains(name),
            None => false,
        };
        // If the cursor is in the past, the incident there has selected its device.
        if !is_listed && self.page == Page::List
            || self.selected.is_none()
            || !self.has_selected && self.follows()
        {
            self.selected = names.first().cloned().or(self.selected.take());
        }
    }
}

/// Replaces what a terminal without UTF-8 cannot show. The dots of a chart become a point at their height.
fn make_ascii(cell: &mut Cell) {
    let symbol = match cell.symbol().chars().next() {
        Some(dots @ '\u{2801}'..='\u{28ff}') => {
            let (is_high, is_low) = (u32::from(dots) & 0x1b > 0, u32::from(dots) & 0xe4 > 0);
            match (is_high, is_low) {
                (true, false) => "'",
                (false, _) => ".",
                (true, true) => ":",
            }
        }
        Some('▲') => "^",
        Some('▼') => "v",
        Some('╵') => "'",
        Some('←' | '◀') => "<",
        Some('→') => ">",
        Some('━' | '╍' | '┉') => "-",
        _ if cell.symbol().is_ascii() => return,
        _ => &to_ascii(cell.symbol())[..1],
    };
    let symbol = symbol.to_owned();
    cell.set_symbol(&symbol);
}

/// Writes a text in at most `width` columns, and returns the column after it.
fn put(buffer: &mut Buffer, x: u16, y: u16, width: u16, text: &str, style: Style) -> u16 {
    if y >= buffer.area.bottom() || x >= buffer.area.right() {
        return x;
    }
    let (x, _) = buffer.set_stringn(x, y, text, usize::from(width), style);
    x
}

/// Writes a text in the first line of an area, and returns the column after it.
fn put_in(buffer: &mut Buffer, area: Rect, text: &str, style: Style) -> u16 {
    put(buffer, area.x, area.y, area.width, text, style)
}

/// A line of text: parts with their styles.
type TextLine = Vec<(String, Style)>;

/// Writes a line of text in the first line of an area.
fn put_line(buffer: &mut Buffer, area: Rect, line: &TextLine) {
    let mut x = area.x;
    for (text, style) in line {
        x = put(buffer, x, area.y, area.right() - x, text, *style);
    }
}

/// Writes a text that ends at a column.
fn put_right(buffer: &mut Buffer, end: u16, y: u16, text: &str, style: Style) {
    let width = u16::try_from(text.width()).unwrap_or(u16::MAX);
    put(buffer, end.saturating_sub(width), y, width, text, style);
}

const GAP: u16 = 2;
const GAP_WIDTH: usize = GAP as usize;
/// The columns of a time of day.
const TIME_WIDTH: u16 = 8;
/// The fewest columns that a name needs.
const MIN_NAME_WIDTH: u16 = 5;

impl App {
    fn draw_head(&self, buffer: &mut Buffer, area: Rect) {
        let (state, state_style) = self.state();
        let most = area.width / 2;
        let state_width = u16::try_from(state.width()).map_or(most, |width| width.min(most));
        let mut x = put(buffer, area.x, area.y, 8, "blkstat ", BOLD);
        let name = match &self.options.source {
            Source::Live => &self.options.host,
            // The directories are left out, because they say little and space is short.
            Source::Capture(path) => path.rsplit('/').next().unwrap_or(path),
        };
        // The time matters more than the name.
        let space = area
            .width
            .saturating_sub(x + state_width + TIME_WIDTH + 2 * GAP);
        let name = ellipsize(&sanitize(name), usize::from(space.min(area.width / 4)));
        if !name.is_empty() && space >= MIN_NAME_WIDTH {
            x = put(buffer, x, area.y, area.width / 4, &name, Style::new()) + GAP;
        }

        let end = area.right().saturating_sub(state_width + GAP);
        for (text, emphasis) in self.head_segments(usize::from(end.saturating_sub(x))) {
            let style = self.options.theme.emphasis(emphasis);
            // A segment is not cut, because a part of a number would be a different number.
            if x + text.width() as u16 <= end {
                x = put(buffer, x, area.y, end - x, &text, style) + GAP;
            }
        }
        let x = area.right() - state_width;
        put(buffer, x, area.y, state_width, &state, state_style);
    }

    /// Returns the time and the host in at most `width` columns.
    fn head_segments(&self, width: usize) -> Vec<(String, Emphasis)> {
        let Some(frame) = self.moment() else {
            return vec![("waiting for the first interval".to_owned(), Emphasis::Dim)];
        };
        let header = &frame.rows.header;
        let time_zone = &self.options.time_zone;
        if !frame.is_exact() {
            let end = match header.end {
                Some(end) => format_time(end, time_zone, "%Y-%m-%d %H:%M:%S"),
                None => String::new(),
            };
            let length = duration(header.elapsed_s);
            let text = format!("{end}  means of {length}, worst verdicts");
            return vec![(text, Emphasis::Warning)];
        }

        let late = self.late_text(frame);
        let late_width = late.as_ref().map_or(0, |text| text.len() + GAP_WIDTH);
        let mut segments = header_line(header, time_zone, width.saturating_sub(late_width));
        // If there is no space for the length of the interval, only the time of day is shown.
        if let Some((start, _)) = segments.first_mut()
            && start.len() > width
        {
            start.truncate(start.find("  ").unwrap_or(start.len()));
        }
        // The length of the interval gives way to the CPU.
        if let [(time, _)] = &mut segments[..]
            && let Some(cpu) = &header.host.cpu
        {
            let text = available_cpu_text(cpu);
            if usize::from(TIME_WIDTH) + GAP_WIDTH + text.len() + late_width <= width {
                time.truncate(usize::from(TIME_WIDTH));
                segments.push((text, Emphasis::Plain));
            }
        }
        if let Some(text) = late {
            segments.insert(segments.len().min(1), (text, Emphasis::Alert));
        }
        // An interval in the past is shown with its date.
        if let Some(end) = header.end
            && !self.follows()
        {
            let date = format_time(end, time_zone, "%Y-%m-%d %Z");
            if total_width(&segments) + date.len() <= width {
                segments.insert(0, (date, Emphasis::Dim));
            }
        }
        if let Some(swap) = swap_text(header)
            && total_width(&segments) + swap.len() <= width
        {
            segments.push((swap, Emphasis::Warning));
        }
        segments
    }

    /// Returns whether the screen is live, paused or a replay, or why there is nothing new.
    fn state(&self) -> (String, Style) {
        let theme = self.options.theme;
        let is_live = self.options.source == Source::Live;
        if is_live && let Some(reason) = &self.ended {
            return (format!(" {} ", sanitize(reason)), theme.loud());
        }
        if let Some(late_s) = self.late_s() {
            let text = format!(" NO SAMPLE FOR {} ", duration(late_s));
            return (text, theme.loud());
        }
        if is_live && self.follows() {
            return ("LIVE".to_owned(), BOLD);
        }

        let mut state = String::new();
        if !self.follows()
            && let Some((at, count)) = self.incident_at_cursor()
        {
            state = format!("incident {at} of {count}  ");
        }
        if is_live {
            let mut behind_s = self.history.end_s() - self.cursor_s();
            // Intervals of a second are some milliseconds more or less.
            if behind_s >= 0.5 {
                behind_s = behind_s.round();
            }
            state += &format!("PAUSED -{}", duration(behind_s));
            return (state, BOLD.add_modifier(Modifier::REVERSED));
        }
        state += &match self.progress {
            Some(progress) => format!("READING {:.0}%", progress * 100.0),
            None => "REPLAY".to_owned(),
        };
        (state, BOLD)
    }
}

/// Returns the columns of all segments, with a gap after each.
fn total_width(segments: &[(String, Emphasis)]) -> usize {
    let mut width = 0;
    for (text, _) in segments {
        width += text.len() + GAP_WIDTH;
    }
    width
}

/// Returns the pages that are swapped; `None` while none are.
fn swap_text(header: &IntervalHeader) -> Option<String> {
    let read = header.host.swap_in_pages_per_s?;
    let written = header.host.swap_out_pages_per_s?;
    if read + written <= 0.0 {
        return None;
    }
    Some(format!(
        "swap {}/s in {}/s out",
        number(read),
        number(written)
    ))
}

/// The verdict on a device, or the device above it that suffers.
struct VerdictText {
    text: String,
    style: Style,
    /// It suffers itself.
    is_trouble: bool,
}

/// The last lines of a message that are shown.
const MAX_MESSAGE_LINES: usize = 3;

/// A key and its present effect.
type Hint = (&'static str, &'static str);

impl App {
    /// Returns what is said of a device; the text `unknown` without a verdict.
    fn verdict_text(&self, device: &DeviceInterval, unknown: &'static str) -> VerdictText {
        if let Some(above) = device.activity().and_then(DeviceActivity::incident_above) {
            return VerdictText {
                text: see_text(above),
                style: Style::new(),
                is_trouble: false,
            };
        }
        let verdict = device.shown_verdict();
        VerdictText {
            text: verdict.map_or(unknown, Verdict::name).to_owned(),
            style: self.options.theme.verdict(verdict),
            is_trouble: is_trouble(verdict),
        }
    }

    fn draw_status(&self, buffer: &mut Buffer, area: Rect) {
        // What the user types needs the whole line.
        if let Some(prompt) = &self.prompt {
            let question = match prompt.question {
                Question::Filter => "show devices that match: /",
                Question::Time => "go to (18:04, 18:04:47, -5m, +5m): ",
            };
            let text = sanitize(&prompt.text);
            let begin = put_in(buffer, area, question, BOLD);
            let space = area.right().saturating_sub(begin);
            let end = put(buffer, begin, area.y, space, &text, Style::new());
            put(buffer, end, area.y, 1, " ", REVERSED);
            return;
        }

        match &self.message {
            Some((message, _)) => self.draw_message(buffer, area, &sanitize(message)),
            None => self.draw_hints(buffer, area),
        }
    }

    fn draw_hints(&self, buffer: &mut Buffer, area: Rect) {
        let mut x = area.x;
        for (key, meaning) in self.hints() {
            let width = (key.width() + 1 + meaning.len()) as u16;
            if x + width > area.right() {
                break;
            }
            x = put(buffer, x, area.y, width, key, BOLD);
            let dim = self.options.theme.dim();
            x = put(buffer, x + 1, area.y, width, meaning, dim) + 2;
        }
    }

    /// Draws a message that ends in the last line. If it is too long for one line, it covers those above.
    fn draw_message(&self, buffer: &mut Buffer, area: Rect, message: &str) {
        let width = usize::from(area.width);
        let lines = wrap(message, width);
        let first = lines.len().saturating_sub(MAX_MESSAGE_LINES);
        for (line, y) in lines[first..].iter().rev().zip((0..=area.y).rev()) {
            let text = format!("{:width$}", ellipsize(line, width));
            put_in(buffer, Rect { y, ..area }, &text, BOLD);
        }
    }

    /// Returns the keys that matter now, the most important first.
    fn hints(&self) -> Vec<Hint> {
        let mut hints: Vec<Hint> = vec![("q", "quit"), ("?", "help")];
        if self.page == Page::Help {
            hints.extend([
                ("Esc", "back"),
                ("j k", "scroll"),
                ("PgDn PgUp", "by a page"),
            ]);
            return hints;
        }
        hints.push(if self.is_on_page() {
            ("Esc", "back")
        } else {
            ("Enter", "detail")
        });
        let is_live = self.options.source == Source::Live;
        if is_live {
            hints.push(if self.follows() {
                ("p", "pause")
            } else {
                ("p", "live")
            });
        }
        hints.push(("←→", "step"));
        if !self.incidents.is_empty() {
            hints.extend([("[ ]", "incidents"), ("w", "worst")]);
        }
        hints.push(("b", "go to"));
        if !self.is_on_page() {
            hints.extend([("s", "sort"), ("/", "filter")]);
            hints.push(if self.options.folds {
                ("f", "unfold")
            } else {
                ("f", "fold")
            });
            hints.push(("t", "tree"));
        }
        hints.push(("z Z", "zoom"));
        if is_live {
            hints.push(("+ -", "interval"));
        }
        hints
    }
}

const KEYS_WIDTH: usize = 18;
/// The parts of a ribbon without a verdict, with their mark.
const UNKNOWN: [(&str, &str); 2] = [
    (
        "? no verdict",
        "too little is known of the device or of the interval",
    ),
    (
        "  no data",
        "there was no sample, or the device was not there",
    ),
];

impl App {
    fn draw_help(&self, buffer: &mut Buffer, area: Rect, regions: &mut Regions) {
        let lines = self.help_lines(usize::from(area.width));
        let last = lines.len().saturating_sub(usize::from(area.height));
        regions.scroll = regions.scroll.min(last);
        for (line, row) in lines[regions.scroll..].iter().zip(area.rows()) {
            put_line(buffer, row, line);
        }
    }

    fn help_lines(&self, width: usize) -> Vec<TextLine> {
        let mut lines = Vec::new();
        for (keys, meaning) in KEYS {
            if meaning.is_empty() {
                if !lines.is_empty() {
                    lines.push(Vec::new());
                }
                lines.push(vec![(keys.to_owned(), BOLD)]);
            }
            self.push_term(keys, Style::new(), meaning, width, &mut lines);
        }
        lines.push(Vec::new());
        lines.push(vec![(
            "Verdicts, most severe first, with their marks".to_owned(),
            BOLD,
        )]);
        for verdict in Verdict::ALL.map(Some).into_iter().chain([None]) {
            let name = verdict.map_or("-", Verdict::name);
            let term = format!("{} {name}", verdict_mark(verdict));
            let style = self.options.theme.verdict(verdict);
            self.push_term(&term, style, verdict_meaning(verdict), width, &mut lines);
        }
        for (term, meaning) in UNKNOWN {
            self.push_term(term, self.options.theme.dim(), meaning, width, &mut lines);
        }
        lines.push(Vec::new());
        let columns = "Columns and marks in cells: blkstat help columns";
        lines.push(vec![(columns.to_owned(), Style::new())]);
        lines
    }

    fn push_term(
        &self,
        mut term: &str,
        style: Style,
        meaning: &str,
        width: usize,
        lines: &mut Vec<TextLine>,
    ) {
        for line in wrap(meaning, width.saturating_sub(KEYS_WIDTH + 3)) {
            lines.push(vec![
                (format!("  {term:<KEYS_WIDTH$} "), style),
                (line, Style::new()),
            ]);
            term = "";
        }
    }
}
