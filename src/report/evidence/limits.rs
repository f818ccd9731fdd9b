//! Limits in words: plateaus, limits of clouds, which are facts if the provider of the volume is known, and limits of cgroups.

use crate::analysis::{CloudLimit, CloudVolume, IoDirection, LimitMatch, Plateau, RateUnit};
use crate::attribution::{LimitKind, ReachedLimit, cgroup_name};
use crate::counters::CgroupHierarchy;
use crate::report::layout::sentence_numbers::{counted, number, per_second, percent, queue, time};
use crate::sanitize::sanitize;
use crate::topology::Provider;

/// The limit that a rate matches, as text that follows the rate: `the limit of an AWS gp3 volume without more
/// provisioned`, or `if this is AWS, the limit of a gp3 volume with default settings`.
fn limit_text(limit: &LimitMatch) -> String {
    match limit {
        LimitMatch::Stated => "the stated cap".to_owned(),
        LimitMatch::Cloud(limits) => cloud_limits_text(limits),
    }
}

/// The name of the limit that a rate matches, as in machine formats: `AWS gp3 (base)`.
pub(crate) fn limit_name(limit: &LimitMatch) -> String {
    match limit {
        LimitMatch::Stated => "the stated cap".to_owned(),
        LimitMatch::Cloud(limits) => {
            let names = |(provider, name)| {
                let names = volume_texts(&limits_of(limits, provider), |[short, _]| short);
                (!names.is_empty()).then(|| format!("{name} {}", names.join(" or ")))
            };
            PROVIDERS.into_iter().filter_map(names).collect::<Vec<_>>().join(" or ")
        }
    }
}

/// The unit in which people are told a rate.
pub(super) fn unit_name(unit: RateUnit) -> &'static str {
    match unit {
        RateUnit::Requests => "requests/s",
        RateUnit::Kib => "MiB/s",
    }
}

/// The providers whose volumes have fixed limits.
const PROVIDERS: [(Provider, &str); 2] = [(Provider::Aws, "AWS"), (Provider::Azure, "Azure")];

fn limits_of(limits: &[CloudLimit], provider: Provider) -> Vec<CloudLimit> {
    limits.iter().copied().filter(|limit| limit.volume.provider() == provider).collect()
}

fn cloud_limits_text(limits: &[CloudLimit]) -> String {
    let mut text = String::new();
    for (provider, name) in PROVIDERS {
        let of_provider = limits_of(limits, provider);
        let Some(first) = of_provider.first() else { continue };
        let mut volumes = volume_texts(&of_provider, |[_, long]| long);
        // The first has its article before it.
        let others = volumes.iter_mut().skip(1).filter(|text| text.contains(' '));
        others.for_each(|text| text.insert_str(0, "a "));
        let volumes = volumes.join(" or ");
        if first.is_provider_known {
            text += &format!("the limit of an {name} {volumes}");
        } else {
            let condition = if text.is_empty() { "if this is" } else { "; if it is" };
            text += &format!("{condition} {name}, the limit of a {volumes}");
        }
    }
    text
}

/// The volumes of one provider, by their names in machine formats or in sentences: `Premium SSD P40`, `P50`, further
/// tiers without the kind of volume.
fn volume_texts(limits: &[CloudLimit], choose: fn([String; 2]) -> String) -> Vec<String> {
    let texts = |(index, limit): (usize, &CloudLimit)| match limit.volume {
        CloudVolume::Gp3Base => ["gp3 (base)", "gp3 volume with default settings"].map(str::to_owned),
        CloudVolume::Gp2 { gib } => {
            [format!("gp2 ({gib} GiB)"), format!("gp2 volume of {} GiB", number(gib as f64))]
        }
        CloudVolume::Gp2Burst => ["gp2 (burst)", "gp2 volume with burst credits"].map(str::to_owned),
        CloudVolume::PremiumSsd(tier) if index > 0 => [tier.to_string(), tier.to_string()],
        CloudVolume::PremiumSsd(tier) => [format!("Premium SSD {tier}"), format!("Premium SSD {tier}")],
    };
    limits.iter().enumerate().map(texts).map(choose).collect()
}

/// The growth of queue or latency on a plateau, as a factor, below which it is not mentioned.
const MIN_MENTIONED_GROWTH_RATIO: f64 = 1.5;

/// The rate of a plateau: `3,000 reads/s`; with the bytes if the limit may be on bytes.
pub(crate) fn plateau_rate(plateau: &Plateau) -> String {
    let requests = || per_second(plateau.iops, plateau.direction.noun());
    let bytes = || format!("{} MiB/s", number(plateau.mib_per_s));
    match plateau.unit {
        RateUnit::Requests if plateau.has_large_requests() => format!("{} or {}", requests(), bytes()),
        RateUnit::Requests => requests(),
        RateUnit::Kib if plateau.direction == IoDirection::Both => bytes(),
        RateUnit::Kib => format!("{} of {}", bytes(), plateau.direction.noun()),
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
        format!("rose from {} to {}", time(plateau.await_from_ms), time(plateau.await_to_ms))
    } else {
        time(plateau.await_to_ms)
    };
    format!("rate stayed constant ({}) {queues}; latency {latency}", variation_text(plateau.variation))
}

/// The variation of a rate: `±0.3%`, never below 0.1%.
pub(super) fn variation_text(variation: f64) -> String {
    format!("±{:.1}%", (variation * 100.0).max(0.1))
}

/// The caveat of a plateau; empty if it is certain.
pub(super) fn plateau_caveat(plateau: &Plateau) -> &'static str {
    let is_known = |limit: &CloudLimit| limit.is_provider_known;
    match &plateau.matches_limit {
        _ if plateau.is_certain => "",
        Some(LimitMatch::Cloud(limits)) if limits.iter().any(is_known) => {
            "; it matches a known limit, but fully busy servers can be as steady"
        }
        _ => "; fully busy servers can be as steady",
    }
}

/// The limit that a plateau matches, in parentheses; empty without one.
pub(crate) fn limit_suffix(plateau: &Plateau) -> String {
    plateau.matches_limit.as_ref().map(|limit| format!(" ({})", limit_text(limit))).unwrap_or_default()
}

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// A limit that a cgroup has reached, with the share of the bytes if the cgroup is not alone: `cgroup db.service is at its
/// limit of 50 reads/s on vda (io.max)`.
pub(super) fn cgroup_limit_text(limit: &ReachedLimit) -> String {
    let share = limit.share_pct.filter(|_| !limit.holds_device);
    let share = share.map(|share| format!("; it accounts for {} of the bytes here", percent(share)));
    format!("cgroup {}{}", at_limit_text(limit), share.unwrap_or_default())
}

/// A limit that a cgroup has reached, as a short sentence without a period.
pub(super) fn at_limit_text(limit: &ReachedLimit) -> String {
    let file = match limit.hierarchy {
        CgroupHierarchy::V2 => "io.max",
        CgroupHierarchy::V1 => "blkio.throttle",
    };
    format!(
        "{} is at its limit of {} on {} ({file})",
        sanitize(&cgroup_name(&limit.cgroup)),
        limit_of_cgroup(limit.kind, limit.value),
        sanitize(&limit.limited_device)
    )
}

/// The value of a limit: `50 reads/s`, `10 MiB/s of writes`, `512 KiB/s of reads`.
pub(crate) fn limit_of_cgroup(kind: LimitKind, value: u64) -> String {
    match kind {
        LimitKind::ReadIops => format!("{} reads/s", exact(value as f64)),
        LimitKind::WriteIops => format!("{} writes/s", exact(value as f64)),
        LimitKind::ReadBytes => format!("{} of reads", bytes_per_s(value)),
        LimitKind::WriteBytes => format!("{} of writes", bytes_per_s(value)),
    }
}

fn bytes_per_s(value: u64) -> String {
    let in_units = |unit: u64| exact(value as f64 / unit as f64);
    match value {
        0..KIB => format!("{}/s", counted(value, "byte")),
        KIB..MIB => format!("{} KiB/s", in_units(KIB)),
        _ => format!("{} MiB/s", in_units(MIB)),
    }
}

/// Returns a number that a person chose, without decimals if it is whole.
fn exact(value: f64) -> String {
    if value < 100.0 && value.fract() == 0.0 { value.to_string() } else { number(value) }
}

#[cfg(test)]
mod limits_tests {
    use super::*;

    fn limits(volumes: &[CloudVolume], is_provider_known: bool) -> Vec<CloudLimit> {
        volumes.iter().map(|volume| CloudLimit { volume: *volume, is_provider_known }).collect()
    }

    #[test]
    fn a_limit_is_a_fact_only_where_the_provider_is_known() {
        let gp3 = |is_known| LimitMatch::Cloud(limits(&[CloudVolume::Gp3Base], is_known));
        assert_eq!(limit_text(&gp3(true)), "the limit of an AWS gp3 volume with default settings");
        assert_eq!(
            limit_text(&gp3(false)),
            "if this is AWS, the limit of a gp3 volume with default settings"
        );
        assert_eq!([gp3(true), gp3(false)].map(|one| limit_name(&one)), ["AWS gp3 (base)"; 2]);
    }

    #[test]
    fn several_volumes_are_named_by_provider() {
        let tiers = ["P40", "P50"].map(CloudVolume::PremiumSsd);
        let tiers = LimitMatch::Cloud(limits(&tiers, true));
        assert_eq!(limit_text(&tiers), "the limit of an Azure Premium SSD P40 or P50");
        assert_eq!(limit_name(&tiers), "Azure Premium SSD P40 or P50");
        let both = [CloudVolume::Gp3Base, CloudVolume::PremiumSsd("P15")];
        let both = LimitMatch::Cloud(limits(&both, false));
        assert_eq!(limit_name(&both), "AWS gp3 (base) or Azure Premium SSD P15");
        assert_eq!(
            limit_text(&both),
            "if this is AWS, the limit of a gp3 volume with default settings; if it is Azure, the limit of a Premium SSD P15"
        );
        let burst = LimitMatch::Cloud(limits(&[CloudVolume::Gp3Base, CloudVolume::Gp2Burst], true));
        assert_eq!(
            limit_text(&burst),
            "the limit of an AWS gp3 volume with default settings or a gp2 volume with burst credits"
        );
        let gp2 = LimitMatch::Cloud(limits(&[CloudVolume::Gp2 { gib: 1000 }], true));
        assert_eq!(limit_text(&gp2), "the limit of an AWS gp2 volume of 1,000 GiB");
    }
}

#[cfg(test)]
mod cgroup_limit_tests {
    use super::*;

    #[test]
    fn the_cgroup_the_limit_and_the_file_are_named() {
        let limit = ReachedLimit {
            cgroup: "/system.slice/db.service".into(),
            limited_device: "loop2".into(),
            kind: LimitKind::ReadIops,
            value: 50,
            hierarchy: CgroupHierarchy::V2,
            share_pct: Some(97.0),
            holds_device: true,
        };
        let text = "cgroup db.service is at its limit of 50 reads/s on loop2 (io.max)";
        assert_eq!(cgroup_limit_text(&limit), text);
        let other = ReachedLimit {
            cgroup: "/evil\u{1b}[2J".into(),
            kind: LimitKind::WriteBytes,
            value: 3 << 20,
            hierarchy: CgroupHierarchy::V1,
            share_pct: Some(12.0),
            holds_device: false,
            ..limit
        };
        let text = "cgroup /evil\\u{1b}[2J is at its limit of 3 MiB/s of writes on loop2 \
                    (blkio.throttle); it accounts for 12% of the bytes here";
        assert_eq!(cgroup_limit_text(&other), text);
        let of = |value| limit_of_cgroup(LimitKind::WriteBytes, value);
        let texts =
            ["1 byte/s of writes", "500 bytes/s of writes", "1.95 KiB/s of writes", "512 KiB/s of writes"];
        assert_eq!([1, 500, 2000, 512 << 10].map(of), texts);
    }
}
