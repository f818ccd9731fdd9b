//! Escapes text of unknown origin, such as device names, before it reaches a terminal.

use std::borrow::Cow;
use std::fmt::Write;
use std::path::Path;

/// Replaces every character that could control a terminal by its escape, such as `\u{1b}`: control characters,
/// invisible characters, and those that change the direction of text.
pub fn sanitize(text: &str) -> Cow<'_, str> {
    if !has_unsafe(text) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_unsafe(c) {
            // Writing to a String cannot fail.
            let _ = write!(safe, "{}", c.escape_default());
        } else {
            safe.push(c);
        }
    }
    Cow::Owned(safe)
}

/// Returns a path as it is named in messages.
pub fn path_text(path: &Path) -> String {
    sanitize(&path.display().to_string()).into_owned()
}

/// Formats `text` as a quoted JSON string in which every character that could control a terminal is escaped.
pub fn json_string(text: &str) -> String {
    json_text(serde_json::Value::from(text).to_string())
}

/// Appends the text of [`json_string`].
pub fn push_json_string(text: &str, out: &mut Vec<u8>) {
    let is_plain = |byte| !is_suspect(byte) && byte != b'"' && byte != b'\\';
    if text
        .bytes()
        .fold(true, |are_plain, byte| are_plain & is_plain(byte))
    {
        push_quoted(text, out);
    } else {
        out.extend_from_slice(json_string(text).as_bytes());
    }
}

/// Appends a text that needs no escapes as a string of JSON.
pub fn push_quoted(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    out.extend_from_slice(text.as_bytes());
    out.push(b'"');
}

/// Escapes every character that could control a terminal in the strings of JSON that is on one line.
pub fn json_text(json: String) -> String {
    if !has_unsafe(&json) {
        return json;
    }
    // serde_json leaves characters unescaped that JSON allows but terminals interpret.
    let mut safe = String::with_capacity(json.len() + 8);
    for c in json.chars() {
        if !is_unsafe(c) {
            safe.push(c);
            continue;
        }
        // Characters of more than 16 bits are two escapes.
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(safe, "\\u{unit:04x}");
        }
    }
    safe
}

/// Returns a word of a shell command: quoted unless it has only harmless characters. Characters that are not printable
/// have the form that bash reads, `$'\x1b'`.
pub fn shell_word(word: &str) -> String {
    let is_harmless = |c: char| c.is_ascii_alphanumeric() || "-_./,:+@%=".contains(c);
    if !word.is_empty() && word.chars().all(is_harmless) {
        return word.to_owned();
    }
    if *sanitize(word) == *word {
        return format!("'{}'", word.replace('\'', r"'\''"));
    }
    let mut quoted = "$'".to_owned();
    for c in word.chars() {
        let text = c.to_string();
        match c {
            '\'' | '\\' => quoted.extend(['\\', c]),
            _ if *sanitize(&text) == *text => quoted.push(c),
            _ => text.bytes().for_each(|byte| {
                let _ = write!(quoted, "\\x{byte:02x}");
            }),
        }
    }
    quoted + "'"
}

/// Returns whether a text has a character that could control a terminal.
fn has_unsafe(text: &str) -> bool {
    text.bytes()
        .fold(false, |has_suspect, byte| has_suspect | is_suspect(byte))
        && text.contains(is_unsafe)
}

/// Returns whether a byte may be part of a character that could control a terminal: each of these has such a byte, and
/// few others have one.
fn is_suspect(byte: u8) -> bool {
    matches!(byte, ..b' ' | 0x7f..=0x9f | 0xad | 0xef | 0xf3)
}

/// Returns whether a text has only characters from the blank to the tilde. Most texts do; to look at all bytes of each is
/// faster than to stop at one.
pub(crate) fn is_printable_ascii(text: &str) -> bool {
    text.bytes().fold(true, |is_printable, byte| {
        is_printable & matches!(byte, b' '..=b'~')
    })
}

/// Beside control characters: those that a terminal does not show (Default_Ignorable_Code_Point of Unicode), that separate
/// lines or that annotate text.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(
            c,
            '\u{ad}'
                | '\u{34f}'
                | '\u{61c}'
                | '\u{115f}'..='\u{1160}'
                | '\u{17b4}'..='\u{17b5}'
                | '\u{180b}'..='\u{180f}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{3164}'
                | '\u{fe00}'..='\u{fe0f}'
                | '\u{feff}'
                | '\u{ffa0}'
                | '\u{fff0}'..='\u{fffb}'
                | '\u{1bca0}'..='\u{1bca3}'
                | '\u{1d173}'..='\u{1d17a}'
                | '\u{e0000}'..='\u{e0fff}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_names_are_unchanged() {
        assert!(matches!(
            sanitize("cciss/c0d0p1"),
            Cow::Borrowed("cciss/c0d0p1")
        ));
        assert_eq!(sanitize("диск"), "диск");
    }

    #[test]
    fn every_invisible_character_is_escaped() {
        let all = "\u{ad}\u{34f}\u{61c}\u{115f}\u{1160}\u{17b4}\u{180e}\u{2060}\u{2061}\u{2064}\u{206f}\u{3164}\
                   \u{fe0f}\u{feff}\u{ffa0}\u{fffb}\u{1bca0}\u{1d173}\u{e0000}\u{e007f}\u{e0fff}";
        for c in all.chars() {
            let text = c.to_string();
            assert_eq!(sanitize(&text), c.escape_unicode().to_string());
            let json = json_string(&text);
            assert!(json.is_ascii(), "{json}");
            assert_eq!(serde_json::from_str::<String>(&json).unwrap(), text);
            let mut pushed = Vec::new();
            push_json_string(&text, &mut pushed);
            assert_eq!(pushed, json.as_bytes());
        }
    }

    #[test]
    fn a_json_string_is_quoted_and_safe() {
        assert_eq!(json_string("sda"), "\"sda\"");
        let text = "a\"b\\c\n\u{1b}[31m\u{9b}2J";
        let quoted = json_string(text);
        assert!(!quoted.contains(char::is_control), "{quoted:?}");
        assert_eq!(serde_json::from_str::<String>(&quoted).unwrap(), text);
    }

    #[test]
    fn a_shell_reads_the_words_that_were_meant() {
        assert_eq!(shell_word("/var/log/a-1.txt"), "/var/log/a-1.txt");
        assert_eq!(shell_word("it's $(here)"), r"'it'\''s $(here)'");
        assert_eq!(shell_word(""), "''");
        // Characters outside ASCII are printable, unless they control a terminal.
        assert_eq!(shell_word("диск 1"), "'диск 1'");
        assert_eq!(
            shell_word("x\u{1b}[2J'\\\n\u{202e}"),
            r"$'x\x1b[2J\'\\\x0a\xe2\x80\xae'"
        );
    }

    #[test]
    fn every_unsafe_character_is_found() {
        for c in '\0'..='\u{ffff}' {
            assert_eq!(has_unsafe(&format!("µ{c}")), is_unsafe(c), "{c:?}");
            let mut pushed = Vec::new();
            push_json_string(&c.to_string(), &mut pushed);
            assert_eq!(pushed, json_string(&c.to_string()).into_bytes(), "{c:?}");
        }
    }

    #[test]
    fn printable_ascii_is_told_from_all_else_at_any_place() {
        for byte in 0..=0xff_u8 {
            for place in 0..20 {
                let mut text = "sda-name ~ 0123456789".to_owned();
                text.replace_range(place..=place, &char::from(byte).to_string());
                let expected = text.chars().all(|c| (' '..='~').contains(&c));
                assert_eq!(is_printable_ascii(&text), expected, "{byte} {place}");
            }
        }
    }

    #[test]
    fn everything_that_controls_a_terminal_is_escaped() {
        assert_eq!(
            sanitize("a\u{1b}[2Jb\n\u{9b}\u{202e}"),
            "a\\u{1b}[2Jb\\n\\u{9b}\\u{202e}"
        );
    }
}
