//! Limits in words: plateaus, limits of clouds, which are facts if the provider of the volume is known, and limits of
//! cgroups.

use crate::attribution::{Limit, LimitSource, ReachedLimit, cgroup_name};
use crate::counters::CgroupHierarchy;
use crate::judge::{CloudLimit, CloudVolume, IoDirection, Plateau, RateUnit};
use crate::report::layout::sentence_numbers::{counted, number, per_second, percent, queue, time};
use crate::sanitize::sanitize;
use crate::topology::Provider;

const STATED_CAP: &str = "the stated cap";

/// The name of the limit that a plateau matches, as in machine formats: `AWS gp3 (base)`; `None` without one.
pub(crate) fn limit_name(plateau: &Plateau) -> Option<String> {
    if plateau.source == LimitSource::Given {
        return Some(STATED_CAP.to_owned());
    }
    (!plateau.cloud.is_empty()).then(|| cloud_limits_name(&plateau.cloud))
}

fn cloud_limits_name(limits: &[CloudLimit]) -> String {
    let mut names = Vec::new();
    for limits in by_provider(limits) {
        let volumes: Vec<String> = volume_names(limits).map(|[short, _]| short).collect();
        names.push(format!(
            "{} {}",
            provider_name(limits),
            volumes.join(" or ")
        ));
    }
    names.join(" or ")
}

/// The limits of volumes of each provider, which follow each other.
fn by_provider(limits: &[CloudLimit]) -> impl Iterator<Item = &[CloudLimit]> {
    limits.chunk_by(|a, b| a.volume.provider() == b.volume.provider())
}

fn provider_name(limits: &[CloudLimit]) -> &'static str {
    match limits[0].volume.provider() {
        Provider::Aws => "AWS",
        _ => "Azure",
    }
}

/// Limits as text that follows the rate: `the limit of an AWS gp3 volume without more provisioned`, or `if this is AWS, the
/// limit of a gp3 volume with default settings`.
fn cloud_limits_text(limits: &[CloudLimit]) -> String {
    let mut text = String::new();
    for limits in by_provider(limits) {
        let mut volumes: Vec<String> = volume_names(limits).map(|[_, long]| long).collect();
        // The first has its article before it.
        for volume in volumes.iter_mut().skip(1).filter(|name| name.contains(' ')) {
            volume.insert_str(0, "a ");
        }
        let (name, volumes) = (provider_name(limits), volumes.join(" or "));
        text += &match (limits[0].is_provider_known, &*text) {
            (true, _) => format!("the limit of an {name} {volumes}"),
            (false, "") => format!("if this is {name}, the limit of a {volumes}"),
            (false, _) => format!("; if it is {name}, the limit of a {volumes}"),
        };
    }
    text
}

/// The names of the volumes of one provider in machine formats and in sentences: `Premium SSD P40`, `P50`, further tiers
/// without the kind of volume.
fn volume_names(limits: &[CloudLimit]) -> impl Iterator<Item = [String; 2]> {
    limits
        .iter()
        .enumerate()
        .map(|(index, limit)| match limit.volume {
            CloudVolume::Gp3Base => {
                ["gp3 (base)", "gp3 volume with default settings"].map(str::to_owned)
            }
            CloudVolume::Gp2 { gib } => [
                format!("gp2 ({gib} GiB)"),
                format!("gp2 volume of {} GiB", number(gib as f64)),
            ],
            CloudVolume::Gp2Burst => {
                ["gp2 (burst)", "gp2 volume with burst credits"].map(str::to_owned)
            }
            CloudVolume::PremiumSsd(tier) if index > 0 => [tier; 2].map(str::to_owned),
            CloudVolume::PremiumSsd(tier) => [tier; 2].map(|tier| format!("Premium SSD {tier}")),
        })
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

/// The limit that a plateau matches, in parentheses; empty without one.
pub(crate) fn limit_suffix(plateau: &Plateau) -> String {
    if plateau.source == LimitSource::Given {
        return format!(" ({STATED_CAP})");
    }
    if plateau.cloud.is_empty() {
        return String::new();
    }
    format!(" ({})", cloud_limits_text(&plateau.cloud))
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
mod limits_tests {
    use super::*;

    fn limits(volumes: &[CloudVolume], is_provider_known: bool) -> Vec<CloudLimit> {
        volumes
            .iter()
            .map(|volume| CloudLimit {
                volume: *volume,
                is_provider_known,
            })
            .collect()
    }

    #[test]
    fn a_limit_is_a_fact_only_where_the_provider_is_known() {
        let gp3 = |is_known| limits(&[CloudVolume::Gp3Base], is_known);
        assert_eq!(
            cloud_limits_text(&gp3(true)),
            "the limit of an AWS gp3 volume with default settings"
        );
        assert_eq!(
            cloud_limits_text(&gp3(false)),
            "if this is AWS, the limit of a gp3 volume with default settings"
        );
        assert_eq!(
            [gp3(true), gp3(false)].map(|one| cloud_limits_name(&one)),
            ["AWS gp3 (base)"; 2]
        );
    }

    #[test]
    fn several_volumes_are_named_by_provider() {
        let tiers = ["P40", "P50"].map(CloudVolume::PremiumSsd);
        let tiers = limits(&tiers, true);
        assert_eq!(
            cloud_limits_text(&tiers),
            "the limit of an Azure Premium SSD P40 or P50"
        );
        assert_eq!(cloud_limits_name(&tiers), "Azure Premium SSD P40 or P50");
        let both = [CloudVolume::Gp3Base, CloudVolume::PremiumSsd("P15")];
        let both = limits(&both, false);
        assert_eq!(
            cloud_limits_name(&both),
            "AWS gp3 (base) or Azure Premium SSD P15"
        );
        assert_eq!(
            cloud_limits_text(&both),
            "if this is AWS, the limit of a gp3 volume with default settings; if it is Azure, the limit of a Premium SSD P15"
        );
        let burst = limits(&[CloudVolume::Gp3Base, CloudVolume::Gp2Burst], true);
        assert_eq!(
            cloud_limits_text(&burst),
            "the limit of an AWS gp3 volume with default settings or a gp2 volume with burst credits"
        );
        let gp2 = limits(&[CloudVolume::Gp2 { gib: 1000 }], true);
        assert_eq!(
            cloud_limits_text(&gp2),
            "the limit of an AWS gp2 volume of 1,000 GiB"
        );
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
