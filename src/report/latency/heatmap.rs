//! The heat map: a line for each interval, device and kind of request, darker at latencies with more requests.

use jiff::tz::TimeZone;

use super::LatencyInterval;
use super::table::kind_text;
use super::table::{interval_notes, push_note};
use crate::counters::{LatencyHistogram, RequestKind};
use crate::intervals::TracedDevice;
use crate::metrics::LatencyStats;
use crate::report::layout::ellipsize;
use crate::report::layout::number_format::{count, time};
use crate::sanitize::sanitize;

/// The shades, the lightest first. Each stands for eight times as many requests as the one before it.
const SHADES: [char; 4] = ['░', '▒', '▓', '█'];
/// The largest number of requests of each shade except the last.
const SHADE_LIMITS: [u64; 3] = [1, 8, 64];
const NAME_WIDTH: usize = 12;
/// The width of the time, the name, the kind, the count and the percentiles.
const CELLS_WIDTH: usize = 9 + NAME_WIDTH + 1 + 8 + 7 + 2 + 16;
/// The least and the most columns of the map.
const COLUMNS: [usize; 2] = [12, 120];

fn columns(width: usize) -> usize {
    width.saturating_sub(CELLS_WIDTH).clamp(COLUMNS[0], COLUMNS[1])
}

pub(super) fn legend(width: usize, out: &mut Vec<u8>) {
    let columns = columns(width);
    let (time, name, kind, count, p50, p99) = ("time", "device", "requests", "count", "p50", "p99");
    let map = format!("{:columns$}", title(columns));
    let line = format!("{time:9}{name:NAME_WIDTH$} {kind:8}{count:>7}  {map}{p50:>8}{p99:>8}\n");
    out.extend_from_slice(line.as_bytes());
    let [a, b, c] = SHADE_LIMITS;
    let [first, second, third, last] = SHADES;
    let legend = format!("{first} {a}  {second} up to {b}  {third} up to {c}  {last} more requests\n");
    out.extend_from_slice(legend.as_bytes());
}

/// Appends the lines of an interval.
pub(super) fn lines(interval: &LatencyInterval<'_>, width: usize, time_zone: &TimeZone, out: &mut Vec<u8>) {
    let end = interval.header.end;
    let mut clock =
        end.map(|end| end.to_zoned(time_zone.clone()).strftime("%H:%M:%S").to_string()).unwrap_or_default();
    let mut is_empty = true;
    for device in &interval.devices {
        for kind in RequestKind::ALL {
            if let Some(line) = line(device, kind, &clock, columns(width)) {
                out.extend_from_slice(line.as_bytes());
                // The time is shown only once per interval.
                clock.clear();
                is_empty = false;
            }
        }
    }
    for note in interval_notes(interval.traced, !is_empty) {
        push_note(&note, width, &format!("{clock:9}"), "         ", out);
    }
}

fn line(device: &TracedDevice, kind: RequestKind, clock: &str, columns: usize) -> Option<String> {
    let histogram = device.histogram(kind)?;
    let stats = LatencyStats::of(histogram)?;
    let map: String = columns_of(histogram, columns).into_iter().map(shade).collect();
    let name = ellipsize(&sanitize(&device.label), NAME_WIDTH);
    let [p50, _, p99, _] = stats.percentiles_ms.map(time);
    let (kind, count) = (kind_text(kind), count(stats.count));
    Some(format!("{clock:9}{name:NAME_WIDTH$} {kind:8}{count:>7}  {map}{p50:>8}{p99:>8}\n"))
}

fn shade(count: u64) -> char {
    if count == 0 {
        return ' ';
    }
    let at = SHADE_LIMITS.iter().position(|limit| count <= *limit);
    SHADES[at.unwrap_or(SHADES.len() - 1)]
}

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
