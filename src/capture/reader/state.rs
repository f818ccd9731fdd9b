//! The state of a reader: facts about the capture beside its samples, the device lines of a sample, the position, and the
//! segments between the points where time breaks, which no interval spans.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::baselines::RecordedBaseline;
use crate::capture::CaptureWarning;
use crate::capture::annotation::RecordingHeader;
use crate::capture::diskstats_line::{LineError, has_lost_columns, parse_line};
use crate::capture::normal::time_form::TimeForm;
use crate::capture::{
    MAX_BASELINE_NAME_BYTES, MAX_BASELINES, MAX_DEVICES_PER_SAMPLE, MAX_SAMPLE_BYTES,
    NamesInSample, slot,
};
use crate::counters::{Columns, Counters, Device, Sample, growth_u32};
use crate::topology::{Node, Topology};
use crate::units::SampleTime;

/// What is known of a capture so far.
#[derive(Debug, Default)]
pub struct CaptureState {
    /// The header of the recording that contains the last sample; `None` for any other capture.
    pub header: Option<Arc<RecordingHeader>>,
    /// The number of headers so far: a recording repeats its header when its devices change.
    pub header_count: u64,
    /// True if the capture was found to end within a sample or within its compressed data.
    pub is_truncated: bool,
    /// True if the stream so far is not text and has no `TS` line.
    pub is_not_text: bool,
    /// True if devices were found whose time is not known.
    pub lacks_times: bool,
    /// The number of a line that shows why there are no samples, and what it is.
    pub look_alike: Option<(u64, &'static str)>,
    /// True if the samples are rebuilt from a log.
    pub is_log: bool,
    /// True if samples begin without `TS` lines.
    pub(super) has_foreign_times: bool,
    /// The warnings that were not taken yet.
    pub warnings: Vec<CaptureWarning>,
    /// Devices of the header from further lines, not yet part of its topology.
    pub(super) more_devices: Vec<Node>,
}

impl CaptureState {
    /// Begins or continues a recording. Returns the reason if no interval may span this point: the recording is from
    /// another host or another boot.
    pub(super) fn begin_recording(&mut self, header: RecordingHeader) -> Option<&'static str> {
        self.more_devices.clear();
        self.header_count += 1;
        let header = Arc::new(header);
        let previous = self.header.replace(Arc::clone(&header))?;
        let differ = |of: fn(&RecordingHeader) -> &Option<String>| {
            of(&previous).is_some() && of(&header).is_some() && of(&previous) != of(&header)
        };
        if differ(|header| &header.host) {
            return Some("recording continues on another host; no interval spans this point");
        }
        differ(|header| &header.boot_id)
            .then_some("host was rebooted; no interval spans this point")
    }

    /// Adds devices to the current recording.
    pub(super) fn append_devices(&mut self, nodes: Vec<Node>) {
        let Some(header) = &self.header else { return };
        let count = header.topology.nodes().len() + self.more_devices.len();
        self.more_devices.extend(
            nodes
                .into_iter()
                .take(MAX_DEVICES_PER_SAMPLE.saturating_sub(count)),
        );
    }

    /// Adds baselines to the current recording.
    pub(super) fn append_baselines(&mut self, baselines: Vec<RecordedBaseline>) {
        let Some(header) = &mut self.header else {
            return;
        };
        for baseline in baselines {
            let is_named = baseline
                .device
                .as_ref()
                .is_none_or(|name| name.len() <= MAX_BASELINE_NAME_BYTES);
            if is_named && header.baselines.iter().len() < MAX_BASELINES {
                Arc::make_mut(header).baselines.insert(baseline);
            }
        }
    }

    /// Builds the topology from all devices. Called once per sample, because this is slow.
    pub(super) fn complete_topology(&mut self) {
        if let Some(header) = self
            .header
            .as_mut()
            .filter(|_| !self.more_devices.is_empty())
        {
            let nodes = [header.topology.nodes(), &self.more_devices].concat();
            Arc::make_mut(header).topology = Topology::new(nodes);
            self.more_devices.clear();
        }
    }
}

/// Numbers the segments of a capture.
#[derive(Debug, Default)]
pub(super) struct SegmentTracker {
    previous: Option<SampleTime>,
    segment: u64,
}

impl SegmentTracker {
    /// Returns the segment of the next sample, taken at `at`, and, if a new segment begins, the reason.
    ///
    /// The wall clock is used only if no monotonic time is known; with a monotonic time, setting the wall clock back
    /// does no harm.
    pub(super) fn assign(&mut self, at: SampleTime) -> (u64, Option<String>) {
        let clock_error = self.previous.and_then(|last| {
            match (last.monotonic, at.monotonic, last.wall, at.wall) {
                (Some(previous), Some(now), _, _) => {
                    (now <= previous).then(|| "monotonic clock did not advance".to_owned())
                }
                (_, _, Some(previous), Some(now)) if now == previous => {
                    Some(format!("clock did not advance at {now}"))
                }
                (_, _, Some(previous), Some(now)) if now < previous => {
                    Some(format!("clock went back to {now}"))
                }
                _ => None,
            }
        });
        self.segment += u64::from(clock_error.is_some());
        self.previous = Some(at);
        (
            self.segment,
            clock_error.map(|error| error + "; no interval spans this point"),
        )
    }

    /// Starts a new segment regardless of the time of the next sample.
    pub(super) fn start_segment(&mut self) {
        self.segment += 1;
        self.previous = None;
    }
}

/// The reader's position in a capture.
pub(super) enum Position {
    /// Before the first `TS` line.
    BeforeFirstTimestamp,
    /// After the last device of a sample that was handed out before the next began.
    Complete,
    /// After the end mark of a sample, or at the beginning of a recording.
    BetweenSamples,
    /// In lines without a timestamp, which are skipped: after an invalid `TS` line, or without any `TS` line.
    Untimed,
    InSample(OpenSample),
}

impl Position {
    pub(super) fn is_in_sample(&self) -> bool {
        matches!(self, Self::InSample(_))
    }
}

/// A sample that is being read, except for its devices.
#[derive(Default)]
pub(super) struct OpenSample {
    pub(super) wall: Timestamp,
    /// The time of day in the `TS` line; `None` if it has none.
    pub(super) written_time: Option<String>,
    /// The number of the `TS` line.
    pub(super) line: u64,
    /// The segment; `None` in a recording, where it depends on the monotonic time at the end of the sample.
    pub(super) segment: Option<u64>,
    pub(super) monotonic: Option<Duration>,
    pub(super) uptime: Option<u64>,
    /// It does not begin with a `TS` line.
    pub(super) is_foreign: bool,
    /// The form of its time, if it has one then, and whether the times are spread evenly.
    pub(super) form: Option<(TimeForm, bool)>,
    /// A device line lacks its end.
    pub(super) is_truncated: bool,
    /// An annotation, perhaps the end mark, is invalid.
    pub(super) has_invalid_annotation: bool,
}

impl OpenSample {
    pub(super) fn new(wall: Timestamp, written_time: Option<String>, line: u64) -> Self {
        Self {
            wall,
            written_time,
            line,
            ..Self::default()
        }
    }

    /// Returns the time of the sample, as far as it is known.
    pub(super) fn time(&self) -> SampleTime {
        SampleTime {
            monotonic: self.monotonic,
            wall: Some(self.wall),
            uptime: self.uptime,
        }
    }
}

/// The devices of the sample that is being read.
#[derive(Default)]
pub(super) struct SampleDevices {
    count: usize,
    line_bytes: usize,
    has_too_many: bool,
    /// The last line seems to have lost its end, or the devices are those of two samples.
    pub(super) are_damaged: bool,
    names: NamesInSample,
    /// The lines with fewer columns than before.
    with_fewer_columns: usize,
    /// The first device has occurred once more, and not just after its line.
    has_begun_again: bool,
}

impl SampleDevices {
    pub(super) fn clear(&mut self) {
        let mut names = std::mem::take(&mut self.names);
        names.clear();
        *self = Self {
            names,
            ..Self::default()
        };
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Returns whether the sample has as many devices as the `copy` before it, and the same one last.
    pub(super) fn are(&self, copy: &(usize, Option<String>), sample: &Sample) -> bool {
        let (count, last) = copy;
        self.count == *count
            && self.count > 0
            && last
                .as_ref()
                .is_none_or(|last| sample.devices[self.count - 1].name == *last)
    }

    /// Returns the number of devices that were added, and starts counting from zero.
    pub(super) fn take_count(&mut self) -> usize {
        std::mem::take(&mut self.count)
    }

    /// Returns a warning if the sample lacks the devices that the `previous` one lists last, as if the capture were cut
    /// off between two lines; `devices` are those of the sample. It looks the same if the last devices were removed.
    pub(super) fn find_missing_end(&self, previous: &Sample, devices: &[Device]) -> Option<String> {
        let devices = &devices[..self.count];
        let present: HashSet<&str> = devices.iter().map(|device| device.name.as_str()).collect();
        let expected = previous.devices.len();
        let missing = match devices.last() {
            None => expected,
            Some(last) => {
                let position = previous
                    .devices
                    .iter()
                    .position(|device| device.name == last.name)?;
                let following = &previous.devices[position + 1..];
                if following
                    .iter()
                    .any(|device| present.contains(device.name.as_str()))
                {
                    return None;
                }
                following.len()
            }
        };
        let lack = if missing == expected {
            "has no devices".to_owned()
        } else {
            format!("lacks {missing} of {expected} devices at its end")
        };
        (missing > 0).then(|| format!("last sample {lack}, as if truncated; skipped"))
    }

    /// Adds the device of a line to `devices`. If the line is not `is_complete`, it may have lost its end and is
    /// compared with the `previous` sample. A device that the sample has already is left out, unless `keeps_repeated`. Returns
    /// whether the line has its end.
    ///
    /// # Errors
    /// A warning if the line is not valid, or if its device is the first that exceeds the limits; further ones are
    /// skipped without a warning.
    pub(super) fn read(
        &mut self,
        line: &[u8],
        ended: bool,
        is_complete: bool,
        keeps_repeated: bool,
        previous: &Sample,
        devices: &mut Vec<Device>,
    ) -> Result<bool, LineError> {
        self.line_bytes += line.len();
        if self.count == MAX_DEVICES_PER_SAMPLE || self.line_bytes > MAX_SAMPLE_BYTES {
            let is_first = !std::mem::replace(&mut self.has_too_many, true);
            return if is_first {
                Err(LineError::too_many_devices())
            } else {
                Ok(true)
            };
        }
        if !ended && has_lost_columns(line) {
            return Ok(false);
        }
        let index = self.count;
        match parse_line(line, slot(devices, index)) {
            Ok(()) => {
                self.has_begun_again |= index > 1 && devices[index].name == devices[0].name;
                let before = previous.devices.get(index);
                if !keeps_repeated && !self.names.add(&devices[..=index], before)? {
                    return Ok(true);
                }
                self.count += 1;
                let before = before.filter(|before| before.name == devices[index].name);
                let counters = &devices[index].counters;
                let has_fewer = before.is_some_and(|one| counters.columns < one.counters.columns);
                self.with_fewer_columns += usize::from(has_fewer);
                // Another kernel prints fewer columns in all lines.
                let is_cut = has_fewer && self.with_fewer_columns <= index;
                self.are_damaged = self.has_begun_again
                    || is_cut
                    || before.is_some_and(|before| has_other_end(counters, &before.counters));
                Ok(is_complete || !looks_truncated(&devices[index], &devices[..index], previous))
            }
            Err(_) if line.trim_ascii().is_empty() => Ok(is_complete),
            Err(error) if !is_complete && !error.skipped.is_empty() => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// Returns whether a line without a newline has lost its end: it has fewer columns than before (or, for a new device,
/// than its neighbors), or its last number is smaller than before, like a number that has lost digits.
fn looks_truncated(device: &Device, neighbors: &[Device], previous: &Sample) -> bool {
    let counters = &device.counters;
    match previous.device(&device.name) {
        Some(Device {
            counters: previous, ..
        }) => counters.columns < previous.columns || last_number(counters) < last_number(previous),
        None => neighbors
            .iter()
            .any(|other| other.counters.columns > counters.columns),
    }
}

/// Returns whether the end of a line is lost or joined with the next line, although a newline ends it: its last number, of
/// milliseconds, fell or grew by 11 days more than those of reads and writes.
fn has_other_end(counters: &Counters, before: &Counters) -> bool {
    const MAX_GROWTH_MS: u64 = 1_000_000_000;
    let grows = counters.reads.ios >= before.reads.ios
        && counters.writes.ios >= before.writes.ios
        && counters.busy_ms >= before.busy_ms;
    let of_requests = growth_u32(before.reads.ms, counters.reads.ms)
        + growth_u32(before.writes.ms, counters.writes.ms);
    let (last, last_before) = (last_number(counters), last_number(before));
    let fits = last <= u64::from(u32::MAX);
    let last_growth = if fits {
        growth_u32(last_before, last)
    } else {
        last.abs_diff(last_before)
    };
    let is_other = last_growth > MAX_GROWTH_MS + of_requests;
    let is_like_before = counters.columns == before.columns;
    grows && is_like_before && counters.columns > Columns::Partition && is_other
}

/// Returns the number in the last column that the kernel printed.
fn last_number(counters: &Counters) -> u64 {
    match counters.columns {
        Columns::Partition => counters.writes.sectors,
        Columns::Basic => counters.weighted_ms,
        Columns::Discards => counters.discards.ms,
        Columns::Flushes => counters.flush_ms,
    }
}

/// A gap is as many usual intervals, and longer than an hour.
const MIN_GAP_INTERVALS: f64 = 100.0;
const MIN_GAP_S: f64 = 3600.0;
/// Fewer devices may have been replaced one by one.
const MIN_RESET_DEVICES: usize = 2;

#[derive(Debug, Default)]
pub(super) struct Continuity {
    /// The number of breaks so far.
    pub(super) breaks: u64,
    latest: Option<Timestamp>,
    /// The latest two intervals in seconds.
    latest_s: [f64; 2],
}

impl Continuity {
    /// Takes the next sample. Returns the warning if no interval may span the time since the one before.
    pub(super) fn observe(&mut self, previous: &Sample, sample: &Sample) -> Option<String> {
        let time = sample.at.wall?;
        let interval_s = time
            .duration_since(self.latest.replace(time)?)
            .as_secs_f64();
        let usual_s = self.latest_s[0].min(self.latest_s[1]);
        let is_gap =
            usual_s > 0.0 && interval_s > MIN_GAP_S && interval_s > MIN_GAP_INTERVALS * usual_s;
        let reason = if is_gap {
            Some("a gap of more than 100 intervals")
        } else {
            reason_of_devices(previous, sample, interval_s)
        };
        if reason.is_none() && interval_s > 0.0 {
            self.latest_s = [self.latest_s[1], interval_s];
        }
        self.breaks += u64::from(reason.is_some());
        reason.map(|reason| {
            format!("{reason} at {time}: another boot or host begins; no interval spans this point")
        })
    }
}

fn reason_of_devices(previous: &Sample, sample: &Sample, interval_s: f64) -> Option<&'static str> {
    // The devices are nearly always the same, in the same order.
    let is_at_place = previous
        .devices
        .iter()
        .zip(&sample.devices)
        .all(|(one, other)| one.name == other.name);
    let pairs: Vec<_> = if is_at_place {
        previous.devices.iter().zip(&sample.devices).collect()
    } else {
        let before: HashMap<&str, &Device> = previous
            .devices
            .iter()
            .map(|device| (device.name.as_str(), device))
            .collect();
        sample
            .devices
            .iter()
            .filter_map(|device| Some((*before.get(device.name.as_str())?, device)))
            .collect()
    };
    if pairs.is_empty() && !previous.devices.is_empty() && !sample.devices.is_empty() {
        return Some("other devices");
    }
    // Devices that were never used are the same on any host.
    let is_used = |device: &Device| device.counters.reads.ios > 0 || device.counters.writes.ios > 0;
    let (mut going_on, mut others, mut has_any_fallen) = (0, 0, false);
    for (before, after) in pairs
        .into_iter()
        .filter(|(before, after)| is_used(before) || is_used(after))
    {
        if can_follow(&before.counters, &after.counters, interval_s) {
            going_on += 1;
        } else {
            others += 1;
            has_any_fallen |= has_fallen(&before.counters, &after.counters);
        }
    }
    // Where a third goes on, devices were replaced.
    let is_other = has_any_fallen && others >= MIN_RESET_DEVICES && others > 2 * going_on;
    is_other.then_some("counters that begin again")
}

fn has_fallen(before: &Counters, after: &Counters) -> bool {
    after.reads.ios < before.reads.ios && after.reads.sectors < before.reads.sectors
        || after.writes.ios < before.writes.ios && after.writes.sectors < before.writes.sectors
}

/// Returns whether the counters can be those of the same device after this time, in which it cannot be busy for much longer.
/// Old kernels count some time twice, and 7-column lines have no times.
fn can_follow(before: &Counters, after: &Counters, interval_s: f64) -> bool {
    let busy_ms = growth_u32(before.busy_ms, after.busy_ms);
    !has_fallen(before, after) && busy_ms as f64 <= 10_000.0 * interval_s.max(1.0)
}
