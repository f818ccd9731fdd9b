//! Times of day below charts.

use std::ops::Range;

use jiff::Timestamp;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::put;
use crate::report::layout::time_of_day;
use crate::screen::app::App;
use crate::screen::history::Frame;
use crate::screen::theme::BOLD;
use crate::screen::time_axis::Columns;

/// Round steps between labels, in seconds.
const STEPS_S: [i64; 17] =
    [1, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 21_600, 43_200, 86_400];
/// The least distance between labels, in cells.
const MIN_DISTANCE: f64 = 12.0;

impl App {
    /// Writes round times of day below a chart, and the time under the cursor.
    pub(super) fn draw_time_labels(&self, buffer: &mut Buffer, area: Rect, columns: &Columns) {
        let theme = self.options.theme;
        let step = STEPS_S
            .into_iter()
            .find(|step| *step as f64 >= columns.cell_s() * MIN_DISTANCE)
            .unwrap_or(86_400);
        let taken = self.draw_cursor_time(buffer, area, columns);
        let mut free_from = area.x;
        let mut last: Option<i64> = None;
        for x in area.x..area.right() {
            let time_s = columns.time_at(x - area.x);
            let Some(wall) = self.wall_at(time_s) else { continue };
            let zoned = wall.to_zoned(self.options.time_zone.clone());
            let local_s = wall.as_second() + i64::from(zoned.offset().seconds());
            let tick = local_s.div_euclid(step);
            let is_new = last.replace(tick).is_some_and(|last| last != tick);
            if !is_new || x < free_from {
                continue;
            }
            let at =
                Timestamp::from_second(tick * step - i64::from(zoned.offset().seconds())).unwrap_or(wall);
            let format = match step {
                86_400.. => "%m-%d",
                60.. => "%H:%M",
                _ => "%H:%M:%S",
            };
            let text = format!("╵{}", at.to_zoned(self.options.time_zone.clone()).strftime(format));
            let end = x + text.chars().count() as u16;
            if end <= area.right() && (end < taken.start || taken.end <= x) {
                free_from = put(buffer, x, area.y, area.right() - x, &text, theme.dim()) + 1;
            }
        }
    }

    /// Writes the time under the cursor, and returns the columns that it takes.
    fn draw_cursor_time(&self, buffer: &mut Buffer, area: Rect, columns: &Columns) -> Range<u16> {
        const WIDTH: u16 = 10;
        let cell = columns.cell_at(self.cursor_s());
        let Some((cell, end)) = cell.zip(self.moment().and_then(Frame::end)) else { return 0..0 };
        let time = time_of_day(end, &self.options.time_zone);
        let x = area.x + cell as u16;
        let is_left = x + WIDTH > area.right();
        let text = if is_left { format!("{time} ▲") } else { format!("▲ {time}") };
        let x = (if is_left { (x + 1).saturating_sub(WIDTH) } else { x }).max(area.x);
        x..put(buffer, x, area.y, WIDTH, &text, BOLD)
    }

    /// Returns the time of day at a time of the run; `None` outside the run, or without a wall clock.
    fn wall_at(&self, time_s: f64) -> Option<Timestamp> {
        let newest_s = self.history.newest()?.end_s;
        if time_s < 0.0 || time_s > newest_s {
            return None;
        }
        let moment = self.history.at(time_s)?;
        let before = jiff::SignedDuration::try_from_secs_f64(moment.end_s - time_s).ok()?;
        moment.end()?.checked_sub(before).ok()
    }
}
