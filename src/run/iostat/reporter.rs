//! From pairs of samples to the text of reports.

use anyhow::Result;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::is_boot;
use super::rows::DeviceRows;
use crate::counters::{CpuTimes, Sample};
use crate::exit::Exit;
use crate::metrics::CpuPercentages;
use crate::plan::{Colors, Iostat, TimeStyle};
use crate::report::iostat::{Format, Heading, Printer, Report, Style};
use crate::run::{RunContext, put};
use crate::source::{Host, local_time_zone};
use crate::units::Interval;

/// Writes the reports of one run.
pub(super) struct Reporter<'a> {
    plan: &'a Iostat,
    pub(super) devices: DeviceRows<'a>,
    printer: Printer,
    time_zone: TimeZone,
    /// What is not written yet.
    pub(super) text: Vec<u8>,
    /// Reports so far.
    pub(super) count: u64,
}

impl<'a> Reporter<'a> {
    pub(super) fn new(plan: &'a Iostat, devices: DeviceRows<'a>, is_terminal: bool) -> Self {
        let palette = match &plan.colors {
            Colors::Always(palette) => Some(palette.clone()),
            Colors::OnTerminal(palette) if is_terminal => Some(palette.clone()),
            Colors::OnTerminal(_) | Colors::Never => None,
        };
        let printer = Printer::new(Style { palette, ..plan.style.clone() });
        let time_zone = local_time_zone(plan.time_zone.as_deref());
        Self { plan, devices, printer, time_zone, text: Vec::new(), count: 0 }
    }

    pub(super) fn is_done(&self) -> bool {
        self.plan.schedule.count.is_some_and(|count| self.count >= count)
    }

    /// What stands above all reports.
    pub(super) fn begin(&mut self, machine: Host, now: Timestamp) {
        let format = if self.plan.iso_date { "%Y-%m-%d" } else { "%m/%d/%y" };
        let heading = Heading {
            nodename: machine.nodename,
            release: machine.release,
            hardware: machine.hardware,
            cpus: machine.cpus,
            date: self.local_time(now, format),
        };
        self.printer.begin(&heading, &mut self.text);
    }

    /// The report on an interval. `false` when it ends before a device whose name cannot be told.
    pub(super) fn report(&mut self, older: &Sample, newer: &Sample, interval: Interval) -> bool {
        let older_cpu = if is_boot(older) { Some(CpuTimes::default()) } else { older.cpu };
        // A machine without the file has spent no time at all, as iostat sees it.
        let newer_cpu = newer.cpu.or_else(|| self.plan.from.is_none().then(CpuTimes::default));
        let (rows, is_cut) = self.devices.between(older, newer, interval);
        let report = Report {
            time: newer.at.wall.filter(|_| self.plan.timestamps).map(|now| self.time(now)),
            cpu: older_cpu.zip(newer_cpu).map(|(older, newer)| CpuPercentages::between(&older, &newer)),
            rows,
            is_cut,
        };
        self.printer.report(&report, &mut self.text);
        self.devices.remember(newer);
        self.count += 1;
        !is_cut
    }

    fn time(&self, now: Timestamp) -> String {
        match self.plan.time_style {
            TimeStyle::Local => self.local_time(now, "%m/%d/%y %H:%M:%S"),
            TimeStyle::Iso => self.local_time(now, "%Y-%m-%dT%H:%M:%S%z"),
            TimeStyle::Epoch => now.as_second().to_string(),
        }
    }

    fn local_time(&self, at: Timestamp, format: &str) -> String {
        at.to_zoned(self.time_zone.clone()).strftime(format).to_string()
    }

    /// Closes what is open.
    pub(super) fn end(mut self, world: &mut RunContext<'_>) -> Result<Exit> {
        self.printer.end(&mut self.text);
        if self.count == 0 && self.plan.style.format == Format::Text {
            // Where a signal came before the first report.
            self.text.push(b'\n');
        }
        put(world.out, &mut self.text)?;
        Ok(Exit::Success)
    }
}
