//! Times of trouble that all intervals together show, even if the live verdict lacked a baseline.

use super::Verdict;
use crate::analysis::caps::{Plateau, is_on_plateau};
use crate::analysis::load::{IoDirection, LoadSample};
use crate::analysis::thresholds::SATURATION_WINDOW_INTERVALS;

/// A time in which every load is in trouble, as judged with knowledge of the whole capture.
#[derive(Clone, Debug, PartialEq)]
pub struct TroubleSpan {
    pub verdict: Verdict,
    /// The cap; `None` for other verdicts.
    pub plateau: Option<Plateau>,
    /// Its beginning, in seconds of all intervals before.
    pub begin_s: f64,
    pub end_s: f64,
    /// Its loads merged into one.
    pub load: LoadSample,
    /// The longest mean queue of a load.
    pub peak_queue: f64,
    /// The highest mean latency of a load in milliseconds, and its direction; `None` without reads and writes.
    pub peak_await: Option<(f64, IoDirection)>,
}

/// Collects spans from loads in the order of time.
#[derive(Debug, Default)]
pub(crate) struct TroubleSpans(Vec<TroubleSpan>);

impl TroubleSpans {
    /// Adds a load with its verdict, if that is trouble.
    pub(super) fn add(&mut self, load: &LoadSample, verdict: Option<Verdict>) {
        if let Some(verdict) = verdict.filter(|verdict| *verdict >= Verdict::Queueing) {
            self.push(load, verdict, None);
        }
    }

    /// The spans; if there are caps, those on a plateau are added. Only spans that agree with the verdict on the whole
    /// capture are kept, because it is based on more evidence.
    pub(crate) fn finish(
        self,
        verdict: Option<Verdict>,
        caps: &[Plateau],
        loads: &[LoadSample],
    ) -> Vec<TroubleSpan> {
        let Some(verdict) = verdict else { return Vec::new() };
        let mut spans = self;
        if verdict == Verdict::Capped {
            let mut capped = Self::default();
            for load in loads {
                if let Some(cap) = caps.iter().find(|cap| is_on_plateau(cap, load)) {
                    capped.push(load, Verdict::Capped, Some(cap));
                }
            }
            capped.0.extend(spans.0);
            spans = capped;
        }
        let is_admitted = |span: &TroubleSpan| {
            span.verdict <= verdict && span.load.intervals >= SATURATION_WINDOW_INTERVALS as f64
        };
        spans.0.retain(is_admitted);
        spans.0.shrink_to_fit();
        spans.0
    }

    fn push(&mut self, load: &LoadSample, verdict: Verdict, plateau: Option<&Plateau>) {
        let interval_s = load.seconds / load.intervals;
        // Merged loads lie farther apart.
        let max_gap_s = (3.0 * interval_s).max(2.0 * load.seconds);
        let end_s = load.begin_s + load.seconds;
        let queue = load.queue(IoDirection::Both);
        let peak_await = peak_await(load);
        match self.0.last_mut() {
            Some(last) if last.verdict == verdict && load.begin_s - last.end_s <= max_gap_s => {
                last.end_s = last.end_s.max(end_s);
                last.load = last.load.merge(load);
                last.peak_queue = last.peak_queue.max(queue);
                if peak_await.map_or(0.0, |peak| peak.0) > last.peak_await.map_or(0.0, |peak| peak.0) {
                    last.peak_await = peak_await;
                }
            }
            _ => self.0.push(TroubleSpan {
                verdict,
                plateau: plateau.cloned(),
                begin_s: load.begin_s,
                end_s,
                load: *load,
                peak_queue: queue,
                peak_await,
            }),
        }
    }
}

/// The latency of the direction with most of the queue.
fn peak_await(load: &LoadSample) -> Option<(f64, IoDirection)> {
    let is_read = load.queue(IoDirection::Reads) >= load.queue(IoDirection::Writes);
    let direction = if is_read { IoDirection::Reads } else { IoDirection::Writes };
    Some((load.totals(direction).await_ms()?, direction))
}
