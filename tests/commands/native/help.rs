//! Help, manual pages and completions.

use std::io::Read;
use std::process::Stdio;

use crate::support::program::{BLKSTAT, Program, blkstat, output};
use crate::support::terminal::open_terminal;
use crate::support::text::one_line;

#[test]
fn completions_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        let (out, _, code) = output(&format!("completions {shell}"), "");
        assert!(
            code == 0 && out.contains(&format!("BLKSTAT_COMPLETE=\"{shell}\""))
                || out.contains("BLKSTAT_COMPLETE=fish"),
            "{shell}: {out}"
        );
    }
}

/// Returns what the words of a command line, of which the last is incomplete, may become.
fn completed(words: &str) -> Vec<String> {
    let at = words.split(' ').count() - 1;
    let completing = Program::new(&[BLKSTAT, "--"])
        .args(words.split(' '))
        .env("BLKSTAT_COMPLETE", "bash")
        .env("_CLAP_COMPLETE_INDEX", at.to_string());
    completing.run().out.lines().map(str::to_owned).collect()
}

#[test]
fn completions_know_commands_devices_sort_keys_fields_and_topics() {
    assert_eq!(completed("blkstat anal"), ["analyze"]);
    assert_eq!(completed("blkstat --sort r_a"), ["r_await"]);
    assert_eq!(completed("blkstat who --sort M"), ["MiB/s"]);
    assert_eq!(
        completed("blkstat --json --fields device,util_p"),
        ["device,util_pct"]
    );
    assert_eq!(completed("blkstat help verd"), ["verdicts", "verdict"]);
    assert_eq!(
        completed("blkstat analyze fixtures/captures/capped-3"),
        ["fixtures/captures/capped-3000.txt"]
    );
    for device in std::fs::read_dir("/sys/class/block").into_iter().flatten() {
        let name = device.unwrap().file_name().into_string().unwrap();
        assert!(
            completed(&format!("blkstat {name}")).contains(&name),
            "{name}"
        );
    }
}

#[test]
fn the_help_explains_columns_and_verdicts() {
    for (topic, terms) in [
        (
            "columns",
            &["r_sat", "inflt", "≤util", "~1.00ms", "<500µs", "25%?"][..],
        ),
        (
            "verdicts",
            &[
                "stalled",
                "saturated",
                "capped",
                "queueing",
                "accounting_off",
                "-",
            ],
        ),
    ] {
        let (out, err, code) = output(&format!("help {topic}"), "");
        assert_eq!((err.as_str(), code), ("", 0));
        for term in terms {
            assert!(
                out.lines()
                    .any(|line| line.starts_with(&format!("- `{term}`"))),
                "{term}: {out}"
            );
        }
    }
    let (topics, _, code) = output("help", "");
    assert_eq!(code, 0);
    for topic in ["faq", "verdicts", "pipelines", "record", "analyze"] {
        assert!(
            topics
                .lines()
                .any(|line| line.starts_with(&format!("- `{topic}`"))),
            "{topic}: {topics}"
        );
    }
    let (page, _, code) = output("help analyze", "");
    assert!(
        code == 0
            && page.starts_with("# blkstat analyze: ")
            && page.contains("--baseline-ms <R[,W]>"),
        "{page}"
    );
}

#[test]
fn the_help_finds_a_name_on_any_page_and_names_the_pages_if_there_is_none() {
    let (out, err, code) = output("help R_SAT", "");
    assert_eq!((err.as_str(), code), ("", 0));
    assert!(
        out.starts_with("- `r_sat`: ") && out.contains("(blkstat help columns)\n"),
        "{out}"
    );
    for name in [
        "limit_cgroup",
        "blkstat_disk_stalled_seconds_total",
        "BlkstatDiskSlow",
        "throttled",
        "version",
    ] {
        assert_eq!(output(&format!("help {name}"), "").2, 0, "{name}");
    }
    let (out, err, code) = output("help nosuch", "");
    assert_eq!((out.as_str(), code), ("", 2));
    assert!(err.starts_with("blkstat: no help on 'nosuch'; "), "{err}");
}

/// Returns what a program that succeeds writes to a terminal.
pub(super) fn text_on_terminal(program: Program) -> String {
    let (mut user, terminal) = open_terminal();
    let mut child = program.spawn(terminal, Stdio::null());
    let mut text = Vec::new();
    let mut bytes = [0; 4096];
    // The terminal reports an error when the program has closed it.
    while let Ok(length @ 1..) = user.read(&mut bytes) {
        text.extend_from_slice(&bytes[..length]);
    }
    assert!(child.wait().unwrap().success());
    String::from_utf8(text).unwrap()
}

#[test]
fn a_page_is_shown_with_the_pager_on_a_terminal_only() {
    let page = || {
        blkstat("help verdicts")
            .env("TERM", "xterm")
            .env("LC_ALL", "C.UTF-8")
    };
    let shown = |pager: &str| text_on_terminal(page().env("PAGER", pager));
    let paged = shown("sed 's/^/paged: /'");
    assert!(paged.starts_with("paged: # verdicts: "), "{paged}");
    // Without the program, the page is printed all the same.
    assert!(shown("/nonexistent/pager 2>/dev/null").starts_with("# verdicts: "));
    let piped = page().env("PAGER", "sed 's/^/paged: /'").run();
    assert!(piped.out.starts_with("# verdicts: "), "{}", piped.out);
}

#[test]
fn usage_lines_have_whole_brackets() {
    for command in [
        "",
        "analyze",
        "who",
        "record",
        "man",
        "devices",
        "completions",
        "service",
        "version",
    ] {
        let (out, _, _) = output(&format!("{command} --help"), "");
        let usage = out
            .split(if command.is_empty() {
                "In an incident:"
            } else {
                "Options:"
            })
            .next()
            .unwrap();
        for (open, close) in [('[', ']'), ('<', '>')] {
            assert_eq!(
                usage.matches(open).count(),
                usage.matches(close).count(),
                "{usage}"
            );
        }
        let takes_interval = matches!(command, "" | "analyze" | "who" | "record");
        assert_eq!(
            usage.contains("[INTERVAL [COUNT]]\n"),
            takes_interval,
            "{usage}"
        );
    }
}

#[test]
fn the_program_and_every_command_have_a_man_page_with_their_options() {
    let directory = tempfile::tempdir().unwrap();
    let outcome = blkstat("man").args([directory.path()]).run();
    assert_eq!(
        (outcome.out.as_str(), outcome.err.as_str(), outcome.code),
        ("", "", 0)
    );
    for (page, option) in [
        ("blkstat.1", "since\\-boot"),
        ("blkstat-analyze.1", "baseline\\-ms"),
    ] {
        let text = std::fs::read_to_string(directory.path().join(page)).unwrap();
        assert!(
            text.contains(".SH SYNOPSIS") && text.contains(option),
            "{text}"
        );
    }
    let (out, err, code) = output("man /nonexistent/directory", "");
    assert_eq!((out.as_str(), code), ("", 2));
    assert!(
        err.starts_with("blkstat: cannot write man pages to /nonexistent/directory: "),
        "{err}"
    );
}

#[test]
fn a_column_is_explained_by_each_of_its_names() {
    for (term, expected) in [
        ("await", "- `await`, `r_await`, `w_await`: mean latency"),
        ("queue", "- `queue`: mean number of requests"),
        ("%util", "- `util`: share of the time"),
        ("rkB/s", "- `rMiB/s`: data read per second"),
        ("read_await_ms", "- `r_await`: mean latency"),
    ] {
        let (out, err, code) = output(&format!("help {term}"), "");
        assert_eq!((err.as_str(), code), ("", 0), "{term}");
        assert!(one_line(&out).contains(expected), "{term}: {out}");
    }
}

#[test]
fn the_first_screen_has_24_lines_of_80_columns_with_what_to_type_in_an_incident() {
    let (help, _, code) = output("-h", "");
    assert_eq!(code, 0);
    assert!(help.lines().count() <= 24, "{help}");
    for command in [
        "",
        "top",
        "analyze",
        "report",
        "who",
        "latency",
        "record",
        "export",
        "devices",
        "completions",
        "service",
        "version",
        "man",
        "help",
    ] {
        let (short, _, _) = output(&format!("{command} -h"), "");
        let (long, _, _) = output(&format!("{command} --help"), "");
        let widest = |text: &str| text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(
            widest(&short) <= 80 && widest(&long) <= 80,
            "{command}: {short}{long}"
        );
    }
    for example in [
        "blkstat  ",
        "blkstat --explain",
        "blkstat who",
        "blkstat top",
        "blkstat record",
        "blkstat help",
    ] {
        let has_example = |line: &str| line.trim_start().starts_with(example);
        assert!(help.lines().any(has_example), "{example}: {help}");
    }
    let options = help
        .lines()
        .filter(|line| line.trim_start().starts_with('-'));
    assert_eq!(options.count(), 10, "{help}");
}

#[test]
fn options_that_are_seldom_needed_come_last_and_only_in_the_long_help() {
    for command in ["", "top", "analyze", "report", "who"] {
        let (long, _, _) = output(&format!("{command} --help"), "");
        let (before, seldom) = long.split_once("\nSeldom needed:\n").unwrap();
        assert!(
            seldom.contains("--stack") && !before.contains("--stack"),
            "{long}"
        );
        let (short, _, _) = output(&format!("{command} -h"), "");
        assert!(!short.contains("--stack"), "{short}");
    }
}
