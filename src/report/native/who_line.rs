//! The line below a device that is not ok: the cgroups that use it, and the tasks that are blocked.

use crate::attribution::{Attribution, CgroupUse, DeviceUse, cgroup_name};
use crate::counters::BlockedTask;
use crate::report::evidence::limit_of_cgroup;
use crate::report::layout::sentence_numbers::{number, percent};
use crate::sanitize::sanitize;

/// The most cgroups, and the most tasks, that are named.
const MAX_NAMED: usize = 3;

/// Returns the line of a device, by the kernel's name: `who: db.service 97% (1,940 r/s), backup.service 3%; at limit:
/// db.service 2,000 reads/s; D state: mysqld(2114) fio(3301) +6`. `None` if nothing is known. For a device that completes
/// nothing, there are only tasks that may wait for it.
pub(super) fn who_line(device: &str, attribution: &Attribution) -> Option<String> {
    let usage = attribution.device(device);
    let used_by = usage.map_or(&[][..], |usage| &usage.cgroups);
    let busy = used_by.iter().filter(|cgroup| cgroup.share_pct.is_some_and(|share| share > 0.0));
    let mut cgroups: Vec<String> = busy.take(MAX_NAMED).map(cgroup_text).collect();
    // The rates of the first cgroup show what the percentages refer to.
    if let (Some(first), Some(cgroup)) = (cgroups.first_mut(), usage.and_then(DeviceUse::top_cgroup)) {
        first.push_str(&rates_text(cgroup));
    }
    let cgroups = (!cgroups.is_empty()).then(|| cgroups.join(", "));
    let skipped = (attribution.skipped > 0).then(|| format!("scans skipped: {}", attribution.skipped));
    let hung = attribution.hung_read.map(|hung| format!("/proc/{}/io does not answer", hung.pid));
    let parts = [cgroups, limits_text(used_by), blocked_text(&attribution.blocked), skipped, hung];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("who: {}", parts.join("; ")))
}

/// Returns the cgroups that have reached limits on the device, with these limits; `None` if none has.
fn limits_text(cgroups: &[CgroupUse]) -> Option<String> {
    let reached: Vec<String> = cgroups.iter().filter_map(reached_text).take(MAX_NAMED).collect();
    (!reached.is_empty()).then(|| format!("at limit: {}", reached.join(", ")))
}

/// Returns a cgroup with the limits that it has reached; `None` if there are none.
fn reached_text(cgroup: &CgroupUse) -> Option<String> {
    let reached = cgroup.limits.iter().filter(|limit| limit.is_reached);
    let values: Vec<String> = reached.map(|limit| limit_of_cgroup(limit.kind, limit.value)).collect();
    let name = cgroup_name(&cgroup.path);
    (!values.is_empty()).then(|| format!("{} {}", sanitize(&name), values.join(" and ")))
}

/// Returns the first blocked tasks, and the number of the others; `None` if there are none.
fn blocked_text(blocked: &[BlockedTask]) -> Option<String> {
    let task = |task: &BlockedTask| format!("{}({})", sanitize(&task.comm), task.tid);
    let named: Vec<String> = blocked.iter().take(MAX_NAMED).map(task).collect();
    let more = blocked.len() - named.len();
    let more = if more > 0 { format!(" +{more}") } else { String::new() };
    (!named.is_empty()).then(|| format!("D state: {}{more}", named.join(" ")))
}

fn cgroup_text(cgroup: &CgroupUse) -> String {
    let name = cgroup_name(&cgroup.path);
    format!("{} {}", sanitize(&name), percent(cgroup.share_pct.unwrap_or_default()))
}

/// The requests of a cgroup: ` (1,940 r/s, 12.0 w/s)`.
fn rates_text(cgroup: &CgroupUse) -> String {
    let rate = |value: f64, unit: &str| (value > 0.0).then(|| format!("{} {unit}", number(value)));
    let rates = [rate(cgroup.rates.reads_per_s, "r/s"), rate(cgroup.rates.writes_per_s, "w/s")];
    let rates: Vec<String> = rates.into_iter().flatten().collect();
    format!(" ({})", rates.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::{IoRates, LimitKind, LimitUse};

    #[test]
    fn the_busiest_cgroups_and_some_blocked_tasks_are_named() {
        let cgroup = |path: &str, share: f64| {
            let bytes = share * 80_000.0;
            let rates = IoRates { reads_per_s: 20.0 * share, read_bytes_per_s: bytes, ..IoRates::default() };
            CgroupUse { path: path.into(), rates, share_pct: Some(share), limits: Vec::new() }
        };
        let cgroups =
            vec![cgroup("/s/db.service", 97.0), cgroup("/s/backup.service", 3.0), cgroup("/x", 0.0)];
        let total = IoRates { read_bytes_per_s: 8e6, ..IoRates::default() };
        let device = DeviceUse { name: "vda".into(), total, cgroups, ..DeviceUse::default() };
        let task = |tid: u32| BlockedTask { tid, comm: "my\u{1b}d".into(), ..BlockedTask::default() };
        let mut attribution = Attribution { devices: vec![device], ..Attribution::default() };
        let busy = "who: db.service 97% (1,940 r/s), backup.service 3.0%";
        assert_eq!(who_line("vda", &attribution).as_deref(), Some(busy));
        assert_eq!(who_line("vdb", &attribution), None);
        attribution.blocked = (1..=5).map(task).collect();
        let blocked = format!("{busy}; D state: my\\u{{1b}}d(1) my\\u{{1b}}d(2) my\\u{{1b}}d(3) +2");
        assert_eq!(who_line("vda", &attribution), Some(blocked));
        // A disk that completes nothing, as one that hangs, is used by no cgroup.
        let hung = "who: D state: my\\u{1b}d(1) my\\u{1b}d(2) my\\u{1b}d(3) +2";
        assert_eq!(who_line("vdb", &attribution).as_deref(), Some(hung));
        attribution.blocked.clear();
        let limit = |kind, is_reached| LimitUse { kind, value: 2 << 20, rate: 0.0, is_reached };
        attribution.devices[0].cgroups[1].limits =
            vec![limit(LimitKind::ReadIops, false), limit(LimitKind::ReadBytes, true)];
        let limited = format!("{busy}; at limit: backup.service 2 MiB/s of reads");
        assert_eq!(who_line("vda", &attribution), Some(limited));
    }
}
