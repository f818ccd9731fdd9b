//! The schedule of samples: absolute deadlines at multiples of an interval, so that delays do not accumulate.

use std::time::Duration;

use crate::units::{SampleTime, Span};

pub const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);

/// The interval and the number of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    /// The time between reports. `None` if it is not given.
    pub interval: Option<Duration>,
    /// The number of reports; `None` for no limit.
    pub count: Option<u64>,
}

const MIN_INTERVAL: Duration = Duration::from_millis(10);
/// The longest interval in seconds: 366 days.
const MAX_INTERVAL_S: f64 = 366.0 * 86_400.0;

/// Parses a duration: a number of seconds, or a number followed by `us`, `ms`, `s`, `m` or `h`.
///
/// # Errors
/// A message about it.
pub fn parse_interval(word: &str) -> Result<Duration, String> {
    const EXPECTED: &str = "expected 10ms or more, such as 1, 0.5, 100ms, 2s or 1m";
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    // A slip of the hand must not mean 1,000 s.
    if digits.contains(['e', 'E']) {
        return Err(format!(
            "invalid INTERVAL '{word}'; write it without an exponent, such as 1000 or 0.5"
        ));
    }
    let seconds_in_unit = match &word[digits.len()..] {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(format!("invalid INTERVAL '{word}'; {EXPECTED}")),
    };
    let seconds = digits
        .parse::<f64>()
        .ok()
        .map(|amount| amount * seconds_in_unit);
    if seconds.is_some_and(|seconds| seconds > MAX_INTERVAL_S) {
        return Err(format!(
            "invalid INTERVAL '{word}'; expected 366 days (8784h) or less"
        ));
    }
    let fits = |seconds: &f64| (0.0..=MAX_INTERVAL_S).contains(seconds);
    let interval = seconds
        .filter(fits)
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    interval
        .filter(|length| *length >= MIN_INTERVAL)
        .ok_or_else(|| format!("invalid INTERVAL '{word}'; {EXPECTED}"))
}

/// Says which samples of a capture end an interval that is longer than the time between samples.
pub struct Resampling {
    interval: Option<Duration>,
    start: SampleTime,
    /// The multiple of the interval that comes next.
    next: f64,
}

impl Resampling {
    /// Begins intervals of this length at a sample; `None` ends one at every sample.
    pub fn new(interval: Option<Duration>, start: SampleTime) -> Self {
        Self {
            interval,
            start,
            next: 1.0,
        }
    }

    /// Returns whether a sample ends an interval; `previous` is the one before it. The sample nearest to the next multiple
    /// of the interval does, because samples are never exactly on time.
    pub fn is_due(&mut self, previous: &SampleTime, sample: &SampleTime) -> bool {
        let Some(interval) = self.interval else {
            return true;
        };
        let seconds_since = |from: &SampleTime| sample.since(from).map_or(0.0, Span::seconds);
        // The next sample is expected after about as long as the last one, unless that followed a gap.
        let interval_s = interval.as_secs_f64();
        let step_s = seconds_since(previous).min(interval_s);
        let multiples = (seconds_since(&self.start) + step_s / 2.0) / interval_s;
        if multiples < self.next {
            return false;
        }
        self.next = multiples.floor() + 1.0;
        true
    }
}

/// Deadlines at multiples of an interval after a start. Missed deadlines are skipped.
pub struct Deadlines {
    start: Duration,
    interval: Duration,
    /// The number of the last deadline returned; 0 is the start.
    last: u128,
}

impl Deadlines {
    /// Creates deadlines at multiples of `interval` after `start`, a monotonic time.
    pub fn new(start: Duration, interval: Duration) -> Self {
        Self {
            start,
            interval: interval.max(Duration::from_nanos(1)),
            last: 0,
        }
    }

    /// Returns the next deadline after `now` and the number of deadlines missed before it. No deadline is returned
    /// twice, even if a wait ended early.
    pub fn next(&mut self, now: Duration) -> (Duration, u64) {
        let passed = now.saturating_sub(self.start).as_nanos() / self.interval.as_nanos();
        let next = passed.max(self.last) + 1;
        let missed = next - self.last - 1;
        self.last = next;
        let offset =
            u64::try_from(self.interval.as_nanos().saturating_mul(next)).unwrap_or(u64::MAX);
        let deadline = self.start.saturating_add(Duration::from_nanos(offset));
        (deadline, u64::try_from(missed).unwrap_or(u64::MAX))
    }

    /// Skips the deadlines that have passed by `now` since the last one returned, as when the wait for it lasted too long.
    /// Returns their number.
    pub fn skip_passed(&mut self, now: Duration) -> u64 {
        let passed = now.saturating_sub(self.start).as_nanos() / self.interval.as_nanos();
        let missed = passed.saturating_sub(self.last);
        self.last += missed;
        u64::try_from(missed).unwrap_or(u64::MAX)
    }
}

/// The deadlines of intervals, and of samples that divide each interval evenly. The end of an interval that has begun is
/// never skipped; a deadline within it is.
pub struct SampleDeadlines {
    samples_per_interval: u128,
    ends: Deadlines,
    /// The end of the interval that has begun; `None` between intervals.
    end: Option<Duration>,
    /// The last deadline returned.
    due: Duration,
}

impl SampleDeadlines {
    /// Creates the deadlines of intervals after `start`, a monotonic time, with samples no more than `max_step` apart.
    pub fn new(start: Duration, interval: Duration, max_step: Duration) -> Self {
        let ends = Deadlines::new(start, interval);
        let samples_per_interval = ends
            .interval
            .as_nanos()
            .div_ceil(max_step.as_nanos().max(1));
        Self {
            samples_per_interval,
            ends,
            end: None,
            due: start,
        }
    }

    /// Changes the interval. The one that has begun ends at the next multiple of the new interval after its beginning.
    pub fn set_interval(&mut self, interval: Duration, max_step: Duration, now: Duration) {
        if interval == self.ends.interval {
            return;
        }
        let begin = self
            .end
            .map_or(self.due, |end| end.saturating_sub(self.ends.interval));
        *self = Self::new(begin, interval, max_step);
        self.ends.skip_passed(now);
    }

    /// Returns the next deadline after `now`, or the end of the interval if that has passed, and the number of
    /// intervals missed before it.
    pub fn next(&mut self, now: Duration) -> (Duration, u64) {
        let (end, missed) = self.end.map_or_else(|| self.ends.next(now), |end| (end, 0));
        self.end = Some(end);
        self.due = self.next_sample(now.max(self.due)).min(end);
        (self.due, missed)
    }

    /// Skips the intervals that have passed by `now` since the end of the one that has begun: the sample that is due ends
    /// them, too. Returns their number.
    pub fn skip_passed(&mut self, now: Duration) -> u64 {
        if self.is_end(now) {
            self.ends.skip_passed(now)
        } else {
            0
        }
    }

    /// Returns whether a sample taken `at` this time ends its interval.
    pub fn ends_interval(&mut self, at: Duration) -> bool {
        let is_end = self.is_end(at);
        if is_end {
            self.end = None;
        }
        is_end
    }

    /// Returns whether a sample at this time would end the interval that has begun.
    fn is_end(&self, at: Duration) -> bool {
        self.end.is_some_and(|end| at.max(self.due) >= end)
    }

    /// The first deadline of a sample after `now`.
    fn next_sample(&self, now: Duration) -> Duration {
        let (start, interval) = (self.ends.start, self.ends.interval.as_nanos());
        let passed = now
            .saturating_sub(start)
            .as_nanos()
            .saturating_mul(self.samples_per_interval);
        let next = (passed / interval + 1).saturating_mul(interval);
        // Rounded up, so that the number of a deadline counts as passed at the deadline itself.
        let offset = u64::try_from(next.div_ceil(self.samples_per_interval)).unwrap_or(u64::MAX);
        start.saturating_add(Duration::from_nanos(offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_changed_while_it_lasts_and_nothing_is_missed() {
        let (s, ms) = (Duration::from_secs, Duration::from_millis);
        let mut deadlines = SampleDeadlines::new(s(100), s(10), s(1));
        assert_eq!(deadlines.next(s(100)), (s(101), 0));
        assert!(!deadlines.ends_interval(s(101)));
        // Shorter: the next multiple of two seconds.
        deadlines.set_interval(s(2), s(1), ms(101_010));
        assert_eq!(deadlines.next(ms(101_010)), (s(102), 0));
        assert!(deadlines.ends_interval(s(102)));
        // Longer, between two intervals.
        deadlines.set_interval(s(5), s(1), ms(102_010));
        assert_eq!(deadlines.next(ms(102_010)), (s(103), 0));
        assert!(!deadlines.ends_interval(s(103)));
        // Shorter than what has passed.
        deadlines.set_interval(ms(500), ms(500), ms(103_010));
        assert_eq!(deadlines.next(ms(103_010)), (ms(103_500), 0));
        assert!(deadlines.ends_interval(ms(103_500)));
    }

    #[test]
    fn missed_deadlines_are_skipped_and_counted() {
        let ms = Duration::from_millis;
        let mut deadlines = Deadlines::new(ms(500), ms(100));
        assert_eq!(deadlines.next(ms(510)), (ms(600), 0));
        assert_eq!(deadlines.next(ms(601)), (ms(700), 0));
        assert_eq!(deadlines.next(ms(950)), (ms(1000), 2));
        // A wait that ended a little early.
        assert_eq!(deadlines.next(ms(999)), (ms(1100), 0));
        // One that lasted too long: the sample comes late, and the intervals that it ends were missed.
        assert_eq!(deadlines.skip_passed(ms(1099)), 0);
        assert_eq!(deadlines.skip_passed(ms(1399)), 2);
        assert_eq!(deadlines.next(ms(1399)), (ms(1400), 0));
    }

    #[test]
    fn an_interval_of_zero_has_deadlines_too() {
        let mut deadlines = Deadlines::new(Duration::ZERO, Duration::ZERO);
        assert_eq!(deadlines.next(Duration::ZERO), (Duration::from_nanos(1), 0));
    }

    #[test]
    fn samples_divide_an_interval_evenly_and_their_deadlines_do_not_drift() {
        let (start, interval) = (Duration::from_millis(300), Duration::from_millis(2500));
        let mut deadlines = SampleDeadlines::new(start, interval, Duration::from_secs(1));
        let mut now = start;
        for intervals in 1..=1000 {
            for sample in 1..=3 {
                let (due, missed) = deadlines.next(now);
                assert!(due > now && missed == 0);
                now = due;
                assert_eq!(deadlines.ends_interval(now), sample == 3, "{now:?}");
            }
            assert_eq!(now, start + intervals * interval);
        }
    }

    #[test]
    fn a_short_interval_has_one_sample() {
        for ms in [10, 500, 1000] {
            let interval = Duration::from_millis(ms);
            let mut deadlines =
                SampleDeadlines::new(Duration::ZERO, interval, Duration::from_secs(1));
            assert_eq!(deadlines.next(Duration::ZERO), (interval, 0));
            assert!(deadlines.ends_interval(interval));
        }
    }

    #[test]
    fn late_samples_skip_deadlines_within_an_interval_but_not_its_end() {
        let at = Duration::from_secs_f64;
        let mut deadlines = SampleDeadlines::new(Duration::ZERO, at(10.0), at(1.0));
        assert_eq!(deadlines.next(at(0.1)), (at(1.0), 0));
        assert!(!deadlines.ends_interval(at(1.0)));
        assert_eq!(deadlines.next(at(8.4)), (at(9.0), 0));
        assert!(!deadlines.ends_interval(at(9.0)));
        // The end has passed: a sample is due at once.
        assert_eq!(deadlines.next(at(10.4)), (at(10.0), 0));
        assert!(deadlines.ends_interval(at(10.4)));
        assert_eq!(deadlines.next(at(10.5)), (at(11.0), 0));
        // The wait lasted beyond the end of the interval, and beyond the end of the next one.
        assert!(deadlines.ends_interval(at(35.0)));
        assert_eq!(deadlines.next(at(35.1)), (at(36.0), 1));
        // The same, but the sample counts as the end of the intervals that it covers.
        assert_eq!(
            (
                deadlines.skip_passed(at(39.9)),
                deadlines.skip_passed(at(75.0))
            ),
            (0, 3)
        );
        assert!(deadlines.ends_interval(at(75.0)));
        assert_eq!(deadlines.next(at(75.1)), (at(76.0), 0));
        // A wait that ended a little early.
        assert!(!deadlines.ends_interval(at(75.999)));
        assert_eq!(deadlines.next(at(75.999)), (at(77.0), 0));
    }
}
