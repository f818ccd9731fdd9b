//! blkstat's own view on the command line. The expected texts in `fixtures/snapshots/native` are blkstat's own output,
//! reviewed before it was committed; `BLKSTAT_REFRESH=1` rewrites them.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use assert_cmd::Command;

fn blkstat(words: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_blkstat"));
    command.args(words.split_whitespace()).env("TZ", "UTC").env("LC_ALL", "C");
    command
}

/// Runs blkstat on an input. Returns standard output, standard error and the exit code.
fn output(words: &str, input: &str) -> (String, String, i32) {
    let output = blkstat(words).write_stdin(input).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (text(output.stdout), text(output.stderr), output.status.code().unwrap())
}

/// Runs blkstat on a capture and compares both streams and the exit code with the snapshot.
fn check_snapshot(capture: &str, options: &str) {
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
fn tables_match_their_snapshots() {
    for width in [80, 100, 200] {
        check_snapshot("mixed", &format!("--width {width}"));
        check_snapshot("capped-3000", &format!("--width {width} 4"));
        check_snapshot("comings-and-goings", &format!("--width {width} --summary"));
    }
    check_snapshot("names", "--all --all-columns");
    check_snapshot("names", "--total --sort r/s --top 3");
    check_snapshot("old-kernel", "--all");
    check_snapshot("capped-3000", "--explain 2");
    check_snapshot("stalls", "--width 100");
    check_snapshot("stalls", "--json");
    check_snapshot("hostile", "--all");
    check_snapshot("hostile", "--csv --all");
}

#[test]
fn json_and_csv_match_their_snapshots() {
    check_snapshot("mixed", "--json");
    check_snapshot("comings-and-goings", "--csv");
}

#[test]
fn no_line_is_wider_than_requested_and_no_number_is_cut() {
    for capture in
        ["mixed", "capped-3000", "sweep-randread", "names", "stalls", "hostile", "comings-and-goings"]
    {
        for width in [20, 30, 47, 60, 80, 100, 132, 200] {
            for more in ["", " --mounts", " --all --total", " --all --summary"] {
                let options = format!("--width {width}{more} --from fixtures/captures/{capture}.txt");
                let (out, _, code) = output(&options, "");
                assert!(code == 0 && !out.is_empty(), "{options}: exit {code}, {} bytes", out.len());
                let lines = out.lines().filter(|line| line.chars().count() > width);
                let wide: Vec<&str> = lines.collect();
                assert!(wide.is_empty(), "{options}: {wide:#?}");
                let whole = numbers(&whole_output(capture, more));
                let cut: Vec<String> = numbers(&out).difference(&whole).cloned().collect();
                assert!(cut.is_empty(), "{options}: {cut:?}");
            }
        }
    }
}

/// Returns the output with all columns, at a width that cuts nothing.
fn whole_output(capture: &str, more: &str) -> String {
    output(&format!("--width 1000 --all-columns{more} --from fixtures/captures/{capture}.txt"), "").0
}

/// Returns the numbers after the first word of each line, with their units, but no time of day.
fn numbers(text: &str) -> BTreeSet<String> {
    // Stalls are worded differently where there is less space.
    let lines = text.lines().filter(|line| !line.to_lowercase().contains("stalled"));
    let words = lines.flat_map(|line| line.split_whitespace().skip(1));
    let is_number =
        |word: &&str| word.starts_with(|c: char| c.is_ascii_digit()) && !word.contains([':', '…']);
    words.filter(is_number).map(str::to_owned).collect()
}

#[test]
fn without_a_terminal_nothing_is_cut_and_no_note_names_hidden_columns() {
    let name = "a-device-with-a-name-that-is-longer-than-a-fifth-of-any-line-of-a-terminal";
    let text = capture_of(&[lines_of(name, &[0, 100, 200].map(Some))]);
    let (out, _, _) = output("--from -", &text);
    let titles = out.lines().find(|line| line.starts_with("device")).unwrap();
    for title in ["r/s", "rMB/s", "r_sz", "w/s", "rmrg", "inflt", "≤util", "verdict"] {
        assert!(titles.split_whitespace().any(|word| word == title), "{title}: {out}");
    }
    assert!(!titles.contains(" d/s") && out.contains(name) && !out.contains("hidden"), "{out}");
    assert!(output("--from - --width 40", &text).0.starts_with("hidden at width 40: "));
}

#[test]
fn narrow_tables_keep_what_matters_and_their_columns() {
    for (width, titles) in [
        (80, "device       r/s r_await   w/s w_await r_qu w_qu  util r_sat w_sat   verdict"),
        (60, "device       r/s r_await   w/s w_await queue  util   verdict"),
        (40, "device     r_await queue  util   verdict"),
    ] {
        let (out, _, _) = output(&format!("--width {width} --from fixtures/captures/capped-3000.txt"), "");
        let mut headers: Vec<&str> = out.lines().filter(|line| line.starts_with("device")).collect();
        headers.dedup();
        // The first second has no writes.
        assert!(headers.len() <= 2 && headers.last() == Some(&titles), "{width}: {headers:#?}");
    }
}

#[test]
fn latency_pressure_and_verdicts_have_colors_and_util_has_none() {
    use std::ffi::OsString;

    use blkstat::clock::{ManualClock, WaitOutcome};
    use blkstat::run::{RunContext, run};

    let screen = |more: &str| {
        let words = format!("blkstat --from fixtures/captures/capped-3000.txt --width 100 {more}");
        let environment = |name: &str| (name == "TERM").then(|| OsString::from("xterm"));
        let plan = blkstat::cli::plan(words.split_whitespace().map(OsString::from), &environment).unwrap();
        let clock = ManualClock::new(jiff::Timestamp::UNIX_EPOCH, |_| WaitOutcome::Due);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        run(&plan, &mut RunContext { clock: &clock, out: &mut out, err: &mut err, is_terminal: true });
        String::from_utf8(out).unwrap()
    };
    let text = screen("8");
    for colored in [
        "\u{1b}[33m646µs\u{1b}[0m",
        "\u{1b}[1;31m18.2ms\u{1b}[0m",
        "\u{1b}[1;31m57.5x\u{1b}[0m",
        "\u{1b}[1;31mcapped 7s\u{1b}[0m",
        "  96%  100%",
        " 0.2%? ",
    ] {
        assert!(text.contains(colored), "{colored:?}: {text}");
    }
    // The threshold is the user's.
    assert!(screen("--saturation-threshold 100 8").contains("\u{1b}[33m18.2ms\u{1b}[0m"));
}

#[test]
fn columns_end_below_their_titles() {
    let (out, _, _) = output("--from fixtures/captures/sweep-randread.txt", "");
    let header = &out.lines().find(|line| line.starts_with("device")).unwrap().replace('≤', "<");
    for line in out.lines().filter(|line| line.starts_with("vda")) {
        let line = &line.replace('µ', "u");
        assert_eq!(line.len(), header.len(), "{line}");
        let ends = |text: &str| {
            let after = |at: &usize| text[*at..].starts_with(' ') && !text[..*at].ends_with(' ');
            (1..text.len()).filter(after).collect::<Vec<_>>()
        };
        assert_eq!(ends(line)[1..], ends(header)[1..], "{line}");
    }
}

#[test]
fn every_json_line_has_the_fields_of_the_csv_header() {
    for capture in ["mixed", "comings-and-goings", "names", "old-kernel", "stalls", "hostile"] {
        let from = format!("--all --from fixtures/captures/{capture}.txt");
        let (json, _, _) = output(&format!("--json {from}"), "");
        let (csv, _, _) = output(&format!("--csv {from}"), "");
        let names = csv.lines().next().unwrap().split(',').collect::<Vec<_>>();
        assert_eq!(names.len(), 43);
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
fn table_json_and_csv_have_the_same_lines() {
    for capture in ["mixed", "comings-and-goings", "old-kernel", "stalls"] {
        let from = format!("--total --all --from fixtures/captures/{capture}.txt");
        let (table, _, _) = output(&format!("--width 300 {from}"), "");
        let mut names = Vec::new();
        for line in table.lines().filter(|line| !line.starts_with(|c: char| c.is_ascii_digit())) {
            let mut words = line.split_whitespace();
            match words.next() {
                Some("device" | "?") | None => {}
                Some("+" | "-") => names.push(words.next().unwrap().to_owned()),
                Some(name) => names.push(name.to_owned()),
            }
        }
        let (csv, _, _) = output(&format!("--csv {from}"), "");
        let of_csv: Vec<_> = csv.lines().skip(1).filter_map(|line| line.split(',').nth(2)).collect();
        assert_eq!(of_csv, names, "{capture}");
        let (json, _, _) = output(&format!("--json {from}"), "");
        let total = |line: &str| {
            let line: serde_json::Value = serde_json::from_str(line).unwrap();
            (line["device"] == "total").then(|| line["reads_per_s"].as_f64())
        };
        let of_json: Vec<Option<f64>> = json.lines().filter_map(total).collect();
        let of_table = table.lines().filter(|line| line.starts_with("total "));
        for (number, line) in of_json.iter().zip(of_table) {
            let printed = line.split_whitespace().nth(1).unwrap().parse::<f64>().ok();
            let is_same = match (number, printed) {
                (Some(number), Some(printed)) => (number - printed).abs() <= printed * 0.005 + 0.005,
                (number, printed) => number.is_none() && printed.is_none(),
            };
            assert!(is_same, "{capture}: {number:?} in JSON, {line}");
        }
        assert!(!of_json.is_empty(), "{capture}");
    }
}

#[test]
fn intervals_of_a_capture_can_be_aggregated() {
    let (out, _, code) = output("--json --from fixtures/captures/capped-3000.txt loop0 10 3", "");
    let lengths: Vec<f64> = out
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap()["elapsed_s"].as_f64().unwrap())
        .collect();
    assert_eq!((lengths.len(), code), (3, 0));
    assert!(lengths.iter().all(|length| (9.8..11.5).contains(length)), "{lengths:?}");
}

#[test]
fn aggregated_intervals_end_at_multiples_and_the_remainder_is_reported() {
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
fn a_binary_file_is_an_error() {
    for words in ["--from -", "--json --from -", "analyze -", "iostat --from -"] {
        let mut command = blkstat(words);
        let output = command.write_stdin(b"\x7fELF\0\0\xff\xfe\n\0\n".as_slice()).output().unwrap();
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            message, "blkstat: standard input is not a text file; expected a diskstats capture\n",
            "{words}"
        );
        assert_eq!(output.status.code(), Some(2), "{words}");
    }
}

#[test]
fn aggregation_keeps_the_number_of_requests() {
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
fn input_without_an_interval_is_one_line_and_exit_1() {
    let message = |input: &str| {
        let (out, err, code) = output("--from -", input);
        assert_eq!((out.as_str(), err.lines().count(), code), ("", 1, 1), "{err}");
        err
    };
    assert!(message("").contains("standard input: no samples found"));
    assert!(message(&format!("TS 10\n{LINE}")).contains("only one complete sample"));
    let (out, err, code) = output("--from fixtures/captures/mixed.txt vdb", "");
    assert_eq!((out.as_str(), code), ("", 1));
    assert_eq!(err, "blkstat: fixtures/captures/mixed.txt: no such device 'vdb'; did you mean 'vda'?\n");
}

/// A capture of sda from the first sample on, and of sdb from the fourth.
fn late_sdb() -> String {
    let line = |second: u64, name: &str| format!("8 0 {name} {second} 0 8 1 0 0 0 0 0 1 1\n");
    let sample = |second: u64| {
        let sdb = if second < 3 { String::new() } else { line(second, "sdb") };
        format!("TS {}\n{}{sdb}", 1_795_200_000 + second, line(second, "sda"))
    };
    (0..6).map(sample).collect()
}

#[test]
fn devices_not_found_are_reported_and_the_others_are_shown() {
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
        let (out, err, code) = output(&format!("--json --from - {words}"), &late_sdb());
        assert_eq!(err, format!("blkstat: standard input: {why}\n"), "{words}");
        assert_eq!((out.lines().count(), code), (rows, 1), "{words}");
        let (_, err, code) = output(&format!("analyze --json --from - {words}"), &late_sdb());
        assert_eq!((err, code), (format!("blkstat: standard input: {why}\n"), 1), "analyze {words}");
    }
    for words in ["sda sdb", "--devices-regex b$", "sdb 1 4"] {
        let (_, err, code) = output(&format!("--json --from - {words}"), &late_sdb());
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
        "--realtime",
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
fn mistaken_arguments_are_answered_with_a_suggestion() {
    for (words, message) in [
        ("-x 1", "unexpected argument '-x' found; did you mean 'blkstat iostat -x 1'?"),
        ("-dxk sda 1 3", "unexpected argument '-d' found; did you mean 'blkstat iostat -dxk sda 1 3'?"),
        ("analze --fio x.txt", "unexpected argument '--fio' found; did you mean 'blkstat analyze'?"),
        ("--pace --from x.txt", "option '--pace' is now '--realtime'"),
        ("--saturated-at 4", "option '--saturated-at' is now '--saturation-threshold'"),
        ("analyze --saturated-at=4 x.txt", "option '--saturated-at' is now '--saturation-threshold'"),
        (
            "record 1 5",
            "missing FILE before '1'; usage: blkstat record FILE [INTERVAL [COUNT]] (./1 for a file of that name)",
        ),
    ] {
        let (out, err, code) = output(words, "");
        assert_eq!((out.as_str(), err, code), ("", format!("blkstat: {message}\n"), 2), "{words}");
    }
    assert!(output("--frm x", "").1.ends_with("; see blkstat --help\n"));
}

#[test]
fn usage_errors_contain_no_control_codes() {
    for words in
        ["1\u{1b}[31mx", "1 2\u{7}", "1 2 3\u{1b}c", "--sort \u{1b}[2J", "--devices-regex (\u{1b}[2J"]
    {
        let (out, err, code) = output(words, "");
        assert_eq!((out.as_str(), code, err.lines().count()), ("", 2, 1), "{words:?}: {err:?}");
        assert!(!err.trim_end().contains(char::is_control), "{err:?}");
    }
}

#[test]
fn strict_turns_a_warning_into_an_error() {
    let (out, err, code) = output("--strict --from fixtures/captures/faults.txt", "");
    assert_eq!((out.as_str(), code), ("", 2));
    assert!(
        err.starts_with("blkstat: fixtures/captures/faults.txt:1: ") && err.lines().count() == 1,
        "{err}"
    );
}

#[test]
fn completions_and_the_manual_page_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        let (out, _, code) = output(&format!("completions {shell}"), "");
        assert!(code == 0 && out.contains("blkstat") && out.contains("since-boot"), "{shell}");
    }
    let (out, _, code) = output("man", "");
    assert!(code == 0 && out.contains(".TH \"blkstat\" \"1\"") && out.contains("since\\-boot"), "{out}");
}

#[test]
fn the_help_explains_columns_and_verdicts() {
    for (topic, terms) in [
        ("columns", ["r_sat ", "inflt ", "≤util ", "~1.00ms ", "<500µs ", "25%? "]),
        ("verdicts", ["stalled ", "saturated ", "capped ", "queueing ", "accounting_off ", "- "]),
    ] {
        let (out, err, code) = output(&format!("help {topic}"), "");
        assert_eq!((err.as_str(), code), ("", 0));
        for term in terms {
            assert!(out.lines().any(|line| line.trim_start().starts_with(term)), "{term}: {out}");
        }
        assert!(output("help", "").0.contains(&format!("blkstat help {topic}")));
    }
    assert_eq!(output("help analyze", ""), output("analyze --help", ""));
    assert_eq!(output("help nosuch", "").2, 2);
}

#[test]
fn usage_lines_have_whole_brackets() {
    for command in ["", "analyze", "record", "man", "devices", "completions"] {
        let (out, _, _) = output(&format!("{command} --help"), "");
        let usage = out.split("Options:").next().unwrap();
        for (open, close) in [('[', ']'), ('<', '>')] {
            assert_eq!(usage.matches(open).count(), usage.matches(close).count(), "{usage}");
        }
        let takes_interval = matches!(command, "" | "analyze" | "record");
        assert_eq!(usage.contains("[INTERVAL [COUNT]]\n"), takes_interval, "{usage}");
    }
}

#[test]
fn a_command_has_a_manual_page_of_its_own() {
    let (out, _, code) = output("man analyze", "");
    assert!(code == 0 && out.contains(".TH \"blkstat-analyze\"") && out.contains("save\\-baseline"), "{out}");
    let (out, err, code) = output("man nosuch", "");
    assert_eq!((out.as_str(), code), ("", 2));
    assert!(err.starts_with("blkstat: no manual page for 'nosuch'; expected one of: "), "{err}");
}

#[test]
fn a_closed_pipe_is_a_normal_end() {
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
fn a_full_standard_output_is_exit_2() {
    if !Path::new("/dev/full").exists() {
        return;
    }
    let program = env!("CARGO_BIN_EXE_blkstat");
    let shell = format!("{program} --from fixtures/captures/mixed.txt > /dev/full; echo $?");
    let output = std::process::Command::new("bash").args(["-c", &shell]).output().unwrap();
    assert_eq!(output.stdout, b"2\n");
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(
        message.starts_with("blkstat: cannot write to standard output") && message.lines().count() == 1,
        "{message}"
    );
}

/// The JSON lines that a run without messages prints.
fn json(words: &str, input: &str) -> Vec<serde_json::Value> {
    let (out, err, code) = output(&format!("--json --from - {words}"), input);
    assert_eq!((err.as_str(), code), ("", 0), "{words}");
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A capture with samples one second apart, from lines without device numbers.
fn capture(samples: &[&[&str]]) -> String {
    let sample = |(second, lines): (usize, &&[&str])| {
        let lines: String = lines.iter().map(|line| format!("8 0 {line}\n")).collect();
        format!("TS {}\n{lines}", 1_795_200_000 + second)
    };
    samples.iter().enumerate().map(sample).collect()
}

#[test]
fn a_summary_lists_the_worst_device_first() {
    let names = |words: &str| {
        let (out, _, _) = output(&format!("--summary --from fixtures/captures/{words}"), "");
        let summary = out.split("\nsummary of ").nth(1).unwrap().to_owned();
        let first = |line: &str| {
            line.contains(" max ")
                .then(|| line.strip_prefix(' ')?.split_whitespace().next().map(str::to_owned))?
        };
        let rows: Vec<String> = summary.lines().filter_map(first).collect();
        rows.into_iter().filter(|name| !name.contains('/')).collect::<Vec<_>>()
    };
    // By the longest queue.
    assert_eq!(names("comings-and-goings.txt"), ["sda", "sdc", "sdb"]);
    // By the longest stall.
    assert_eq!(names("stalls.txt")[0], "sda");
}

#[test]
fn summary_means_include_idle_time() {
    let after = |reads: u64| {
        let line =
            |name: &str| format!("8 0 {name} {reads} 0 {} {reads} 0 0 0 0 0 {reads} {reads}\n", 8 * reads);
        ["sda", "sda1", "loop0", "zram0"].map(line).concat()
    };
    // Idle for three seconds, busy for one, idle again, absent for two, and back.
    let mut text = String::new();
    for second in 0..=12u64 {
        let lines = match second {
            0..=3 => after(0),
            8 | 9 => "8 16 sdb 0 0 0 0 0 0 0 0 0 0 0\n".to_owned(),
            _ => after(1000),
        };
        text += &format!("TS {}\n{lines}", 1_795_200_000 + second);
    }
    // 1000 reads in nine seconds: seven before the absence and two after it.
    for words in ["", "--all", "--partitions", "sda1 loop0 zram0"] {
        let (out, _, _) = output(&format!("--summary --from - {words}"), &text);
        let summary = out.split("summary of ").nth(1).unwrap();
        let rates: Vec<&str> = summary.lines().filter(|line| line.contains(" r/s ")).collect();
        let is_expected = |line: &&str| line.split_whitespace().nth(2) == Some("111");
        assert!(rates.len() >= 3 && rates.iter().all(is_expected), "{words}: {summary}");
        // Only requested devices have a summary.
        assert_eq!(summary.contains(" sda "), !words.contains("sda1"), "{words}: {summary}");
    }
    // The idle time before a device disappeared counts too.
    let idle = |name: &str, reads: u64| format!("{name} {reads} 0 0 0 0 0 0 0 0 0 0");
    let (sda, first, last) = (idle("sda", 0), idle("sdb", 0), idle("sdb", 100));
    let samples: [&[&str]; 6] =
        [&[&sda, &first], &[&sda, &first], &[&sda], &[&sda, &first], &[&sda, &first], &[&sda, &last]];
    let (out, _, _) = output("--summary --from -", &capture(&samples));
    assert!(
        out.lines().any(|line| line.split_whitespace().eq(["sdb", "r/s", "33.3", "max", "100", "18:40:05"])),
        "{out}"
    );
}

/// The lines of a device with these counts of reads, one per sample; empty where it is absent.
fn lines_of(name: &str, counts: &[Option<u64>]) -> Vec<String> {
    let line = |reads: u64| format!("{name} {reads} 0 {} {reads} 0 0 0 0 0 {reads} {reads}", 8 * reads);
    counts.iter().map(|count| count.map_or_else(String::new, line)).collect()
}

/// A capture of several devices, given as their lines of each sample.
fn capture_of(devices: &[Vec<String>]) -> String {
    let samples: Vec<Vec<&str>> = (0..devices[0].len())
        .map(|at| devices.iter().map(|lines| lines[at].as_str()).filter(|line| !line.is_empty()).collect())
        .collect();
    capture(&samples.iter().map(Vec::as_slice).collect::<Vec<_>>())
}

#[test]
fn a_reset_within_an_aggregated_interval_is_flagged() {
    let counts = [1000, 1100, 1200, 100, 2000, 4000, 4100, 4200, 4300].map(Some);
    let text = capture_of(&[lines_of("sda", &counts)]);
    let lines = json("6", &text);
    let rates: Vec<_> =
        lines.iter().map(|line| (line["reads_per_s"].as_f64(), line["flags"].clone())).collect();
    assert_eq!(rates, [(None, serde_json::json!(["reset"])), (Some(100.0), serde_json::json!([]))]);
    assert!(lines[0]["read_await_ms"].is_null() && lines[0]["queue"].is_null());
    let (csv, _, _) = output("--csv --from - 6", &text);
    assert!(
        csv.lines().nth(1).is_some_and(|line| line.contains(",sda,,,") && line.contains(",reset,")),
        "{csv}"
    );
    // A counter that ends where it began was reset too.
    let counts = [1000, 0, 500, 1000].map(Some);
    assert_eq!(json("3", &capture_of(&[lines_of("loop0", &counts)]))[0]["flags"][0], "reset");
}

#[test]
fn devices_that_appear_or_disappear_within_an_aggregated_interval_are_only_named() {
    let always = [0, 100, 200, 300, 400, 500, 600].map(Some);
    let absent = [Some(0), Some(100), None, None, None, Some(500), Some(600)];
    let brief = [None, None, Some(5), Some(6), None, None, None];
    let text = capture_of(&[lines_of("sda", &always), lines_of("sdb", &absent), lines_of("sdc", &brief)]);
    let flags = |words: &str| -> Vec<String> {
        let lines = json(words, &text);
        let is_event = |line: &&serde_json::Value| line["flags"] != serde_json::json!([]);
        let text = |line: &serde_json::Value| {
            assert!(line["reads_per_s"].is_null() && line["queue"].is_null() && line["verdict"].is_null());
            format!("{} {}", line["device"].as_str().unwrap(), line["flags"][0].as_str().unwrap())
        };
        lines.iter().filter(is_event).map(text).collect()
    };
    assert_eq!(flags("6"), ["sdb reappeared", "sdc appeared_briefly"]);
    assert_eq!(flags("3"), ["sdc appeared", "sdb disappeared", "sdb appeared", "sdc disappeared"]);
    let (csv, _, _) = output("--csv --from - 6", &text);
    let devices: Vec<_> = csv.lines().skip(1).filter_map(|line| line.split(',').nth(2)).collect();
    assert_eq!(devices, ["sdb", "sdc", "sda"]);
    let events = |words: &str| {
        let (out, _, _) = output(&format!("--from - {words}"), &text);
        out.lines().filter(|line| line.starts_with(['+', '-'])).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(events("6"), ["- sdb disappeared and reappeared", "+ sdc appeared briefly"]);
    assert_eq!(events("sda sdc 6"), ["+ sdc appeared briefly"]);
    assert_eq!(events("3"), ["+ sdc appeared", "- sdb disappeared", "+ sdb appeared", "- sdc disappeared"]);
    // The summary has one entry for a device that reappeared.
    let counts = |second: u64| Some(second * 100).filter(|_| !(8..10).contains(&second));
    let text = capture_of(&[lines_of("sdb", &(0..=18).map(counts).collect::<Vec<_>>())]);
    let (out, _, _) = output("--from - 6 --summary", &text);
    let rates: Vec<&str> = out.lines().filter(|line| line.contains(" r/s  ")).collect();
    assert!(rates.len() == 1 && rates[0].split_whitespace().nth(2) == Some("100"), "{out}");
}

/// The same capture with its timestamps moved by `seconds`.
fn later(text: &str, seconds: u64) -> String {
    let line = |line: &str| match line.strip_prefix("TS ") {
        Some(time) => format!("TS {}\n", time.parse::<u64>().unwrap() + seconds),
        None => format!("{line}\n"),
    };
    text.lines().map(line).collect()
}

#[test]
fn milliseconds_may_wrap_more_than_once_in_an_aggregated_interval() {
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
    let line = &json("8h", &text)[0];
    let numbers = ["read_await_ms", "read_queue", "queue", "util_pct"].map(|name| line[name].as_f64());
    assert_eq!(numbers, [400.0, 400.0, 400.0, 100.0].map(Some));
}

#[test]
fn an_aggregated_interval_ends_early_at_a_break() {
    for second_start in [1, 5] {
        let counts: Vec<Option<u64>> = (0..=5).map(|second| Some(second * 100)).collect();
        let text = capture_of(&[lines_of("sda", &counts)]);
        let more: Vec<Option<u64>> = (6..=9).map(|second| Some(second * 100)).collect();
        let text = text + &later(&capture_of(&[lines_of("sda", &more)]), second_start);
        let (out, err, _) = output("--json --from - 3", &text);
        assert!(err.contains("no interval spans this point"), "{err}");
        let lines = out.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
        let rates: Vec<_> =
            lines.map(|line| (line["elapsed_s"].as_f64().unwrap(), line["reads_per_s"].as_f64())).collect();
        assert_eq!(rates, [(3.0, Some(100.0)), (2.0, Some(100.0)), (3.0, Some(100.0))], "{second_start}");
    }
}

/// The device, the reads per second and the flags of each JSON line.
fn rates(words: &str, text: &str) -> Vec<(String, Option<f64>, Vec<String>)> {
    let line = |line: &serde_json::Value| {
        let flags = line["flags"].as_array().unwrap().iter().map(|flag| flag.as_str().unwrap().to_owned());
        (line["device"].as_str().unwrap().to_owned(), line["reads_per_s"].as_f64(), flags.collect())
    };
    json(words, text).iter().map(line).collect()
}

/// The reads per second of the total in each interval.
fn total(words: &str, text: &str) -> Vec<Option<f64>> {
    let lines = rates(&format!("--total {words}"), text);
    lines.into_iter().filter(|(device, ..)| device == "total").map(|(_, rate, _)| rate).collect()
}

#[test]
fn a_total_is_the_sum_of_its_devices() {
    // The counter of one device wraps at 32 bits.
    let wraps = [(1u64 << 32) - 6, 94, 194].map(|reads| format!("sdb {reads} 0 0 0 0 0 0 0 0 0 0"));
    let text = capture_of(&[lines_of("sda", &[100, 200, 300].map(Some)), wraps.to_vec()]);
    assert_eq!(total("", &text), [Some(200.0), Some(200.0)]);
    // The milliseconds of a sum may exceed 32 bits; means are over all requests.
    let line =
        |name: &str, reads: u64, ms: u64| format!("{name} {reads} 0 {} {ms} 0 0 0 0 7 0 {ms}", 8 * reads);
    let device = |name: &str, reads| vec![line(name, 0, 0), line(name, reads, 3_000_000_000)];
    let lines = json("--total", &capture_of(&[device("sda", 1000), device("sdb", 2000)]));
    let numbers = ["read_await_ms", "queue", "in_flight"].map(|name| lines[2][name].as_f64());
    assert_eq!(numbers, [Some(2e6), Some(6e6), Some(14.0)]);
}

#[test]
fn a_total_with_a_reset_device_has_no_numbers_and_is_flagged() {
    let text = capture_of(&[
        lines_of("sda", &[100, 200, 300].map(Some)),
        lines_of("sdb", &[5000, 7, 107].map(Some)),
    ]);
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
fn a_total_covers_the_requested_devices() {
    let names = ["sda", "sda1", "sda2", "sdb", "dm-0"];
    let device = |(at, name): (usize, &&str)| lines_of(name, &[Some(0), Some(10u64.pow(at as u32))]);
    let text = capture_of(&names.iter().enumerate().map(device).collect::<Vec<_>>());
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
fn a_total_counts_the_paths_where_the_multipath_disk_does_not_count() {
    let path = |name: &str| lines_of(name, &[100, 600].map(Some));
    let paths = [lines_of("sda", &[100, 110].map(Some)), path("nvme0c0n1"), path("nvme0c1n1")];
    let head = |counts: [u64; 2]| [paths.as_slice(), &[lines_of("nvme0n1", &counts.map(Some))]].concat();
    assert_eq!(total("", &capture_of(&head([0, 0]))), [Some(1010.0)]);
    assert_eq!(total("", &capture_of(&paths)), [Some(1010.0)]);
    assert_eq!(total("", &capture_of(&head([200, 1200]))), [Some(1010.0)]);
    assert_eq!(total("", &capture_of(&head([0, 1000]))), [Some(1010.0)]);
    assert_eq!(total("nvme0c0n1", &capture_of(&head([200, 1200]))), [Some(500.0)]);
}

#[test]
fn the_report_since_boot_has_a_total_too() {
    let text =
        capture_of(&[lines_of("sda", &[1000, 1100].map(Some)), lines_of("sdb", &[3000, 3000].map(Some))]);
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
fn a_total_that_includes_a_device_without_accounting_is_flagged() {
    let device = |name: &str, more: &str| format!(r#"{{"name":"{name}","kind":"disk"{more}}}"#);
    let devices = format!("{},{}", device("sda", r#","accounting":false"#), device("sdb", ""));
    let text = capture_of(&[lines_of("sda", &[100, 100].map(Some)), lines_of("sdb", &[0, 10].map(Some))]);
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
fn intervals_have_the_same_length_after_a_gap() {
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
fn util_is_implausible_if_too_low_for_the_requests_in_flight() {
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
    // A queue of 1.14 in 0.4% of the time would need 285 requests in flight, but the samples have 64 at most.
    let (out, _, _) = output("--json --from - 2", &text);
    assert_eq!(out.matches(r#""util_pct":0.4,"#).count(), 10, "{out}");
    assert_eq!(out.matches(r#""flags":["util_too_low"]"#).count(), 10, "{out}");
    let (out, _, _) = output("analyze --json --from - 2", &text);
    let report: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert!(report["devices"][0]["util_pct"]["mean"].is_null(), "{out}");
}

#[test]
fn unknown_values_do_not_count_in_a_mean() {
    // The milliseconds went backwards in one interval: its latency and queue are unknown.
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
    assert!(
        row("r_await").contains("10.0ms  worst  10.0ms") && row("queue").contains("1.00  worst    1.00"),
        "{summary}"
    );
}
