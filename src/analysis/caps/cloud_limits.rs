//! Limits of cloud volumes, to name a plateau that matches one.

use crate::analysis::load::RateUnit;
use crate::analysis::thresholds::{EXACT_LIMIT_TOLERANCE, LIMIT_TOLERANCE, OTHER_LIMIT_TOLERANCE};

/// A limit in requests and in MiB per second, and the most that a volume with one of them can do in the other unit.
struct CloudLimit {
    name: &'static str,
    iops: f64,
    mib_per_s: f64,
    max_iops: f64,
    max_mib_per_s: f64,
}

impl CloudLimit {
    /// A volume whose two limits come together.
    const fn fixed(name: &'static str, iops: f64, mib_per_s: f64) -> Self {
        Self { name, iops, mib_per_s, max_iops: iops, max_mib_per_s: mib_per_s }
    }
}

/// AWS: "Amazon EBS volume types"; Azure: "Scalability and performance targets for VM disks", premium SSD, whose
/// MB are 2^20 bytes.
const CLOUD_LIMITS: &[CloudLimit] = &[
    // Each of the two can be raised alone.
    CloudLimit {
        name: "AWS gp3 (base)",
        iops: 3000.0,
        mib_per_s: 125.0,
        max_iops: 16000.0,
        max_mib_per_s: 1000.0,
    },
    CloudLimit::fixed("AWS gp3 or gp2 (maximum)", 16000.0, 1000.0),
    CloudLimit {
        name: "AWS gp2 (minimum)",
        iops: 100.0,
        mib_per_s: f64::NAN,
        max_iops: 100.0,
        max_mib_per_s: 128.0,
    },
    CloudLimit::fixed("Azure Premium SSD P4", 120.0, 25.0),
    CloudLimit::fixed("Azure Premium SSD P6", 240.0, 50.0),
    CloudLimit::fixed("Azure Premium SSD P10", 500.0, 100.0),
    CloudLimit::fixed("Azure Premium SSD P15", 1100.0, 125.0),
    CloudLimit::fixed("Azure Premium SSD P20", 2300.0, 150.0),
    CloudLimit::fixed("Azure Premium SSD P30", 5000.0, 200.0),
    CloudLimit::fixed("Azure Premium SSD P40 and P50", 7500.0, 250.0),
    CloudLimit::fixed("Azure Premium SSD P60", 16000.0, 500.0),
    CloudLimit::fixed("Azure Premium SSD P70", 18000.0, 750.0),
    CloudLimit::fixed("Azure Premium SSD P80", 20000.0, 900.0),
];

/// The names of the limits that a plateau matches; empty where it matches none. A rate can match by chance: this is a
/// hint at the cloud, not a proof of it.
pub(super) fn matching_limits(unit: RateUnit, iops: f64, mib_per_s: f64) -> Vec<&'static str> {
    limits_within(LIMIT_TOLERANCE, unit, iops, mib_per_s).map(|limit| limit.name).collect()
}

/// Returns whether a plateau matches a limit so exactly that this is hardly chance.
pub(super) fn matches_limit_exactly(unit: RateUnit, iops: f64, mib_per_s: f64) -> bool {
    limits_within(EXACT_LIMIT_TOLERANCE, unit, iops, mib_per_s).next().is_some()
}

/// The limits within a relative tolerance, except those of volumes that cannot do as much in the other unit.
fn limits_within(
    tolerance: f64,
    unit: RateUnit,
    iops: f64,
    mib_per_s: f64,
) -> impl Iterator<Item = &'static CloudLimit> {
    let is_near = move |seen: f64, limit: f64| (seen / limit - 1.0).abs() <= tolerance;
    let is_possible = |seen: f64, max: f64| seen <= (1.0 + OTHER_LIMIT_TOLERANCE) * max;
    CLOUD_LIMITS.iter().filter(move |limit| match unit {
        RateUnit::Requests => is_near(iops, limit.iops) && is_possible(mib_per_s, limit.max_mib_per_s),
        RateUnit::Kib => is_near(mib_per_s, limit.mib_per_s) && is_possible(iops, limit.max_iops),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plateau_at_a_known_limit_matches_it() {
        assert_eq!(matching_limits(RateUnit::Requests, 3001.0, 11.7), ["AWS gp3 (base)"]);
        assert_eq!(matching_limits(RateUnit::Kib, 3000.0, 750.5), ["Azure Premium SSD P70"]);
        assert!(matching_limits(RateUnit::Requests, 3100.0, 12.1).is_empty());
    }

    #[test]
    fn a_volume_that_cannot_do_as_much_in_the_other_unit_does_not_match() {
        // No volume of 125 MiB/s does 32,000 requests per second.
        assert!(matching_limits(RateUnit::Kib, 32_000.0, 125.0).is_empty());
        assert_eq!(matching_limits(RateUnit::Kib, 8000.0, 125.0), ["AWS gp3 (base)"]);
        assert!(matching_limits(RateUnit::Requests, 500.0, 400.0).is_empty());
    }
}
