//! The kinds of devices, loads and troubles. Each is drawn at random from a seed, over a wide range of speeds.
//!
//! The captures of the oracle (`fixtures/oracle`) hold one device of each of 95 kinds of another simulator. What only they
//! have: slow changes of the load over the day, a rebuild behind the device, a cache that writes back,
//! timers with jitter beside a slower device, a link of fixed speed. What only these kinds have: layers, volumes that share a
//! limit, discards, requests that hang, a count that is wrong for ever, a disk that is replaced.

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
