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
        ("1 vda", "unexpected 'vda' after INTERVAL; name devices first"),
        ("help column", "no help on 'column'; expected columns, verdicts or the name of a command"),
        (
            "record 1 5",
            "missing FILE before '1'; usage: blkstat record FILE [INTERVAL [COUNT]] (./1 for a file of that name)",
        ),
        (
            "record a.json --learn-baseline ./a.json",
            "--learn-baseline needs a different file than the recording",
        ),
    ] {
        let (out, err, code) = output(words, "");
        assert_eq!((out.as_str(), err, code), ("", format!("blkstat: {message}\n"), 2), "{words}");
    }
    assert!(output("--frm x", "").1.ends_with("; see blkstat --help\n"));
    assert!(output("report x", "").1.ends_with("--output <OUT.html>; see blkstat report --help\n"));
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
