//! A page: one self-contained HTML file with charts. It needs neither network nor fonts, which its
//! Content-Security-Policy forbids. The charts are drawn as SVG, without JavaScript; a small script adds values under
//! the cursor, zoom and CSV.
//!
//! The page has the main trouble in a sentence, all incidents in a table, a band of verdicts for every device, a
//! section for each device that was not ok or that was named, the host, a table of the other devices, and a guide to
//! reading it. Texts from outside pass through `escape`.

mod chart;
mod device;
mod tables;

use std::fmt::Write;

use self::chart::{HEIGHT, TimeAxis};
use self::device::Section;
use self::tables::{PlacedIncident, place_incidents, push_headline};
use crate::capture::RecordingHeader;
use crate::intervals::UsageHistory;
use crate::intervals::series::{Extent, TimeSpan};
use crate::judge::{DeviceReport, Verdict};
use crate::report::analysis::{
    AnalysisReport, departure_sentences, devices_worst_first, host_sentences,
    not_the_disk_sentences,
};
use crate::report::layout::sentence_numbers::{counted, duration};
use crate::report::manual::verdict_meanings;
use crate::report::scale::without_zeros;
use crate::sanitize::{json_string, sanitize};

const STYLE: &str = include_str!("assets/style.css");
const SCRIPT: &str = include_str!("assets/script.js");

pub struct Page<'a> {
    pub analysis: &'a AnalysisReport,
    pub host: RecordingHeader,
    /// The capture, as it was given; `None` for the running system.
    pub capture: Option<String>,
    /// Latency, as a multiple of unloaded latency, at which a device counts as saturated.
    pub saturation_threshold: f64,
    pub has_who: bool,
}

impl<'a> Page<'a> {
    pub fn html(&self) -> String {
        let charted = self.charted();
        let history = &self.analysis.history;
        let span = history.span().unwrap_or(TimeSpan {
            start_s: 0.0,
            end_s: 1.0,
        });
        let time_zone = history
            .clock
            .has_wall_clock()
            .then(|| self.analysis.time_zone.clone());
        let points = history.series.points().iter().map(|point| point.span);
        let time = &TimeAxis::new(span, points.collect(), time_zone);
        let incidents = place_incidents(self.analysis, history);
        let section =
            |(index, report): (usize, &&'a DeviceReport)| self.section(index, report, &incidents);
        let sections: Vec<Section<'_>> = charted.iter().enumerate().map(section).collect();
        let mut out = String::with_capacity(1 << 20);
        self.push_head(time, &mut out);
        self.push_summary(&incidents, time, &mut out);
        let anchor = |device: &str| {
            sections
                .iter()
                .position(|section| section.report.device == device)
        };
        // The device that suffers from the worst incident comes first, those without trouble last.
        let is_open =
            |section: &&Section<'_>| !section.incidents.is_empty() || self.analysis.is_selection;
        let first = sections
            .first()
            .filter(|section| !section.incidents.is_empty());
        first
            .into_iter()
            .for_each(|section| section.push(time, &mut out));
        tables::push_table(&incidents, &anchor, time, &mut out);
        let shown: Vec<&DeviceReport> = devices_worst_first(self.analysis)
            .into_iter()
            .filter(|report| report.intervals > 0 && report.verdict != Some(Verdict::Idle))
            .collect();
        tables::push_overview(self, &shown, &anchor, time, &mut out);
        let rest = &sections[usize::from(first.is_some())..];
        rest.iter()
            .filter(is_open)
            .for_each(|section| section.push(time, &mut out));
        let folded: Vec<&Section<'_>> = rest.iter().filter(|section| !is_open(section)).collect();
        if !folded.is_empty() {
            let count = counted(folded.len() as u64, "device");
            out += &format!(
                "<details class=\"folded\"><summary>{count} without an incident</summary>"
            );
            folded
                .iter()
                .for_each(|section| section.push(time, &mut out));
            out.push_str("</details>");
        }
        self.push_host(sections.len(), time, &mut out);
        let others: Vec<&DeviceReport> = shown
            .into_iter()
            .filter(|report| anchor(&report.device).is_none())
            .collect();
        tables::push_ok_devices(&others, history, &mut out);
        push_guide(&mut out);
        self.push_foot(&mut out);
        let groups: Vec<_> = sections
            .iter()
            .map(Section::data)
            .chain([tables::host_data(history)])
            .collect();
        push_data(time, history.clock.has_wall_clock(), &groups, &mut out);
        out += &format!("<script>{SCRIPT}</script></body></html>\n");
        out
    }

    /// The devices with a section, the worst first: those that were not ok, and those that were named.
    fn charted(&self) -> Vec<&'a DeviceReport> {
        let is_charted = |report: &&DeviceReport| {
            let is_well = matches!(report.verdict, Some(Verdict::Ok | Verdict::Idle));
            let incidents = self.analysis.events.incident_total(&report.device);
            report.intervals > 0 && (!is_well || incidents.is_some() || self.analysis.is_selection)
        };
        devices_worst_first(self.analysis)
            .into_iter()
            .filter(is_charted)
            .collect()
    }

    fn section<'b>(
        &'b self,
        index: usize,
        report: &'b DeviceReport,
        incidents: &'b [PlacedIncident<'b>],
    ) -> Section<'b> {
        let usage = self.has_who.then(|| self.usage(&report.device)).flatten();
        Section {
            page: self,
            index,
            report,
            history: self.analysis.history.device(&report.device),
            incidents: incidents
                .iter()
                .filter(|incident| incident.summary.has(&report.device))
                .collect(),
            areas: usage.as_ref().map(tables::areas).unwrap_or_default(),
            usage,
        }
    }

    /// The use by cgroups of a device or, without any, of the whole devices below it.
    fn usage(&self, device: &str) -> Option<UsageHistory> {
        let below = self.analysis.topology.devices_below(device);
        let mut used = [device.to_owned()]
            .into_iter()
            .chain(below)
            .filter_map(|name| self.analysis.history.usage(&name));
        used.find(|usage| !usage.cgroups.is_empty())
    }

    fn push_head(&self, axis: &TimeAxis, out: &mut String) {
        let title = match &self.host.host {
            Some(host) => format!("blkstat report: {host}"),
            None => "blkstat report".to_owned(),
        };
        *out += &format!(
            "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
             script-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'\">\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
             <meta name=\"color-scheme\" content=\"light dark\"><meta name=\"referrer\" content=\"no-referrer\">\
             <meta name=\"generator\" content=\"blkstat {}\"><link rel=\"icon\" href=\"data:,\">\
             <title>{}</title><style>{STYLE}</style></head><body>\
             <svg class=\"defs\" aria-hidden=\"true\"><path id=\"hours\" class=\"grid\" d=\"",
            env!("CARGO_PKG_VERSION"),
            escape(&title)
        );
        for (position, _) in axis.ticks() {
            *out += &format!(
                "M{} 0v{HEIGHT}",
                axis.x(axis.span().start_s + position * (axis.span().end_s - axis.span().start_s))
            );
        }
        out.push_str("\"/></svg>");
    }

    fn push_summary(&self, incidents: &[PlacedIncident<'_>], time: &TimeAxis, out: &mut String) {
        out.push_str("<header>");
        match incidents.split_first() {
            Some((main, others)) => push_headline(main, others, time, out),
            None => *out += &format!("<h1>{}</h1>", self.headline_without_events()),
        }
        out.push_str("<p class=\"source\">");
        let mut facts: Vec<String> = self
            .host
            .host
            .iter()
            .map(|host| format!("<b>{}</b>", name(host)))
            .collect();
        facts.extend(
            self.host
                .kernel
                .iter()
                .map(|kernel| format!("Linux {}", name(kernel))),
        );
        facts.extend(
            self.host
                .cpus
                .filter(|cpus| *cpus > 0)
                .map(|cpus| counted(cpus as u64, "CPU")),
        );
        let span = time.span();
        let (start, end) = (
            time.date_and_clock(span.start_s),
            time.date_and_clock(span.end_s),
        );
        let zone = time
            .zone()
            .map(|zone| format!(" {}", escape(&zone)))
            .unwrap_or_default();
        facts.push(format!(
            "{start} to {end}{zone} ({})",
            duration(span.end_s - span.start_s)
        ));
        facts.push(counted(self.analysis.history.intervals, "interval"));
        facts.extend(
            self.capture
                .iter()
                .map(|capture| format!("from {}", name(capture))),
        );
        out.push_str(&facts.join(", "));
        out.push_str("</p>");
        let sentences = not_the_disk_sentences(self.analysis).unwrap_or_default();
        if !sentences.is_empty() {
            *out += &format!("<p>Not the disk: {}</p>", escape(&sentences.join(" ")));
        }
        for remark in self.remarks() {
            *out += &format!("<p class=\"note\">{}</p>", escape(&remark));
        }
        out.push_str("</header>");
    }

    /// The first sentence if there are no events.
    fn headline_without_events(&self) -> String {
        let is_unknown = |report: &&DeviceReport| report.intervals > 0 && report.verdict.is_none();
        let unknown = self.analysis.devices.iter().filter(is_unknown).count();
        let is_in_trouble = |report: &&DeviceReport| report.verdict >= Some(Verdict::Slow);
        let in_trouble = self.analysis.devices.iter().filter(is_in_trouble).count();
        if !self.analysis.events.departures.is_empty() {
            "A disk disappeared.".to_owned()
        } else if in_trouble > 0 {
            format!(
                "No trouble lasted, but {} had some at times.",
                counted(in_trouble as u64, "device")
            )
        } else if unknown > 0 {
            format!(
                "No trouble found, but no verdict on {}.",
                counted(unknown as u64, "device")
            )
        } else {
            "No device was in trouble.".to_owned()
        }
    }

    /// Disks that disappeared, and defects of the data that affect how the page should be read.
    fn remarks(&self) -> Vec<String> {
        let (shift_s, missed) = (
            self.analysis.history.clock.setback_s(),
            self.analysis.history.missed_samples,
        );
        let events = &self.analysis.events;
        let late = || {
            format!(
                "The clock went back: the latest times are shown {} too late.",
                duration(shift_s)
            )
        };
        let longer = || {
            format!(
                "{} missed: longer intervals stand for them.",
                counted(missed, "sample")
            )
        };
        let milder = || {
            format!(
                "{} with {} left out: milder or shorter than those shown.",
                counted(events.dropped_incidents, "incident"),
                counted(events.dropped, "event")
            )
        };
        let defects = [
            (shift_s > 0.0).then(late),
            (missed > 0).then(longer),
            (events.dropped > 0).then(milder),
        ]
        .into_iter();
        departure_sentences(self.analysis)
            .into_iter()
            .chain(defects.flatten())
            .collect()
    }

    /// Appends the section of the host; nothing if the capture has no data about it.
    fn push_host(&self, group: usize, time: &TimeAxis, out: &mut String) {
        let mut content = String::new();
        tables::push_host_charts(&self.analysis.history, time, &mut content);
        let mut text = list(&host_sentences(self.analysis));
        if self.has_who {
            tables::push_blocked_tasks(&self.analysis.history, time, &mut text);
        }
        if !content.is_empty() || !text.is_empty() {
            *out += &format!(
                "<section id=\"host\" data-g=\"{group}\"><h2>Host</h2><div class=\"panels\">{content}</div>{text}</section>"
            );
        }
    }

    fn push_foot(&self, out: &mut String) {
        let points = self.analysis.history.series.points();
        let longest = points
            .iter()
            .map(|point| point.span.end_s - point.span.start_s)
            .fold(0.0, f64::max);
        *out += &format!(
            "<footer><p>Drawn: {} of up to {} each, with minimum, mean and maximum. ",
            counted(points.len() as u64, "point"),
            duration(longest)
        );
        if let Some(capture) = &self.capture {
            let command = format!(
                "blkstat --csv --from {}",
                crate::sanitize::shell_word(capture)
            );
            *out += &format!("Exact values: <code>{}</code>. ", escape(&command));
        }
        *out += &format!(
            "Made by blkstat {}.</p></footer>",
            env!("CARGO_PKG_VERSION")
        );
    }
}

/// The number of digits of a single value, and below of the mean of several, and of their minimum and maximum.
const SINGLE_DIGITS: usize = 6;
const MEAN_DIGITS: usize = 4;
const EXTREME_DIGITS: usize = 3;

/// The series of a device, of its cgroups or of the host.
struct Group<'a> {
    /// The name of the device; `host` for the host.
    name: &'a str,
    /// The verdicts; empty for the host.
    verdicts: Vec<Option<Verdict>>,
    /// The name and the values of each series.
    series: Vec<(&'a str, Vec<Extent>)>,
}

/// Appends the element with the data.
fn push_data(axis: &TimeAxis, is_wall_clock: bool, groups: &[Group<'_>], out: &mut String) {
    let TimeSpan { start_s, end_s } = axis.span();
    let offsets = axis
        .utc_offsets()
        .into_iter()
        .map(|(at_s, offset)| format!("[{at_s:.0},{offset}]"));
    let times = |time: fn(&TimeSpan) -> f64| {
        let from_start = |point| without_zeros(&format!("{:.3}", time(point) - start_s));
        joined(axis.points.iter().map(from_start))
    };
    let json = format!(
        "{{\"start\":{start_s:.3},\"end\":{end_s:.3},\"wall\":{is_wall_clock},\"offsets\":[{}],\"starts\":[{}],\
         \"ends\":[{}],\"groups\":[{}]}}",
        joined(offsets),
        times(|point| point.start_s),
        times(|point| point.end_s),
        joined(
            groups
                .iter()
                .map(|group| format!("\n{}", group_json(group)))
        )
    );
    // A name may contain the end of the element.
    let json = json.replace('<', "\\u003c");
    *out += &format!("<script type=\"application/json\" id=\"data\">{json}</script>");
}

/// Joins texts by commas.
fn joined(texts: impl Iterator<Item = String>) -> String {
    texts.collect::<Vec<String>>().join(",")
}

fn group_json(group: &Group<'_>) -> String {
    let verdict = |verdict: &Option<Verdict>| verdict.map_or("", Verdict::name);
    // Runs of equal verdicts: `ok*120,capped*30`.
    let runs = group.verdicts.chunk_by(|a, b| verdict(a) == verdict(b));
    let runs = joined(runs.map(|run| format!("{}*{}", run.first().map_or("", verdict), run.len())));
    let series = group.series.iter();
    let series =
        series.map(|(key, values)| format!("{}:{{{}}}", json_string(key), extents_json(values)));
    format!(
        "{{\"name\":{},\"verdicts\":\"{runs}\",\"series\":{{{}}}}}",
        json_string(group.name),
        joined(series)
    )
}

fn extents_json(extents: &[Extent]) -> String {
    let of = |value: fn(&Extent) -> Option<f64>, digits| numbers(extents.iter().map(value), digits);
    if extents.iter().all(|extent| extent.min() == extent.max()) {
        return format!("\"mean\":[{}]", of(Extent::mean, SINGLE_DIGITS));
    }
    format!(
        "\"mean\":[{}],\"min\":[{}],\"max\":[{}]",
        of(Extent::mean, MEAN_DIGITS),
        of(Extent::min, EXTREME_DIGITS),
        of(Extent::max, EXTREME_DIGITS)
    )
}

fn numbers(values: impl Iterator<Item = Option<f64>>, digits: usize) -> String {
    joined(
        values.map(|value| {
            value.map_or_else(|| "null".to_owned(), |value| significant(value, digits))
        }),
    )
}

/// A number with this many significant digits, in its shortest form.
fn significant(value: f64, digits: usize) -> String {
    if value == 0.0 || !value.is_finite() {
        return "0".to_owned();
    }
    let exponent = value.abs().log10().floor() as i32;
    let decimals = digits as i32 - 1 - exponent;
    match decimals {
        ..=0 => format!("{value:.0}"),
        1..=12 => without_zeros(&format!("{value:.0$}", decimals as usize)),
        _ => format!("{value:.0$e}", digits - 1),
    }
}

/// Each kind of panel with its explanation and the question that it answers.
const PANELS: [&str; 15] = [
    "<dt>Incidents<dd>What happened, and what belongs together? Devices that are stacked on each other and in trouble at the same time are one incident. The first device is the one that suffers: the topmost whose requests take longer.",
    "<dt>Verdict band<dd>When was the device in trouble? The worst verdict of each moment; hatched where there are no data.",
    "<dt>Latency<dd>How long do requests take? The mean of each interval on a logarithmic scale; the gray lines are the highest latency that the unloaded device may have, and the latency from which it counts as saturated. Above the upper line with a long queue, requests wait for each other.",
    "<dt>Operations, bandwidth<dd>How much does the workload demand? A rate that is flat while the queue grows is a limit.",
    "<dt>Queue<dd>How many requests wait or are being served? The line is the mean over an interval; the dots are requests in flight at its end. Dots far above the line mean short bursts.",
    "<dt>Utilization<dd>How often is there any request at all? 100% does not mean that a device which works in parallel is at its limit. The kernel's count is often wrong: values that cannot be true are dotted and marked with ?, and the thin line is the upper bound that the request times leave.",
    "<dt>Saturation<dd>How much slower than unloaded are requests? Latency as a multiple of the highest that the unloaded device may have for requests of that size.",
    "<dt>I/O size, merged requests<dd>Did the load change? Large or merged requests are sequential, small ones random; latencies of requests of different sizes are not comparable.",
    "<dt>Throughput against concurrency<dd>How much more could it do? A dot for each moment, rings for the mean at a level. Past the knee more concurrency adds latency instead of throughput.",
    "<dt>Latency against concurrency<dd>Does latency grow because of the load? If it is high at the left too, the device itself is slow.",
    "<dt>Heat map of interval means<dd>Does it have one speed or several? Requests by the mean latency of their interval: slow single requests are hidden in means.",
    "<dt>Where requests wait<dd>At which layer? A limit above a disk holds requests at the upper device while the lower one is idle.",
    "<dt>Who<dd>Who causes it? Bytes by cgroup. Buffered writes may belong to no cgroup.",
    "<dt>CPU, pressure, blocked tasks<dd>Is it the disk at all? Without available CPU the disk is rarely the bottleneck; pressure is the part of the time in which tasks waited for I/O (asynchronous I/O does not count).",
    "<dt>All charts<dd>A band is the range from minimum to maximum of a point, the line its mean. Gaps are time without data. Shaded times are incidents of the device. On the axes of rates, a short burst is cut and marked at the top.",
];

/// Appends the explanations, folded.
fn push_guide(out: &mut String) {
    out.push_str("<details id=\"guide\"><summary>How to read this</summary><dl>");
    out.push_str(&PANELS.concat());
    out.push_str("</dl><h3>Verdicts</h3><dl>");
    for (name, meaning) in verdict_meanings() {
        let (class, name) = if name == "-" {
            ("unknown", "no verdict")
        } else {
            (name.as_str(), name.as_str())
        };
        *out += &format!(
            "<dt><span class=\"tag {class}\">{name}</span><dd>{}",
            escape(&meaning)
        );
    }
    out.push_str(
        "</dl><p class=\"script\">Move the pointer over a chart for the values of all charts at that time; drag to zoom all of them, double-click for everything. \
         Keys on a chart: ← → move, + − zoom, Home and End, Esc shows everything.</p></details>",
    );
}

/// Returns a text that is safe between tags and in quoted attributes: characters with a meaning in HTML are escaped,
/// and those that control terminals or the direction of text are shown as escapes such as `\u{202e}`.
fn escape(text: &str) -> String {
    let text = sanitize(text);
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Marks and separators that change the direction of text, or that a terminal ignores.
            '\u{61c}' | '\u{180e}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' => {
                // Writing to a string cannot fail.
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
            }
            c => safe.push(c),
        }
    }
    safe
}

/// Returns a name as a separate element, so that right-to-left text in it does not affect its surroundings.
fn name(text: &str) -> String {
    format!("<bdi>{}</bdi>", escape(text))
}

/// Returns the label of a device, as a link if it has a section of this number.
fn link(label: &str, section: Option<usize>) -> String {
    match section {
        Some(section) => format!("<a href=\"#d{section}\">{}</a>", name(label)),
        None => name(label),
    }
}

/// Returns sentences as a list; nothing without any.
fn list(sentences: &[String]) -> String {
    let items: String = sentences
        .iter()
        .map(|sentence| format!("<li>{}", escape(sentence)))
        .collect();
    if items.is_empty() {
        items
    } else {
        format!("<ul>{items}</ul>")
    }
}

/// The class of a verdict.
fn verdict_class(verdict: Option<Verdict>) -> &'static str {
    verdict.map_or("unknown", Verdict::name)
}

fn verdict_word(verdict: Option<Verdict>) -> &'static str {
    verdict.map_or("no verdict", Verdict::name)
}

#[cfg(test)]
mod data_tests {
    use super::*;

    #[test]
    fn a_name_cannot_end_the_element() {
        let axis = TimeAxis::new(
            TimeSpan {
                start_s: 0.0,
                end_s: 1.0,
            },
            Vec::new(),
            None,
        );
        let name = "</script><script>alert(1)</script><!--\"\\";
        let group = Group {
            name,
            verdicts: Vec::new(),
            series: vec![(name, vec![Extent::default()])],
        };
        let mut out = String::new();
        push_data(&axis, false, &[group], &mut out);
        let (json, rest) = out
            .split_once('>')
            .unwrap()
            .1
            .split_once("</script>")
            .unwrap();
        assert!(rest.is_empty() && !json.contains('<'), "{out}");
        let data: serde_json::Value = serde_json::from_str(json).unwrap();
        assert_eq!(data["groups"][0]["name"], name);
        assert_eq!(
            data["groups"][0]["series"][name]["mean"],
            serde_json::json!([null])
        );
    }

    #[test]
    fn numbers_are_short_and_keep_their_digits() {
        let texts = [
            0.0,
            0.000_123_456_7,
            0.123_456,
            2.5,
            12.0,
            12_345.67,
            1_234_567.0,
        ]
        .map(|value| significant(value, 5));
        assert_eq!(
            texts,
            [
                "0",
                "0.00012346",
                "0.12346",
                "2.5",
                "12",
                "12346",
                "1234567"
            ]
        );
        for exponent in -9..9 {
            let value = 1.234_567 * 10.0_f64.powf(f64::from(exponent));
            let read: f64 = significant(value, 5).parse().unwrap();
            assert!((read / value - 1.0).abs() < 6e-5, "{value}");
        }
    }
}

#[cfg(test)]
mod escape_tests {
    use super::*;

    const HOSTILE: &str = "</script><script>alert(1)</script>\"'&\u{202e}\u{61c}\u{1b}[2J\n";

    #[test]
    fn nothing_of_a_name_is_markup() {
        let safe = escape(HOSTILE);
        assert!(
            !safe.contains(['<', '>', '"', '\'', '\u{202e}', '\u{61c}', '\u{1b}', '\n']),
            "{safe}"
        );
        assert_eq!(name("dm<0"), "<bdi>dm&lt;0</bdi>");
    }
}
