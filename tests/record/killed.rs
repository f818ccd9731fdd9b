//! Recordings that are killed at any moment. The recorder is this test program, called for one test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use blkstat::clock::RealClock;
use blkstat::counters::Sample;
use blkstat::exit::Exit;
use blkstat::plan::{Plan, Record};
use blkstat::run::{RunContext, run};
use blkstat::schedule::Schedule;
use blkstat::sink::rotated_name;

use crate::machine::{Lab, replay};

const INTO: &str = "BLKSTAT_TEST_RECORD_INTO";
const ROOT: &str = "BLKSTAT_TEST_RECORD_ROOT";
const ROTATE: &str = "BLKSTAT_TEST_RECORD_ROTATE";

/// Records until it is killed, where the environment says so; else it does nothing.
#[test]
fn the_recorder() {
    let Some(file) = std::env::var_os(INTO) else { return };
    let plan = Record {
        file: file.into(),
        schedule: Schedule { interval: Some(Duration::from_millis(1)), count: None },
        append: true,
        rotate: std::env::var(ROTATE).ok().and_then(|size| size.parse().ok()),
        root: std::env::var_os(ROOT).unwrap().into(),
        ..Record::default()
    };
    let (mut out, mut err) = (std::io::stdout(), std::io::stderr());
    let mut world =
        RunContext { clock: &RealClock::new(None), out: &mut out, err: &mut err, is_terminal: false };
    assert_eq!(run(&Plan::Record(Box::new(plan)), &mut world), Exit::Success);
}

fn recorder(lab: &Lab, file: &Path, rotate: Option<u64>) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["killed::the_recorder", "--exact", "--nocapture"]);
    command.env(INTO, file).env(ROOT, lab.root()).stdout(Stdio::null());
    if let Some(size) = rotate {
        command.env(ROTATE, size.to_string());
    }
    command.spawn().unwrap()
}

fn all_files(path: &Path) -> Vec<PathBuf> {
    // A kill may leave a gap.
    let older = (1..1000).map(|n| rotated_name(path, n)).filter(|path| path.exists());
    let mut files: Vec<_> = older.collect();
    files.reverse();
    files.extend(path.exists().then(|| path.to_owned()));
    files
}

fn samples(path: &Path) -> Vec<Sample> {
    all_files(path).iter().flat_map(|file| replay(file).0).collect()
}

/// Kills recordings that go on in one file, and looks each time whether what was there before still is.
fn killed_again_and_again(name: &str, rotate: Option<u64>) {
    let lab = Lab::new();
    let path = lab.path(name);
    let mut before: Vec<Sample> = Vec::new();
    for round in 0..25u64 {
        let mut child = recorder(&lab, &path, rotate);
        // No two kills at the same place.
        std::thread::sleep(Duration::from_micros(20_000 + round * 7_919 % 40_000));
        child.kill().unwrap();
        child.wait().unwrap();
        let now = samples(&path);
        assert!(now.len() >= before.len(), "{name}, kill {round}: {} of {} left", now.len(), before.len());
        let times = |samples: &[Sample]| samples.iter().map(|sample| sample.at).collect::<Vec<_>>();
        assert_eq!(times(&now[..before.len()]), times(&before), "{name}, kill {round}");
        assert!(now.iter().all(|sample| sample.devices == now[0].devices), "{name}, kill {round}");
        assert!(times(&now).windows(2).all(|pair| pair[0].monotonic < pair[1].monotonic));
        before = now;
    }
    assert!(before.len() > 50, "{name}: only {} samples were recorded", before.len());
    assert!(rotate.is_none() || all_files(&path).len() > 5, "{name}: {:?}", all_files(&path));
    let together: Vec<u8> = all_files(&path).iter().flat_map(|file| fs::read(file).unwrap()).collect();
    fs::write(lab.path("together"), together).unwrap();
    assert_eq!(replay(&lab.path("together")).0.len(), before.len(), "{name}");
}

#[test]
fn a_killed_recording_keeps_what_it_had() {
    killed_again_and_again("a.txt", None);
}

#[test]
fn a_killed_compressed_recording_keeps_what_it_had() {
    killed_again_and_again("a.txt.gz", None);
}

#[test]
fn a_killed_recording_that_rotates_keeps_what_it_had() {
    killed_again_and_again("r.txt", Some(2000));
}

#[test]
fn a_killed_compressed_recording_that_rotates_keeps_what_it_had() {
    killed_again_and_again("r.txt.gz", Some(2000));
}
