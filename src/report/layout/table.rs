//! Tables without lines, and the choice of their columns.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use unicode_width::UnicodeWidthStr;

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

/// Returns the width of each column: that of its title, or of its widest cell. Rows may have more cells than there are
/// titles.
pub(crate) fn column_widths<'a>(titles: &[&str], rows: impl IntoIterator<Item = &'a [String]>) -> Vec<usize> {
    let mut widths: Vec<usize> = titles.iter().map(|title| title.width()).collect();
    for row in rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.width());
        }
    }
    widths
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

/// The columns of a table that are shown and those that are not, as indices.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct FittedColumns {
    /// The columns that fit, from left to right.
    pub(crate) kept: Vec<usize>,
    /// The other columns, also from left to right.
    pub(crate) dropped: Vec<usize>,
}

/// Drops columns, those of the lowest rank first, until the others fit into `width`.
///
/// `widths` and `ranks` have an entry for each column; a width includes the gap to the next column. Columns of one rank
/// are dropped together, unless only columns of that rank are left: these are dropped one by one from the right.
pub(crate) fn fit_columns(widths: &[usize], ranks: &[u8], width: usize) -> FittedColumns {
    let mut kept: Vec<usize> = (0..widths.len().min(ranks.len())).collect();
    let mut dropped = Vec::new();
    while kept.iter().map(|at| widths[*at]).sum::<usize>() > width {
        let Some(lowest) = kept.iter().map(|at| ranks[*at]).min() else { break };
        let (stay, go): (Vec<usize>, Vec<usize>) = kept.iter().partition(|at| ranks[**at] > lowest);
        if stay.is_empty() {
            dropped.extend(kept.pop());
        } else {
            kept = stay;
            dropped.extend(go);
        }
    }
    dropped.sort_unstable();
    FittedColumns { kept, dropped }
}

#[cfg(test)]
mod table_tests {
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

#[cfg(test)]
mod fit_tests {
    use super::*;

    fn fit(ranks: &[u8], width: usize) -> (Vec<usize>, Vec<usize>) {
        let fitted = fit_columns(&[5, 3, 4, 2], ranks, width);
        (fitted.kept, fitted.dropped)
    }

    #[test]
    fn the_lowest_ranks_are_dropped_first() {
        assert_eq!(fit(&[4, 1, 2, 3], 14), (vec![0, 1, 2, 3], vec![]));
        assert_eq!(fit(&[4, 1, 2, 3], 13), (vec![0, 2, 3], vec![1]));
        assert_eq!(fit(&[4, 1, 2, 3], 7), (vec![0, 3], vec![1, 2]));
        assert_eq!(fit(&[4, 1, 2, 3], 4), (vec![], vec![0, 1, 2, 3]));
    }

    #[test]
    fn columns_of_one_rank_go_together_except_the_last() {
        assert_eq!(fit(&[2, 1, 2, 1], 13), (vec![0, 2], vec![1, 3]));
        assert_eq!(fit(&[2, 1, 2, 1], 6), (vec![0], vec![1, 2, 3]));
    }
}
