//! The verdict on a single load (one interval, or several similar ones) against the baselines of its device.

use super::Verdict;
use crate::analysis::baseline::{Baselines, Reference};
use crate::analysis::load::{IoDirection, LoadSample};
use crate::analysis::settings::BaselineSource;
use crate::analysis::stats::IoTotals;
use crate::analysis::thresholds::{
    MAX_HARD_DISK_ACCESS_MS, MAX_SERIAL_BUSY_QUEUE, MAX_UNBEATEN_RATIO, MAX_UNLOADED_QUEUE, MIN_DEEP_QUEUE,
    MIN_DEEP_QUEUE_BUSY_FRACTION, MIN_HARD_DISK_KIB_PER_MS, MIN_INTERVAL_REQUESTS, MIN_LATENCY_REQUESTS,
    MIN_LOADED_RATE_RATIO, MIN_QUEUEING_SATURATION, MIN_SATURATED_QUEUE, MIN_SINCE_BOOT_SATURATION,
    MIN_SINGLE_REQUEST_SATURATION, MIN_SLOW_BUSY_RATIO, MIN_SLOW_SATURATION,
};

/// The reason why a direction has no verdict.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Doubt {
    /// Its unloaded latency is unknown.
    NoBaseline,
    /// Its latency is the lowest seen, but that may already be at a limit, because the load was always the same.
    ConstantLoad,
    /// Its latency is the lowest seen, but far above the mean since boot.
    AboveSinceBoot,
    /// Requests take longer than before at a lower rate: because of other data or a slower device, but not because of
    /// more load.
    RateFell {
        per_s: f64,
        /// The highest rate per second at low latency before.
        unloaded_per_s: f64,
    },
    /// Several requests are in flight at a time although the mean queue is short, so they may wait for each other in
    /// short bursts.
    Bursts,
    /// Requests are faster than the unloaded ones that they are compared with, so those were of another kind.
    Faster,
    /// There are too few requests for a verdict.
    FewRequests,
}

impl Doubt {
    /// Returns whether a better baseline would resolve the doubt.
    pub fn is_about_baseline(self) -> bool {
        matches!(self, Self::NoBaseline | Self::ConstantLoad | Self::AboveSinceBoot)
    }

    /// Returns whether a limit above the device would explain the doubt.
    pub(super) fn may_be_limit_above(self) -> bool {
        matches!(self, Self::ConstantLoad | Self::Bursts)
    }
}

/// The assessment of a direction of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DirectionAssessment {
    pub(crate) direction: IoDirection,
    /// True if it has enough of the request time to decide the verdict.
    pub(crate) is_major: bool,
    pub(crate) await_ms: f64,
    /// Mean queue of this direction.
    pub(crate) queue: f64,
    /// The multiple of the baseline, with the baseline's origin.
    pub(crate) saturation: Option<(f64, BaselineSource)>,
    /// The verdict, or why there is none.
    pub(crate) verdict: Result<Verdict, Doubt>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LoadAssessment {
    /// The verdict; `None` if the data do not support one.
    pub(crate) verdict: Option<Verdict>,
    /// The directions with requests, in the order of [`Baselines::DIRECTIONS`].
    pub(crate) directions: [Option<DirectionAssessment>; Baselines::DIRECTIONS.len()],
    /// The deep queue of a hard disk, if it is the reason for saturation.
    pub(crate) deep_queue: Option<DeepQueue>,
}

impl LoadAssessment {
    pub(crate) fn of(load: &LoadSample, baselines: &Baselines, saturation_threshold: f64) -> Self {
        let total_queue = load.total_queue();
        let (mut directions, mut verdict, mut is_unknown) =
            ([None; Baselines::DIRECTIONS.len()], None, false);
        for (place, direction) in directions.iter_mut().zip(Baselines::DIRECTIONS) {
            let totals = load.totals(direction);
            if totals.ios <= 0.0 {
                continue;
            }
            let queue = load.queue(direction);
            let load = DirectionLoad {
                load,
                baselines,
                direction,
                totals,
                queue,
                total_queue,
                saturation_threshold,
            };
            *place = assess_direction(&load);
            if let Some(one) = place {
                verdict = verdict.max(one.verdict.ok());
                // A direction without a verdict may be worse than the others.
                is_unknown |= one.is_major && one.verdict.is_err();
            }
        }
        let verdict = verdict.filter(|verdict| *verdict != Verdict::Ok || !is_unknown);
        Self { verdict, directions, deep_queue: None }
    }

    /// Applies the rule for a hard disk, which a deep queue saturates regardless of any baseline.
    pub(crate) fn at_hard_disk(self, load: &LoadSample, saturation_threshold: f64) -> Self {
        match DeepQueue::of(load, saturation_threshold) {
            Some(deep_queue) if self.verdict <= Some(Verdict::Queueing) => {
                Self { verdict: Some(Verdict::Saturated), deep_queue: Some(deep_queue), ..self }
            }
            _ => self,
        }
    }

    /// Returns whether the latency of a direction is far above its baseline without a queue that explains it.
    pub(crate) fn is_slow(&self, direction: IoDirection) -> bool {
        self.direction(direction).is_some_and(|one| {
            one.verdict == Ok(Verdict::Slow)
                && one.saturation.is_some_and(|(_, source)| source != BaselineSource::SinceBoot)
        })
    }

    /// Returns whether it would be ok if a limit above the device were known to cause the constant rate and the bursts.
    pub(crate) fn is_ok_below_limit(&self) -> bool {
        let is_fine = |one: &DirectionAssessment| {
            !one.is_major
                || one.verdict.map_or_else(Doubt::may_be_limit_above, |verdict| verdict == Verdict::Ok)
        };
        self.verdict.is_none() && self.directions().next().is_some() && self.directions().all(is_fine)
    }

    /// The assessments of the directions with requests.
    pub(crate) fn directions(&self) -> impl Iterator<Item = &DirectionAssessment> {
        self.directions.iter().flatten()
    }

    /// The assessment of a direction; `None` if it had no requests.
    pub(crate) fn direction(&self, direction: IoDirection) -> Option<&DirectionAssessment> {
        self.directions().find(|one| one.direction == direction)
    }

    /// The origin of the baseline that decides: that of the direction with the most severe verdict or, among equals,
    /// with the most request time. `None` if no direction was compared with a baseline.
    pub(crate) fn baseline_source(&self) -> Option<BaselineSource> {
        let rank = |one: &&DirectionAssessment| {
            let severity = one.verdict.ok().map(Verdict::severity);
            (one.is_major, severity, (one.queue * 1e6) as u64)
        };
        let compared = self.directions().filter(|one| one.saturation.is_some());
        compared.max_by_key(rank).and_then(|one| one.saturation).map(|(_, source)| source)
    }
}

/// Assesses a direction; `None` without requests.
fn assess_direction(of: &DirectionLoad<'_>) -> Option<DirectionAssessment> {
    let DirectionLoad { load, baselines, direction, totals, queue, total_queue, saturation_threshold } = *of;
    let (await_ms, size_kib) = (totals.await_ms()?, totals.size_kib()?);
    let baseline = baselines.of(direction);
    let reference = baseline.reference(size_kib).map(|reference| Reference {
        is_proven: reference.is_proven
            || (reference.bound_queue.is_none() && baselines.are_completions_irregular()),
        ..reference
    });
    let compared = reference.and_then(|reference| {
        // Flushes that are slower than others at any queue are also slower than unloaded ones.
        let queue = if direction == IoDirection::Flushes { f64::INFINITY } else { total_queue };
        let saturation = reference.saturation(await_ms, queue)?;
        Some((saturation, reference))
    });
    let by_reference = compared.map(|(saturation, reference)| of.against(saturation, &reference));
    let is_proven = compared.is_some_and(|(_, reference)| reference.is_proven);
    let since_boot_ms = if is_proven { None } else { baseline.since_boot_ms(direction, &totals) };
    let by_history = since_boot_ms.map(|ms| {
        let saturation = await_ms / ms;
        (saturation, of.since_boot(saturation, compared.map(|(one, _)| one)))
    });
    let displayed = compared.map(|(saturation, reference)| (saturation, reference.source));
    let (saturation, verdict) = match (by_reference, by_history) {
        // The mean since boot can show trouble that a baseline learned in the middle of it cannot.
        (Some(Err(Doubt::NoBaseline | Doubt::ConstantLoad)) | None, Some((saturation, Ok(verdict)))) => {
            (Some((saturation, BaselineSource::SinceBoot)), Ok(verdict))
        }
        (Some(verdict), _) => (displayed, verdict),
        (None, Some((saturation, doubt))) => (Some((saturation, BaselineSource::SinceBoot)), doubt),
        (None, None) => (None, Err(Doubt::NoBaseline)),
    };
    // A latency far above the mean since boot is trouble that began before the first sample, so the load is not ok.
    let is_above_history = || {
        let likely = baseline.likely_since_boot_ms(direction, &totals);
        likely.is_some_and(|ms| await_ms >= saturation_threshold * ms)
    };
    let verdict = match verdict {
        Ok(Verdict::Ok) | Err(Doubt::ConstantLoad | Doubt::Bursts)
            if displayed.is_none_or(|(_, source)| source == BaselineSource::Learned)
                && is_above_history() =>
        {
            Err(Doubt::AboveSinceBoot)
        }
        other => other,
    };
    Some(DirectionAssessment {
        direction,
        is_major: load.is_major(direction),
        await_ms,
        queue,
        saturation,
        verdict,
    })
}

struct DirectionLoad<'a> {
    load: &'a LoadSample,
    baselines: &'a Baselines,
    direction: IoDirection,
    totals: IoTotals,
    queue: f64,
    total_queue: f64,
    saturation_threshold: f64,
}

impl DirectionLoad<'_> {
    fn rate(&self) -> f64 {
        self.totals.ios / self.load.seconds
    }

    fn has_few_requests(&self) -> bool {
        self.totals.ios / self.load.intervals < MIN_INTERVAL_REQUESTS
    }

    /// The saturation from which requests that come one at a time are slow. It is higher for few requests: one of them
    /// may take thirty times as long by chance, which raises their mean to several times the usual.
    fn min_slow_saturation(&self) -> f64 {
        let requests = self.totals.ios / self.load.intervals;
        if requests < MIN_LATENCY_REQUESTS { MIN_SINGLE_REQUEST_SATURATION } else { MIN_SLOW_SATURATION }
    }

    /// Returns whether requests came one at a time, or nearly so: then their latency comes from the device, not from
    /// waiting for each other. The mean queue alone does not show this, because it is also short if bursts are rare.
    fn is_serial(&self) -> bool {
        self.queue < MAX_UNLOADED_QUEUE
            && self.load.queue_while_busy().is_some_and(|queue| queue <= MAX_SERIAL_BUSY_QUEUE)
    }

    /// Returns whether the device itself takes longer for its requests than before: it was busy for far longer than
    /// they would take one after the other at unloaded latency. This holds however they arrived.
    fn is_device_slower(&self) -> bool {
        self.load.busy_s.is_some_and(|busy_s| busy_s >= MIN_SLOW_BUSY_RATIO * self.unloaded_s())
    }

    /// Returns whether several clients wait for one request each, all the time: their rate depends on the latency, which
    /// may be that of other data, such as random ones after sequential ones.
    fn may_be_of_other_data(&self) -> bool {
        self.load.is_closed_loop() && self.load.in_flight_at_end.is_some_and(|in_flight| in_flight > 1)
    }

    /// Seconds that all requests of the load would take one after the other at unloaded latency: as long as the device
    /// is as fast as before, it is busy for no longer, however many of them wait for each other. Requests whose unloaded
    /// latency is not known count with the time that they took, which may include waiting.
    fn unloaded_s(&self) -> f64 {
        let of_direction = |direction| {
            let totals = self.load.totals(direction);
            let reference = totals.size_kib().and_then(|size| self.baselines.of(direction).reference(size));
            let unloaded_ms = reference.map_or(f64::INFINITY, |reference| totals.ios * reference.await_ms);
            unloaded_ms.min(totals.ms) / 1000.0
        };
        Baselines::DIRECTIONS.into_iter().map(of_direction).sum()
    }

    /// The verdict against a baseline of this device.
    fn against(&self, saturation: f64, reference: &Reference) -> Result<Verdict, Doubt> {
        let is_bound = reference.bound_queue.is_some();
        let is_slower = saturation >= MIN_QUEUEING_SATURATION;
        if is_slower && self.has_few_requests() && saturation < MIN_SINGLE_REQUEST_SATURATION {
            return Err(Doubt::FewRequests);
        }
        if self.direction == IoDirection::Flushes {
            return self.flushes_against(saturation, reference);
        }
        if !is_bound
            && saturation >= self.min_slow_saturation()
            && self.queue < MIN_SATURATED_QUEUE
            && self.is_device_slower()
            && !self.may_be_of_other_data()
        {
            return Ok(Verdict::Slow);
        }
        if is_slower && self.queue >= MAX_UNLOADED_QUEUE {
            let is_severe = saturation >= self.saturation_threshold && self.queue >= MIN_SATURATED_QUEUE;
            // No more work than was done before at low latency...
            let is_no_more = |ratio: f64| reference.max_unloaded_rate.filter(|max| self.rate() < ratio * max);
            if is_severe && is_no_more(1.0 / MIN_LOADED_RATE_RATIO).is_some() && !self.load.is_closed_loop() {
                return Ok(Verdict::Slow);
            }
            // ...by a constant number of clients, whose rate depends on the latency, here of other data.
            if let Some(unloaded_per_s) = is_no_more(MIN_LOADED_RATE_RATIO) {
                return Err(Doubt::RateFell { per_s: self.rate(), unloaded_per_s });
            }
            return Ok(if is_severe { Verdict::Saturated } else { Verdict::Queueing });
        }
        if is_bound {
            return Err(Doubt::NoBaseline);
        }
        if saturation >= MIN_SLOW_SATURATION {
            return match self.is_serial() {
                false => Err(Doubt::Bursts),
                true if saturation < self.min_slow_saturation() => Err(Doubt::FewRequests),
                true => Ok(Verdict::Slow),
            };
        }
        if saturation < MAX_UNBEATEN_RATIO && self.total_queue >= MIN_SATURATED_QUEUE {
            return Err(Doubt::Faster);
        }
        // When many requests come at once, the latency of rare ones is no baseline: the device may have had to wake up.
        let is_comparable =
            self.total_queue < MIN_SATURATED_QUEUE || self.rate() <= reference.max_comparable_rate;
        if reference.is_proven && is_comparable { Ok(Verdict::Ok) } else { Err(Doubt::ConstantLoad) }
    }

    /// The verdict on flushes. They wait for each other in the kernel, however fast the device is, so their queue shows
    /// nothing.
    fn flushes_against(&self, saturation: f64, reference: &Reference) -> Result<Verdict, Doubt> {
        if saturation >= MIN_SLOW_SATURATION {
            Ok(Verdict::Slow)
        } else if reference.bound_queue.is_some() || !reference.is_proven {
            Err(Doubt::ConstantLoad)
        } else {
            Ok(Verdict::Ok)
        }
    }

    /// The verdict against the mean since boot, which can only show trouble. `witness` is the saturation against
    /// another baseline, if there is one.
    fn since_boot(&self, saturation: f64, witness: Option<f64>) -> Result<Verdict, Doubt> {
        let has_witness = witness.is_some_and(|saturation| saturation >= MIN_QUEUEING_SATURATION);
        let min_saturation = if has_witness { self.saturation_threshold } else { MIN_SINCE_BOOT_SATURATION };
        if self.has_few_requests() || saturation < min_saturation {
            Err(Doubt::NoBaseline)
        } else if self.direction == IoDirection::Flushes || self.is_serial() {
            Ok(Verdict::Slow)
        } else if self.queue >= MIN_SATURATED_QUEUE {
            Ok(Verdict::Saturated)
        } else {
            Err(Doubt::Bursts)
        }
    }
}

/// A deep queue at a hard disk.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeepQueue {
    /// Mean number of reads and writes in the queue or being served.
    pub queue: f64,
    pub await_ms: f64,
}

impl DeepQueue {
    /// The deep queue of a load at a hard disk; `None` if the queue is not deep all the time, or if requests take less
    /// than `saturation_threshold` times as long as a slow hard disk needs for a single one. The latter excludes
    /// volumes of several disks, or of other media, that only claim to be a hard disk.
    pub(super) fn of(load: &LoadSample, saturation_threshold: f64) -> Option<Self> {
        let totals = load.totals(IoDirection::Both);
        let (queue, await_ms) = (load.queue(IoDirection::Both), totals.await_ms()?);
        let alone_ms = MAX_HARD_DISK_ACCESS_MS + totals.size_kib()? / MIN_HARD_DISK_KIB_PER_MS;
        let is_busy = load.busy_s.is_some_and(|busy_s| busy_s >= MIN_DEEP_QUEUE_BUSY_FRACTION * load.seconds);
        let is_deep = is_busy && queue >= MIN_DEEP_QUEUE && await_ms >= saturation_threshold * alone_ms;
        is_deep.then_some(Self { queue, await_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::stats::IoTotals;

    /// Reads of a size at a queue of 16, in a second.
    fn load(ios: f64, size_kib: f64) -> LoadSample {
        let reads = IoTotals { ios, kib: ios * size_kib, ms: 16_000.0 };
        LoadSample { seconds: 1.0, intervals: 1.0, reads, busy_s: Some(1.0), ..LoadSample::default() }
    }

    #[test]
    fn requests_that_wait_for_one_actuator_saturate_it() {
        assert_eq!(DeepQueue::of(&load(200.0, 4.0), 3.0), Some(DeepQueue { queue: 16.0, await_ms: 80.0 }));
        // Large requests take longer, even a single one.
        assert_eq!(DeepQueue::of(&load(300.0, 4.0), 3.0).map(|deep| deep.queue), Some(16.0));
        assert_eq!(DeepQueue::of(&load(300.0, 1024.0), 3.0), None);
        // A higher threshold is not reached.
        assert_eq!(DeepQueue::of(&load(200.0, 4.0), 6.0), None);
    }

    #[test]
    fn other_loads_say_nothing() {
        // Several disks, or an SSD.
        assert_eq!(DeepQueue::of(&load(1000.0, 4.0), 3.0), None);
        // A short queue.
        assert_eq!(DeepQueue::of(&LoadSample { seconds: 4.0, ..load(200.0, 4.0) }, 3.0), None);
        // A burst, and a kernel that does not count the time with requests in flight.
        assert_eq!(DeepQueue::of(&LoadSample { busy_s: Some(0.5), ..load(200.0, 4.0) }, 3.0), None);
        assert_eq!(DeepQueue::of(&LoadSample { busy_s: None, ..load(200.0, 4.0) }, 3.0), None);
    }
}
