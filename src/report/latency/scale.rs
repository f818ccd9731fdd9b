//! The logarithmic scale of latencies, from 10 µs to 10 s.

use crate::counters::LatencyHistogram;
use crate::report::layout::number_format::time;

/// The latencies at the left end and at the right end, in nanoseconds.
const ENDS_NS: [f64; 2] = [1e4, 1e10];
/// The decades between them.
const DECADES: usize = 6;

/// Returns the number of requests in each of `columns` columns of equal width on the scale. Requests beyond its ends
/// count in the first and the last column.
pub(super) fn columns_of(histogram: &LatencyHistogram, columns: usize) -> Vec<u64> {
    let mut counts = vec![0_u64; columns];
    for bucket in histogram.buckets() {
        if let Some(count) = counts.get_mut(position(bucket.mean_ns() as f64, columns)) {
            *count = count.saturating_add(bucket.count);
        }
    }
    counts
}

/// Returns the column of a latency.
fn position(ns: f64, columns: usize) -> usize {
    let [first, last] = ENDS_NS;
    let part = libm::log(ns.max(first) / first) / libm::log(last / first);
    ((part * columns as f64) as usize).min(columns.saturating_sub(1))
}

/// Returns the title of `columns` columns: the latency at the beginning of each decade.
pub(super) fn title(columns: usize) -> String {
    let mut text = String::new();
    let mut length = 0;
    let mut ms = ENDS_NS[0] / 1e6;
    for decade in 0..DECADES {
        let at = decade * columns / DECADES;
        let label = time(ms).replace(".00", "").replace(".0", "");
        if at >= length && at + label.chars().count() <= columns {
            text.extend(std::iter::repeat_n(' ', at - length));
            length = at + label.chars().count() + 1;
            text.push_str(&label);
            text.push(' ');
        }
        ms *= 10.0;
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::LatencyBucket;

    #[test]
    fn a_decade_begins_below_its_title() {
        assert_eq!(title(36), "10µs  100µs 1ms   10ms  100ms 1s");
        assert_eq!([0.0, 1e4, 1e5, 1e6, 9.9e9, 1e12].map(|ns| position(ns, 36)), [0, 0, 6, 12, 35, 35]);
        assert_eq!(title(18), "10µs  1ms   100ms");
        assert_eq!((title(0), columns_of(&LatencyHistogram::default(), 0).len()), (String::new(), 0));
    }

    #[test]
    fn every_request_is_in_a_column() {
        let mut histogram = LatencyHistogram::default();
        for lower_ns in [0, 5_000, 400_000, 90_000_000_000] {
            let (upper_ns, count) = (lower_ns + 199, 2);
            histogram.add(LatencyBucket { lower_ns, upper_ns, count, sum_ns: 2 * lower_ns + 10 });
        }
        let columns = columns_of(&histogram, 12);
        assert_eq!(columns, [4, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2]);
    }
}
