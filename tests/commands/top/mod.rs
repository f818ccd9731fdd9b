//! `blkstat top`: the real program on a pseudo-terminal. What is drawn is tested in `src/screen`.

mod picture;

use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::support::fake_root::FakeRoot;
use crate::support::program::{blkstat, output};
use crate::support::session::Session;

const CAPTURE: &str = "--from fixtures/captures/capped-3000.txt";
const ENTER_SCREEN: &str = "\x1b[?1049h";
const LEAVE_SCREEN: &str = "\x1b[?1049l";
const MOUSE_ON: &str = "\x1b[?1000h";

#[test]
fn a_capture_is_shown_searched_and_left_as_the_terminal_was() {
    let mut session = Session::start(CAPTURE, (100, 30), &[]);
    session.wait_for(ENTER_SCREEN);
    session.wait_for("loop0: ");
    session.wait_for("capped");
    session.wait_for("REPLAY");
    assert!(session.text().contains(MOUSE_ON));
    session.press("?", "regular expression");
    // It leaves the help first.
    session.press("q", "capped");
    session.press("q", LEAVE_SCREEN);
    assert_eq!(session.end(), 0);
    assert!(session.is_restored());
}

#[test]
fn colors_and_characters_are_as_the_environment_says() {
    let colored = Session::start(CAPTURE, (100, 30), &[]);
    colored.wait_for("REPLAY");
    assert!(colored.text().contains("\x1b[38;5;"), "{}", colored.text());
    let variables = [("NO_COLOR", "1"), ("LC_ALL", "C")];
    let plain = Session::start(CAPTURE, (100, 30), &variables);
    plain.wait_for("REPLAY");
    let text = plain.text();
    assert!(text.is_ascii() && !text.contains("\x1b[38;"), "{text}");
}

#[test]
fn the_size_follows_the_terminal_at_once() {
    let session = Session::start(CAPTURE, (100, 30), &[]);
    session.wait_for("REPLAY");
    session.resize((50, 10));
    session.send(Signal::WINCH);
    session.wait_for("50x10 is too small");
}

#[test]
fn ctrl_z_gives_the_terminal_back_and_fg_takes_it_again() {
    let mut session = Session::start(CAPTURE, (100, 30), &[]);
    session.wait_for("REPLAY");
    session.press("\x1a", LEAVE_SCREEN);
    session.wait_until_stopped();
    assert!(session.is_restored());
    let before = session.text().matches(ENTER_SCREEN).count();
    session.send(Signal::CONT);
    session.press("?", "regular expression");
    assert_eq!(session.text().matches(ENTER_SCREEN).count(), before + 1);
    assert!(!session.is_restored());
}

#[test]
fn a_signal_ends_it_with_the_terminal_restored() {
    for (signal, code) in [
        (Signal::TERM, 143),
        (Signal::HUP, 129),
        (Signal::QUIT, 131),
        (Signal::ABORT, 134),
        (Signal::USR1, 138),
        (Signal::ALARM, 142),
    ] {
        let mut session = Session::start(CAPTURE, (100, 30), &[]);
        session.wait_for("REPLAY");
        session.send(signal);
        assert_eq!(session.end(), code);
        session.wait_for(LEAVE_SCREEN);
        assert!(session.is_restored());
    }
}

#[test]
fn a_capture_that_has_been_read_takes_hardly_any_processor_time() {
    let session = Session::start(CAPTURE, (100, 30), &[]);
    session.wait_for("REPLAY");
    thread::sleep(Duration::from_millis(500));
    let (before, start) = (session.cpu_time(), Instant::now());
    thread::sleep(Duration::from_millis(1500));
    let used = session.cpu_time() - before;
    assert!(used * 4 < start.elapsed(), "{used:?}");
}

#[test]
#[cfg(debug_assertions)]
fn a_panic_leaves_the_terminal_restored_with_its_message() {
    let mut session = Session::start(CAPTURE, (100, 30), &[]);
    session.wait_for("REPLAY");
    session.press("\x18", LEAVE_SCREEN);
    assert_eq!(session.end(), 101);
    assert!(session.is_restored());
    // The program has ended, but the end of its output may not have been read yet.
    session.wait_for("Ctrl-X");
    let text = session.text();
    let (_, after) = text.rsplit_once(LEAVE_SCREEN).unwrap();
    assert!(
        after.contains("blkstat: panicked at") && after.contains("Ctrl-X"),
        "{after}"
    );
}

#[test]
fn without_a_terminal_it_is_refused_with_a_hint() {
    let (out, err, code) = output(&format!("top {CAPTURE}"), "");
    assert_eq!((out.as_str(), code), ("", 2));
    assert!(err.contains("'blkstat' prints the same as lines"), "{err}");
    let mut session = Session::start(CAPTURE, (100, 30), &[("TERM", "dumb")]);
    assert_eq!(session.end(), 2);
    session.wait_for("'blkstat' prints the same as lines");
    assert!(!session.text().contains(ENTER_SCREEN));
}

#[test]
fn bad_input_is_one_clear_line() {
    let mut session = Session::start("--from fixtures/captures/nosuch.txt", (100, 30), &[]);
    assert_eq!(session.end(), 2);
    session.wait_for("cannot open fixtures/captures/nosuch.txt");
    assert!(!session.text().contains(ENTER_SCREEN));
    let mut session = Session::start("--from fixtures/captures/pt/single.txt", (100, 30), &[]);
    assert_eq!(session.end(), 1);
    session.wait_for("two are needed");
    assert_eq!(blkstat("top 1 5").run().code, 2);
    assert_eq!(blkstat("top --from -").run().code, 2);
}

#[test]
fn the_running_system_is_paused_and_its_interval_changed() {
    let root = FakeRoot::in_memory();
    root.file("proc/diskstats", "8 0 sda 1 2 3 4 5 6 7 8 0 10 11\n")
        .file("proc/sys/kernel/hostname", "db7");
    let arguments = format!("--root {} 0.1", root.path().display());
    let mut session = Session::start(&arguments, (120, 30), &[]);
    session.wait_for("LIVE");
    session.wait_for("db7");
    session.press("p", "PAUSED");
    session.press("p+++", "an interval of 1 s");
    session.wait_for("1.0");
    session.press("\x1b[21~", LEAVE_SCREEN);
    assert_eq!(session.end(), 0);
}
