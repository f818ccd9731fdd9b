//! Baselines as they are saved, given and reported.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The unloaded latency of requests of similar size.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct UnloadedLatency {
    /// The size, a power of two in KiB; `None` for any size.
    pub size_kib: Option<f64>,
    /// Latency in milliseconds.
    pub await_ms: f64,
    /// The mean queue at which it was seen; `None` when it was stated by hand. 0.1.0 saved it as `concurrency`.
    #[serde(alias = "concurrency")]
    pub queue: Option<f64>,
    /// That queue is so long (above 1.5) that the unloaded device may answer faster. 0.1.0 saved it as
    /// `is_upper_bound`.
    #[serde(rename = "upper_bound", alias = "is_upper_bound")]
    pub is_upper_bound: bool,
}

/// The baselines of both directions of a device.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct DeviceBaseline {
    /// Of reads, by size.
    pub read: Vec<UnloadedLatency>,
    /// Of writes, by size.
    pub write: Vec<UnloadedLatency>,
}

impl DeviceBaseline {
    /// Fixed values in milliseconds for every size (`--baseline-ms R[,W]`).
    pub fn stated(read_ms: Option<f64>, write_ms: Option<f64>) -> Self {
        let any_size = |ms: Option<f64>| {
            ms.map(|await_ms| UnloadedLatency {
                size_kib: None,
                await_ms,
                queue: None,
                is_upper_bound: false,
            })
            .into_iter()
            .collect()
        };
        Self { read: any_size(read_ms), write: any_size(write_ms) }
    }

    /// Returns whether it has no values.
    pub fn is_empty(&self) -> bool {
        self.read.is_empty() && self.write.is_empty()
    }
}

/// The baselines of a host by device: the content of a `--save-baseline` file.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SavedBaselines {
    /// By the kernel's name of the device.
    pub devices: BTreeMap<String, DeviceBaseline>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_baseline_saved_by_0_1_0_loads() {
        let text = include_str!("../../fixtures/recordings-0.1.0/baseline.json");
        let old_names = ["\"concurrency\"", "\"is_upper_bound\""];
        assert!(old_names.iter().all(|name| text.contains(name)), "the file is of 0.1.0");
        let saved: SavedBaselines = serde_json::from_str(text).unwrap();
        let read = saved.devices["vda"].read.iter().find(|one| one.size_kib == Some(4.0)).unwrap();
        assert!((read.await_ms - 0.034).abs() < 0.001 && !read.is_upper_bound, "{read:?}");
        assert!(read.queue.is_some_and(|queue| (queue - 0.77).abs() < 0.01), "{read:?}");
        // Saved again, it has the present names.
        let again = serde_json::to_string(&saved).unwrap();
        assert!(again.contains("\"queue\"") && again.contains("\"upper_bound\""), "{again}");
        assert!(!old_names.iter().any(|name| again.contains(name)), "{again}");
        assert_eq!(serde_json::from_str::<SavedBaselines>(&again).unwrap(), saved);
    }

    #[test]
    fn a_stated_baseline_is_of_every_size_and_may_be_of_one_direction() {
        let stated = DeviceBaseline::stated(Some(0.5), None);
        assert_eq!((stated.read[0].size_kib, stated.read[0].await_ms), (None, 0.5));
        assert!(stated.write.is_empty() && !stated.is_empty() && DeviceBaseline::default().is_empty());
    }
}
