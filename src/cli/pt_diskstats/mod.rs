//! The grammar of pt-diskstats. It is parsed by hand: options may be abbreviated and may come from percona-toolkit's
//! configuration files, and errors have pt-diskstats' own messages and exit codes.

mod config;
mod messages;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use self::config::{config_arguments, config_files};
use self::messages::{help, missing_value, usage_error, version};
use super::ArgError;
use crate::exit::Exit;
use crate::os_error::os_error_text;
use crate::pt_diskstats::{GroupBy, Options};

/// The value that an option takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    None,
    Text,
    Number,
}

const OPTIONS: [(&str, Value); 16] = [
    ("columns-regex", Value::Text),
    ("config", Value::Text),
    ("devices-regex", Value::Text),
    ("group-by", Value::Text),
    ("headers", Value::Text),
    ("help", Value::None),
    ("interval", Value::Number),
    ("iterations", Value::Number),
    ("no-version-check", Value::None),
    ("noversion-check", Value::None),
    ("root", Value::Text),
    ("sample-time", Value::Number),
    ("save-samples", Value::Text),
    ("show-inactive", Value::None),
    ("show-timestamps", Value::None),
    ("version", Value::None),
];

/// An option, too, but one that `--version` does not abbreviate.
const VERSION_CHECK: &str = "version-check";

/// Options and operands.
#[derive(Default)]
struct ParsedArgs {
    /// Names and values, in order; the last one of a name wins.
    options: Vec<(&'static str, String)>,
    operands: Vec<String>,
}

/// Parses the arguments of pt-diskstats. `read` returns the text of a configuration file.
///
/// # Errors
/// A text to print instead of a run: an error, or the help or version that was asked for.
pub(super) fn parse(
    arguments: &[OsString],
    root: &Path,
    environment: &dyn Fn(&str) -> Option<OsString>,
    read: &dyn Fn(&Path) -> std::io::Result<String>,
) -> Result<Options, ArgError> {
    let mut arguments: VecDeque<String> =
        arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect();
    let mut parsed = ParsedArgs::default();
    for file in config_files(&mut arguments, environment)? {
        match read(&file.path) {
            Ok(text) => parsed.add(config_arguments(&text, &file.path)?, true)?,
            Err(error) if file.is_required => {
                let message = format!("Cannot open {}: {}\n", file.path.display(), os_error_text(&error));
                return Err(ArgError { message, exit: Exit::Error });
            }
            Err(_) => {}
        }
    }
    // Help and version win over errors in other arguments.
    let is_asked = |option: &str| {
        arguments.iter().take_while(|argument| *argument != "--").any(|argument| argument == option)
    };
    let (wants_version, wants_help) = (is_asked("--version"), is_asked("--help"));
    let added = parsed.add(arguments, false);
    if wants_version {
        return Err(version());
    }
    if wants_help {
        return Err(help());
    }
    added?;
    parsed.resolve(root, environment)
}

impl ParsedArgs {
    /// Adds arguments. Those of a file may not name another file.
    fn add(&mut self, mut arguments: VecDeque<String>, is_from_file: bool) -> Result<(), ArgError> {
        while let Some(argument) = arguments.pop_front() {
            if argument == "--" {
                self.operands.extend(arguments.drain(..));
            } else if let Some(option) = argument.strip_prefix("--") {
                self.add_option(option, &mut arguments, is_from_file)?;
            } else if argument.len() > 1 && argument.starts_with('-') {
                return Err(usage_error(&format!("Unknown option: {}", &argument[1..])));
            } else {
                self.operands.push(argument);
            }
        }
        Ok(())
    }

    /// Adds an option, given without its dashes; its value may be the next argument.
    fn add_option(
        &mut self,
        option: &str,
        arguments: &mut VecDeque<String>,
        is_from_file: bool,
    ) -> Result<(), ArgError> {
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };
        if name == VERSION_CHECK {
            return Ok(());
        }
        let unknown = || usage_error(&format!("Unknown option: {name}"));
        let (name, takes) = find_option(name).ok_or_else(unknown)?;
        if name == "config" || is_from_file && name == "help" {
            return Err(unknown());
        }
        let value = match (takes, value) {
            (Value::None, Some(_)) => {
                return Err(usage_error(&format!("Option {name} does not take an argument")));
            }
            (Value::None, None) => String::new(),
            (_, Some(value)) => value,
            (_, None) => arguments.pop_front().ok_or_else(|| missing_value(name))?,
        };
        if takes != Value::None && option.ends_with('=') {
            return Err(missing_value(name));
        }
        if takes == Value::Number && value.parse::<i64>().is_err() {
            return Err(usage_error(&format!(
                "Value \"{value}\" invalid for option {name} (number expected)"
            )));
        }
        self.options.push((name, value));
        Ok(())
    }

    /// Returns the last value of an option.
    fn last(&self, name: &str) -> Option<&str> {
        self.options.iter().rev().find(|(option, _)| *option == name).map(|(_, value)| value.as_str())
    }

    fn number(&self, name: &str) -> Option<i64> {
        self.last(name)?.parse().ok()
    }

    fn resolve(
        self,
        root: &Path,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Options, ArgError> {
        if self.last("version").is_some() {
            return Err(version());
        }
        if self.last("help").is_some() {
            return Err(help());
        }
        if self.last("columns-regex") == Some("") {
            return Err(usage_error("--columns-regex must be a pattern"));
        }
        let group_by = match self.last("group-by").unwrap_or("all").to_lowercase().as_str() {
            "all" => GroupBy::All,
            "disk" | "" => GroupBy::Disk,
            "sample" => GroupBy::Sample,
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
            devices: self.last("devices-regex").filter(|pattern| !pattern.is_empty()).map(str::to_owned),
            group_by,
            group_headers: has_header("group"),
            scroll_headers: has_header("scroll"),
            interval: self.number("interval").and_then(|n| u64::try_from(n).ok()).unwrap_or(1).max(1),
            iterations: self.number("iterations").and_then(|n| u64::try_from(n).ok()).filter(|n| *n > 0),
            sample_time: self.number("sample-time").unwrap_or(1),
            save_samples: path("save-samples"),
            show_inactive: self.last("show-inactive").is_some(),
            show_timestamps: self.last("show-timestamps").is_some(),
            file: self.operands.first().map(PathBuf::from),
            root: path("root").unwrap_or_else(|| root.to_owned()),
            screen_lines: environment("LINES").map(|lines| lines.to_string_lossy().into_owned()),
            time_zone: environment("TZ"),
        })
    }
}

/// Returns the option with this name, or the only one whose name begins with it.
fn find_option(name: &str) -> Option<(&'static str, Value)> {
    if let Some(exact) = OPTIONS.into_iter().find(|(option, _)| *option == name) {
        return Some(exact);
    }
    let mut matches = OPTIONS.into_iter().filter(|(option, _)| option.starts_with(name) && !name.is_empty());
    let only = matches.next()?;
    matches.next().is_none().then_some(only)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(arguments: &str, config: &str) -> Result<Options, ArgError> {
        let arguments: Vec<OsString> = arguments.split_whitespace().map(OsString::from).collect();
        let read = |path: &Path| match path.ends_with(".pt-diskstats.conf") || path == Path::new("c") {
            true => Ok(config.to_owned()),
            false => Err(std::io::ErrorKind::NotFound.into()),
        };
        parse(&arguments, Path::new("/"), &|_| None, &read)
    }

    #[test]
    fn options_may_be_abbreviated_and_take_values_with_a_blank_or_an_equals_sign() {
        let options = parsed("--group-by=disk --head scroll --sample-t 5 --show-i f", "").unwrap();
        assert_eq!(
            (options.group_by, options.group_headers, options.scroll_headers),
            (GroupBy::Disk, false, true)
        );
        assert_eq!((options.sample_time, options.show_inactive, options.file), (5, true, Some("f".into())));
    }

    #[test]
    fn unknown_and_ambiguous_options_and_invalid_values_are_errors() {
        assert_eq!(parsed("--show f", "").unwrap_err().exit, Exit::PtUsage);
        assert_eq!(parsed("--bogus", "").unwrap_err().exit, Exit::PtUsage);
        assert_eq!(parsed("--interval x", "").unwrap_err().exit, Exit::PtUsage);
        assert_eq!(parsed("--group-by x", "").unwrap_err().exit, Exit::PtDied);
    }

    #[test]
    fn the_command_line_wins_over_configuration_files() {
        let config = "# mine\n\ngroup-by=sample  # always\n; more\nshow-inactive\ninterval = 7\n--\nfile\n";
        let options = parsed("--interval 3", config).unwrap();
        assert_eq!((options.group_by, options.show_inactive, options.interval), (GroupBy::Sample, true, 3));
        assert_eq!(options.file, Some("file".into()));
        assert_eq!(parsed("--config c", "group-by=disk").unwrap().group_by, GroupBy::Disk);
        assert_eq!(parsed("--config missing", "").unwrap_err().exit, Exit::Error);
        assert_eq!(parsed("f --config c", "").unwrap_err().exit, Exit::PtUsage);
    }

    #[test]
    fn the_version_check_is_accepted_without_effect() {
        for arguments in ["--version-check", "--no-version-check", "--noversion-check"] {
            assert!(parsed(arguments, "").is_ok(), "{arguments}");
        }
    }
}
