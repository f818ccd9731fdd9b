//! The cgroups that use each device, joined to its interval, and the verdict that follows from their limits.

use std::collections::HashSet;
use std::sync::Arc;

use super::device_interval::{DeviceInterval, DeviceState, TopCgroup};
use crate::analysis::{Evidence, Verdict};
use crate::attribution::{Attribution, ReachedLimit};
use crate::metrics::Interval;
use crate::topology::Topology;

/// Joins to each device the cgroup with most of its bytes and the limit that a cgroup has reached. Partitions have
/// neither: the kernel counts the I/O of cgroups on whole disks. The limit that has held a device back in an incident,
/// which `limit_of` returns, does so while the device is in trouble or the cgroup stays near the limit.
pub(super) fn note_usage<'a>(
    devices: &mut [DeviceInterval],
    attribution: Option<&Attribution>,
    topology: &Topology,
    limit_of: impl Fn(&str) -> Option<&'a ReachedLimit>,
) {
    let has_stalled = devices
        .iter()
        .filter_map(DeviceInterval::stats)
        .any(Interval::is_stalled);
    // The devices with requests in flight, if another one stalls. One that is not among these rows has been idle.
    let busy: HashSet<String> = (devices.iter())
        .filter(|device| {
            has_stalled
                && device
                    .stats()
                    .is_some_and(|stats| stats.in_flight != Some(0))
        })
        .map(|device| device.names.device.clone())
        .collect();
    for device in devices
        .iter_mut()
        .filter(|device| topology.is_whole(device.device()))
    {
        let name = &device.names.device;
        let DeviceState::Active(activity) = &mut device.state else {
            continue;
        };
        let top = attribution
            .and_then(|attribution| attribution.device(name))
            .and_then(|usage| usage.top_cgroup());
        activity.top_cgroup = top.and_then(|top| {
            Some(TopCgroup {
                path: Arc::clone(&top.path),
                share_pct: top.share_pct?,
                is_at_least: false,
            })
        });
        let below = attribution.map_or_else(Vec::new, |_| topology.devices_below(name));
        let is_in_trouble = activity.assessment.verdict > Some(Verdict::Queueing);
        let still_holds = |limit: &&ReachedLimit| match attribution {
            Some(attribution) => attribution.still_holds(limit, is_in_trouble),
            // A scan may come late.
            None => is_in_trouble,
        };
        let held = limit_of(name).filter(still_holds);
        let is_held = activity
            .assessment
            .evidence
            .iter()
            .any(|one| matches!(one, Evidence::HeldBetween { .. }));
        let reached =
            || attribution?.reached_limit(name, &below, activity.stats.is_idle(), is_held);
        let blocking = || {
            let below = below
                .iter()
                .filter(|name| activity.stats.is_stalled() && !busy.contains(*name));
            attribution?.blocking_limit(below)
        };
        activity.limit = held.cloned().or_else(reached).or_else(blocking);
        if let Some(limit) = &activity.limit
            && activity.assessment.note_limit(limit)
        {
            activity.verdict_s = Some(activity.stats.seconds());
            activity.evidence_at = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Assessment;
    use crate::attribution::{CgroupUse, DeviceUse, IoRates, LimitKind, LimitUse};
    use crate::counters::CgroupHierarchy;
    use crate::intervals::DeviceActivity;
    use crate::topology::{Kind, Node};

    fn node(name: &str, kind: Kind, below: &[&str]) -> Node {
        let backing_devices = below.iter().map(|name| (*name).to_owned()).collect();
        Node {
            name: name.into(),
            kind,
            backing_devices,
            ..Node::default()
        }
    }

    fn topology() -> Topology {
        Topology::new(vec![
            node("sda", Kind::Disk, &[]),
            node("sda1", Kind::Partition, &["sda"]),
            node("dm-0", Kind::Lvm, &["sda1"]),
        ])
    }

    fn device(name: &str, verdict: Option<Verdict>) -> DeviceInterval {
        let stats = Interval::unknown(1.0);
        let assessment = Assessment {
            verdict,
            evidence: vec![Evidence::NoLatency],
            ..Assessment::default()
        };
        let activity = DeviceActivity {
            stats,
            assessment,
            ..DeviceActivity::default()
        };
        DeviceInterval::without_alias(name, DeviceState::Active(Box::new(activity)))
    }

    /// The use of dm-0 on sda by a cgroup that has reached a limit on sda and has this share of the bytes.
    fn attribution(share: f64) -> Attribution {
        let rates = |bytes| IoRates {
            read_bytes_per_s: bytes,
            ..IoRates::default()
        };
        let limit = LimitUse {
            kind: LimitKind::ReadIops,
            value: 50,
            rate: 50.0,
            is_reached: true,
            is_near: true,
        };
        let usage = |name: &str, limits: Vec<LimitUse>| DeviceUse {
            name: name.into(),
            total: rates(1000.0),
            cgroups: vec![CgroupUse {
                path: "/db".into(),
                rates: rates(1000.0 * share),
                share_pct: Some(100.0 * share),
                limits,
            }],
            ..DeviceUse::default()
        };
        Attribution {
            hierarchy: Some(CgroupHierarchy::V2),
            devices: vec![usage("sda", vec![limit]), usage("dm-0", Vec::new())],
            ..Attribution::default()
        }
    }

    fn verdicts(share: f64, before: Option<Verdict>) -> Vec<(Option<Verdict>, usize)> {
        let mut devices = ["sda", "sda1", "dm-0"].map(|name| device(name, before));
        note_usage(&mut devices, Some(&attribution(share)), &topology(), |_| {
            None
        });
        let found = devices
            .iter()
            .map(|device| &device.activity().unwrap().assessment);
        found
            .map(|assessment| (assessment.verdict, assessment.evidence.len()))
            .collect()
    }

    #[test]
    fn a_limit_is_the_verdict_on_its_device_and_those_above() {
        let (ok, throttled) = (Some(Verdict::Ok), Some(Verdict::Throttled));
        assert_eq!(verdicts(0.9, ok), [(throttled, 2), (ok, 1), (throttled, 2)]);
        assert_eq!(verdicts(0.9, None)[0].0, throttled);
        assert_eq!(verdicts(0.9, Some(Verdict::Capped))[0].0, throttled);
    }

    #[test]
    fn otherwise_it_is_evidence_only() {
        let ok = Some(Verdict::Ok);
        assert_eq!(verdicts(0.2, ok), [(ok, 2), (ok, 1), (ok, 2)]);
        let stalled = Some(Verdict::Stalled);
        assert_eq!(
            verdicts(0.9, stalled),
            [(stalled, 2), (stalled, 1), (stalled, 2)]
        );
    }

    #[test]
    fn the_cgroup_with_most_bytes_is_named() {
        let mut devices = [device("sda", None), device("sda1", None)];
        note_usage(&mut devices, Some(&attribution(0.25)), &topology(), |_| {
            None
        });
        let top = devices
            .each_ref()
            .map(|device| device.activity().unwrap().top_cgroup.clone());
        assert_eq!(
            top,
            [
                Some(TopCgroup {
                    path: "/db".into(),
                    share_pct: 25.0,
                    is_at_least: false
                }),
                None
            ]
        );
    }

    #[test]
    fn devices_in_a_circle_are_walked_once() {
        let topology = Topology::new(vec![
            node("a", Kind::Dm, &["b", "c"]),
            node("b", Kind::Dm, &["a", "b"]),
        ]);
        assert_eq!(topology.devices_below("a"), ["b", "c"]);
    }
}
