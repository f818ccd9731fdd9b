//! The judge of one device: a step in, its word with the evidence out. What other devices, limits of cgroups and the kernel
//! show comes on top of it, in `host`.

use std::collections::VecDeque;

use super::hung::HungRequests;
use super::limit::RateHistory;
use super::load::Load;
use super::range::{Bounds, Range, SinceBoot, size_class};
use super::settings::{BaselineSource, Settings};
use super::thresholds::{
    ClassLimits, FEW, HALF, HOLD, LESS, MATTERS_MS, MORE, ON_TIME, QUEUE, RANK, RING, SHARE,
    SOMEONE, STALL_S,
};
use super::verdict::{Assessment, Doubt, Evidence, Latency, Verdict};
use crate::attribution::IoDirection;
use crate::baselines::DeviceBaseline;
use crate::counters::{Columns, Counters, Requests as CountedRequests};
use crate::metrics::{HostStats, Interval};
use crate::topology::DeviceClass;
use crate::units::SECTOR_BYTES;

/// What is learned of a device: it stays for a second run of the judge.
#[derive(Clone, Debug)]
pub(super) struct DeviceKnowledge {
    /// Of reads, writes and flushes.
    ranges: [Range; 3],
    rates: RateHistory,
    class: Option<DeviceClass>,
    /// Times the unloaded latency from which the device is saturated.
    saturated: f64,
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
            rates: RateHistory::new(settings.device, settings.cap),
            class: settings.device.class,
            saturated: settings.saturation_threshold,
        }
    }

    /// The lowest latencies that are worth saving.
    pub(super) fn saved(&self) -> DeviceBaseline {
        let [read, write, flush] = self.ranges.each_ref().map(Range::saved);
        DeviceBaseline { read, write, flush }
    }

    /// The unloaded latency in milliseconds of reads or writes of this size, at most; `None` if it is not known.
    pub(super) fn unloaded_ms(&self, direction: IoDirection, kib: f64) -> Option<f64> {
        self.ranges[usize::from(direction == IoDirection::Writes)].unloaded_ms(kib)
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

/// A step in the memory of the guard: see [`DeviceJudge::does_less`].
#[derive(Clone, Copy, Debug)]
struct Done {
    size: i32,
    ms: f64,
    rate: f64,
    kib_rate: f64,
}

/// The word for one kind of requests.
struct Finding {
    verdict: Verdict,
    evidence: Evidence,
    /// Times the highest unloaded latency; 0 if that is not known.
    over: f64,
}

/// The latest steps in a row.
#[derive(Clone, Debug, Default)]
struct Recent {
    /// Of reads and of writes, [`RING`] at most.
    done: [VecDeque<Done>; 2],
    last: Option<Verdict>,
    queue: Option<f64>,
    /// Seconds for which requests have been in flight without any completing.
    quiet_s: f64,
    hung: HungRequests,
}

#[derive(Clone, Debug)]
pub(super) struct DeviceJudge {
    pub(super) knowledge: DeviceKnowledge,
    /// True in a second run: nothing more is learned.
    is_frozen: bool,
    recent: Recent,
    /// Seconds of all steps so far.
    run_s: f64,
}

impl DeviceJudge {
    pub(super) fn new(knowledge: DeviceKnowledge, is_frozen: bool) -> Self {
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
        if let Some(hung) = self.recent.hung.observe(&load, host) {
            let evidence = Evidence::Hung {
                requests: hung.requests,
                for_s: hung.for_s,
            };
            return Assessment {
                late_s: hung.for_s - load.seconds,
                ..Assessment::of(Verdict::Stalled, evidence)
            };
        }
        if !load.is_counted {
            return Assessment::default();
        }
        if load.done() + load.others == 0.0 {
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
        let is_steady = before
            .is_some_and(|before| LESS * load.queue.max(before) <= load.queue.min(before) + 0.1);
        let mut assessment = Assessment::default();
        let mut findings: Vec<Finding> = Vec::with_capacity(3);
        let mut over = [0.0; 2];
        for (kind, over) in over.iter_mut().enumerate() {
            let ms = load.kinds[kind].ms;
            let matters = ms > SHARE * load.ms() || load.queue_of(kind) >= SOMEONE;
            if load.kinds[kind].count > 0.0 && matters {
                let finding = self.judge_kind(kind, &load, is_steady);
                *over = finding.over;
                findings.push(finding);
            }
        }
        if load.kinds[2].count >= FEW {
            findings.push(self.judge_flushes(&load));
        }
        let word = [
            Verdict::Saturated,
            Verdict::Slow,
            Verdict::Queueing,
            Verdict::Busy,
        ]
        .into_iter()
        .find(|word| findings.iter().any(|finding| finding.verdict == *word))
        .unwrap_or(Verdict::Ok);
        self.recent.last = Some(word);
        for finding in &findings {
            if let Evidence::Latency {
                direction,
                latency,
                source,
                ..
            } = &finding.evidence
            {
                match direction {
                    IoDirection::Reads | IoDirection::Both => {
                        assessment.read_saturation = latency.saturation;
                    }
                    IoDirection::Writes => assessment.write_saturation = latency.saturation,
                    IoDirection::Flushes => assessment.flush_saturation = latency.saturation,
                }
                if finding.verdict == word && assessment.baseline_source.is_none() {
                    assessment.baseline_source = *source;
                }
            }
        }
        findings.sort_by_key(|finding| finding.verdict != word);
        assessment.verdict = Some(word);
        assessment.evidence = findings
            .into_iter()
            .map(|finding| finding.evidence)
            .collect();
        if let Some(plateau) = self.knowledge.rates.observe(&load, over) {
            self.recent.last = Some(Verdict::Capped);
            assessment.conclude(Verdict::Capped, Evidence::ConstantRate(Box::new(plateau)));
        }
        assessment
    }

    /// Idle, or requests in flight of which none completes.
    fn judge_without_completions(&mut self, load: &Load, in_flight: Option<u64>) -> Assessment {
        // A log says nothing of requests in flight, but its queue and its utilization do.
        let is_waiting = match load.in_flight {
            Some([begin, end]) => begin.min(end) > 0.0,
            None => load.queue >= SOMEONE && load.busy >= ON_TIME,
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

    /// The word for reads or for writes.
    fn judge_kind(&mut self, kind: usize, load: &Load, is_steady: bool) -> Finding {
        let requests = load.kinds[kind];
        let ms = requests.ms / requests.count;
        let kib = requests.kib / requests.count;
        let queue = load.queue_of(kind);
        if requests.count < FEW {
            return self.judge_few(kind, load, ms, kib);
        }
        let size = size_class(kib);
        let rate = load.rate();
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
        let does_less = self.does_less(kind, load, size, ms);
        let range = &self.knowledge.ranges[kind];
        let bounds = range.bounds(kib, rate, queue);
        // Too long even if served one at a time, whatever the queue.
        let alone_ms = ms / load.queue.max(1.0);
        let limits = ClassLimits::of(self.knowledge.class);
        let is_too_long = alone_ms >= self.knowledge.saturated * limits.max_ms(kib);
        let is_slower = does_less || is_too_long;
        // That no disk at all is slower says nothing of requests that take less.
        let is_of_any_disk = bounds.source == Some(BaselineSource::Class(None));
        let is_known = bounds.hi.is_finite() && !(is_of_any_disk && ms < bounds.hi);
        let was_bad = self.recent.last.is_some_and(Verdict::is_trouble);
        let was_queueing = was_bad || self.recent.last == Some(Verdict::Queueing);
        let hold_bad = if was_bad { HOLD } else { 1.0 };
        let hold_queueing = if was_queueing { HOLD } else { 1.0 };
        let is_saturated = ms >= hold_bad * self.knowledge.saturated * bounds.hi;
        let is_queueing = ms >= hold_queueing * MORE * bounds.sure;
        let mut doubt = None;
        // Several at a time within the step: a queue, and no slow device.
        let in_bursts = QUEUE * load.busy > 0.0 && load.queue >= QUEUE * load.busy;
        let is_one_by_one = load.queue >= QUEUE || !in_bursts;
        let verdict = if queue >= SOMEONE && is_too_long && is_one_by_one {
            Verdict::Slow
        } else if load.queue >= QUEUE && queue >= SOMEONE && is_saturated {
            if is_slower {
                Verdict::Slow
            } else {
                Verdict::Saturated
            }
        } else if queue >= QUEUE && is_queueing {
            if is_slower {
                doubt = Some(Doubt::LessWork);
                Verdict::Busy
            } else {
                Verdict::Queueing
            }
        } else if load.queue < QUEUE {
            // Somebody waits half of the time, or 10 ms longer; a queue within the step is no slow device.
            let is_felt =
                queue >= SOMEONE || load.queue >= SOMEONE && ms - bounds.sure >= MATTERS_MS;
            if ms >= self.knowledge.saturated * bounds.sure && is_felt && !in_bursts {
                Verdict::Slow
            } else {
                Verdict::Ok
            }
        } else if ms < MORE * bounds.lo
            || bounds.hi.is_finite() && ms < MORE * bounds.hi && range.has_room(size, ms, rate)
        {
            Verdict::Ok
        } else {
            doubt = Some(if is_known {
                Doubt::NothingBetter
            } else {
                Doubt::NothingQuieter
            });
            Verdict::Busy
        };
        let saturation = is_known.then(|| ms / bounds.hi);
        let latency = Latency {
            await_ms: ms,
            queue: load.queue,
            saturation,
        };
        Finding {
            verdict,
            evidence: self.latency_evidence(
                (load.direction(kind), verdict),
                latency,
                &bounds,
                doubt,
            ),
            over: saturation.unwrap_or(0.0),
        }
    }

    /// What a word for requests in one direction rests on: their latency, compared with what is known.
    fn latency_evidence(
        &self,
        (direction, verdict): (IoDirection, Verdict),
        latency: Latency,
        bounds: &Bounds,
        doubt: Option<Doubt>,
    ) -> Evidence {
        Evidence::Latency {
            direction,
            verdict,
            latency,
            source: bounds.source,
            seen_s_ago: bounds.seen_s.map(|seen_s| (self.run_s - seen_s).max(0.0)),
            doubt,
        }
    }

    /// The word for a handful of requests: only what somebody felt is trouble. Nothing is learned from them.
    fn judge_few(&self, kind: usize, load: &Load, ms: f64, kib: f64) -> Finding {
        let queue = load.queue_of(kind);
        let bounds = self.knowledge.ranges[kind].bounds(kib, load.rate(), queue);
        let hi = bounds.sure * (1.0 + 1.0 / load.kinds[kind].count.sqrt());
        let is_slow =
            queue >= SOMEONE && ms >= self.knowledge.saturated * hi && ms - hi >= MATTERS_MS;
        let verdict = if is_slow {
            Verdict::Slow
        } else if load.queue < QUEUE {
            Verdict::Ok
        } else {
            Verdict::Busy
        };
        let latency = Latency {
            await_ms: ms,
            queue: load.queue,
            saturation: hi.is_finite().then(|| ms / hi),
        };
        let doubt = (verdict == Verdict::Busy).then_some(Doubt::FewRequests);
        Finding {
            verdict,
            evidence: self.latency_evidence(
                (load.direction(kind), verdict),
                latency,
                &bounds,
                doubt,
            ),
            over: 0.0,
        }
    }

    /// Returns whether the device does fewer requests and fewer KiB than when requests of this size were at most half as
    /// slow. A queue does not lower the work done: then the device is slower, or the load is another.
    fn does_less(&mut self, kind: usize, load: &Load, size: i32, ms: f64) -> bool {
        let now = Done {
            size,
            ms,
            rate: load.rate(),
            kib_rate: load.kib_rate(),
        };
        let (mut faster, mut with_more_requests, mut with_more_kib) = (0, 0, 0);
        for one in &self.recent.done[kind] {
            if one.size == size && one.ms <= HALF * ms {
                faster += 1;
                with_more_requests += usize::from(now.rate < LESS * one.rate);
                with_more_kib += usize::from(now.kib_rate < LESS * one.kib_rate);
            }
        }
        if self.recent.done[kind].len() == RING {
            self.recent.done[kind].pop_front();
        }
        self.recent.done[kind].push_back(now);
        // Less than the median, which is the higher of two values in the middle.
        let most = faster - faster / 2;
        faster >= RANK && with_more_requests >= most && with_more_kib >= most
    }

    /// The word for flushes, which have no size, and which the kernel merges: slow or not, nothing else. Where other requests
    /// queue, they explain it unless people would notice.
    fn judge_flushes(&mut self, load: &Load) -> Finding {
        let flushes = load.kinds[2];
        let ms = flushes.ms / flushes.count;
        let range = &mut self.knowledge.ranges[2];
        if !self.is_frozen {
            range.learn_lowest(0, ms, flushes.count, self.run_s);
        }
        let lowest = range.lowest_flush();
        let hi = lowest.map_or(f64::INFINITY, |lowest| lowest.value);
        let is_slow = ms >= self.knowledge.saturated * hi
            && load.queue_of(2) >= SOMEONE
            && (load.queue < QUEUE || ms - hi >= MATTERS_MS);
        let verdict = if is_slow { Verdict::Slow } else { Verdict::Ok };
        Finding {
            verdict,
            evidence: Evidence::Latency {
                direction: IoDirection::Flushes,
                verdict,
                latency: Latency {
                    await_ms: ms,
                    queue: load.queue_of(2),
                    saturation: lowest.map(|_| ms / hi),
                },
                source: lowest.map(|_| BaselineSource::Lowest),
                seen_s_ago: lowest.map(|lowest| (self.run_s - lowest.at_s).max(0.0)),
                doubt: None,
            },
            over: 0.0,
        }
    }
}
