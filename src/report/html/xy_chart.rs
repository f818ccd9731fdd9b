//! Charts against concurrency: a point for each point of time, colored by time, and the means of the levels; and the heat map: requests by time and by latency.

use libm::log10;

use super::chart::Panel;
use super::escape::escape;
use super::scale::{HEIGHT, MAX_LOG_TICKS, MAX_TICK_INTERVALS, Path, Unit};
use super::time_axis::{TimeAxis, WIDTH};
use crate::analysis::{CapacityReport, DeviceReport};
use crate::intervals::DeviceHistory;
use crate::intervals::series::{Extent, LatencyCounts, Merge, TimeSpan, Timeline};
use crate::report::layout::sentence_numbers::number;
use crate::report::scale::Scale;

/// The shades of the points by time, from the first to the last.
const TIME_CLASSES: usize = 5;
/// The lowest concurrency on the axis: below it, two requests are hardly ever in flight together.
const MIN_CONCURRENCY: f64 = 0.01;

/// Concurrency, value and shade of points of time.
type Points = Vec<(f64, f64, usize)>;

/// The points of a quantity; `None` if there are too few for a chart.
fn points_of(history: &DeviceHistory, name: &str) -> Option<Points> {
    let concurrency = history.values("concurrency");
    let mean = |values: &[Extent], index: usize| values.get(index).and_then(Extent::mean);
    let point = |index: usize| {
        let queue = mean(concurrency, index)?;
        let value = mean(history.values(name), index)?;
        let shade = index * TIME_CLASSES / concurrency.len();
        (queue > 0.0 && value > 0.0).then_some((queue.max(MIN_CONCURRENCY), value, shade))
    };
    let points: Points = (0..concurrency.len()).filter_map(point).collect();
    (points.len() >= 3).then_some(points)
}

/// The least and the greatest of some values.
fn range(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    (values.clone().fold(f64::INFINITY, f64::min), values.fold(0.0, f64::max))
}

/// Appends throughput and latency against concurrency.
pub(super) fn push_concurrency_charts(history: &DeviceHistory, report: &DeviceReport, out: &mut String) {
    let (capacity, levels) = (&report.capacity, &report.levels);
    if let Some(points) = points_of(history, "iops") {
        let known_max = capacity.max_iops.filter(|_| capacity.is_max_known);
        let (_, max) = range(points.iter().map(|(_, value, _)| *value));
        let scale = Scale::linear(max.max(known_max.unwrap_or(0.0)));
        let chart = ("Throughput against concurrency", "How much more could it do? ", Unit::Count("r+w/s"));
        let mut panel = Panel::new(chart, scale);
        let rings = levels.iter().map(|level| (level.queue, level.iops)).collect();
        let concurrency = draw_points(&points, rings, &mut panel);
        draw_knee(&concurrency, capacity, &mut panel);
        if let Some(max) = known_max {
            let word = if capacity.is_proven { "cap" } else { "maximum" };
            panel.draw_reference(max, &format!("{word} {}/s", number(max)));
        }
        push_over_concurrency(&panel, &concurrency, out);
    }
    if let Some(points) = points_of(history, "await_ms") {
        let (min, max) = range(points.iter().map(|(_, value, _)| *value));
        let chart = ("Latency against concurrency", "Does latency grow with the load? ", Unit::Milliseconds);
        let mut panel = Panel::new(chart, Scale::log(min, max));
        let rings = levels.iter().map(|level| (level.queue, level.await_ms)).collect();
        let concurrency = draw_points(&points, rings, &mut panel);
        push_over_concurrency(&panel, &concurrency, out);
    }
}

/// Returns the distance of a concurrency from the left of a chart of [`WIDTH`].
fn x_of(concurrency: &Scale, value: f64) -> i32 {
    (concurrency.position(value) * WIDTH).round() as i32
}

/// Draws the points, a path for each shade, and a ring for each level of concurrency; returns the scale of concurrency.
fn draw_points(points: &Points, rings: Vec<(f64, f64)>, panel: &mut Panel<'_>) -> Scale {
    let (min, max) = range(points.iter().map(|(queue, ..)| *queue));
    let concurrency = Scale::log(min, max);
    let shades = (0..TIME_CLASSES).map(|class| format!("class=\"dot t{class}\" d=\"M4 4h0\""));
    panel.add_shades("earlier", "later", shades);
    for class in 0..TIME_CLASSES {
        let mut path = Path::default();
        for (queue, value, _) in points.iter().filter(|(.., shade)| *shade == class) {
            path.dot(x_of(&concurrency, *queue), panel.scale.y(*value));
        }
        panel.draw(&format!("dot t{class}"), path.text());
    }
    if rings.len() >= 2 {
        let mut path = Path::default();
        let place = |(queue, value)| (x_of(&concurrency, queue), panel.scale.y(value));
        rings.into_iter().map(place).for_each(|(x, y)| path.dot(x, y));
        panel.draw("level", path.text());
        panel.draw("level hole", path.text());
    }
    concurrency
}

/// Draws lines at the ends of the knee, and a label beside that of the first level at the maximum.
fn draw_knee(concurrency: &Scale, capacity: &CapacityReport, panel: &mut Panel<'_>) {
    for knee in [capacity.knee_low, capacity.knee_high].into_iter().flatten() {
        panel.draw("ref", &format!("M{} 0v{HEIGHT}", x_of(concurrency, knee)));
    }
    let Some(high) = capacity.knee_high else { return };
    let label = |queue: f64| Unit::Count("").label(round(queue));
    let queues = match capacity.knee_low {
        Some(low) => format!("{} to {}", label(low), label(high)),
        None => format!("{} or less", label(high)),
    };
    let left = concurrency.position(high) * 100.0;
    let side = if left > 70.0 { "left" } else { "right" };
    panel.labels +=
        &format!("<span class=\"ref knee {side}\" style=\"left:{left:.1}%\">knee {queues}</span>");
}

fn push_over_concurrency(panel: &Panel<'_>, concurrency: &Scale, out: &mut String) {
    let ticks = concurrency.ticks(MAX_TICK_INTERVALS, MAX_LOG_TICKS);
    let grid: String = ticks.iter().map(|tick| format!("M{} 0v{HEIGHT}", x_of(concurrency, *tick))).collect();
    let label = |tick: &f64| {
        let left = concurrency.position(*tick) * 100.0;
        format!("<i style=\"left:{left:.1}%\">{}</i>", escape(&Unit::Count("").label(*tick)))
    };
    let labels: String = ticks.iter().map(label).collect();
    let below = format!(
        "<div class=\"xs\">{labels}</div><div class=\"axis\">concurrency: mean reads and writes in the queue or being served</div>"
    );
    panel.push("", &grid, &below, out);
}

/// A number with two significant digits.
fn round(value: f64) -> f64 {
    let unit = libm::pow(10.0, libm::log10(value.max(1e-9)).floor() - 1.0);
    (value / unit).round() * unit
}

/// The shades, from few to many requests.
const SHADES: usize = 5;
/// The most columns, apart from those that end at a gap.
const MAX_COLUMNS: usize = 120;

/// Appends a heat map; nothing without requests.
pub(super) fn push_heat_map(counts: &[LatencyCounts], time: &TimeAxis<'_>, out: &mut String) {
    let columns = columns(counts, time.timeline);
    let classes = || columns.iter().flat_map(|(_, counts)| counts.counts());
    let (Some(first), Some(last)) = (classes().map(|one| one.0).min(), classes().map(|one| one.0).max())
    else {
        return;
    };
    let max_count = classes().map(|(_, count)| count).fold(1.0, f64::max);
    let start_ms = LatencyCounts::class_start_ms;
    let scale = Scale::log(start_ms(first), start_ms(last.saturating_add(1)));
    let chart = ("Heat map of interval means", "One speed, or several? ", Unit::Milliseconds);
    let mut panel = Panel::new(chart, scale);
    let path = |shade: usize, width: i32, path: &str| {
        format!("class=\"heat h{shade}\" stroke-width=\"{width}\" d=\"{path}\"")
    };
    panel.add_shades("fewer", "more requests", (0..SHADES).map(|shade| path(shade, 8, "M4 0v8")));
    let mut paths = vec![Path::default(); SHADES];
    for (span, counts) in &columns {
        let (x, end) = time.ends(span);
        for (class, count) in counts.counts() {
            let (top, bottom) = (scale.y(start_ms(class + 1)), scale.y(start_ms(class)));
            paths[shade(count, max_count)].bar(i32::midpoint(x, end), top, bottom);
        }
    }
    let width = time.bar_width(columns.iter().map(|(span, _)| span));
    for (shade, drawn) in paths.iter().enumerate() {
        panel.drawing += &format!("<path {}/>", path(shade, width, drawn.text()));
    }
    panel.push_over_time(time, out);
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
