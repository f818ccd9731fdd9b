//! Caps that clouds are known to set, to name a plateau that lies on one.

use super::load::RateUnit;

/// A cap in requests and in MiB a second, and what a volume with one of them can do at most in the other.
struct Cap {
    name: &'static str,
    iops: f64,
    mib_per_s: f64,
    most_iops: f64,
    most_mib_per_s: f64,
}

impl Cap {
    /// Both are fixed.
    const fn fixed(name: &'static str, iops: f64, mib_per_s: f64) -> Self {
        Self { name, iops, mib_per_s, most_iops: iops, most_mib_per_s: mib_per_s }
    }
}

/// AWS: "Amazon EBS volume types"; Azure: "Scalability and performance targets for VM disks", premium SSD, whose
/// MB are 2^20 bytes.
const KNOWN: &[Cap] = &[
    // Either may be bought up by itself.
    Cap {
        name: "AWS gp3 (base)",
        iops: 3000.0,
        mib_per_s: 125.0,
        most_iops: 16000.0,
        most_mib_per_s: 1000.0,
    },
    Cap::fixed("AWS gp3 or gp2 (most)", 16000.0, 1000.0),
    Cap {
        name: "AWS gp2 (least)",
        iops: 100.0,
        mib_per_s: f64::NAN,
        most_iops: 100.0,
        most_mib_per_s: 128.0,
    },
    Cap::fixed("Azure Premium SSD P4", 120.0, 25.0),
    Cap::fixed("Azure Premium SSD P6", 240.0, 50.0),
    Cap::fixed("Azure Premium SSD P10", 500.0, 100.0),
    Cap::fixed("Azure Premium SSD P15", 1100.0, 125.0),
    Cap::fixed("Azure Premium SSD P20", 2300.0, 150.0),
    Cap::fixed("Azure Premium SSD P30", 5000.0, 200.0),
    Cap::fixed("Azure Premium SSD P40 and P50", 7500.0, 250.0),
    Cap::fixed("Azure Premium SSD P60", 16000.0, 500.0),
    Cap::fixed("Azure Premium SSD P70", 18000.0, 750.0),
    Cap::fixed("Azure Premium SSD P80", 20000.0, 900.0),
];

/// A plateau within this share of a known cap lies on it.
const ON_IT: f64 = 0.01;

/// The known caps that a plateau in requests or in bytes lies on, "or" between them; `None` when it lies on none. A
/// number can lie there by chance: it is a hint, no proof of the cloud.
pub(super) fn known_cap(measure: RateUnit, iops: f64, mib_per_s: f64) -> Option<String> {
    let names: Vec<&str> = near(measure, iops, mib_per_s, ON_IT).map(|cap| cap.name).collect();
    (!names.is_empty()).then(|| names.join(" or "))
}

/// Whether a plateau lies so exactly on a known cap that this is hardly chance.
pub(super) fn is_just_on_known_cap(measure: RateUnit, iops: f64, mib_per_s: f64) -> bool {
    const JUST: f64 = 0.002;
    near(measure, iops, mib_per_s, JUST).next().is_some()
}

/// The caps that it lies on, but for those of volumes that could not do as much in the other measure.
fn near(measure: RateUnit, iops: f64, mib_per_s: f64, within: f64) -> impl Iterator<Item = &'static Cap> {
    let on = move |seen: f64, cap: f64| (seen / cap - 1.0).abs() <= within;
    let can = |seen: f64, most: f64| seen <= (1.0 + 2.0 * ON_IT) * most;
    KNOWN.iter().filter(move |cap| match measure {
        RateUnit::Requests => on(iops, cap.iops) && can(mib_per_s, cap.most_mib_per_s),
        RateUnit::Kib => on(mib_per_s, cap.mib_per_s) && can(iops, cap.most_iops),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plateau_on_a_known_cap_is_named() {
        assert_eq!(known_cap(RateUnit::Requests, 3001.0, 11.7).as_deref(), Some("AWS gp3 (base)"));
        assert_eq!(known_cap(RateUnit::Kib, 3000.0, 750.5).as_deref(), Some("Azure Premium SSD P70"));
        assert_eq!(known_cap(RateUnit::Requests, 3100.0, 12.1), None);
    }

    #[test]
    fn a_volume_that_could_not_do_as_much_is_not_named() {
        // No volume of 125 MiB/s does 32,000 requests a second.
        assert_eq!(known_cap(RateUnit::Kib, 32_000.0, 125.0), None);
        assert_eq!(known_cap(RateUnit::Kib, 8000.0, 125.0).as_deref(), Some("AWS gp3 (base)"));
        assert_eq!(known_cap(RateUnit::Requests, 500.0, 400.0), None);
    }
}
