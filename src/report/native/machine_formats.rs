//! JSON Lines and CSV: one line a device and interval. The names are a contract: they are only added to.

use std::io::Write;

use jiff::Timestamp;

use super::{Block, Judged, Line, State};
use crate::analysis::Verdict;
use crate::metrics::{CpuPercentages, IntervalStats};
use crate::report::evidence::evidence_text;
use crate::report::layout::fixed_decimal as fixed;
use crate::sanitize::{json_string, sanitize};

/// What a field holds; `None` is null, in CSV an empty cell.
enum Field<'a> {
    Text(Option<&'a str>),
    Time(Option<Timestamp>),
    Number(Option<f64>),
    Whole(Option<u64>),
    /// A set of words: an array in JSON, joined by `+` in CSV.
    Words(Vec<&'static str>),
    /// Sentences: an array in JSON, joined by `; ` in CSV.
    Texts(Vec<String>),
}

struct Column {
    name: &'static str,
    value: for<'a> fn(&'a Block, &'a Line<'a>) -> Field<'a>,
}

const fn column(name: &'static str, value: for<'a> fn(&'a Block, &'a Line<'a>) -> Field<'a>) -> Column {
    Column { name, value }
}

fn number(line: &Line<'_>, value: fn(&IntervalStats) -> Option<f64>) -> Field<'static> {
    Field::Number(line.figures().and_then(value))
}

fn cpu(block: &Block, share: fn(&CpuPercentages) -> f64) -> Field<'static> {
    Field::Number(block.machine.cpu.as_ref().map(share))
}

fn marks(line: &Line<'_>) -> Vec<&'static str> {
    match &line.state {
        State::Worked(judged) => judged.mark.iter().map(|mark| mark.name()).collect(),
        State::Reset | State::PartReset => vec!["reset"],
        State::AccountingOff => vec!["accounting_off"],
    }
}

fn evidence(line: &Line<'_>) -> Vec<String> {
    let evidence = line.judged().map_or(&[][..], |judged| &judged.judgement.evidence);
    evidence.iter().map(evidence_text).collect()
}

use Field::{Number, Text, Texts, Time, Whole, Words};

/// All columns, in their order.
const COLUMNS: [Column; 42] = [
    column("time", |block, _| Time(block.time)),
    column("elapsed_s", |block, _| Number(Some(block.elapsed_s))),
    column("device", |_, line| Text(Some(line.device))),
    column("reads_per_s", |_, line| number(line, |f| f.reads.per_s)),
    column("read_kib_per_s", |_, line| number(line, |f| f.reads.kib_per_s)),
    column("read_merges_per_s", |_, line| number(line, |f| f.reads.merges_per_s)),
    column("read_merge_pct", |_, line| number(line, |f| f.reads.merge_pct)),
    column("read_await_ms", |_, line| number(line, |f| f.reads.await_ms)),
    column("read_size_kib", |_, line| number(line, |f| f.reads.size_kib)),
    column("read_queue", |_, line| number(line, |f| f.reads.queue)),
    column("writes_per_s", |_, line| number(line, |f| f.writes.per_s)),
    column("write_kib_per_s", |_, line| number(line, |f| f.writes.kib_per_s)),
    column("write_merges_per_s", |_, line| number(line, |f| f.writes.merges_per_s)),
    column("write_merge_pct", |_, line| number(line, |f| f.writes.merge_pct)),
    column("write_await_ms", |_, line| number(line, |f| f.writes.await_ms)),
    column("write_size_kib", |_, line| number(line, |f| f.writes.size_kib)),
    column("write_queue", |_, line| number(line, |f| f.writes.queue)),
    column("discards_per_s", |_, line| number(line, |f| f.discards.per_s)),
    column("discard_kib_per_s", |_, line| number(line, |f| f.discards.kib_per_s)),
    column("discard_merges_per_s", |_, line| number(line, |f| f.discards.merges_per_s)),
    column("discard_merge_pct", |_, line| number(line, |f| f.discards.merge_pct)),
    column("discard_await_ms", |_, line| number(line, |f| f.discards.await_ms)),
    column("discard_size_kib", |_, line| number(line, |f| f.discards.size_kib)),
    column("discard_queue", |_, line| number(line, |f| f.discards.queue)),
    column("flushes_per_s", |_, line| number(line, |f| f.flushes_per_s)),
    column("flush_await_ms", |_, line| number(line, |f| f.flush_await_ms)),
    column("queue", |_, line| number(line, |f| f.queue)),
    column("in_flight", |_, line| Whole(line.figures().and_then(|f| f.in_flight))),
    column("util_pct", |_, line| number(line, |f| f.util_pct)),
    column("util_bound_pct", |_, line| Number(line.judged().and_then(Judged::util_bound_pct))),
    column("read_saturation", |_, line| Number(line.judged().and_then(|j| j.judgement.read_saturation))),
    column("write_saturation", |_, line| Number(line.judged().and_then(|j| j.judgement.write_saturation))),
    column("verdict", |_, line| Text(line.verdict().map(Verdict::name))),
    column("marks", |_, line| Words(marks(line))),
    column("stalled_s", |_, line| Number(line.judged().map(|judged| judged.stalled_s))),
    column("missed", |block, _| Whole(Some(block.missed))),
    column("cpu_user_pct", |block, _| cpu(block, |cpu| cpu.user + cpu.nice)),
    column("cpu_system_pct", |block, _| cpu(block, |cpu| cpu.system)),
    column("cpu_available_pct", |block, _| cpu(block, CpuPercentages::available)),
    column("io_pressure_some_pct", |block, _| Number(block.machine.pressure_some_pct)),
    column("io_pressure_full_pct", |block, _| Number(block.machine.pressure_full_pct)),
    column("evidence", |_, line| Texts(evidence(line))),
];

/// Appends a line as a JSON object, with its newline.
pub fn json_line(block: &Block, line: &Line<'_>, out: &mut Vec<u8>) {
    for (at, column) in COLUMNS.iter().enumerate() {
        out.extend_from_slice(if at == 0 { b"{\"" } else { b",\"" });
        out.extend_from_slice(column.name.as_bytes());
        out.extend_from_slice(b"\":");
        push_json(&(column.value)(block, line), out);
    }
    out.extend_from_slice(b"}\n");
}

/// Appends the names of the columns as a line of CSV.
pub fn csv_header(out: &mut Vec<u8>) {
    let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
    out.extend_from_slice(names.join(",").as_bytes());
    out.push(b'\n');
}

/// Appends a line as CSV (RFC 4180, with a newline alone).
pub fn csv_line(block: &Block, line: &Line<'_>, out: &mut Vec<u8>) {
    for (at, column) in COLUMNS.iter().enumerate() {
        if at > 0 {
            out.push(b',');
        }
        push_csv(&(column.value)(block, line), out);
    }
    out.push(b'\n');
}

fn push_json(field: &Field<'_>, out: &mut Vec<u8>) {
    match field {
        Text(Some(text)) => out.extend_from_slice(json_string(text).as_bytes()),
        Time(Some(time)) => {
            out.push(b'"');
            push_time(*time, out);
            out.push(b'"');
        }
        Number(Some(value)) => push_number(*value, out),
        Whole(Some(value)) => push_whole(*value, out),
        Words(words) => push_array(words.iter().map(|word| json_string(word)), out),
        Texts(texts) => push_array(texts.iter().map(|text| json_string(text)), out),
        Text(None) | Time(None) | Number(None) | Whole(None) => out.extend_from_slice(b"null"),
    }
}

fn push_array(elements: impl Iterator<Item = String>, out: &mut Vec<u8>) {
    out.push(b'[');
    for (at, element) in elements.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        out.extend_from_slice(element.as_bytes());
    }
    out.push(b']');
}

fn push_csv(field: &Field<'_>, out: &mut Vec<u8>) {
    match field {
        Text(Some(text)) => out.extend_from_slice(csv_text(text).as_bytes()),
        Time(Some(time)) => push_time(*time, out),
        Number(Some(value)) => push_number(*value, out),
        Whole(Some(value)) => push_whole(*value, out),
        Words(words) => out.extend_from_slice(words.join("+").as_bytes()),
        Texts(texts) => out.extend_from_slice(csv_text(&texts.join("; ")).as_bytes()),
        Text(None) | Time(None) | Number(None) | Whole(None) => {}
    }
}

/// A text as a cell. What could steer a terminal is escaped as elsewhere, for a cell cannot do it itself; a cell
/// that a spreadsheet would take for a formula stays as it is: it is a name.
fn csv_text(text: &str) -> String {
    let safe = sanitize(text);
    if safe.contains(['"', ',']) { format!("\"{}\"", safe.replace('"', "\"\"")) } else { safe.into_owned() }
}

/// RFC 3339 in UTC, to the microsecond.
fn push_time(time: Timestamp, out: &mut Vec<u8>) {
    // Writing to a Vec cannot fail, here and below.
    let _ = write!(out, "{}", time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ"));
}

/// A number with at most six decimals, which is more than the counters tell.
fn push_number(value: f64, out: &mut Vec<u8>) {
    const MICRO: f64 = 1e6;
    // Up to here all millionths are whole numbers that a float holds.
    const EXACT: f64 = 9e9;
    if !value.is_finite() {
        out.extend_from_slice(b"null");
    } else if (0.0..EXACT).contains(&value) {
        let millionths = (value * MICRO).round() as u64;
        let (whole, fraction) = (millionths / 1_000_000, millionths % 1_000_000);
        push_whole(whole, out);
        push_fraction(fraction, out);
    } else {
        let rounded = value.round();
        let _ = write!(out, "{rounded:.1}");
    }
}

/// A point and millionths without the zeros at their end, but for the first.
fn push_fraction(millionths: u64, out: &mut Vec<u8>) {
    let mut digits = [b'0'; 6];
    let mut rest = millionths;
    for digit in digits.iter_mut().rev() {
        *digit += (rest % 10) as u8;
        rest /= 10;
    }
    let length = digits.iter().rposition(|digit| *digit != b'0').map_or(1, |last| last + 1);
    out.push(b'.');
    out.extend_from_slice(&digits[..length]);
}

fn push_whole(value: u64, out: &mut Vec<u8>) {
    fixed::push_whole(out, value, 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::{DataFlag, HostStats};

    fn block() -> Block {
        let time = "2026-11-20T18:03:21.000143999Z".parse().ok();
        let machine = HostStats { pressure_some_pct: Some(12.5), ..HostStats::default() };
        Block { time, elapsed_s: 1.000101, missed: 2, machine }
    }

    fn line(device: &str, state: State) -> Line<'_> {
        Line { device, shown: device, mounts: String::new(), state }
    }

    fn worked() -> State {
        let figures =
            IntervalStats { queue: Some(1.0 / 3.0), in_flight: Some(4), ..IntervalStats::default() };
        State::Worked(Box::new(Judged { figures, mark: Some(DataFlag::UtilTooLow), ..Judged::default() }))
    }

    fn json(state: State) -> serde_json::Value {
        let mut out = Vec::new();
        json_line(&block(), &line("a\"b,\u{1b}[2J", state), &mut out);
        assert_eq!(out.iter().filter(|byte| byte.is_ascii_control()).count(), 1, "the newline");
        serde_json::from_slice(&out).unwrap()
    }

    #[test]
    fn numbers_have_six_decimals_at_most() {
        let text = |value: f64| {
            let mut out = Vec::new();
            push_number(value, &mut out);
            String::from_utf8(out).unwrap()
        };
        let texts = [0.0, 1.0, 1.5, 0.1234567, 1_000.000_101, 0.0000004, 99.9999999, 3e9].map(text);
        assert_eq!(texts, ["0.0", "1.0", "1.5", "0.123457", "1000.000101", "0.0", "100.0", "3000000000.0"]);
        assert_eq!([1e12, f64::NAN, f64::INFINITY].map(text), ["1000000000000.0", "null", "null"]);
    }

    #[test]
    fn a_line_is_a_flat_object() {
        let line = json(worked());
        assert_eq!(line["time"], "2026-11-20T18:03:21.000143Z");
        assert_eq!((line["elapsed_s"].as_f64(), line["missed"].as_u64()), (Some(1.000101), Some(2)));
        assert_eq!(line["device"], "a\"b,\u{1b}[2J");
        assert_eq!((line["queue"].as_f64(), line["in_flight"].as_u64()), (Some(0.333333), Some(4)));
        assert_eq!(line["marks"], serde_json::json!(["util_too_low"]));
        assert_eq!(line["io_pressure_some_pct"], 12.5);
        assert!(
            line["read_await_ms"].is_null() && line["verdict"].is_null() && line["cpu_user_pct"].is_null()
        );
        assert_eq!(line.as_object().unwrap().len(), COLUMNS.len());
    }

    #[test]
    fn a_util_that_is_too_low_bounds_nothing() {
        let figures =
            IntervalStats { util_pct: Some(0.8), util_bound_pct: Some(0.8), ..IntervalStats::default() };
        for (mark, bound) in
            [(None, Some(0.8)), (Some(DataFlag::UtilTooHigh), Some(0.8)), (Some(DataFlag::UtilTooLow), None)]
        {
            let line = json(State::Worked(Box::new(Judged { figures, mark, ..Judged::default() })));
            assert_eq!((line["util_pct"].as_f64(), line["util_bound_pct"].as_f64()), (Some(0.8), bound));
        }
    }

    #[test]
    fn what_cannot_be_known_is_null_and_says_why() {
        for (state, mark) in [(State::Reset, "reset"), (State::AccountingOff, "accounting_off")] {
            let line = json(state);
            assert_eq!(line["marks"], serde_json::json!([mark]));
            assert!(
                line["reads_per_s"].is_null() && line["stalled_s"].is_null() && line["in_flight"].is_null()
            );
        }
    }

    #[test]
    fn csv_has_the_same_columns_and_an_empty_cell_for_null() {
        let mut out = Vec::new();
        csv_header(&mut out);
        csv_line(&block(), &line("sda", worked()), &mut out);
        csv_line(&block(), &line("a\"b,\u{1b}", State::Reset), &mut out);
        let text = String::from_utf8(out).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert!(lines[0].starts_with("time,elapsed_s,device,reads_per_s,read_kib_per_s,"));
        assert_eq!(lines[1].split(',').count(), COLUMNS.len());
        assert!(lines[1].starts_with("2026-11-20T18:03:21.000143Z,1.000101,sda,,,"), "{}", lines[1]);
        assert!(lines[1].contains(",util_too_low,0.0,2,,,,12.5,"), "{}", lines[1]);
        assert!(lines[2].contains(r#","a""b,\u{1b}",,"#), "{}", lines[2]);
    }
}
