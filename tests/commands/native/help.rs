//! Help, manual pages and completions.

use std::io::Read;
use std::process::Stdio;

use crate::support::program::{Program, blkstat, output};
use crate::support::terminal::open_terminal;

#[test]
fn completions_and_the_manual_page_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        let (out, _, code) = output(&format!("completions {shell}"), "");
        assert!(
            code == 0 && out.contains("blkstat") && out.contains("since-boot"),
            "{shell}"
        );
    }
    // In zsh, nothing may precede the command, or it would be taken for that.
    let (out, _, _) = output("completions zsh", "");
    let first_operand = out.lines().find(|line| {
        [r#"":"#, "'*:", "':"]
            .iter()
            .any(|start| line.starts_with(start))
    });
    assert_eq!(first_operand, Some(r#"":: :_blkstat_commands" \"#));
    assert!(out.contains("case $line[1] in\n            (iostat)"));
    let (out, _, code) = output("man", "");
    assert!(
        code == 0 && out.starts_with(".TH \"blkstat\" \"1\"") && out.contains("since\\-boot"),
        "{out}"
    );
}

#[test]
fn the_help_explains_columns_and_verdicts() {
    for (topic, terms) in [
        (
            "columns",
            &["r_sat ", "inflt ", "≤util ", "~1.00ms ", "<500µs ", "25%? "][..],
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
                out.lines().any(|line| line.trim_start().starts_with(term)),
                "{term}: {out}"
            );
        }
    }
    assert_eq!(output("help", ""), output("--help", ""));
    let (page, _, code) = output("help analyze", "");
    assert!(
        code == 0 && page.starts_with("blkstat analyze: ") && page.contains("--save-baseline FILE"),
        "{page}"
    );
}

#[test]
fn the_help_finds_a_name_on_any_page_and_names_the_pages_if_there_is_none() {
    let (out, err, code) = output("help R_SAT", "");
    assert_eq!((err.as_str(), code), ("", 0));
    assert!(
        out.starts_with("  r_sat  ") && out.contains("(blkstat help columns)\n"),
        "{out}"
    );
    for name in [
        "limit_cgroup",
        "blkstat_disk_io_now",
        "BlkstatDiskSlow",
        "throttled",
        "--rotate",
        "null",
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
    assert!(paged.starts_with("paged: \x1b[1mverdicts: "), "{paged}");
    // Without the program, the page is printed all the same.
    assert!(shown("/nonexistent/pager 2>/dev/null").starts_with("\x1b[1mverdicts: "));
    let piped = page().env("PAGER", "sed 's/^/paged: /'").run();
    assert!(piped.out.starts_with("verdicts: "), "{}", piped.out);
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
fn a_command_has_a_manual_page_of_its_own() {
    let (out, _, code) = output("man analyze", "");
    assert!(
        code == 0
            && out.starts_with(".TH \"blkstat-analyze\" \"1\"")
            && out.contains("save\\-baseline"),
        "{out}"
    );
    let (out, err, code) = output("man nosuch", "");
    assert_eq!((out.as_str(), code), ("", 2));
    assert!(
        err.starts_with("blkstat: no manual page for 'nosuch'; "),
        "{err}"
    );
}

#[test]
fn the_first_screen_says_what_to_type_in_an_incident() {
    let (help, _, _) = output("--help", "");
    let screen: Vec<&str> = help.lines().take(24).collect();
    assert!(
        screen.iter().all(|line| line.chars().count() <= 100),
        "{screen:#?}"
    );
    for example in [
        "blkstat  ",
        "blkstat --explain",
        "blkstat who",
        "blkstat top",
        "blkstat record",
        "blkstat analyze",
    ] {
        assert!(
            screen
                .iter()
                .any(|line| line.trim_start().starts_with(example)),
            "{example}: {screen:#?}"
        );
    }
}

#[test]
fn options_are_grouped_in_the_same_way_in_every_command() {
    const HEADINGS: [&str; 4] = ["Source:", "Devices:", "Output:", "Verdict settings:"];
    let mut groups = std::collections::BTreeMap::new();
    for command in [
        "", "top", "analyze", "report", "who", "latency", "record", "export", "devices",
    ] {
        let (help, _, _) = output(&format!("{command} --help"), "");
        let mut heading = "";
        let mut rank = 0;
        for line in help.lines() {
            if let Some(at) = HEADINGS.iter().position(|known| line == *known) {
                assert!(rank <= at, "{command}: {line}");
                (heading, rank) = (HEADINGS[at], at + 1);
            }
            let option = line
                .trim_start()
                .split("--")
                .nth(1)
                .filter(|_| line.trim_start().starts_with('-'));
            if let Some(option) = option.and_then(|option| option.split(' ').next()) {
                let group = groups.entry(option.to_owned()).or_insert(heading);
                assert_eq!(*group, heading, "{command} --{option}");
            }
        }
    }
    for (option, heading) in [
        ("from", "Source:"),
        ("all", "Devices:"),
        ("json", "Output:"),
        ("cap", "Verdict settings:"),
    ] {
        assert_eq!(groups.get(option), Some(&heading), "{option}");
    }
}
