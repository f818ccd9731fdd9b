//! `blkstat top` on a pseudo-terminal.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, WaitOptions, waitpid};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcgetwinsize, tcsetwinsize};

use super::process::{send, wait_until};
use super::program::{BLKSTAT, Program};
use super::terminal::open_terminal;

/// The program on a terminal.
pub(crate) struct Session {
    keyboard: File,
    terminal: File,
    pub(crate) child: Child,
    output: Arc<Mutex<Vec<u8>>>,
}

impl Session {
    /// Starts `blkstat top` with these arguments on a terminal of this size.
    pub(crate) fn start(arguments: &str, size: (u16, u16), variables: &[(&str, &str)]) -> Self {
        let (keyboard, terminal) = open_terminal();
        resize(&terminal, size);
        // Under nohup, SIGHUP would be ignored, which a program inherits.
        let words = ["env", "--default-signal", "setsid", "--ctty", BLKSTAT];
        let mut program = Program::new(&words)
            .args(["top"])
            .args(arguments.split_whitespace());
        for (name, value) in [("TERM", "xterm-256color"), ("LC_ALL", "C.UTF-8")]
            .iter()
            .chain(variables)
        {
            program = program.env(name, value);
        }
        let program = program.stdin(terminal.try_clone().unwrap());
        let child = program.spawn(
            terminal.try_clone().unwrap(),
            Stdio::from(terminal.try_clone().unwrap()),
        );
        let output = Arc::new(Mutex::new(Vec::new()));
        let mut screen = keyboard.try_clone().unwrap();
        let shared = Arc::clone(&output);
        thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length @ 1..) = screen.read(&mut bytes) {
                shared.lock().unwrap().extend_from_slice(&bytes[..length]);
            }
        });
        Self {
            keyboard,
            terminal,
            child,
            output,
        }
    }

    /// Everything that was written to the terminal so far.
    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.output.lock().unwrap()).into_owned()
    }

    /// Waits until the terminal shows a text, or was sent a command.
    pub(crate) fn wait_for(&self, text: &str) {
        self.wait_for_after(0, text);
    }

    /// Presses keys, and waits until the terminal shows a text, or is sent a command.
    pub(crate) fn press(&mut self, keys: &str, expected: &str) {
        let before = self.output.lock().unwrap().len();
        self.keyboard.write_all(keys.as_bytes()).unwrap();
        self.wait_for_after(before, expected);
    }

    fn wait_for_after(&self, begin: usize, text: &str) {
        let has_text = || {
            let written = self.output.lock().unwrap();
            String::from_utf8_lossy(&written[begin..]).contains(text)
                || self.shown(&written).contains(text)
        };
        assert!(
            wait_until(has_text),
            "no '{text}' in:\n{}\nafter {}",
            self.shown(&self.output.lock().unwrap()),
            self.text()
        );
    }

    /// What a terminal shows that was sent these bytes.
    fn shown(&self, written: &[u8]) -> String {
        let size = tcgetwinsize(&self.terminal).unwrap();
        let mut terminal = vt100::Parser::new(size.ws_row, size.ws_col, 0);
        terminal.process(written);
        terminal.screen().contents()
    }

    /// The processor time of the program so far.
    pub(crate) fn cpu_time(&self) -> Duration {
        let text = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        // The name may contain blanks; utime and stime are the 12th and the 13th value after it.
        let (_, values) = text.rsplit_once(')').unwrap();
        let ticks: u64 = values
            .split_whitespace()
            .skip(11)
            .take(2)
            .map(|value| value.parse::<u64>().unwrap())
            .sum();
        Duration::from_millis(ticks * 10)
    }

    /// Changes the size of the terminal.
    pub(crate) fn resize(&self, size: (u16, u16)) {
        resize(&self.terminal, size);
    }

    /// Sends the program a signal.
    pub(crate) fn send(&self, signal: Signal) {
        send(&self.child, signal);
    }

    /// Waits until the program is stopped, as by Ctrl-Z.
    pub(crate) fn wait_until_stopped(&self) {
        let status = waitpid(Some(Pid::from_child(&self.child)), WaitOptions::UNTRACED)
            .unwrap()
            .unwrap()
            .1;
        assert!(status.stopped(), "{status:?}");
    }

    /// Returns whether keys are echoed by the terminal and lines are edited, as for a shell.
    pub(crate) fn is_restored(&self) -> bool {
        let modes = tcgetattr(&self.terminal).unwrap().local_modes;
        modes.contains(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// Waits for the end of the program and returns its exit code.
    pub(crate) fn end(&mut self) -> i32 {
        let mut ended = None;
        wait_until(|| {
            ended = self.child.try_wait().unwrap();
            ended.is_some()
        });
        let Some(status) = ended else {
            panic!("it does not end: {}", self.text());
        };
        status.code().unwrap_or(-1)
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // A test that failed leaves no program behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn resize(terminal: &File, (columns, rows): (u16, u16)) {
    let size = Winsize {
        ws_row: rows,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(terminal, size).unwrap();
}
