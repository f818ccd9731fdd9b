//! The lines beside the cells: the host above the devices, texts that replace cells, who uses a device.

use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr;

use super::Emphasis;
use super::columns::{Cell, format_of, latency_figure};
use crate::attribution::{Attribution, CgroupUse, DeviceUse, IoRates, cgroup_name};
use crate::counters::BlockedTask;
use crate::incidents::Cause;
use crate::intervals::{DeviceActivity, DeviceEvent, DeviceState, EventKind, IntervalHeader};
use crate::judge::{Judged, Verdict, high_memory_pressure_pct};
use crate::metrics::{CpuPercentages, Interval};
use crate::quantities::Quantity;
use crate::quantities::device::*;
use crate::report::evidence::{limit_value, process_text, program_text, sign_of_begin};
use crate::report::layout::number_format::{duration, percent, time};
use crate::report::layout::sentence_numbers::{self, mib, named};
use crate::report::layout::{fit_columns, format_time, mean_of_s, time_of_day};
use crate::sanitize::sanitize;

/// The length in seconds from which an interval is shown with one decimal instead of three.
const COARSE_S: f64 = 9.995;

/// The share of CPU time in percent from which that taken by other virtual machines is shown.
const MIN_STEAL_PCT: f64 = 1.0;

/// Returns the date of an interval with its time zone; empty without a wall clock.
pub(super) fn date(header: &IntervalHeader, time_zone: &TimeZone) -> String {
    match header.end {
        Some(end) => format_time(end, time_zone, "%Y-%m-%d %Z"),
        None => String::new(),
    }
}

pub(super) const GAP: &str = "  ";

/// The widths of the longest texts of the segments that are always there: a line has the same segments at the same
/// places in every interval.
const TIME_WIDTH: usize = "23:59:59  1.000s".len();
const CPU_WIDTH: usize = "cpu 33% user 33% sys 34% avail".len();
const SHORT_CPU_WIDTH: usize = "cpu 100% avail".len();
const PRESSURE_WIDTH: usize = "io 9.9% some 9.9% full".len();
const BLOCKED_WIDTH: usize = "blocked 999".len();

/// Returns the segments of the line: the time of day with the length of the interval, and the host. Segments that do not
/// fit into `width` are left out, the least important ones first. Only a warning about memory takes another's place.
pub(crate) fn header_line(
    header: &IntervalHeader,
    time_zone: &TimeZone,
    width: usize,
) -> Vec<Cell> {
    let host = &header.host;
    // From left to right, with ranks and widths: those that are not always there come last, so that the others keep
    // their places.
    let mut segments: Vec<(u8, usize, Cell)> = Vec::new();
    let mut push = |rank, width: usize, text: String, emphasis| {
        segments.push((rank, width.max(text.width()), (text, emphasis)));
    };
    let end = match header.end {
        Some(end) => time_of_day(end, time_zone),
        None => "--:--:--".to_owned(),
    };
    let decimals = if header.elapsed_s < COARSE_S { 3 } else { 1 };
    let time = format!("{end}  {:.decimals$}s", header.elapsed_s);
    push(7, TIME_WIDTH, time, Emphasis::Plain);
    if let Some(cpu) = &host.cpu {
        push(4, CPU_WIDTH, cpu_text(cpu), Emphasis::Plain);
    }
    if let (Some(some), Some(full)) = (host.pressure_some_pct, host.pressure_full_pct) {
        let text = format!("io {} some {} full", percent(some), percent(full));
        push(6, PRESSURE_WIDTH, text, Emphasis::of_pressure(some, full));
    }
    if let Some(blocked) = host.blocked {
        let text = format!("blocked {blocked}");
        push(3, BLOCKED_WIDTH, text, Emphasis::Plain);
    }
    if let Some(some) = high_memory_pressure_pct(host) {
        let text = format!("mem {} some", percent(some));
        push(5, 0, text, Emphasis::Warning);
    }
    if header.missed_samples > 0 {
        let text = format!("missed: {}", header.missed_samples);
        push(2, 0, text, Emphasis::Plain);
    }
    if let Some(cpu) = &host.cpu
        && cpu.steal >= MIN_STEAL_PCT
    {
        let text = format!("steal {:.0}%", cpu.steal);
        push(1, 0, text, Emphasis::Plain);
    }
    let mut kept = fitting_segments(&segments, width);
    if let Some(cpu) = host.cpu.as_ref().filter(|_| !kept.contains(&1)) {
        let text = available_cpu_text(cpu);
        segments[1] = (4, SHORT_CPU_WIDTH, (text, Emphasis::Plain));
        kept = fitting_segments(&segments, width);
    }
    if kept.is_empty() {
        // The time is always there.
        kept.push(0);
    }
    let mut line = Vec::new();
    for at in &kept {
        let (_, width, (text, emphasis)) = &segments[*at];
        let width = if kept.ends_with(&[*at]) { 0 } else { *width };
        line.push((format!("{text:width$}"), *emphasis));
    }
    line
}

/// The part of the CPU that is left, where there is no space for more.
pub(crate) fn available_cpu_text(cpu: &CpuPercentages) -> String {
    format!("cpu {:.0}% avail", cpu.available())
}

/// Returns the indices of the parts of the host line, each with its rank and width, that fit into a line.
fn fitting_segments(segments: &[(u8, usize, Cell)], width: usize) -> Vec<usize> {
    let (mut ranks, mut widths) = (Vec::new(), Vec::new());
    for (rank, width, _) in segments {
        ranks.push(*rank);
        widths.push(GAP.len() + width);
    }
    fit_columns(&widths, &ranks, width.saturating_add(GAP.len()))
}

fn cpu_text(cpu: &CpuPercentages) -> String {
    format!(
        "cpu {:.0}% user {:.0}% sys {:.0}% avail",
        cpu.user + cpu.nice,
        cpu.system,
        cpu.available()
    )
}

/// The difference in seconds up to which two lengths of time are the same.
const TOLERANCE_S: f64 = 0.05;

/// A text that replaces the cells.
pub(super) struct Message {
    /// The variants of the text, from the longest to the shortest; the first that fits is shown.
    pub(super) texts: Vec<String>,
    pub(super) emphasis: Emphasis,
}

/// Returns whether a device is stalled because a task waits for it, although nothing is in flight.
fn has_waiting_task(activity: &DeviceActivity) -> bool {
    let is_frozen = (activity.incident.as_ref()).is_some_and(|one| one.told.cause == Cause::Frozen);
    is_frozen && activity.judged.verdict() == Some(Verdict::Stalled)
}

impl Message {
    fn new(texts: &[&str], emphasis: Emphasis) -> Self {
        let texts = texts.iter().map(|text| (*text).to_owned()).collect();
        Self { texts, emphasis }
    }

    /// Returns the message of a device that shows no cells; `None` for one that shows them.
    pub(super) fn for_state(state: &DeviceState) -> Option<Self> {
        use Emphasis::{Alert, Plain, Warning};
        Some(match state {
            DeviceState::Active(activity) if has_waiting_task(activity) => {
                let long = "STALLED: a task waits, nothing is in flight";
                Self::new(&[long, "STALLED: a task waits", "STALLED"], Alert)
            }
            DeviceState::Active(activity) if is_held(activity) => {
                let long = "STALLED: the device is suspended";
                Self::new(&[long, "STALLED: suspended", "STALLED"], Alert)
            }
            DeviceState::Active(activity) if activity.stalled_s > 0.0 => Self::stall(activity),
            DeviceState::Active(_) => return None,
            DeviceState::Reset => {
                let long = "counters reset: no data for this interval";
                Self::new(&[long, "counters reset"], Warning)
            }
            DeviceState::MemberReset => {
                let long = "counters of a device in the total reset: no data for this interval";
                Self::new(&[long, "counters reset"], Warning)
            }
            DeviceState::AccountingOff(_) => {
                let long = "I/O accounting disabled (queue/iostats=0)";
                Self::new(&[long, "accounting disabled"], Warning)
            }
            DeviceState::Event(kind) => Self::new(&[kind_text(*kind)], Plain),
        })
    }

    fn stall(activity: &DeviceActivity) -> Self {
        let is_stall = activity.judged.assessment().verdict == Some(Verdict::Stalled);
        let (word, emphasis) = if is_stall {
            ("STALLED", Emphasis::Alert)
        } else {
            ("waiting", Emphasis::Plain)
        };
        let in_flight = match activity.judged.interval.in_flight {
            Some(count) => format!("{count} in flight"),
            None => "requests in flight".to_owned(),
        };
        // A stall that has lasted since the beginning of an incident began as early as that.
        let sign = match &activity.incident {
            Some(ongoing) if activity.stalled_s >= ongoing.lasted_s - TOLERANCE_S => {
                sign_of_begin(&ongoing.told)
            }
            _ => "",
        };
        let length = format!("{sign}{}", duration(activity.stalled_s));
        let texts = vec![
            format!("{word} for {length}: {in_flight}, nothing completed"),
            format!("{word} {length}, {in_flight}"),
            format!("{word} {length}"),
            format!("{word} {sign}{}", time(activity.stalled_s * 1e3)),
            word.to_owned(),
        ];
        Self { texts, emphasis }
    }

    /// Returns the longest text of at most `width` columns; the shortest if none is that short.
    pub(super) fn fitting(&self, width: usize) -> Option<&String> {
        self.texts
            .iter()
            .find(|text| text.width() <= width)
            .or(self.texts.last())
    }

    /// Returns the message of a device that had only discards or flushes, if their columns are hidden.
    pub(super) fn for_hidden_activity(activity: &DeviceActivity) -> Self {
        let text = discards_and_flushes(activity);
        let long = format!("no reads or writes; {text}");
        Self::new(&[&long, &text, "no reads or writes"], Emphasis::Plain)
    }
}

/// Returns whether the kernel says that the device holds its requests back, without counting them.
fn is_held(activity: &DeviceActivity) -> bool {
    activity.judged.assessment().verdict == Some(Verdict::Stalled)
        && activity.judged.interval.is_idle()
}

/// Returns a quantity as a text; empty if it is not known.
pub(super) fn quantity_text(quantity: &Quantity, of: &Judged) -> String {
    match quantity.value(of) {
        Some(value) => format_of(quantity.unit)(value).text(),
        None => String::new(),
    }
}

/// Returns discards, flushes and util as a text.
fn discards_and_flushes(activity: &DeviceActivity) -> String {
    let judged = &activity.judged;
    let Interval {
        discards, flushes, ..
    } = &judged.interval;
    let mut parts = Vec::new();
    if discards.ios.sum > 0.0 {
        let latency = match discards.await_ms() {
            Some(await_ms) => latency_figure(await_ms, discards).text(),
            None => String::new(),
        };
        let rate = quantity_text(&DISCARDS_PER_S, judged);
        let throughput = quantity_text(&DISCARD_KIB_PER_S, judged);
        parts.push(format!("discards {rate}/s {throughput}MiB/s {latency}"));
    }
    if flushes.ios.sum > 0.0 {
        let rate = quantity_text(&FLUSHES_PER_S, judged);
        let latency = quantity_text(&FLUSH_AWAIT_MS, judged);
        parts.push(format!("flushes {rate}/s {latency}"));
    }
    let util = quantity_text(&UTIL_PCT, judged);
    if !util.is_empty() {
        parts.push(format!("util {util}"));
    }
    parts.join(", ")
}

/// Returns the text that replaces the cells of a device without any, in at most `width` columns if one of its variants
/// is that short; `None` for a device with cells.
#[cfg(feature = "top")]
pub(crate) fn state_message(state: &DeviceState, width: usize) -> Option<(String, Emphasis)> {
    let message = Message::for_state(state)?;
    Some((message.fitting(width)?.clone(), message.emphasis))
}

/// Returns the line of a device that appeared or disappeared: `sdb disappeared`.
pub(crate) fn event_text(event: &DeviceEvent) -> String {
    format!("{} {}", event.names.label, kind_text(event.kind))
}

fn kind_text(kind: EventKind) -> &'static str {
    match kind {
        EventKind::Appeared => "appeared",
        EventKind::Disappeared => "disappeared",
        EventKind::Reappeared => "disappeared and reappeared",
        EventKind::AppearedBriefly => "appeared briefly",
    }
}

/// The most cgroups, and the most tasks, that are named.
const MAX_NAMED: usize = 3;

/// Returns the line of a device, by the kernel's name: `who: db.service 97% (1,940 r/s), backup.service 3%; at limit:
/// db.service 2,000 reads/s; D state: mysqld(2114) fio(3301) +6`. `None` if nothing is known. For a device that completes
/// nothing, there are only tasks that may wait for it.
pub(crate) fn who_line(device: &str, attribution: &Attribution) -> Option<String> {
    let usage = attribution.device(device);
    let (used_by, has_programs) = match usage {
        Some(usage) => (&*usage.cgroups, !usage.programs.is_empty()),
        None => (&[][..], false),
    };
    let mut cgroups = Vec::new();
    let busy = used_by.iter().filter(|cgroup| cgroup.share_pct > Some(0.0));
    for cgroup in busy.take(MAX_NAMED) {
        // The root holds whatever is in no cgroup of its own: its name says nothing that programs don't.
        if has_programs && &*cgroup.path == "/" {
            continue;
        }
        let share = cgroup.share_pct.map(percent).unwrap_or_default();
        let name = cgroup_name(&cgroup.path);
        // The rates of the first cgroup show what the percentages refer to.
        let rates = match cgroups.is_empty() {
            true => rates_text(cgroup),
            false => String::new(),
        };
        cgroups.push(format!("{} {share}{rates}", sanitize(&name)));
    }
    let mut parts = Vec::new();
    if !cgroups.is_empty() {
        parts.push(cgroups.join(", "));
    }
    parts.extend(limits_text(used_by));
    if let Some(usage) = usage {
        parts.extend(programs_text(usage, attribution));
    }
    parts.extend(blocked_text(&attribution.blocked));
    if attribution.skipped > 0 {
        parts.push(format!("scans skipped: {}", attribution.skipped));
    }
    if let Some(hung) = attribution.hung_read {
        parts.push(format!("/proc/{}/io does not answer", hung.pid));
    }
    if parts.is_empty() {
        return None;
    }
    Some(format!("who: {}", parts.join("; ")))
}

/// Returns the cgroups that have reached limits on the device, with these limits; `None` if none has.
fn limits_text(cgroups: &[CgroupUse]) -> Option<String> {
    let mut texts = Vec::new();
    for cgroup in cgroups {
        let mut values = Vec::new();
        for used in &cgroup.limits {
            if used.is_reached {
                values.push(limit_value(&used.limit));
            }
        }
        if !values.is_empty() {
            let name = cgroup_name(&cgroup.path);
            texts.push(format!("{} {}", sanitize(&name), values.join(" and ")));
        }
    }
    if texts.is_empty() {
        return None;
    }
    texts.truncate(MAX_NAMED);
    Some(format!("at limit: {}", texts.join(", ")))
}

/// The programs that use a device, with their mean rates: `'tar cf - /data' (812) 240 MiB/s (mean of 5 s)`; `None` without any.
fn programs_text(usage: &DeviceUse, attribution: &Attribution) -> Option<String> {
    let elapsed_s = attribution.processes()?.elapsed.as_secs_f64();
    let mut texts = Vec::new();
    for program in &usage.programs {
        let rate = mib(program.bytes_per_s / 1024.0);
        texts.push(format!("{} {rate}/s", program_text(program)));
    }
    let mean = match mean_of_s(elapsed_s, attribution.elapsed_s) {
        Some(seconds) => format!(" (mean of {seconds:.0} s)"),
        None => String::new(),
    };
    if texts.is_empty() {
        return None;
    }
    Some(texts.join(", ") + &mean)
}

/// Returns the first blocked tasks, and the number of the others; `None` if there are none.
fn blocked_text(blocked: &[BlockedTask]) -> Option<String> {
    let mut tasks = Vec::new();
    for task in blocked {
        tasks.push(process_text(task.command.as_deref(), &task.comm, task.tid));
    }
    if tasks.is_empty() {
        return None;
    }
    Some(format!("D state: {}", named(&tasks, MAX_NAMED, ", ")))
}

/// The requests of a cgroup: ` (1,940 r/s, 12.0 w/s)`.
fn rates_text(cgroup: &CgroupUse) -> String {
    let IoRates {
        reads_per_s,
        writes_per_s,
        ..
    } = cgroup.rates;
    let mut rates = Vec::new();
    for (value, unit) in [(reads_per_s, "r/s"), (writes_per_s, "w/s")] {
        if value > 0.0 {
            rates.push(format!("{} {unit}", sentence_numbers::number(value)));
        }
    }
    format!(" ({})", rates.join(", "))
}

#[cfg(test)]
mod header_line_tests {
    use super::*;
    use crate::metrics::HostStats;

    #[test]
    fn the_line_is_the_same_for_all_values_at_a_width() {
        let begins = |user, some, full, blocked| {
            let cpu = CpuPercentages {
                user,
                system: 9.0,
                idle: 91.0 - user,
                ..CpuPercentages::default()
            };
            let host = HostStats {
                cpu: Some(cpu),
                blocked: Some(blocked),
                pressure_some_pct: Some(some),
                pressure_full_pct: Some(full),
                ..HostStats::default()
            };
            let header = IntervalHeader {
                elapsed_s: 1.0,
                host,
                ..IntervalHeader::default()
            };
            let at = |width| {
                let texts: Vec<String> = header_line(&header, &TimeZone::UTC, width)
                    .into_iter()
                    .map(|(text, _)| text)
                    .collect();
                let line = texts.join(GAP);
                assert!(line.len() <= width && !line.ends_with(' '), "{line:?}");
                ["cpu", "io", "blocked"].map(|word| line.find(word))
            };
            [40, 80, 85, 120].map(at)
        };
        assert_eq!(begins(1.0, 0.0, 0.0, 0), begins(45.0, 99.4, 9.9, 240));
        assert_eq!(
            begins(1.0, 0.0, 0.0, 0)[1..3],
            [[Some(18), Some(50), None], [Some(18), Some(50), Some(74)]]
        );
    }

    #[test]
    fn pressure_stays_longest_where_space_is_short() {
        let host = HostStats {
            cpu: Some(CpuPercentages {
                user: 72.0,
                system: 20.0,
                iowait: 8.0,
                ..CpuPercentages::default()
            }),
            blocked: Some(12),
            pressure_some_pct: Some(26.0),
            pressure_full_pct: Some(7.0),
            memory_pressure_some_pct: Some(12.0),
            ..HostStats::default()
        };
        let header = IntervalHeader {
            elapsed_s: 1.0,
            missed_samples: 3,
            host,
            ..IntervalHeader::default()
        };
        for (width, expected) in [
            (
                120,
                "--:--:--  1.000s  cpu 72% user 20% sys 8% avail   io 26% some 7.0% full   blocked 12   mem 12% some  missed: 3",
            ),
            (
                100,
                "--:--:--  1.000s  cpu 72% user 20% sys 8% avail   io 26% some 7.0% full   blocked 12   mem 12% some",
            ),
            (
                86,
                "--:--:--  1.000s  cpu 72% user 20% sys 8% avail   io 26% some 7.0% full   mem 12% some",
            ),
            (
                80,
                "--:--:--  1.000s  cpu 8% avail    io 26% some 7.0% full   mem 12% some",
            ),
            (50, "--:--:--  1.000s  io 26% some 7.0% full"),
            (38, "--:--:--  1.000s"),
            (5, "--:--:--  1.000s"),
        ] {
            let segments = header_line(&header, &TimeZone::UTC, width);
            let texts: Vec<String> = segments.into_iter().map(|(text, _)| text).collect();
            assert_eq!(texts.join(GAP), expected, "{width}");
        }
    }
}

#[cfg(test)]
mod messages_tests {
    use super::*;
    use crate::judge::Assessment;
    use crate::metrics::Interval;

    #[test]
    fn a_stall_has_a_text_for_every_width() {
        let stats = Interval {
            in_flight: Some(12),
            ..Interval::default()
        };
        let assessment = Assessment {
            verdict: Some(Verdict::Stalled),
            ..Assessment::default()
        };
        let stalled = DeviceActivity {
            stalled_s: 200.0,
            ..DeviceActivity::example(stats, assessment)
        };
        let message = Message::for_state(&DeviceState::Active(Box::new(stalled))).unwrap();
        let expected = [
            "STALLED for 3 min 20 s: 12 in flight, nothing completed",
            "STALLED 3 min 20 s, 12 in flight",
            "STALLED 3 min 20 s",
            "STALLED 200s",
            "STALLED",
        ];
        assert_eq!(message.texts, expected);
    }
}

#[cfg(test)]
mod who_line_tests {
    use super::*;
    use crate::attribution::DeviceUse;
    use crate::attribution::{IoDirection, IoRates, Limit, LimitSource, LimitUse, RateUnit};
    use crate::counters::CgroupHierarchy;

    #[test]
    fn the_busiest_cgroups_and_some_blocked_tasks_are_named() {
        let cgroup = |path: &str, share: f64| {
            let bytes = share * 80_000.0;
            let rates = IoRates {
                reads_per_s: 20.0 * share,
                read_bytes_per_s: bytes,
                ..IoRates::default()
            };
            CgroupUse {
                path: path.into(),
                rates,
                share_pct: Some(share),
                limits: Vec::new(),
            }
        };
        let cgroups = vec![
            cgroup("/s/db.service", 97.0),
            cgroup("/s/backup.service", 3.0),
            cgroup("/x", 0.0),
        ];
        let total = IoRates {
            read_bytes_per_s: 8e6,
            ..IoRates::default()
        };
        let device = DeviceUse {
            name: "vda".into(),
            total,
            cgroups,
            ..DeviceUse::default()
        };
        let task = |tid: u32| BlockedTask {
            tid,
            comm: "my\u{1b}d".into(),
            ..BlockedTask::default()
        };
        let mut attribution = Attribution {
            devices: vec![device],
            ..Attribution::default()
        };
        let busy = "who: db.service 97% (1,940 r/s), backup.service 3.0%";
        assert_eq!(who_line("vda", &attribution).as_deref(), Some(busy));
        assert_eq!(who_line("vdb", &attribution), None);
        attribution.blocked = (1..=5).map(task).collect();
        let blocked =
            format!("{busy}; D state: my\\u{{1b}}d (1), my\\u{{1b}}d (2), my\\u{{1b}}d (3) +2");
        assert_eq!(who_line("vda", &attribution), Some(blocked));
        // A disk that completes nothing, as one that hangs, is used by no cgroup.
        let hung = "who: D state: my\\u{1b}d (1), my\\u{1b}d (2), my\\u{1b}d (3) +2";
        assert_eq!(who_line("vdb", &attribution).as_deref(), Some(hung));
        attribution.blocked.clear();
        let limit = |unit, is_reached| LimitUse {
            limit: Limit {
                owner: Some("/backup.service".into()),
                device: "vda".into(),
                direction: IoDirection::Reads,
                unit,
                value: 2048.0,
                source: LimitSource::Cgroup(CgroupHierarchy::V2),
            },
            rate: 0.0,
            is_reached,
            reached_s: 0.0,
            is_near: is_reached,
            is_waited_for: false,
        };
        attribution.devices[0].cgroups[1].limits =
            vec![limit(RateUnit::Requests, false), limit(RateUnit::Kib, true)];
        let limited = format!("{busy}; at limit: backup.service 2 MiB/s of reads");
        assert_eq!(who_line("vda", &attribution), Some(limited));
    }
}
