//! Finds a point in time among the times of a capture.

use std::time::Duration;

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::candidates::{moments, next_time_of_day};
use super::message::{ambiguous_message, outside_message};
use super::point::TimePoint;

/// The most occurrences that are kept; further ones are counted.
const MAX_OCCURRENCES: usize = 20;

/// A point in time in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The time.
    pub at: Timestamp,
    /// The lowest position of a sample that ends an interval after it, which is one whose middle is later. [`u64::MAX`]
    /// if there is none.
    pub next_position: u64,
}

/// The moments that the point can mean.
#[derive(Clone, Debug)]
enum Target {
    /// One of these moments.
    Moments(Vec<Timestamp>),
    /// Each occurrence of this time of day.
    Daily { time: jiff::civil::Time, next: Option<Timestamp> },
    /// This long after the first sample.
    AfterStart(Duration),
}

/// Finds every occurrence of a point among the times of a capture, which are shown to it in the order of the capture.
/// If a clock was set back, a time can occur once before and once after.
#[derive(Clone, Debug)]
pub struct TimeSearch {
    point: TimePoint,
    zone: TimeZone,
    target: Target,
    /// The earliest and the latest time so far.
    span: Option<(Timestamp, Timestamp)>,
    /// The last time.
    last: Option<Timestamp>,
    /// The time from the first sample to the last one; time does not advance while the clock is set back.
    elapsed: SignedDuration,
    found: Vec<Occurrence>,
    count: u64,
}

impl TimeSearch {
    /// Searches for a point; `zone` is the zone of times without one. A point [before the end](TimePoint::before_end)
    /// is not found.
    pub fn new(point: &TimePoint, zone: &TimeZone) -> Self {
        let target = match (point.time_of_day(), point.local(), point.absolute(), point.after_start()) {
            (Some(time), ..) => Target::Daily { time, next: None },
            (_, Some(local), ..) => Target::Moments(moments(local, zone)),
            (_, _, Some(at), _) => Target::Moments(vec![at]),
            (.., Some(duration)) => Target::AfterStart(duration),
            _ => Target::Moments(Vec::new()),
        };
        Self {
            point: point.clone(),
            zone: zone.clone(),
            target,
            span: None,
            last: None,
            elapsed: SignedDuration::ZERO,
            found: Vec::new(),
            count: 0,
        }
    }

    /// Searches for the time `duration` after the first sample on behalf of `point`, a point before the end of the same
    /// capture.
    pub fn after_start(point: &TimePoint, duration: Duration, zone: &TimeZone) -> Self {
        Self { target: Target::AfterStart(duration), ..Self::new(point, zone) }
    }

    /// Takes the time of the next sample and its position.
    pub fn observe(&mut self, at: Timestamp, position: u64) {
        let (earliest, latest) = self.span.unwrap_or((at, at));
        self.span = Some((earliest.min(at), latest.max(at)));
        match self.last.replace(at) {
            // The first time counts as within the capture even as displayed, without fractions of a second.
            None => self.begin_run(at, Some(position)),
            Some(last) if at < last => {
                self.take(last, last, position);
                self.begin_run(at, None);
            }
            Some(last) => {
                self.take(last, at, position);
                self.elapsed += at.duration_since(last);
            }
        }
    }

    /// Notes that a clock begins to advance from this time. `position` is that of the first sample.
    fn begin_run(&mut self, at: Timestamp, position: Option<u64>) {
        let second = Timestamp::from_second(at.as_second()).unwrap_or(at);
        if let Target::Daily { time, next } = &mut self.target {
            *next = next_time_of_day(*time, &self.zone, if position.is_some() { second } else { at });
        }
        if let Some(position) = position.filter(|_| second < at)
            && !matches!(self.target, Target::AfterStart(_))
        {
            self.take(second, at, position);
        }
    }

    /// Notes the occurrences from one time up to that of the sample at `position`. The latter time itself is left for
    /// the next sample, unless both are the same.
    fn take(&mut self, from: Timestamp, to: Timestamp, position: u64) {
        let is_within = |at: &Timestamp| *at >= from && (*at < to || from == to && *at == to);
        match &mut self.target {
            Target::Moments(moments) => {
                let found: Vec<Timestamp> = moments.iter().copied().filter(is_within).collect();
                found.into_iter().for_each(|at| self.add(at, from, to, position));
            }
            Target::Daily { time, next } => {
                let time = *time;
                let mut upcoming = *next;
                while let Some(at) = upcoming.filter(is_within) {
                    self.add(at, from, to, position);
                    let after = at.checked_add(SignedDuration::from_nanos(1)).ok();
                    upcoming = after.and_then(|after| next_time_of_day(time, &self.zone, after));
                }
                if let Target::Daily { next, .. } = &mut self.target {
                    *next = upcoming;
                }
            }
            Target::AfterStart(duration) => {
                let Ok(duration) = SignedDuration::try_from(*duration) else { return };
                let at = from.checked_add(duration - self.elapsed).ok().filter(|_| self.count == 0);
                if let Some(at) = at.filter(is_within) {
                    self.add(at, from, to, position);
                }
            }
        }
    }

    /// Notes an occurrence between two samples, the latter at `position`.
    fn add(&mut self, at: Timestamp, from: Timestamp, to: Timestamp, position: u64) {
        self.count += 1;
        let is_before = is_before_middle(at, from, to);
        let next_position = if is_before { position } else { position.saturating_add(1) };
        if self.found.len() < MAX_OCCURRENCES {
            self.found.push(Occurrence { at, next_position });
        }
    }

    /// Takes the end of the capture: its last time is a part of it.
    pub fn finish(&mut self) {
        if let Some(last) = self.last {
            self.take(last, last, u64::MAX);
        }
    }

    /// The occurrences so far, at most 20.
    pub fn found(&self) -> &[Occurrence] {
        &self.found
    }

    /// Returns whether the point has been found.
    pub fn is_found(&self) -> bool {
        self.count > 0
    }

    /// Returns whether a sample at this position, shown before, ends an interval after the point.
    pub fn is_passed_at(&self, position: u64) -> bool {
        self.found.first().is_some_and(|occurrence| position >= occurrence.next_position)
    }

    /// Returns whether the point is before the first time, so that it is unlikely to occur later.
    pub fn is_before_capture(&self) -> bool {
        match (&self.target, self.span) {
            (Target::Moments(moments), Some((earliest, _))) => {
                !self.is_found() && moments.iter().all(|at| *at < earliest)
            }
            _ => false,
        }
    }

    /// The time from the first sample to the last one so far; time does not advance while the clock is set back.
    pub fn elapsed(&self) -> Duration {
        Duration::try_from(self.elapsed).unwrap_or_default()
    }

    /// The earliest and the latest time so far; `None` without any.
    pub fn span(&self) -> Option<(Timestamp, Timestamp)> {
        self.span
    }

    /// Checks that the point has not occurred more than once so far.
    ///
    /// # Errors
    /// A message with its times; `option` is the option that gave the point.
    pub fn require_unique(&self, option: &str) -> Result<(), String> {
        if self.count < 2 {
            return Ok(());
        }
        let times: Vec<Timestamp> = self.found.iter().map(|occurrence| occurrence.at).collect();
        Err(ambiguous_message(option, &self.point, &times, self.count, &self.zone))
    }

    /// Returns the only occurrence.
    ///
    /// # Errors
    /// A message if there are several, or none; it names the times of the capture.
    pub fn only(&self, option: &str) -> Result<Occurrence, String> {
        self.require_unique(option)?;
        let outside = || outside_message(option, &self.point, self.span, &self.zone);
        self.found.first().copied().ok_or_else(outside)
    }
}

/// Returns whether a time is before the middle of two others, or they are the same.
pub fn is_before_middle(at: Timestamp, from: Timestamp, to: Timestamp) -> bool {
    from == to || at.duration_since(from) < to.duration_since(at)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone() -> TimeZone {
        TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
    }

    /// The search for a point among times, whose positions are their indices.
    fn search(point: &str, times: &[&str]) -> TimeSearch {
        let mut search = TimeSearch::new(&point.parse().unwrap(), &zone());
        for (position, at) in (0..).zip(times) {
            search.observe(at.parse().unwrap(), position);
        }
        search.finish();
        search
    }

    /// The position of the first sample after the only occurrence.
    fn position(point: &str, times: &[&str]) -> Result<u64, String> {
        search(point, times).only("--begin").map(|occurrence| occurrence.next_position)
    }

    const SECONDS: [&str; 4] = [
        "2026-11-20T15:04:46.3Z",
        "2026-11-20T15:04:47.3Z",
        "2026-11-20T15:04:48.3Z",
        "2026-11-20T15:04:49.3Z",
    ];

    #[test]
    fn the_sample_nearest_to_a_time_is_the_last_before_it() {
        assert_eq!(position("16:04:47", &SECONDS), Ok(2));
        assert_eq!(position("16:04:46.7", &SECONDS), Ok(1));
        assert_eq!(position("16:04:47.3", &SECONDS), Ok(2));
        assert_eq!(position("2026-11-20T16:04:48", &SECONDS), Ok(3));
        assert_eq!(position("2026-11-20T15:04:48.5Z", &SECONDS), Ok(3));
        assert_eq!(position("2026-11-20T10:04:48-05:00", &SECONDS), Ok(3));
        assert_eq!(position("+2", &SECONDS), Ok(3));
        assert_eq!(position("+1.9s", &SECONDS), Ok(3));
        assert_eq!(position("+1.4s", &SECONDS), Ok(2));
        assert_eq!(position("+0", &SECONDS), Ok(1));
    }

    #[test]
    fn both_ends_of_a_capture_belong_to_it() {
        assert_eq!(position("16:04:46", &SECONDS), Ok(0), "as the first time is displayed");
        assert_eq!(position("16:04:46.3", &SECONDS), Ok(1));
        assert_eq!(position("16:04:49.3", &SECONDS), Ok(u64::MAX));
        assert_eq!(position("+3", &SECONDS), Ok(u64::MAX));
        for outside in ["16:04:45", "16:04:49.4", "16:05", "2026-11-19T16:04:47", "+3.1", "2026-11-20"] {
            let message = position(outside, &SECONDS).unwrap_err();
            let covers = "covers 2026-11-20T16:04:46+01:00 to 2026-11-20T16:04:49+01:00";
            assert!(message.starts_with(&format!("--begin {outside} is outside")), "{message}");
            assert!(message.ends_with(covers), "{message}");
        }
    }

    #[test]
    fn a_time_in_a_gap_is_found_after_it() {
        let times = ["2026-11-20T15:00:00Z", "2026-11-20T18:00:00Z"];
        assert_eq!(position("16:30", &times), Ok(1));
        assert_eq!(position("+80m", &times), Ok(1));
        assert_eq!(position("+100m", &times), Ok(2));
    }

    #[test]
    fn a_time_of_day_on_several_days_is_ambiguous() {
        let days = ["2026-11-18T12:00:00Z", "2026-11-19T12:00:00Z", "2026-11-20T12:00:00Z"];
        assert_eq!(
            position("16:04", &days).unwrap_err(),
            "--begin 16:04 occurs 2 times in the capture; give one of 2026-11-18T16:04:00+01:00, \
             2026-11-19T16:04:00+01:00"
        );
        assert_eq!(position("2026-11-19T16:04", &days), Ok(2));
        let months = ["2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z"];
        let message = position("16:04", &months).unwrap_err();
        assert!(message.contains("occurs 59 times") && message.ends_with("or 54 more"), "{message}");
    }

    #[test]
    fn a_change_to_winter_time_repeats_an_hour_and_one_to_summer_time_skips_it() {
        let autumn = ["2026-10-24T22:00:00Z", "2026-10-25T06:00:00Z"];
        let both = "2026-10-25T02:30:00+02:00, 2026-10-25T02:30:00+01:00";
        for twice in ["02:30", "2026-10-25T02:30"] {
            assert!(position(twice, &autumn).unwrap_err().ends_with(both));
        }
        assert_eq!(position("2026-10-25T02:30+01:00", &autumn), Ok(1));
        assert_eq!(position("03:30", &autumn), Ok(2));
        assert_eq!(position("02:30", &["2026-10-25T01:00:00Z", "2026-10-25T06:00:00Z"]), Ok(1));
        let spring = ["2026-03-28T23:00:00Z", "2026-03-29T06:00:00Z"];
        assert!(
            position("2026-03-29T02:30", &spring).unwrap_err().contains("skipped when it was set forward")
        );
        assert!(position("02:30", &spring).unwrap_err().contains("skipped when it was set forward"));
        let around = ["2026-03-29T00:50:00Z", "2026-03-29T01:20:00Z"];
        assert!(position("02:30", &around).unwrap_err().contains("skipped when it was set forward"));
        let later = ["2026-03-29T02:00:00Z", "2026-03-29T06:00:00Z"];
        assert!(position("02:30", &later).unwrap_err().contains("outside the capture"));
    }

    #[test]
    fn a_clock_that_was_set_back_shows_times_twice() {
        let set_back =
            ["2026-11-20T15:00:00Z", "2026-11-20T16:00:00Z", "2026-11-20T15:30:00Z", "2026-11-20T15:50:00Z"];
        assert_eq!(position("16:10", &set_back), Ok(1));
        let message = position("16:40", &set_back).unwrap_err();
        assert!(message.contains("set back over 2026-11-20T16:40:00+01:00"), "{message}");
        // The end of the first part and the start of the second are times of the capture.
        assert_eq!(position("17:00", &set_back), Ok(2));
        assert_eq!(position("+60m", &set_back), Ok(2));
        assert_eq!(position("+65m", &set_back), Ok(3));
        assert_eq!(search("16:10", &set_back).elapsed(), Duration::from_secs(80 * 60));
    }

    #[test]
    fn times_that_count_from_a_boot_have_no_time_of_day() {
        let times = ["1970-01-01T00:10:00Z", "1970-01-01T00:20:00Z"];
        let message = position("16:04", &times).unwrap_err();
        assert!(message.contains("they go from 600 to 1200 s; use +DURATION"), "{message}");
        assert_eq!(position("+4m", &times), Ok(1));
    }

    #[test]
    fn a_capture_without_samples_has_no_time() {
        assert!(position("+0", &[]).unwrap_err().ends_with("which has no samples"));
    }

    #[test]
    fn a_stream_shows_early_that_a_point_is_before_it() {
        let is_before = |point: &str| {
            let mut search = TimeSearch::new(&point.parse().unwrap(), &zone());
            search.observe(SECONDS[0].parse().unwrap(), 0);
            search.is_before_capture()
        };
        assert!(is_before("2026-11-20T16:04"));
        assert!(!is_before("2026-11-20T16:04:46") && !is_before("2026-11-20T16:05"));
        assert!(!is_before("16:04") && !is_before("+5m"));
    }
}
