//! Runs a program on a pseudo-terminal and presses keys.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::termios::{Winsize, tcsetwinsize};

use super::case::Session;
use crate::support::program::Program;
use crate::support::references::Outcome;
use crate::support::terminal::open_terminal;

/// The time without output before the next key is pressed.
const PAUSE: Duration = Duration::from_millis(300);
/// The longest time to wait for the first output.
const MAX_START: Duration = Duration::from_millis(1200);
/// The longest time to wait for the end of the program.
const MAX_END: Duration = Duration::from_secs(3);

/// The output of a terminal so far.
#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    is_over: bool,
}

/// Runs a program and presses the keys of the session. Returns the output of the terminal and the exit status, which is
/// -2 for a program that had to be killed.
pub(crate) fn run(program: &[&str], arguments: &[String], session: &Session) -> Outcome {
    let (mut keyboard, terminal) = open_terminal();
    let size = Winsize {
        ws_row: session.rows,
        ws_col: 200,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&terminal, size).unwrap();
    let words: Vec<&str> = ["setsid", "--ctty"]
        .iter()
        .chain(program)
        .copied()
        .collect();
    let program = Program::new(&words)
        .args(arguments)
        .env("TERM", "xterm")
        .stdin(terminal.try_clone().unwrap());
    let mut child = program.spawn(terminal, Stdio::null());

    let screen = keyboard.try_clone().unwrap();
    let output = Arc::new(Mutex::new(Output::default()));
    let reader = thread::spawn({
        let output = Arc::clone(&output);
        move || watch(screen, &output)
    });
    wait_until_quiet(&output, MAX_START);
    for press in session.presses() {
        // The program may have ended.
        let _ = keyboard.write_all(&press);
        wait_until_quiet(&output, PAUSE);
    }
    let status = end(&mut child);
    drop(keyboard);
    reader.join().unwrap();
    let stdout = String::from_utf8_lossy(&output.lock().unwrap().bytes).into_owned();
    Outcome { stdout, status }
}

/// Collects the output until the other side is closed.
fn watch(mut screen: File, output: &Mutex<Output>) {
    let mut bytes = [0; 4096];
    while let Ok(length @ 1..) = screen.read(&mut bytes) {
        output
            .lock()
            .unwrap()
            .bytes
            .extend_from_slice(&bytes[..length]);
    }
    output.lock().unwrap().is_over = true;
}

/// Waits until there was no output for a while; at most `longest` if there is none at all.
fn wait_until_quiet(output: &Mutex<Output>, longest: Duration) {
    let start = Instant::now();
    let (mut length, mut changed) = (output.lock().unwrap().bytes.len(), None);
    loop {
        thread::sleep(Duration::from_millis(10));
        let output = output.lock().unwrap();
        if output.bytes.len() != length {
            (length, changed) = (output.bytes.len(), Some(Instant::now()));
        }
        let (since, wait) = changed.map_or((start, longest), |changed| (changed, PAUSE));
        if output.is_over || since.elapsed() >= wait {
            return;
        }
    }
}

fn end(child: &mut Child) -> i32 {
    let start = Instant::now();
    while start.elapsed() < MAX_END {
        if let Some(status) = child.try_wait().unwrap() {
            return status.code().unwrap_or(-1);
        }
        thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    -2
}
