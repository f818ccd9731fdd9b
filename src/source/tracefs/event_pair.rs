//! The two tracepoints between which the latency of a request is measured, and the triggers for it.

use super::trace_dir::TraceDir;
use crate::capture::trace_hist::{HistEntry, key_range};
use crate::counters::{DeviceNumber, LatencyBucket};

/// The most devices that a filter names. With more, all are traced.
const MAX_FILTER_DEVICES: usize = 64;
/// The entries of a histogram of latencies.
const LATENCY_MAP_SIZE: u32 = 8192;

/// The range of latencies that a histogram covers: from its own start to the start of the next.
struct Range {
    start_ns: u64,
    bucket_ns: u64,
}

/// The ranges: each bucket is at most 2% as wide as the smallest latency of its range, from 10 µs on.
const RANGES: [Range; 4] = [
    Range { start_ns: 0, bucket_ns: 200 },
    Range { start_ns: 320_000, bucket_ns: 6_400 },
    Range { start_ns: 10_240_000, bucket_ns: 204_800 },
    Range { start_ns: 327_680_000, bucket_ns: 6_553_600 },
];

/// Two tracepoints in the life of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EventPair {
    /// The name of this pair, unique within the process.
    pub(super) tag: &'static str,
    /// The first tracepoint, in the system `block`.
    pub(super) start: &'static str,
    /// The second.
    end: &'static str,
    /// The devices that are traced; all if empty.
    pub(super) devices: Vec<DeviceNumber>,
}

impl EventPair {
    /// The requests of devices that make requests: from their issue to the driver to their completion.
    pub(super) fn requests(devices: Vec<DeviceNumber>) -> Self {
        let (start, end) = ("block_rq_issue", "block_rq_complete");
        Self { tag: "request", start, end, devices }
    }

    /// The bios of devices that pass them on to others, such as those of device-mapper.
    pub(super) fn bios(devices: Vec<DeviceNumber>) -> Self {
        let (start, end) = ("block_bio_queue", "block_bio_complete");
        Self { tag: "bio", start, end, devices }
    }

    pub(super) fn events(&self) -> [&'static str; 2] {
        [self.start, self.end]
    }

    /// Returns the definition of the synthetic event that carries the latency of a request.
    pub(super) fn synthetic_event(&self, owner: &str, format: &str) -> String {
        let length = letters_length(format);
        format!("{owner}_{} u32 dev; u64 lat; char rwbs[{length}]", self.tag)
    }

    /// Returns the name of that event's file in an instance.
    pub(super) fn synthetic_file(&self, owner: &str, file: &str) -> String {
        format!("events/synthetic/{owner}_{}/{file}", self.tag)
    }

    /// Returns the trigger that saves the time at the first tracepoint.
    pub(super) fn start_trigger(&self, owner: &str, size: u32) -> String {
        let (tag, filter) = (self.tag, self.start_filter());
        format!("hist:keys=dev,sector:{owner}_{tag}_ts=common_timestamp:size={size}:clock=mono:pause{filter}")
    }

    /// Excludes flushes. A flush has no sector, but the kernel reports sector 0 at its first tracepoint, so that a
    /// request for that sector would get its start time. Bios keep their sectors.
    fn start_filter(&self) -> String {
        let of_devices = device_filter(&self.devices);
        if self.tag == "bio" { of_devices } else { and_filter(&of_devices, "nr_sector > 0") }
    }

    /// Returns the trigger that computes the latency at the second tracepoint.
    pub(super) fn end_trigger(&self, owner: &str, size: u32) -> String {
        let Self { tag, start, .. } = self;
        let (name, filter) = (format!("{owner}_{tag}"), device_filter(&self.devices));
        format!(
            "hist:keys=dev,sector:{name}_lat=common_timestamp-${name}_ts:size={size}:clock=mono\
             :onmatch(block.{start}).trace({name},dev,${name}_lat,rwbs){filter}"
        )
    }
}

/// Returns the triggers of the histograms of a synthetic event. A kernel without `.buckets`, before 5.14, has only
/// powers of two; the mean latency of each bucket is exact in both.
pub(super) fn latency_triggers(has_buckets: bool) -> Vec<String> {
    let trigger = |modifier: &str, filter: &str| {
        format!("hist:keys=dev,rwbs,lat.{modifier}:vals=hitcount,lat:size={LATENCY_MAP_SIZE}{filter}")
    };
    if !has_buckets {
        return vec![trigger("log2", "")];
    }
    let mut triggers = Vec::new();
    for (range, next) in RANGES.iter().zip(RANGES.iter().skip(1).map(Some).chain([None])) {
        let Range { start_ns, bucket_ns } = range;
        let below = next.map(|next| format!("lat < {}", next.start_ns));
        let from = (*start_ns > 0).then(|| format!("lat >= {start_ns}"));
        let filter: Vec<String> = from.into_iter().chain(below).collect();
        triggers.push(trigger(&format!("buckets={bucket_ns}"), &format!(" if {}", filter.join(" && "))));
    }
    triggers
}

/// Returns an entry of such a histogram: the device, the letters of the kind of request, and the bucket. `None` if the
/// entry is of another form.
pub(super) fn traced_latency<'a>(entry: &HistEntry<'a>) -> Option<(DeviceNumber, &'a str, LatencyBucket)> {
    let number = device_number(entry.key("dev", Some("rwbs"))?.parse().ok()?);
    let range = key_range(entry.key("lat", None)?)?;
    let (count, sum_ns) = (entry.value("hitcount").unwrap_or(0), entry.value("lat").unwrap_or(0));
    let bucket = LatencyBucket { lower_ns: *range.start(), upper_ns: *range.end(), count, sum_ns };
    Some((number, entry.key("rwbs", Some("lat"))?, bucket))
}

/// Returns whether the kernel has `.buckets`, according to its own help text.
pub(super) fn has_buckets(dir: &TraceDir) -> bool {
    dir.read("README").contains(".buckets=")
}

/// Returns the filter of a trigger; empty for all devices.
pub(super) fn device_filter(devices: &[DeviceNumber]) -> String {
    if devices.is_empty() || devices.len() > MAX_FILTER_DEVICES {
        return String::new();
    }
    let conditions: Vec<String> =
        devices.iter().map(|number| format!("dev == {}", kernel_number(*number))).collect();
    format!(" if {}", conditions.join(" || "))
}

/// Returns the filter with one more condition.
pub(super) fn and_filter(filter: &str, condition: &str) -> String {
    match filter.strip_prefix(" if ") {
        Some(conditions) => format!(" if ({conditions}) && {condition}"),
        None => format!(" if {condition}"),
    }
}

/// The bits of a minor number in the kernel's device numbers (MINORBITS).
const MINOR_BITS: u32 = 20;

/// Returns a device number as the kernel stores it.
fn kernel_number((major, minor): DeviceNumber) -> u32 {
    (major << MINOR_BITS) | minor
}

/// Returns the device of a number as the kernel stores it.
pub(super) fn device_number(number: u32) -> DeviceNumber {
    (number >> MINOR_BITS, number & ((1 << MINOR_BITS) - 1))
}

/// Returns the length of the letters of a request in an event's `format` file. It differs between versions.
fn letters_length(format: &str) -> u32 {
    const USUAL: u32 = 8;
    let length = format
        .lines()
        .find_map(|line| line.split_once("field:char rwbs[")?.1.split_once(']')?.0.parse().ok());
    length.unwrap_or(USUAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_at_most_two_percent_wide_from_ten_microseconds_on() {
        for range in RANGES {
            let smallest = range.start_ns.max(10_000);
            assert!(range.bucket_ns * 50 <= smallest, "{}", range.start_ns);
            // The kernel's buckets start at 0.
            assert_eq!(range.start_ns % range.bucket_ns, 0, "{}", range.start_ns);
        }
    }

    #[test]
    fn every_latency_is_in_one_histogram() {
        let triggers = latency_triggers(true);
        let filters: Vec<&str> =
            triggers.iter().map(|trigger| trigger.split_once(" if ").unwrap().1).collect();
        let expected = [
            "lat < 320000",
            "lat >= 320000 && lat < 10240000",
            "lat >= 10240000 && lat < 327680000",
            "lat >= 327680000",
        ];
        assert_eq!(filters, expected);
        assert_eq!(latency_triggers(false), ["hist:keys=dev,rwbs,lat.log2:vals=hitcount,lat:size=8192"]);
    }

    #[test]
    fn device_numbers_are_those_of_the_kernel() {
        // The device dm-0 of a guest, 253:0.
        assert_eq!((kernel_number((253, 0)), device_number(265_289_728)), (265_289_728, (253, 0)));
        assert_eq!(device_filter(&[(8, 0), (259, 3)]), " if dev == 8388608 || dev == 271581187");
        assert_eq!(device_filter(&[(8, 0); MAX_FILTER_DEVICES + 1]), "");
    }

    #[test]
    fn the_synthetic_event_has_the_letters_of_the_kernel() {
        let pair = EventPair::requests(Vec::new());
        let format = "\tfield:dev_t dev;\toffset:8;\n\tfield:char rwbs[10];\toffset:32;\tsize:10;\n";
        assert_eq!(pair.synthetic_event("me", format), "me_request u32 dev; u64 lat; char rwbs[10]");
        assert_eq!(letters_length(""), 8);
    }

    #[test]
    fn the_triggers_of_a_pair_belong_together() {
        let pair = EventPair::bios(vec![(253, 0)]);
        assert_eq!(
            pair.start_trigger("me", 512),
            "hist:keys=dev,sector:me_bio_ts=common_timestamp:size=512:clock=mono:pause if dev == 265289728"
        );
        assert_eq!(
            pair.end_trigger("me", 512),
            "hist:keys=dev,sector:me_bio_lat=common_timestamp-$me_bio_ts:size=512:clock=mono\
             :onmatch(block.block_bio_queue).trace(me_bio,dev,$me_bio_lat,rwbs) if dev == 265289728"
        );
        let requests = |devices| EventPair::requests(devices).start_trigger("me", 512);
        let start = "hist:keys=dev,sector:me_request_ts=common_timestamp:size=512:clock=mono:pause";
        assert_eq!(requests(Vec::new()), format!("{start} if nr_sector > 0"));
        assert_eq!(
            requests(vec![(8, 0), (8, 16)]),
            format!("{start} if (dev == 8388608 || dev == 8388624) && nr_sector > 0")
        );
    }
}
