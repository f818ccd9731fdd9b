//! The text, which a person reads from top to bottom.

use super::paragraph::{push_heading, push_paragraph};
use super::queue_by_layer::link_text;
use super::{AnalysisReport, capacity, host_findings, other_causes, tables};
use crate::analysis::{
    DeviceReport, DirectionReport, Excluded, MIN_VERDICT_INTERVALS, Pattern, QueueByLayer, Verdict,
};
use crate::report::evidence::explanation_text;
use crate::report::layout::number_format as cells;
use crate::report::layout::sentence_numbers::{counted, queue, time};

/// Blanks before sentences.
const INDENT: usize = 4;

/// Appends the reports of the devices that were busy, the names of the others, and findings about the host. Lines have
/// at most `width` columns where that is 60 or more.
pub fn text(report: &AnalysisReport<'_>, width: usize, out: &mut Vec<u8>) {
    let is_inactive = |device: &&DeviceReport| device.intervals == 0 || device.verdict == Some(Verdict::Idle);
    let (inactive, active): (Vec<_>, Vec<_>) = report.devices.iter().partition(is_inactive);
    for (index, device) in active.into_iter().enumerate() {
        if index > 0 {
            out.push(b'\n');
        }
        push_device(device, width, out);
    }
    if let Some(queues) = report.queue_by_layer {
        push_queue_by_layer(queues, width, out);
    }
    let (idle, unseen): (Vec<_>, Vec<_>) = inactive.into_iter().partition(|device| device.intervals > 0);
    for (title, devices) in [("Idle", idle), ("No interval to analyze", unseen)] {
        if !devices.is_empty() {
            if !out.is_empty() {
                out.push(b'\n');
            }
            let names: Vec<&str> = devices.iter().map(|device| device.device.as_str()).collect();
            push_paragraph(&format!("{title}: {}.", names.join(", ")), 0, width, out);
        }
    }
    push_host("Not the disk", &host_findings::not_the_disk_sentences(report).unwrap_or_default(), width, out);
    push_host("Host", &host_findings::host_sentences(report), width, out);
}

/// Appends findings about the host, with an empty line before them.
fn push_host(title: &str, sentences: &[String], width: usize, out: &mut Vec<u8>) {
    if sentences.is_empty() {
        return;
    }
    if !out.is_empty() {
        out.push(b'\n');
    }
    push_paragraph(title, 0, width, out);
    sentences.iter().for_each(|sentence| push_paragraph(sentence, INDENT, width, out));
}

/// Appends one device, in the order of the questions that a person has.
fn push_device(report: &DeviceReport, width: usize, out: &mut Vec<u8>) {
    let verdict = report.verdict.map_or("no verdict", Verdict::name);
    push_paragraph(&format!("{}: {verdict}", report.device), 0, width, out);
    let explanation = explanation_text(&report.device, &report.explanation);
    push_paragraph(&format!("{explanation}."), 2, width, out);
    push_workload(report, width, out);
    if !report.levels.is_empty() {
        push_heading("By queue", width, out);
        tables::levels(&report.levels, out);
    }
    push_section("Capacity", &capacity::sentences(report), width, out);
    push_section("Other causes", &other_causes::sentences(report), width, out);
    push_section("Excluded", &excluded(report), width, out);
}

fn push_section(title: &str, sentences: &[String], width: usize, out: &mut Vec<u8>) {
    if !sentences.is_empty() {
        push_heading(title, width, out);
        sentences.iter().for_each(|sentence| push_paragraph(sentence, INDENT, width, out));
    }
}

fn push_workload(report: &DeviceReport, width: usize, out: &mut Vec<u8>) {
    if !tables::has_requests(&report.read) && !tables::has_requests(&report.write) {
        return;
    }
    let intervals = counted(report.intervals, "interval");
    let busy = if (1..report.intervals).contains(&report.busy_intervals) {
        format!(", {} of them busy", report.busy_intervals)
    } else {
        String::new()
    };
    push_heading(&format!("Workload: {}, {intervals}{busy}", cells::duration(report.seconds)), width, out);
    tables::workload(report, out);
    let directions = [("reads", "read", &report.read), ("writes", "write", &report.write)];
    let patterns: Vec<String> = directions.iter().filter_map(|(noun, _, of)| pattern(noun, of)).collect();
    if !patterns.is_empty() {
        push_paragraph(&format!("{}.", patterns.join("; ")), INDENT, width, out);
    }
    for caveat in directions.iter().filter_map(|(_, name, of)| baseline_caveat(name, of)) {
        push_paragraph(&caveat, INDENT, width, out);
    }
}

/// Merges and pattern of a direction; `None` where neither is known.
fn pattern(noun: &str, of: &DirectionReport) -> Option<String> {
    let merged = of.merged_pct.map(|merged| format!("{} merged", cells::percent(merged)));
    let pattern = match of.pattern {
        Pattern::Sequential => Some("sequential".to_owned()),
        Pattern::Random => Some("random".to_owned()),
        Pattern::Unknown => None,
    };
    let known: Vec<String> = merged.into_iter().chain(pattern).collect();
    (tables::has_requests(of) && !known.is_empty()).then(|| format!("{noun}: {}", known.join(", ")))
}

/// The caveat that unloaded latency is only an upper bound; `None` where it is not.
fn baseline_caveat(name: &str, of: &DirectionReport) -> Option<String> {
    let (await_ms, baseline_queue) = of.baseline_await_ms.zip(of.baseline_queue)?;
    of.baseline_is_upper_bound.then(|| {
        format!(
            "Unloaded {name} latency is at most {}, as measured at the shortest queue, {}. Saturation values are lower \
             bounds.",
            time(await_ms),
            queue(baseline_queue)
        )
    })
}

/// Appends the layers of all stacks, and what their links show.
fn push_queue_by_layer(queues: &QueueByLayer, width: usize, out: &mut Vec<u8>) {
    if !out.is_empty() {
        out.push(b'\n');
    }
    push_paragraph("Queueing by layer", 0, width, out);
    tables::layers(&queues.layers, out);
    for link in &queues.links {
        push_paragraph(&format!("{}.", capitalize(&link_text(link))), INDENT, width, out);
    }
    if queues.is_inferred {
        push_paragraph("Stacking inferred from similar load in the same seconds.", INDENT, width, out);
    }
}

fn capitalize(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// The excluded intervals, and why, in sentences.
fn excluded(report: &DeviceReport) -> Vec<String> {
    let Excluded { resets, gaps, absent, untimed, transitions } = report.excluded;
    let sentence =
        |count: u64, noun: &str, rest: &str| (count > 0).then(|| format!("{}{rest}.", counted(count, noun)));
    let is_few = (1..MIN_VERDICT_INTERVALS).contains(&report.busy_intervals);
    [
        sentence(resets, "reset", " (device replugged): no interval spans a reset"),
        sentence(gaps, "gap", " in time: no interval spans a gap"),
        sentence(absent, "interval", " with the device absent"),
        sentence(untimed, "interval", " without request times: the kernel gives none"),
        sentence(transitions, "interval", " in which the load changed: in the statistics, not in the fits"),
        is_few.then(|| {
            let intervals = counted(report.busy_intervals, "busy interval");
            let are = if report.busy_intervals == 1 { "is" } else { "are" };
            format!("Capacity and a verdict on queueing: {intervals} {are} too few.")
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{Distribution, HostReport, OkMargin, Reason};
    use crate::topology::Topology;

    fn drawn(devices: &[DeviceReport]) -> String {
        let mut out = Vec::new();
        let (topology, host) = (&Topology::default(), &HostReport::default());
        let report = AnalysisReport { devices, queue_by_layer: None, topology, is_selection: false, host };
        text(&report, 80, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn report(device: &str, verdict: Option<Verdict>, intervals: u64) -> DeviceReport {
        DeviceReport { device: device.into(), verdict, intervals, ..DeviceReport::default() }
    }

    fn far_from_saturated() -> Reason {
        Reason::Ok { margin: OkMargin::FarFromSaturated, latencies: Vec::new(), short_queue: None }
    }

    #[test]
    fn inactive_devices_are_named_at_the_end() {
        let idle = |name| report(name, Some(Verdict::Idle), 9);
        assert_eq!(
            drawn(&[idle("sda"), report("sdc", None, 0), idle("sdb")]),
            "Idle: sda, sdb.\n\nNo interval to analyze: sdc.\n"
        );
        assert_eq!(drawn(&[]), "");
    }

    #[test]
    fn a_stalled_device_has_its_sentence_and_no_empty_tables() {
        let explanation = Reason::Stalled { longest_s: 3.0 }.into();
        let stalled = DeviceReport { explanation, ..report("sda", Some(Verdict::Stalled), 3) };
        assert_eq!(
            drawn(&[stalled]),
            "sda: stalled\n  sda stalled: requests hung for 3.0 s, none completed.\n"
        );
    }

    #[test]
    fn names_cannot_steer_a_terminal() {
        let name = format!("a\u{1b}[2J{}", "x".repeat(200));
        let hostile =
            DeviceReport { explanation: far_from_saturated().into(), ..report(&name, Some(Verdict::Ok), 5) };
        let text = drawn(&[hostile, report("b\u{9b}", Some(Verdict::Idle), 5)]);
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }

    #[test]
    fn rows_without_values_are_left_out_and_excluded_intervals_are_counted() {
        let mut only_writes = report("sda", Some(Verdict::Ok), 4);
        only_writes.write.iops =
            Distribution { mean: Some(5.0), p50: Some(5.0), max: Some(9.0), ..Distribution::default() };
        only_writes.read.iops = Distribution { mean: Some(0.0), max: Some(0.0), ..Distribution::default() };
        only_writes.excluded = Excluded { resets: 1, gaps: 2, absent: 1, ..Excluded::default() };
        let text = drawn(&[only_writes]);
        assert!(text.contains("w/s") && !text.contains("r/s") && !text.contains("w_await"), "{text}");
        assert!(text.contains("1 reset (") && text.contains("2 gaps in time"), "{text}");
        assert!(text.contains("1 interval with the device absent."), "{text}");
    }
}
