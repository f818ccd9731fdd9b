//! The most severe verdict in a point of time.

use super::values::Merge;
use crate::analysis::Verdict;

/// The most severe verdict of several intervals. An interval without a verdict counts as more than `idle` and `ok`:
/// those are claims about all of the time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorstVerdict {
    worst: Option<Option<Verdict>>,
}

impl WorstVerdict {
    /// Adds the verdict on an interval; `None` if it has none.
    pub fn observe(&mut self, verdict: Option<Verdict>) {
        self.merge(Self { worst: Some(verdict) });
    }

    /// Returns the verdict: `Some(None)` for intervals without a verdict, `None` without intervals.
    pub fn get(&self) -> Option<Option<Verdict>> {
        self.worst
    }
}

impl Merge for WorstVerdict {
    fn merge(&mut self, later: Self) {
        let rank = |worst: &Self| worst.worst.map(rank);
        if rank(&later) > rank(self) {
            *self = later;
        }
    }
}

/// The rank of a verdict: the higher one is shown.
fn rank(verdict: Option<Verdict>) -> u8 {
    match verdict {
        Some(verdict @ (Verdict::Idle | Verdict::Ok)) => verdict.severity(),
        None => Verdict::Ok.severity() + 1,
        Some(verdict) => verdict.severity() + 2,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trouble_hides_silence_and_silence_hides_ok() {
        let worst = |verdicts: &[Option<Verdict>]| {
            let mut worst = WorstVerdict::default();
            verdicts.iter().for_each(|verdict| worst.observe(*verdict));
            worst.get()
        };
        let (ok, idle) = (Some(Verdict::Ok), Some(Verdict::Idle));
        assert_eq!(worst(&[]), None);
        assert_eq!((worst(&[idle, ok]), worst(&[ok, None, idle])), (Some(ok), Some(None)));
        let stalled = Some(Verdict::Stalled);
        assert_eq!(worst(&[None, stalled, Some(Verdict::Saturated)]), Some(stalled));
    }
}
