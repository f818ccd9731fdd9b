//! The width of a table, its columns and its colors.

use std::collections::BTreeSet;

use blkstat::clock::WaitOutcome;
use jiff::Timestamp;

use super::captures::{capture_of, lines_of};
use crate::support::clock::ManualClock;
use crate::support::in_process::in_process;
use crate::support::program::{blkstat, output};

#[test]
fn no_line_is_wider_than_requested_and_no_number_is_cut() {
    for capture in [
        "mixed",
        "capped-3000",
        "sweep-randread",
        "names",
        "stalls",
        "hostile",
        "hotplug",
    ] {
        for more in ["", " --all --total", " --all --summary"] {
            let whole = numbers(&whole_output(capture, more));
            for width in [20, 30, 47, 60, 80, 100, 132, 200] {
                let options =
                    format!("--width {width}{more} --from fixtures/captures/{capture}.txt");
                let (out, _, code) = output(&options, "");
                assert!(
                    code == 0 && !out.is_empty(),
                    "{options}: exit {code}, {} bytes",
                    out.len()
                );
                let lines = out.lines().filter(|line| line.chars().count() > width);
                let wide: Vec<&str> = lines.collect();
                assert!(wide.is_empty(), "{options}: {wide:#?}");
                let cut: Vec<String> = numbers(&out).difference(&whole).cloned().collect();
                assert!(cut.is_empty(), "{options}: {cut:?}");
            }
        }
    }
}

/// Returns the output at a width that cuts nothing.
fn whole_output(capture: &str, more: &str) -> String {
    output(
        &format!("--width 1000{more} --from fixtures/captures/{capture}.txt"),
        "",
    )
    .0
}

/// Returns the numbers after the first word of each line, with their units, but no time of day.
fn numbers(text: &str) -> BTreeSet<String> {
    // Stalls are worded differently where there is less space.
    let lines = text
        .lines()
        .filter(|line| !line.to_lowercase().contains("stalled"));
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
    for title in [
        "r/s", "rMiB/s", "r_sz", "w/s", "rmrg", "inflt", "≤util", "verdict",
    ] {
        assert!(
            titles.split_whitespace().any(|word| word == title),
            "{title}: {out}"
        );
    }
    assert!(
        !titles.contains(" d/s") && out.contains(name) && !out.contains("hidden"),
        "{out}"
    );
    assert!(
        output("--from - --width 40", &text)
            .0
            .contains("\n└ hidden at width 40: ")
    );
}

#[test]
fn latency_pressure_and_verdicts_have_colors_and_util_has_none() {
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |_| WaitOutcome::Due);
    let text = in_process("--from fixtures/captures/capped-3000.txt --width 106 8")
        .env("TERM", "xterm")
        .env("LC_ALL", "C.UTF-8")
        .on_terminal()
        .run(&clock)
        .0;
    for colored in [
        "\u{1b}[1;31m18.2ms\u{1b}[0m",
        "\u{1b}[1;31m56.4x\u{1b}[0m",
        "\u{1b}[1;31mcapped 40s\u{1b}[0m",
        "  96%  100%",
        " 0.2%  ",
    ] {
        assert!(text.contains(colored), "{colored:?}: {text}");
    }
}

#[test]
fn columns_end_below_their_titles() {
    let (out, _, _) = output("--from fixtures/captures/sweep-randread.txt", "");
    let header = &out
        .lines()
        .find(|line| line.starts_with("device"))
        .unwrap()
        .replace('≤', "<");
    for line in out.lines().filter(|line| line.starts_with("vda")) {
        let line = &line.replace('µ', "u");
        assert_eq!(line.len(), header.len(), "{line}");
        // The verdict and its time are two words.
        let cells = header.len() - 14;
        let ends = |text: &str| {
            let after = |at: &usize| text[*at..].starts_with(' ') && !text[..*at].ends_with(' ');
            (1..cells).filter(after).collect::<Vec<_>>()
        };
        assert_eq!(ends(line)[1..], ends(header)[1..], "{line}");
    }
}

#[test]
fn without_a_terminal_no_command_cuts_a_table() {
    const CAPTURE: &str = "fixtures/captures/mixed.txt";
    for command in ["", "devices", "analyze"] {
        let (out, err, code) = output(&format!("{command} --from {CAPTURE}"), "");
        assert!(
            code < 2 && !out.contains("hidden at width"),
            "{command}: {err}{out}"
        );
    }
}

#[test]
fn rows_can_begin_with_the_time() {
    let rows = |options: &str| {
        let (out, _, code) = output(&format!("{options} --from fixtures/captures/mixed.txt"), "");
        assert_eq!(code, 0, "{out}");
        out.lines()
            .filter(|line| line.split_whitespace().any(|word| word == "loop0"))
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let all = rows("-o r/s,verdict");
    assert!(all.iter().all(|row| row.starts_with("loop0 ")), "{all:?}");
    let timed = rows("-o time,device,r/s,verdict");
    assert_eq!(timed.len(), all.len());
    for (row, timed) in all.iter().zip(&timed) {
        let (time, rest) = timed.split_once(' ').unwrap();
        assert!(time.len() == 8 && rest == row, "{timed}");
    }
}

#[test]
fn colors_are_used_on_request_and_never_in_a_pipe_otherwise() {
    let has_colors = |options: &str, variables: &[(&str, &str)]| {
        let words = format!("{options} --from fixtures/captures/capped-3000.txt 8");
        let run = variables
            .iter()
            .fold(blkstat(&words), |run, (name, value)| run.env(name, value))
            .run();
        run.out.contains('\u{1b}')
    };
    let forced = [("CLICOLOR_FORCE", "1")];
    assert!(has_colors("--color always", &[]) && has_colors("", &forced));
    assert!(!has_colors("", &[]) && !has_colors("--color never", &forced));
    assert!(!has_colors(
        "",
        &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]
    ));
}

#[test]
fn a_busy_device_says_why_it_has_no_other_word() {
    let (out, _, _) = output(
        "--from fixtures/captures/capped-4321-contended.txt --as-live",
        "",
    );
    let lines: Vec<&str> = out.lines().collect();
    let busy = lines
        .windows(2)
        .filter(|pair| pair[0].ends_with(" busy"))
        .collect::<Vec<_>>();
    assert!(
        !busy.is_empty() && busy.iter().all(|pair| pair[1].starts_with('\u{2514}')),
        "{out}"
    );
}
