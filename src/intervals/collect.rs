//! All intervals of a source, collected into the analysis of each device.

use std::collections::HashMap;

use anyhow::Result;

use super::device_interval::{DeviceActivity, DeviceInterval, DeviceState, IntervalRows};
use super::events::EventTracker;
use super::options::Detail;
use super::run_clock::RunClock;
use super::sample_source::OnWarning;
use super::series::LatencySeries;
use super::stream::{Intervals, NextInterval};
use crate::analysis::{DeviceAnalysis, HostReport, Observation, Settings, SinceBoot, Verdict};
use crate::metrics::Interval;
use crate::two_threads::in_two_threads;

/// The devices of all waiting intervals together, at most: a few megabytes.
const MAX_WAITING_ROWS: usize = 2048;
const MAX_WAITING_INTERVALS: usize = 64;
/// As many are worth the start of a thread.
const MIN_ROWS_FOR_THREAD: usize = 1024;

pub struct Collected {
    /// The selected devices in the order in which they appeared.
    pub devices: Vec<DeviceAnalysis>,
    /// The identity of each device that has one, by the kernel's name.
    pub identities: HashMap<String, String>,
    /// The host over all intervals.
    pub host: HostReport,
    /// The events of the selected devices according to the live verdicts.
    pub events: EventTracker,
    /// The latency of each device with I/O over time, by the kernel's name.
    pub latencies: HashMap<String, LatencySeries>,
    /// The wall clock over the intervals.
    pub clock: RunClock,
    /// The signal that ended the collection; `None` if the source ended.
    pub signal: Option<u8>,
}

/// The analysis of a device, and the intervals before it appeared.
struct DeviceEntry {
    analysis: DeviceAnalysis,
    intervals_before: u64,
    identity: Option<String>,
    /// The settings for that device; `None` until the topology was searched for its identity.
    settings: Option<Settings>,
    latency: LatencySeries,
    /// Its intervals that the analysis has not taken yet: each with its index and that of the row.
    waiting: Vec<(usize, usize)>,
}

/// An interval that the analyses have not taken yet.
struct WaitingInterval {
    rows: IntervalRows,
    /// Seconds of all intervals before it.
    run_s: f64,
    /// Seconds by the wall clock before it.
    begin_s: f64,
    /// The number of intervals before it.
    index: u64,
}

/// Feeds the analysis of each device. Several intervals wait until each device takes all of them at once: the analyses
/// of many devices do not fit into the caches of a CPU together, and a second CPU takes half of the devices.
#[derive(Default)]
pub(super) struct Collector {
    entries: Vec<DeviceEntry>,
    waiting: Vec<WaitingInterval>,
    waiting_rows: usize,
    by_name: HashMap<String, usize>,
    /// The number of intervals so far.
    intervals: u64,
    /// The wall clock over the intervals.
    clock: RunClock,
    /// The revision of the topology that identities are from.
    topology_revision: u64,
    /// True if the counters of some device at its first sample, or at the first after a reset, were not taken yet.
    lacks_history: bool,
    /// True if the analyses will be compared with those of another capture.
    with_blocks: bool,
    /// True to leave out intervals whose verdict shows a load.
    leaves_out_loads: bool,
}

/// Reads all intervals. `on_start` is called after the first sample, `on_interval` with each interval. If
/// the first sample of the running system lacks a requested device, no interval is read.
///
/// # Errors
/// When the source cannot be read.
pub fn collect(
    intervals: &mut Intervals<'_>,
    on_warning: OnWarning<'_>,
    on_start: &mut dyn FnMut(),
    on_interval: &mut dyn FnMut(&IntervalRows),
) -> Result<Collected> {
    let mut collector = Collector {
        with_blocks: intervals.tracker.detail == Detail::Comparison,
        ..Collector::default()
    };
    let mut host = HostReport::default();
    let mut signal = None;
    let has_sample = intervals.start(on_warning)?;
    if has_sample && !(intervals.is_live() && intervals.not_found().is_some()) {
        collector.add_devices(intervals);
        on_start();
        loop {
            collector.identify_devices(intervals);
            collector.take_histories(intervals);
            match intervals.next_with_preceding(on_warning)? {
                NextInterval::Rows(rows) => {
                    if !rows.header.is_preceding {
                        host.observe(&rows.header.host, rows.header.elapsed_s);
                        host.observe_nfs(&rows.header.nfs_waits);
                        on_interval(&rows);
                    }
                    collector.observe(rows);
                }
                NextInterval::Break => {
                    match intervals.is_before_range {
                        true => collector.note_preceding_gap(),
                        false => collector.note_gap(),
                    }
                    collector.add_devices(intervals);
                }
                NextInterval::End => break,
                NextInterval::Signal(number) => {
                    signal = Some(number);
                    break;
                }
            }
        }
    }
    collector.identify_devices(intervals);
    collector.settle();
    let identities = collector.identities();
    let clock = std::mem::take(&mut collector.clock);
    let latencies = collector.latencies();
    let events = intervals.take_events();
    Ok(Collected {
        devices: collector.finish(),
        identities,
        host,
        events,
        latencies,
        clock,
        signal,
    })
}

impl Collector {
    /// Creates a collector that leaves out intervals whose verdict shows a load.
    pub(super) fn of_unloaded() -> Self {
        Self {
            leaves_out_loads: true,
            ..Self::default()
        }
    }

    /// Adds the selected devices of the last sample that are new.
    pub(super) fn add_devices(&mut self, intervals: &Intervals<'_>) {
        self.settle();
        for (place, (name, counters)) in intervals.selected_devices().enumerate() {
            self.entry(place, name)
                .analysis
                .set_history(SinceBoot::from_counters(counters));
        }
    }

    /// Takes the counters of devices that appeared or were reset in the last interval.
    pub(super) fn take_histories(&mut self, intervals: &Intervals<'_>) {
        if std::mem::take(&mut self.lacks_history) {
            self.add_devices(intervals);
        }
    }

    /// The entry of a device, which is usually at the same index as in the last sample.
    fn entry(&mut self, place: usize, name: &str) -> &mut DeviceEntry {
        if self
            .entries
            .get(place)
            .is_some_and(|entry| entry.analysis.name() == name)
        {
            return &mut self.entries[place];
        }
        let index = self.by_name.get(name).copied().unwrap_or_else(|| {
            let analysis = DeviceAnalysis::new(name);
            let analysis = if self.with_blocks {
                analysis.with_blocks()
            } else {
                analysis
            };
            self.entries.push(DeviceEntry {
                analysis,
                intervals_before: self.intervals,
                identity: None,
                settings: None,
                latency: LatencySeries::default(),
                waiting: Vec::new(),
            });
            self.by_name.insert(name.to_owned(), self.entries.len() - 1);
            self.entries.len() - 1
        });
        &mut self.entries[index]
    }

    /// Learns the identities of the devices if the topology was read since the last call. A device whose identity
    /// changed is another one from now on.
    pub(super) fn identify_devices(&mut self, intervals: &Intervals<'_>) {
        if self.topology_revision == intervals.topology_revision {
            return;
        }
        self.topology_revision = intervals.topology_revision;
        self.settle();
        for entry in &mut self.entries {
            let name = entry.analysis.name();
            let (before, identity) = (
                entry.identity.as_deref(),
                intervals.topology().identity(name),
            );
            let is_other =
                before.is_some() && identity.is_some_and(|identity| before != Some(identity));
            // A following recording may hold another baseline of the same device. A device whose size grows stays the
            // same device.
            let is_changed = |settings: &Settings| {
                is_other
                    || *settings
                        != Settings {
                            device: settings.device,
                            ..intervals.settings(name, before)
                        }
            };
            let settings = intervals.settings(name, identity.or(before));
            if let Some(settings) = entry.settings.replace(settings).filter(is_changed) {
                entry.analysis.note_replacement(&settings);
                self.lacks_history = true;
            }
            if let Some(identity) = identity {
                entry.identity = Some(identity.to_owned());
            }
        }
    }

    /// Returns the identity of each device that has one.
    fn identities(&self) -> HashMap<String, String> {
        let identity =
            |entry: &DeviceEntry| Some((entry.analysis.name().to_owned(), entry.identity.clone()?));
        self.entries.iter().filter_map(identity).collect()
    }

    /// Returns the latency of each device that had I/O.
    fn latencies(&mut self) -> HashMap<String, LatencySeries> {
        let of = |entry: &mut DeviceEntry| {
            (
                entry.analysis.name().to_owned(),
                std::mem::take(&mut entry.latency),
            )
        };
        self.entries
            .iter_mut()
            .filter(|entry| !entry.latency.is_empty())
            .map(of)
            .collect()
    }

    /// Takes the devices of an interval.
    pub(super) fn observe(&mut self, rows: IntervalRows) {
        let header = &rows.header;
        if !header.is_preceding {
            self.clock.observe(header);
        }
        let run_s = (self.clock.end.run_s - header.elapsed_s).max(0.0);
        let begin_s = self.clock.elapsed_s(run_s);
        let (interval, index) = (self.waiting.len(), self.intervals);
        for (place, row) in rows.devices.iter().enumerate() {
            let is_continued = matches!(
                row.state,
                DeviceState::Active(_) | DeviceState::AccountingOff(_)
            );
            self.lacks_history |= !is_continued;
            self.entry(place, row.device())
                .waiting
                .push((interval, place));
        }
        self.intervals += u64::from(!header.is_preceding);
        self.waiting_rows += rows.devices.len();
        self.waiting.push(WaitingInterval {
            rows,
            run_s,
            begin_s,
            index,
        });
        if self.waiting_rows >= MAX_WAITING_ROWS || self.waiting.len() >= MAX_WAITING_INTERVALS {
            self.settle();
        }
    }

    /// Passes what waits to the analyses.
    fn settle(&mut self) {
        let (intervals, leaves_out) = (&self.waiting, self.leaves_out_loads);
        let entries = self.entries.iter_mut();
        if self.waiting_rows >= MIN_ROWS_FOR_THREAD {
            in_two_threads(entries.collect(), |entry: &mut DeviceEntry| {
                entry.take_waiting(intervals, leaves_out)
            });
        } else {
            entries.for_each(|entry| entry.take_waiting(intervals, leaves_out));
        }
        self.waiting.clear();
        self.waiting_rows = 0;
    }

    /// Notes a break in time, which no interval spans.
    pub(super) fn note_gap(&mut self) {
        self.settle();
        self.entries
            .iter_mut()
            .for_each(|entry| entry.analysis.note_gap());
    }

    /// Notes a break in time before the range that is analyzed.
    fn note_preceding_gap(&mut self) {
        self.settle();
        self.entries
            .iter_mut()
            .for_each(|entry| entry.analysis.note_preceding_gap());
    }

    /// Returns the analysis of each device so far, with its identity, if any.
    pub(super) fn devices(&mut self) -> impl Iterator<Item = (&DeviceAnalysis, Option<&str>)> {
        self.settle();
        self.entries
            .iter()
            .map(|entry| (&entry.analysis, entry.identity.as_deref()))
    }

    fn finish(self) -> Vec<DeviceAnalysis> {
        let intervals = self.intervals;
        let finished = self.entries.into_iter().map(|mut entry| {
            entry
                .analysis
                .set_intervals_since_first(intervals.saturating_sub(entry.intervals_before));
            entry.analysis
        });
        finished.collect()
    }
}

impl DeviceEntry {
    fn take_waiting(&mut self, intervals: &[WaitingInterval], leaves_out_loads: bool) {
        let analysis = &mut self.analysis;
        for (at, place) in self.waiting.drain(..) {
            let WaitingInterval {
                rows,
                run_s,
                begin_s,
                index,
            } = &intervals[at];
            let (header, row, run_s) = (&rows.header, &rows.devices[place], *run_s);
            let (host, elapsed_s) = (&header.host, header.elapsed_s);
            match &row.state {
                _ if leaves_out_loads && is_loaded(row) => analysis.note_gap(),
                DeviceState::Active(activity) if header.is_preceding => {
                    analysis.observe_preceding(&activity.stats, host);
                }
                DeviceState::AccountingOff(_) if header.is_preceding => {}
                DeviceState::Active(activity) => {
                    let DeviceActivity {
                        stats,
                        assessment,
                        limit,
                        flag,
                        stalled_s,
                        ..
                    } = &**activity;
                    if let Some(limit) = limit.as_ref().filter(|limit| limit.holds_device) {
                        analysis.note_throttled(limit, elapsed_s);
                    }
                    if let Some(slow) = assessment.slow_beside_peers() {
                        analysis.note_slow_beside_peers(slow, elapsed_s);
                    }
                    if let Some(limit) = assessment.shared_limit() {
                        analysis.note_shared_limit(limit.clone(), elapsed_s);
                    }
                    if let Some(above) = assessment.waiting_above() {
                        analysis.note_waiting_above(above.to_owned(), elapsed_s);
                    }
                    let (flag, stalled_s, is_accounting_off) = (*flag, *stalled_s, false);
                    analysis.observe(&Observation {
                        stats,
                        flag,
                        run_s,
                        stalled_s,
                        is_accounting_off,
                        host,
                    });
                    if let Some(await_ms) = mean_await_ms(stats) {
                        self.latency.add(*begin_s, elapsed_s, await_ms);
                    }
                }
                DeviceState::AccountingOff(stats) => {
                    let (flag, stalled_s, is_accounting_off) = (None, 0.0, true);
                    analysis.observe(&Observation {
                        stats,
                        flag,
                        run_s,
                        stalled_s,
                        is_accounting_off,
                        host,
                    });
                }
                DeviceState::Reset | DeviceState::MemberReset if !header.is_preceding => {
                    analysis.note_reset()
                }
                DeviceState::Event(_) if !header.is_preceding && !analysis.has_intervals() => {
                    self.intervals_before = index + 1;
                }
                DeviceState::Reset | DeviceState::MemberReset | DeviceState::Event(_) => {
                    analysis.note_return();
                }
            }
        }
    }
}

/// Returns whether the verdict on a device excludes the interval from what is learned of the unloaded device.
fn is_loaded(row: &DeviceInterval) -> bool {
    let is_unloaded = |verdict| matches!(verdict, None | Some(Verdict::Idle | Verdict::Ok));
    row.activity()
        .is_some_and(|activity| !is_unloaded(activity.assessment.verdict))
}

/// Returns the mean latency of reads and writes in milliseconds: infinite if requests were in flight and none
/// completed; `None` without I/O.
fn mean_await_ms(stats: &Interval) -> Option<f64> {
    if stats.is_stalled() {
        return Some(f64::INFINITY);
    }
    stats.reads.beside(&stats.writes).await_ms()
}
