//! The report that a person reads top to bottom.

use super::words::{counted, heading, paragraph};
use super::{AnalysisReport, capacity, tables};
use crate::analysis::{
    DeviceReport, DirectionReport, Excluded, HostReport, QueueByLayer, Verdict, not_the_disk, number,
};
use crate::report::layout::number_format as cells;

/// How far sentences are from the margin.
const INDENT: usize = 4;

/// Appends the reports of the devices that worked, each read top to bottom, and the names of the others. Lines are
/// `width` columns wide at most where that is 60 or more.
pub fn text(findings: &AnalysisReport<'_>, width: usize, out: &mut Vec<u8>) {
    let rest = |report: &&DeviceReport| report.intervals == 0 || report.verdict == Some(Verdict::Idle);
    let (resting, working): (Vec<_>, Vec<_>) = findings.devices.iter().partition(rest);
    for (index, report) in working.into_iter().enumerate() {
        if index > 0 {
            out.push(b'\n');
        }
        device(report, findings.layers, findings.machine, width, out);
    }
    let (idle, unseen): (Vec<_>, Vec<_>) = resting.into_iter().partition(|report| report.intervals > 0);
    for (what, devices) in [("Idle", idle), ("Without an interval to judge by", unseen)] {
        if !devices.is_empty() {
            if !out.is_empty() {
                out.push(b'\n');
            }
            let names: Vec<&str> = devices.iter().map(|report| report.device.as_str()).collect();
            paragraph(&format!("{what}: {}.", names.join(", ")), 0, width, out);
        }
    }
}

/// One device, in the order in which a person asks.
fn device(
    report: &DeviceReport,
    layers: Option<&QueueByLayer>,
    machine: &HostReport,
    width: usize,
    out: &mut Vec<u8>,
) {
    let verdict = report.verdict.map_or("no verdict", Verdict::name);
    paragraph(&format!("{}: {verdict}", report.device), 0, width, out);
    paragraph(&format!("{}.", report.explanation), 2, width, out);
    did(report, width, out);
    if !report.levels.is_empty() {
        heading("By concurrency", width, out);
        tables::levels(&report.levels, out);
    }
    section("Capacity", &capacity::sentences(report), width, out);
    if let Some(layers) = layers {
        waits(&report.device, layers, width, out);
    }
    section("Not the disk", &not_the_disk(report, machine), width, out);
    section("Left out", &left_out(report), width, out);
}

fn section(title: &str, sentences: &[String], width: usize, out: &mut Vec<u8>) {
    if !sentences.is_empty() {
        heading(title, width, out);
        sentences.iter().for_each(|sentence| paragraph(sentence, INDENT, width, out));
    }
}

fn did(report: &DeviceReport, width: usize, out: &mut Vec<u8>) {
    if !tables::has_worked(&report.read) && !tables::has_worked(&report.write) {
        return;
    }
    let intervals = counted(report.intervals, "interval");
    let worked = if (1..report.intervals).contains(&report.working_intervals) {
        format!(", {} of them with requests", report.working_intervals)
    } else {
        String::new()
    };
    heading(&format!("What it did: {}, {intervals}{worked}", cells::duration(report.seconds)), width, out);
    tables::did(report, out);
    if let Some(patterns) = tables::patterns(report) {
        paragraph(&patterns, INDENT, width, out);
    }
    [bound("reads", &report.read), bound("writes", &report.write)]
        .into_iter()
        .flatten()
        .for_each(|text| paragraph(&text, INDENT, width, out));
}

/// That an unloaded response time is only a bound, and what that means for the multiples of it.
fn bound(noun: &str, of: &DirectionReport) -> Option<String> {
    let (at_most, queue) = of.baseline_await_ms.zip(of.baseline_concurrency)?;
    of.baseline_is_upper_bound.then(|| {
        format!(
            "The unloaded response time of {noun} is {} ms or less: the lowest queue seen was {}. So saturation is \
             what is given or more.",
            number(at_most),
            number(queue)
        )
    })
}

/// The layers that are joined with a device, and what is to be said of the steps at it.
fn waits(device: &str, layers: &QueueByLayer, width: usize, out: &mut Vec<u8>) {
    let at = |above: &str, below: &[String]| above == device || below.iter().any(|name| name == device);
    let steps = || layers.steps.iter().filter(|step| at(&step.above, &step.below));
    if steps().next().is_none() {
        return;
    }
    heading("Where the requests wait", width, out);
    let is_near = |name: &str| {
        name == device
            || steps().any(|step| step.above == name || step.below.iter().any(|below| below == name))
    };
    tables::layers(layers.layers.iter().filter(|layer| is_near(&layer.device)), out);
    for step in steps() {
        paragraph(&format!("{}.", capitalized(&step.explanation)), INDENT, width, out);
    }
    if layers.is_guess {
        let guess = "What stands on what is a guess: their loads were alike in the same seconds.";
        paragraph(guess, INDENT, width, out);
    }
}

fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn left_out(report: &DeviceReport) -> Vec<String> {
    const FEW: u64 = 3;
    let Excluded { resets, gaps, away, without_times, transitions } = report.left_out;
    let some =
        |count: u64, noun: &str, why: &str| (count > 0).then(|| format!("{}{why}.", counted(count, noun)));
    let few = (1..FEW).contains(&report.working_intervals);
    [
        some(resets, "reset", ": the device was replugged, no interval lies across one"),
        some(gaps, "gap", " in time: no interval lies across one"),
        some(away, "interval", " in which it was not there"),
        some(without_times, "interval", " without response times: the kernel gave none"),
        some(transitions, "interval", " in which the load changed: in the statistics, but not in the fits"),
        few.then(|| {
            let intervals = counted(report.working_intervals, "interval");
            let are = if report.working_intervals == 1 { "is" } else { "are" };
            format!(
                "A verdict on waiting and the capacity: {intervals} with requests {are} too few for them."
            )
        }),
    ]
    .into_iter()
    .flatten()
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Distribution;

    fn drawn(devices: &[DeviceReport]) -> String {
        let machine = HostReport::default();
        let mut out = Vec::new();
        text(&AnalysisReport { devices, layers: None, machine: &machine }, 80, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn report(device: &str, verdict: Option<Verdict>, intervals: u64) -> DeviceReport {
        DeviceReport { device: device.into(), verdict, intervals, ..DeviceReport::default() }
    }

    #[test]
    fn devices_that_did_nothing_are_named_at_the_end() {
        let idle = |name| report(name, Some(Verdict::Idle), 9);
        assert_eq!(
            drawn(&[idle("sda"), report("sdc", None, 0), idle("sdb")]),
            "Idle: sda, sdb.\n\nWithout an interval to judge by: sdc.\n"
        );
        assert_eq!(drawn(&[]), "");
    }

    #[test]
    fn a_stalled_device_has_its_sentence_and_no_empty_tables() {
        let stalled = DeviceReport {
            explanation: "sda stalled: requests hung".into(),
            ..report("sda", Some(Verdict::Stalled), 3)
        };
        assert_eq!(drawn(&[stalled]), "sda: stalled\n  sda stalled: requests hung.\n");
    }

    #[test]
    fn names_and_sentences_cannot_steer_a_terminal() {
        let name = format!("a\u{1b}[2J{}", "x".repeat(200));
        let hostile =
            DeviceReport { explanation: format!("{name} is ok"), ..report(&name, Some(Verdict::Ok), 5) };
        let text = drawn(&[hostile, report("b\u{9b}", Some(Verdict::Idle), 5)]);
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        assert!(text.lines().all(|line| line.len() <= 80), "{text}");
    }

    #[test]
    fn rows_without_values_are_left_out() {
        let mut only_writes = report("sda", Some(Verdict::Ok), 4);
        only_writes.write.iops =
            Distribution { mean: Some(5.0), p50: Some(5.0), max: Some(9.0), ..Distribution::default() };
        only_writes.read.iops = Distribution { mean: Some(0.0), max: Some(0.0), ..Distribution::default() };
        only_writes.left_out = Excluded { resets: 1, gaps: 2, away: 1, ..Excluded::default() };
        let text = drawn(&[only_writes]);
        assert!(text.contains("w/s") && !text.contains("r/s") && !text.contains("w_await"), "{text}");
        assert!(text.contains("1 reset: ") && text.contains("2 gaps in time"), "{text}");
        assert!(text.contains("1 interval in which it was not there."), "{text}");
    }
}
