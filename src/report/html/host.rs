//! The charts of the host; the use of a device: the shares of cgroups over time, and the tasks that waited.

use super::chart::{Area, Chart, Line, push_areas, push_chart};
use super::data::Group;
use super::escape::{escape, name};
use super::scale::Unit;
use super::time_axis::TimeAxis;
use crate::attribution::cgroup_name;
use crate::intervals::series::{Extent, Series};
use crate::intervals::{HOST_QUANTITIES, History, UsageHistory};
use crate::report::layout::sentence_numbers::{duration, number, percent};
use crate::sanitize::sanitize;

/// The charts about all disks.
const DISK_CHARTS: [Chart<'_>; 2] = [
    ("Queue of all disks", "How much waits in all? ", Unit::Count("requests")),
    ("Operations of all disks", "How many in all? ", Unit::PerSecond),
];
const DISK_LINES: [Line; 3] = [
    ("Queue of all disks", "mean queue", "queue", "all"),
    ("Operations of all disks", "reads", "reads_per_s", "read"),
    ("Operations of all disks", "writes", "writes_per_s", "write"),
];
/// The charts about tasks.
const TASK_CHARTS: [Chart<'_>; 3] = [
    ("I/O pressure", "Do tasks wait for I/O? ", Unit::Percent),
    ("Blocked tasks", "How many wait? ", Unit::Count("tasks")),
    ("Memory pressure", "Is memory short? ", Unit::Percent),
];
const TASK_LINES: [Line; 4] = [
    ("I/O pressure", "some task waits", "io_pressure_some_pct", "read"),
    ("I/O pressure", "all tasks wait", "io_pressure_full_pct", "write"),
    ("Blocked tasks", "blocked on I/O", "blocked", "all"),
    ("Memory pressure", "some task waits for memory", "memory_pressure_some_pct", "all"),
];

/// Appends the charts; nothing without values.
pub(super) fn push_host_charts(history: &History, time: &TimeAxis<'_>, out: &mut String) {
    let of_disks = |name: &str| history.total.values(name);
    DISK_CHARTS.iter().for_each(|chart| push_chart(*chart, &DISK_LINES, of_disks, &[], "", time, out));
    let area = |label: &str, key: &str, class: &'static str| Area {
        label: label.to_owned(),
        key: key.to_owned(),
        class,
        values: history.host(key).to_vec(),
    };
    let cpu = [
        area("system", "cpu_system_pct", "a2"),
        area("user", "cpu_user_pct", "a1"),
        area("stolen", "cpu_steal_pct", "a4"),
        area("available", "cpu_available_pct", "rest"),
    ];
    push_areas("CPU", "Is there CPU left? ", &cpu, "", time, out);
    let of_tasks = |name: &str| history.host(name);
    TASK_CHARTS.iter().for_each(|chart| push_chart(*chart, &TASK_LINES, of_tasks, &[], "", time, out));
}

pub(super) fn host_data(history: &History) -> Group<'_> {
    let of_host = HOST_QUANTITIES.iter().map(|(name, _)| (*name, history.host(name)));
    let of_disks = DISK_LINES.iter().map(|(_, _, name, _)| (*name, history.total.values(name)));
    let series = of_host.chain(of_disks).filter(|(_, values)| !values.is_empty());
    Group { name: "host", verdicts: &[], series: series.collect() }
}

/// The most cgroups with their own color.
const MAX_SHOWN: usize = 4;
/// The most tasks in the table.
const MAX_TASKS: usize = 20;

/// The shares of a device's bytes: the largest cgroup first, then all others and the bytes that belong to no cgroup.
pub(super) fn areas(usage: &UsageHistory, points: usize) -> Vec<Area> {
    const CLASSES: [&str; MAX_SHOWN] = ["a1", "a2", "a3", "a4"];
    let cgroups = usage.cgroups();
    let (shown, others) = cgroups.split_at(cgroups.len().min(MAX_SHOWN));
    let bytes = |series: &Series<f64>| -> Vec<f64> {
        (0..points).map(|point| series.get(point).copied().unwrap_or_default()).collect()
    };
    let sum = |all: &[Vec<f64>]| -> Vec<f64> {
        (0..points).map(|point| all.iter().map(|bytes| bytes[point]).sum()).collect()
    };
    let named = shown.iter().zip(CLASSES).map(|(cgroup, class)| {
        (cgroup_name(&cgroup.path), format!("cgroup {}", sanitize(&cgroup.path)), class, bytes(&cgroup.bytes))
    });
    let others: Vec<Vec<f64>> =
        others.iter().map(|cgroup| &cgroup.bytes).chain([&usage.others]).map(bytes).collect();
    let rest = [("other cgroups", "a5", sum(&others)), ("no cgroup", "rest", bytes(&usage.unattributed))];
    let rest = rest.map(|(label, class, bytes)| (label.to_owned(), label.to_owned(), class, bytes));
    let parts: Vec<(String, String, &'static str, Vec<f64>)> = named.chain(rest).collect();
    let all = sum(&parts.iter().map(|(.., bytes)| bytes.clone()).collect::<Vec<_>>());
    let share = |(bytes, all): (f64, &f64)| {
        let mut share = Extent::default();
        share.observe(100.0 * bytes / all, 1.0);
        share
    };
    let areas = parts.into_iter().map(|(label, key, class, bytes)| {
        let values = bytes.into_iter().zip(&all).map(share).collect();
        Area { label, key, class, values }
    });
    let is_seen = |area: &Area| area.values.iter().filter_map(Extent::max).any(|share| share > 0.05);
    areas.enumerate().filter(|(at, area)| *at < shown.len() || is_seen(area)).map(|(_, area)| area).collect()
}

/// Appends the table of the cgroups that used a device.
pub(super) fn push_cgroup_table(usage: &UsageHistory, out: &mut String) {
    let cgroups = usage.cgroups();
    let all: f64 = cgroups.iter().map(|cgroup| cgroup.total_bytes).sum::<f64>()
        + usage.others.values().iter().chain(usage.unattributed.values()).sum::<f64>();
    if all <= 0.0 || cgroups.is_empty() {
        return;
    }
    out.push_str("<div class=\"scroll\"><table><thead><tr><th>cgroup<th class=\"n\">share<th class=\"n\">MiB/s, mean<th>limit</tr></thead><tbody>");
    for cgroup in cgroups.iter().take(10) {
        *out += &format!(
            "<tr><td class=\"long\" title=\"{}\">{}<td class=\"n\">{}<td class=\"n\">{}<td>{}</tr>",
            escape(&cgroup.path),
            name(&cgroup_name(&cgroup.path)),
            percent(100.0 * cgroup.total_bytes / all),
            number(cgroup.total_bytes / usage.seconds.max(f64::MIN_POSITIVE) / 1_048_576.0),
            if cgroup.has_reached_limit { "at its limit at some time" } else { "" }
        );
    }
    out.push_str("</tbody></table></div>");
}

/// Appends the table of tasks that were seen waiting for devices; nothing without any.
pub(super) fn push_blocked_tasks(history: &History, time: &TimeAxis<'_>, out: &mut String) {
    let tasks = history.blocked_tasks();
    if tasks.is_empty() {
        return;
    }
    out.push_str(
        "<h3>Tasks seen in state D</h3><p class=\"note\">Uninterruptible sleep: they usually wait for a device. The kernel does not show for which.</p>\
         <div class=\"scroll\"><table><thead><tr><th>task<th>cgroup<th class=\"n\">seen for<th>first<th>last</tr></thead><tbody>",
    );
    for task in tasks.iter().take(MAX_TASKS) {
        let thread = if task.tid == task.pid { String::new() } else { format!(" (thread {})", task.tid) };
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
        *out += &format!("<p class=\"note\">and {} more tasks</p>", tasks.len() - MAX_TASKS);
    }
}
