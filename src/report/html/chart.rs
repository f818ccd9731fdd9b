//! A chart over time: lines with the band from minimum to maximum, reference lines, dots and stacked areas.

use std::fmt::Write;

use super::escape::escape;
use super::scale::Path;
use super::scale::{HEIGHT, Scale, Unit};
use super::time_axis::{TimeAxis, WIDTH};
use crate::intervals::series::{Extent, TimeSpan, Timeline};

/// The axis of time and the points, which all charts over time share.
#[derive(Clone, Copy)]
pub(super) struct ChartTime<'a> {
    pub(super) axis: &'a TimeAxis,
    pub(super) timeline: &'a Timeline,
}

#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    /// Its name in the legend.
    pub(super) label: &'a str,
    /// Its name in the embedded data.
    pub(super) key: &'a str,
    /// The class of its color and stroke, so that series do not differ by color only: `read` (solid), `write` (dashed),
    /// `flush` (dotted), `all` (all requests), `bound`, `doubt` (values that cannot be right), or `dots` instead of a
    /// line for values at single moments.
    pub(super) class: &'static str,
    /// Its values, one for each point of the timeline or fewer.
    pub(super) values: &'a [Extent],
}

impl Line<'_> {
    /// The greatest maximum; `None` without values.
    fn max(&self) -> Option<f64> {
        self.values.iter().filter_map(Extent::max).reduce(f64::max)
    }

    /// The least value above zero; `None` without any.
    fn min_above_zero(&self) -> Option<f64> {
        self.values.iter().filter_map(Extent::min).filter(|min| *min > 0.0).reduce(f64::min)
    }
}

/// A horizontal line at a value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Reference {
    pub(super) label: String,
    pub(super) value: f64,
}

pub(super) struct Chart<'a> {
    pub(super) title: &'a str,
    /// The question that it answers.
    pub(super) question: &'a str,
    /// The unit of its values.
    pub(super) unit: Unit,
    pub(super) lines: Vec<Line<'a>>,
    /// Lines at fixed values.
    pub(super) references: Vec<Reference>,
    /// The id of the element with the shades of the device's events; empty for none.
    pub(super) shades: &'a str,
}

impl Chart<'_> {
    /// Appends the chart; nothing if it has no value above zero.
    pub(super) fn push(&self, time: ChartTime<'_>, out: &mut String) {
        let shown: Vec<&Line<'_>> =
            self.lines.iter().filter(|line| line.max().is_some_and(|max| max > 0.0)).collect();
        if shown.is_empty() {
            return;
        }
        let (scale, cut) = self.scale(&shown);
        let legend = shown.iter().map(|line| (line.class, line.key, line.label));
        push_head(self.title, self.question, self.unit, legend, out);
        push_y_axis(&scale, self.unit, out);
        begin_plot(self.title, out);
        push_grid(&scale, out);
        if !self.shades.is_empty() {
            let _ = write!(out, "<use href=\"#{}\"/>", self.shades);
        }
        for line in &shown {
            push_line(line, self.unit.factor(), &scale, time, out);
        }
        if cut.is_some() {
            self.push_cuts(&shown, &scale, time, out);
        }
        for reference in &self.references {
            let y = scale.y(reference.value);
            let _ = write!(out, "<path class=\"ref\" d=\"M0 {y}h{WIDTH}\"/>");
        }
        out.push_str("</svg>");
        for reference in &self.references {
            let top = (1.0 - scale.position(reference.value)) * 100.0;
            let side = if top < 12.0 { "under" } else { "over" };
            let label = escape(&reference.label);
            let _ = write!(out, "<span class=\"ref {side}\" style=\"top:{top:.1}%\">{label}</span>");
        }
        if let Some(max) = cut {
            let label = self.unit.label(max);
            let _ = write!(out, "<span class=\"ref under\" style=\"top:0%\">cut: up to {label}</span>");
        }
        end_plot(time.axis, out);
    }

    /// Returns the scale, and the greatest value if that is cut off: on a linear axis, one short burst must not hide how
    /// all other values change.
    fn scale(&self, shown: &[&Line<'_>]) -> (Scale, Option<f64>) {
        let factor = self.unit.factor();
        let references = self.references.iter().map(|reference| reference.value);
        let highest = references.clone().fold(0.0, f64::max);
        let max = shown.iter().filter_map(|line| line.max()).fold(0.0, f64::max) * factor;
        let is_rate = matches!(self.unit, Unit::PerSecond | Unit::Bandwidth);
        let usual = if is_rate { MAX_BURST_RATIO * usual_max(shown) * factor } else { max };
        let is_cut = usual > 0.0 && max > usual && highest <= usual;
        let top = if is_cut { usual / MAX_BURST_RATIO * CUT_ROOM } else { max };
        let min = shown.iter().filter_map(|line| line.min_above_zero()).map(|min| min * factor);
        let min = min.chain(references).fold(f64::INFINITY, f64::min);
        (self.unit.scale(min, top.max(highest)), is_cut.then_some(max))
    }

    /// Marks the points whose values are cut off.
    fn push_cuts(&self, shown: &[&Line<'_>], scale: &Scale, time: ChartTime<'_>, out: &mut String) {
        let factor = self.unit.factor();
        let mut path = Path::default();
        for (index, span) in time.timeline.points().iter().enumerate() {
            let of_point = shown.iter().filter_map(|line| line.values.get(index)?.max());
            if of_point.fold(0.0, f64::max) * factor > scale.max() {
                path.step(time.axis.x(span.start_s), time.axis.x(span.end_s), 0);
            }
        }
        let _ = write!(out, "<path class=\"cut\" d=\"{}\"/>", path.text());
    }
}

/// A value this many times above nearly all others is a burst; the axis leaves this room above them.
const MAX_BURST_RATIO: f64 = 3.0;
const CUT_ROOM: f64 = 1.2;
/// The fraction of the points that are not bursts.
const USUAL_FRACTION: f64 = 0.95;

/// Returns the value that the maxima of nearly all points with values do not exceed.
fn usual_max(shown: &[&Line<'_>]) -> f64 {
    let of_line = |line: &&Line<'_>| {
        let mut maxima: Vec<f64> =
            line.values.iter().filter_map(Extent::max).filter(|max| *max > 0.0).collect();
        maxima.sort_by(f64::total_cmp);
        let at = (maxima.len() as f64 * USUAL_FRACTION).ceil() as usize;
        maxima.get(at.saturating_sub(1)).copied().unwrap_or(0.0)
    };
    shown.iter().map(of_line).fold(0.0, f64::max)
}

/// Appends the beginning of a panel: title, unit and question.
pub(super) fn push_title(title: &str, question: &str, unit: Unit, out: &mut String) {
    let [key, on_axis] = unit.names();
    let _ = write!(
        out,
        "<figure class=\"panel\" data-u=\"{key}\"><figcaption><b>{title}</b> <span class=\"unit\">{on_axis}</span><span \
         class=\"q\">{question}</span>"
    );
}

/// Appends the beginning of a panel: title, question, and a legend of classes, keys in the embedded data and labels. The
/// script fills in values.
pub(super) fn push_head<'a>(
    title: &str,
    question: &str,
    unit: Unit,
    legend: impl Iterator<Item = (&'a str, &'a str, &'a str)>,
    out: &mut String,
) {
    push_title(title, question, unit, out);
    out.push_str("<span class=\"legend\">");
    for (class, key, label) in legend {
        let (key, label) = (escape(key), escape(label));
        let _ = write!(out, "<span class=\"key {class}\" data-k=\"{key}\">{label}<output></output></span>");
    }
    out.push_str("</span></figcaption><div class=\"chart\">");
}

/// Appends the labels of the vertical axis.
pub(super) fn push_y_axis(scale: &Scale, unit: Unit, out: &mut String) {
    out.push_str("<div class=\"ys\">");
    for tick in scale.ticks() {
        let top = (1.0 - scale.position(tick)) * 100.0;
        let _ = write!(out, "<i style=\"top:{top:.0}%\">{}</i>", unit.label(tick));
    }
    out.push_str("</div>");
}

/// Appends the beginning of the drawing of a chart over time, which the script can zoom.
pub(super) fn begin_plot(title: &str, out: &mut String) {
    let _ = write!(
        out,
        "<div class=\"plot time\"><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" preserveAspectRatio=\"none\" role=\"img\" \
         aria-label=\"{title}\">"
    );
}

/// Appends horizontal lines at the ticks, and vertical ones that all charts share.
pub(super) fn push_grid(scale: &Scale, out: &mut String) {
    out.push_str("<path class=\"grid\" d=\"");
    for tick in scale.ticks() {
        let _ = write!(out, "M0 {}h{WIDTH}", scale.y(tick));
    }
    out.push_str("\"/><use href=\"#hours\"/>");
}

/// Appends the end of the drawing, with the labels of the axis of time.
pub(super) fn end_plot(axis: &TimeAxis, out: &mut String) {
    out.push_str("</div>");
    push_time_labels(axis, out);
    out.push_str("</div></figure>");
}

/// Appends the labels of the axis of time.
pub(super) fn push_time_labels(axis: &TimeAxis, out: &mut String) {
    out.push_str("<div class=\"xs\">");
    for tick in axis.ticks() {
        let left = tick.position * 100.0;
        // A label centered at its tick would extend beyond the page. The script does the same.
        let class = match left {
            ..3.0 => " class=\"first\"",
            95.0.. => " class=\"last\"",
            _ => "",
        };
        let _ = write!(out, "<i{class} style=\"left:{left:.1}%\">{}</i>", escape(&tick.label));
    }
    out.push_str("</div>");
}

/// Appends the mean, and the band from minimum to maximum if points have several values.
fn push_line(line: &Line<'_>, factor: f64, scale: &Scale, time: ChartTime<'_>, out: &mut String) {
    let class = line.class;
    let (mut mean, mut band) = (Path::default(), Path::default());
    let y = |value: Option<f64>| value.map(|value| scale.y(value * factor));
    for (index, (extent, span)) in line.values.iter().zip(time.timeline.points()).enumerate() {
        let (Some(at), Some(top), Some(bottom)) = (y(extent.mean()), y(extent.max()), y(extent.min())) else {
            mean.interrupt();
            continue;
        };
        let (x, end) = (time.axis.x(span.start_s), time.axis.x(span.end_s));
        if time.timeline.is_after_gap(index) {
            mean.interrupt();
        }
        if class == "dots" {
            mean.dot(i32::midpoint(x, end), at);
        } else {
            mean.step(x, end, at);
        }
        if bottom > top + 1 {
            band.bar(i32::midpoint(x, end), top, bottom);
        }
    }
    if !band.text().is_empty() {
        let width = bar_width(time.axis, time.timeline.points().iter().copied());
        let _ = write!(out, "<path class=\"{class} band\" stroke-width=\"{width}\" d=\"{}\"/>", band.text());
    }
    let _ = write!(out, "<path class=\"{class}\" d=\"{}\"/>", mean.text());
}

/// The width of bars: the median length of these spans, in units of the drawing.
pub(super) fn bar_width(axis: &TimeAxis, spans: impl Iterator<Item = TimeSpan>) -> i32 {
    let mut widths: Vec<i32> = spans.map(|span| axis.x(span.end_s) - axis.x(span.start_s)).collect();
    let middle = widths.len() / 2;
    if widths.is_empty() { 1 } else { (*widths.select_nth_unstable(middle).1).max(1) }
}

pub(super) struct Area<'a> {
    /// Its name in the legend.
    pub(super) label: String,
    /// Its name in the embedded data.
    pub(super) key: String,
    /// Its class: `a1` to `a5`, or `rest`.
    pub(super) class: &'a str,
    /// Its value in each point of the timeline; `None` for a point without one.
    pub(super) values: Vec<Option<f64>>,
}

/// Appends stacked areas of percentages, the first at the bottom; nothing without values.
pub(super) fn push_areas(
    title: &str,
    question: &str,
    areas: &[Area<'_>],
    shades: &str,
    time: ChartTime<'_>,
    out: &mut String,
) {
    if !areas.iter().any(|area| area.values.iter().flatten().any(|value| *value > 0.0)) {
        return;
    }
    let legend = areas.iter().map(|area| (area.class, &*area.key, &*area.label));
    push_head(title, question, Unit::Percent, legend, out);
    let scale = Scale::percent(100.0);
    push_y_axis(&scale, Unit::Percent, out);
    begin_plot(title, out);
    push_grid(&scale, out);
    let mut below = vec![0.0; time.timeline.points().len()];
    for area in areas {
        let mut path = Path::default();
        for (index, (value, span)) in area.values.iter().zip(time.timeline.points()).enumerate() {
            let Some(value) = value.filter(|value| *value > 0.0) else { continue };
            let (bottom, top) = (scale.y(below[index]), scale.y(below[index] + value));
            below[index] += value;
            let (x, end) = (time.axis.x(span.start_s), time.axis.x(span.end_s));
            if bottom > top {
                path.rectangle(x, top, (end - x).max(1), bottom - top);
            }
        }
        let _ = write!(out, "<path class=\"area {}\" d=\"{}\"/>", area.class, path.text());
    }
    if !shades.is_empty() {
        let _ = write!(out, "<use href=\"#{shades}\"/>");
    }
    out.push_str("</svg>");
    end_plot(time.axis, out);
}
