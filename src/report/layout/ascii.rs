//! Text for terminals that show only ASCII.

use super::sparkline::{ASCII, BLOCKS};

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
    fn tables_keep_their_width() {
        assert_eq!(
            to_ascii("≤util 10µs ├─vda1 │ └─ ▁▅█ ░▒▓█ se…"),
            "<util 10us |-vda1 | `- _=# .oO# se~"
        );
        assert_eq!(to_ascii("(±0.3%) – диск"), "(+-0.3%) - ????");
    }
}
