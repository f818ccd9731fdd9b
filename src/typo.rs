//! Finds what a mistyped word may have meant.

/// Returns the known word that takes the fewest changes of a letter to become `word`, at most `max_changes`, whatever
/// the case; `None` if it is like none of them.
pub fn most_similar<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    max_changes: usize,
) -> Option<&'a str> {
    let word = word.to_lowercase();
    let mut fewest = max_changes + 1;
    let mut similar = None;
    for candidate in known {
        let changes = strsim::damerau_levenshtein(&candidate.to_lowercase(), &word);
        if changes < fewest {
            (fewest, similar) = (changes, Some(candidate));
        }
    }
    similar
}

/// Returns the end of a message about a word that is not known: `; did you mean 'util'?`, or what says where to look.
pub fn did_you_mean<'a>(
    word: &str,
    known: impl IntoIterator<Item = &'a str>,
    otherwise: &str,
) -> String {
    // A typo rarely changes more than a third of a word.
    match most_similar(word, known, word.chars().count() / 3) {
        Some(similar) => format!("; did you mean '{similar}'?"),
        None => format!("; {otherwise}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_word_needs_the_fewest_changes() {
        let keys = ["util", "await", "r_await", "queue"];
        for (word, max_changes, expected) in [
            ("utl", 1, Some("util")),
            ("r_awiat", 2, Some("r_await")),
            ("AWAIT", 0, Some("await")),
            ("awaits", 2, Some("await")),
            ("utl", 0, None),
            ("bandwidth", 3, None),
            ("", 0, None),
        ] {
            assert_eq!(most_similar(word, keys, max_changes), expected, "{word}");
        }
    }
}
