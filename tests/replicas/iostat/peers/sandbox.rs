//! A root directory in which the real iostat sees a synthetic machine, and in which no time has to pass.
//!
//! /proc and /sys are links to those of the current step, and /dev, where iostat follows links, is that directory itself.
//! Between two reports iostat sleeps until SIGALRM comes. It is told an interval that no test waits for, and is woken as
//! soon as it sleeps and the next step is there.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::iostat::case::{Case, End};
use crate::iostat::layout;
use crate::iostat::machine::Machine;
use crate::support::program::Program;
use crate::support::references::Outcome;

/// Reports after the last step, for cases that want more of them than there are steps.
const MAX_REPEATED_STEPS: usize = 3;

/// The longest time that a report may take on a busy computer.
const MAX_REPORT: Duration = Duration::from_secs(20);

/// The root directory, with iostat and the libraries that it needs.
pub(crate) struct Sandbox {
    top: TempDir,
}

impl Sandbox {
    /// Returns one without a machine; `None` if iostat cannot be run in it.
    pub(crate) fn new() -> Option<Self> {
        // Ten times faster in memory, where that may hold programs.
        Self::below(Path::new("/dev/shm")).or_else(|| Self::below(&std::env::temp_dir()))
    }

    fn below(folder: &Path) -> Option<Self> {
        let sandbox = Self {
            top: TempDir::new_in(folder).ok()?,
        };
        fs::create_dir(sandbox.path().join("empty")).ok()?;
        make_node(&sandbox.path().join("node"), (8, 0)).ok()?;
        for folder in ["proc", "sys"] {
            symlink(
                Path::new("current").join(folder),
                sandbox.path().join(folder),
            )
            .ok()?;
        }
        let iostat = output("sh", &["-c", "command -v iostat"])?;
        fs::copy(iostat.trim(), sandbox.path().join("iostat")).ok()?;
        for library in output("ldd", &[iostat.trim()])?
            .split_whitespace()
            .filter(|word| word.starts_with('/'))
        {
            let copy = sandbox.path().join(library.trim_start_matches('/'));
            fs::create_dir_all(copy.parent()?).ok()?;
            fs::copy(library, copy).ok()?;
        }
        let version = sandbox.iostat().args(["-V"]).run();
        (version.code == 0).then_some(sandbox)
    }

    /// Returns the directory below which the steps of the machine are.
    pub(crate) fn path(&self) -> &Path {
        self.top.path()
    }

    fn iostat(&self) -> Program {
        let root = format!("--root={}", self.path().display());
        // Names of devices may be paths, of which none shall be in the working directory.
        let directory = format!("--wd={}", self.path().join("empty").display());
        Program::new(&["nsenter", &root, &directory, "/iostat"])
    }

    /// Replaces the machine by another one, at its first step.
    pub(crate) fn put(&self, machine: &Machine) {
        let old_steps = (0..)
            .map_while(|step: usize| fs::remove_dir_all(self.path().join(step.to_string())).ok());
        old_steps.for_each(drop);
        let _ = fs::remove_file(self.path().join("current"));
        layout::write_steps(machine, self.path(), &make_node);
    }

    /// Runs iostat for every case, in parallel, while the machine goes through its steps.
    pub(crate) fn run(&self, machine: &Machine, cases: &[Case]) -> Vec<Outcome> {
        let last = machine.steps.len() - 1;
        let dev = self.path().join("dev");
        let dev_of = |step: usize| self.path().join(format!("{step}/dev"));
        fs::rename(dev_of(0), &dev).unwrap();
        let start = |(number, case)| self.start(number, case);
        let mut runs: Vec<Run<'_>> = cases.iter().enumerate().map(start).collect();
        for step in 1..machine.steps.len() + MAX_REPEATED_STEPS {
            wait_until_all_sleep(&mut runs);
            if step <= last {
                layout::switch_to(self.path(), step);
                fs::rename(&dev, dev_of(step - 1)).unwrap();
                fs::rename(dev_of(step), &dev).unwrap();
            }
            for run in &mut runs {
                run.wake(step, machine.steps.len());
            }
        }
        wait_until_all_sleep(&mut runs);
        fs::rename(&dev, dev_of(last)).unwrap();
        runs.into_iter().map(Run::outcome).collect()
    }

    fn start<'a>(&self, number: usize, case: &'a Case) -> Run<'a> {
        let mut program = self.iostat().args(case.arguments_without_waiting());
        for (name, value) in &case.environment {
            program = program.env(name, value);
        }
        // A pipe without a reader would block it.
        let out = self.path().join(format!("out.{number}"));
        let child = program.spawn(File::create(&out).unwrap(), Stdio::null());
        Run {
            case,
            child,
            out,
            status: None,
        }
    }
}

/// An iostat that was started.
struct Run<'a> {
    case: &'a Case,
    child: Child,
    out: PathBuf,
    status: Option<ExitStatus>,
}

impl Run<'_> {
    fn is_running(&mut self) -> bool {
        self.status = self.status.or_else(|| self.child.try_wait().unwrap());
        self.status.is_none()
    }

    /// Returns whether it waits for a signal: it waits for nothing else, as its files are in memory.
    fn is_asleep(&self) -> bool {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.child.id())).unwrap();
        stat.rsplit_once(") ")
            .is_some_and(|(_, state)| state.starts_with('S'))
    }

    /// Ends its interval if it does so at this step. What ends by a signal gets that after the last step.
    fn wake(&mut self, step: usize, steps: usize) {
        if !self.is_running() {
            return;
        }
        let signal = match self.case.end {
            End::Signal("INT") if step == steps => Signal::INT,
            End::Signal(_) if step == steps => Signal::TERM,
            _ => Signal::ALARM,
        };
        let interval = self.case.interval().unwrap_or(1).max(1);
        if signal != Signal::ALARM || step.is_multiple_of(interval) {
            kill_process(Pid::from_child(&self.child), signal).unwrap();
        }
    }

    fn outcome(mut self) -> Outcome {
        if self.is_running() {
            self.child.kill().unwrap();
        }
        let status = self.child.wait().unwrap();
        let status = status
            .code()
            .unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        Outcome {
            stdout: String::from_utf8_lossy(&fs::read(self.out).unwrap()).into_owned(),
            status,
        }
    }
}

fn wait_until_all_sleep(runs: &mut [Run<'_>]) {
    let start = Instant::now();
    while runs
        .iter_mut()
        .any(|run| run.is_running() && !run.is_asleep())
    {
        assert!(start.elapsed() < MAX_REPORT, "iostat prints for ever");
        sleep(Duration::from_micros(500));
    }
}

/// Creates a block device node, which only root may do.
fn make_node(path: &Path, (major, minor): (u32, u32)) -> io::Result<()> {
    let mode = Mode::RUSR | Mode::WUSR;
    Ok(mknodat(
        CWD,
        path,
        FileType::BlockDevice,
        mode,
        makedev(major, minor),
    )?)
}

/// Returns what a program prints; `None` if it fails.
fn output(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    output
        .status
        .success()
        .then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}
