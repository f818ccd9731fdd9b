//! The latencies of single requests: as JSON Lines and as CSV, whose field names are stable (new ones may be added at the
//! end), and for people as a table with histograms or as a heat map over time.

mod table;
#[cfg(test)]
mod tests;

pub(crate) use self::table::push_note;
pub use self::table::{dropped_text, heatmap, heatmap_legend, table, trace_notes, trace_problem_text};
use self::table::{error_text, kind_text};
use crate::counters::{LatencyHistogram, RequestKind, TraceProblem};
use crate::intervals::{IntervalHeader, TracedDevice, TracedInterval};
use crate::metrics::LatencyStats;
use crate::report::json_csv::value::{Field, push_line};
use Field::{Json, Name, Number, Text, Time, Whole};

pub struct LatencyInterval<'a> {
    /// The values that all devices of the interval share.
    pub header: &'a IntervalHeader,
    /// All traced requests; the devices to show are in [`Self::devices`].
    pub traced: &'a TracedInterval,
    /// The devices that are shown.
    pub devices: Vec<&'a TracedDevice>,
}

const PERCENTILE_NAMES: [&str; 4] = ["p50", "p95", "p99", "p999"];
const NS_PER_MS: f64 = 1e6;

/// The fields of a device in their order: the name, the meaning and the value of each.
type Fields<'a> = Vec<(String, &'static str, Field<'a>)>;

fn fields_of<'a>(interval: &LatencyInterval<'_>, device: &'a TracedDevice) -> Fields<'a> {
    let problem = interval.traced.problem.map(|problem| match problem {
        TraceProblem::Overhead => "overhead",
        TraceProblem::Failed => "failed",
    });
    let field = |name: &str, meaning, value| (name.to_owned(), meaning, value);
    let mut fields = vec![
        field("time", "the end of the interval in UTC", Time(interval.header.end)),
        field(
            "elapsed_s",
            "the seconds in which the requests were completed",
            Number(Some(interval.traced.elapsed_s)),
        ),
        field("device", "the kernel's name of the device", Text(Some(&device.name))),
    ];
    for of in RequestKind::ALL {
        let kind = kind_text(of);
        let stats = device.histogram(of).and_then(LatencyStats::of);
        // Without requests, latencies are not known, but the number of requests is: zero.
        let count = Whole(Some(stats.map_or(0, |stats| stats.count)));
        let meaning = "the number of requests of this kind whose latency is known";
        fields.push((format!("{kind}_count"), meaning, count));
        for (at, name) in PERCENTILE_NAMES.iter().enumerate() {
            let value = Number(stats.map(|stats| stats.percentiles_ms[at]));
            fields.push((format!("{kind}_{name}_ms"), "a percentile of their latencies, in ms", value));
        }
        let max = Number(stats.map(|stats| stats.max_ms));
        fields.push((format!("{kind}_max_ms"), "the largest of their latencies, in ms", max));
    }
    fields.extend([
        field(
            "matched_pct",
            "the percentage of the completed requests whose latency is known",
            Number(device.matched_pct(&RequestKind::ALL)),
        ),
        field(
            "dropped_requests",
            "the requests of all devices that a full histogram did not count",
            Whole(Some(interval.traced.dropped)),
        ),
        field(
            "problem",
            "overhead if tracing was paused; failed if the kernel's files could not be used",
            Text(problem),
        ),
        field(
            "failed_requests",
            "the requests that the device failed; 0 before Linux 5.18, which does not trace them",
            Whole(Some(device.errors.values().sum())),
        ),
        field(
            "errors",
            "the errors of these requests, each with its number of them",
            Name(error_text(device)),
        ),
    ]);
    fields
}

/// Appends the lines of an interval as JSON objects or as CSV; only JSON can have buckets.
pub fn lines(interval: &LatencyInterval<'_>, is_json: bool, has_buckets: bool, out: &mut Vec<u8>) {
    for device in &interval.devices {
        let fields = fields_of(interval, device).into_iter().map(|(name, _, value)| (name, value));
        let kinds = RequestKind::ALL.into_iter().filter(|_| has_buckets);
        let buckets = kinds.map(|kind| (buckets_name(kind), Json(buckets_json(device.histogram(kind)))));
        push_line(fields.chain(buckets), is_json, out);
    }
}

fn buckets_name(kind: RequestKind) -> String {
    format!("{}_buckets", kind_text(kind))
}

/// Returns the buckets of a histogram: the smallest latency, the largest, and the number of requests of each.
fn buckets_json(histogram: Option<&LatencyHistogram>) -> String {
    let ms = |ns: u64| ns as f64 / NS_PER_MS;
    let buckets = histogram.into_iter().flat_map(LatencyHistogram::buckets);
    let buckets: Vec<_> = buckets.map(|one| (ms(one.lower_ns), ms(one.upper_ns), one.count)).collect();
    // Numbers can always be written.
    serde_json::to_string(&buckets).unwrap_or_default()
}

/// Returns all fields except buckets with their meanings.
fn meanings() -> Vec<(String, &'static str)> {
    let header = IntervalHeader::default();
    let (traced, device) = Default::default();
    let interval = LatencyInterval { header: &header, traced: &traced, devices: Vec::new() };
    fields_of(&interval, &device).into_iter().map(|(name, meaning, _)| (name, meaning)).collect()
}

/// Returns the fields with their meanings, for the manual.
pub(in crate::report) fn fields() -> Vec<(String, String)> {
    let meaning = "in JSON, with --buckets: the smallest latency, the largest and the number of requests of each bucket";
    let buckets = RequestKind::ALL.map(|kind| (buckets_name(kind), meaning));
    let all = meanings().into_iter().chain(buckets);
    all.map(|(name, meaning)| (name, meaning.to_owned())).collect()
}

/// Appends the names of the columns.
pub fn csv_header(out: &mut Vec<u8>) {
    let names: Vec<String> = meanings().into_iter().map(|(name, _)| name).collect();
    out.extend_from_slice((names.join(",") + "\n").as_bytes());
}
