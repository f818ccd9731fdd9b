//! The kinds of devices, loads and troubles. Each is drawn at random from a seed, over a wide range of speeds.

mod building;
mod caps;
mod disks;
mod flushes;
mod layers;
mod servers;
mod ssds;
mod troubles;
mod varied_caps;

use crate::random::Random;
use crate::simulator::Setup;

/// A kind of device and load.
#[derive(Clone, Copy)]
pub(crate) struct Scenario {
    pub(crate) name: &'static str,
    build: fn(&mut Random) -> Setup,
}

impl Scenario {
    /// The host of a seed, and the random numbers for its simulation.
    pub(crate) fn build(&self, seed: u64) -> (Setup, Random) {
        let mut random = Random::new(self.name, seed);
        let setup = (self.build)(&mut random);
        (building::finish(setup, &mut random), random)
    }
}

/// Returns all kinds.
pub(crate) fn all() -> Vec<Scenario> {
    [
        servers::SCENARIOS,
        ssds::SCENARIOS,
        disks::SCENARIOS,
        caps::SCENARIOS,
        varied_caps::SCENARIOS,
        flushes::SCENARIOS,
        troubles::SCENARIOS,
        layers::SCENARIOS,
    ]
    .concat()
}
