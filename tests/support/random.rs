//! Random numbers that are the same on every machine.

/// A generator of pseudo-random numbers (splitmix64, Steele, Lea and Flood 2014).
#[derive(Clone, Debug)]
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// The generator of a scenario: the name makes scenarios differ, the seed their runs.
    pub(crate) fn new(name: &str, seed: u64) -> Self {
        let hash = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        Self(
            name.bytes().fold(0xcbf2_9ce4_8422_2325, hash)
                ^ seed.wrapping_mul(0x9e37_79b9_7f4a_7c15),
        )
    }

    /// A generator of its own for a part of a simulation, so that a change of one part leaves the others as they were.
    pub(crate) fn fork(&mut self) -> Self {
        Self(self.next())
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform from 0 to below 1.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform between two bounds.
    pub(crate) fn between(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * self.unit()
    }

    /// Uniform on a logarithmic scale.
    pub(crate) fn log_between(&mut self, low: f64, high: f64) -> f64 {
        low * ((high / low).ln() * self.unit()).exp()
    }

    /// A whole number from `low` to `high`, both included, uniform on a logarithmic scale.
    pub(crate) fn count(&mut self, low: u32, high: u32) -> u32 {
        (self.log_between(f64::from(low), f64::from(high) + 0.999) as u32).clamp(low, high)
    }

    /// A whole number below a limit.
    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// A number of any size up to this many bits; small ones are as frequent as large ones.
    pub(crate) fn number(&mut self, bits: u64) -> u64 {
        let width = self.below(bits + 1);
        if width == 0 {
            0
        } else {
            self.next() >> (64 - width)
        }
    }

    /// True once in `n` times.
    pub(crate) fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// True with a probability.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// One of several values.
    pub(crate) fn pick<T: Copy>(&mut self, values: &[T]) -> T {
        values[(self.unit() * values.len() as f64) as usize]
    }

    /// Exponential with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -(1.0 - self.unit()).ln()
    }

    /// Normal with mean 0 and standard deviation 1 (Box and Muller 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * (1.0 - self.unit()).ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// A factor around 1, whose logarithm is normal with this standard deviation.
    pub(crate) fn factor(&mut self, deviation: f64) -> f64 {
        (deviation * self.normal()).exp()
    }
}

#[test]
fn numbers_are_those_of_the_published_generator() {
    // The first numbers of splitmix64 from seed 1234567, as in its authors' test vectors.
    let mut random = Random(1_234_567);
    let numbers = [random.next(), random.next(), random.next()];
    assert_eq!(
        numbers,
        [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423
        ]
    );
}
