//! Charts against concurrency: a point for each point of time, colored by time, with the fitted model.

use std::fmt::Write;

use super::escape::escape;
use super::path::Path;
use super::scale::{HEIGHT, Scale, Unit};
use super::time_axis::WIDTH;
use crate::analysis::{CapacityReport, ConcurrencyLevel};
use crate::intervals::series::Extent;
use crate::intervals::{DeviceHistory, DeviceQuantity};

/// The shades of the points by time, from the first to the last.
const TIME_CLASSES: usize = 5;
/// The number of points of a curve.
const CURVE_POINTS: u32 = 80;
/// The lowest concurrency on the axis: below it, two requests are hardly ever in flight together.
const MIN_CONCURRENCY: f64 = 0.01;

/// A mark at a value of an axis.
struct Mark {
    label: String,
    position: f64,
}

/// The points of a device.
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
        let cap = capacity.cap.and_then(|cap| cap.iops).filter(|_| capacity.knee_reached);
        let max = points.max().max(capacity.max_iops.filter(|_| capacity.knee_reached).unwrap_or(0.0));
        let scale = Scale::linear(max);
        begin("Throughput against concurrency", "How much more could it do? ", Unit::PerSecond, "r+w/s", out);
        push_frame(&points, &scale, Unit::PerSecond, out);
        points.push(&scale, out);
        push_levels(&points, levels, |level| level.iops, &scale, Unit::PerSecond, out);
        let mut path = Path::default();
        path.line(curve(&points, capacity).map(|(x, rate)| (x, scale.y(rate))));
        let _ = write!(out, "<path class=\"fit\" d=\"{}\"/>", path.text());
        let mut marks = Vec::new();
        if let Some(knee) = capacity.knee_concurrency.filter(|_| capacity.knee_reached) {
            let x = points.x(knee);
            let _ = write!(out, "<path class=\"ref\" d=\"M{x} 0v{HEIGHT}\"/>");
            let or_less = if capacity.knee_is_upper_bound { " or less" } else { "" };
            let label = format!("knee {}{or_less}", Unit::Count.label(round(knee)));
            marks.push(Mark { label, position: points.concurrency.position(knee) });
        }
        if let Some(max) = cap.or(capacity.max_iops.filter(|_| capacity.knee_reached)) {
            let _ = write!(out, "<path class=\"ref\" d=\"M0 {}h{WIDTH}\"/>", scale.y(max));
        }
        out.push_str("</svg>");
        for Mark { label, position } in marks {
            let side = if position > 0.7 { "left" } else { "right" };
            let _ = write!(
                out,
                "<span class=\"ref knee {side}\" style=\"left:{:.1}%\">{label}</span>",
                position * 100.0
            );
        }
        if let Some(max) = cap.or(capacity.max_iops.filter(|_| capacity.knee_reached)) {
            let top = (1.0 - scale.position(max)) * 100.0;
            let word = if cap.is_some() { "cap" } else { "maximum" };
            let side = if top < 12.0 { "under" } else { "over" };
            let label = crate::report::layout::sentence_numbers::number(max);
            let _ = write!(out, "<span class=\"ref {side}\" style=\"top:{top:.1}%\">{word} {label}/s</span>");
        }
        end(&points, out);
    }
    if let Some(points) = Points::of(history, DeviceQuantity::AwaitMs) {
        let min = points.points.iter().map(|(_, value, _)| *value).fold(f64::INFINITY, f64::min);
        let scale = Scale::log(min, points.max());
        begin(
            "Latency against concurrency",
            "Does latency grow with the load? ",
            Unit::Milliseconds,
            "",
            out,
        );
        push_frame(&points, &scale, Unit::Milliseconds, out);
        points.push(&scale, out);
        push_levels(&points, levels, |level| level.await_ms, &scale, Unit::Milliseconds, out);
        out.push_str("</svg>");
        end(&points, out);
    }
}

/// The fitted model at concurrencies along the axis; empty without a model.
fn curve(points: &Points, capacity: &CapacityReport) -> impl Iterator<Item = (i32, f64)> {
    let Scale::Log { min, max } = points.concurrency else { return Vec::new().into_iter() };
    let at = |step: u32| min * libm::pow(max / min, f64::from(step) / f64::from(CURVE_POINTS));
    let curve: Vec<(i32, f64)> = (0..=CURVE_POINTS)
        .map(at)
        .filter_map(|concurrency| Some((points.x(concurrency), capacity.rate(concurrency)?)))
        .collect();
    curve.into_iter()
}

fn begin(title: &str, question: &str, unit: Unit, counted: &'static str, out: &mut String) {
    let on_axis = if counted.is_empty() { unit.on_axis("") } else { counted };
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
}

/// Appends the axes and the beginning of the drawing.
fn push_frame(points: &Points, scale: &Scale, unit: Unit, out: &mut String) {
    super::chart::push_y_axis(scale, unit, out);
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
}

/// Appends a ring for each level of concurrency.
fn push_levels(
    points: &Points,
    levels: &[ConcurrencyLevel],
    value: fn(&ConcurrencyLevel) -> f64,
    scale: &Scale,
    unit: Unit,
    out: &mut String,
) {
    if levels.len() < 2 {
        return;
    }
    let mut path = Path::default();
    for level in levels {
        path.dot(points.x(level.queue), scale.y(value(level) * unit.factor()));
    }
    let _ =
        write!(out, "<path class=\"level\" d=\"{0}\"/><path class=\"level hole\" d=\"{0}\"/>", path.text());
}

/// Appends the end of the drawing with the labels of the axis.
fn end(points: &Points, out: &mut String) {
    out.push_str("</div><div class=\"xs\">");
    for tick in points.concurrency.ticks() {
        let left = points.concurrency.position(tick) * 100.0;
        let _ = write!(out, "<i style=\"left:{left:.1}%\">{}</i>", escape(&Unit::Count.label(tick)));
    }
    out.push_str("</div><div class=\"axis\">concurrency: mean reads and writes in the queue or being served</div></div></figure>");
}

/// A number with two significant digits.
fn round(value: f64) -> f64 {
    let unit = libm::pow(10.0, libm::log10(value.max(1e-9)).floor() - 1.0);
    (value / unit).round() * unit
}
