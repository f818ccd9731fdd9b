//! Sparklines: a row of characters for values over time.

/// The characters from low to high.
pub(crate) const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Point {
    /// A value above zero; infinite if it is higher than any other.
    Value(f64),
    Nothing,
    /// Nothing is known.
    Gap,
}

/// Draws points on a logarithmic scale from `low` to `high`. [`Point::Nothing`] is a blank, a gap is `~`, an infinite
/// value is `!`.
pub(crate) fn sparkline(points: &[Point], (low, high): (f64, f64)) -> String {
    let top = BLOCKS.len() - 1;
    let span = (high / low).ln();
    let mut line = String::new();
    for point in points {
        line.push(match *point {
            Point::Gap => '~',
            Point::Nothing => ' ',
            Point::Value(value) if value.is_infinite() => '!',
            Point::Value(value) => {
                let level = (value / low).max(1.0).ln() / span * top as f64;
                BLOCKS[(level.round() as usize).min(top)]
            }
        });
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use Point::{Gap, Nothing, Value};

    #[test]
    fn values_are_drawn_by_their_order_of_magnitude() {
        let points = [
            Value(1.0),
            Value(10.0),
            Value(100.0),
            Nothing,
            Gap,
            Value(f64::INFINITY),
        ];
        assert_eq!(sparkline(&points, (1.0, 100.0)), "▁▅█ ~!");
        assert_eq!(sparkline(&[Value(90.0), Value(100.0)], (1.0, 100.0)), "██");
    }
}
