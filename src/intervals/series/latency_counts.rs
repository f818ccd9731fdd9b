//! Requests by latency, for a heat map.

use libm::log10;

use super::values::Merge;

/// The number of latency classes in a power of ten: neighbors differ by a factor of 1.26.
const CLASSES_PER_DECADE: f64 = 10.0;
/// The lower bound of the first class in milliseconds: 1 µs.
const MIN_MS: f64 = 1e-3;
/// The number of classes: up to 1,000 s.
const CLASS_COUNT: u8 = 90;

/// The number of requests in each class of latency. The kernel counts the time of all requests of an interval together,
/// so each request counts with the mean latency of its interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencyCounts {
    /// Class and number of requests, sorted by class. An interval has few.
    counts: Vec<(u8, f32)>,
}

impl LatencyCounts {
    /// Adds requests with their mean latency in milliseconds; ignored unless both are positive numbers.
    pub fn observe(&mut self, mean_ms: f64, requests: f64) {
        if mean_ms > 0.0 && mean_ms.is_finite() && requests > 0.0 && requests.is_finite() {
            self.add(class(mean_ms), requests as f32);
        }
    }

    /// The classes with requests, the fastest first, with their number.
    pub fn counts(&self) -> impl Iterator<Item = (u8, f64)> {
        self.counts.iter().map(|(class, count)| (*class, f64::from(*count)))
    }

    /// Returns the latency in milliseconds at which a class begins; the one before it ends there.
    pub fn class_start_ms(class: u8) -> f64 {
        MIN_MS * libm::pow(10.0, f64::from(class) / CLASSES_PER_DECADE)
    }

    fn add(&mut self, class: u8, requests: f32) {
        match self.counts.binary_search_by_key(&class, |(class, _)| *class) {
            Ok(at) => self.counts[at].1 += requests,
            Err(at) => self.counts.insert(at, (class, requests)),
        }
    }
}

impl Merge for LatencyCounts {
    fn merge(&mut self, later: Self) {
        if self.counts.is_empty() {
            *self = later;
        } else {
            later.counts.into_iter().for_each(|(class, requests)| self.add(class, requests));
        }
    }
}

fn class(ms: f64) -> u8 {
    /// Makes a latency on a bound belong to the class above it despite rounding of the logarithm.
    const ROUNDING: f64 = 1e-9;
    let class = (log10(ms / MIN_MS) * CLASSES_PER_DECADE + ROUNDING).floor();
    class.clamp(0.0, f64::from(CLASS_COUNT - 1)) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_holds_the_latencies_from_its_start_to_the_next() {
        for index in 0..CLASS_COUNT {
            let start = LatencyCounts::class_start_ms(index);
            assert_eq!((class(start), class(start * 1.2)), (index, index), "{start}");
        }
        assert_eq!((class(1e-9), class(1e30)), (0, CLASS_COUNT - 1));
    }

    #[test]
    fn merged_counts_keep_every_request() {
        let mut counts = LatencyCounts::default();
        for (ms, requests) in [(0.1, 10.0), (5.0, 1.0), (0.0, 9.0), (f64::NAN, 9.0)] {
            counts.observe(ms, requests);
        }
        let mut later = LatencyCounts::default();
        later.observe(0.105, 30.0);
        counts.merge(later);
        assert_eq!(counts.counts().collect::<Vec<_>>(), [(20, 40.0), (36, 1.0)]);
    }
}
