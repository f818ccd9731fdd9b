//! Logs of `sar -d` and of `sadf` as captures: their rates are those of the counters that they were made from.

use std::fmt::Write;
use std::fs;

use blkstat::capture::Reader;
use blkstat::counters::Sample;
use serde_json::Value;

use crate::support::program::{blkstat, output};
use crate::support::text::json_lines;

/// The devices, and what each does in the n-th interval.
const DEVICES: [(&str, u64); 3] = [("sda", 3), ("nvme0n1", 40), ("idle", 0)];
const INTERVALS: u64 = 4;
/// Seconds in an interval.
const STEP: u64 = 10;
/// 2026-11-24 23:59:40 UTC: midnight passes.
const START: u64 = 1_795_564_780;

/// What a device does in an interval: requests, sectors read, written and discarded, milliseconds of all requests, the
/// sum of the times in the queue, and milliseconds with a request.
fn activity(device: u64, interval: u64) -> [u64; 7] {
    let n = device * (interval * 37 % 11 + 1);
    [
        n * 10,
        n * 160,
        n * 320,
        n * 80,
        n * 25,
        n * 30,
        n * 20 % 10_000,
    ]
}

/// The capture of the same host.
fn twin() -> String {
    let mut text = String::new();
    let mut totals = [[0; 7]; 3];
    for sample in 0..=INTERVALS {
        writeln!(text, "TS {}", START + sample * STEP).unwrap();
        for ((minor, (name, load)), total) in DEVICES.iter().enumerate().zip(&mut totals) {
            if sample > 0 {
                total
                    .iter_mut()
                    .zip(activity(*load, sample))
                    .for_each(|(total, by)| *total += by);
            }
            let [ios, read, written, discarded, ms, queued, busy] = total;
            writeln!(
                text,
                "8 {minor} {name} {ios} 0 {read} {ms} 0 0 {written} 0 0 {busy} {queued} 0 0 {discarded} 0"
            )
            .unwrap();
        }
    }
    text
}

/// The values of a row: requests per second, then read, written and discarded sectors per second, the mean size in
/// sectors, the queue, the latency, and percents of time.
fn values(load: u64, interval: u64) -> [f64; 8] {
    let [ios, read, written, discarded, ms, queued, busy] =
        activity(load, interval).map(|n| n as f64);
    let seconds = STEP as f64;
    let per_io = |value: f64| if ios > 0.0 { value / ios } else { 0.0 };
    [
        ios / seconds,
        read / seconds,
        written / seconds,
        discarded / seconds,
        per_io(read + written + discarded),
        queued / seconds / 1000.0,
        per_io(ms),
        busy / seconds / 10.0,
    ]
}

/// The columns of a version of sysstat, and its values.
type Columns = (&'static str, fn([f64; 8]) -> Vec<f64>);

const SECTORS: Columns = (
    "tps rd_sec/s wr_sec/s avgrq-sz avgqu-sz await svctm %util",
    |[tps, read, written, _, size, queue, ms, util]| {
        vec![tps, read, written, size, queue, ms, 0.5, util]
    },
);
const KILOBYTES: Columns = (
    "tps rkB/s wkB/s areq-sz aqu-sz await %util",
    |[tps, read, written, _, size, queue, ms, util]| {
        vec![tps, read / 2.0, written / 2.0, size / 2.0, queue, ms, util]
    },
);
const DISCARDS: Columns = (
    "tps rkB/s wkB/s dkB/s areq-sz aqu-sz await %util",
    |[tps, read, written, discarded, size, queue, ms, util]| {
        vec![
            tps,
            read / 2.0,
            written / 2.0,
            discarded / 2.0,
            size / 2.0,
            queue,
            ms,
            util,
        ]
    },
);

fn text_of(values: &[f64], separator: &str) -> String {
    values
        .iter()
        .map(|value| format!("{value:.2}"))
        .collect::<Vec<_>>()
        .join(separator)
}

fn clock(at: u64, has_12_hours: bool) -> String {
    let second = at % 86_400;
    let (hour, rest) = (
        second / 3600,
        format!("{:02}:{:02}", second / 60 % 60, second % 60),
    );
    match has_12_hours {
        false => format!("{hour:02}:{rest}"),
        true => format!(
            "{:02}:{rest} {}",
            (hour + 11) % 12 + 1,
            if hour < 12 { "AM" } else { "PM" }
        ),
    }
}

/// A log of `sar -d` with a table for the devices, or for each interval; with `-p`, their names are last.
fn sar(
    columns: Columns,
    date: &str,
    has_12_hours: bool,
    is_live: bool,
    names_last: bool,
) -> String {
    let mut text = format!("Linux 6.1.0 (db1) \t{date} \t_x86_64_\t(2 CPU)\n");
    let row = |first: &str, name: &str, values: &str| match names_last {
        false => format!("{first} {name:>12}   {values}\n"),
        true => format!("{first}   {values} {name}\n"),
    };
    for interval in 1..=INTERVALS {
        let at = START + interval * STEP;
        if is_live || interval == 1 {
            let head = columns.0.replace(' ', "  ");
            text += &format!("\n{}", row(&clock(at - STEP, has_12_hours), "DEV", &head));
        }
        for (name, load) in DEVICES {
            let values = text_of(&(columns.1)(values(load, interval)), "    ");
            text += &row(&clock(at, has_12_hours), name, &values);
        }
    }
    if is_live {
        text += &format!("\n{}", row("Average:", "DEV", columns.0));
    }
    text + &row("Average:", "sda", &text_of(&(columns.1)([1.0; 8]), "  "))
}

/// The output of `sadf -d`; with `-h`, one line per interval.
fn sadf(columns: Columns, is_horizontal: bool) -> String {
    let end = if is_horizontal { "[...]" } else { "" };
    let mut text = format!(
        "# hostname;interval;timestamp;DEV;{}{end}\n",
        columns.0.replace(' ', ";")
    );
    for interval in 1..=INTERVALS {
        let at = jiff::Timestamp::from_second((START + interval * STEP) as i64).unwrap();
        let start = format!("db1;{STEP};{}", at.strftime("%Y-%m-%d %H:%M:%S UTC"));
        let devices = DEVICES.map(|(name, load)| {
            format!(
                ";{name};{}",
                text_of(&(columns.1)(values(load, interval)), ";")
            )
        });
        match is_horizontal {
            true => writeln!(text, "{start}{}", devices.concat()).unwrap(),
            false => devices
                .iter()
                .for_each(|device| writeln!(text, "{start}{device}").unwrap()),
        }
    }
    text
}

fn sadf_json(is_compact: bool) -> String {
    let statistics: Vec<Value> = (1..=INTERVALS)
        .map(|interval| {
            let at = jiff::Timestamp::from_second((START + interval * STEP) as i64).unwrap();
            let devices = DEVICES.map(|(name, load)| {
                let [tps, read, written, discarded, size, queue, ms, util] = values(load, interval);
                serde_json::json!({
                    "disk-device": name, "tps": tps, "rd_sec": read, "wr_sec": written, "dc_sec": discarded,
                    "rkB": read / 2.0, "wkB": written / 2.0, "dkB": discarded / 2.0, "avgrq-sz": size,
                    "areq-sz": size / 2.0, "avgqu-sz": queue, "aqu-sz": queue, "await": ms, "util-percent": util,
                })
            });
            let date = at.strftime("%Y-%m-%d").to_string();
            let time = at.strftime("%H:%M:%S").to_string();
            serde_json::json!({
                "timestamp": {"date": date, "time": time, "utc": 1, "interval": STEP},
                "io": {"tps": 5.0, "io-reads": {"rtps": 1.0}},
                "disk": devices,
            })
        })
        .collect();
    let host = serde_json::json!({"nodename": "db1", "number-of-cpus": 2, "statistics": statistics, "restarts": []});
    let all = serde_json::json!({"sysstat": {"hosts": [host]}});
    if is_compact {
        format!("{all}\n")
    } else {
        format!("{all:#}\n")
    }
}

/// Every kind of log, with its name.
fn logs() -> Vec<(&'static str, String)> {
    vec![
        ("sysstat 9", sar(SECTORS, "11/24/2026", false, false, false)),
        (
            "sysstat 9, live, 12 hours",
            sar(SECTORS, "11/24/26", true, true, false),
        ),
        (
            "sysstat 11",
            sar(KILOBYTES, "2026-11-24", false, true, false),
        ),
        (
            "sysstat 12",
            sar(DISCARDS, "24.11.2026", true, false, false),
        ),
        (
            "sysstat 12 -p",
            sar(DISCARDS, "11/24/26", false, true, true),
        ),
        (
            "decimal commas",
            sar(DISCARDS, "24.11.2026", false, false, false).replace("0.", "0,"),
        ),
        ("sadf -d of sysstat 9", sadf(SECTORS, false)),
        ("sadf -d of sysstat 12", sadf(DISCARDS, false)),
        ("sadf -d -h", sadf(DISCARDS, true)),
        ("sadf -j", sadf_json(false)),
        ("sadf -j, compact", sadf_json(true)),
    ]
}

fn read(input: impl AsRef<[u8]>) -> (Vec<Value>, String) {
    let (out, err, code) = output("--json --all --from -", input);
    assert!(code < 2, "{err}");
    (json_lines(&out), err)
}

#[test]
fn a_log_has_the_rates_of_its_twin() {
    let (expected, _) = read(twin());
    assert_eq!(expected.len() as u64, INTERVALS * 3);
    for (kind, log) in logs() {
        let (found, err) = read(&log);
        assert_eq!(found.len(), expected.len(), "{kind}: {err}\n{log}");
        assert_eq!(err.lines().count(), 1, "{kind}: {err}");
        assert!(
            err.contains("sar -d: rates rounded to 0.01; not known: requests in flight, reads and"),
            "{err}"
        );
        for (found, expected) in found.iter().zip(&expected) {
            for key in ["time", "device", "elapsed_s"] {
                assert_eq!(found[key], expected[key], "{kind}");
            }
            for key in ["read_kib_per_s", "write_kib_per_s", "queue", "util_pct"] {
                let (found, expected) = (
                    found[key].as_f64().unwrap(),
                    expected[key].as_f64().unwrap(),
                );
                assert!(
                    (found - expected).abs() < 0.051,
                    "{kind} {key}: {found} {expected}\n{log}"
                );
            }
            for key in [
                "reads_per_s",
                "writes_per_s",
                "read_await_ms",
                "in_flight",
                "read_merges_per_s",
            ] {
                let is_idle = key.ends_with("s_per_s") && found["iops"] == 0.0;
                assert!(found[key].is_null() || is_idle, "{kind} {key}: {found}");
            }
            for (key, near) in [("iops", 0.006), ("await_ms", 0.006)] {
                let (found, expected) = (found[key].as_f64(), expected[key].as_f64());
                let off = found.unwrap_or(0.0) - expected.unwrap_or(0.0);
                assert!(
                    off.abs() <= near,
                    "{kind} {key}: {found:?} {expected:?}\n{log}"
                );
            }
            if log.contains("dkB") {
                assert!(
                    (found["discard_kib_per_s"].as_f64().unwrap()
                        - expected["discard_kib_per_s"].as_f64().unwrap())
                    .abs()
                        < 0.051
                );
            }
        }
    }
}

#[test]
fn the_replicas_and_a_conversion_refuse_a_log() {
    let folder = tempfile::tempdir().unwrap();
    let iostat = "Linux 6.1.0 (db1) \t11/24/26 \t_x86_64_\t(2 CPU)\n\n\
        Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsda 7.00 8.00 9.00 80 90\n\n"
        .to_owned();
    for (at, (kind, log)) in logs().into_iter().chain([("iostat", iostat)]).enumerate() {
        let name = format!("{at}.log");
        fs::write(folder.path().join(&name), log).unwrap();
        for words in [
            "iostat --from",
            "iostat -x",
            "pt-diskstats",
            "record --from",
        ] {
            let file = (words == "record --from").then_some("new.gz");
            let run = blkstat(words)
                .args([name.as_str()].into_iter().chain(file))
                .current_dir(folder.path())
                .run();
            let message = format!(
                "blkstat: {name} is a log of another tool, which has rates, not counters; read the log itself, or see it \
                 with 'blkstat --from LOG' or 'blkstat analyze LOG'\n"
            );
            assert_eq!(
                (run.out.as_str(), run.err.as_str(), run.code),
                ("", message.as_str(), 2),
                "{kind}: {words}"
            );
            assert!(!folder.path().join("new.gz").exists());
        }
    }
}

#[test]
fn boots_and_other_tables_end_a_table_and_a_wrong_value_costs_itself() {
    let head = "Linux 6.1.0 (db1) \t11/24/26 \t_x86_64_\t(2 CPU)\n\n";
    let table = |times: &[&str]| {
        let mut text = format!(
            "{} DEV tps rkB/s wkB/s areq-sz aqu-sz await %util\n",
            times[0]
        );
        times[1..].iter().for_each(|time| {
            text += &format!("{time} sda 7.00 8.00 0.00 4.00 0.00 1.00 3.00\n{time} sdb 0.00 0.00 0.00 0.00 0.00 0.00 0.00\n");
        });
        text
    };
    let cpu = "10:00:00 CPU %user\n10:10:00 all 3.00\nAverage: all 3.00\n\n";
    let first = table(&["10:00:00", "10:10:00", "10:20:01"]);
    let text = format!(
        "{head}{cpu}{first}\n10:25:00     LINUX RESTART\t(2 CPU)\n\n{}\n{cpu}",
        table(&["10:30:00", "10:40:00"])
    );
    let times = |text: &str| {
        let (found, _) = read(text);
        found
            .iter()
            .filter(|line| line["device"] == "sda")
            .map(|line| {
                assert_eq!(line["read_kib_per_s"], 8.0);
                (
                    line["time"].as_str().unwrap()[11..19].to_owned(),
                    line["elapsed_s"].as_f64().unwrap(),
                )
            })
            .collect::<Vec<_>>()
    };
    let row = |time: &str, elapsed: f64| (time.to_owned(), elapsed);
    let all = [
        row("10:10:00", 600.0),
        row("10:20:01", 601.0),
        row("10:40:00", 600.0),
    ];
    assert_eq!(times(&text), all);
    let damaged = text.replacen("10:10:00 sdb 0.00", "10:10:00 sdb x", 1);
    assert_eq!(times(&damaged), all);
    let (found, err) = read(&damaged);
    assert!(
        err.contains("'x' in column tps of sdb is no possible value; it is not known"),
        "{err}"
    );
    let sdb = found.iter().find(|line| line["device"] == "sdb").unwrap();
    assert!(
        sdb["iops"].is_null() && sdb["verdict"].is_null() && sdb["read_kib_per_s"] == 0.0,
        "{sdb}"
    );
}

/// The samples of a log.
pub(super) fn samples(mut log: &[u8]) -> Vec<Sample> {
    let mut reader = Reader::new(&mut log);
    let (mut samples, mut sample) = (Vec::new(), Sample::default());
    while reader
        .next(samples.last().unwrap_or(&Sample::default()), &mut sample)
        .unwrap()
    {
        samples.push(sample.clone());
    }
    samples
}

#[test]
fn a_log_cut_anywhere_has_fewer_samples_and_no_others() {
    for (first, (kind, log)) in logs().into_iter().enumerate() {
        let whole = samples(log.as_bytes());
        assert_eq!(whole.len() as u64, INTERVALS + 1);
        for cut in (first..log.len()).step_by(17) {
            let part = samples(&log.as_bytes()[..cut]);
            assert!(whole.starts_with(&part), "{kind} cut at {cut}: {part:?}");
        }
    }
}
