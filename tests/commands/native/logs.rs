//! Logs of iostat as captures: their rates are those of the counters that the log was made from.

use serde_json::Value;

use super::sar_logs::samples;
use crate::support::program::output;
use crate::support::text::json_lines;

/// The number of samples.
const SAMPLES: u64 = 6;

/// The counters of a device at a sample, in the columns of /proc/diskstats: small, large and idle ones.
fn counters(device: u64, sample: u64) -> [u64; 17] {
    // Devices that were never used are left out by iostat.
    let mut counters = [100; 17];
    for step in 1..=sample {
        for (at, counter) in (0..).zip(&mut counters) {
            let noise = (step * 7919 + at * 104_729 + device * 1_299_709) % 97;
            *counter += match (device, at) {
                // The milliseconds of few requests: their mean has two digits.
                (0, 3 | 7 | 14) => noise / 4 * 20,
                (0, 0 | 4 | 11) => 20,
                (0, _) => noise,
                (1, 1 | 5) => 5 * noise,
                (1, _) => 100 * noise,
                _ => 0,
            };
        }
        // Nothing in flight, and milliseconds of whole percents.
        (counters[8], counters[9], counters[10]) =
            (0, counters[9] / 10 * 10, counters[10] / 10 * 10);
    }
    counters
}

/// Samples one second apart; with `before`, an equal one before the first, whose report is that of the time since boot.
fn capture(before: u64) -> String {
    let line = |sample: u64| {
        move |(device, name): (u64, &str)| {
            let counters = counters(device, sample).map(|counter| counter.to_string());
            format!("8 {device} {name} {}\n", counters.join(" "))
        }
    };
    let devices = |sample| {
        (0..)
            .zip(["nvme0n1", "sda", "sdc"])
            .map(line(sample))
            .collect::<String>()
    };
    (0..SAMPLES + before)
        .map(|at| {
            format!(
                "TS {}\n{}",
                1_502_000_000 + at - before,
                devices(at.saturating_sub(before))
            )
        })
        .collect()
}

/// Makes a log with blkstat's own iostat.
fn log(options: &str) -> String {
    let (log, err, code) = output(&format!("iostat {options} --from -"), capture(1));
    assert_eq!((err.as_str(), code), ("", 0), "{options}");
    log
}

/// Reads JSON lines. Returns them with standard error.
fn read(options: &str, input: impl AsRef<[u8]>) -> (Vec<Value>, String) {
    let (out, err, code) = output(&format!("--json --all {options} --from -"), input);
    assert!(code < 2, "{err}");
    (json_lines(&out), err)
}

/// The columns that the log has, with the most that rounding may change: a share of the value, and more.
const RATES: &[(&str, f64, f64)] = &[
    ("reads_per_s", 0.0, 0.51),
    ("writes_per_s", 0.0, 0.51),
    ("read_kib_per_s", 0.0, 0.51),
    ("write_kib_per_s", 0.0, 0.51),
    ("read_merges_per_s", 0.0, 0.51),
    ("write_merges_per_s", 0.0, 0.51),
    ("read_await_ms", 0.0, 0.03),
    ("write_await_ms", 0.0, 0.03),
    ("discards_per_s", 0.0, 0.51),
    ("discard_await_ms", 0.0, 0.03),
    ("flushes_per_s", 0.0, 0.51),
    ("flush_await_ms", 0.0, 0.05),
    ("queue", 0.0, 0.006),
    ("util_pct", 0.0, 0.06),
];

/// Compares a log with the capture that it was made from, except the named columns, which are missing.
fn compare(options: &str, rates: &[(&str, f64, f64)], missing: &[&str], text: &str) {
    let (expected, _) = read("", capture(0));
    let (found, err) = read("", text);
    assert_eq!(found.len(), expected.len(), "{options}: {err}\n{text}");
    for (found, expected) in found.iter().zip(&expected) {
        assert_eq!(
            (&found["device"], &found["elapsed_s"]),
            (&expected["device"], &expected["elapsed_s"])
        );
        for (column, share, more) in rates {
            let (found, expected) = (found[column].as_f64(), expected[column].as_f64());
            let is_near = match (found, expected) {
                (Some(found), Some(expected)) => {
                    (found - expected).abs() <= expected * share + more
                }
                (found, expected) => found == expected,
            };
            assert!(
                is_near || missing.contains(column),
                "{options} {column}: {found:?}, not {expected:?}\n{text}"
            );
        }
        // What is not split is known if there was only one kind.
        for column in missing.iter().chain(&["in_flight", "util_upper_bound_pct"]) {
            let is_known = ["reads_per_s", "writes_per_s"].contains(column)
                && (found["read_kib_per_s"] == 0.0 || found["write_kib_per_s"] == 0.0);
            assert!(
                found[column].is_null() || is_known && found[column] == expected[column],
                "{options} {column}: {}",
                found[column]
            );
        }
    }
}

#[test]
fn a_log_has_the_rates_of_the_counters_that_it_was_made_from() {
    for options in [
        "-x",
        "-xd",
        "-xt",
        "-xk",
        "-xty",
        "-x -o JSON",
        "-xt -o JSON",
        "-xN",
        "--pretty -x",
    ] {
        compare(options, RATES, &[], &log(options));
        let log = log(options);
        compare(options, RATES, &[], &log.replace('\n', "\r\n"));
    }
    // Megabytes have two digits, those for people one.
    let coarse: Vec<_> = RATES
        .iter()
        .map(|(column, ..)| (*column, 0.06, 5.3))
        .collect();
    for options in ["-xm", "-xdm -o JSON", "-xh", "-xh -m", "-x --human", "-xth"] {
        compare(options, &coarse, &[], &log(options));
    }
    let whole: Vec<_> = RATES
        .iter()
        .map(|(column, ..)| (*column, 0.01, 0.51))
        .collect();
    compare("-x --dec=0", &whole, &[], &log("-x --dec=0"));
    // Decimal commas.
    compare("-x", RATES, &[], &log("-x").replace('.', ","));
    // Collectors of logs leave out empty lines; other systems mark the beginning of a text.
    let without_empty_lines: Vec<String> = log("-xt")
        .lines()
        .filter(|line| !line.is_empty())
        .map(|line| format!("{line}\n"))
        .collect();
    compare("-xt", RATES, &[], &without_empty_lines.concat());
    compare("-xt", RATES, &[], &format!("\u{feff}{}", log("-xt")));
}

#[test]
fn a_capture_behind_a_log_is_read_and_no_interval_spans_both() {
    let both = |text: String| {
        let (lines, err) = read("", text);
        (
            lines
                .iter()
                .map(|line| line["elapsed_s"].as_f64().unwrap())
                .sum::<f64>(),
            lines.len(),
            err,
        )
    };
    let (log_s, log_lines, _) = both(log("-xt"));
    let (capture_s, capture_lines, _) = both(capture(0));
    let (seconds, lines, err) = both(log("-xt") + &capture(0));
    assert_eq!(
        (seconds, lines),
        (log_s + capture_s, log_lines + capture_lines),
        "{err}"
    );
}

#[test]
fn rates_of_few_requests_show_how_far_apart_reports_are() {
    let head = "Linux 6.1.0 (db1) \t08/06/17 \t_x86_64_\t(4 CPU)\n\n";
    let report = |reads: &str| {
        format!(
            "Device r/s rkB/s r_await w/s wkB/s w_await aqu-sz %util\nsda {reads} 1.60 900.00 0.30 1.20 9.00 0.36 60.00\n\n"
        )
    };
    let text = [
        head,
        &report("0.01"),
        &report("0.40"),
        &report("0.10"),
        &report("1.00"),
    ]
    .concat();
    let (lines, err) = read("", text);
    let values = |column: &str| {
        lines
            .iter()
            .map(|line| line[column].as_f64().unwrap())
            .collect::<Vec<_>>()
    };
    assert_eq!(values("elapsed_s"), [10.0; 3], "{err}");
    assert_eq!(values("reads_per_s"), [0.4, 0.1, 1.0]);
    assert!(err.contains("as their numbers show, 10 s apart"), "{err}");
    // One or two requests in about a second, once 1.3 s.
    let report = |reads: &str| report(reads).replace("0.30", "1.98");
    let text = [
        head,
        &report("0.01"),
        &report("0.99"),
        &report("0.77"),
        &report("1.01"),
    ]
    .concat();
    assert!(read("", text).0.iter().all(|line| line["elapsed_s"] == 1.0));
}

#[test]
fn what_stands_before_each_line_of_a_log_is_its_time() {
    let (expected, _) = read("", capture(0));
    let (start, options) = (1_502_000_000, ["-x", "-xd", "-xh", "-x -o JSON"]);
    for form in [
        "%b %e %T",
        "%FT%T.25Z",
        "[%F %T]",
        "%s",
        "%b %d %T db1 iostat[77]:",
        "%T",
        "iostat-1  | %FT%T.123456789Z",
    ] {
        for options in options {
            let (mut second, mut reports) = (start, 0);
            let mut stamped = String::new();
            for line in log(options).lines() {
                let begins = ["Device", "r/s", "tps"]
                    .iter()
                    .any(|word| line.trim_start().starts_with(word))
                    || line.contains("\"disk\": [");
                second += i64::from(begins && reports > 0);
                reports += u64::from(begins);
                let zone = jiff::tz::TimeZone::UTC;
                let time = jiff::Timestamp::from_second(second).unwrap().to_zoned(zone);
                stamped += &format!("{} {line}\n", time.strftime(form));
                if form.contains("db1") && line.is_empty() && reports == 2 {
                    stamped += &format!(
                        "{} db1 cron[5]: a line of another program\n",
                        time.strftime("%b %d %T")
                    );
                }
            }
            let (found, err) = read("", &stamped);
            assert_eq!(
                (found.len(), err.lines().count()),
                (expected.len(), 1),
                "{form} {options}: {err}"
            );
            for (found, expected) in found.iter().zip(&expected) {
                let seconds = |line: &Value| line["time"].as_str().unwrap()[17..19].to_owned();
                assert_eq!(seconds(found), seconds(expected), "{form} {options}");
                assert!(
                    found["writes_per_s"].as_f64() == expected["writes_per_s"].as_f64()
                        || options == "-xh"
                );
            }
        }
    }
}

#[test]
fn a_date_without_a_year_is_in_that_in_which_the_file_was_changed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.txt");
    let lines = |times: &[&str], text: &str| {
        times
            .iter()
            .map(|time| format!("{time} {text}"))
            .collect::<String>()
    };
    let disk = "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n";
    let copies = lines(
        &["Dec 31 23:59:59", "Jan  1 00:00:00", "Jan  1 00:00:01"],
        disk,
    );
    let head = "Linux 6.1.0 (db1) _x86_64_ (2 CPU)\n";
    let report = "Device tps kB_read/s\nsda 1.00 4.00\n\n";
    let reports = lines(
        &["Dec 31 23:59:59", "Jan  1 00:00:00", "Jan  1 00:00:01"],
        report,
    );
    let stamped = |text: String| {
        text.replace("\nsda", "\n- - - sda")
            .replace("\n\n", "\n- - - \n")
    };
    for text in [copies, stamped(format!("Dec 31 23:59:58 {head}{reports}"))] {
        std::fs::write(&path, text).unwrap();
        let changed = "2024-01-01T00:00:02Z".parse::<jiff::Timestamp>().unwrap();
        std::fs::File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_modified(changed.into())
            .unwrap();
        let (out, err, _) = output(&format!("--json --all {}", path.display()), "");
        let times: Vec<&str> = out.lines().map(|line| &line[9..29]).collect();
        assert_eq!(
            times,
            ["2024-01-01T00:00:00.", "2024-01-01T00:00:01."],
            "{err}"
        );
    }
}

#[test]
fn the_order_of_day_and_month_follows_from_the_log() {
    let report = |time: &str, number: &str| {
        format!("{time}\nDevice tps kB_read/s\nsda {number} {number}\n\n")
    };
    let log = |date: &str, times: [&str; 3], number: &str| {
        format!("Linux 6.1.0 (db1) \t{date} \t_x86_64_\t(2 CPU)\n\n")
            + &times.map(|time| report(time, number)).concat()
    };
    let of = |text: &str| {
        let (lines, err) = read("", text);
        let times: Vec<_> = lines
            .iter()
            .map(|line| line["time"].as_str().unwrap()[..19].to_owned())
            .collect();
        (times, err.contains(", dates taken for month/day;"), err)
    };
    let (june, december) = (
        ["2018-06-12T11:00:01", "2018-06-12T11:00:02"],
        ["2018-12-06T11:00:01", "2018-12-06T11:00:02"],
    );
    for (times, number, expected, is_ambiguous) in [
        (["11:00:00", "11:00:01", "11:00:02"], "1.00", june, true),
        (
            ["11:00:00 AM", "11:00:01 AM", "11:00:02 AM"],
            "1.00",
            june,
            false,
        ),
        (
            ["11:00:00", "11:00:01", "11:00:02"],
            "1,00",
            december,
            false,
        ),
    ] {
        for date in ["", "06/12/2018 "] {
            let times = times.map(|time| format!("{date}{time}"));
            let (found, is_said, err) = of(&log(
                "06/12/2018",
                times.each_ref().map(String::as_str),
                number,
            ));
            assert_eq!(
                (&found[..], is_said),
                (&expected.map(str::to_owned)[..], is_ambiguous),
                "{number}: {err}"
            );
        }
    }
    // The next day shows it, and nothing spans the day that was taken for another.
    let times = [
        "06/12/2018 23:59:58",
        "06/12/2018 23:59:59",
        "07/12/2018 00:00:00",
    ];
    let first = log(
        "06/12/2018",
        ["06/12/2018 23:59:56", "06/12/2018 23:59:57", times[0]],
        "1.00",
    );
    let text = first
        + &times[1..]
            .iter()
            .map(|time| report(time, "1.00"))
            .collect::<String>();
    let (found, _, err) = of(&(text + &report("07/12/2018 00:00:01", "1.00")));
    let days: Vec<&str> = found.iter().map(|time| &time[..10]).collect();
    assert_eq!(
        days,
        ["2018-06-12", "2018-06-12", "2018-06-12", "2018-12-07"],
        "{err}"
    );
    assert!(err.contains("a gap of more than 100 intervals"), "{err}");
    // A file has no dates after its last change.
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        file.path(),
        log(
            "02/01/2018",
            ["02/01/2018 11:00:00", "02/01/2018 11:00:01", "x"],
            "1.00",
        ),
    )
    .unwrap();
    file.as_file()
        .set_modified(
            "2018-01-02T11:00:02Z"
                .parse::<jiff::Timestamp>()
                .unwrap()
                .into(),
        )
        .unwrap();
    let (out, err, _) = output(&format!("--json --all {}", file.path().display()), "");
    assert!(
        out.starts_with("{\"time\":\"2018-01-02T11:00:01.") && !err.contains("month/day"),
        "{out}{err}"
    );
}

#[test]
fn amounts_and_rates_show_how_far_apart_reports_are() {
    let report = |rate: u64, seconds: u64| {
        format!(
            "Device tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsda {rate}.00 {rate}.20 0.00 {} 0\n\n",
            rate * seconds
        )
    };
    let text = |seconds: u64| {
        "Linux 6.1.0 (db1) 08/13/17 (2 CPU)\n\n".to_owned()
            + &report(40, 86_400)
            + &report(50, seconds)
            + &report(0, seconds)
            + &report(70, seconds)
    };
    for seconds in [1, 5, 60] {
        let (lines, err) = read("", text(seconds));
        assert!(
            lines.len() == 3 && lines.iter().all(|line| line["elapsed_s"] == seconds as f64),
            "{lines:?}"
        );
        let found = err.contains(&format!(
            "have no times and are, as their numbers show, {seconds} s apart\n"
        ));
        assert!(found, "{err}");
    }
    assert!(
        read("--every 2s", text(5))
            .0
            .iter()
            .all(|line| line["elapsed_s"] == 2.0)
    );
}

#[test]
fn the_first_report_of_y_is_an_interval_if_its_length_is_known() {
    let log = |head: &str, time: &str, reports: usize| {
        let report = |at: usize| {
            let time = time.replace("{}", &format!("{:02}", 10 * at));
            format!(
                "{time}Device  tps kB_read/s kB_wrtn/s kB_read kB_wrtn\nsda  7.00 40.00 8.00 400 80\n\n"
            )
        };
        format!("Linux 6.1.0 (db1) 08/13/17 (2 CPU)\n{head}")
            + &(1..=reports).map(report).collect::<String>()
    };
    let intervals = |options: &str, text: &str| {
        let (lines, err) = read(options, text);
        let is_right = |line: &Value| line["elapsed_s"] == 10.0 && line["read_kib_per_s"] == 40.0;
        assert!(lines.iter().all(is_right), "{text}: {lines:?}");
        (lines.len(), err)
    };
    for time in ["", "08/13/17 10:00:{}\n"] {
        for reports in [1, 3] {
            assert_eq!(
                intervals("", &log("\n\n", time, reports)).0,
                reports,
                "{time}"
            );
            assert_eq!(
                intervals("", &log("\n", time, reports)).0,
                reports - 1,
                "{time}"
            );
        }
        let without_amounts = log("\n\n", time, 1)
            .replace(" kB_read kB_wrtn", "")
            .replace(" 400 80", "");
        assert_eq!(intervals("--every 10s", &without_amounts).0, 1);
        let json = |first: &str| {
            let report = |at: usize| {
                let time = if time.is_empty() {
                    String::new()
                } else {
                    format!("\"timestamp\": \"08/13/17 10:00:{at}0\", ")
                };
                let device = "\t{\"disk_device\": \"sda\", \"tps\": 7.0, \"kB_read/s\": 40.0, \"kB_wrtn/s\": 8.0, \"kB_read\": 400, \"kB_wrtn\": 80}";
                format!("\t{{{time}\"disk\": [\n{device}\n]}}")
            };
            let reports = [1, 2, 3].map(report).join(",\n");
            format!(
                "{{\"sysstat\": {{\"hosts\": [{{\"nodename\": \"db1\", \"date\": \"08/13/17\", \"statistics\": [\n{first}{reports}]}}]}}}}\n"
            )
        };
        assert_eq!(
            [intervals("", &json("\n")).0, intervals("", &json("")).0],
            [3, 2],
            "{time}"
        );
        let (count, err) = intervals("", &without_amounts);
        assert!(
            count == 0 && err.contains("of one of iostat -y, --every 10s states the length"),
            "{err}"
        );
    }
}

#[test]
fn what_a_log_lacks_is_missing() {
    let split = [
        "reads_per_s",
        "writes_per_s",
        "read_await_ms",
        "write_await_ms",
        "queue",
        "util_pct",
    ];
    let merges = [
        "read_merges_per_s",
        "write_merges_per_s",
        "discards_per_s",
        "discard_await_ms",
    ];
    let flushes = ["flushes_per_s", "flush_await_ms", "write_size_kib"];
    let all = [&split[..], &merges, &flushes].concat();
    for options in ["-d", "-dk", "", "-t", "-o JSON"] {
        compare(options, RATES, &all, &log(options));
    }
    let short = [
        &all[..4],
        &merges[..2],
        &["read_kib_per_s", "write_kib_per_s"],
    ]
    .concat();
    let flushes: Vec<_> = RATES
        .iter()
        .filter(|(name, ..)| !name.starts_with(['d', 'f']))
        .copied()
        .collect();
    compare("-xs", &flushes, &short, &log("-xs"));
    let (_, err) = read("", log("-d"));
    assert!(
        err.ends_with(
            ": from an iostat log: rates rounded to 0.01, dates taken for month/day; not known: requests in flight, reads and writes apart, \
             the latency of reads and of writes, merges, util, the queue; its reports have no times and are, as \
             their numbers show, 1 s apart\n"
        ),
        "{err}"
    );
    let (_, err) = read("", log("-x"));
    assert!(
        err.ends_with(" are, as their numbers show, 1 s apart\n"),
        "{err}"
    );
    // A device is active if it transfers anything, although no request counts as a read or write.
    let (out, ..) = output("--json --from -", log("-d"));
    assert_eq!(out.lines().count() as u64, 2 * (SAMPLES - 1));
}

#[test]
fn logs_of_other_versions_are_read() {
    let head = "Linux 2.6.32-696.el6.x86_64 (db1) \t13.06.2018 \t_x86_64_\t(8 CPU)\n\n";
    let first = |line: &str| {
        let zeros = " 0.00".repeat(line.split_whitespace().count() - 1);
        format!("{line}\nsda{zeros}\n\n")
    };
    let of = |line: &str, numbers: &str| {
        let (found, err) = read(
            "",
            format!("{head}{}{line}\nsda {numbers}\n\n", first(line)),
        );
        assert_eq!(found.len(), 1, "{line}: {err}");
        found[0].clone()
    };
    // Version 9: one latency for both directions.
    let line =
        "Device:  rrqm/s  wrqm/s  r/s  w/s  rsec/s  wsec/s avgrq-sz avgqu-sz  await  svctm  %util";
    let found = of(
        line,
        "1.00 2.00 30.00 50.00 240.00 480.00 9.00 1.60 20.00 1.00 8.00",
    );
    assert_eq!(
        (&found["time"], &found["reads_per_s"]),
        (&"2018-06-13T00:00:01.000000Z".into(), &30.0.into())
    );
    assert_eq!(
        (&found["write_kib_per_s"], &found["read_kib_per_s"]),
        (&240.0.into(), &120.0.into())
    );
    assert_eq!(
        (&found["queue"], &found["util_pct"]),
        (&1.6.into(), &8.0.into())
    );
    assert!(
        found["read_await_ms"].is_null()
            && found["write_queue"].is_null()
            && found["discards_per_s"].is_null()
    );
    // Version 10 and 11.
    let line = "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util";
    let found = of(
        line,
        "1.00 2.00 30.00 50.00 120.00 240.00 9.00 1.60 20.00 10.00 26.00 1.00 8.00",
    );
    assert_eq!(
        (&found["read_await_ms"], &found["write_await_ms"]),
        (&10.0.into(), &26.0.into())
    );
    // Version 12.0: discards, but no flushes, and the columns in another order.
    let line = "Device r/s w/s rMB/s wMB/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm %util";
    let found = of(
        line,
        "30.00 50.00 1.50 0.00 0.00 0.00 0.00 0.00 10.00 26.00 1.60 4.00 4.80 1.00 8.00",
    );
    assert_eq!(
        (&found["read_kib_per_s"], &found["write_await_ms"]),
        (&1536.0.into(), &26.0.into())
    );
    // Blocks, and a long name on a line of its own.
    let line = "Device:            tps   Blk_read/s   Blk_wrtn/s   Blk_read   Blk_wrtn";
    let text = format!(
        "{head}{}",
        format!("{line}\nlong-name-of-a-volume\n 1.00 80.00 16.00 80 16\n\n").repeat(2)
    );
    let (found, _) = read("", text);
    assert_eq!(
        (&found[0]["device"], &found[0]["read_kib_per_s"]),
        (&"long-name-of-a-volume".into(), &40.0.into())
    );
    assert_eq!(
        (&found[0]["elapsed_s"], &found[0]["reads_per_s"]),
        (&1.0.into(), &Value::Null)
    );
}

#[test]
fn a_log_that_is_cut_anywhere_has_fewer_intervals_and_none_that_is_wrong() {
    let options = [
        "-x",
        "-xt",
        "-d",
        "-xh",
        "-xm",
        "-x -o JSON",
        "-dt -o JSON",
        "-xs",
        "-xz",
        "-dy",
        "-xN",
    ];
    let logs = options.map(|options| (options, log(options)));
    let stamped = logs.iter().map(|(options, log)| {
        (
            *options,
            log.lines()
                .map(|line| format!("2017-08-06T06:13:20.5Z {line}\n"))
                .collect::<String>(),
        )
    });
    for (first, (options, log)) in logs.iter().cloned().chain(stamped).enumerate() {
        for log in [log.replace('\n', "\r\n"), log] {
            let whole = samples(log.as_bytes());
            let mut lengths = std::collections::BTreeSet::new();
            let lines = log.match_indices('\n').map(|(at, _)| at + 1);
            for cut in (first * 2..log.len()).step_by(47).chain(lines) {
                let part = samples(&log.as_bytes()[..cut]);
                assert!(whole.starts_with(&part), "{options} cut at {cut}: {part:?}");
                lengths.insert(part.len() as u64);
            }
            // Some have all intervals, others fewer.
            assert!(lengths.len() as u64 >= SAMPLES, "{options}: {lengths:?}");
        }
    }
}

#[test]
fn a_damaged_line_costs_the_values_of_its_device() {
    let log = log("-xt");
    let (all, _) = read("", &log);
    // The third of six reports loses the middle of a line.
    let at = log.match_indices("nvme0n1").nth(2).unwrap().0;
    let (found, err) = read("", [&log[..at + 30], &log[at + 60..]].concat());
    assert!(
        err.contains("numbers after the device, expected 22; its values are not known"),
        "{err}"
    );
    assert_eq!(found.len(), all.len());
    let damaged = |line: &Value| line["time"] == all[3]["time"] && line["device"] == "nvme0n1";
    for line in found.iter().filter(|line| damaged(line)) {
        assert!(
            line["reads_per_s"].is_null() && line["verdict"].is_null(),
            "{line}"
        );
    }
    let rates = |line: &Value| {
        (
            line["time"].clone(),
            line["device"].clone(),
            line["reads_per_s"].clone(),
        )
    };
    let rates_of = |lines: &[Value]| -> Vec<_> {
        lines
            .iter()
            .filter(|line| !damaged(line))
            .map(rates)
            .collect()
    };
    assert_eq!(rates_of(&found), rates_of(&all));
}

#[test]
fn each_run_of_iostat_in_a_file_begins_anew() {
    let log = log("-xt");
    let (one, _) = read("", &log);
    let (two, err) = read("", log.repeat(2));
    assert_eq!(two.len(), 2 * one.len(), "{err}");
    // A run that was killed within a line is followed by another.
    let cut = log.match_indices("sdc").nth(3).unwrap().0 + 20;
    let (found, err) = read("", format!("{}{log}", &log[..cut]));
    assert_eq!(found.len(), one.len() + 2 * 3, "{err}");
}

#[test]
fn views_and_ranges_work_on_a_log() {
    let log = log("-xt");
    let (found, _) = read("--begin 06:13:22 --end 06:13:24", &log);
    assert_eq!(found.len(), 3 * 2, "{found:?}");
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("log.txt");
    std::fs::write(&path, &log).unwrap();
    let path = path.display().to_string();
    let run = |words: &str| {
        let (out, err, code) = output(&words.replace("LOG", &path), "");
        assert_eq!(code, 0, "{words}: {err}");
        out
    };
    assert_eq!(
        run("--json --all --begin -2s --from LOG").lines().count(),
        3 * 2
    );
    assert!(run("analyze LOG").contains("nvme0n1"));
    assert!(run("report LOG -o -").contains("nvme0n1"));
}

#[test]
fn a_time_before_a_report_is_that_of_the_report() {
    let report = |second: u64, rate: u64| {
        format!(
            "zzz ***Sun Aug 6 06:13:{second} UTC 2017\navg-cpu:  %user\n           1.00\n\nDevice:            tps    kB_read/s    \
             kB_wrtn/s    kB_read    kB_wrtn\nsda              {rate}.00       80.00         0.00          0          0\n\n"
        )
    };
    let (lines, err) = read("", report(20, 9) + &report(30, 10) + &report(40, 11));
    let times: Vec<&str> = lines
        .iter()
        .map(|line| line["time"].as_str().unwrap())
        .collect();
    assert_eq!(
        times,
        ["2017-08-06T06:13:30.000000Z", "2017-08-06T06:13:40.000000Z"],
        "{err}"
    );
    assert!(
        lines
            .iter()
            .all(|line| line["elapsed_s"] == 10.0 && line["read_kib_per_s"] == 80.0),
        "{lines:?}"
    );
    assert!(
        err.contains("from an iostat log") && err.lines().count() == 1,
        "{err}"
    );
}
