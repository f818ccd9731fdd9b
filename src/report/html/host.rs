//! The charts of the host; the use of a device: the shares of cgroups over time, and the tasks that waited.

use std::fmt::Write;

use super::chart::{Area, Chart, ChartTime, Line, push_areas};
use super::data::{Group, Values};
use super::escape::{escape, name};
use super::scale::Unit;
use crate::attribution::cgroup_name;
use crate::intervals::series::{Extent, Series, Sum};
use crate::intervals::{CgroupHistory, DeviceQuantity, History, HostQuantity, UsageHistory};
use crate::report::layout::sentence_numbers::{duration, number, percent};
use crate::sanitize::sanitize;

/// The lines of the charts about all disks: title, label, quantity and class.
const DISK_LINES: [(&str, &str, DeviceQuantity, &str); 3] = [
    ("Queue of all disks", "mean queue", DeviceQuantity::Queue, "all"),
    ("Operations of all disks", "reads", DeviceQuantity::ReadsPerS, "read"),
    ("Operations of all disks", "writes", DeviceQuantity::WritesPerS, "write"),
];

/// Appends the charts; nothing without values.
pub(super) fn push_host_charts(history: &History, time: ChartTime<'_>, out: &mut String) {
    let charts = [
        ("Queue of all disks", "How much waits in all? ", Unit::Count("requests")),
        ("Operations of all disks", "How many in all? ", Unit::PerSecond),
    ];
    for (title, question, unit) in charts {
        let own = DISK_LINES.iter().filter(|(chart, ..)| *chart == title);
        let lines = own.map(|(_, label, quantity, class)| Line {
            label,
            key: quantity.name(),
            class,
            values: history.total.values(*quantity),
        });
        let (lines, references) = (lines.collect(), Vec::new());
        Chart { title, question, unit, lines, references, shades: "" }.push(time, out);
    }
    let area = |label: &str, quantity: HostQuantity, class: &'static str| Area {
        label: label.to_owned(),
        key: quantity.name().to_owned(),
        class,
        values: history.host(quantity).iter().map(Extent::mean).collect(),
    };
    let cpu = [
        area("system", HostQuantity::CpuSystemPct, "a2"),
        area("user", HostQuantity::CpuUserPct, "a1"),
        area("stolen", HostQuantity::CpuStealPct, "a4"),
        area("available", HostQuantity::CpuAvailablePct, "rest"),
    ];
    push_areas("CPU", "Is there CPU left? ", &cpu, "", time, out);
    let lines = [
        ("I/O pressure", "some task waits", HostQuantity::PressureSomePct, "read"),
        ("I/O pressure", "all tasks wait", HostQuantity::PressureFullPct, "write"),
        ("Blocked tasks", "blocked on I/O", HostQuantity::Blocked, "all"),
        ("Memory pressure", "some task waits for memory", HostQuantity::MemoryPressureSomePct, "all"),
    ];
    let charts = [
        ("I/O pressure", "Do tasks wait for I/O? ", Unit::Percent),
        ("Blocked tasks", "How many wait? ", Unit::Count("tasks")),
        ("Memory pressure", "Is memory short? ", Unit::Percent),
    ];
    for (title, question, unit) in charts {
        let own = lines.iter().filter(|(chart, ..)| *chart == title);
        let lines = own.map(|(_, label, quantity, class)| Line {
            label,
            key: quantity.name(),
            class,
            values: history.host(*quantity),
        });
        let (lines, references) = (lines.collect(), Vec::new());
        Chart { title, question, unit, lines, references, shades: "" }.push(time, out);
    }
}

pub(super) fn host_data(history: &History) -> Group<'_> {
    let series = HostQuantity::all()
        .filter(|quantity| !history.host(*quantity).is_empty())
        .map(|quantity| (quantity.name().to_owned(), Values::Extents(history.host(quantity))));
    let of_disks =
        DISK_LINES.iter().map(|(_, _, quantity, _)| (quantity.name(), history.total.values(*quantity)));
    let of_disks = of_disks.filter(|(_, values)| !values.is_empty());
    let of_disks = of_disks.map(|(name, values)| (name.to_owned(), Values::Extents(values)));
    Group { name: "host", verdicts: &[], series: series.chain(of_disks).collect() }
}

/// The most cgroups with their own color.
const MAX_SHOWN: usize = 4;
/// The most tasks in the table.
const MAX_TASKS: usize = 20;

/// The shares of a device's bytes: the largest cgroup first, then all others and the bytes that belong to no cgroup.
pub(super) fn areas(usage: &UsageHistory, points: usize) -> Vec<Area<'static>> {
    const CLASSES: [&str; MAX_SHOWN] = ["a1", "a2", "a3", "a4"];
    let cgroups = usage.cgroups();
    let shown = cgroups.len().min(MAX_SHOWN);
    let at = |sums: &Series<Sum>, point: usize| sums.get(point).map_or(0.0, Sum::total);
    let all: Vec<f64> = (0..points)
        .map(|point| {
            let of_cgroups: f64 = cgroups.iter().map(|cgroup| at(&cgroup.bytes, point)).sum();
            of_cgroups + at(&usage.others, point) + at(&usage.unattributed, point)
        })
        .collect();
    let share = |bytes: &dyn Fn(usize) -> f64| -> Vec<Option<f64>> {
        let of_point = |point: usize| (all[point] > 0.0).then(|| 100.0 * bytes(point) / all[point]);
        (0..points).map(of_point).collect()
    };
    let named = cgroups[..shown].iter().zip(CLASSES).map(|(cgroup, class)| Area {
        label: cgroup_name(&cgroup.path),
        key: format!("cgroup {}", sanitize(&cgroup.path)),
        class,
        values: share(&|point| at(&cgroup.bytes, point)),
    });
    let mut areas: Vec<Area<'static>> = named.collect();
    let others = |point: usize| {
        cgroups[shown..].iter().map(|cgroup| at(&cgroup.bytes, point)).sum::<f64>() + at(&usage.others, point)
    };
    let rest: [(&str, &'static str, Vec<Option<f64>>); 2] = [
        ("other cgroups", "a5", share(&others)),
        ("no cgroup", "rest", share(&|point| at(&usage.unattributed, point))),
    ];
    for (label, class, values) in rest {
        if values.iter().flatten().any(|value| *value > 0.05) {
            areas.push(Area { label: label.to_owned(), key: label.to_owned(), class, values });
        }
    }
    areas
}

/// Appends the chart of the shares, and a table of the cgroups.
pub(super) fn push_usage(
    usage: &UsageHistory,
    areas: &[Area<'_>],
    is_below: bool,
    shades: &str,
    time: ChartTime<'_>,
    out: &mut String,
) {
    let title = if is_below {
        format!("Who: share of the bytes of {} below", escape(&usage.device))
    } else {
        "Who: share of the bytes by cgroup".to_owned()
    };
    push_areas(&title, "Who causes it? ", areas, shades, time, out);
}

/// Appends the table of the cgroups that used a device.
pub(super) fn push_cgroup_table(usage: &UsageHistory, out: &mut String) {
    let cgroups = usage.cgroups();
    let all: f64 = cgroups.iter().map(|cgroup| cgroup.total_bytes).sum::<f64>()
        + usage.others.values().iter().chain(usage.unattributed.values()).map(Sum::total).sum::<f64>();
    if all <= 0.0 || cgroups.is_empty() {
        return;
    }
    out.push_str("<div class=\"scroll\"><table><thead><tr><th>cgroup<th class=\"n\">share<th class=\"n\">MiB/s, mean<th>limit</tr></thead><tbody>");
    for cgroup in cgroups.iter().take(10) {
        let CgroupRow { share, mib_per_s, limit } = row(cgroup, all, usage.seconds);
        let _ = write!(
            out,
            "<tr><td class=\"long\" title=\"{}\">{}<td class=\"n\">{share}<td class=\"n\">{mib_per_s}<td>{limit}</tr>",
            escape(&cgroup.path),
            name(&cgroup_name(&cgroup.path)),
        );
    }
    out.push_str("</tbody></table></div>");
}

struct CgroupRow {
    share: String,
    mib_per_s: String,
    limit: &'static str,
}

fn row(cgroup: &CgroupHistory, all: f64, seconds: f64) -> CgroupRow {
    let bytes = cgroup.total_bytes;
    CgroupRow {
        share: percent(100.0 * bytes / all),
        mib_per_s: number(bytes / seconds.max(f64::MIN_POSITIVE) / 1_048_576.0),
        limit: if cgroup.has_reached_limit { "at its limit at some time" } else { "" },
    }
}

/// Appends the table of tasks that were seen waiting for devices; nothing without any.
pub(super) fn push_blocked_tasks(history: &History, time: ChartTime<'_>, out: &mut String) {
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
        let _ = write!(
            out,
            "<tr><td class=\"long\">{} {}{thread}<td class=\"long\">{}<td class=\"n\">{}<td class=\"time\">{}<td class=\"time\">{}</tr>",
            name(&task.comm),
            task.pid,
            name(&cgroup),
            duration(task.seconds),
            time.axis.moment(task.seen.start_s),
            time.axis.moment(task.seen.end_s),
        );
    }
    out.push_str("</tbody></table></div>");
    if tasks.len() > MAX_TASKS {
        let _ = write!(out, "<p class=\"note\">and {} more tasks</p>", tasks.len() - MAX_TASKS);
    }
}
