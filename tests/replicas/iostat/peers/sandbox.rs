//! A mount namespace in which /proc, /sys and /dev are those of a synthetic machine.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, makedev, mknodat};
use tempfile::TempDir;

use crate::iostat::case::{Case, End};
use crate::iostat::layout;
use crate::iostat::machine::Machine;
use crate::support::program::Program;
use crate::support::references::Outcome;

/// The script that keeps the namespace alive, and mounts the step that each line of its input names.
const KEEPER: &str = r#"
show() {
    for part in proc/diskstats proc/uptime proc/stat proc/devices sys/block sys/dev/block dev; do
        mount --bind "$1/$part" "/$part" || exit 1
    done
    echo done
}
show 0
while read -r step; do show "$step"; done
"#;

/// Held while a sandbox starts its programs, since many at once would start late.
static START: Mutex<()> = Mutex::new(());

/// The longest delay of a program or a step after which samples are still on the right side of a step.
const MAX_DELAY: Duration = Duration::from_millis(320);

/// The duration of a step, equal to the interval of the cases.
const PERIOD: Duration = Duration::from_secs(1);

/// The time that programs need for their first sample.
const SETTLING_TIME: Duration = Duration::from_millis(100);

/// The longest time that a run may take after the last step.
const MAX_OVERTIME: Duration = Duration::from_secs(3);

/// The namespace and the machine in it.
pub(crate) struct Sandbox {
    top: TempDir,
    keeper: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    steps: usize,
}

impl Sandbox {
    /// Returns the machine at its first step; `None` if a namespace cannot be created here.
    pub(crate) fn new(machine: &Machine) -> Option<Self> {
        let top = TempDir::new().ok()?;
        make_node(&top.path().join("node"), (8, 0)).ok()?;
        layout::write_steps(machine, top.path(), &make_node);
        let mut keeper = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", KEEPER])
            .current_dir(top.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let (orders, answers) = (keeper.stdin.take()?, BufReader::new(keeper.stdout.take()?));
        let mut sandbox = Self {
            top,
            keeper,
            orders,
            answers,
            steps: machine.steps.len(),
        };
        sandbox.read_confirmation().then_some(sandbox)
    }

    /// Waits for the confirmation of the script. Returns whether it succeeded.
    fn read_confirmation(&mut self) -> bool {
        let mut answer = String::new();
        self.answers.read_line(&mut answer).is_ok() && answer == "done\n"
    }

    fn show(&mut self, step: usize) {
        layout::switch_to(self.top.path(), step);
        writeln!(self.orders, "{step}").unwrap();
        assert!(self.read_confirmation(), "step {step} could not be mounted");
    }

    /// Runs every case with every program, given by its path and the arguments before those of iostat, all in parallel, while the machine goes through its steps. Returns the
    /// outcomes by case; `None` if this computer was too busy to keep the time.
    ///
    /// A sandbox can run only once, because its machine does not return to the first step.
    pub(crate) fn run(mut self, cases: &[Case], programs: &[&[&str]]) -> Option<Vec<Vec<Outcome>>> {
        let starting = START.lock().unwrap();
        let before = Instant::now();
        let mut runs: Vec<Run> = Vec::new();
        for (number, case) in cases.iter().enumerate() {
            for (which, command) in programs.iter().enumerate() {
                let out = self.top.path().join(format!("out.{number}.{which}"));
                runs.push(self.start(case, command, out));
            }
        }
        // The time of a program begins when it starts; the steps change half a period from the middle of the starts.
        let mut delay = before.elapsed();
        let start = before + delay / 2;
        sleep(SETTLING_TIME);
        drop(starting);
        for step in 1..self.steps {
            let due = start + PERIOD * u32::try_from(step).unwrap() - PERIOD / 2;
            wait_until(due);
            if runs.iter_mut().all(Run::has_ended) {
                break;
            }
            self.show(step);
            delay = delay.max(due.elapsed());
        }
        wait_until_or_all_ended(
            start + PERIOD * u32::try_from(self.steps).unwrap() - PERIOD / 4,
            &mut runs,
        );
        for (run, end) in runs
            .iter_mut()
            .zip(cases.iter().flat_map(|case| vec![case.end; programs.len()]))
        {
            if let (End::Signal(name), false) = (end, run.has_ended()) {
                let pid = run.child.id().to_string();
                Command::new("kill")
                    .args([&format!("-{name}"), &pid])
                    .status()
                    .unwrap();
            }
        }
        wait_until_or_all_ended(Instant::now() + MAX_OVERTIME, &mut runs);
        let mut outcomes = runs.into_iter().map(Run::outcome);
        let by_case = cases
            .iter()
            .map(|_| outcomes.by_ref().take(programs.len()).collect())
            .collect();
        (delay < MAX_DELAY).then_some(by_case)
    }

    fn start(&self, case: &Case, command: &[&str], out: PathBuf) -> Run {
        let mount = format!("--mount=/proc/{}/ns/mnt", self.keeper.id());
        let mut program = Program::new(&["nsenter", &mount, "--"])
            .args(command)
            .args(case.arguments_at(self.top.path()));
        for (name, value) in &case.environment {
            program = program.env(name, value);
        }
        // A pipe without a reader would block a program.
        let child = program.spawn(File::create(&out).unwrap(), Stdio::null());
        Run {
            child,
            out,
            status: None,
        }
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}

struct Run {
    child: Child,
    out: PathBuf,
    status: Option<ExitStatus>,
}

impl Run {
    fn has_ended(&mut self) -> bool {
        self.status = self.status.or_else(|| self.child.try_wait().unwrap());
        self.status.is_some()
    }

    fn outcome(mut self) -> Outcome {
        if !self.has_ended() {
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

fn wait_until(due: Instant) {
    sleep(due.saturating_duration_since(Instant::now()));
}

fn wait_until_or_all_ended(due: Instant, runs: &mut [Run]) {
    while Instant::now() < due && !runs.iter_mut().all(Run::has_ended) {
        sleep(Duration::from_millis(20));
    }
}
