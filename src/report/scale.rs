//! Axes of quantities: from a value to its height in a chart, and the round values that are labeled.

use crate::intervals::series::Extent;

/// The axis from one value to another: linear from 0, logarithmic from a value above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    min: f64,
    pub(crate) max: f64,
}

impl Scale {
    /// The axis from 0 for values up to `max`, with a round value at the top.
    pub(crate) fn linear(max: f64) -> Self {
        Self {
            min: 0.0,
            max: if max > 0.0 && max.is_finite() {
                round_up(max, &LINEAR_TOPS)
            } else {
                1.0
            },
        }
    }

    /// The axis of percentages: to 100, or further if a value is above.
    pub(crate) fn percent(max: f64) -> Self {
        Self {
            min: 0.0,
            max: if max <= 100.5 {
                100.0
            } else {
                round_up(max, &LINEAR_TOPS)
            },
        }
    }

    /// The logarithmic axis for positive values from `min` to `max`, with round values at both ends.
    pub(crate) fn log(min: f64, max: f64) -> Self {
        let is_valid = min > 0.0 && max >= min && max.is_finite();
        let (mut min, mut max) = match is_valid {
            true => (round_down(min), round_up(max, &LOG_TOPS)),
            false => (0.1, 10.0),
        };
        // On a range of less than a factor of ten, small differences would look large.
        if max / min < 9.99 {
            min = round_down(min / 2.0);
            max = round_up(min * 10.0, &LOG_TOPS);
        }
        Self { min, max }
    }

    /// Returns the position of a value from 0 at the bottom to 1 at the top; values outside are at the ends.
    pub(crate) fn position(&self, value: f64) -> f64 {
        let Self { min, max } = *self;
        let position = if min > 0.0 {
            (value.max(min) / min).log10() / (max / min).log10()
        } else {
            value / max
        };
        if position.is_finite() {
            position.clamp(0.0, 1.0)
        } else {
            0.0
        }
    }

    /// The values to label, the lowest first: multiples of 1, 2 or 5 times a power of ten. There are at most
    /// `max_intervals` between them on a linear axis, and at most `max_log_ticks` of them on a logarithmic one.
    pub(crate) fn ticks(&self, max_intervals: usize, max_log_ticks: usize) -> Vec<f64> {
        let Self { min, max } = *self;
        if min <= 0.0 {
            let step = self.linear_step(max_intervals);
            let count = (max / step + 1e-6).floor() as u32;
            return (0..=count).map(|n| f64::from(n) * step).collect();
        }
        let factors: &[f64] = if max / min > 300.0 {
            &[1.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        let mut ticks = Vec::new();
        for decade in floor_log10(min)..=floor_log10(max * 1.000_001) {
            for factor in factors {
                let tick = factor * pow10(decade);
                if (min * 0.999..=max * 1.001).contains(&tick) {
                    ticks.push(tick);
                }
            }
        }
        let every = ticks.len().div_ceil(max_log_ticks);
        ticks.into_iter().step_by(every.max(1)).collect()
    }

    /// Returns the distance of ticks from 0 to the top, which has a label in any case.
    fn linear_step(&self, max_intervals: usize) -> f64 {
        let decade = pow10(floor_log10(self.max / max_intervals as f64));
        for factor in [1.0, 2.0, 5.0] {
            if self.max / (factor * decade) <= max_intervals as f64 {
                return self.max.min(factor * decade);
            }
        }
        self.max.min(10.0 * decade)
    }
}

/// A value this many times above nearly all others is a burst; the axis leaves this room above them.
const MAX_BURST_RATIO: f64 = 3.0;
const CUT_ROOM: f64 = 1.2;
/// The fraction of the values that are not bursts.
const USUAL_FRACTION: f64 = 0.95;

/// The values above zero of the lines of a chart.
pub(crate) struct ValueRange {
    /// Infinite without values.
    pub(crate) min: f64,
    pub(crate) max: f64,
    /// The largest value but for short bursts.
    pub(crate) usual: f64,
}

impl ValueRange {
    pub(crate) fn new() -> Self {
        Self {
            min: f64::INFINITY,
            max: 0.0,
            usual: 0.0,
        }
    }

    /// Adds the values of a line, each multiplied by a factor.
    pub(crate) fn add(&mut self, values: impl IntoIterator<Item = Extent>, factor: f64) {
        let mut maxima = Vec::new();
        for extent in values {
            let [min, max] = [extent.min(), extent.max()].map(|end| end.unwrap_or(0.0) * factor);
            if min > 0.0 {
                self.min = self.min.min(min);
            }
            if max > 0.0 {
                self.max = self.max.max(max);
                maxima.push(max);
            }
        }
        self.usual = self.usual.max(usual_max(&mut maxima));
    }
}

/// Sorts values above zero, and returns the one that nearly all of them do not exceed; 0 without any.
fn usual_max(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * USUAL_FRACTION).ceil() as usize;
    at.checked_sub(1).map_or(0.0, |at| values[at])
}

/// The top of a linear axis on which a short burst up to `max` does not hide how all other values change, which are `usual` at
/// most; `None` if `max` is no burst.
pub(crate) fn top_below_burst(max: f64, usual: f64) -> Option<f64> {
    (usual > 0.0 && max > MAX_BURST_RATIO * usual).then_some(usual * CUT_ROOM)
}

/// Returns a number without the zeros after its decimal point: `10ms` for `10.0ms`.
pub(crate) fn without_zeros(text: &str) -> String {
    let unit = text.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let number = &text[..text.len() - unit.len()];
    if !number.contains('.') {
        return text.to_owned();
    }
    let short = number.trim_end_matches('0').trim_end_matches('.');
    format!("{short}{unit}")
}

fn pow10(exponent: i32) -> f64 {
    10.0_f64.powf(f64::from(exponent))
}

/// The largest power of ten that is not above a value, as an exponent.
fn floor_log10(value: f64) -> i32 {
    (value.log10() + 1e-9).floor().clamp(-30.0, 30.0) as i32
}

/// The ends of axes, divided by a power of ten: a linear one has little space above the largest value.
const LINEAR_TOPS: [f64; 9] = [1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
const LOG_TOPS: [f64; 4] = [1.0, 2.0, 5.0, 10.0];

/// The next value of these times a power of ten, or that value itself.
fn round_up(value: f64, factors: &[f64]) -> f64 {
    let decade = pow10(floor_log10(value));
    let mut factors = factors.iter();
    let factor = factors.find(|factor| **factor * decade >= value * 0.999_999);
    factor.unwrap_or(&10.0) * decade
}

fn round_down(value: f64) -> f64 {
    let decade = pow10(floor_log10(value));
    let factor = [5.0, 2.0, 1.0]
        .into_iter()
        .find(|factor| factor * decade <= value * 1.000_001);
    factor.unwrap_or(1.0) * decade
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_does_not_stretch_an_axis() {
        let mut values = vec![10.0; 40];
        values.push(500.0);
        let usual = usual_max(&mut values);
        assert_eq!(top_below_burst(500.0, usual), Some(12.0));
        assert_eq!(top_below_burst(30.0, usual), None);
        // What lasts is no burst.
        values.extend([500.0; 3]);
        assert_eq!(usual_max(&mut values), 500.0);
        assert_eq!(usual_max(&mut []), 0.0);
    }

    #[test]
    fn the_top_of_a_linear_axis_is_near_and_labeled() {
        for (max, intervals, ticks) in [
            (28.3, 1, vec![0.0, 30.0]),
            (3000.0, 1, vec![0.0, 3000.0]),
            (3000.0, 5, vec![0.0, 1000.0, 2000.0, 3000.0]),
        ] {
            assert_eq!(Scale::linear(max).ticks(intervals, 8), ticks, "{max}");
        }
    }

    #[test]
    fn labels_have_no_needless_zeros() {
        assert_eq!(
            ["10.0ms", "0", "2.50", "100%"].map(without_zeros),
            ["10ms", "0", "2.5", "100%"]
        );
    }
}
