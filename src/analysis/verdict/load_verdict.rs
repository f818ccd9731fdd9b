//! The verdict on a single load (one interval, or several similar ones) against the baselines of its device.

use super::{Doubt, Verdict};
use crate::analysis::baseline::{Baselines, UnloadedRange};
use crate::analysis::load::{IoDirection, LoadSample};
use crate::analysis::settings::BaselineSource;
use crate::analysis::stats::IoTotals;
use crate::analysis::thresholds::{
    DEFAULT_SATURATION_THRESHOLD, MAX_SERIAL_BUSY_QUEUE, MAX_UNBEATEN_RATIO, MAX_UNLOADED_QUEUE,
    MIN_INTERVAL_REQUESTS, MIN_LOADED_QUEUE, MIN_LOADED_RATE_RATIO, MIN_NOTICED_DELAY_MS,
    MIN_QUEUEING_SATURATION, MIN_SATURATED_QUEUE, MIN_SLOW_BUSY_RATIO,
};

/// The assessment of a direction of a load.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DirectionAssessment {
    pub(crate) direction: IoDirection,
    /// True if it has enough of the request time to decide the verdict.
    pub(crate) is_major: bool,
    pub(crate) await_ms: f64,
    /// Mean queue of this direction.
    pub(crate) queue: f64,
    /// The multiple of the unloaded latency, at least, with the source of that bound; `None` if it shows nothing.
    pub(crate) saturation: Option<(f64, BaselineSource)>,
    /// The verdict, or why there is none.
    pub(crate) verdict: Result<Verdict, Doubt>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LoadAssessment {
    /// The verdict; `None` if the data do not support one.
    pub(crate) verdict: Option<Verdict>,
    /// A direction that matters has no verdict, so that the load may be in worse trouble.
    pub(crate) is_unknown: bool,
    /// The directions with requests, in the order of [`Baselines::DIRECTIONS`].
    pub(crate) directions: [Option<DirectionAssessment>; Baselines::DIRECTIONS.len()],
}

impl LoadAssessment {
    pub(crate) fn of(load: &LoadSample, baselines: &Baselines, saturation_threshold: f64) -> Self {
        let total_queue = load.total_queue();
        let ranges = Baselines::DIRECTIONS.map(|direction| baselines.range(direction, load));
        let (mut directions, mut verdict, mut is_unknown) =
            ([None; Baselines::DIRECTIONS.len()], None, false);
        for (index, direction) in Baselines::DIRECTIONS.into_iter().enumerate() {
            let totals = load.totals(direction);
            if totals.ios <= 0.0 {
                continue;
            }
            let queue = load.queue(direction);
            let load = DirectionLoad {
                load,
                baselines,
                ranges: &ranges,
                direction,
                totals,
                queue,
                total_queue,
                saturation_threshold,
            };
            directions[index] = assess_direction(&load, &ranges[index]);
            if let Some(one) = directions[index] {
                verdict = verdict.max(one.verdict.ok());
                // A direction without a verdict may be worse than the others.
                is_unknown |= one.is_major && one.verdict.is_err();
            }
        }
        let verdict = verdict.filter(|verdict| *verdict != Verdict::Ok || !is_unknown);
        Self {
            verdict,
            is_unknown,
            directions,
        }
    }

    /// Returns whether the latency of a direction is far above its baseline without a queue that explains it.
    pub(crate) fn is_slow(&self, direction: IoDirection) -> bool {
        self.direction(direction).is_some_and(|one| {
            one.verdict == Ok(Verdict::Slow)
                && one
                    .saturation
                    .is_some_and(|(_, source)| source != BaselineSource::SinceBoot)
        })
    }

    /// The assessments of the directions with requests.
    pub(crate) fn directions(&self) -> impl Iterator<Item = &DirectionAssessment> {
        self.directions.iter().flatten()
    }

    /// The assessment of a direction; `None` if it had no requests.
    pub(crate) fn direction(&self, direction: IoDirection) -> Option<&DirectionAssessment> {
        self.directions().find(|one| one.direction == direction)
    }

    /// The saturation that decides, with the source of the bound: that of the direction with the most severe verdict or, among equals,
    /// with the most request time. `None` if no direction was compared with a baseline.
    pub(crate) fn decisive_saturation(&self) -> Option<(IoDirection, f64, BaselineSource)> {
        let rank = |one: &&DirectionAssessment| {
            let severity = one.verdict.ok().map(Verdict::severity);
            (one.is_major, severity, (one.queue * 1e6) as u64)
        };
        let compared = self.directions().filter(|one| one.saturation.is_some());
        let decisive = compared.max_by_key(rank)?;
        decisive
            .saturation
            .map(|(saturation, source)| (decisive.direction, saturation, source))
    }
}

/// Assesses a direction; `None` without requests.
fn assess_direction(of: &DirectionLoad<'_>, range: &UnloadedRange) -> Option<DirectionAssessment> {
    let DirectionLoad {
        load,
        baselines,
        direction,
        totals,
        queue,
        saturation_threshold,
        ..
    } = *of;
    let await_ms = totals.await_ms()?;
    let verdict = match of.against(await_ms, range) {
        // A latency far above the mean since boot may be trouble that began before the first sample.
        Ok(Verdict::Ok) | Err(Doubt::ConstantLoad | Doubt::Bursts)
            if range.hi.is_none_or(|hi| {
                matches!(hi.source, BaselineSource::Learned | BaselineSource::Lowest)
            }) && baselines
                .of(direction)
                .likely_since_boot_ms(direction, &totals)
                .is_some_and(|ms| await_ms >= saturation_threshold * ms) =>
        {
            Err(Doubt::AboveSinceBoot)
        }
        verdict => verdict,
    };
    let is_major = load.is_major(direction);
    let saturation = range.shown_saturation(await_ms);
    Some(DirectionAssessment {
        direction,
        is_major,
        await_ms,
        queue,
        saturation,
        verdict,
    })
}

struct DirectionLoad<'a> {
    load: &'a LoadSample,
    baselines: &'a Baselines,
    /// The range of the unloaded latency of each of [`Baselines::DIRECTIONS`].
    ranges: &'a [UnloadedRange; Baselines::DIRECTIONS.len()],
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

    /// Returns whether there are too few requests for a verdict. Where someone waits for one half of the time, there are
    /// few because they are slow.
    fn has_few_requests(&self) -> bool {
        self.totals.ios / self.load.intervals < MIN_INTERVAL_REQUESTS
            && self.queue < MIN_LOADED_QUEUE
    }

    /// Returns whether requests came one at a time, or nearly so: then their latency comes from the device, not from
    /// waiting for each other. The mean queue alone does not show this, because it is also short if bursts are rare.
    fn is_serial(&self) -> bool {
        self.queue < MAX_UNLOADED_QUEUE
            && self
                .load
                .queue_while_busy()
                .is_some_and(|queue| queue <= MAX_SERIAL_BUSY_QUEUE)
    }

    /// Returns whether the device itself takes longer for its requests than before: it was busy for far longer than
    /// they would take one after the other at unloaded latency. This holds however they arrived.
    fn is_device_slower(&self) -> bool {
        self.load
            .busy_s
            .is_some_and(|busy_s| busy_s >= MIN_SLOW_BUSY_RATIO * self.unloaded_s())
    }

    /// Returns whether several clients wait for one request each, all the time: their rate depends on the latency, which
    /// may be that of other data, such as random ones after sequential ones.
    fn may_be_of_other_data(&self) -> bool {
        self.load.is_closed_loop()
            && self
                .load
                .in_flight_at_end
                .is_some_and(|in_flight| in_flight > 1)
    }

    /// Seconds that all requests of the load would take one after the other at unloaded latency: as long as the device
    /// is as fast as before, it is busy for no longer, however many of them wait for each other. Requests whose unloaded
    /// latency is not known count with the time that they took, which may include waiting.
    fn unloaded_s(&self) -> f64 {
        let of_direction = |(direction, range): (IoDirection, &UnloadedRange)| {
            let totals = self.load.totals(direction);
            range
                .hi
                .map_or(f64::INFINITY, |hi| totals.ios * hi.max_ms)
                .min(totals.ms)
                / 1000.0
        };
        Baselines::DIRECTIONS
            .into_iter()
            .zip(self.ranges)
            .map(of_direction)
            .sum()
    }

    /// Returns whether a latency that is longer than before matters: someone waits for a request for half of the time, or
    /// for longer than is noticed at a single one.
    fn is_noticed(&self, await_ms: f64, range: &UnloadedRange) -> bool {
        self.queue >= MIN_LOADED_QUEUE
            || range
                .hi
                .is_none_or(|hi| await_ms - hi.max_ms >= MIN_NOTICED_DELAY_MS)
    }

    /// The verdict that all of a range of unloaded latencies leads to.
    fn against(&self, await_ms: f64, range: &UnloadedRange) -> Result<Verdict, Doubt> {
        match self.compared(await_ms, range) {
            Ok(Verdict::Slow) if !self.is_noticed(await_ms, range) => Err(Doubt::LittleImpact),
            verdict => verdict,
        }
    }

    /// The verdict without regard to whether anyone notices.
    fn compared(&self, await_ms: f64, range: &UnloadedRange) -> Result<Verdict, Doubt> {
        let saturation = range.min_saturation(await_ms);
        let is_at_least = |threshold: f64| saturation.is_some_and(|one| one >= threshold);
        let is_slower = is_at_least(MIN_QUEUEING_SATURATION);
        if is_slower && self.has_few_requests() {
            return Err(Doubt::FewRequests);
        }
        // Flushes wait for each other in the kernel, however fast the device is, so their queue shows nothing.
        if self.direction == IoDirection::Flushes {
            return self.unloaded_verdict(
                await_ms,
                range,
                is_at_least(DEFAULT_SATURATION_THRESHOLD),
            );
        }
        if is_at_least(DEFAULT_SATURATION_THRESHOLD)
            && self.queue < MIN_SATURATED_QUEUE
            && self.is_device_slower()
            && !self.may_be_of_other_data()
        {
            return Ok(Verdict::Slow);
        }
        if is_slower && self.queue >= MAX_UNLOADED_QUEUE {
            let is_severe =
                is_at_least(self.saturation_threshold) && self.queue >= MIN_SATURATED_QUEUE;
            // No more work than was done before at low latency. Where a constant number of clients waits, the rate of a
            // device at its limit stays the same.
            let is_no_more = |ratio: f64| {
                range
                    .max_unloaded_rate
                    .filter(|max| self.rate() < ratio * max)
            };
            let ratio = if self.load.is_closed_loop() {
                MIN_LOADED_RATE_RATIO
            } else {
                1.0 / MIN_LOADED_RATE_RATIO
            };
            if is_severe && is_no_more(ratio).is_some() {
                return Ok(Verdict::Slow);
            }
            if let Some(unloaded_per_s) = is_no_more(MIN_LOADED_RATE_RATIO) {
                return Err(Doubt::RateFell {
                    per_s: self.rate(),
                    unloaded_per_s,
                });
            }
            return Ok(if is_severe {
                Verdict::Saturated
            } else {
                Verdict::Queueing
            });
        }
        if is_at_least(DEFAULT_SATURATION_THRESHOLD) && !self.is_serial() {
            return Err(Doubt::Bursts);
        }
        self.unloaded_verdict(await_ms, range, is_at_least(DEFAULT_SATURATION_THRESHOLD))
    }

    /// The verdict on requests that do not wait for each other.
    fn unloaded_verdict(
        &self,
        await_ms: f64,
        range: &UnloadedRange,
        is_slow: bool,
    ) -> Result<Verdict, Doubt> {
        let max_saturation = range.max_saturation(await_ms);
        // Where hardly any request waits for another, latency varies with what is read.
        let is_unloaded = self.total_queue < MAX_UNLOADED_QUEUE;
        let threshold = if is_unloaded {
            DEFAULT_SATURATION_THRESHOLD
        } else {
            MIN_QUEUEING_SATURATION
        };
        // Requests that are faster beside others are of another kind.
        let is_like =
            self.total_queue < MIN_SATURATED_QUEUE || max_saturation >= MAX_UNBEATEN_RATIO;
        if is_slow {
            Ok(Verdict::Slow)
        } else if max_saturation < threshold && is_like {
            Ok(Verdict::Ok)
        } else if range.is_exact {
            Err(Doubt::ConstantLoad)
        } else {
            Err(Doubt::NoBaseline)
        }
    }
}
