//! A mount namespace in which /proc, /sys and /dev are those of an invented machine.

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

use crate::support::case::{Case, End};
use crate::support::layout;
use crate::support::machine::Machine;
use crate::support::outcomes::Outcome;

/// Keeps the namespace, and lays over it the step that each line of its input names.
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

/// Sandboxes are started one at a time: a crowd of programs would start late.
static START: Mutex<()> = Mutex::new(());

/// Programs that start further apart, and a step that comes later, may have a sample on its wrong side.
const MOST_DELAY: Duration = Duration::from_millis(320);

/// How long a step stands: the interval that the cases ask for.
const PERIOD: Duration = Duration::from_secs(1);

/// What the programs need to take their first sample.
const SETTLING: Duration = Duration::from_millis(100);

/// How long a run may go on when the last step has stood for its time.
const PATIENCE: Duration = Duration::from_secs(3);

/// The namespace and the machine in it.
pub(crate) struct Sandbox {
    top: TempDir,
    keeper: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
    steps: usize,
}

/// A program that can be called as iostat.
pub(crate) struct Program<'a> {
    /// Its path, and what has to come before iostat's own arguments.
    pub(crate) command: &'a [&'a str],
}

impl Sandbox {
    /// The machine at its first step. `None` when there is no way to make a namespace here.
    pub(crate) fn new(machine: &Machine) -> Option<Self> {
        let top = TempDir::new().ok()?;
        make_node(&top.path().join("node"), (8, 0)).ok()?;
        layout::lay(machine, top.path(), &make_node);
        let mut keeper = Command::new("unshare")
            .args(["--mount", "--propagation", "private", "sh", "-c", KEEPER])
            .current_dir(top.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .ok()?;
        let (orders, answers) = (keeper.stdin.take()?, BufReader::new(keeper.stdout.take()?));
        let mut sandbox = Self { top, keeper, orders, answers, steps: machine.steps.len() };
        sandbox.answered().then_some(sandbox)
    }

    fn answered(&mut self) -> bool {
        let mut answer = String::new();
        self.answers.read_line(&mut answer).is_ok() && answer == "done\n"
    }

    fn show(&mut self, step: usize) {
        layout::show(self.top.path(), step);
        writeln!(self.orders, "{step}").unwrap();
        assert!(self.answered(), "step {step} could not be laid over");
    }

    /// Runs every case with every program, all at once, while the machine goes through its steps. What the
    /// programs left, by case.
    ///
    /// A sandbox runs once: its machine does not go back to the first step. `None` when this computer was too
    /// busy to keep the time.
    pub(crate) fn run(mut self, cases: &[Case], programs: &[Program<'_>]) -> Option<Vec<Vec<Outcome>>> {
        let starting = START.lock().unwrap();
        let before = Instant::now();
        let mut runs: Vec<Run> = Vec::new();
        for (number, case) in cases.iter().enumerate() {
            for (which, program) in programs.iter().enumerate() {
                let out = self.top.path().join(format!("out.{number}.{which}"));
                runs.push(self.start(case, program, out));
            }
        }
        // A program's own time begins when it starts; the steps change half a period from the middle of them.
        let mut delay = before.elapsed();
        let start = before + delay / 2;
        sleep(SETTLING);
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
        wait_until_or_all_ended(start + PERIOD * u32::try_from(self.steps).unwrap() - PERIOD / 4, &mut runs);
        for (run, end) in runs.iter_mut().zip(cases.iter().flat_map(|case| vec![case.end; programs.len()])) {
            if let (End::Signal(name), false) = (end, run.has_ended()) {
                let pid = run.child.id().to_string();
                Command::new("kill").args([&format!("-{name}"), &pid]).status().unwrap();
            }
        }
        wait_until_or_all_ended(Instant::now() + PATIENCE, &mut runs);
        let mut outcomes = runs.into_iter().map(Run::outcome);
        let by_case = cases.iter().map(|_| outcomes.by_ref().take(programs.len()).collect()).collect();
        (delay < MOST_DELAY).then_some(by_case)
    }

    fn start(&self, case: &Case, program: &Program<'_>, out: PathBuf) -> Run {
        let child = Command::new("nsenter")
            .arg(format!("--mount=/proc/{}/ns/mnt", self.keeper.id()))
            .arg("--")
            .args(program.command)
            .args(case.arguments_at(self.top.path()))
            .env_clear()
            .envs([("PATH", "/usr/sbin:/usr/bin:/sbin:/bin"), ("LC_ALL", "C"), ("TZ", "UTC")])
            .envs(case.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            // A pipe that nobody reads would hold a program up.
            .stdout(File::create(&out).unwrap())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        Run { child, out, status: None }
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
        let status = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
        Outcome { stdout: String::from_utf8_lossy(&fs::read(self.out).unwrap()).into_owned(), status }
    }
}

/// A block node; only root may make one.
fn make_node(path: &Path, (major, minor): (u32, u32)) -> io::Result<()> {
    let mode = Mode::RUSR | Mode::WUSR;
    Ok(mknodat(CWD, path, FileType::BlockDevice, mode, makedev(major, minor))?)
}

fn wait_until(due: Instant) {
    sleep(due.saturating_duration_since(Instant::now()));
}

fn wait_until_or_all_ended(due: Instant, runs: &mut [Run]) {
    while Instant::now() < due && !runs.iter_mut().all(Run::has_ended) {
        sleep(Duration::from_millis(20));
    }
}
