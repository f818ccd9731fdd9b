//! SIGINT and SIGTERM at any time.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use blkstat::clock::WaitOutcome;
use blkstat::exit::Exit;
use jiff::Timestamp;
use rustix::process::Signal;
use rustix::termios::{LocalModes, tcgetattr};
use serde_json::Value;

use super::support::{capture, host, write_host};
use crate::support::clock::ManualClock;
use crate::support::in_process::in_process;
use crate::support::process::{send, wait_until};
use crate::support::program::{BLKSTAT, Program, blkstat};
use crate::support::terminal::open_terminal;

const BOTH: [Signal; 2] = [Signal::INT, Signal::TERM];

/// Returns whether a process has a signal in one of the masks of its /proc/PID/status.
fn has_in_mask(pid: u32, mask: &str, signal: Signal) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let bits = status
        .lines()
        .find_map(|line| line.strip_prefix(mask)?.strip_prefix(':'))
        .unwrap();
    // The lowest bit is that of signal 1.
    u64::from_str_radix(bits.trim(), 16).unwrap() >> (signal.as_raw() - 1) & 1 == 1
}

/// Returns whether a process has a handler for the signal.
fn has_handler(child: &Child, signal: Signal) -> bool {
    has_in_mask(child.id(), "SigCgt", signal)
}

/// Returns whether the tests were started with the signal ignored, as by a shell in the background. Programs inherit
/// that, so that a signal that comes before their handler is lost.
fn is_ignored(signal: Signal) -> bool {
    has_in_mask(std::process::id(), "SigIgn", signal)
}

/// Waits for the exit code, or the negative number of the signal that ended the process. `None` if it had to be killed.
fn exit_code(child: &mut Child) -> Option<i32> {
    let mut ended = None;
    wait_until(|| {
        ended = child.try_wait().unwrap();
        ended.is_some()
    });
    if ended.is_none() {
        child.kill().unwrap();
        child.wait().unwrap();
    }
    ended.and_then(|status| status.code().or(status.signal().map(|signal| -signal)))
}

/// Runs a command until a signal arrives at the wait with this number. Returns its output and how it ended.
fn run_until(words: &str, wait: u64, signal: u8) -> (String, Exit) {
    let root = host();
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |n| {
        write_host(&root, n);
        if n < wait {
            WaitOutcome::Due
        } else {
            WaitOutcome::Signal(signal)
        }
    });
    let (out, err, exit) = in_process(words).root(root.path()).run(&clock);
    assert_eq!(err, "");
    (out, exit)
}

#[test]
fn a_signal_after_any_report_leaves_complete_json() {
    for (wait, signal) in (1..8).flat_map(|wait| [(wait, 2), (wait, 15)]) {
        let (out, exit) = run_until("iostat -x -o JSON 1", wait, signal);
        let document: Value = serde_json::from_str(&out).unwrap();
        let reports = document["sysstat"]["hosts"][0]["statistics"]
            .as_array()
            .unwrap()
            .len();
        assert_eq!((reports as u64, exit), (wait, Exit::Success));

        let (out, exit) = run_until("--json sda 1", wait, signal);
        assert_eq!(
            (out.lines().count() as u64, exit),
            (wait - 1, Exit::Signal(signal))
        );
        assert!(
            out.lines()
                .all(|line| serde_json::from_str::<Value>(line).is_ok())
        );
    }
}

#[test]
fn a_signal_ends_a_live_report_with_a_page_about_what_was_sampled() {
    for (wait, signal) in [(3, 2), (5, 15)] {
        let (page, exit) = run_until("report sda 1 20 -o -", wait, signal);
        assert_eq!(exit, Exit::Signal(signal));
        assert!(
            page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"),
            "{page}"
        );
        assert!(
            page.contains(&format!(", {} intervals<", wait - 1)),
            "after {wait} samples"
        );
    }
}

#[test]
fn a_signal_at_any_time_of_a_real_run_leaves_complete_json_and_the_right_exit_code() {
    let root = host();
    let root = root.path().to_str().unwrap();
    for (delay, signal) in [0, 1, 2, 3, 5, 8, 13, 21, 34]
        .into_iter()
        .flat_map(|ms| BOTH.map(|s| (ms, s)))
    {
        let number = signal.as_raw();
        for words in [
            "--json --root ROOT 10ms",
            "iostat -o JSON --root ROOT 0.01",
            "record --root ROOT - 10ms",
        ] {
            let words = words.replace("ROOT", root);
            let mut child = blkstat(&words).spawn(Stdio::piped(), Stdio::piped());
            if is_ignored(signal) {
                assert!(
                    wait_until(|| has_handler(&child, signal)),
                    "{words}: no handler"
                );
            }
            thread::sleep(Duration::from_millis(delay));
            send(&child, signal);
            let ended = exit_code(&mut child);
            let output = child.wait_with_output().unwrap();
            let out = String::from_utf8(output.stdout).unwrap();
            assert_eq!(
                String::from_utf8_lossy(&output.stderr),
                "",
                "{words} after {delay} ms"
            );
            if ended == Some(-number) {
                // The signal arrived before its handler was installed.
                assert_eq!(out, "", "{words} after {delay} ms");
                continue;
            }
            if words.starts_with("iostat") {
                assert_eq!(ended, Some(0), "{words} after {delay} ms");
                assert!(
                    serde_json::from_str::<Value>(&out).is_ok(),
                    "{words} after {delay} ms: {out}"
                );
            } else {
                assert_eq!(ended, Some(128 + number), "{words} after {delay} ms");
                assert!(
                    out.is_empty() || out.ends_with('\n'),
                    "{words} after {delay} ms: {out}"
                );
            }
        }
    }
}

#[test]
fn a_signal_ends_a_replay_that_waits_for_input() {
    // Its output fits into a pipe that is not read.
    let text = capture(15);
    for (words, is_iostat) in [
        ("--json --from -", false),
        ("--from -", false),
        ("iostat -o JSON --from -", true),
        ("iostat -d --from -", true),
    ] {
        for (signal, part) in [
            (Signal::INT, text.as_bytes()),
            (Signal::TERM, text.as_bytes()),
            (Signal::TERM, b"".as_slice()),
        ] {
            let mut child = blkstat(words)
                .stdin(Stdio::piped())
                .spawn(Stdio::piped(), Stdio::piped());
            let mut stdin = child.stdin.take().unwrap();
            stdin.write_all(part).unwrap();
            let mut start = [0; 200];
            if part.is_empty() {
                assert!(
                    wait_until(|| has_handler(&child, signal)),
                    "{words}: no handler"
                );
            } else {
                child
                    .stdout
                    .as_mut()
                    .unwrap()
                    .read_exact(&mut start)
                    .unwrap();
            }
            send(&child, signal);
            let ended = exit_code(&mut child);
            let mut rest = String::new();
            child
                .stdout
                .take()
                .unwrap()
                .read_to_string(&mut rest)
                .unwrap();
            let out = if part.is_empty() {
                rest
            } else {
                String::from_utf8_lossy(&start).into_owned() + &rest
            };
            let mut err = String::new();
            child
                .stderr
                .take()
                .unwrap()
                .read_to_string(&mut err)
                .unwrap();
            assert_eq!(err, "", "{words}");
            let expected = if is_iostat { 0 } else { 128 + signal.as_raw() };
            assert_eq!(ended, Some(expected), "{words}");
            if words.contains("-o JSON") && !out.is_empty() {
                assert!(
                    serde_json::from_str::<Value>(&out).is_ok(),
                    "{words}: {out}"
                );
            }
            drop(stdin);
        }
    }
}

#[test]
fn a_signal_ends_the_wait_for_a_pipe_that_nobody_writes_to() {
    let host = host();
    host.pipe("pipe");
    let pipe = host.path().join("pipe");
    let pipe = pipe.display();
    for (words, expected) in [
        (format!("--json --from {pipe}"), 130),
        (format!("analyze {pipe}"), 130),
        (format!("export --from {pipe}"), 130),
        (format!("pt-diskstats {pipe}"), 130),
        (format!("iostat --from {pipe}"), 0),
    ] {
        let mut child = blkstat(&words).spawn(Stdio::null(), Stdio::null());
        assert!(wait_until(|| has_handler(&child, Signal::INT)), "{words}");
        thread::sleep(Duration::from_millis(100));
        send(&child, Signal::INT);
        assert_eq!(exit_code(&mut child), Some(expected), "{words}");
    }
}

#[test]
fn a_signal_ends_the_wait_for_a_reader_of_the_output() {
    for words in ["--json 0.05", "iostat -x 1", "help verdicts"] {
        for signal in BOTH.into_iter().filter(|signal| !is_ignored(*signal)) {
            // Nobody reads the pipe, which is full.
            let (_reader, writer) = std::io::pipe().unwrap();
            rustix::io::ioctl_fionbio(&writer, true).unwrap();
            while (&writer).write(&[b'x'; 512]).is_ok() {}
            rustix::io::ioctl_fionbio(&writer, false).unwrap();
            let mut child = blkstat(words).spawn(writer, Stdio::null());
            assert!(wait_until(|| has_handler(&child, signal)), "{words}");
            send(&child, signal);
            assert_eq!(
                exit_code(&mut child),
                Some(128 + signal.as_raw()),
                "{words}"
            );
        }
    }
}

#[test]
fn a_signal_ends_the_wait_for_a_reader_of_saved_samples() {
    let host = host();
    host.pipe("pipe");
    let words = format!(
        "pt-diskstats --save-samples {}",
        host.path().join("pipe").display()
    );
    let mut child = blkstat(&words).spawn(Stdio::null(), Stdio::null());
    assert!(wait_until(|| has_handler(&child, Signal::INT)));
    thread::sleep(Duration::from_millis(300));
    send(&child, Signal::INT);
    assert_eq!(exit_code(&mut child), Some(-2));
}

#[test]
fn a_signal_restores_the_terminal() {
    let root = host();
    let others = [
        Signal::HUP,
        Signal::QUIT,
        Signal::ABORT,
        Signal::USR1,
        Signal::ALARM,
    ];
    for signal in BOTH.into_iter().chain(others) {
        let (_controller, terminal) = open_terminal();
        let local = || tcgetattr(&terminal).unwrap().local_modes;
        let before = local();
        // Under nohup, SIGHUP would be ignored, which a program inherits.
        let words = ["env", "--default-signal", BLKSTAT, "pt-diskstats"];
        let mut child = Program::new(&words)
            .args(["--interval", "60", "--root"])
            .args([root.path()])
            .stdin(terminal.try_clone().unwrap())
            .spawn(Stdio::null(), Stdio::null());
        let is_raw = || !local().contains(LocalModes::ICANON);
        assert!(wait_until(is_raw), "the terminal still waits for Enter");
        send(&child, signal);
        assert_eq!(exit_code(&mut child), Some(128 + signal.as_raw()));
        assert_eq!(local(), before);
    }
}
