//! The list: a line for each device, with its last minutes as a ribbon of verdicts and a sparkline of latencies.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::style::{Modifier, Style};
use unicode_width::UnicodeWidthStr;

use super::{put, put_in, put_right};
use crate::intervals::DeviceActivity;
use crate::quantities::device::{READ_AWAIT_MS, WRITE_AWAIT_MS};
use crate::report::evidence::verdict_mark;
use crate::report::layout::number_format::duration;
use crate::report::layout::sparkline::BLOCKS;
use crate::report::layout::{ellipsize, fit_columns};
use crate::report::native::{Cell, cell, incident_time, state_message};
use crate::sanitize::sanitize;
use crate::screen::app::{App, BY_NAME, BY_VERDICT, Row, Rows};
use crate::screen::history::Column;
use crate::screen::regions::Regions;
use crate::screen::theme::BOLD;

/// A column after the name.
struct ListColumn {
    /// A title that is not a column of the table is the latency of both directions: see [`App::cell`].
    title: &'static str,
    width: usize,
    /// The columns of the lowest rank are dropped first.
    rank: u8,
}

static COLUMNS: [ListColumn; 11] = [
    VERDICT,
    SINCE,
    column("r/s", 6, 6),
    column("w/s", 6, 6),
    column("MiB/s", 6, 2),
    column("r_await", 8, 9),
    column("w_await", 8, 1),
    column("queue", 6, 9),
    column("inflt", 6, 4),
    column("util", 6, 5),
    column("sat", 6, 3),
];
const VERDICT: ListColumn = column("verdict", 10, 9);
const SINCE: ListColumn = column("since", 7, 7);

const fn column(title: &'static str, width: usize, rank: u8) -> ListColumn {
    ListColumn { title, width, rank }
}

/// The least and the largest width of names.
const NAME_WIDTHS: (usize, usize) = (10, 24);
/// The least and the largest width of the ribbon, and of the sparkline.
const STRIP_WIDTHS: (usize, usize) = (10, 60);
/// The blanks before the ribbon.
const STRIP_GAP: usize = 2;

/// The columns that are shown, and the widths of the other parts of a line.
struct ListLayout {
    name_width: usize,
    columns: Vec<&'static ListColumn>,
    /// The width of all columns.
    columns_width: usize,
    /// The width of the ribbon, and of the sparkline; 0 if they are not shown.
    strip_width: usize,
    has_sparkline: bool,
    /// True if one column has the latencies of both directions.
    joins_latencies: bool,
}

impl ListLayout {
    fn new(width: usize, longest_name: usize) -> Self {
        let widest = (width / 5).clamp(NAME_WIDTHS.0, NAME_WIDTHS.1);
        let name_width = longest_name.clamp(NAME_WIDTHS.0, widest);
        let available = width.saturating_sub(name_width + 1);

        let widths = COLUMNS.each_ref().map(|column| column.width);
        let ranks = COLUMNS.each_ref().map(|column| column.rank);
        let mut columns = Vec::new();
        let mut columns_width = 0;
        let mut joins_latencies = true;
        for at in fit_columns(&widths, &ranks, available) {
            let column = &COLUMNS[at];
            columns.push(column);
            columns_width += column.width;
            joins_latencies &= column.title != "w_await";
        }

        let rest = available.saturating_sub(columns_width + STRIP_GAP);
        let (least, most) = STRIP_WIDTHS;
        let has_sparkline = rest > 2 * least;
        let strip_width = if columns.len() < COLUMNS.len() || rest < least {
            0
        } else if has_sparkline {
            ((rest - 1) / 2).min(most)
        } else {
            rest
        };
        Self {
            name_width,
            columns,
            columns_width,
            strip_width,
            has_sparkline,
            joins_latencies,
        }
    }

    /// Returns the area of the ribbon in the first line.
    fn strip(&self, area: Rect) -> Rect {
        let x = area.x + (self.name_width + 1 + self.columns_width + STRIP_GAP) as u16;
        Rect {
            x,
            width: self.strip_width as u16,
            y: area.y,
            height: 1,
        }
    }
}

/// The latencies of the lowest and the highest sparkline, in milliseconds.
const LATENCIES_MS: (f64, f64) = (0.1, 100.0);

/// The height from which a screen shows the selected device below the list, and the least height of that part.
const MIN_HEIGHT_WITH_PANE: u16 = 20;
const MIN_PANE_HEIGHT: u16 = 5;

impl App {
    /// Draws the list and returns the area below it, which may be empty.
    pub(super) fn draw_list(&self, buffer: &mut Buffer, area: Rect, regions: &mut Regions) -> Rect {
        let rows = self.rows();
        let longest = rows.listed.iter().map(|row| name_text(row).width()).max();
        let layout = ListLayout::new(usize::from(area.width), longest.unwrap_or(0));
        let summary = self.summary_line(&rows);
        let mut other_lines = if summary.is_empty() { 1 } else { 2 };
        let height = self.list_height(area.height, rows.listed.len().max(1) + other_lines);
        if rows.listed.len() + 1 > usize::from(height) {
            // It says how many are below.
            other_lines = 2;
        }
        let lines = usize::from(height) - other_lines;
        regions.list_rows = lines;
        regions.list_top = area.y + 1;
        regions.names_width = layout.name_width as u16;
        regions.scroll = self.first_line(&rows, lines, regions.scroll);

        self.draw_titles(buffer, area, &layout, regions);
        let dim = self.options.theme.dim();
        let mut line = Rect {
            y: area.y + 1,
            height: 1,
            ..area
        };
        for row in rows.listed.iter().skip(regions.scroll).take(lines) {
            regions.devices.push(row.device.device().to_owned());
            self.draw_row(buffer, line, row, &layout);
            line.y += 1;
        }
        if rows.listed.is_empty() && self.history.newest().is_some() {
            let text = self.why_empty(&rows);
            put_in(
                buffer,
                line,
                &ellipsize(&text, usize::from(area.width)),
                dim,
            );
            line.y += 1;
        }
        put_in(buffer, line, &summary, dim);
        let more = rows.listed.len().saturating_sub(regions.scroll + lines);
        if more > 0 {
            let text = format!("{more} more below");
            put_right(buffer, area.right(), line.y, &text, dim);
        }
        if layout.strip_width > 0 {
            self.draw_strips(buffer, area, &layout, regions);
        }
        Rect {
            y: area.y + height,
            height: area.height - height,
            ..area
        }
    }

    fn why_empty(&self, rows: &Rows<'_>) -> String {
        if rows.filtered == 0 {
            return "no device did any I/O".to_owned();
        }
        let error = self.filter_error();
        error.unwrap_or_else(|| "no device matches the filter".to_owned())
    }

    /// The height of the list with its titles: as much as it needs, but only a part of a screen that shows a device
    /// below.
    fn list_height(&self, height: u16, needed: usize) -> u16 {
        let needed = u16::try_from(needed).unwrap_or(u16::MAX);
        if height >= MIN_HEIGHT_WITH_PANE {
            needed.min((height * 9 / 20).max(6))
        } else if height.saturating_sub(needed) >= MIN_PANE_HEIGHT {
            needed
        } else {
            height
        }
    }

    /// The first line that is shown, chosen so that the selected device is visible.
    fn first_line(&self, rows: &Rows<'_>, lines: usize, scroll: usize) -> usize {
        let last = rows.listed.len().saturating_sub(lines);
        let selected = rows
            .listed
            .iter()
            .position(|row| Some(row.device.device()) == self.selected.as_deref());
        let scroll = scroll.min(last);
        match selected {
            Some(at) if at < scroll => at,
            Some(at) if at >= scroll + lines => (at + 1).saturating_sub(lines),
            _ => scroll,
        }
    }

    /// Returns the summary of the devices that are not listed: `12 ok, 20 idle (f unfolds)`.
    fn summary_line(&self, rows: &Rows<'_>) -> String {
        let mut parts = Vec::new();
        for (count, word) in [(rows.folded.0, "ok"), (rows.folded.1, "idle")] {
            if count > 0 {
                parts.push(format!("{count} {word}"));
            }
        }
        let mut text = parts.join(", ");
        if !text.is_empty() {
            text += " (f unfolds)";
        }
        if rows.filtered > 0 {
            let filter = self.filter.as_ref().map_or("", |(text, _)| text);
            let gap = if text.is_empty() { "" } else { "; " };
            text += &format!(
                "{gap}{} do not match /{}/ (Esc shows all)",
                rows.filtered,
                sanitize(filter)
            );
        }
        text
    }

    fn draw_titles(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        layout: &ListLayout,
        regions: &mut Regions,
    ) {
        regions.titles_row = area.y;
        let sort = self.options.sort;
        let name_title = if sort == BY_NAME {
            "device▲"
        } else {
            "device"
        };
        put_in(buffer, area, name_title, self.title_style(BY_NAME));
        let mut x = area.x + layout.name_width as u16;
        regions.titles.push((area.x..x, BY_NAME));
        x += 1;
        for column in &layout.columns {
            let end = x + column.width as u16;
            let title = match column.title {
                "r_await" if layout.joins_latencies => "await",
                title => title,
            };
            // The largest come first.
            let arrow = if column.title == sort { "▼" } else { "" };
            let style = self.title_style(column.title);
            if column.title == VERDICT.title {
                put(
                    buffer,
                    x,
                    area.y,
                    end - x,
                    &format!("{title}{arrow}"),
                    style,
                );
            } else {
                // An arrow may touch the title before it.
                put_right(buffer, end, area.y, &format!("{arrow}{title}"), style);
            }
            let order = match column.title {
                "since" => BY_VERDICT,
                title => title,
            };
            regions.titles.push((x..end, order));
            x = end;
        }
    }

    fn title_style(&self, title: &str) -> Style {
        match title == self.options.sort {
            true => BOLD.add_modifier(Modifier::UNDERLINED),
            false => BOLD,
        }
    }

    fn draw_row(&self, buffer: &mut Buffer, area: Rect, row: &Row<'_>, layout: &ListLayout) {
        let theme = self.options.theme;
        let verdict = self.verdict_text(row.device, "-");
        let name = ellipsize(&name_text(row), layout.name_width);
        let name_style = match verdict.is_trouble {
            true => BOLD,
            false => Style::new(),
        };
        put_in(buffer, area, &name, name_style);

        let begin = area.x + layout.name_width as u16 + 1;
        let state_width = VERDICT.width + SINCE.width;
        let message_width = layout.columns_width.saturating_sub(state_width);
        let message = state_message(&row.device.state, message_width);
        let mut x = begin;
        for column in &layout.columns {
            let end = x + column.width as u16;
            if column.title == VERDICT.title {
                let text = ellipsize(&verdict.text, column.width - 1);
                put(buffer, x, area.y, end - x, &text, verdict.style);
            } else if column.title == SINCE.title {
                match row.device.incident() {
                    Some(ongoing) if verdict.is_trouble => {
                        put_right(buffer, end, area.y, &incident_time(ongoing), Style::new());
                    }
                    _ => put_right(buffer, end, area.y, "-", theme.dim()),
                }
            } else if message.is_none()
                && let Some(activity) = row.device.activity()
            {
                let (text, emphasis) = self.cell(column.title, activity, layout.joins_latencies);
                put_right(buffer, end, area.y, &text, theme.emphasis(emphasis));
            }
            x = end;
        }
        // A message replaces the other cells.
        if let Some((text, emphasis)) = message {
            let x = begin + state_width as u16 + 1;
            let style = theme.emphasis(emphasis);
            put(buffer, x, area.y, message_width as u16, &text, style);
        }
        if Some(row.device.device()) == self.selected.as_deref() {
            buffer.set_style(area, theme.selected());
        }
    }

    /// Returns a cell of the table. The column of both latencies has the longer one.
    fn cell(&self, title: &str, activity: &DeviceActivity, joins_latencies: bool) -> Cell {
        let stats = &activity.judged.interval;
        let are_writes_slower = stats.writes.await_ms() > stats.reads.await_ms();
        let shown = if title == "r_await" && joins_latencies && are_writes_slower {
            "w_await"
        } else {
            title
        };
        cell(shown, activity)
    }

    /// Draws the ribbons and the sparklines of the devices that are listed, with a title in the first line.
    fn draw_strips(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        layout: &ListLayout,
        regions: &mut Regions,
    ) {
        let first = layout.strip(area);
        let theme = self.options.theme;
        let columns = self
            .axis
            .columns(self.options.interval_s, layout.strip_width, 1);
        let title_width = area.right().saturating_sub(first.x);
        let title = self.strip_title(
            columns.seconds * layout.strip_width as f64,
            usize::from(title_width),
        );
        put(buffer, first.x, area.y, title_width, &title, BOLD);

        let mut places = vec![first.x];
        if layout.has_sparkline {
            places.push(first.x + first.width + 1);
        }
        for (device, y) in regions.devices.iter().zip(regions.list_top..) {
            let mut unknown = Vec::new();
            for (number, column) in columns.numbers().zip(0..) {
                let shown = self.history.column(device, columns.seconds, number);
                if shown.is_empty() {
                    unknown.push(Some("no data"));
                    continue;
                }
                let verdict = shown.verdict();
                unknown.push(match verdict {
                    None => Some("no verdict"),
                    Some(_) => None,
                });
                for (x, symbol) in places.iter().zip([verdict_mark(verdict), bar(&shown)]) {
                    buffer[(x + column, y)]
                        .set_char(symbol)
                        .set_style(theme.verdict(verdict));
                }
            }
            self.write_unknown(buffer, (first.x, y).into(), &unknown);
        }
        for x in places {
            let strip = Rect {
                x,
                y: regions.list_top,
                width: first.width,
                height: regions.devices.len() as u16,
            };
            self.draw_cursor(buffer, strip, &columns);
            regions.charts.push((strip, columns));
        }
    }

    /// Returns the longest title of the ribbon and the sparkline that fits; empty if none does.
    fn strip_title(&self, shown_s: f64, width: usize) -> String {
        let shown = span_text(shown_s);
        let word = if self.follows() { "last " } else { "" };
        let titles = [
            format!("{word}{shown}: verdict, await 0.1-100 ms"),
            format!("{word}{shown}"),
            shown,
        ];
        let fitting = titles.into_iter().find(|title| title.len() <= width);
        fitting.unwrap_or_default()
    }

    /// Writes into a ribbon, at this position, why it has no verdict, where there is space for the words.
    fn write_unknown(&self, buffer: &mut Buffer, at: Position, unknown: &[Option<&str>]) {
        let mut x = at.x;
        for run in unknown.chunk_by(|a, b| a == b) {
            let width = run.len() as u16;
            if let Some(words) = run[0]
                && words.len() + 2 <= run.len()
            {
                let words = format!(" {words} ");
                let begin = x + (width - words.len() as u16) / 2;
                put(buffer, begin, at.y, width, &words, self.options.theme.dim());
            }
            x += width;
        }
    }
}

/// Returns the name of a device, indented below the devices that it is stacked on.
fn name_text(row: &Row<'_>) -> String {
    let name = sanitize(row.device.label());
    match row.depth {
        0 => name.into_owned(),
        depth => format!("{}└ {name}", "  ".repeat(depth - 1)),
    }
}

/// Returns a length of time without seconds or minutes that are zero: `3 min`.
fn span_text(seconds: f64) -> String {
    let text = duration(seconds.round());
    let short = text.strip_suffix(" 0 s").or(text.strip_suffix(" 0 min"));
    short.unwrap_or(&text).to_owned()
}

/// Returns the bar of the longest mean latency of a direction; a blank without any.
fn bar(shown: &Column<'_>) -> char {
    let both = [READ_AWAIT_MS, WRITE_AWAIT_MS].map(|latency| shown.extent(&latency).max());
    let Some(latency) = both.into_iter().flatten().reduce(f64::max) else {
        return ' ';
    };
    let (low, high) = LATENCIES_MS;
    let height = (latency.max(low) / low).log10() / (high / low).log10();
    BLOCKS[((height * 8.0) as usize).min(7)]
}
