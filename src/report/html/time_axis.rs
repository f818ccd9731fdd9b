//! The axis of time: where a time is in a drawing, and its labels.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::intervals::series::TimeSpan;

/// The width of a chart in units of its drawing, which a browser stretches.
pub(super) const WIDTH: f64 = 2000.0;

/// The possible distances between ticks in seconds.
const STEPS_S: [f64; 27] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0,
    900.0, 1800.0, 3600.0, 7200.0, 10_800.0, 21_600.0, 43_200.0, 86_400.0, 172_800.0, 604_800.0,
    1209600.0,
];
/// The most distances between ticks on an axis: one less than the ticks.
const MAX_TIME_INTERVALS: f64 = 6.0;
/// The most where the labels have seconds, which are longer.
const MAX_INTERVALS_WITH_SECONDS: f64 = 5.0;

/// The span of time that is drawn, and the clock for its labels.
pub(super) struct TimeAxis {
    span: TimeSpan,
    /// The points that are drawn.
    pub(super) points: Vec<TimeSpan>,
    /// `None` if the samples have no wall clock: times are then counted from the first sample.
    time_zone: Option<TimeZone>,
}

impl TimeAxis {
    /// Creates the axis of a span; `time_zone` is `None` without a wall clock.
    pub(super) fn new(span: TimeSpan, points: Vec<TimeSpan>, time_zone: Option<TimeZone>) -> Self {
        // A span without length could not be divided.
        let end_s = span.end_s.max(span.start_s + 1e-3);
        Self {
            span: TimeSpan { end_s, ..span },
            points,
            time_zone,
        }
    }

    /// Returns whether there is time between a point and the one before it that no interval covers.
    pub(super) fn is_after_gap(&self, index: usize) -> bool {
        /// More than the rounding error of a time, and less than any interval.
        const TOLERANCE_S: f64 = 1e-3;
        index > 0 && self.points[index].start_s - self.points[index - 1].end_s > TOLERANCE_S
    }

    pub(super) fn span(&self) -> TimeSpan {
        self.span
    }

    /// Returns the position of a time from 0 to 1; times outside are at the ends.
    pub(super) fn position(&self, seconds: f64) -> f64 {
        let position = (seconds - self.span.start_s) / (self.span.end_s - self.span.start_s);
        position.clamp(0.0, 1.0)
    }

    /// Returns the distance of a time from the left of a chart of [`WIDTH`].
    pub(super) fn x(&self, seconds: f64) -> i32 {
        (self.position(seconds) * WIDTH).round() as i32
    }

    /// Returns the left and the right end of a span in units of the drawing.
    pub(super) fn ends(&self, span: &TimeSpan) -> (i32, i32) {
        (self.x(span.start_s), self.x(span.end_s))
    }

    /// The width of bars: the median length of these spans, in units of the drawing.
    pub(super) fn bar_width<'s>(&self, spans: impl Iterator<Item = &'s TimeSpan>) -> i32 {
        let mut widths = Vec::new();
        for span in spans {
            let (x, end) = self.ends(span);
            widths.push(end - x);
        }
        widths.sort_unstable();
        let median = widths.get(widths.len() / 2).copied();
        median.unwrap_or(1).max(1)
    }

    /// Returns a time with seconds, `16:04:47`, or the time since the first sample, `+1:02:03`.
    pub(super) fn clock(&self, seconds: f64) -> String {
        self.text(seconds, "%H:%M:%S", 0)
    }

    /// Returns a time with its date, `2026-11-22 16:04:47`.
    pub(super) fn date_and_clock(&self, seconds: f64) -> String {
        self.text(seconds, "%Y-%m-%d %H:%M:%S", 0)
    }

    /// Returns a time in this format; the time since the first sample, without a wall clock, has these decimals.
    fn text(&self, seconds: f64, format: &str, decimals: usize) -> String {
        match self.zoned(seconds) {
            Some(zoned) => zoned.strftime(format).to_string(),
            None => elapsed(seconds, decimals),
        }
    }

    /// Returns a time with seconds, and with its date if the axis spans several days.
    pub(super) fn moment(&self, seconds: f64) -> String {
        if self.spans_days() {
            self.date_and_clock(seconds)
        } else {
            self.clock(seconds)
        }
    }

    /// Returns the end of a range of time, with its date only if that differs from the date of the beginning.
    pub(super) fn end_moment(&self, begin_s: f64, end_s: f64) -> String {
        if self.date(begin_s) == self.date(end_s) {
            self.clock(end_s)
        } else {
            self.moment(end_s)
        }
    }

    /// Returns the name of the time zone, such as `UTC` or `CET`; `None` without a wall clock.
    pub(super) fn zone(&self) -> Option<String> {
        self.zoned(self.span.start_s)
            .map(|zoned| zoned.strftime("%Z").to_string())
    }

    /// Returns whether the span begins and ends on different days.
    pub(super) fn spans_days(&self) -> bool {
        self.date(self.span.start_s) != self.date(self.span.end_s)
    }

    fn date(&self, seconds: f64) -> Option<jiff::civil::Date> {
        Some(self.zoned(seconds)?.date())
    }

    /// Returns the times from which each UTC offset applies, with the seconds by which local time is then ahead of UTC;
    /// the first is the beginning.
    pub(super) fn utc_offsets(&self) -> Vec<(f64, i32)> {
        let Some(time_zone) = &self.time_zone else {
            return vec![(self.span.start_s, 0)];
        };
        let offset_at =
            |seconds| timestamp(seconds).map_or(0, |at| time_zone.to_offset(at).seconds());
        let mut offsets = vec![(self.span.start_s, offset_at(self.span.start_s))];
        let transitions = timestamp(self.span.start_s).map(|start| time_zone.following(start));
        for transition in transitions.into_iter().flatten().take(100) {
            let at_s = transition.timestamp().as_second() as f64;
            if at_s >= self.span.end_s {
                break;
            }
            offsets.push((at_s, offset_at(at_s)));
        }
        offsets
    }

    /// The positions and labels of the ticks: round times on the clock. At the beginning of a day, the label is its date.
    pub(super) fn ticks(&self) -> Vec<(f64, String)> {
        let length_s = self.span.end_s - self.span.start_s;
        let step_s = STEPS_S
            .into_iter()
            .find(|step_s| length_s / step_s <= max_intervals(*step_s))
            .unwrap_or((length_s / MAX_TIME_INTERVALS / 86_400.0).ceil() * 86_400.0);
        let offset_s = f64::from(self.utc_offsets()[0].1);
        let first = ((self.span.start_s + offset_s) / step_s - 1e-9).ceil();
        let mut ticks = Vec::new();
        for n in 0..=(MAX_TIME_INTERVALS as u32 + 1) {
            let at_s = (first + f64::from(n)) * step_s - offset_s;
            if at_s > self.span.end_s {
                break;
            }
            ticks.push((self.position(at_s), self.label(at_s, step_s)));
        }
        ticks
    }

    fn label(&self, seconds: f64, step_s: f64) -> String {
        let is_midnight = self
            .zoned(seconds)
            .is_some_and(|zoned| zoned.start_of_day().ok() == Some(zoned));
        match step_s {
            1.0.. if is_midnight && self.spans_days() => self.text(seconds, "%b %-d", 0),
            60.0.. => self.text(seconds, "%H:%M", 0),
            1.0.. => self.text(seconds, "%H:%M:%S", 0),
            0.1.. => self.text(seconds, "%H:%M:%S%.1f", 1),
            _ => self.text(seconds, "%H:%M:%S%.2f", 2),
        }
    }

    fn zoned(&self, seconds: f64) -> Option<jiff::Zoned> {
        Some(timestamp(seconds)?.to_zoned(self.time_zone.clone()?))
    }
}

/// The most distances between ticks that are so far apart.
fn max_intervals(step_s: f64) -> f64 {
    if step_s < 60.0 {
        MAX_INTERVALS_WITH_SECONDS
    } else {
        MAX_TIME_INTERVALS
    }
}

/// The time from seconds since 1970, rounded to the nearest millisecond; `None` if it is out of range.
fn timestamp(seconds: f64) -> Option<Timestamp> {
    Timestamp::from_millisecond((seconds * 1e3).round() as i64).ok()
}

/// The time since the first sample: `+0:05`, `+1:02:03`.
fn elapsed(seconds: f64, decimals: usize) -> String {
    let whole = seconds.max(0.0);
    let (hours, minutes, rest) = (
        (whole / 3600.0).floor(),
        (whole / 60.0 % 60.0).floor(),
        whole % 60.0,
    );
    let width = if decimals == 0 { 2 } else { decimals + 3 };
    let rest = format!("{rest:0width$.decimals$}");
    if hours > 0.0 {
        format!("+{hours}:{minutes:02}:{rest}")
    } else {
        format!("+{minutes}:{rest}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(start: &str, length_s: f64, zone: Option<TimeZone>) -> TimeAxis {
        let start_s = start.parse::<Timestamp>().unwrap().as_second() as f64;
        TimeAxis::new(
            TimeSpan {
                start_s,
                end_s: start_s + length_s,
            },
            Vec::new(),
            zone,
        )
    }

    fn labels(axis: &TimeAxis) -> Vec<String> {
        axis.ticks().into_iter().map(|(_, label)| label).collect()
    }

    #[test]
    fn ticks_are_round_times_on_the_local_clock() {
        let utc = Some(TimeZone::UTC);
        assert_eq!(
            labels(&axis("2026-11-22T16:04:14Z", 106.0, utc.clone())),
            ["16:04:30", "16:05:00", "16:05:30", "16:06:00"]
        );
        assert_eq!(
            labels(&axis("2026-11-22T16:04:14Z", 3600.0, utc.clone())),
            ["16:10", "16:20", "16:30", "16:40", "16:50", "17:00"]
        );
        let india = TimeZone::posix("IST-5:30").unwrap();
        assert_eq!(
            labels(&axis("2026-11-22T16:04:14Z", 5.0 * 3600.0, Some(india))),
            ["22:00", "23:00", "Nov 23", "01:00", "02:00"]
        );
        let short = axis("2026-11-22T16:04:14Z", 1.0, utc);
        assert_eq!(labels(&short)[..2], ["16:04:14.0", "16:04:14.2"]);
    }

    #[test]
    fn without_a_clock_times_are_counted_from_the_first_sample() {
        let axis = TimeAxis::new(
            TimeSpan {
                start_s: 0.0,
                end_s: 4000.0,
            },
            Vec::new(),
            None,
        );
        assert_eq!(
            labels(&axis),
            ["+0:00", "+15:00", "+30:00", "+45:00", "+1:00:00"]
        );
        assert_eq!(
            (axis.zone(), axis.clock(3723.4)),
            (None, "+1:02:03".to_owned())
        );
    }

    #[test]
    fn a_change_of_the_offset_is_known() {
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let axis = axis("2026-10-24T22:00:00Z", 86_400.0, Some(zone));
        let offsets: Vec<i32> = axis
            .utc_offsets()
            .into_iter()
            .map(|(_, offset)| offset)
            .collect();
        assert_eq!(offsets, [7200, 3600]);
    }

    #[test]
    fn a_span_without_length_can_be_drawn() {
        let axis = TimeAxis::new(
            TimeSpan {
                start_s: 5.0,
                end_s: 5.0,
            },
            Vec::new(),
            None,
        );
        assert_eq!((axis.x(5.0), axis.x(99.0)), (0, 2000));
        assert!(axis.ticks().len() <= 8);
    }

    #[test]
    fn a_time_has_its_date_where_that_is_not_obvious() {
        let day_s = 86_400.0;
        let axis = |days: f64| {
            TimeAxis::new(
                TimeSpan {
                    start_s: 1000.0,
                    end_s: 1000.0 + days * day_s,
                },
                Vec::new(),
                Some(TimeZone::UTC),
            )
        };
        assert_eq!(axis(0.5).moment(1000.0), "00:16:40");
        let two_days = axis(2.0);
        assert_eq!(two_days.moment(1000.0), "1970-01-01 00:16:40");
        assert_eq!(two_days.end_moment(1000.0, 1060.0), "00:17:40");
        assert_eq!(
            two_days.end_moment(1000.0, 1000.0 + day_s),
            "1970-01-02 00:16:40"
        );
    }
}
