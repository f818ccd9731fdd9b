//! Numbers of verdicts by outcome.

use std::ops::AddAssign;

/// One comparison, the better first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Outcome {
    Right,
    Near,
    Busy,
    Silent,
    /// Not counted.
    NotScored,
    Wrong,
}

/// Numbers of comparisons by outcome.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally([u64; 6]);

impl Tally {
    pub(crate) fn count(&mut self, outcome: Outcome) {
        self.0[outcome as usize] += 1;
    }

    /// Returns the number of comparisons that count.
    pub(crate) fn total(&self) -> u64 {
        self.0.iter().sum::<u64>() - self.0[Outcome::NotScored as usize]
    }

    /// Returns the share of an outcome in percent; 0 without any comparison.
    pub(crate) fn percent(&self, outcome: Outcome) -> f64 {
        100.0 * self.0[outcome as usize] as f64 / self.total().max(1) as f64
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.0
            .iter_mut()
            .zip(other.0)
            .for_each(|(sum, count)| *sum += count);
    }
}

/// The scores of one or more captures.
#[derive(Clone, Debug, Default)]
pub(crate) struct Score {
    pub(crate) analyze: Tally,
    pub(crate) live: Tally,
    /// Changes of the live verdict, and those of the truth.
    pub(crate) changes: (u64, u64),
    /// Caps that were named in time, and all that should have been.
    pub(crate) caps: (u64, u64),
    pub(crate) events: EventTally,
    /// The contradictions between verdicts and events.
    pub(crate) contradictions: Vec<String>,
}

/// Events compared with the times of trouble. Errors are in steps of the judge: intervals of a second or longer.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct EventTally {
    pub(crate) events: u64,
    /// Events in times without trouble.
    pub(crate) false_events: u64,
    pub(crate) windows: u64,
    /// Times of trouble without an event.
    pub(crate) missed_windows: u64,
    /// Times of trouble without an event that the counters do not show; not among `windows`.
    pub(crate) hidden_windows: u64,
    /// Intervals of events, and those of them that are surely calm.
    pub(crate) event_time: f64,
    pub(crate) calm_time: f64,
    /// Intervals of times of trouble, and those of them outside events.
    pub(crate) window_time: f64,
    pub(crate) outside_time: f64,
    pub(crate) begin_errors: Vec<f64>,
    pub(crate) end_errors: Vec<f64>,
}

impl EventTally {
    /// Returns a quantile of errors; 0 without any.
    pub(crate) fn quantile(errors: &[f64], fraction: f64) -> f64 {
        let mut sorted = errors.to_vec();
        sorted.sort_by(f64::total_cmp);
        let index = (fraction * sorted.len() as f64) as usize;
        sorted
            .get(index.min(sorted.len().saturating_sub(1)))
            .copied()
            .unwrap_or_default()
    }
}

impl AddAssign for EventTally {
    fn add_assign(&mut self, other: Self) {
        self.events += other.events;
        self.false_events += other.false_events;
        self.windows += other.windows;
        self.missed_windows += other.missed_windows;
        self.hidden_windows += other.hidden_windows;
        self.event_time += other.event_time;
        self.calm_time += other.calm_time;
        self.window_time += other.window_time;
        self.outside_time += other.outside_time;
        self.begin_errors.extend(other.begin_errors);
        self.end_errors.extend(other.end_errors);
    }
}

impl AddAssign for Score {
    fn add_assign(&mut self, other: Self) {
        self.analyze += other.analyze;
        self.live += other.live;
        self.changes = (
            self.changes.0 + other.changes.0,
            self.changes.1 + other.changes.1,
        );
        self.caps = (self.caps.0 + other.caps.0, self.caps.1 + other.caps.1);
        self.events += other.events;
        self.contradictions.extend(other.contradictions);
    }
}
