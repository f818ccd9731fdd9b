//! Text in HTML. Names of devices, cgroups, processes, files and hosts come from outside and may contain anything.

use std::fmt::Write;

use crate::sanitize::sanitize;

/// Returns a text that is safe between tags and in quoted attributes: characters with a meaning in HTML are escaped,
/// and those that control terminals or the direction of text are shown as escapes such as `\u{202e}`.
pub(super) fn escape(text: &str) -> String {
    let text = sanitize(text);
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Marks and separators that change the direction of text, or that a terminal ignores.
            '\u{61c}' | '\u{180e}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' => {
                // Writing to a string cannot fail.
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    safe
}

/// Returns a name as a separate element, so that right-to-left text in it does not affect its surroundings.
pub(super) fn name(text: &str) -> String {
    format!("<bdi>{}</bdi>", escape(text))
}

/// Returns sentences as a list; nothing without any.
pub(super) fn list(sentences: &[String]) -> String {
    let items: String = sentences.iter().map(|sentence| format!("<li>{}", escape(sentence))).collect();
    if items.is_empty() { items } else { format!("<ul>{items}</ul>") }
}

/// Returns a word of a shell command: quoted unless it has only harmless characters. Characters that are not printable
/// have the form that bash reads, `$'\x1b'`.
pub(super) fn shell_word(word: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "</script><script>alert(1)</script>\"'&\u{202e}\u{61c}\u{1b}[2J\n";

    #[test]
    fn nothing_of_a_name_is_markup() {
        let safe = escape(HOSTILE);
        assert!(!safe.contains(['<', '>', '"', '\'', '\u{202e}', '\u{61c}', '\u{1b}', '\n']), "{safe}");
        assert_eq!(name("dm<0"), "<bdi>dm&lt;0</bdi>");
    }

    #[test]
    fn a_shell_reads_the_words_that_were_meant() {
        assert_eq!(shell_word("/var/log/a-1.txt"), "/var/log/a-1.txt");
        assert_eq!(shell_word("it's $(here)"), r"'it'\''s $(here)'");
        assert_eq!(shell_word(""), "''");
        // Characters outside ASCII are printable, unless they control a terminal.
        assert_eq!(shell_word("диск 1"), "'диск 1'");
        assert_eq!(shell_word("x\u{1b}[2J'\\\n\u{202e}"), r"$'x\x1b[2J\'\\\x0a\xe2\x80\xae'");
    }
}
