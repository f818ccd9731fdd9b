//! A page: one self-contained HTML file with charts. It needs neither network nor fonts, which its
//! Content-Security-Policy forbids. The charts are drawn as SVG, without JavaScript; a small script adds values under
//! the cursor, zoom and CSV.
//!
//! The page has the main trouble in a sentence, all incidents in a table, a band of verdicts for every device, a
//! section for each device that was not ok or that was named, the host, a table of the other devices, and a guide to
//! reading it. Texts from outside pass through `escape`.

mod chart;
mod data;
mod device;
mod escape;
mod guide;
mod host;
mod incidents;
mod overview;
mod scale;
mod time_axis;
mod xy_chart;

use self::data::push_data;
use self::device::Section;
use self::escape::{escape, list, name};
use self::incidents::{PlacedIncident, place_incidents, push_headline};
use self::scale::HEIGHT;
use self::time_axis::TimeAxis;
use crate::analysis::{DeviceReport, Verdict};
use crate::capture::RecordingHeader;
use crate::intervals::series::TimeSpan;
use crate::intervals::{History, UsageHistory};
use crate::report::analysis::{
    AnalysisReport, departure_sentences, devices_worst_first, host_sentences, not_the_disk_sentences,
};
use crate::report::layout::sentence_numbers::{counted, duration};

const STYLE: &str = include_str!("assets/style.css");
const SCRIPT: &str = include_str!("assets/script.js");

/// The size in bytes that a page should not exceed. A page with very many charts may, because each has at least
/// [`MIN_POINTS`].
const MAX_PAGE_BYTES: usize = 1_750_000;
/// Estimates of the bytes of a page without devices, and below of a device without points: titles, labels, sentences.
const EMPTY_PAGE_BYTES: usize = 60_000;
const EMPTY_DEVICE_BYTES: usize = 20_000;
/// The bytes that a point of a device with few series takes, drawn and as data; with all series it takes 350 to 750.
const MIN_DEVICE_POINT_BYTES: usize = 250;
/// The fewest points of a series.
const MIN_POINTS: usize = 40;

pub struct Page<'a> {
    pub analysis: &'a AnalysisReport,
    pub history: History,
    pub host: RecordingHeader,
    /// The capture, as it was given; `None` for the running system.
    pub capture: Option<String>,
    /// Latency, as a multiple of unloaded latency, at which a device counts as saturated.
    pub saturation_threshold: f64,
    pub has_who: bool,
}

impl<'a> Page<'a> {
    /// Returns the page, with as many points as the size limit permits.
    pub fn html(mut self) -> String {
        let charted = self.charted();
        let empty_bytes = EMPTY_PAGE_BYTES + charted.len() * EMPTY_DEVICE_BYTES;
        let for_points = MAX_PAGE_BYTES.saturating_sub(empty_bytes).max(1);
        let point_bytes = MIN_DEVICE_POINT_BYTES * (charted.len() + 1);
        // Points are always merged from the finest ones, so that they get the length that fits best.
        let finest = self.history.clone();
        let mut max_points = (for_points / point_bytes).max(MIN_POINTS);
        loop {
            self.history.reduce(max_points);
            let html = self.draw(&charted);
            let points = self.history.timeline.points().len();
            if html.len() <= MAX_PAGE_BYTES || points <= MIN_POINTS {
                return html;
            }
            let excess = html.len().saturating_sub(empty_bytes) as f64 / for_points as f64;
            max_points = ((points as f64 / excess) as usize).clamp(MIN_POINTS, points - 1);
            self.history = finest.clone();
        }
    }

    fn draw(&self, charted: &[&'a DeviceReport]) -> String {
        let history = &self.history;
        let span = history.span().unwrap_or(TimeSpan { start_s: 0.0, end_s: 1.0 });
        let time_zone = history.clock.has_wall_clock().then(|| self.analysis.time_zone.clone());
        let time = &TimeAxis::new(span, &history.timeline, time_zone);
        let incidents = place_incidents(self.analysis, history);
        let section = |(index, report): (usize, &&'a DeviceReport)| self.section(index, report, &incidents);
        let sections: Vec<Section<'_>> = charted.iter().enumerate().map(section).collect();
        let mut out = String::with_capacity(1 << 20);
        self.push_head(time, &mut out);
        self.push_summary(&incidents, time, &mut out);
        let anchor = |device: &str| sections.iter().position(|section| section.report.device == device);
        // The device that suffers from the worst incident comes first, those without trouble last.
        let is_open = |section: &&Section<'_>| !section.incidents.is_empty() || self.analysis.is_selection;
        let first = sections.first().filter(|section| !section.incidents.is_empty());
        first.into_iter().for_each(|section| section.push(time, &mut out));
        incidents::push_table(&incidents, &anchor, time, &mut out);
        let shown: Vec<&DeviceReport> = devices_worst_first(self.analysis)
            .into_iter()
            .filter(|report| report.intervals > 0 && report.verdict != Some(Verdict::Idle))
            .collect();
        overview::push_overview(self, &shown, &anchor, time, &mut out);
        let rest = &sections[usize::from(first.is_some())..];
        rest.iter().filter(is_open).for_each(|section| section.push(time, &mut out));
        let folded: Vec<&Section<'_>> = rest.iter().filter(|section| !is_open(section)).collect();
        if !folded.is_empty() {
            let count = counted(folded.len() as u64, "device");
            out += &format!("<details class=\"folded\"><summary>{count} without an incident</summary>");
            folded.iter().for_each(|section| section.push(time, &mut out));
            out.push_str("</details>");
        }
        self.push_host(sections.len(), time, &mut out);
        let others: Vec<&DeviceReport> =
            shown.into_iter().filter(|report| anchor(&report.device).is_none()).collect();
        overview::push_ok_devices(&others, history, &mut out);
        guide::push_guide(&mut out);
        self.push_foot(&mut out);
        let groups: Vec<_> = sections.iter().map(Section::data).chain([host::host_data(history)]).collect();
        push_data(time, history.clock.has_wall_clock(), &groups, &mut out);
        out += &format!("<script>{SCRIPT}</script></body></html>\n");
        out
    }

    /// The devices with a section, the worst first: those that were not ok, and those that were named.
    fn charted(&self) -> Vec<&'a DeviceReport> {
        let is_charted = |report: &&DeviceReport| {
            let is_well = matches!(report.verdict, Some(Verdict::Ok | Verdict::Idle));
            let has_incident = self.analysis.events.incidents_of(&report.device).next().is_some();
            report.intervals > 0 && (!is_well || has_incident || self.analysis.is_selection)
        };
        devices_worst_first(self.analysis).into_iter().filter(is_charted).collect()
    }

    fn section<'b>(
        &'b self,
        index: usize,
        report: &'b DeviceReport,
        incidents: &'b [PlacedIncident<'b>],
    ) -> Section<'b> {
        let usage = self.has_who.then(|| self.usage(&report.device)).flatten();
        let points = self.history.timeline.points().len();
        Section {
            page: self,
            index,
            report,
            history: self.history.device(&report.device),
            incidents: incidents.iter().filter(|incident| incident.summary.has(&report.device)).collect(),
            usage,
            areas: usage.map(|usage| host::areas(usage, points)).unwrap_or_default(),
        }
    }

    /// The use by cgroups of a device or, without any, of the whole devices below it.
    fn usage(&self, device: &str) -> Option<&UsageHistory> {
        let below = self.analysis.topology.devices_below(device);
        let mut used =
            [device.to_owned()].into_iter().chain(below).filter_map(|name| self.history.usage(&name));
        used.find(|usage| !usage.cgroups().is_empty())
    }

    fn push_head(&self, axis: &TimeAxis<'_>, out: &mut String) {
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

    fn push_summary(&self, incidents: &[PlacedIncident<'_>], time: &TimeAxis<'_>, out: &mut String) {
        out.push_str("<header>");
        match incidents.split_first() {
            Some((main, others)) => push_headline(main, others, time, out),
            None => *out += &format!("<h1>{}</h1>", self.headline_without_events()),
        }
        out.push_str("<p class=\"source\">");
        let mut facts: Vec<String> =
            self.host.host.iter().map(|host| format!("<b>{}</b>", name(host))).collect();
        facts.extend(self.host.kernel.iter().map(|kernel| format!("Linux {}", name(kernel))));
        facts.extend(self.host.cpus.filter(|cpus| *cpus > 0).map(|cpus| counted(cpus as u64, "CPU")));
        let span = time.span();
        let (start, end) = (time.date_and_clock(span.start_s), time.date_and_clock(span.end_s));
        let zone = time.zone().map(|zone| format!(" {}", escape(&zone))).unwrap_or_default();
        facts.push(format!("{start} to {end}{zone} ({})", duration(span.end_s - span.start_s)));
        facts.push(counted(self.history.intervals, "interval"));
        facts.extend(self.capture.iter().map(|capture| format!("from {}", name(capture))));
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
        match unknown {
            _ if !self.analysis.events.departures.is_empty() => "A disk disappeared.".to_owned(),
            0 => "No device was in trouble.".to_owned(),
            _ => format!("No trouble found, but no verdict on {}.", counted(unknown as u64, "device")),
        }
    }

    /// Disks that disappeared, and defects of the data that affect how the page should be read.
    fn remarks(&self) -> Vec<String> {
        let shift_s = self.history.clock.setback_s();
        let mut remarks = departure_sentences(self.analysis);
        if shift_s > 0.0 {
            remarks.push(format!(
                "The clock went back: the latest times are shown {} too late.",
                duration(shift_s)
            ));
        }
        let missed = self.history.missed_samples;
        if missed > 0 {
            remarks.push(format!("{} missed: longer intervals stand for them.", counted(missed, "sample")));
        }
        if self.analysis.events.dropped > 0 {
            remarks.push(format!(
                "{} left out: milder or shorter than those shown.",
                counted(self.analysis.events.dropped, "event")
            ));
        }
        remarks
    }

    /// Appends the section of the host; nothing if the capture has no data about it.
    fn push_host(&self, group: usize, time: &TimeAxis<'_>, out: &mut String) {
        let mut content = String::new();
        host::push_host_charts(&self.history, time, &mut content);
        let mut text = list(&host_sentences(self.analysis));
        if self.has_who {
            host::push_blocked_tasks(&self.history, time, &mut text);
        }
        if !content.is_empty() || !text.is_empty() {
            *out += &format!(
                "<section id=\"host\" data-g=\"{group}\"><h2>Host</h2><div class=\"panels\">{content}</div>{text}</section>"
            );
        }
    }

    fn push_foot(&self, out: &mut String) {
        let points = self.history.timeline.points();
        let longest = points.iter().map(|point| point.end_s - point.start_s).fold(0.0, f64::max);
        *out += &format!(
            "<footer><p>Drawn: {} of up to {} each, with minimum, mean and maximum. ",
            counted(points.len() as u64, "point"),
            duration(longest)
        );
        if let Some(capture) = &self.capture {
            let command = format!("blkstat --csv --from {}", crate::sanitize::shell_word(capture));
            *out += &format!("Exact values: <code>{}</code>. ", escape(&command));
        }
        *out += &format!("Made by blkstat {}.</p></footer>", env!("CARGO_PKG_VERSION"));
    }
}
