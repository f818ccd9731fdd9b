//! The block-device trees of synthetic hosts.

mod hosts;
mod identities;
mod output;
mod stacking;

use blkstat::report::devices::tree;
use blkstat::topology::Topology;

fn draw(topology: &Topology, all: bool, width: usize) -> String {
    let mut out = Vec::new();
    tree(topology, all, width, &mut out);
    String::from_utf8(out).unwrap()
}
