//! The reports of a log in which every row has a time: those of sar.

use std::collections::{HashSet, VecDeque};

use jiff::Timestamp;

use super::contents::LogContents;
use super::report::{LoggedDevice, Report};

/// The reports of a log in which every row has a time, as they become complete.
#[derive(Default)]
pub(super) struct TimedRows {
    /// The time of the last complete report in this boot of the host.
    latest: Option<Timestamp>,
    /// The number of devices in it, and the last of them.
    last: Option<(usize, String)>,
    /// The beginning and the end of the report so far.
    open: Option<(Timestamp, Timestamp)>,
    devices: Vec<LoggedDevice>,
    /// The devices of all reports.
    pub(super) names: HashSet<String>,
    /// Lines of the report so far, or right behind it, have no device that is known.
    pub(super) has_lost_lines: bool,
}

impl TimedRows {
    /// Adds a device to the report from `start`, or from the one before, to `at`.
    pub(super) fn add(
        &mut self,
        start: Option<Timestamp>,
        at: Timestamp,
        device: LoggedDevice,
        contents: &mut LogContents,
    ) {
        let is_open = self.open.is_some_and(|(_, open)| open == at);
        let known = self.devices.iter().find(|known| known.name == device.name);
        if let Some(known) = known.filter(|_| is_open) {
            // Times are whole seconds, and two reports may be in the same.
            let is_first = self.devices.first().map(|first| &first.name) == Some(&device.name);
            let is_whole = self.last.as_ref().is_some_and(|last| self.is_like(last));
            if !is_first || !is_whole || known.rates == device.rates {
                contents.warn_of_repeated(&device.name);
                return;
            }
        }
        if !is_open || known.is_some() {
            self.close(&mut contents.reports);
        }
        self.open
            .get_or_insert((start.or(self.latest).unwrap_or(at), at));
        self.names.insert(device.name.clone());
        self.devices.push(device);
    }

    /// Returns whether the report so far has as many devices as one before, and the same one last.
    fn is_like(&self, (count, last): &(usize, String)) -> bool {
        self.devices.len() == *count && self.devices.last().is_some_and(|one| one.name == *last)
    }

    /// Hands out the report so far, which is complete.
    pub(super) fn close(&mut self, out: &mut VecDeque<Report>) {
        let Some((start, at)) = self.open.take() else {
            return;
        };
        let devices = std::mem::take(&mut self.devices);
        // The next interval begins where this one ends, but times are whole seconds.
        let follows = self.latest.is_some_and(|latest| {
            start.duration_since(latest).as_secs().abs() <= 1 && latest <= at
        });
        if !follows {
            out.push_back(Report {
                at: Some(start),
                begins: true,
                devices: devices.clone(),
                ..Report::default()
            });
        }
        self.latest = Some(at);
        self.last = devices
            .last()
            .map(|last| (devices.len(), last.name.clone()));
        out.push_back(Report {
            at: Some(at),
            has_lost_lines: std::mem::take(&mut self.has_lost_lines),
            devices,
            ..Report::default()
        });
    }

    /// Hands out the report so far at the end of the log, if it has the devices of the one before it.
    pub(super) fn finish(&mut self, out: &mut VecDeque<Report>) {
        if self.last.as_ref().is_some_and(|last| self.is_like(last)) {
            self.close(out);
        }
        *self = Self::default();
    }

    /// Begins the reports of another boot.
    pub(super) fn restart(&mut self, out: &mut VecDeque<Report>) {
        self.close(out);
        self.latest = None;
    }
}
