//! The judge of one device: a step in, its verdict with the evidence out. What other devices, limits of cgroups and the kernel
//! show comes on top of it, in `host_judge`.

use std::collections::VecDeque;

use super::hung::HungRequests;
use super::limit::RateHistory;
use super::load::Load;
use super::range::{Bounds, Range, SinceBoot, size_class};
use super::settings::{BaselineSource, Settings};
use super::thresholds::{
    CLEARLY_FASTER, CLEARLY_LESS, CLEARLY_MORE, ClassLimits, HOLD_FRACTION, MATTERS_MS, MAX_STEPS,
    MIN_CONFIRMATIONS, MIN_FELT_QUEUE, MIN_QUEUE, MIN_REQUESTS, MIN_SHARE, ON_TIME, SATURATED,
    STALL_S,
};
use super::verdict::{Assessment, Doubt, Evidence, Latency, Verdict};
use crate::attribution::IoDirection;
use crate::baselines::DeviceBaseline;
use crate::counters::{Columns, Counters, Requests as CountedRequests};
use crate::metrics::{HostStats, Interval};
use crate::topology::DeviceClass;
use crate::units::SECTOR_BYTES;

/// Requests at a time by which any queue may differ from the one before and still be steady.
const STEADY_QUEUE: f64 = 0.1;

/// What is learned of a device: it stays for a second run of the judge.
#[derive(Clone, Debug)]
pub(super) struct DeviceKnowledge {
    /// Of reads, writes and flushes.
    ranges: [Range; 3],
    rates: RateHistory,
    class: Option<DeviceClass>,
}

impl DeviceKnowledge {
    /// What is known before the first step: `settings`, and the counters of the device at that time.
    pub(super) fn new(settings: &Settings, counters: &Counters) -> Self {
        let DeviceBaseline { read, write, flush } = settings.baseline.clone().unwrap_or_default();
        let (mut reads, mut writes) = (None, None);
        if counters.columns != Columns::Partition {
            reads = since_boot(&counters.reads);
            writes = since_boot(&counters.writes);
        }
        Self {
            ranges: [
                Range::new(settings, &read, reads),
                Range::new(settings, &write, writes),
                Range::new(settings, &flush, None),
            ],
            rates: RateHistory::new(settings.cap),
            class: settings.class,
        }
    }

    /// The lowest latencies that are worth saving.
    pub(super) fn saved(&self) -> DeviceBaseline {
        let [read, write, flush] = self.ranges.each_ref().map(Range::saved);
        DeviceBaseline { read, write, flush }
    }

    /// The unloaded latency in milliseconds of reads or writes of this size, at most; `None` if it is not known.
    pub(super) fn unloaded_ms(&self, direction: IoDirection, kib: f64) -> Option<f64> {
        let [reads, writes, flushes] = &self.ranges;
        match direction {
            // A source that does not split them has all of them among the reads.
            IoDirection::Reads | IoDirection::Both => reads.unloaded_ms(kib),
            IoDirection::Writes => writes.unloaded_ms(kib),
            IoDirection::Flushes => flushes.unloaded_ms(kib),
        }
    }

    pub(super) fn forget_steps(&mut self) {
        self.ranges.iter_mut().for_each(Range::forget_steps);
        self.rates.forget_steps();
    }
}

fn since_boot(requests: &CountedRequests) -> Option<SinceBoot> {
    let kib = requests.sectors as f64 * SECTOR_BYTES as f64 / 1024.0;
    SinceBoot::of(requests.ios as f64, kib, requests.ms as f64)
}

/// The work of a step: see [`DeviceJudge::observe_work`].
#[derive(Clone, Copy, Debug)]
struct StepWork {
    size: i32,
    ms: f64,
    rate: f64,
    kib_rate: f64,
}

/// The latest steps in a row.
#[derive(Clone, Debug, Default)]
struct Recent {
    /// Of reads and of writes, [`MAX_STEPS`] at most.
    work: [VecDeque<StepWork>; 2],
    last: Option<Verdict>,
    queue: Option<f64>,
    /// Seconds for which requests have been in flight without any completing.
    quiet_s: f64,
    hung: HungRequests,
}

impl Recent {
    /// The fraction of a threshold that suffices for a verdict: less than all of it, if the last one was as severe.
    fn hold(&self, verdict: Verdict) -> f64 {
        if self.last >= Some(verdict) {
            HOLD_FRACTION
        } else {
            1.0
        }
    }
}

#[derive(Clone, Debug)]
pub(super) struct DeviceJudge {
    pub(super) knowledge: Box<DeviceKnowledge>,
    /// True in a second run: nothing more is learned.
    is_frozen: bool,
    recent: Recent,
    /// Seconds of all steps so far.
    run_s: f64,
}

impl DeviceJudge {
    pub(super) fn new(knowledge: Box<DeviceKnowledge>, is_frozen: bool) -> Self {
        Self {
            knowledge,
            is_frozen,
            recent: Recent::default(),
            run_s: 0.0,
        }
    }

    /// Notes a break in time: the next step does not follow the latest. What was learned stays.
    pub(super) fn interrupt(&mut self) {
        self.recent = Recent::default();
        self.knowledge.forget_steps();
    }

    pub(super) fn judge(&mut self, interval: &Interval, host: &HostStats) -> Assessment {
        let load = Load::of(interval);
        self.run_s += load.seconds;
        if let Some(stalled) = self.recent.hung.observe(&load, host) {
            return stalled;
        }
        if !load.is_counted {
            return Assessment::default();
        }
        if load.completed == 0.0 {
            return self.judge_without_completions(&load, interval.in_flight);
        }
        self.recent.quiet_s = 0.0;
        if !load.has_times {
            return Assessment {
                evidence: vec![Evidence::NoLatency],
                ..Assessment::default()
            };
        }
        let before = self.recent.queue.replace(load.queue);
        let is_steady = before.is_some_and(|before| {
            CLEARLY_LESS * load.queue.max(before) <= load.queue.min(before) + STEADY_QUEUE
        });
        let mut assessment = assessment_of(self.latencies(&load, is_steady));
        self.recent.last = assessment.verdict;
        let saturations = [assessment.read_saturation, assessment.write_saturation];
        let mut over = saturations.map(Option::unwrap_or_default);
        // The latency of a few requests does not show that they wait.
        for (multiple, requests) in over.iter_mut().zip(&load.kinds) {
            if requests.count < MIN_REQUESTS {
                *multiple = 0.0;
            }
        }
        if let Some(plateau) = self.knowledge.rates.observe(&load, over) {
            self.recent.last = Some(Verdict::Capped);
            assessment.conclude(Verdict::Capped, Evidence::ConstantRate(Box::new(plateau)));
        }
        assessment
    }

    /// The latencies of reads, writes and flushes, as far as they matter, with the verdict on each.
    fn latencies(&mut self, load: &Load, is_steady: bool) -> Vec<Latency> {
        let mut latencies = Vec::with_capacity(3);
        for kind in 0..2 {
            let requests = load.kinds[kind];
            let matters =
                requests.ms > MIN_SHARE * load.ms() || load.queue_of(kind) >= MIN_FELT_QUEUE;
            if requests.count >= MIN_REQUESTS && matters {
                latencies.push(self.judge_kind(kind, load, is_steady));
            } else if requests.count > 0.0 && matters {
                latencies.push(self.judge_few(kind, load));
            }
        }
        if load.kinds[2].count >= MIN_REQUESTS {
            latencies.push(self.judge_flushes(load));
        }
        latencies
    }

    /// Idle, or requests in flight of which none completes.
    fn judge_without_completions(&mut self, load: &Load, in_flight: Option<u64>) -> Assessment {
        // A log says nothing of requests in flight, but its queue and its utilization do.
        let is_waiting = match load.in_flight {
            Some([begin, end]) => begin.min(end) > 0.0,
            None => load.queue >= MIN_FELT_QUEUE && load.busy >= ON_TIME,
        };
        if !is_waiting {
            self.recent.quiet_s = 0.0;
            return Assessment::of(Verdict::Idle, Evidence::Idle);
        }
        self.recent.quiet_s += load.seconds;
        let may_be_leaked = self.recent.hung.is_leaked();
        let evidence = Evidence::NothingCompleted {
            in_flight,
            for_s: self.recent.quiet_s,
            may_be_leaked,
        };
        let verdict = if may_be_leaked {
            Verdict::Idle
        } else if self.recent.quiet_s >= ON_TIME * STALL_S {
            Verdict::Stalled
        } else {
            Verdict::Busy
        };
        Assessment::of(verdict, evidence)
    }

    /// The verdict on reads or on writes.
    fn judge_kind(&mut self, kind: usize, load: &Load, is_steady: bool) -> Latency {
        let requests = load.kinds[kind];
        let (ms, kib) = (requests.await_ms(), requests.size_kib());
        let size = size_class(kib);
        if !self.is_frozen {
            self.knowledge.ranges[kind].learn(
                size,
                ms,
                requests.count,
                load,
                is_steady,
                self.run_s,
            );
        }
        let does_less = self.observe_work(kind, load, size, ms);
        let bounds = self.knowledge.ranges[kind].bounds(kib, load.rate(), load.queue_of(kind));
        let (verdict, doubt) = self.verdict_of(kind, load, &bounds, does_less);
        Latency {
            direction: load.direction(kind),
            verdict,
            await_ms: ms,
            queue: load.queue,
            saturation: bounds.saturation(ms),
            source: bounds.source,
            seen_s_ago: self.seconds_since(bounds.seen_s),
            doubt,
        }
    }

    /// The verdict on reads or on writes, and why it is no better one than `busy`.
    fn verdict_of(
        &self,
        kind: usize,
        load: &Load,
        bounds: &Bounds,
        does_less: bool,
    ) -> (Verdict, Option<Doubt>) {
        let (ms, kib) = (load.kinds[kind].await_ms(), load.kinds[kind].size_kib());
        let range = &self.knowledge.ranges[kind];
        let queue = load.queue_of(kind);
        let has_queue = load.queue >= MIN_QUEUE;
        let is_short_burst = !has_queue && load.is_burst();

        // Too long even if served one at a time, whatever the queue.
        let max_ms = ClassLimits::of(self.knowledge.class).max_ms(kib);
        let is_too_long = ms / load.queue.max(1.0) >= SATURATED * max_ms;
        if is_too_long && queue >= MIN_FELT_QUEUE && !is_short_burst {
            return (Verdict::Slow, None);
        }
        let is_slower = does_less || is_too_long;
        let is_saturated = ms >= self.recent.hold(Verdict::Slow) * SATURATED * bounds.hi;
        if is_saturated && has_queue && queue >= MIN_FELT_QUEUE {
            let verdict = if is_slower {
                Verdict::Slow
            } else {
                Verdict::Saturated
            };
            return (verdict, None);
        }
        let is_queueing =
            ms >= self.recent.hold(Verdict::Queueing) * CLEARLY_MORE * bounds.hi_without_boot;
        if is_queueing && queue >= MIN_QUEUE {
            return if is_slower {
                (Verdict::Busy, Some(Doubt::LessWork))
            } else {
                (Verdict::Queueing, None)
            };
        }
        if !has_queue {
            // Somebody waits half of the time, or 10 ms longer.
            let is_felt = queue >= MIN_FELT_QUEUE
                || load.queue >= MIN_FELT_QUEUE && ms - bounds.hi_without_boot >= MATTERS_MS;
            let is_slow = ms >= SATURATED * bounds.hi_without_boot && is_felt && !is_short_burst;
            return (if is_slow { Verdict::Slow } else { Verdict::Ok }, None);
        }
        let is_near_lowest = bounds.hi.is_finite() && ms < CLEARLY_MORE * bounds.hi;
        if ms < CLEARLY_MORE * bounds.lo
            || is_near_lowest && range.has_room(size_class(kib), ms, load.rate())
        {
            return (Verdict::Ok, None);
        }
        let doubt = match bounds.saturation(ms) {
            Some(_) => Doubt::NothingBetter,
            None => Doubt::NothingQuieter,
        };
        (Verdict::Busy, Some(doubt))
    }

    /// The verdict on a handful of requests: only what somebody felt is trouble. Nothing is learned from them.
    fn judge_few(&self, kind: usize, load: &Load) -> Latency {
        let requests = load.kinds[kind];
        let (ms, queue) = (requests.await_ms(), load.queue_of(kind));
        let bounds = self.knowledge.ranges[kind].bounds(requests.size_kib(), load.rate(), queue);
        let scatter = 1.0 + 1.0 / requests.count.sqrt();
        let hi = bounds.hi_without_boot * scatter;
        let max_ms = ClassLimits::of(self.knowledge.class).max_ms(requests.size_kib()) * scatter;
        // No disk is that slow, even if it serves one request at a time.
        let is_too_long = ms / load.queue.max(1.0) >= SATURATED * max_ms && !load.is_burst();
        let is_longer = ms >= SATURATED * hi && ms - hi >= MATTERS_MS;
        let is_slow = queue >= MIN_FELT_QUEUE && (is_too_long || is_longer);
        let verdict = if is_slow {
            Verdict::Slow
        } else if load.queue < MIN_QUEUE {
            Verdict::Ok
        } else {
            Verdict::Busy
        };
        Latency {
            direction: load.direction(kind),
            verdict,
            await_ms: ms,
            queue: load.queue,
            saturation: hi.is_finite().then(|| ms / hi),
            source: bounds.source,
            seen_s_ago: self.seconds_since(bounds.seen_s),
            doubt: (verdict == Verdict::Busy).then_some(Doubt::FewRequests),
        }
    }

    fn seconds_since(&self, run_s: Option<f64>) -> Option<f64> {
        run_s.map(|run_s| (self.run_s - run_s).max(0.0))
    }

    /// Remembers the work of this step. Returns whether the device did fewer requests and fewer KiB than in steps in which requests
    /// of this size took at most half as long. A queue does not reduce the work done: either the device is slower, or the load
    /// differs.
    fn observe_work(&mut self, kind: usize, load: &Load, size: i32, ms: f64) -> bool {
        let now = StepWork {
            size,
            ms,
            rate: load.rate(),
            kib_rate: load.kib_rate(),
        };
        let (mut faster, mut with_more_requests, mut with_more_kib) = (0_usize, 0, 0);
        for one in &self.recent.work[kind] {
            if one.size == size && one.ms <= CLEARLY_FASTER * ms {
                faster += 1;
                with_more_requests += usize::from(now.rate < CLEARLY_LESS * one.rate);
                with_more_kib += usize::from(now.kib_rate < CLEARLY_LESS * one.kib_rate);
            }
        }
        if self.recent.work[kind].len() == MAX_STEPS {
            self.recent.work[kind].pop_front();
        }
        self.recent.work[kind].push_back(now);
        // Below the median, the upper of two values in the middle, is below at least half of them.
        let half = faster.div_ceil(2);
        faster >= MIN_CONFIRMATIONS && with_more_requests >= half && with_more_kib >= half
    }

    /// The verdict on flushes, which have no size, and which the kernel merges: slow or not, nothing else. Where other requests
    /// queue, they explain it unless people would notice.
    fn judge_flushes(&mut self, load: &Load) -> Latency {
        let flushes = load.kinds[2];
        let ms = flushes.await_ms();
        let range = &mut self.knowledge.ranges[2];
        if !self.is_frozen {
            range.learn_lowest(0, ms, flushes.count, self.run_s);
        }
        let lowest = range.lowest_flush();
        let hi = lowest.map_or(f64::INFINITY, |lowest| lowest.value);
        let is_slow = ms >= SATURATED * hi
            && load.queue_of(2) >= MIN_FELT_QUEUE
            && (load.queue < MIN_QUEUE || ms - hi >= MATTERS_MS);
        let verdict = if is_slow { Verdict::Slow } else { Verdict::Ok };
        Latency {
            direction: IoDirection::Flushes,
            verdict,
            await_ms: ms,
            queue: load.queue_of(2),
            saturation: lowest.map(|_| ms / hi),
            source: lowest.map(|_| BaselineSource::Lowest),
            seen_s_ago: self.seconds_since(lowest.map(|lowest| lowest.at_s)),
            doubt: None,
        }
    }
}

/// The judgement that follows from latencies: the worst verdict on them, whose evidence comes first.
fn assessment_of(mut latencies: Vec<Latency>) -> Assessment {
    let verdicts = latencies.iter().map(|latency| latency.verdict);
    let verdict = verdicts.max().unwrap_or(Verdict::Ok);
    latencies.sort_by_key(|latency| latency.verdict != verdict);
    let mut assessment = Assessment::without_evidence(verdict);
    // Much of this is kept for long.
    assessment.evidence.reserve_exact(latencies.len());
    for latency in latencies {
        match latency.direction {
            IoDirection::Reads | IoDirection::Both => {
                assessment.read_saturation = latency.saturation;
            }
            IoDirection::Writes => assessment.write_saturation = latency.saturation,
            IoDirection::Flushes => assessment.flush_saturation = latency.saturation,
        }
        if latency.verdict == verdict {
            assessment.baseline_source = assessment.baseline_source.or(latency.source);
        }
        assessment.evidence.push(Evidence::Latency(latency));
    }
    assessment
}
