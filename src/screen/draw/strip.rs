//! The last minutes of each device in one line: a ribbon of verdicts, and a sparkline of latencies.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::{Regions, put};
use crate::report::evidence::verdict_mark;
use crate::report::layout::number_format::duration;
use crate::screen::app::App;
use crate::screen::history::Point;
use crate::screen::theme::{BOLD, REVERSED};

/// The latencies of the lowest and the highest line, in milliseconds.
const LATENCIES_MS: (f64, f64) = (0.1, 100.0);
const BARS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

impl App {
    /// Draws the ribbons and the sparklines of the devices that are listed, with a title in the first line. `first` is
    /// the area of the first ribbon.
    pub(super) fn draw_strips(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        first: &Rect,
        has_sparkline: bool,
        regions: &mut Regions,
    ) {
        let theme = self.options.theme;
        let width = usize::from(first.width);
        let columns = self.axis.columns(self.options.interval_s, width, 1);
        let shown_s = columns.seconds * width as f64;
        let title_width = area.right().saturating_sub(first.x);
        let shown = span_text(shown_s);
        let word = if self.follows() { "last " } else { "" };
        let titles = [format!("{word}{shown}: verdict, await 0.1-100 ms"), format!("{word}{shown}"), shown];
        let title =
            titles.iter().find(|title| title.len() <= usize::from(title_width)).map_or("", |title| title);
        put(buffer, first.x, area.y, title_width, title, BOLD);
        let cursor = columns.cell_at(self.cursor_s()).filter(|_| !self.follows());
        let places = [first.x, first.x + first.width + 1];
        let places = if has_sparkline { &places[..] } else { &places[..1] };
        for (line, device) in regions.devices.iter().enumerate() {
            let y = regions.list_top + line as u16;
            for column in 0..width {
                let point = self.history.column(device, columns.seconds, columns.first + column as i64);
                let Some(point) = point else { continue };
                let style = theme.verdict(point.verdict());
                let bar = bar(&point);
                let mark = verdict_mark(point.verdict());
                for (x, symbol) in places.iter().zip([mark, bar]) {
                    buffer[(x + column as u16, y)].set_symbol(symbol).set_style(style);
                }
            }
            if let Some(column) = cursor {
                for x in places {
                    buffer[(x + column as u16, y)].set_style(REVERSED);
                }
            }
        }
        let lines = regions.devices.len() as u16;
        for x in places {
            let strip = Rect { x: *x, y: regions.list_top, width: first.width, height: lines };
            regions.charts.push((strip, columns));
        }
    }
}

/// Returns a length of time without seconds or minutes that are zero: `3 min`.
fn span_text(seconds: f64) -> String {
    let text = duration(seconds.round());
    let short = text.strip_suffix(" 0 s").or(text.strip_suffix(" 0 min")).map(str::to_owned);
    short.unwrap_or(text)
}

/// Returns the bar of the longest mean latency of a direction; a blank without any.
fn bar(point: &Point) -> &'static str {
    let both = ["read_await_ms", "write_await_ms"].map(|name| point.extent(name).max());
    let Some(latency) = both.into_iter().flatten().reduce(f64::max) else { return " " };
    let (low, high) = LATENCIES_MS;
    let height = libm::log10(latency.max(low) / low) / libm::log10(high / low);
    BARS[((height * 8.0) as usize).min(7)]
}
