//! Suggestions for unknown arguments that belong to another command or another version, or are typos.

use std::ffi::OsString;
use std::path::Path;

use super::manual::command_names;
use crate::iostat;

/// Returns whether a word is the name of a command.
pub(super) fn is_command(word: &str) -> bool {
    word == "help" || command_names().iter().any(|name| name == word)
}

/// Options of 0.1.0 and their present names.
const RENAMED_OPTIONS: [(&str, &str); 2] =
    [("--pace", "--realtime"), ("--saturated-at", "--saturation-threshold")];

/// Returns the message about `option`, which is unknown, on the command line `arguments` (without the program's name);
/// `None` if there is nothing to suggest.
pub(super) fn message_for_unknown_option(option: &str, arguments: &[OsString]) -> Option<String> {
    if let Some((_, new)) = RENAMED_OPTIONS.iter().find(|(old, _)| *old == option) {
        return Some(format!("option '{option}' is now '{new}'"));
    }
    let words: Vec<&str> = arguments.iter().map(|argument| argument.to_str()).collect::<Option<_>>()?;
    if words.iter().any(|word| is_command(word)) {
        return None;
    }
    let suggestion = match words.first().and_then(|word| similar_command(word)) {
        Some(command) => format!("blkstat {command}"),
        None => {
            iostat::parse(arguments, Path::new("/"), &|_| None).ok()?;
            format!("blkstat iostat {}", words.join(" "))
        }
    };
    Some(format!("unexpected argument '{option}' found; did you mean '{suggestion}'?"))
}

/// Returns the command whose name is most similar to `word`; `None` if none is similar.
pub(super) fn similar_command(word: &str) -> Option<String> {
    let distance = |command: &String| strsim::damerau_levenshtein(command, word);
    let is_similar = |command: &String| distance(command) <= command.len() / 3;
    command_names().into_iter().chain(["help".to_owned()]).filter(is_similar).min_by_key(distance)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(option: &str, words: &str) -> Option<String> {
        let arguments: Vec<OsString> = words.split_whitespace().map(OsString::from).collect();
        message_for_unknown_option(option, &arguments)
    }

    #[test]
    fn options_of_iostat_suggest_iostat_with_the_same_arguments() {
        let suggested = |option: &str, words: &str| {
            let end = format!("found; did you mean 'blkstat iostat {words}'?");
            assert!(message(option, words).unwrap_or_default().ends_with(&end), "{words}");
        };
        suggested("-x", "-x 1");
        suggested("-d", "-dx sda 1 5");
        suggested("-p", "-p ALL 1");
        suggested("--human", "--human");
        for (option, words) in [("-x", "--sort r/s -x"), ("-x", "analyze -x 1"), ("--frm", "--frm x")] {
            assert_eq!(message(option, words), None, "{words}");
        }
    }

    #[test]
    fn a_similar_name_is_a_typo_of_a_command() {
        for (word, command) in [
            ("analze", "analyze"),
            ("recrod", "record"),
            ("device", "devices"),
            ("pt-diskstat", "pt-diskstats"),
        ] {
            assert_eq!(similar_command(word).as_deref(), Some(command));
        }
        for word in ["vda", "sda", "md0", "nvme0n1", "total", "1", ""] {
            assert_eq!(similar_command(word), None, "{word}");
        }
    }
}
