//! JSON Lines and CSV. Field names are stable; new ones may be added at the end.

use super::LatencyInterval;
use super::table::error_text;
use crate::counters::{LatencyHistogram, RequestKind, TraceProblem};
use crate::intervals::TracedDevice;
use crate::metrics::LatencyStats;
use crate::report::json_csv::value::{Field, push_csv, push_json, push_number};

use Field::{Number, Text, Time, Whole};

/// The kinds of requests with their names in fields.
const KINDS: [(&str, RequestKind); 3] =
    [("read", RequestKind::Read), ("write", RequestKind::Write), ("discard", RequestKind::Discard)];
/// The names of the percentiles, and of the largest latency.
const LATENCIES: [&str; 5] = ["p50", "p95", "p99", "p999", "max"];
const NS_PER_MS: f64 = 1e6;

/// Calls `push` for each field of a device, in their order.
fn each_field(interval: &LatencyInterval<'_>, device: &TracedDevice, push: &mut dyn FnMut(&str, &Field<'_>)) {
    push("time", &Time(interval.header.end));
    push("elapsed_s", &Number(Some(interval.traced.elapsed_s)));
    push("device", &Text(Some(&device.name)));
    for (name, kind) in KINDS {
        each_latency(name, device.histogram(kind), push);
    }
    push("matched_pct", &Number(device.matched_pct(&RequestKind::ALL)));
    push("dropped_requests", &Whole(Some(interval.traced.dropped)));
    push(
        "problem",
        &Text(interval.traced.problem.map(|problem| match problem {
            TraceProblem::Overhead => "overhead",
            TraceProblem::Failed => "failed",
        })),
    );
    push("failed_requests", &Whole(Some(device.errors.values().sum())));
    push("errors", &Text(error_text(device).as_deref()));
}

/// Calls `push` for the number of requests of a histogram, and their latencies.
fn each_latency(prefix: &str, histogram: Option<&LatencyHistogram>, push: &mut dyn FnMut(&str, &Field<'_>)) {
    let stats = histogram.and_then(LatencyStats::of);
    // Without requests, latencies are not known, but the number of requests is: zero.
    let count = stats.map_or(0, |stats| stats.count);
    push(&format!("{prefix}_count"), &Whole(Some(count)));
    let values = stats.map(|stats| {
        let [p50, p95, p99, p999] = stats.percentiles_ms;
        [p50, p95, p99, p999, stats.max_ms]
    });
    for (at, name) in LATENCIES.iter().enumerate() {
        push(&format!("{prefix}_{name}_ms"), &Number(values.map(|values| values[at])));
    }
}

/// Appends the lines of an interval as JSON objects.
pub(super) fn json_lines(interval: &LatencyInterval<'_>, has_buckets: bool, out: &mut Vec<u8>) {
    for device in &interval.devices {
        let mut separator = b'{';
        each_field(interval, device, &mut |name, value| {
            out.push(std::mem::replace(&mut separator, b','));
            out.extend_from_slice(format!("\"{name}\":").as_bytes());
            push_json(value, out);
        });
        if has_buckets {
            for (name, kind) in KINDS {
                out.extend_from_slice(format!(",\"{name}_buckets\":").as_bytes());
                push_buckets(device.histogram(kind), out);
            }
        }
        out.extend_from_slice(b"}\n");
    }
}

/// Appends the buckets of a histogram: the smallest latency, the largest, and the number of requests of each.
fn push_buckets(histogram: Option<&LatencyHistogram>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (at, bucket) in histogram.into_iter().flat_map(LatencyHistogram::buckets).enumerate() {
        out.extend_from_slice(if at == 0 { b"[" } else { b",[" });
        push_number(bucket.lower_ns as f64 / NS_PER_MS, out);
        out.push(b',');
        push_number(bucket.upper_ns as f64 / NS_PER_MS, out);
        out.extend_from_slice(format!(",{}]", bucket.count).as_bytes());
    }
    out.push(b']');
}

/// Returns the names of all fields except buckets.
fn names() -> Vec<String> {
    let header = crate::intervals::IntervalHeader::default();
    let (traced, device) = (Default::default(), Default::default());
    let interval = LatencyInterval { header: &header, traced: &traced, devices: Vec::new() };
    let mut names: Vec<String> = Vec::new();
    each_field(&interval, &device, &mut |name, _| names.push(name.to_owned()));
    names
}

/// Returns the fields with their meanings, for the manual.
pub(in crate::report) fn fields() -> Vec<(String, String)> {
    let meaning = |name: &str| match name {
        "time" => "the end of the interval in UTC",
        "elapsed_s" => "the seconds in which the requests were completed",
        "device" => "the kernel's name of the device",
        "matched_pct" => "the percentage of the completed requests whose latency is known",
        "dropped_requests" => "the requests of all devices that a full histogram did not count",
        "problem" => "overhead if tracing was paused; failed if the kernel's files could not be used",
        "failed_requests" => {
            "the requests that the device failed; 0 before Linux 5.18, which does not trace them"
        }
        "errors" => "the errors of these requests, each with its number of them",
        name if name.ends_with("_count") => "the number of requests of this kind whose latency is known",
        name if name.ends_with("_max_ms") => "the largest of their latencies, in ms",
        _ => "a percentile of their latencies, in ms",
    };
    let buckets = KINDS.iter().map(|(name, _)| {
        let meaning = "in JSON, with --buckets: the smallest latency, the largest and the number of requests of each bucket";
        (format!("{name}_buckets"), meaning)
    });
    let with_meaning = names().into_iter().map(|name| {
        let meaning = meaning(&name);
        (name, meaning)
    });
    with_meaning.chain(buckets).map(|(name, meaning)| (name, meaning.to_owned())).collect()
}

/// Appends the names of the columns.
pub(super) fn csv_header(out: &mut Vec<u8>) {
    out.extend_from_slice(names().join(",").as_bytes());
    out.push(b'\n');
}

/// Appends the lines of an interval as CSV.
pub(super) fn csv_lines(interval: &LatencyInterval<'_>, out: &mut Vec<u8>) {
    for device in &interval.devices {
        let mut is_first = true;
        each_field(interval, device, &mut |_, value| {
            if !std::mem::replace(&mut is_first, false) {
                out.push(b',');
            }
            push_csv(value, out);
        });
        out.push(b'\n');
    }
}
