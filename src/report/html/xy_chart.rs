//! Charts against concurrency: a point for each point of time, colored by time, and the means of the levels; and the heat map: requests by time and by latency.

use std::fmt::Write;

use libm::log10;

use super::chart::{ChartTime, bar_width, begin_plot, end_plot, push_grid, push_title, push_y_axis};
use super::escape::escape;
use super::scale::Path;
use super::scale::{HEIGHT, Scale, Unit};
use super::time_axis::WIDTH;
use crate::analysis::{CapacityReport, ConcurrencyLevel};
use crate::intervals::series::{Extent, LatencyCounts, Merge, TimeSpan, Timeline};
use crate::intervals::{DeviceHistory, DeviceQuantity};

/// The shades of the points by time, from the first to the last.
const TIME_CLASSES: usize = 5;
/// The lowest concurrency on the axis: below it, two requests are hardly ever in flight together.
const MIN_CONCURRENCY: f64 = 0.01;

struct Points {
    concurrency: Scale,
    /// Concurrency, value and shade of each point.
    points: Vec<(f64, f64, usize)>,
}

impl Points {
    /// The points of a quantity; `None` if there are too few for a chart.
    fn of(history: &DeviceHistory, quantity: DeviceQuantity) -> Option<Self> {
        let concurrency = history.values(DeviceQuantity::Concurrency);
        let count = concurrency.len().max(1);
        let mean = |values: &[Extent], index: usize| values.get(index).and_then(Extent::mean);
        let points: Vec<(f64, f64, usize)> = (0..concurrency.len())
            .filter_map(|index| {
                let queue = mean(concurrency, index)?;
                let value = mean(history.values(quantity), index)?;
                (queue > 0.0 && value > 0.0).then_some((
                    queue.max(MIN_CONCURRENCY),
                    value,
                    index * TIME_CLASSES / count,
                ))
            })
            .collect();
        let queues = || points.iter().map(|(queue, ..)| *queue);
        let (min, max) = (queues().fold(f64::INFINITY, f64::min), queues().fold(0.0, f64::max));
        (points.len() >= 3).then(|| Self { concurrency: Scale::log(min, max), points })
    }

    fn max(&self) -> f64 {
        self.points.iter().map(|(_, value, _)| *value).fold(0.0, f64::max)
    }

    fn x(&self, concurrency: f64) -> i32 {
        (self.concurrency.position(concurrency) * WIDTH).round() as i32
    }

    /// Appends the points, a path for each shade.
    fn push(&self, scale: &Scale, out: &mut String) {
        for class in 0..TIME_CLASSES {
            let mut path = Path::default();
            for (queue, value, _) in self.points.iter().filter(|(.., shade)| *shade == class) {
                path.dot(self.x(*queue), scale.y(*value));
            }
            let _ = write!(out, "<path class=\"dot t{class}\" d=\"{}\"/>", path.text());
        }
    }
}

/// Appends throughput and latency against concurrency.
pub(super) fn push_concurrency_charts(
    history: &DeviceHistory,
    levels: &[ConcurrencyLevel],
    capacity: &CapacityReport,
    out: &mut String,
) {
    if let Some(points) = Points::of(history, DeviceQuantity::Iops) {
        let known_max = capacity.max_iops.filter(|_| capacity.is_max_known);
        let scale = Scale::linear(points.max().max(known_max.unwrap_or(0.0)));
        let rings = levels.iter().map(|level| (level.queue, level.iops)).collect();
        let (title, question) = ("Throughput against concurrency", "How much more could it do? ");
        begin(title, question, Unit::Count("r+w/s"), &scale, &points, rings, out);
        let knees = [capacity.knee_low, capacity.knee_high].into_iter().flatten();
        for knee in knees {
            let _ = write!(out, "<path class=\"ref\" d=\"M{} 0v{HEIGHT}\"/>", points.x(knee));
        }
        if let Some(max) = known_max {
            let _ = write!(out, "<path class=\"ref\" d=\"M0 {}h{WIDTH}\"/>", scale.y(max));
        }
        out.push_str("</svg>");
        if let Some(knee) = capacity.knee_high {
            push_knee_label(&points, capacity.knee_low, knee, out);
        }
        if let Some(max) = known_max {
            let top = (1.0 - scale.position(max)) * 100.0;
            let word = if capacity.is_proven { "cap" } else { "maximum" };
            let side = if top < 12.0 { "under" } else { "over" };
            let label = crate::report::layout::sentence_numbers::number(max);
            let _ = write!(out, "<span class=\"ref {side}\" style=\"top:{top:.1}%\">{word} {label}/s</span>");
        }
        end(&points, out);
    }
    if let Some(points) = Points::of(history, DeviceQuantity::AwaitMs) {
        let min = points.points.iter().map(|(_, value, _)| *value).fold(f64::INFINITY, f64::min);
        let scale = Scale::log(min, points.max());
        let rings = levels.iter().map(|level| (level.queue, level.await_ms)).collect();
        let (title, question) = ("Latency against concurrency", "Does latency grow with the load? ");
        begin(title, question, Unit::Milliseconds, &scale, &points, rings, out);
        out.push_str("</svg>");
        end(&points, out);
    }
}

/// Appends the label beside the line of the first level at the maximum.
fn push_knee_label(points: &Points, low: Option<f64>, high: f64, out: &mut String) {
    let label = |queue: f64| Unit::Count("").label(round(queue));
    let queues = match low {
        Some(low) => format!("{} to {}", label(low), label(high)),
        None => format!("{} or less", label(high)),
    };
    let position = points.concurrency.position(high);
    let side = if position > 0.7 { "left" } else { "right" };
    let _ = write!(
        out,
        "<span class=\"ref knee {side}\" style=\"left:{:.1}%\">knee {queues}</span>",
        position * 100.0
    );
}

/// Appends a chart up to its dots, and a ring for each level of concurrency.
fn begin(
    title: &str,
    question: &str,
    unit: Unit,
    scale: &Scale,
    points: &Points,
    rings: Vec<(f64, f64)>,
    out: &mut String,
) {
    let [_, on_axis] = unit.names();
    let _ = write!(
        out,
        "<figure class=\"panel\"><figcaption><b>{title}</b> <span class=\"unit\">{on_axis}</span><span \
         class=\"q\">{question}</span><span class=\"legend\"><span class=\"key\">earlier "
    );
    for class in 0..TIME_CLASSES {
        let _ = write!(
            out,
            "<svg viewBox=\"0 0 8 8\" class=\"swatch\"><path class=\"dot t{class}\" d=\"M4 4h0\"/></svg>"
        );
    }
    out.push_str(" later</span></span></figcaption><div class=\"chart\">");
    push_y_axis(scale, unit, out);
    let _ = write!(
        out,
        "<div class=\"plot\"><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\"><path class=\"grid\" d=\""
    );
    for tick in scale.ticks() {
        let _ = write!(out, "M0 {}h{WIDTH}", scale.y(tick));
    }
    for tick in points.concurrency.ticks() {
        let _ = write!(out, "M{} 0v{HEIGHT}", points.x(tick));
    }
    out.push_str("\"/>");
    points.push(scale, out);
    if rings.len() >= 2 {
        let mut path = Path::default();
        rings.into_iter().for_each(|(queue, value)| path.dot(points.x(queue), scale.y(value)));
        let rings = path.text();
        let _ =
            write!(out, "<path class=\"level\" d=\"{rings}\"/><path class=\"level hole\" d=\"{rings}\"/>");
    }
}

fn end(points: &Points, out: &mut String) {
    out.push_str("</div><div class=\"xs\">");
    for tick in points.concurrency.ticks() {
        let left = points.concurrency.position(tick) * 100.0;
        let _ = write!(out, "<i style=\"left:{left:.1}%\">{}</i>", escape(&Unit::Count("").label(tick)));
    }
    out.push_str("</div><div class=\"axis\">concurrency: mean reads and writes in the queue or being served</div></div></figure>");
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
    push_title(title, question, Unit::Milliseconds, out);
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
