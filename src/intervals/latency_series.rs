//! The latency of a device over a run at a coarse resolution, in bounded memory.

const MAX_BUCKETS: usize = 128;

/// The highest mean latency of an interval by time, in buckets whose length doubles when there are too many.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LatencySeries {
    /// The length of a bucket in seconds; 0 before the first interval.
    bucket_s: f64,
    /// Milliseconds: infinite if nothing completed although requests were in flight, NaN without I/O.
    buckets: Vec<f32>,
}

impl LatencySeries {
    /// Adds an interval of some seconds, which began `begin_s` after the first sample.
    pub(super) fn add(&mut self, begin_s: f64, seconds: f64, await_ms: f64) {
        if self.bucket_s == 0.0 {
            self.bucket_s = seconds;
        }
        let index = loop {
            // In the middle, so that rounding errors do not matter.
            let index = ((begin_s + seconds / 2.0) / self.bucket_s) as usize;
            if index < MAX_BUCKETS {
                break index;
            }
            self.halve();
        };
        if index >= self.buckets.len() {
            self.buckets.resize(index + 1, f32::NAN);
        }
        // The maximum of a number and NaN is the number.
        self.buckets[index] = self.buckets[index].max(await_ms as f32);
    }

    pub fn is_empty(&self) -> bool {
        self.buckets.is_empty()
    }

    /// Returns the highest latency in milliseconds from `begin_s` to `end_s` after the first sample: `None` without
    /// I/O, infinite during a stall.
    pub fn max(&self, begin_s: f64, end_s: f64) -> Option<f64> {
        let first = (begin_s / self.bucket_s) as usize;
        let end = ((end_s / self.bucket_s).ceil() as usize).max(first + 1).min(self.buckets.len());
        let values = self.buckets.get(first..end)?.iter().copied().filter(|value| !value.is_nan());
        values.reduce(f32::max).map(f64::from)
    }

    /// Returns the lowest and the highest latency of a bucket in milliseconds, without stalls and requests that took less
    /// than the kernel counts; `None` without any.
    pub fn range(&self) -> Option<(f64, f64)> {
        let finite = || self.buckets.iter().copied().filter(|value| value.is_finite() && *value > 0.0);
        Some((finite().reduce(f32::min)?.into(), finite().reduce(f32::max)?.into()))
    }

    fn halve(&mut self) {
        self.bucket_s *= 2.0;
        self.buckets =
            self.buckets.chunks(2).map(|pair| pair.iter().copied().fold(f32::NAN, f32::max)).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peaks_survive_when_buckets_become_longer() {
        let mut series = LatencySeries::default();
        assert!(series.is_empty());
        for second in (0..1000).filter(|second| !(300..400).contains(second)) {
            let await_ms = if second == 777 { 50.0 } else { 1.0 };
            series.add(f64::from(second), 1.0, await_ms);
        }
        assert!(series.buckets.len() <= MAX_BUCKETS);
        assert_eq!((series.max(0.0, 100.0), series.max(768.0, 784.0)), (Some(1.0), Some(50.0)));
        assert_eq!(series.max(320.0, 384.0), None);
        assert_eq!(series.range(), Some((1.0, 50.0)));
        series.add(990.0, 1.0, f64::INFINITY);
        series.add(310.0, 1.0, 0.0);
        assert_eq!((series.max(984.0, 1000.0), series.range()), (Some(f64::INFINITY), Some((1.0, 50.0))));
    }
}
