//! Invalid and mistaken arguments.

use crate::support::program::output;

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
        "vda 1 2 sdb 3",
        "--frm x",
        "--sort nope",
        "--top 0",
        "--width 5",
        "--json --csv",
        "--devices-regex (",
        "completions nosuch",
        "completions elvish",
        "--from no/such/file",
        "--from fixtures",
    ] {
        let (out, err, code) = output(words, "");
        assert_eq!((out.as_str(), code), ("", 2), "{words}: {err}");
        assert!(
            err.lines().count() == 1 && err.starts_with("blkstat: "),
            "{words}: {err}"
        );
    }
}

#[test]
fn mistaken_arguments_are_answered_with_a_suggestion() {
    for (words, message) in [
        (
            "-x 1",
            "unexpected argument '-x' found; did you mean 'blkstat iostat -x 1'?",
        ),
        (
            "-dxk sda 1 3",
            "unexpected argument '-d' found; did you mean 'blkstat iostat -dxk sda 1 3'?",
        ),
        (
            "analze --details x.txt",
            "no such command 'analze'; did you mean 'blkstat analyze'?",
        ),
        (
            "reprot x.txt",
            "no such command 'reprot'; did you mean 'blkstat report'?",
        ),
        (
            "--frm x",
            "unexpected argument '--frm' found; a similar argument exists: '--from'; see blkstat --help",
        ),
        (
            "who --jsn",
            "unexpected argument '--jsn' found; a similar argument exists: '--json'; see blkstat who --help",
        ),
        (
            "analyse --detials x.txt",
            "unexpected argument '--detials' found; a similar argument exists: '--details'; see blkstat analyze --help",
        ),
        ("-q", "unexpected argument '-q' found; see blkstat --help"),
        (
            "1e3",
            "invalid INTERVAL '1e3'; write it without an exponent, such as 1000 or 0.5",
        ),
        (
            "help colunm",
            "no help on 'colunm'; did you mean 'columns'?",
        ),
        (
            "help xyzzy",
            "no help on 'xyzzy'; 'blkstat help' lists the pages",
        ),
        (
            "--sort utl",
            "invalid value 'utl' for '--sort <KEY>': there is no such key; did you mean 'util'?; see blkstat --help",
        ),
        (
            "-o r_awiat",
            "-o: there is no field 'r_awiat'; did you mean 'r_await'?",
        ),
        (
            "record 1 5",
            "missing FILE before '1'; usage: blkstat record FILE [DEVICE]... [INTERVAL [COUNT]] (./1 for a file of that name)",
        ),
        (
            "record a.json --learn-baseline ./a.json",
            "--learn-baseline needs a different file than the recording",
        ),
    ] {
        let (out, err, code) = output(words, "");
        assert_eq!(
            (out.as_str(), err, code),
            ("", format!("blkstat: {message}\n"), 2),
            "{words}"
        );
    }
}

#[test]
fn options_of_other_tools_for_the_interval_are_named_as_operands() {
    const END: &str = "[DEVICE]... [INTERVAL [COUNT]]";
    for option in ["-n 5", "-n5", "-i 1", "--count 5", "--interval=1"] {
        for (command, usage) in [
            ("", "blkstat [OPTIONS] [FILE]... "),
            ("who ", "blkstat who [OPTIONS] "),
            ("record ", "blkstat record [OPTIONS] FILE "),
        ] {
            let (out, err, code) = output(&format!("{command}{option}"), "");
            let end = format!(" found; INTERVAL is an operand: {usage}{END}\n");
            assert_eq!((out.as_str(), code), ("", 2));
            assert!(err.ends_with(&end), "{command}{option}: {err}");
        }
    }
    for (words, message) in [
        (
            "devices -n 5",
            "unexpected argument '-n' found; see blkstat devices --help",
        ),
        // This is iostat's.
        (
            "-c",
            "unexpected argument '-c' found; did you mean 'blkstat iostat -c'?",
        ),
    ] {
        assert_eq!(
            output(words, "").1,
            format!("blkstat: {message}\n"),
            "{words}"
        );
    }
}

#[test]
fn short_options_are_the_long_ones_in_every_command() {
    const CAPTURE: &str = "fixtures/captures/mixed.txt";
    for (short, long) in [
        (
            format!("-f {CAPTURE} -apj"),
            format!("--from {CAPTURE} --all --partitions --json"),
        ),
        (
            format!("-f {CAPTURE} -s util -w 60"),
            format!("--from {CAPTURE} --sort util --width 60"),
        ),
        (
            format!("who -jf {CAPTURE} -s iops"),
            format!("who --json --from {CAPTURE} --sort iops"),
        ),
        (
            format!("analyze -j -f {CAPTURE}"),
            format!("analyze --json --from {CAPTURE}"),
        ),
        (
            format!("export -paf {CAPTURE}"),
            format!("export --partitions --all --from {CAPTURE}"),
        ),
        (
            format!("report -f {CAPTURE} -o -"),
            format!("report --from {CAPTURE} --output -"),
        ),
    ] {
        let (out, err, code) = output(&short, "");
        assert!(code < 2 && err == output(&long, "").1, "{short}: {err}");
        assert!(out == output(&long, "").0, "{short}");
    }
    // A letter has one meaning, and a long option the same letter wherever it occurs.
    let mut letters = std::collections::BTreeMap::new();
    for command in [
        "", "top", "analyze", "report", "who", "latency", "record", "export", "devices",
    ] {
        let (help, _, _) = output(&format!("{command} --help"), "");
        for line in help
            .lines()
            .map(str::trim_start)
            .filter(|line| line.starts_with('-'))
        {
            let (letter, long) = line.split_once(", ").unwrap_or(("", line));
            let long = long.split([' ', '\t']).next().unwrap();
            let letter = if letter.len() == 2 { letter } else { "" };
            assert_eq!(
                letters.entry(long.to_owned()).or_insert(letter.to_owned()),
                letter,
                "{command} {long}"
            );
        }
    }
    let mut used: Vec<&String> = letters
        .values()
        .filter(|letter| !letter.is_empty())
        .collect();
    used.sort();
    assert_eq!(
        used,
        ["-V", "-a", "-f", "-h", "-j", "-o", "-o", "-p", "-s", "-w"]
    );
}

#[test]
fn usage_errors_contain_no_control_codes() {
    for words in [
        "1\u{1b}[31mx",
        "1 2\u{7}",
        "1 2 3\u{1b}c",
        "--sort \u{1b}[2J",
        "--devices-regex (\u{1b}[2J",
    ] {
        let (out, err, code) = output(words, "");
        assert_eq!(
            (out.as_str(), code, err.lines().count()),
            ("", 2, 1),
            "{words:?}: {err:?}"
        );
        assert!(!err.trim_end().contains(char::is_control), "{err:?}");
    }
}

#[test]
fn another_letter_of_a_short_name_is_another_device() {
    let capture = "--from fixtures/captures/capped-3000.txt";
    for (word, has_suggestion) in [("sdz", false), ("vd", true), ("loop9", true)] {
        let (_, err, code) = output(&format!("{capture} {word}"), "");
        assert_eq!(
            (err.contains("did you mean"), code),
            (has_suggestion, 1),
            "{err}"
        );
    }
}

#[test]
fn keys_to_sort_by_have_the_names_of_json_and_of_iostat_too() {
    let capture = "--from fixtures/captures/mixed.txt --csv --fields device,time";
    for (title, others) in [
        ("util", ["%util", "util_pct"]),
        ("queue", ["aqu-sz", "QUEUE"]),
        ("rMB/s", ["rkB/s", "read_kib_per_s"]),
    ] {
        let sorted = |key: &str| output(&format!("{capture} --sort {key}"), "");
        for other in others {
            assert_eq!(sorted(other), sorted(title), "{other}");
        }
    }
    let (_, err, code) = output(
        "who --sort rkB/s --from fixtures/captures/throttled-volume.txt.gz",
        "",
    );
    assert_eq!(code, 0, "{err}");
}
