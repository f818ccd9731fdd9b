//! blkstat's own view, as a user sees it. The texts in `fixtures/snapshots/native` are our own output, read by a person
//! before they were committed; `BLKSTAT_REFRESH=1` writes them anew.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use std::fs;
use std::path::Path;

use assert_cmd::Command;

fn blkstat(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blkstat"));
    command.args(words.split_whitespace()).env("TZ", "UTC").env("LC_ALL", "C");
    command
}

fn output(words: &str, input: &str) -> (String, String, i32) {
    let output = blkstat(words).write_stdin(input).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

/// Runs blkstat on a capture and compares both streams and the exit status with what is expected.
fn golden(capture: &str, options: &str) {
    let (out, err, code) = output(&format!("{options} --from fixtures/captures/{capture}.txt"), "");
    let got = format!("{out}--- standard error, exit {code}\n{err}");
    let name: String = options.replace(['-', '/'], "").replace(' ', "-");
    let path = format!("fixtures/snapshots/native/{capture}.{name}.txt");
    if std::env::var_os("BLKSTAT_REFRESH").is_some() {
        fs::write(&path, &got).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(got == expected, "{path} differs; blkstat {options} printed:\n{got}");
}

#[test]
fn captures_at_three_widths() {
    for width in [80, 100, 200] {
        golden("mixed", &format!("--width {width}"));
        golden("capped-3000", &format!("--width {width} 4"));
        golden("comings-and-goings", &format!("--width {width} --summary"));
    }
    golden("names", "--all --all-columns");
    golden("names", "--total --sort r/s --top 3");
    golden("old-kernel", "--all");
    golden("capped-3000", "--explain 2");
    golden("stalls", "--width 100");
    golden("stalls", "--json");
    golden("hostile", "--all");
    golden("hostile", "--csv --all");
}

#[test]
fn machine_formats() {
    golden("mixed", "--json");
    golden("comings-and-goings", "--csv");
}

#[test]
fn no_line_is_wider_than_was_asked_for_and_no_number_is_broken() {
    for capture in
        ["mixed", "capped-3000", "sweep-randread", "names", "stalls", "hostile", "comings-and-goings"]
    {
        for width in [20, 30, 47, 60, 80, 100, 132, 200] {
            for more in ["", " --mounts", " --all --total", " --all --summary"] {
                let options = format!("--width {width}{more} --from fixtures/captures/{capture}.txt");
                let (out, _, _) = output(&options, "");
                let lines = out.lines().filter(|line| line.chars().count() > width);
                let wide: Vec<&str> = lines.collect();
                assert!(wide.is_empty(), "{options}: {wide:#?}");
            }
        }
    }
}

#[test]
fn columns_stand_below_one_another() {
    let (out, _, _) = output("--from fixtures/captures/sweep-randread.txt", "");
    let header = &out.lines().find(|line| line.starts_with("device")).unwrap().replace('≤', "<");
    for line in out.lines().filter(|line| line.starts_with("vda")) {
        let line = &line.replace('µ', "u");
        assert_eq!(line.len(), header.len(), "{line}");
        let ends = |text: &str| {
            let after = |at: &usize| text[*at..].starts_with(' ') && !text[..*at].ends_with(' ');
            (1..text.len()).filter(after).collect::<Vec<_>>()
        };
        // Every column ends where its title does.
        assert_eq!(ends(line)[1..], ends(header)[1..], "{line}");
    }
}

#[test]
fn every_line_of_json_is_an_object_with_the_same_names_and_csv_has_them_too() {
    for capture in ["mixed", "comings-and-goings", "names", "old-kernel", "stalls", "hostile"] {
        let from = format!("--all --from fixtures/captures/{capture}.txt");
        let (json, _, _) = output(&format!("--json {from}"), "");
        let (csv, _, _) = output(&format!("--csv {from}"), "");
        let names = csv.lines().next().unwrap().split(',').collect::<Vec<_>>();
        assert_eq!(names.len(), 42);
        assert_eq!(json.lines().count() + 1, csv.lines().count(), "{capture}");
        for line in json.lines() {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            let object = value.as_object().unwrap();
            assert_eq!(object.len(), names.len());
            assert!(names.iter().all(|name| object.contains_key(*name)), "{line}");
            assert!(!line.contains(|c: char| c.is_control()), "{line:?}");
        }
    }
}

#[test]
fn intervals_of_a_capture_can_be_put_together() {
    let (out, _, code) = output("--json --from fixtures/captures/capped-3000.txt loop0 10 3", "");
    let lengths: Vec<f64> = out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["elapsed_s"].as_f64().unwrap())
        .collect();
    assert_eq!((lengths.len(), code), (3, 0));
    assert!(lengths.iter().all(|length| (9.8..11.5).contains(length)), "{lengths:?}");
}

#[test]
fn samples_are_put_together_at_even_multiples_and_the_rest_is_told() {
    let mut text = String::new();
    for second in 0..=130u64 {
        let jitter = if second % 2 == 0 { "000900000" } else { "000100000" };
        text += &format!("TS {}.{jitter}\n8 0 sda {second} 0 0 0 0 0 0 0 0 0 0\n", 1_795_200_000 + second);
    }
    let (out, _, _) = output("--json --from - 50", &text);
    let length = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["elapsed_s"].as_f64();
    let lengths: Vec<f64> = out.lines().filter_map(length).map(f64::round).collect();
    assert_eq!(lengths, [50.0, 50.0, 30.0]);
}

#[test]
fn what_is_no_text_is_no_capture_and_an_error() {
    for words in ["--from -", "--json --from -", "analyze -", "iostat --from -"] {
        let mut command = blkstat(words);
        let output = command.write_stdin(b"\x7fELF\0\0\xff\xfe\n\0\n".as_slice()).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            said, "blkstat: standard input is not a text file; expected a diskstats capture\n",
            "{words}"
        );
        assert_eq!(output.status.code(), Some(2), "{words}");
    }
}

#[test]
fn the_mean_over_all_is_that_of_the_parts() {
    let ios = |options: &str| -> f64 {
        let (out, _, _) = output(&format!("--json --from fixtures/captures/mixed.txt vda {options}"), "");
        let sum = |line: &str| {
            let value: serde_json::Value = serde_json::from_str(line).unwrap();
            value["writes_per_s"].as_f64().unwrap() * value["elapsed_s"].as_f64().unwrap()
        };
        out.lines().map(sum).sum()
    };
    let (all, parts) = (ios("1000"), ios(""));
    assert!((all - parts).abs() < 1.0 && (ios("2") - parts).abs() < 1.0 && parts > 10_000.0, "{all} {parts}");
}

const LINE: &str = "8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n";

#[test]
fn what_has_nothing_to_report_is_one_line_and_exit_1() {
    let told = |input: &str| {
        let (out, err, code) = output("--from -", input);
        assert_eq!((out.as_str(), err.lines().count(), code), ("", 1, 1), "{err}");
        err
    };
    assert!(told("").contains("standard input: no samples found"));
    assert!(told(&format!("TS 10\n{LINE}")).contains("only one complete sample"));
    let (out, err, code) = output("--from fixtures/captures/mixed.txt vdb", "");
    assert_eq!((out.as_str(), code), ("", 1));
    assert_eq!(err, "blkstat: fixtures/captures/mixed.txt: no such device 'vdb'; did you mean 'vda'?\n");
}

/// sda from the first sample on, sdb from the fourth.
fn late() -> String {
    let line = |second: u64, name: &str| format!("8 0 {name} {second} 0 8 1 0 0 0 0 0 1 1\n");
    let sample = |second: u64| {
        let sdb = if second < 3 { String::new() } else { line(second, "sdb") };
        format!("TS {}\n{}{sdb}", 1_795_200_000 + second, line(second, "sda"))
    };
    (0..6).map(sample).collect()
}

#[test]
fn a_selection_that_finds_nothing_is_told_and_the_others_are_shown() {
    for (words, rows, why) in [
        ("--devices-regex ^zzz", 0, "no device matches '^zzz'"),
        ("--devices-regex ^zzz 1 2", 0, "no device matches '^zzz' in the first 2 intervals"),
        ("sda --devices-regex ^zzz", 5, "no device matches '^zzz'"),
        ("sda sdbb", 5, "no such device 'sdbb'; did you mean 'sdb'?"),
        ("sda what where", 5, "no such devices: 'what', 'where'; run 'blkstat devices --from -' for a list"),
        ("sdb 1 2", 0, "'sdb' not found in the first 2 intervals"),
        ("sdb 1 1", 0, "'sdb' not found in the first interval"),
        ("sdb sda x 1 2", 2, "'sdb', 'x' not found in the first 2 intervals"),
    ] {
        let (out, err, code) = output(&format!("--json --from - {words}"), &late());
        assert_eq!(err, format!("blkstat: standard input: {why}\n"), "{words}");
        assert_eq!((out.lines().count(), code), (rows, 1), "{words}");
        let (_, err, code) = output(&format!("analyze --json --from - {words}"), &late());
        assert_eq!((err, code), (format!("blkstat: standard input: {why}\n"), 1), "analyze {words}");
    }
    for words in ["sda sdb", "--devices-regex b$", "sdb 1 4"] {
        let (_, err, code) = output(&format!("--json --from - {words}"), &late());
        assert_eq!((err.as_str(), code), ("", 0), "{words}");
    }
}

#[test]
fn devices_are_sorted_by_any_column() {
    let line = |name: &str, reads: u64, sectors: u64, flushes: u64| {
        format!("8 0 {name} {reads} 0 {sectors} {reads} 0 0 0 0 0 1 1 0 0 0 0 {flushes} {flushes}\n")
    };
    let sample = |second: u64, n: u64| {
        let devices = line("sda", 10 * n, 80 * n, n) + &line("sdb", n, 80 * n, 0);
        format!("TS {second}\n{devices}")
    };
    let capture = sample(1_795_200_000, 0) + &sample(1_795_200_001, 10);
    let first = |key: &str| output(&format!("--csv --from - --top 1 --sort {key}"), &capture).0;
    for (key, name) in [("r/s", "sda"), ("r_sz", "sdb"), ("R_SZ", "sdb"), ("f/s", "sda"), ("r_await", "sda")]
    {
        assert!(first(key).lines().nth(1).unwrap().contains(&format!(",{name},")), "{key}");
    }
    let header = output("--from - --all-columns", &capture).0;
    for title in header.lines().find_map(|line| line.strip_prefix("device")).unwrap().split_whitespace() {
        assert_eq!(output(&format!("--from - --sort {title}"), &capture).2, 0, "{title}");
    }
}

#[test]
fn wrong_usage_is_one_line_and_exit_2() {
    for words in [
        "0",
        "-1",
        "1x",
        "0.009",
        "1 0",
        "1 -2",
        "1 2 3",
        "vda 1 2 sdb",
        "--frm x",
        "--sort nope",
        "--top 0",
        "--width 5",
        "--json --csv",
        "--pace",
        "--devices-regex (",
        "completions nosuch",
        "--from no/such/file",
        "--from fixtures",
    ] {
        let (out, err, code) = output(words, "");
        assert_eq!((out.as_str(), code), ("", 2), "{words}: {err}");
        assert!(err.lines().count() == 1 && err.starts_with("blkstat: "), "{words}: {err}");
    }
}

#[test]
fn a_refusal_never_holds_a_control_code() {
    for words in
        ["1\u{1b}[31mx", "1 2\u{7}", "1 2 3\u{1b}c", "--sort \u{1b}[2J", "--devices-regex (\u{1b}[2J"]
    {
        let (out, err, code) = output(words, "");
        assert_eq!((out.as_str(), code, err.lines().count()), ("", 2, 1), "{words:?}: {err:?}");
        assert!(!err.trim_end().contains(char::is_control), "{err:?}");
    }
}

#[test]
fn strict_makes_an_error_of_a_warning() {
    let (out, err, code) = output("--strict --from fixtures/captures/faults.txt", "");
    assert_eq!((out.as_str(), code), ("", 2));
    assert!(
        err.starts_with("blkstat: fixtures/captures/faults.txt:1: ") && err.lines().count() == 1,
        "{err}"
    );
}

#[test]
fn completions_and_the_manual_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        let (out, _, code) = output(&format!("completions {shell}"), "");
        assert!(code == 0 && out.contains("blkstat") && out.contains("since-boot"), "{shell}");
    }
    let (out, _, code) = output("man", "");
    assert!(code == 0 && out.contains(".TH blkstat 1") && out.contains("since\\-boot"), "{out}");
}

#[test]
fn a_reader_that_goes_away_is_a_normal_end() {
    let program = env!("CARGO_BIN_EXE_blkstat");
    for format in ["", "--json", "--csv", "--summary"] {
        let shell = format!(
            "{program} {format} --from fixtures/captures/mixed.txt | head -n 1; echo ${{PIPESTATUS[0]}}"
        );
        let output = std::process::Command::new("bash").args(["-c", &shell]).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "");
        assert!(output.stdout.ends_with(b"\n0\n"), "{}", String::from_utf8_lossy(&output.stdout));
    }
}

#[test]
fn standard_output_that_takes_no_more_is_exit_2() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let program = env!("CARGO_BIN_EXE_blkstat");
    let shell = format!("{program} --from fixtures/captures/mixed.txt > /dev/full; echo $?");
    let output = std::process::Command::new("bash").args(["-c", &shell]).output().unwrap();
    assert_eq!(output.stdout, b"2\n");
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.starts_with("blkstat: cannot write to standard output") && said.lines().count() == 1,
        "{said}"
    );
}

fn found(words: &str, input: &str) -> Vec<serde_json::Value> {
    let (out, err, code) = output(&format!("--json --from - {words}"), input);
    assert_eq!((err.as_str(), code), ("", 0), "{words}");
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Samples a second apart, each of lines without their device numbers.
fn capture(samples: &[&[&str]]) -> String {
    let sample = |(second, lines): (usize, &&[&str])| {
        let lines: String = lines.iter().map(|line| format!("8 0 {line}\n")).collect();
        format!("TS {}\n{lines}", 1_795_200_000 + second)
    };
    samples.iter().enumerate().map(sample).collect()
}

#[test]
fn the_means_of_a_summary_are_over_idle_time_too() {
    let after = |reads: u64| {
        let line =
            |name: &str| format!("8 0 {name} {reads} 0 {} {reads} 0 0 0 0 0 {reads} {reads}\n", 8 * reads);
        ["sda", "sda1", "loop0", "zram0"].map(line).concat()
    };
    // Idle at first, at work for one second of ten, away for two, and back.
    let mut text = String::new();
    for second in 0..=12u64 {
        let lines = match second {
            0..=3 => after(0),
            8 | 9 => "8 16 sdb 0 0 0 0 0 0 0 0 0 0 0\n".to_owned(),
            _ => after(1000),
        };
        text += &format!("TS {}\n{lines}", 1_795_200_000 + second);
    }
    // Seven seconds before, two after.
    for words in ["", "--all", "--partitions", "sda1 loop0 zram0"] {
        let (out, _, _) = output(&format!("--summary --from - {words}"), &text);
        let summary = out.split("summary of ").nth(1).unwrap();
        let rates: Vec<&str> = summary.lines().filter(|line| line.contains(" r/s ")).collect();
        let is_right = |line: &&str| line.split_whitespace().nth(2) == Some("111");
        assert!(rates.len() >= 3 && rates.iter().all(is_right), "{words}: {summary}");
        // Of those that were asked for only.
        assert_eq!(summary.contains(" sda "), !words.contains("sda1"), "{words}: {summary}");
    }
    // One that was idle until it went has the time before as well.
    let idle = |name: &str, reads: u64| format!("{name} {reads} 0 0 0 0 0 0 0 0 0 0");
    let (sda, first, last) = (idle("sda", 0), idle("sdb", 0), idle("sdb", 100));
    let samples: [&[&str]; 6] =
        [&[&sda, &first], &[&sda, &first], &[&sda], &[&sda, &first], &[&sda, &first], &[&sda, &last]];
    let (out, _, _) = output("--summary --from -", &capture(&samples));
    assert!(
        out.lines().any(|line| line.split_whitespace().eq(["sdb", "r/s", "33.3", "100", "18:40:05"])),
        "{out}"
    );
}

/// Reads a second since the last sample, in each sample.
fn reads(name: &str, counts: &[Option<u64>]) -> Vec<String> {
    let line = |reads: u64| format!("{name} {reads} 0 {} {reads} 0 0 0 0 0 {reads} {reads}", 8 * reads);
    counts.iter().map(|count| count.map_or_else(String::new, line)).collect()
}

fn side_by_side(devices: &[Vec<String>]) -> String {
    let samples: Vec<Vec<&str>> = (0..devices[0].len())
        .map(|at| devices.iter().map(|lines| lines[at].as_str()).filter(|line| !line.is_empty()).collect())
        .collect();
    capture(&samples.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

#[test]
fn a_reset_between_samples_that_are_put_together_is_one() {
    let counts = [1000, 1100, 1200, 100, 2000, 4000, 4100, 4200, 4300].map(Some);
    let text = side_by_side(&[reads("sda", &counts)]);
    let lines = found("6", &text);
    let told: Vec<_> =
        lines.iter().map(|line| (line["reads_per_s"].as_f64(), line["flags"].clone())).collect();
    assert_eq!(told, [(None, serde_json::json!(["reset"])), (Some(100.0), serde_json::json!([]))]);
    assert!(lines[0]["read_await_ms"].is_null() && lines[0]["queue"].is_null());
    let (csv, _, _) = output("--csv --from - 6", &text);
    assert!(
        csv.lines().nth(1).is_some_and(|line| line.contains(",sda,,,") && line.contains(",reset,")),
        "{csv}"
    );
    // It came back to where it was: that is no rest either.
    let counts = [1000, 0, 500, 1000].map(Some);
    assert_eq!(found("3", &side_by_side(&[reads("loop0", &counts)]))[0]["flags"][0], "reset");
}

#[test]
fn what_comes_and_goes_between_samples_that_are_put_together_is_named_and_has_no_figures() {
    let every = [0, 100, 200, 300, 400, 500, 600].map(Some);
    let away = [Some(0), Some(100), None, None, None, Some(500), Some(600)];
    let guest = [None, None, Some(5), Some(6), None, None, None];
    let text = side_by_side(&[reads("sda", &every), reads("sdb", &away), reads("sdc", &guest)]);
    let devices: Vec<_> = found("6", &text).iter().map(|line| line["device"].clone()).collect();
    assert_eq!(devices, ["sda"]);
    let news = |words: &str| {
        let (out, _, _) = output(&format!("--from - {words}"), &text);
        out.lines().filter(|line| line.starts_with(['+', '-'])).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(news("6"), ["- sdb disappeared and reappeared", "+ sdc appeared briefly"]);
    assert_eq!(news("sda sdc 6"), ["+ sdc appeared briefly"]);
    assert_eq!(news("3"), ["+ sdc appeared", "- sdb disappeared", "+ sdb appeared", "- sdc disappeared"]);
    // In the summary it is one device.
    let counts = |second: u64| Some(second * 100).filter(|_| !(8..10).contains(&second));
    let text = side_by_side(&[reads("sdb", &(0..=18).map(counts).collect::<Vec<_>>())]);
    let (out, _, _) = output("--from - 6 --summary", &text);
    let rates: Vec<&str> = out.lines().filter(|line| line.contains(" r/s  ")).collect();
    assert!(rates.len() == 1 && rates[0].split_whitespace().nth(2) == Some("100"), "{out}");
}

/// The same capture, so many seconds later.
fn later(text: &str, seconds: u64) -> String {
    let line = |line: &str| match line.strip_prefix("TS ") {
        Some(time) => format!("TS {}\n", time.parse::<u64>().unwrap() + seconds),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[test]
fn milliseconds_may_wrap_more_than_once_in_samples_that_are_put_together() {
    let mut text = String::new();
    for hour in 0..=8u64 {
        let (ios, ms) = (hour * 3_600_000, (hour * 1_440_000_000) % (1 << 32));
        let seconds = 1_795_200_000 + hour * 3600;
        text += &format!(
            "TS {seconds}\n8 0 sda {ios} 0 {} {ms} 0 0 0 0 400 {} {ms}\n",
            8 * ios,
            hour * 3_600_000
        );
    }
    let line = &found("8h", &text)[0];
    let told = ["read_await_ms", "read_queue", "queue", "util_pct"].map(|name| line[name].as_f64());
    assert_eq!(told, [400.0, 400.0, 400.0, 100.0].map(Some));
}

#[test]
fn what_was_put_together_before_a_break_is_told() {
    for second_start in [1, 5] {
        let counts: Vec<Option<u64>> = (0..=5).map(|second| Some(second * 100)).collect();
        let text = side_by_side(&[reads("sda", &counts)]);
        let more: Vec<Option<u64>> = (6..=9).map(|second| Some(second * 100)).collect();
        let text = text + &later(&side_by_side(&[reads("sda", &more)]), second_start);
        let (out, err, _) = output("--json --from - 3", &text);
        assert!(err.contains("no interval spans this point"), "{err}");
        let lines = out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let told: Vec<_> =
            lines.map(|line| (line["elapsed_s"].as_f64().unwrap(), line["reads_per_s"].as_f64())).collect();
        assert_eq!(told, [(3.0, Some(100.0)), (2.0, Some(100.0)), (3.0, Some(100.0))], "{second_start}");
    }
}

/// The last figure of the reads, and the marks, of each device's lines.
fn rates(words: &str, text: &str) -> Vec<(String, Option<f64>, Vec<String>)> {
    let line = |line: &serde_json::Value| {
        let marks = line["flags"].as_array().unwrap().iter().map(|mark| mark.as_str().unwrap().to_owned());
        (line["device"].as_str().unwrap().to_owned(), line["reads_per_s"].as_f64(), marks.collect())
    };
    found(words, text).iter().map(line).collect()
}

fn total(words: &str, text: &str) -> Vec<Option<f64>> {
    let lines = rates(&format!("--total {words}"), text);
    lines.into_iter().filter(|(device, ..)| device == "total").map(|(_, rate, _)| rate).collect()
}

#[test]
fn a_total_adds_up_what_each_device_did() {
    // The one wraps at 32 bits, alone.
    let wraps = [(1u64 << 32) - 6, 94, 194].map(|reads| format!("sdb {reads} 0 0 0 0 0 0 0 0 0 0"));
    let text = side_by_side(&[reads("sda", &[100, 200, 300].map(Some)), wraps.to_vec()]);
    assert_eq!(total("", &text), [Some(200.0), Some(200.0)]);
    // With milliseconds that fit in 32 bits of none of them, and means over all.
    let line =
        |name: &str, reads: u64, ms: u64| format!("{name} {reads} 0 {} {ms} 0 0 0 0 7 0 {ms}", 8 * reads);
    let device = |name: &str, reads| vec![line(name, 0, 0), line(name, reads, 3_000_000_000)];
    let lines = found("--total", &side_by_side(&[device("sda", 1000), device("sdb", 2000)]));
    let told = ["read_await_ms", "queue", "in_flight"].map(|name| lines[2][name].as_f64());
    assert_eq!(told, [Some(2e6), Some(6e6), Some(14.0)]);
}

#[test]
fn a_total_that_would_leave_a_device_out_says_so() {
    let text =
        side_by_side(&[reads("sda", &[100, 200, 300].map(Some)), reads("sdb", &[5000, 7, 107].map(Some))]);
    let lines: Vec<_> =
        rates("--total", &text).into_iter().filter(|(device, ..)| device == "total").collect();
    let expected =
        [("total".to_owned(), None, vec!["reset".to_owned()]), ("total".to_owned(), Some(200.0), vec![])];
    assert_eq!(lines, expected);
    let (out, _, _) = output("--total --from -", &text);
    assert!(out.contains("total      counters of a device in the total reset"), "{out}");
    assert_eq!(total("sda", &text), [Some(100.0); 2]);
}

#[test]
fn a_total_is_over_the_devices_that_were_asked_for() {
    let names = ["sda", "sda1", "sda2", "sdb", "dm-0"];
    let device = |(at, name): (usize, &&str)| reads(name, &[Some(0), Some(10u64.pow(at as u32))]);
    let text = side_by_side(&names.iter().enumerate().map(device).collect::<Vec<_>>());
    for (words, expected) in [
        ("", 1001.0),
        ("sda", 1.0),
        ("--devices-regex sd", 1001.0),
        ("sda1 sda2", 110.0),
        ("sda sda1", 1.0),
        ("sda1 sdb", 1010.0),
        ("dm-0", 10_000.0),
        ("dm-0 sda", 1.0),
    ] {
        assert_eq!(total(words, &text), [Some(expected)], "{words}");
    }
}

#[test]
fn a_total_has_what_the_paths_did_where_the_multipath_disk_does_not_count() {
    let path = |name: &str| reads(name, &[100, 600].map(Some));
    let paths = [reads("sda", &[100, 110].map(Some)), path("nvme0c0n1"), path("nvme0c1n1")];
    let head = |counts: [u64; 2]| [paths.as_slice(), &[reads("nvme0n1", &counts.map(Some))]].concat();
    assert_eq!(total("", &side_by_side(&head([0, 0]))), [Some(1010.0)]);
    assert_eq!(total("", &side_by_side(&paths)), [Some(1010.0)]);
    assert_eq!(total("", &side_by_side(&head([200, 1200]))), [Some(1010.0)]);
    assert_eq!(total("", &side_by_side(&head([0, 1000]))), [Some(1010.0)]);
    assert_eq!(total("nvme0c0n1", &side_by_side(&head([200, 1200]))), [Some(500.0)]);
}

#[test]
fn the_block_since_boot_has_a_total_too() {
    let text = side_by_side(&[reads("sda", &[1000, 1100].map(Some)), reads("sdb", &[3000, 3000].map(Some))]);
    let end = "#blkstat {\"uptime_cs\":1000,\"complete\":true}\n";
    let (first, second) = text.split_at(text.rfind("TS").unwrap());
    let text = format!("#blkstat {{\"version\":\"0.1.0\"}}\n{first}{end}{second}{end}");
    assert_eq!(total("--since-boot", &text), [Some(400.0), Some(100.0)]);
    let (out, _, _) = output("--since-boot --total --from -", &text);
    let totals = out.lines().filter(|line| line.starts_with("total "));
    let rates: Vec<&str> = totals.map(|line| line.split_whitespace().nth(1).unwrap()).collect();
    assert_eq!(rates, ["400", "100"], "{out}");
}

#[test]
fn a_total_of_devices_of_which_one_is_not_counted_is_marked() {
    let device = |name: &str, more: &str| format!(r#"{{"name":"{name}","kind":"disk"{more}}}"#);
    let devices = format!("{},{}", device("sda", r#","accounting":false"#), device("sdb", ""));
    let text = side_by_side(&[reads("sda", &[100, 100].map(Some)), reads("sdb", &[0, 10].map(Some))]);
    let end = "#blkstat {\"complete\":true}\n";
    let (first, second) = text.split_at(text.rfind("TS").unwrap());
    let text =
        format!("#blkstat {{\"version\":\"0.1.0\",\"devices\":[{devices}]}}\n{first}{end}{second}{end}");
    let off = vec!["accounting_off".to_owned()];
    let expected = [
        ("sda".to_owned(), None, off.clone()),
        ("sdb".to_owned(), Some(10.0), vec![]),
        ("total".to_owned(), Some(10.0), off),
    ];
    assert_eq!(rates("--total", &text), expected);
    let (out, _, _) = output("--total --from -", &text);
    assert!(!out.contains("the kernel's util cannot be true"), "{out}");
}

#[test]
fn after_a_gap_an_interval_is_as_long_as_before() {
    let text: String = (0..24u64)
        .chain(3623..3664)
        .map(|at| format!("TS {}\n8 0 sda {} 0 0 0 0 0 0 0 0 0 0\n", 1_795_200_000 + at, 10 * at))
        .collect();
    let (out, _, _) = output("--json --from - 10", &text);
    let lengths: Vec<f64> = out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["elapsed_s"].as_f64().unwrap())
        .collect();
    assert_eq!(lengths[..2], [10.0, 10.0]);
    assert!(lengths[3..].iter().all(|length| *length <= 10.0) && lengths.len() >= 6, "{lengths:?}");
    assert_eq!(lengths.iter().sum::<f64>(), 3663.0);
}

#[test]
fn util_is_implausible_where_every_sample_saw_requests_in_flight() {
    let text: String = (0..20u64)
        .map(|at| {
            let (ios, in_flight) = (3000 * at, if at % 2 == 0 { 1 } else { 64 });
            let (ms, busy) = (1140 * at, 4 * at);
            format!(
                "TS {}\n8 0 sda {ios} 0 {} {ms} 0 0 0 0 {in_flight} {busy} {ms}\n",
                1_795_200_000 + at,
                8 * ios
            )
        })
        .collect();
    // Busy for 0.4% of the time, at a queue of 1.14, would take 285 requests in flight; never more than 64 were seen.
    let (out, _, _) = output("--json --from - 2", &text);
    assert_eq!(out.matches(r#""util_pct":0.4,"#).count(), 10, "{out}");
    assert_eq!(out.matches(r#""flags":["util_too_low"]"#).count(), 10, "{out}");
    let (out, _, _) = output("analyze --json --from - 2", &text);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(report["devices"][0]["util_pct"]["mean"].is_null(), "{out}");
}

#[test]
fn what_is_not_known_counts_for_no_mean() {
    // The milliseconds of one interval fell: its await and queue are not known.
    let text: String = (0..6u64)
        .map(|at| {
            let ms = if at < 3 { 4_000_000_000 + 1000 * at } else { 1000 * at };
            format!(
                "TS {}\n8 0 sda {} 0 {} {ms} 0 0 0 0 0 {ms} {ms}\n",
                1_795_200_000 + at,
                100 * at,
                800 * at
            )
        })
        .collect();
    let (out, _, _) = output("--summary --from -", &text);
    let summary = out.split("summary of ").nth(1).unwrap();
    let row = |name: &str| summary.lines().find(|line| line.contains(name)).unwrap().to_owned();
    assert!(row("r_await").contains("10.0ms  10.0ms") && row("queue").contains("1.00    1.00"), "{summary}");
}
