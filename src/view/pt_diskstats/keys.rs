//! The keys of pt-diskstats.

use regex_lite::Regex;

use super::PtEngine;
use crate::report::pt_diskstats::GroupBy;

/// What a key press does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Another way to put readings together.
    GroupBy(GroupBy),
    /// Asks for a line of text.
    Ask(Prompt),
    /// Shows devices without activity, or hides them.
    Inactive,
    /// Stops until another key.
    Pause,
    /// Prints the headers.
    Header,
    /// Shows what the keys do, until another key.
    Help,
    /// Ends.
    Quit,
}

/// What is to be done after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// A file is shown again from its start.
    Redraw,
}

/// What a line of text is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// A pattern of column names.
    Columns,
    /// A pattern of device names.
    Devices,
    /// Seconds that a line covers.
    SampleTime,
}

/// Why an answer was no good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer(pub String);

impl Key {
    /// Does it, and appends what is to be shown at once. What has to be asked, or waited for, was before.
    pub fn act(self, player: &mut PtEngine, out: &mut Vec<u8>) -> Effect {
        match self {
            Key::GroupBy(group_by) if player.is_live() => {
                player.set_group_by_live(group_by, out);
                return Effect::None;
            }
            Key::GroupBy(group_by) => {
                if !player.set_group_by(group_by) {
                    return Effect::None;
                }
            }
            Key::Inactive => {
                player.settings.show_inactive = !player.settings.show_inactive;
                player.force_header();
            }
            Key::Header => {
                player.push_header(out);
                return Effect::None;
            }
            Key::Pause | Key::Help | Key::Ask(_) => player.force_header(),
            Key::Quit => return Effect::None,
        }
        Effect::Redraw
    }

    /// What the key `byte` does; `None` for nothing.
    pub fn pressed(byte: u8) -> Option<Self> {
        Some(match byte {
            b'A' => Key::GroupBy(GroupBy::All),
            b'D' => Key::GroupBy(GroupBy::Disk),
            b'S' => Key::GroupBy(GroupBy::Sample),
            b'c' => Key::Ask(Prompt::Columns),
            b'/' => Key::Ask(Prompt::Devices),
            b'z' => Key::Ask(Prompt::SampleTime),
            b'i' => Key::Inactive,
            b'p' => Key::Pause,
            b' ' | b'\r' | b'\n' => Key::Header,
            b'?' => Key::Help,
            b'q' => Key::Quit,
            _ => return None,
        })
    }
}

/// What is printed while the program is paused.
pub const PAUSED: &str = "Paused - press any key to continue\n";

impl Prompt {
    /// What is asked.
    pub fn text(self) -> &'static str {
        match self {
            Prompt::Columns => "Enter a column pattern: ",
            Prompt::Devices => "Enter a disk/device pattern: ",
            Prompt::SampleTime => "Enter a new interval between samples in seconds: ",
        }
    }

    /// Takes the answer, which may be empty.
    ///
    /// # Errors
    /// An answer that is no pattern or no number; pt-diskstats ends with it.
    pub fn answer(self, line: &str, player: &mut PtEngine) -> Result<(), Answer> {
        let pattern = || Regex::new(line).map_err(|error| Answer(invalid_pattern(line, &error)));
        match self {
            Prompt::Columns => {
                player.settings.columns = if line.is_empty() { every_name() } else { pattern()? };
                player.take_columns();
            }
            Prompt::Devices => {
                player.settings.devices = if line.is_empty() { None } else { Some(pattern()?) }
            }
            Prompt::SampleTime => {
                let seconds = if line.trim().is_empty() { Ok(0.0) } else { line.trim().parse::<f64>() };
                player.settings.sample_time = match seconds {
                    Ok(seconds) if !seconds.is_finite() => {
                        return Err(Answer(format!("Invalid timeout: {line}")));
                    }
                    Ok(seconds) if seconds.trunc() == 0.0 => {
                        return Err(Answer("Invalid timeout: 0".to_owned()));
                    }
                    Ok(seconds) => seconds.trunc(),
                    Err(_) => return Err(Answer(format!("Invalid timeout: {line}"))),
                };
            }
        }
        player.force_header();
        Ok(())
    }
}

/// Every name has a character.
#[allow(clippy::expect_used)] // A dot is a pattern.
fn every_name() -> Regex {
    Regex::new(".").expect("a dot is a pattern")
}

/// What to say of a pattern that cannot be used.
pub fn invalid_pattern(pattern: &str, error: &regex_lite::Error) -> String {
    let is_perls = ["(?=", "(?!", "(?<=", "(?<!", "\\1", "\\2", "\\3", "(?>", "\\K", "\\G"]
        .iter()
        .any(|construct| pattern.contains(construct));
    if is_perls {
        format!(
            "invalid regex specification: '{pattern}' uses a look-around, a back-reference or the like, which blkstat does not match"
        )
    } else {
        format!("invalid regex specification: '{pattern}': {error}")
    }
}

/// The help screen.
pub fn help(player: &PtEngine) -> String {
    let settings = &player.settings;
    let devices = settings.devices.as_ref().map_or("(none)", Regex::as_str);
    let hides = if settings.show_inactive { "no" } else { "yes" };
    format!(
        "   You can control this program by key presses:
   ------------------- Key ------------------- ---- Current Setting ----
   A, D, S) Set the group-by mode              {}
   c) Enter a Perl regex to match column names {}
   /) Enter a Perl regex to match disk names   {devices}
   z) Set the sample size in seconds           {}
   i) Hide inactive disks                      {hides}
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
