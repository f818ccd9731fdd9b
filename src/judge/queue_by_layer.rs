//! The queue at each layer of stacked devices, which shows where requests wait.

use std::collections::HashMap;

use serde::Serialize;

use super::report::DeviceReport;
use super::thresholds::CLEARLY_FASTER;
use crate::topology::Topology;

/// Queue below which hardly any request waits at a layer.
const MIN_LAYER_QUEUE: f64 = 1.0;

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Layer {
    /// The kernel's name.
    pub device: String,
    /// Number of layers below it.
    pub depth: usize,
    /// Requests per second, the mean.
    pub iops: Option<f64>,
    /// Requests in the queue or being served, the mean over time.
    pub queue: Option<f64>,
    pub await_ms: Option<f64>,
}

/// The place where most requests of a stacked device wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitLocation {
    /// Hardly any request waits.
    Nowhere,
    /// Between the device and those below it.
    Between,
    /// At the devices below, or further down.
    Below,
}

/// The link between a device and those it is stacked on.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerLink {
    pub above: String,
    /// The devices right below it.
    pub below: Vec<String>,
    /// The mean queue of the upper device.
    pub queue_above: f64,
    /// The mean queues of the lower devices together.
    pub queue_below: f64,
    /// The lower devices with the longest queues: only the slow ones of an array.
    pub longest_below: Vec<String>,
    pub waiting: WaitLocation,
}

impl LayerLink {
    /// The mean number of requests that are held between the layers: the upper queue minus the lower ones, at least 0.
    pub fn queued_between(&self) -> f64 {
        (self.queue_above - self.queue_below).max(0.0)
    }

    fn new(above: &DeviceReport, below: &[&DeviceReport]) -> Option<Self> {
        let queue_above = above.all.queue.mean?;
        let (mut queue_below, mut longest_queue) = (0.0, 0.0);
        for one in below {
            let queue = one.all.queue.mean?;
            queue_below += queue;
            longest_queue = f64::max(longest_queue, queue);
        }
        let mut longest_below = Vec::new();
        for one in below {
            if one.all.queue.mean >= Some(CLEARLY_FASTER * longest_queue) {
                longest_below.push(one.device.clone());
            }
        }
        let mut link = Self {
            above: above.device.clone(),
            below: below.iter().map(|one| one.device.clone()).collect(),
            queue_above,
            queue_below,
            longest_below,
            waiting: WaitLocation::Below,
        };
        if queue_above < MIN_LAYER_QUEUE {
            link.waiting = WaitLocation::Nowhere;
        } else if link.queued_between() >= CLEARLY_FASTER * queue_above {
            link.waiting = WaitLocation::Between;
        }
        Some(link)
    }
}

/// The stacked devices that were busy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueueByLayer {
    /// From the top down.
    pub layers: Vec<Layer>,
    /// From the top down.
    pub links: Vec<LayerLink>,
}

/// The queue at each layer of `stack`. `None` if no two of the busy devices are stacked.
pub fn queue_by_layer(stack: &Topology, reports: &[DeviceReport]) -> Option<QueueByLayer> {
    let mut busy = HashMap::new();
    for report in reports {
        if report.busy_intervals > 0 {
            busy.entry(report.device.as_str()).or_insert(report);
        }
    }
    let mut nodes = Vec::from_iter(stack.nodes());
    nodes.retain(|node| busy.contains_key(node.name.as_str()));
    nodes.sort_by_key(|node| std::cmp::Reverse(stack.depth(&node.name)));
    let mut links = Vec::new();
    for node in &nodes {
        let mut below = Vec::new();
        for name in &node.backing_devices {
            below.extend(busy.get(name.as_str()).copied());
        }
        if !below.is_empty() && below.len() == node.backing_devices.len() {
            links.extend(LayerLink::new(busy[node.name.as_str()], &below));
        }
    }
    if links.is_empty() {
        return None;
    }

    let mut layers = Vec::new();
    for node in nodes {
        let mut links = links.iter();
        if !links.any(|link| link.above == node.name || link.below.contains(&node.name)) {
            continue;
        }
        let all = &busy[node.name.as_str()].all;
        layers.push(Layer {
            device: node.name.clone(),
            depth: stack.depth(&node.name),
            iops: all.iops.mean,
            queue: all.queue.mean,
            await_ms: all.await_ms.mean,
        });
    }
    Some(QueueByLayer { layers, links })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::judge::Distribution;
    use crate::topology::Node;

    fn report(device: &str, queue: f64) -> DeviceReport {
        let mut report = DeviceReport {
            device: device.into(),
            busy_intervals: 20,
            ..DeviceReport::default()
        };
        report.all.queue = Distribution {
            mean: Some(queue),
            ..Distribution::default()
        };
        report
    }

    fn stack(above: &str, below: &str) -> Topology {
        let below = Node {
            name: below.into(),
            ..Node::default()
        };
        let above = Node {
            name: above.into(),
            backing_devices: vec![below.name.clone()],
            ..Node::default()
        };
        Topology::new(vec![below, above])
    }

    #[test]
    fn requests_that_queue_above_and_not_below_are_held_between() {
        let stack = stack("dm-0", "sda");
        let layers = |lower, upper| {
            queue_by_layer(&stack, &[report("sda", lower), report("dm-0", upper)]).unwrap()
        };
        let held = layers(1.0, 30.0);
        assert_eq!(held.links[0].waiting, WaitLocation::Between);
        assert_eq!(
            (
                held.layers[0].device.as_str(),
                held.links[0].queued_between()
            ),
            ("dm-0", 29.0)
        );
        assert_eq!(layers(29.0, 30.0).links[0].waiting, WaitLocation::Below);
        assert_eq!(layers(0.1, 0.9).links[0].waiting, WaitLocation::Nowhere);
    }

    #[test]
    fn of_an_array_only_the_slow_disks_are_where_requests_wait() {
        let disks = ["sda", "sdb", "sdc"];
        let node = |name: &str| Node {
            name: name.into(),
            ..Node::default()
        };
        let md0 = Node {
            backing_devices: disks.map(str::to_owned).to_vec(),
            ..node("md0")
        };
        let stack = Topology::new(disks.map(node).into_iter().chain([md0]).collect());
        let longest = |queues: [f64; 3]| {
            let below = disks
                .iter()
                .zip(queues)
                .map(|(disk, queue)| report(disk, queue));
            let all: Vec<_> = below.chain([report("md0", queues.iter().sum())]).collect();
            queue_by_layer(&stack, &all).unwrap().links[0]
                .longest_below
                .clone()
        };
        assert_eq!(longest([0.1, 8.0, 0.2]), ["sdb"]);
        assert_eq!(longest([4.0, 5.0, 6.0]), disks);
    }
}
