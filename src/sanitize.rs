//! Text that somebody else made, on the way to a terminal.

use std::borrow::Cow;
use std::fmt::Write;

/// `text` with every character that could steer a terminal replaced by its escape, as in `\\u{1b}`.
///
/// Control characters do that, and the marks that turn the direction of writing.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hostile) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_hostile(c) {
            // Writing to a String cannot fail.
            let _ = write!(safe, "{}", c.escape_default());
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

/// `text` as a JSON string in its quotes, with every character escaped that could steer a terminal.
pub fn json_string(text: &str) -> String {
    json_text(serde_json::Value::from(text).to_string())
}

/// JSON on one line with every character in its strings escaped that could steer a terminal.
pub fn json_text(json: String) -> String {
    if !json.contains(is_hostile) {
        return json;
    }
    // What serde_json leaves as it is, JSON allows; a terminal may not.
    let escaped = |c: char| if is_hostile(c) { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() };
    json.chars().map(escaped).collect()
}

fn is_hostile(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_are_left_as_they_are() {
        assert!(matches!(sanitize("cciss/c0d0p1"), Cow::Borrowed("cciss/c0d0p1")));
        assert_eq!(sanitize("диск"), "диск");
    }

    #[test]
    fn a_json_string_is_quoted_and_harmless() {
        assert_eq!(json_string("sda"), "\"sda\"");
        let hostile = "a\"b\\c\n\u{1b}[31m\u{9b}2J";
        let quoted = json_string(hostile);
        assert!(!quoted.contains(char::is_control), "{quoted:?}");
        assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), hostile);
    }

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        assert_eq!(sanitize("a\u{1b}[2Jb\n\u{9b}\u{202e}"), "a\\u{1b}[2Jb\\n\\u{9b}\\u{202e}");
    }
}
