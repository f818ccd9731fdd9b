//! The columns that are shown: those that fit. Empty ones are dropped first.

use super::columns::COLUMNS;
use super::verdict_cell::VerdictLength;
use crate::report::layout::{FittedColumns, fit_columns};

/// The content of each column.
pub(super) type ColumnContents = [Content; COLUMNS.len()];

/// The content of a column so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Content {
    /// Every cell is `-` or zero.
    Empty,
    /// Every cell is `-`, but values may follow without another kind of activity.
    Pending,
    /// Some cells have values.
    Filled,
}

/// The lowest rank of the columns that take precedence over mount points.
const MIN_RANK_ABOVE_MOUNTS: u8 = 90;
/// The columns of throughput, and below their rank if there are mount points, which leave them space if possible.
const THROUGHPUTS: [&str; 2] = ["rMB/s", "wMB/s"];
const THROUGHPUT_RANK_BESIDE_MOUNTS: u8 = MIN_RANK_ABOVE_MOUNTS - 1;
/// The rank of a column with pending content: just above merges and request sizes.
const PENDING_RANK: u8 = 60;
/// The number added to the rank of a column that is not empty, so that every empty one is dropped first.
const CONTENT_RANK: u8 = 128;
/// The columns that `queue` replaces if they do not fit.
const QUEUES: [&str; 3] = ["r_qu", "w_qu", "d_qu"];
const QUEUE: &str = "queue";

/// The additional width of the verdicts so far, if some held for only a part of the interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ExtraVerdictWidth {
    /// The additional width of long verdicts.
    pub(super) long: usize,
    /// The additional width of short verdicts.
    pub(super) short: usize,
}

impl ExtraVerdictWidth {
    /// Returns the longest form of verdicts that hides no column with content, and its additional width.
    pub(super) fn fit(
        self,
        width: usize,
        contents: &ColumnContents,
        has_mounts: bool,
    ) -> (VerdictLength, usize) {
        let hidden = |extra: usize| visible_columns(width.saturating_sub(extra), contents, has_mounts).hidden;
        if self.long == self.short || hidden(self.long) == hidden(self.short) {
            (VerdictLength::Long, self.long)
        } else {
            (VerdictLength::Short, self.short)
        }
    }
}

/// The columns of a table.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct VisibleColumns {
    /// The indices of the shown columns, from left to right.
    pub(super) shown: Vec<usize>,
    /// The titles of the columns with content that do not fit, from left to right.
    pub(super) hidden: Vec<&'static str>,
}

/// Returns the columns that fit into `width`. `has_mounts` is true if mount points follow.
pub(super) fn visible_columns(width: usize, contents: &ColumnContents, has_mounts: bool) -> VisibleColumns {
    let has_all = contents.iter().all(|content| *content == Content::Filled);
    let by_direction = fit(width, contents, has_mounts, |title| title != QUEUE || has_all);
    if by_direction.hidden.iter().any(|title| QUEUES[..2].contains(title)) {
        fit(width, contents, has_mounts, |title| !QUEUES.contains(&title))
    } else {
        by_direction
    }
}

/// Returns the columns that fit, among those that `is_candidate` permits by their title.
fn fit(
    width: usize,
    contents: &ColumnContents,
    has_mounts: bool,
    is_candidate: impl Fn(&str) -> bool,
) -> VisibleColumns {
    let is_possible = |index: &usize| {
        let column = &COLUMNS[*index];
        is_candidate(column.title)
            && (contents[*index] != Content::Empty || !column.is_hidden_empty || column.title == QUEUE)
    };
    let candidates: Vec<usize> = (0..COLUMNS.len()).filter(is_possible).collect();
    let widths: Vec<usize> = candidates.iter().map(|index| COLUMNS[*index].width).collect();
    // The sum of the queues has content by itself.
    let content =
        |index: usize| if COLUMNS[index].title == QUEUE { Content::Filled } else { contents[index] };
    let rank = |index: &usize| {
        let column = &COLUMNS[*index];
        let is_raised = has_mounts && THROUGHPUTS.contains(&column.title);
        let rank = if is_raised { THROUGHPUT_RANK_BESIDE_MOUNTS } else { column.rank };
        match content(*index) {
            Content::Empty => rank,
            Content::Pending => PENDING_RANK + CONTENT_RANK,
            Content::Filled => rank + CONTENT_RANK,
        }
    };
    let ranks: Vec<u8> = candidates.iter().map(rank).collect();
    let FittedColumns { kept, dropped } = fit_columns(&widths, &ranks, width);
    let dropped =
        dropped.into_iter().map(|index| candidates[index]).filter(|index| content(*index) == Content::Filled);
    VisibleColumns {
        shown: kept.into_iter().map(|index| candidates[index]).collect(),
        hidden: dropped.map(|index| COLUMNS[index].title).collect(),
    }
}

/// Returns the width of the columns that the mount points must not push out.
pub(super) fn width_above_mounts(width: usize, contents: &ColumnContents) -> usize {
    let VisibleColumns { shown, .. } = visible_columns(width, contents, true);
    let is_above =
        |index: &usize| contents[*index] == Content::Filled && COLUMNS[*index].rank >= MIN_RANK_ABOVE_MOUNTS;
    shown.into_iter().filter(is_above).map(|index| COLUMNS[index].width).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The titles shown and hidden if the columns that start with one of `empty` have no content.
    fn titles(width: usize, empty: &[char]) -> (Vec<&'static str>, Vec<&'static str>) {
        titles_with(width, empty, Content::Filled, false)
    }

    /// The titles like [`titles`], with this content of the saturations, and with or without mount points.
    fn titles_with(
        width: usize,
        empty: &[char],
        saturations: Content,
        has_mounts: bool,
    ) -> (Vec<&'static str>, Vec<&'static str>) {
        let contents = std::array::from_fn(|index| match COLUMNS[index].title {
            QUEUE => Content::Empty,
            title if title.starts_with(empty) => Content::Empty,
            title if title.ends_with("_sat") => saturations,
            _ => Content::Filled,
        });
        let VisibleColumns { shown, hidden } = visible_columns(width, &contents, has_mounts);
        (shown.into_iter().map(|index| COLUMNS[index].title).collect(), hidden)
    }

    #[test]
    fn every_column_is_shown_where_it_fits() {
        let (all, hidden) = titles(1000, &[]);
        // All columns except `queue`, which adds little to the queues by direction.
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
    fn verdicts_are_long_where_that_hides_no_column_with_content() {
        let contents = std::array::from_fn(|index| match COLUMNS[index].title {
            title if title.starts_with(['w', 'd', 'f']) => Content::Empty,
            _ => Content::Filled,
        });
        let extra = ExtraVerdictWidth { long: 11, short: 4 };
        assert_eq!(extra.fit(usize::MAX, &contents, false), (VerdictLength::Long, 11));
        let all = visible_columns(usize::MAX, &contents, false).shown;
        let with_content = all.into_iter().filter(|index| contents[*index] == Content::Filled);
        let width: usize = with_content.map(|index| COLUMNS[index].width).sum();
        assert_eq!(extra.fit(width + 11, &contents, false), (VerdictLength::Long, 11));
        assert_eq!(extra.fit(width + 10, &contents, false), (VerdictLength::Short, 4));
        assert_eq!(ExtraVerdictWidth::default().fit(width, &contents, false), (VerdictLength::Long, 0));
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
    #[test]
    fn saturations_give_way_while_unknown_and_are_not_named() {
        let is_saturation = |title: &&str| title.ends_with("_sat");
        let (at_100, _) = titles_with(90, &['d', 'f'], Content::Pending, false);
        assert_eq!(at_100.into_iter().filter(is_saturation).count(), 2, "their place is kept");
        let (at_80, hidden) = titles_with(70, &['d', 'f'], Content::Pending, false);
        assert!(at_80.contains(&"inflt") && !at_80.iter().any(is_saturation), "{at_80:?}");
        assert!(!hidden.iter().any(is_saturation), "{hidden:?}");
    }

    #[test]
    fn throughputs_stay_beside_mount_points() {
        let (beside, _) = titles_with(77, &['d', 'f'], Content::Filled, true);
        assert!(beside.contains(&"rMB/s") && beside.contains(&"wMB/s"), "{beside:?}");
    }
}
