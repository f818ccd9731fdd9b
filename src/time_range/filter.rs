//! Decides for each sample of a capture whether it precedes the range that is shown, is in it, or follows it.

use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use super::{Kind, TimePoint, TimeRange};

/// Seconds since 1970 up to 2000: clocks that count from a boot are earlier.
const MIN_WALL_CLOCK_S: i64 = 946_684_800;

/// The place of a sample relative to the range: that of the interval that it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Preceding,
    Within,
    Following,
}

/// The times of a capture, or of its samples so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CaptureTimes {
    first: Timestamp,
    last: Timestamp,
    latest: Timestamp,
    /// From the first sample to the last one; time does not advance while the clock is set back.
    elapsed: SignedDuration,
}

impl CaptureTimes {
    /// The times of a capture whose first sample is at `first`.
    pub fn new(first: Timestamp) -> Self {
        Self {
            first,
            last: first,
            latest: first,
            elapsed: SignedDuration::ZERO,
        }
    }

    /// Takes the time of the next sample.
    pub fn observe(&mut self, at: Timestamp) {
        self.elapsed += at.duration_since(self.last).max(SignedDuration::ZERO);
        self.latest = self.latest.max(at);
        self.last = at;
    }
}

/// The range of time of a capture. A time that occurs more than once means the first time: that of `--begin` at or
/// after the first sample, that of `--end` at or after `--begin`.
pub struct RangeFilter {
    range: TimeRange,
    /// The zone of times without one.
    zone: TimeZone,
    /// The times of the whole capture; `None` if they are not known before it is read.
    whole: Option<CaptureTimes>,
    so_far: Option<CaptureTimes>,
    begin: Option<Bound>,
    end: Option<Bound>,
    has_noted: bool,
}

/// An end of the range.
struct Bound {
    option: &'static str,
    point: TimePoint,
    target: Target,
    /// The next moment that the point can mean.
    again: Option<Timestamp>,
    is_passed: bool,
}

#[derive(Clone, Copy)]
enum Target {
    At(Timestamp),
    AfterStart(SignedDuration),
}

impl Bound {
    /// Takes the times up to the previous sample and up to this one.
    fn observe(&mut self, before: &CaptureTimes, now: &CaptureTimes) {
        self.is_passed |= match self.target {
            Target::At(at) => is_passed(
                at.as_nanosecond(),
                before.last.as_nanosecond(),
                now.last.as_nanosecond(),
            ),
            Target::AfterStart(at) => is_passed(
                at.as_nanos(),
                before.elapsed.as_nanos(),
                now.elapsed.as_nanos(),
            ),
        };
    }

    fn is_within(&self, times: &CaptureTimes) -> bool {
        match self.target {
            Target::At(at) => at <= times.latest,
            Target::AfterStart(at) => at <= times.elapsed,
        }
    }

    /// Returns its moment, as far as it is known at the first sample.
    fn moment(&self, first: Timestamp) -> Timestamp {
        match self.target {
            Target::At(at) => at,
            Target::AfterStart(at) => first.saturating_add(at).unwrap_or(Timestamp::MAX),
        }
    }
}

/// Returns whether the middle of an interval is after `at`; all are times in ns.
fn is_passed(at: i128, from: i128, to: i128) -> bool {
    at <= from || at - from < to - at
}

impl RangeFilter {
    /// Creates the filter of a range. `whole` are the times of the whole capture if they are known before it is read: a
    /// point [before the end](TimePoint::before_end) needs them.
    pub fn new(range: TimeRange, zone: TimeZone, whole: Option<CaptureTimes>) -> Self {
        Self {
            range,
            zone,
            whole,
            so_far: None,
            begin: None,
            end: None,
            has_noted: false,
        }
    }

    /// Returns the place of the next sample.
    ///
    /// # Errors
    /// A message if the range is outside the capture as far as it is known, or ends before it begins.
    pub fn place(&mut self, at: Timestamp) -> Result<Place, String> {
        match &mut self.so_far {
            None => {
                self.so_far = Some(CaptureTimes::new(at));
                self.resolve(at)?;
            }
            Some(times) => {
                let before = *times;
                times.observe(at);
                for bound in [&mut self.begin, &mut self.end].into_iter().flatten() {
                    bound.observe(&before, times);
                }
            }
        }
        let has_begun = match &self.begin {
            Some(begin) => begin.is_passed,
            None => true,
        };
        let has_ended = match &self.end {
            Some(end) => end.is_passed,
            None => false,
        };
        match (has_begun, has_ended) {
            (false, true) => Err(self.order_message()),
            (false, false) => Ok(Place::Preceding),
            (true, true) => Ok(Place::Following),
            (true, false) => Ok(Place::Within),
        }
    }

    /// Takes the end of the capture.
    ///
    /// # Errors
    /// A message if the range was not reached.
    pub fn finish(&self) -> Result<(), String> {
        match (&self.so_far, self.range.points().next()) {
            (Some(times), _) => self.require_within(times),
            (None, Some((option, point))) => Err(format!(
                "{option} {point} is outside the capture, which has no samples"
            )),
            (None, None) => Ok(()),
        }
    }

    /// Returns, once, which moment was taken for a point that occurs more than once.
    pub fn take_note(&mut self) -> Option<String> {
        let latest = self.whole.as_ref().or(self.so_far.as_ref())?.latest;
        if self.has_noted {
            return None;
        }
        for bound in [&self.begin, &self.end].into_iter().flatten() {
            // Only a time of the clock occurs again.
            if let (Some(again), Target::At(taken)) = (bound.again, bound.target)
                && again <= latest
            {
                self.has_noted = true;
                let Bound { option, point, .. } = bound;
                return Some(format!(
                    "{option} {point} occurs more than once in the capture; taken as {}",
                    self.text(taken)
                ));
            }
        }
        None
    }

    /// Finds the moments that the points mean in a capture that begins at `first`.
    fn resolve(&mut self, first: Timestamp) -> Result<(), String> {
        // The first time is within the capture also as it is displayed, without fractions of a second.
        let start = Timestamp::from_second(first.as_second()).unwrap_or(first);
        let TimeRange { begin, end, .. } = self.range.clone();
        let mut from = start;
        if let Some(point) = begin {
            let bound = self.bound("--begin", point, start, start)?;
            from = bound.moment(first);
            self.begin = Some(bound);
        }
        if let Some(point) = end {
            self.end = Some(self.bound("--end", point, from, start)?);
        }
        if let (Some(begin), Some(end)) = (&self.begin, &self.end) {
            let is_after = match (begin.target, end.target) {
                (Target::At(begin), Target::At(end)) => begin >= end,
                (Target::AfterStart(begin), Target::AfterStart(end)) => begin >= end,
                _ => false,
            };
            if is_after {
                return Err(format!(
                    "--begin {} is not before --end {}",
                    begin.point, end.point
                ));
            }
        }
        match &self.whole {
            Some(whole) => self.require_within(whole),
            None => Ok(()),
        }
    }

    /// Finds a bound: its first moment from `from` on, or else from the start on.
    fn bound(
        &self,
        option: &'static str,
        point: TimePoint,
        from: Timestamp,
        start: Timestamp,
    ) -> Result<Bound, String> {
        let mut moments = point.moments_from(from, &self.zone).peekable();
        if moments.peek().is_none() {
            moments = point.moments_from(start, &self.zone).peekable();
        }
        let target = match (point.kind, &self.whole) {
            (Kind::AfterStart(after_start), _) => Some(Target::AfterStart(after_start)),
            (Kind::BeforeEnd(before_end), Some(whole)) if before_end <= whole.elapsed => {
                Some(Target::AfterStart(whole.elapsed - before_end))
            }
            (Kind::BeforeEnd(_), _) => None,
            _ => moments.next().map(Target::At),
        };
        let again = moments.next();
        match target {
            Some(target) => Ok(Bound {
                option,
                point,
                target,
                again,
                is_passed: false,
            }),
            None => Err(self.outside_message(option, &point, self.whole.as_ref())),
        }
    }

    fn require_within(&self, times: &CaptureTimes) -> Result<(), String> {
        if let Some(begin) = &self.begin
            && !begin.is_within(times)
        {
            return Err(self.outside_message(begin.option, &begin.point, Some(times)));
        }
        let Some(end) = &self.end else {
            return Ok(());
        };
        if end.is_within(times) {
            return Ok(());
        }
        // A time of day that occurs only before the beginning.
        if self.begin.is_some()
            && let Target::At(at) = end.target
            && let Some(earlier) = end.point.moments_from(times.first, &self.zone).next()
            && earlier < at
        {
            return Err(self.order_message());
        }
        Err(self.outside_message(end.option, &end.point, Some(times)))
    }

    fn order_message(&self) -> String {
        let [begin, end] = [&self.range.begin, &self.range.end].map(|point| match point {
            Some(point) => point.to_string(),
            None => String::new(),
        });
        format!("--end {end} comes before --begin {begin} in the capture")
    }

    /// Returns the message that a point is not in the capture. `whole` are its times, as far as they are known.
    fn outside_message(
        &self,
        option: &str,
        point: &TimePoint,
        whole: Option<&CaptureTimes>,
    ) -> String {
        let Some(times) = whole.or(self.so_far.as_ref()) else {
            return format!("{option} {point} is outside the capture, which has no samples");
        };
        if point.needs_wall_clock() && times.latest.as_second() < MIN_WALL_CLOCK_S {
            let (first, latest) = (times.first.as_second(), times.latest.as_second());
            return format!(
                "{option} {point} is a time of the clock, but the TS lines of the capture hold none: they go from \
                 {first} to {latest} s; use +DURATION from the start or -DURATION from the end"
            );
        }
        let first = self.text(times.first);
        let capture = match whole {
            Some(times) => format!(
                "the capture, which covers {first} to {}",
                self.text(times.latest)
            ),
            None => format!("the capture, which begins at {first}"),
        };
        if point.is_skipped(times.first, &self.zone) || point.is_skipped(times.latest, &self.zone) {
            format!(
                "{option} {point} is a time that the clock skipped when it was set forward, in {capture}"
            )
        } else {
            format!("{option} {point} is outside {capture}")
        }
    }

    /// Returns a time with its date and UTC offset, in a form that can be typed again.
    fn text(&self, at: Timestamp) -> String {
        at.to_zoned(self.zone.clone())
            .strftime("%Y-%m-%dT%H:%M:%S%:z")
            .to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone() -> TimeZone {
        TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap()
    }

    fn filter(begin: &str, end: &str) -> RangeFilter {
        let point = |text: &str| (!text.is_empty()).then(|| text.parse().unwrap());
        let range = TimeRange {
            begin: point(begin),
            end: point(end),
            time_zone: None,
        };
        RangeFilter::new(range, zone(), None)
    }

    /// The indices of the samples in a range.
    fn samples(filter: &mut RangeFilter, times: &[&str]) -> Result<Vec<usize>, String> {
        let mut within = Vec::new();
        for (index, at) in times.iter().enumerate() {
            match filter.place(at.parse().unwrap())? {
                Place::Within => within.push(index),
                Place::Preceding => {}
                Place::Following => return Ok(within),
            }
        }
        filter.finish()?;
        Ok(within)
    }

    /// The index of the first sample after `--begin`.
    fn begin(point: &str, times: &[&str]) -> Result<Option<usize>, String> {
        samples(&mut filter(point, ""), times).map(|within| within.first().copied())
    }

    const SECONDS: [&str; 4] = [
        "2026-11-20T15:04:46.3Z",
        "2026-11-20T15:04:47.3Z",
        "2026-11-20T15:04:48.3Z",
        "2026-11-20T15:04:49.3Z",
    ];

    #[test]
    fn the_sample_nearest_to_a_time_is_the_last_before_it() {
        for (point, index) in [
            ("16:04:46", 1),
            ("16:04:47", 2),
            ("16:04:46.7", 1),
            ("16:04:47.3", 2),
            ("2026-11-20T16:04:48", 3),
            ("2026-11-20T15:04:48.5Z", 3),
            ("2026-11-20T10:04:48-05:00", 3),
            ("+2", 3),
            ("+1.9s", 3),
            ("+1.4s", 2),
            ("+0", 1),
        ] {
            assert_eq!(begin(point, &SECONDS), Ok(Some(index)), "{point}");
            let before: Vec<usize> = (0..index).collect();
            assert_eq!(
                samples(&mut filter("", point), &SECONDS),
                Ok(before),
                "{point}"
            );
        }
    }

    #[test]
    fn both_ends_of_a_capture_belong_to_it() {
        assert_eq!(
            begin("16:04:46", &SECONDS),
            Ok(Some(1)),
            "as the first time is displayed"
        );
        assert_eq!(begin("16:04:49.3", &SECONDS), Ok(None));
        assert_eq!(begin("+3", &SECONDS), Ok(None));
        let covers = "covers 2026-11-20T16:04:46+01:00 to 2026-11-20T16:04:49+01:00";
        for outside in ["16:04:45", "16:04:49.4", "16:05", "+3.1", "2026-11-21"] {
            let message = begin(outside, &SECONDS).unwrap_err();
            assert!(
                message.starts_with(&format!("--begin {outside} is outside")),
                "{message}"
            );
            assert!(message.ends_with(covers), "{message}");
        }
        // The first sample shows that these are before it.
        for outside in ["2026-11-19T16:04:47", "2026-11-20"] {
            let message = begin(outside, &SECONDS).unwrap_err();
            assert!(
                message.ends_with("the capture, which begins at 2026-11-20T16:04:46+01:00"),
                "{message}"
            );
        }
    }

    #[test]
    fn times_before_the_end_need_the_times_of_the_whole_capture() {
        let mut whole = CaptureTimes::new(SECONDS[0].parse().unwrap());
        SECONDS[1..]
            .iter()
            .for_each(|at| whole.observe(at.parse().unwrap()));
        let of = |begin: &str, end: &str| {
            let mut filter = filter(begin, end);
            filter.whole = Some(whole);
            samples(&mut filter, &SECONDS)
        };
        assert_eq!(of("-2", ""), Ok(vec![2, 3]));
        assert_eq!(of("-2", "-1"), Ok(vec![2]));
        assert!(
            of("-4", "")
                .unwrap_err()
                .ends_with("to 2026-11-20T16:04:49+01:00")
        );
        // What is outside is then known before anything is shown.
        assert!(of("", "+4").unwrap_err().starts_with("--end +4 is outside"));
        assert_eq!(
            of("-1", "-2").unwrap_err(),
            "--begin -1 is not before --end -2"
        );
    }

    #[test]
    fn a_time_in_a_gap_is_found_after_it() {
        let times = [
            "2026-11-20T15:00:00Z",
            "2026-11-20T18:00:00Z",
            "2026-11-20T21:00:00Z",
        ];
        assert_eq!(begin("16:30", &times), Ok(Some(1)));
        assert_eq!(begin("+80m", &times), Ok(Some(1)));
        assert_eq!(begin("+100m", &times), Ok(Some(2)));
    }

    #[test]
    fn a_time_of_day_is_the_first_one_and_an_end_the_first_after_the_beginning() {
        let days = [
            "2026-11-18T12:00Z",
            "2026-11-19T12:00Z",
            "2026-11-20T12:00Z",
            "2026-11-21T12:00Z",
        ];
        let of = |begin: &str, end: &str| {
            let mut filter = filter(begin, end);
            let within = samples(&mut filter, &days);
            (within, filter.take_note(), filter.take_note())
        };
        let note = "--begin 16:04 occurs more than once in the capture; taken as 2026-11-18T16:04:00+01:00";
        assert_eq!(
            of("16:04", ""),
            (Ok(vec![1, 2, 3]), Some(note.to_owned()), None)
        );
        let note =
            "--end 11:00 occurs more than once in the capture; taken as 2026-11-20T11:00:00+01:00";
        assert_eq!(
            of("2026-11-19T20:00", "11:00"),
            (Ok(vec![2]), Some(note.to_owned()), None)
        );
        assert_eq!(of("2026-11-20T16:04", "").1, None);
        assert_eq!(
            of("16:04", "16:04").0.unwrap_err(),
            "--begin 16:04 is not before --end 16:04"
        );
        let order = "--end 12:30 comes before --begin 2026-11-21T12:50 in the capture";
        assert_eq!(of("2026-11-21T12:50", "12:30").0.unwrap_err(), order);
    }

    #[test]
    fn a_change_to_winter_time_repeats_an_hour_and_one_to_summer_time_skips_it() {
        let autumn = [
            "2026-10-24T22:00:00Z",
            "2026-10-25T00:25:00Z",
            "2026-10-25T01:25:00Z",
            "2026-10-25T06:00:00Z",
        ];
        for twice in ["02:30", "2026-10-25T02:30"] {
            let mut filter = filter(twice, "");
            assert_eq!(samples(&mut filter, &autumn), Ok(vec![2, 3]));
            assert!(
                filter
                    .take_note()
                    .unwrap()
                    .ends_with("taken as 2026-10-25T02:30:00+02:00")
            );
        }
        assert_eq!(begin("2026-10-25T02:30+01:00", &autumn), Ok(Some(3)));
        assert_eq!(
            begin("02:30", &["2026-10-25T01:00:00Z", "2026-10-25T06:00:00Z"]),
            Ok(Some(1))
        );
        let skipped = "skipped when it was set forward";
        let spring = ["2026-03-28T23:00:00Z", "2026-03-29T06:00:00Z"];
        assert!(
            begin("2026-03-29T02:30", &spring)
                .unwrap_err()
                .contains(skipped)
        );
        assert!(begin("02:30", &spring).unwrap_err().contains(skipped));
        let around = ["2026-03-29T00:50:00Z", "2026-03-29T01:20:00Z"];
        assert!(begin("02:30", &around).unwrap_err().contains(skipped));
    }

    #[test]
    fn a_clock_that_was_set_back_shows_times_twice_of_which_the_first_is_meant() {
        let set_back = [
            "2026-11-20T15:00:00Z",
            "2026-11-20T16:00:00Z",
            "2026-11-20T15:30:00Z",
            "2026-11-20T15:50:00Z",
        ];
        assert_eq!(begin("16:10", &set_back), Ok(Some(1)));
        assert_eq!(begin("16:40", &set_back), Ok(Some(2)));
        // The end of the first part is a time of the capture.
        assert_eq!(begin("17:00", &set_back), Ok(Some(2)));
        assert_eq!(begin("+60m", &set_back), Ok(Some(2)));
        assert_eq!(begin("+65m", &set_back), Ok(Some(3)));
        assert!(
            begin("+81m", &set_back).is_err(),
            "while the clock is set back no time passes"
        );
    }

    #[test]
    fn times_that_count_from_a_boot_have_no_time_of_day() {
        let times = ["1970-01-01T00:10:00Z", "1970-01-01T00:20:00Z"];
        let message = begin("16:04", &times).unwrap_err();
        assert!(
            message.contains("they go from 600 to 1200 s; use +DURATION"),
            "{message}"
        );
        assert_eq!(begin("+4m", &times), Ok(Some(1)));
    }

    #[test]
    fn a_capture_without_samples_has_no_time() {
        assert!(
            begin("+0", &[])
                .unwrap_err()
                .ends_with("which has no samples")
        );
    }
}
