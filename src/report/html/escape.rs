//! Text in HTML. Names of devices, cgroups, processes, files and hosts come from outside and may contain anything.

use std::fmt::Write;

use crate::analysis::Verdict;
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

/// Returns the label of a device, as a link if it has a section of this number.
pub(super) fn link(label: &str, section: Option<usize>) -> String {
    match section {
        Some(section) => format!("<a href=\"#d{section}\">{}</a>", name(label)),
        None => name(label),
    }
}

/// Returns sentences as a list; nothing without any.
pub(super) fn list(sentences: &[String]) -> String {
    let items: String = sentences.iter().map(|sentence| format!("<li>{}", escape(sentence))).collect();
    if items.is_empty() { items } else { format!("<ul>{items}</ul>") }
}

/// The class of a verdict.
pub(super) fn verdict_class(verdict: Option<Verdict>) -> &'static str {
    verdict.map_or("unknown", Verdict::name)
}

pub(super) fn verdict_word(verdict: Option<Verdict>) -> &'static str {
    verdict.map_or("no verdict", Verdict::name)
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
}
