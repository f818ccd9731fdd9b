//! Evidence from stacked devices in the same interval.

use std::sync::Arc;

use super::device_interval::{DeviceInterval, DeviceState};
use crate::analysis::{Assessment, Evidence, Verdict, held_between, is_idle_below};
use crate::metrics::Interval;
use crate::topology::{Kind, Node, Topology};

/// Adds the evidence to each stacked device that its requests were held between it and the devices below. If that shows
/// saturation and the device has no verdict of its own or a milder one, the verdict becomes `saturated`.
pub(super) fn note_held_between(devices: &mut [DeviceInterval], topology: &Topology) {
    // Looking up each device would take far longer.
    if !topology.nodes().iter().any(is_stacked) {
        return;
    }
    let found: Vec<(usize, Evidence)> = devices
        .iter()
        .enumerate()
        .filter_map(|(index, device)| Some((index, evidence(device, devices, topology)?)))
        .collect();
    for (index, evidence) in found {
        clear_devices_below(devices, index, topology);
        if let DeviceState::Active(activity) = &mut devices[index].state {
            if is_saturated(&activity.assessment, &evidence) {
                activity.assessment.set_verdict(Verdict::Saturated);
                activity.verdict_s = Some(activity.stats.seconds());
            }
            activity.assessment.evidence.push(evidence);
        }
    }
}

/// Makes the devices below one that holds requests `ok` if only a limit of their own would contradict that: they are
/// idle for at least half of the time while requests wait above them.
fn clear_devices_below(devices: &mut [DeviceInterval], above: usize, topology: &Topology) {
    let DeviceInterval {
        names,
        state: DeviceState::Active(activity),
    } = &devices[above]
    else {
        return;
    };
    let (names, stats_above) = (Arc::clone(names), activity.stats);
    let backing = topology.backing_devices(&names.device);
    let disks = backing.iter().filter_map(|lower| topology.disk_of(lower));
    let below: Vec<&str> = backing.iter().map(String::as_str).chain(disks).collect();
    for device in devices
        .iter_mut()
        .filter(|device| below.contains(&device.device()))
    {
        let DeviceState::Active(activity) = &mut device.state else {
            continue;
        };
        if is_idle_below(&stats_above, &activity.stats) && activity.assessment.is_ok_below_limit() {
            activity.verdict_s = Some(activity.stats.seconds());
            activity.assessment.clear_below_limit(&names.device);
        }
    }
}

/// Returns whether this evidence alone shows that the device is saturated. It does not if requests may hang, which is
/// worse.
fn is_saturated(assessment: &Assessment, evidence: &Evidence) -> bool {
    let may_hang = assessment
        .evidence
        .iter()
        .any(|one| matches!(one, Evidence::Hung { .. }));
    let Evidence::HeldBetween { latencies, .. } = evidence else {
        return false;
    };
    let is_milder = matches!(assessment.verdict, None | Some(Verdict::Queueing));
    is_milder && !may_hang && latencies.shows_saturation()
}

fn is_stacked(node: &Node) -> bool {
    node.kind != Kind::Partition && !node.backing_devices.is_empty()
}

fn evidence(
    device: &DeviceInterval,
    devices: &[DeviceInterval],
    topology: &Topology,
) -> Option<Evidence> {
    let above = device.stats()?;
    let node = topology
        .node(device.device())
        .filter(|node| is_stacked(node))?;
    let stats_of = |name: &String| devices.iter().find(|other| other.device() == name)?.stats();
    let below: Vec<&Interval> = node
        .backing_devices
        .iter()
        .map(stats_of)
        .collect::<Option<_>>()?;
    let latencies = held_between(above, &below)?;
    Some(Evidence::HeldBetween {
        in_flight: above.in_flight,
        below: node.backing_devices.clone(),
        latencies,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::DeviceActivity;
    use crate::metrics::Completed;
    use crate::topology::Node;

    fn device(name: &'static str, await_ms: f64) -> DeviceInterval {
        let (reads, writes) = (
            Completed::example(1.0, 2000, await_ms),
            Completed::example(1.0, 0, 0.0),
        );
        let stats = Interval {
            reads,
            writes,
            in_flight: Some(32),
            ..Interval::unknown(1.0)
        };
        let activity = DeviceActivity {
            stats,
            ..DeviceActivity::default()
        };
        let state = DeviceState::Active(Box::new(activity));
        DeviceInterval::without_alias(name, state)
    }

    fn node(name: &str, kind: Kind, below: &str) -> Node {
        Node {
            name: name.into(),
            kind,
            backing_devices: vec![below.into()],
            ..Node::default()
        }
    }

    #[test]
    fn requests_that_wait_above_a_fast_disk_are_evidence_at_the_upper_device() {
        let topology = Topology::new(vec![
            node("loop0", Kind::Loop, "vda"),
            node("vda1", Kind::Partition, "vda"),
            Node {
                name: "vda".into(),
                ..Node::default()
            },
        ]);
        let mut devices = [
            device("vda", 0.4),
            device("vda1", 15.9),
            device("loop0", 15.9),
        ];
        note_held_between(&mut devices, &topology);
        let evidence =
            |device: &DeviceInterval| device.activity().unwrap().assessment.evidence.clone();
        assert!(evidence(&devices[0]).is_empty() && evidence(&devices[1]).is_empty());
        let found = evidence(&devices[2]);
        let [
            Evidence::HeldBetween {
                in_flight: Some(32),
                below,
                ..
            },
        ] = found.as_slice()
        else {
            panic!("{found:?}");
        };
        assert_eq!(below, &["vda"]);
        // The evidence needs no baseline.
        assert_eq!(
            (devices[0].verdict(), devices[2].verdict()),
            (None, Some(Verdict::Saturated))
        );
        let mut near = [device("vda", 4.0), device("loop0", 15.9)];
        note_held_between(&mut near, &topology);
        assert_eq!((evidence(&near[1]).len(), near[1].verdict()), (1, None));
    }

    #[test]
    fn a_device_below_that_only_a_limit_could_trouble_is_ok() {
        use crate::analysis::{Doubt, IoDirection, Latency};
        let topology = Topology::new(vec![
            node("loop0", Kind::Loop, "vda"),
            Node {
                name: "vda".into(),
                ..Node::default()
            },
        ]);
        let verdict_with = |doubt: Doubt| {
            let mut devices = [device("vda", 0.2), device("loop0", 15.9)];
            let latency = Latency {
                await_ms: 0.2,
                queue: 0.4,
                saturation: Some(1.0),
            };
            let evidence = Evidence::Latency {
                direction: IoDirection::Reads,
                latency,
                source: None,
                doubt: Some(doubt),
            };
            if let DeviceState::Active(activity) = &mut devices[0].state {
                activity.assessment = Assessment {
                    evidence: vec![evidence],
                    ..Assessment::default()
                };
            }
            note_held_between(&mut devices, &topology);
            let activity = devices[0].activity().unwrap();
            (activity.assessment.verdict, activity.verdict_s)
        };
        assert_eq!(
            verdict_with(Doubt::ConstantLoad),
            (Some(Verdict::Ok), Some(1.0))
        );
        assert_eq!(verdict_with(Doubt::NoBaseline), (None, None));
        assert_eq!(verdict_with(Doubt::AboveSinceBoot), (None, None));
    }
}
