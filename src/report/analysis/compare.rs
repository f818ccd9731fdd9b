//! The comparison of two captures, as text and as JSON.

use serde_json::value::RawValue;

use anyhow::Result;

use super::json::{Document, Json, Show, json_of, object};
use super::text::Text;
use super::{AnalysisReport, Times, incidents_text};
use crate::intervals::IncidentTotal;
use crate::judge::{
    BlockMeans, ComparedQuantity, DeviceReport, Difference, IoDirection, Outcome, Verdict, compare,
};
use crate::report::evidence::{explanation_text, plateau_rate};
use crate::report::json_csv::time_text;
use crate::report::layout::number_format as cells;
use crate::report::layout::sentence_numbers::{counted, number, time};
use crate::sanitize::sanitize;

/// Two captures, or ranges of time of them: their names and analyses; and the names of devices that differ between them.
pub struct Comparison<'a> {
    pub before: &'a (String, AnalysisReport),
    pub after: &'a (String, AnalysisReport),
    /// The name of a device before and after.
    pub pairs: &'a [(String, String)],
}

impl<'a> Comparison<'a> {
    /// The devices that are in both captures.
    fn in_both(&self) -> Vec<(&'a DeviceReport, &'a DeviceReport)> {
        let mut found = Vec::new();
        for old in &self.before.1.devices {
            let name = match self.pairs.iter().find(|(before, _)| *before == old.device) {
                Some((_, after)) => after,
                // A device that is paired is not compared with another one that has its name.
                None if self.pairs.iter().any(|(_, after)| *after == old.device) => continue,
                None => &old.device,
            };
            let mut devices = self.after.1.devices.iter();
            if let Some(new) = devices.find(|new| new.device == *name) {
                found.push((old, new));
            }
        }
        found
    }

    /// The devices that are in both captures and were busy in one.
    fn busy(&self) -> Vec<(&'a DeviceReport, &'a DeviceReport)> {
        let mut pairs = self.in_both();
        pairs.retain(|(one, other)| one.busy_intervals + other.busy_intervals > 0);
        pairs
    }

    /// The names of the devices of each capture that the other lacks.
    fn only_in_one(&self) -> [Vec<&'a str>; 2] {
        let (old, new): (Vec<_>, Vec<_>) = self.in_both().into_iter().unzip();
        [(self.before, old), (self.after, new)].map(|((_, capture), in_both)| {
            let mut names = Vec::new();
            for device in &capture.devices {
                if !in_both.iter().any(|one| std::ptr::eq(*one, device)) {
                    names.push(device.device.as_str());
                }
            }
            names
        })
    }
}

/// Appends the comparison for people, in lines of at most `width` columns if that is 60 or more.
pub fn compare_text(comparison: &Comparison<'_>, width: usize, out: &mut Vec<u8>) {
    let Comparison { before, after, .. } = comparison;
    let out = &mut Text { width, out };
    for (title, (name, capture)) in [("Before", before), ("After", after)] {
        let times = Times::new(&capture.history.clock, &capture.time_zone).run();
        let seconds = cells::duration(capture.history.clock.end.run_s);
        let span = format!("{title}: {name}, {seconds}; {times}");
        out.push(&span, 0);
    }
    let pairs = comparison.busy();
    for (old, new) in &pairs {
        let incidents = [
            before.1.events.incident_total(&old.device),
            after.1.events.incident_total(&new.device),
        ];
        push_compared(old, new, incidents, out);
    }
    if pairs.is_empty() {
        let text = "No device was active in both captures; --pair BEFORE=AFTER compares devices of different names.";
        out.heading(text, 0);
    }
    let [only_before, only_after] = comparison.only_in_one();
    for (title, file, names) in [
        ("before", &before.0, only_before),
        ("after", &after.0, only_after),
    ] {
        if !names.is_empty() {
            let place = match before.0 == after.0 {
                true => title.to_owned(),
                false => format!("in {file}"),
            };
            out.heading(&format!("Only {place}: {}.", names.join(", ")), 0);
        }
    }
}

fn push_compared(
    old: &DeviceReport,
    new: &DeviceReport,
    incidents: [Option<IncidentTotal>; 2],
    out: &mut Text<'_>,
) {
    let [one, other] = [old, new].map(|report| report.verdict.map_or("no verdict", Verdict::name));
    let verdicts = match one == other {
        true => format!("{one} in both"),
        false => format!("{one} -> {other}"),
    };
    let name = match old.device == new.device {
        true => old.device.clone(),
        false => format!("{} -> {}", old.device, new.device),
    };
    let mut heading = format!("{name}: {verdicts}");
    if incidents != [None, None] {
        let [before, after] = incidents.map(|total| total.map_or("none".into(), incidents_text));
        heading += &format!("; incidents: {before} -> {after}");
    }
    out.heading(&heading, 0);
    let differences = compare(old, new);
    let (mut changed, mut unknown, mut same) = (Vec::new(), Vec::new(), Vec::new());
    for one in &differences {
        match one.outcome {
            Outcome::Changed => changed.push(format!("{}.", sentence(one))),
            Outcome::SpreadUnknown => unknown.push(format!("{}.", sentence(one))),
            Outcome::NoDifference => same.push(describe(one.quantity).name),
        }
    }
    out.list("Changed", 2, &changed);
    out.list("Too short to compare: each capture needs 60 s", 2, &unknown);
    if !same.is_empty() {
        let sentence = format!("{}.", same.join("; "));
        out.list(
            "No difference beyond the spread between blocks",
            2,
            &[sentence],
        );
    }
    let has_like = differences
        .iter()
        .any(|one| matches!(one.quantity, ComparedQuantity::LatencyAt(_)));
    if !has_like && !old.blocks.is_empty() && !new.blocks.is_empty() {
        let text = "Latency at similar concurrency: the captures share no intervals of similar queue and size.";
        out.push(text, 2);
    }
    if !old.plateaus.is_empty() || !new.plateaus.is_empty() {
        out.push(&format!("Limits: {} -> {}.", caps(old), caps(new)), 2);
    }
    if old.verdict != new.verdict {
        for (title, report) in [("Before", old), ("After", new)] {
            let text = explanation_text(report);
            out.push(&format!("{title}: {text}."), 2);
        }
    }
}

/// The rates that stayed constant at a limit.
fn caps(report: &DeviceReport) -> String {
    match limits_of(report) {
        rates if rates.is_empty() => "none seen".to_owned(),
        rates => rates.join(", "),
    }
}

/// The rates that stayed constant at a limit, each in words.
fn limits_of(report: &DeviceReport) -> Vec<String> {
    let plateaus = report.plateaus.iter();
    plateaus.map(|one| plateau_rate(&one.plateau)).collect()
}

/// A quantity with its median and range in both captures.
fn sentence(difference: &Difference) -> String {
    let Described { name, value, .. } = describe(difference.quantity);
    let (before, after) = (&difference.before, &difference.after);
    format!(
        "{name}: {} -> {} ({}; {})",
        value(before.median),
        value(after.median),
        blocks_text(before, value),
        blocks_text(after, value)
    )
}

/// The number of blocks and the range of their means.
fn blocks_text(means: &BlockMeans, format: fn(f64) -> String) -> String {
    if means.blocks == 1 {
        return "1 block".to_owned();
    }
    let blocks = counted(means.blocks as u64, "block");
    format!("{blocks}: {} to {}", format(means.low), format(means.high))
}

/// A quantity in words.
struct Described {
    /// Its name in JSON.
    key: &'static str,
    direction: Option<IoDirection>,
    /// Its name for people.
    name: String,
    /// The text of a value.
    value: fn(f64) -> String,
}

fn describe(quantity: ComparedQuantity) -> Described {
    let (key, noun, value): (_, _, fn(f64) -> String) = match quantity {
        ComparedQuantity::Rate(_) => ("per_s", "per second".to_owned(), number),
        ComparedQuantity::Throughput(_) => ("mib_per_s", "throughput".to_owned(), |mib| {
            format!("{} MiB/s", number(mib))
        }),
        ComparedQuantity::Size(_) => ("size_kib", "size".to_owned(), |kib| {
            format!("{} KiB", number(kib))
        }),
        ComparedQuantity::ReadShare => (
            "read_pct",
            "reads among requests".to_owned(),
            cells::percent,
        ),
        ComparedQuantity::Queue => ("queue", "queue".to_owned(), cells::queue),
        ComparedQuantity::Latency(_) => ("await_ms", "latency at any queue".to_owned(), time),
        ComparedQuantity::LatencyAt(class) => {
            let queue = match class.queue() {
                Some(queue) => format!("queue {queue}"),
                None => "queue below 0.7".to_owned(),
            };
            let noun = format!("latency at {queue} and {} KiB", class.size_kib());
            ("await_ms_at_like_queue", noun, time)
        }
    };
    let direction = match quantity {
        ComparedQuantity::Rate(direction)
        | ComparedQuantity::Throughput(direction)
        | ComparedQuantity::Size(direction)
        | ComparedQuantity::Latency(direction) => Some(direction),
        ComparedQuantity::LatencyAt(class) => Some(class.direction()),
        ComparedQuantity::ReadShare | ComparedQuantity::Queue => None,
    };
    let name = match (quantity, direction) {
        (ComparedQuantity::Rate(direction), _) => format!("{} {noun}", direction.noun()),
        (_, Some(direction)) => format!("{} {noun}", direction.name()),
        (_, None) => noun,
    };
    Described {
        key,
        direction,
        name,
        value,
    }
}

fn quantity_json(difference: &Difference) -> Json {
    let Described { key, direction, .. } = describe(difference.quantity);
    let class = match difference.quantity {
        ComparedQuantity::LatencyAt(class) => Some(class),
        _ => None,
    };
    object! {
        "quantity": key,
        "direction": direction.map(IoDirection::name),
        "queue_class": class.and_then(|class| class.queue()),
        "size_class_kib": class.map(|class| class.size_kib()),
        "outcome": difference.outcome,
        "before": difference.before,
        "after": difference.after,
    }
}

/// Gives each line of `{"before":…,"after":…,"devices":[…],"only_before":[…],"only_after":[…]}`, with one device per line, to
/// `show`. Times are in UTC, `null` without a wall clock.
///
/// # Errors
/// The first error of `show`.
pub fn compare_json(comparison: &Comparison<'_>, show: Show<'_>) -> Result<()> {
    let Comparison { before, after, .. } = comparison;
    let devices = comparison.busy().into_iter().map(|(old, new)| {
        let incidents_before = before.1.events.incident_total(&old.device);
        let incidents_after = after.1.events.incident_total(&new.device);
        let quantities: Vec<Json> = compare(old, new).iter().map(quantity_json).collect();
        object! {
            "device": old.device,
            "verdict_before": old.verdict,
            "verdict_after": new.verdict,
            "incidents_before": incidents_before.map_or(0, |total| total.count),
            "incidents_after": incidents_after.map_or(0, |total| total.count),
            "worst_incident_verdict_before": incidents_before.map(|total| total.worst),
            "worst_incident_verdict_after": incidents_after.map(|total| total.worst),
            "explanation_before": explanation_text(old),
            "explanation_after": explanation_text(new),
            "quantities": quantities,
            "limits_before": limits_of(old),
            "limits_after": limits_of(new),
            "device_after": new.device,
        }
    });
    let [only_before, only_after] = comparison.only_in_one();
    let mut out = Document::new(show);
    out.field("before", &capture_json(before))?;
    out.field("after", &capture_json(after))?;
    out.list("devices", devices)?;
    out.field("only_before", &only_before)?;
    out.field("only_after", &only_after)?;
    out.end()
}

fn capture_json((name, capture): &(String, AnalysisReport)) -> Json {
    let clock = &capture.history.clock;
    let (begin, end) = clock.range().unzip();
    object! {
        "begin": begin.map(time_text),
        "end": end.map(time_text),
        "file": sanitize(name),
        "seconds": clock.end.run_s,
    }
}
