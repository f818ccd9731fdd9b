//! VerdictOptions devices by many intervals: of a capture, or of this machine for a while.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::native::{Feed, Gathered, Settler, gather};
use super::progress::Progress;
use super::{RunContext, WIDTH, put};
use crate::analysis::{DeviceReport, HostAnalysis, SavedBaselines, queue_by_layer};
use crate::exit::Exit;
use crate::metrics::HostStats;
use crate::plan::{Analyze, AnalyzeFormat};
use crate::report::analysis::{AnalysisReport, fio_job, json, text};
use crate::sanitize::sanitize;
use crate::sink::write_document;
use crate::source::read_object;
use crate::view::terminal::screen_size;

pub(super) fn run(plan: &Analyze, world: &mut RunContext<'_>) -> Result<Exit> {
    if let Some(path) = &plan.save_baseline {
        // Better now than when all is read.
        refuse_to_overwrite(path)?;
    }
    let settler = Settler::new(&plan.judging, world)?;
    let clock = world.clock;
    let mut feed = Feed::open(&plan.input, clock)?;
    let mut host = HostAnalysis::default();
    let mut progress = Progress::new(plan.stderr_is_tty, clock.monotonic());
    let mut count = 0u64;
    let gathered = gather(
        &mut feed,
        &plan.choice,
        plan.input.pace.count,
        world,
        &mut |older, newer, interval, world| {
            host.observe(&HostStats::between(older, newer, interval), interval.seconds());
            count += 1;
            progress.show(|| format!("{count} intervals"), world);
        },
    );
    progress.clear(world);
    let Gathered { devices, stack, intervals, signal, missing } = gathered?;
    let ended = signal.map_or(Exit::Success, Exit::Signal);
    let is_nothing = intervals == 0 || devices.is_empty();
    let is_incomplete = is_nothing || missing.is_some();
    if is_incomplete {
        let why = missing.filter(|_| intervals > 0 || feed.is_live()).map_or_else(|| feed.nothing(), Ok)?;
        let _ = writeln!(world.err, "blkstat: {}: {why}", sanitize(&feed.name()));
    }
    let ended = if is_incomplete && ended == Exit::Success { Exit::NoData } else { ended };
    if is_nothing {
        return Ok(ended);
    }
    let host = host.finish();
    let finished = devices.into_iter().map(|device| {
        let settings = settler.settings(device.name());
        device.finish(&settings, &host)
    });
    let reports: Vec<DeviceReport> = finished.collect();
    let layers = queue_by_layer(&stack, &reports);
    let mut out = Vec::new();
    match plan.format {
        AnalyzeFormat::Fio => fio_jobs(&reports, &mut out)?,
        format => {
            let findings = AnalysisReport { devices: &reports, queue_by_layer: layers.as_ref(), host: &host };
            if format == AnalyzeFormat::Json {
                json(&findings, &mut out);
            } else {
                let columns = world.is_terminal.then(screen_size).flatten().map(|(columns, _)| columns);
                text(&findings, columns.unwrap_or(WIDTH), &mut out);
            }
        }
    }
    if let Some(path) = &plan.save_baseline {
        save_baseline(path, &reports)?;
    }
    put(world.out, &mut out)?;
    Ok(ended)
}

/// The job of the one device that worked, or of all one after the other.
fn fio_jobs(reports: &[DeviceReport], out: &mut Vec<u8>) -> Result<()> {
    let worked: Vec<&DeviceReport> = reports.iter().filter(|report| report.busy_intervals > 0).collect();
    match worked.as_slice() {
        [report] => fio_job(report, out),
        [] => bail!("no device worked, so there is no load to repeat"),
        several => {
            let names: Vec<&str> = several.iter().map(|report| report.device.as_str()).collect();
            bail!(
                "several devices worked ({}); name the one whose load is to be repeated",
                sanitize(&names.join(", "))
            );
        }
    }
    Ok(())
}

/// A file that is no saved baseline may be somebody's recording.
fn refuse_to_overwrite(path: &Path) -> Result<()> {
    if path.exists() && read_object(path)?.is_none() {
        bail!("{} exists already and is no saved baseline", sanitize(&path.display().to_string()));
    }
    Ok(())
}

fn save_baseline(path: &Path, reports: &[DeviceReport]) -> Result<()> {
    let known = reports.iter().filter(|report| !report.baseline.is_empty());
    let devices = known.map(|report| (report.device.clone(), report.baseline.clone())).collect();
    let mut text = serde_json::to_vec_pretty(&SavedBaselines { devices })?;
    text.push(b'\n');
    write_document(path, &text)
        .with_context(|| format!("cannot write {}", sanitize(&path.display().to_string())))
}
