//! The latencies of flushes.
//!
//! A flush has no sector by which its end could be matched with its start (the kernel reports 0 at `block_rq_issue` and
//! -1 at `block_rq_complete`), so each end is matched with the last start. That is wrong if two flushes are under way
//! at once, as on a disk with several hardware queues. The triggers therefore also count events that show this, and
//! [`FlushWatch`] leaves such latencies out. The maps have an entry for each disk, so that they never fill up and this
//! set is never renewed.

use std::collections::BTreeMap;
use std::time::Duration;

use super::error::TraceError;
use super::event_pair::{
    and_filter, device_filter, device_number, has_buckets, latency_triggers, letters_length, traced_latency,
};
use super::flush_watch::{DeviceFlushes, FlushWatch};
use super::instance::Instance;
use super::owner::Owner;
use super::trace_dir::TraceDir;
use crate::capture::trace_hist::{HistEntry, HistSection, parse_hist};
use crate::counters::{DeviceNumber, LatencyHistogram, LatencyKey, LatencySpan, RequestKind, TracedIo};

/// The entries of a map of devices.
const MAP_SIZE: u32 = 1 << 12;
/// The shortest time between two searches for a device without a flush under way, each of which takes up to a
/// millisecond.
const POLL: Duration = Duration::from_millis(200);

const ISSUE: &str = "block/block_rq_issue";
const COMPLETE: &str = "block/block_rq_complete";
const REQUEUE: &str = "block/block_rq_requeue";
const BIO: &str = "block/block_bio_queue";

/// The triggers that trace flushes, and the conclusions from their counts.
pub(super) struct Flushes {
    instance: Instance,
    /// The devices that are traced; all if empty.
    devices: Vec<DeviceNumber>,
    watch: FlushWatch,
    /// The monotonic time of the last search for an idle device.
    polled_at: Duration,
    /// The number of bios of each device and partition that only flush.
    empty_bios: BTreeMap<DeviceNumber, u64>,
    text: Vec<u8>,
}

impl Flushes {
    /// Starts tracing the flushes of these devices, or of all devices if the list is empty. `serial` distinguishes this
    /// set from others of the same process.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub(super) fn start(
        dir: &TraceDir,
        owner: Owner,
        serial: u64,
        devices: &[DeviceNumber],
    ) -> Result<Self, TraceError> {
        let instance = Instance::make(dir, owner.name(&format!("f{serial}")))?;
        let name = instance.name();
        let length = letters_length(&dir.read(&format!("events/{COMPLETE}/format")));
        instance.define_event(&format!("{name}_begin u32 dev; u64 at"))?;
        instance.define_event(&format!("{name}_flush u32 dev; u64 lat; char rwbs[{length}]"))?;
        for (event, trigger) in triggers(name, devices, has_buckets(dir)) {
            instance.write(&format!("events/{event}/trigger"), &trigger)?;
        }
        Ok(Self {
            instance,
            devices: devices.to_vec(),
            watch: FlushWatch::default(),
            polled_at: Duration::ZERO,
            empty_bios: BTreeMap::new(),
            text: Vec::new(),
        })
    }

    /// Looks for a time at which no flush is under way, for devices that need one; `now` is a monotonic time.
    ///
    /// # Errors
    /// If the histograms cannot be read.
    pub(super) fn poll(&mut self, now: Duration) -> Result<(), TraceError> {
        if self.watch.seeks_idle_device() && now.saturating_sub(self.polled_at) >= POLL {
            self.polled_at = now;
            let counts = self.read_counts()?;
            self.watch.observe(&counts);
        }
        Ok(())
    }

    /// Adds the flushes that ended since the last call, if their latencies are certain. Returns the number of bios
    /// submitted since then that only flush, by device and partition.
    ///
    /// # Errors
    /// If the histograms cannot be read.
    pub(super) fn collect(
        &mut self,
        traced: &mut TracedIo,
    ) -> Result<BTreeMap<DeviceNumber, u64>, TraceError> {
        let latencies = self.read_latencies()?;
        let counts = self.read_counts()?;
        for (number, latencies) in self.watch.take_certain(latencies, &counts) {
            let key = LatencyKey { number, kind: RequestKind::Flush, span: LatencySpan::Device };
            traced.latencies.entry(key).or_default().merge(&latencies);
        }
        self.read_empty_bios()
    }

    fn read_latencies(&mut self) -> Result<BTreeMap<DeviceNumber, LatencyHistogram>, TraceError> {
        let mut latencies: BTreeMap<DeviceNumber, LatencyHistogram> = BTreeMap::new();
        let event = format!("synthetic/{}_flush", self.instance.name());
        self.read_sections(&event, |section| {
            for (number, _, bucket) in section.entries.iter().filter_map(traced_latency) {
                latencies.entry(number).or_default().add(bucket);
            }
        })?;
        // The trigger has no filter if there are too many devices.
        latencies.retain(|number, _| self.devices.is_empty() || self.devices.contains(number));
        Ok(latencies)
    }

    /// Reads the counts of each device, in the order of the fields of [`DeviceFlushes`].
    fn read_counts(&mut self) -> Result<BTreeMap<DeviceNumber, DeviceFlushes>, TraceError> {
        let begin = format!("synthetic/{}_begin", self.instance.name());
        let mut counts: BTreeMap<DeviceNumber, DeviceFlushes> = BTreeMap::new();
        let mut dropped = 0;
        for event in [REQUEUE, COMPLETE, ISSUE, &begin] {
            self.read_sections(event, |section| {
                dropped += section.dropped;
                let count = count_of(event, section.trigger);
                for (number, hits) in section.entries.iter().filter_map(hits_of_device) {
                    *count(counts.entry(number).or_default()) += hits;
                }
            })?;
        }
        counts.retain(|number, _| self.devices.is_empty() || self.devices.contains(number));
        // Flushes that a full map did not count may be those of any device.
        counts.values_mut().for_each(|device| device.overlapped += dropped);
        Ok(counts)
    }

    fn read_empty_bios(&mut self) -> Result<BTreeMap<DeviceNumber, u64>, TraceError> {
        let mut counts = BTreeMap::new();
        self.read_sections(BIO, |section| counts.extend(section.entries.iter().filter_map(hits_of_device)))?;
        let before = std::mem::replace(&mut self.empty_bios, counts);
        let added = self
            .empty_bios
            .iter()
            .map(|(number, count)| (*number, count.saturating_sub(before.get(number).copied().unwrap_or(0))));
        Ok(added.filter(|(_, count)| *count > 0).collect())
    }

    fn read_sections(
        &mut self,
        event: &str,
        mut take: impl FnMut(&HistSection<'_>),
    ) -> Result<(), TraceError> {
        self.instance.read_into(&format!("events/{event}/hist"), &mut self.text)?;
        parse_hist(&String::from_utf8_lossy(&self.text)).iter().for_each(&mut take);
        Ok(())
    }
}

/// Returns the triggers with their events, in the order in which they are to be added. For an event, the kernel runs
/// them in this order, too.
fn triggers(name: &str, devices: &[DeviceNumber], has_buckets: bool) -> Vec<(String, String)> {
    // The kernel evaluates the text comparison only for the few requests without sectors.
    let filter = and_filter(&device_filter(devices), "nr_sector == 0 && rwbs ~ \"FF*\"");
    let by_device = |variables: &str| format!("hist:keys=dev:{variables}size={MAP_SIZE}:clock=mono");
    // Set at the start of a flush; the first trigger that reads it clears it.
    let open = format!("{name}_open");
    let begun = format!("synthetic.{name}_begin");
    let end = format!(
        "{}:onmatch({begun}).trace({name}_flush,dev,${name}_lat,rwbs)",
        by_device(&format!("{name}_lat=common_timestamp-${open}:"))
    );
    let begin = format!(
        "{}:onmatch({}).trace({name}_begin,dev,${name}_at)",
        by_device(&format!("{name}_at=common_timestamp:")),
        ISSUE.replace('/', ".")
    );
    let mut triggers = vec![(format!("synthetic/{name}_begin"), by_device(&format!("{open}=at:")))];
    for trigger in latency_triggers(has_buckets) {
        triggers.push((format!("synthetic/{name}_flush"), trigger));
    }
    triggers.extend([
        (COMPLETE.to_owned(), by_device("") + &filter),
        (COMPLETE.to_owned(), end + &filter),
        (REQUEUE.to_owned(), by_device("") + &filter),
        // For all devices, because bios of partitions have other device numbers.
        (BIO.to_owned(), by_device("") + " if nr_sector == 0 && rwbs ~ \"FW*\""),
        // Counts the flushes that begin while another one is under way.
        (ISSUE.to_owned(), by_device(&format!("{name}_gap=common_timestamp-${open}:")) + &filter),
        // Added last, so that the end of each flush that begins from now on is counted.
        (ISSUE.to_owned(), begin + &filter),
    ]);
    triggers
}

/// Returns the field for the count of an event's trigger.
fn count_of(event: &str, trigger: &str) -> fn(&mut DeviceFlushes) -> &mut u64 {
    match event {
        REQUEUE => |device| &mut device.requeued,
        COMPLETE if trigger.contains("_lat=") => |device| &mut device.matched,
        COMPLETE => |device| &mut device.completed,
        ISSUE if trigger.contains("_gap=") => |device| &mut device.overlapped,
        ISSUE => |device| &mut device.issued,
        _ => |device| &mut device.begun,
    }
}

fn hits_of_device(entry: &HistEntry<'_>) -> Option<(DeviceNumber, u64)> {
    let number = device_number(entry.key("dev", None)?.parse().ok()?);
    Some((number, entry.value("hitcount")?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flush_is_checked_before_it_counts_as_under_way() {
        let found = triggers("me", &[(8, 0), (8, 16)], true);
        let of = |event: &str| -> Vec<&str> {
            let of_event = found.iter().filter(|(other, _)| other == event);
            of_event.map(|(_, trigger)| trigger.as_str()).collect()
        };
        let filter = "if (dev == 8388608 || dev == 8388624) && nr_sector == 0 && rwbs ~ \"FF*\"";
        assert_eq!(
            of(ISSUE),
            [
                format!("hist:keys=dev:me_gap=common_timestamp-$me_open:size=4096:clock=mono {filter}"),
                format!(
                    "hist:keys=dev:me_at=common_timestamp:size=4096:clock=mono\
                     :onmatch(block.block_rq_issue).trace(me_begin,dev,$me_at) {filter}"
                ),
            ]
        );
        assert_eq!(of("synthetic/me_begin"), ["hist:keys=dev:me_open=at:size=4096:clock=mono"]);
        assert_eq!(of("synthetic/me_flush").len(), 4);
        assert_eq!(found.last().unwrap().0, ISSUE);
        // The kernel prints a trigger almost as it was written.
        let mut device = DeviceFlushes::default();
        for (event, trigger) in
            found.iter().filter(|(event, _)| event != "synthetic/me_flush" && event != BIO)
        {
            *count_of(event, trigger)(&mut device) += 1;
        }
        let once =
            DeviceFlushes { requeued: 1, completed: 1, matched: 1, overlapped: 1, issued: 1, begun: 1 };
        assert_eq!(device, once);
    }
}
