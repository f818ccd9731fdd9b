//! The latencies of single requests: as JSON Lines and as CSV, whose field names are stable (new ones may be added at the
//! end), and for people as a table with histograms or as a heat map over time.

#[cfg(test)]
mod tests;

use Field::{Name, Number, Text, Time, Whole};
use jiff::tz::TimeZone;

use super::interval::{TracedDevice, TracedInterval};
use super::percentiles::LatencyStats;
use super::traced_io::{LatencyHistogram, RequestKind, TraceProblem};
use crate::intervals::IntervalHeader;
use crate::os_error::os_error_text;

use crate::report::json_csv::value::{Field, LineFormat, epoch_seconds, push_line};
use crate::report::layout::number_format::{count, percent, time};
use crate::report::layout::sparkline::BLOCKS;
use crate::report::layout::{TextTable, ellipsize, push_note, time_of_day};
use crate::sanitize::sanitize;

pub struct LatencyInterval<'a> {
    /// The values that all devices of the interval share.
    pub header: &'a IntervalHeader,
    /// All traced requests; the devices to show are in [`Self::devices`].
    pub traced: &'a TracedInterval,
    /// The devices that are shown.
    pub devices: Vec<&'a TracedDevice>,
}

const PERCENTILE_NAMES: [&str; 4] = ["p50", "p95", "p99", "p999"];

/// The fields of a device in their order. `src/manual/json.md` says what they mean.
fn fields_of<'a>(
    interval: &LatencyInterval<'_>,
    device: &'a TracedDevice,
) -> Vec<(String, Field<'a>)> {
    let problem = interval.traced.problem.map(|problem| match problem {
        TraceProblem::Overhead => "overhead",
        TraceProblem::Failed => "failed",
    });
    let mut fields = Vec::new();
    let mut push = |name: &str, value| fields.push((name.to_owned(), value));
    push("time", Time(interval.header.end));
    push("elapsed_s", Number(Some(interval.traced.elapsed_s)));
    push("device", Text(Some(&device.name)));
    for of in RequestKind::ALL {
        let kind = kind_text(of);
        let stats = device.latencies.get(&of).and_then(LatencyStats::of);
        // Without requests, latencies are not known, but the number of requests is: zero.
        let count = stats.map_or(0, |stats| stats.count);
        push(&format!("{kind}_count"), Whole(Some(count)));
        for (at, name) in PERCENTILE_NAMES.iter().enumerate() {
            let percentile = stats.map(|stats| stats.percentiles_ms[at]);
            push(&format!("{kind}_{name}_ms"), Number(percentile));
        }
        let max = stats.map(|stats| stats.max_ms);
        push(&format!("{kind}_max_ms"), Number(max));
    }
    push("matched_pct", Number(device.matched_pct(&RequestKind::ALL)));
    push("dropped_requests", Whole(Some(interval.traced.dropped)));
    push("problem", Text(problem));
    let failed = device.errors.values().sum();
    push("failed_requests", Whole(Some(failed)));
    push("time_s", Number(interval.header.end.map(epoch_seconds)));
    let host = interval.header.host_name.as_deref();
    push("host", Name(host.map(str::to_owned)));
    push("errors", Name(error_text(device)));
    fields
}

/// Appends the lines of an interval as JSON objects or as CSV.
pub fn lines(interval: &LatencyInterval<'_>, format: LineFormat, out: &mut Vec<u8>) {
    for device in &interval.devices {
        push_line(fields_of(interval, device).into_iter(), format, out);
    }
}

/// Appends the names of the columns.
pub fn csv_header(out: &mut Vec<u8>) {
    let header = IntervalHeader::default();
    let (traced, device) = Default::default();
    let interval = LatencyInterval {
        header: &header,
        traced: &traced,
        devices: Vec::new(),
    };
    let fields = fields_of(&interval, &device);
    let names: Vec<String> = fields.into_iter().map(|(name, _)| name).collect();
    out.extend_from_slice((names.join(",") + "\n").as_bytes());
}

/// The fewest and the most columns of a histogram. If fewer are left, it is not shown.
const BARS: [usize; 2] = [12, 48];
/// The least width of the name of a device if lines would be too wide.
const MIN_NAME_WIDTH: usize = 8;
const COLUMNS: [&str; 9] = [
    "device", "requests", "count", "p50", "p95", "p99", "p99.9", "max", "matched",
];

/// Appends the table of an interval.
pub fn table(
    interval: &LatencyInterval<'_>,
    width: usize,
    time_zone: &TimeZone,
    out: &mut Vec<u8>,
) {
    let header = interval.header;
    let clock = header
        .end
        .map(|end| format!("{} ", time_of_day(end, time_zone)))
        .unwrap_or_default();
    let line = format!("{clock}{:.1} s", interval.traced.elapsed_s);
    out.extend_from_slice(line.as_bytes());
    let rows: Vec<Row<'_>> = interval
        .devices
        .iter()
        .flat_map(|device| device_rows(device))
        .collect();
    let notes = interval_notes(interval.traced, !rows.is_empty());
    if let ([note], true) = (notes.as_slice(), rows.is_empty())
        && line.len() + note.len() + " ()".len() <= width
    {
        // An interval without requests takes a single line.
        out.extend_from_slice(format!(" ({note})\n").as_bytes());
        return;
    }
    out.push(b'\n');
    if !rows.is_empty() {
        let (cells, histograms): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
        let mut table = TextTable::new(&COLUMNS, "llr", cells);
        let room = |table: &TextTable| width.saturating_sub(table.width() + table.gap).min(BARS[1]);
        if room(&table) < BARS[0] {
            table.gap = 1;
        }
        let bars = room(&table);
        table.shorten(0, MIN_NAME_WIDTH, width);
        if bars >= BARS[0] {
            let drawn = |histogram: &Option<_>| {
                histogram.map(|one| bar_text(one, bars)).unwrap_or_default()
            };
            table.add_column(&title(bars), histograms.iter().map(drawn));
        }
        table.push(out);
    }
    for note in notes {
        push_note(&note, width, [""; 2], out);
    }
    out.push(b'\n');
}

/// The cells of a row, and its histogram.
type Row<'a> = (Vec<String>, Option<&'a LatencyHistogram>);

/// Returns the rows of a device: one for each kind of request that it completed.
fn device_rows(device: &TracedDevice) -> Vec<Row<'_>> {
    let mut rows: Vec<Row<'_>> = Vec::new();
    for kind in RequestKind::ALL {
        let histogram = device.latencies.get(&kind);
        if histogram.is_none() && device.completed_of(kind) == 0 {
            continue;
        }
        let name = if rows.is_empty() {
            sanitize(&device.label).into_owned()
        } else {
            String::new()
        };
        rows.push((cells(device, name, kind), histogram));
    }
    rows
}

fn cells(device: &TracedDevice, name: String, kind: RequestKind) -> Vec<String> {
    let stats = device.latencies.get(&kind).and_then(LatencyStats::of);
    let latencies = stats.map(|stats| {
        let [p50, p95, p99, p999] = stats.percentiles_ms;
        [p50, p95, p99, p999, stats.max_ms].map(time)
    });
    let known = stats.map_or("0".to_owned(), |stats| count(stats.count));
    let mut cells = vec![name, kind_text(kind).to_owned(), known];
    cells.extend(latencies.unwrap_or_default());
    cells.push(device.matched_pct(&[kind]).map(percent).unwrap_or_default());
    cells
}

/// Returns the word for a kind of request.
fn kind_text(kind: RequestKind) -> &'static str {
    match kind {
        RequestKind::Read => "read",
        RequestKind::Write => "write",
        RequestKind::Discard => "discard",
    }
}

/// Returns a histogram as bars: the highest is the most frequent latency, and a single request is visible.
fn bar_text(histogram: &LatencyHistogram, columns: usize) -> String {
    let counts = columns_of(histogram, columns);
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let level = |count: u64| (count as f64 / most as f64 * BLOCKS.len() as f64).ceil() as usize;
    let bar = |count| {
        level(count)
            .checked_sub(1)
            .map_or(' ', |level| BLOCKS[level])
    };
    counts.into_iter().map(bar).collect()
}

/// The percentage of matched requests below which a note mentions it.
const MIN_MATCHED_PCT: f64 = 95.0;
/// The number of requests up to which an interval shows nothing about matching: they may all have been under way at its
/// ends.
const FEW_REQUESTS: u64 = 100;

/// Returns notes for people about the requests that failed and those that the interval lacks.
fn interval_notes(traced: &TracedInterval, has_requests: bool) -> Vec<String> {
    let mut notes = Vec::new();
    if !has_requests && traced.problem.is_none() {
        notes.push("no requests".to_owned());
    }
    for device in traced.devices.iter().filter(|device| !device.is_path) {
        if let Some(errors) = error_text(device) {
            let label = sanitize(&device.label);
            notes.push(format!("{label} failed requests: {errors}"));
        }
    }
    notes.extend(trace_notes(traced));
    notes
}

/// Returns the failed requests of a device by error, such as `Input/output error 3`; `None` without any.
fn error_text(device: &TracedDevice) -> Option<String> {
    let each = device.errors.iter().map(|(error, count)| {
        let error = std::io::Error::from_raw_os_error(error.saturating_abs());
        format!("{} {count}", os_error_text(&error))
    });
    (!device.errors.is_empty()).then(|| each.collect::<Vec<_>>().join(", "))
}

/// Returns the reasons why requests are missing, with the remedy; empty if none are.
pub fn trace_notes(traced: &TracedInterval) -> Vec<String> {
    let mut notes = Vec::new();
    match traced.problem {
        Some(TraceProblem::Overhead) => notes.push(
            "tracing is paused: at this rate it would cost more CPU time than --max-overhead permits"
                .to_owned(),
        ),
        Some(TraceProblem::Failed) => notes.push(
            "requests are missing: the kernel's tracing files could not be read or written"
                .to_owned(),
        ),
        None => {}
    }
    if traced.dropped > 0 {
        let requests = match traced.dropped {
            1 => "1 request is".to_owned(),
            several => format!("{several} requests are"),
        };
        notes.push(format!(
            "{requests} missing: a kernel histogram was full; name fewer devices"
        ));
    }
    let (mut completed, mut matched) = (0, 0);
    for device in &traced.devices {
        for kind in RequestKind::ALL {
            let histogram = device.latencies.get(&kind);
            completed += device.completed_of(kind);
            matched += histogram.map_or(0, LatencyHistogram::count);
        }
    }
    if traced.problem.is_none() && completed >= FEW_REQUESTS {
        let pct = matched as f64 / completed as f64 * 100.0;
        if pct < MIN_MATCHED_PCT {
            notes.push(format!(
                "only {} of the requests are matched: the others began before tracing did, write zeros, only flush, or did \
                 not fit into the map of requests under way; name fewer devices",
                percent(pct)
            ));
        }
    }
    notes
}

/// The shades, the lightest first. Each stands for eight times as many requests as the one before it.
const SHADES: [char; 4] = ['░', '▒', '▓', '█'];
/// The largest number of requests of each shade except the last.
const SHADE_LIMITS: [u64; 3] = [1, 8, 64];
const NAME_WIDTH: usize = 12;
/// The width of the time, the name, the kind, the count and the percentiles.
const CELLS_WIDTH: usize = 9 + NAME_WIDTH + 1 + 8 + 7 + 2 + 16;
/// The least and the most columns of the map.
const MAP_COLUMNS: [usize; 2] = [12, 120];

fn columns(width: usize) -> usize {
    width
        .saturating_sub(CELLS_WIDTH)
        .clamp(MAP_COLUMNS[0], MAP_COLUMNS[1])
}

pub fn heatmap_legend(width: usize, out: &mut Vec<u8>) {
    let columns = columns(width);
    let (time, name, kind, count, p50, p99) = ("time", "device", "requests", "count", "p50", "p99");
    let map = format!("{:columns$}", title(columns));
    let line = format!("{time:9}{name:NAME_WIDTH$} {kind:8}{count:>7}  {map}{p50:>8}{p99:>8}\n");
    out.extend_from_slice(line.as_bytes());
    let [a, b, c] = SHADE_LIMITS;
    let [first, second, third, last] = SHADES;
    let legend =
        format!("{first} {a}  {second} up to {b}  {third} up to {c}  {last} more requests\n");
    out.extend_from_slice(legend.as_bytes());
}

/// Appends the lines of an interval in the heat map.
pub fn heatmap(
    interval: &LatencyInterval<'_>,
    width: usize,
    time_zone: &TimeZone,
    out: &mut Vec<u8>,
) {
    let mut clock = interval
        .header
        .end
        .map(|end| time_of_day(end, time_zone))
        .unwrap_or_default();
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
        push_note(&note, width, [&format!("{clock:9}"), "         "], out);
    }
}

fn line(device: &TracedDevice, kind: RequestKind, clock: &str, columns: usize) -> Option<String> {
    let histogram = device.latencies.get(&kind)?;
    let stats = LatencyStats::of(histogram)?;
    let map: String = columns_of(histogram, columns)
        .into_iter()
        .map(shade)
        .collect();
    let name = ellipsize(&sanitize(&device.label), NAME_WIDTH);
    let [p50, _, p99, _] = stats.percentiles_ms.map(time);
    let (kind, count) = (kind_text(kind), count(stats.count));
    Some(format!(
        "{clock:9}{name:NAME_WIDTH$} {kind:8}{count:>7}  {map}{p50:>8}{p99:>8}\n"
    ))
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
fn columns_of(histogram: &LatencyHistogram, columns: usize) -> Vec<u64> {
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
    let part = (ns.max(first) / first).ln() / (last / first).ln();
    ((part * columns as f64) as usize).min(columns.saturating_sub(1))
}

/// Returns the title of `columns` columns: the latency at the beginning of each decade.
fn title(columns: usize) -> String {
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
mod table_tests {
    use super::*;
    use crate::latency::traced_io::LatencyBucket;

    #[test]
    fn a_decade_begins_below_its_title() {
        assert_eq!(title(36), "10µs  100µs 1ms   10ms  100ms 1s");
        assert_eq!(
            [0.0, 1e4, 1e5, 1e6, 9.9e9, 1e12].map(|ns| position(ns, 36)),
            [0, 0, 6, 12, 35, 35]
        );
        assert_eq!(title(18), "10µs  1ms   100ms");
        assert_eq!(
            (title(0), columns_of(&LatencyHistogram::default(), 0).len()),
            (String::new(), 0)
        );
    }

    #[test]
    fn every_request_is_in_a_column() {
        let mut histogram = LatencyHistogram::default();
        for lower_ns in [0, 5_000, 400_000, 90_000_000_000] {
            let (upper_ns, count) = (lower_ns + 199, 2);
            histogram.add(LatencyBucket {
                lower_ns,
                upper_ns,
                count,
                sum_ns: 2 * lower_ns + 10,
            });
        }
        let columns = columns_of(&histogram, 12);
        assert_eq!(columns, [4, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 2]);
    }
}
