//! The block-device trees of synthetic hosts.

mod hosts;
mod identities;
mod output;
mod stacking;

use std::collections::HashSet;

use blkstat::counters::HealthFacts;
use blkstat::report::devices::{ShownDevices, tree};
use blkstat::topology::Topology;

fn draw(topology: &Topology, all: bool, width: usize) -> String {
    let mut names = HashSet::new();
    for node in topology.nodes() {
        if all || topology.is_of_use(node) {
            names.insert(node.name.as_str());
        }
    }
    let shown = ShownDevices {
        topology,
        facts: &HealthFacts::new(),
        names,
    };
    let mut out = Vec::new();
    tree(&shown, width, &mut out);
    String::from_utf8(out).unwrap()
}
