//! Where requests wait: the queue at each layer of a stack of devices.

use serde::Serialize;

use super::explain::number;
use super::report::DeviceReport;
use crate::topology::{Kind, Node, Topology, possible_disks};

/// A device in the stack with what was seen of it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layer {
    /// The kernel's name.
    pub device: String,
    /// How many layers lie below it.
    pub depth: usize,
    /// Requests a second, the mean.
    pub iops: Option<f64>,
    /// Requests in the queue or being served, the mean over time.
    pub queue: Option<f64>,
    /// Mean response time in milliseconds.
    pub await_ms: Option<f64>,
}

/// The step from a device to those it stands on.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerLink {
    /// The upper device.
    pub above: String,
    /// The devices right below it.
    pub below: Vec<String>,
    /// The queue of the upper device less that of the lower ones: requests that what lies between holds back.
    pub held: Option<f64>,
    /// Whether most of the upper device's requests wait there.
    pub is_held_back: bool,
    /// That in words.
    pub explanation: String,
}

/// The stack of the devices that worked.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct QueueByLayer {
    /// Whether the stack is a guess from loads that were alike.
    pub is_guess: bool,
    /// From the top down.
    pub layers: Vec<Layer>,
    /// From the top down.
    pub steps: Vec<LayerLink>,
}

/// A queue that is worth asking where it stands.
const LEAST_QUEUE: f64 = 1.0;
/// With this share of the queue between two devices, that is where the requests wait.
const MOST: f64 = 0.5;

/// Where the requests of devices wait, by a known stack; or, where it does not join any of them, by a guess. `None`
/// where no two of them are joined.
pub fn where_requests_wait(stack: &Topology, reports: &[DeviceReport]) -> Option<QueueByLayer> {
    let known = joined(stack, reports);
    if known.is_some() || reports.iter().any(|report| stack.node(&report.device).is_some()) {
        return known;
    }
    let guess = guess_stack(reports)?;
    joined(&guess, reports).map(|layers| QueueByLayer { is_guess: true, ..layers })
}

/// A guess what is stacked on what, where nothing is known: a virtual device (by its name) stands on one that
/// did as many requests in the same seconds. `None` where none is alike, or more than one is, but for partitions of the
/// one.
pub fn guess_stack(reports: &[DeviceReport]) -> Option<Topology> {
    const ALIKE: f64 = 0.75;
    let kind = |report: &DeviceReport| Kind::from_name(&report.device);
    let stands_on_others = |kind: Kind| matches!(kind, Kind::Loop | Kind::Dm | Kind::Md | Kind::Virtual);
    let below = |upper: &DeviceReport| {
        let is_alike = |lower: &&DeviceReport| {
            !stands_on_others(kind(lower))
                && upper.trace.likeness(&lower.trace).is_some_and(|share| share >= ALIKE)
                && upper.all.queue.mean >= lower.all.queue.mean
        };
        let alike: Vec<&DeviceReport> = reports.iter().filter(is_alike).collect();
        let is_whole = |one: &&&DeviceReport| {
            let disks = possible_disks(&one.device);
            !alike.iter().any(|other| disks.contains(&Some(other.device.as_str())))
        };
        let mut whole = alike.iter().filter(is_whole);
        let found = whole.next()?;
        whole.next().is_none().then(|| found.device.clone())
    };
    let mut is_found = false;
    let node = |report: &DeviceReport| {
        let on: Vec<String> =
            Some(report).filter(|one| stands_on_others(kind(one))).and_then(below).into_iter().collect();
        is_found |= !on.is_empty();
        Node { name: report.device.clone(), kind: kind(report), backing_devices: on, ..Node::default() }
    };
    let nodes = reports.iter().map(node).collect();
    is_found.then(|| Topology::new(nodes))
}

fn joined(stack: &Topology, reports: &[DeviceReport]) -> Option<QueueByLayer> {
    let worked = |name: &str| reports.iter().find(|one| one.device == name && one.working_intervals > 0);
    let mut upper: Vec<&Node> = stack.nodes().iter().filter(|node| worked(&node.name).is_some()).collect();
    upper.sort_by_key(|node| std::cmp::Reverse(stack.depth(&node.name)));
    let steps: Vec<LayerLink> = upper
        .iter()
        .filter_map(|node| {
            let below: Option<Vec<&DeviceReport>> =
                node.backing_devices.iter().map(|name| worked(name)).collect();
            step(worked(&node.name)?, &below.filter(|below| !below.is_empty())?)
        })
        .collect();
    let is_joined =
        |name: &str| steps.iter().any(|one| one.above == name || one.below.iter().any(|b| b == name));
    let layer = |node: &&Node| {
        let report = worked(&node.name)?;
        is_joined(&node.name).then(|| Layer {
            device: node.name.clone(),
            depth: stack.depth(&node.name),
            iops: report.all.iops.mean,
            queue: report.all.queue.mean,
            await_ms: report.all.await_ms.mean,
        })
    };
    let layers = upper.iter().filter_map(layer).collect();
    (!steps.is_empty()).then_some(QueueByLayer { is_guess: false, layers, steps })
}

fn step(above: &DeviceReport, below: &[&DeviceReport]) -> Option<LayerLink> {
    let names: Vec<String> = below.iter().map(|one| one.device.clone()).collect();
    let queue = above.all.queue.mean?;
    let lower = below.iter().map(|one| one.all.queue.mean).sum::<Option<f64>>()?;
    let held = (queue - lower).max(0.0);
    let is_held_back = queue >= LEAST_QUEUE && held >= MOST * queue;
    let joined = names.join(", ");
    let queues =
        format!("a mean queue of {} at {}, {} at {joined}", number(queue), above.device, number(lower));
    let explanation = if is_held_back {
        format!("{queues}: what lies between {} and {joined} holds the requests back", above.device)
    } else if queue < LEAST_QUEUE {
        format!("{queues}: hardly any request waits")
    } else {
        format!("{queues}: the requests wait at {joined} or below")
    };
    Some(LayerLink { above: above.device.clone(), below: names, held: Some(held), is_held_back, explanation })
}

#[cfg(test)]
mod tests {
    use super::super::statistic::Distribution;
    use super::*;

    fn report(device: &str, queue: f64, requests: impl Fn(i32) -> f64) -> DeviceReport {
        let mut report =
            DeviceReport { device: device.into(), working_intervals: 20, ..DeviceReport::default() };
        report.all.queue = Distribution { mean: Some(queue), ..Distribution::default() };
        (0..20).for_each(|second| report.trace.add(f64::from(second), requests(second)));
        report
    }

    fn rising(second: i32) -> f64 {
        100.0 * f64::from(second + 1)
    }

    #[test]
    fn a_queue_above_and_none_below_is_held_between() {
        let node = |name: &str, on: &[&str]| Node {
            name: name.into(),
            backing_devices: on.iter().map(|name| (*name).to_owned()).collect(),
            ..Node::default()
        };
        let stack = Topology::new(vec![node("sda", &[]), node("dm-0", &["sda"])]);
        let held =
            where_requests_wait(&stack, &[report("sda", 1.0, rising), report("dm-0", 30.0, rising)]).unwrap();
        assert!(!held.is_guess && held.steps[0].is_held_back && held.layers[0].device == "dm-0");
        let below = where_requests_wait(&stack, &[report("sda", 29.0, rising), report("dm-0", 30.0, rising)])
            .unwrap();
        assert!(!below.steps[0].is_held_back);
    }

    #[test]
    fn a_stack_is_guessed_only_from_one_device_of_the_same_load() {
        let nothing = Topology::default();
        let reports =
            [report("loop0", 30.0, rising), report("vda", 1.0, rising), report("vdb", 1.0, |_| 5.0)];
        let guess = where_requests_wait(&nothing, &reports).unwrap();
        assert!(guess.is_guess && guess.steps[0].below == ["vda"]);
        let with_partition =
            [report("loop0", 30.0, rising), report("vda", 1.0, rising), report("vda1", 1.0, rising)];
        let guess = where_requests_wait(&nothing, &with_partition).unwrap();
        assert_eq!((guess.steps.len(), &guess.steps[0].below), (1, &vec!["vda".to_owned()]));
        let twins = [report("loop0", 30.0, rising), report("vda", 1.0, rising), report("vdb", 1.0, rising)];
        assert_eq!(where_requests_wait(&nothing, &twins), None);
        let disks = [report("sda", 30.0, rising), report("vda", 1.0, rising)];
        assert_eq!(where_requests_wait(&nothing, &disks), None);
    }
}
