//! The first line: the host, the time, and whether the screen is live, paused or a replay.

use jiff::Timestamp;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Modifier, Style};
use unicode_width::UnicodeWidthStr;

use super::put;
use crate::intervals::IntervalHeader;
use crate::report::layout::number_format::{duration, number};
use crate::report::native::{Emphasis, header_line};
use crate::sanitize::sanitize;
use crate::screen::app::{App, Source};
use crate::screen::theme::BOLD;

const GAP: u16 = 2;
/// The columns of a time of day.
const TIME_WIDTH: u16 = 8;
/// The fewest columns that a name needs.
const MIN_NAME_WIDTH: u16 = 5;

impl App {
    pub(super) fn draw_head(&self, buffer: &mut Buffer, area: Rect) {
        let (state, state_style) = self.state();
        let state_width = u16::try_from(state.width()).unwrap_or(u16::MAX).min(area.width / 2);
        let mut x = put(buffer, area.x, area.y, 8, "blkstat ", BOLD);
        let name = match &self.options.source {
            Source::Live => sanitize(&self.options.host).into_owned(),
            // The directories are left out, because they say little and space is short.
            Source::Capture(name) => sanitize(name.rsplit('/').next().unwrap_or(name)).into_owned(),
        };
        // The time matters more than the name.
        let space = area.width.saturating_sub(x + state_width + TIME_WIDTH + 2 * GAP);
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
        put(buffer, area.right() - state_width, area.y, state_width, &state, state_style);
    }

    /// Returns the time and the host in at most `width` columns.
    fn head_segments(&self, width: usize) -> Vec<(String, Emphasis)> {
        let time_zone = &self.options.time_zone;
        let Some(frame) = self.moment() else {
            return vec![("waiting for the first interval".to_owned(), Emphasis::Dim)];
        };
        let header = &frame.rows.header;
        if !frame.is_exact() {
            let at =
                |end: Timestamp| end.to_zoned(time_zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string();
            let end = header.end.map(at).unwrap_or_default();
            let text = format!("{end}  means of {}, worst verdicts", duration(header.elapsed_s));
            return vec![(text, Emphasis::Warning)];
        }
        let late = self.late_text(frame).map(|text| (text, Emphasis::Alert));
        let late_width = late.as_ref().map_or(0, |(text, _)| text.len() + usize::from(GAP));
        let mut segments = header_line(header, time_zone, width.saturating_sub(late_width));
        // If there is no space for the length of the interval, only the time of day is shown.
        if let Some((start, _)) = segments.first_mut().filter(|(start, _)| start.len() > width) {
            start.truncate(start.find("  ").unwrap_or(start.len()));
        }
        let after_time = segments.len().min(1);
        segments.splice(after_time..after_time, late);
        let used = |segments: &[(String, Emphasis)]| -> usize {
            segments.iter().map(|(text, _)| text.len() + usize::from(GAP)).sum()
        };
        // An interval in the past is shown with its date.
        if let Some(end) = header.end.filter(|_| !self.follows()) {
            let date = end.to_zoned(time_zone.clone()).strftime("%Y-%m-%d %Z").to_string();
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
        if let Some(reason) = self.ended.as_ref().filter(|_| self.options.source == Source::Live) {
            return (format!(" {} ", sanitize(reason)), theme.loud());
        }
        if let Some(late_s) = self.late_s() {
            return (format!(" NO SAMPLE FOR {} ", duration(late_s)), theme.loud());
        }
        let incident = self.incident_at_cursor().filter(|_| !self.follows());
        let incident = incident.map(|(at, count)| format!("incident {at} of {count}  ")).unwrap_or_default();
        let state = match (&self.options.source, self.progress) {
            (Source::Live, _) if self.follows() => "LIVE".to_owned(),
            (Source::Live, _) => {
                // Intervals of a second are some milliseconds more or less.
                let behind_s = self.history.end_s() - self.cursor_s();
                let behind_s = if behind_s < 0.5 { behind_s } else { behind_s.round() };
                return (
                    format!("{incident}PAUSED -{}", duration(behind_s)),
                    BOLD.add_modifier(Modifier::REVERSED),
                );
            }
            (Source::Capture(_), Some(progress)) => format!("{incident}READING {:.0}%", progress * 100.0),
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
    let (read, written) = header.host.swap_in_pages_per_s.zip(header.host.swap_out_pages_per_s)?;
    let text = format!("swap {}/s in {}/s out", number(read), number(written));
    (read + written > 0.0).then_some((text, Emphasis::Warning))
}
