//! Panels with charts: units, axes, paths of SVG, lines over time and stacked areas. A chart stretches to the width of the
//! page: its drawing has neither text nor round shapes, which are placed over it as HTML.

use std::fmt::Write;

use super::escape;
use super::time_axis::{TimeAxis, WIDTH};
use crate::intervals::series::Extent;
use crate::report::layout::sentence_numbers::{number, time};
use crate::report::scale::{Scale, ValueRange, top_below_burst, without_zeros};

/// A panel: its heading with a legend, and a drawing above a horizontal and beside a vertical axis.
pub(super) struct Panel<'a> {
    pub(super) chart: Chart<'a>,
    pub(super) scale: Scale,
    pub(super) legend: String,
    pub(super) drawing: String,
}

impl<'a> Panel<'a> {
    pub(super) fn new(chart: Chart<'a>, scale: Scale) -> Self {
        Self {
            chart,
            scale,
            legend: String::new(),
            drawing: String::new(),
        }
    }

    /// Adds an entry of the legend by its class, its key in the embedded data and its label. The script fills in values.
    fn add_key(&mut self, class: &str, key: &str, label: &str) {
        let (key, label) = (escape(key), escape(label));
        self.legend += &format!(
            "<span class=\"key {class}\" data-k=\"{key}\">{label}<output></output></span>"
        );
    }

    /// Adds an entry of the legend for shades, each drawn as a path with these attributes.
    pub(super) fn add_shades(&mut self, first: &str, last: &str, shades: &[String]) {
        let mut swatches = String::new();
        for path in shades {
            swatches += &format!("<svg viewBox=\"0 0 8 8\" class=\"swatch\"><path {path}/></svg>");
        }
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

    /// Draws a horizontal line at a value, with its label in the legend.
    pub(super) fn draw_reference(&mut self, value: f64, label: &str) {
        self.draw("ref", &format!("M0 {}h{WIDTH}", self.scale.y(value)));
        self.add_mark("ref", label);
    }

    /// Adds an entry of the legend without values.
    pub(super) fn add_mark(&mut self, class: &str, label: &str) {
        let label = escape(label);
        self.legend += &format!("<span class=\"key mark {class}\">{label}</span>");
    }

    /// Appends the panel with an axis of time, whose drawing the script can zoom.
    pub(super) fn push_over_time(&self, axis: &TimeAxis, out: &mut String) {
        self.push(" time", "\"/><use href=\"#hours", &time_labels(axis), out);
    }

    /// Appends the panel. `grid` is what follows the horizontal lines of the grid in the drawing, `below` the labels below it.
    pub(super) fn push(&self, class: &str, grid: &str, below: &str, out: &mut String) {
        let Self {
            chart: (title, question, unit),
            scale,
            legend,
            drawing,
        } = self;
        let [key, on_axis] = unit.names();
        let (mut on_the_left, mut lines) = (String::new(), String::new());
        for tick in scale.ticks(MAX_TICK_INTERVALS, MAX_LOG_TICKS) {
            let (top, label) = ((1.0 - scale.position(tick)) * 100.0, unit.label(tick));
            on_the_left += &format!("<i style=\"top:{top:.0}%\">{label}</i>");
            lines += &format!("M0 {}h{WIDTH}", scale.y(tick));
        }
        *out += &format!(
            "<figure class=\"panel\" data-u=\"{key}\"><figcaption><b>{title}</b> <span class=\"unit\">{on_axis}</span>\
             <span class=\"q\">{question}</span><span class=\"legend\">{legend}</span></figcaption><div class=\"chart\">\
             <div class=\"ys\">{on_the_left}</div><div class=\"plot{class}\"><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{title}\"><path class=\"grid\" d=\"{lines}{grid}\"/>\
             {drawing}</svg></div>{below}</div></figure>"
        );
    }
}

/// The labels of the axis of time.
pub(super) fn time_labels(axis: &TimeAxis) -> String {
    let mut labels = String::new();
    for (position, label) in axis.ticks() {
        let left = position * 100.0;
        // A label centered at its tick would extend beyond the page. The script does the same.
        let class = match left {
            ..3.0 => " class=\"first\"",
            95.0.. => " class=\"last\"",
            _ => "",
        };
        labels += &format!("<i{class} style=\"left:{left:.1}%\">{}</i>", escape(&label));
    }
    format!("<div class=\"xs\">{labels}</div>")
}

/// A chart over time: its title, the question that it answers, and the unit of its values.
pub(super) type Chart<'a> = (&'a str, &'a str, Unit);

/// A line: its label in the legend, its quantity, and the class of its color and stroke, so that
/// series do not differ by color only: `read` (solid), `write` (dashed), `flush` (dotted), `all` (all requests), `bound`,
/// `doubt` (values that cannot be right), or `dots` instead of a line for values at single moments.
pub(super) type Line<Quantity> = (&'static str, &'static Quantity, &'static str);

/// A chart over time with its lines.
pub(super) type LineChart<Quantity> = (Chart<'static>, &'static [Line<Quantity>]);

/// The values of a line, one for each point of the timeline or fewer, and their name in the embedded data.
pub(super) type Named = (&'static str, Vec<Extent>);

/// Appends a chart with its lines, with lines at fixed values, and with shades if their id is
/// not empty; nothing if it has no value above zero.
pub(super) fn push_chart<Quantity>(
    (chart, lines): &LineChart<Quantity>,
    values_of: impl Fn(&Quantity) -> Named,
    references: &[(f64, String)],
    shades: &str,
    time: &TimeAxis,
    out: &mut String,
) {
    let (.., unit) = *chart;
    let mut range = ValueRange::new();
    let mut shown = Vec::new();
    for (label, quantity, class) in *lines {
        let (key, values) = values_of(quantity);
        if values.iter().any(|value| value.max() > Some(0.0)) {
            range.add(values.iter().copied(), unit.factor());
            shown.push((label, class, (key, values)));
        }
    }
    if shown.is_empty() {
        return;
    }
    let mut highest = 0.0_f64;
    for (value, _) in references {
        range.min = range.min.min(*value);
        highest = highest.max(*value);
    }
    // On a linear axis, one short burst must not hide how all other values change.
    let is_linear = matches!(unit, Unit::PerSecond | Unit::Bandwidth | Unit::Count(_));
    let mut cut_top = None;
    if is_linear && top_below_burst(highest, range.usual).is_none() {
        cut_top = top_below_burst(range.max, range.usual);
    }
    let is_cut = cut_top.is_some();
    // Half of a dot at the top would be cut off.
    let has_dots = shown.iter().any(|(_, class, _)| **class == "dots");
    let room = if has_dots { DOT_ROOM } else { 1.0 };
    let top = cut_top.unwrap_or(range.max * room).max(highest);
    let mut panel = Panel::new(*chart, unit.scale(range.min, top));
    panel.draw_incidents(shades);
    for (label, class, (key, values)) in &shown {
        panel.add_key(class, key, label);
        draw_line(class, values, time, &mut panel);
    }
    if is_cut {
        let mut path = Path::default();
        for (index, span) in time.points.iter().enumerate() {
            let mut highest = 0.0;
            for (.., (_, values)) in &shown {
                let max = values.get(index).and_then(Extent::max).unwrap_or(0.0);
                highest = f64::max(highest, max * unit.factor());
            }
            if highest > panel.scale.max {
                let (x, end) = time.ends(span);
                path.step(x, end, 0);
            }
        }
        panel.draw("cut", path.text());
    }
    for (value, label) in references {
        panel.draw_reference(*value, label);
    }
    if is_cut {
        panel.add_mark("cut", &format!("cut: up to {}", unit.label(range.max)));
    }
    panel.push_over_time(time, out);
}

/// The room above dots.
const DOT_ROOM: f64 = 1.02;

/// Draws the mean, and the band from minimum to maximum if points have several values.
fn draw_line(class: &str, values: &[Extent], time: &TimeAxis, panel: &mut Panel<'_>) {
    let (mut mean, mut band) = (Path::default(), Path::default());
    let (.., unit) = panel.chart;
    for (index, (extent, span)) in values.iter().zip(&time.points).enumerate() {
        let [Some(middle), Some(max), Some(min)] = [extent.mean(), extent.max(), extent.min()]
        else {
            mean.interrupt();
            continue;
        };
        let [at, top, bottom] =
            [middle, max, min].map(|value| panel.scale.y(value * unit.factor()));
        let (x, end) = time.ends(span);
        if time.is_after_gap(index) {
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
        let (width, path) = (time.bar_width(time.points.iter()), band.text());
        panel.drawing +=
            &format!("<path class=\"{class} band\" stroke-width=\"{width}\" d=\"{path}\"/>");
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
    time: &TimeAxis,
    out: &mut String,
) {
    let mut values = areas.iter().flat_map(|area| &area.values);
    if !values.any(|value| value.max() > Some(0.0)) {
        return;
    }
    let mut panel = Panel::new((title, question, Unit::Percent), Scale::percent(100.0));
    let mut below = vec![0.0; time.points.len()];
    for area in areas {
        let mut path = Path::default();
        for (index, (value, span)) in area.values.iter().zip(&time.points).enumerate() {
            let value = value.mean().unwrap_or(0.0);
            if value <= 0.0 {
                continue;
            }
            let bottom = panel.scale.y(below[index]);
            let top = panel.scale.y(below[index] + value);
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

/// The height of a chart in units of its drawing, which a browser stretches.
pub(super) const HEIGHT: f64 = 240.0;
/// The most labels of an axis: see [`Scale::ticks`].
pub(super) const MAX_TICK_INTERVALS: usize = 5;
pub(super) const MAX_LOG_TICKS: usize = 8;

/// The unit of an axis, and of the values in a legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Milliseconds, shown in µs, ms or s.
    Milliseconds,
    /// A rate of requests.
    PerSecond,
    /// KiB per second, shown in MiB/s.
    Bandwidth,
    /// A count of what the noun says: `requests`.
    Count(&'static str),
    Percent,
    Multiple,
    /// KiB.
    Size,
}

impl Unit {
    /// The name of the unit in the script, and the unit as shown on an axis.
    pub(super) fn names(self) -> [&'static str; 2] {
        match self {
            Self::Milliseconds => ["ms", "log"],
            Self::PerSecond => ["rate", "per s"],
            Self::Bandwidth => ["mib", "MiB/s"],
            Self::Count(noun) => ["count", noun],
            Self::Percent => ["pct", "%"],
            Self::Multiple => ["x", "times unloaded, log"],
            Self::Size => ["kib", "KiB"],
        }
    }

    /// The factor from the unit of the data to that of the axis.
    pub(super) fn factor(self) -> f64 {
        match self {
            Self::Bandwidth => 1.0 / 1024.0,
            _ => 1.0,
        }
    }

    /// Returns the scale of its axis for values from `min_above_zero` to `max`.
    pub(super) fn scale(self, min_above_zero: f64, max: f64) -> Scale {
        match self {
            Self::Milliseconds | Self::Multiple => Scale::log(min_above_zero, max),
            Self::Percent => Scale::percent(max),
            _ => Scale::linear(max),
        }
    }

    /// A round value as a label of the axis.
    pub(super) fn label(self, value: f64) -> String {
        match self {
            Self::Milliseconds => without_zeros(&time(value)),
            Self::Percent => format!("{}%", plain(value)),
            Self::Multiple => format!("{}x", plain(value)),
            _ => plain(value),
        }
    }
}

/// A round number without superfluous digits: `0.5`, `2,000`, `150k`.
fn plain(value: f64) -> String {
    without_zeros(&match value {
        ..0.1 => format!("{value:.6}"),
        _ => number(value),
    })
}

impl Scale {
    /// Returns the distance of a value from the top of a chart of [`HEIGHT`].
    pub(super) fn y(&self, value: f64) -> i32 {
        ((1.0 - self.position(value)) * HEIGHT).round() as i32
    }
}

/// A path that is being drawn: its present end and its text.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    text: String,
    at: Option<(i32, i32)>,
    /// True if the pen is up, so that the next line begins with a move.
    is_interrupted: bool,
}

impl Path {
    /// The path's text; empty if nothing was drawn.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Draws a horizontal line. A vertical line connects it with the previous line, unless that is far away or
    /// [`Self::interrupt`] was called.
    pub(super) fn step(&mut self, x: i32, end: i32, y: i32) {
        match self.at {
            Some((at_x, at_y)) if at_x == x && !self.is_interrupted => self.push('v', y - at_y),
            _ => self.move_to(x, y),
        }
        // A line must be visible, however short its time.
        let end = end.max(x + 1);
        self.push('h', end - x);
        self.at = Some((end, y));
        self.is_interrupted = false;
    }

    /// Ends a line: the next one is not connected with it.
    pub(super) fn interrupt(&mut self) {
        self.is_interrupted = true;
    }

    pub(super) fn bar(&mut self, x: i32, top: i32, bottom: i32) {
        self.move_to(x, top);
        self.push('v', (bottom - top).max(1));
        self.at = Some((x, bottom.max(top + 1)));
    }

    /// Draws a dot, as a line without length with round ends.
    pub(super) fn dot(&mut self, x: i32, y: i32) {
        self.move_to(x, y);
        self.text.push_str("h0");
    }

    pub(super) fn rectangle(&mut self, x: i32, y: i32, width: i32, height: i32) {
        self.move_to(x, y);
        // Writing to a string cannot fail.
        let _ = write!(self.text, "h{width}v{height}h{}z", -width);
    }

    fn move_to(&mut self, x: i32, y: i32) {
        match self.at {
            // Relative numbers are shorter; a minus sign also separates them.
            Some((at_x, at_y)) => {
                let (dx, dy) = (x - at_x, y - at_y);
                let separator = if dy < 0 { "" } else { " " };
                let _ = write!(self.text, "m{dx}{separator}{dy}");
            }
            None => {
                let _ = write!(self.text, "M{x} {y}");
            }
        }
        self.at = Some((x, y));
    }

    fn push(&mut self, command: char, by: i32) {
        if by != 0 {
            let _ = write!(self.text, "{command}{by}");
        }
    }
}

#[cfg(test)]
mod scale_tests {
    use super::*;

    fn labels(scale: Scale, unit: Unit) -> Vec<String> {
        scale
            .ticks(MAX_TICK_INTERVALS, MAX_LOG_TICKS)
            .into_iter()
            .map(|tick| unit.label(tick))
            .collect()
    }

    #[test]
    fn ticks_are_round_and_reach_the_top() {
        assert_eq!(
            labels(Scale::linear(2003.0), Unit::PerSecond),
            ["0", "1,000", "2,000", "3,000"]
        );
        assert_eq!(
            labels(Scale::linear(150_000.0), Unit::PerSecond),
            ["0", "50,000", "100k", "150k"]
        );
        assert_eq!(
            labels(Scale::linear(0.03), Unit::Count("")),
            ["0", "0.01", "0.02", "0.03"]
        );
        assert_eq!(
            labels(Scale::percent(99.9), Unit::Percent),
            ["0%", "20%", "40%", "60%", "80%", "100%"]
        );
        assert_eq!(
            labels(Scale::linear(0.0), Unit::Count("")),
            ["0", "0.2", "0.4", "0.6", "0.8", "1"]
        );
    }

    #[test]
    fn logarithmic_ticks_are_decades_or_finer() {
        let wide = Scale::log(0.03, 21.0);
        assert_eq!(wide, Scale::log(0.02, 50.0));
        assert_eq!(
            labels(wide, Unit::Milliseconds),
            ["100 µs", "1 ms", "10 ms"]
        );
        let narrow = Scale::log(0.9, 1.1);
        assert_eq!(
            labels(narrow, Unit::Milliseconds),
            ["200 µs", "500 µs", "1 ms", "2 ms"]
        );
        assert_eq!(labels(Scale::log(0.0, f64::NAN), Unit::Multiple).len(), 7);
    }

    #[test]
    fn positions_are_between_bottom_and_top() {
        let linear = Scale::linear(10.0);
        assert_eq!(
            (linear.y(0.0), linear.y(10.0), linear.y(5.0)),
            (240, 0, 120)
        );
        let log = Scale::log(0.1, 1000.0);
        assert_eq!(
            (log.y(0.1), log.y(10.0), log.y(0.0), log.y(1e9)),
            (240, 120, 240, 0)
        );
        assert_eq!(linear.y(f64::NAN), 240);
    }

    #[test]
    fn every_positive_range_has_at_least_two_ticks() {
        for exponent in -6..7 {
            for factor in [1.0, 1.7, 3.3, 9.9] {
                let value = factor * 10.0_f64.powf(f64::from(exponent));
                for scale in [
                    Scale::linear(value),
                    Scale::log(value, value * 1.5),
                    Scale::log(value, value * 300.0),
                ] {
                    let ticks = scale.ticks(MAX_TICK_INTERVALS, MAX_LOG_TICKS);
                    assert!((2..=8).contains(&ticks.len()), "{scale:?}: {ticks:?}");
                }
            }
        }
    }
}

#[cfg(test)]
mod path_tests {
    use super::*;

    #[test]
    fn steps_are_connected_unless_there_is_a_gap() {
        let mut path = Path::default();
        path.step(0, 10, 50);
        path.step(10, 20, 40);
        path.step(20, 30, 40);
        path.interrupt();
        path.step(30, 40, 60);
        path.step(80, 90, 20);
        assert_eq!(path.text(), "M0 50h10v-10h10h10m0 20h10m40-40h10");
    }

    #[test]
    fn a_rectangle_is_left_where_it_began() {
        let mut path = Path::default();
        path.rectangle(1, 2, 3, 4);
        path.rectangle(2, 2, 3, 4);
        assert_eq!(path.text(), "M1 2h3v4h-3zm1 0h3v4h-3z");
    }

    #[test]
    fn short_marks_are_still_seen() {
        let mut path = Path::default();
        path.bar(5, 7, 7);
        path.dot(6, 9);
        path.step(7, 7, 9);
        assert_eq!(path.text(), "M5 7v1m1 1h0m1 0h1");
    }
}
