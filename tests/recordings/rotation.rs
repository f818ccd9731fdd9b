//! Recordings in several files.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

use blkstat::clock::WaitOutcome;
use blkstat::commands::Record;
use blkstat::counters::Sample;
use blkstat::exit::Exit;
use blkstat::sink::{Rotation, rotated_name};

use super::lab::{Lab, by_size, replay, wait_for_samples};

/// A rotated recording, the oldest file first.
fn files(lab: &Lab, name: &str) -> Vec<std::path::PathBuf> {
    let path = lab.path(name);
    let older = (1..99)
        .map(|n| rotated_name(&path, n))
        .take_while(|path| path.exists());
    let mut files: Vec<_> = std::iter::once(path.clone()).chain(older).collect();
    files.reverse();
    files
}

#[test]
fn rotated_files_replay_separately_and_concatenated() {
    let lab = Lab::new();
    lab.record_quietly(lab.options("one.txt", 40), 0);
    let expected = replay(&lab.path("one.txt")).0;
    for (name, size) in [("r.txt", 3000), ("r.txt.gz", 1500)] {
        lab.record_quietly(
            Record {
                rotate: Some(by_size(size, None)),
                ..lab.options(name, 40)
            },
            0,
        );
        let files = files(&lab, name);
        assert!(files.len() > 3, "{name}: {files:?}");
        let (mut concatenated, mut separate) = (Vec::new(), Vec::new());
        for file in &files {
            let bytes = fs::read(file).unwrap();
            assert!(bytes.len() as u64 <= size, "{file:?}: {}", bytes.len());
            concatenated.extend(bytes);
            let (samples, warnings) = replay(file);
            assert_eq!(warnings, Vec::<String>::new());
            separate.extend(samples);
        }
        assert_eq!(separate, expected, "{name}");
        fs::write(lab.path("concatenated"), concatenated).unwrap();
        assert_eq!(
            replay(&lab.path("concatenated")),
            (expected.clone(), vec![]),
            "{name}"
        );
    }
}

#[test]
fn a_new_file_is_for_the_user_and_the_group_only_and_an_existing_one_keeps_its_mode() {
    let lab = Lab::new();
    let mode = |path: &std::path::Path| path.metadata().unwrap().permissions().mode() & 0o777;
    lab.record_quietly(
        Record {
            rotate: Some(by_size(3000, Some(2))),
            ..lab.options("r.txt", 40)
        },
        0,
    );
    for file in files(&lab, "r.txt") {
        // The umask of the test may take away what the group has.
        assert_eq!(mode(&file) & !0o040, 0o600, "{file:?}");
    }
    let file = lab.path("a.txt");
    fs::write(&file, "").unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o604)).unwrap();
    lab.record_quietly(
        Record {
            append: true,
            ..lab.options("a.txt", 1)
        },
        0,
    );
    assert_eq!(mode(&file), 0o604);
}

#[test]
fn only_the_requested_number_of_files_is_kept() {
    let lab = Lab::new();
    lab.record_quietly(
        Record {
            rotate: Some(by_size(3000, Some(2))),
            ..lab.options("r.txt", 40)
        },
        0,
    );
    let files = files(&lab, "r.txt");
    assert_eq!(files.len(), 3);
    let samples: Vec<Sample> = files.iter().flat_map(|file| replay(file).0).collect();
    let reads: Vec<u64> = samples
        .iter()
        .map(|sample| sample.devices[0].counters.reads.ios)
        .collect();
    assert!(
        reads.windows(2).all(|pair| pair[1] == pair[0] + 1) && reads.last() == Some(&40),
        "{reads:?}"
    );
}

#[test]
fn files_of_an_earlier_recording_that_kept_more_are_deleted_if_appending_is_requested() {
    let lab = Lab::new();
    let plan = |keep| Record {
        rotate: Some(by_size(3000, keep)),
        ..lab.options("r.txt", 40)
    };
    lab.record_quietly(plan(None), 0);
    let before = files(&lab, "r.txt");
    assert!(before.len() > 4, "{before:?}");
    lab.record_quietly(
        Record {
            append: true,
            ..plan(Some(3))
        },
        41,
    );
    assert_eq!(files(&lab, "r.txt").len(), 4);
    // Without that request, not even the files beyond the number to keep are touched.
    fs::remove_file(lab.path("r.txt")).unwrap();
    let (_, err, exit) = lab.record(plan(Some(2)), 82);
    assert!(
        err.contains("r.txt.1 already exists") && exit == Exit::Error,
        "{err}"
    );
    for number in [1, 2] {
        fs::remove_file(rotated_name(&lab.path("r.txt"), number)).unwrap();
    }
    let (_, err, exit) = lab.record(plan(Some(2)), 82);
    assert!(
        err.contains("r.txt.3 already exists") && exit == Exit::Error,
        "{err}"
    );
    assert!(rotated_name(&lab.path("r.txt"), 3).exists());
}

#[test]
fn a_rotation_does_not_touch_existing_files_unless_requested() {
    let lab = Lab::new();
    let plan = |keep| Record {
        rotate: Some(by_size(3000, keep)),
        ..lab.options("r.txt", 40)
    };
    let precious = rotated_name(&lab.path("r.txt"), 1);
    fs::write(&precious, "precious").unwrap();
    for keep in [None, Some(1), Some(5)] {
        let (_, err, exit) = lab.record(plan(keep), 0);
        assert!(
            err.contains("r.txt.1 already exists") && err.contains("--force"),
            "{err}"
        );
        assert_eq!((err.lines().count(), exit), (1, Exit::Error));
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
        assert!(!lab.path("r.txt").exists() && !rotated_name(&lab.path("r.txt"), 2).exists());
    }
    lab.record_quietly(
        Record {
            append: true,
            ..plan(None)
        },
        0,
    );
    let last = files(&lab, "r.txt").remove(0);
    assert_eq!(fs::read(last).unwrap(), b"precious");
    lab.record_quietly(
        Record {
            force: true,
            ..plan(Some(1))
        },
        0,
    );
    assert_ne!(fs::read(&precious).unwrap(), b"precious");
}

#[test]
fn files_are_rotated_at_each_period_of_time_and_deleted_beyond_a_total_size() {
    let lab = Lab::new();
    lab.record_quietly(lab.options("one.txt", 40), 0);
    let expected = replay(&lab.path("one.txt")).0;
    let every = Some(Duration::from_secs(3));
    let rotation = Rotation {
        every,
        ..Rotation::default()
    };
    lab.record_quietly(
        Record {
            rotate: Some(rotation),
            ..lab.options("r.txt.gz", 40)
        },
        0,
    );
    let parts: Vec<Vec<Sample>> = files(&lab, "r.txt.gz")
        .iter()
        .map(|file| replay(file).0)
        .collect();
    // The clock starts a second before a multiple of three seconds.
    let period = |sample: &Sample| sample.at.wall.unwrap().as_second().div_euclid(3);
    for part in &parts {
        assert!(
            part.iter().all(|sample| period(sample) == period(&part[0])),
            "{part:?}"
        );
    }
    assert_eq!(
        parts.len() as i64,
        period(&expected[40]) - period(&expected[0]) + 1
    );
    assert_eq!(parts.concat(), expected);
    let kept = Rotation {
        size: Some(3000),
        keep_bytes: Some(7000),
        ..Rotation::default()
    };
    lab.record_quietly(
        Record {
            rotate: Some(kept),
            ..lab.options("k.txt", 40)
        },
        0,
    );
    let files = files(&lab, "k.txt");
    let bytes = |file: &std::path::PathBuf| fs::metadata(file).unwrap().len();
    let older: u64 = files[..files.len() - 1].iter().map(bytes).sum();
    assert!((4000..=7000).contains(&older), "{older}");
    let samples: Vec<Sample> = files.iter().flat_map(|file| replay(file).0).collect();
    assert_eq!(samples, expected[expected.len() - samples.len()..]);
}

#[test]
fn a_recording_that_is_moved_elsewhere_is_rotated_without_it() {
    let lab = Lab::new();
    lab.record_quietly(lab.options("expected.txt", 40), 0);
    let file = lab.path("a.txt");
    let clock = lab.clock(0, |n| {
        if n == 3 {
            wait_for_samples(&file, 3);
            fs::rename(&file, lab.path("moved.txt")).unwrap();
        }
        WaitOutcome::Due
    });
    let plan = Record {
        rotate: Some(by_size(3000, None)),
        ..lab.options("a.txt", 40)
    };
    assert_eq!(
        lab.record_with(plan, &clock),
        (String::new(), String::new(), Exit::Success)
    );
    let mut samples = replay(&lab.path("moved.txt")).0;
    samples.extend(files(&lab, "a.txt").iter().flat_map(|file| replay(file).0));
    assert_eq!(samples, replay(&lab.path("expected.txt")).0);
}

#[test]
fn a_symbolic_link_is_not_rotated() {
    let lab = Lab::new();
    fs::write(lab.path("a.txt"), "").unwrap();
    std::os::unix::fs::symlink("a.txt", lab.path("link")).unwrap();
    let plan = Record {
        append: true,
        rotate: Some(by_size(3000, None)),
        ..lab.options("link", 40)
    };
    let (_, err, exit) = lab.record(plan, 0);
    assert!(
        err.ends_with("is a symbolic link; --rotate would rename the link, not the file\n"),
        "{err}"
    );
    assert_eq!(
        (exit, fs::metadata(lab.path("a.txt")).unwrap().len()),
        (Exit::Error, 0)
    );
}
