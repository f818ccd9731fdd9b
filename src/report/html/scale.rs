//! Units of quantities and the axes that they have; paths of SVG.

use std::fmt::Write;

use libm::log10;

use crate::report::scale::{Scale, without_zeros};

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
        if self == Self::Bandwidth { 1.0 / 1024.0 } else { 1.0 }
    }

    /// Returns the scale of its axis for values from `min_above_zero` to `max`.
    pub(super) fn scale(self, min_above_zero: f64, max: f64) -> Scale {
        match self {
            Self::Milliseconds | Self::Multiple => Scale::log(min_above_zero, max),
            Self::Percent => Scale::percent(max),
            Self::PerSecond | Self::Bandwidth | Self::Count(_) | Self::Size => Scale::linear(max),
        }
    }

    /// A round value as a label of the axis.
    pub(super) fn label(self, value: f64) -> String {
        match self {
            Self::Milliseconds if value == 0.0 => "0".to_owned(),
            Self::Milliseconds if value < 0.999 => format!("{} µs", plain(value * 1e3)),
            Self::Milliseconds if value < 999.0 => format!("{} ms", plain(value)),
            Self::Milliseconds => format!("{} s", plain(value / 1e3)),
            Self::Percent => format!("{}%", plain(value)),
            Self::Multiple => format!("{}x", plain(value)),
            Self::PerSecond | Self::Bandwidth | Self::Count(_) | Self::Size => plain(value),
        }
    }
}

/// A round number without superfluous digits: `0.5`, `20`, `2,000`, `150k`, `2M`.
fn plain(value: f64) -> String {
    let (scaled, suffix) = match value {
        ..9_999.5 => (value, ""),
        ..999_500.0 => (value / 1e3, "k"),
        ..999_500_000.0 => (value / 1e6, "M"),
        _ => (value / 1e9, "G"),
    };
    // A multiple of a power of ten has at most this many decimals.
    let decimals = if scaled >= 1.0 || scaled <= 0.0 { 1 } else { (-log10(scaled)).ceil() as usize + 1 };
    let text = without_zeros(&format!("{scaled:.decimals$}"));
    if suffix.is_empty() && text.len() == 4 && !text.contains('.') {
        return format!("{},{}", &text[..1], &text[1..]);
    }
    format!("{text}{suffix}")
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
        scale.ticks(MAX_TICK_INTERVALS, MAX_LOG_TICKS).into_iter().map(|tick| unit.label(tick)).collect()
    }

    #[test]
    fn ticks_are_round_and_reach_the_top() {
        assert_eq!(
            labels(Scale::linear(2003.0), Unit::PerSecond),
            ["0", "1,000", "2,000", "3,000", "4,000", "5,000"]
        );
        assert_eq!(labels(Scale::linear(150_000.0), Unit::PerSecond), ["0", "50k", "100k", "150k", "200k"]);
        assert_eq!(
            labels(Scale::linear(0.03), Unit::Count("")),
            ["0", "0.01", "0.02", "0.03", "0.04", "0.05"]
        );
        assert_eq!(labels(Scale::percent(99.9), Unit::Percent), ["0%", "20%", "40%", "60%", "80%", "100%"]);
        assert_eq!(labels(Scale::linear(0.0), Unit::Count("")), ["0", "0.2", "0.4", "0.6", "0.8", "1"]);
    }

    #[test]
    fn logarithmic_ticks_are_decades_or_finer() {
        let wide = Scale::log(0.03, 21.0);
        assert_eq!(wide, Scale::Log { min: 0.02, max: 50.0 });
        assert_eq!(labels(wide, Unit::Milliseconds), ["100 µs", "1 ms", "10 ms"]);
        let narrow = Scale::log(0.9, 1.1);
        assert_eq!(labels(narrow, Unit::Milliseconds), ["200 µs", "500 µs", "1 ms", "2 ms"]);
        assert_eq!(labels(Scale::log(0.0, f64::NAN), Unit::Multiple).len(), 7);
    }

    #[test]
    fn positions_are_between_bottom_and_top() {
        let linear = Scale::linear(10.0);
        assert_eq!((linear.y(0.0), linear.y(10.0), linear.y(5.0)), (240, 0, 120));
        let log = Scale::log(0.1, 1000.0);
        assert_eq!((log.y(0.1), log.y(10.0), log.y(0.0), log.y(1e9)), (240, 120, 240, 0));
        assert_eq!(linear.y(f64::NAN), 240);
    }

    #[test]
    fn every_positive_range_has_at_least_two_ticks() {
        for exponent in -6..7 {
            for factor in [1.0, 1.7, 3.3, 9.9] {
                let value = factor * libm::pow(10.0, f64::from(exponent));
                for scale in
                    [Scale::linear(value), Scale::log(value, value * 1.5), Scale::log(value, value * 300.0)]
                {
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
