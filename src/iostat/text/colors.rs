//! iostat's colors, which the variables S_COLORS and S_COLORS_SGR set (its manual, section ENVIRONMENT).

/// The reason for the color of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellClass {
    /// A percentage that is an alarm.
    Alarm,
    /// A percentage that is a warning.
    Warning,
    Item,
    Number,
    /// A number that rounds to zero.
    Zero,
}

/// The SGR parameters of each class of cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Palette {
    alarm: String,
    warning: String,
    item: String,
    number: String,
    zero: String,
}

impl Default for Palette {
    fn default() -> Self {
        let [alarm, warning, item, number, zero] =
            ["31;1", "35;1", "32;22", "34;1", "34;22"].map(str::to_owned);
        Self { alarm, warning, item, number, zero }
    }
}

impl Palette {
    /// Returns the default colors, changed by the entries of S_COLORS_SGR: `K=SGR` for the classes X, W, I, N and Z,
    /// separated by colons. H is also X, and M is W. Like iostat, this ignores invalid entries.
    pub fn from_entries(entries: &str) -> Self {
        const MAX_SGR_BYTES: usize = 5;
        let mut palette = Self::default();
        for entry in entries.split(':') {
            let Some((class, sgr)) = entry.split_once('=') else { continue };
            let target = match class {
                "X" | "H" => &mut palette.alarm,
                "W" | "M" => &mut palette.warning,
                "I" => &mut palette.item,
                "N" => &mut palette.number,
                "Z" => &mut palette.zero,
                _ => continue,
            };
            let is_sgr = sgr.bytes().all(|byte| byte.is_ascii_digit() || byte == b';');
            if is_sgr && (1..=MAX_SGR_BYTES).contains(&sgr.len()) {
                sgr.clone_into(target);
            }
        }
        palette
    }

    /// Returns the SGR parameters of a class.
    pub(super) fn sgr(&self, class: CellClass) -> &str {
        match class {
            CellClass::Alarm => &self.alarm,
            CellClass::Warning => &self.warning,
            CellClass::Item => &self.item,
            CellClass::Number => &self.number,
            CellClass::Zero => &self.zero,
        }
    }
}

/// The percentages that are an alarm, as of sysstat 12.7.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    /// 90 percent or more; from 75 percent on, it is a warning.
    High,
    /// 10 percent or less; up to 25 percent, it is a warning.
    Low,
    /// As before, except zero.
    LowButNotZero,
}

/// Returns the class of a percentage that is printed with this many decimals.
pub(super) fn class_of_percentage(alarm: Alarm, percentage: f64, decimals: usize) -> CellClass {
    // iostat applies the limit of two decimals here if there are none.
    let is_zero = percentage < if decimals == 1 { 0.05 } else { 0.005 };
    match (alarm, percentage) {
        (Alarm::High, 90.0..) => CellClass::Alarm,
        (Alarm::High, 75.0..) => CellClass::Warning,
        (Alarm::LowButNotZero, _) if is_zero => CellClass::Zero,
        (Alarm::Low | Alarm::LowButNotZero, ..=10.0) => CellClass::Alarm,
        (Alarm::Low | Alarm::LowButNotZero, ..=25.0) => CellClass::Warning,
        _ => class_of(percentage, decimals),
    }
}

/// Returns the class of a number that is printed with this many decimals: zero if all its visible digits are.
pub(super) fn class_of(value: f64, decimals: usize) -> CellClass {
    let is_zero = match decimals {
        0 => value <= 0.5,
        1 => value < 0.05,
        _ => value < 0.005,
    };
    if is_zero { CellClass::Zero } else { CellClass::Number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_entries_change_the_palette() {
        let palette = Palette::from_entries("H=4:Q=1:n=7:Z=38;5;1:I=1;2:N=:W=a:bad:I=3");
        assert_eq!(palette, Palette { alarm: "4".into(), item: "3".into(), ..Palette::default() });
    }

    #[test]
    fn percentages_are_classified_before_rounding() {
        use CellClass::{Number, Warning, Zero};
        const ALARM: CellClass = CellClass::Alarm;
        for (alarm, percentage, decimals, expected) in [
            (Alarm::High, 90.0, 2, ALARM),
            (Alarm::High, 89.996, 2, Warning),
            (Alarm::High, 75.0, 2, Warning),
            (Alarm::High, 74.996, 2, Number),
            (Alarm::High, 0.04, 1, Zero),
            (Alarm::Low, 25.01, 2, Number),
            (Alarm::Low, 25.0, 2, Warning),
            (Alarm::Low, 10.01, 0, Warning),
            (Alarm::Low, 10.0, 2, ALARM),
            (Alarm::Low, 0.0, 2, ALARM),
            (Alarm::LowButNotZero, 10.0, 2, ALARM),
            (Alarm::LowButNotZero, 0.01, 2, ALARM),
            (Alarm::LowButNotZero, 0.01, 0, ALARM),
            (Alarm::LowButNotZero, 0.01, 1, Zero),
            (Alarm::LowButNotZero, 0.0, 0, Zero),
        ] {
            let class = class_of_percentage(alarm, percentage, decimals);
            assert_eq!(class, expected, "{alarm:?} {percentage} {decimals}");
        }
    }

    #[test]
    fn a_number_that_rounds_to_zero_is_in_the_class_zero() {
        assert_eq!((class_of(0.0049, 2), class_of(0.005, 2)), (CellClass::Zero, CellClass::Number));
        assert_eq!((class_of(0.5, 0), class_of(0.51, 0)), (CellClass::Zero, CellClass::Number));
    }
}
