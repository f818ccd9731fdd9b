//! Axes of quantities: from a value to its height in a chart, and the round values that are labeled.

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
                round_up(max)
            } else {
                1.0
            },
        }
    }

    /// The axis of percentages: to 100, or further if a value is above.
    pub(crate) fn percent(max: f64) -> Self {
        Self {
            min: 0.0,
            max: if max <= 100.5 { 100.0 } else { round_up(max) },
        }
    }

    /// The logarithmic axis for positive values from `min` to `max`, with round values at both ends.
    pub(crate) fn log(min: f64, max: f64) -> Self {
        let is_valid = min > 0.0 && max >= min && max.is_finite();
        let (mut min, mut max) = match is_valid {
            true => (round_down(min), round_up(max)),
            false => (0.1, 10.0),
        };
        // On a range of less than a factor of ten, small differences would look large.
        if max / min < 9.99 {
            min = round_down(min / 2.0);
            max = round_up(min * 10.0);
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
            let decade = pow10(floor_log10(max / max_intervals as f64));
            let steps = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * decade);
            let fits = |step: &f64| max / step <= max_intervals as f64;
            let step = steps.into_iter().find(fits).unwrap_or(steps[3]);
            return (0..=(max / step + 1e-6).floor() as u32)
                .map(|n| f64::from(n) * step)
                .collect();
        }
        let decades = (floor_log10(min)..=floor_log10(max * 1.000_001)).map(pow10);
        let factors: &[f64] = if max / min > 300.0 {
            &[1.0]
        } else {
            &[1.0, 2.0, 5.0]
        };
        let ticks = decades.flat_map(|decade| factors.iter().map(move |factor| factor * decade));
        let is_inside = |tick: &f64| (min * 0.999..=max * 1.001).contains(tick);
        let ticks: Vec<f64> = ticks.filter(is_inside).collect();
        let every = ticks.len().div_ceil(max_log_ticks);
        ticks.into_iter().step_by(every.max(1)).collect()
    }
}

/// Returns a number without the zeros after its decimal point: `10ms` for `10.0ms`.
pub(crate) fn without_zeros(text: &str) -> String {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let (number, unit) = text.split_at(text.find(|c| !is_number(c)).unwrap_or(text.len()));
    let number = if number.contains('.') {
        number.trim_end_matches('0').trim_end_matches('.')
    } else {
        number
    };
    [number, unit].concat()
}

fn pow10(exponent: i32) -> f64 {
    10.0_f64.powf(f64::from(exponent))
}

/// The largest power of ten that is not above a value, as an exponent.
fn floor_log10(value: f64) -> i32 {
    (value.log10() + 1e-9).floor().clamp(-30.0, 30.0) as i32
}

/// The next value of 1, 2 or 5 times a power of ten, or that value itself.
fn round_up(value: f64) -> f64 {
    let decade = pow10(floor_log10(value));
    let factor = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .find(|factor| factor * decade >= value * 0.999_999);
    factor.unwrap_or(10.0) * decade
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
    fn labels_have_no_needless_zeros() {
        assert_eq!(
            ["10.0ms", "0", "2.50", "100%"].map(without_zeros),
            ["10ms", "0", "2.5", "100%"]
        );
    }
}
