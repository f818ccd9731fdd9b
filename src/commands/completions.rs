//! Completions. The script that `blkstat completions` prints runs the program for each word to complete, so that devices,
//! sort keys, fields and topics are those of this host and of this version.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write};

use clap::{Arg, Command, ValueEnum};
use clap_complete::CompleteEnv;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::{Bash, EnvCompleter, Fish, Zsh};

use crate::exit::Exit;
use crate::report::json_csv::all_fields;
use crate::report::manual::names;
use crate::report::native::sort_keys;
use crate::report::who::SORT_KEYS;

/// The variable with the name of the shell for which the program completes a word instead of running.
pub const COMPLETION_VARIABLE: &str = "BLKSTAT_COMPLETE";

/// A shell with a completion script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    Bash,
    Zsh,
    Fish,
}

impl Shell {
    /// Returns the script that completes by running the `blkstat` in the path.
    ///
    /// # Errors
    /// Never: it is written to memory.
    pub(super) fn script(self) -> io::Result<Vec<u8>> {
        let shell: &dyn EnvCompleter = match self {
            Self::Bash => &Bash,
            Self::Zsh => &Zsh,
            Self::Fish => &Fish,
        };
        let mut text = Vec::new();
        let name = "blkstat";
        shell.write_registration(COMPLETION_VARIABLE, name, name, name, &mut text)?;
        Ok(text)
    }
}

/// Prints what the word that the shell asks for may become in a command line of `command`.
pub(super) fn complete(command: fn() -> Command) -> Exit {
    let directory = std::env::current_dir().ok();
    let environment = CompleteEnv::with_factory(command)
        .var(COMPLETION_VARIABLE)
        .completer("blkstat");
    match environment.try_complete(std::env::args_os(), directory.as_deref()) {
        Ok(_) => Exit::Success,
        Err(error) => {
            // Without standard error, nothing can be said.
            let _ = write!(io::stderr(), "blkstat: {error}");
            Exit::Error
        }
    }
}

/// Adds to an argument of a command the words that it can be completed to.
pub(super) fn with_words(argument: Arg, command: &str) -> Arg {
    let words: fn(&OsStr) -> Vec<CompletionCandidate> = match (command, argument.get_id().as_str())
    {
        ("who", "sort") => who_sort_words,
        (_, "sort") => sort_words,
        ("blkstat", "fields") => fields,
        ("record", "operands") => devices,
        (_, "operands") => devices_and_files,
        ("help", "topic") => topics,
        _ => return argument,
    };
    argument.add(ArgValueCompleter::new(words))
}

/// Returns the words that begin with what was typed.
fn beginning_with(
    typed: &OsStr,
    words: impl IntoIterator<Item = impl Into<String>>,
) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let words = words.into_iter().map(Into::into);
    let matching = words.filter(|word| word.starts_with(&*typed));
    matching.map(CompletionCandidate::new).collect()
}

/// Devices of this host, by the names that the kernel gives them.
fn devices(typed: &OsStr) -> Vec<CompletionCandidate> {
    let mut names = Vec::new();
    for entry in fs::read_dir("/sys/class/block")
        .into_iter()
        .flatten()
        .flatten()
    {
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    beginning_with(typed, names)
}

/// Devices, and files, which may be recordings.
fn devices_and_files(typed: &OsStr) -> Vec<CompletionCandidate> {
    let mut candidates = devices(typed);
    candidates.extend(PathCompleter::any().complete(typed));
    candidates
}

fn sort_words(typed: &OsStr) -> Vec<CompletionCandidate> {
    beginning_with(typed, sort_keys())
}

fn who_sort_words(typed: &OsStr) -> Vec<CompletionCandidate> {
    beginning_with(typed, SORT_KEYS)
}

/// Fields, by their names in JSON and by their titles in the table.
fn fields(typed: &OsStr) -> Vec<CompletionCandidate> {
    let names = all_fields().map(|(name, _)| name);
    last_of_list(typed, names.chain(sort_keys()))
}

/// Returns the words that the last one of a list can become.
fn last_of_list(
    typed: &OsStr,
    words: impl Iterator<Item = &'static str>,
) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let (before, last) = match typed.rfind(',') {
        Some(comma) => typed.split_at(comma + 1),
        None => ("", &*typed),
    };
    let mut candidates = Vec::new();
    for word in beginning_with(OsStr::new(last), words) {
        candidates.push(word.add_prefix(before));
    }
    candidates
}

/// Pages of the manual, and columns.
fn topics(typed: &OsStr) -> Vec<CompletionCandidate> {
    beginning_with(typed, names().chain(sort_keys()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(candidates: &[CompletionCandidate]) -> Vec<String> {
        let value = |one: &CompletionCandidate| one.get_value().to_string_lossy().into_owned();
        candidates.iter().map(value).collect()
    }

    #[test]
    fn the_last_field_of_a_list_is_completed() {
        let completed = values(&fields(OsStr::new("device,read_aw")));
        assert_eq!(completed, ["device,read_await_ms"]);
        assert_eq!(values(&fields(OsStr::new("util_p"))), ["util_pct"]);
        let completed = values(&fields(OsStr::new("r/s,w_aw")));
        assert_eq!(completed, ["r/s,w_await"]);
    }

    #[test]
    fn topics_are_pages_and_columns() {
        let completed = values(&topics(OsStr::new("ver")));
        assert_eq!(completed, ["verdicts", "verdict"]);
    }
}
