//! The verdict on a device over all intervals, with its explanation.

use super::{
    DeviceFacts, DirectionLatency, ExceededCap, Explanation, Hung, Latency, MaxRate, OkMargin, Reason,
    Verdict, VerdictShares,
};
use crate::analysis::load::{ConcurrencyLevel, IoDirection};
use crate::analysis::settings::Settings;
use crate::analysis::stats::DirectionReport;
use crate::analysis::thresholds::{
    BRIEF_STALL_FRACTION, MAX_UNKNOWN_TIME_FRACTION, MIN_EXCEEDED_CAP_RATIO, MIN_OK_TIME_FRACTION,
    MIN_QUEUEING_SATURATION, MIN_SATURATED_QUEUE, MIN_TIME_FRACTION, MIN_VERDICT_INTERVALS,
};

/// The verdict on all intervals; `None` if they do not show one.
pub(crate) fn overall_verdict(
    facts: &DeviceFacts<'_>,
    shares: &VerdictShares,
    settings: &Settings,
) -> (Option<Verdict>, Explanation) {
    let is_stalled = facts.longest_stall_s > 0.0;
    let is_brief_stall = facts.stalled_s < BRIEF_STALL_FRACTION * (shares.seconds + facts.stalled_s);
    let capped_s: f64 = facts.plateaus.iter().map(|plateau| plateau.seconds).sum();
    let is_capped = capped_s > 0.0 && capped_s >= MIN_TIME_FRACTION * shares.seconds;
    let is_throttled = facts.throttled_s > 0.0 && facts.throttled_s >= MIN_TIME_FRACTION * shares.seconds;
    let is_saturated =
        shares.saturated >= MIN_TIME_FRACTION && shares.saturated_intervals >= MIN_VERDICT_INTERVALS as f64;
    let is_slow = shares.slow >= MIN_TIME_FRACTION && shares.slow_intervals >= MIN_VERDICT_INTERVALS as f64;
    let stall_s = is_stalled.then_some(facts.longest_stall_s);
    let unclear = || facts.unclear.cloned();
    let (verdict, explanation) = if facts.is_accounting_off && !facts.was_busy {
        (Some(Verdict::AccountingOff), Reason::AccountingOff.into())
    } else if facts.intervals == 0 {
        (None, Reason::NoIntervals.into())
    } else if !facts.was_busy {
        (Some(Verdict::Idle), Reason::Idle.into())
    } else if is_stalled && !(is_brief_stall && (is_throttled || is_capped || is_saturated)) {
        (Some(Verdict::Stalled), Reason::Stalled { longest_s: facts.longest_stall_s }.into())
    } else if let Some(Hung { requests, for_s, .. }) = facts.hung.filter(Hung::is_certain) {
        (Some(Verdict::Stalled), Reason::Hung { requests, for_s }.into())
    } else if let Some(limit) = facts.limit.filter(|_| is_throttled) {
        let fraction = (facts.throttled_s / shares.seconds).min(1.0);
        let reason = Reason::Throttled { fraction, limit: limit.clone() };
        (Some(Verdict::Throttled), Explanation { stall_s, ..reason.into() })
    } else if is_capped {
        let reason = Reason::Capped { plateaus: facts.plateaus.to_vec() };
        (Some(Verdict::Capped), Explanation { stall_s, ..reason.into() })
    } else if facts.busy_intervals == 0 {
        (None, reason_without_latency(facts).into())
    } else if facts.busy_intervals < MIN_VERDICT_INTERVALS {
        (None, Reason::TooFewIntervals { busy_intervals: facts.busy_intervals }.into())
    } else if is_saturated {
        let reason = reason_saturated(facts, shares, settings.saturation_threshold);
        (Some(Verdict::Saturated), Explanation { unclear: unclear(), stall_s, ..reason.into() })
    } else if is_slow {
        let reason = Reason::Slow { fraction: shares.slow, latency: shares.slow_loads.latency() };
        (Some(Verdict::Slow), Explanation { unclear: unclear(), stall_s, ..reason.into() })
    } else {
        let (verdict, reason) = match (verdict_from_shares(facts, shares), facts.hung) {
            ((Some(Verdict::Ok), _), Some(Hung { requests, for_s, .. })) => {
                (None, Reason::MaybeHung { requests, for_s })
            }
            (found, _) => found,
        };
        (verdict, Explanation { unclear: unclear(), ..reason.into() })
    };
    let cap = settings.cap.unwrap_or_default();
    let exceeded_iops = exceeded(facts.all.iops.p95, cap.iops);
    let exceeded_mib_per_s = exceeded(facts.all.mib_per_s.p95, cap.mib_per_s);
    let has_hint = matches!(verdict, None | Some(Verdict::Saturated | Verdict::Queueing));
    let near_limit = facts.near_limit.clone().filter(|_| has_hint);
    (verdict, Explanation { exceeded_iops, exceeded_mib_per_s, near_limit, ..explanation })
}

/// The explanation of `ok` for a device without a verdict, in case a limit above it turns out to hold requests; `None`
/// if that would not make it ok.
pub(crate) fn ok_below_limit(
    facts: &DeviceFacts<'_>,
    shares: &VerdictShares,
    explanation: &Explanation,
) -> Option<Explanation> {
    if !matches!(explanation.reason, Reason::NoBaseline { .. } | Reason::PartlyUnknown { .. }) {
        return None;
    }
    let (verdict, reason) = verdict_from_shares(facts, &shares.below_limit());
    (verdict == Some(Verdict::Ok)).then(|| Explanation { reason, ..explanation.clone() })
}

/// The stated cap, if the load exceeded it; otherwise `None`.
fn exceeded(seen: Option<f64>, cap: Option<f64>) -> Option<ExceededCap> {
    let (seen, cap) = seen.zip(cap)?;
    (seen > MIN_EXCEEDED_CAP_RATIO * cap).then_some(ExceededCap { cap, seen })
}

fn reason_without_latency(facts: &DeviceFacts<'_>) -> Reason {
    if facts.untimed_intervals > 0 {
        Reason::NoRequestTimes
    } else {
        let discards_per_s = facts.discards / facts.seconds;
        Reason::NoReadsOrWrites { discards_per_s, flushes_per_s: facts.flushes / facts.seconds }
    }
}

fn reason_saturated(facts: &DeviceFacts<'_>, shares: &VerdictShares, saturation_threshold: f64) -> Reason {
    let is_saturated =
        |level: &&ConcurrencyLevel| level.saturation.is_some_and(|times| times >= saturation_threshold);
    let highest_level = facts.levels.iter().rfind(is_saturated).map(latency_of_level);
    let max_rate = facts.capacity.knee_high.map(|knee_high| MaxRate {
        iops: facts.capacity.max_iops.unwrap_or_default(),
        knee_low: facts.capacity.knee_low,
        knee_high,
    });
    Reason::Saturated {
        fraction: shares.saturated,
        latency: highest_level.or_else(|| shares.saturated_loads.latency()),
        max_rate,
        deep_queue: shares.deep_queue(),
    }
}

/// Queueing, ok or no verdict, depending on the fractions of the time.
fn verdict_from_shares(facts: &DeviceFacts<'_>, shares: &VerdictShares) -> (Option<Verdict>, Reason) {
    let has_latency = facts.all.await_ms.mean.is_some();
    let waiting = shares.queueing + shares.saturated;
    if waiting >= MIN_TIME_FRACTION {
        let latency = latency_of_worst_level(facts);
        (Some(Verdict::Queueing), Reason::Queueing { fraction: waiting, latency })
    } else if has_latency && shares.ok >= MIN_OK_TIME_FRACTION && shares.unknown < MIN_TIME_FRACTION {
        (Some(Verdict::Ok), reason_ok(facts, shares))
    } else if has_latency && shares.ok >= MIN_TIME_FRACTION {
        let reason = Reason::PartlyUnknown {
            ok_fraction: shares.ok,
            unknown_fraction: shares.unknown,
            latency: shares.unknown_loads.latency(),
        };
        (None, reason)
    } else {
        (None, Reason::NoBaseline { latency: latency_of_worst_level(facts) })
    }
}

fn reason_ok(facts: &DeviceFacts<'_>, shares: &VerdictShares) -> Reason {
    let was_slow = facts.all.saturation.p95.is_some_and(|times| times >= MIN_QUEUEING_SATURATION);
    let margin = match (was_slow, shares.saturated > 0.0) {
        (false, _) => OkMargin::FarFromSaturated,
        (true, false) => OkMargin::NotSaturated,
        (true, true) => OkMargin::MostlyNotSaturated,
    };
    // Multiples are quoted next to latencies only if both cover the same time.
    let is_known = shares.unknown <= MAX_UNKNOWN_TIME_FRACTION;
    let latency = |direction: IoDirection, of: &DirectionReport| {
        let known = |saturation: Option<f64>| saturation.filter(|_| is_known);
        Some(DirectionLatency {
            direction,
            p95_ms: of.await_ms.p95?,
            max_ms: of.await_ms.max?,
            p95_saturation: known(of.saturation.p95),
            max_saturation: known(of.saturation.max),
        })
    };
    let latencies = [latency(IoDirection::Reads, &facts.read), latency(IoDirection::Writes, &facts.write)];
    Reason::Ok {
        margin,
        latencies: latencies.into_iter().flatten().collect(),
        short_queue: facts.all.queue.p95.filter(|queue| was_slow && *queue < MIN_SATURATED_QUEUE),
    }
}

/// The latency at the level of the highest saturation; `None` without levels.
fn latency_of_worst_level(facts: &DeviceFacts<'_>) -> Option<Latency> {
    let saturation = |level: &ConcurrencyLevel| level.saturation.unwrap_or(0.0);
    let worst = facts.levels.iter().max_by(|a, b| saturation(a).total_cmp(&saturation(b)))?;
    Some(latency_of_level(worst))
}

fn latency_of_level(level: &ConcurrencyLevel) -> Latency {
    Latency { await_ms: level.await_ms, queue: level.queue, saturation: level.saturation }
}
