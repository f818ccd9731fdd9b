//! The busy time by the verdict on each load.

use super::load_verdict::LoadAssessment;
use super::{Latency, Verdict};
use crate::analysis::baseline::{Baselines, Saturations};
use crate::analysis::caps::{Plateau, is_on_plateau};
use crate::analysis::load::{IoDirection, LoadSample};
use crate::analysis::settings::BaselineSource;
use crate::analysis::stats::IoTotals;
use crate::analysis::thresholds::{MIN_CONFIRMATIONS, MOST_FRACTION, SATURATION_WINDOW_INTERVALS};

/// The busy time by the verdict on each load alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct VerdictShares {
    pub(crate) all: LoadSum,
    pub(crate) ok: LoadSum,
    pub(crate) queueing: LoadSum,
    pub(crate) saturated: LoadSum,
    pub(crate) slow: LoadSum,
    pub(crate) unknown: LoadSum,
    /// The saturated time that each direction and source shows.
    proofs: Vec<ProvenTime>,
}

impl VerdictShares {
    /// The fraction of the busy time that some loads took.
    pub(crate) fn fraction(&self, loads: &LoadSum) -> f64 {
        loads.seconds / self.all.seconds
    }

    /// The multiple of the unloaded latency that the requests of most saturated loads have at least, with their direction and
    /// the source of that bound. `None` if nothing shows most of them, or if the mean over all of them shows it as well.
    pub(crate) fn proof(&self) -> Option<(IoDirection, f64, BaselineSource)> {
        let is_known = self
            .saturated
            .latency()
            .is_some_and(|latency| latency.saturation.is_some());
        let most = self
            .proofs
            .iter()
            .find(|time| 2.0 * time.seconds >= self.saturated.seconds)?;
        (most.source.is_assumed() || !is_known)
            .then(|| (most.direction, most.ms / most.unloaded_ms, most.source))
    }

    /// Adds the loads of a lifetime with their `saturations`, judged against its baselines: those learned over all the
    /// time, or those learned before the load if that verdict is worse. Trouble that lasts for most of the time is in the
    /// former baselines and would not show.
    pub(crate) fn add_lifetime(
        &mut self,
        loads: &[LoadSample],
        saturations: &[Saturations],
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
            let decisive = if earlier.verdict > compared.verdict {
                earlier
            } else {
                compared
            };
            (verdict, decisive.decisive_saturation())
        };
        let judged: Vec<_> = loads.iter().map(judge).collect();
        let verdicts: Vec<Option<Verdict>> = judged.iter().map(|(verdict, _)| *verdict).collect();
        for (index, load) in loads.iter().enumerate() {
            let verdict = verdicts[index].filter(|_| is_confirmed(loads, &verdicts, index));
            let saturation = saturations[index].both;
            trouble.add(load, verdict);
            self.all.add(load, saturation);
            let sum = match verdict {
                Some(Verdict::Slow) => &mut self.slow,
                Some(Verdict::Queueing) => &mut self.queueing,
                Some(Verdict::Saturated) => &mut self.saturated,
                Some(_) => &mut self.ok,
                None => &mut self.unknown,
            };
            sum.add(load, saturation);
            if let (Some(Verdict::Saturated), Some(proof)) = (verdict, judged[index].1) {
                self.add_proof(load, proof);
            }
        }
    }

    fn add_proof(
        &mut self,
        load: &LoadSample,
        (direction, saturation, source): (IoDirection, f64, BaselineSource),
    ) {
        let place = self
            .proofs
            .iter()
            .position(|time| (time.direction, time.source) == (direction, source));
        let place = place.unwrap_or(self.proofs.len());
        if place == self.proofs.len() {
            self.proofs.push(ProvenTime {
                direction,
                source,
                seconds: 0.0,
                ms: 0.0,
                unloaded_ms: 0.0,
            });
        }
        let (time, ms) = (&mut self.proofs[place], load.totals(direction).ms);
        time.seconds += load.seconds;
        time.ms += ms;
        time.unloaded_ms += ms / saturation;
    }
}

/// The saturated time that the latency of one direction shows, compared with one source.
#[derive(Clone, Copy, Debug)]
struct ProvenTime {
    direction: IoDirection,
    source: BaselineSource,
    seconds: f64,
    ms: f64,
    /// The milliseconds that the same requests would have taken unloaded.
    unloaded_ms: f64,
}

/// Returns whether trouble in a load is confirmed by its neighbors, as a live verdict is by the intervals before it: a
/// single interval may be slow by chance.
fn is_confirmed(loads: &[LoadSample], verdicts: &[Option<Verdict>], index: usize) -> bool {
    let Some(verdict @ (Verdict::Slow | Verdict::Saturated)) = verdicts[index] else {
        return true;
    };
    let count = |window: &[Option<Verdict>]| {
        window
            .iter()
            .filter(|other| **other == Some(verdict))
            .count()
    };
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
    /// The request time of the loads whose saturation is known, and the time that their requests would have taken unloaded.
    compared_ms: f64,
    unloaded_ms: f64,
}

impl LoadSum {
    fn add(&mut self, load: &LoadSample, saturation: Option<f64>) {
        let totals = load.totals(IoDirection::Both);
        self.totals = self.totals.plus(&totals);
        self.seconds += load.seconds;
        self.intervals += load.intervals;
        if let Some(saturation) = saturation {
            self.compared_ms += totals.ms;
            self.unloaded_ms += totals.ms / saturation;
        }
    }

    pub(crate) fn plus(&self, other: &Self) -> Self {
        Self {
            totals: self.totals.plus(&other.totals),
            seconds: self.seconds + other.seconds,
            intervals: self.intervals + other.intervals,
            compared_ms: self.compared_ms + other.compared_ms,
            unloaded_ms: self.unloaded_ms + other.unloaded_ms,
        }
    }

    /// The mean latency and queue, with the multiple of the unloaded latency if that is known for most of the request time;
    /// `None` without requests.
    pub(crate) fn latency(&self) -> Option<Latency> {
        let queue = self.totals.ms / 1000.0 / self.seconds;
        let is_known = self.unloaded_ms > 0.0 && self.compared_ms >= MOST_FRACTION * self.totals.ms;
        let saturation = is_known.then(|| self.compared_ms / self.unloaded_ms);
        Some(Latency {
            await_ms: self.totals.await_ms()?,
            queue,
            saturation,
        })
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
        let Some(verdict) = verdict else {
            return Vec::new();
        };
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
