//! Limits in words: plateaus and limits of cgroups.

use crate::attribution::{Limit, LimitSource, ReachedLimit, cgroup_name};
use crate::counters::CgroupHierarchy;
use crate::judge::{IoDirection, Plateau, RateUnit};
use crate::report::layout::sentence_numbers::{counted, number, per_second, percent, queue, time};
use crate::sanitize::sanitize;

/// The name of the limit that a plateau is at, in sentences and machine formats; `None` if it is only inferred.
pub(crate) fn limit_name(plateau: &Plateau) -> Option<&'static str> {
    (plateau.source == LimitSource::Given).then_some("the stated cap")
}

/// The growth of queue or latency on a plateau, as a factor, below which it is not mentioned.
const MIN_MENTIONED_GROWTH_RATIO: f64 = 1.5;

/// The rate of a plateau: `3,000 reads/s`; with the bytes if the limit may be on bytes.
pub(crate) fn plateau_rate(plateau: &Plateau) -> String {
    let noun = plateau.direction.noun();
    let requests = per_second(plateau.iops, noun);
    let bytes = format!("{} MiB/s", number(plateau.mib_per_s));
    match plateau.unit {
        RateUnit::Requests if plateau.has_large_requests() => format!("{requests} or {bytes}"),
        RateUnit::Requests => requests,
        RateUnit::Kib if plateau.direction == IoDirection::Both => bytes,
        RateUnit::Kib => format!("{bytes} of {noun}"),
    }
}

/// The evidence of a plateau: its variation, queues and latencies.
pub(crate) fn plateau_evidence(plateau: &Plateau) -> String {
    let (from, to) = (queue(plateau.queue_from), queue(plateau.queue_to));
    let queues = if plateau.queue_to >= MIN_MENTIONED_GROWTH_RATIO * plateau.queue_from {
        format!("while the queue grew from {from} to {to}")
    } else {
        format!("at a queue of {to}")
    };
    let latency = if plateau.await_to_ms >= MIN_MENTIONED_GROWTH_RATIO * plateau.await_from_ms {
        format!(
            "rose from {} to {}",
            time(plateau.await_from_ms),
            time(plateau.await_to_ms)
        )
    } else {
        time(plateau.await_to_ms)
    };
    format!(
        "rate stayed constant ({}) {queues}; latency {latency}",
        variation_text(plateau.variation)
    )
}

/// The variation of a rate: `±0.3%`, never below 0.1%.
pub(super) fn variation_text(variation: f64) -> String {
    format!("±{:.1}%", (variation * 100.0).max(0.1))
}

/// The limit that a plateau is at, in parentheses; empty if it is only inferred.
pub(crate) fn limit_suffix(plateau: &Plateau) -> String {
    match limit_name(plateau) {
        Some(name) => format!(" ({name})"),
        None => String::new(),
    }
}

/// A limit that a cgroup has reached and, where it doesn't hold the device back, who else waits: `cgroup batch.service is at
/// its limit of 50 reads/s on vda (io.max); it accounts for 40% of the bytes here, and nothing else waits`.
pub(crate) fn cgroup_limit_text(reached: &ReachedLimit) -> String {
    let text = format!("cgroup {}", at_limit_text(&reached.limit));
    if reached.holds_device {
        return text;
    }
    let share = match reached.share_pct {
        Some(share) => format!("it accounts for {} of the bytes here, and ", percent(share)),
        None => String::new(),
    };
    let others = if reached.others_wait {
        "others wait as well"
    } else {
        "nothing else waits"
    };
    format!("{text}; {share}{others}")
}

/// A limit that a cgroup has reached, as a short sentence without a period.
pub(crate) fn at_limit_text(limit: &Limit) -> String {
    let file = match limit.source {
        LimitSource::Cgroup(CgroupHierarchy::V1) => "blkio.throttle",
        _ => "io.max",
    };
    format!(
        "{} is at its limit of {} on {} ({file})",
        sanitize(&cgroup_name(limit.owner.as_deref().unwrap_or_default())),
        limit_value(limit),
        sanitize(&limit.device)
    )
}

/// The value of a limit: `50 reads/s`, `10 MiB/s of writes`, `512 KiB/s of reads`.
pub(crate) fn limit_value(limit: &Limit) -> String {
    let requests = limit.direction.noun();
    match limit.unit {
        RateUnit::Requests => format!("{} {requests}/s", exact(limit.value)),
        RateUnit::Kib => format!("{} of {requests}", kib_per_s(limit.value)),
    }
}

fn kib_per_s(kib: f64) -> String {
    if kib < 1.0 {
        format!("{}/s", counted((kib * 1024.0) as u64, "byte"))
    } else if kib < 1024.0 {
        format!("{} KiB/s", exact(kib))
    } else {
        format!("{} MiB/s", exact(kib / 1024.0))
    }
}

/// Returns a number that a person chose, without decimals if it is whole.
fn exact(value: f64) -> String {
    if value < 100.0 && value.fract() == 0.0 {
        value.to_string()
    } else {
        number(value)
    }
}

#[cfg(test)]
mod cgroup_limit_tests {
    use super::*;

    #[test]
    fn the_cgroup_the_limit_and_the_file_are_named() {
        let limit = Limit {
            owner: Some("/system.slice/db.service".into()),
            device: "loop2".into(),
            direction: IoDirection::Reads,
            unit: RateUnit::Requests,
            value: 50.0,
            source: LimitSource::Cgroup(CgroupHierarchy::V2),
        };
        let reached = ReachedLimit {
            limit: limit.clone(),
            share_pct: Some(97.0),
            holds_device: true,
            others_wait: false,
        };
        let text = "cgroup db.service is at its limit of 50 reads/s on loop2 (io.max)";
        assert_eq!(cgroup_limit_text(&reached), text);
        let written = |kib| Limit {
            owner: Some("/evil\u{1b}[2J".into()),
            direction: IoDirection::Writes,
            unit: RateUnit::Kib,
            value: kib,
            source: LimitSource::Cgroup(CgroupHierarchy::V1),
            ..limit.clone()
        };
        let other = ReachedLimit {
            limit: written(3072.0),
            share_pct: Some(12.0),
            holds_device: false,
            others_wait: false,
        };
        let text = "cgroup /evil\\u{1b}[2J is at its limit of 3 MiB/s of writes on loop2 \
                    (blkio.throttle); it accounts for 12% of the bytes here, and nothing else waits";
        assert_eq!(cgroup_limit_text(&other), text);
        let texts = [
            "1 byte/s of writes",
            "500 bytes/s of writes",
            "1.95 KiB/s of writes",
            "512 KiB/s of writes",
        ];
        let found =
            [1.0, 500.0, 2000.0, 524_288.0].map(|bytes| limit_value(&written(bytes / 1024.0)));
        assert_eq!(found, texts);
    }
}
