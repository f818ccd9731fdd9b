//! The settings that keys can change.

use regex_lite::Regex;

use super::options::{GroupBy, Options};

/// The settings of the report. Keys change them during the run.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    /// The aggregation of readings into lines.
    pub(super) group_by: GroupBy,
    pub(super) columns: Regex,
    /// The devices to print; `None` for all active ones.
    pub(super) devices: Option<Regex>,
    /// Inactive devices are also printed.
    pub(super) show_inactive: bool,
    /// The least number of seconds that a line covers when grouping by sample.
    pub(super) sample_time: f64,
}

impl Settings {
    /// Returns the settings at the start of a run.
    ///
    /// # Errors
    /// A message about a pattern that cannot be used.
    pub(super) fn from_options(options: &Options) -> Result<Self, String> {
        Ok(Self {
            group_by: options.group_by,
            columns: parse_pattern(&options.columns)?,
            devices: options.devices.as_deref().map(parse_pattern).transpose()?,
            show_inactive: options.show_inactive,
            sample_time: options.sample_time as f64,
        })
    }
}

/// Compiles a pattern.
///
/// # Errors
/// A message about a pattern that is invalid or uses a construct of Perl that regex-lite does not support.
pub(super) fn parse_pattern(pattern: &str) -> Result<Regex, String> {
    Regex::new(&with_plain_angle_brackets(pattern))
        .map_err(|error| format!("invalid regex specification: '{pattern}': {error}"))
}

/// Removes the backslashes before angle brackets: `\<` and `\>` are those characters in Perl, and the start and end of a
/// word in `regex-lite`.
fn with_plain_angle_brackets(pattern: &str) -> String {
    let mut plain = String::with_capacity(pattern.len());
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        match (character, characters.clone().next()) {
            ('\\', Some('<' | '>')) => {}
            ('\\', escaped) => {
                plain.push('\\');
                plain.extend(escaped);
                characters.next();
            }
            _ => plain.push(character),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_angle_brackets_are_characters_as_in_perl() {
        let is_match = |pattern: &str, text: &str| parse_pattern(pattern).unwrap().is_match(text);
        assert!(!is_match(r"\<sda\>", "sda") && is_match(r"\<sda\>", "<sda>"));
        assert!(is_match(r"^\\\<a\w$", r"\<ab") && is_match(r"\bsda\b", "sda"));
    }
}
