//! What a mistyped name may have meant.

use crate::sanitize::sanitize;

/// The nearest of `names`, as words that follow a message, or where they are listed.
pub(super) fn did_you_mean<'a>(word: &str, names: impl Iterator<Item = &'a String>) -> String {
    let distance = |name: &&String| strsim::damerau_levenshtein(name, word);
    let nearest = names.filter(|name| distance(name) <= 1 + word.len() / 3).min_by_key(distance);
    nearest.map_or_else(
        || "; blkstat devices lists them".to_owned(),
        |name| format!("; did you mean '{}'?", sanitize(name)),
    )
}
