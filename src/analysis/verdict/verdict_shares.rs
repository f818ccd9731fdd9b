//! The busy time by the verdict on each load.

use super::load_verdict::LoadAssessment;
use super::{Latency, Verdict};
use crate::analysis::baseline::Baselines;
use crate::analysis::caps::{Plateau, is_on_plateau};
use crate::analysis::load::{IoDirection, LoadSample};
use crate::analysis::settings::BaselineSource;
use crate::analysis::stats::IoTotals;
use crate::analysis::thresholds::{MIN_CONFIRMATIONS, SATURATION_WINDOW_INTERVALS};

/// The busy time by the verdict on each load alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct VerdictShares {
    pub(crate) all: LoadSum,
    pub(crate) ok: LoadSum,
    pub(crate) queueing: LoadSum,
    pub(crate) saturated: LoadSum,
    pub(crate) slow: LoadSum,
    pub(crate) unknown: LoadSum,
    /// The saturated time by a source other than latencies that were given or seen.
    assumed: Vec<AssumedTime>,
}

impl VerdictShares {
    /// The fraction of the busy time that some loads took.
    pub(crate) fn fraction(&self, loads: &LoadSum) -> f64 {
        loads.seconds / self.all.seconds
    }

    /// The multiple of the unloaded latency that saturated loads have at least, with the source of that bound; `None` if
    /// most of them were compared with latencies that were given or seen.
    pub(crate) fn assumed_saturation(&self) -> Option<(f64, BaselineSource)> {
        let most = self.assumed.iter().find(|time| 2.0 * time.seconds >= self.saturated.seconds)?;
        Some((most.ms / most.unloaded_ms, most.source))
    }

    /// Adds the loads of a lifetime, judged against its baselines: those learned over all the time, or those learned
    /// before the load if that verdict is worse. Trouble that lasts for most of the time is in the former baselines and
    /// would not show.
    pub(crate) fn add_lifetime(
        &mut self,
        loads: &[LoadSample],
        baselines: &Baselines,
        saturation_threshold: f64,
        trouble: &mut TroubleSpans,
    ) {
        let mut before = baselines.without_learned();
        let judge = |load: &LoadSample| {
            let earlier = LoadAssessment::of(load, &before, saturation_threshold);
            before.learn(load, |direction| earlier.is_slow(direction));
            let compared = LoadAssessment::of(load, baselines, saturation_threshold);
            let trouble = earlier.verdict.filter(|verdict| verdict.is_trouble());
            let verdict = compared.verdict.max(trouble);
            let decisive = if earlier.verdict > compared.verdict { earlier } else { compared };
            (verdict, decisive.decisive_saturation().filter(|(_, source)| source.is_assumed()))
        };
        let judged: Vec<_> = loads.iter().map(judge).collect();
        let verdicts: Vec<Option<Verdict>> = judged.iter().map(|(verdict, _)| *verdict).collect();
        for (index, load) in loads.iter().enumerate() {
            let verdict = verdicts[index].filter(|_| is_confirmed(loads, &verdicts, index));
            trouble.add(load, verdict);
            self.all.add(load);
            let sum = match verdict {
                Some(Verdict::Slow) => &mut self.slow,
                Some(Verdict::Queueing) => &mut self.queueing,
                Some(Verdict::Saturated) => &mut self.saturated,
                Some(_) => &mut self.ok,
                None => &mut self.unknown,
            };
            sum.add(load);
            if let (Some(Verdict::Saturated), Some((saturation, source))) = (verdict, judged[index].1) {
                self.add_assumed(load, saturation, source);
            }
        }
    }

    fn add_assumed(&mut self, load: &LoadSample, saturation: f64, source: BaselineSource) {
        let ms = load.totals(IoDirection::Both).ms;
        let (seconds, unloaded_ms) = (load.seconds, ms / saturation);
        match self.assumed.iter_mut().find(|time| time.source == source) {
            Some(time) => {
                time.seconds += seconds;
                time.ms += ms;
                time.unloaded_ms += unloaded_ms;
            }
            None => self.assumed.push(AssumedTime { source, seconds, ms, unloaded_ms }),
        }
    }
}

/// The saturated time that one source shows.
#[derive(Clone, Copy, Debug)]
struct AssumedTime {
    source: BaselineSource,
    seconds: f64,
    ms: f64,
    /// The milliseconds that the same requests would have taken unloaded.
    unloaded_ms: f64,
}

/// Returns whether trouble in a load is confirmed by its neighbors, as a live verdict is by the intervals before it: a
/// single interval may be slow by chance.
fn is_confirmed(loads: &[LoadSample], verdicts: &[Option<Verdict>], index: usize) -> bool {
    let Some(verdict @ (Verdict::Slow | Verdict::Saturated)) = verdicts[index] else { return true };
    let count = |window: &[Option<Verdict>]| window.iter().filter(|other| **other == Some(verdict)).count();
    let first = index.saturating_sub(SATURATION_WINDOW_INTERVALS - 1);
    let end = (index + SATURATION_WINDOW_INTERVALS).min(verdicts.len());
    let windows = verdicts[first..end].windows(SATURATION_WINDOW_INTERVALS.min(end - first));
    loads[index].intervals > 1.0 || windows.map(count).max().unwrap_or(0) >= MIN_CONFIRMATIONS
}

/// The sum of several loads.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoadSum {
    totals: IoTotals,
    pub(crate) seconds: f64,
    pub(crate) intervals: f64,
}

impl LoadSum {
    fn add(&mut self, load: &LoadSample) {
        self.totals = self.totals.plus(&load.totals(IoDirection::Both));
        self.seconds += load.seconds;
        self.intervals += load.intervals;
    }

    /// The mean latency and queue; `None` without requests.
    pub(crate) fn latency(&self) -> Option<Latency> {
        let queue = self.totals.ms / 1000.0 / self.seconds;
        Some(Latency { await_ms: self.totals.await_ms()?, queue, saturation: None })
    }
}

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
}

/// Collects spans from loads in the order of time.
#[derive(Debug, Default)]
pub(crate) struct TroubleSpans(Vec<TroubleSpan>);

impl TroubleSpans {
    /// Adds a load with its verdict, if that is trouble.
    pub(crate) fn add(&mut self, load: &LoadSample, verdict: Option<Verdict>) {
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
        match self.0.last_mut() {
            Some(last) if last.verdict == verdict && load.begin_s - last.end_s <= max_gap_s => {
                last.end_s = last.end_s.max(end_s);
                last.load = last.load.merge(load);
            }
            _ => self.0.push(TroubleSpan {
                verdict,
                plateau: plateau.cloned(),
                begin_s: load.begin_s,
                end_s,
                load: *load,
            }),
        }
    }
}
