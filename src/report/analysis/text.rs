//! The text for people, to be read from top to bottom.

use std::collections::HashSet;

use super::{
    AnalysisReport, Times, capacity_sentences, cause_sentences, departure_sentences,
    devices_worst_first, host_fact_sentences, host_sentences, incident_line, link_text,
    not_the_disk_sentences, push_incidents, worst_incident_text,
};
use crate::intervals::series::Extent;
use crate::intervals::{DeviceHistory, IncidentTotal};
use crate::judge::{
    ConcurrencyLevel, DeviceReport, DirectionReport, Distribution, Layer, Pattern, Verdict,
    WaitLocation,
};
use crate::quantities::device::AWAIT_MS;
use crate::report::evidence::explanation_text;
use crate::report::layout::sentence_numbers::{counted, duration, named};
use crate::report::layout::sparkline::{Point, sparkline};
use crate::report::layout::{
    KEEP, TextTable, UNLIMITED_WIDTH, number_format as cells, push_lines, sentence_width,
};
use crate::sanitize::sanitize;
use crate::terminal::to_ascii;

const INDENT: usize = 4;

/// The most devices whose verdict is explained without `--details`.
const MAX_EXPLAINED: usize = 5;

/// Appends the worst incident, the table of devices, the disks that disappeared, all incidents if there are several, and
/// the reasons for the verdicts on the worst devices or, with [`AnalysisReport::has_details`], the whole report of each
/// device that was busy; then findings about the host. Lines have at most `width` columns if that is 60 or more, except for those of several incidents.
pub fn text(report: &AnalysisReport, width: usize, out: &mut Vec<u8>) {
    let out = &mut Text { width, out };
    let times = Times::new(&report.history.clock, &report.time_zone);
    let rows = rows(report);
    // What happened to the host comes first: it may explain all the rest.
    let mut facts = departure_sentences(report);
    facts.extend(host_fact_sentences(report));
    if !facts.is_empty() {
        for sentence in &facts {
            out.push(sentence, 0);
        }
        out.out.push(b'\n');
    }
    if let Some(worst) = report.incidents.worst_first().first() {
        out.push(&format!("{}.", incident_line(worst, &times)), 0);
        out.out.push(b'\n');
    }
    push_overview(report, &rows, &times, out);
    push_incidents(report, &times, out.out);
    if report.has_details {
        push_devices(report, out);
    } else {
        push_explanations(report, &rows, out);
    }
    out.section(
        "Not the disk",
        0,
        &not_the_disk_sentences(report).unwrap_or_default(),
    );
    out.section("Host", 0, &host_sentences(report));
    if !report.has_details
        && report
            .devices
            .iter()
            .any(|device| device.busy_intervals > 0)
    {
        let hint = "For workload, capacity and queueing by layer, use --details or name a device.";
        out.heading(hint, 0);
    }
}

/// Appends the reasons why the worst devices have their verdicts, or have none, and where requests wait.
fn push_explanations(report: &AnalysisReport, rows: &[Row<'_>], out: &mut Text<'_>) {
    let explained = &rows[..rows.len().min(MAX_EXPLAINED)];
    for (index, row) in explained.iter().enumerate() {
        // Devices without a verdict all lack one for the same few reasons, so only the first is explained.
        if index == 0 || row.report.verdict.is_some() {
            out.heading(&verdict_sentence(report, row.report), 0);
        }
    }
    // A device that is ok may be what its users wait for.
    let ok = report
        .devices
        .iter()
        .filter(|device| device.verdict == Some(Verdict::Ok));
    for sentence in ok.flat_map(cause_sentences).take(MAX_EXPLAINED) {
        out.heading(&sentence, 0);
    }
    for link in report.queue_by_layer.iter().flat_map(|one| &one.links) {
        let is_explained = explained.iter().any(|row| row.report.device == link.above);
        if is_explained && link.waiting != WaitLocation::Nowhere {
            out.push(&format!("{}.", capitalize(&link_text(link))), 0);
        }
    }
}

/// Appends the reports of the devices that were busy, and the queues of their layers.
fn push_devices(report: &AnalysisReport, out: &mut Text<'_>) {
    for device in &report.devices {
        if device.intervals > 0 && device.verdict != Some(Verdict::Idle) {
            out.out.push(b'\n');
            push_device(report, device, out);
        }
    }
    if let Some(queues) = &report.queue_by_layer {
        out.heading("Queueing by layer", 0);
        layers(&queues.layers, out);
        for link in &queues.links {
            out.push(&format!("{}.", capitalize(&link_text(link))), INDENT);
        }
    }
}

/// Appends one device, in the order of the questions that a person has.
fn push_device(whole: &AnalysisReport, report: &DeviceReport, out: &mut Text<'_>) {
    let verdict = report.verdict.map_or("no verdict", Verdict::name);
    out.push(&format!("{}: {verdict}", full_name(whole, report)), 0);
    out.push(&verdict_sentence(whole, report), 2);
    push_workload(report, out);
    if !report.levels.is_empty() {
        out.heading("By queue", 2);
        levels(&report.levels, out);
    }
    out.section("Capacity", 2, &capacity_sentences(whole, report));
    out.section("Other causes", 2, &cause_sentences(report));
    out.section("Excluded", 2, &excluded(report));
}

fn push_workload(report: &DeviceReport, out: &mut Text<'_>) {
    if !report.read.has_requests() && !report.write.has_requests() {
        return;
    }
    let mut heading = format!(
        "Workload: {}, {}",
        cells::duration(report.seconds),
        counted(report.intervals, "interval")
    );
    if (1..report.intervals).contains(&report.busy_intervals) {
        heading += &format!(", {} of them busy", report.busy_intervals);
    }
    out.heading(&heading, 2);
    workload(report, out);
    let mut patterns = Vec::new();
    for (noun, of) in [("reads", &report.read), ("writes", &report.write)] {
        patterns.extend(pattern(noun, of));
    }
    if !patterns.is_empty() {
        out.push(&format!("{}.", patterns.join("; ")), INDENT);
    }
}

/// Merges and pattern of a direction; `None` if neither is known.
fn pattern(noun: &str, of: &DirectionReport) -> Option<String> {
    let mut known = Vec::new();
    if let Some(merged) = of.merged_pct {
        known.push(format!("{} merged", cells::percent(merged)));
    }
    match of.pattern {
        Pattern::Sequential => known.push("sequential".to_owned()),
        Pattern::Random => known.push("random".to_owned()),
        Pattern::Unknown => {}
    }
    if !of.has_requests() || known.is_empty() {
        return None;
    }
    Some(format!("{noun}: {}", known.join(", ")))
}

/// The excluded intervals and the reasons, in sentences.
fn excluded(report: &DeviceReport) -> Vec<String> {
    let excluded = &report.excluded;
    let reasons = [
        (
            excluded.resets,
            "reset",
            "(device replugged): no interval spans a reset",
        ),
        (excluded.gaps, "gap", "in time: no interval spans a gap"),
        (excluded.absent, "interval", "with the device absent"),
        (
            excluded.untimed,
            "interval",
            "without request times: the kernel gives none",
        ),
    ];
    let mut sentences = Vec::new();
    for (count, noun, rest) in reasons {
        if count > 0 {
            sentences.push(format!("{} {rest}.", counted(count, noun)));
        }
    }
    sentences
}

/// Appends a table with the first column aligned left and the others right.
fn push_numbers(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>, out: &mut Text<'_>) {
    TextTable {
        indent: INDENT,
        ..TextTable::new(header, "lr", rows)
    }
    .push(out.out);
}

/// The title of a row, its quantity and the format of its numbers.
type Measured = (
    &'static str,
    fn(&DirectionReport) -> &Distribution,
    fn(f64) -> String,
);

static QUANTITIES: [Measured; 5] = [
    ("/s", |of| &of.iops, cells::number),
    ("MiB/s", |of| &of.mib_per_s, cells::number),
    ("_sz", |of| &of.size_kib, cells::size),
    ("_await", |of| &of.await_ms, cells::time),
    ("_qu", |of| &of.queue, cells::queue),
];

/// Appends the distributions of each direction, without rows that have no values and directions that have no requests.
fn workload(report: &DeviceReport, out: &mut Text<'_>) {
    let mut rows = Vec::new();
    for (letter, of) in [("r", &report.read), ("w", &report.write)] {
        for (title, distribution, format) in QUANTITIES {
            let one = distribution(of);
            if of.has_requests() && one.mean.or(one.max).is_some() {
                let mut row = vec![format!("{letter}{title}")];
                for value in [one.mean, one.p50, one.p95, one.p99, one.max] {
                    row.push(value.map(format).unwrap_or_default());
                }
                rows.push(row);
            }
        }
    }
    push_numbers(&["", "mean", "median", "p95", "p99", "max"], rows, out);
}

/// Appends the levels of concurrency by their mean queue.
fn levels(levels: &[ConcurrencyLevel], out: &mut Text<'_>) {
    let mut rows = Vec::new();
    for level in levels {
        rows.push(vec![
            cells::queue(level.queue),
            level.intervals.to_string(),
            cells::number(level.iops),
            cells::number(level.mib_per_s),
            cells::time(level.await_ms),
            level.saturation.map(cells::multiple).unwrap_or_default(),
        ]);
    }
    let header = ["queue", "intervals", "io/s", "MiB/s", "await", "saturation"];
    push_numbers(&header, rows, out);
}

/// Appends the queue at each layer.
fn layers(layers: &[Layer], out: &mut Text<'_>) {
    let mut rows = Vec::new();
    for layer in layers {
        rows.push(vec![
            sanitize(&layer.device).into_owned(),
            layer.iops.map(cells::number).unwrap_or_default(),
            layer.await_ms.map(cells::time).unwrap_or_default(),
            layer.queue.map(cells::queue).unwrap_or_default(),
        ]);
    }
    push_numbers(&["layer", "io/s", "await", "queue"], rows, out);
}

/// A text in lines of at most `width` columns if that is 60 or more.
struct Text<'a> {
    width: usize,
    out: &'a mut Vec<u8>,
}

impl Text<'_> {
    /// Appends a paragraph, each line of it after `indent` blanks and broken between words; a word that is longer than a
    /// line is broken. Control characters are escaped.
    fn push(&mut self, text: &str, indent: usize) {
        push_lines(
            &sanitize(text),
            [&*" ".repeat(indent); 2],
            sentence_width(self.width),
            self.out,
        );
    }

    /// Appends an empty line and a heading or paragraph.
    fn heading(&mut self, text: &str, indent: usize) {
        self.out.push(b'\n');
        self.push(text, indent);
    }

    /// Appends an empty line and sentences below a title; nothing without any.
    fn section(&mut self, title: &str, indent: usize, sentences: &[String]) {
        if !sentences.is_empty() {
            self.out.push(b'\n');
            self.list(title, indent, sentences);
        }
    }

    /// Appends sentences below a title; nothing without any.
    fn list(&mut self, title: &str, indent: usize, sentences: &[String]) {
        if !sentences.is_empty() {
            self.push(title, indent);
            for sentence in sentences {
                self.push(sentence, INDENT);
            }
        }
    }
}

/// A sentence with a capital letter at its beginning.
fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(letters).collect()
}

/// The most characters of a sparkline.
const MAX_POINTS: usize = 30;
const MIN_POINTS: usize = 8;
/// The width of a line from which there is always a sparkline.
const MIN_WIDTH_WITH_POINTS: usize = 80;
/// The most devices that the table lists without `--details`.
const MAX_ROWS: usize = 15;
/// The most characters of a device's names.
const MAX_NAME: usize = 28;
/// The most devices that are named beside the table in each state.
const MAX_NAMED: usize = 8;
/// The least range of latencies in milliseconds that sparklines distinguish: all devices have one scale, so that a
/// latency that is high all the time looks high.
const LATENCY_SCALE_MS: std::ops::Range<f64> = 0.1..10.0;

struct Row<'a> {
    report: &'a DeviceReport,
    incidents: Option<IncidentTotal>,
}

/// The verdict on a device over the whole run as a sentence, with its incidents beside it: `sda is ok: reads take 0.5 ms or
/// less 95% of the time, at worst 60 ms. 1 incident: saturated, 30 s.`
pub(crate) fn verdict_sentence(report: &AnalysisReport, device: &DeviceReport) -> String {
    let explanation = explanation_text(device);
    let Some(total) = report.incidents.total(&device.device) else {
        return format!("{explanation}.");
    };
    format!(
        "{explanation}. {}: {}, {}.",
        counted(total.count, "incident"),
        worst_incident_text(total),
        duration(total.seconds)
    )
}

/// Returns the devices of the table, the worst first: those with a verdict other than `ok` and `idle`, without one, or with
/// trouble at some time.
fn rows(report: &AnalysisReport) -> Vec<Row<'_>> {
    let mut rows = Vec::new();
    for device in devices_worst_first(report) {
        let incidents = report.incidents.total(&device.device);
        let is_fine = matches!(device.verdict, Some(Verdict::Ok | Verdict::Idle));
        if device.intervals > 0 && (!is_fine || incidents.is_some()) {
            rows.push(Row {
                report: device,
                incidents,
            });
        }
    }
    rows
}

/// Appends the span of the run, the table, and the devices that are ok or idle.
fn push_overview(report: &AnalysisReport, rows: &[Row<'_>], times: &Times<'_>, out: &mut Text<'_>) {
    let seconds = report.history.clock.end.run_s;
    let devices = counted(report.devices.len() as u64, "device");
    out.push(
        &format!("{}, {devices}; {}", duration(seconds), times.run()),
        0,
    );
    out.out.push(b'\n');
    let listed = if report.has_details {
        rows
    } else {
        &rows[..rows.len().min(MAX_ROWS)]
    };
    if !listed.is_empty() {
        push_table(report, listed, out);
    }
    if rows.len() > listed.len() {
        let more = rows.len() - listed.len();
        out.push(
            &format!("+ {more} more that are not ok (--details lists all)"),
            0,
        );
    }
    push_others(report, rows, out);
}

/// The columns, and the ranks by which they are dropped if the width is too small for all.
const COLUMNS: [&str; 11] = [
    "device",
    "verdict",
    "incidents",
    "trouble",
    "r/s",
    "w/s",
    "MiB/s",
    "await",
    "max",
    "queue",
    "util",
];
const RANKS: [u8; 11] = [KEEP, KEEP, KEEP, 7, 6, 6, 3, 8, 4, 5, 2];

fn push_table(report: &AnalysisReport, rows: &[Row<'_>], out: &mut Text<'_>) {
    let mut table = TextTable::new(
        &COLUMNS,
        "lllr",
        rows.iter().map(|row| row_cells(report, row)),
    );
    let width = out.width;
    // The shape of the latency over time shows more than the columns that are dropped for it.
    let has_points = width >= MIN_WIDTH_WITH_POINTS;
    let for_points = if has_points { MIN_POINTS } else { 0 };
    table.drop_columns(&RANKS, (width - for_points).saturating_sub(table.gap));
    // Without a limit, the line is as long as sentences, or longer if the columns are.
    let mut points = sentence_width(width).saturating_sub(table.width() + table.gap);
    if width == UNLIMITED_WIDTH {
        points = points.max(MIN_POINTS);
    }
    let (title, points) = match points {
        0..MIN_POINTS => ("", 0),
        MIN_POINTS..15 => ("history", points),
        _ => ("await over time", points.min(MAX_POINTS)),
    };
    let mut latencies = Vec::with_capacity(rows.len());
    let mut range = (LATENCY_SCALE_MS.start, LATENCY_SCALE_MS.end);
    for row in rows {
        let maxima = match report.history.device(&row.report.device) {
            Some(history) => highest_latencies(&history),
            None => Vec::new(),
        };
        for ms in maxima.iter().flatten() {
            if ms.is_finite() && *ms > 0.0 {
                range = (range.0.min(*ms), range.1.max(*ms));
            }
        }
        latencies.push(maxima);
    }
    let cells = latencies
        .iter()
        .map(|maxima| drawn(maxima, range, report, points));
    table.add_column(title, cells);
    table.push(out.out);
}

/// The kernel's name of a device, which sentences use, with its alias, by which it is an event: `dm-1 vg0-root`.
fn full_name(report: &AnalysisReport, device: &DeviceReport) -> String {
    let node = report.topology.node(&device.device);
    match node.and_then(|node| node.alias.as_ref()) {
        Some(alias) => format!("{} {alias}", device.device),
        None => device.device.clone(),
    }
}

fn row_cells(report: &AnalysisReport, row: &Row<'_>) -> Vec<String> {
    let DeviceReport {
        read,
        write,
        all,
        util_pct,
        ..
    } = row.report;
    let name = full_name(report, row.report);
    let verdict = row.report.verdict.map_or("no verdict", Verdict::name);
    let (incidents, trouble_s) = match row.incidents {
        Some(total) => {
            let text = format!("{}, {}", total.count, worst_incident_text(total));
            (text, Some(total.seconds))
        }
        None => ("-".to_owned(), None),
    };
    vec![
        sanitize(&name).chars().take(MAX_NAME).collect(),
        verdict.to_owned(),
        incidents,
        cell(trouble_s, duration),
        cell(read.iops.mean, cells::number),
        cell(write.iops.mean, cells::number),
        cell(all.mib_per_s.mean, cells::number),
        cell(all.await_ms.mean, cells::time),
        cell(all.await_ms.max, cells::time),
        cell(all.queue.mean, cells::queue),
        cell(util_pct.mean, cells::percent),
    ]
}

fn cell(value: Option<f64>, format: fn(f64) -> String) -> String {
    value.map_or("-".to_owned(), format)
}

/// The highest mean latency of a step in each point: infinite in a stall, `None` without I/O.
fn highest_latencies(history: &DeviceHistory<'_>) -> Vec<Option<f64>> {
    let mut maxima = Vec::new();
    for (extent, verdict) in history.values(&AWAIT_MS).iter().zip(history.verdicts()) {
        maxima.push(match verdict {
            Some(Verdict::Stalled) => Some(f64::INFINITY),
            _ => Extent::max(extent),
        });
    }
    maxima
}

/// The latency of a device over the time of the run; `maxima` has a value for each point of the history.
fn drawn(
    maxima: &[Option<f64>],
    range: (f64, f64),
    report: &AnalysisReport,
    width: usize,
) -> String {
    let Some(span) = report.history.span() else {
        return String::new();
    };
    let mut columns = vec![Point::Gap; width];
    let step_s = (span.end_s - span.start_s) / width as f64;
    for (point, highest) in report.history.series.points().iter().zip(maxima) {
        // A point that ends where a column begins is not in it.
        let begin = (point.span.start_s - span.start_s) / step_s + 0.01;
        let end = (point.span.end_s - span.start_s) / step_s - 0.01;
        let first = begin as usize;
        let last = (end as usize).max(first);
        for column in columns.iter_mut().take(last + 1).skip(first) {
            *column = match (*column, highest) {
                (Point::Value(known), Some(ms)) => Point::Value(known.max(*ms)),
                (_, Some(ms)) => Point::Value(*ms),
                (Point::Gap, None) => Point::Nothing,
                (known, None) => known,
            };
        }
    }
    let line = sparkline(&columns, range);
    match report.is_unicode {
        true => line,
        false => to_ascii(&line),
    }
}

/// Appends the devices that are not in the table on one line.
fn push_others(report: &AnalysisReport, rows: &[Row<'_>], out: &mut Text<'_>) {
    let kinds = [
        ("ok", Some(Verdict::Ok)),
        ("idle", Some(Verdict::Idle)),
        ("without an interval", None),
    ];
    let listed: HashSet<&str> = rows.iter().map(|row| row.report.device.as_str()).collect();
    let mut parts = Vec::new();
    for (title, verdict) in kinds {
        let mut names = Vec::new();
        for device in &report.devices {
            let own = match device.intervals {
                0 => None,
                _ => device.verdict,
            };
            if own == verdict && !listed.contains(device.device.as_str()) {
                names.push(sanitize(&device.device).into_owned());
            }
        }
        if !names.is_empty() {
            let named = named(&names, MAX_NAMED, ", ");
            parts.push(format!("{} {title}: {named}", names.len()));
        }
    }
    out.push(&parts.join("; "), 0);
}

#[cfg(test)]
mod text_tests {
    use super::*;
    use crate::judge::{Distribution, Excluded};
    use crate::report::analysis::tests::report_of;
    use crate::topology::{Node, Topology};

    fn drawn(devices: &[DeviceReport]) -> String {
        let mut out = Vec::new();
        let report = report_of(devices);
        text(&report, 80, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn report(device: &str, verdict: Option<Verdict>, intervals: u64) -> DeviceReport {
        DeviceReport {
            device: device.into(),
            verdict,
            intervals,
            ..DeviceReport::default()
        }
    }

    #[test]
    fn inactive_devices_are_named_at_the_end() {
        let idle = |name| report(name, Some(Verdict::Idle), 9);
        assert_eq!(
            drawn(&[idle("sda"), report("sdc", None, 0), idle("sdb")]),
            "0 s, 3 devices; no timestamps: times are seconds from the start\n\n\
             2 idle: sda, sdb; 1 without an interval: sdc\n"
        );
    }

    #[test]
    fn a_stalled_device_has_its_sentence_and_no_empty_tables() {
        let mut stalled = report("sda", Some(Verdict::Stalled), 3);
        stalled.times.add(Some(Verdict::Stalled), 3.0);
        let text = drawn(&[stalled]);
        assert!(
            text.ends_with("\n\nsda: stalled\n  sda was stalled for 3.0 s.\n"),
            "{text}"
        );
    }

    #[test]
    fn a_device_has_both_of_its_names() {
        let node = Node {
            name: "dm-1".into(),
            alias: Some("vg0-root".into()),
            ..Node::default()
        };
        let topology = Topology::new(vec![node]);
        let devices = [report("dm-1", None, 9), report("sda", None, 9)];
        for has_details in [false, true] {
            let mut out = Vec::new();
            text(
                &AnalysisReport {
                    topology: topology.clone(),
                    has_details,
                    ..report_of(&devices)
                },
                80,
                &mut out,
            );
            let text = String::from_utf8(out).unwrap();
            assert!(
                text.contains("\ndm-1 vg0-root  no verdict") && text.contains("\nsda "),
                "{text}"
            );
            assert!(
                !has_details || text.contains("\ndm-1 vg0-root: no verdict\n"),
                "{text}"
            );
        }
    }

    #[test]
    fn names_cannot_steer_a_terminal() {
        let name = format!("a\u{1b}[2J{}", "x".repeat(200));
        let hostile = report(&name, Some(Verdict::Ok), 5);
        let text = drawn(&[hostile, report("b\u{9b}", Some(Verdict::Idle), 5)]);
        assert!(
            !text.contains(|c: char| c.is_control() && c != '\n'),
            "{text:?}"
        );
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }

    #[test]
    fn rows_without_values_are_left_out_and_excluded_intervals_are_counted() {
        let mut only_writes = report("sda", Some(Verdict::Ok), 4);
        only_writes.write.iops = Distribution {
            mean: Some(5.0),
            p50: Some(5.0),
            max: Some(9.0),
            ..Distribution::default()
        };
        only_writes.read.iops = Distribution {
            mean: Some(0.0),
            max: Some(0.0),
            ..Distribution::default()
        };
        only_writes.excluded = Excluded {
            resets: 1,
            gaps: 2,
            absent: 1,
            ..Excluded::default()
        };
        let text = drawn(&[only_writes]);
        assert!(
            text.contains("\n    w/s") && !text.contains("\n    r/s"),
            "{text}"
        );
        assert!(!text.contains("w_await"), "{text}");
        assert!(
            text.contains("1 reset (") && text.contains("2 gaps in time"),
            "{text}"
        );
        assert!(
            text.contains("1 interval with the device absent."),
            "{text}"
        );
    }
}

#[cfg(test)]
mod paragraph_tests {
    use super::*;

    fn paragraph(text: &str, indent: usize, width: usize) -> String {
        let mut out = Vec::new();
        Text {
            width,
            out: &mut out,
        }
        .push(text, indent);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn every_line_is_indented() {
        assert_eq!(paragraph("one two three", 2, 9), "  one two\n  three\n");
        assert_eq!(paragraph("", 2, 9), "");
    }

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(paragraph("a\u{1b}[2J", 0, 80), "a\\u{1b}[2J\n");
    }
}
