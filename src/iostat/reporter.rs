//! Turns pairs of samples into the text of reports.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::options::Options;
use super::rows::DeviceRows;
use super::text::tables::{self, Table, device_tables};
use super::text::{Format, Report, Style, json};
use crate::counters::{CpuTimes, Missing, Sample};
use crate::metrics::CpuPercentages;
use crate::source::Host;
use crate::units::{SampleTime, Span};

/// Appends the reports of one run to a buffer.
pub(super) struct Reporter<'a> {
    options: &'a Options,
    pub devices: DeviceRows<'a>,
    style: Style,
    tables: Vec<Table>,
    /// The text before the next report in JSON: a line break before the first, and a comma between two.
    separator: &'static str,
    time_zone: TimeZone,
    count: u64,
}

impl<'a> Reporter<'a> {
    /// Returns a reporter for these devices. `is_terminal`: the reports go to a terminal.
    pub(super) fn new(
        options: &'a Options,
        devices: DeviceRows<'a>,
        time_zone: TimeZone,
        is_terminal: bool,
    ) -> Self {
        let mut style = options.style.clone();
        if options.colors_only_terminal && !is_terminal {
            style.palette = None;
        }
        let tables = device_tables(&style);
        Self { options, devices, style, tables, separator: "", time_zone, count: 0 }
    }

    /// Returns the number of reports so far.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Returns whether reports have devices.
    pub(super) fn shows_devices(&self) -> bool {
        self.options.style.disk
    }

    /// Returns the values of devices that reports show.
    pub(super) fn shown_values(&self) -> Missing {
        self.options.style.shown()
    }

    /// Returns whether the requested number of reports is reached.
    pub(super) fn is_done(&self) -> bool {
        self.options.count.is_some_and(|count| self.count >= count)
    }

    /// Appends the heading, which comes before all reports; its date is that of `now`.
    pub(super) fn begin(&self, host: &Host, now: Timestamp, out: &mut Vec<u8>) {
        let date = now.to_zoned(self.time_zone.clone()).date();
        let (year, month, day) = (date.year(), date.month(), date.day());
        // A format string of jiff is avoided, because its code would have to be loaded only for this.
        let date = if self.options.iso_date {
            format!("{year:04}-{month:02}-{day:02}")
        } else {
            format!("{month:02}/{day:02}/{:02}", year % 100)
        };
        match self.style.format {
            Format::Text => tables::begin(host, &date, out),
            Format::Json => json::begin(host, &date, out),
        }
    }

    /// Omits the report since boot. Returns whether it would be complete.
    pub(super) fn skip_report(&mut self, older: &Sample, newer: &Sample, interval: Span) -> bool {
        // iostat puts an empty line before the next one.
        self.separator = "\n";
        let is_truncated = self.shows_devices() && self.devices.between(older, newer, interval).1;
        self.devices.store_sums(newer);
        !is_truncated
    }

    /// Appends the report on an interval. Returns whether it is complete; if not, it ends before a device whose
    /// display name cannot be read.
    pub(super) fn report(
        &mut self,
        older: &Sample,
        newer: &Sample,
        interval: Span,
        out: &mut Vec<u8>,
    ) -> bool {
        let older_cpu = if is_boot(older) { Some(CpuTimes::default()) } else { older.cpu };
        // In a live run, iostat treats missing CPU times as zeros.
        let newer_cpu = newer.cpu.or_else(|| self.options.from.is_none().then(CpuTimes::default));
        let (rows, is_truncated) = match self.shows_devices() {
            true => self.devices.between(older, newer, interval),
            false => (Vec::new(), false),
        };
        let report = Report {
            time: newer
                .at
                .wall
                .zip(self.options.time_format)
                .map(|(now, format)| now.to_zoned(self.time_zone.clone()).strftime(format).to_string()),
            cpu: older_cpu.zip(newer_cpu).map(|(older, newer)| CpuPercentages::between(&older, &newer)),
            rows,
            is_truncated,
        };
        match self.style.format {
            Format::Text => tables::report(&self.style, &self.tables, &report, out),
            Format::Json => json::report(&self.style, &report, self.separator, out),
        }
        self.separator = ",\n";
        self.devices.store_sums(newer);
        self.count += 1;
        !is_truncated
    }

    /// Appends the end of the output.
    pub(super) fn end(&self, out: &mut Vec<u8>) {
        match self.style.format {
            Format::Json => json::end(out),
            // A signal came before the first report.
            Format::Text if self.count == 0 => out.push(b'\n'),
            Format::Text => {}
        }
    }
}

/// Returns whether this is the empty sample that represents the boot, when every counter was zero.
pub(super) fn is_boot(sample: &Sample) -> bool {
    sample.at == SampleTime::default()
}
