//! JSON Lines and CSV: one line per device and interval, including devices that appeared or disappeared. Field names
//! are stable; new ones may be added at the end.

pub(in crate::report) mod value;

pub(in crate::report) use self::value::time_text;
use self::value::{Field, push_field, push_name, push_number};
use crate::attribution::Limit;
use crate::intervals::{
    Cause, DeviceActivity, DeviceInterval, DeviceState, Incident, IntervalHeader, IntervalRows,
};
use crate::judge::{BaselineSource, IoDirection, Verdict, hidden_io_wait_pct};
use crate::metrics::{CpuPercentages, DataFlag};
use crate::report::evidence::{evidence_sentences, health_text, nfs_wait_text};

/// A field: its name, a sentence part about it for the reference, and its value.
struct Column {
    name: &'static str,
    meaning: &'static str,
    value: Value,
}

#[derive(Clone, Copy)]
enum Value {
    OfInterval(fn(&IntervalHeader) -> Field<'static>),
    Activity(fn(&DeviceActivity) -> Option<f64>),
    /// Of the limit that the device has reached.
    Limit(fn(&Limit) -> Field<'_>),
    /// Of the incident that the device is part of.
    Incident(fn(&Incident) -> Field<'_>),
    Other(for<'a> fn(&'a Subject<'a>) -> Field<'a>),
}

/// The device and the interval of a line.
struct Subject<'a> {
    header: &'a IntervalHeader,
    device: &'a DeviceInterval,
}

const fn activity(
    name: &'static str,
    meaning: &'static str,
    value: fn(&DeviceActivity) -> Option<f64>,
) -> Column {
    Column {
        name,
        meaning,
        value: Value::Activity(value),
    }
}

const fn column(
    name: &'static str,
    meaning: &'static str,
    value: for<'a> fn(&'a Subject<'a>) -> Field<'a>,
) -> Column {
    Column {
        name,
        meaning,
        value: Value::Other(value),
    }
}

const fn limit(
    name: &'static str,
    meaning: &'static str,
    value: fn(&Limit) -> Field<'_>,
) -> Column {
    Column {
        name,
        meaning,
        value: Value::Limit(value),
    }
}

const fn incident(
    name: &'static str,
    meaning: &'static str,
    value: fn(&Incident) -> Field<'_>,
) -> Column {
    Column {
        name,
        meaning,
        value: Value::Incident(value),
    }
}

const fn interval_column(
    name: &'static str,
    meaning: &'static str,
    value: fn(&IntervalHeader) -> Field<'static>,
) -> Column {
    Column {
        name,
        meaning,
        value: Value::OfInterval(value),
    }
}

fn cpu(header: &IntervalHeader, share: fn(&CpuPercentages) -> f64) -> Field<'static> {
    Field::Number(header.host.cpu.as_ref().map(share))
}

fn flags(of: &Subject<'_>) -> Vec<&'static str> {
    let flag = match &of.device.state {
        DeviceState::Active(activity) => activity.flag.map(DataFlag::name),
        DeviceState::Reset | DeviceState::MemberReset => Some("reset"),
        DeviceState::AccountingOff(_) => Some("accounting_off"),
        DeviceState::Event(kind) => Some(kind.name()),
    };
    let mut flags = Vec::from_iter(flag);
    flags.extend(of.header.is_since_boot.then_some("since_boot"));
    flags
}

/// The seconds of the interval with the verdict; `None` for averages since boot, which do not show how long anything
/// lasted.
fn verdict_s(of: &Subject<'_>) -> Option<f64> {
    let seconds = match &of.device.state {
        DeviceState::Active(activity) => activity.judged.verdict_s(),
        DeviceState::AccountingOff(_) => Some(of.header.elapsed_s),
        DeviceState::Reset | DeviceState::MemberReset | DeviceState::Event(_) => None,
    };
    seconds.filter(|_| !of.header.is_since_boot)
}

use Field::{Flag, Number, Sentences, Text, Time, Whole, Word, Words};

const COLUMNS: &[Column] = &[
    interval_column("time", "the end of the interval in UTC", |header| {
        Time(header.end)
    }),
    interval_column("elapsed_s", "its measured length", |header| {
        Number(Some(header.elapsed_s))
    }),
    column(
        "device",
        "the kernel's name of the device, or total",
        |of| Text(Some(of.device.device())),
    ),
    activity("reads_per_s", "reads completed per second", |a| {
        a.judged.interval.reads.per_s()
    }),
    activity("read_kib_per_s", "KiB per second of reads", |a| {
        a.judged.interval.reads.kib_per_s()
    }),
    activity(
        "read_merges_per_s",
        "reads merged into others per second",
        |a| a.judged.interval.reads.merges_per_s(),
    ),
    activity(
        "read_merge_pct",
        "share of the reads that were merged into others",
        |a| a.judged.interval.reads.merge_pct(),
    ),
    activity(
        "read_await_ms",
        "mean latency of the reads completed",
        |a| a.judged.interval.reads.await_ms(),
    ),
    activity("read_size_kib", "mean size of the reads", |a| {
        a.judged.interval.reads.size_kib()
    }),
    activity(
        "read_queue",
        "mean number of reads in the queue or being served",
        |a| a.judged.interval.reads.queue(),
    ),
    activity("writes_per_s", "writes completed per second", |a| {
        a.judged.interval.writes.per_s()
    }),
    activity("write_kib_per_s", "KiB per second of writes", |a| {
        a.judged.interval.writes.kib_per_s()
    }),
    activity(
        "write_merges_per_s",
        "writes merged into others per second",
        |a| a.judged.interval.writes.merges_per_s(),
    ),
    activity(
        "write_merge_pct",
        "share of the writes that were merged into others",
        |a| a.judged.interval.writes.merge_pct(),
    ),
    activity(
        "write_await_ms",
        "mean latency of the writes completed",
        |a| a.judged.interval.writes.await_ms(),
    ),
    activity("write_size_kib", "mean size of the writes", |a| {
        a.judged.interval.writes.size_kib()
    }),
    activity(
        "write_queue",
        "mean number of writes in the queue or being served",
        |a| a.judged.interval.writes.queue(),
    ),
    activity("discards_per_s", "discards completed per second", |a| {
        a.judged.interval.discards.per_s()
    }),
    activity("discard_kib_per_s", "KiB per second of discards", |a| {
        a.judged.interval.discards.kib_per_s()
    }),
    activity(
        "discard_merges_per_s",
        "discards merged into others per second",
        |a| a.judged.interval.discards.merges_per_s(),
    ),
    activity(
        "discard_merge_pct",
        "share of the discards that were merged into others",
        |a| a.judged.interval.discards.merge_pct(),
    ),
    activity(
        "discard_await_ms",
        "mean latency of the discards completed",
        |a| a.judged.interval.discards.await_ms(),
    ),
    activity("discard_size_kib", "mean size of the discards", |a| {
        a.judged.interval.discards.size_kib()
    }),
    activity(
        "discard_queue",
        "mean number of discards in the queue or being served",
        |a| a.judged.interval.discards.queue(),
    ),
    activity("flushes_per_s", "flushes completed per second", |a| {
        a.judged.interval.flushes.per_s()
    }),
    activity("flush_await_ms", "their mean latency", |a| {
        a.judged.interval.flushes.await_ms()
    }),
    activity(
        "queue",
        "mean number of requests of all kinds in the queue or being served",
        |a| a.judged.interval.queue(),
    ),
    column(
        "in_flight",
        "requests in flight at the end; null if the kernel miscounted them",
        |of| Whole(of.device.stats().and_then(|stats| stats.in_flight)),
    ),
    activity(
        "util_pct",
        "util as the kernel counts it; null for intervals below 100 ms",
        |a| a.judged.interval.util_pct(),
    ),
    activity(
        "util_upper_bound_pct",
        "upper bound of the true util; null if the kernel miscounted the requests in flight",
        |a| a.judged.interval.util_upper_bound_pct(),
    ),
    activity(
        "read_saturation",
        "latency of reads as a multiple of the highest that the unloaded device may have; null if that is not known",
        |a| a.judged.saturation(IoDirection::Reads),
    ),
    activity("write_saturation", "the same of writes", |a| {
        a.judged.saturation(IoDirection::Writes)
    }),
    column(
        "verdict",
        "the state of the device: see 'blkstat help verdicts'; null only without data",
        |of| Word(of.device.verdict().map(Verdict::name)),
    ),
    column(
        "flags",
        "a list, joined by + in CSV: util_too_high (do not trust util_pct), reset (no data, counters began again), accounting_off (requests are not counted), appeared, disappeared, reappeared, appeared_briefly (no numbers: the device was not there for the whole interval), since_boot (averages of --since-boot)",
        |of| Words(flags(of)),
    ),
    activity(
        "stalled_s",
        "how long requests have been hanging without any completion; 0 if they are not",
        |a| Some(a.stalled_s),
    ),
    interval_column(
        "missed_samples",
        "intervals that were skipped and are part of this one, or samples skipped when it was recorded",
        |header| Whole(Some(header.missed_samples)),
    ),
    interval_column(
        "cpu_user_pct",
        "CPU time of the host for programs, in percent",
        |header| cpu(header, |cpu| cpu.user + cpu.nice),
    ),
    interval_column("cpu_system_pct", "for the kernel", |header| {
        cpu(header, |cpu| cpu.system)
    }),
    interval_column("cpu_available_pct", "idle, including iowait", |header| {
        cpu(header, CpuPercentages::available)
    }),
    interval_column(
        "io_pressure_some_pct",
        "share of the time in which some tasks waited for I/O (PSI)",
        |header| Number(header.host.pressure_some_pct),
    ),
    interval_column(
        "io_pressure_full_pct",
        "in which all tasks with work to do waited for it",
        |header| Number(header.host.pressure_full_pct),
    ),
    column(
        "evidence",
        "the evidence for the verdict, as a list of sentences, joined by \"; \" in CSV",
        |of| {
            let sentences = of
                .device
                .activity()
                .map(|activity| evidence_sentences(activity.judged.assessment()));
            Sentences(sentences.unwrap_or_default())
        },
    ),
    column(
        "baseline_source",
        "the origin of the highest unloaded latency: given, saved, lowest (the lowest seen), learned (the same, proven to be about the unloaded one), class (what such a device needs at most), since_boot, or peers (like devices at the same time); null if latency was not compared",
        |of| {
            let source = of
                .device
                .activity()
                .and_then(|activity| activity.judged.assessment().baseline_source);
            Word(source.map(BaselineSource::name))
        },
    ),
    activity(
        "flush_saturation",
        "latency of flushes as a multiple of the lowest seen; null until that is known",
        |a| a.judged.saturation(IoDirection::Flushes),
    ),
    column(
        "verdict_s",
        "the seconds of the interval with that verdict; null without one, and for averages since boot",
        |of| Number(verdict_s(of)),
    ),
    interval_column(
        "memory_pressure_some_pct",
        "share of the time in which some tasks waited for memory (PSI)",
        |header| Number(header.host.memory_pressure_some_pct),
    ),
    interval_column(
        "hidden_io_wait_pct",
        "share of the time in which a task waited for I/O while no device had a request in flight, at least; 0 if the \
         devices may account for the waits",
        |header| Number(hidden_io_wait_pct(&header.host)),
    ),
    column(
        "top_cgroup",
        "path of the cgroup that does most of the device's bytes; null with --no-who, or if a recording lacks it",
        |of| {
            let top = of
                .device
                .activity()
                .and_then(|activity| activity.top_cgroup.as_ref());
            Text(top.map(|top| &*top.path))
        },
    ),
    activity("top_cgroup_share_pct", "its share of them", |a| {
        a.top_cgroup.as_ref().map(|top| top.share_pct)
    }),
    limit(
        "limit_kind",
        "the limit that was reached: read_iops, write_iops, iops, read_kib_per_s, write_kib_per_s or kib_per_s",
        |limit| Word(Some(limit.rate_name())),
    ),
    limit("limit_value", "its value", |limit| {
        Number(Some(limit.value))
    }),
    limit(
        "limit_source",
        "its origin: cgroup, given (--cap) or inferred from the rate",
        |limit| Word(Some(limit.source.name())),
    ),
    limit("limit_cgroup", "path of the cgroup that has it", |limit| {
        Text(limit.owner.as_deref())
    }),
    incident(
        "incident",
        "number of the incident that the device is part of in the interval, from 1",
        |of| Whole(Some(of.id)),
    ),
    incident(
        "incident_victim",
        "the topmost device whose requests take longer",
        |of| Text(Some(&of.victim.device)),
    ),
    incident(
        "incident_begin",
        "when it began; it does not change later",
        |of| Time(of.begin.at),
    ),
    incident(
        "incident_begin_known",
        "true, or false if it may have begun before the first sample or the first after a break in time",
        |of| Flag(Some(of.begin_is_known)),
    ),
    incident(
        "incident_cause",
        "its best known cause: cgroup_limit, constant_rate, device_below, queued_between, nothing_completed, \
         hung_requests, latency, peers, shared_limit, or health (the kernel says it)",
        |of| Word(of.cause.as_ref().map(Cause::name)),
    ),
    incident(
        "incident_owner",
        "path of the cgroup at its limit or, without one, with most of the bytes",
        |of| Text(of.owner.as_deref()),
    ),
    column(
        "health",
        "what the kernel says is wrong with the device, as a list of sentences; counts are since it appeared",
        |of| {
            let health = of
                .device
                .activity()
                .and_then(|activity| activity.health.as_ref());
            let text = health
                .and_then(|health| health_text(of.device.device(), &health.troubles(None), None));
            Sentences(text.into_iter().collect())
        },
    ),
    column(
        "error_count",
        "errors of commands since the device appeared; null unless it is SCSI or ATA",
        |of| {
            Whole(
                of.device
                    .activity()
                    .and_then(|activity| activity.health.as_ref()?.number("errors")),
            )
        },
    ),
    column(
        "timeout_count",
        "its commands that timed out, in the same way",
        |of| {
            Whole(
                of.device
                    .activity()
                    .and_then(|activity| activity.health.as_ref()?.number("timeouts")),
            )
        },
    ),
    interval_column(
        "nfs_waits",
        "the NFS mounts that have had requests without an answer while tasks wait for I/O that no device shows, as a list of sentences",
        |header| Sentences(header.nfs_waits.iter().map(nfs_wait_text).collect()),
    ),
];

/// Returns the fields with their meanings, for the manual.
pub(in crate::report) fn fields() -> Vec<(&'static str, &'static str)> {
    COLUMNS
        .iter()
        .map(|column| (column.name, column.meaning))
        .collect()
}

/// JSON Lines, an object for each device of an interval on a line of its own; or CSV (RFC 4180, but lines end with only
/// a newline), the field names, then a line for each device.
pub struct Lines {
    pub is_json: bool,
}

impl Lines {
    /// Writes the text before the first interval.
    pub fn begin(&self, out: &mut Vec<u8>) {
        if !self.is_json {
            let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
            out.extend_from_slice(names.join(",").as_bytes());
            out.push(b'\n');
        }
    }

    /// Writes devices that appeared or disappeared, other devices, and the total.
    pub fn push_interval(&self, rows: &IntervalRows, out: &mut Vec<u8>) {
        let frame = Frame::new(self.is_json, &rows.header);
        rows.events
            .iter()
            .for_each(|event| frame.push(&event.to_interval(), out));
        rows.devices
            .iter()
            .chain(&rows.total)
            .for_each(|device| frame.push(device, out));
    }
}

/// The parts of a line that are the same for all devices of an interval.
struct Frame<'a> {
    is_json: bool,
    header: &'a IntervalHeader,
    /// A line without the values of the device: in JSON with the names of the fields.
    line: Vec<u8>,
    /// The values of the device, and their places in the line.
    values: Vec<(usize, Value)>,
}

impl<'a> Frame<'a> {
    fn new(is_json: bool, header: &'a IntervalHeader) -> Self {
        let (mut line, mut values) = (Vec::with_capacity(2048), Vec::with_capacity(COLUMNS.len()));
        for (at, column) in COLUMNS.iter().enumerate() {
            push_name(column.name, at, is_json, &mut line);
            match column.value {
                Value::OfInterval(value) => push_field(&value(header), is_json, &mut line),
                value => values.push((line.len(), value)),
            }
        }
        line.extend_from_slice(if is_json { b"}\n" } else { b"\n" });
        Self {
            is_json,
            header,
            line,
            values,
        }
    }

    fn push(&self, device: &DeviceInterval, out: &mut Vec<u8>) {
        let subject = Subject {
            header: self.header,
            device,
        };
        let activity = device.activity();
        let limit = device.reached_limits().next();
        let incident = device.incident().map(|ongoing| &*ongoing.incident);
        let mut begin = 0;
        for (end, value) in &self.values {
            out.extend_from_slice(&self.line[begin..*end]);
            begin = *end;
            let field = match value {
                Value::OfInterval(_) => continue,
                Value::Activity(value) => match activity.and_then(value) {
                    Some(number) => {
                        push_number(number, out);
                        continue;
                    }
                    None => None,
                },
                Value::Limit(value) => limit.as_ref().map(value),
                Value::Incident(value) => incident.map(value),
                Value::Other(value) => Some(value(&subject)),
            };
            match field {
                Some(field) => push_field(&field, self.is_json, out),
                None if self.is_json => out.extend_from_slice(b"null"),
                None => {}
            }
        }
        out.extend_from_slice(&self.line[begin..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::EventKind;
    use crate::judge::Assessment;
    use crate::metrics::{HostStats, Interval};

    fn header() -> IntervalHeader {
        let end = "2026-11-20T18:03:21.000143999Z".parse().ok();
        let host = HostStats {
            pressure_some_pct: Some(12.5),
            ..HostStats::default()
        };
        IntervalHeader {
            end,
            elapsed_s: 1.000101,
            missed_samples: 2,
            host,
            ..IntervalHeader::default()
        }
    }

    fn device(name: &str, state: DeviceState) -> DeviceInterval {
        DeviceInterval::without_alias(name, state)
    }

    fn active() -> DeviceState {
        let stats = Interval {
            in_flight: Some(4),
            ..Interval::unknown(3.0).with_queue(1.0 / 3.0)
        };
        let flag = Some(DataFlag::UtilTooHigh);
        DeviceState::Active(Box::new(DeviceActivity {
            flag,
            ..DeviceActivity::example(stats, Assessment::default())
        }))
    }

    fn written(is_json: bool, devices: Vec<DeviceInterval>) -> Vec<u8> {
        let (total, events, attribution) = (None, Vec::new(), None);
        let rows = IntervalRows {
            header: header(),
            devices,
            total,
            events,
            attribution,
            has_found_any: true,
        };
        let mut out = Vec::new();
        let lines = Lines { is_json };
        lines.begin(&mut out);
        lines.push_interval(&rows, &mut out);
        out
    }

    fn json(state: DeviceState) -> serde_json::Value {
        let out = written(true, vec![device("a\"b,\u{1b}[2J", state)]);
        assert_eq!(
            out.iter().filter(|byte| byte.is_ascii_control()).count(),
            1,
            "the newline"
        );
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn a_line_is_a_flat_object() {
        let line = json(active());
        assert_eq!(line["time"], "2026-11-20T18:03:21.000143Z");
        assert_eq!(
            (line["elapsed_s"].as_f64(), line["missed_samples"].as_u64()),
            (Some(1.000101), Some(2))
        );
        assert_eq!(line["device"], "a\"b,\u{1b}[2J");
        assert_eq!(
            (line["queue"].as_f64(), line["in_flight"].as_u64()),
            (Some(0.333333), Some(4))
        );
        assert_eq!(line["flags"], serde_json::json!(["util_too_high"]));
        assert_eq!(line["io_pressure_some_pct"], 12.5);
        assert!(
            line["read_await_ms"].is_null()
                && line["verdict"].is_null()
                && line["cpu_user_pct"].is_null()
        );
        assert_eq!(line.as_object().unwrap().len(), COLUMNS.len());
    }

    #[test]
    fn unknown_numbers_are_null_and_a_flag_says_why() {
        for (state, flag) in [
            (DeviceState::Reset, "reset"),
            (DeviceState::AccountingOff(Box::default()), "accounting_off"),
            (
                DeviceState::Event(EventKind::AppearedBriefly),
                "appeared_briefly",
            ),
        ] {
            let line = json(state);
            assert_eq!(line["flags"], serde_json::json!([flag]));
            assert!(
                line["reads_per_s"].is_null()
                    && line["stalled_s"].is_null()
                    && line["in_flight"].is_null()
            );
        }
    }

    #[test]
    fn csv_has_the_same_columns_and_an_empty_cell_for_null() {
        let devices = vec![
            device("sda", active()),
            device("a\"b,\u{1b}", DeviceState::Reset),
        ];
        let out = written(false, devices);
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("time,elapsed_s,device,reads_per_s,read_kib_per_s,"));
        assert_eq!(lines[1].split(',').count(), COLUMNS.len());
        assert!(
            lines[1].starts_with("2026-11-20T18:03:21.000143Z,1.000101,sda,,,"),
            "{}",
            lines[1]
        );
        assert!(
            lines[1].contains(",util_too_high,0.0,2,,,,12.5,"),
            "{}",
            lines[1]
        );
        assert!(lines[2].contains(r#","a""b,\u{1b}",,"#), "{}", lines[2]);
    }
}
