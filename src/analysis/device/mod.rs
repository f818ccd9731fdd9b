//! The analysis of one device: intervals in, a report out.

mod other_causes;
mod overall_verdict;

use serde::Serialize;

use other_causes::other_causes;
use overall_verdict::overall_verdict;

use super::baseline::{Baseline, Baselines, Saturations, SinceBoot};
use super::blocks::{Block, BlockHistory};
use super::capacity::{CapacityByDirection, CapacityReport};
use super::caps::{Plateau, SharedLimit};
use super::host::HostReport;
use super::lifetimes::{FinishedLifetime, Lifetimes};
use super::load::{
    ConcurrencyLevel, IoDirection, LoadSample, concurrency_levels, count_transitions,
};
use super::peers::SlowBesidePeers;
use super::saved_baselines::DeviceBaseline;
use super::settings::Settings;
use super::stats::{DirectionReport, DirectionSummary, Distribution, Histogram};
use super::thresholds::{MIN_DOMINANT_FRACTION, MIN_TIME_FRACTION, MIN_UTIL_INTERVAL_S};
use super::verdict::{
    Explanation, Hung, HungRequests, OtherCause, TroubleSpan, TroubleSpans, Verdict, VerdictShares,
    is_stall,
};
use crate::attribution::{LimitKind, ReachedLimit};
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
    slow_beside_peers: Option<TimeBeside<SlowBesidePeers>>,
    shared_limit: Option<TimeBeside<SharedLimit>>,
    /// The device above at which requests waited, and the seconds for which they did.
    waiting_above: Option<(String, f64)>,
    busy_intervals: u64,
    util_pct: Histogram,
    /// `None` unless blocks were requested by [`DeviceAnalysis::with_blocks`].
    blocks: Option<BlockHistory>,
    lifetimes: Lifetimes,
    reads: DirectionSummary,
    writes: DirectionSummary,
    both: DirectionSummary,
}

impl DeviceAnalysis {
    /// An analysis without intervals of the device with this kernel name.
    pub fn new(device: &str) -> Self {
        Self {
            device: device.to_owned(),
            ..Self::default()
        }
    }

    /// Also collects the load in blocks of time: [`DeviceReport::blocks`].
    pub fn with_blocks(self) -> Self {
        Self {
            blocks: Some(BlockHistory::default()),
            ..self
        }
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
        self.stalled_s += if observation.stalled_s > 0.0 {
            stats.seconds()
        } else {
            0.0
        };
        self.longest_stall_s = self.longest_stall_s.max(observation.stalled_s);
        if is_stall(observation.stalled_s, |count| self.lifetimes.latest(count)) {
            self.certain_stall_s = self.certain_stall_s.max(observation.stalled_s);
        }
        let hung = self.hung.observe(stats, observation.host);
        let rank = |hung: &Hung| (hung.is_certain(), hung.for_s);
        let is_longer = |hung: &Hung| {
            self.longest_hung
                .is_none_or(|longest| rank(hung) >= rank(&longest))
        };
        if let Some(hung) = hung.filter(is_longer) {
            self.longest_hung = Some(hung);
        }
        let has_util = observation.flag.is_none() && stats.seconds() >= MIN_UTIL_INTERVAL_S;
        if let Some(util) = stats.util_pct().filter(|_| has_util) {
            self.util_pct.add(util, stats.seconds());
        }
        let both = stats.reads.beside(&stats.writes);
        self.reads.observe(&stats.reads);
        self.writes.observe(&stats.writes);
        self.both.observe(&both);
        self.observe_load(stats, observation.host, observation.run_s);
    }

    /// Takes an interval before those that are analyzed. It is used only to learn unloaded latencies and to find caps.
    pub fn observe_preceding(&mut self, stats: &Interval, host: &HostStats) {
        self.hung.observe(stats, host);
        self.lifetimes
            .observe_preceding(LoadSample::of(stats, host, 0.0));
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
            self.excluded.untimed +=
                u64::from(interval.completed() > 0 && interval.reads.queue().is_none());
            self.lifetimes.interrupt();
            return;
        };
        self.busy_intervals += 1;
        self.lifetimes.push(LoadSample { begin_s, ..load });
        for (analysis, totals) in [
            (&mut self.reads, load.reads),
            (&mut self.writes, load.writes),
        ] {
            if let Some(size_kib) = totals.size_kib() {
                analysis.sizes_kib.add(size_kib, totals.ios);
            }
        }
    }

    /// Notes that a cgroup at its limit held the device back in an interval of this length in seconds.
    pub fn note_throttled(&mut self, limit: &ReachedLimit, seconds: f64) {
        self.throttled.add(limit, seconds);
    }

    /// Notes that the device was slower than its peers in an interval of this length in seconds.
    pub fn note_slow_beside_peers(&mut self, slow: &SlowBesidePeers, seconds: f64) {
        TimeBeside::add(
            &mut self.slow_beside_peers,
            *slow,
            |slow| slow.lasted_s,
            seconds,
        );
    }

    /// Notes that a limit that the device shares held it back in an interval of this length in seconds.
    pub fn note_shared_limit(&mut self, limit: SharedLimit, seconds: f64) {
        TimeBeside::add(
            &mut self.shared_limit,
            limit,
            |limit| limit.lasted_s,
            seconds,
        );
    }

    /// Notes that requests waited at a device `above` while this one was idle for most of an interval of this length in
    /// seconds.
    pub fn note_waiting_above(&mut self, above: String, seconds: f64) {
        let before_s = self
            .waiting_above
            .take()
            .map_or(0.0, |(_, before_s)| before_s);
        self.waiting_above = Some((above, before_s + seconds));
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
    pub fn finish(mut self, settings: &Settings, host: &HostReport) -> DeviceReport {
        let (ended, present) = std::mem::take(&mut self.lifetimes).finish(settings);
        let lifetimes = || ended.iter().chain([&present]);
        let loads: Vec<LoadSample> = lifetimes().flat_map(|one| &one.loads).copied().collect();
        let plateaus: Vec<Plateau> = lifetimes()
            .flat_map(|one| one.steady_rates.caps.clone())
            .collect();
        let unclear = lifetimes().find_map(|one| one.steady_rates.unclear.as_ref());
        let unclear = unclear.filter(|_| plateaus.is_empty());
        let longest = lifetimes()
            .max_by(|a, b| a.seconds().total_cmp(&b.seconds()))
            .unwrap_or(&present);
        let mut shares = VerdictShares::default();
        let mut trouble = TroubleSpans::default();
        let mut saturations: Vec<Saturations> = Vec::new();
        for FinishedLifetime {
            loads, baselines, ..
        } in lifetimes()
        {
            let own: Vec<Saturations> = loads
                .iter()
                .map(|load| baselines.saturations(load))
                .collect();
            shares.add_lifetime(
                loads,
                &own,
                baselines,
                settings.saturation_threshold,
                &mut trouble,
            );
            saturations.extend(own);
        }
        let saturation_of = |of: fn(&Saturations) -> Option<f64>| {
            let values = saturations
                .iter()
                .zip(&loads)
                .filter_map(|(one, load)| Some((of(one)?, load.seconds)));
            values.collect::<Histogram>().distribution()
        };
        let levels = concurrency_levels(
            &loads,
            &saturations.iter().map(|one| one.both).collect::<Vec<_>>(),
        );
        let Baselines {
            reads,
            writes,
            flushes,
            ..
        } = &present.baselines;
        let read = DirectionReport {
            saturation: saturation_of(|one| one.reads),
            ..with_baseline(self.reads.finish(), reads, &mut self.reads.sizes_kib)
        };
        let write = DirectionReport {
            saturation: saturation_of(|one| one.writes),
            ..with_baseline(self.writes.finish(), writes, &mut self.writes.sizes_kib)
        };
        let all = DirectionReport {
            saturation: saturation_of(|one| one.both),
            ..self.both.finish()
        };
        let caps = &longest.steady_rates.caps;
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
        let capacity = longest.capacity.both.unwrap_or_default();
        let mut report = DeviceReport {
            device: std::mem::take(&mut self.device),
            intervals: self.intervals,
            seconds: self.sum.seconds(),
            busy_intervals: self.busy_intervals,
            excluded: Excluded {
                transitions: count_transitions(&loads),
                ..self.excluded
            },
            longest_stall_s: self.longest_stall_s,
            mean_queue: mean_queue(&self.sum),
            util_pct: self.util_pct.distribution(),
            read,
            write,
            all,
            levels,
            capacity: capacity.with_plateaus(caps.iter().filter(is_dominant)),
            capacity_by_direction: longest.capacity.with_plateaus(caps),
            plateaus,
            baseline: DeviceBaseline {
                read: reads.export(),
                write: writes.export(),
                flush: flushes.export(),
            },
            blocks: self
                .blocks
                .take()
                .map(BlockHistory::finish)
                .unwrap_or_default(),
            ..DeviceReport::default()
        };
        (report.verdict, report.explanation) =
            overall_verdict(&self, &report, &shares, unclear, settings);
        report.other_causes = other_causes(&report, host);
        report.trouble = trouble.finish(report.verdict, &report.plateaus, &loads);
        report
    }
}

/// The mean number of reads, writes and flushes in flight; `None` if the kernel gives no times of reads and writes.
fn mean_queue(sum: &Interval) -> Option<f64> {
    Some(sum.reads.queue()? + sum.writes.queue()? + sum.flushes.queue().unwrap_or(0.0))
}

/// Adds the unloaded latency for the median size.
fn with_baseline(
    report: DirectionReport,
    baseline: &Baseline,
    sizes_kib: &mut Histogram,
) -> DirectionReport {
    let unloaded = sizes_kib
        .quantile(0.5)
        .and_then(|size| baseline.unloaded_latency(size));
    DirectionReport {
        baseline_await_ms: unloaded.map(|one| one.await_ms),
        baseline_queue: unloaded.and_then(|one| one.queue),
        baseline_is_upper_bound: unloaded.is_some_and(|one| one.is_upper_bound),
        ..report
    }
}

/// The time for which other devices showed something about one.
#[derive(Clone, Debug)]
pub(crate) struct TimeBeside<T> {
    pub(crate) seconds: f64,
    /// As it was for longest.
    pub(crate) longest: T,
}

impl<T> TimeBeside<T> {
    /// Adds an interval of this length in seconds, after which it has lasted for longer than that: the time in which it
    /// was not known yet counts, too.
    fn add(place: &mut Option<Self>, found: T, lasted_s: fn(&T) -> f64, seconds: f64) {
        match place {
            Some(time) => {
                time.seconds += seconds;
                if lasted_s(&found) >= lasted_s(&time.longest) {
                    time.longest = found;
                }
            }
            None => {
                *place = Some(Self {
                    seconds: lasted_s(&found),
                    longest: found,
                })
            }
        }
    }

    /// Returns the finding that lasted longest and its fraction of the busy time; `None` if that is small.
    pub(crate) fn substantial(&self, busy_s: f64) -> Option<(&T, f64)> {
        (self.seconds >= MIN_TIME_FRACTION * busy_s)
            .then(|| (&self.longest, (self.seconds / busy_s).min(1.0)))
    }
}

/// The number of limits that are kept; of further limits, only the time counts.
const MAX_LIMITS: usize = 16;

/// Adds up the time of each limit.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThrottledTime {
    pub(crate) seconds: f64,
    limits: Vec<(ReachedLimit, f64)>,
}

impl ThrottledTime {
    /// Adds an interval of this length in seconds.
    pub(crate) fn add(&mut self, limit: &ReachedLimit, seconds: f64) {
        self.seconds += seconds;
        match self
            .limits
            .iter()
            .position(|(known, _)| key(known) == key(limit))
        {
            // The limit as passed last has the latest share.
            Some(at) => self.limits[at] = (limit.clone(), self.limits[at].1 + seconds),
            None if self.limits.len() < MAX_LIMITS => self.limits.push((limit.clone(), seconds)),
            None => {}
        }
    }

    /// The limit with the longest time; `None` if there was none.
    pub(crate) fn longest(&self) -> Option<&ReachedLimit> {
        self.limits
            .iter()
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map(|(limit, _)| limit)
    }
}

/// Identifies a limit: its cgroup, device, kind and value.
fn key(limit: &ReachedLimit) -> (&str, &str, LimitKind, u64) {
    (
        &limit.cgroup,
        &limit.limited_device,
        limit.kind,
        limit.value,
    )
}

/// The number of intervals that are not in the report, or not in all of it, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Excluded {
    /// The counters were reset, as by a replug.
    pub resets: u64,
    /// Breaks in time, which no interval spans.
    pub gaps: u64,
    /// The device was absent.
    pub absent: u64,
    /// Requests were completed, but the kernel gives no times for them.
    pub untimed: u64,
    /// The load changed: these intervals are in the statistics, but not in the capacity.
    pub transitions: u64,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceReport {
    /// The kernel's name of the device.
    pub device: String,
    /// The verdict; `None` if the intervals do not show one.
    pub verdict: Option<Verdict>,
    /// The reason for the verdict, or for its absence.
    pub explanation: Explanation,
    /// Hints at other causes than this device.
    pub other_causes: Vec<OtherCause>,
    pub intervals: u64,
    pub seconds: f64,
    /// Intervals in which reads or writes were completed.
    pub busy_intervals: u64,
    pub excluded: Excluded,
    /// The longest stall in seconds; zero without one.
    pub longest_stall_s: f64,
    /// The mean number of reads, writes and flushes in flight over all of the time; `None` if the kernel gives no times.
    pub mean_queue: Option<f64>,
    /// Percentage of the time with at least one request in flight as the kernel counts it, without the intervals in
    /// which that count cannot be right or that are too short for it.
    pub util_pct: Distribution,
    pub read: DirectionReport,
    pub write: DirectionReport,
    /// Reads and writes together, without a baseline of their own.
    pub all: DirectionReport,
    pub levels: Vec<ConcurrencyLevel>,
    /// The capacity of reads and writes together.
    pub capacity: CapacityReport,
    pub capacity_by_direction: CapacityByDirection,
    /// Rates that stayed constant at a cap; several if the cap changed meanwhile.
    pub plateaus: Vec<Plateau>,
    /// The baselines learned or given, by size, as they can be saved.
    pub baseline: DeviceBaseline,
    /// The load in blocks of time, to compare captures; empty unless it was requested.
    pub blocks: Vec<Block>,
    /// The times of trouble according to the verdict on all intervals together, except stalls and limits of cgroups.
    pub trouble: Vec<TroubleSpan>,
}
