//! Command lines and key presses.

use std::path::Path;

/// pt-diskstats, called in one way on one capture.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) capture: String,
    /// As the table has it; it names the case. `@` stands for the capture.
    pub(crate) line: String,
}

impl Case {
    pub(crate) fn new(capture: &str, line: &str) -> Self {
        Self { capture: capture.to_owned(), line: line.to_owned() }
    }

    /// The arguments, with the capture at `path`. Words are split at blanks but between single quotes.
    pub(crate) fn arguments(&self, path: &Path) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for (index, piece) in self.line.split('\'').enumerate() {
            if index % 2 == 1 {
                // A quoted piece is a word, or the end of `--option=`.
                let last = words.last_mut().filter(|word| word.ends_with('='));
                match last {
                    Some(word) => word.push_str(piece),
                    None => words.push(piece.to_owned()),
                }
            } else {
                words.extend(piece.split_whitespace().map(str::to_owned));
            }
        }
        words.iter().map(|word| if word == "@" { path.display().to_string() } else { word.clone() }).collect()
    }
}

/// pt-diskstats on a terminal.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) capture: String,
    pub(crate) rows: u16,
    /// Options, as in a case.
    pub(crate) line: String,
    /// What is typed, a word at a time; `Enter`, `Space`, `Up` and the like are those keys, `x+` is `x` and Enter.
    pub(crate) keys: String,
}

impl Session {
    /// As it is recorded.
    pub(crate) fn name(&self) -> String {
        format!("{} rows; {}; {}", self.rows, self.line, self.keys)
    }

    /// The bytes of each press.
    pub(crate) fn presses(&self) -> Vec<Vec<u8>> {
        let press = |word: &str| match word {
            "Enter" => "\r".to_owned(),
            "Space" => " ".to_owned(),
            "Up" => "\u{1b}[A".to_owned(),
            "Down" => "\u{1b}[B".to_owned(),
            "Right" => "\u{1b}[C".to_owned(),
            _ => word.strip_suffix('+').map_or(word.to_owned(), |line| format!("{line}\r")),
        };
        self.keys.split_whitespace().map(|word| press(word).into_bytes()).collect()
    }
}
