//! Fixed limits of cloud volumes, which follow from the kind and size of a volume and cannot be adjusted.

use super::settings::KnownDevice;
use super::thresholds::CAP_STEP;
use crate::attribution::RateUnit;
use crate::topology::Provider;

const BYTES_PER_GIB: u64 = 1 << 30;
/// How near a rate must be to a known limit.
const LIMIT_TOLERANCE: f64 = 0.01;
/// The size in GiB from which a gp2 volume does not burst, because its own rate is as high.
const GP2_UNBURST_GIB: u64 = 1000;

/// A kind of cloud volume with fixed limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CloudVolume {
    /// AWS gp3 with the rates included in its price: 3,000 requests and 125 MiB per second at any size.
    Gp3Base,
    /// AWS gp2, whose rate grows with its size.
    Gp2 { gib: u64 },
    /// AWS gp2 that spends burst credits.
    Gp2Burst,
    /// A tier of Azure Premium SSD, such as `P30`.
    PremiumSsd(&'static str),
}

impl CloudVolume {
    pub fn provider(self) -> Provider {
        match self {
            Self::Gp3Base | Self::Gp2 { .. } | Self::Gp2Burst => Provider::Aws,
            Self::PremiumSsd(_) => Provider::Azure,
        }
    }
}

/// A limit of a cloud volume that a rate is at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CloudLimit {
    /// The volume that has this limit.
    pub volume: CloudVolume,
    /// The device is known to be a volume of that provider. If not, the limit is only a possible explanation.
    pub is_provider_known: bool,
}

/// The limits of a volume in each unit, and the most that it can do in the other unit.
#[derive(Clone, Copy, Debug)]
struct VolumeLimits {
    volume: CloudVolume,
    /// `None` if that limit is none of this volume.
    iops: Option<f64>,
    mib_per_s: Option<f64>,
    max_iops: f64,
    max_mib_per_s: f64,
}

impl VolumeLimits {
    /// A volume whose two limits cannot be raised separately.
    const fn fixed(volume: CloudVolume, iops: f64, mib_per_s: f64) -> Self {
        Self {
            volume,
            iops: Some(iops),
            mib_per_s: Some(mib_per_s),
            max_iops: iops,
            max_mib_per_s: mib_per_s,
        }
    }

    /// Returns whether a rate lies near the limit in this unit, and the volume can do the
    /// rate in the other unit.
    fn matches(&self, unit: RateUnit, iops: f64, mib_per_s: f64) -> bool {
        let (seen, limit, other, max_other) = match unit {
            RateUnit::Requests => (iops, self.iops, mib_per_s, self.max_mib_per_s),
            RateUnit::Kib => (mib_per_s, self.mib_per_s, iops, self.max_iops),
        };
        limit.is_some_and(|limit| (seen / limit - 1.0).abs() <= LIMIT_TOLERANCE)
            && other <= (1.0 + CAP_STEP) * max_other
    }
}

/// Either rate can be raised without the other, up to the maximum. Source: "Amazon EBS General Purpose SSD volumes".
const GP3_BASE: VolumeLimits = VolumeLimits {
    volume: CloudVolume::Gp3Base,
    iops: Some(3000.0),
    mib_per_s: Some(125.0),
    max_iops: 80_000.0,
    max_mib_per_s: 2000.0,
};

/// The tiers of Azure Premium SSD: name, largest size in GiB, requests and MiB per second. Each holds the sizes above
/// those of the tier before. Source: "Scalability and performance targets for VM disks", whose MB are 2^20 bytes.
const PREMIUM_SSD_TIERS: [(&str, u64, f64, f64); 14] = [
    ("P1", 4, 120.0, 25.0),
    ("P2", 8, 120.0, 25.0),
    ("P3", 16, 120.0, 25.0),
    ("P4", 32, 120.0, 25.0),
    ("P6", 64, 240.0, 50.0),
    ("P10", 128, 500.0, 100.0),
    ("P15", 256, 1100.0, 125.0),
    ("P20", 512, 2300.0, 150.0),
    ("P30", 1024, 5000.0, 200.0),
    ("P40", 2048, 7500.0, 250.0),
    ("P50", 4096, 7500.0, 250.0),
    ("P60", 8192, 16000.0, 500.0),
    ("P70", 16384, 18000.0, 750.0),
    ("P80", 32767, 20000.0, 900.0),
];

/// The limits near a rate, except those of volumes that cannot do as much in the other unit.
/// A rate can match by chance: this is a hint at the volume, not proof.
pub(super) fn limits_near(
    device: &KnownDevice,
    unit: RateUnit,
    iops: f64,
    mib_per_s: f64,
) -> Vec<CloudLimit> {
    let mut near = Vec::new();
    for limits in possible_volumes(device) {
        if limits.matches(unit, iops, mib_per_s) {
            near.push(CloudLimit {
                volume: limits.volume,
                is_provider_known: device.provider.is_some(),
            });
        }
    }
    near
}

/// The volumes that a device may be.
fn possible_volumes(device: &KnownDevice) -> Vec<VolumeLimits> {
    let mut volumes = vec![GP3_BASE];
    if let Some(bytes) = device.size_bytes {
        let gib = bytes.div_ceil(BYTES_PER_GIB);
        volumes.push(gp2(gib));
        if gib < GP2_UNBURST_GIB {
            volumes.push(gp2_burst(gib));
        }
    }
    let mut below_gib = 0;
    for (name, max_gib, iops, mib_per_s) in PREMIUM_SSD_TIERS {
        let sizes = below_gib * BYTES_PER_GIB + 1..=max_gib * BYTES_PER_GIB;
        if device.size_bytes.is_none_or(|bytes| sizes.contains(&bytes)) {
            let volume = CloudVolume::PremiumSsd(name);
            volumes.push(VolumeLimits::fixed(volume, iops, mib_per_s));
        }
        below_gib = max_gib;
    }
    match (device.provider, device.size_bytes) {
        (Some(known), _) => volumes.retain(|limits| limits.volume.provider() == known),
        // The size of a volume of either provider is a whole number of GiB, unlike that of most disks.
        (None, Some(bytes)) if bytes == 0 || bytes % BYTES_PER_GIB > 0 => volumes.clear(),
        (None, _) => {}
    }
    volumes
}

/// 3 requests per second for each GiB, at least 100 and at most 16,000. Source: "Amazon EBS General Purpose SSD
/// volumes".
fn gp2(gib: u64) -> VolumeLimits {
    let iops = (3.0 * gib as f64).clamp(100.0, 16000.0);
    VolumeLimits::fixed(CloudVolume::Gp2 { gib }, iops, gp2_mib_per_s(gib))
}

fn gp2_burst(gib: u64) -> VolumeLimits {
    // A rate at the limit on bytes, which is that of the volume without a burst, shows no burst.
    VolumeLimits {
        mib_per_s: None,
        ..VolumeLimits::fixed(CloudVolume::Gp2Burst, 3000.0, gp2_mib_per_s(gib))
    }
}

/// 128 MiB per second up to 170 GiB, beyond that up to 250.
fn gp2_mib_per_s(gib: u64) -> f64 {
    if gib <= 170 { 128.0 } else { 250.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNKNOWN: KnownDevice = KnownDevice {
        size_bytes: None,
        provider: None,
        class: None,
    };

    fn device(gib: u64, provider: Option<Provider>) -> KnownDevice {
        KnownDevice {
            size_bytes: Some(gib * BYTES_PER_GIB),
            provider,
            ..KnownDevice::default()
        }
    }

    fn volumes(
        device: &KnownDevice,
        unit: RateUnit,
        iops: f64,
        mib_per_s: f64,
    ) -> Vec<CloudVolume> {
        limits_near(device, unit, iops, mib_per_s)
            .into_iter()
            .map(|limit| limit.volume)
            .collect()
    }

    fn by_requests(device: &KnownDevice, iops: f64) -> Vec<CloudVolume> {
        volumes(device, RateUnit::Requests, iops, iops / 256.0)
    }

    #[test]
    fn a_rate_at_a_fixed_limit_matches_it() {
        assert_eq!(by_requests(&UNKNOWN, 3001.0), [CloudVolume::Gp3Base]);
        assert_eq!(
            by_requests(&UNKNOWN, 5000.0),
            [CloudVolume::PremiumSsd("P30")]
        );
        assert_eq!(
            by_requests(&UNKNOWN, 7500.0),
            ["P40", "P50"].map(CloudVolume::PremiumSsd)
        );
        assert_eq!(
            by_requests(&UNKNOWN, 120.0),
            ["P1", "P2", "P3", "P4"].map(CloudVolume::PremiumSsd)
        );
        assert_eq!(
            volumes(&UNKNOWN, RateUnit::Kib, 3000.0, 750.5),
            [CloudVolume::PremiumSsd("P70")]
        );
        for adjustable in [100.0, 3100.0, 4000.0, 80_000.0] {
            assert_eq!(by_requests(&UNKNOWN, adjustable), [], "{adjustable}");
        }
    }

    #[test]
    fn a_volume_that_cannot_do_as_much_in_the_other_unit_does_not_match() {
        // No volume of 25 MiB/s does 32,000 requests per second.
        assert_eq!(volumes(&UNKNOWN, RateUnit::Kib, 32_000.0, 25.0), []);
        assert_eq!(
            volumes(&UNKNOWN, RateUnit::Kib, 8000.0, 125.0),
            [CloudVolume::Gp3Base]
        );
        assert_eq!(volumes(&UNKNOWN, RateUnit::Requests, 500.0, 400.0), []);
    }

    #[test]
    fn a_size_gives_the_limit_of_gp2_and_rules_out_other_tiers() {
        assert_eq!(
            by_requests(&device(200, None), 600.0),
            [CloudVolume::Gp2 { gib: 200 }]
        );
        assert_eq!(
            by_requests(&device(20, None), 100.0),
            [CloudVolume::Gp2 { gib: 20 }]
        );
        assert_eq!(
            by_requests(&device(200, None), 3000.0),
            [CloudVolume::Gp3Base, CloudVolume::Gp2Burst]
        );
        let large = device(6000, None);
        assert_eq!(
            by_requests(&large, 16_000.0),
            [
                CloudVolume::Gp2 { gib: 6000 },
                CloudVolume::PremiumSsd("P60")
            ]
        );
        assert_eq!(by_requests(&large, 3000.0), [CloudVolume::Gp3Base]);
        let p30 = [CloudVolume::PremiumSsd("P30")];
        for (gib, found) in [(512, &[][..]), (513, &p30), (1024, &p30), (1025, &[])] {
            assert_eq!(by_requests(&device(gib, None), 5000.0), found, "{gib}");
        }
        // A disk of 500 GB is not one of these volumes.
        let disk = KnownDevice {
            size_bytes: Some(500_107_862_016),
            provider: None,
            ..KnownDevice::default()
        };
        assert_eq!(by_requests(&disk, 3000.0), []);
    }

    #[test]
    fn only_a_known_provider_makes_a_limit_a_fact() {
        let aws = KnownDevice {
            provider: Some(Provider::Aws),
            ..UNKNOWN
        };
        let limits = |device| limits_near(device, RateUnit::Requests, 3000.0, 11.7);
        assert!(limits(&aws)[0].is_provider_known && !limits(&UNKNOWN)[0].is_provider_known);
        assert_eq!(by_requests(&aws, 5000.0), []);
        for other in [Provider::Google, Provider::Other, Provider::Azure] {
            assert_eq!(
                by_requests(
                    &KnownDevice {
                        provider: Some(other),
                        ..UNKNOWN
                    },
                    3000.0
                ),
                []
            );
        }
    }
}
