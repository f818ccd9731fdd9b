//! Tables without lines.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};

/// The side of a column to which its cells are aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// Blank columns in and next to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spacing {
    pub(crate) gap: u16,
    pub(crate) indent: usize,
}

/// Appends a table as wide as its cells, which may have several lines; blanks at the end of lines are removed.
///
/// An empty `header` is not printed. `aligns` gives the alignment of each column; further columns are aligned like the
/// last one.
pub(crate) fn plain_table(
    header: &[&str],
    aligns: &[Align],
    rows: impl IntoIterator<Item = Vec<String>>,
    spacing: Spacing,
    out: &mut Vec<u8>,
) {
    let mut table = Table::new();
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    if !header.is_empty() {
        table.set_header(header.to_vec());
    }
    table.add_rows(rows);
    let aligns = aligns.iter().chain(aligns.last().into_iter().cycle());
    for (column, align) in table.column_iter_mut().zip(aligns) {
        column.set_padding((0, spacing.gap));
        column.set_cell_alignment(match align {
            Align::Left => CellAlignment::Left,
            Align::Right => CellAlignment::Right,
        });
    }
    for line in table.lines() {
        out.extend(std::iter::repeat_n(b' ', spacing.indent));
        out.extend_from_slice(line.trim_end().as_bytes());
        out.push(b'\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(header: &[&str], rows: &[[&str; 3]], spacing: Spacing) -> String {
        let mut out = Vec::new();
        let rows = rows.iter().map(|row| row.map(str::to_owned).to_vec());
        plain_table(header, &[Align::Left, Align::Right], rows, spacing, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn the_last_alignment_holds_for_the_columns_after_it() {
        let rows = [["sda", "1", "22"], ["loop10", "333", ""]];
        let text = drawn(&["device", "a", "b"], &rows, Spacing { gap: 2, indent: 1 });
        assert_eq!(text, " device    a   b\n sda       1  22\n loop10  333\n");
    }

    #[test]
    fn a_cell_may_have_several_lines_and_the_header_may_be_missing() {
        let text = drawn(&[], &[["磁盘", "1", "2\n3"]], Spacing { gap: 1, indent: 0 });
        assert_eq!(text, "磁盘 1 2\n       3\n");
    }
}
