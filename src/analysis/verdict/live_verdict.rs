//! The verdict on a device after every interval.

use std::collections::VecDeque;

use super::{Assessment, Evidence, Latency, Verdict, more_severe};
use crate::analysis::baseline::{Baseline, BaselinePolicy, learn};
use crate::analysis::caps::{Plateau, find_plateaus};
use crate::analysis::load::{IoDirection, LoadSample, RateUnit};
use crate::analysis::settings::{Settings, StatedCap};
use crate::analysis::thresholds::{
    MAX_MINOR_TIME_FRACTION, MIN_CAPPED_QUEUE, MIN_CAPPED_QUEUE_RATIO, MIN_PLATEAU_INTERVALS,
    MIN_QUEUE_CHANGE_RATIO, MIN_RATE_CHANGE_RATIO, MIN_SATURATED_INTERVALS, MIN_STALL_S,
    ON_PLATEAU_TOLERANCE, SAME_LOAD_TOLERANCE, SATURATION_WINDOW_INTERVALS, STEADY_WINDOW,
};
use crate::metrics::IntervalStats;

/// Intervals in which plateaus are looked for.
const MAX_RECENT_LOADS: usize = 64;

/// Assesses a device after every interval, from the intervals so far, in bounded memory.
#[derive(Clone, Debug)]
pub struct LiveVerdict {
    saturation_threshold: f64,
    cap: Option<StatedCap>,
    reads: Baseline,
    writes: Baseline,
    recent: VecDeque<LoadSample>,
    /// One bit for each of the latest intervals: whether it alone looks saturated.
    saturated_bits: u32,
    intervals: f64,
}

impl LiveVerdict {
    /// The verdict on a device before its first interval, with the baselines that `settings` give for it.
    pub fn new(settings: &Settings) -> Self {
        let given = settings.baseline.clone().unwrap_or_default();
        Self {
            saturation_threshold: settings.saturation_threshold,
            cap: settings.cap,
            reads: Baseline::new(BaselinePolicy::Streaming, &given.read),
            writes: Baseline::new(BaselinePolicy::Streaming, &given.write),
            recent: VecDeque::with_capacity(MAX_RECENT_LOADS),
            saturated_bits: 0,
            intervals: 0.0,
        }
    }

    /// The baseline so far of writes, or else of reads.
    pub fn baseline(&self, direction: IoDirection) -> &Baseline {
        if direction == IoDirection::Writes { &self.writes } else { &self.reads }
    }

    /// Assesses the interval that has just ended. `stalled_s` is the result of [`crate::metrics::StallTimer::observe`] for
    /// it, `is_counted` whether the kernel counts the device's requests, where known.
    pub fn observe(&mut self, stats: &IntervalStats, stalled_s: f64, is_counted: Option<bool>) -> Assessment {
        self.intervals += 1.0;
        if let Some(assessment) = verdict_without_io(stats, stalled_s, is_counted) {
            self.saturated_bits = 0;
            return assessment;
        }
        let Some(load) = LoadSample::from_stats(stats, self.intervals) else {
            return Assessment { evidence: vec![Evidence::NoLatency], ..Assessment::default() };
        };
        let mut assessment = self.assess_latency(&load);
        self.remember(load);
        if let Some(plateau) = self.current_plateau(&load) {
            assessment.verdict = Some(Verdict::Capped);
            assessment.evidence.insert(0, Evidence::ConstantRate(plateau));
        }
        assessment
    }

    /// Marks a break in time or a reset: the next interval does not follow the latest. Baselines stay.
    pub fn interrupt(&mut self) {
        self.recent.clear();
        self.saturated_bits = 0;
    }

    fn assess_latency(&mut self, load: &LoadSample) -> Assessment {
        let total_queue = load.queue(IoDirection::Both);
        let read_saturation = self.reads.saturation(&load.reads, total_queue);
        let write_saturation = self.writes.saturation(&load.writes, total_queue);
        // The baselines learn after the assessment: an interval must not be compared with itself.
        learn(load, &mut self.reads, &mut self.writes);
        let mut evidence = Vec::new();
        let mut assess = |direction: IoDirection, saturation: Option<f64>| {
            let (totals, queue) = (load.totals(direction), load.queue(direction));
            let is_major = totals.ms > MAX_MINOR_TIME_FRACTION * load.totals(IoDirection::Both).ms;
            if is_major || saturation.is_some() {
                let await_ms = totals.await_ms().unwrap_or_default();
                let latency = Latency { await_ms, queue, saturation };
                evidence.push(Evidence::Latency { direction, latency });
            }
            let verdict = saturation.map(|saturation| {
                Verdict::from_saturation(saturation, queue, load.in_flight, self.saturation_threshold)
            });
            (verdict, is_major && saturation.is_none())
        };
        let (reads, reads_unknown) = assess(IoDirection::Reads, read_saturation);
        let (writes, writes_unknown) = assess(IoDirection::Writes, write_saturation);
        let verdict = self.debounce(more_severe(reads, writes));
        // The direction that is unknown may be worse than the other.
        let is_unknown = (reads_unknown || writes_unknown) && verdict == Some(Verdict::Ok);
        Assessment { verdict: verdict.filter(|_| !is_unknown), read_saturation, write_saturation, evidence }
    }

    /// Replaces saturated by queueing until it was seen in several intervals.
    fn debounce(&mut self, verdict: Option<Verdict>) -> Option<Verdict> {
        let is_saturated = verdict == Some(Verdict::Saturated);
        let window = (1 << SATURATION_WINDOW_INTERVALS) - 1;
        self.saturated_bits = ((self.saturated_bits << 1) | u32::from(is_saturated)) & window;
        match verdict {
            Some(Verdict::Saturated) if self.saturated_bits.count_ones() < MIN_SATURATED_INTERVALS => {
                Some(Verdict::Queueing)
            }
            other => other,
        }
    }

    fn remember(&mut self, mut load: LoadSample) {
        if let Some(last) = self.recent.back_mut() {
            load.is_steady = last.is_similar(&load, SAME_LOAD_TOLERANCE);
            last.is_steady |= load.is_steady;
        }
        if self.recent.len() == MAX_RECENT_LOADS {
            self.recent.pop_front();
        }
        self.recent.push_back(load);
    }

    /// Returns whether a search for plateaus can find one that the load lies on: enough intervals had about its rate, and
    /// either queue or rate changed meanwhile. It costs little, and most intervals end here.
    fn may_be_plateau(&self, load: &LoadSample) -> bool {
        const DIRECTIONS: [IoDirection; 3] = [IoDirection::Both, IoDirection::Reads, IoDirection::Writes];
        // The width of a plateau, and the distance from it at which the interval may lie.
        const MAX_DISTANCE: f64 = STEADY_WINDOW + ON_PLATEAU_TOLERANCE;
        let has_enough_near = |direction: IoDirection, unit: RateUnit| {
            let rate = load.rate(direction, unit);
            let is_near =
                |other: &&LoadSample| (other.rate(direction, unit) / rate - 1.0).abs() <= MAX_DISTANCE;
            rate > 0.0 && self.recent.iter().filter(is_near).count() as f64 >= MIN_PLATEAU_INTERVALS
        };
        let ratio = |value: &dyn Fn(&LoadSample) -> f64| {
            let values = self.recent.iter().map(value);
            let (min, max) =
                values.fold((f64::INFINITY, 0.0f64), |(min, max), value| (min.min(value), max.max(value)));
            max / min
        };
        let has_changed = |direction: IoDirection| {
            let is_other_rate = |unit| ratio(&|load| load.rate(direction, unit)) >= MIN_RATE_CHANGE_RATIO;
            ratio(&|load| load.queue(direction)) >= MIN_QUEUE_CHANGE_RATIO
                || RateUnit::ALL.into_iter().any(is_other_rate)
        };
        let units = |direction: IoDirection| RateUnit::ALL.into_iter().map(move |unit| (direction, unit));
        DIRECTIONS.into_iter().flat_map(units).any(|(direction, unit)| has_enough_near(direction, unit))
            && (self.cap.is_some() || DIRECTIONS.into_iter().any(has_changed))
    }

    /// The plateau that the load lies on with a queue, if any.
    fn current_plateau(&mut self, load: &LoadSample) -> Option<Plateau> {
        if load.queue(IoDirection::Both) < MIN_CAPPED_QUEUE || !self.may_be_plateau(load) {
            return None;
        }
        find_plateaus(self.recent.make_contiguous(), self.cap).into_iter().find(|plateau| {
            let plateau_rate = match plateau.unit {
                RateUnit::Requests => plateau.iops,
                RateUnit::Kib => plateau.mib_per_s * 1024.0,
            };
            let min_queue = MIN_CAPPED_QUEUE.max(MIN_CAPPED_QUEUE_RATIO * plateau.queue_from);
            let is_loaded =
                load.queue(plateau.direction) >= min_queue || plateau.queue_from >= MIN_CAPPED_QUEUE;
            let is_long = plateau.intervals as f64 >= MIN_PLATEAU_INTERVALS;
            let distance = load.rate(plateau.direction, plateau.unit) / plateau_rate - 1.0;
            distance.abs() <= ON_PLATEAU_TOLERANCE && is_loaded && is_long
        })
    }
}

/// The assessment of an interval that needs no look at completed requests; `None` where there are some.
fn verdict_without_io(stats: &IntervalStats, stalled_s: f64, is_counted: Option<bool>) -> Option<Assessment> {
    let (verdict, evidence) = if is_counted == Some(false) {
        (Some(Verdict::AccountingOff), Evidence::AccountingOff)
    } else if stats.is_idle() {
        (Some(Verdict::Idle), Evidence::Idle)
    } else if stats.completed == 0 {
        let verdict = (stalled_s >= MIN_STALL_S).then_some(Verdict::Stalled);
        let in_flight = stats.in_flight.unwrap_or(0);
        (verdict, Evidence::NothingCompleted { in_flight, for_s: stalled_s })
    } else {
        return None;
    };
    Some(Assessment { verdict, evidence: vec![evidence], ..Assessment::default() })
}
