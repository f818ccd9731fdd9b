//! The low end, the high end and the middle of what was seen; the ends in bounded memory.

use super::thresholds::{MAX_STEPS, MIN_CONFIRMATIONS};

/// The best of blocks of [`MAX_STEPS`] values, of each block the third best: two outliers in a block do no harm. It hardly moves
/// however long it runs, where a record of all time would tighten for ever: the best of a thousand blocks is half a standard
/// deviation from that of the first.
#[derive(Clone, Debug)]
pub(super) struct Best {
    end: End,
    /// The best values of the present block, the best first.
    now: Vec<Seen>,
    /// The number of values of the present block.
    count: usize,
    /// The best of the blocks so far.
    block: Option<Seen>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Low,
    High,
}

/// A value, and when it was seen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Seen {
    pub(super) value: f64,
    /// Seconds of the run.
    pub(super) at_s: f64,
}

impl Best {
    pub(super) fn new(end: End) -> Self {
        Self {
            end,
            now: Vec::with_capacity(MIN_CONFIRMATIONS + 1),
            count: 0,
            block: None,
        }
    }

    pub(super) fn add(&mut self, value: f64, at_s: f64) {
        let place = self
            .now
            .iter()
            .position(|other| self.is_better(value, other.value))
            .unwrap_or(self.now.len());
        self.now.insert(place, Seen { value, at_s });
        self.now.truncate(MIN_CONFIRMATIONS);
        self.count += 1;
        if self.count == MAX_STEPS {
            let third = self.now[MIN_CONFIRMATIONS - 1];
            if self
                .block
                .is_none_or(|best| self.is_better(third.value, best.value))
            {
                self.block = Some(third);
            }
            self.now.clear();
            self.count = 0;
        }
    }

    /// The value; `None` until [`MIN_CONFIRMATIONS`] values were seen. The present block counts as soon as it is full, but the first one
    /// from its third value on.
    pub(super) fn value(&self) -> Option<f64> {
        self.seen().map(|seen| seen.value)
    }

    /// The value, and when it was seen.
    pub(super) fn seen(&self) -> Option<Seen> {
        self.block.or(self.now.get(MIN_CONFIRMATIONS - 1).copied())
    }

    fn is_better(&self, value: f64, other: f64) -> bool {
        match self.end {
            End::Low => value < other,
            End::High => value > other,
        }
    }
}

/// The median, or the higher of the two values in the middle; 0 without values.
pub(super) fn upper_median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_outliers_of_a_block_do_not_count_and_later_blocks_may_be_better() {
        let mut best = Best::new(End::Low);
        best.add(0.1, 0.0);
        best.add(0.2, 1.0);
        assert_eq!(best.value(), None);
        best.add(5.0, 2.0);
        assert_eq!(best.value(), Some(5.0));
        for second in 3..MAX_STEPS {
            best.add(6.0, second as f64);
        }
        assert_eq!(best.value(), Some(5.0));
        // A better block counts when it is full.
        for second in 0..MAX_STEPS - 1 {
            best.add(4.0, (MAX_STEPS + second) as f64);
        }
        assert_eq!(best.value(), Some(5.0));
        best.add(4.0, 0.0);
        assert_eq!(best.value(), Some(4.0));
        let mut highest = Best::new(End::High);
        for value in [3.0, 9.0, 7.0, 8.0] {
            highest.add(value, 0.0);
        }
        assert_eq!(highest.value(), Some(7.0));
    }
}
