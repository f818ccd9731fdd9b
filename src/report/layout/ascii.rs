//! Text for terminals that show only ASCII.

use std::ffi::OsString;

use super::sparkline::{ASCII, BLOCKS};

/// Returns whether the terminal shows UTF-8, by the locale (setlocale(3)). The Linux console has few characters.
pub(crate) fn shows_utf8(variable: &dyn Fn(&str) -> Option<OsString>) -> bool {
    let text =
        |name: &&str| variable(name).map(|value| value.to_string_lossy().to_ascii_lowercase());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| text(name).filter(|v| !v.is_empty()));
    locale.is_some_and(|locale| locale.contains("utf-8") || locale.contains("utf8"))
        && text(&"TERM").is_none_or(|term| term != "linux")
}

/// Replaces what is not ASCII. In tables the width stays: only `±`, which stands in sentences, becomes longer.
pub(crate) fn to_ascii(text: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            'µ' => ascii.push('u'),
            '≤' => ascii.push('<'),
            '±' => ascii.push_str("+-"),
            'Δ' => ascii.push('D'),
            '…' => ascii.push('~'),
            '–' | '—' | '─' => ascii.push('-'),
            '│' | '├' => ascii.push('|'),
            '└' => ascii.push('`'),
            '░' => ascii.push('.'),
            '▒' => ascii.push('o'),
            '▓' => ascii.push('O'),
            c if c.is_ascii() => ascii.push(c),
            c => ascii.push(
                BLOCKS
                    .iter()
                    .position(|block| *block == c)
                    .map_or('?', |at| ASCII[at]),
            ),
        }
    }
    ascii
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_names_the_locale() {
        let shows = |variables: &[(&str, &str)]| {
            let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
            shows_utf8(&|name| find(name).map(|(_, value)| OsString::from(*value)))
        };
        let utf8 = ("LANG", "en_US.UTF-8");
        assert!(
            shows(&[utf8]) && shows(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8"), ("TERM", "xterm")])
        );
        assert!(
            !shows(&[]) && !shows(&[("LC_ALL", "C"), utf8]) && !shows(&[utf8, ("TERM", "linux")])
        );
    }

    #[test]
    fn tables_keep_their_width() {
        assert_eq!(
            to_ascii("≤util 10µs ├─vda1 │ └─ ▁▅█ ░▒▓█ se…"),
            "<util 10us |-vda1 | `- _=# .oO# se~"
        );
        assert_eq!(to_ascii("(±0.3%) – диск"), "(+-0.3%) - ????");
    }
}
