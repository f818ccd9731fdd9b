//! The verdict on a device over all intervals, with its explanation.

use super::{DeviceAnalysis, DeviceReport};
use crate::analysis::caps::Plateau;
use crate::analysis::load::{IoDirection, RateUnit};
use crate::analysis::settings::Settings;
use crate::analysis::thresholds::{
    BRIEF_STALL_FRACTION, MAX_UNKNOWN_TIME_FRACTION, MIN_EXCEEDED_CAP_RATIO, MIN_TIME_FRACTION,
    MIN_VERDICT_INTERVALS, MOST_FRACTION,
};
use crate::analysis::verdict::{
    Evidence, ExceededCap, Explanation, Hung, Latency, LoadSum, MaxRate, Reason, Verdict,
    VerdictShares,
};

/// The verdict on all intervals; `None` if they do not show one.
pub(crate) fn overall_verdict(
    analysis: &DeviceAnalysis,
    report: &DeviceReport,
    shares: &VerdictShares,
    unclear: Option<&Plateau>,
    settings: &Settings,
) -> (Option<Verdict>, Explanation) {
    let is_stalled = analysis.certain_stall_s > 0.0;
    let busy_s = shares.all.seconds;
    let is_brief_stall = analysis.stalled_s < BRIEF_STALL_FRACTION * (busy_s + analysis.stalled_s);
    let capped_s: f64 = report.plateaus.iter().map(|plateau| plateau.seconds).sum();
    let is_substantial = |seconds: f64| seconds > 0.0 && seconds >= MIN_TIME_FRACTION * busy_s;
    let (is_capped, is_throttled) = (
        is_substantial(capped_s),
        is_substantial(analysis.throttled.seconds),
    );
    let is_confirmed = |loads: &LoadSum| {
        is_substantial(loads.seconds) && loads.intervals >= MIN_VERDICT_INTERVALS as f64
    };
    let (is_saturated, is_slow) = (is_confirmed(&shares.saturated), is_confirmed(&shares.slow));
    let slow_beside_peers = analysis
        .slow_beside_peers
        .as_ref()
        .and_then(|one| one.substantial(busy_s));
    let shared_limit = analysis
        .shared_limit
        .as_ref()
        .and_then(|one| one.substantial(busy_s));
    let stall_s = is_stalled.then_some(analysis.certain_stall_s);
    let unclear = || unclear.cloned();
    let share = |verdict, fraction, evidence| {
        (
            Some(verdict),
            Explanation {
                stall_s,
                ..Reason::Share { fraction, evidence }.into()
            },
        )
    };
    let (verdict, explanation) = if analysis.is_accounting_off && !analysis.was_busy {
        (Some(Verdict::AccountingOff), Reason::AccountingOff.into())
    } else if report.intervals == 0 {
        (None, Reason::NoIntervals.into())
    } else if !analysis.was_busy {
        (Some(Verdict::Idle), Reason::Idle.into())
    } else if is_stalled && !(is_brief_stall && (is_throttled || is_capped || is_saturated)) {
        (
            Some(Verdict::Stalled),
            Reason::Stalled {
                longest_s: analysis.certain_stall_s,
            }
            .into(),
        )
    } else if let Some(Hung {
        requests, for_s, ..
    }) = analysis.longest_hung.filter(Hung::is_certain)
    {
        (
            Some(Verdict::Stalled),
            Reason::Hung { requests, for_s }.into(),
        )
    } else if let Some(limit) = analysis.throttled.longest().filter(|_| is_throttled) {
        let fraction = (analysis.throttled.seconds / busy_s).min(1.0);
        share(
            Verdict::Throttled,
            fraction,
            Some(Evidence::AtLimit(limit.clone())),
        )
    } else if is_capped {
        let reason = Reason::Capped {
            plateaus: report.plateaus.to_vec(),
        };
        (
            Some(Verdict::Capped),
            Explanation {
                stall_s,
                ..reason.into()
            },
        )
    } else if let Some((limit, fraction)) = shared_limit {
        share(
            Verdict::Capped,
            fraction,
            Some(Evidence::SharedLimit(Box::new(limit.clone()))),
        )
    } else if report.busy_intervals == 0 {
        (None, reason_without_latency(analysis).into())
    } else if report.busy_intervals < MIN_VERDICT_INTERVALS {
        (
            None,
            Reason::TooFewIntervals {
                busy_intervals: report.busy_intervals,
            }
            .into(),
        )
    } else if let Some((slow, fraction)) = slow_beside_peers {
        share(
            Verdict::Slow,
            fraction,
            Some(Evidence::SlowBesidePeers(*slow)),
        )
    } else if is_saturated {
        let latency = shares.saturated.latency().map(evidence_of);
        let (verdict, explanation) = share(
            Verdict::Saturated,
            shares.fraction(&shares.saturated),
            latency,
        );
        let (max_rate, proof) = (max_rate(report), shares.proof());
        (
            verdict,
            Explanation {
                max_rate,
                proof,
                unclear: unclear(),
                ..explanation
            },
        )
    } else if is_slow {
        // Over all the time, its multiple may be one of the slow requests themselves.
        let latency = shares.slow.latency().map(|latency| {
            evidence_of(Latency {
                saturation: None,
                ..latency
            })
        });
        let (verdict, explanation) = share(Verdict::Slow, shares.fraction(&shares.slow), latency);
        (
            verdict,
            Explanation {
                unclear: unclear(),
                ..explanation
            },
        )
    } else {
        let waiting_above = analysis.waiting_above.as_ref();
        let waiting_above = waiting_above.filter(|(_, seconds)| *seconds >= MOST_FRACTION * busy_s);
        let (verdict, reason) = match (verdict_from_shares(report, shares), analysis.longest_hung) {
            (
                (Some(Verdict::Ok), _),
                Some(Hung {
                    requests, for_s, ..
                }),
            ) => (None, Reason::MaybeHung { requests, for_s }),
            ((None, _), None) if waiting_above.is_some() => (Some(Verdict::Ok), reason_ok(shares)),
            (found, _) => found,
        };
        let waiting_above = waiting_above
            .filter(|_| verdict == Some(Verdict::Ok))
            .map(|(above, _)| above.clone());
        (
            verdict,
            Explanation {
                unclear: unclear(),
                waiting_above,
                ..reason.into()
            },
        )
    };
    let cap = settings.cap.unwrap_or_default();
    let rates = [
        (RateUnit::Requests, report.all.iops.p95, cap.iops),
        (RateUnit::Kib, report.all.mib_per_s.p95, cap.mib_per_s),
    ];
    let exceeded = rates.into_iter().filter_map(|(unit, seen, cap)| {
        let (seen, cap) = seen.zip(cap)?;
        (seen > MIN_EXCEEDED_CAP_RATIO * cap).then_some(ExceededCap { unit, cap, seen })
    });
    (
        verdict,
        Explanation {
            exceeded: exceeded.collect(),
            ..explanation
        },
    )
}

fn reason_without_latency(analysis: &DeviceAnalysis) -> Reason {
    if analysis.excluded.untimed > 0 {
        Reason::NoRequestTimes
    } else {
        let per_s = |ios: u64| ios as f64 / analysis.sum.seconds();
        Reason::NoReadsOrWrites {
            discards_per_s: per_s(analysis.sum.discards.ios),
            flushes_per_s: per_s(analysis.sum.flushes.ios),
        }
    }
}

fn max_rate(report: &DeviceReport) -> Option<MaxRate> {
    let (iops, knee_low) = (
        report.capacity.max_iops.unwrap_or_default(),
        report.capacity.knee_low,
    );
    report.capacity.knee_high.map(|knee_high| MaxRate {
        iops,
        knee_low,
        knee_high,
    })
}

fn evidence_of(latency: Latency) -> Evidence {
    Evidence::Latency {
        direction: IoDirection::Both,
        latency,
        source: None,
        doubt: None,
    }
}

/// Queueing, ok or no verdict, depending on the fractions of the time.
fn verdict_from_shares(report: &DeviceReport, shares: &VerdictShares) -> (Option<Verdict>, Reason) {
    let has_latency = report.all.await_ms.mean.is_some();
    let waiting_loads = shares.queueing.plus(&shares.saturated);
    let waiting = shares.fraction(&waiting_loads);
    let (ok, unknown) = (
        shares.fraction(&shares.ok),
        shares.fraction(&shares.unknown),
    );
    if waiting >= MIN_TIME_FRACTION {
        let evidence = waiting_loads.latency().map(evidence_of);
        (
            Some(Verdict::Queueing),
            Reason::Share {
                fraction: waiting,
                evidence,
            },
        )
    } else if has_latency && ok >= MOST_FRACTION && unknown < MIN_TIME_FRACTION {
        (Some(Verdict::Ok), reason_ok(shares))
    } else if has_latency && ok >= MIN_TIME_FRACTION {
        let latency = shares.unknown.latency();
        (
            None,
            Reason::PartlyUnknown {
                ok_fraction: ok,
                unknown_fraction: unknown,
                latency,
            },
        )
    } else {
        (
            None,
            Reason::NoBaseline {
                latency: shares
                    .all
                    .latency()
                    .filter(|latency| latency.await_ms > 0.0),
            },
        )
    }
}

fn reason_ok(shares: &VerdictShares) -> Reason {
    Reason::Ok {
        was_saturated: shares.saturated.seconds > 0.0,
        is_known: shares.fraction(&shares.unknown) <= MAX_UNKNOWN_TIME_FRACTION,
    }
}
