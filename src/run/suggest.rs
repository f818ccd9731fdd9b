//! Suggestions for mistyped device names.

use crate::sanitize::sanitize;

/// Returns the name nearest to a mistyped one: at most one edit for every three characters, and one more, away.
pub(super) fn nearest_name<'a>(word: &str, names: impl Iterator<Item = &'a String>) -> Option<&'a str> {
    let distance = |name: &&String| strsim::damerau_levenshtein(name, word);
    let near = names.filter(|name| distance(name) <= 1 + word.len() / 3);
    near.min_by_key(distance).map(String::as_str)
}

/// Words the message that no device has any of these names, with the name `nearest` to them or where to find the names.
pub(super) fn unknown_device(words: &[&str], nearest: Option<&str>) -> String {
    let words: Vec<_> = words.iter().map(|word| sanitize(word)).collect();
    let advice = match nearest {
        Some(name) => format!("did you mean '{}'?", sanitize(name)),
        None => "run 'blkstat devices' for a list".to_owned(),
    };
    format!("no such device '{}'; {advice}", words.join("' or '"))
}
