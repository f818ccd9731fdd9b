//! The single requests of an interval as stored in a frame: percentiles instead of histograms, which would take most of
//! the memory.

use crate::counters::{LatencySpan, RequestKind};
use crate::intervals::{TracedInterval, TracedThread};
use crate::metrics::LatencyStats;
use crate::report::latency::trace_notes;

/// The most threads of a device, or of a partition, that are kept.
const MAX_THREADS: usize = 8;

/// The single requests of an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FrameRequests {
    /// The time in seconds in which they were completed.
    pub(crate) elapsed_s: f64,
    /// The reasons why requests are missing, with the remedy.
    pub(crate) notes: Vec<String>,
    requests: Box<[DeviceRequests]>,
    /// The threads, sorted by bytes.
    threads: Box<[TracedThread]>,
}

/// The requests of a kind on a whole device.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DeviceRequests {
    device: Box<str>,
    /// The kind.
    pub(crate) kind: RequestKind,
    /// Their latencies; `None` if those of no request are known.
    pub(crate) stats: Option<LatencyStats>,
    /// The percentage of the completed requests whose latencies are known; `None` if none were completed.
    pub(crate) matched_pct: Option<f64>,
}

impl FrameRequests {
    pub(super) fn new(traced: &TracedInterval) -> Self {
        let mut requests = Vec::new();
        for device in &traced.devices {
            for kind in RequestKind::ALL {
                let stats = device.histogram(kind, LatencySpan::Device).and_then(LatencyStats::of);
                if stats.is_some() || device.completed_of(kind) > 0 {
                    let matched_pct = device.matched_pct(&[kind]);
                    requests.push(DeviceRequests {
                        device: device.name.as_str().into(),
                        kind,
                        stats,
                        matched_pct,
                    });
                }
            }
        }
        let mut threads: Vec<TracedThread> = Vec::new();
        for thread in traced.threads.iter().flatten() {
            if threads.iter().filter(|kept| kept.device == thread.device).count() < MAX_THREADS {
                threads.push(thread.clone());
            }
        }
        Self {
            elapsed_s: traced.elapsed_s,
            notes: trace_notes(traced),
            requests: requests.into(),
            threads: threads.into(),
        }
    }

    /// Returns the requests of a whole device by kind.
    pub(crate) fn of<'a>(&'a self, device: &'a str) -> impl Iterator<Item = &'a DeviceRequests> {
        self.requests.iter().filter(move |requests| *requests.device == *device)
    }

    /// Returns the threads with the most bytes on devices and partitions, in descending order.
    pub(crate) fn threads(&self) -> impl Iterator<Item = &TracedThread> {
        self.threads.iter()
    }

    /// An estimate of its memory.
    pub(super) fn bytes(&self) -> usize {
        let notes: usize = self.notes.iter().map(|note| size_of::<String>() + note.len()).sum();
        let names: usize = self.requests.iter().map(|requests| requests.device.len()).sum();
        let threads: usize = self.threads.iter().map(|thread| thread.device.len() + 64).sum();
        size_of::<Self>()
            + notes
            + names
            + threads
            + size_of_val(&*self.requests)
            + size_of_val(&*self.threads)
    }
}
