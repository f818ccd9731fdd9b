//! JSON Lines, CSV and lines of InfluxDB: one line per device and interval, including devices that appeared or
//! disappeared. Field names are stable; new ones may be added at the end.

mod influx;
pub(crate) mod value;

use std::str::FromStr;

pub use self::value::LineFormat;
use self::value::{Field, push_line};
pub(super) use self::value::{epoch_seconds, time_text};
use crate::attribution::Limit;
use crate::incidents::Told;
use crate::intervals::{DeviceActivity, DeviceInterval, DeviceState, IntervalHeader, IntervalRows};
use crate::judge::{BaselineSource, Verdict};
use crate::metrics::DataFlag;
use crate::quantities::device::*;
use crate::quantities::host::*;
use crate::quantities::{Quantity, Unit};
use crate::report::evidence::{evidence_sentences, health_text, nfs_wait_text};
use crate::typo::did_you_mean;

/// A field: its name, a sentence part about it for the reference, and its value.
#[derive(Debug)]
struct Column {
    name: &'static str,
    meaning: &'static str,
    value: Value,
}

impl Column {
    /// Its title in the table; its name if it is of no quantity of a device.
    fn title(&self) -> &'static str {
        match self.value {
            OfDevice(quantity) => quantity.title,
            _ => self.name,
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Value {
    OfInterval(fn(&IntervalHeader) -> Field<'static>),
    OfHost(&'static HostQuantity),
    OfDevice(&'static Quantity),
    OfActivity(for<'a> fn(&'a DeviceActivity) -> Field<'a>),
    /// Of the limit that the device has reached.
    OfLimit(fn(&Limit) -> Field<'_>),
    /// Of the incident that the device is part of.
    OfIncident(fn(&Told) -> Field<'_>),
    Other(for<'a> fn(&'a Subject<'a>) -> Field<'a>),
}

/// The device and the interval of a line.
struct Subject<'a> {
    header: &'a IntervalHeader,
    device: &'a DeviceInterval,
}

const fn field(name: &'static str, meaning: &'static str, value: Value) -> Column {
    Column {
        name,
        meaning,
        value,
    }
}

const fn device(quantity: &'static Quantity) -> Column {
    field(quantity.name, quantity.meaning, OfDevice(quantity))
}

const fn host(quantity: &'static HostQuantity) -> Column {
    field(quantity.name, quantity.meaning, OfHost(quantity))
}

fn flags(of: &Subject<'_>) -> Vec<&'static str> {
    let mut flags = Vec::new();
    match &of.device.state {
        DeviceState::Active(activity) => flags.extend(activity.flag.map(DataFlag::name)),
        DeviceState::Reset | DeviceState::MemberReset => flags.push("reset"),
        DeviceState::AccountingOff(_) => flags.push("accounting_off"),
        DeviceState::Event(kind) => flags.push(kind.name()),
    }
    if of.header.is_since_boot {
        flags.push("since_boot");
    }
    flags
}

/// The seconds of the interval with the verdict; `None` for averages since boot, which do not show how long anything
/// lasted.
fn verdict_s(of: &Subject<'_>) -> Option<f64> {
    match &of.device.state {
        _ if of.header.is_since_boot => None,
        DeviceState::Active(activity) => activity.judged.verdict_s(),
        DeviceState::AccountingOff(_) => Some(of.header.elapsed_s),
        DeviceState::Reset | DeviceState::MemberReset | DeviceState::Event(_) => None,
    }
}

fn health_count(of: &DeviceActivity, name: &str) -> Option<u64> {
    of.health.as_ref()?.number(name)
}

/// The path of the cgroup at its limit, or those of the cgroups whose load rose.
pub(super) fn owner_paths(of: &Told) -> Option<String> {
    if let Some(path) = of.limit().and_then(|limit| limit.owner.as_deref()) {
        return Some(path.to_owned());
    }
    Some(of.owner.as_ref()?.cgroups.join(","))
}

fn evidence(of: &Subject<'_>) -> Vec<String> {
    match of.device.activity() {
        Some(activity) => evidence_sentences(&activity.judged),
        None => Vec::new(),
    }
}

fn health_sentence(of: &Subject<'_>) -> Option<String> {
    let health = of.device.activity()?.health.as_ref()?;
    health_text(of.device.device(), &health.troubles(None), None)
}

use Field::{Flag, Name, Number, Sentences, Text, Time, Whole, Word, Words};
use Value::{OfActivity, OfDevice, OfHost, OfIncident, OfInterval, OfLimit, Other};

const COLUMNS: &[Column] = &[
    field(
        "time",
        "the end of the interval in UTC",
        OfInterval(|header| Time(header.end)),
    ),
    field(
        "elapsed_s",
        "its measured length",
        OfInterval(|header| Number(Some(header.elapsed_s))),
    ),
    field(
        "device",
        "the kernel's name of the device, or total",
        Other(|of| Text(Some(of.device.device()))),
    ),
    device(&READS_PER_S),
    device(&READ_KIB_PER_S),
    device(&READ_MERGES_PER_S),
    device(&READ_MERGE_PCT),
    device(&READ_AWAIT_MS),
    device(&READ_SIZE_KIB),
    device(&READ_QUEUE),
    device(&WRITES_PER_S),
    device(&WRITE_KIB_PER_S),
    device(&WRITE_MERGES_PER_S),
    device(&WRITE_MERGE_PCT),
    device(&WRITE_AWAIT_MS),
    device(&WRITE_SIZE_KIB),
    device(&WRITE_QUEUE),
    device(&DISCARDS_PER_S),
    device(&DISCARD_KIB_PER_S),
    device(&DISCARD_MERGES_PER_S),
    device(&DISCARD_MERGE_PCT),
    device(&DISCARD_AWAIT_MS),
    device(&DISCARD_SIZE_KIB),
    device(&DISCARD_QUEUE),
    device(&FLUSHES_PER_S),
    device(&FLUSH_AWAIT_MS),
    device(&QUEUE),
    device(&IN_FLIGHT),
    device(&UTIL_PCT),
    device(&UTIL_UPPER_BOUND_PCT),
    device(&READ_SATURATION),
    device(&WRITE_SATURATION),
    field(
        "verdict",
        "the state of the device, see 'blkstat help verdicts'; null only without data",
        Other(|of| Word(of.device.verdict().map(Verdict::name))),
    ),
    field(
        "flags",
        "a list, joined by + in CSV: util_too_high (do not trust util_pct), reset (no data, counters began again), accounting_off (requests are not counted), appeared, disappeared, reappeared, appeared_briefly (no numbers: the device was not there for the whole interval), since_boot (averages of --since-boot)",
        Other(|of| Words(flags(of))),
    ),
    field(
        "stalled_s",
        "how long requests have been hanging without any completion; 0 if none are",
        OfActivity(|of| Number(Some(of.stalled_s))),
    ),
    field(
        "missed_samples",
        "intervals that were skipped and are part of this one, or samples skipped when it was recorded",
        OfInterval(|header| Whole(Some(header.missed_samples))),
    ),
    host(&CPU_USER_PCT),
    host(&CPU_SYSTEM_PCT),
    host(&CPU_AVAILABLE_PCT),
    host(&IO_PRESSURE_SOME_PCT),
    host(&IO_PRESSURE_FULL_PCT),
    field(
        "baseline_source",
        "the origin of the highest unloaded latency: given, saved, lowest (the lowest seen), learned (the same, proven to be about the unloaded one), class (what such a device needs at most), since_boot, or peers (like devices at the same time); null if latency was not compared",
        OfActivity(|of| {
            let source = of.judged.assessment().baseline_source;
            Word(source.map(BaselineSource::name))
        }),
    ),
    device(&FLUSH_SATURATION),
    field(
        "verdict_s",
        "the seconds of the interval with that verdict; null without one, and for averages since boot",
        Other(|of| Number(verdict_s(of))),
    ),
    host(&MEMORY_PRESSURE_SOME_PCT),
    host(&HIDDEN_IO_WAIT_PCT),
    field(
        "top_cgroup",
        "path of the cgroup that does most of the device's bytes; null with --no-who, or if a recording lacks it",
        OfActivity(|of| Text(of.top_cgroup.as_ref().map(|top| &*top.path))),
    ),
    field(
        "top_cgroup_share_pct",
        "its share of them",
        OfActivity(|of| Number(of.top_cgroup.as_ref().map(|top| top.share_pct))),
    ),
    field(
        "limit_kind",
        "the limit that was reached: read_iops, write_iops, iops, read_kib_per_s, write_kib_per_s or kib_per_s",
        OfLimit(|limit| Word(Some(limit.rate_name()))),
    ),
    field(
        "limit_value",
        "its value",
        OfLimit(|limit| Number(Some(limit.value))),
    ),
    field(
        "limit_source",
        "its origin: cgroup, given (--cap) or inferred from the rate",
        OfLimit(|limit| Word(Some(limit.source.name()))),
    ),
    field(
        "limit_cgroup",
        "path of the cgroup that has it",
        OfLimit(|limit| Text(limit.owner.as_deref())),
    ),
    field(
        "incident",
        "number of the incident that the device is part of in the interval, from 1",
        OfIncident(|of| Whole(Some(of.id))),
    ),
    field(
        "incident_victim",
        "the topmost device whose requests take longer",
        OfIncident(|of| Text(Some(&of.victim.device))),
    ),
    field(
        "incident_begin",
        "when it began; it does not change later",
        OfIncident(|of| Time(of.begin.at)),
    ),
    field(
        "incident_begin_known",
        "true, or false if it may have begun before the first sample or the first after a break in time",
        OfIncident(|of| Flag(Some(of.begin_is_known))),
    ),
    field(
        "incident_cause",
        "its cause: cgroup_limit, suspended, stall, frozen, sync, swap, load, less (than before), unknown, constant_rate, cpu or \
         used (all the time)",
        OfIncident(|of| Word(Some(of.cause.name()))),
    ),
    field(
        "incident_owner",
        "path of the cgroup at its limit or, without one, of those whose load rose",
        OfIncident(|of| Name(owner_paths(of))),
    ),
    field(
        "error_count",
        "errors of commands since the device appeared; null unless it is SCSI or ATA",
        OfActivity(|of| Whole(health_count(of, "errors"))),
    ),
    field(
        "timeout_count",
        "commands that timed out, likewise",
        OfActivity(|of| Whole(health_count(of, "timeouts"))),
    ),
    field(
        "time_s",
        "the same time in seconds since 1970",
        OfInterval(|header| Number(header.end.map(epoch_seconds))),
    ),
    field(
        "host",
        "the name of the host; null in a capture without it",
        OfInterval(|header| Name(header.host_name.as_deref().map(str::to_owned))),
    ),
    field(
        "incident_program",
        "the program whose load rose",
        OfIncident(|of| Text(of.owner.as_ref().and_then(|owner| owner.program.as_deref()))),
    ),
    field(
        "evidence",
        "the evidence for the verdict, as a list of sentences, joined by \"; \" in CSV",
        Other(|of| Sentences(evidence(of))),
    ),
    field(
        "health",
        "problems that the kernel reports about the device, as a list of sentences; counts since the device appeared",
        Other(|of| Sentences(Vec::from_iter(health_sentence(of)))),
    ),
    field(
        "nfs_waits",
        "NFS mounts with unanswered requests while tasks wait for I/O that no device shows, as a list of sentences",
        OfInterval(|header| Sentences(header.nfs_waits.iter().map(nfs_wait_text).collect())),
    ),
    device(&IOPS),
    device(&AWAIT_MS),
];

/// Fields that only `-o` adds: they follow from others.
static DERIVED: &[Column] = &[
    device(&REQUESTS_PER_S),
    device(&KIB_PER_S),
    device(&LONGEST_AWAIT_MS),
    device(&SATURATION),
];

/// Returns the fields with their meanings, for the manual.
pub(super) fn fields() -> impl Iterator<Item = (&'static str, &'static str)> {
    COLUMNS.iter().map(|column| (column.name, column.meaning))
}

/// Returns everything that `-o` can choose, by its name, with its meaning.
pub fn all_fields() -> impl Iterator<Item = (&'static str, &'static str)> {
    COLUMNS
        .iter()
        .chain(DERIVED)
        .map(|column| (column.name, column.meaning))
}

/// The fields of a line, in their order.
#[derive(Clone, Debug)]
pub struct FieldList(Vec<&'static Column>);

impl Default for FieldList {
    fn default() -> Self {
        Self(COLUMNS.iter().collect())
    }
}

impl FieldList {
    /// The names of the fields in JSON.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|column| column.name)
    }
}

impl FromStr for FieldList {
    type Err = String;

    /// Parses names in JSON, titles of the table, or names of iostat, with commas between them.
    fn from_str(words: &str) -> Result<Self, String> {
        let mut fields = Vec::new();
        for word in words.split(',').map(str::trim) {
            fields.push(find_field(word).ok_or_else(|| {
                let known = COLUMNS.iter().chain(DERIVED);
                let known = known.flat_map(|column| [column.name, column.title()]);
                let end = did_you_mean(word, known, "'-o help' lists them");
                format!("-o: there is no field '{word}'{end}")
            })?);
        }
        Ok(Self(fields))
    }
}

fn find_field(word: &str) -> Option<&'static Column> {
    let name = find(word).map_or(word, |quantity| quantity.name);
    let mut all = COLUMNS.iter().chain(DERIVED);
    all.find(|column| column.name.eq_ignore_ascii_case(name))
}

/// Lines for other programs, one for each device of an interval.
#[derive(Clone, Debug)]
pub struct Lines {
    pub format: LineFormat,
    pub fields: FieldList,
}

impl Lines {
    /// Writes the text before the first interval.
    pub fn begin(&self, out: &mut Vec<u8>) {
        if self.format == LineFormat::Csv {
            let names: Vec<&str> = self.fields.names().collect();
            out.extend_from_slice(names.join(",").as_bytes());
            out.push(b'\n');
        }
    }

    /// Writes devices that appeared or disappeared, other devices, and the total.
    pub fn push_interval(&self, rows: &IntervalRows, out: &mut Vec<u8>) {
        for event in &rows.events {
            self.push_device(&rows.header, &event.to_interval(), out);
        }
        for device in &rows.devices {
            self.push_device(&rows.header, device, out);
        }
        if let Some(total) = &rows.total {
            self.push_device(&rows.header, total, out);
        }
    }

    fn push_device(&self, header: &IntervalHeader, device: &DeviceInterval, out: &mut Vec<u8>) {
        let subject = Subject { header, device };
        let activity = device.activity();
        let limit = device.reached_limits().next();
        let incident = device.incident().map(|ongoing| &*ongoing.told);
        let fields = self.fields.0.iter().map(|column| {
            let value = match column.value {
                OfInterval(value) => Some(value(header)),
                OfHost(quantity) => Some(Number((quantity.value)(&header.host))),
                OfDevice(quantity) => {
                    let number = activity.and_then(|activity| quantity.value(&activity.judged));
                    Some(match quantity.unit {
                        Unit::Count => Whole(number.map(|count| count as u64)),
                        _ => Number(number),
                    })
                }
                OfActivity(value) => activity.map(value),
                OfLimit(value) => limit.as_ref().map(value),
                OfIncident(value) => incident.map(value),
                Other(value) => Some(value(&subject)),
            };
            (column.name, value.unwrap_or(Text(None)))
        });
        match self.format {
            LineFormat::Influx => influx::push_line(header, device.device(), fields, out),
            format => push_line(fields, format, out),
        }
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

    fn written(format: LineFormat, devices: Vec<DeviceInterval>) -> Vec<u8> {
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
        let lines = Lines {
            format,
            fields: FieldList::default(),
        };
        lines.begin(&mut out);
        lines.push_interval(&rows, &mut out);
        out
    }

    fn json(state: DeviceState) -> serde_json::Value {
        let out = written(LineFormat::Json, vec![device("a\"b,\u{1b}[2J", state)]);
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
        let out = written(LineFormat::Csv, devices);
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
