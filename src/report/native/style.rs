//! Colors of the table.

use crate::analysis::MIN_QUEUEING_SATURATION;

/// Percentage of the time with some task waiting for I/O from which pressure is colored as a warning.
const MIN_SOME_PRESSURE_PCT: f64 = 10.0;
/// Percentage of the time with all tasks waiting for I/O, so that nothing else was done, from which pressure is colored
/// as an alert.
const MIN_FULL_PRESSURE_PCT: f64 = 10.0;

/// The emphasis of a text on a terminal with colors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Emphasis {
    Plain,
    Bold,
    Dim,
    Alert,
    Warning,
}

impl Emphasis {
    /// The emphasis of a latency, by its multiple of unloaded latency: plain if that is not known.
    pub(super) fn of_saturation(saturation: Option<f64>, threshold: f64) -> Self {
        match saturation {
            Some(saturation) if saturation >= threshold => Self::Alert,
            Some(saturation) if saturation >= MIN_QUEUEING_SATURATION => Self::Warning,
            _ => Self::Plain,
        }
    }

    /// The emphasis of I/O pressure, from its percentages for some tasks and for all.
    pub(super) fn of_pressure(some_pct: f64, full_pct: f64) -> Self {
        if full_pct >= MIN_FULL_PRESSURE_PCT {
            Self::Alert
        } else if some_pct >= MIN_SOME_PRESSURE_PCT {
            Self::Warning
        } else {
            Self::Plain
        }
    }
}

/// Appends a text, in the color of its emphasis if there are colors.
pub(super) fn paint(text: impl AsRef<[u8]>, emphasis: Emphasis, has_colors: bool, out: &mut Vec<u8>) {
    let sgr = match emphasis {
        Emphasis::Plain => "",
        Emphasis::Bold => "1",
        Emphasis::Dim => "2",
        Emphasis::Alert => "1;31",
        Emphasis::Warning => "33",
    };
    let text = text.as_ref();
    if sgr.is_empty() || text.is_empty() || !has_colors {
        out.extend_from_slice(text);
    } else {
        [b"\x1b[", sgr.as_bytes(), b"m", text, b"\x1b[0m"]
            .into_iter()
            .for_each(|part| out.extend_from_slice(part));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latency_is_colored_by_saturation_and_pressure_by_level() {
        let latency =
            [None, Some(1.4), Some(1.5), Some(3.9), Some(4.0)].map(|s| Emphasis::of_saturation(s, 4.0));
        use Emphasis::{Alert, Plain, Warning};
        assert_eq!(latency, [Plain, Plain, Warning, Warning, Alert]);
        let pressure =
            [(9.9, 0.0), (10.0, 9.9), (10.0, 10.0)].map(|(some, full)| Emphasis::of_pressure(some, full));
        assert_eq!(pressure, [Plain, Warning, Alert]);
    }
}
