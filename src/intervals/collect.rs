//! All intervals of a source, collected into the report on each device.

use std::collections::HashMap;

use anyhow::Result;

use super::device_interval::{DeviceState, IntervalRows};
use super::history::History;
use super::incident_log::IncidentReport;
use super::options::Detail;
use super::stream::{Intervals, NextInterval};
use crate::judge::{DeviceAnalysis, DeviceReport, HostReport};
use crate::source::OnWarning;

pub struct Collected {
    /// The selected devices in the order in which they appeared.
    pub devices: Vec<DeviceReport>,
    /// The host over all intervals.
    pub host: HostReport,
    /// The incidents of the selected devices.
    pub incidents: IncidentReport,
    /// Only the clock, unless values over time are kept for charts.
    pub history: History,
    /// The signal that ended the collection; `None` if the source ended.
    pub signal: Option<u8>,
}

/// The devices of a run.
#[derive(Default)]
struct Devices {
    /// In the order in which they appeared.
    list: Vec<Device>,
    /// Their places in that list.
    places: HashMap<String, usize>,
    /// The number of intervals so far.
    intervals: u64,
}

struct Device {
    analysis: DeviceAnalysis,
    /// The number of intervals before it appeared.
    intervals_before: u64,
}

/// Reads all intervals. `on_interval` is called after each. If the first sample of the running system lacks a requested device,
/// no interval is read.
///
/// # Errors
/// When the source cannot be read.
pub fn collect(
    intervals: &mut Intervals<'_>,
    on_warning: OnWarning<'_>,
    on_interval: &mut dyn FnMut(),
) -> Result<Collected> {
    let mut devices = Devices::default();
    let mut history = History::default();
    let mut host = HostReport::default();
    let mut signal = None;
    let has_sample = intervals.start(on_warning)?;
    if has_sample && !(intervals.is_live() && intervals.not_found().is_some()) {
        devices.add_selected(intervals);
        loop {
            match intervals.next(on_warning)? {
                NextInterval::Rows(rows) => {
                    host.observe(&rows.header.host, rows.header.elapsed_s);
                    host.observe_nfs(&rows.header.nfs_waits);
                    devices.observe(&rows, history.clock.end.run_s);
                    if intervals.tracker.detail == Detail::Charts {
                        history.observe(&rows);
                    } else {
                        history.clock.place(&rows.header);
                    }
                    on_interval();
                }
                NextInterval::Break => {
                    if !intervals.is_before_range {
                        for device in &mut devices.list {
                            device.analysis.note_gap();
                        }
                    }
                    devices.add_selected(intervals);
                }
                NextInterval::End => break,
                NextInterval::Signal(number) => {
                    signal = Some(number);
                    break;
                }
            }
        }
    }
    // Reports on thousands of devices take a while.
    intervals.end_at_next_signal();
    // The reports need the memory.
    intervals.tracker.records = Vec::new();
    Ok(Collected {
        devices: devices.finish(intervals, &host),
        host,
        incidents: intervals.incidents(),
        history,
        signal,
    })
}

impl Devices {
    /// Adds the selected devices of the last sample that are new.
    fn add_selected(&mut self, intervals: &Intervals<'_>) {
        let count = intervals.selected_devices().count();
        self.list
            .reserve_exact(count.saturating_sub(self.list.len()));
        for device in intervals.selected_devices() {
            self.find_or_add(&device.name);
        }
    }

    fn find_or_add(&mut self, name: &str) -> &mut Device {
        if let Some(place) = self.places.get(name) {
            return &mut self.list[*place];
        }
        let place = self.list.len();
        self.places.insert(name.to_owned(), place);
        self.list.push(Device {
            analysis: DeviceAnalysis::new(name),
            intervals_before: self.intervals,
        });
        &mut self.list[place]
    }

    /// Takes an interval that begins `run_s` seconds into the run.
    fn observe(&mut self, rows: &IntervalRows, run_s: f64) {
        let count = self.intervals;
        for row in &rows.devices {
            let device = self.find_or_add(row.device());
            match &row.state {
                DeviceState::Active(activity) => {
                    let stalled_s = activity.stalled_s;
                    device
                        .analysis
                        .observe(&activity.judged, activity.flag, stalled_s, run_s);
                }
                DeviceState::AccountingOff(judged) => {
                    device.analysis.observe(judged, None, 0.0, run_s);
                }
                DeviceState::Reset | DeviceState::MemberReset => device.analysis.note_reset(),
                // It has just appeared: this interval is none of its own.
                DeviceState::Event(_) if !device.analysis.has_intervals() => {
                    device.intervals_before = count + 1;
                }
                DeviceState::Event(_) => {}
            }
        }
        self.intervals += 1;
    }

    /// The report on each device.
    fn finish(self, intervals: &Intervals<'_>, host: &HostReport) -> Vec<DeviceReport> {
        let judge = &intervals.tracker.judge;
        let mut reports = Vec::with_capacity(self.list.len());
        for mut device in self.list {
            let since_first = self.intervals.saturating_sub(device.intervals_before);
            device.analysis.set_intervals_since_first(since_first);
            let name = device.analysis.name().to_owned();
            let baseline = judge.saved_baseline(&name).unwrap_or_default();
            reports.push(device.analysis.finish(
                intervals.cap(),
                baseline,
                |direction, kib| judge.unloaded_ms(&name, direction, kib),
                host,
            ));
        }
        reports
    }
}
