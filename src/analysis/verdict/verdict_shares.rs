//! The fractions of the busy time by the verdict on each load.

use super::load_verdict::LoadAssessment;
use super::{Latency, Verdict};
use crate::analysis::baseline::Baselines;
use crate::analysis::caps::{Plateau, is_on_plateau};
use crate::analysis::lifetimes::LifetimeLoads;
use crate::analysis::load::{IoDirection, LoadSample};
use crate::analysis::settings::BaselineSource;
use crate::analysis::stats::IoTotals;
use crate::analysis::thresholds::{MIN_SATURATED_INTERVALS, SATURATION_WINDOW_INTERVALS};

/// Fractions of the busy time by the verdict on each load alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct VerdictShares {
    pub(crate) ok: f64,
    pub(crate) queueing: f64,
    pub(crate) saturated: f64,
    pub(crate) slow: f64,
    pub(crate) unknown: f64,
    /// The part of `unknown` that would be ok if a limit above the device were known to hold requests.
    pub(crate) ok_below_limit: f64,
    pub(crate) saturated_intervals: f64,
    pub(crate) saturated_loads: LoadSum,
    /// The saturated time by a source other than latencies that were given or seen.
    assumed: Vec<(BaselineSource, AssumedTime)>,
    pub(crate) slow_intervals: f64,
    pub(crate) slow_loads: LoadSum,
    pub(crate) unknown_loads: LoadSum,
    /// The time of all loads in seconds.
    pub(crate) seconds: f64,
}

impl VerdictShares {
    /// The shares of the loads of each lifetime of a device, against its baselines.
    pub(crate) fn of_lifetimes<'a>(
        lifetimes: impl Iterator<Item = LifetimeLoads<'a>>,
        saturation_threshold: f64,
    ) -> (Self, TroubleSpans) {
        let mut shares = Self::default();
        let mut trouble = TroubleSpans::default();
        for lifetime in lifetimes {
            shares.add_lifetime(&lifetime, saturation_threshold, &mut trouble);
        }
        if shares.seconds > 0.0 {
            shares.ok /= shares.seconds;
            shares.queueing /= shares.seconds;
            shares.saturated /= shares.seconds;
            shares.slow /= shares.seconds;
            shares.unknown /= shares.seconds;
            shares.ok_below_limit /= shares.seconds;
        }
        (shares, trouble)
    }

    /// The multiple of the unloaded latency that saturated loads have at least, with the source of that bound; `None` if
    /// most of them were compared with latencies that were given or seen.
    pub(crate) fn assumed_saturation(&self) -> Option<(f64, BaselineSource)> {
        let is_most = |(_, time): &&(_, AssumedTime)| 2.0 * time.seconds >= self.saturated_loads.seconds;
        let (source, time) = self.assumed.iter().find(is_most)?;
        Some((time.ms / time.unloaded_ms, *source))
    }

    /// The fractions if a limit above the device holds requests: some of the unknown time is then ok.
    pub(crate) fn below_limit(&self) -> Self {
        Self {
            ok: self.ok + self.ok_below_limit,
            unknown: self.unknown - self.ok_below_limit,
            ok_below_limit: 0.0,
            ..self.clone()
        }
    }

    /// Adds the seconds of a lifetime. They are divided by the total later.
    fn add_lifetime(
        &mut self,
        lifetime: &LifetimeLoads<'_>,
        saturation_threshold: f64,
        trouble: &mut TroubleSpans,
    ) {
        let LifetimeLoads { loads, baselines } = *lifetime;
        let judged = judge_loads(loads, baselines, saturation_threshold);
        let verdicts: Vec<Option<Verdict>> = judged.iter().map(|one| one.verdict).collect();
        for (index, load) in loads.iter().enumerate() {
            self.seconds += load.seconds;
            let verdict = verdicts[index].filter(|_| is_confirmed(loads, &verdicts, index));
            trouble.add(load, verdict);
            match verdict {
                Some(Verdict::Slow) => {
                    self.slow += load.seconds;
                    self.slow_intervals += load.intervals;
                    self.slow_loads.add(load);
                }
                Some(Verdict::Queueing) => self.queueing += load.seconds,
                Some(Verdict::Saturated) => {
                    self.saturated += load.seconds;
                    self.saturated_intervals += load.intervals;
                    self.saturated_loads.add(load);
                    if let Some((saturation, source)) = judged[index].assumed_saturation {
                        let known = self.assumed.iter().position(|(known, _)| *known == source);
                        let place = known.unwrap_or_else(|| {
                            self.assumed.push((source, AssumedTime::default()));
                            self.assumed.len() - 1
                        });
                        let (ms, time) = (load.totals(IoDirection::Both).ms, &mut self.assumed[place].1);
                        time.seconds += load.seconds;
                        time.ms += ms;
                        time.unloaded_ms += ms / saturation;
                    }
                }
                Some(_) => self.ok += load.seconds,
                None => {
                    self.unknown += load.seconds;
                    self.ok_below_limit += if judged[index].is_ok_below_limit { load.seconds } else { 0.0 };
                    self.unknown_loads.add(load);
                }
            }
        }
    }
}

/// The saturated time that one source shows.
#[derive(Clone, Copy, Debug, Default)]
struct AssumedTime {
    seconds: f64,
    ms: f64,
    /// The milliseconds that the same requests would have taken unloaded.
    unloaded_ms: f64,
}

/// The verdict on a load alone.
struct JudgedLoad {
    verdict: Option<Verdict>,
    /// The saturation that decides, if its source is neither given nor seen.
    assumed_saturation: Option<(f64, BaselineSource)>,
    /// It would be ok if a limit above the device were known to hold requests.
    is_ok_below_limit: bool,
}

/// The verdict on each load by itself: against the baselines learned over all the time, or against those learned before
/// the load if that verdict is worse. Trouble that lasts for most of the time is in the former baselines and would not
/// show.
fn judge_loads(loads: &[LoadSample], baselines: &Baselines, saturation_threshold: f64) -> Vec<JudgedLoad> {
    let mut before = baselines.without_learned();
    let judge = |load: &LoadSample| {
        let earlier = LoadAssessment::of(load, &before, saturation_threshold);
        before.learn(load, |direction| earlier.is_slow(direction));
        let trouble = earlier.verdict.filter(|verdict| verdict.is_trouble());
        let compared = LoadAssessment::of(load, baselines, saturation_threshold);
        let compared_verdict = compared.verdict;
        let assessed = LoadAssessment { verdict: compared_verdict.max(trouble), ..compared };
        let decisive = if earlier.verdict > compared_verdict { &earlier } else { &assessed };
        JudgedLoad {
            verdict: assessed.verdict,
            assumed_saturation: decisive.decisive_saturation().filter(|(_, source)| source.is_assumed()),
            is_ok_below_limit: assessed.is_ok_below_limit(),
        }
    };
    loads.iter().map(judge).collect()
}

/// Returns whether trouble in a load is confirmed by its neighbors, as a live verdict is by the intervals before it: a
/// single interval may be slow by chance.
fn is_confirmed(loads: &[LoadSample], verdicts: &[Option<Verdict>], index: usize) -> bool {
    let Some(verdict @ (Verdict::Slow | Verdict::Saturated)) = verdicts[index] else { return true };
    let count = |window: &[Option<Verdict>]| window.iter().filter(|other| **other == Some(verdict)).count();
    let first = index.saturating_sub(SATURATION_WINDOW_INTERVALS - 1);
    let end = (index + SATURATION_WINDOW_INTERVALS).min(verdicts.len());
    let windows = verdicts[first..end].windows(SATURATION_WINDOW_INTERVALS.min(end - first));
    loads[index].intervals > 1.0 || windows.map(count).max().unwrap_or(0) >= MIN_SATURATED_INTERVALS
}

/// The sum of several loads.
#[derive(Clone, Debug, Default)]
pub(crate) struct LoadSum {
    totals: IoTotals,
    seconds: f64,
}

impl LoadSum {
    fn add(&mut self, load: &LoadSample) {
        self.totals = self.totals.plus(&load.totals(IoDirection::Both));
        self.seconds += load.seconds;
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
