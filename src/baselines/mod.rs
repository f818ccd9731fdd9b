//! Baselines of devices as data: the latency of requests while the device is not loaded. They are learned by `judge`, saved
//! by the recorder for the live views of its host, and stored in recordings.

mod recorded;
mod saved;

pub use recorded::{RecordedBaseline, RecordedBaselines};
pub use saved::SavedBaselines;
use serde::{Deserialize, Serialize};

/// The most values of a direction that are kept: more than there are size classes.
const MAX_SIZES: usize = 64;

/// The unloaded latency of requests of similar size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnloadedLatency {
    /// The size, a power of two in KiB; `None` for any size.
    pub size_kib: Option<f64>,
    pub await_ms: f64,
    /// The mean queue at which it was seen; `None` if the user stated the latency.
    pub queue: Option<f64>,
    /// True if that queue is so long (above 1.5) that the unloaded device may be faster.
    #[serde(rename = "upper_bound")]
    pub is_upper_bound: bool,
}

impl UnloadedLatency {
    /// Returns whether a device can have this latency.
    fn is_possible(&self) -> bool {
        let is_positive = |value: f64| value > 0.0 && value.is_finite();
        is_positive(self.await_ms)
            && self.size_kib.is_none_or(is_positive)
            && self
                .queue
                .is_none_or(|queue| queue >= 0.0 && queue.is_finite())
    }
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceBaseline {
    /// Of reads, by size.
    pub read: Vec<UnloadedLatency>,
    /// Of writes, by size.
    pub write: Vec<UnloadedLatency>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub flush: Vec<UnloadedLatency>,
}

impl DeviceBaseline {
    /// Fixed values in milliseconds for every size (`--baseline-ms R[,W]`).
    pub fn stated(read_ms: Option<f64>, write_ms: Option<f64>) -> Self {
        let unloaded = |await_ms| UnloadedLatency {
            size_kib: None,
            await_ms,
            queue: None,
            is_upper_bound: false,
        };
        let any_size = |ms: Option<f64>| ms.into_iter().map(unloaded).collect();
        Self {
            read: any_size(read_ms),
            write: any_size(write_ms),
            flush: Vec::new(),
        }
    }

    /// Returns whether it has no values.
    pub fn is_empty(&self) -> bool {
        self.read.is_empty() && self.write.is_empty() && self.flush.is_empty()
    }

    /// Takes the values of `newer`. Values for sizes that it lacks stay.
    pub fn update(&mut self, newer: &Self) {
        let directions = [
            (&mut self.read, &newer.read),
            (&mut self.write, &newer.write),
            (&mut self.flush, &newer.flush),
        ];
        for (own, newer) in directions {
            own.retain(|one| newer.iter().all(|other| other.size_kib != one.size_kib));
            own.extend(newer);
            let size = |one: &UnloadedLatency| one.size_kib.unwrap_or(0.0);
            own.sort_by(|a, b| size(a).total_cmp(&size(b)));
        }
    }

    /// Removes values that no device can have: a file from elsewhere may contain any.
    pub fn retain_possible(&mut self) {
        for direction in [&mut self.read, &mut self.write, &mut self.flush] {
            direction.retain(UnloadedLatency::is_possible);
            direction.truncate(MAX_SIZES);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stated_baseline_is_of_every_size_and_may_be_of_one_direction() {
        let stated = DeviceBaseline::stated(Some(0.5), None);
        assert_eq!(
            (stated.read[0].size_kib, stated.read[0].await_ms),
            (None, 0.5)
        );
        assert!(
            stated.write.is_empty() && !stated.is_empty() && DeviceBaseline::default().is_empty()
        );
    }

    #[test]
    fn newer_values_replace_those_of_the_same_size() {
        let value = |size_kib, await_ms| UnloadedLatency {
            size_kib: Some(size_kib),
            await_ms,
            queue: Some(0.5),
            is_upper_bound: false,
        };
        let mut saved = DeviceBaseline {
            read: vec![value(4.0, 1.0), value(64.0, 3.0)],
            ..Default::default()
        };
        let newer = DeviceBaseline {
            read: vec![value(4.0, 2.0), value(8.0, 2.5)],
            write: vec![value(4.0, 5.0)],
            ..Default::default()
        };
        saved.update(&newer);
        assert_eq!(
            saved.read,
            [value(4.0, 2.0), value(8.0, 2.5), value(64.0, 3.0)]
        );
        assert_eq!((saved.write, saved.flush), (newer.write, vec![]));
    }

    #[test]
    fn impossible_values_are_removed() {
        let mut baseline = DeviceBaseline::stated(Some(0.5), Some(-1.0));
        baseline.read.push(UnloadedLatency {
            size_kib: Some(0.0),
            ..baseline.read[0]
        });
        baseline.read.push(UnloadedLatency {
            queue: Some(-1.0),
            ..baseline.read[0]
        });
        baseline.read.extend(vec![baseline.read[0]; 1000]);
        baseline.retain_possible();
        assert_eq!((baseline.read.len(), baseline.write.len()), (MAX_SIZES, 0));
        assert!(
            baseline
                .read
                .iter()
                .all(|value| value.size_kib.is_none() && value.queue.is_none())
        );
    }
}
