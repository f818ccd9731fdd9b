//! The analysis of one device: intervals in, a report out.

use super::baseline::{Baseline, Baselines, Saturations, SinceBoot};
use super::blocks::BlockHistory;
use super::caps::{Plateau, SteadyRates};
use super::host::HostReport;
use super::lifetimes::Lifetimes;
use super::load::{IoDirection, LoadSample, concurrency_levels, count_transitions};
use super::report::{DeviceReport, Excluded};
use super::saved_baselines::DeviceBaseline;
use super::settings::Settings;
use super::stats::{DirectionReport, DirectionSummary, Histogram};
use super::thresholds::{MIN_DOMINANT_FRACTION, MIN_UTIL_INTERVAL_S};
use super::verdict::{
    DeviceFacts, Hung, HungRequests, ThrottledTime, VerdictShares, is_stall, ok_below_limit, other_causes,
    overall_verdict,
};
use crate::attribution::ReachedLimit;
use crate::metrics::{DataFlag, HostStats, Interval};

/// One interval of a device.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    pub stats: &'a Interval,
    /// The reason why its util cannot be trusted and is left out; `None` if it can.
    pub flag: Option<DataFlag>,
    /// Seconds of all intervals before it, including those without the device.
    pub run_s: f64,
    /// The length of the current stall in seconds, as [`crate::metrics::StallTimer::observe`] returns it.
    pub stalled_s: f64,
    /// The kernel does not count the device's requests (queue/iostats is 0).
    pub is_accounting_off: bool,
    pub host: &'a HostStats,
}

/// Collects the intervals of one device in bounded memory.
#[derive(Clone, Debug, Default)]
pub struct DeviceAnalysis {
    device: String,
    intervals: u64,
    sum: Interval,
    excluded: Excluded,
    is_accounting_off: bool,
    was_busy: bool,
    stalled_s: f64,
    longest_stall_s: f64,
    /// The longest stall in seconds that is far longer than the usual latency; 0 without one.
    certain_stall_s: f64,
    hung: HungRequests,
    /// The requests that hung for longest while others completed.
    longest_hung: Option<Hung>,
    throttled: ThrottledTime,
    busy_intervals: u64,
    util_pct: Histogram,
    /// `None` unless blocks were requested by [`DeviceAnalysis::with_blocks`].
    blocks: Option<BlockHistory>,
    lifetimes: Lifetimes,
    reads: DirectionAnalysis,
    writes: DirectionAnalysis,
    both: DirectionAnalysis,
}

/// The data collected for each direction; the sizes of both together stay empty.
#[derive(Clone, Debug, Default)]
struct DirectionAnalysis {
    summary: DirectionSummary,
    sizes_kib: Histogram,
}

impl DeviceAnalysis {
    /// An analysis without intervals of the device with this kernel name.
    pub fn new(device: &str) -> Self {
        Self { device: device.to_owned(), ..Self::default() }
    }

    /// Also collects the load in blocks of time: [`DeviceReport::blocks`].
    pub fn with_blocks(self) -> Self {
        Self { blocks: Some(BlockHistory::default()), ..self }
    }

    /// The kernel's name of the device.
    pub fn name(&self) -> &str {
        &self.device
    }

    pub fn observe(&mut self, observation: &Observation) {
        let stats = observation.stats;
        self.intervals += 1;
        self.sum = self.sum.followed_by(stats);
        self.is_accounting_off |= observation.is_accounting_off;
        self.was_busy |= !stats.is_idle();
        self.stalled_s += if observation.stalled_s > 0.0 { stats.seconds() } else { 0.0 };
        self.longest_stall_s = self.longest_stall_s.max(observation.stalled_s);
        if is_stall(observation.stalled_s, |count| self.lifetimes.latest(count)) {
            self.certain_stall_s = self.certain_stall_s.max(observation.stalled_s);
        }
        let hung = self.hung.observe(stats, observation.host);
        let rank = |hung: &Hung| (hung.is_certain(), hung.for_s);
        let is_longer = |hung: &Hung| self.longest_hung.is_none_or(|longest| rank(hung) >= rank(&longest));
        if let Some(hung) = hung.filter(is_longer) {
            self.longest_hung = Some(hung);
        }
        let has_util = observation.flag.is_none() && stats.seconds() >= MIN_UTIL_INTERVAL_S;
        if let Some(util) = stats.util_pct().filter(|_| has_util) {
            self.util_pct.add(util, stats.seconds());
        }
        let both = stats.reads.beside(&stats.writes);
        self.reads.summary.observe(&stats.reads);
        self.writes.summary.observe(&stats.writes);
        self.both.summary.observe(&both);
        self.observe_load(stats, observation.host, observation.run_s);
    }

    /// Takes an interval before those that are analyzed. It is used only to learn unloaded latencies and to find caps.
    pub fn observe_preceding(&mut self, stats: &Interval, host: &HostStats) {
        self.hung.observe(stats, host);
        self.lifetimes.observe_preceding(LoadSample::of(stats, host, 0.0));
    }

    /// Notes a break in time before the intervals that are analyzed.
    pub fn note_preceding_gap(&mut self) {
        self.hung.clear();
    }

    fn observe_load(&mut self, interval: &Interval, host: &HostStats, begin_s: f64) {
        let load = LoadSample::of(interval, host, self.intervals as f64 - 1.0);
        if let Some(blocks) = &mut self.blocks {
            blocks.observe(load.as_ref(), interval.seconds());
        }
        let Some(load) = load else {
            self.excluded.untimed += u64::from(interval.completed() > 0 && interval.reads.queue().is_none());
            self.lifetimes.interrupt();
            return;
        };
        self.busy_intervals += 1;
        self.lifetimes.push(LoadSample { begin_s, ..load });
        for (analysis, totals) in [(&mut self.reads, load.reads), (&mut self.writes, load.writes)] {
            if let Some(size_kib) = totals.size_kib() {
                analysis.sizes_kib.add(size_kib, totals.ios);
            }
        }
    }

    /// Notes that a cgroup at its limit held the device back in an interval of this length in seconds.
    pub fn note_throttled(&mut self, limit: &ReachedLimit, seconds: f64) {
        self.throttled.add(limit, seconds);
    }

    /// Takes the counters of the device at the first sample, or the first after a reset. Later calls change nothing
    /// until the next reset.
    pub fn set_history(&mut self, since_boot: SinceBoot) {
        self.lifetimes.set_history(since_boot);
    }

    /// Notes an interval without statistics: the counters were reset, as by a replug. It may be another device from now
    /// on: loads before and after the reset are not compared with each other.
    pub fn note_reset(&mut self) {
        self.excluded.resets += 1;
        self.note_return();
    }

    /// Notes that another device took the name. `settings` are those of the device that had it until now.
    pub fn note_replacement(&mut self, settings: &Settings) {
        self.hung.clear();
        self.lifetimes.end_device(settings);
    }

    /// Notes a break in time, which no interval spans.
    pub fn note_gap(&mut self) {
        self.hung.clear();
        self.excluded.gaps += 1;
        self.lifetimes.interrupt();
    }

    /// Notes that the device reappeared. As after a reset, it may be another device.
    pub fn note_return(&mut self) {
        self.hung.clear();
        self.lifetimes.end();
    }

    /// Sets the number of intervals since the device first appeared; it was absent in those that were not observed.
    pub fn set_intervals_since_first(&mut self, intervals: u64) {
        self.excluded.absent = intervals.saturating_sub(self.intervals + self.excluded.resets);
    }

    /// Returns whether an interval of it was observed.
    pub fn has_intervals(&self) -> bool {
        self.intervals + self.excluded.resets > 0
    }

    /// The report. `host` may show other causes than the device.
    pub fn finish(self, settings: &Settings, host: &HostReport) -> DeviceReport {
        let lifetimes = self.lifetimes.finish(settings);
        let loads = lifetimes.loads();
        let steady_rates = lifetimes.steady_rates();
        let Baselines { reads, writes, flushes, .. } = lifetimes.present_baselines();
        let saturations: Vec<Saturations> =
            loads.iter().map(|load| lifetimes.baselines(load).saturations(load)).collect();
        let saturation_of = |of: fn(&Saturations) -> Option<f64>| {
            let values =
                saturations.iter().zip(&*loads).filter_map(|(one, load)| Some((of(one)?, load.seconds)));
            values.collect::<Histogram>().distribution()
        };
        let levels = concurrency_levels(&loads, &saturations.iter().map(|one| one.both).collect::<Vec<_>>());
        let read = DirectionReport {
            saturation: saturation_of(|one| one.reads),
            ..with_baseline(self.reads.summary.finish(), reads, &self.reads.sizes_kib)
        };
        let write = DirectionReport {
            saturation: saturation_of(|one| one.writes),
            ..with_baseline(self.writes.summary.finish(), writes, &self.writes.sizes_kib)
        };
        let all = DirectionReport { saturation: saturation_of(|one| one.both), ..self.both.summary.finish() };
        let (measured, SteadyRates { caps, .. }) = lifetimes.capacity();
        // A cap on a direction with only a part of the requests is not a cap of the device.
        let is_dominant = |plateau: &&Plateau| {
            let Interval { reads, writes, .. } = self.sum;
            let total = reads.ios.saturating_add(writes.ios);
            let ios = match plateau.direction {
                IoDirection::Reads => reads.ios,
                IoDirection::Writes => writes.ios,
                IoDirection::Both | IoDirection::Flushes => total,
            };
            ios as f64 / total as f64 >= MIN_DOMINANT_FRACTION
        };
        let capacity = measured.both.unwrap_or_default().with_plateaus(caps.iter().filter(is_dominant));
        let facts = DeviceFacts {
            intervals: self.intervals,
            seconds: self.sum.seconds(),
            busy_intervals: self.busy_intervals,
            untimed_intervals: self.excluded.untimed,
            is_accounting_off: self.is_accounting_off,
            was_busy: self.was_busy,
            stalled_s: self.stalled_s,
            longest_stall_s: self.certain_stall_s,
            hung: self.longest_hung,
            throttled_s: self.throttled.seconds,
            limit: self.throttled.longest(),
            discards: self.sum.discards.ios as f64,
            flushes: self.sum.flushes.ios as f64,
            read,
            write,
            all,
            util_pct: self.util_pct.distribution(),
            levels: &levels,
            capacity,
            plateaus: &steady_rates.caps,
            unclear: steady_rates.unclear.as_ref(),
            near_limit: lifetimes.near_limit().cloned(),
        };
        let judged = VerdictShares::of_lifetimes(lifetimes.parts(), settings.saturation_threshold);
        let shares = judged.shares;
        let (verdict, explanation) = overall_verdict(&facts, &shares, settings);
        let trouble = judged.trouble.finish(verdict, &steady_rates.caps, &loads);
        DeviceReport {
            device: self.device,
            ok_below_limit: ok_below_limit(&facts, &shares, &explanation).map(Box::new),
            verdict,
            explanation,
            other_causes: other_causes(&facts, verdict, host),
            intervals: self.intervals,
            seconds: self.sum.seconds(),
            busy_intervals: self.busy_intervals,
            excluded: Excluded { transitions: count_transitions(&loads), ..self.excluded },
            longest_stall_s: self.longest_stall_s,
            util_pct: facts.util_pct,
            read,
            write,
            all,
            levels,
            capacity,
            capacity_by_direction: measured.with_plateaus(caps),
            plateaus: steady_rates.caps,
            baseline: DeviceBaseline {
                read: reads.export(),
                write: writes.export(),
                flush: flushes.export(),
            },
            blocks: self.blocks.map(BlockHistory::finish).unwrap_or_default(),
            trouble,
        }
    }
}

/// Adds the unloaded latency for the median size.
fn with_baseline(report: DirectionReport, baseline: &Baseline, sizes_kib: &Histogram) -> DirectionReport {
    let unloaded = sizes_kib.quantile(0.5).and_then(|size| baseline.unloaded_latency(size));
    DirectionReport {
        baseline_await_ms: unloaded.map(|one| one.await_ms),
        baseline_queue: unloaded.and_then(|one| one.queue),
        baseline_is_upper_bound: unloaded.is_some_and(|one| one.is_upper_bound),
        ..report
    }
}
