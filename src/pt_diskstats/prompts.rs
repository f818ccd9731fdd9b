//! The prompts that keys open, and the help screen.

use regex_lite::Regex;

use super::engine::PtEngine;
use super::settings::{match_all, parse_pattern};

/// The text that is printed while the program is paused.
pub(super) const PAUSED: &str = "Paused - press any key to continue\n";

/// A prompt for a line of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Prompt {
    /// For a pattern of column names.
    Columns,
    /// For a pattern of device names.
    Devices,
    /// For the seconds that a line covers.
    SampleTime,
}

/// The message about an invalid answer with which pt-diskstats exits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InvalidAnswer(pub String);

impl Prompt {
    /// Returns the text of the prompt.
    pub(super) fn text(self) -> &'static str {
        match self {
            Prompt::Columns => "Enter a column pattern: ",
            Prompt::Devices => "Enter a disk/device pattern: ",
            Prompt::SampleTime => "Enter a new interval between samples in seconds: ",
        }
    }

    /// Applies the answer, which may be empty.
    ///
    /// # Errors
    /// If the answer is not a valid pattern or number.
    pub(super) fn answer(self, line: &str, engine: &mut PtEngine) -> Result<(), InvalidAnswer> {
        let pattern = || parse_pattern(line).map_err(InvalidAnswer);
        match self {
            Prompt::Columns => {
                engine.settings.columns = if line.is_empty() { match_all() } else { pattern()? };
                engine.apply_columns();
            }
            Prompt::Devices => {
                engine.settings.devices = if line.is_empty() { None } else { Some(pattern()?) }
            }
            Prompt::SampleTime => engine.settings.sample_time = parse_sample_time(line)?,
        }
        engine.force_header_on_redraw();
        Ok(())
    }
}

/// Returns a number of seconds, rounded toward zero to a whole number. No text counts as 0, and 0 is invalid.
fn parse_sample_time(line: &str) -> Result<f64, InvalidAnswer> {
    let invalid = |what: &str| InvalidAnswer(format!("Invalid timeout: {what}"));
    let text = line.trim();
    let seconds = if text.is_empty() { 0.0 } else { text.parse::<f64>().map_err(|_| invalid(line))? };
    if !seconds.is_finite() {
        return Err(invalid(line));
    }
    if seconds.trunc() == 0.0 { Err(invalid("0")) } else { Ok(seconds.trunc()) }
}

impl PtEngine {
    /// Returns the text of the help screen.
    pub(super) fn help(&self) -> String {
        let settings = &self.settings;
        let devices = settings.devices.as_ref().map_or("(none)", Regex::as_str);
        let hides_inactive = if settings.show_inactive { "no" } else { "yes" };
        format!(
            "   You can control this program by key presses:
   ------------------- Key ------------------- ---- Current Setting ----
   A, D, S) Set the group-by mode              {}
   c) Enter a Perl regex to match column names {}
   /) Enter a Perl regex to match disk names   {devices}
   z) Set the sample size in seconds           {}
   i) Hide inactive disks                      {hides_inactive}
   p) Pause the program
   q) Quit the program
   space) Print headers
   ------------------- Press any key to continue -----------------------
",
            settings.group_by.key(),
            settings.columns.as_str(),
            settings.sample_time,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_time_is_a_whole_number_other_than_zero() {
        assert_eq!(parse_sample_time("2.9 "), Ok(2.0));
        for (line, what) in [("", "0"), ("0.5", "0"), ("x", "x"), ("inf", "inf")] {
            assert_eq!(parse_sample_time(line), Err(InvalidAnswer(format!("Invalid timeout: {what}"))));
        }
    }
}
