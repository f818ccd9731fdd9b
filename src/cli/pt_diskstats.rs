//! pt-diskstats' grammar. It is parsed by hand: its options may be shortened, stand in percona-toolkit's
//! configuration files, and answer errors in its own words and with its own exit codes.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::ArgError;
use crate::exit::Exit;
use crate::plan::PtDiskstats;
use crate::report::pt_diskstats::GroupBy;

const VERSION: &str = concat!("pt-diskstats 3.2.1 (blkstat ", env!("CARGO_PKG_VERSION"), ")\n");

const USAGE: &str = "Usage: pt-diskstats [OPTIONS] [FILES]\n";

const HELP: &str = "\
Options:

  --columns-regex=s    Print only the columns whose names match (default .)
  --config=A           Read these configuration files, with commas between; must
                       be the first option
  --devices-regex=s    Print only the devices whose names match
  --group-by=s         A line for each device and interval (all), for each device
                       (disk) or for each interval (sample) (default all)
  --headers=H          Blank lines between groups (group), headers on every
                       screen (scroll) (default group,scroll)
  --help               Show this help
  --interval=i         Seconds between samples of this machine (default 1)
  --iterations=i       Stop after so many samples of this machine
  --root=s             Read DIR/proc in place of /proc
  --sample-time=i      Seconds that a line covers with --group-by sample
                       (default 1)
  --save-samples=s     Save the samples of this machine in a file
  --show-inactive      Show devices without activity too
  --show-timestamps    Show the time of day in the #ts column
  --version            Show the version
  --[no]version-check  Does nothing: blkstat calls nobody

FILE holds samples; without one they are taken from this machine.
";

/// What an option takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Text,
    Number,
}

const OPTIONS: [(&str, Takes); 16] = [
    ("columns-regex", Takes::Text),
    ("config", Takes::Text),
    ("devices-regex", Takes::Text),
    ("group-by", Takes::Text),
    ("headers", Takes::Text),
    ("help", Takes::Nothing),
    ("interval", Takes::Number),
    ("iterations", Takes::Number),
    ("no-version-check", Takes::Nothing),
    ("noversion-check", Takes::Nothing),
    ("root", Takes::Text),
    ("sample-time", Takes::Number),
    ("save-samples", Takes::Text),
    ("show-inactive", Takes::Nothing),
    ("show-timestamps", Takes::Nothing),
    ("version", Takes::Nothing),
];

/// Also an option, but one that `version` is no short form of.
const VERSION_CHECK: &str = "version-check";

/// Options in the order in which they count, the last one most, and what is no option.
#[derive(Default)]
struct Words {
    options: Vec<(&'static str, String)>,
    operands: Vec<String>,
}

/// What pt-diskstats' arguments ask for. `read` gives the text of a configuration file.
pub(super) fn plan(
    arguments: &[OsString],
    root: &Path,
    environment: &dyn Fn(&str) -> Option<OsString>,
    read: &dyn Fn(&Path) -> std::io::Result<String>,
) -> Result<PtDiskstats, ArgError> {
    let mut words: VecDeque<String> =
        arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut found = Words::default();
    for (path, must_be_there) in config_files(&mut words, environment)? {
        match read(&path) {
            Ok(text) => found.take(config_words(&text, &path)?, true)?,
            Err(error) if must_be_there => {
                let message = format!("Cannot open {}: {}\n", path.display(), system_text(&error));
                return Err(ArgError { message, exit: Exit::Error });
            }
            Err(_) => {}
        }
    }
    // Help and version are given whatever else is wrong.
    let asked = |what: &str| words.iter().take_while(|word| *word != "--").any(|word| word == what);
    let (wants_version, wants_help) = (asked("--version"), asked("--help"));
    let taken = found.take(words, false);
    if wants_version {
        return Err(ArgError { message: VERSION.to_owned(), exit: Exit::Success });
    }
    if wants_help {
        return Err(ArgError { message: format!("{USAGE}\n{HELP}"), exit: Exit::Success });
    }
    taken?;
    found.resolve(root, environment)
}

/// What the system says of an error, without Rust's number behind it.
fn system_text(error: &std::io::Error) -> String {
    error.to_string().split(" (os error").next().unwrap_or_default().to_owned()
}

/// The configuration files to read, and whether they must be there; `--config` is taken off the words.
fn config_files(
    words: &mut VecDeque<String>,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Vec<(PathBuf, bool)>, ArgError> {
    let named = match words.front().map(String::as_str) {
        Some("--config") => {
            words.pop_front();
            Some(words.pop_front().ok_or_else(|| errors("Option config requires an argument"))?)
        }
        Some(word) => word.strip_prefix("--config=").map(str::to_owned),
        None => None,
    };
    if let Some(named) = named {
        if words.front().is_some_and(|word| word.starts_with("--config=")) {
            words.pop_front();
        }
        return Ok(named
            .split(',')
            .filter(|name| !name.is_empty())
            .map(|name| (name.into(), true))
            .collect());
    }
    let home = PathBuf::from(environment("HOME").unwrap_or_default());
    let global = Path::new("/etc/percona-toolkit");
    let files = [
        global.join("percona-toolkit.conf"),
        global.join("pt-diskstats.conf"),
        home.join(".percona-toolkit.conf"),
        home.join(".pt-diskstats.conf"),
    ];
    Ok(files.into_iter().map(|path| (path, false)).collect())
}

/// A configuration file as words: `option` or `option=value` a line, without dashes; `#` begins a comment; after
/// a line of two dashes the lines are words themselves.
fn config_words(text: &str, path: &Path) -> Result<VecDeque<String>, ArgError> {
    let mut words = VecDeque::new();
    let mut are_options = true;
    for (number, line) in text.lines().enumerate() {
        let line = line.split(" #").next().unwrap_or_default().trim();
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if line == "--" {
            are_options = false;
        } else if !are_options {
            words.push_back(line.to_owned());
        } else if let Some((option, value)) = line.split_once('=') {
            words.extend([format!("--{}", option.trim()), value.trim().to_owned()]);
        } else if line.contains(char::is_whitespace) {
            words.push_back(line.to_owned());
        } else if line.starts_with('-') {
            let message = format!("Syntax error in file {} at line {}: {line}\n", path.display(), number + 1);
            return Err(ArgError { message, exit: Exit::PtDied });
        } else {
            words.push_back(format!("--{line}"));
        }
    }
    Ok(words)
}

/// The usage text with what is wrong.
fn errors(what: &str) -> ArgError {
    let message = format!("{what}\n{USAGE}\nErrors in command-line arguments:\n  * Error parsing options\n");
    ArgError { message, exit: Exit::PtUsage }
}

impl Words {
    /// Takes words apart into options and operands; a file may not name another file.
    fn take(&mut self, mut words: VecDeque<String>, from_file: bool) -> Result<(), ArgError> {
        while let Some(word) = words.pop_front() {
            if word == "--" {
                self.operands.extend(words.drain(..));
            } else if let Some(option) = word.strip_prefix("--") {
                let (name, value) = match option.split_once('=') {
                    Some((name, value)) => (name, Some(value.to_owned())),
                    None => (option, None),
                };
                let unknown = || errors(&format!("Unknown option: {name}"));
                if name == VERSION_CHECK {
                    continue;
                }
                let (name, takes) = known_option(name).ok_or_else(unknown)?;
                if name == "config" || from_file && name == "help" {
                    return Err(unknown());
                }
                let value = match (takes, value) {
                    (Takes::Nothing, Some(_)) => {
                        return Err(errors(&format!("Option {name} does not take an argument")));
                    }
                    (Takes::Nothing, None) => String::new(),
                    (_, Some(value)) => value,
                    (_, None) => words.pop_front().ok_or_else(|| needs_value(name))?,
                };
                if takes != Takes::Nothing && option.ends_with('=') {
                    return Err(needs_value(name));
                }
                if takes == Takes::Number && value.parse::<i64>().is_err() {
                    return Err(errors(&format!(
                        "Value \"{value}\" invalid for option {name} (number expected)"
                    )));
                }
                self.options.push((name, value));
            } else if word.len() > 1 && word.starts_with('-') {
                return Err(errors(&format!("Unknown option: {}", &word[1..])));
            } else {
                self.operands.push(word);
            }
        }
        Ok(())
    }

    /// The last value of an option.
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
    ) -> Result<PtDiskstats, ArgError> {
        if self.last("version").is_some() {
            return Err(ArgError { message: VERSION.to_owned(), exit: Exit::Success });
        }
        if self.last("help").is_some() {
            return Err(ArgError { message: format!("{USAGE}\n{HELP}"), exit: Exit::Success });
        }
        if self.last("columns-regex") == Some("") {
            return Err(errors("--columns-regex must be a pattern"));
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
        Ok(PtDiskstats {
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

fn needs_value(name: &str) -> ArgError {
    errors(&format!("Option {name} requires an argument"))
}

/// The option of this name, or the only one whose name begins so.
fn known_option(name: &str) -> Option<(&'static str, Takes)> {
    if let Some(exact) = OPTIONS.into_iter().find(|(option, _)| *option == name) {
        return Some(exact);
    }
    let mut beginning =
        OPTIONS.into_iter().filter(|(option, _)| option.starts_with(name) && !name.is_empty());
    let only = beginning.next()?;
    beginning.next().is_none().then_some(only)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn planned(words: &str, config: &str) -> Result<PtDiskstats, ArgError> {
        let words: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
        let read = |path: &Path| match path.ends_with(".pt-diskstats.conf") || path == Path::new("c") {
            true => Ok(config.to_owned()),
            false => Err(std::io::ErrorKind::NotFound.into()),
        };
        plan(&words, Path::new("/"), &|_| None, &read)
    }

    #[test]
    fn options_may_be_shortened_and_take_values_in_both_ways() {
        let plan = planned("--group-by=disk --head scroll --sample-t 5 --show-i f", "").unwrap();
        assert_eq!((plan.group_by, plan.group_headers, plan.scroll_headers), (GroupBy::Disk, false, true));
        assert_eq!((plan.sample_time, plan.show_inactive, plan.file), (5, true, Some("f".into())));
    }

    #[test]
    fn a_short_form_of_several_options_is_none_of_them() {
        assert_eq!(planned("--show f", "").unwrap_err().exit, Exit::PtUsage);
        assert_eq!(planned("--bogus", "").unwrap_err().exit, Exit::PtUsage);
        assert_eq!(planned("--interval x", "").unwrap_err().exit, Exit::PtUsage);
        assert_eq!(planned("--group-by x", "").unwrap_err().exit, Exit::PtDied);
    }

    #[test]
    fn the_command_line_wins_over_configuration_files() {
        let config = "# mine\n\ngroup-by=sample  # always\n; more\nshow-inactive\ninterval = 7\n--\nfile\n";
        let plan = planned("--interval 3", config).unwrap();
        assert_eq!((plan.group_by, plan.show_inactive, plan.interval), (GroupBy::Sample, true, 3));
        assert_eq!(plan.file, Some("file".into()));
        assert_eq!(planned("--config c", "group-by=disk").unwrap().group_by, GroupBy::Disk);
        assert_eq!(planned("--config missing", "").unwrap_err().exit, Exit::Error);
        assert_eq!(planned("f --config c", "").unwrap_err().exit, Exit::PtUsage);
    }

    #[test]
    fn the_version_check_is_accepted_and_does_nothing() {
        for words in ["--version-check", "--no-version-check", "--noversion-check"] {
            assert!(planned(words, "").is_ok(), "{words}");
        }
    }
}
