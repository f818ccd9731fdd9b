//! Recordings that are killed at any moment. The recorder is this test program, run for a single test.

use std::fs;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use blkstat::clock::{Clock, RealClock, WaitOutcome};
use blkstat::commands::{self, Host, Plan, Record};
use blkstat::counters::Sample;
use blkstat::exit::Exit;
use blkstat::sink::rotated_name;
use jiff::Timestamp;

use super::lab::{Lab, by_size, replay};
use crate::support::in_process::of_plan;

const INTO: &str = "BLKSTAT_TEST_RECORD_INTO";
const ROOT: &str = "BLKSTAT_TEST_RECORD_ROOT";
const ROTATE: &str = "BLKSTAT_TEST_RECORD_ROTATE";

/// A clock that is ten times as fast as the real one: samples are taken every millisecond.
struct FastClock<'a>(RealClock<'a>);

impl Clock for FastClock<'_> {
    fn monotonic(&self) -> Duration {
        self.0.monotonic() * 10
    }

    fn wall(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH + self.monotonic()
    }

    fn wait(&self, deadline: Option<Duration>, input: Option<BorrowedFd<'_>>) -> WaitOutcome {
        self.0.wait(deadline.map(|deadline| deadline / 10), input)
    }
}

/// Records until it is killed if the environment asks for it; otherwise does nothing.
#[test]
fn the_recorder() {
    let Some(file) = std::env::var_os(INTO) else {
        return;
    };
    let plan = Record {
        file: file.into(),
        operands: vec!["10ms".to_owned()],
        no_who: true,
        append: true,
        rotate: std::env::var(ROTATE)
            .ok()
            .map(|size| by_size(size.parse().unwrap(), None)),
        ..Record::default()
    };
    let host = Host {
        root: std::env::var_os(ROOT).unwrap().into(),
        ..Host::default()
    };
    let plan = Plan::Native(commands::Command::Record(Box::new(plan)), host);
    let (_, err, exit) = of_plan(plan).run(&FastClock(RealClock::new(None)));
    assert_eq!(exit, Exit::Success, "{err}");
}

fn recorder(lab: &Lab, file: &Path, rotate: Option<u64>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["killed::the_recorder", "--exact", "--nocapture"]);
    command
        .env(INTO, file)
        .env(ROOT, lab.root())
        .stdout(Stdio::null());
    if let Some(size) = rotate {
        command.env(ROTATE, size.to_string());
    }
    command.spawn().unwrap()
}

fn all_files(path: &Path) -> Vec<PathBuf> {
    // A kill may leave a gap in the numbers.
    let older = (1..1000)
        .map(|n| rotated_name(path, n))
        .filter(|path| path.exists());
    let mut files: Vec<_> = older.collect();
    files.reverse();
    files.extend(path.exists().then(|| path.to_owned()));
    files
}

fn samples(path: &Path) -> Vec<Sample> {
    all_files(path)
        .iter()
        .flat_map(|file| replay(file).0)
        .collect()
}

/// Kills recorders that append to one file, and checks each time that all earlier samples are still there.
fn kill_repeatedly(name: &str, rotate: Option<u64>) {
    let lab = Lab::new();
    let path = lab.path(name);
    let mut previous: Vec<Sample> = Vec::new();
    for round in 0..25u64 {
        let mut child = recorder(&lab, &path, rotate);
        // Each kill hits another point.
        std::thread::sleep(Duration::from_micros(20_000 + round * 7_919 % 40_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let now = samples(&path);
        assert!(
            now.len() >= previous.len(),
            "{name}, kill {round}: {} of {} left",
            now.len(),
            previous.len()
        );
        let times = |samples: &[Sample]| samples.iter().map(|sample| sample.at).collect::<Vec<_>>();
        assert_eq!(
            times(&now[..previous.len()]),
            times(&previous),
            "{name}, kill {round}"
        );
        assert!(
            now.iter().all(|sample| sample.devices == now[0].devices),
            "{name}, kill {round}"
        );
        assert!(
            times(&now)
                .windows(2)
                .all(|pair| pair[0].monotonic < pair[1].monotonic)
        );
        previous = now;
    }
    assert!(
        previous.len() > 50,
        "{name}: only {} samples were recorded",
        previous.len()
    );
    assert!(
        rotate.is_none() || all_files(&path).len() > 5,
        "{name}: {:?}",
        all_files(&path)
    );
    let concatenated: Vec<u8> = all_files(&path)
        .iter()
        .flat_map(|file| fs::read(file).unwrap())
        .collect();
    fs::write(lab.path("concatenated"), concatenated).unwrap();
    assert_eq!(
        replay(&lab.path("concatenated")).0.len(),
        previous.len(),
        "{name}"
    );
}

#[test]
fn a_killed_recording_keeps_its_samples() {
    kill_repeatedly("a.txt", None);
}

#[test]
fn a_killed_compressed_recording_keeps_its_samples() {
    kill_repeatedly("a.txt.gz", None);
}

#[test]
fn a_killed_rotating_recording_keeps_its_samples() {
    kill_repeatedly("r.txt", Some(2000));
}

#[test]
fn a_killed_compressed_rotating_recording_keeps_its_samples() {
    kill_repeatedly("r.txt.gz", Some(2000));
}
