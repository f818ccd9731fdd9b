//! Selection of the columns that fit into a width.

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
mod tests {
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
