//! The list: a line for each device, with its last minutes as a ribbon of verdicts and a sparkline of latencies.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::style::{Modifier, Style};
use unicode_width::UnicodeWidthStr;

use super::{put, put_right};
use crate::intervals::DeviceActivity;
use crate::judge::Verdict;
use crate::quantities::device::{KIB_PER_S, READ_AWAIT_MS, WRITE_AWAIT_MS};
use crate::report::evidence::verdict_mark;
use crate::report::layout::number_format::{duration, number};
use crate::report::layout::sparkline::BLOCKS;
use crate::report::layout::{ellipsize, fit_columns};
use crate::report::native::{Cell, Emphasis, cell, incident_time, state_message};
use crate::sanitize::sanitize;
use crate::screen::app::{App, BY_NAME, BY_VERDICT, Row, Rows};
use crate::screen::history::{Column, is_trouble};
use crate::screen::regions::Regions;
use crate::screen::theme::{BOLD, REVERSED};

/// The columns after the name. A title that is not a column of the table is the latency of both directions: see
/// [`App::cell`]. Each has its width and its rank: the columns of the lowest rank are dropped first.
const COLUMNS: [(&str, usize, u8); 11] = [
    ("verdict", 10, 9),
    ("since", 7, 7),
    ("r/s", 6, 6),
    ("w/s", 6, 6),
    ("MiB/s", 6, 2),
    ("r_await", 8, 9),
    ("w_await", 8, 1),
    ("queue", 6, 9),
    ("inflt", 6, 4),
    ("util", 6, 5),
    ("sat", 6, 3),
];

/// The least and the largest width of names.
const NAME_WIDTHS: (usize, usize) = (10, 24);
/// The least and the largest width of the ribbon, and of the sparkline.
const STRIP_WIDTHS: (usize, usize) = (10, 60);
/// The blanks before the ribbon.
const STRIP_GAP: usize = 2;

/// The columns that are shown, and the widths of the other parts of a line.
struct ListLayout {
    name_width: usize,
    columns: Vec<usize>,
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
        let widths = COLUMNS.map(|(_, width, _)| width);
        let columns = fit_columns(&widths, &COLUMNS.map(|(.., rank)| rank), available);
        let used: usize = columns.iter().map(|at| widths[*at]).sum();
        let rest = available.saturating_sub(used + STRIP_GAP);
        let joins_latencies = !columns.iter().any(|at| COLUMNS[*at].0 == "w_await");
        let (least, most) = STRIP_WIDTHS;
        let has_sparkline = rest > 2 * least;
        let strip_width = match rest {
            _ if columns.len() < COLUMNS.len() || rest < least => 0,
            rest if has_sparkline => ((rest - 1) / 2).min(most),
            rest => rest,
        };
        Self {
            name_width,
            columns,
            strip_width,
            has_sparkline,
            joins_latencies,
        }
    }

    /// Returns the area of the ribbon in the first line.
    fn strip(&self, area: Rect) -> Rect {
        let used: usize = self.columns.iter().map(|at| COLUMNS[*at].1).sum();
        let x = area.x + (self.name_width + 1 + used + STRIP_GAP) as u16;
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
        self.draw_titles(buffer, area, &layout, regions);
        let summary = self.summary_line(&rows);
        let needed = rows.listed.len().max(1) + 1 + usize::from(!summary.is_empty());
        let height = self.list_height(area.height, needed);
        let lines = usize::from(height) - 1 - usize::from(!summary.is_empty());
        regions.list_rows = lines;
        regions.scroll = self.first_line(&rows, lines, regions.scroll);
        regions.list_top = area.y + 1;
        regions.names_width = layout.name_width as u16;
        let shown = rows.listed.iter().skip(regions.scroll).take(lines);
        let mut y = area.y + 1;
        for row in shown {
            regions.devices.push(row.device.device().to_owned());
            self.draw_row(
                buffer,
                Rect {
                    y,
                    height: 1,
                    ..area
                },
                row,
                &layout,
            );
            y += 1;
        }
        if rows.listed.is_empty() && self.history.newest().is_some() {
            let text = match rows.filtered {
                0 => "no device did any I/O".to_owned(),
                _ => self
                    .filter_error()
                    .unwrap_or_else(|| "no device matches the filter".to_owned()),
            };
            let text = ellipsize(&text, usize::from(area.width));
            put(
                buffer,
                area.x,
                y,
                area.width,
                &text,
                self.options.theme.dim(),
            );
            y += 1;
        }
        if !summary.is_empty() {
            put(
                buffer,
                area.x,
                y,
                area.width,
                &summary,
                self.options.theme.dim(),
            );
            let more = rows.listed.len().saturating_sub(regions.scroll + lines);
            if more > 0 {
                put_right(
                    buffer,
                    area.right(),
                    y,
                    &format!("{more} more below"),
                    self.options.theme.dim(),
                );
            }
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

    /// The height of the list with its titles: as much as it needs, but only a part of a screen that shows a device
    /// below.
    fn list_height(&self, height: u16, needed: usize) -> u16 {
        if height < MIN_HEIGHT_WITH_PANE {
            let needed = u16::try_from(needed).unwrap_or(u16::MAX);
            return if height.saturating_sub(needed) >= MIN_PANE_HEIGHT {
                needed
            } else {
                height
            };
        }
        let most = height * 9 / 20;
        u16::try_from(needed).unwrap_or(u16::MAX).min(most.max(6))
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
        let (ok, idle) = rows.folded;
        let mut parts = Vec::new();
        parts.extend((ok > 0).then(|| format!("{ok} ok")));
        parts.extend((idle > 0).then(|| format!("{idle} idle")));
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
        // An arrow may touch the title before it.
        let style_of = |order: &str| match order == sort {
            true => BOLD.add_modifier(Modifier::UNDERLINED),
            false => BOLD,
        };
        put(
            buffer,
            area.x,
            area.y,
            area.width,
            name_title,
            style_of(BY_NAME),
        );
        regions
            .titles
            .push((area.x, area.x + layout.name_width as u16, BY_NAME));
        let mut x = area.x + layout.name_width as u16 + 1;
        let (unit, _) = self.throughput_unit();
        for (name, width, _) in layout.columns.iter().map(|at| COLUMNS[*at]) {
            let end = x + width as u16;
            let title = match name {
                // A title as wide as its column would touch the one before it.
                "MiB/s" if unit.len() < width => unit,
                "MiB/s" => unit.trim_end_matches("/s"),
                "r_await" if layout.joins_latencies => "await",
                title => title,
            };
            let order = if name == "since" { BY_VERDICT } else { name };
            // The largest come first.
            let arrow = if name == sort { "▼" } else { "" };
            if name == "verdict" {
                put(
                    buffer,
                    x,
                    area.y,
                    end - x,
                    &format!("{title}{arrow}"),
                    style_of(name),
                );
            } else {
                put_right(
                    buffer,
                    end,
                    area.y,
                    &format!("{arrow}{title}"),
                    style_of(name),
                );
            }
            regions.titles.push((x, end, order));
            x = end;
        }
    }

    fn draw_row(&self, buffer: &mut Buffer, area: Rect, row: &Row<'_>, layout: &ListLayout) {
        let theme = self.options.theme;
        let name = ellipsize(&name_text(row), layout.name_width);
        let verdict = row.device.shown_verdict();
        let name_style = if is_trouble(verdict) {
            BOLD
        } else {
            Style::new()
        };
        put(buffer, area.x, area.y, area.width, &name, name_style);
        let begin = area.x + layout.name_width as u16 + 1;
        let mut x = begin;
        let first_widths: usize = layout.columns.iter().map(|at| COLUMNS[*at].1).sum();
        let message_width = first_widths.saturating_sub(COLUMNS[0].1 + COLUMNS[1].1);
        let message = state_message(&row.device.state, message_width);
        for (name, width, _) in layout.columns.iter().map(|at| COLUMNS[*at]) {
            let end = x + width as u16;
            match (name, &message) {
                ("verdict", _) => {
                    let text = ellipsize(verdict.map_or("-", Verdict::name), width - 1);
                    put(buffer, x, area.y, end - x, &text, theme.verdict(verdict));
                }
                ("since", _) => {
                    let since = row
                        .device
                        .incident()
                        .filter(|_| is_trouble(verdict))
                        .map(incident_time);
                    let style = if since.is_some() {
                        Style::new()
                    } else {
                        theme.dim()
                    };
                    put_right(buffer, end, area.y, since.as_deref().unwrap_or("-"), style);
                }
                // A message replaces the other cells.
                (_, Some(_)) => {}
                (title, None) => {
                    if let Some(activity) = row.device.activity() {
                        let (text, emphasis) = self.cell(title, activity, layout.joins_latencies);
                        put_right(buffer, end, area.y, &text, theme.emphasis(emphasis));
                    }
                }
            }
            x = end;
        }
        if let Some((text, emphasis)) = message {
            let x = begin + (COLUMNS[0].1 + COLUMNS[1].1) as u16 + 1;
            put(
                buffer,
                x,
                area.y,
                message_width as u16,
                &text,
                theme.emphasis(emphasis),
            );
        }
        if Some(row.device.device()) == self.selected.as_deref() {
            buffer.set_style(area, theme.selected());
        }
    }

    /// Returns a cell: that of the table, except that throughput has the chosen unit.
    fn cell(&self, title: &str, activity: &DeviceActivity, joins_latencies: bool) -> Cell {
        let threshold = self.options.saturation_threshold;
        let stats = &activity.judged.interval;
        let (unit, per_kib) = self.throughput_unit();
        match title {
            "MiB/s" if unit != title => {
                let kib_per_s = KIB_PER_S.value(&activity.judged);
                kib_per_s.map_or(("-".to_owned(), Emphasis::Dim), |kib| {
                    (number(kib * per_kib), Emphasis::Plain)
                })
            }
            "r_await" if joins_latencies && stats.writes.await_ms() > stats.reads.await_ms() => {
                cell("w_await", activity, threshold)
            }
            title => cell(title, activity, threshold),
        }
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
        let width = usize::from(first.width);
        let columns = self.axis.columns(self.options.interval_s, width, 1);
        let shown_s = columns.seconds * width as f64;
        let title_width = area.right().saturating_sub(first.x);
        let shown = span_text(shown_s);
        let word = if self.follows() { "last " } else { "" };
        let titles = [
            format!("{word}{shown}: verdict, await 0.1-100 ms"),
            format!("{word}{shown}"),
            shown,
        ];
        let title = titles
            .iter()
            .find(|title| title.len() <= usize::from(title_width))
            .map_or("", |title| title);
        put(buffer, first.x, area.y, title_width, title, BOLD);
        let cursor = columns.cell_at(self.cursor_s()).filter(|_| !self.follows());
        let places = [first.x, first.x + first.width + 1];
        let places = if layout.has_sparkline {
            &places[..]
        } else {
            &places[..1]
        };
        for (line, device) in regions.devices.iter().enumerate() {
            let y = regions.list_top + line as u16;
            let mut unknown = Vec::new();
            for column in 0..width {
                let shown =
                    self.history
                        .column(device, columns.seconds, columns.first + column as i64);
                unknown.push(match shown.verdict() {
                    _ if shown.is_empty() => Some("no data"),
                    None => Some("no verdict"),
                    Some(_) => None,
                });
                if shown.is_empty() {
                    continue;
                }
                let style = theme.verdict(shown.verdict());
                let mark = verdict_mark(shown.verdict());
                for (x, symbol) in places.iter().zip([mark, bar(&shown)]) {
                    buffer[(x + column as u16, y)]
                        .set_char(symbol)
                        .set_style(style);
                }
            }
            self.write_unknown(buffer, (first.x, y).into(), &unknown);
            if let Some(column) = cursor {
                for x in places {
                    buffer[(x + column as u16, y)].set_style(REVERSED);
                }
            }
        }
        let lines = regions.devices.len() as u16;
        for x in places {
            let strip = Rect {
                x: *x,
                y: regions.list_top,
                width: first.width,
                height: lines,
            };
            regions.charts.push((strip, columns));
        }
    }
}

impl App {
    /// Writes into a ribbon, at this position, why it has no verdict, where there is space for the words.
    fn write_unknown(&self, buffer: &mut Buffer, at: Position, unknown: &[Option<&str>]) {
        let mut x = at.x;
        for run in unknown.chunk_by(|a, b| a == b) {
            let width = run.len() as u16;
            let words = run[0].map(|words| format!(" {words} "));
            if let Some(words) = words.filter(|words| words.len() <= run.len()) {
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
    let short = text
        .strip_suffix(" 0 s")
        .or(text.strip_suffix(" 0 min"))
        .map(str::to_owned);
    short.unwrap_or(text)
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
