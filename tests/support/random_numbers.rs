//! Random numbers, the same for the same seed.
//!
//! In comparisons with the real tools, BLKSTAT_PEERS_RANDOM=N asks for N random inputs instead of a few, and
//! BLKSTAT_PEERS_SEED=S for this seed.

use std::env::var;
use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the seed and the number of random inputs: `seed` and `count`, unless the environment asks for others. The seed
/// is printed.
pub(crate) fn requested(seed: u64, count: u64) -> (u64, u64) {
    let number = |name: &str| var(name).ok().and_then(|text| text.parse().ok());
    let requested = number("BLKSTAT_PEERS_RANDOM");
    let any_seed = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
    let seed = number("BLKSTAT_PEERS_SEED").or_else(|| requested.map(|_| any_seed())).unwrap_or(seed);
    println!("BLKSTAT_PEERS_SEED={seed}");
    (seed, requested.unwrap_or(count))
}

/// A random number generator with a seed: SplitMix64.
pub(crate) struct Rng(u64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.roll() % limit
    }

    /// Returns a number from 0 to 1.
    pub(crate) fn fraction(&mut self) -> f64 {
        self.below(1 << 32) as f64 / (1_u64 << 32) as f64
    }

    /// Returns a factor around 1, whose logarithm is nearly normal with this standard deviation.
    pub(crate) fn factor(&mut self, deviation: f64) -> f64 {
        let sum: f64 = (0..12).map(|_| self.fraction()).sum();
        (deviation * (sum - 6.0)).exp()
    }

    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[usize::try_from(self.below(from.len() as u64)).unwrap()]
    }

    /// Returns a number of any size; small ones are as frequent as large ones.
    pub(crate) fn number(&mut self, bits: u64) -> u64 {
        let width = self.below(bits + 1);
        if width == 0 { 0 } else { self.roll() >> (64 - width) }
    }
}
