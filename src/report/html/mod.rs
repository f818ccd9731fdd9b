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
mod time_axis;

use std::fmt::Write;

use self::chart::HEIGHT;
use self::device::Section;
use self::tables::{PlacedIncident, place_incidents, push_headline};
use self::time_axis::TimeAxis;
use crate::capture::RecordingHeader;
use crate::intervals::UsageHistory;
use crate::intervals::series::{Extent, TimeSpan};
use crate::judge::{DeviceReport, Verdict};
use crate::quantities::verdict_meaning;
use crate::report::analysis::{
    AnalysisReport, departure_sentences, devices_worst_first, host_fact_sentences, host_sentences,
    not_the_disk_sentences,
};
use crate::report::layout::sentence_numbers::{counted, duration};
use crate::report::scale::without_zeros;
use crate::sanitize::{json_string, sanitize, shell_word};

/// The most devices with charts. No one looks at more, and a browser would not show them.
const MAX_SECTIONS: usize = 1000;
/// The most devices that were ok among them if there was no incident.
const MAX_OK_SECTIONS: usize = 8;

const STYLE: &str = include_str!("assets/style.css");
const SCRIPT: &str = include_str!("assets/script.js");
const HEAD: &str = include_str!("assets/head.html");
/// Each kind of panel with its explanation and the question that it answers, and the verdicts.
const GUIDE: &str = include_str!("assets/guide.html");

pub struct Page<'a> {
    pub analysis: &'a AnalysisReport,
    pub host: RecordingHeader,
    /// The name of the capture without its directory; `None` for the running system.
    pub capture: Option<String>,
    pub has_who: bool,
}

impl<'a> Page<'a> {
    pub fn html(&self) -> String {
        let history = &self.analysis.history;
        let span = history.span().unwrap_or(TimeSpan {
            start_s: 0.0,
            end_s: 1.0,
        });
        let has_wall_clock = history.clock.has_wall_clock();
        let time_zone = has_wall_clock.then(|| self.analysis.time_zone.clone());
        let points = history.series.points().iter().map(|point| point.span);
        let time = &TimeAxis::new(span, points.collect(), time_zone);
        let incidents = place_incidents(self.analysis, history);
        let mut sections = Vec::new();
        for report in self.charted() {
            sections.push(self.section(sections.len(), report, &incidents));
        }
        let anchor = |device: &str| sections.iter().position(|one| one.report.device == device);
        let mut shown = devices_worst_first(self.analysis);
        shown.retain(|report| report.intervals > 0 && report.verdict != Some(Verdict::Idle));
        let mut out = String::with_capacity(1 << 20);
        self.push_head(&self.headline(&incidents, time, escape), time, &mut out);
        self.push_summary(&incidents, time, &mut out);
        // The device that suffers from the worst incident comes first, those without trouble last.
        let (first, rest) = match &*sections {
            [first, rest @ ..] if !first.incidents.is_empty() => (Some(first), rest),
            all => (None, all),
        };
        if let Some(first) = first {
            first.push(time, &mut out);
        }
        tables::push_table(&incidents, &anchor, time, &mut out);
        tables::push_overview(self, &shown, &anchor, time, &mut out);
        let mut folded = Vec::new();
        for section in rest {
            if self.analysis.is_selection || incidents.is_empty() || !section.incidents.is_empty() {
                section.push(time, &mut out);
            } else {
                folded.push(section);
            }
        }
        if !folded.is_empty() {
            let count = counted(folded.len() as u64, "device");
            out += &format!(
                "<details class=\"folded\"><summary>{count} without an incident</summary>"
            );
            for section in folded {
                section.push(time, &mut out);
            }
            out.push_str("</details>");
        }
        self.push_host(sections.len(), time, &mut out);
        shown.retain(|report| anchor(&report.device).is_none());
        tables::push_ok_devices(&shown, history, &mut out);
        out += &guide();
        self.push_foot(&mut out);
        let mut groups: Vec<Group<'_>> = sections.iter().map(Section::data).collect();
        groups.push(tables::host_data(history));
        push_data(time, has_wall_clock, &groups, &mut out);
        out += &format!("<script>{SCRIPT}</script></body></html>\n");
        out
    }

    /// The devices with a section, the worst first, up to [`MAX_SECTIONS`]: those that were not ok, and those that were named; if
    /// there was no incident, some that were ok.
    fn charted(&self) -> Vec<&'a DeviceReport> {
        let mut devices = devices_worst_first(self.analysis);
        let known = &self.analysis.incidents;
        let mut ok_left = match known.list.is_empty() {
            true => MAX_OK_SECTIONS,
            false => 0,
        };
        devices.retain(|report| {
            if report.intervals == 0 {
                return false;
            }
            if self.analysis.is_selection || known.total(&report.device).is_some() {
                return true;
            }
            match report.verdict {
                Some(Verdict::Idle) => false,
                Some(Verdict::Ok) => {
                    let is_shown = ok_left > 0;
                    ok_left = ok_left.saturating_sub(1);
                    is_shown
                }
                _ => true,
            }
        });
        devices.truncate(MAX_SECTIONS);
        devices
    }

    fn section<'b>(
        &'b self,
        index: usize,
        report: &'b DeviceReport,
        incidents: &'b [PlacedIncident<'b>],
    ) -> Section<'b> {
        let usage = match self.has_who {
            true => self.usage(&report.device),
            false => None,
        };
        Section {
            page: self,
            index,
            report,
            history: self.analysis.history.device(&report.device),
            incidents: incidents
                .iter()
                .filter(|incident| incident.told.has(&report.device))
                .collect(),
            areas: usage.as_ref().map(tables::areas).unwrap_or_default(),
            usage,
        }
    }

    /// The use by cgroups of a device or, without any, of the whole devices below it.
    fn usage(&self, device: &str) -> Option<UsageHistory> {
        let mut devices = vec![device.to_owned()];
        devices.extend(self.analysis.topology.devices_below(device));
        for name in devices {
            if let Some(usage) = self.analysis.history.usage(&name)
                && !usage.cgroups.is_empty()
            {
                return Some(usage);
            }
        }
        None
    }

    fn push_head(&self, headline: &str, axis: &TimeAxis, out: &mut String) {
        let TimeSpan { start_s, end_s } = axis.span();
        let mut hours = String::new();
        for (position, _) in axis.ticks() {
            let x = axis.x(start_s + position * (end_s - start_s));
            hours += &format!("M{x} 0v{HEIGHT}");
        }
        out.push_str("<!DOCTYPE html>\n");
        *out += &unbroken(HEAD)
            .replace("{version}", env!("CARGO_PKG_VERSION"))
            .replace("{hours}", &hours)
            .replace("{style}", STYLE)
            .replace("{title}", &format!("{headline} - blkstat report"));
    }

    /// Returns the host, what happened to which device, and when, with names as `name_html` writes them.
    fn headline(
        &self,
        incidents: &[PlacedIncident<'_>],
        time: &TimeAxis,
        name_html: fn(&str) -> String,
    ) -> String {
        // The kernel's word for a host without a name says nothing.
        let host = self.host.host.as_deref().filter(|host| *host != "(none)");
        let host = host.map(name_html);
        if let Some(main) = incidents.first() {
            let host = host.map_or(String::new(), |host| format!("{host}: "));
            let victim = name_html(&main.told.victim.label);
            return format!("{host}{victim} {}", main.heading(time));
        }
        let host = host.map_or(String::new(), |host| format!("{host}, "));
        let (span, sentence) = (escape(&span_text(time)), self.headline_without_events());
        format!("{host}{span}: {sentence}")
    }

    fn push_summary(&self, incidents: &[PlacedIncident<'_>], time: &TimeAxis, out: &mut String) {
        let headline = self.headline(incidents, time, name);
        *out += &format!("<header><h1>{headline}.</h1>");
        if let Some((main, others)) = incidents.split_first() {
            push_headline(self.analysis, main, others, time, out);
        }
        let RecordingHeader {
            host, kernel, cpus, ..
        } = &self.host;
        let mut facts = Vec::new();
        if let Some(host) = host {
            facts.push(format!("<b>{}</b>", name(host)));
        }
        if let Some(kernel) = kernel {
            facts.push(format!("Linux {}", name(kernel)));
        }
        if let Some(cpus) = cpus.filter(|cpus| *cpus > 0) {
            facts.push(counted(cpus as u64, "CPU"));
        }
        let TimeSpan { start_s, end_s } = time.span();
        let span = escape(&span_text(time));
        facts.push(format!("{span} ({})", duration(end_s - start_s)));
        facts.push(counted(self.analysis.history.intervals, "interval"));
        if let Some(capture) = &self.capture {
            facts.push(format!("from {}", name(capture)));
        }
        *out += &format!("<p class=\"source\">{}</p>", facts.join(", "));
        let sentences = not_the_disk_sentences(self.analysis).unwrap_or_default();
        if !sentences.is_empty() {
            *out += &format!("<p>Not the disk: {}</p>", escape(&sentences.join(" ")));
        }
        for remark in self.remarks() {
            *out += &format!("<p class=\"note\">{}</p>", escape(&remark));
        }
        out.push_str("</header>");
    }

    /// The sentence of the headline if there are no events.
    fn headline_without_events(&self) -> String {
        let (mut in_trouble, mut unknown) = (0, 0);
        for report in &self.analysis.devices {
            in_trouble += u64::from(report.verdict >= Some(Verdict::Slow));
            unknown += u64::from(report.intervals > 0 && report.verdict.is_none());
        }
        if !self.analysis.incidents.departures.is_empty() {
            "a disk disappeared".to_owned()
        } else if in_trouble > 0 {
            let devices = counted(in_trouble, "device");
            format!("no trouble lasted, but {devices} had some at times")
        } else if unknown > 0 {
            let devices = counted(unknown, "device");
            format!("no trouble found, but no verdict on {devices}")
        } else {
            "no device was in trouble".to_owned()
        }
    }

    /// Disks that disappeared, and defects of the data that affect how the page should be read.
    fn remarks(&self) -> Vec<String> {
        let history = &self.analysis.history;
        let mut remarks = departure_sentences(self.analysis);
        remarks.extend(host_fact_sentences(self.analysis));
        let shift_s = history.clock.setback_s();
        if shift_s > 0.0 {
            let late = duration(shift_s);
            remarks.push(format!(
                "The clock went back: the latest times are shown {late} too late."
            ));
        }
        if history.missed_samples > 0 {
            let samples = counted(history.missed_samples, "sample");
            remarks.push(format!(
                "{samples} missed: longer intervals stand for them."
            ));
        }
        let dropped = self.analysis.incidents.dropped;
        if dropped > 0 {
            remarks.push(format!(
                "{} left out: milder or shorter than those shown.",
                counted(dropped, "incident")
            ));
        }
        remarks
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
            let command = format!("blkstat --csv --from {}", shell_word(capture));
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
    let (mut offsets, mut starts, mut ends) = (Vec::new(), Vec::new(), Vec::new());
    for (at_s, offset) in axis.utc_offsets() {
        offsets.push(format!("[{at_s:.0},{offset}]"));
    }
    for point in &axis.points {
        starts.push(without_zeros(&format!("{:.3}", point.start_s - start_s)));
        ends.push(without_zeros(&format!("{:.3}", point.end_s - start_s)));
    }
    let groups: Vec<String> = groups.iter().map(group_json).collect();
    let json = format!(
        "{{\"start\":{start_s:.3},\"end\":{end_s:.3},\"wall\":{is_wall_clock},\"offsets\":[{}],\"starts\":[{}],\
         \"ends\":[{}],\"groups\":[{}]}}",
        offsets.join(","),
        starts.join(","),
        ends.join(","),
        groups.join(",")
    );
    // A name may contain the end of the element.
    let json = json.replace('<', "\\u003c");
    *out += &format!("<script type=\"application/json\" id=\"data\">{json}</script>");
}

fn group_json(group: &Group<'_>) -> String {
    // Runs of equal verdicts: `ok*120,capped*30`.
    let mut runs = Vec::new();
    for run in group.verdicts.chunk_by(|a, b| a == b) {
        runs.push(format!(
            "{}*{}",
            run[0].map_or("", Verdict::name),
            run.len()
        ));
    }
    let mut series = Vec::new();
    for (key, extents) in &group.series {
        let has_range = extents.iter().any(|one| one.min() != one.max());
        let digits = if has_range {
            MEAN_DIGITS
        } else {
            SINGLE_DIGITS
        };
        let mut lists = vec![list_json("mean", extents, Extent::mean, digits)];
        if has_range {
            lists.push(list_json("min", extents, Extent::min, EXTREME_DIGITS));
            lists.push(list_json("max", extents, Extent::max, EXTREME_DIGITS));
        }
        series.push(format!("{}:{{{}}}", json_string(key), lists.join(",")));
    }
    format!(
        "\n{{\"name\":{},\"verdicts\":\"{}\",\"series\":{{{}}}}}",
        json_string(group.name),
        runs.join(","),
        series.join(",")
    )
}

/// A list of values with its name.
fn list_json(
    name: &str,
    extents: &[Extent],
    value: fn(&Extent) -> Option<f64>,
    digits: usize,
) -> String {
    let mut values = Vec::new();
    for extent in extents {
        let text = value(extent).map(|value| significant(value, digits));
        values.push(text.unwrap_or_else(|| "null".to_owned()));
    }
    format!("\"{name}\":[{}]", values.join(","))
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

/// The time that the page is about: `2026-11-26 19:24:30 to 19:26:05 UTC`.
fn span_text(time: &TimeAxis) -> String {
    let TimeSpan { start_s, end_s } = time.span();
    format!(
        "{} to {}{}",
        time.date_and_clock(start_s),
        time.end_moment(start_s, end_s),
        zone_text(time)
    )
}

/// The time zone after a time; empty without a wall clock.
fn zone_text(time: &TimeAxis) -> String {
    time.zone().map_or(String::new(), |zone| format!(" {zone}"))
}

/// A plain file of the page, whose lines are one in the page.
fn unbroken(file: &str) -> String {
    file.lines().collect()
}

/// Returns the explanations, folded.
fn guide() -> String {
    let mut verdicts = String::new();
    for verdict in Verdict::ALL.map(Some).into_iter().chain([None]) {
        let class = verdict.map_or("unknown", Verdict::name);
        let name = verdict.map_or("no verdict", Verdict::name);
        verdicts += &format!(
            "<dt><span class=\"tag {class}\">{name}</span><dd>{}",
            escape(verdict_meaning(verdict))
        );
    }
    unbroken(GUIDE).replace("{verdicts}", &verdicts)
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
