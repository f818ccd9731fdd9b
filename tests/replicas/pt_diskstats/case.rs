//! Command lines and key presses.

use std::path::Path;

/// One command line of pt-diskstats on one capture.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Case {
    pub(crate) capture: String,
    /// The line, which identifies the case. `@` is replaced by the path of the capture.
    pub(crate) line: String,
}

impl Case {
    pub(crate) fn new(capture: &str, line: &str) -> Self {
        Self {
            capture: capture.to_owned(),
            line: line.to_owned(),
        }
    }

    /// Returns the capture and the line.
    pub(crate) fn name(&self) -> String {
        format!("{}: {}", self.capture, self.line)
    }

    /// Returns the arguments for the capture at `path`. Words are split at blanks, except between single quotes.
    pub(crate) fn arguments(&self, path: &Path) -> Vec<String> {
        let mut words: Vec<String> = Vec::new();
        for (index, piece) in self.line.split('\'').enumerate() {
            if index % 2 == 1 {
                // A quoted piece is a word of its own, or the value of `--option=`.
                let last = words.last_mut().filter(|word| word.ends_with('='));
                match last {
                    Some(word) => word.push_str(piece),
                    None => words.push(piece.to_owned()),
                }
            } else {
                words.extend(piece.split_whitespace().map(str::to_owned));
            }
        }
        words
            .iter()
            .map(|word| {
                if word == "@" {
                    path.display().to_string()
                } else {
                    word.clone()
                }
            })
            .collect()
    }
}

/// One session of pt-diskstats on a terminal.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Session {
    pub(crate) capture: String,
    pub(crate) rows: u16,
    /// The arguments, like in a case.
    pub(crate) line: String,
    /// The key presses, one per word. `Enter`, `Space`, `Up` and so on are these keys; `x+` is `x` and Enter.
    pub(crate) keys: String,
}

impl Session {
    /// Parses the name under which a session is recorded.
    pub(crate) fn parse(capture: String, name: &str) -> Self {
        let mut parts = name.split("; ").map(str::to_owned);
        let [rows, line, keys] = [(); 3].map(|()| parts.next().unwrap());
        Self {
            capture,
            rows: rows.trim_end_matches(" rows").parse().unwrap(),
            line,
            keys,
        }
    }

    /// Returns that name.
    pub(crate) fn name(&self) -> String {
        format!("{} rows; {}; {}", self.rows, self.line, self.keys)
    }

    /// Returns the capture and that name.
    pub(crate) fn full_name(&self) -> String {
        format!("{}: {}", self.capture, self.name())
    }

    /// Returns the bytes of each key press.
    pub(crate) fn presses(&self) -> Vec<Vec<u8>> {
        let press = |word: &str| match word {
            "Enter" => "\r".to_owned(),
            "Space" => " ".to_owned(),
            "Up" => "\u{1b}[A".to_owned(),
            "Down" => "\u{1b}[B".to_owned(),
            "Right" => "\u{1b}[C".to_owned(),
            _ => word
                .strip_suffix('+')
                .map_or(word.to_owned(), |line| format!("{line}\r")),
        };
        self.keys
            .split_whitespace()
            .map(|word| press(word).into_bytes())
            .collect()
    }
}
