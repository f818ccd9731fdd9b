//! The analysis of one device: interval by interval in, a report out.

use super::baseline::{Baseline, BaselinePolicy, DeviceBaseline, learn};
use super::fit::{Capacity, RatePoint};
use super::held::{Held, is_alone, is_spread};
use super::levels::{clustered, levels, median_of};
use super::load::{IoDirection, LoadSample, RateUnit};
use super::loads::LoadHistory;
use super::plateau::{Plateau, standing};
use super::report::{Capacities, CapacityReport, DeviceReport, Excluded};
use super::settings::Settings;
use super::statistic::{Distribution, Histogram};
use super::still::{LEAST_LOADED, LEAST_REQUESTS};
use super::summary::{DirectionReport, Summary};
use super::trace::ActivityTimeline;
use super::verdict::MINOR;
use super::whole::{Facts, Shares, beyond, judged};
use crate::metrics::{DataFlag, DirectionStats, IntervalStats};

/// In the order of [`Capacities`].
const SIDES: [IoDirection; 3] = [IoDirection::Reads, IoDirection::Writes, IoDirection::Both];

/// With this share of the requests a direction stands for both.
const MOST_REQUESTS: f64 = 0.8;

/// One interval of a device, as it is seen.
#[derive(Clone, Copy, Debug)]
pub struct Observation<'a> {
    /// What it did.
    pub figures: &'a IntervalStats,
    /// A reason not to trust its util.
    pub flag: Option<DataFlag>,
    /// The end of the interval in seconds on any clock that all devices share; `None` where there is none.
    pub at_s: Option<f64>,
    /// How long requests have hung: [`crate::metrics::UtilCheck::stalled_s`] with this interval seen.
    pub stalled_s: f64,
    /// Whether the kernel counts its requests; `None` where that is not known.
    pub accounting: Option<bool>,
}

/// Collects the intervals of one device in bounded memory.
#[derive(Clone, Debug)]
pub struct DeviceAnalysis {
    device: String,
    intervals: u64,
    seconds: f64,
    left_out: Excluded,
    is_counted: Option<bool>,
    was_busy: bool,
    stalled_s: f64,
    longest_stall_s: f64,
    working: u64,
    /// Discards and flushes.
    other: [f64; 2],
    reads: Baseline,
    writes: Baseline,
    sizes: [Histogram; 2],
    summaries: [Summary; 3],
    util: Histogram,
    loads: LoadHistory,
    held: [Held; 3],
    trace: ActivityTimeline,
}

impl DeviceAnalysis {
    /// The analysis of the device that the kernel calls so.
    pub fn new(device: &str) -> Self {
        Self {
            device: device.to_owned(),
            intervals: 0,
            seconds: 0.0,
            left_out: Excluded::default(),
            is_counted: None,
            was_busy: false,
            stalled_s: 0.0,
            longest_stall_s: 0.0,
            working: 0,
            other: [0.0; 2],
            reads: Baseline::new(BaselinePolicy::Whole, &[]),
            writes: Baseline::new(BaselinePolicy::Whole, &[]),
            sizes: Default::default(),
            summaries: Default::default(),
            util: Histogram::default(),
            loads: LoadHistory::default(),
            held: SIDES.map(Held::new),
            trace: ActivityTimeline::default(),
        }
    }

    /// The kernel's name of the device.
    pub fn name(&self) -> &str {
        &self.device
    }

    /// Takes an interval.
    pub fn see(&mut self, seen: &Observation) {
        let figures = seen.figures;
        self.intervals += 1;
        self.seconds += figures.seconds;
        self.is_counted = seen.accounting.or(self.is_counted);
        self.was_busy |= !figures.is_idle();
        self.stalled_s += if seen.stalled_s > 0.0 { figures.seconds } else { 0.0 };
        self.longest_stall_s = self.longest_stall_s.max(seen.stalled_s);
        self.other[0] += figures.discards.ios.unwrap_or(0) as f64;
        self.other[1] += figures.flushes_per_s.unwrap_or(0.0) * figures.seconds;
        self.see_util(figures, seen.flag);
        let all = together(&figures.reads, &figures.writes, figures.seconds);
        for (summary, direction) in self.summaries.iter_mut().zip([figures.reads, figures.writes, all]) {
            summary.see(&direction, figures.seconds);
        }
        if let (Some(at_s), Some(ios)) = (seen.at_s, all.ios) {
            self.trace.add(at_s, ios as f64);
        }
        self.learn(figures);
    }

    /// A short interval tells nothing of util (formulas).
    fn see_util(&mut self, figures: &IntervalStats, flag: Option<DataFlag>) {
        const SHORT_S: f64 = 0.1;
        let is_told = figures.seconds >= SHORT_S && flag.is_none();
        if let Some(util) = figures.util_pct.filter(|_| is_told) {
            self.util.add(util, figures.seconds);
        }
    }

    fn learn(&mut self, figures: &IntervalStats) {
        let Some(load) = LoadSample::of(figures, self.intervals as f64 - 1.0) else {
            self.left_out.without_times += u64::from(figures.completed > 0 && figures.reads.queue.is_none());
            self.loads.interrupt();
            return;
        };
        self.working += 1;
        learn(&load, &mut self.reads, &mut self.writes);
        for (sizes, work) in self.sizes.iter_mut().zip([load.reads, load.writes]) {
            work.size_kib().into_iter().for_each(|size| sizes.add(size, work.ios));
        }
        self.held.iter_mut().for_each(|held| held.see(&load));
        self.loads.push(load);
    }

    /// An interval without figures: the device was replugged.
    pub fn reset(&mut self) {
        self.left_out.resets += 1;
        self.loads.interrupt();
    }

    /// A break in time: no interval lies across it.
    pub fn gap(&mut self) {
        self.left_out.gaps += 1;
        self.loads.interrupt();
    }

    /// The device came back: no interval of it follows on the last one.
    pub fn come_back(&mut self) {
        self.loads.interrupt();
    }

    /// Of `intervals` since it was first there, those that were not seen are intervals in which it was away.
    pub fn seen_for(&mut self, intervals: u64) {
        self.left_out.away = intervals.saturating_sub(self.intervals + self.left_out.resets);
    }

    /// Whether an interval of it was seen.
    pub fn is_seen(&self) -> bool {
        self.intervals + self.left_out.resets > 0
    }

    /// The report.
    pub fn finish(self, settings: &Settings) -> DeviceReport {
        let given = settings.baseline.clone().unwrap_or_default();
        let reads = self.reads.with(&given.read);
        let writes = self.writes.with(&given.write);
        let loads = self.loads.finish();
        let saturation = |load: &LoadSample| saturation(load, &reads, &writes);
        let spread = |of: &dyn Fn(&LoadSample) -> Option<f64>| spread(&loads, of);
        let read_saturation =
            spread(&|load| reads.saturation(&load.reads, load.concurrency(IoDirection::Both)));
        let write_saturation =
            spread(&|load| writes.saturation(&load.writes, load.concurrency(IoDirection::Both)));
        let usual =
            |baseline: &Baseline, sizes: &Histogram| sizes.quantile(0.5).and_then(|size| baseline.of(size));
        let [read, write, all] = &self.summaries;
        let by_direction = capacities(&loads, &self.held);
        let standing = standing(&loads, settings.cap);
        let plateaus = standing.caps;
        // A cap of the direction that does the less is none of both together.
        let share = |side: IoDirection| match side {
            IoDirection::Reads => read.total_ios() / all.total_ios(),
            IoDirection::Writes => write.total_ios() / all.total_ios(),
            IoDirection::Both => 1.0,
        };
        let of_most: Vec<&Plateau> =
            plateaus.iter().filter(|plateau| share(plateau.side) >= MOST_REQUESTS).collect();
        let mut report = DeviceReport {
            read: read.report(usual(&reads, &self.sizes[0]), read_saturation),
            write: write.report(usual(&writes, &self.sizes[1]), write_saturation),
            all: all.report(None, spread(&|load| saturation(load))),
            levels: levels(&loads, saturation),
            capacity: by_direction.both.unwrap_or_default().with_plateaus(of_most.iter().copied()),
            capacity_by_direction: by_direction.with_plateaus(&plateaus),
            plateaus,
            left_out: Excluded { transitions: transitions(&loads), ..self.left_out },
            baseline: DeviceBaseline { read: reads.known(), write: writes.known() },
            device: self.device,
            intervals: self.intervals,
            seconds: self.seconds,
            working_intervals: self.working,
            longest_stall_s: self.longest_stall_s,
            util_pct: self.util.statistic(),
            trace: self.trace,
            ..DeviceReport::default()
        };
        let with_highest = |capacity: CapacityReport, seen: &DirectionReport| {
            capacity.with_highest(seen.iops, seen.mib_per_s)
        };
        report.capacity = with_highest(report.capacity, &report.all);
        let by_direction = &mut report.capacity_by_direction;
        by_direction.both = by_direction.both.map(|capacity| with_highest(capacity, &report.all));
        by_direction.read = by_direction.read.map(|capacity| with_highest(capacity, &report.read));
        by_direction.write = by_direction.write.map(|capacity| with_highest(capacity, &report.write));
        let shares = Shares::of(&loads, &reads, &writes, settings.saturated_at);
        let facts = Facts {
            is_counted: self.is_counted,
            was_busy: self.was_busy,
            stalled_s: self.stalled_s,
            unclear: standing.unclear,
            other: self.other,
        };
        let (verdict, why) = judged(&report, &facts, &shares, settings);
        report.verdict = verdict;
        report.explanation = format!("{} {why}{}", report.device, beyond(&report, settings));
        report
    }
}

/// Reads and writes as one direction; what either does not know is not known.
fn together(reads: &DirectionStats, writes: &DirectionStats, seconds: f64) -> DirectionStats {
    let plus = |a: Option<f64>, b: Option<f64>| a.zip(b).map(|(a, b)| a + b);
    let ios = reads.ios.zip(writes.ios).map(|(reads, writes)| reads + writes);
    let completed = ios.filter(|ios| *ios > 0).map(|ios| ios as f64);
    let queue = plus(reads.queue, writes.queue);
    let kib_per_s = plus(reads.kib_per_s, writes.kib_per_s);
    let each = |per_second: Option<f64>| per_second.zip(completed).map(|(rate, ios)| rate * seconds / ios);
    DirectionStats {
        ios,
        per_s: plus(reads.per_s, writes.per_s),
        kib_per_s,
        merges_per_s: plus(reads.merges_per_s, writes.merges_per_s),
        merge_pct: None,
        await_ms: each(queue.map(|queue| queue * 1000.0)),
        size_kib: each(kib_per_s),
        queue,
    }
}

/// The saturation of a load: the time of its requests over what they would have taken unloaded, where that is known for
/// each direction that matters.
fn saturation(load: &LoadSample, reads: &Baseline, writes: &Baseline) -> Option<f64> {
    let total = load.concurrency(IoDirection::Both);
    let (mut ms, mut unloaded_ms) = (0.0, 0.0);
    for (baseline, work) in [(reads, &load.reads), (writes, &load.writes)] {
        match baseline.saturation(work, total) {
            Some(times) if times > 0.0 => {
                ms += work.ms;
                unloaded_ms += work.ms / times;
            }
            None if work.ms > MINOR * load.work(IoDirection::Both).ms => return None,
            _ => {}
        }
    }
    Some(ms / unloaded_ms).filter(|times| times.is_finite())
}

fn spread(loads: &[LoadSample], of: &dyn Fn(&LoadSample) -> Option<f64>) -> Distribution {
    let mut histogram = Histogram::default();
    for load in loads {
        of(load).into_iter().for_each(|value| histogram.add(value, load.seconds));
    }
    histogram.statistic()
}

fn transitions(loads: &[LoadSample]) -> u64 {
    let changing = loads.iter().filter(|load| !load.steady).map(|load| load.intervals).sum::<f64>() as u64;
    let total = loads.iter().map(|load| load.intervals).sum::<f64>() as u64;
    // Where hardly anything is steady, nothing is left out.
    if 2 * changing <= total { changing } else { 0 }
}

/// The capacity of each side, from the loads that are of that side alone.
fn capacities(loads: &[LoadSample], held: &[Held; 3]) -> Capacities {
    let steady: Vec<&LoadSample> = loads.iter().filter(|load| load.steady).collect();
    let used: Vec<&LoadSample> = if transitions(loads) > 0 { steady } else { loads.iter().collect() };
    let of = |(side, held): (IoDirection, &Held)| {
        let own: Vec<&LoadSample> = used.iter().copied().filter(|load| is_alone(load, side)).collect();
        let capacity = if held.is_held() && is_spread(&own, side) { Capacity::of } else { Capacity::unheld };
        let fit = |measure| capacity(&points(&own, side, measure));
        (!own.is_empty()).then(|| CapacityReport::new(&fit(RateUnit::Requests), &fit(RateUnit::Kib)))
    };
    let [read, write, both] = [0, 1, 2].map(|at| of((SIDES[at], &held[at])));
    Capacities { read, write, both }
}

/// The medians of the levels of loads.
fn points(loads: &[&LoadSample], side: IoDirection, measure: RateUnit) -> Vec<RatePoint> {
    let point = |group: Vec<&LoadSample>| {
        let concurrency = median_of(&group, |load| Some(load.concurrency(side)))?;
        let rate = median_of(&group, |load| Some(load.rate(side, measure)))?;
        let requests = median_of(&group, |load| Some(load.work(side).ios / load.intervals))?;
        (concurrency >= LEAST_LOADED && rate > 0.0 && requests >= LEAST_REQUESTS)
            .then_some(RatePoint { concurrency, rate })
    };
    clustered(loads, side).into_iter().filter_map(point).collect()
}
