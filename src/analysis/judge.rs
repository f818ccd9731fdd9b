//! The verdict of a device after every interval.

use std::collections::VecDeque;

use super::baseline::{Baseline, BaselinePolicy, learn};
use super::explain::{number, ratio};
use super::load::{IoDirection, IoTotals, LoadSample, RateUnit};
use super::plateau::{Plateau, plateaus};
use super::settings::{Settings, StatedCap};
use super::still::{LEAST_INTERVALS, STILL};
use super::verdict::{MINOR, Verdict, by_saturation, worse};
use crate::metrics::IntervalStats;

/// How many intervals are remembered.
const REMEMBERED: usize = 64;
/// Saturation must be seen in so many of the last intervals...
const SEVERAL: u32 = 3;
/// ...of so many.
const LAST: u32 = 4;
/// A plateau holds as long as the rate stays within this share of it.
const ON_PLATEAU: f64 = 0.015;

/// What is thought of a device in an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assessment {
    /// The verdict; `None` where what was seen so far does not tell.
    pub verdict: Option<Verdict>,
    /// Response time of reads as a multiple of the unloaded device's; `None` where that is not known.
    pub read_saturation: Option<f64>,
    /// The same of writes.
    pub write_saturation: Option<f64>,
    /// What the verdict, or that there is none, rests on, in words.
    pub evidence: Vec<String>,
}

/// Judges a device after every interval, from the intervals so far, in bounded memory.
#[derive(Clone, Debug)]
pub struct LiveVerdict {
    saturated_at: f64,
    cap: Option<StatedCap>,
    reads: Baseline,
    writes: Baseline,
    recent: VecDeque<LoadSample>,
    /// The last intervals, one bit each: those that alone would be called saturated.
    saturated: u32,
    seen: f64,
}

impl LiveVerdict {
    /// A judge of a device that has seen nothing, with the baselines that `settings` give for it.
    pub fn new(settings: &Settings) -> Self {
        let given = settings.baseline.clone().unwrap_or_default();
        Self {
            saturated_at: settings.saturated_at,
            cap: settings.cap,
            reads: Baseline::new(BaselinePolicy::Live, &given.read),
            writes: Baseline::new(BaselinePolicy::Live, &given.write),
            recent: VecDeque::with_capacity(REMEMBERED),
            saturated: 0,
            seen: 0.0,
        }
    }

    /// The baseline of reads or of writes so far.
    pub fn baseline(&self, side: IoDirection) -> &Baseline {
        if side == IoDirection::Writes { &self.writes } else { &self.reads }
    }

    /// Judges the interval that has just ended. `stalled_s` is [`crate::metrics::UtilCheck::stalled_s`] with this
    /// interval seen, `accounting` whether the kernel counts the device's requests, where known.
    pub fn see(&mut self, figures: &IntervalStats, stalled_s: f64, accounting: Option<bool>) -> Assessment {
        self.seen += 1.0;
        if let Some(judgement) = without_load(figures, stalled_s, accounting) {
            self.saturated = 0;
            return judgement;
        }
        let Some(load) = LoadSample::of(figures, self.seen) else {
            return Assessment {
                evidence: vec!["no response times to judge by".into()],
                ..Assessment::default()
            };
        };
        let mut judgement = self.by_response_time(&load);
        self.remember(load);
        if let Some(plateau) = self.plateau(&load) {
            judgement.verdict = Some(Verdict::Capped);
            let told =
                format!("{}{}: {}{}", plateau.rate(), plateau.hint(), plateau.sentence(), plateau.doubt());
            judgement.evidence.insert(0, told);
        }
        judgement
    }

    /// A break in time or a reset: what comes next does not follow on what was seen. Baselines stay.
    pub fn interrupt(&mut self) {
        self.recent.clear();
        self.saturated = 0;
    }

    fn by_response_time(&mut self, load: &LoadSample) -> Assessment {
        let total = load.concurrency(IoDirection::Both);
        let read_saturation = self.reads.saturation(&load.reads, total);
        let write_saturation = self.writes.saturation(&load.writes, total);
        // Learnt after it was judged: an interval is no measure of itself.
        learn(load, &mut self.reads, &mut self.writes);
        let mut evidence = Vec::new();
        let mut one = |side: IoDirection, saturation: Option<f64>, work: &IoTotals| {
            let counts = work.ms > MINOR * load.work(IoDirection::Both).ms;
            if counts || saturation.is_some() {
                evidence.push(describe(side, saturation, work, load.concurrency(side)));
            }
            let by = |saturation| {
                by_saturation(saturation, load.concurrency(side), load.in_flight, self.saturated_at)
            };
            (saturation.map(by), counts && saturation.is_none())
        };
        let (reads, reads_unknown) = one(IoDirection::Reads, read_saturation, &load.reads);
        let (writes, writes_unknown) = one(IoDirection::Writes, write_saturation, &load.writes);
        let verdict = self.over_several(worse(reads, writes));
        // What is not known may be worse than what is.
        let unknown = (reads_unknown || writes_unknown) && verdict == Some(Verdict::Ok);
        let verdict = verdict.filter(|_| !unknown);
        Assessment { verdict, read_saturation, write_saturation, evidence }
    }

    /// Saturation takes several intervals; until then requests queue.
    fn over_several(&mut self, verdict: Option<Verdict>) -> Option<Verdict> {
        let is_saturated = verdict == Some(Verdict::Saturated);
        self.saturated = ((self.saturated << 1) | u32::from(is_saturated)) & ((1 << LAST) - 1);
        match verdict {
            Some(Verdict::Saturated) if self.saturated.count_ones() < SEVERAL => Some(Verdict::Queueing),
            other => other,
        }
    }

    fn remember(&mut self, mut load: LoadSample) {
        const SAME: f64 = 0.15;
        if let Some(last) = self.recent.back_mut() {
            let is_like = last.is_like(&load, SAME);
            last.steady |= is_like;
            load.steady = is_like;
        }
        if self.recent.len() == REMEMBERED {
            self.recent.pop_front();
        }
        self.recent.push_back(load);
    }

    /// Whether a search for plateaus can find one that the interval lies on: enough intervals had about its rate,
    /// and either their concurrency or the rates changed meanwhile. It costs little, and most intervals end here.
    fn may_stand_still(&self, load: &LoadSample) -> bool {
        // Half of the band of a plateau, and how far from its middle the interval may lie.
        const NEAR: f64 = 2.0 * STILL + ON_PLATEAU;
        const CHANGED: f64 = 1.2;
        let spread = |of: &dyn Fn(&LoadSample) -> f64| {
            let (least, most) =
                self.recent.iter().map(of).fold((f64::INFINITY, 0.0f64), |(least, most), value| {
                    (least.min(value), most.max(value))
                });
            most / least
        };
        const SIDES: [IoDirection; 3] = [IoDirection::Both, IoDirection::Reads, IoDirection::Writes];
        const MEASURES: [RateUnit; 2] = [RateUnit::Requests, RateUnit::Kib];
        let enough_near = |side: IoDirection, measure: RateUnit| {
            let rate = load.rate(side, measure);
            let is_near = |other: &&LoadSample| (other.rate(side, measure) / rate - 1.0).abs() <= NEAR;
            rate > 0.0 && self.recent.iter().filter(is_near).count() as f64 >= LEAST_INTERVALS
        };
        let has_changed = |side: IoDirection| {
            spread(&|load| load.concurrency(side)) >= 2.0
                || MEASURES.iter().any(|measure| spread(&|load| load.rate(side, *measure)) >= CHANGED)
        };
        SIDES.iter().any(|side| MEASURES.iter().any(|measure| enough_near(*side, *measure)))
            && (self.cap.is_some() || SIDES.into_iter().any(has_changed))
    }

    /// The plateau that the interval lies on, with a queue.
    fn plateau(&mut self, load: &LoadSample) -> Option<Plateau> {
        const QUEUE: f64 = 2.0;
        if load.concurrency(IoDirection::Both) < QUEUE || !self.may_stand_still(load) {
            return None;
        }
        plateaus(self.recent.make_contiguous(), self.cap).into_iter().find(|plateau| {
            let (rate, level) = match plateau.measure {
                RateUnit::Requests => (load.rate(plateau.side, RateUnit::Requests), plateau.iops),
                RateUnit::Kib => (load.rate(plateau.side, RateUnit::Kib), plateau.mib_per_s * 1024.0),
            };
            let is_loaded = load.concurrency(plateau.side) >= QUEUE.max(1.5 * plateau.concurrency_from)
                || plateau.concurrency_from >= QUEUE;
            let is_long = plateau.intervals as f64 >= LEAST_INTERVALS;
            (rate / level - 1.0).abs() <= ON_PLATEAU && is_loaded && is_long
        })
    }
}

/// What needs no look at the requests that were completed.
fn without_load(figures: &IntervalStats, stalled_s: f64, accounting: Option<bool>) -> Option<Assessment> {
    let judged =
        |verdict, why: String| Some(Assessment { verdict, evidence: vec![why], ..Assessment::default() });
    let in_flight = figures.in_flight.unwrap_or(0);
    if accounting == Some(false) {
        let why = "the kernel does not count its requests: queue/iostats is 0";
        judged(Some(Verdict::AccountingOff), why.into())
    } else if figures.is_idle() {
        judged(Some(Verdict::Idle), "nothing completed and nothing in flight".into())
    } else if figures.completed == 0 {
        let verdict = (stalled_s >= 1.0).then_some(Verdict::Stalled);
        let why = format!("{in_flight} in flight and none completed for {} s", number(stalled_s));
        judged(verdict, why)
    } else {
        None
    }
}

fn describe(side: IoDirection, saturation: Option<f64>, work: &IoTotals, queue: f64) -> String {
    let (noun, time) = (side.noun(), number(work.await_ms().unwrap_or_default()));
    match saturation {
        Some(saturation) => {
            let times = ratio(saturation);
            format!(
                "{noun} answered in {time} ms, {times} the unloaded time, at a queue of {}",
                number(queue)
            )
        }
        None => {
            format!("{noun} answered in {time} ms, at a queue of {}; unloaded time unknown", number(queue))
        }
    }
}
