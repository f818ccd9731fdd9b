//! Sentences for the evidence of verdicts, shared by the table, JSON, CSV and the report of an analysis.

mod explanation;
mod health;
mod incident;
mod limits;

use std::borrow::Cow;

use jiff::Timestamp;

pub(crate) use self::explanation::{explanation_text, knee_text};
pub(crate) use self::health::{health_evidence_text, health_text};
pub(crate) use self::incident::{
    incident_heading, incident_length_text, incident_parts, incident_sentence, incident_time_text,
    present_harm, sign_of_begin,
};
use self::limits::{cgroup_limit_text, near_limit_text, plateau_caveat, variation_text};
pub(crate) use self::limits::{limit_name, limit_of_cgroup, limit_suffix, plateau_evidence, plateau_rate};
use crate::analysis::{
    Assessment, BaselineSource, Doubt, Evidence, IoDirection, Latency, NfsWait, RateUnit, SharedLimit,
    SlowBesidePeers, hidden_io_wait_pct,
};
use crate::intervals::{DeviceActivity, IntervalHeader};
use crate::report::layout::number_format::{multiple_figure, queue_figure, time_figure};
use crate::report::layout::sentence_numbers::{
    counted, duration, multiple, number, per_second, percent, time,
};
use crate::sanitize::sanitize;
use crate::topology::DeviceClass;

/// Returns a sentence for each piece of evidence. Without a verdict, the first names the baseline that is missing.
pub(crate) fn evidence_sentences(assessment: &Assessment) -> Vec<String> {
    let missing = if assessment.verdict.is_none() { missing_baseline(assessment) } else { None };
    let is_repeated =
        |evidence: &&Evidence| missing.is_some() && matches!(evidence, Evidence::Latency { .. });
    let others = assessment.evidence.iter().filter(|evidence| !is_repeated(evidence)).map(evidence_text);
    missing.iter().cloned().chain(others).collect()
}

/// The evidence like [`evidence_sentences`], for people. A sentence about one of several samples in the interval begins
/// with its time, formatted by `time_text`.
pub(crate) fn timed_evidence_sentences(
    activity: &DeviceActivity,
    time_text: impl Fn(Timestamp) -> String,
) -> Vec<String> {
    let mut sentences = evidence_sentences(&activity.assessment);
    if let Some(at) = activity.evidence_at {
        let at = time_text(at);
        sentences.iter_mut().for_each(|sentence| *sentence = format!("{at}: {sentence}"));
    }
    sentences
}

/// Appends the sentence for an interval without a verdict because unloaded latency is not known; returns `None` if
/// there is another reason.
fn missing_baseline(assessment: &Assessment) -> Option<String> {
    let doubts = || {
        assessment.evidence.iter().filter_map(|evidence| match evidence {
            Evidence::Latency { direction, doubt, .. } => Some((*direction, (*doubt)?)),
            _ => None,
        })
    };
    let doubt = doubts().next()?.1;
    let has_other_reason = doubts().any(|(_, doubt)| !doubt.is_about_baseline())
        || assessment.evidence.iter().any(|evidence| matches!(evidence, Evidence::Unconfirmed(_)));
    if has_other_reason {
        return None;
    }
    let with_doubt = doubts().filter(|(_, other)| *other == doubt);
    let nouns = with_doubt.map(|(direction, _)| direction.noun()).collect::<Vec<_>>().join(" and ");
    let has_flushes = doubts().any(|(direction, _)| direction == IoDirection::Flushes);
    let option = if has_flushes { "--baseline" } else { "--baseline-ms" };
    let missing = match doubt {
        Doubt::NoBaseline => {
            format!("unloaded latency of {nouns} unknown; give it with {option} (or --class for a capture)")
        }
        Doubt::ConstantLoad if has_flushes => {
            format!("{nouns} may be unloaded or at a limit; give their unloaded latency with {option}")
        }
        Doubt::ConstantLoad => format!("{nouns} may be unloaded or at a limit; give {option} or --cap"),
        _ => format!("{nouns} take far longer than since boot; give their unloaded latency with {option}"),
    };
    Some(format!("no verdict: {missing}"))
}

/// A fact about one interval as a sentence without a period.
fn evidence_text(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Idle => "nothing completed, nothing in flight".to_owned(),
        Evidence::NothingCompleted { in_flight, for_s, may_be_leaked } => {
            let text = format!("{in_flight} in flight, none completed for {}", duration(*for_s));
            text + leaked_text(*may_be_leaked)
        }
        Evidence::Hung { requests, for_s, may_be_leaked, may_be_bursts } => {
            let requests = counted(*requests, "request");
            let text =
                format!("{requests} in flight for {} or longer while others complete", duration(*for_s));
            let bursts = "; or as many are issued just before every sample";
            text + leaked_text(*may_be_leaked) + if *may_be_bursts { bursts } else { "" }
        }
        Evidence::HeldBetween { in_flight, below, latencies } => {
            // With a limit that releases requests in slices, none may be in flight at that moment.
            let in_flight = in_flight.filter(|count| *count > 0);
            let in_flight = in_flight.map(|count| format!("{count} in flight; ")).unwrap_or_default();
            let below: Vec<String> = below.iter().map(|name| sanitize(name).into_owned()).collect();
            format!(
                "{in_flight}latency {} here, {} at {} below: requests are held between them",
                time(latencies.await_above_ms),
                time(latencies.await_below_ms),
                below.join(", ")
            )
        }
        Evidence::WaitingAbove { above } => {
            format!("idle most of the time while requests wait at {} above", sanitize(above))
        }
        Evidence::NoLatency => "no read or write latency to assess".to_owned(),
        Evidence::Unconfirmed(verdict) => {
            format!("{} in this interval, not yet confirmed by other intervals", verdict.name())
        }
        Evidence::Latency { direction, latency, source, doubt } => {
            // Nearly every interval of a busy device has this sentence.
            let mut text = String::with_capacity(80);
            text += latency_name(*direction);
            text.push(' ');
            push_latency(&mut text, latency, *source);
            text + &doubt.map(|doubt| doubt_text(&doubt, *direction)).unwrap_or_default()
        }
        Evidence::SlowBesidePeers(slow) => {
            format!("{}, for {}", slow_beside_peers_text(slow), duration(slow.lasted_s))
        }
        Evidence::SharedLimit(limit) => shared_limit_text(limit),
        Evidence::ConstantRate(plateau) => {
            let (rate, limit) = (plateau_rate(plateau), limit_suffix(plateau));
            format!("{rate}{limit}: {}{}", plateau_evidence(plateau), plateau_caveat(plateau))
        }
        Evidence::NearLimit(near) => near_limit_text(near),
        Evidence::AtLimit(limit) => cgroup_limit_text(limit),
        Evidence::Health(health) => health_evidence_text(health),
    }
}

fn latency_name(direction: IoDirection) -> &'static str {
    match direction {
        IoDirection::Reads => "read latency",
        IoDirection::Writes => "write latency",
        IoDirection::Both => "latency",
        IoDirection::Flushes => "flush latency",
    }
}

/// `1.31 ms, 4.2x unloaded, queue 3.93`.
fn latency_text(latency: &Latency, source: Option<BaselineSource>) -> String {
    let mut text = String::new();
    push_latency(&mut text, latency, source);
    text
}

fn push_latency(text: &mut String, latency: &Latency, source: Option<BaselineSource>) {
    time_figure(latency.await_ms).push_str_apart("ms", text);
    if let Some(times) = latency.saturation {
        *text += ", ";
        push_multiple(text, times, source);
    }
    *text += ", queue ";
    queue_figure(latency.queue).push_str(text);
}

/// Appends a multiple with what it is a multiple of: `6.8x what any hard disk needs`.
fn push_multiple(text: &mut String, times: f64, source: Option<BaselineSource>) {
    multiple_figure(times).push_str(text);
    *text += match source {
        Some(BaselineSource::SinceBoot) => " the mean since boot",
        Some(BaselineSource::Class(class)) => class_text(class),
        Some(BaselineSource::Lowest) => " the lowest seen",
        Some(BaselineSource::Peers) => " its peers",
        _ => " unloaded",
    };
}

/// `write latency 2.0x its 11 peers at the same time, with a like load`.
fn slow_beside_peers_text(slow: &SlowBesidePeers) -> String {
    let SlowBesidePeers { direction, times, peers, .. } = slow;
    let times = multiple(*times);
    format!("{} {times} its {peers} peers at the same time, with a like load", latency_name(*direction))
}

/// `shared with sdb and sdc: together 3,000 requests/s (±0.2%), while the rate of each varies`.
fn shared_limit_text(limit: &SharedLimit) -> String {
    let SharedLimit { others, unit, rate, variation, .. } = limit;
    let others: Vec<String> = others.iter().map(|name| sanitize(name).into_owned()).collect();
    let rate = match unit {
        RateUnit::Requests => per_second(*rate, "requests"),
        RateUnit::Kib => format!("{} MiB/s", number(*rate / 1024.0)),
    };
    let variation = variation_text(*variation);
    format!("shared with {}: together {rate} ({variation}), while the rate of each varies", others.join(", "))
}

fn class_text(class: Option<DeviceClass>) -> &'static str {
    match class {
        None => " what any disk needs",
        Some(DeviceClass::HardDisk) => " what any hard disk needs",
        Some(DeviceClass::Ssd) => " what any SSD needs",
        Some(DeviceClass::Nvme) => " what any NVMe SSD needs",
        Some(DeviceClass::Network) => " what any network volume needs",
    }
}

/// The reason why a direction has no verdict, to be appended to its latency.
fn doubt_text(doubt: &Doubt, direction: IoDirection) -> Cow<'static, str> {
    let text = match doubt {
        Doubt::NoBaseline => "; unloaded latency unknown",
        Doubt::ConstantLoad => "; may be unloaded or at a limit",
        Doubt::AboveSinceBoot => "; far longer than since boot",
        Doubt::RateFell { per_s, unloaded_per_s } => {
            return Cow::Owned(format!(
                "; slower than before although the rate is lower ({}, {} before): because of other data or a slower device, not more load",
                per_second(*per_s, direction.noun()),
                number(*unloaded_per_s)
            ));
        }
        Doubt::Bursts => "; requests may come in short bursts and wait for each other",
        Doubt::FewRequests => "; too few requests for a verdict",
        Doubt::LittleImpact => "; too short and too few at a time to matter",
    };
    Cow::Borrowed(text)
}

/// The addition to a sentence about requests that no task waits for.
fn leaked_text(may_be_leaked: bool) -> &'static str {
    if may_be_leaked {
        "; no task has waited for I/O for minutes, so the kernel may have lost count of them"
    } else {
        ""
    }
}

/// The causes of such waits: NFS mounts with requests without an answer or, without one, what may cause them.
pub(crate) fn hidden_io_wait_causes(nfs: &[NfsWait]) -> String {
    if nfs.is_empty() {
        return "a network file system, a limit above the device (cgroup io.max), or swap in a cgroup"
            .to_owned();
    }
    nfs.iter().map(nfs_wait_text).collect::<Vec<_>>().join(", ")
}

/// What an NFS mount waits for: `NFS at /data has 3 requests without an answer (those that end take 1.20 s)`.
pub(crate) fn nfs_wait_text(wait: &NfsWait) -> String {
    let requests = counted(wait.unanswered, "request");
    let mean = match wait.mean_ms {
        Some(mean_ms) => format!("those that end take {}", time(mean_ms)),
        None => "none ends".to_owned(),
    };
    format!("NFS at {} has {requests} without an answer ({mean})", sanitize(&wait.mount))
}

/// The waits of an interval as a sentence without a period; `None` if no task waits so.
pub(crate) fn hidden_io_wait_text(header: &IntervalHeader) -> Option<String> {
    let hidden_pct = hidden_io_wait_pct(&header.host).filter(|hidden| *hidden > 0.0)?;
    Some(format!(
        "tasks wait for I/O that no device shows, {} of the time or more: {}",
        percent(hidden_pct),
        hidden_io_wait_causes(&header.nfs_waits)
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sentences(doubts: &[(IoDirection, Option<Doubt>)]) -> Vec<String> {
        let latency = Latency { await_ms: 1.0, queue: 0.5, saturation: Some(1.0) };
        let evidence = |(direction, doubt): &(IoDirection, Option<Doubt>)| Evidence::Latency {
            direction: *direction,
            latency,
            source: None,
            doubt: *doubt,
        };
        let evidence = doubts.iter().map(evidence).collect();
        evidence_sentences(&Assessment { evidence, ..Assessment::default() })
    }

    #[test]
    fn one_sentence_says_which_baseline_is_missing() {
        use IoDirection::{Flushes, Reads, Writes};
        let unknown = Some(Doubt::NoBaseline);
        assert_eq!(
            sentences(&[(Reads, unknown), (Writes, unknown)]),
            [
                "no verdict: unloaded latency of reads and writes unknown; give it with --baseline-ms (or --class for a capture)"
            ]
        );
        assert_eq!(
            sentences(&[(Writes, None), (Flushes, Some(Doubt::ConstantLoad))]),
            [
                "no verdict: flushes may be unloaded or at a limit; give their unloaded latency with --baseline"
            ]
        );
        assert_eq!(
            sentences(&[(Reads, Some(Doubt::ConstantLoad))]),
            ["no verdict: reads may be unloaded or at a limit; give --baseline-ms or --cap"]
        );
        // Other reasons are explained with their numbers.
        assert_eq!(sentences(&[(Reads, Some(Doubt::Bursts)), (Writes, unknown)]).len(), 2);
    }
}
