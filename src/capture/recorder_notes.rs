//! Notes of a recorder about itself and its clocks: samples that it dropped, times in which it could not write, and
//! changes of the clocks.

use std::fmt;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::units::SampleTime;

/// Samples that were taken but not written, because the disk did not accept them and memory is bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DroppedSamples {
    /// The number of these samples.
    #[serde(rename = "dropped_samples")]
    pub count: u64,
    /// The time of the first one; `None` if it is not known.
    #[serde(rename = "dropped_from", serialize_with = "write_time", deserialize_with = "read_time")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first: Option<Timestamp>,
    /// The time of the last one; `None` if it is not known.
    #[serde(rename = "dropped_to", serialize_with = "write_time", deserialize_with = "read_time")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<Timestamp>,
}

impl DroppedSamples {
    /// Adds a sample, taken `at` this time.
    pub fn add(&mut self, at: Option<Timestamp>) {
        self.extend(Self { count: 1, first: at, last: at });
    }

    pub fn extend(&mut self, other: Self) {
        self.count += other.count;
        self.first = self.first.into_iter().chain(other.first).min();
        self.last = self.last.into_iter().chain(other.last).max();
    }
}

impl fmt::Display for DroppedSamples {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let s = if self.count == 1 { "" } else { "s" };
        write!(f, "{} sample{s}", self.count)?;
        if let Some((first, last)) = self.first.zip(self.last) {
            write!(f, " from {first:.0} to {last:.0}")?;
        }
        f.write_str(" dropped by the recorder, whose disk did not accept them")
    }
}

fn write_time<S: Serializer>(time: &Option<Timestamp>, serializer: S) -> Result<S::Ok, S::Error> {
    time.map(|time| time.to_string()).serialize(serializer)
}

/// Reads a time; one that is not valid is not known.
fn read_time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Timestamp>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.and_then(|text| text.parse().ok()))
}

/// A time in which the recorder could not write. Samples were taken meanwhile and written later.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WriteStall {
    /// The length of that time.
    #[serde(rename = "write_stalled_s", serialize_with = "write_seconds")]
    pub duration: Duration,
    /// The error of the failed writes, such as `No space left on device`; `None` if the disk merely did not answer.
    #[serde(rename = "write_error", skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// A change of the host's clocks between two samples, apart from the time that passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ClockChange {
    /// Seconds by which the wall clock was set forward, or back if negative; `None` if it was not set.
    #[serde(rename = "clock_step_s", skip_serializing_if = "Option::is_none")]
    pub step_s: Option<f64>,
    /// Seconds that the host was suspended; `None` if it was not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspended_s: Option<f64>,
}

impl ClockChange {
    /// Compares the clocks at two samples. The monotonic clock stops while the host is suspended, but the uptime does
    /// not.
    pub fn between(older: &SampleTime, newer: &SampleTime) -> Self {
        /// The shortest suspend that is noticed: longer than it takes to read the uptime and then the clocks, even on a
        /// busy host.
        const MIN_SUSPENDED_S: f64 = 2.0;
        /// The smallest step that is noticed: more than the time between the readings of two clocks.
        const MIN_STEP_S: f64 = 0.2;
        /// The fastest slew that is not a step: twice as fast as the kernel slews a clock (adjtimex(2)).
        const MAX_SLEW_RATIO: f64 = 0.001;
        let since = |time: fn(&SampleTime) -> Option<f64>| Some(time(newer)? - time(older)?);
        let Some(elapsed_s) = since(|at| at.monotonic.map(|time| time.as_secs_f64())) else {
            return Self::default();
        };
        let uptime_s = since(|at| at.uptime.map(|hundredths| hundredths as f64 / 100.0));
        let suspended_s = uptime_s.map(|uptime_s| uptime_s - elapsed_s).filter(|s| *s >= MIN_SUSPENDED_S);
        // After a suspend, a step is known only as exactly as the length of the suspend.
        let min_step_s = if suspended_s.is_some() { MIN_SUSPENDED_S } else { MIN_STEP_S };
        let min_step_s = min_step_s.max(elapsed_s * MAX_SLEW_RATIO);
        let wall_s = since(|at| at.wall.map(|wall| wall.as_nanosecond() as f64 / 1e9));
        let step_s = wall_s.map(|wall_s| wall_s - elapsed_s - suspended_s.unwrap_or(0.0));
        let step_s = step_s.filter(|step_s| step_s.abs() >= min_step_s);
        Self { step_s: step_s.map(milliseconds), suspended_s: suspended_s.map(milliseconds) }
    }
}

/// Rounds seconds to milliseconds.
fn milliseconds(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}

fn write_seconds<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(milliseconds(duration.as_secs_f64()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(monotonic_ms: u64, wall_ms: i64, uptime_cs: u64) -> SampleTime {
        SampleTime {
            monotonic: Some(Duration::from_millis(monotonic_ms)),
            wall: Timestamp::from_millisecond(1_800_000_000_000 + wall_ms).ok(),
            uptime: Some(uptime_cs),
        }
    }

    #[test]
    fn a_step_and_a_suspend_are_told_from_the_passing_of_time() {
        let start = at(1000, 0, 500);
        let change = |newer| ClockChange::between(&start, &newer);
        assert_eq!(change(at(2000, 1000, 600)), ClockChange::default());
        // A minute in which the clock is slewed, and a slow read of the uptime.
        assert_eq!(change(at(61_000, 60_030, 6_400)), ClockChange::default());
        // An hour in which it is slewed as fast as possible.
        assert_eq!(change(at(3_601_000, 3_601_800, 360_500)), ClockChange::default());
        assert_eq!(change(at(2000, -3_599_000, 600)).step_s, Some(-3600.0));
        let both = |change: ClockChange| (change.step_s, change.suspended_s);
        assert_eq!(both(change(at(2000, 301_000, 30_600))), (None, Some(300.0)));
        assert_eq!(both(change(at(2000, 3_901_000, 30_600))), (Some(3600.0), Some(300.0)));
        let unknown = SampleTime { monotonic: None, ..at(2000, 9_000_000, 600) };
        assert_eq!(change(unknown), ClockChange::default());
    }
}
