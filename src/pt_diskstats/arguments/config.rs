//! The configuration files of percona-toolkit.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::messages::missing_value;
use crate::console::ArgError;

pub(super) struct ConfigFile {
    pub(super) path: PathBuf,
    /// True if it is given by `--config`, so that it is an error if it is missing.
    pub(super) is_required: bool,
}

/// Returns the configuration files to read: those of `--config`, which is removed from the arguments, or the default
/// files.
///
/// # Errors
/// The usage if `--config` has no value.
pub(super) fn config_files(
    arguments: &mut VecDeque<String>,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Vec<ConfigFile>, ArgError> {
    let named = match arguments.front().map(String::as_str) {
        Some("--config") => {
            arguments.pop_front();
            Some(arguments.pop_front().ok_or_else(|| missing_value("config"))?)
        }
        Some(argument) => argument.strip_prefix("--config=").map(str::to_owned),
        None => None,
    };
    if let Some(named) = named {
        if arguments.front().is_some_and(|argument| argument.starts_with("--config=")) {
            arguments.pop_front();
        }
        let names = named.split(',').filter(|name| !name.is_empty());
        return Ok(names.map(|name| ConfigFile { path: name.into(), is_required: true }).collect());
    }
    let home = PathBuf::from(environment("HOME").unwrap_or_default());
    let global = Path::new("/etc/percona-toolkit");
    let paths = [
        global.join("percona-toolkit.conf"),
        global.join("pt-diskstats.conf"),
        home.join(".percona-toolkit.conf"),
        home.join(".pt-diskstats.conf"),
    ];
    Ok(paths.into_iter().map(|path| ConfigFile { path, is_required: false }).collect())
}

/// Turns the text of a configuration file into arguments. A line is `option` or `option=value`, without dashes; `#`
/// begins a comment; after a line of two dashes every line is one argument.
pub(super) fn config_arguments(text: &str) -> VecDeque<String> {
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
