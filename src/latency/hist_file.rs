//! Parses `hist` files of tracefs (Documentation/trace/histogram.rst of the kernel): a section for each trigger, with a
//! line for each entry and totals at the end.

use std::ops::RangeInclusive;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct HistSection<'a> {
    /// The entries, in the order of the file.
    pub entries: Vec<HistEntry<'a>>,
    /// The number of events that are not counted, because the map was full.
    pub dropped: u64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HistEntry<'a> {
    /// The text between the braces: names of keys with their values.
    keys: &'a str,
    /// The text after the braces: names of values with the values.
    values: &'a str,
}

/// Returns the sections of a `hist` file. Lines of another kind are skipped.
pub(super) fn parse_hist(text: &str) -> Vec<HistSection<'_>> {
    let mut sections: Vec<HistSection<'_>> = Vec::new();
    for line in text.lines() {
        if line.starts_with("# trigger info: ") {
            sections.push(HistSection::default());
            continue;
        }
        let Some(section) = sections.last_mut() else {
            continue;
        };
        let entry = line
            .strip_prefix("{ ")
            .and_then(|rest| rest.split_once(" } "));
        if let Some((keys, values)) = entry {
            section.entries.push(HistEntry { keys, values });
        } else if let Some(value) = line.trim().strip_prefix("Dropped: ") {
            section.dropped = value.trim().parse().unwrap_or(0);
        }
    }
    sections
}

impl<'a> HistEntry<'a> {
    /// Returns the value of a key; `None` if there is no such key.
    pub(super) fn key(&self, name: &str) -> Option<&'a str> {
        for key in self.keys.split(", ") {
            if let Some((found, value)) = key.split_once(": ")
                && found == name
            {
                return Some(value.trim());
            }
        }
        None
    }

    /// Returns a value, such as `hitcount`; `None` if there is no such value.
    pub(super) fn value(&self, name: &str) -> Option<u64> {
        let mut words = self.values.split_whitespace();
        words.find(|word| word.strip_suffix(':') == Some(name))?;
        words.next()?.parse().ok()
    }
}

/// Returns the range of numbers that a key stands for: `~ 70000-70199` with `.buckets`; `~ 2^17` with `.log2`, which
/// means the numbers above the previous power up to this one; or a single number. `None` for any other text.
pub(super) fn key_range(key: &str) -> Option<RangeInclusive<u64>> {
    let key = key.trim_start_matches('~').trim();
    if let Some(exponent) = key.strip_prefix("2^") {
        let exponent: u32 = exponent.parse().ok()?;
        let upper = 1_u64.checked_shl(exponent)?;
        return Some(if exponent == 0 {
            0..=1
        } else {
            upper / 2 + 1..=upper
        });
    }
    if let Some((lower, upper)) = key.split_once('-') {
        return Some(lower.trim().parse().ok()?..=upper.trim().parse().ok()?);
    }
    let number = key.parse().ok()?;
    Some(number..=number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The last two of four histograms that Linux 6.12.117 printed for the trigger of `tracefs`.
    const LATENCIES: &str = include_str!("../../fixtures/tracefs/latency.hist");

    #[test]
    fn latencies_lie_within_their_buckets() {
        let sections = parse_hist(LATENCIES);
        let count = |section: &HistSection<'_>| -> u64 {
            section
                .entries
                .iter()
                .map(|entry| entry.value("hitcount").unwrap())
                .sum()
        };
        assert_eq!(sections.iter().map(count).collect::<Vec<_>>(), [5, 0]);
        for entry in sections.iter().flat_map(|section| &section.entries) {
            let range = key_range(entry.key("lat").unwrap()).unwrap();
            let mean = entry.value("lat").unwrap() / entry.value("hitcount").unwrap();
            assert!(range.contains(&mean), "{entry:?}");
            assert!(matches!(entry.key("rwbs"), Some("R" | "WS")), "{entry:?}");
            assert!(entry.key("dev").unwrap().parse::<u32>().is_ok());
        }
    }

    #[test]
    fn a_line_of_another_form_is_no_entry() {
        let line = "{ dev:    8388608, error: 18446744073709551611 } hitcount:          3";
        let text = format!(
            "# trigger info: hist:keys=x [active]\n{line}\n{{ broken\nTotals:\n    Hits: 3\n    Dropped: 7\n"
        );
        let sections = parse_hist(&text);
        let entry = &sections[0].entries[0];
        assert_eq!((sections[0].entries.len(), sections[0].dropped), (1, 7));
        assert_eq!(entry.key("dev"), Some("8388608"));
        assert_eq!(
            (entry.key("error"), entry.key("none")),
            (Some("18446744073709551611"), None)
        );
        assert_eq!(
            (entry.value("hitcount"), entry.value("none")),
            (Some(3), None)
        );
    }

    #[test]
    fn a_key_is_a_range_of_numbers() {
        let ranges = ["~ 70000-70199", "~ 2^17", "~ 2^0", "42"].map(key_range);
        assert_eq!(
            ranges,
            [
                Some(70_000..=70_199),
                Some(65_537..=131_072),
                Some(0..=1),
                Some(42..=42)
            ]
        );
        assert_eq!(
            ["", "~ 2^64", "x-y", "1-"].map(key_range),
            [None, None, None, None]
        );
    }
}
