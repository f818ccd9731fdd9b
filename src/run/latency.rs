//! `blkstat latency`: shows the latencies of single requests.

use anyhow::Result;
use jiff::tz::TimeZone;

use super::tracing::Tracing;
use super::warnings::Warnings;
use super::{RunContext, emit, end_without_data, missing_data};
use crate::counters::DeviceNumber;
use crate::exit::Exit;
use crate::intervals::{BaselineStore, Detail, Intervals, NextInterval, TracedDevice};
use crate::plan::Latency;
use crate::report::latency::{LatencyFormat, LatencyInterval, LatencyWriter, trace_notes};
use crate::sanitize::sanitize;
use crate::source::{TraceOptions, Tracer, remove_leftovers};
use crate::terminal::screen_size;

/// The width of a table without a terminal.
const DEFAULT_WIDTH: usize = 120;

pub(super) fn run(plan: &Latency, context: &mut RunContext<'_>) -> Result<Exit> {
    if plan.cleanup {
        return clean_up(plan, context);
    }
    let baselines = BaselineStore::default();
    let devices = match selected_numbers(plan, &baselines, context)? {
        Ok(devices) => devices,
        Err(exit) => return Ok(exit),
    };
    let options = TraceOptions {
        latencies: true,
        users: false,
        devices: devices.clone(),
        user_devices: Vec::new(),
        max_overhead: plan.max_overhead,
    };
    let clock = context.clock;
    let tracing = Tracing::default();
    tracing.start(Tracer::start(&plan.input.root, options, clock)?);
    let mut intervals = Intervals::open(&plan.input, &plan.selection, Detail::Report, &baselines, clock)?;
    intervals.tap(Box::new(|sample, _| tracing.read(sample)));
    show(plan, intervals, &tracing, devices, context)
}

/// Removes the traces that killed processes left in the kernel.
fn clean_up(plan: &Latency, context: &mut RunContext<'_>) -> Result<Exit> {
    let removed = remove_leftovers(&plan.input.root)?;
    let mut text: Vec<u8> =
        removed.iter().flat_map(|name| format!("removed {}\n", sanitize(name)).into_bytes()).collect();
    if removed.is_empty() {
        text.extend_from_slice(b"nothing to remove\n");
    }
    emit(context.out, &mut text)?;
    Ok(Exit::Success)
}

/// Returns the selected whole devices; an empty list means all. Returns the exit code instead if none of the requested
/// devices exists.
///
/// # Errors
/// If the devices cannot be read.
fn selected_numbers(
    plan: &Latency,
    baselines: &BaselineStore,
    context: &mut RunContext<'_>,
) -> Result<Result<Vec<DeviceNumber>, Exit>> {
    let clock = context.clock;
    let mut intervals = Intervals::open(&plan.input, &plan.selection, Detail::Report, baselines, clock)?;
    let mut warnings = Warnings::about(&intervals.source_name());
    intervals.start(&mut |warning| warnings.warn_capture(warning, context.err))?;
    warnings.finish(context.err);
    if !plan.selection.names_devices() {
        return Ok(Ok(Vec::new()));
    }
    if let Some(not_found) = intervals.not_found() {
        context.print_error(not_found);
        return Ok(Err(Exit::NoData));
    }
    Ok(Ok(intervals.selected_disk_numbers()))
}

/// Shows intervals until the requested number of them, or a signal, ends the run. `traced_devices` are those whose
/// requests are traced; all if empty.
fn show(
    plan: &Latency,
    mut intervals: Intervals<'_>,
    tracing: &Tracing,
    mut traced_devices: Vec<DeviceNumber>,
    context: &mut RunContext<'_>,
) -> Result<Exit> {
    let mut warnings = Warnings::about(&intervals.source_name());
    let mut output = Output::new(plan, context);
    intervals.start(&mut |warning| warnings.warn_capture(warning, context.err))?;
    output.flush(context)?;
    let end = loop {
        // What was traced before the first sample, or across a break, is not of an interval.
        tracing.take(&intervals);
        let (header, has_found_any) =
            match intervals.next(&mut |warning| warnings.warn_capture(warning, context.err))? {
                NextInterval::Rows(rows) => (rows.header, rows.has_found_any),
                NextInterval::Break => continue,
                NextInterval::End => break Exit::Success,
                NextInterval::Signal(signal) => break Exit::Signal(signal),
            };
        let traced = tracing.take(&intervals);
        if plan.selection.names_devices() {
            trace_changed_devices(&intervals, tracing, &mut traced_devices);
        }
        let Some(traced) = traced else { continue };
        if !has_found_any {
            // The requested device may appear later, or not at all.
            continue;
        }
        let devices = output.shown_devices(&traced.devices, &intervals);
        let interval = LatencyInterval { header: &header, traced: &traced, devices };
        output.push(&interval, context);
        output.flush(context)?;
    };
    warnings.finish(context.err);
    if end != Exit::Success {
        return Ok(end);
    }
    let reason = missing_data(&intervals)?;
    Ok(reason.map_or(Exit::Success, |reason| end_without_data(&reason, &intervals, context)))
}

/// Traces other devices if selected ones have appeared, or have another number, for example after they were plugged in
/// again.
fn trace_changed_devices(
    intervals: &Intervals<'_>,
    tracing: &Tracing,
    traced_devices: &mut Vec<DeviceNumber>,
) {
    let devices = intervals.selected_disk_numbers();
    // While all of them are gone, the devices that are traced stay the same: an empty list would mean all.
    if devices != *traced_devices && !devices.is_empty() {
        tracing.select(&devices, &[]);
        *traced_devices = devices;
    }
}

/// Writes the intervals of a run.
struct Output<'a> {
    plan: &'a Latency,
    writer: LatencyWriter,
    text: Vec<u8>,
    /// The notes that were printed last.
    notes: Vec<String>,
}

impl<'a> Output<'a> {
    fn new(plan: &'a Latency, context: &mut RunContext<'_>) -> Self {
        let time_zone = match plan.format {
            LatencyFormat::Table(_) | LatencyFormat::Heatmap(_) => {
                context.time_zone(plan.time_zone.as_deref())
            }
            LatencyFormat::Json { .. } | LatencyFormat::Csv => TimeZone::UTC,
        };
        let mut writer = LatencyWriter::new(plan.format, DEFAULT_WIDTH, time_zone);
        if let Some((columns, _)) = context.is_terminal.then(screen_size).flatten() {
            writer.resize(columns);
        }
        let mut text = Vec::new();
        writer.begin(&mut text);
        Self { plan, writer, text, notes: Vec::new() }
    }

    /// Returns the selected devices. A path to an NVMe disk is shown only if it was requested by name: its requests are
    /// those of the disk.
    fn shown_devices<'b>(
        &self,
        devices: &'b [TracedDevice],
        intervals: &Intervals<'_>,
    ) -> Vec<&'b TracedDevice> {
        let disks = intervals.selected_disks();
        let is_restricted = self.plan.selection.names_devices();
        let is_shown = |device: &&TracedDevice| match is_restricted {
            true => disks.contains_key(device.name.as_str()),
            false => !device.is_path,
        };
        devices.iter().filter(is_shown).collect()
    }

    fn push(&mut self, interval: &LatencyInterval<'_>, context: &mut RunContext<'_>) {
        if let Some((columns, _)) = context.is_terminal.then(screen_size).flatten() {
            self.writer.resize(columns);
        }
        self.writer.push(interval, &mut self.text);
        let is_for_programs = matches!(self.plan.format, LatencyFormat::Json { .. } | LatencyFormat::Csv);
        let notes = if is_for_programs { trace_notes(interval.traced) } else { Vec::new() };
        // Repeat notes only once something else is missing.
        if notes.len() != self.notes.len() {
            notes.iter().for_each(|note| context.print_error(note));
        }
        self.notes = notes;
    }

    /// Writes the text added since the last call.
    ///
    /// # Errors
    /// If standard output cannot be written.
    fn flush(&mut self, context: &mut RunContext<'_>) -> Result<()> {
        if self.text.is_empty() { Ok(()) } else { emit(context.out, &mut self.text) }
    }
}
