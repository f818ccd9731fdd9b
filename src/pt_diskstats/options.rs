//! The options of pt-diskstats, parsed.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::time::Duration;

use regex_lite::Regex;

use crate::console::{ArgError, Environment};
use crate::exit::Exit;
use crate::os_error::os_error_text;
use crate::schedule::parse_interval;
use crate::time_range::TimeRange;

/// The options, some of which keys change during the run.
#[derive(Clone, Debug)]
pub struct Options {
    /// `--columns-regex`: the columns to print.
    pub columns: Regex,
    /// `--devices-regex`: the devices to print; `None` for all active ones.
    pub devices: Option<Regex>,
    /// `--group-by`: the aggregation of readings into lines.
    pub group_by: GroupBy,
    /// `--headers group`: a blank line before each block of lines.
    pub group_headers: bool,
    /// `--headers scroll`: a header on every screen.
    pub scroll_headers: bool,
    /// `--interval`: seconds between live samples, at least 1.
    pub interval: u64,
    /// `--iterations`: the number of live samples to show; `None` for no limit.
    pub iterations: Option<u64>,
    /// `--sample-time`: the least number of seconds that a line covers when grouping by sample.
    pub sample_time: f64,
    /// `--save-samples`: the file in which live samples are saved.
    pub save_samples: Option<PathBuf>,
    /// `--show-inactive`: inactive devices are also printed.
    pub show_inactive: bool,
    /// `--show-timestamps`: the first column is the time of day.
    pub show_timestamps: bool,
    /// The capture to read; `None` for a live system.
    pub file: Option<PathBuf>,
    /// True if `--from` names it, where `-` is standard input.
    pub is_from: bool,
    /// `--begin` and `--end`: the part of the capture that is shown.
    pub range: TimeRange,
    /// `--every`: the distance of samples without times.
    pub every: Option<Duration>,
    /// INTERVAL and COUNT behind a file: the distance of the samples that are shown, and the number of intervals.
    pub resample: Option<Duration>,
    pub count: Option<u64>,
    /// The directory that contains `proc`; `/` for the running system.
    pub root: PathBuf,
}

/// The aggregation of readings into lines, by the keys that select it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum GroupBy {
    /// One line for each device and interval.
    #[default]
    All = b'A',
    /// One line for each device, over all intervals.
    Disk = b'D',
    /// One line for each interval, with the sum of all devices.
    Sample = b'S',
}

const VERSION: &str = concat!(
    "pt-diskstats 3.2.1 (blkstat ",
    env!("CARGO_PKG_VERSION"),
    ")\n"
);

const USAGE: &str = "Usage: pt-diskstats [OPTIONS] [FILES]\n";

const HELP: &str = "\
Options:

  --begin=T            Show a file from T on: 16:04, 2026-11-20T16:04, -10m
                       (from its end) or +5m (from its start)
  --columns-regex=s    Print only columns whose names match (default .)
  --config=A           Read these comma-separated configuration files; must be
                       the first option
  --devices-regex=s    Print only devices whose names match
  --end=T              Show a file up to T
  --every=T            Distance of the samples of a file without times
  --from=s             Show this file; - is standard input
  --group-by=s         One line per device and interval (all), per device
                       (disk) or per interval (sample) (default all)
  --headers=H          Blank lines between groups (group), a header on every
                       screen (scroll) (default group,scroll)
  --help               Show this help
  --interval=i         Seconds between live samples (default 1)
  --iterations=i       Stop after this many live samples
  --root=s             Read DIR/proc instead of /proc
  --sample-time=i      Seconds per line with --group-by sample (default 1)
  --save-samples=s     Save live samples to a file
  --show-inactive      Show inactive devices, too
  --show-timestamps    Show the time of day in the #ts column
  --version            Show the version
  --[no]version-check  No effect: blkstat never connects to the network

FILE holds saved samples; without it, the live system is sampled. INTERVAL
and COUNT behind it show a sample every INTERVAL seconds, COUNT times.
";

/// Returns the names of all options and the letters of the values that they take, as [`HELP`] lists them: `i` for a number,
/// none for no value. An option that may be negated has three names.
fn options() -> impl Iterator<Item = (&'static str, &'static str)> {
    let listed = HELP
        .lines()
        .filter_map(|line| line.strip_prefix("  --")?.split(' ').next());
    // It must be the first argument.
    let listed = listed.filter(|option| *option != "config=A");
    listed.flat_map(|option| match option {
        NEGATABLE => NO_VERSION_CHECK
            .into_iter()
            .chain(["version-check"])
            .map(|name| (name, ""))
            .collect(),
        _ => vec![option.split_once('=').unwrap_or((option, ""))],
    })
}

const NEGATABLE: &str = "[no]version-check";
/// The spellings of its opposite, so that an abbreviation may stand for both.
const NO_VERSION_CHECK: [&str; 2] = ["no-version-check", "noversion-check"];

/// Parses the arguments of pt-diskstats. `read` returns the text of a configuration file.
///
/// # Errors
/// The text to print instead of a run: an error, or the help or version that was requested.
pub fn parse(
    arguments: &[OsString],
    root: &Path,
    environment: Environment<'_>,
    read: &dyn Fn(&Path) -> std::io::Result<String>,
) -> Result<Options, ArgError> {
    let mut arguments: VecDeque<String> = arguments
        .iter()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let mut parsed = ParsedArgs::default();
    let (files, are_required) = config_files(&mut arguments, environment)?;
    for file in files {
        match read(&file) {
            Ok(text) => parsed.add(config_arguments(&text)),
            Err(error) if are_required => {
                let message = format!(
                    "Cannot open {}: {}\n",
                    file.display(),
                    os_error_text(&error)
                );
                return Err(ArgError {
                    message,
                    exit: Exit::Error,
                });
            }
            Err(_) => {}
        }
    }
    parsed.add(arguments);
    parsed.resolve(root, environment("TZ"))
}

/// Returns a usage error with this message.
fn usage_error(message: &str) -> ArgError {
    let message = format!(
        "{message}\n{USAGE}\nErrors in command-line arguments:\n  * Error parsing options\n"
    );
    ArgError {
        message,
        exit: Exit::PtUsage,
    }
}

/// Returns the error for an option without its value.
fn missing_value(name: &str) -> ArgError {
    usage_error(&format!("Option {name} requires an argument"))
}

/// Returns the configuration files to read: those of `--config`, which is removed from the arguments and which must exist
/// (true), or the default files.
///
/// # Errors
/// The usage if `--config` has no value.
fn config_files(
    arguments: &mut VecDeque<String>,
    environment: Environment<'_>,
) -> Result<(Vec<PathBuf>, bool), ArgError> {
    let named = match arguments.front().map(String::as_str) {
        Some("--config") => {
            arguments.pop_front();
            Some(
                arguments
                    .pop_front()
                    .ok_or_else(|| missing_value("config"))?,
            )
        }
        Some(argument) => argument.strip_prefix("--config=").map(str::to_owned),
        None => None,
    };
    if let Some(named) = named {
        if arguments
            .front()
            .is_some_and(|argument| argument.starts_with("--config="))
        {
            arguments.pop_front();
        }
        let names = named.split(',').filter(|name| !name.is_empty());
        return Ok((names.map(PathBuf::from).collect(), true));
    }
    let home = PathBuf::from(environment("HOME").unwrap_or_default());
    let global = Path::new("/etc/percona-toolkit");
    let paths = [
        global.join("percona-toolkit.conf"),
        global.join("pt-diskstats.conf"),
        home.join(".percona-toolkit.conf"),
        home.join(".pt-diskstats.conf"),
    ];
    Ok((paths.into(), false))
}

/// Turns the text of a configuration file into arguments. A line is `option` or `option=value`, without dashes; `#`
/// begins a comment; after a line of two dashes every line is one argument.
fn config_arguments(text: &str) -> VecDeque<String> {
    let mut arguments = VecDeque::new();
    let mut are_options = true;
    for line in text.lines() {
        let line = line.split(" #").next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if line == "--" {
            are_options = false;
        } else if !are_options {
            arguments.push_back(line.to_owned());
        } else if let Some((option, value)) = line.split_once('=') {
            arguments.extend([format!("--{}", option.trim()), value.trim().to_owned()]);
        } else if line.contains(char::is_whitespace) {
            arguments.push_back(line.to_owned());
        } else {
            arguments.push_back(format!("--{line}"));
        }
    }
    arguments
}

/// Options and operands.
#[derive(Default)]
struct ParsedArgs {
    /// Names and values, in order; the last one of a name wins.
    options: Vec<(&'static str, String)>,
    operands: Vec<String>,
    /// The first error in the arguments.
    error: Option<ArgError>,
}

impl ParsedArgs {
    /// Adds arguments. After an unknown option or an invalid value goes on with the next argument, because a request for
    /// help or the version wins over errors.
    fn add(&mut self, mut arguments: VecDeque<String>) {
        while let Some(argument) = arguments.pop_front() {
            if argument == "--" {
                self.operands.extend(arguments.drain(..));
            } else if let Some(option) = argument.strip_prefix("--") {
                if let Err(error) = self.add_option(option, &mut arguments) {
                    self.error.get_or_insert(error);
                }
            } else if argument.len() > 1 && argument.starts_with('-') {
                self.error.get_or_insert_with(|| {
                    usage_error(&format!("Unknown option: {}", &argument[1..]))
                });
            } else {
                self.operands.push(argument);
            }
        }
    }

    /// Adds an option, given without its dashes; its value may be the next argument.
    ///
    /// # Errors
    /// The usage after an unknown option or an invalid value.
    fn add_option(
        &mut self,
        option: &str,
        arguments: &mut VecDeque<String>,
    ) -> Result<(), ArgError> {
        let (name, value) = match option.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (option, None),
        };
        let unknown = || usage_error(&format!("Unknown option: {name}"));
        let (name, takes) = find_option(name).ok_or_else(unknown)?;
        let value = match (takes, value) {
            ("", Some(_)) => {
                return Err(usage_error(&format!(
                    "Option {name} does not take an argument"
                )));
            }
            ("", None) => String::new(),
            (_, Some(value)) => value,
            (_, None) => arguments.pop_front().ok_or_else(|| missing_value(name))?,
        };
        if !takes.is_empty() && option.ends_with('=') {
            return Err(missing_value(name));
        }
        if takes == "i" && parse_integer(&value).is_none() {
            return Err(usage_error(&format!(
                "Value \"{value}\" invalid for option {name} (number expected)"
            )));
        }
        // The option after it was taken for the value that is missing.
        let is_option = |text: &str| options().any(|(option, _)| option == text);
        let bare = value.strip_prefix("--").or_else(|| value.strip_prefix('-'));
        if takes != "i" && name != "headers" && bare.is_some_and(is_option) {
            return Err(usage_error(&format!("--{name} requires a string value")));
        }
        self.options.push((name, value));
        Ok(())
    }

    /// Returns the last value of an option; `None` if it is not given.
    fn last(&self, name: &str) -> Option<&str> {
        self.options
            .iter()
            .rev()
            .find(|(option, _)| *option == name)
            .map(|(_, value)| value.as_str())
    }

    fn number(&self, name: &str) -> Option<i64> {
        parse_integer(self.last(name)?)
    }

    /// Combines the arguments to options.
    ///
    /// # Errors
    /// The text to print instead of a run: an error, or the help or version that was requested.
    fn resolve(self, root: &Path, time_zone: Option<OsString>) -> Result<Options, ArgError> {
        if self.last("version").is_some() {
            return Err(ArgError {
                message: VERSION.to_owned(),
                exit: Exit::Success,
            });
        }
        if self.last("help").is_some() {
            return Err(ArgError {
                message: format!("{USAGE}\n{HELP}"),
                exit: Exit::Success,
            });
        }
        if let Some(error) = self.error {
            return Err(error);
        }
        if self.last("columns-regex").is_some_and(is_empty) {
            return Err(usage_error("--columns-regex must be a pattern"));
        }
        let group_by = match self
            .last("group-by")
            .unwrap_or("all")
            .to_lowercase()
            .as_str()
        {
            other if is_empty(other) => GroupBy::Disk,
            other if other.starts_with("all") => GroupBy::All,
            other if other.starts_with("disk") => GroupBy::Disk,
            other if other.starts_with("sample") => GroupBy::Sample,
            other => {
                let message = format!("Invalid --group-by: {other}\n");
                return Err(ArgError {
                    message,
                    exit: Exit::PtDied,
                });
            }
        };
        let headers = self.last("headers").unwrap_or("group,scroll");
        let has_header = |name: &str| headers.split(',').any(|header| header == name);
        let path = |name: &str| self.last(name).map(PathBuf::from);
        let invalid = |name: &str, error: &dyn Display| {
            let value = self.last(name).unwrap_or_default();
            usage_error(&format!(
                "Value \"{value}\" invalid for option {name} ({error})"
            ))
        };
        let point = |name: &str| {
            let parsed = self.last(name).map(str::parse).transpose();
            parsed.map_err(|error| invalid(name, &error))
        };
        let pattern = |text: &str| {
            parse_pattern(text).map_err(|error| ArgError {
                message: error + "\n",
                exit: Exit::PtDied,
            })
        };
        let every = self.last("every").map(parse_interval).transpose();
        // INTERVAL and COUNT may stand before or behind a file.
        let is_number = |word: &&String| parse_interval(word).is_ok() && !Path::new(word).exists();
        let (numbers, files): (Vec<&String>, Vec<&String>) =
            self.operands.iter().partition(is_number);
        let has_file = self.last("from").is_some() || !files.is_empty();
        let operand = files
            .into_iter()
            .next()
            .or(self.operands.first())
            .filter(|name| !is_empty(name));
        let mut numbers = numbers.into_iter().filter(|_| has_file);
        Ok(Options {
            columns: pattern(self.last("columns-regex").unwrap_or("."))?,
            devices: self
                .last("devices-regex")
                .filter(|text| !is_empty(text))
                .map(pattern)
                .transpose()?,
            group_by,
            group_headers: has_header("group"),
            scroll_headers: has_header("scroll"),
            interval: self
                .number("interval")
                .and_then(|n| u64::try_from(n).ok())
                .unwrap_or(1)
                .max(1),
            iterations: self
                .number("iterations")
                .and_then(|n| u64::try_from(n).ok())
                .filter(|n| *n > 0),
            sample_time: self.number("sample-time").unwrap_or(1) as f64,
            save_samples: path("save-samples"),
            show_inactive: self.last("show-inactive").is_some(),
            show_timestamps: self.last("show-timestamps").is_some(),
            file: path("from").or_else(|| operand.map(PathBuf::from)),
            is_from: self.last("from").is_some(),
            range: TimeRange {
                begin: point("begin")?,
                end: point("end")?,
                time_zone,
            },
            every: every.map_err(|error| invalid("every", &error))?,
            resample: numbers.next().and_then(|word| parse_interval(word).ok()),
            count: numbers.next().and_then(|word| word.parse().ok()),
            root: path("root").unwrap_or_else(|| root.to_owned()),
        })
    }
}

/// Returns the option with this name, or the only one whose name begins with it; `None` if there is none or several.
fn find_option(name: &str) -> Option<(&'static str, &'static str)> {
    if let Some(exact) = options().find(|(option, _)| *option == name) {
        return Some(exact);
    }
    let mut matches = options().filter(|(option, _)| option.starts_with(name) && !name.is_empty());
    let first = matches.next()?;
    let is_other_spelling = |option: &str| {
        [first.0, option]
            .iter()
            .all(|o| NO_VERSION_CHECK.contains(o))
    };
    matches
        .all(|(option, _)| is_other_spelling(option))
        .then_some(first)
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
    Some(
        format!("{sign}{digits}")
            .parse()
            .unwrap_or(if sign == "-" { i64::MIN } else { i64::MAX }),
    )
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

    fn parsed(arguments: &str, config: &str) -> Result<Options, ArgError> {
        let arguments: Vec<OsString> = arguments.split_whitespace().map(OsString::from).collect();
        let read =
            |path: &Path| match path.ends_with(".pt-diskstats.conf") || path == Path::new("c") {
                true => Ok(config.to_owned()),
                false => Err(std::io::ErrorKind::NotFound.into()),
            };
        parse(&arguments, Path::new("/"), &|_| None, &read)
    }

    #[test]
    fn options_may_be_abbreviated_and_take_values_with_a_blank_or_an_equals_sign() {
        let options = parsed("--group-by=disk --head scroll --sample-t 5 --show-i f", "").unwrap();
        assert_eq!(
            (
                options.group_by,
                options.group_headers,
                options.scroll_headers
            ),
            (GroupBy::Disk, false, true)
        );
        assert_eq!(
            (options.sample_time, options.show_inactive, options.file),
            (5.0, true, Some("f".into()))
        );
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
        let config =
            "# mine\n\ngroup-by=sample  # always\n; more\nshow-inactive\ninterval = 7\n--\nfile\n";
        let options = parsed("--interval 3", config).unwrap();
        assert_eq!(
            (options.group_by, options.show_inactive, options.interval),
            (GroupBy::Sample, true, 3)
        );
        assert_eq!(options.file, Some("file".into()));
        assert_eq!(
            parsed("--config c", "group-by=disk").unwrap().group_by,
            GroupBy::Disk
        );
        assert_eq!(
            parsed("--config missing", "").unwrap_err().exit,
            Exit::Error
        );
        assert_eq!(parsed("f --config c", "").unwrap_err().exit, Exit::PtUsage);
    }

    #[test]
    fn an_abbreviation_of_several_options_is_an_error_unless_they_are_one() {
        for arguments in [
            "--c rd",
            "--no",
            "--no-v",
            "--version-",
            "--group-by=disks",
            "--group-by=0",
        ] {
            assert!(parsed(arguments, "").is_ok(), "{arguments}");
        }
        // --version and --version-check; --headers and --help; --config must come first.
        for arguments in ["--ver", "--he", "--conf c", "--version-check=1"] {
            assert_eq!(
                parsed(arguments, "").unwrap_err().exit,
                Exit::PtUsage,
                "{arguments}"
            );
        }
    }

    #[test]
    fn an_option_is_no_value_of_the_option_before_it() {
        for arguments in [
            "--devices-regex --show-inactive",
            "--columns-regex=-interval",
            "--save-samples --help",
        ] {
            assert_eq!(
                parsed(arguments, "").unwrap_err().exit,
                Exit::PtUsage,
                "{arguments}"
            );
        }
        assert_eq!(
            parsed("--devices-regex --show f", "")
                .unwrap()
                .devices
                .unwrap()
                .as_str(),
            "--show"
        );
        assert!(
            !parsed("--headers --show-inactive f", "")
                .unwrap()
                .show_inactive
        );
    }

    #[test]
    fn zero_is_no_pattern_and_no_file() {
        let options = parsed("--devices-regex 0 0", "").unwrap();
        assert!(options.devices.is_none() && options.file.is_none());
        assert_eq!(
            parsed("--columns-regex=0", "").unwrap_err().exit,
            Exit::PtUsage
        );
    }

    #[test]
    fn whole_numbers_may_have_underscores_and_any_size() {
        let sample_time = |text: &str| {
            parsed(&format!("--sample-time={text}"), "")
                .map(|o| o.sample_time)
                .ok()
        };
        assert_eq!(
            ["1_0_", "_-7", "-_7", "+7"].map(sample_time),
            [Some(10.0), None, Some(-7.0), Some(7.0)]
        );
        assert_eq!(sample_time("99999999999999999999"), Some(i64::MAX as f64));
        assert_eq!(["1.5", "0x10", "_", "-", ""].map(sample_time), [None; 5]);
    }

    #[test]
    fn help_and_version_win_over_errors_wherever_they_stand() {
        assert_eq!(parsed("--bogus --hel", "").unwrap_err().exit, Exit::Success);
        assert_eq!(
            parsed("--group-by=x", "bogus\nversion").unwrap_err().exit,
            Exit::Success
        );
        assert_eq!(parsed("", "help").unwrap_err().exit, Exit::Success);
        assert!(
            parsed("--help --version", "")
                .unwrap_err()
                .message
                .starts_with("pt-diskstats 3.2.1")
        );
    }

    #[test]
    fn a_configuration_file_has_options_without_dashes() {
        for config in ["--show-inactive", "-x", "show-inactive\n--group-by=disk"] {
            assert_eq!(
                parsed("", config).unwrap_err().exit,
                Exit::PtUsage,
                "{config}"
            );
        }
    }

    #[test]
    fn the_version_check_is_accepted_without_effect() {
        for arguments in ["--version-check", "--no-version-check", "--noversion-check"] {
            assert!(parsed(arguments, "").is_ok(), "{arguments}");
        }
    }

    #[test]
    fn escaped_angle_brackets_are_characters_as_in_perl() {
        let is_match = |pattern: &str, text: &str| parse_pattern(pattern).unwrap().is_match(text);
        assert!(!is_match(r"\<sda\>", "sda") && is_match(r"\<sda\>", "<sda>"));
        assert!(is_match(r"^\\\<a\w$", r"\<ab") && is_match(r"\bsda\b", "sda"));
    }
}
