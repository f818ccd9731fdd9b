//! Recordings that end because of a signal, a read error or a full disk, or cannot begin.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, lchown, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use blkstat::clock::WaitOutcome;
use blkstat::commands::Record;
use blkstat::counters::Sample;
use blkstat::exit::Exit;
use blkstat::sink::{Rotation, gzip_bytes};

use rustix::process::Signal;

use super::lab::{Lab, by_size, read, replay, wait_for_samples};
use crate::support::in_process::of_plan;
use crate::support::process::{send, wait_until};
use crate::support::program::{BLKSTAT, blkstat};

#[test]
fn a_file_that_cannot_be_written_is_one_line_and_exit_2() {
    let lab = Lab::new();
    fs::create_dir(lab.path("folder")).unwrap();
    symlink("nowhere", lab.path("link")).unwrap();
    for (name, why) in [
        ("folder", "is a directory, not a file"),
        ("link", "is a symbolic link to a file that does not exist"),
        ("no/such", "No such file"),
        (
            "a.zst",
            "zstd files can only be read; use a name that ends in .gz",
        ),
    ] {
        for plan in [
            lab.options(name, 1),
            Record {
                append: true,
                ..lab.options(name, 1)
            },
        ] {
            let (_, err, exit) = lab.record(plan, 0);
            assert!(
                err.contains(why) && err.lines().count() == 1 && exit == Exit::Error,
                "{err}"
            );
        }
    }
    let (_, err, exit) = lab.record(
        Record {
            operands: vec!["sdz".into()],
            ..lab.options("b.txt", 1)
        },
        0,
    );
    assert!(
        err.ends_with("no such device 'sdz'; did you mean 'sda'?\n") && exit == Exit::NoData,
        "{err}"
    );
    assert!(!lab.path("b.txt").exists());
    let (_, err, exit) = lab.record(
        Record {
            rotate: Some(Rotation::default()),
            ..lab.options("-", 1)
        },
        0,
    );
    assert!(
        err.contains("cannot rotate standard output") && exit == Exit::Error,
        "{err}"
    );
}

#[test]
fn a_device_is_never_the_file_of_a_recording() {
    let lab = Lab::new();
    let (_, err, exit) = lab.record(
        Record {
            file: "sda".into(),
            ..lab.options("a.txt", 1)
        },
        0,
    );
    let message = "blkstat: sda is a block device, not a file to write; to record it: blkstat record FILE sda; \
                   ./sda for a file named sda\n";
    assert_eq!((err.as_str(), exit), (message, Exit::Error));
    assert!(!PathBuf::from("sda").exists());
    lab.record_quietly(lab.options("sda", 1), 0);
    // The nodes of a container without block devices cannot be tried.
    let nodes = fs::read_dir("/dev")
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let is_unused_loop = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("loop")
            && fs::metadata(path).unwrap().file_type().is_block_device()
            && fs::read_to_string(format!("/sys/block/{name}/size")).is_ok_and(|size| size == "0\n")
    };
    let Some(node) = nodes.into_iter().find(is_unused_loop) else {
        return;
    };
    for plan in [
        lab.options("b.txt", 1),
        Record {
            force: true,
            ..lab.options("b.txt", 1)
        },
    ] {
        let (_, err, exit) = lab.record(
            Record {
                file: node.clone(),
                ..plan
            },
            0,
        );
        let message = format!(
            "blkstat: {} is a block device, not a file to write; ",
            node.display()
        );
        assert!(err.starts_with(&message) && exit == Exit::Error, "{err}");
    }
}

#[test]
fn a_sample_that_cannot_be_read_is_missed() {
    let lab = Lab::new();
    let clock = lab.clock(0, |n| {
        if n == 3 {
            fs::remove_file(lab.root().join("proc/diskstats")).unwrap();
        }
        WaitOutcome::Due
    });
    let (_, err, exit) = lab.record_with(lab.options("a.txt.gz", 8), &clock);
    let lines: Vec<&str> = err.lines().collect();
    assert!(
        lines.len() == 2
            && lines[0].contains("cannot be read: No such file or directory; samples are missed")
            && lines[1].ends_with("can be read again; 1 sample missed"),
        "{err}"
    );
    let samples = read(
        fs::File::open(lab.path("a.txt.gz"))
            .map(flate2::read::MultiGzDecoder::new)
            .unwrap(),
    )
    .0;
    let missed: Vec<u64> = samples.iter().map(|sample| sample.missed_samples).collect();
    assert_eq!(
        (exit, missed),
        (Exit::Success, vec![0, 0, 0, 1, 0, 0, 0, 0, 0])
    );
}

/// Records, with something happening to the file after three samples. Returns the message.
fn record_with_loss(lab: &Lab, record: Record, happen: impl Fn(&Path)) -> String {
    let file = record.file.clone();
    let clock = lab.clock(0, |n| {
        if n == 3 {
            wait_for_samples(&file, 3);
            happen(&file);
        }
        WaitOutcome::Due
    });
    let (_, err, exit) = lab.record_with(record, &clock);
    assert_eq!((exit, err.lines().count()), (Exit::Success, 1), "{err}");
    err
}

#[test]
fn a_recording_that_is_deleted_goes_on_in_a_new_file() {
    let lab = Lab::new();
    lab.record_quietly(lab.options("expected.txt", 6), 0);
    let expected = replay(&lab.path("expected.txt")).0;
    let rotation = Some(by_size(1 << 20, None));
    for (name, rotation) in [("a.txt", None), ("b.txt.gz", None), ("c.txt", rotation)] {
        let record = Record {
            rotate: rotation,
            ..lab.options(name, 6)
        };
        let err = record_with_loss(&lab, record, |file| fs::remove_file(file).unwrap());
        assert!(err.ends_with(DELETED), "{err}");
        assert_eq!(
            replay(&lab.path(name)),
            (expected[3..].to_vec(), Vec::new())
        );
    }
}

const DELETED: &str = "was deleted, with the samples before; the recording goes on in a new file\n";

fn replace(file: &Path) {
    let other = file.with_extension("other");
    fs::write(&other, "mine").unwrap();
    fs::rename(other, file).unwrap();
}

fn remove_directory(file: &Path) {
    fs::remove_dir_all(file.parent().unwrap()).unwrap();
}

fn truncate(file: &Path) {
    let file = fs::OpenOptions::new().write(true).open(file).unwrap();
    file.set_len(0).unwrap();
}

#[test]
fn a_recording_that_cannot_be_rotated_goes_on_in_its_file() {
    // No longer name is possible.
    let long = "a".repeat(251);
    for name in [format!("{long}.txt"), format!("{long}a.gz")] {
        let lab = Lab::new();
        let plan = Record {
            rotate: Some(by_size(200, None)),
            ..lab.options(&name, 8)
        };
        let file = plan.file.clone();
        let (_, err, exit) = lab.record(plan, 0);
        let end = "File name too long; the recording goes on without a new file\n";
        assert!(err.ends_with(end) && err.lines().count() == 1, "{err}");
        assert_eq!(exit, Exit::Success);
        let (samples, warnings) = replay(&file);
        assert_eq!((samples.len(), warnings), (9, Vec::new()));
    }
}

#[test]
fn what_follows_in_a_file_that_was_cut_can_be_read() {
    for name in ["a.txt", "a.txt.gz"] {
        let lab = Lab::new();
        let record = lab.options(name, 8);
        let file = record.file.clone();
        let err = record_with_loss(&lab, record, |file| {
            let file = fs::OpenOptions::new().write(true).open(file).unwrap();
            let bytes = file.metadata().unwrap().len();
            file.set_len(bytes * 2 / 3).unwrap();
        });
        assert!(
            err.contains("was truncated; the recording goes on in it"),
            "{err}"
        );
        let (samples, warnings) = replay(&file);
        assert!(
            samples.len() >= 6,
            "{name}: {}, {warnings:?}",
            samples.len()
        );
    }
}

#[test]
fn a_recording_goes_on_whatever_happens_to_its_file() {
    let replaced =
        "was replaced by another file, and its samples are lost; the recording goes on in ";
    let truncated = "was truncated; the recording goes on in it\n";
    for (name, happen, message, next) in [
        ("a.txt", replace as fn(&Path), replaced, "a.txt.1"),
        ("a.txt.gz", replace, replaced, "a.txt.1.gz"),
        ("a.txt", remove_directory, DELETED, "a.txt"),
        ("a.txt.gz", remove_directory, DELETED, "a.txt.gz"),
        ("a.txt", truncate, truncated, "a.txt"),
        ("a.txt.gz", truncate, truncated, "a.txt.gz"),
    ] {
        let lab = Lab::new();
        let folder = lab.path("folder");
        fs::create_dir(&folder).unwrap();
        let record = Record {
            file: folder.join(name),
            ..lab.options(name, 8)
        };
        let err = record_with_loss(&lab, record, happen);
        assert!(err.contains(message), "{name}: {err}");
        let (samples, warnings) = replay(&folder.join(next));
        assert_eq!((samples.len(), warnings), (6, Vec::new()), "{err}");
        if next != name {
            assert!(err.ends_with(&format!("/{next}\n")), "{err}");
            assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), "mine");
        }
    }
}

#[test]
fn a_recording_rotates_around_a_directory() {
    let lab = Lab::new();
    for keep in [None, Some(1), Some(2)] {
        let folder = lab.path(&format!("keep{}", keep.unwrap_or(0)));
        for taken in ["a.txt.1", "a.txt.3"] {
            fs::create_dir_all(folder.join(taken).join("mine")).unwrap();
        }
        let plan = Record {
            rotate: Some(by_size(600, keep)),
            force: true,
            ..lab.options(folder.join("a.txt").to_str().unwrap(), 8)
        };
        let (_, err, exit) = lab.record(plan, 0);
        assert_eq!((err.as_str(), exit), ("", Exit::Success));
        assert!(folder.join("a.txt.1/mine").is_dir() && folder.join("a.txt.3/mine").is_dir());
        assert!(folder.join("a.txt.2").is_file());
        assert_eq!(folder.join("a.txt.4").exists(), keep != Some(1));
    }
}

#[test]
fn a_recording_goes_on_when_its_file_has_reached_the_limit_of_sizes() {
    let lab = Lab::new();
    let script = "ulimit -f 4; exec \"$0\" record \"$1\" --root \"$2\" --no-who 10ms 200";
    for (name, next, after_next) in [
        ("a.txt", "a.txt.1", "a.txt.2"),
        ("b.txt.gz", "b.txt.1.gz", "b.txt.2.gz"),
    ] {
        let output = Command::new("sh")
            .args(["-c", script, BLKSTAT])
            .args([lab.path(name), lab.root()])
            .output()
            .unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(0), "{err}");
        assert!(
            err.contains("has reached a limit of its size; the recording goes on in "),
            "{err}"
        );
        let samples = replay(&lab.path(name)).0.len() + replay(&lab.path(next)).0.len();
        assert!(samples > 3, "{samples}");
        assert!(lab.path(after_next).exists(), "{err}");
    }
}

#[test]
fn links_and_files_that_are_no_recordings_are_not_written() {
    let lab = Lab::new();
    let recorded = lab.path("recorded.txt");
    lab.record_quietly(lab.options("recorded.txt", 1), 0);
    symlink(&recorded, lab.path("own")).unwrap();
    symlink(&recorded, lab.path("planted")).unwrap();
    let is_planted = lchown(lab.path("planted"), Some(12345), None).is_ok();
    fs::write(lab.path("passwd"), "root:x:0:0:root\n").unwrap();
    fs::write(lab.path("packed.gz"), gzip_bytes(b"root:x:0:0:root\n")).unwrap();
    let before = fs::read(&recorded).unwrap();
    let real = recorded.canonicalize().unwrap();
    let with_real = format!(
        "own is a symbolic link, which is not followed; name the file it leads to: {}\n",
        real.display()
    );
    let planted = "planted is a symbolic link of another user, which is not followed\n";
    let foreign =
        "it begins with 'root:x:0:0:root' and is not a recording; record to another file\n";
    for (name, force, message) in [
        ("own", false, &*with_real),
        ("own", true, &with_real),
        ("planted", false, planted),
        ("planted", true, planted),
        ("passwd", false, foreign),
        ("packed.gz", false, foreign),
    ] {
        if name == "planted" && !is_planted {
            continue;
        }
        let plan = Record {
            append: !force,
            force,
            ..lab.options(name, 1)
        };
        let (_, err, exit) = lab.record(plan, 0);
        assert!(
            err.ends_with(message) && exit == Exit::Error,
            "{name}: {err}"
        );
    }
    assert_eq!(fs::read(&recorded).unwrap(), before);
    assert_eq!(
        fs::read_to_string(lab.path("passwd")).unwrap(),
        "root:x:0:0:root\n"
    );
}

/// A writer that fails after this number of writes.
struct FailingWriter {
    writes: usize,
    kind: io::ErrorKind,
    written: Vec<u8>,
}

impl Write for FailingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writes = self.writes.checked_sub(1).ok_or(self.kind)?;
        self.written.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_write_error_on_standard_output_is_an_error_but_a_closed_pipe_is_not() {
    let lab = Lab::new();
    for (kind, expected) in [
        (io::ErrorKind::BrokenPipe, Exit::Success),
        (io::ErrorKind::StorageFull, Exit::Error),
    ] {
        let clock = lab.clock(0, |_| WaitOutcome::Due);
        let mut out = FailingWriter {
            writes: 3,
            kind,
            written: Vec::new(),
        };
        let (err, exit) = of_plan(lab.plan(lab.options("-", 50))).run_to(&mut out, &clock);
        assert_eq!(exit, expected);
        // Each sample is one write.
        assert_eq!(read(out.written.as_slice()).0.len(), 3);
        assert_eq!(
            err.ends_with("; 3 complete samples saved, up to 18:22:11\n"),
            exit == Exit::Error,
            "{err}"
        );
    }
}

/// Mounts a file system of 16 KiB; `None` without the permission to do so.
fn small_file_system(lab: &Lab, name: &str) -> Option<Mounted> {
    let folder = lab.path(name);
    fs::create_dir(&folder).unwrap();
    let mut mount = Command::new("mount");
    mount
        .args(["-t", "tmpfs", "-o", "size=16k", "tmpfs"])
        .arg(&folder);
    mount
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
        .then_some(Mounted(folder))
}

struct Mounted(PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        // A program that another test just started may still have one of its files open.
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_ends_a_recording_after_its_last_complete_sample() {
    let lab = Lab::new();
    for name in ["plain/a.txt", "packed/a.txt.gz"] {
        let Some(_mounted) = small_file_system(&lab, name.split('/').next().unwrap()) else {
            eprintln!("skipped: only root may mount");
            return;
        };
        let (_, err, exit) = lab.record(lab.options(name, 600), 0);
        assert!(
            err.contains(&format!("{name}: No space left on device")) && exit == Exit::Error,
            "{err}"
        );
        let (samples, warnings) = replay(&lab.path(name));
        assert!(
            err.contains(&format!(
                "; {} complete samples saved, up to ",
                samples.len()
            )),
            "{err}"
        );
        // What could be written ends within compressed data, after the last complete sample.
        let is_cut = |warning: &String| {
            warning.starts_with("compressed data is cut off; the readable part ends at ")
        };
        assert!(
            warnings.len() == usize::from(name.ends_with(".gz")) && warnings.iter().all(is_cut),
            "{warnings:?}"
        );
    }
    let _mounted = small_file_system(&lab, "full").unwrap();
    fs::write(lab.path("full/fill"), vec![0; 16 * 1024]).unwrap();
    let (_, err, _) = lab.record(lab.options("full/new.txt", 5), 0);
    assert!(err.ends_with("; no samples saved\n"), "{err}");
    assert!(!lab.path("full/new.txt").exists());
}

#[test]
fn a_recording_waits_while_the_disk_is_full_and_loses_nothing() {
    let lab = Lab::new();
    let Some(_mounted) = small_file_system(&lab, "full") else {
        eprintln!("skipped: only root may mount");
        return;
    };
    let file = lab.path("full/a.txt");
    let messages = lab.path("messages");
    let options = format!(
        "record {} 0.02 --root {}",
        file.display(),
        lab.root().display()
    );
    let mut recorder = blkstat(&options).spawn(Stdio::null(), fs::File::create(&messages).unwrap());
    let says = |text: &str| fs::read_to_string(&messages).unwrap().contains(text);
    let has_begun = || fs::metadata(&file).is_ok_and(|metadata| metadata.len() > 0);
    assert!(wait_until(has_begun));
    // The file system has no space for this, but takes what it has.
    let _ = fs::write(lab.path("full/other"), vec![0; 64 * 1024]);
    let waiting = "No space left on device; samples are kept in memory until they can be written\n";
    assert!(wait_until(|| says(waiting)));
    thread::sleep(Duration::from_millis(1200));
    assert_eq!(replay(&file).1, Vec::<String>::new());
    fs::remove_file(lab.path("full/other")).unwrap();
    let remounted = Command::new("mount")
        .args(["-o", "remount,size=1m"])
        .arg(lab.path("full"))
        .status();
    assert!(remounted.unwrap().success());
    assert!(wait_until(|| says(": samples are written again\n")));
    send(&recorder, Signal::INT);
    assert_eq!(recorder.wait().unwrap().code(), Some(130));
    let (samples, warnings) = replay(&file);
    assert_eq!(warnings, Vec::<String>::new());
    let at = |sample: &Sample| sample.at.monotonic.unwrap();
    let span = at(&samples[samples.len() - 1]) - at(&samples[0]);
    let missed: u64 = samples.iter().map(|sample| sample.missed_samples).sum();
    // Rounded: the first and the last may be late.
    let expected = (span.as_secs_f64() / 0.02).round() as u64 + 1;
    assert!(
        (samples.len() as u64 + missed).abs_diff(expected) <= 1,
        "{} + {missed} of {expected}",
        samples.len()
    );
    let text = fs::read_to_string(&file).unwrap();
    assert!(
        text.contains(",\"write_error\":\"No space left on device\"}\n"),
        "{text}"
    );
}
