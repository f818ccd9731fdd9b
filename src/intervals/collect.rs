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

/// A device while its intervals are collected.
struct DeviceEntry {
    analysis: DeviceAnalysis,
    /// The number of intervals before it appeared.
    intervals_before: u64,
    identity: Option<String>,
    latency: LatencySeries,
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
    let mut entries = Vec::new();
    let mut count = 0;
    let mut clock = RunClock::default();
    let mut host = HostReport::default();
    let mut signal = None;
    let has_sample = intervals.start(on_warning)?;
    if has_sample && !(intervals.is_live() && intervals.not_found().is_some()) {
        add_selected(&mut entries, intervals, count);
        loop {
            match intervals.next(on_warning)? {
                NextInterval::Rows(rows) => {
                    host.observe(&rows.header.host, rows.header.elapsed_s);
                    host.observe_nfs(&rows.header.nfs_waits);
                    on_interval(&rows);
                    clock.observe(&rows.header);
                    observe(&mut entries, &rows, intervals, &clock, count);
                    count += 1;
                }
                NextInterval::Break => {
                    if !intervals.is_before_range {
                        for entry in &mut entries {
                            entry.analysis.note_gap();
                        }
                    }
                    add_selected(&mut entries, intervals, count);
                }
                NextInterval::End => break,
                NextInterval::Signal(number) => {
                    signal = Some(number);
                    break;
                }
            }
        }
    }
    let mut devices = Vec::with_capacity(entries.len());
    let mut latencies = HashMap::new();
    for mut entry in entries {
        let since_first = count - entry.intervals_before.min(count);
        entry.analysis.set_intervals_since_first(since_first);
        let name = entry.analysis.name().to_owned();
        let judge = &intervals.tracker.judge;
        let cap = intervals.settings(&name, None).cap;
        let baseline = judge.saved_baseline(&name).unwrap_or_default();
        let unloaded_ms = |direction, kib| judge.unloaded_ms(&name, direction, kib);
        devices.push(DeviceReport {
            identity: entry.identity,
            ..entry.analysis.finish(cap, baseline, unloaded_ms, &host)
        });
        if !entry.latency.is_empty() {
            latencies.insert(name, entry.latency);
        }
    }
    Ok(Collected {
        devices,
        host,
        events: intervals.events(),
        latencies,
        clock,
        signal,
    })
}

/// Adds the selected devices of the last sample that are new, before which there were `count` intervals.
fn add_selected(entries: &mut Vec<DeviceEntry>, intervals: &Intervals<'_>, count: u64) {
    let mut expected = 0;
    for (name, _) in intervals.selected_devices() {
        expected = 1 + find_or_add(entries, expected, name, intervals, count);
    }
}

/// Takes the devices of an interval, which ends at the end of the clock and before which there were `count` others.
fn observe(
    entries: &mut Vec<DeviceEntry>,
    rows: &IntervalRows,
    intervals: &Intervals<'_>,
    clock: &RunClock,
    count: u64,
) {
    let run_s = (clock.end.run_s - rows.header.elapsed_s).max(0.0);
    let begin_s = clock.elapsed_s(run_s);
    let mut expected = 0;
    for row in &rows.devices {
        let index = find_or_add(entries, expected, row.device(), intervals, count);
        let entry = &mut entries[index];
        entry.observe(&row.state, &rows.header, run_s, begin_s, count);
        if entry.identity.is_none() {
            let identity = intervals.topology().identity(row.device());
            entry.identity = identity.map(str::to_owned);
        }
        expected = index + 1;
    }
}

/// The index of a device, which is usually the one after the device before it; a new one is added.
fn find_or_add(
    entries: &mut Vec<DeviceEntry>,
    expected: usize,
    name: &str,
    intervals: &Intervals<'_>,
    count: u64,
) -> usize {
    let is_it = |entry: &DeviceEntry| entry.analysis.name() == name;
    if entries.get(expected).is_some_and(is_it) {
        return expected;
    }
    if let Some(index) = entries.iter().position(is_it) {
        return index;
    }
    let mut analysis = DeviceAnalysis::new(name);
    if intervals.tracker.detail == Detail::Comparison {
        analysis = analysis.with_blocks();
    }
    entries.push(DeviceEntry {
        analysis,
        intervals_before: count,
        identity: None,
        latency: LatencySeries::default(),
    });
    entries.len() - 1
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
