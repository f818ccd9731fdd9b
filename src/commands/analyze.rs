//! `blkstat analyze`: analyzes a capture, or the running system for a time; and the analysis of all intervals, which
//! `report` shows, too.

use std::cell::RefCell;
use std::path::Path;

use anyhow::{Result, bail};
use clap::Args;
use jiff::tz::TimeZone;

use super::follow::Progress;
use super::hindsight::read_once;
use super::options::{FILE_FIRST, Host, SourceOptions, VerdictOptions, WidthOption};
use crate::capture::RecordingHeader;
use crate::console::{RunContext, Warnings};
use crate::exit::Exit;
use crate::intervals::{BaselineStore, Detail, DeviceSelection, Intervals, NotFound, collect};
use crate::judge::{DeviceReport, Verdict, queue_by_layer};
use crate::report::analysis::{AnalysisReport, fio_job, json, text};
use crate::sanitize::sanitize;
use crate::source::Input;

#[derive(Args, Clone, Debug)]
#[command(override_usage = "blkstat analyze [OPTIONS] [FILE]... [DEVICE]... [INTERVAL [COUNT]]")]
pub struct Analyze {
    #[command(flatten)]
    source: SourceOptions,
    /// Analyze only devices whose name matches
    #[arg(long, value_name = "REGEX")]
    devices_regex: Option<String>,
    /// Exit with status 3 if a device was in trouble, for scripts and monitoring
    #[arg(long, conflicts_with = "fio")]
    check: bool,
    /// Show load, queue levels and capacity of each device (default if one is named)
    #[arg(long, conflicts_with_all = ["json", "fio"])]
    details: bool,
    /// Print one JSON document
    #[arg(short, long)]
    json: bool,
    /// Print a fio job that reproduces the load on a file of your choice
    #[arg(long, conflicts_with = "json")]
    fio: bool,
    #[command(flatten)]
    width: WidthOption,
    #[command(flatten)]
    verdicts: VerdictOptions,
}

impl Analyze {
    pub(super) fn run(&self, host: &Host, context: &mut RunContext<'_>) -> Result<Exit> {
        let (input, devices) = self.source.source(FILE_FIRST, host, context)?;
        let selection = self.selection(devices);
        let baselines = self
            .verdicts
            .load_baselines(host.baselines_for(&input), context);
        let sources = Sources {
            input: &input,
            selection: &selection,
            detail: if self.json || self.fio {
                Detail::Analysis
            } else {
                Detail::Charts
            },
            baselines: &baselines,
        };
        // Read the time zone only now: an error about a time of the range also names an unknown time zone.
        let time_zone = if self.json || self.fio {
            TimeZone::UTC
        } else {
            context.time_zone()
        };
        let (mut exit, analyzed) = sources.analyze("analyzing", context)?;
        let Some(Analyzed { mut report, .. }) = analyzed else {
            return Ok(exit);
        };
        report.is_selection = selection.names_devices();
        report.has_details = self.details || report.is_selection;
        report.is_unicode = context.is_terminal;
        report.time_zone = time_zone;
        let mut out = Vec::new();
        match (self.fio, self.json) {
            (true, _) => write_fio_job(&report.devices, &mut out)?,
            (_, true) => json(&report, &mut |line| context.show(line))?,
            _ => text(&report, self.width.or_available(context), &mut out),
        }
        context.show(&mut out)?;
        if self.check && had_trouble(&report) {
            exit = exit.or(Exit::Trouble);
        }
        Ok(exit)
    }

    fn selection(&self, devices: Vec<String>) -> DeviceSelection {
        DeviceSelection {
            devices,
            regex: self.devices_regex.clone(),
            ..DeviceSelection::default()
        }
    }
}

/// Returns whether any device was in trouble, for a part of the time or by the verdict on all of it.
fn had_trouble(report: &AnalysisReport) -> bool {
    let mut verdicts = report.devices.iter().map(|device| device.verdict);
    !report.incidents.list.is_empty()
        || verdicts.any(|verdict| verdict.is_some_and(Verdict::is_trouble))
}

/// Writes the fio job of the only active device.
///
/// # Errors
/// If no device or more than one was active.
fn write_fio_job(reports: &[DeviceReport], out: &mut Vec<u8>) -> Result<()> {
    let active = reports.iter().filter(|report| report.busy_intervals > 0);
    match &*Vec::from_iter(active) {
        [report] => fio_job(report, out),
        [] => bail!("no device was active: there is no load to repeat"),
        several => {
            let names: Vec<&str> = several.iter().map(|one| one.device.as_str()).collect();
            bail!(
                "several devices were active; name one of: {}",
                sanitize(&names.join(", "))
            );
        }
    }
    Ok(())
}

/// What is analyzed, and how.
pub(super) struct Sources<'a> {
    pub(super) input: &'a Input,
    pub(super) selection: &'a DeviceSelection,
    pub(super) detail: Detail,
    pub(super) baselines: &'a BaselineStore,
}

/// An analysis of all devices, with times in UTC.
pub(super) struct Analyzed {
    pub(super) report: AnalysisReport,
    pub(super) host: RecordingHeader,
}

impl Sources<'_> {
    /// Analyzes all intervals with hindsight. Shows progress and reports missing data; `doing` is the text for what the program
    /// does until Ctrl-C without a COUNT. Returns the exit code, and the analysis unless there was nothing to analyze.
    ///
    /// # Errors
    /// When the source cannot be read.
    pub(super) fn analyze(
        &self,
        doing: &str,
        context: &mut RunContext<'_>,
    ) -> Result<(Exit, Option<Analyzed>)> {
        let Self {
            input,
            selection,
            detail,
            baselines,
        } = *self;
        let read = read_once(input, selection, detail, baselines, doing, context)?;
        let Some(read) = read else {
            // The running system lacks a device: it is opened again to say which.
            let mut intervals =
                Intervals::open(input, selection, detail, baselines, context.clock)?;
            return analyze_intervals(&mut intervals, None, context);
        };
        let mut intervals =
            Intervals::open(&read.input, selection, detail, baselines, context.clock)?;
        if !input.as_live {
            intervals = intervals.with_hindsight(read.learned);
        }
        analyze_intervals(&mut intervals, read.signal, context)
    }
}

/// Analyzes all intervals, of which a `signal` may have ended the first run.
fn analyze_intervals(
    intervals: &mut Intervals<'_>,
    signal: Option<u8>,
    context: &mut RunContext<'_>,
) -> Result<(Exit, Option<Analyzed>)> {
    let mut progress = Progress::new(context.err_is_terminal, context.clock.monotonic());
    let mut count = 0u64;
    let mut warnings = Warnings::about(&intervals.source_name());
    let shared = RefCell::new(&mut *context);
    let collected = collect(
        intervals,
        &mut |warning| warnings.warn_capture(warning, shared.borrow_mut().err),
        &mut || {
            count += 1;
            progress.show(|| format!("{count} intervals"), &mut shared.borrow_mut());
        },
    );
    progress.clear(context);
    warnings.finish(context.err);
    let collected = collected?;
    let mut exit = match signal.or(collected.signal) {
        Some(signal) => Exit::Signal(signal),
        None => Exit::Success,
    };
    let has_data = intervals.span.intervals > 0 && !collected.devices.is_empty();
    if let Some(reason) = incomplete_reason(intervals, has_data)? {
        context.print_error(reason);
        exit = exit.or(Exit::NoData);
    }
    if !has_data {
        return Ok((exit, None));
    }
    let topology = intervals.known_topology().cloned().unwrap_or_default();
    let queues = queue_by_layer(&topology, &collected.devices);
    let report = AnalysisReport {
        devices: collected.devices,
        queue_by_layer: queues,
        topology,
        is_selection: false,
        host: collected.host,
        incidents: collected.incidents,
        history: collected.history,
        time_zone: TimeZone::UTC,
        has_details: true,
        is_unicode: true,
    };
    let analyzed = Analyzed {
        report,
        host: intervals.host(),
    };
    Ok((exit, Some(analyzed)))
}

/// Returns why the analysis lacks a requested device or any data; `None` if it is complete.
fn incomplete_reason(intervals: &Intervals<'_>, has_data: bool) -> Result<Option<String>> {
    let source = sanitize(&intervals.source_name()).into_owned();
    let Some(not_found) = intervals.not_found() else {
        if has_data {
            return Ok(None);
        }
        return Ok(Some(format!("{source}: {}", intervals.no_data_reason()?)));
    };
    if intervals.is_live() {
        return Ok(Some(not_found_text(not_found)));
    }
    if intervals.span.intervals > 0 {
        return Ok(Some(format!("{source}: {not_found}")));
    }
    Ok(Some(format!("{source}: {}", intervals.no_data_reason()?)))
}

/// Returns which device this host lacks. The user may have meant a capture.
fn not_found_text(not_found: NotFound) -> String {
    match &not_found.names[..] {
        [name] if Path::new(name).is_dir() => {
            let name = sanitize(name);
            format!("{name} is a directory, not a device or a capture")
        }
        [name] if !not_found.has_similar && matches!(Path::new(name).try_exists(), Ok(false)) => {
            let name = sanitize(name);
            format!("no such device or file '{name}'; run 'blkstat devices' for a list")
        }
        _ => not_found.message,
    }
}
