//! The report on one device: intervals with their judgements in, statistics, levels, capacity and the verdict on the whole
//! time out. Memory is bounded.

use serde::Serialize;

use super::direction::{DirectionReport, DirectionSummary};
use super::histogram::{Distribution, Histogram};
use super::host_report::{HostReport, LOW_IO_PRESSURE_PCT};
use super::judged::Judged;
use super::levels::{CapacityByDirection, CapacityReport, ConcurrencyLevel, DeviceLevels};
use super::limit::Plateau;
use super::settings::StatedCap;
use super::summary::VerdictTimes;
use super::thresholds::{CAP_EXCEEDED, CLEARLY_MORE, MIN_FELT_QUEUE, MIN_QUEUE};
use super::verdict::{Assessment, Evidence, Verdict};
use crate::attribution::{IoDirection, RateUnit};
use crate::baselines::DeviceBaseline;
use crate::metrics::{DataFlag, Interval};

/// Seconds below which an interval's util is noise: the kernel counts it in ticks of 1 to 10 ms.
pub const MIN_UTIL_INTERVAL_S: f64 = 0.1;
/// The most plateaus of a device that are kept.
const MAX_PLATEAUS: usize = 16;

/// The worst moment of a device.
#[derive(Clone, Debug, PartialEq)]
pub struct WorstMoment {
    /// Seconds of all intervals before it.
    pub run_s: f64,
    pub evidence: Evidence,
    /// How bad it was, to compare moments of the same verdict.
    weight: f64,
}

/// A plateau in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct PlateauInRun {
    pub plateau: Plateau,
    /// Seconds of all intervals before the first one on it.
    pub begin_s: f64,
    /// Seconds in which the device was capped at it.
    pub seconds: f64,
    /// The intervals in these seconds.
    pub intervals: u64,
}

/// Collects the intervals of one device.
#[derive(Clone, Debug, Default)]
pub struct DeviceAnalysis {
    device: String,
    intervals: u64,
    sum: Judged,
    excluded: Excluded,
    longest_stall_s: f64,
    /// The worst moment of each verdict, in the order of [`Verdict`].
    worst: [Option<Box<WorstMoment>>; Verdict::ALL.len()],
    plateaus: Vec<PlateauInRun>,
    busy_intervals: u64,
    util_pct: Histogram,
    levels: DeviceLevels,
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

    /// The kernel's name of the device.
    pub fn name(&self) -> &str {
        &self.device
    }

    /// Adds an interval, before which there were `run_s` seconds of intervals, including those without the device. With a `flag`
    /// its util cannot be trusted and is left out; `stalled_s` is the length of the current stall in seconds, as
    /// [`crate::metrics::StallTimer::observe`] returns it.
    pub fn observe(&mut self, judged: &Judged, flag: Option<DataFlag>, stalled_s: f64, run_s: f64) {
        let (stats, assessment) = (&judged.interval, judged.assessment());
        let seconds = stats.seconds();
        self.intervals += 1;
        self.sum += judged;
        self.longest_stall_s = self.longest_stall_s.max(stalled_s);
        self.note_worst(assessment, run_s);
        if let Some(plateau) = assessment.plateau() {
            self.note_plateau(plateau, run_s, seconds);
        }
        let has_util = flag.is_none() && seconds >= MIN_UTIL_INTERVAL_S;
        if has_util && let Some(util) = stats.util_pct() {
            self.util_pct.add(util, seconds);
        }
        let both = stats.reads_and_writes();
        self.reads.observe(&stats.reads);
        self.writes.observe(&stats.writes);
        self.both.observe(&both);
        if both.ios.sum == 0.0 {
            return;
        }
        if both.time.ns == 0 {
            self.excluded.untimed += 1;
            return;
        }
        self.busy_intervals += 1;
        for (summary, direction) in [
            (&mut self.reads, IoDirection::Reads),
            (&mut self.writes, IoDirection::Writes),
            (&mut self.both, IoDirection::Both),
        ] {
            if let Some(saturation) = judged.saturation(direction) {
                summary.saturation.add(saturation, seconds);
            }
        }
        for (summary, requests) in [
            (&mut self.reads, &stats.reads),
            (&mut self.writes, &stats.writes),
        ] {
            if let Some(size_kib) = requests.size_kib() {
                summary.size_by_request.add(size_kib, requests.ios.sum);
            }
        }
        let saturation = judged.saturation(IoDirection::Both);
        self.levels.observe(stats, assessment.verdict, saturation);
    }

    fn note_worst(&mut self, assessment: &Assessment, run_s: f64) {
        let (Some(verdict), Some(evidence)) = (assessment.verdict, assessment.evidence.first())
        else {
            return;
        };
        let weight = match evidence {
            Evidence::Latency(latency) => latency.saturation.unwrap_or(latency.queue),
            Evidence::NothingCompleted { for_s, .. } | Evidence::Hung { for_s, .. } => *for_s,
            Evidence::ConstantRate(plateau) => plateau.seconds,
            Evidence::SlowBesidePeers(slow) => slow.lasted_s,
            _ => 0.0,
        };
        let worst = &mut self.worst[verdict as usize];
        if worst.as_ref().is_none_or(|worst| weight >= worst.weight) {
            *worst = Some(Box::new(WorstMoment {
                run_s,
                evidence: evidence.clone(),
                weight,
            }));
        }
    }

    fn note_plateau(&mut self, plateau: &Plateau, run_s: f64, seconds: f64) {
        for known in &mut self.plateaus {
            if known.plateau.is_same(plateau) {
                known.seconds += seconds;
                known.intervals += 1;
                if plateau.intervals >= known.plateau.intervals {
                    known.plateau = plateau.clone();
                }
                return;
            }
        }
        if self.plateaus.len() < MAX_PLATEAUS {
            let begin_s = (run_s + seconds - plateau.seconds).max(0.0);
            self.plateaus.push(PlateauInRun {
                plateau: plateau.clone(),
                begin_s,
                seconds: run_s + seconds - begin_s,
                intervals: plateau.intervals.min(self.intervals),
            });
        }
    }

    /// Notes an interval without statistics: the counters were reset, as by a replug.
    pub fn note_reset(&mut self) {
        self.excluded.resets += 1;
    }

    /// Notes a break in time, which no interval spans.
    pub fn note_gap(&mut self) {
        self.excluded.gaps += 1;
    }

    /// Sets the number of intervals since the device first appeared; it was absent in those that were not observed.
    pub fn set_intervals_since_first(&mut self, intervals: u64) {
        self.excluded.absent = intervals.saturating_sub(self.intervals + self.excluded.resets);
    }

    /// Returns whether an interval of it was observed.
    pub fn has_intervals(&self) -> bool {
        self.intervals + self.excluded.resets > 0
    }

    /// The report. `unloaded_ms` returns the unloaded latency of reads or writes of a size, at most, and `baseline` is what is
    /// worth saving of the latencies learned; `host` may show other causes than the device.
    pub fn finish(
        mut self,
        cap: Option<StatedCap>,
        baseline: DeviceBaseline,
        unloaded_ms: impl Fn(IoDirection, f64) -> Option<f64>,
        host: &HostReport,
    ) -> DeviceReport {
        let read_kib = self.reads.size_by_request.quantile(0.5);
        let write_kib = self.writes.size_by_request.quantile(0.5);
        let read = DirectionReport {
            baseline_await_ms: read_kib.and_then(|kib| unloaded_ms(IoDirection::Reads, kib)),
            ..self.reads.finish()
        };
        let write = DirectionReport {
            baseline_await_ms: write_kib.and_then(|kib| unloaded_ms(IoDirection::Writes, kib)),
            ..self.writes.finish()
        };
        let all = self.both.finish();
        let mut plateaus = Vec::new();
        for one in &self.plateaus {
            plateaus.push(one.plateau.clone());
        }
        let verdict = self.sum.times.summary();
        let worst = verdict.and_then(|verdict| self.worst[verdict as usize].take());
        let mut report = DeviceReport {
            device: self.device,
            verdict,
            times: self.sum.times,
            worst: worst.map(|worst| *worst),
            exceeded: exceeded_caps(cap.unwrap_or_default(), &all),
            other_cause: None,
            intervals: self.intervals,
            seconds: self.sum.interval.seconds(),
            busy_intervals: self.busy_intervals,
            excluded: self.excluded,
            longest_stall_s: self.longest_stall_s,
            mean_queue: mean_queue(&self.sum.interval),
            util_pct: self.util_pct.distribution(),
            read,
            write,
            all,
            levels: self.levels.both.finish(),
            capacity: self.levels.capacity_of_all(&plateaus, &self.sum.interval),
            capacity_by_direction: self.levels.capacity(&plateaus),
            plateaus: self.plateaus,
            baseline,
        };
        report.other_cause = one_at_a_time(&report).or_else(|| background_writes(&report, host));
        report
    }
}

/// The mean number of reads, writes and flushes in flight; `None` if the kernel gives no times of reads and writes.
fn mean_queue(sum: &Interval) -> Option<f64> {
    Some(sum.reads.queue()? + sum.writes.queue()? + sum.flushes.queue().unwrap_or(0.0))
}

/// A stated cap that the load exceeded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExceededCap {
    /// Requests or, for MiB per second, bytes.
    pub unit: RateUnit,
    pub cap: f64,
    /// The 95th percentile of the rate.
    pub seen: f64,
}

fn exceeded_caps(cap: StatedCap, all: &DirectionReport) -> Vec<ExceededCap> {
    let rates = [
        (RateUnit::Requests, all.iops.p95, cap.iops),
        (RateUnit::Kib, all.mib_per_s.p95, cap.mib_per_s),
    ];
    let mut exceeded = Vec::new();
    for (unit, seen, cap) in rates {
        if let (Some(seen), Some(cap)) = (seen, cap)
            && seen > CAP_EXCEEDED * cap
        {
            exceeded.push(ExceededCap { unit, cap, seen });
        }
    }
    exceeded
}

/// A hint at a cause other than the device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum OtherCause {
    /// Requests were issued one at a time, and something waited for them for most of the time, although the device was
    /// not overloaded.
    OneAtATime {
        /// The mean queue while busy.
        queue: f64,
    },
    /// Writes are slow because the kernel writes memory back in bulk, and hardly any task waits for them.
    BackgroundWrites {
        /// The 95th percentile of the multiple of unloaded write latency.
        p95_saturation: f64,
        /// Percentage of the time in which a task waited for I/O.
        some_pct: f64,
        /// The most memory under writeback, in KiB.
        max_writeback_kib: f64,
    },
}

/// One request at a time for most of the time, unless this is shown to be the maximum.
fn one_at_a_time(report: &DeviceReport) -> Option<OtherCause> {
    /// Queue up to which requests came one at a time.
    const MAX_SERIAL_QUEUE: f64 = 1.2;
    let queue = report.all.busy?.queue?;
    // Several at a time, with idle time between them, have the same mean queue.
    let queue_while_in_use = match (report.mean_queue, report.util_pct.mean) {
        (Some(mean), Some(util)) => mean / util * 100.0,
        (None, Some(util)) => queue / util * 100.0,
        (_, None) => queue,
    };
    let is_serial = (MIN_FELT_QUEUE..=MAX_SERIAL_QUEUE).contains(&queue)
        && report.all.queue.p99? <= CLEARLY_MORE
        && queue_while_in_use <= MIN_QUEUE;
    (report.verdict == Some(Verdict::Ok) && is_serial && !report.capacity.is_max_known)
        .then_some(OtherCause::OneAtATime { queue })
}

/// Writes that are slow because the kernel writes memory back in bulk, and that hardly any task waits for.
fn background_writes(report: &DeviceReport, host: &HostReport) -> Option<OtherCause> {
    let is_loaded = matches!(
        report.verdict,
        Some(Verdict::Queueing | Verdict::Saturated | Verdict::Capped)
    );
    let read_saturation = report.read.saturation.p95.unwrap_or(0.0);
    let p95_saturation = report.write.saturation.p95?;
    let some_pct = host.io_pressure_some_pct.mean?;
    let max_writeback_kib = host.writeback_kib.max?;
    let is_only_of_writes = read_saturation < CLEARLY_MORE && p95_saturation >= CLEARLY_MORE;
    let does_nobody_wait = some_pct < LOW_IO_PRESSURE_PCT;
    if !is_loaded || !is_only_of_writes || !does_nobody_wait || max_writeback_kib <= 0.0 {
        return None;
    }
    Some(OtherCause::BackgroundWrites {
        p95_saturation,
        some_pct,
        max_writeback_kib,
    })
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
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceReport {
    /// The kernel's name of the device.
    pub device: String,
    /// The verdict on the whole time; `None` without data.
    pub verdict: Option<Verdict>,
    pub times: VerdictTimes,
    /// The worst moment with that verdict; `None` without evidence.
    pub worst: Option<WorstMoment>,
    /// The stated caps that the load exceeded.
    pub exceeded: Vec<ExceededCap>,
    /// A cause other than overload for which users of the device wait; `None` without evidence.
    pub other_cause: Option<OtherCause>,
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
    pub plateaus: Vec<PlateauInRun>,
    /// The baselines learned or given, by size, as the recorder saves them.
    pub baseline: DeviceBaseline,
}
