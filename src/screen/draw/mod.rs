//! Draws the state into a buffer of cells. Here are the first line (the host,
//! the time, and whether the screen is live, paused or a replay), the last line (the text being
//! typed, a message, or the keys that matter now), and the help: keys, marks and colors.

mod detail;
mod list;

use jiff::Timestamp;
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};
use unicode_width::UnicodeWidthStr;

use super::app::{App, Page, Question, Source};
use super::keys::KEYS;
use super::regions::Regions;
use super::theme::{BOLD, REVERSED};
use crate::intervals::IntervalHeader;
use crate::judge::Verdict;
use crate::report::evidence::verdict_mark;
use crate::report::layout::number_format::{duration, number};
use crate::report::layout::{ellipsize, wrap};
use crate::report::manual::verdict_meanings;
use crate::report::native::{Emphasis, available_cpu_text, header_line};
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
        let is_listed = self
            .selected
            .as_ref()
            .is_some_and(|name| names.contains(name));
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
    let dots = |c: char| (u32::from(c) & 0x1b > 0, u32::from(c) & 0xe4 > 0);
    let symbol = match cell.symbol().chars().next() {
        Some(c @ '\u{2801}'..='\u{28ff}') => match dots(c) {
            (true, false) => "'",
            (false, _) => ".",
            (true, true) => ":",
        },
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
    let width = u16::try_from(unicode_width::UnicodeWidthStr::width(text)).unwrap_or(u16::MAX);
    put(buffer, end.saturating_sub(width), y, width, text, style);
}

const GAP: u16 = 2;
/// The columns of a time of day.
const TIME_WIDTH: u16 = 8;
/// The fewest columns that a name needs.
const MIN_NAME_WIDTH: u16 = 5;

impl App {
    fn draw_head(&self, buffer: &mut Buffer, area: Rect) {
        let (state, state_style) = self.state();
        let state_width = u16::try_from(state.width())
            .unwrap_or(u16::MAX)
            .min(area.width / 2);
        let mut x = put(buffer, area.x, area.y, 8, "blkstat ", BOLD);
        let name = match &self.options.source {
            Source::Live => sanitize(&self.options.host).into_owned(),
            // The directories are left out, because they say little and space is short.
            Source::Capture(name) => sanitize(name.rsplit('/').next().unwrap_or(name)).into_owned(),
        };
        // The time matters more than the name.
        let space = area
            .width
            .saturating_sub(x + state_width + TIME_WIDTH + 2 * GAP);
        let name = crate::report::layout::ellipsize(&name, usize::from(space.min(area.width / 4)));
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
        put(
            buffer,
            area.right() - state_width,
            area.y,
            state_width,
            &state,
            state_style,
        );
    }

    /// Returns the time and the host in at most `width` columns.
    fn head_segments(&self, width: usize) -> Vec<(String, Emphasis)> {
        let time_zone = &self.options.time_zone;
        let Some(frame) = self.moment() else {
            return vec![("waiting for the first interval".to_owned(), Emphasis::Dim)];
        };
        let header = &frame.rows.header;
        if !frame.is_exact() {
            let at = |end: Timestamp| {
                end.to_zoned(time_zone.clone())
                    .strftime("%Y-%m-%d %H:%M:%S")
                    .to_string()
            };
            let end = header.end.map(at).unwrap_or_default();
            let text = format!(
                "{end}  means of {}, worst verdicts",
                duration(header.elapsed_s)
            );
            return vec![(text, Emphasis::Warning)];
        }
        let late = self.late_text(frame).map(|text| (text, Emphasis::Alert));
        let late_width = late
            .as_ref()
            .map_or(0, |(text, _)| text.len() + usize::from(GAP));
        let mut segments = header_line(header, time_zone, width.saturating_sub(late_width));
        // If there is no space for the length of the interval, only the time of day is shown.
        if let Some((start, _)) = segments
            .first_mut()
            .filter(|(start, _)| start.len() > width)
        {
            start.truncate(start.find("  ").unwrap_or(start.len()));
        }
        // The length of the interval gives way to the CPU.
        if let [(time, _)] = &mut segments[..]
            && let Some(text) = header.host.cpu.as_ref().map(available_cpu_text)
            && usize::from(TIME_WIDTH + GAP) + text.len() + late_width <= width
        {
            time.truncate(usize::from(TIME_WIDTH));
            segments.push((text, Emphasis::Plain));
        }
        let after_time = segments.len().min(1);
        segments.splice(after_time..after_time, late);
        let used = |segments: &[(String, Emphasis)]| -> usize {
            segments
                .iter()
                .map(|(text, _)| text.len() + usize::from(GAP))
                .sum()
        };
        // An interval in the past is shown with its date.
        if let Some(end) = header.end.filter(|_| !self.follows()) {
            let date = end
                .to_zoned(time_zone.clone())
                .strftime("%Y-%m-%d %Z")
                .to_string();
            if used(&segments) + date.len() <= width {
                segments.insert(0, (date, Emphasis::Dim));
            }
        }
        let rest = width.saturating_sub(used(&segments));
        segments.extend(swap_text(header).filter(|(text, _)| text.len() <= rest));
        segments
    }

    /// Returns whether the screen is live, paused or a replay, or why there is nothing new.
    fn state(&self) -> (String, Style) {
        let theme = self.options.theme;
        if let Some(reason) = self
            .ended
            .as_ref()
            .filter(|_| self.options.source == Source::Live)
        {
            return (format!(" {} ", sanitize(reason)), theme.loud());
        }
        if let Some(late_s) = self.late_s() {
            return (
                format!(" NO SAMPLE FOR {} ", duration(late_s)),
                theme.loud(),
            );
        }
        let incident = self.incident_at_cursor().filter(|_| !self.follows());
        let incident = incident
            .map(|(at, count)| format!("incident {at} of {count}  "))
            .unwrap_or_default();
        let state = match (&self.options.source, self.progress) {
            (Source::Live, _) if self.follows() => "LIVE".to_owned(),
            (Source::Live, _) => {
                // Intervals of a second are some milliseconds more or less.
                let behind_s = self.history.end_s() - self.cursor_s();
                let behind_s = if behind_s < 0.5 {
                    behind_s
                } else {
                    behind_s.round()
                };
                return (
                    format!("{incident}PAUSED -{}", duration(behind_s)),
                    BOLD.add_modifier(Modifier::REVERSED),
                );
            }
            (Source::Capture(_), Some(progress)) => {
                format!("{incident}READING {:.0}%", progress * 100.0)
            }
            (Source::Capture(_), None) => match self.play_speed() {
                Some(speed) => format!("{incident}REPLAY x{speed:.0}"),
                None => format!("{incident}REPLAY"),
            },
        };
        (state, BOLD)
    }
}

/// Returns the pages that are swapped; `None` while none are.
fn swap_text(header: &IntervalHeader) -> Option<(String, Emphasis)> {
    let (read, written) = header
        .host
        .swap_in_pages_per_s
        .zip(header.host.swap_out_pages_per_s)?;
    let text = format!("swap {}/s in {}/s out", number(read), number(written));
    (read + written > 0.0).then_some((text, Emphasis::Warning))
}

/// The last lines of a message that are shown.
const MAX_MESSAGE_LINES: usize = 3;

/// A key and its present effect.
type Hint = (&'static str, &'static str);

impl App {
    fn draw_status(&self, buffer: &mut Buffer, area: Rect) {
        let theme = self.options.theme;
        let mut area = area;
        // What the user types, and a message that is longer than the half, need the whole line.
        let half = usize::from(area.width / 2);
        let message = self.message.as_ref().map(|(text, _)| sanitize(text));
        let needs_line = self.prompt.is_some()
            || message
                .as_ref()
                .is_some_and(|message| message.width() >= half);
        if let Some(text) = self.recording.as_ref().filter(|_| !needs_line) {
            let text = ellipsize(&format!("REC {}", sanitize(text)), half);
            let width = text.width() as u16;
            let style = theme.emphasis(crate::report::native::Emphasis::Alert);
            put(buffer, area.right() - width, area.y, width, &text, style);
            area.width -= width + 1;
        }
        if let Some(prompt) = &self.prompt {
            let question = match prompt.question {
                Question::Filter => "show devices that match: /",
                Question::Time => "go to (18:04, 18:04:47, -5m, +5m): ",
            };
            let x = put(buffer, area.x, area.y, area.width, question, BOLD);
            let x = put(
                buffer,
                x,
                area.y,
                area.right().saturating_sub(x),
                &sanitize(&prompt.text),
                Style::new(),
            );
            put(buffer, x, area.y, 1, " ", REVERSED);
            return;
        }
        if let Some(message) = message {
            self.draw_message(buffer, area, &message);
            return;
        }
        let mut x = area.x;
        for (key, meaning) in self.hints() {
            let width = (key.width() + 1 + meaning.len()) as u16;
            if x + width > area.right() {
                break;
            }
            x = put(buffer, x, area.y, width, key, BOLD);
            x = put(buffer, x + 1, area.y, width, meaning, theme.dim()) + 2;
        }
    }

    /// Draws a message that ends in the last line. If it is too long for one line, it covers those above.
    fn draw_message(&self, buffer: &mut Buffer, area: Rect, message: &str) {
        let width = usize::from(area.width);
        let lines = wrap(message, width);
        let first = lines.len().saturating_sub(MAX_MESSAGE_LINES);
        for (line, y) in lines[first..].iter().rev().zip((0..=area.y).rev()) {
            let line = ellipsize(line, width);
            put(
                buffer,
                area.x,
                y,
                area.width,
                &format!("{line:width$}"),
                BOLD,
            );
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
        hints.push(match (is_live, self.follows(), self.play_speed()) {
            (true, true, _) => ("p", "pause"),
            (true, false, _) => ("p", "live"),
            (false, _, None) => ("p", "play"),
            (false, _, Some(_)) => ("p", "stop"),
        });
        hints.extend(self.play_speed().map(|_| ("x", "speed")));
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
            hints.push(if self.recording.is_some() {
                ("r", "stop recording")
            } else {
                ("r", "record")
            });
        }
        hints.push(("e", "export"));
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
        for (at, line) in lines
            .iter()
            .skip(regions.scroll)
            .take(usize::from(area.height))
            .enumerate()
        {
            put_line(
                buffer,
                Rect {
                    y: area.y + at as u16,
                    ..area
                },
                line,
            );
        }
    }

    fn help_lines(&self, width: usize) -> Vec<TextLine> {
        let mut lines = Vec::new();
        for (keys, meaning) in KEYS {
            if meaning.is_empty() {
                lines.extend((!lines.is_empty()).then(Vec::new));
                lines.push(vec![(keys.to_owned(), BOLD)]);
            }
            self.push_term(keys, Style::new(), meaning, width, &mut lines);
        }
        lines.push(Vec::new());
        lines.push(vec![(
            "Verdicts, most severe first, with their marks".to_owned(),
            BOLD,
        )]);
        for (name, meaning) in verdict_meanings() {
            let verdict = Verdict::ALL
                .into_iter()
                .find(|verdict| verdict.name() == name);
            let term = format!("{} {name}", verdict_mark(verdict));
            self.push_term(
                &term,
                self.options.theme.verdict(verdict),
                &meaning,
                width,
                &mut lines,
            );
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
        term: &str,
        style: Style,
        meaning: &str,
        width: usize,
        lines: &mut Vec<TextLine>,
    ) {
        let mut term = term;
        for line in wrap(meaning, width.saturating_sub(KEYS_WIDTH + 3)) {
            lines.push(vec![
                (format!("  {term:<KEYS_WIDTH$} "), style),
                (line, Style::new()),
            ]);
            term = "";
        }
    }
}
