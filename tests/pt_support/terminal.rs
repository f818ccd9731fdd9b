//! A program on a pseudo-terminal, and somebody who presses keys.

use std::fs::File;
use std::io::{Read, Write};
use std::process::Child;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::case::Session;
use super::outcomes::Outcome;
use super::programs::command;

/// Between two presses nothing is printed for so long.
const PAUSE: Duration = Duration::from_millis(300);
/// A program that prints nothing at first may still be starting.
const START: Duration = Duration::from_millis(1200);
/// When it should have ended.
const END: Duration = Duration::from_secs(3);

/// What came out of a terminal so far.
#[derive(Default)]
struct Seen {
    bytes: Vec<u8>,
    is_over: bool,
}

/// Runs a program on the capture at `arguments` and presses the session's keys. What the terminal showed, and the
/// exit status; -2 for a program that was still running.
pub(crate) fn run(program: &[&str], arguments: &[String], session: &Session) -> Outcome {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let ours = openpt(flags).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let theirs = ioctl_tiocgptpeer(&ours, flags).unwrap();
    let size = Winsize { ws_row: session.rows, ws_col: 200, ws_xpixel: 0, ws_ypixel: 0 };
    tcsetwinsize(&theirs, size).unwrap();
    let words: Vec<&str> = ["setsid", "--ctty"].iter().chain(program).copied().collect();
    let mut child = command(&words)
        .args(arguments)
        .env("TERM", "xterm")
        .stdin(theirs.try_clone().unwrap())
        .stdout(theirs.try_clone().unwrap())
        .stderr(std::fs::OpenOptions::new().write(true).open("/dev/null").unwrap())
        .spawn()
        .unwrap();
    drop(theirs);

    let mut keyboard = File::from(ours);
    let screen = keyboard.try_clone().unwrap();
    let seen = Arc::new(Mutex::new(Seen::default()));
    let reader = thread::spawn({
        let seen = Arc::clone(&seen);
        move || watch(screen, &seen)
    });
    until_quiet(&seen, START);
    for press in session.presses() {
        // Nobody may be there any more.
        let _ = keyboard.write_all(&press);
        until_quiet(&seen, PAUSE);
    }
    let status = end(&mut child);
    drop(keyboard);
    reader.join().unwrap();
    let stdout = String::from_utf8_lossy(&seen.lock().unwrap().bytes).into_owned();
    Outcome { stdout, status }
}

/// Keeps what comes until nobody has the other side open.
fn watch(mut screen: File, seen: &Mutex<Seen>) {
    let mut bytes = [0; 4096];
    while let Ok(length @ 1..) = screen.read(&mut bytes) {
        seen.lock().unwrap().bytes.extend_from_slice(&bytes[..length]);
    }
    seen.lock().unwrap().is_over = true;
}

/// Waits until nothing has come for a while: for `longest` when nothing comes at all.
fn until_quiet(seen: &Mutex<Seen>, longest: Duration) {
    let start = Instant::now();
    let (mut length, mut changed) = (seen.lock().unwrap().bytes.len(), None);
    loop {
        thread::sleep(Duration::from_millis(10));
        let seen = seen.lock().unwrap();
        if seen.bytes.len() != length {
            (length, changed) = (seen.bytes.len(), Some(Instant::now()));
        }
        let (since, wait) = changed.map_or((start, longest), |changed| (changed, PAUSE));
        if seen.is_over || since.elapsed() >= wait {
            return;
        }
    }
}

fn end(child: &mut Child) -> i32 {
    let start = Instant::now();
    while start.elapsed() < END {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().unwrap_or(-1);
        }
        thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    -2
}
