//! A set of triggers in an instance of its own: histograms of latencies, or of errors.
//!
//! The map of a trigger never forgets a sector and counts nothing more once it is full, so a set is replaced by another
//! before that happens ([`Alternation`]), and is kept a while longer for the requests
//! that are still under way. A set is built paused. Triggers with variables can be neither cleared
//! nor paused by name; but a trigger on the instance's own print event, which a write to its marker causes, can start
//! and stop them.

use anyhow::Result;

use super::trace_dir::{Owner, TraceDir, remove_instance};
use crate::counters::DeviceNumber;
use crate::latency::hist_file::{HistEntry, key_range, parse_hist};
use crate::latency::traced_io::{LatencyBucket, LatencyKey, RequestKind, TracedIo};

/// The file whose writes start and stop a set.
const MARKER: &str = "trace_marker";
const PRINT_TRIGGER: &str = "events/ftrace/print/trigger";
/// The size in KiB of the buffer of an instance: it holds only events written to its marker.
const BUFFER_KIB: u32 = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum SetKind {
    /// The latencies between pairs of tracepoints.
    Latencies(Vec<EventPair>),
    /// The errors of all devices.
    Errors,
}

/// The tracepoint of requests that fail; kernels before 5.18 lack it.
pub(super) const ERROR_EVENT: &str = "block_rq_error";

impl SetKind {
    /// The tracepoints whose triggers are paused while a set is, each with the file of its counts in the instance `name`.
    fn histograms(&self, name: &str) -> Vec<(&'static str, String)> {
        match self {
            Self::Latencies(pairs) => pairs
                .iter()
                .map(|pair| (pair.events()[0], pair.synthetic_file(name, "hist")))
                .collect(),
            Self::Errors => vec![(ERROR_EVENT, format!("events/block/{ERROR_EVENT}/hist"))],
        }
    }

    /// The name of a set.
    fn name(&self, owner: &Owner, number: u64) -> String {
        let letter = match self {
            Self::Latencies(_) => 'l',
            Self::Errors => 'e',
        };
        owner.name(&format!("{letter}{number}"))
    }
}

/// A set in an instance of its own, which is removed when the set is dropped, with its triggers and the synthetic events
/// whose names begin with its name.
pub(super) struct TraceSet {
    dir: TraceDir,
    /// The name of the instance.
    name: String,
    pub(super) kind: SetKind,
    /// The entries of each map.
    pub(super) size: u32,
    /// The counts since it was started, as they were last read.
    last: TracedIo,
    text: Vec<u8>,
}

impl TraceSet {
    /// Builds a set, paused.
    ///
    /// # Errors
    /// If the kernel refuses a part of it; nothing is left of it then.
    pub(super) fn build(dir: &TraceDir, name: String, kind: SetKind, size: u32) -> Result<Self> {
        dir.make_instance(&name)?;
        let set = Self {
            dir: dir.clone(),
            name,
            kind,
            size,
            last: TracedIo::default(),
            text: Vec::new(),
        };
        // `record-cmd`, which an instance inherits, stays: turning it off in one instance stops it for the enabled events
        // of all others, and the kernel then counts the stops without a start.
        // An error does not matter: the buffer is only larger then.
        let _ = set.write("buffer_size_kb", &BUFFER_KIB.to_string());
        match &set.kind {
            SetKind::Latencies(pairs) => {
                for pair in pairs {
                    set.add_pair(pair)?;
                }
            }
            SetKind::Errors => {
                let trigger = format!("hist:keys=dev,error:size={size}:pause");
                set.write(&format!("events/block/{ERROR_EVENT}/trigger"), &trigger)?;
            }
        }
        for (event, _) in set.kind.histograms(&set.name) {
            set.write(PRINT_TRIGGER, &format!("enable_hist:block:{event}"))?;
        }
        Ok(set)
    }

    fn add_pair(&self, pair: &EventPair) -> Result<()> {
        let Self {
            dir, name, size, ..
        } = self;
        let format = dir.read(&format!("events/block/{}/format", pair.events()[1]));
        dir.write("synthetic_events", &pair.synthetic_event(name, &format))?;
        let [start, end] = pair
            .events()
            .map(|event| format!("events/block/{event}/trigger"));
        self.write(&start, &pair.start_trigger(name, *size))?;
        self.write(&end, &pair.end_trigger(name, *size))?;
        let file = pair.synthetic_file(name, "trigger");
        // The kernel's own help text.
        let has_buckets = dir.read("README").contains(".buckets=");
        for trigger in latency_triggers(has_buckets) {
            self.write(&file, &trigger)?;
        }
        Ok(())
    }

    /// Writes a line to a file of the instance.
    fn write(&self, file: &str, text: &str) -> Result<()> {
        self.dir
            .write(&format!("instances/{}/{file}", self.name), text)
    }

    /// Starts counting, and prepares [`Self::pause`].
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub(super) fn start(&self) -> Result<()> {
        self.write(MARKER, "start")?;
        for (event, _) in self.kind.histograms(&self.name) {
            self.write(PRINT_TRIGGER, &format!("!enable_hist:block:{event}"))?;
            self.write(PRINT_TRIGGER, &format!("disable_hist:block:{event}"))?;
        }
        Ok(())
    }

    /// Stops counting requests that begin from now on. Those under way are still counted.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub(super) fn pause(&self) -> Result<()> {
        self.write(MARKER, "pause")
    }

    /// Returns the requests that were counted since the last call.
    ///
    /// # Errors
    /// If the histograms cannot be read.
    fn read(&mut self) -> Result<TracedIo> {
        let mut counts = TracedIo::default();
        for (at, (_, file)) in self.kind.histograms(&self.name).into_iter().enumerate() {
            self.dir
                .read_into(&format!("instances/{}/{file}", self.name), &mut self.text)?;
            let text = String::from_utf8_lossy(&self.text);
            for section in parse_hist(&text) {
                counts.dropped = counts.dropped.saturating_add(section.dropped);
                for entry in &section.entries {
                    // An entry of another form does not count.
                    let _ = match &self.kind {
                        SetKind::Latencies(pairs) => add_latency(entry, &pairs[at], &mut counts),
                        SetKind::Errors => add_error(entry, &mut counts),
                    };
                }
            }
        }
        let added = counts.since(&self.last);
        self.last = counts;
        Ok(added)
    }
}

impl Drop for TraceSet {
    fn drop(&mut self) {
        // If the kernel refuses to remove a part of it now, the next run will remove it, as after a kill.
        let _ = remove_instance(&self.dir, &self.name);
    }
}

fn add_latency(entry: &HistEntry<'_>, pair: &EventPair, counts: &mut TracedIo) -> Option<()> {
    let (number, letters, bucket) = traced_latency(entry)?;
    let kind_of = if pair.is_bio {
        RequestKind::from_bio_rwbs
    } else {
        RequestKind::from_rwbs
    };
    let kind = kind_of(letters)?;
    // The trigger has no filter if there are too many devices.
    if pair.devices.is_empty() || pair.devices.contains(&number) {
        counts
            .latencies
            .entry(LatencyKey { number, kind })
            .or_default()
            .add(bucket);
    }
    Some(())
}

fn add_error(entry: &HistEntry<'_>, counts: &mut TracedIo) -> Option<()> {
    let number = device_number(entry.key("dev")?.parse().ok()?);
    // The kernel prints the negative number of an error as an unsigned one of 64 bits.
    let error = i32::try_from(entry.key("error")?.parse::<u64>().ok()?.cast_signed()).ok()?;
    let count = counts.errors.entry((number, error)).or_default();
    *count = count.saturating_add(entry.value("hitcount").unwrap_or(0));
    Some(())
}

/// Sets of one kind, one after the other.
pub(super) struct Alternation {
    owner: Owner,
    /// The number of sets built so far.
    built: u64,
    pub(super) active: TraceSet,
    /// The previous set, which still counts the requests that began before it was paused.
    draining: Option<TraceSet>,
}

impl Alternation {
    /// Starts the first set.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub(super) fn start(dir: &TraceDir, owner: Owner, kind: SetKind, size: u32) -> Result<Self> {
        let active = TraceSet::build(dir, kind.name(&owner, 0), kind, size)?;
        active.start()?;
        Ok(Self {
            owner,
            built: 1,
            active,
            draining: None,
        })
    }

    /// Replaces the set by one with maps of `size` entries. Adds the requests that the sets have counted to `traced`. A
    /// few requests that begin between the end of one set and the start of the other are not counted.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub(super) fn renew(&mut self, kind: SetKind, size: u32, traced: &mut TracedIo) -> Result<()> {
        self.collect(traced)?;
        self.draining = None;
        let name = kind.name(&self.owner, self.built);
        self.built += 1;
        let set = TraceSet::build(&self.active.dir, name, kind, size)?;
        self.active.pause()?;
        set.start()?;
        self.draining = Some(std::mem::replace(&mut self.active, set));
        Ok(())
    }

    /// Adds the requests that were counted since the last call.
    ///
    /// # Errors
    /// If the histograms cannot be read.
    pub(super) fn collect(&mut self, traced: &mut TracedIo) -> Result<()> {
        for set in self.draining.iter_mut().chain([&mut self.active]) {
            traced.extend(&set.read()?);
        }
        Ok(())
    }
}

/// The most devices that a filter names. With more, all are traced.
const MAX_FILTER_DEVICES: usize = 64;
/// The entries of a histogram of latencies.
const LATENCY_MAP_SIZE: u32 = 8192;

/// The ranges of latencies that the histograms cover, by their starts and the widths of their buckets in nanoseconds. Each
/// bucket is at most 2% as wide as the smallest latency of its range, from 10 µs on.
const RANGES: [[u64; 2]; 4] = [
    [0, 200],
    [320_000, 6_400],
    [10_240_000, 204_800],
    [327_680_000, 6_553_600],
];

/// Two tracepoints in the life of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct EventPair {
    /// The bios of devices that pass them on to others, such as those of device-mapper; if false, the requests of devices
    /// that make them, from their issue to the driver to their completion.
    pub(super) is_bio: bool,
    /// The devices that are traced; all if empty.
    pub(super) devices: Vec<DeviceNumber>,
}

impl EventPair {
    /// The two tracepoints, in the system `block`.
    pub(super) fn events(&self) -> [&'static str; 2] {
        if self.is_bio {
            ["block_bio_queue", "block_bio_complete"]
        } else {
            ["block_rq_issue", "block_rq_complete"]
        }
    }

    /// The name of this pair, unique within the process.
    fn tag(&self) -> &'static str {
        if self.is_bio { "bio" } else { "request" }
    }

    /// Returns the definition of the synthetic event that carries the latency of a request.
    fn synthetic_event(&self, owner: &str, format: &str) -> String {
        let length = letters_length(format);
        format!(
            "{owner}_{} u32 dev; u64 lat; char rwbs[{length}]",
            self.tag()
        )
    }

    /// Returns the name of that event's file in an instance.
    fn synthetic_file(&self, owner: &str, file: &str) -> String {
        format!("events/synthetic/{owner}_{}/{file}", self.tag())
    }

    /// Returns the trigger that saves the time at the first tracepoint. It excludes flushes: a flush has no sector, but the
    /// kernel reports sector 0 at its first tracepoint, so that a request for that sector would get its start time. Bios
    /// keep their sectors.
    fn start_trigger(&self, owner: &str, size: u32) -> String {
        let of_devices = device_filter(&self.devices);
        let filter = if self.is_bio {
            of_devices
        } else {
            and_filter(&of_devices, "nr_sector > 0")
        };
        let tag = self.tag();
        format!(
            "hist:keys=dev,sector:{owner}_{tag}_ts=common_timestamp:size={size}:clock=mono:pause{filter}"
        )
    }

    /// Returns the trigger that computes the latency at the second tracepoint.
    fn end_trigger(&self, owner: &str, size: u32) -> String {
        let name = format!("{owner}_{}", self.tag());
        let filter = device_filter(&self.devices);
        format!(
            "hist:keys=dev,sector:{name}_lat=common_timestamp-${name}_ts:size={size}:clock=mono\
             :onmatch(block.{}).trace({name},dev,${name}_lat,rwbs){filter}",
            self.events()[0]
        )
    }
}

/// Returns the triggers of the histograms of a synthetic event. A kernel without `.buckets`, before 5.14, has only
/// powers of two; the mean latency of each bucket is exact in both.
fn latency_triggers(has_buckets: bool) -> Vec<String> {
    if !has_buckets {
        return vec![latency_trigger("log2", "")];
    }
    let mut triggers = Vec::new();
    for (at, [start_ns, bucket_ns]) in RANGES.iter().enumerate() {
        let mut conditions = Vec::new();
        if at > 0 {
            conditions.push(format!("lat >= {start_ns}"));
        }
        if let Some([next_ns, _]) = RANGES.get(at + 1) {
            conditions.push(format!("lat < {next_ns}"));
        }
        triggers.push(latency_trigger(
            &format!("buckets={bucket_ns}"),
            &format!(" if {}", conditions.join(" && ")),
        ));
    }
    triggers
}

fn latency_trigger(modifier: &str, filter: &str) -> String {
    format!("hist:keys=dev,rwbs,lat.{modifier}:vals=hitcount,lat:size={LATENCY_MAP_SIZE}{filter}")
}

/// Returns an entry of such a histogram: the device, the letters of the kind of request, and the bucket. `None` if the
/// entry is of another form.
fn traced_latency<'a>(entry: &HistEntry<'a>) -> Option<(DeviceNumber, &'a str, LatencyBucket)> {
    let number = device_number(entry.key("dev")?.parse().ok()?);
    let range = key_range(entry.key("lat")?)?;
    let bucket = LatencyBucket {
        lower_ns: *range.start(),
        upper_ns: *range.end(),
        count: entry.value("hitcount").unwrap_or(0),
        sum_ns: entry.value("lat").unwrap_or(0),
    };
    Some((number, entry.key("rwbs")?, bucket))
}

/// Returns the filter of a trigger; empty for all devices.
pub(super) fn device_filter(devices: &[DeviceNumber]) -> String {
    if devices.is_empty() || devices.len() > MAX_FILTER_DEVICES {
        return String::new();
    }
    let conditions: Vec<String> = devices
        .iter()
        .map(|number| format!("dev == {}", kernel_number(*number)))
        .collect();
    format!(" if {}", conditions.join(" || "))
}

/// Returns the filter with one more condition.
fn and_filter(filter: &str, condition: &str) -> String {
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
fn device_number(number: u32) -> DeviceNumber {
    (number >> MINOR_BITS, number & ((1 << MINOR_BITS) - 1))
}

/// Returns the length of the letters of a request in an event's `format` file. It differs between versions.
fn letters_length(format: &str) -> u32 {
    const USUAL: u32 = 8;
    let Some((_, after)) = format.split_once("field:char rwbs[") else {
        return USUAL;
    };
    let (length, _) = after.split_once(']').unwrap_or_default();
    length.parse().unwrap_or(USUAL)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_number_of_an_error_is_negative() {
        let text = "# trigger info: hist:keys=dev,error [active]\n\n\
                    { dev:    8388608, error: 18446744073709551611 } hitcount:          3\n\
                    { dev:    8388624, error: 18446744073709551506 } hitcount:          1\n";
        let mut counts = TracedIo::default();
        for entry in parse_hist(text).iter().flat_map(|section| &section.entries) {
            add_error(entry, &mut counts).unwrap();
        }
        assert_eq!(
            counts.errors,
            BTreeMap::from([(((8, 0), -5), 3), (((8, 16), -110), 1)])
        );
    }
}

#[cfg(test)]
mod event_pair_tests {
    use super::*;

    #[test]
    fn a_bucket_is_at_most_two_percent_wide_from_ten_microseconds_on() {
        for [start_ns, bucket_ns] in RANGES {
            let smallest = start_ns.max(10_000);
            assert!(bucket_ns * 50 <= smallest, "{start_ns}");
            // The kernel's buckets start at 0.
            assert_eq!(start_ns % bucket_ns, 0, "{start_ns}");
        }
    }

    #[test]
    fn every_latency_is_in_one_histogram() {
        let triggers = latency_triggers(true);
        let filters: Vec<&str> = triggers
            .iter()
            .map(|trigger| trigger.split_once(" if ").unwrap().1)
            .collect();
        let expected = [
            "lat < 320000",
            "lat >= 320000 && lat < 10240000",
            "lat >= 10240000 && lat < 327680000",
            "lat >= 327680000",
        ];
        assert_eq!(filters, expected);
        assert_eq!(
            latency_triggers(false),
            ["hist:keys=dev,rwbs,lat.log2:vals=hitcount,lat:size=8192"]
        );
    }

    #[test]
    fn device_numbers_are_those_of_the_kernel() {
        // The device dm-0 of a guest, 253:0.
        assert_eq!(
            (kernel_number((253, 0)), device_number(265_289_728)),
            (265_289_728, (253, 0))
        );
        assert_eq!(
            device_filter(&[(8, 0), (259, 3)]),
            " if dev == 8388608 || dev == 271581187"
        );
        assert_eq!(device_filter(&[(8, 0); MAX_FILTER_DEVICES + 1]), "");
    }

    #[test]
    fn the_synthetic_event_has_the_letters_of_the_kernel() {
        let pair = EventPair {
            is_bio: false,
            devices: Vec::new(),
        };
        let format =
            "\tfield:dev_t dev;\toffset:8;\n\tfield:char rwbs[10];\toffset:32;\tsize:10;\n";
        assert_eq!(
            pair.synthetic_event("me", format),
            "me_request u32 dev; u64 lat; char rwbs[10]"
        );
        assert_eq!(letters_length(""), 8);
    }

    #[test]
    fn the_triggers_of_a_pair_belong_together() {
        let pair = EventPair {
            is_bio: true,
            devices: vec![(253, 0)],
        };
        assert_eq!(
            pair.start_trigger("me", 512),
            "hist:keys=dev,sector:me_bio_ts=common_timestamp:size=512:clock=mono:pause if dev == 265289728"
        );
        assert_eq!(
            pair.end_trigger("me", 512),
            "hist:keys=dev,sector:me_bio_lat=common_timestamp-$me_bio_ts:size=512:clock=mono\
             :onmatch(block.block_bio_queue).trace(me_bio,dev,$me_bio_lat,rwbs) if dev == 265289728"
        );
        let requests = |devices| {
            EventPair {
                is_bio: false,
                devices,
            }
            .start_trigger("me", 512)
        };
        let start = "hist:keys=dev,sector:me_request_ts=common_timestamp:size=512:clock=mono:pause";
        assert_eq!(requests(Vec::new()), format!("{start} if nr_sector > 0"));
        assert_eq!(
            requests(vec![(8, 0), (8, 16)]),
            format!("{start} if (dev == 8388608 || dev == 8388624) && nr_sector > 0")
        );
    }
}
