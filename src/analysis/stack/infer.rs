//! Stacking of devices inferred from similar load, for captures that do not record it.

use crate::analysis::report::DeviceReport;
use crate::analysis::thresholds::MIN_STACKING_SIMILARITY;
use crate::topology::{Kind, Node, Topology, possible_disks};

/// The stacking of devices inferred from their loads: a virtual device (by its name) is stacked on the one that
/// completed as many requests in the same seconds. `None` if no device has such a match. A device that matches
/// several others, except partitions of one of them, is left alone.
pub fn infer_stack(reports: &[DeviceReport]) -> Option<Topology> {
    let nodes: Vec<Node> = reports
        .iter()
        .map(|report| Node {
            name: report.device.clone(),
            kind: Kind::from_name(&report.device),
            backing_devices: find_backing_device(report, reports).into_iter().collect(),
            ..Node::default()
        })
        .collect();
    nodes.iter().any(|node| !node.backing_devices.is_empty()).then(|| Topology::new(nodes))
}

/// The name of the one device that `upper` is probably stacked on.
fn find_backing_device(upper: &DeviceReport, reports: &[DeviceReport]) -> Option<String> {
    if !is_virtual(upper) {
        return None;
    }
    let is_similar = |lower: &&DeviceReport| {
        let similarity = upper.timeline.similarity(&lower.timeline);
        !is_virtual(lower)
            && similarity.is_some_and(|fraction| fraction >= MIN_STACKING_SIMILARITY)
            && upper.all.queue.mean >= lower.all.queue.mean
    };
    let similar: Vec<&DeviceReport> = reports.iter().filter(is_similar).collect();
    let is_partition = |one: &DeviceReport| {
        let disks = possible_disks(&one.device);
        similar.iter().any(|other| disks.contains(&Some(other.device.as_str())))
    };
    let mut whole = similar.iter().filter(|one| !is_partition(one));
    let found = whole.next()?;
    whole.next().is_none().then(|| found.device.clone())
}

fn is_virtual(report: &DeviceReport) -> bool {
    matches!(Kind::from_name(&report.device), Kind::Loop | Kind::Dm | Kind::Md | Kind::Virtual)
}
