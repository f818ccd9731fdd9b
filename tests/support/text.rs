//! What blkstat prints, in a form that tests can compare.

use serde_json::Value;

/// Parses each line as JSON.
pub(crate) fn json_lines(text: &str) -> Vec<Value> {
    let mut values = Vec::new();
    for line in text.lines() {
        values.push(serde_json::from_str(line).unwrap());
    }
    values
}

/// Puts the words of all lines into one line, with a blank between them.
pub(crate) fn one_line(text: &str) -> String {
    Vec::from_iter(text.split_whitespace()).join(" ")
}
