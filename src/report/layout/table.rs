//! Tables without lines, and the choice of their columns.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use unicode_width::UnicodeWidthStr;

use super::ellipsize;

/// A table for people: it is as wide as its cells, which may have several lines, until it is made narrower.
pub(crate) struct TextTable {
    /// The cells, in the first row the titles.
    pub(crate) rows: Vec<Vec<String>>,
    pub(crate) aligns: Vec<char>,
    /// The blanks between columns, and those before the first one.
    pub(crate) gap: usize,
    pub(crate) indent: usize,
}

impl TextTable {
    /// Creates a table with two blanks between its columns. `aligns` has a letter for each column, `l` for left or `r` for
    /// right; further columns are aligned like the last one.
    pub(crate) fn new(
        titles: &[&str],
        aligns: &str,
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> Self {
        let mut all_rows = vec![titles.iter().map(|title| (*title).to_owned()).collect()];
        all_rows.extend(rows);
        let mut all_aligns = Vec::from_iter(aligns.chars());
        let last = *all_aligns.last().unwrap_or(&'l');
        all_aligns.resize(titles.len(), last);
        Self {
            rows: all_rows,
            aligns: all_aligns,
            gap: 2,
            indent: 0,
        }
    }

    /// Adds a column at the right, aligned left.
    pub(crate) fn add_column(&mut self, title: &str, cells: impl IntoIterator<Item = String>) {
        self.aligns.push('l');
        self.rows[0].push(title.to_owned());
        for (row, cell) in std::iter::zip(&mut self.rows[1..], cells) {
            row.push(cell);
        }
    }

    fn width_of(&self, column: usize) -> usize {
        let mut width = 0;
        for row in &self.rows {
            let Some(cell) = row.get(column) else {
                continue;
            };
            for line in cell.lines() {
                width = width.max(line.width());
            }
        }
        width
    }

    /// The width of a line.
    pub(crate) fn width(&self) -> usize {
        let columns = (0..self.aligns.len()).map(|column| self.gap + self.width_of(column));
        self.indent + columns.sum::<usize>().saturating_sub(self.gap)
    }

    /// Shortens the cells of a column in their middle until lines fit into `width`, but not below `min`.
    pub(crate) fn shorten(&mut self, column: usize, min: usize, width: usize) {
        let excess = self.width().saturating_sub(width);
        let width = self.width_of(column).saturating_sub(excess).max(min);
        for row in &mut self.rows {
            row[column] = ellipsize(&row[column], width);
        }
    }

    /// Drops columns as [`fit_columns`] does until lines fit into `width`, except those of the rank [`KEEP`]. Returns the
    /// titles of the dropped ones.
    pub(crate) fn drop_columns(&mut self, ranks: &[u8], width: usize) -> Vec<String> {
        let columns = 0..self.aligns.len();
        let widths: Vec<usize> = columns.map(|at| self.gap + self.width_of(at)).collect();
        let kept = fit_columns(
            &widths,
            ranks,
            (width + self.gap).saturating_sub(self.indent),
        );
        let mut titles = Vec::new();
        for at in (0..ranks.len()).rev() {
            if ranks[at] != KEEP && !kept.contains(&at) {
                titles.push(self.rows[0][at].clone());
                self.aligns.remove(at);
                for row in &mut self.rows {
                    row.remove(at);
                }
            }
        }
        titles.reverse();
        titles
    }

    /// Appends the table, without blanks at the end of lines.
    pub(crate) fn push(&self, out: &mut Vec<u8>) {
        let mut table = Table::new();
        table
            .load_style(NOTHING)
            .set_content_arrangement(ContentArrangement::Disabled);
        table.add_rows(&self.rows);
        for (column, align) in std::iter::zip(table.column_iter_mut(), &self.aligns) {
            column.set_padding((0, self.gap as u16));
            column.set_cell_alignment(match align {
                'r' => CellAlignment::Right,
                _ => CellAlignment::Left,
            });
        }
        for line in table.lines() {
            out.extend(std::iter::repeat_n(b' ', self.indent));
            out.extend_from_slice(line.trim_end().as_bytes());
            out.push(b'\n');
        }
    }
}

/// The rank of a column that is never dropped.
pub(crate) const KEEP: u8 = u8::MAX;

/// Drops columns, those of the lowest rank first, until the others fit into `width`; returns these as indices.
///
/// `widths` and `ranks` have an entry for each column; a width includes the gap to the next column. Columns of one rank
/// are dropped together, unless only columns of that rank are left: these are dropped one by one from the right.
pub(crate) fn fit_columns(widths: &[usize], ranks: &[u8], width: usize) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..widths.len().min(ranks.len())).collect();
    while kept.iter().map(|at| widths[*at]).sum::<usize>() > width {
        let Some(lowest) = kept.iter().map(|at| ranks[*at]).min() else {
            break;
        };
        let mut stay = kept.clone();
        stay.retain(|at| ranks[*at] > lowest);
        if stay.is_empty() {
            kept.pop();
        } else {
            kept = stay;
        }
    }
    kept
}

#[cfg(test)]
mod table_tests {
    use super::*;

    fn drawn(table: &TextTable) -> String {
        let mut out = Vec::new();
        table.push(&mut out);
        String::from_utf8(out).unwrap()
    }

    fn table() -> TextTable {
        let rows = [["sda", "1", "22"], ["loop10", "333", "4\n5"]];
        TextTable::new(
            &["device", "a", "磁盘"],
            "lr",
            rows.map(|row| row.map(str::to_owned).to_vec()),
        )
    }

    #[test]
    fn cells_are_aligned_and_may_have_several_lines() {
        let mut table = table();
        (table.indent, table.gap) = (1, 2);
        assert_eq!(table.width(), 18);
        let expected =
            " device    a  磁盘\n sda       1    22\n loop10  333     4\n                 5\n";
        assert_eq!(drawn(&table), expected);
    }

    #[test]
    fn a_table_that_is_too_wide_loses_columns_and_then_letters() {
        let mut table = table();
        assert_eq!(table.drop_columns(&[KEEP, 1, 2], 17), Vec::<String>::new());
        assert_eq!(table.drop_columns(&[KEEP, 1, 2], 16), ["a"]);
        table.shorten(0, 3, 10);
        assert_eq!(
            drawn(&table),
            "de…e  磁盘\nsda     22\nlo…0     4\n         5\n"
        );
        table.shorten(0, 3, 1);
        assert_eq!(table.width(), 9);
    }
}

#[cfg(test)]
mod fit_tests {
    use super::*;

    fn fit(ranks: &[u8], width: usize) -> Vec<usize> {
        fit_columns(&[5, 3, 4, 2], ranks, width)
    }

    #[test]
    fn the_lowest_ranks_are_dropped_first() {
        assert_eq!(fit(&[4, 1, 2, 3], 14), vec![0, 1, 2, 3]);
        assert_eq!(fit(&[4, 1, 2, 3], 13), vec![0, 2, 3]);
        assert_eq!(fit(&[4, 1, 2, 3], 7), vec![0, 3]);
        assert_eq!(fit(&[4, 1, 2, 3], 4), Vec::<usize>::new());
    }

    #[test]
    fn columns_of_one_rank_go_together_except_the_last() {
        assert_eq!(fit(&[2, 1, 2, 1], 13), vec![0, 2]);
        assert_eq!(fit(&[2, 1, 2, 1], 6), vec![0]);
    }
}
