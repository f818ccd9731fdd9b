//! Limits of cgroups in words.

use crate::attribution::{LimitKind, ReachedLimit, cgroup_name};
use crate::counters::CgroupHierarchy;
use crate::report::layout::sentence_numbers::{number, percent};
use crate::sanitize::sanitize;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// A limit that a cgroup has reached, as a sentence without a period: `cgroup db.service is at its limit of 50 reads/s
/// on vda (io.max)`.
pub(crate) fn cgroup_limit_text(limit: &ReachedLimit) -> String {
    let value = limit_of_cgroup(limit.kind, limit.value);
    let file = match (limit.hierarchy, limit.kind) {
        (CgroupHierarchy::V2, _) => "io.max",
        (CgroupHierarchy::V1, LimitKind::ReadIops) => "blkio.throttle.read_iops_device",
        (CgroupHierarchy::V1, LimitKind::WriteIops) => "blkio.throttle.write_iops_device",
        (CgroupHierarchy::V1, LimitKind::ReadBytes) => "blkio.throttle.read_bps_device",
        (CgroupHierarchy::V1, LimitKind::WriteBytes) => "blkio.throttle.write_bps_device",
    };
    let share = match limit.share_pct {
        Some(share) if !limit.holds_device => {
            format!("; it accounts for {} of the bytes here", percent(share))
        }
        _ => String::new(),
    };
    format!(
        "cgroup {} is at its limit of {} on {} ({file}){share}",
        sanitize(&cgroup_name(&limit.cgroup)),
        value,
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
        0..KIB => format!("{value} bytes/s"),
        KIB..MIB => format!("{} KiB/s", in_units(KIB)),
        _ => format!("{} MiB/s", in_units(MIB)),
    }
}

/// Returns a number that a person chose, without decimals if it is whole.
fn exact(value: f64) -> String {
    if value < 100.0 && value.fract() == 0.0 { value.to_string() } else { number(value) }
}

#[cfg(test)]
mod tests {
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
                    (blkio.throttle.write_bps_device); it accounts for 12% of the bytes here";
        assert_eq!(cgroup_limit_text(&other), text);
        let of = |value| limit_of_cgroup(LimitKind::WriteBytes, value);
        let texts = ["500 bytes/s of writes", "1.95 KiB/s of writes", "512 KiB/s of writes"];
        assert_eq!([500, 2000, 512 << 10].map(of), texts);
    }
}
