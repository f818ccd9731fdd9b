//! All intervals of a source, collected into the report on each device.

use std::collections::HashMap;

use anyhow::Result;

use super::device_interval::{DeviceState, IntervalHeader, IntervalRows};
use super::events::Events;
use super::options::Detail;
use super::run_clock::RunClock;
use super::sample_source::OnWarning;
use super::series::LatencySeries;
use super::stream::{Intervals, NextInterval};
use crate::judge::{
    Assessment, DeviceAnalysis, DeviceReport, HostReport, Observation, Verdict, VerdictTimes,
};
use crate::metrics::Interval;

pub struct Collected {
    /// The selected devices in the order in which they appeared.
    pub devices: Vec<DeviceReport>,
    /// The identity of each device that has one, by the kernel's name.
    pub identities: HashMap<String, String>,
    /// The host over all intervals.
    pub host: HostReport,
    /// The events of the selected devices, and their incidents.
    pub events: Events,
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
    latency: LatencySeries,
}

/// Feeds the analysis of each device.
#[derive(Default)]
struct Collector {
    entries: Vec<DeviceEntry>,
    by_name: HashMap<String, usize>,
    /// The number of intervals so far.
    intervals: u64,
    clock: RunClock,
    /// True if the analyses will be compared with those of another capture.
    with_blocks: bool,
}

/// Reads all intervals. `on_interval` is called with each. If the first sample of the running system lacks a requested device,
/// no interval is read.
///
/// # Errors
/// When the source cannot be read.
pub fn collect(
    intervals: &mut Intervals<'_>,
    on_warning: OnWarning<'_>,
    on_interval: &mut dyn FnMut(&IntervalRows),
) -> Result<Collected> {
    let mut collector = Collector {
        with_blocks: intervals.tracker.detail == Detail::Comparison,
        ..Collector::default()
    };
    let mut host = HostReport::default();
    let mut identities = HashMap::new();
    let mut signal = None;
    let has_sample = intervals.start(on_warning)?;
    if has_sample && !(intervals.is_live() && intervals.not_found().is_some()) {
        collector.add_devices(intervals);
        loop {
            match intervals.next(on_warning)? {
                NextInterval::Rows(rows) => {
                    host.observe(&rows.header.host, rows.header.elapsed_s);
                    host.observe_nfs(&rows.header.nfs_waits);
                    on_interval(&rows);
                    collector.observe(&rows);
                    note_identities(&mut identities, intervals);
                }
                NextInterval::Break => {
                    if !intervals.is_before_range {
                        collector.note_gap();
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
    note_identities(&mut identities, intervals);
    let events = intervals.events();
    let clock = std::mem::take(&mut collector.clock);
    let (devices, latencies) = collector.finish(intervals, &host);
    Ok(Collected {
        devices,
        identities,
        host,
        events,
        latencies,
        clock,
        signal,
    })
}

/// Notes the identity of each selected device that has one.
fn note_identities(identities: &mut HashMap<String, String>, intervals: &Intervals<'_>) {
    for (name, _) in intervals.selected_devices() {
        if !identities.contains_key(name)
            && let Some(identity) = intervals.topology().identity(name)
        {
            identities.insert(name.to_owned(), identity.to_owned());
        }
    }
}

impl Collector {
    /// Adds the selected devices of the last sample that are new.
    fn add_devices(&mut self, intervals: &Intervals<'_>) {
        for (place, (name, _)) in intervals.selected_devices().enumerate() {
            self.entry(place, name);
        }
    }

    /// The entry of a device, which is usually at the same index as in the last sample.
    fn entry(&mut self, place: usize, name: &str) -> &mut DeviceEntry {
        let is_at_place = |entry: &DeviceEntry| entry.analysis.name() == name;
        if self.entries.get(place).is_some_and(is_at_place) {
            return &mut self.entries[place];
        }
        if let Some(index) = self.by_name.get(name) {
            return &mut self.entries[*index];
        }
        let mut analysis = DeviceAnalysis::new(name);
        if self.with_blocks {
            analysis = analysis.with_blocks();
        }
        let index = self.entries.len();
        self.by_name.insert(name.to_owned(), index);
        self.entries.push(DeviceEntry {
            analysis,
            intervals_before: self.intervals,
            latency: LatencySeries::default(),
        });
        &mut self.entries[index]
    }

    /// Takes the devices of an interval.
    fn observe(&mut self, rows: &IntervalRows) {
        self.clock.observe(&rows.header);
        let run_s = (self.clock.end.run_s - rows.header.elapsed_s).max(0.0);
        let begin_s = self.clock.elapsed_s(run_s);
        let intervals = self.intervals;
        for (place, row) in rows.devices.iter().enumerate() {
            let entry = self.entry(place, row.device());
            entry.observe(&row.state, &rows.header, run_s, begin_s, intervals);
        }
        self.intervals += 1;
    }

    /// Notes a break in time, which no interval spans.
    fn note_gap(&mut self) {
        for entry in &mut self.entries {
            entry.analysis.note_gap();
        }
    }

    /// Returns the report on each device, and its latency over time if it had I/O.
    fn finish(
        self,
        intervals: &Intervals<'_>,
        host: &HostReport,
    ) -> (Vec<DeviceReport>, HashMap<String, LatencySeries>) {
        let mut reports = Vec::with_capacity(self.entries.len());
        let mut latencies = HashMap::new();
        for mut entry in self.entries {
            let name = entry.analysis.name().to_owned();
            let since_first = self.intervals.saturating_sub(entry.intervals_before);
            entry.analysis.set_intervals_since_first(since_first);
            let judge = &intervals.tracker.judge;
            let cap = intervals.settings(&name, None).cap;
            let baseline = judge.saved_baseline(&name).unwrap_or_default();
            let unloaded_ms = |direction, kib| judge.unloaded_ms(&name, direction, kib);
            reports.push(entry.analysis.finish(cap, baseline, unloaded_ms, host));
            if !entry.latency.is_empty() {
                latencies.insert(name.clone(), entry.latency);
            }
        }
        (reports, latencies)
    }
}

impl DeviceEntry {
    /// Takes the device in an interval, before which there were `run_s` seconds of intervals and `begin_s` seconds by the wall
    /// clock.
    fn observe(
        &mut self,
        state: &DeviceState,
        header: &IntervalHeader,
        run_s: f64,
        begin_s: f64,
        intervals: u64,
    ) {
        match state {
            DeviceState::Active(activity) => {
                self.analysis.observe(&Observation {
                    stats: &activity.judged.interval,
                    assessment: activity.judged.assessment(),
                    times: &activity.judged.times,
                    flag: activity.flag,
                    run_s,
                    stalled_s: activity.stalled_s,
                });
                if let Some(await_ms) = mean_await_ms(&activity.judged.interval) {
                    self.latency.add(begin_s, header.elapsed_s, await_ms);
                }
            }
            DeviceState::AccountingOff(stats) => {
                let assessment = Assessment {
                    verdict: Some(Verdict::AccountingOff),
                    ..Assessment::default()
                };
                let mut times = VerdictTimes::default();
                times.add(assessment.verdict, header.elapsed_s);
                self.analysis.observe(&Observation {
                    stats,
                    assessment: &assessment,
                    times: &times,
                    flag: None,
                    run_s,
                    stalled_s: 0.0,
                });
            }
            DeviceState::Reset | DeviceState::MemberReset => self.analysis.note_reset(),
            DeviceState::Event(_) if !self.analysis.has_intervals() => {
                self.intervals_before = intervals + 1;
            }
            DeviceState::Event(_) => {}
        }
    }
}

/// Returns the mean latency of reads and writes in milliseconds: infinite if requests were in flight and none
/// completed; `None` without I/O.
fn mean_await_ms(stats: &Interval) -> Option<f64> {
    if stats.is_stalled() {
        return Some(f64::INFINITY);
    }
    stats.reads.beside(&stats.writes).await_ms()
}
