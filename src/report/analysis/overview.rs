//! The table at the top: the devices that are not ok, the worst first, and the others on one line.

use std::borrow::Cow;

use super::AnalysisReport;
use super::events::{devices_worst_first, worse_verdict};
use super::text::push_paragraph;
use super::times::Times;
use crate::analysis::{DeviceReport, Verdict};
use crate::intervals::{IncidentSummary, LatencySeries};
use crate::report::evidence::explanation_text;
use crate::report::layout::number_format as cells;
use crate::report::layout::sentence_numbers::{counted, duration};
use crate::report::layout::sparkline::{Point, sparkline};
use crate::report::layout::{Align, TextTable, UNLIMITED_WIDTH, sentence_width};
use crate::sanitize::sanitize;

/// The most characters of a sparkline.
const MAX_POINTS: usize = 30;
const MIN_POINTS: usize = 8;
/// The width of a line from which there is always a sparkline.
const MIN_WIDTH_WITH_POINTS: usize = 80;
/// The most devices that the table lists without `--details`.
const MAX_ROWS: usize = 15;
/// The most characters of a device's names.
const MAX_NAME: usize = 28;
/// The most devices without a verdict and with little I/O that get rows in the table; more of them are put on one line.
const MAX_LITTLE_ROWS: usize = 3;
/// The mean queue up to which a device has little I/O: it works for a twentieth of the time.
const MAX_LITTLE_QUEUE: f64 = 0.05;
/// The least range of latencies in milliseconds that sparklines distinguish: all devices have one scale, so that a
/// latency that is high all the time looks high.
const LATENCY_SCALE_MS: std::ops::Range<f64> = 0.1..10.0;

pub(super) struct Row<'a> {
    pub(super) report: &'a DeviceReport,
    /// The worst verdict in an incident, if it is worse than the verdict on the whole run.
    worse: Option<Verdict>,
    /// The seconds of its incidents.
    trouble_s: f64,
}

/// The verdict on a device over the whole run as a sentence, after that of its incidents if it is worse: `sda was
/// saturated for 40 s; over the whole time, sda is far from saturated: ...`
pub(in crate::report) fn verdict_sentence(report: &AnalysisReport<'_>, device: &DeviceReport) -> String {
    let explanation = explanation_text(device);
    let worse = worse_verdict(report, device).filter(|_| device.verdict.is_some());
    let Some(worse) = worse else { return format!("{explanation}.") };
    let of_incident = |(incident, verdict): (&IncidentSummary, Option<(Verdict, f64)>)| {
        let (_, verdict_s) = verdict.filter(|(verdict, _)| *verdict == worse)?;
        Some(verdict_s.min(length_s(incident)))
    };
    let worst_s = duration(report.events.incidents_of(&device.device).filter_map(of_incident).sum());
    format!("{} was {} for {worst_s}; over the whole time, {explanation}.", device.device, worse.name())
}

/// The seconds of an incident within the run.
fn length_s(incident: &IncidentSummary) -> f64 {
    incident.end.run_s - incident.incident.begin.run_s.max(0.0)
}

/// Returns the devices of the table, the worst first: those with a verdict other than `ok` and `idle`, without one, or
/// with trouble at some time. Many devices with little I/O and without a verdict are left out.
pub(super) fn rows<'a>(report: &AnalysisReport<'a>) -> Vec<Row<'a>> {
    let row = |device: &'a DeviceReport| {
        let own = report.events.incidents_of(&device.device);
        Row {
            report: device,
            worse: worse_verdict(report, device),
            trouble_s: own.map(|(incident, _)| length_s(incident)).sum(),
        }
    };
    let devices = devices_worst_first(report).into_iter().map(|at| &report.devices[at]);
    let mut rows: Vec<Row<'a>> = devices.map(row).filter(Row::is_listed).collect();
    if rows.iter().filter(|row| row.has_little_io()).count() > MAX_LITTLE_ROWS {
        rows.retain(|row| !row.has_little_io());
    }
    rows
}

impl Row<'_> {
    fn has_incident(&self) -> bool {
        self.trouble_s > 0.0
    }

    fn is_listed(&self) -> bool {
        let is_fine = matches!(self.report.verdict, Some(Verdict::Ok | Verdict::Idle));
        self.report.intervals > 0 && (!is_fine || self.has_incident())
    }

    fn has_little_io(&self) -> bool {
        let queue = self.report.all.queue.mean;
        self.report.verdict.is_none()
            && !self.has_incident()
            && queue.is_some_and(|queue| queue <= MAX_LITTLE_QUEUE)
    }

    fn is_unknown(&self) -> bool {
        self.report.verdict.is_none() && !self.has_incident()
    }
}

/// Appends the span of the run, the table, and the devices that are ok or idle.
pub(super) fn push_overview(
    report: &AnalysisReport<'_>,
    rows: &[Row<'_>],
    times: &Times<'_>,
    width: usize,
    out: &mut Vec<u8>,
) {
    let seconds = report.clock.end.run_s;
    let devices = counted(report.devices.len() as u64, "device");
    push_paragraph(&format!("{}, {devices}; {}", duration(seconds), times.run()), 0, width, out);
    out.push(b'\n');
    let listed = if report.has_details { rows } else { &rows[..rows.len().min(MAX_ROWS)] };
    if !listed.is_empty() {
        push_table(report, listed, width, out);
    }
    if rows.len() > listed.len() {
        let more = rows.len() - listed.len();
        let without = rows[listed.len()..].iter().filter(|row| row.is_unknown()).count();
        let kind = match without {
            0 => "that are not ok".to_owned(),
            _ if without == more => "without a verdict".to_owned(),
            _ => format!("that are not ok, {without} of them without a verdict"),
        };
        push_paragraph(&format!("+ {more} more {kind} (--details lists all)"), 0, width, out);
    }
    push_others(report, rows, sentence_width(width), out);
}

/// The columns, and the ranks by which they are dropped if the width is too small for all.
const COLUMNS: [(&str, Align); 10] = [
    ("device", Align::Left),
    ("verdict", Align::Left),
    ("trouble", Align::Right),
    ("r/s", Align::Right),
    ("w/s", Align::Right),
    ("MB/s", Align::Right),
    ("await", Align::Right),
    ("max", Align::Right),
    ("queue", Align::Right),
    ("util", Align::Right),
];
const RANKS: [Option<u8>; 10] =
    [None, None, Some(7), Some(6), Some(6), Some(3), Some(8), Some(4), Some(5), Some(2)];

fn push_table(report: &AnalysisReport<'_>, rows: &[Row<'_>], width: usize, out: &mut Vec<u8>) {
    let mut table = TextTable::new(&COLUMNS, rows.iter().map(|row| row_cells(report, row)));
    // The shape of the latency over time shows more than the columns that are dropped for it.
    let for_columns = if width >= MIN_WIDTH_WITH_POINTS { width - MIN_POINTS } else { width };
    table.drop_columns(&RANKS, for_columns.saturating_sub(table.gap));
    // Without a limit, the line is as long as sentences, or longer if the columns are.
    let points = sentence_width(width).saturating_sub(table.width() + table.gap);
    let points = if width == UNLIMITED_WIDTH { points.max(MIN_POINTS) } else { points };
    let points = if points >= MIN_POINTS { points.min(MAX_POINTS) } else { 0 };
    let fits = |title: &&str| title.len() <= points;
    let title = ["await over time", "history"].into_iter().find(fits).unwrap_or_default();

    let series: Vec<Option<&LatencySeries>> =
        rows.iter().map(|row| report.latencies.get(&row.report.device)).collect();
    let ranges = series.iter().flatten().filter_map(|series| series.range());
    let range = ranges.fold((LATENCY_SCALE_MS.start, LATENCY_SCALE_MS.end), |(low, high), (min, max)| {
        (low.min(min), high.max(max))
    });
    let cells = series.iter().map(|one| one.map(|one| drawn(one, range, report, points)).unwrap_or_default());
    table.add_column(title.to_owned(), Align::Left, cells);
    table.push(out);
}

/// The kernel's name of a device, which sentences use, with its alias, by which it is an event: `dm-1 vg0-root`.
pub(super) fn full_name<'a>(report: &AnalysisReport<'_>, device: &'a DeviceReport) -> Cow<'a, str> {
    match report.topology.node(&device.device).and_then(|node| node.alias.as_ref()) {
        Some(alias) => format!("{} {alias}", device.device).into(),
        None => device.device.as_str().into(),
    }
}

fn row_cells(report: &AnalysisReport<'_>, row: &Row<'_>) -> Vec<String> {
    let DeviceReport { read, write, all, util_pct, .. } = row.report;
    let name: String = sanitize(&full_name(report, row.report)).chars().take(MAX_NAME).collect();
    // A device that is ok for most of the time is listed because of its worst incident.
    let verdict = match (row.report.verdict, row.worse) {
        (Some(own), Some(worst)) => format!("{}, {}", own.name(), worst.name()),
        (Some(verdict), None) | (None, Some(verdict)) => verdict.name().to_owned(),
        (None, None) => "no verdict".to_owned(),
    };
    let trouble = if row.trouble_s > 0.0 { duration(row.trouble_s) } else { "-".to_owned() };
    let cell = |value: Option<f64>, format: fn(f64) -> String| value.map_or("-".to_owned(), format);
    vec![
        name,
        verdict,
        trouble,
        cell(read.iops.mean, cells::number),
        cell(write.iops.mean, cells::number),
        cell(all.mib_per_s.mean, cells::number),
        cell(all.await_ms.mean, cells::time),
        cell(all.await_ms.max, cells::time),
        cell(all.queue.mean, cells::queue),
        cell(util_pct.mean, cells::percent),
    ]
}

/// The latency of a device over the time of the run.
fn drawn(series: &LatencySeries, range: (f64, f64), report: &AnalysisReport<'_>, width: usize) -> String {
    let total_s = report.clock.elapsed_s(report.clock.end.run_s);
    let gaps = report.clock.gaps();
    let step_s = total_s / width as f64;
    let point = |index: usize| {
        let (begin_s, end_s) = (index as f64 * step_s, (index + 1) as f64 * step_s);
        let is_gap = gaps.iter().any(|(from, until)| *from <= begin_s && end_s <= *until);
        match series.max(begin_s, end_s) {
            Some(await_ms) => Point::Value(await_ms),
            None if is_gap => Point::Gap,
            None => Point::Nothing,
        }
    };
    let points: Vec<Point> = (0..width).map(point).collect();
    sparkline(&points, range, report.is_unicode)
}

/// Appends the devices that are not in the table: those without a verdict on one line, and those that are ok or idle on
/// another.
fn push_others(report: &AnalysisReport<'_>, rows: &[Row<'_>], width: usize, out: &mut Vec<u8>) {
    let is_other = |device: &&DeviceReport| !rows.iter().any(|row| std::ptr::eq(row.report, *device));
    let others: Vec<&DeviceReport> = report.devices.iter().filter(is_other).collect();
    let of = |title: &str, is_meant: &dyn Fn(&DeviceReport) -> bool| {
        let names: Vec<&str> =
            others.iter().filter(|device| is_meant(device)).map(|device| device.device.as_str()).collect();
        (!names.is_empty()).then(|| (format!("{} {title}: ", names.len()), names))
    };
    let groups = [
        of("ok", &|device| device.intervals > 0 && device.verdict == Some(Verdict::Ok)),
        of("idle", &|device| device.intervals > 0 && device.verdict == Some(Verdict::Idle)),
        of("without an interval", &|device| device.intervals == 0),
    ];
    let groups: Vec<_> = groups.into_iter().flatten().collect();
    let is_little = |device: &DeviceReport| device.intervals > 0 && device.verdict.is_none();
    let little = of("without a verdict and with little I/O", &is_little);
    // Each group gets an equal part of the line.
    let group_width = width / groups.len().max(1) - 2;
    let text = |(title, names): &(String, Vec<&str>), width: usize| {
        let mut text = title.clone();
        for (index, name) in names.iter().enumerate() {
            let comma = if index > 0 { ", " } else { "" };
            let name = format!("{comma}{}", sanitize(name));
            if text.chars().count() + name.chars().count() + 5 > width {
                text += if index > 0 { ", ..." } else { "..." };
                break;
            }
            text += &name;
        }
        text
    };
    if let Some(little) = &little {
        push_paragraph(&text(little, width), 0, usize::MAX, out);
    }
    let texts: Vec<String> = groups.iter().map(|group| text(group, group_width)).collect();
    if !texts.is_empty() {
        push_paragraph(&texts.join("; "), 0, usize::MAX, out);
    }
}
