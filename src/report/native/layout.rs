//! The layout and colors of the table.

use crate::analysis::{DEFAULT_SATURATION_THRESHOLD, MIN_QUEUEING_SATURATION};
use crate::report::layout::UNLIMITED_WIDTH;

/// The minimum width of the device column.
pub(super) const MIN_NAME_WIDTH: usize = 10;
/// The maximum width of mount points on lines of limited width.
const MAX_MOUNTS_WIDTH: usize = 24;

pub struct TableOptions {
    /// The width of a line; `None` for the width of the terminal, or no limit without a terminal.
    pub width: Option<usize>,
    /// Show all columns, however wide.
    pub all_columns: bool,
    pub mounts: bool,
    /// Show the evidence for each verdict.
    pub explain: bool,
    /// Show the cgroups and blocked tasks of devices that are not ok.
    pub who: bool,
    /// Use colors on a terminal.
    pub colors: bool,
    /// Latency, as a multiple of unloaded latency, from which it is colored as an alert.
    pub saturation_threshold: f64,
}

impl Default for TableOptions {
    fn default() -> Self {
        Self {
            width: None,
            all_columns: false,
            mounts: false,
            explain: false,
            who: false,
            colors: false,
            saturation_threshold: DEFAULT_SATURATION_THRESHOLD,
        }
    }
}

/// Returns the maximum width of names on lines of `width` columns.
pub(super) fn max_name_width(width: usize) -> usize {
    (width / 5).max(MIN_NAME_WIDTH).min(width)
}

/// Returns the maximum width of mount points on lines of `width` columns.
pub(super) fn max_mounts_width(width: usize) -> usize {
    if width < UNLIMITED_WIDTH { MAX_MOUNTS_WIDTH } else { width }
}

impl TableOptions {
    /// Returns the width of the table, given that of the screen.
    pub(super) fn fitted_width(&self, screen: Option<usize>) -> usize {
        self.width.or(screen).filter(|_| !self.all_columns).unwrap_or(UNLIMITED_WIDTH)
    }
}

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
pub(super) fn paint(text: &str, emphasis: Emphasis, has_colors: bool, out: &mut Vec<u8>) {
    let begin = out.len();
    out.extend_from_slice(text.as_bytes());
    if has_colors {
        paint_from(begin, emphasis, out);
    }
}

/// Gives the text from `begin` on the color of its emphasis.
pub(super) fn paint_from(begin: usize, emphasis: Emphasis, out: &mut Vec<u8>) {
    let sgr = match emphasis {
        Emphasis::Plain => return,
        Emphasis::Bold => "\x1b[1m",
        Emphasis::Dim => "\x1b[2m",
        Emphasis::Alert => "\x1b[1;31m",
        Emphasis::Warning => "\x1b[33m",
    };
    if out.len() > begin {
        out.splice(begin..begin, sgr.bytes());
        out.extend_from_slice(b"\x1b[0m");
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
