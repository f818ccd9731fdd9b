//! The columns that are shown: those that fit, the empty ones being the first to go.

use super::columns::COLUMNS;
use crate::report::layout::{FittedColumns, fit_columns};

/// A flag for each column.
pub(super) type ColumnFlags = [bool; COLUMNS.len()];

/// The columns that stay before the mount points get space.
const MIN_RANK_ABOVE_MOUNTS: u8 = 90;
/// Added to the rank of a column with content, so that every empty one is dropped before it.
const CONTENT_RANK: u8 = 128;
/// The columns that `queue` replaces where they do not fit.
const QUEUES: [&str; 3] = ["r_qu", "w_qu", "d_qu"];
const QUEUE: &str = "queue";

/// The columns of a table.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct VisibleColumns {
    /// The indices of those that are shown, from left to right.
    pub(super) shown: Vec<usize>,
    /// The titles of those with content that do not fit, from left to right.
    pub(super) hidden: Vec<&'static str>,
}

/// Returns the columns that fit into `width`. `has_content` has for each column whether a cell could have been other
/// than `-` or zero so far.
pub(super) fn visible_columns(width: usize, has_content: &ColumnFlags) -> VisibleColumns {
    let has_all = has_content.iter().all(|has_content| *has_content);
    let by_direction = fit(width, has_content, |title| title != QUEUE || has_all);
    if by_direction.hidden.iter().any(|title| QUEUES[..2].contains(title)) {
        fit(width, has_content, |title| !QUEUES.contains(&title))
    } else {
        by_direction
    }
}

/// Returns the columns that fit, of those that `is_candidate` permits by their title.
fn fit(width: usize, has_content: &ColumnFlags, is_candidate: impl Fn(&str) -> bool) -> VisibleColumns {
    let is_possible = |index: &usize| {
        let column = &COLUMNS[*index];
        is_candidate(column.title)
            && (has_content[*index] || !column.is_hidden_empty || column.title == QUEUE)
    };
    let candidates: Vec<usize> = (0..COLUMNS.len()).filter(is_possible).collect();
    let widths: Vec<usize> = candidates.iter().map(|index| COLUMNS[*index].width).collect();
    let is_empty = |index: usize| !has_content[index] && COLUMNS[index].title != QUEUE;
    let rank = |index: &usize| COLUMNS[*index].rank + if is_empty(*index) { 0 } else { CONTENT_RANK };
    let ranks: Vec<u8> = candidates.iter().map(rank).collect();
    let FittedColumns { kept, dropped } = fit_columns(&widths, &ranks, width);
    let dropped = dropped.into_iter().map(|index| candidates[index]).filter(|index| !is_empty(*index));
    VisibleColumns {
        shown: kept.into_iter().map(|index| candidates[index]).collect(),
        hidden: dropped.map(|index| COLUMNS[index].title).collect(),
    }
}

/// Returns the width of the columns that the mount points must not push out.
pub(super) fn width_above_mounts(width: usize, has_content: &ColumnFlags) -> usize {
    let VisibleColumns { shown, .. } = visible_columns(width, has_content);
    let is_above = |index: &usize| has_content[*index] && COLUMNS[*index].rank >= MIN_RANK_ABOVE_MOUNTS;
    shown.into_iter().filter(is_above).map(|index| COLUMNS[index].width).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The titles shown and hidden where the columns that start with one of `empty` have no content.
    fn titles(width: usize, empty: &[char]) -> (Vec<&'static str>, Vec<&'static str>) {
        let has_content = std::array::from_fn(|index| {
            let column = &COLUMNS[index];
            column.title != QUEUE && !column.title.starts_with(empty)
        });
        let VisibleColumns { shown, hidden } = visible_columns(width, &has_content);
        (shown.into_iter().map(|index| COLUMNS[index].title).collect(), hidden)
    }

    #[test]
    fn every_column_is_shown_where_it_fits() {
        let (all, hidden) = titles(1000, &[]);
        // All but `queue`, which adds little to the queues by direction.
        assert_eq!((all.len(), hidden), (COLUMNS.len() - 1, vec![]));
        assert!(titles(1000, &['d', 'f']).0.iter().all(|title| !title.starts_with(['d', 'f'])));
    }

    #[test]
    fn empty_columns_give_way_first_and_are_not_named() {
        let (reads_only, hidden) = titles(70, &['w', 'd', 'f']);
        for title in ["r/s", "rMB/s", "r_await", "r_qu", "inflt", "util", "≤util", "r_sat", "verdict"] {
            assert!(reads_only.contains(&title), "{title}: {reads_only:?}");
        }
        assert_eq!(hidden, Vec::<&str>::new());
    }

    #[test]
    fn narrow_tables_keep_latency_queue_util_and_verdict() {
        let (at_80, _) = titles(70, &['d', 'f']);
        let expected =
            ["r/s", "r_await", "w/s", "w_await", "r_qu", "w_qu", "util", "r_sat", "w_sat", "verdict"];
        assert_eq!(at_80, expected);
        let (at_60, hidden) = titles(50, &['d', 'f']);
        assert_eq!(at_60, ["r/s", "r_await", "w/s", "w_await", "queue", "util", "verdict"]);
        let expected = ["rMB/s", "r_sz", "wMB/s", "w_sz", "rmrg", "wmrg", "inflt", "≤util", "r_sat", "w_sat"];
        assert_eq!(hidden, expected, "in their order in the table");
        let (at_40, _) = titles(30, &['d', 'f']);
        assert_eq!(at_40, ["r_await", "queue", "util", "verdict"]);
        assert_eq!(titles(30, &['r', 'd', 'f']).0, ["w_await", "queue", "util", "verdict"]);
        assert_eq!(titles(3, &[]).0, Vec::<&str>::new());
    }
}
