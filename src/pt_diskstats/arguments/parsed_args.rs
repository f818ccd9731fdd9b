//! The options and operands of pt-diskstats as typed, and their combination.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use super::super::options::{GroupBy, Options};
use super::messages::{help, missing_value, usage_error, version};
use crate::console::ArgError;
use crate::exit::Exit;

/// The value that an option takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OptionValue {
    None,
    Text,
    Number,
}

const OPTIONS: [(&str, OptionValue); 16] = [
    ("columns-regex", OptionValue::Text),
    ("devices-regex", OptionValue::Text),
    ("group-by", OptionValue::Text),
    ("headers", OptionValue::Text),
    ("help", OptionValue::None),
    ("interval", OptionValue::Number),
    ("iterations", OptionValue::Number),
    ("no-version-check", OptionValue::None),
    ("noversion-check", OptionValue::None),
    ("root", OptionValue::Text),
    ("sample-time", OptionValue::Number),
    ("save-samples", OptionValue::Text),
    ("show-inactive", OptionValue::None),
    ("show-timestamps", OptionValue::None),
    ("version", OptionValue::None),
    ("version-check", OptionValue::None),
];

/// The names of [`OPTIONS`] that are spellings of one option, so that an abbreviation may stand for both.
const NO_VERSION_CHECK: [&str; 2] = ["no-version-check", "noversion-check"];

/// Options and operands.
#[derive(Default)]
pub(super) struct ParsedArgs {
    /// Names and values, in order; the last one of a name wins.
    options: Vec<(&'static str, String)>,
    operands: Vec<String>,
    /// The first error in the arguments.
    error: Option<ArgError>,
}

impl ParsedArgs {
    /// Adds arguments. After an unknown option or an invalid value goes on with the next argument, because a request for
    /// help or the version wins over errors.
    pub(super) fn add(&mut self, mut arguments: VecDeque<String>) {
        while let Some(argument) = arguments.pop_front() {
            if argument == "--" {
                self.operands.extend(arguments.drain(..));
            } else if let Some(option) = argument.strip_prefix("--") {
                if let Err(error) = self.add_option(option, &mut arguments) {
                    self.error.get_or_insert(error);
                }
            } else if argument.len() > 1 && argument.starts_with('-') {
                self.error.get_or_insert_with(|| usage_error(&format!("Unknown option: {}", &argument[1..])));
            } else {
                self.operands.push(argument);
            }
        }
    }

    /// Adds an option, given without its dashes; its value may be the next argument.
    ///
    /// # Errors
    /// The usage after an unknown option or an invalid value.
    fn add_option(&mut self, option: &str, arguments: &mut VecDeque<String>) -> Result<(), ArgError> {
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };
        let unknown = || usage_error(&format!("Unknown option: {name}"));
        let (name, takes) = find_option(name).ok_or_else(unknown)?;
        let value = match (takes, value) {
            (OptionValue::None, Some(_)) => {
                return Err(usage_error(&format!("Option {name} does not take an argument")));
            }
            (OptionValue::None, None) => String::new(),
            (_, Some(value)) => value,
            (_, None) => arguments.pop_front().ok_or_else(|| missing_value(name))?,
        };
        if takes != OptionValue::None && option.ends_with('=') {
            return Err(missing_value(name));
        }
        if takes == OptionValue::Number && parse_integer(&value).is_none() {
            return Err(usage_error(&format!(
                "Value \"{value}\" invalid for option {name} (number expected)"
            )));
        }
        // The option after it was taken for the value that is missing.
        let is_option = |text: &str| OPTIONS.iter().any(|(option, _)| *option == text);
        let bare = value.strip_prefix("--").or_else(|| value.strip_prefix('-'));
        if takes == OptionValue::Text && name != "headers" && bare.is_some_and(is_option) {
            return Err(usage_error(&format!("--{name} requires a string value")));
        }
        self.options.push((name, value));
        Ok(())
    }

    /// Returns the last value of an option; `None` if it is not given.
    fn last(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|(option, _)| *option == name).map(|(_, value)| value.as_str())
    }

    fn number(&self, name: &str) -> Option<i64> {
        parse_integer(self.last(name)?)
    }

    /// Combines the arguments to options.
    ///
    /// # Errors
    /// The text to print instead of a run: an error, or the help or version that was requested.
    pub(super) fn resolve(self, root: &Path) -> Result<Options, ArgError> {
        if self.last("version").is_some() {
            return Err(version());
        }
        if self.last("help").is_some() {
            return Err(help());
        }
        if let Some(error) = self.error {
            return Err(error);
        }
        if self.last("columns-regex").is_some_and(is_empty) {
            return Err(usage_error("--columns-regex must be a pattern"));
        }
        let group_by = match self.last("group-by").unwrap_or("all").to_lowercase().as_str() {
            other if is_empty(other) => GroupBy::Disk,
            other if other.starts_with("all") => GroupBy::All,
            other if other.starts_with("disk") => GroupBy::Disk,
            other if other.starts_with("sample") => GroupBy::Sample,
            other => {
                let message = format!("Invalid --group-by: {other}\n");
                return Err(ArgError { message, exit: Exit::PtDied });
            }
        };
        let headers = self.last("headers").unwrap_or("group,scroll");
        let has_header = |name: &str| headers.split(',').any(|header| header == name);
        let path = |name: &str| self.last(name).map(PathBuf::from);
        Ok(Options {
            columns: self.last("columns-regex").unwrap_or(".").to_owned(),
            devices: self.last("devices-regex").filter(|pattern| !is_empty(pattern)).map(str::to_owned),
            group_by,
            group_headers: has_header("group"),
            scroll_headers: has_header("scroll"),
            interval: self.number("interval").and_then(|n| u64::try_from(n).ok()).unwrap_or(1).max(1),
            iterations: self.number("iterations").and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0),
            sample_time: self.number("sample-time").unwrap_or(1),
            save_samples: path("save-samples"),
            show_inactive: self.last("show-inactive").is_some(),
            show_timestamps: self.last("show-timestamps").is_some(),
            file: self.operands.first().filter(|name| !is_empty(name)).map(PathBuf::from),
            root: path("root").unwrap_or_else(|| root.to_owned()),
        })
    }
}

/// Returns the option with this name, or the only one whose name begins with it; `None` if there is none or several.
/// `--config` is none, because it must be the first argument.
fn find_option(name: &str) -> Option<(&'static str, OptionValue)> {
    if let Some(exact) = OPTIONS.into_iter().find(|(option, _)| *option == name) {
        return Some(exact);
    }
    let mut matches = OPTIONS.into_iter().filter(|(option, _)| option.starts_with(name) && !name.is_empty());
    let first = matches.next()?;
    let is_other_spelling = |option: &str| [first.0, option].iter().all(|o| NO_VERSION_CHECK.contains(o));
    matches.all(|(option, _)| is_other_spelling(option)).then_some(first)
}

/// Returns whether a value is as good as none: the original also takes `0` for an empty text.
fn is_empty(text: &str) -> bool {
    matches!(text, "" | "0")
}

/// Parses a whole number, in which underscores may stand before, between and after the digits. One that is too large for
/// the type is the largest or smallest; `None` for anything else.
fn parse_integer(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix(['-', '+']) {
        Some(digits) if text.starts_with('-') => ("-", digits),
        Some(digits) => ("", digits),
        None => ("", text),
    };
    let digits = digits.replace('_', "");
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(format!("{sign}{digits}").parse().unwrap_or(if sign == "-" { i64::MIN } else { i64::MAX }))
}
