//! JSON Lines and CSV: one line per device and interval, for a device that appeared or disappeared too. Field names are stable; new ones may be added at the end.

mod device_limit;
pub(in crate::report) mod value;

pub(in crate::report) use self::device_limit::{DeviceLimit, cgroup_limit_name, rate_name};
pub(in crate::report) use self::value::time_text;
use self::value::{Field, push_csv, push_json};
use crate::analysis::{BaselineSource, Verdict, hidden_io_wait_pct};
use crate::intervals::{DeviceActivity, DeviceInterval, DeviceState, IntervalHeader, IntervalRows};
use crate::metrics::{CpuPercentages, DataFlag, IntervalStats};
use crate::report::IntervalWriter;
use crate::report::evidence::evidence_sentences;

/// A field: its name and its value.
struct Column {
    name: &'static str,
    value: Value,
}

/// The value of a field.
#[derive(Clone, Copy)]
enum Value {
    /// The same for all devices of an interval.
    OfInterval(fn(&IntervalHeader) -> Field<'_>),
    OfDevice(DeviceValue),
}

/// The value of a field for a device in an interval.
type DeviceValue = for<'a> fn(&'a IntervalHeader, &'a DeviceInterval<'a>) -> Field<'a>;

const fn column(name: &'static str, value: DeviceValue) -> Column {
    Column { name, value: Value::OfDevice(value) }
}

const fn interval_column(name: &'static str, value: fn(&IntervalHeader) -> Field<'_>) -> Column {
    Column { name, value: Value::OfInterval(value) }
}

fn stat(device: &DeviceInterval<'_>, value: fn(&IntervalStats) -> Option<f64>) -> Field<'static> {
    Field::Number(device.stats().and_then(value))
}

fn activity(device: &DeviceInterval<'_>, value: fn(&DeviceActivity) -> Option<f64>) -> Field<'static> {
    Field::Number(device.activity().and_then(value))
}

fn cpu(header: &IntervalHeader, share: fn(&CpuPercentages) -> f64) -> Field<'static> {
    Field::Number(header.host.cpu.as_ref().map(share))
}

fn flags(header: &IntervalHeader, device: &DeviceInterval<'_>) -> Vec<&'static str> {
    let flag = match &device.state {
        DeviceState::Active(activity) => activity.flag.map(DataFlag::name),
        DeviceState::Reset | DeviceState::MemberReset => Some("reset"),
        DeviceState::AccountingOff(_) => Some("accounting_off"),
        DeviceState::Event(kind) => Some(kind.name()),
    };
    flag.into_iter().chain(header.is_since_boot.then_some("since_boot")).collect()
}

/// The seconds of the interval with the verdict. Averages since boot do not say how long anything lasted.
fn verdict_s(header: &IntervalHeader, device: &DeviceInterval<'_>) -> Field<'static> {
    let seconds = match &device.state {
        DeviceState::Active(activity) => activity.verdict_s,
        DeviceState::AccountingOff(_) => Some(header.elapsed_s),
        DeviceState::Reset | DeviceState::MemberReset | DeviceState::Event(_) => None,
    };
    Number(seconds.filter(|_| !header.is_since_boot))
}

/// Calls `push` for each line of an interval: devices that appeared or disappeared, other devices, the total.
fn each_line(rows: &IntervalRows<'_>, mut push: impl FnMut(&DeviceInterval<'_>)) {
    rows.events.iter().for_each(|event| push(&event.to_interval()));
    rows.devices.iter().chain(&rows.total).for_each(push);
}

use Field::{Number, Sentences, Text, Time, Whole, Words};

/// All fields, in their order.
const COLUMNS: &[Column] = &[
    interval_column("time", |header| Time(header.end)),
    interval_column("elapsed_s", |header| Number(Some(header.elapsed_s))),
    column("device", |_, device| Text(Some(device.device))),
    column("reads_per_s", |_, device| stat(device, |s| s.reads.per_s)),
    column("read_kib_per_s", |_, device| stat(device, |s| s.reads.kib_per_s)),
    column("read_merges_per_s", |_, device| stat(device, |s| s.reads.merges_per_s)),
    column("read_merge_pct", |_, device| stat(device, |s| s.reads.merge_pct)),
    column("read_await_ms", |_, device| stat(device, |s| s.reads.await_ms)),
    column("read_size_kib", |_, device| stat(device, |s| s.reads.size_kib)),
    column("read_queue", |_, device| stat(device, |s| s.reads.queue)),
    column("writes_per_s", |_, device| stat(device, |s| s.writes.per_s)),
    column("write_kib_per_s", |_, device| stat(device, |s| s.writes.kib_per_s)),
    column("write_merges_per_s", |_, device| stat(device, |s| s.writes.merges_per_s)),
    column("write_merge_pct", |_, device| stat(device, |s| s.writes.merge_pct)),
    column("write_await_ms", |_, device| stat(device, |s| s.writes.await_ms)),
    column("write_size_kib", |_, device| stat(device, |s| s.writes.size_kib)),
    column("write_queue", |_, device| stat(device, |s| s.writes.queue)),
    column("discards_per_s", |_, device| stat(device, |s| s.discards.per_s)),
    column("discard_kib_per_s", |_, device| stat(device, |s| s.discards.kib_per_s)),
    column("discard_merges_per_s", |_, device| stat(device, |s| s.discards.merges_per_s)),
    column("discard_merge_pct", |_, device| stat(device, |s| s.discards.merge_pct)),
    column("discard_await_ms", |_, device| stat(device, |s| s.discards.await_ms)),
    column("discard_size_kib", |_, device| stat(device, |s| s.discards.size_kib)),
    column("discard_queue", |_, device| stat(device, |s| s.discards.queue)),
    column("flushes_per_s", |_, device| stat(device, |s| s.flushes_per_s)),
    column("flush_await_ms", |_, device| stat(device, |s| s.flush_await_ms)),
    column("queue", |_, device| stat(device, |s| s.queue)),
    column("in_flight", |_, device| Whole(device.stats().and_then(|s| s.in_flight))),
    column("util_pct", |_, device| stat(device, |s| s.util_pct)),
    column("util_upper_bound_pct", |_, device| stat(device, |s| s.util_upper_bound_pct)),
    column("read_saturation", |_, device| activity(device, |a| a.assessment.read_saturation)),
    column("write_saturation", |_, device| activity(device, |a| a.assessment.write_saturation)),
    column("verdict", |_, device| Text(device.verdict().map(Verdict::name))),
    column("flags", |header, device| Words(flags(header, device))),
    column("stalled_s", |_, device| activity(device, |a| Some(a.stalled_s))),
    interval_column("missed_samples", |header| Whole(Some(header.missed_samples))),
    interval_column("cpu_user_pct", |header| cpu(header, |cpu| cpu.user + cpu.nice)),
    interval_column("cpu_system_pct", |header| cpu(header, |cpu| cpu.system)),
    interval_column("cpu_available_pct", |header| cpu(header, CpuPercentages::available)),
    interval_column("io_pressure_some_pct", |header| Number(header.host.pressure_some_pct)),
    interval_column("io_pressure_full_pct", |header| Number(header.host.pressure_full_pct)),
    column("evidence", |_, device| {
        let assessment = device.activity().map(|activity| &activity.assessment);
        Sentences(assessment.map(evidence_sentences).unwrap_or_default())
    }),
    column("baseline_source", |_, device| {
        let source = device.activity().and_then(|activity| activity.assessment.baseline_source);
        Text(source.map(BaselineSource::name))
    }),
    column("flush_saturation", |_, device| activity(device, |a| a.assessment.flush_saturation)),
    column("verdict_s", verdict_s),
    interval_column("memory_pressure_some_pct", |header| Number(header.host.memory_pressure_some_pct)),
    interval_column("hidden_io_wait_pct", |header| Number(hidden_io_wait_pct(&header.host))),
    column("top_cgroup", |_, device| {
        Text(device.activity().and_then(|activity| activity.top_cgroup.as_ref()).map(|top| &*top.path))
    }),
    column("top_cgroup_share_pct", |_, device| {
        activity(device, |activity| activity.top_cgroup.as_ref().map(|top| top.share_pct))
    }),
    column("limit_kind", |_, device| Text(DeviceLimit::of(device).map(|limit| limit.kind))),
    column("limit_value", |_, device| Number(DeviceLimit::of(device).map(|limit| limit.value))),
    column("limit_source", |_, device| Text(DeviceLimit::of(device).map(|limit| limit.source))),
    column("limit_cgroup", |_, device| Text(DeviceLimit::of(device).and_then(|limit| limit.cgroup))),
];

/// JSON Lines: each device of an interval is an object on a line of its own.
pub struct JsonLines;

impl IntervalWriter for JsonLines {
    fn push_interval(&mut self, rows: &IntervalRows<'_>, out: &mut Vec<u8>) {
        let lines = Lines::json(&rows.header);
        each_line(rows, |device| lines.push(device, out));
    }
}

/// CSV (RFC 4180, but lines end in a newline alone): the field names, then a line for each device of an interval.
pub struct Csv;

impl IntervalWriter for Csv {
    fn begin(&mut self, out: &mut Vec<u8>) {
        csv_header(out);
    }

    fn push_interval(&mut self, rows: &IntervalRows<'_>, out: &mut Vec<u8>) {
        let lines = Lines::csv(&rows.header);
        each_line(rows, |device| lines.push(device, out));
    }
}

/// The lines of an interval. What is the same for all its devices is formatted only once.
struct Lines<'a> {
    header: &'a IntervalHeader,
    /// The text that all lines have in common.
    common: Vec<u8>,
    /// The values of a device, each with the position in `common` at which it is inserted.
    values: Vec<(usize, DeviceValue)>,
    push_value: fn(&Field<'_>, &mut Vec<u8>),
}

impl<'a> Lines<'a> {
    /// The space for the text that all lines have in common.
    const CAPACITY: usize = 2048;

    fn json(header: &'a IntervalHeader) -> Self {
        let push_name = |name: &str, index: usize, out: &mut Vec<u8>| {
            out.extend_from_slice(if index == 0 { b"{\"" } else { b",\"" });
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"\":");
        };
        Self::new(header, push_name, push_json, b"}\n")
    }

    fn csv(header: &'a IntervalHeader) -> Self {
        let push_comma = |_: &str, index: usize, out: &mut Vec<u8>| out.extend((index > 0).then_some(b','));
        Self::new(header, push_comma, push_csv, b"\n")
    }

    fn new(
        header: &'a IntervalHeader,
        push_before: impl Fn(&str, usize, &mut Vec<u8>),
        push_value: fn(&Field<'_>, &mut Vec<u8>),
        end: &[u8],
    ) -> Self {
        let mut common = Vec::with_capacity(Self::CAPACITY);
        let mut values = Vec::with_capacity(COLUMNS.len());
        for (index, column) in COLUMNS.iter().enumerate() {
            push_before(column.name, index, &mut common);
            match column.value {
                Value::OfInterval(value) => push_value(&value(header), &mut common),
                Value::OfDevice(value) => values.push((common.len(), value)),
            }
        }
        common.extend_from_slice(end);
        Self { header, common, values, push_value }
    }

    /// Appends the line of a device.
    fn push(&self, device: &DeviceInterval<'_>, out: &mut Vec<u8>) {
        let mut begin = 0;
        for (end, value) in &self.values {
            out.extend_from_slice(&self.common[begin..*end]);
            (self.push_value)(&value(self.header, device), out);
            begin = *end;
        }
        out.extend_from_slice(&self.common[begin..]);
    }
}

fn csv_header(out: &mut Vec<u8>) {
    let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
    out.extend_from_slice(names.join(",").as_bytes());
    out.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::EventKind;
    use crate::metrics::HostStats;

    fn header() -> IntervalHeader {
        let end = "2026-11-20T18:03:21.000143999Z".parse().ok();
        let host = HostStats { pressure_some_pct: Some(12.5), ..HostStats::default() };
        IntervalHeader { end, elapsed_s: 1.000101, missed_samples: 2, host, ..IntervalHeader::default() }
    }

    fn device(name: &str, state: DeviceState) -> DeviceInterval<'_> {
        DeviceInterval { device: name, label: name, mountpoints: "", state }
    }

    fn active() -> DeviceState {
        let stats = IntervalStats { queue: Some(1.0 / 3.0), in_flight: Some(4), ..IntervalStats::default() };
        let flag = Some(DataFlag::UtilTooLow);
        DeviceState::Active(Box::new(DeviceActivity { stats, flag, ..DeviceActivity::default() }))
    }

    fn json(state: DeviceState) -> serde_json::Value {
        let mut out = Vec::new();
        Lines::json(&header()).push(&device("a\"b,\u{1b}[2J", state), &mut out);
        assert_eq!(out.iter().filter(|byte| byte.is_ascii_control()).count(), 1, "the newline");
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn a_line_is_a_flat_object() {
        let line = json(active());
        assert_eq!(line["time"], "2026-11-20T18:03:21.000143Z");
        assert_eq!((line["elapsed_s"].as_f64(), line["missed_samples"].as_u64()), (Some(1.000101), Some(2)));
        assert_eq!(line["device"], "a\"b,\u{1b}[2J");
        assert_eq!((line["queue"].as_f64(), line["in_flight"].as_u64()), (Some(0.333333), Some(4)));
        assert_eq!(line["flags"], serde_json::json!(["util_too_low"]));
        assert_eq!(line["io_pressure_some_pct"], 12.5);
        assert!(
            line["read_await_ms"].is_null() && line["verdict"].is_null() && line["cpu_user_pct"].is_null()
        );
        assert_eq!(line.as_object().unwrap().len(), COLUMNS.len());
    }

    #[test]
    fn unknown_numbers_are_null_and_a_flag_says_why() {
        for (state, flag) in [
            (DeviceState::Reset, "reset"),
            (DeviceState::AccountingOff(Box::default()), "accounting_off"),
            (DeviceState::Event(EventKind::AppearedBriefly), "appeared_briefly"),
        ] {
            let line = json(state);
            assert_eq!(line["flags"], serde_json::json!([flag]));
            assert!(
                line["reads_per_s"].is_null() && line["stalled_s"].is_null() && line["in_flight"].is_null()
            );
        }
    }

    #[test]
    fn csv_has_the_same_columns_and_an_empty_cell_for_null() {
        let mut out = Vec::new();
        csv_header(&mut out);
        let header = header();
        let lines = Lines::csv(&header);
        lines.push(&device("sda", active()), &mut out);
        lines.push(&device("a\"b,\u{1b}", DeviceState::Reset), &mut out);
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("time,elapsed_s,device,reads_per_s,read_kib_per_s,"));
        assert_eq!(lines[1].split(',').count(), COLUMNS.len());
        assert!(lines[1].starts_with("2026-11-20T18:03:21.000143Z,1.000101,sda,,,"), "{}", lines[1]);
        assert!(lines[1].contains(",util_too_low,0.0,2,,,,12.5,"), "{}", lines[1]);
        assert!(lines[2].contains(r#","a""b,\u{1b}",,"#), "{}", lines[2]);
    }
}
