//! iostat's colours, as the variables S_COLORS and S_COLORS_SGR set them (the manual of iostat, ENVIRONMENT).

/// What a cell is coloured for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A share of 75 percent and more.
    High,
    /// A share of 50 percent and more.
    Medium,
    /// The name of a device.
    Item,
    /// Any other number.
    Number,
    /// A number that is printed as zero.
    Zero,
}

/// The SGR parameters for each class of cell.
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
    /// The default colours, changed by the entries of S_COLORS_SGR: `K=SGR` of the classes H, M, I, N and Z,
    /// parted by colons. iostat passes over an entry that it does not understand.
    pub fn with(entries: &str) -> Self {
        const LONGEST: usize = 5;
        let mut palette = Self::default();
        for entry in entries.split(':') {
            let Some((class, sgr)) = entry.split_once('=') else { continue };
            let place = match class {
                "H" => &mut palette.high,
                "M" => &mut palette.medium,
                "I" => &mut palette.item,
                "N" => &mut palette.number,
                "Z" => &mut palette.zero,
                _ => continue,
            };
            let is_sgr = sgr.bytes().all(|byte| byte.is_ascii_digit() || byte == b';');
            if is_sgr && (1..=LONGEST).contains(&sgr.len()) {
                sgr.clone_into(place);
            }
        }
        palette
    }

    /// The parameters for a class.
    pub(super) fn sgr(&self, class: Class) -> &str {
        match class {
            Class::High => &self.high,
            Class::Medium => &self.medium,
            Class::Item => &self.item,
            Class::Number => &self.number,
            Class::Zero => &self.zero,
        }
    }
}

/// The class of a share in percent, printed with so many decimals.
pub(super) fn class_of_share(share: f64, decimals: usize) -> Class {
    match share {
        75.0.. => Class::High,
        50.0.. => Class::Medium,
        _ => class_of(share, decimals),
    }
}

/// The class of a number that is printed with so many decimals: zero where none of its digits is seen.
pub(super) fn class_of(value: f64, decimals: usize) -> Class {
    let is_zero = match decimals {
        0 => value <= 0.5,
        1 => value < 0.05,
        _ => value < 0.005,
    };
    if is_zero { Class::Zero } else { Class::Number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_are_understood_change_the_palette() {
        let palette = Palette::with("H=4:X=1:n=7:Z=38;5;1:I=1;2:N=:M=a:bad:I=3");
        assert_eq!(palette, Palette { high: "4".into(), item: "3".into(), ..Palette::default() });
    }

    #[test]
    fn shares_are_judged_before_they_are_rounded() {
        assert_eq!(class_of_share(75.0, 2), Class::High);
        assert_eq!(class_of_share(74.996, 2), Class::Medium);
        assert_eq!(class_of_share(49.9, 2), Class::Number);
        assert_eq!(class_of_share(0.04, 1), Class::Zero);
    }

    #[test]
    fn zero_is_what_is_printed_as_zero() {
        assert_eq!((class_of(0.0049, 2), class_of(0.005, 2)), (Class::Zero, Class::Number));
        assert_eq!((class_of(0.5, 0), class_of(0.51, 0)), (Class::Zero, Class::Number));
    }
}
