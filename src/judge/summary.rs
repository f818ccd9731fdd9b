//! The seconds with each verdict, and the word for all of them.

use super::thresholds::{MIN_SHARE, ON_TIME, QUARTER, STALL_S};
use super::verdict::Verdict;

/// The verdicts on a time in which requests wait, the most severe first.
const WAITING: [Verdict; 6] = [
    Verdict::Stalled,
    Verdict::Throttled,
    Verdict::Capped,
    Verdict::Saturated,
    Verdict::Slow,
    Verdict::Queueing,
];

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VerdictTimes {
    /// In the order of [`Verdict`]; then those without a verdict.
    seconds: [f64; Verdict::ALL.len() + 1],
}

impl VerdictTimes {
    pub fn add(&mut self, verdict: Option<Verdict>, seconds: f64) {
        self.seconds[verdict.map_or(Verdict::ALL.len(), |verdict| verdict as usize)] += seconds;
    }

    /// Adds other times.
    pub fn add_all(&mut self, other: &Self) {
        for (own, other) in self.seconds.iter_mut().zip(other.seconds) {
            *own += other;
        }
    }

    /// The seconds with a verdict.
    pub fn of(&self, verdict: Verdict) -> f64 {
        self.seconds[verdict as usize]
    }

    /// The seconds with each verdict, the most severe first, and at last those without one.
    pub fn iter(&self) -> impl Iterator<Item = (Option<Verdict>, f64)> {
        let without = (None, self.seconds[Verdict::ALL.len()]);
        let verdicts = Verdict::ALL.map(|verdict| (Some(verdict), self.of(verdict)));
        verdicts.into_iter().chain([without])
    }

    /// The seconds with work.
    pub fn work_s(&self) -> f64 {
        let without_work = [Some(Verdict::Idle), Some(Verdict::AccountingOff), None];
        let mut work_s = 0.0;
        for (verdict, seconds) in self.iter() {
            if !without_work.contains(&verdict) {
                work_s += seconds;
            }
        }
        work_s
    }

    /// The fraction of the seconds with work that have one of these verdicts; 0 without work.
    pub fn share(&self, verdicts: &[Verdict]) -> f64 {
        let work_s = self.work_s();
        let seconds: f64 = verdicts.iter().map(|verdict| self.of(*verdict)).sum();
        if work_s > 0.0 { seconds / work_s } else { 0.0 }
    }

    /// The fraction of the seconds with work that have a verdict; for `queueing`, also those in trouble, in which requests wait
    /// as well.
    pub fn share_of_word(&self, verdict: Verdict) -> f64 {
        match verdict {
            Verdict::Queueing => self.share(&WAITING),
            verdict => self.share(&[verdict]),
        }
    }

    /// The word for all of the time: the worst trouble that made up a tenth of the time with work; a stall always; `ok` where
    /// hardly anything is only `busy`. `None` without data.
    pub fn summary(&self) -> Option<Verdict> {
        if self.work_s() == 0.0 {
            let mut without_work = [Verdict::AccountingOff, Verdict::Idle].into_iter();
            return without_work.find(|verdict| self.of(*verdict) > 0.0);
        }
        if self.of(Verdict::Stalled) >= ON_TIME * STALL_S {
            return Some(Verdict::Stalled);
        }
        for verdict in WAITING {
            if verdict.is_trouble() && self.share(&[verdict]) >= MIN_SHARE {
                return Some(verdict);
            }
        }
        Some(if self.share(&WAITING) >= MIN_SHARE {
            Verdict::Queueing
        } else if self.share(&[Verdict::Busy]) < QUARTER {
            Verdict::Ok
        } else {
            Verdict::Busy
        })
    }
}
