//! `blkstat latency`: shows the latencies of single requests.

use std::cell::RefCell;
use std::path::Path;

use anyhow::Result;
use clap::Args;
use jiff::tz::TimeZone;

use super::follow::{Observer, Run, Said, follow};
use super::options::{
    ANY_FIRST, CaptureOptions, Host, Operands, WidthOption, percentage, usage_error,
};
use crate::clock::Clock;
use crate::console::{RunContext, Warnings};
use crate::counters::{DeviceNumber, Sample};
use crate::exit::{Exit, NoData};
use crate::intervals::{BaselineStore, Detail, DeviceSelection, IntervalRows, Intervals};
use crate::latency::{
    LatencyInterval, TracedInterval, TracedIo, Tracer, csv_header, heatmap, heatmap_legend, lines,
    remove_leftovers, table, trace_notes,
};
use crate::report::json_csv::LineFormat;
use crate::sanitize::sanitize;
use crate::source::Input;
use crate::time_range::TimeRange;

#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "blkstat latency [OPTIONS] [DEVICE]... [INTERVAL [COUNT]]",
    after_help = "It needs root, and a kernel with histogram triggers (CONFIG_HIST_TRIGGERS). Latencies are of whole devices."
)]
pub struct Latency {
    // Completion scripts show these words; --help shows VIEW_OPERANDS.
    /// Devices, interval and number of intervals
    #[arg(value_name = "DEVICE", hide = true, allow_negative_numbers = true)]
    operands: Vec<String>,
    /// Print a heat map with a line per interval, device and kind of request
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    heatmap: bool,
    /// Print a JSON object per device
    #[arg(short, long, conflicts_with = "csv")]
    json: bool,
    /// Print lines of CSV
    #[arg(long)]
    csv: bool,
    /// Pause tracing while it would use more than PCT percent of the CPUs
    #[arg(long, value_name = "PCT", default_value = "2", value_parser = percentage)]
    max_overhead: f64,
    /// Remove what killed runs left in the kernel, and exit
    #[arg(long, conflicts_with_all = ["heatmap", "json", "csv", "operands"])]
    pub(super) cleanup: bool,
    #[command(flatten)]
    width: WidthOption,
}

impl Latency {
    pub(super) fn run(&self, host: &Host, context: &mut RunContext<'_>) -> Result<Exit> {
        let operands =
            Operands::split(&self.operands, ANY_FIRST, None, &host.root).map_err(usage_error)?;
        let Operands {
            files,
            devices,
            schedule,
        } = operands;
        if let Some(file) = files.first() {
            let reason = "latency traces the requests of the running system; for a recording, use 'blkstat analyze";
            return Err(usage_error(format!("{reason} {}'", file.display())));
        }
        if self.cleanup {
            return clean_up(host, context);
        }
        let input = host.input(
            &[],
            TimeRange::default(),
            schedule,
            &CaptureOptions::default(),
        )?;
        let input = Input {
            scans_io: false,
            ..input
        };
        let selection = DeviceSelection {
            devices,
            ..DeviceSelection::default()
        };
        let is_restricted = selection.names_devices();
        let baselines = BaselineStore::default();
        let clock = context.clock;
        let open = || Intervals::open(&input, &selection, Detail::Report, &baselines, clock);
        let mut first = open()?;
        let mut warnings = Warnings::about(&first.source_name());
        first.start(&mut |warning| warnings.warn_capture(warning, context.err))?;
        warnings.finish(context.err);
        if is_restricted && let Some(not_found) = first.not_found() {
            return Err(NoData(not_found.to_string()).into());
        }
        // An empty list means all devices.
        let devices = if is_restricted {
            first.selected_disk_numbers()
        } else {
            Vec::new()
        };
        drop(first);
        let tracing = Tracing::start(&host.root, devices, self.max_overhead, context.clock)?;
        let mut intervals = open()?;
        intervals.tap(Box::new(|sample, _| tracing.read(sample)));
        let is_for_programs = self.json || self.csv;
        let time_zone = if is_for_programs {
            TimeZone::UTC
        } else {
            context.time_zone()
        };
        let mut text = Vec::new();
        if self.csv {
            csv_header(&mut text);
        } else if self.heatmap {
            heatmap_legend(self.width.or_available(context), &mut text);
        }
        let said = Said::default();
        let mut output = Output {
            latency: self,
            is_restricted,
            tracing: &tracing,
            time_zone,
            text,
            said,
        };
        follow(intervals, &mut output, context)
    }
}

/// Removes the traces that killed processes left in the kernel.
fn clean_up(host: &Host, context: &mut RunContext<'_>) -> Result<Exit> {
    let removed = remove_leftovers(&host.root)?;
    let mut text = Vec::new();
    for name in &removed {
        text.extend(format!("removed {}\n", sanitize(name)).into_bytes());
    }
    if removed.is_empty() {
        text.extend_from_slice(b"nothing to remove\n");
    }
    context.show(&mut text)?;
    Ok(Exit::Success)
}

/// A tracer that is read at each sample, and the requests since the beginning of the interval.
struct Tracing {
    tracer: Tracer,
    /// The devices that are traced; all if empty.
    devices: RefCell<Vec<DeviceNumber>>,
    counted: RefCell<Option<TracedIo>>,
}

impl Tracing {
    /// Starts to trace these devices (all if empty), unless that takes more than this percentage of the CPUs.
    ///
    /// # Errors
    /// If this system cannot trace.
    fn start(
        root: &Path,
        devices: Vec<DeviceNumber>,
        max_overhead_pct: f64,
        clock: &dyn Clock,
    ) -> Result<Self> {
        let tracer = Tracer::start(root, devices.clone(), max_overhead_pct / 100.0, clock)?;
        Ok(Self {
            tracer,
            devices: RefCell::new(devices),
            counted: RefCell::default(),
        })
    }

    /// Traces other devices from now on. While all of them are gone, the devices that are traced stay the same: an empty
    /// list would mean all.
    fn select(&self, devices: Vec<DeviceNumber>) {
        if !devices.is_empty() && devices != *self.devices.borrow() {
            self.tracer.select(&devices);
            self.devices.replace(devices);
        }
    }

    /// Adds the requests up to a sample.
    fn read(&self, sample: &Sample) {
        let traced = self.tracer.read(sample.at.monotonic.unwrap_or_default());
        let mut counted = self.counted.borrow_mut();
        counted.get_or_insert_default().extend(&traced);
    }

    /// Takes the requests of the interval that has just ended; `None` without a sample in it.
    fn take(&self, intervals: &Intervals<'_>) -> Option<TracedInterval> {
        let traced = self.counted.take()?;
        Some(TracedInterval::new(
            traced,
            &intervals.newest().devices,
            intervals.topology(),
        ))
    }
}

/// Writes the intervals of a run.
struct Output<'a> {
    latency: &'a Latency,
    /// True if devices were named.
    is_restricted: bool,
    tracing: &'a Tracing,
    time_zone: TimeZone,
    text: Vec<u8>,
    said: Said,
}

impl Observer for Output<'_> {
    fn begin(&mut self, run: &mut Run<'_, '_, '_>) -> Result<()> {
        // Requests traced before the first sample, or across a break, belong to no interval.
        self.tracing.take(&run.intervals);
        run.context.show(&mut self.text)
    }

    fn observe(&mut self, rows: Option<IntervalRows>, run: &mut Run<'_, '_, '_>) -> Result<()> {
        let Run { intervals, context } = run;
        let traced = self.tracing.take(intervals);
        let Some(rows) = rows else { return Ok(()) };
        if self.is_restricted {
            self.tracing.select(intervals.selected_disk_numbers());
        }
        let Some(traced) = traced else {
            return Ok(());
        };
        // The requested device may appear later, or not at all.
        if !rows.has_found_any {
            return Ok(());
        }
        let disks = intervals.selected_disks();
        let mut devices = Vec::new();
        for device in &traced.devices {
            // A path to an NVMe disk is shown only if it was requested by name: its requests are those of the disk.
            let is_shown = match self.is_restricted {
                true => disks.contains_key(device.name.as_str()),
                false => !device.is_path,
            };
            if is_shown {
                devices.push(device);
            }
        }
        let interval = LatencyInterval {
            header: &rows.header,
            traced: &traced,
            devices,
        };
        let (width, out) = (self.latency.width.or_available(context), &mut self.text);
        match *self.latency {
            Latency { json: true, .. } => lines(&interval, LineFormat::Json, out),
            Latency { csv: true, .. } => lines(&interval, LineFormat::Csv, out),
            Latency { heatmap: true, .. } => heatmap(&interval, width, &self.time_zone, out),
            _ => table(&interval, width, &self.time_zone, out),
        }
        if self.latency.json || self.latency.csv {
            self.said.say(trace_notes(&traced), context);
        }
        context.show(&mut self.text)
    }
}
