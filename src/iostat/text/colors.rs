//! iostat's colors, which the variables S_COLORS and S_COLORS_SGR set (its manual, section ENVIRONMENT).

/// The reason for the color of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellClass {
    /// 75 percent or more.
    High,
    /// 50 percent or more.
    Medium,
    Item,
    Number,
    /// A number that rounds to zero.
    Zero,
}

/// The SGR parameters of each class of cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Palette {
    high: String,
    medium: String,
    item: String,
    number: String,
    zero: String,
}

impl Default for Palette {
    fn default() -> Self {
        let [high, medium, item, number, zero] =
            ["31;1", "35;1", "32;22", "34;1", "34;22"].map(str::to_owned);
        Self { high, medium, item, number, zero }
    }
}

impl Palette {
    /// Returns the default colors, changed by the entries of S_COLORS_SGR: `K=SGR` for the classes H, M, I, N and Z,
    /// separated by colons. Like iostat, this ignores invalid entries.
    pub fn from_entries(entries: &str) -> Self {
        const MAX_SGR_BYTES: usize = 5;
        let mut palette = Self::default();
        for entry in entries.split(':') {
            let Some((class, sgr)) = entry.split_once('=') else { continue };
            let target = match class {
                "H" => &mut palette.high,
                "M" => &mut palette.medium,
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
            CellClass::High => &self.high,
            CellClass::Medium => &self.medium,
            CellClass::Item => &self.item,
            CellClass::Number => &self.number,
            CellClass::Zero => &self.zero,
        }
    }
}

/// Returns the class of a percentage that is printed with this many decimals.
pub(super) fn class_of_percentage(percentage: f64, decimals: usize) -> CellClass {
    match percentage {
        75.0.. => CellClass::High,
        50.0.. => CellClass::Medium,
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
        let palette = Palette::from_entries("H=4:X=1:n=7:Z=38;5;1:I=1;2:N=:M=a:bad:I=3");
        assert_eq!(palette, Palette { high: "4".into(), item: "3".into(), ..Palette::default() });
    }

    #[test]
    fn percentages_are_classified_before_rounding() {
        assert_eq!(class_of_percentage(75.0, 2), CellClass::High);
        assert_eq!(class_of_percentage(74.996, 2), CellClass::Medium);
        assert_eq!(class_of_percentage(49.9, 2), CellClass::Number);
        assert_eq!(class_of_percentage(0.04, 1), CellClass::Zero);
    }

    #[test]
    fn a_number_that_rounds_to_zero_is_in_the_class_zero() {
        assert_eq!((class_of(0.0049, 2), class_of(0.005, 2)), (CellClass::Zero, CellClass::Number));
        assert_eq!((class_of(0.5, 0), class_of(0.51, 0)), (CellClass::Zero, CellClass::Number));
    }
}
