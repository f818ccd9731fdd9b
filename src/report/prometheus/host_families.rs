//! The metrics of the host and of blkstat itself.

use std::time::Duration;

use super::family::Family;
use super::text::{TextWriter, Value};
use crate::intervals::MetricsSnapshot;

/// A family with one metric.
pub(super) struct HostFamily {
    pub(super) family: Family,
    /// Its value, given the time between samples if that is known; `None` without a value.
    value: fn(&MetricsSnapshot, Option<Duration>) -> Option<Value>,
}

impl HostFamily {
    /// Writes the metric, if it has a value.
    pub(super) fn write(
        &self,
        snapshot: &MetricsSnapshot,
        interval: Option<Duration>,
        text: &mut TextWriter<'_>,
    ) {
        let version = [("version", env!("CARGO_PKG_VERSION"))];
        let labels = if self.family.name == BUILD { &version[..] } else { &[] };
        if let Some(value) = (self.value)(snapshot, interval) {
            text.metric(&self.family, labels, value);
        }
    }
}

/// The name of the family whose label is the version.
const BUILD: &str = "blkstat_build_info";

/// The families of the host and of blkstat itself.
pub(super) const HOST_FAMILIES: &[HostFamily] = &[
    HostFamily {
        family: Family::gauge(BUILD, "The version of blkstat."),
        value: |_, _| Some(Value::Whole(1)),
    },
    HostFamily {
        family: Family::gauge("blkstat_sample_interval_seconds", "Time between samples."),
        value: |_, interval| Some(Value::Real(interval?.as_secs_f64())),
    },
    HostFamily {
        family: Family::gauge(
            "blkstat_last_sample_timestamp_seconds",
            "Time of the last sample. All metrics are of that time.",
        ),
        value: |snapshot, _| Some(Value::Real(snapshot.at?.as_millisecond() as f64 / 1e3)),
    },
    HostFamily {
        family: Family::counter(
            "blkstat_intervals_total",
            "Intervals between two samples since the start of blkstat.",
        ),
        value: |snapshot, _| Some(Value::Whole(snapshot.intervals)),
    },
    HostFamily {
        family: Family::counter(
            "blkstat_missed_samples_total",
            "Samples that were due and could not be taken in time; the interval around them is longer.",
        ),
        value: |snapshot, _| Some(Value::Whole(snapshot.missed_samples)),
    },
    HostFamily {
        family: Family::counter(
            "blkstat_skipped_cgroup_scans_total",
            "Scans of cgroups that were left out because they would have cost too much CPU time.",
        ),
        value: |snapshot, _| Some(Value::Whole(snapshot.skipped_scans)),
    },
    HostFamily {
        family: Family::gauge(
            "blkstat_procs_blocked",
            "Tasks blocked on I/O at the time of the last sample.",
        ),
        value: |snapshot, _| snapshot.blocked.map(Value::Whole),
    },
    HostFamily {
        family: Family::counter(
            "blkstat_pressure_io_waiting_seconds_total",
            "Time in which some task waited for I/O (PSI). Asynchronous I/O does not count.",
        ),
        value: |snapshot, _| Some(Value::from_us(snapshot.io_pressure?.some_us)),
    },
    HostFamily {
        family: Family::counter(
            "blkstat_pressure_io_stalled_seconds_total",
            "Time in which all tasks that had work waited for I/O (PSI).",
        ),
        value: |snapshot, _| Some(Value::from_us(snapshot.io_pressure?.full_us)),
    },
    HostFamily {
        family: Family::counter(
            "blkstat_pressure_memory_waiting_seconds_total",
            "Time in which some task waited for memory (PSI).",
        ),
        value: |snapshot, _| Some(Value::from_us(snapshot.memory_pressure?.some_us)),
    },
    HostFamily {
        family: Family::counter(
            "blkstat_pressure_memory_stalled_seconds_total",
            "Time in which all tasks that had work waited for memory (PSI).",
        ),
        value: |snapshot, _| Some(Value::from_us(snapshot.memory_pressure?.full_us)),
    },
];
