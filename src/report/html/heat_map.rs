//! A heat map: requests by time and by latency.

use std::fmt::Write;

use libm::log10;

use super::chart::{ChartTime, bar_width, begin_plot, end_plot, push_grid, push_title, push_y_axis};
use super::path::Path;
use super::scale::{Scale, Unit};
use crate::intervals::series::{LatencyCounts, Merge, TimeSpan, Timeline};

/// The shades, from few to many requests.
const SHADES: usize = 5;
/// The most columns, apart from those that end at a gap.
const MAX_COLUMNS: usize = 120;

/// Appends a heat map; nothing without requests.
pub(super) fn push_heat_map(
    title: &str,
    question: &str,
    counts: &[LatencyCounts],
    time: ChartTime<'_>,
    out: &mut String,
) {
    let columns = columns(counts, time.timeline);
    let classes = || columns.iter().flat_map(|(_, counts)| counts.counts());
    let (Some(first), Some(last)) = (classes().map(|one| one.0).min(), classes().map(|one| one.0).max())
    else {
        return;
    };
    let max_count = classes().map(|(_, count)| count).fold(1.0, f64::max);
    let start_ms = LatencyCounts::class_start_ms;
    let scale = Scale::log(start_ms(first), start_ms(last.saturating_add(1)));
    push_title(title, question, Unit::Milliseconds, "", out);
    out.push_str("<span class=\"legend\"><span class=\"key\">fewer ");
    for shade in 0..SHADES {
        let _ = write!(
            out,
            "<svg viewBox=\"0 0 8 8\" class=\"swatch\"><path class=\"heat h{shade}\" stroke-width=\"8\" d=\"M4 0v8\"/></svg>"
        );
    }
    out.push_str(" more requests</span></span></figcaption><div class=\"chart\">");
    push_y_axis(&scale, Unit::Milliseconds, out);
    begin_plot(title, out);
    push_grid(&scale, out);
    let mut paths = vec![Path::default(); SHADES];
    for (span, counts) in &columns {
        let (x, end) = (time.axis.x(span.start_s), time.axis.x(span.end_s));
        for (class, count) in counts.counts() {
            let (top, bottom) = (scale.y(start_ms(class + 1)), scale.y(start_ms(class)));
            paths[shade(count, max_count)].bar(i32::midpoint(x, end), top, bottom);
        }
    }
    let width = bar_width(time.axis, columns.iter().map(|(span, _)| *span));
    for (shade, path) in paths.iter().enumerate() {
        let text = path.text();
        let _ = write!(out, "<path class=\"heat h{shade}\" stroke-width=\"{width}\" d=\"{text}\"/>");
    }
    out.push_str("</svg>");
    end_plot(time.axis, out);
}

/// The columns of the map: points that would be too narrow are merged, but not across a gap.
fn columns(counts: &[LatencyCounts], timeline: &Timeline) -> Vec<(TimeSpan, LatencyCounts)> {
    let points_of_column = timeline.points().len().div_ceil(MAX_COLUMNS);
    let mut columns: Vec<(TimeSpan, LatencyCounts)> = Vec::new();
    let mut points = 0;
    for (index, (counts, span)) in counts.iter().zip(timeline.points()).enumerate() {
        match columns.last_mut() {
            Some((last, merged)) if points < points_of_column && !timeline.is_after_gap(index) => {
                last.end_s = span.end_s;
                merged.merge(counts.clone());
                points += 1;
            }
            _ => {
                columns.push((*span, counts.clone()));
                points = 1;
            }
        }
    }
    columns
}

/// The shade of a number of requests, on a logarithmic scale over the upper four decades.
fn shade(count: f64, max_count: f64) -> usize {
    const DECADES: f64 = 4.0;
    let position = 1.0 - log10(max_count / count.max(1e-9)) / DECADES;
    ((position * SHADES as f64).floor().max(0.0) as usize).min(SHADES - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_requests_are_darker() {
        assert_eq!([1e6, 1e5, 1e4, 1e3, 1e2, 1.0].map(|count| shade(count, 1e6)), [4, 3, 2, 1, 0, 0]);
    }
}
