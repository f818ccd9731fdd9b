//! The parts of the page about all devices: the incidents, the worst first (in the first sentences of a page, in its table, and
//! as shades in charts), a verdict band for each device, a table of those that were ok, the charts of the host, and who used a
//! device.

use std::collections::HashSet;

use super::chart::{Area, HEIGHT, LineChart, Unit, push_areas, push_chart, time_labels};
use super::time_axis::TimeAxis;
use super::{
    Group, Page, escape, link, name, verdict_class as class, verdict_word as word, zone_text,
};
use crate::attribution::cgroup_name;
use crate::incidents::Told;
use crate::intervals::series::{Extent, Fold, TimeSpan};
use crate::intervals::{DeviceHistory, History, UsageHistory};
use crate::judge::{DeviceReport, Verdict};
use crate::quantities::device::*;
use crate::quantities::host::{self, *};
use crate::quantities::{HostQuantity, Quantity};
use crate::report::analysis::{AnalysisReport, worst_incident_text};
use crate::report::evidence::{
    advice_text, incident_heading, incident_length_text, incident_parts, incident_time_text,
    program_text, sign_of_begin, verdict_mark,
};
use crate::report::layout::sentence_numbers::{
    counted, duration, number, percent, queue, time as time_text,
};
use crate::sanitize::sanitize;

/// An incident with its place in the charts.
pub(super) struct PlacedIncident<'a> {
    pub(super) told: &'a Told,
    begin_s: f64,
    end_s: f64,
}

impl PlacedIncident<'_> {
    /// The verdict on the device that suffers, and the time with its date, as HTML.
    pub(super) fn heading(&self, time_of: &TimeAxis) -> String {
        let zone = zone_text(time_of);
        let mut begin = time_of.date_and_clock(self.begin_s);
        if self.told.is_ongoing {
            begin += &zone;
        }
        let end = time_of.end_moment(self.begin_s, self.end_s) + &zone;
        escape(&incident_heading(self.told, &[begin, end]))
    }

    /// The extent of a quantity of a device during the incident.
    fn extent(
        &self,
        history: &DeviceHistory<'_>,
        quantity: &Quantity,
        time_of: &TimeAxis,
    ) -> Extent {
        let mut extent = Extent::default();
        for (value, span) in history.values(quantity).iter().zip(&time_of.points) {
            if span.end_s > self.begin_s && span.start_s < self.end_s {
                extent.add(*value);
            }
        }
        extent
    }

    /// The times of its beginning and its end.
    fn times(&self, time_of: &TimeAxis) -> [String; 2] {
        [
            time_of.moment(self.begin_s),
            time_of.end_moment(self.begin_s, self.end_s),
        ]
    }
}

/// Returns the incidents, the worst first.
pub(super) fn place_incidents<'a>(
    analysis: &'a AnalysisReport,
    history: &History,
) -> Vec<PlacedIncident<'a>> {
    let mut placed = Vec::new();
    for told in analysis.incidents.worst_first() {
        let begin_s = history.clock.axis_s(told.begin.run_s);
        let end_s = history.clock.axis_end_s(told.end.run_s).max(begin_s);
        placed.push(PlacedIncident {
            told,
            begin_s,
            end_s,
        });
    }
    placed
}

/// The most other incidents that are named.
const MAX_NAMED: usize = 3;

/// Appends the sentences on the incidents, the first of which is the main one.
pub(super) fn push_headline(
    analysis: &AnalysisReport,
    main: &PlacedIncident<'_>,
    others: &[PlacedIncident<'_>],
    time_of: &TimeAxis,
    out: &mut String,
) {
    let mut parts = incident_parts(main.told);
    let has_advice = advice_text(main.told).is_some();
    let remedy = parts.pop_if(|_| has_advice);
    let mut paragraphs = vec![parts.join("; "), peak_text(analysis, main, time_of)];
    if let Some(remedy) = remedy {
        paragraphs.push(format!("What to do: {}", remedy.trim_start_matches("to ")));
    }
    for text in paragraphs {
        if !text.is_empty() {
            let dot = if text.ends_with('.') { "" } else { "." };
            *out += &format!("<p class=\"main\">{}{dot}</p>", escape(&text));
        }
    }
    let layers = main.told.devices[1..].iter();
    let layers: Vec<String> = layers.map(|one| name(&one.names.label)).collect();
    if !layers.is_empty() {
        let layers = layers.join(", ");
        *out += &format!("<p class=\"main\">Same incident: {layers}.</p>");
    }
    if others.is_empty() {
        return;
    }
    let first = others.iter().take(MAX_NAMED);
    let mut named: Vec<String> = first.map(|one| short(one, time_of)).collect();
    if others.len() > MAX_NAMED {
        named.push(format!("{} more", others.len() - MAX_NAMED));
    }
    let victims = others.iter().map(|one| &one.told.victim);
    let devices: HashSet<&str> = victims.map(|victim| &*victim.device).collect();
    let on_devices = match devices.len() {
        1 => String::new(),
        several => format!(" on {several} devices"),
    };
    *out += &format!(
        "<p class=\"main\"><a href=\"#events\">{}</a>{on_devices}: {}.</p>",
        counted(others.len() as u64, "other incident"),
        named.join("; ")
    );
}

/// The highest latency and queue of the device that suffers, and its mean rates during the incident.
fn peak_text(
    analysis: &AnalysisReport,
    incident: &PlacedIncident<'_>,
    time_of: &TimeAxis,
) -> String {
    let victim = &incident.told.victim.device;
    let Some(history) = analysis.history.device(victim) else {
        return String::new();
    };
    let mut peaks = Vec::new();
    for (word, quantity) in [
        ("reads", &READ_AWAIT_MS),
        ("writes", &WRITE_AWAIT_MS),
        ("flushes", &FLUSH_AWAIT_MS),
    ] {
        let highest = incident
            .extent(&history, quantity, time_of)
            .max()
            .unwrap_or(0.0);
        if highest > 0.0 {
            peaks.push(format!("{word} {}", time_text(highest)));
        }
    }
    // While nothing completes, the kernel counts no queue.
    let longest = incident
        .extent(&history, &QUEUE, time_of)
        .max()
        .unwrap_or(0.0);
    if longest > 0.0 {
        peaks.push(format!("queue {}", queue(longest)));
    }
    let mut rates = Vec::new();
    for (unit, rate, factor) in [
        ("reads/s", &READS_PER_S, 1.0),
        ("writes/s", &WRITES_PER_S, 1.0),
        ("MiB/s", &KIB_PER_S, 1.0 / 1024.0),
    ] {
        let mean = incident
            .extent(&history, rate, time_of)
            .mean()
            .unwrap_or(0.0);
        if mean > 0.0 {
            rates.push(format!("{} {unit}", number(mean * factor)));
        }
    }
    let mut parts = Vec::new();
    for (lead, list) in [("Peak:", peaks), ("On average", rates)] {
        if !list.is_empty() {
            parts.push(format!("{lead} {}", list.join(", ")));
        }
    }
    let mut text = parts.join(". ");
    if let Some(limit) = incident.told.limit()
        && let Some(owner) = &limit.owner
    {
        let owner = cgroup_name(owner);
        let lead = if text.is_empty() { "The" } else { "; the" };
        text += &format!("{lead} limit is that of {owner}, not of the device");
    }
    text
}

/// Another incident in a few words: `sdb stalled at 16:04:02 (1.0 s)`.
fn short(placed: &PlacedIncident<'_>, time_of: &TimeAxis) -> String {
    let told = placed.told;
    let before = if told.begin_is_known { "at" } else { "before" };
    format!(
        "{} {} {before} {} ({})",
        name(&told.victim.label),
        told.word.name(),
        time_of.moment(placed.begin_s),
        escape(&incident_length_text(told))
    )
}

/// The number of incidents in the table that are not folded, and the most in the table.
const OPEN_INCIDENTS: usize = 10;
const MAX_ROWS: usize = 300;
/// The beginning of the table, with its titles.
const TITLES: &str = "<div class=\"scroll\"><table class=\"events\"><thead><tr><th>#<th>device<th>verdict<th>time<th class=\"n\">for<th>why</tr></thead><tbody>";

/// Appends the table of incidents. `anchor` returns the anchor of a device's section on the page.
pub(super) fn push_table(
    incidents: &[PlacedIncident<'_>],
    anchor: &dyn Fn(&str) -> Option<usize>,
    time_of: &TimeAxis,
    out: &mut String,
) {
    if incidents.is_empty() {
        return;
    }
    *out += &format!("<h2 id=\"events\">Incidents</h2>{TITLES}");
    let shown = incidents.len().min(MAX_ROWS);
    for (index, placed) in incidents[..shown].iter().enumerate() {
        if index == OPEN_INCIDENTS {
            let count = counted((incidents.len() - index) as u64, "smaller incident");
            *out += &format!("</tbody></table></div><details><summary>{count}</summary>{TITLES}");
        }
        let PlacedIncident {
            told,
            begin_s,
            end_s,
        } = placed;
        let mut devices = Vec::new();
        for one in &told.devices {
            devices.push(link(&one.names.label, anchor(&one.names.device)));
        }
        let others = match devices.len() {
            1 => String::new(),
            _ => format!(" <small>also {}</small>", devices[1..].join(", ")),
        };
        let verdict = told.word.name();
        let sign = escape(sign_of_begin(told));
        *out += &format!(
            "<tr data-from=\"{begin_s:.3}\" data-to=\"{end_s:.3}\"><td>{}<td class=\"device\">{}{others}<td><span class=\"tag {verdict}\">{verdict}</span><td class=\"time\">{}<td class=\"l n\" data-l=\"for\">{sign}{}<td class=\"l long\" data-l=\"why\">{}</tr>",
            index + 1,
            devices[0],
            escape(&incident_time_text(told, &placed.times(time_of))),
            duration(told.duration_s()),
            escape(&incident_parts(told).join("; ")),
        );
    }
    out.push_str("</tbody></table></div>");
    if shown > OPEN_INCIDENTS {
        out.push_str("</details>");
    }
    if incidents.len() > shown {
        let more = counted((incidents.len() - shown) as u64, "smaller incident");
        *out += &format!("<p class=\"note\">and {more}</p>");
    }
}

/// Returns the shades of a device's incidents, which its charts refer to by `id`.
pub(super) fn shades(incidents: &[&PlacedIncident<'_>], id: &str, time: &TimeAxis) -> String {
    let mut shades = String::new();
    for placed in incidents {
        let (x, end) = (time.x(placed.begin_s), time.x(placed.end_s));
        let width = (end - x).max(1);
        let verdict = placed.told.word.name();
        let has_begin = placed.told.begin_is_known && placed.begin_s >= time.span().start_s;
        let begin = match has_begin {
            true => format!("M{x} 0v{HEIGHT}"),
            false => String::new(),
        };
        shades += &format!(
            "<rect class=\"shade {verdict}\" x=\"{x}\" y=\"0\" width=\"{width}\" height=\"{HEIGHT}\"/><path class=\"edge {verdict}\" d=\"{begin}M{end} 0v{HEIGHT}\"/>"
        );
    }
    format!("<svg class=\"defs\" aria-hidden=\"true\"><g id=\"{id}\">{shades}</g></svg>")
}

/// Appends a verdict band for each device that was not idle. `anchor` returns the section of a device.
pub(super) fn push_overview(
    page: &Page<'_>,
    reports: &[&DeviceReport],
    anchor: &dyn Fn(&str) -> Option<usize>,
    time: &TimeAxis,
    out: &mut String,
) {
    if reports.is_empty() {
        return;
    }
    out.push_str("<h2>All devices</h2><div class=\"overview\">");
    for report in reports {
        let Some(device) = page.analysis.history.device(&report.device) else {
            continue;
        };
        let label = label_of(report, &page.analysis.history);
        let link = link(label, anchor(&report.device));
        let tags = tags(page.analysis, report);
        *out += &format!("<div class=\"name\">{link}</div><div class=\"verdict\">{tags}</div>");
        push_band(&device.verdicts(), time, out);
    }
    *out += &format!("<div class=\"axis-cell\">{}</div></div>", time_labels(time));
}

/// Appends the folded table of the devices without a section.
pub(super) fn push_ok_devices(reports: &[&DeviceReport], history: &History, out: &mut String) {
    if reports.is_empty() {
        return;
    }
    *out += &format!(
        "<details id=\"others\"><summary>{} that {} ok</summary><div class=\"scroll\"><table><thead><tr><th>device<th>verdict<th class=\"n\">reads/s, mean<th class=\"n\">writes/s, mean<th class=\"n\">read latency, median<th class=\"n\">p99<th class=\"n\">write latency, median<th class=\"n\">p99<th class=\"n\">queue, mean<th class=\"n\">util, mean</tr></thead><tbody>",
        counted(reports.len() as u64, "device"),
        if reports.len() == 1 { "was" } else { "were" }
    );
    for report in reports {
        *out += &format!(
            "<tr><td class=\"device\">{}<td>{}",
            name(label_of(report, history)),
            word(report.verdict)
        );
        let DeviceReport { read, write, .. } = report;
        let numbers = [
            read.iops.mean.map(number),
            write.iops.mean.map(number),
            read.await_ms.p50.map(time_text),
            read.await_ms.p99.map(time_text),
            write.await_ms.p50.map(time_text),
            write.await_ms.p99.map(time_text),
            report.all.queue.mean.map(queue),
            report.util_pct.mean.map(percent),
        ];
        for number in numbers {
            *out += &format!("<td class=\"n\">{}", number.unwrap_or_default());
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div></details>");
}

/// The alias of a device, or the kernel's name.
pub(super) fn label_of<'a>(report: &'a DeviceReport, history: &'a History) -> &'a str {
    let device = history.device(&report.device);
    let names = device.and_then(|device| device.names());
    names.map_or(&report.device, |names| &names.label)
}

/// The verdict on a device over the whole time, with its incidents beside it.
pub(super) fn tags(analysis: &AnalysisReport, report: &DeviceReport) -> String {
    let own = tag(report.verdict, word(report.verdict));
    let Some(total) = analysis.incidents.total(&report.device) else {
        return own;
    };
    format!(
        "{own} <small>{}:</small> {}",
        counted(total.count, "incident"),
        tag(Some(total.worst), &worst_incident_text(total))
    )
}

fn tag(verdict: Option<Verdict>, text: &str) -> String {
    format!("<span class=\"tag {}\">{text}</span>", class(verdict))
}

/// Appends the band. Each part shows the word for its verdict if it fits, otherwise its mark.
pub(super) fn push_band(verdicts: &[Option<Verdict>], time: &TimeAxis, out: &mut String) {
    out.push_str("<div class=\"band\"><div class=\"inner\">");
    for (verdict, TimeSpan { start_s, end_s }) in parts(verdicts, time) {
        let (begin, end) = (time.position(start_s), time.position(end_s));
        let (left, width) = (begin * 100.0, (end - begin) * 100.0);
        let (start, end) = (time.moment(start_s), time.end_moment(start_s, end_s));
        let label = word(verdict);
        // A word that does not fit wraps to a second line, which is hidden; then the mark must be visible alone.
        let text = match width {
            6.0.. => format!("<b>{label}</b>"),
            0.8.. => format!("<s>{}</s>", verdict_mark(verdict)),
            _ => String::new(),
        };
        *out += &format!(
            "<i class=\"v {}\" style=\"left:{left:.2}%;width:{width:.2}%\" title=\"{label} {} to {}\">{text}</i>",
            class(verdict),
            start,
            end
        );
    }
    out.push_str("</div></div>");
}

/// Returns the parts of the band with one verdict each.
fn parts(verdicts: &[Option<Verdict>], time: &TimeAxis) -> Vec<(Option<Verdict>, TimeSpan)> {
    let mut parts: Vec<(Option<Verdict>, TimeSpan)> = Vec::new();
    let mut is_continued = false;
    for (index, (verdict, span)) in verdicts.iter().zip(&time.points).enumerate() {
        if matches!(verdict, None | Some(Verdict::Idle)) {
            is_continued = false;
            continue;
        }
        match parts.last_mut() {
            Some((last, part)) if is_continued && last == verdict && !time.is_after_gap(index) => {
                part.end_s = span.end_s;
            }
            _ => parts.push((*verdict, *span)),
        }
        is_continued = true;
    }
    parts
}

/// The charts about all disks.
static DISK_CHARTS: &[LineChart<Quantity>] = &[
    (
        (
            "Queue of all disks",
            "How much waits in all? ",
            Unit::Count("requests"),
        ),
        &[("mean queue", &QUEUE, "all")],
    ),
    (
        (
            "Operations of all disks",
            "How many in all? ",
            Unit::PerSecond,
        ),
        &[
            ("reads", &READS_PER_S, "read"),
            ("writes", &WRITES_PER_S, "write"),
        ],
    ),
];

/// The charts about tasks.
static TASK_CHARTS: &[LineChart<HostQuantity>] = &[
    (
        ("I/O pressure", "Do tasks wait for I/O? ", Unit::Percent),
        &[
            ("some task waits", &IO_PRESSURE_SOME_PCT, "read"),
            ("all tasks wait", &IO_PRESSURE_FULL_PCT, "write"),
        ],
    ),
    (
        ("Blocked tasks", "How many wait? ", Unit::Count("tasks")),
        &[("blocked on I/O", &BLOCKED, "all")],
    ),
    (
        ("Memory pressure", "Is memory short? ", Unit::Percent),
        &[(
            "some task waits for memory",
            &MEMORY_PRESSURE_SOME_PCT,
            "all",
        )],
    ),
];

/// Appends the charts; nothing without values.
pub(super) fn push_host_charts(history: &History, time: &TimeAxis, out: &mut String) {
    let total = history.total();
    for chart in DISK_CHARTS {
        push_chart(
            chart,
            |one| (one.name, total.values(one)),
            &[],
            "",
            time,
            out,
        );
    }
    let cpu = [
        ("system", CPU_SYSTEM_PCT, "a2"),
        ("user", CPU_USER_PCT, "a1"),
        ("stolen", CPU_STEAL_PCT, "a4"),
        ("available", CPU_AVAILABLE_PCT, "rest"),
    ]
    .map(|(label, quantity, class)| area(label, quantity.name, class, history.host(&quantity)));
    push_areas("CPU", "Is there CPU left? ", &cpu, "", time, out);
    for chart in TASK_CHARTS {
        push_chart(
            chart,
            |one| (one.name, history.host(one)),
            &[],
            "",
            time,
            out,
        );
    }
}

fn area(label: &str, key: &str, class: &'static str, values: Vec<Extent>) -> Area {
    Area {
        label: label.to_owned(),
        key: key.to_owned(),
        class,
        values,
    }
}

pub(super) fn host_data(history: &History) -> Group<'_> {
    let total = history.total();
    let mut series = Vec::new();
    for quantity in &host::CHARTED {
        series.push((quantity.name, history.host(quantity)));
    }
    for (_, lines) in DISK_CHARTS {
        for (_, quantity, _) in *lines {
            series.push((quantity.name, total.values(quantity)));
        }
    }
    series.retain(|(_, values)| !values.iter().all(Extent::is_empty));
    Group {
        name: "host",
        verdicts: Vec::new(),
        series,
    }
}

/// The most cgroups with their own color.
const MAX_SHOWN: usize = 4;
/// The most cgroups in the table.
const MAX_CGROUPS: usize = 10;
/// The most tasks in the table.
const MAX_TASKS: usize = 20;

/// The shares of a device's bytes: the largest cgroup first, then all others and the bytes that belong to no cgroup.
pub(super) fn areas(usage: &UsageHistory) -> Vec<Area> {
    const CLASSES: [&str; MAX_SHOWN] = ["a1", "a2", "a3", "a4"];
    let (shown, others) = usage.cgroups.split_at(usage.cgroups.len().min(MAX_SHOWN));
    let mut parts = Vec::new();
    for (cgroup, class) in shown.iter().zip(CLASSES) {
        let (label, key) = (cgroup_name(&cgroup.path), sanitize(&cgroup.path));
        let area = area(&label, &format!("cgroup {key}"), class, Vec::new());
        parts.push((area, cgroup.bytes.clone()));
    }
    let mut of_others = usage.others.clone();
    for cgroup in others {
        add_each(&mut of_others, &cgroup.bytes);
    }
    let (other, none) = ("other cgroups", "no cgroup");
    parts.push((area(other, other, "a5", Vec::new()), of_others));
    let unattributed = usage.unattributed.clone();
    parts.push((area(none, none, "rest", Vec::new()), unattributed));

    let mut totals = vec![0.0; usage.others.len()];
    for (_, bytes) in &parts {
        add_each(&mut totals, bytes);
    }
    let mut areas = Vec::new();
    for (mut area, bytes) in parts {
        let mut is_seen = areas.len() < shown.len();
        for (bytes, total) in bytes.iter().zip(&totals) {
            let share_pct = 100.0 * bytes / total;
            is_seen |= share_pct > 0.05;
            let mut share = Extent::default();
            share.observe(share_pct, 1.0);
            area.values.push(share);
        }
        if is_seen {
            areas.push(area);
        }
    }
    areas
}

fn add_each(sums: &mut [f64], values: &[f64]) {
    for (sum, value) in sums.iter_mut().zip(values) {
        *sum += value;
    }
}

/// Appends the table of the cgroups that used a device.
pub(super) fn push_cgroup_table(usage: &UsageHistory, out: &mut String) {
    let cgroups = &usage.cgroups;
    let of_cgroups: f64 = cgroups.iter().map(|cgroup| cgroup.total_bytes).sum();
    let all = of_cgroups + usage.others.iter().chain(&usage.unattributed).sum::<f64>();
    if all <= 0.0 || cgroups.is_empty() {
        return;
    }
    out.push_str("<div class=\"scroll\"><table><thead><tr><th>cgroup<th class=\"n\">share<th class=\"n\">MiB/s, mean of the whole time<th>limit</tr></thead><tbody>");
    for cgroup in cgroups.iter().take(MAX_CGROUPS) {
        *out += &format!(
            "<tr><td class=\"long\" title=\"{}\">{}<td class=\"n\">{}<td class=\"n\">{}<td>{}</tr>",
            escape(&cgroup.path),
            name(&cgroup_name(&cgroup.path)),
            percent(100.0 * cgroup.total_bytes / all),
            number(cgroup.total_bytes / usage.seconds.max(f64::MIN_POSITIVE) / 1_048_576.0),
            if cgroup.has_reached_limit {
                "at its limit at some time"
            } else {
                ""
            }
        );
    }
    out.push_str("</tbody></table></div>");
}

/// The most programs in the table.
const MAX_PROGRAMS: usize = 3;

/// Appends the table of the programs that used a device, with their bytes on all devices, because the kernel does not count them by
/// device; nothing without any.
pub(super) fn push_program_table(usage: &UsageHistory, out: &mut String) {
    if usage.programs.is_empty() {
        return;
    }
    out.push_str("<div class=\"scroll\"><table><thead><tr><th>process, all devices<th class=\"n\">MiB/s, mean of the whole time<th>cgroup</tr></thead><tbody>");
    for (program, bytes) in usage.programs.iter().take(MAX_PROGRAMS) {
        let cgroup = program.cgroup.as_deref().map(cgroup_name);
        *out += &format!(
            "<tr><td class=\"long\">{}<td class=\"n\">{}<td class=\"long\">{}</tr>",
            name(&program_text(program)),
            number(bytes / usage.seconds.max(f64::MIN_POSITIVE) / 1_048_576.0),
            name(&cgroup.unwrap_or_default()),
        );
    }
    out.push_str("</tbody></table></div>");
}

/// Appends the table of tasks that were seen waiting for devices; nothing without any.
pub(super) fn push_blocked_tasks(history: &History, time: &TimeAxis, out: &mut String) {
    let tasks = history.blocked_tasks();
    if tasks.is_empty() {
        return;
    }
    out.push_str(
        "<h3>Tasks seen in state D</h3><p class=\"note\">Uninterruptible sleep: they usually wait for a device. The kernel does not show for which.</p>\
         <div class=\"scroll\"><table><thead><tr><th>task<th>cgroup<th class=\"n\">seen for<th>first<th>last</tr></thead><tbody>",
    );
    for task in tasks.iter().take(MAX_TASKS) {
        let thread = match task.tid == task.pid {
            true => String::new(),
            false => format!(" (thread {})", task.tid),
        };
        let cgroup = task.cgroup.as_deref().map(cgroup_name).unwrap_or_default();
        *out += &format!(
            "<tr><td class=\"long\">{} {}{thread}<td class=\"long\">{}<td class=\"n\">{}<td class=\"time\">{}<td class=\"time\">{}</tr>",
            name(&task.comm),
            task.pid,
            name(&cgroup),
            duration(task.seconds),
            time.moment(task.seen.start_s),
            time.moment(task.seen.end_s),
        );
    }
    out.push_str("</tbody></table></div>");
    if tasks.len() > MAX_TASKS {
        let more = counted((tasks.len() - MAX_TASKS) as u64, "more task");
        *out += &format!("<p class=\"note\">and {more}</p>");
    }
}
