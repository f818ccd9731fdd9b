//! Recordings and live views while a disk does not answer: the one with the recording, or the one with the program.
//!
//! These tests need root, loop devices, ext4, and for two of them the cgroup v1 controllers `blkio` and `memory`. Without
//! them they are skipped; with BLKSTAT_HUNG_DISK=required they fail.

use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

use blkstat::counters::Sample;
use rustix::process::Signal;

use super::lab::replay;
use super::volume::{Group, Running, Volume, run_if_possible, try_run};
use crate::support::process::{send, wait_until};
use crate::support::program::{blkstat, copy_blkstat};

const INTERVAL: Duration = Duration::from_millis(250);
/// The time for which the disk does not answer.
const HUNG: Duration = Duration::from_secs(5);
/// The time before and after that.
const MARGIN: Duration = Duration::from_millis(1500);

/// Starts a recording. Its options are separated by blanks.
fn record(file: &Path) -> Running {
    let options = format!("record {} {}", file.display(), INTERVAL.as_secs_f64());
    Running(blkstat(&options).spawn(Stdio::null(), Stdio::inherit()))
}

/// The number of missed samples of a recording, and the seconds by which its latest sample came after its deadline.
fn lateness(samples: &[Sample]) -> (u64, f64) {
    let seconds = |sample: &Sample| sample.at.monotonic.unwrap().as_secs_f64();
    let phase = |sample: &Sample| (seconds(sample) - seconds(&samples[0])) % INTERVAL.as_secs_f64();
    let latest = samples
        .iter()
        .map(phase)
        .filter(|s| *s < INTERVAL.as_secs_f64() * 0.9)
        .fold(0.0, f64::max);
    (
        samples.iter().map(|sample| sample.missed_samples).sum(),
        latest,
    )
}

/// Checks that a recording has every sample although its disk did not answer for a while, and that none came later than
/// in another recording of the same time.
fn check_complete(hung: &Path, other: &Path) {
    let (samples, warnings) = replay(hung);
    assert_eq!(warnings, Vec::<String>::new());
    let [(missed, latest), (other_missed, other_latest)] =
        [&samples, &replay(other).0].map(|samples| lateness(samples));
    eprintln!(
        "{} samples; latest {latest:.4} s, without the disk {other_latest:.4} s",
        samples.len()
    );
    let expected = (HUNG + MARGIN).as_secs_f64() / INTERVAL.as_secs_f64();
    assert!(
        samples.len() as f64 + missed as f64 >= expected,
        "only {} samples",
        samples.len()
    );
    // Both may miss one on a busy machine, where waiting for the disk would miss twenty.
    assert!(
        missed <= other_missed + 1,
        "{missed} samples missed, and {other_missed} without the disk"
    );
    assert!(
        latest <= other_latest + INTERVAL.as_secs_f64() / 2.0,
        "{latest} s late, and {other_latest} s"
    );
    let stall = stall_seconds(hung).unwrap();
    assert!(
        stall > (HUNG / 2).as_secs_f64(),
        "a stall of only {stall} s"
    );
}

/// The longest stall that a recording mentions.
fn stall_seconds(file: &Path) -> Option<f64> {
    let text = fs::read_to_string(file).unwrap();
    let notes = text
        .lines()
        .filter_map(|line| line.strip_prefix("#blkstat "));
    let notes = notes.map(|note| serde_json::from_str::<serde_json::Value>(note).unwrap());
    notes
        .filter_map(|note| note["write_stalled_s"].as_f64())
        .reduce(f64::max)
}

#[test]
fn a_recording_on_a_frozen_file_system_has_every_sample() {
    run_if_possible(|| {
        let volume = Volume::new()?;
        let (file, other) = (volume.mount().join("a.txt"), volume.beside("b.txt"));
        let recordings = [record(&file), record(&other)];
        sleep(MARGIN);
        volume.freeze("--freeze");
        sleep(HUNG);
        volume.freeze("--unfreeze");
        sleep(MARGIN);
        recordings.into_iter().for_each(Running::interrupt);
        check_complete(&file, &other);
        Ok(())
    });
}

#[test]
fn a_recording_that_starts_while_the_disk_does_not_answer_has_every_sample() {
    run_if_possible(|| {
        let volume = Volume::new()?;
        let (file, messages) = (volume.mount().join("a.txt"), volume.beside("messages"));
        volume.freeze("--freeze");
        let options = format!("record {} {}", file.display(), INTERVAL.as_secs_f64());
        let recording =
            Running(blkstat(&options).spawn(Stdio::null(), File::create(&messages).unwrap()));
        sleep(HUNG);
        volume.freeze("--unfreeze");
        sleep(MARGIN);
        recording.interrupt();
        let message = format!(
            "blkstat: waiting to open {}; samples are kept in memory",
            file.display()
        );
        let messages = fs::read_to_string(messages).unwrap();
        assert!(
            messages.starts_with(&message) && messages.lines().count() == 1,
            "{messages}"
        );
        let (samples, warnings) = replay(&file);
        assert_eq!(warnings, Vec::<String>::new());
        let (missed, _) = lateness(&samples[1..]);
        // The first half second was spent on the attempt to open the file.
        let expected = (HUNG - MARGIN).as_secs_f64() / INTERVAL.as_secs_f64();
        assert!(
            samples.len() as f64 >= expected && missed <= 5,
            "{} samples, {missed} missed",
            samples.len()
        );
        Ok(())
    });
}

#[test]
fn a_recording_says_what_it_waits_for_and_a_second_ctrl_c_ends_it() {
    run_if_possible(|| {
        let volume = Volume::new()?;
        let (file, messages) = (volume.mount().join("a.txt"), volume.beside("messages"));
        let options = format!("record {} {}", file.display(), INTERVAL.as_secs_f64());
        let mut recording =
            Running(blkstat(&options).spawn(Stdio::null(), File::create(&messages).unwrap()));
        sleep(MARGIN);
        volume.freeze("--freeze");
        sleep(MARGIN);
        let interrupt_until = |text: &str| {
            send(&recording.0, Signal::INT);
            let printed = || fs::read_to_string(&messages).unwrap();
            assert!(
                wait_until(|| printed().contains(text)),
                "no '{text}' in {}",
                printed()
            );
        };
        interrupt_until("blkstat: waiting for ");
        interrupt_until(&format!("not written to {}", file.display()));
        volume.freeze("--unfreeze");
        // Only now the kernel can end it.
        assert_eq!(recording.0.wait().unwrap().signal(), Some(2));
        let (samples, _) = replay(&file);
        assert!(!samples.is_empty());
        Ok(())
    });
}

#[test]
fn a_recording_and_a_view_go_on_while_the_disk_with_the_program_does_not_answer() {
    run_if_possible(|| {
        let volume = Volume::new()?;
        let group = Group::new(&volume, &["blkio", "memory"])?;
        // Two files: pages of one that are locked would be locked for all programs.
        let [program, other] = ["blkstat", "other"].map(|name| volume.mount().join(name));
        copy_blkstat(&program);
        copy_blkstat(&other);
        try_run("sync", &[])?;
        fs::write("/proc/sys/vm/drop_caches", "1").unwrap();
        let (program, other) = (program.display(), other.display());
        let interval = INTERVAL.as_secs_f64();
        let recording = volume.beside("recording");
        let path = |name: &str| volume.beside(name);
        let recorder = group.spawn(
            &format!("{program} record {} {interval}", recording.display()),
            &path("out"),
        );
        let view = group.spawn(&format!("{program} --json --all {interval}"), &path("view"));
        // With COUNT the memory is not locked.
        let unlocked = group.spawn(
            &format!("{other} --json --all {interval} 10000"),
            &path("unlocked"),
        );
        let size = |file: &Path| fs::metadata(file).map_or(0, |metadata| metadata.len());
        let files = [recording, path("view"), path("unlocked")];
        wait_until(|| files.iter().all(|file| size(file) > 0));
        sleep(MARGIN);
        group.limit("read_bps", 1);
        group.evict();
        sleep(INTERVAL);
        let before =
            [&files[0], &files[1], &files[2]].map(|file| fs::read_to_string(file).unwrap());
        sleep(HUNG);
        let after = [&files[0], &files[1], &files[2]].map(|file| fs::read_to_string(file).unwrap());
        group.limit("read_bps", 0);
        recorder.interrupt();
        view.interrupt();
        unlocked.interrupt();
        let expected = HUNG.as_secs_f64() / INTERVAL.as_secs_f64() * 0.8;
        let samples = |text: &String| text.matches("\"complete\":true").count();
        let recorded = samples(&after[0]) - samples(&before[0]);
        let ends = |text: &String| {
            let ends = text
                .lines()
                .filter_map(|line| line.split("\"time\":\"").nth(1)?.split('"').next());
            ends.collect::<std::collections::BTreeSet<_>>().len()
        };
        let shown = [1, 2].map(|n| ends(&after[n]) - ends(&before[n]));
        eprintln!(
            "while the disk did not answer: {recorded} samples recorded, {} shown, {} unlocked",
            shown[0], shown[1]
        );
        assert!(
            recorded as f64 >= expected,
            "only {recorded} samples recorded"
        );
        assert!(
            shown[0] as f64 >= expected,
            "only {} intervals shown",
            shown[0]
        );
        assert!(
            (shown[1] as f64) < expected / 2.0,
            "even without a lock the program goes on: this proves nothing"
        );
        Ok(())
    });
}
