//! Runs programs in a fixed environment.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;

/// The path of the program under test.
pub(crate) const BLKSTAT: &str = env!("CARGO_BIN_EXE_blkstat");

/// A program with its arguments, ready to run. Of the environment of the tests it has only `PATH`; its time zone is UTC
/// and its standard input is empty.
pub(crate) struct Program {
    command: Command,
    input: Option<Vec<u8>>,
}

/// Returns blkstat with arguments separated by blanks.
pub(crate) fn blkstat(words: &str) -> Program {
    Program::new(&[BLKSTAT]).args(words.split_whitespace())
}

/// Copies blkstat to a path, to be run from there. Another process does it: a program that is open for writing cannot be run, and
/// what this process has open is open for a moment in every child that another thread starts.
pub(crate) fn copy_blkstat(path: &Path) {
    let status = Command::new("cp").arg(BLKSTAT).arg(path).status().unwrap();
    assert!(status.success(), "cp: {status}");
}

/// Runs blkstat on an input. Returns standard output, standard error and the exit code.
pub(crate) fn output(words: &str, input: impl AsRef<[u8]>) -> (String, String, i32) {
    let Outcome { out, err, code } = blkstat(words).input(input).run();
    (out, err, code)
}

impl Program {
    /// Returns a program, given by its name or path and its first arguments.
    pub(crate) fn new(words: &[&str]) -> Self {
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command
            .envs([("TZ", "UTC"), ("LC_ALL", "C"), ("HOME", "/nonexistent")])
            .stdin(Stdio::null());
        Self {
            command,
            input: None,
        }
    }

    pub(crate) fn args(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(arguments);
        self
    }

    pub(crate) fn env(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn current_dir(mut self, directory: &Path) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// Passes these bytes to its standard input.
    pub(crate) fn input(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.input = Some(bytes.as_ref().to_owned());
        self
    }

    pub(crate) fn stdin(mut self, stream: impl Into<Stdio>) -> Self {
        self.command.stdin(stream);
        self
    }

    /// Starts the program without collecting its output.
    pub(crate) fn spawn(mut self, stdout: impl Into<Stdio>, stderr: impl Into<Stdio>) -> Child {
        self.command.stdout(stdout).stderr(stderr).spawn().unwrap()
    }

    /// Runs the program to its end, with its output in pipes.
    pub(crate) fn run(self) -> Outcome {
        self.run_to(Stdio::piped())
    }

    /// Runs the program to its end, with its standard output as given.
    pub(crate) fn run_to(mut self, stdout: impl Into<Stdio>) -> Outcome {
        let Some(input) = self.input.take() else {
            return self
                .spawn(stdout, Stdio::piped())
                .wait_with_output()
                .unwrap()
                .into();
        };
        let mut child = self.stdin(Stdio::piped()).spawn(stdout, Stdio::piped());
        let mut stdin = child.stdin.take().unwrap();
        thread::scope(|scope| {
            scope.spawn(move || {
                // The program may close its input early.
                let _ = stdin.write_all(&input);
            });
            child.wait_with_output().unwrap().into()
        })
    }
}

/// The outcome of a run.
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    /// The standard output.
    pub(crate) out: String,
    /// The standard error.
    pub(crate) err: String,
    /// The exit code; -1 if a signal ended the run.
    pub(crate) code: i32,
}

impl Outcome {
    /// Returns both streams and the exit code as one text.
    pub(crate) fn transcript(&self) -> String {
        format!(
            "{}--- standard error, exit {}\n{}",
            self.out, self.code, self.err
        )
    }
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let code = output.status.code().unwrap_or(-1);
        Self {
            out: text(output.stdout),
            err: text(output.stderr),
            code,
        }
    }
}
