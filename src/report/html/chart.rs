//! Panels with charts. A chart stretches to the width of the page: its drawing has neither text nor round shapes, which
//! are placed over it as HTML.

use super::escape::escape;
use super::scale::{HEIGHT, MAX_LOG_TICKS, MAX_TICK_INTERVALS, Path, Unit};
use super::time_axis::{TimeAxis, WIDTH};
use crate::intervals::series::Extent;
use crate::report::scale::Scale;

/// A panel: its heading with a legend, and a drawing above a horizontal and beside a vertical axis.
pub(super) struct Panel<'a> {
    pub(super) chart: Chart<'a>,
    pub(super) scale: Scale,
    pub(super) legend: String,
    pub(super) drawing: String,
    /// The texts over the drawing.
    pub(super) labels: String,
}

impl<'a> Panel<'a> {
    pub(super) fn new(chart: Chart<'a>, scale: Scale) -> Self {
        let [legend, drawing, labels] = [const { String::new() }; 3];
        Self { chart, scale, legend, drawing, labels }
    }

    /// Adds an entry of the legend by its class, its key in the embedded data and its label. The script fills in values.
    fn add_key(&mut self, class: &str, key: &str, label: &str) {
        let (key, label) = (escape(key), escape(label));
        self.legend +=
            &format!("<span class=\"key {class}\" data-k=\"{key}\">{label}<output></output></span>");
    }

    /// Adds an entry of the legend for shades, each drawn as a path with these attributes.
    pub(super) fn add_shades(&mut self, first: &str, last: &str, shades: impl Iterator<Item = String>) {
        let swatch = |path| format!("<svg viewBox=\"0 0 8 8\" class=\"swatch\"><path {path}/></svg>");
        let swatches: String = shades.map(swatch).collect();
        self.legend += &format!("<span class=\"key\">{first} {swatches} {last}</span>");
    }

    pub(super) fn draw(&mut self, class: &str, path: &str) {
        self.drawing += &format!("<path class=\"{class}\" d=\"{path}\"/>");
    }

    /// Adds the shades of a device's incidents; `id` is that of their element, empty for none.
    fn draw_incidents(&mut self, id: &str) {
        if !id.is_empty() {
            self.drawing += &format!("<use href=\"#{id}\"/>");
        }
    }

    /// Draws a horizontal line at a value, with its label.
    pub(super) fn draw_reference(&mut self, value: f64, label: &str) {
        self.draw("ref", &format!("M0 {}h{WIDTH}", self.scale.y(value)));
        let top = (1.0 - self.scale.position(value)) * 100.0;
        let (side, label) = (if top < 12.0 { "under" } else { "over" }, escape(label));
        self.labels += &format!("<span class=\"ref {side}\" style=\"top:{top:.1}%\">{label}</span>");
    }

    /// Appends the panel with an axis of time, whose drawing the script can zoom.
    pub(super) fn push_over_time(&self, axis: &TimeAxis<'_>, out: &mut String) {
        self.push(" time", "\"/><use href=\"#hours", &time_labels(axis), out);
    }

    /// Appends the panel. `grid` is what follows the horizontal lines of the grid in the drawing, `below` the labels below it.
    pub(super) fn push(&self, class: &str, grid: &str, below: &str, out: &mut String) {
        let Self { chart: (title, question, unit), scale, legend, drawing, labels } = self;
        let ([key, on_axis], ticks) = (unit.names(), scale.ticks(MAX_TICK_INTERVALS, MAX_LOG_TICKS));
        let on_the_left = |tick: &f64| {
            format!(
                "<i style=\"top:{:.0}%\">{}</i>",
                (1.0 - scale.position(*tick)) * 100.0,
                unit.label(*tick)
            )
        };
        let on_the_left: String = ticks.iter().map(on_the_left).collect();
        let lines: String = ticks.iter().map(|tick| format!("M0 {}h{WIDTH}", scale.y(*tick))).collect();
        *out += &format!(
            "<figure class=\"panel\" data-u=\"{key}\"><figcaption><b>{title}</b> <span class=\"unit\">{on_axis}</span>\
             <span class=\"q\">{question}</span><span class=\"legend\">{legend}</span></figcaption><div class=\"chart\">\
             <div class=\"ys\">{on_the_left}</div><div class=\"plot{class}\"><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{title}\"><path class=\"grid\" d=\"{lines}{grid}\"/>\
             {drawing}</svg>{labels}</div>{below}</div></figure>"
        );
    }
}

/// The labels of the axis of time.
pub(super) fn time_labels(axis: &TimeAxis<'_>) -> String {
    let label = |(position, label): (f64, String)| {
        let left = position * 100.0;
        // A label centered at its tick would extend beyond the page. The script does the same.
        let class = match left {
            ..3.0 => " class=\"first\"",
            95.0.. => " class=\"last\"",
            _ => "",
        };
        format!("<i{class} style=\"left:{left:.1}%\">{}</i>", escape(&label))
    };
    format!("<div class=\"xs\">{}</div>", axis.ticks().into_iter().map(label).collect::<String>())
}

/// A chart over time: its title, the question that it answers, and the unit of its values.
pub(super) type Chart<'a> = (&'a str, &'a str, Unit);

/// A line: the title of its chart, its label in the legend, the name of its quantity, and the class of its color and stroke, so that
/// series do not differ by color only: `read` (solid), `write` (dashed), `flush` (dotted), `all` (all requests), `bound`,
/// `doubt` (values that cannot be right), or `dots` instead of a line for values at single moments.
pub(super) type Line = (&'static str, &'static str, &'static str, &'static str);

/// The values of a line, one for each point of the timeline or fewer, and their name in the embedded data.
pub(super) type Named<'a> = (&'static str, &'a [Extent]);

/// Appends a chart with those of the lines that belong to it, with lines at fixed values, and with shades if their id is
/// not empty; nothing if it has no value above zero.
pub(super) fn push_chart<'a>(
    chart @ (title, _, unit): Chart<'_>,
    lines: &[Line],
    values_of: impl Fn(&str) -> &'a [Extent],
    references: &[(f64, String)],
    shades: &str,
    time: &TimeAxis<'_>,
    out: &mut String,
) {
    let maxima = |values: &'a [Extent]| values.iter().filter_map(Extent::max);
    let own = lines.iter().filter(|(chart, ..)| *chart == title);
    let all = own.map(|(_, label, key, class)| (*label, *class, (*key, values_of(key))));
    let shown: Vec<(&str, &str, Named<'a>)> =
        all.filter(|(.., (_, values))| maxima(values).any(|max| max > 0.0)).collect();
    if shown.is_empty() {
        return;
    }
    let factor = unit.factor();
    let max = shown.iter().flat_map(|(.., (_, values))| maxima(values)).fold(0.0, f64::max) * factor;
    let minima = shown.iter().flat_map(|(.., (_, values))| values.iter().filter_map(Extent::min));
    let minima = minima.filter(|min| *min > 0.0).map(|min| min * factor);
    let min = minima.chain(references.iter().map(|(value, _)| *value)).fold(f64::INFINITY, f64::min);
    let highest = references.iter().map(|(value, _)| *value).fold(0.0, f64::max);
    // On a linear axis, one short burst must not hide how all other values change.
    let usual = shown.iter().map(|(.., (_, values))| usual_max(maxima(values))).fold(0.0, f64::max) * factor;
    let is_rate = matches!(unit, Unit::PerSecond | Unit::Bandwidth);
    let is_cut =
        is_rate && usual > 0.0 && max > MAX_BURST_RATIO * usual && highest <= MAX_BURST_RATIO * usual;
    let top = if is_cut { usual * CUT_ROOM } else { max };
    let mut panel = Panel::new(chart, unit.scale(min, top.max(highest)));
    panel.draw_incidents(shades);
    for (label, class, (key, values)) in &shown {
        panel.add_key(class, key, label);
        draw_line(class, values, time, &mut panel);
    }
    if is_cut {
        let mut path = Path::default();
        for (index, span) in time.timeline.points().iter().enumerate() {
            let of_point = shown.iter().filter_map(|(.., (_, values))| values.get(index)?.max());
            if of_point.fold(0.0, f64::max) * factor > panel.scale.max() {
                let (x, end) = time.ends(span);
                path.step(x, end, 0);
            }
        }
        panel.draw("cut", path.text());
    }
    references.iter().for_each(|(value, label)| panel.draw_reference(*value, label));
    if is_cut {
        let label = unit.label(max);
        panel.labels += &format!("<span class=\"ref under\" style=\"top:0%\">cut: up to {label}</span>");
    }
    panel.push_over_time(time, out);
}

/// A value this many times above nearly all others is a burst; the axis leaves this room above them.
const MAX_BURST_RATIO: f64 = 3.0;
const CUT_ROOM: f64 = 1.2;
/// The fraction of the points that are not bursts.
const USUAL_FRACTION: f64 = 0.95;

/// Returns the value that nearly all of these maxima that are above zero do not exceed.
fn usual_max(maxima: impl Iterator<Item = f64>) -> f64 {
    let mut maxima: Vec<f64> = maxima.filter(|max| *max > 0.0).collect();
    maxima.sort_by(f64::total_cmp);
    let at = (maxima.len() as f64 * USUAL_FRACTION).ceil() as usize;
    maxima.get(at.saturating_sub(1)).copied().unwrap_or(0.0)
}

/// Draws the mean, and the band from minimum to maximum if points have several values.
fn draw_line(class: &str, values: &[Extent], time: &TimeAxis<'_>, panel: &mut Panel<'_>) {
    let (mut mean, mut band) = (Path::default(), Path::default());
    let (.., unit) = panel.chart;
    let y = |value: Option<f64>| value.map(|value| panel.scale.y(value * unit.factor()));
    for (index, (extent, span)) in values.iter().zip(time.timeline.points()).enumerate() {
        let (Some(at), Some(top), Some(bottom)) = (y(extent.mean()), y(extent.max()), y(extent.min())) else {
            mean.interrupt();
            continue;
        };
        let (x, end) = time.ends(span);
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
        let (width, path) = (time.bar_width(time.timeline.points().iter()), band.text());
        panel.drawing += &format!("<path class=\"{class} band\" stroke-width=\"{width}\" d=\"{path}\"/>");
    }
    panel.draw(class, mean.text());
}

pub(super) struct Area {
    /// Its name in the legend.
    pub(super) label: String,
    /// Its name in the embedded data.
    pub(super) key: String,
    /// Its class: `a1` to `a5`, or `rest`.
    pub(super) class: &'static str,
    /// Its value in each point of the timeline.
    pub(super) values: Vec<Extent>,
}

/// Appends stacked areas of percentages, the first at the bottom; nothing without values.
pub(super) fn push_areas(
    title: &str,
    question: &str,
    areas: &[Area],
    shades: &str,
    time: &TimeAxis<'_>,
    out: &mut String,
) {
    if !areas.iter().any(|area| area.values.iter().filter_map(Extent::max).any(|value| value > 0.0)) {
        return;
    }
    let mut panel = Panel::new((title, question, Unit::Percent), Scale::percent(100.0));
    let mut below = vec![0.0; time.timeline.points().len()];
    for area in areas {
        let mut path = Path::default();
        for (index, (value, span)) in area.values.iter().zip(time.timeline.points()).enumerate() {
            let Some(value) = value.mean().filter(|value| *value > 0.0) else { continue };
            let (bottom, top) = (panel.scale.y(below[index]), panel.scale.y(below[index] + value));
            below[index] += value;
            let (x, end) = time.ends(span);
            if bottom > top {
                path.rectangle(x, top, (end - x).max(1), bottom - top);
            }
        }
        panel.add_key(area.class, &area.key, &area.label);
        panel.draw(&format!("area {}", area.class), path.text());
    }
    panel.draw_incidents(shades);
    panel.push_over_time(time, out);
}
