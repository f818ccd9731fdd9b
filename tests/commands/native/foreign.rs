//! Captures whose samples do not begin with `TS` lines: each form gives the rates of its twin that has them.

use std::io::{BufRead, BufReader, Lines, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

use super::sar_logs::samples;
use crate::support::program::{blkstat, output};
use crate::support::text::json_lines;

const FIRST_S: i64 = 1_502_000_000;
const SAMPLES: i64 = 8;

/// The copies of /proc/diskstats.
fn copies() -> Vec<Vec<String>> {
    let line = |second: i64, minor: i64, name: &str| {
        let (reads, writes) = (500 + second * (40 + 7 * minor), 300 + second * second * 3);
        format!(
            "   8       {minor} {name} {reads} 2 {} {} {writes} 5 {} {} {} {} {}",
            reads * 8,
            reads * 2,
            writes * 16,
            writes * 3,
            second % 3,
            second * 400,
            reads * 2 + writes * 3
        )
    };
    let copy = |second| {
        vec![
            line(second, 0, "sda"),
            line(second, 1, "sda1"),
            line(second, 16, "dm-0"),
        ]
    };
    (0..SAMPLES).map(copy).collect()
}

/// The time of each copy in the form of strftime(3).
fn times(form: &str) -> Vec<String> {
    let time = |second| {
        let time = jiff::Timestamp::from_second(FIRST_S + second).unwrap();
        time.to_zoned(jiff::tz::TimeZone::UTC)
            .strftime(form)
            .to_string()
    };
    (0..SAMPLES).map(time).collect()
}

fn before_copies(times: &[String]) -> String {
    let copies = copies();
    times
        .iter()
        .zip(&copies)
        .map(|(time, copy)| format!("{time}\n{}\n", copy.join("\n")))
        .collect()
}

fn in_each_line(times: &[String]) -> String {
    let copies = copies();
    let lines = times
        .iter()
        .zip(&copies)
        .flat_map(|(time, copy)| copy.iter().map(move |line| format!("{time} {line}\n")));
    lines.collect()
}

/// The times behind the copies.
fn after_copies(times: &[String]) -> String {
    let copies = copies();
    times
        .iter()
        .zip(&copies)
        .map(|(time, copy)| format!("{}\n{time}\n", copy.join("\n")))
        .collect()
}

/// All fields of all lines of JSON but the time, and the note on standard error.
fn rates(options: &str, capture: &str) -> (Vec<serde_json::Value>, String) {
    let (out, err, code) = output(
        &format!("--json --all --partitions {options} --from -"),
        capture,
    );
    assert_eq!(code, 0, "{err}");
    let line = |line: &str| {
        let mut value: serde_json::Value = serde_json::from_str(line).unwrap();
        let fields = value.as_object_mut().unwrap();
        fields.remove("time");
        fields.remove("time_s");
        value
    };
    (out.lines().map(line).collect(), err)
}

#[test]
fn every_form_of_time_gives_the_rates_of_its_twin() {
    let (expected, note) = rates("", &before_copies(&times("TS %s.000000000 %F %T")));
    assert_eq!(
        (expected.len() as i64, note.as_str()),
        ((SAMPLES - 1) * 3, "")
    );
    let with = |form: &str, number: fn(i64) -> String| -> Vec<String> {
        (0..SAMPLES)
            .map(|second| form.replace("{}", &number(second)))
            .collect()
    };
    let mut captures: Vec<(String, String)> = Vec::new();
    for form in [
        "%s",
        "%s.000000000",
        "%a %b %e %T UTC %Y",
        "%a %d %b %Y %I:%M:%S %p UTC",
        "%FT%T+00:00",
        "%FT%TZ",
        "%F %T",
        "### %F %T ###",
        "--- %T",
        "zzz ***%a %b %e %T UTC %Y",
        "TS %FT%T",
        "So %e. Aug %T UTC 2017",
        "dimanche %e août %Y, %T (UTC+0000)",
        "%Y年 %m月 %d日 日曜日 %T UTC",
        "%b %d %T",
        "%Y/%m/%d %T",
        "%F-%T",
        "%F_%H-%M-%S",
        "%F.%H.%M.%S",
        "Every 1.0s: cat /proc/diskstats      db1: %a %b %e %T %Y\n",
        "%s\ncpu  1 2 3 4 5 6 7 8 0 0\nbtime 1500000000",
    ] {
        captures.push((form.to_owned(), before_copies(&times(form))));
    }
    captures.push((
        "uptime".to_owned(),
        before_copies(&with("{}.25 99.10", |second| (5000 + second).to_string())),
    ));
    captures.push((
        "ms".to_owned(),
        before_copies(&with("{}", |second| {
            ((FIRST_S + second) * 1000).to_string()
        })),
    ));
    for form in [
        "%s",
        "%FT%TZ",
        "%FT%T.000000000Z",
        "%b %d %T",
        "%b %d %T db1 disks[77]:",
        "%T",
        "[%F %T]",
    ] {
        captures.push((format!("{form} in each line"), in_each_line(&times(form))));
    }
    for (form, capture) in captures {
        let (found, note) = rates("", &capture);
        assert_eq!(found, expected, "{form}");
        assert!(
            note.contains(":1: samples have no 'TS' lines; their times are ")
                && note.lines().count() == 1,
            "{form}: {note}"
        );
    }
}

/// Files of /proc that are often copied with diskstats, and hold numbers that look like times.
fn other_files(second: i64) -> String {
    let (switches, faults, free) = (
        1_502_345_678 + second * 5000,
        1_402_000_000 + second * 17,
        second * 7919 % 31,
    );
    format!(
        "0.10 0.20 0.30 1/234 5678\ncpu  1 2 3 4\nintr {switches} 0 {faults}\nctxt {switches}\nbtime 1501999000\n\
         MemTotal: 1602000000 kB\nMemFree: {} kB\npgfault {faults}\n1 0 0 1234567 12345\n",
        1_502_000_000 + free
    )
}

#[test]
fn the_clock_among_several_times_is_the_one_that_goes_on() {
    let (expected, _) = rates("", &before_copies(&times("TS %s.000000000")));
    let head = "db17 since Mon Jul 31 10:00:00 UTC 2017\nLinux 4.9.0 #1 SMP (2017-06-12 06:13:20)\nstart 1501900000\n\n";
    for form in [
        "%F %T",
        "%a %b %e %T UTC %Y",
        "%s",
        "--- %T",
        "node1502003333 %s",
        "%T up 4 days,  1:42,  2 users",
    ] {
        let times = times(form);
        let with_files = |is_first: bool| -> Vec<String> {
            let both = |(second, time): (usize, &String)| {
                let files = other_files(second as i64);
                if is_first {
                    format!("{files}{time}")
                } else {
                    format!("{time}\n{files}")
                }
            };
            times.iter().enumerate().map(both).collect()
        };
        for is_first in [true, false] {
            let capture = before_copies(&with_files(is_first));
            assert_eq!(
                rates("", &capture).0,
                expected,
                "{form}, files first: {is_first}"
            );
            assert_eq!(
                rates("", &(head.to_owned() + &capture)).0,
                expected,
                "{form} below a header"
            );
        }
        assert_eq!(
            rates("", &after_copies(&times)).0,
            expected,
            "{form} after each copy"
        );
        assert_eq!(
            rates("", &before_copies(&times).replace('\n', "\r\n")).0,
            expected,
            "{form} with CRLF"
        );
    }
}

#[test]
fn clocks_go_on_at_midnight_and_when_they_are_changed() {
    let at = |first: &str, zone: &str, form: &str| {
        let zone = jiff::tz::TimeZone::get(zone).unwrap();
        let first: jiff::Timestamp = first.parse().unwrap();
        let time = |second: i64| jiff::Timestamp::from_second(first.as_second() + second).unwrap();
        let text = |second| {
            time(second)
                .to_zoned(zone.clone())
                .strftime(form)
                .to_string()
        };
        before_copies(&(0..SAMPLES).map(text).collect::<Vec<_>>())
    };
    let (expected, _) = rates("", &before_copies(&times("TS %s.000000000")));
    let berlin = ["2017-10-29T00:59:55Z", "2017-03-26T00:59:55Z"].map(|at| (at, "Europe/Berlin"));
    let midnight = [
        "2017-08-31T23:59:55Z",
        "2020-02-29T23:59:55Z",
        "2017-12-31T23:59:55Z",
    ]
    .map(|at| (at, "UTC"));
    for (first, zone) in berlin.into_iter().chain(midnight) {
        for form in [
            "%F %T",
            "%a %b %e %T %Z %Y",
            "%T",
            "%b %e %T",
            "%d/%m/%Y %T",
            "%m/%d/%Y %I:%M:%S %p",
            "%I:%M:%S",
        ] {
            let (found, note) = rates("", &at(first, zone, form));
            assert_eq!(
                (found, note.lines().count()),
                (expected.clone(), 1),
                "{form} from {first}: {note}"
            );
        }
    }
    // Before midnight either number may be the day, and in a file the next day decides.
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(
        file.path(),
        at("2017-06-07T23:59:55Z", "UTC", "%d/%m/%Y %T"),
    )
    .unwrap();
    let (out, _, _) = output(&format!("--json --all {}", file.path().display()), "");
    assert!(out.starts_with("{\"time\":\"2017-06-07T23:59:56."), "{out}");
}

#[test]
fn copies_within_a_second_are_spread_evenly() {
    // Eight copies in a second and more, from any point of it.
    for (per_second, first) in [(2, 0), (2, 1), (4, 3), (8, 5)] {
        let seconds = |at: i64| (FIRST_S * per_second + first + at) as f64 / per_second as f64;
        let copies: Vec<String> = (0..5)
            .flat_map(|_| copies())
            .map(|copy| copy[0].clone())
            .collect();
        let growing = |at: usize| copies[0].replacen(" 500 ", &format!(" {} ", 500 + 10 * at), 1);
        let capture = |form: fn(f64) -> String| -> String {
            (0..copies.len())
                .map(|at| format!("{}\n{}\n", form(seconds(at as i64)), growing(at)))
                .collect()
        };
        let (expected, _) = rates("", &capture(|second| format!("TS {second:.9}")));
        let whole = capture(|second| format!("{}", second.floor()));
        let (found, note) = rates("", &whole);
        assert_eq!(note.lines().count(), 1, "{note}");
        let differing = expected
            .iter()
            .zip(&found)
            .filter(|(one, other)| one != other)
            .count();
        // What is shown of a pipe before the first full second may be wrong.
        assert!(
            expected.len() == found.len() && differing < 2 * per_second as usize,
            "{per_second}: {differing}"
        );
        let every = format!("--every {}ms", 1000 / per_second);
        assert_eq!(rates(&every, &whole).0, expected, "{every} from {first}");
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &whole).unwrap();
        let (out, _, _) = output(&format!("--json --all {}", file.path().display()), "");
        let steady = format!("\"elapsed_s\":{},", 1.0 / per_second as f64);
        assert!(
            out.lines().count() == expected.len() && out.lines().all(|line| line.contains(&steady)),
            "{out}"
        );
    }
}

/// What collectors of logs and terminals wrap lines in.
#[test]
fn wrapped_lines_give_the_rates_of_their_twin() {
    let (expected, _) = rates("", &before_copies(&times("TS %s.000000000")));
    let with_lines = |form: &str, line: fn(&str, &str) -> String| -> String {
        let lines = times(form).into_iter().zip(copies());
        lines
            .flat_map(|(time, copy)| copy.into_iter().map(move |text| line(&time, &text)))
            .collect()
    };
    let lines_of_json = with_lines("%FT%TZ", |time, line| {
        format!("{{\"log\":\"{line}\\n\",\"stream\":\"stdout\",\"time\":\"{time}\"}}\n")
    });
    let journal = with_lines("%s000000", |time, line| {
        let uptime = time.replace("150200", "90");
        format!(
            "{{\"MESSAGE\":\"{line}\",\"__MONOTONIC_TIMESTAMP\":\"{uptime}\",\"__REALTIME_TIMESTAMP\":\"{time}\"}}\n"
        )
    });
    let copies_of_json: String = times("%s")
        .iter()
        .zip(copies())
        .map(|(time, copy)| {
            format!(
                "{{\"ts\":{time}.0,\"disks\":\"{}\\n\"}}\n",
                copy.join("\\n")
            )
        })
        .collect();
    let colors = before_copies(&times("\u{1b}[32m%F %T\u{1b}[0m"))
        .replace("sda", "\u{1b}[01;31m\u{1b}[Ksda\u{1b}[m\u{1b}[K");
    for capture in [lines_of_json, journal, copies_of_json, colors] {
        assert_eq!(rates("", &capture).0, expected, "{capture}");
    }
    let files = with_lines("%s", |time, line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        format!(
            "{time} /sys/block/{}/stat: {}\n",
            words[2],
            words[3..].join("   ")
        )
    });
    assert_eq!(rates("", &files).0, expected);
}

#[test]
fn a_file_without_any_line_of_diskstats_is_one_error() {
    let capture = before_copies(&times("TS %s"));
    let cut = |columns: std::ops::Range<usize>| -> String {
        let line = |line: &str| {
            let words: Vec<&str> = line.split_whitespace().collect();
            let is_time = words[0] == "TS";
            words[if is_time { 0..2 } else { columns.clone() }].join(" ") + "\n"
        };
        capture.lines().map(line).collect()
    };
    for (columns, reason) in [
        (
            2..14,
            "not a diskstats line: 'sda 500 2 4000 1000 300 5 4800 900 0 0 1…'",
        ),
        (0..11, "11 columns, expected 7, 14, 18 or 20"),
        (0..10, "10 columns, expected 7, 14, 18 or 20"),
    ] {
        let (out, err, code) = output("--json --all --from -", cut(columns));
        assert_eq!(
            (out.as_str(), err.lines().count(), code),
            ("", 1, 2),
            "{err}"
        );
        assert!(
            err.ends_with(&format!("line 2, the first wrong one: {reason}\n")),
            "{err}"
        );
    }
}

#[test]
fn times_since_the_line_before_are_no_clock() {
    let line = |(at, line): (usize, &String)| format!("00:00:0{} {line}\n", u8::from(at == 0));
    let capture: String = copies()
        .iter()
        .map(|copy| copy.iter().enumerate().map(line).collect::<String>())
        .collect();
    let (out, err, code) = output("--json --all --from -", capture);
    assert_eq!((out.as_str(), code), ("", 1));
    assert!(
        err.ends_with("without times; state their distance: --every 1s\n"),
        "{err}"
    );
}

#[test]
fn of_several_dates_before_a_copy_the_nearest_is_its_time() {
    let login = "Last login: %a %b %e %H:00:00 %Y from db2\n%a %b %e %T UTC %Y";
    let earlier = times("Last login: %a %b %e %T 2016 from db2\n%a %b %e %T UTC %Y");
    for times in [times(login), earlier] {
        let (out, err, _) = output("--json --all --from -", before_copies(&times));
        assert!(
            out.starts_with("{\"time\":\"2017-08-06T06:13:21.000000Z\""),
            "{err}{out}"
        );
    }
}

#[test]
fn another_boot_or_host_begins_a_segment() {
    let sample = |second: i64, names: &[(&str, i64)]| {
        let line = |(name, ios): &(&str, i64)| {
            format!(
                "8 0 {name} {ios} 0 {} {ios} {ios} 0 {} 9 0 {ios} {ios}\n",
                ios * 8,
                ios * 8
            )
        };
        format!(
            "TS {second}\n{}",
            names.iter().map(line).collect::<String>()
        )
    };
    let warning = |later: &str, first: &str| {
        let (out, err, _) = output("--json --all --from -", &(first.to_owned() + later));
        assert!(
            out.lines().all(|line| line.contains("\"elapsed_s\":1.0,")),
            "{out}"
        );
        assert_eq!(err.lines().count(), 1, "{err}");
        err
    };
    let first = sample(100, &[("sda", 500), ("sdb", 500)])
        + &sample(101, &[("sda", 510), ("sdb", 520)])
        + &sample(102, &[("sda", 520), ("sdb", 540)]);
    let reboot = sample(103, &[("sda", 5), ("sdb", 7)]) + &sample(104, &[("sda", 9), ("sdb", 9)]);
    assert!(warning(&reboot, &first).contains("counters that begin again at 1970-01-01T00:01:43Z"));
    let host = sample(103, &[("vda", 5), ("vdb", 7)]) + &sample(104, &[("vda", 9), ("vdb", 9)]);
    assert!(warning(&host, &first).contains("other devices at 1970-01-01T00:01:43Z"));
    let gap = sample(40_000, &[("sda", 600), ("sdb", 600)])
        + &sample(40_001, &[("sda", 610), ("sdb", 620)]);
    assert!(
        warning(&gap, &first).contains("a gap of more than 100 intervals at 1970-01-01T11:06:40Z")
    );
}

#[test]
fn another_host_with_larger_counters_of_one_device_begins_a_segment() {
    let sample = |second: i64, names: &[(&str, i64, i64)]| {
        let line = |(name, ios, busy): &(&str, i64, i64)| {
            format!("8 0 {name} {ios} 0 {ios} {ios} {ios} 0 {ios} 9 0 {busy} {ios}\n")
        };
        format!(
            "TS {second}\n{}",
            names.iter().map(line).collect::<String>()
        )
    };
    let text = |later: [(i64, i64); 2]| {
        let [(ios, busy), (next_ios, next_busy)] = later;
        sample(100, &[("sda", 500, 1000), ("sdb", 500, 1000)])
            + &sample(101, &[("sda", 510, 1010), ("sdb", 520, 1020)])
            + &sample(102, &[("sda", 90, 700), ("sdb", ios, busy)])
            + &sample(103, &[("sda", 91, 710), ("sdb", next_ios, next_busy)])
    };
    let (out, err, _) = output(
        "--json --all --from -",
        text([(9_000_000, 90_000_000), (9_000_010, 90_000_010)]),
    );
    assert!(
        err.contains("counters that begin again at 1970-01-01T00:01:42Z"),
        "{err}"
    );
    assert_eq!(out.lines().count(), 4, "{out}");
    // A device that was replaced while the other goes on is a matter of that device.
    assert_eq!(
        output("--json --all --from -", text([(530, 1030), (540, 1040)])).1,
        ""
    );
}

/// A sample that is cut anywhere, with or without the newline of an editor or a terminal, costs itself.
#[test]
fn a_sample_that_is_cut_in_the_middle_of_a_capture_gives_no_wrong_number() {
    let expected = rates_by_time(&before_copies(&times("%s")));
    for form in ["TS %s.0", "%s", "%F %T"] {
        let whole: Vec<String> = times(form)
            .iter()
            .zip(copies())
            .map(|(time, copy)| format!("{time}\n{}\n", copy.join("\n")))
            .collect();
        for cut in (0..whole[3].len()).step_by(5) {
            for end in ["", "\n"] {
                let text = [
                    &whole[..3].concat(),
                    &whole[3][..cut],
                    end,
                    &whole[4..].concat(),
                ]
                .concat();
                for line in rates_by_time(&text) {
                    let is_right = line["elapsed_s"] != 1.0
                        || expected.iter().any(|right| {
                            let keys = ["time", "device", "elapsed_s"];
                            let mut values = line.as_object().unwrap().iter();
                            keys.iter().all(|key| line[key] == right[key])
                                && values.all(|(key, value)| {
                                    value.is_null()
                                        || !NUMBERS.contains(&key.as_str())
                                        || *value == right[key]
                                })
                        });
                    assert!(is_right, "{form} cut at {cut} {end:?}: {line}");
                }
            }
        }
    }
}

const NUMBERS: [&str; 8] = [
    "reads_per_s",
    "writes_per_s",
    "read_kib_per_s",
    "write_kib_per_s",
    "read_await_ms",
    "write_await_ms",
    "queue",
    "util_pct",
];

fn rates_by_time(capture: &str) -> Vec<serde_json::Value> {
    let (out, ..) = output("--json --all --partitions --from -", capture);
    json_lines(&out)
}

#[test]
fn a_capture_that_is_cut_anywhere_has_fewer_samples_and_no_others() {
    let forms = [
        "%s",
        "%s.25",
        "%FT%TZ",
        "%F %T",
        "%a %b %e %T UTC %Y",
        "%d/%m/%Y %T",
        "--- %T",
        "%b %d %T db1 disks[7]:",
    ];
    for (first, form) in forms.into_iter().enumerate() {
        for layout in [before_copies, in_each_line, after_copies] {
            let capture = layout(&times(form));
            let whole = samples(capture.as_bytes());
            assert_eq!(whole.len() as i64, SAMPLES, "{form}");
            for cut in (first * 2..capture.len()).step_by(17) {
                let part = samples(&capture.as_bytes()[..cut]);
                // A single sample, which may lack devices, gives no interval.
                let is_shorter = part.len() < 2 || whole.starts_with(&part);
                assert!(is_shorter, "{form} cut at {cut}: {:?}", part.last());
            }
        }
    }
}

#[test]
fn lists_of_processes_between_copies_hold_no_devices() {
    let (expected, _) = rates("", &before_copies(&times("TS %s.000000000")));
    let top = "%F %T\n    PID USER      PR  NI    VIRT    RES    SHR S  %%CPU  %%MEM     TIME+ COMMAND\n    \
               822 root      20   0  167404  11712   8376 S   0.0   0.1   0:05.12 systemd";
    assert_eq!(rates("", &before_copies(&times(top))).0, expected);
}

#[test]
fn copies_without_times_are_converted_with_their_distance() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name).display().to_string();
    let (capture, file) = (path("copies.txt"), path("out.gz"));
    std::fs::write(
        &capture,
        before_copies(&vec![String::new(); SAMPLES as usize]),
    )
    .unwrap();
    let (_, err, code) = output(&format!("record --from {capture} {file}"), "");
    assert!(
        code == 1 && err.contains("without times; state their distance: --every 1s"),
        "{err}"
    );
    let (_, err, code) = output(&format!("record --every 2s --from {capture} {file}"), "");
    assert_eq!((err.as_str(), code), ("", 0));
    let (out, ..) = output(&format!("--json --all {file}"), "");
    assert!(
        out.lines().count() > 0 && out.lines().all(|line| line.contains("\"elapsed_s\":2.0,")),
        "{out}"
    );
    let (_, err, code) = output(&format!("record --every 2s {file} 1 1"), "");
    assert_eq!(
        (err.as_str(), code),
        (
            "blkstat: --every needs a capture, such as --from CAPTURE\n",
            2
        )
    );
}

#[test]
fn stacking_of_a_device_that_the_capture_lacks_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("copies.txt").display().to_string();
    std::fs::write(&path, before_copies(&times("%s"))).unwrap();
    for command in ["", "analyze", "devices"] {
        for (stack, missing) in [
            ("dm-0=sdz", "sdz"),
            ("dm-7=sda", "dm-7"),
            ("dm-0=sda,sdz", "sdz"),
        ] {
            let (_, err, code) = output(&format!("{command} --stack {stack} {path}"), "");
            let last = err.lines().last().unwrap_or_default();
            let message = format!("blkstat: --stack {stack}: the capture has no device {missing}");
            assert_eq!((last, code), (message.as_str(), 2), "{command}");
        }
    }
    // Of several files the first shows the devices.
    let (out, err, code) = output(&format!("devices {path} {path}"), "");
    assert!(out.contains("dm-0") && err.is_empty() && code == 0, "{err}");
    let (_, err, code) = output(&format!("devices {path} 5"), "");
    assert_eq!(
        (err.as_str(), code),
        (
            "blkstat: devices shows the devices once, without INTERVAL and COUNT\n",
            2
        )
    );
}

#[test]
fn lines_of_linux_2_4_are_one_error() {
    let line = "   8     0   17774160 sda 1 2 3 4 5 6 7 8 9 10 11\n";
    for capture in [format!("TS 1\n{line}TS 2\n{line}"), format!("{line}{line}")] {
        let (out, err, code) = output("--from -", &capture);
        assert_eq!(
            (out.as_str(), err.lines().count(), code),
            ("", 1, 2),
            "{err}"
        );
        assert!(err.contains("Linux 2.4"), "{err}");
    }
    // A damaged line that looks like one costs only itself.
    let good = "   8     16 sdb 1 2 3 4 5 6 7 8 9 10 11\n";
    let (out, err, code) = output(
        "--json --all --from -",
        format!("TS 1\n{good}{line}TS 2\n{good}{line}"),
    );
    assert_eq!((out.lines().count(), code), (1, 0), "{err}");
}

#[test]
fn what_looks_like_a_capture_is_refused_with_a_hint() {
    let copies = copies();
    let lines = |columns: std::ops::RangeFrom<usize>, separator: &str| -> String {
        let words = |line: &String| {
            line.split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let line = |line| words(line)[columns.clone()].join(separator);
        copies
            .iter()
            .flatten()
            .map(|text| format!("{}{separator}{}\n", FIRST_S, line(text)))
            .collect()
    };
    // The second screen of watch has only what changed.
    let watch = format!(
        "Every 1.0s: x  Sun Aug 6 06:13:20 2017\n\n{}\n\x1b[3;22H540\n",
        copies[0].join("\n")
    );
    for (capture, found, remedy) in [
        (
            lines(0.., ","),
            "no samples found; line 1 has columns with commas",
            "with blanks",
        ),
        (
            "time,device,reads,writes\n".into(),
            "no samples found; line 1 has columns with commas",
            "with blanks",
        ),
        (
            lines(2.., " "),
            "no samples found; line 1 lacks the two numbers before the name",
            "write two",
        ),
        (
            "\nmajor minor  #blocks  name\n\n 8 0 488 sda\n".into(),
            "line 2 is the head of /proc/partitions",
            "capture",
        ),
        (
            "# hostname;interval;timestamp;CPU;%user\ndb1;1;1;-1;2\n".into(),
            "line 1 is the head of 'sadf'",
            "-- -d",
        ),
        (
            watch,
            "only one complete sample; line 1 is the head of 'watch'",
            "while sleep 1",
        ),
    ] {
        let (out, err, code) = output("--json --from -", &capture);
        let last = err.lines().last().unwrap_or_default();
        assert_eq!((out.as_str(), code), ("", 1), "{capture}: {err}");
        assert!(
            last.contains(found) && last.contains(remedy),
            "{capture}: {err}"
        );
    }
}

/// Starts a program that reads a capture from a pipe, with the lines that it prints.
fn start_on_pipe(options: &str) -> (Child, ChildStdin, Lines<BufReader<ChildStdout>>) {
    let program = blkstat(&format!("--json --from - {options}")).stdin(Stdio::piped());
    let mut program = program.spawn(Stdio::piped(), Stdio::piped());
    let input = program.stdin.take().unwrap();
    let lines = BufReader::new(program.stdout.take().unwrap()).lines();
    (program, input, lines)
}

#[test]
fn an_invalid_line_that_comes_late_gets_its_warning() {
    let (program, mut input, mut lines) = start_on_pipe("--all");
    let capture = before_copies(&times("TS %s"));
    let samples: Vec<&str> = capture.split_inclusive("TS ").collect();
    for (at, sample) in samples.iter().enumerate() {
        input
            .write_all(sample.trim_end_matches("TS ").as_bytes())
            .unwrap();
        if at > 1 {
            // The sample is whole, and the interval is out.
            lines.next().unwrap().unwrap();
            input.write_all(b"8 0 sdb x 0 0 0 0 0 0 0 0 0 0\n").unwrap();
        }
        input.write_all(b"TS ").unwrap();
    }
    drop(input);
    let err = program.wait_with_output().unwrap().stderr;
    let err = String::from_utf8(err).unwrap();
    assert!(
        err.contains(":9: invalid number 'x' in 'reads completed'; line skipped"),
        "{err}"
    );
}

#[test]
fn a_live_pipe_shows_each_interval_when_its_sample_is_whole() {
    for layout in [before_copies, in_each_line, after_copies] {
        show_as_soon_as_whole(layout);
    }
}

fn show_as_soon_as_whole(layout: fn(&[String]) -> String) {
    let (mut program, mut input, mut lines) = start_on_pipe("--all --partitions");
    let capture = layout(&times("%s "));
    let lines_of_copy = capture.lines().count() / SAMPLES as usize;
    let capture: Vec<&str> = capture.lines().collect();
    for (at, copy) in capture.chunks(lines_of_copy).enumerate() {
        input
            .write_all(format!("{}\n", copy.join("\n")).as_bytes())
            .unwrap();
        if at > 0 {
            // Blocks forever if the interval waits for the next sample.
            let shown: Vec<String> = lines
                .by_ref()
                .take(copies()[0].len())
                .map(Result::unwrap)
                .collect();
            assert!(
                shown.iter().all(|line| line.contains("\"elapsed_s\":1.0,")),
                "{shown:?}"
            );
        }
    }
    drop(input);
    assert!(program.wait().unwrap().success() && lines.next().is_none());
}
