//! Caps that clouds are known to set, to name a plateau that lies on one.

/// A name, and the cap in requests and in MiB a second.
type Cap = (&'static str, f64, f64);

/// AWS: "Amazon EBS volume types"; Azure: "Scalability and performance targets for VM disks", premium SSD, whose
/// MB are 2^20 bytes.
const KNOWN: &[Cap] = &[
    ("AWS gp3 (base)", 3000.0, 125.0),
    ("AWS gp3 or gp2 (most)", 16000.0, 1000.0),
    ("AWS gp2 (least)", 100.0, f64::NAN),
    ("Azure Premium SSD P4", 120.0, 25.0),
    ("Azure Premium SSD P6", 240.0, 50.0),
    ("Azure Premium SSD P10", 500.0, 100.0),
    ("Azure Premium SSD P15", 1100.0, 125.0),
    ("Azure Premium SSD P20", 2300.0, 150.0),
    ("Azure Premium SSD P30", 5000.0, 200.0),
    ("Azure Premium SSD P40 and P50", 7500.0, 250.0),
    ("Azure Premium SSD P60", 16000.0, 500.0),
    ("Azure Premium SSD P70", 18000.0, 750.0),
    ("Azure Premium SSD P80", 20000.0, 900.0),
];

/// A plateau within this share of a known cap lies on it.
const ON_IT: f64 = 0.01;

/// The known caps that a plateau in requests (or in MiB) a second lies on, "or" between them; `None` when it lies
/// on none. A number can lie there by chance: it is a hint, no proof of the cloud.
pub fn known_cap(iops: Option<f64>, mib_per_s: Option<f64>) -> Option<String> {
    let names: Vec<&str> = near(iops, mib_per_s, ON_IT).map(|(name, ..)| *name).collect();
    (!names.is_empty()).then(|| names.join(" or "))
}

/// Whether a plateau lies so exactly on a known cap that this is hardly chance.
pub(super) fn is_just_on_known_cap(iops: Option<f64>, mib_per_s: Option<f64>) -> bool {
    const JUST: f64 = 0.002;
    near(iops, mib_per_s, JUST).next().is_some()
}

fn near(iops: Option<f64>, mib_per_s: Option<f64>, within: f64) -> impl Iterator<Item = &'static Cap> {
    let on = move |seen: Option<f64>, cap: f64| seen.is_some_and(|seen| (seen / cap - 1.0).abs() <= within);
    KNOWN.iter().filter(move |(_, by_iops, by_mib)| on(iops, *by_iops) || on(mib_per_s, *by_mib))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plateau_on_a_known_cap_is_named() {
        assert_eq!(known_cap(Some(3001.0), None).as_deref(), Some("AWS gp3 (base)"));
        assert_eq!(known_cap(None, Some(750.5)).as_deref(), Some("Azure Premium SSD P70"));
        assert_eq!(known_cap(Some(3100.0), None), None);
        assert_eq!(known_cap(None, None), None);
    }
}
