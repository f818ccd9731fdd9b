//! Recordings of an invented host.

use std::fs;
use std::io::{self, Write};

use blkstat::capture::RecordFilter;
use blkstat::clock::{ManualClock, WaitOutcome};
use blkstat::counters::Sample;
use blkstat::exit::Exit;
use blkstat::plan::{Plan, Record};
use blkstat::run::{RunContext, run};
use blkstat::sink::rotated_name;
use blkstat::source::Live;
use jiff::tz::TimeZone;

use super::lab::{Lab, read, replay};

/// The samples of steps `0..=count` as a live view reads them.
fn live(lab: &Lab, count: u64) -> Vec<Sample> {
    let clock = lab.clock(0, |_| WaitOutcome::Due);
    let mut source = Live::new(&lab.root(), &clock).with_host_state();
    let mut sample = Sample::default();
    let mut samples = Vec::new();
    for n in 0..=count {
        source.read(&mut sample, |_, _| panic!("an invalid line")).unwrap();
        let time = sample.at.wall.unwrap().to_zoned(TimeZone::UTC).strftime("%H:%M:%S").to_string();
        samples.push(Sample { written_time: Some(time), ..sample.clone() });
        blkstat::clock::Clock::wait_until(&clock, std::time::Duration::from_millis(250 * (n + 1)));
    }
    samples
}

#[test]
fn a_recording_begins_with_a_header_and_each_sample_has_an_end_mark() {
    let lab = Lab::new();
    lab.record_quietly(lab.plan("a.txt", 1), 3);
    let text = lab.text("a.txt");
    let (header, samples) = text.split_once('\n').unwrap();
    let header: serde_json::Value = serde_json::from_str(header.strip_prefix("#blkstat ").unwrap()).unwrap();
    assert_eq!((&header["host"], &header["kernel"]), (&"box".into(), &"6.1.0".into()));
    assert_eq!(
        (&header["boot_id"], &header["version"]),
        (&"boot-1".into(), &env!("CARGO_PKG_VERSION").into())
    );
    assert_eq!(header["devices"][0]["name"], "sda");
    let expected = "\
TS 1795198931.750000007 2026-11-20 18:22:11
   8       0 sda 3 1 24 3 4 5 6 7 0 9 33 12 13 14 15 16 17
   8       1 sda1 3 2 3 4
cpu  3 2 3 4 5 6 7 8 9 10
#blkstat {\"monotonic_ns\":0,\"uptime_cs\":10325,\"blocked\":3,\"pressure_us\":[6,3],\"dirty_kib\":3,\"writeback_kib\":7,\"complete\":true}
TS 1795198932.000000007 2026-11-20 18:22:12
   8       0 sda 4 1 32 3 4 5 6 7 0 9 44 12 13 14 15 16 17
   8       1 sda1 4 2 3 4
cpu  4 2 3 4 5 6 7 8 9 10
#blkstat {\"monotonic_ns\":250000000,\"uptime_cs\":10425,\"blocked\":4,\"pressure_us\":[8,4],\"dirty_kib\":4,\"writeback_kib\":7,\"complete\":true}
";
    assert_eq!(samples, expected);
}

#[test]
fn a_replayed_recording_equals_what_a_live_view_reads() {
    let lab = Lab::new();
    let expected = live(&lab, 8);
    assert!(expected.iter().all(|sample| sample.host.pressure.is_some()) && expected[8].devices.len() == 3);
    for name in ["a.txt", "a.txt.gz"] {
        lab.record_quietly(lab.plan(name, 8), 0);
        assert_eq!(replay(&lab.path(name)), (expected.clone(), vec![]), "{name}");
    }
    let (out, _, _) = lab.record(lab.plan("-", 8), 0);
    assert_eq!(out, lab.text("a.txt"));
    // The second disk appeared in the middle.
    assert_eq!(out.matches("#blkstat {\"version\"").count(), 2);
}

#[test]
fn values_that_the_host_does_not_provide_are_not_recorded() {
    let lab = Lab::new();
    let clock = lab.clock(0, |_| WaitOutcome::Due);
    for name in
        ["stat", "uptime", "meminfo", "pressure/io", "sys/kernel/hostname", "sys/kernel/random/boot_id"]
    {
        fs::remove_file(lab.root().join("proc").join(name)).unwrap();
    }
    lab.record_with(
        Record {
            schedule: blkstat::schedule::Schedule { count: Some(1), ..lab.plan("", 1).schedule },
            ..lab.plan("a.txt", 1)
        },
        &clock,
    );
    let text = lab.text("a.txt");
    let first = text.lines().take_while(|line| !line.contains("complete")).collect::<Vec<_>>();
    assert!(!first.iter().any(|line| line.starts_with("cpu") || line.contains("\"boot_id\"")), "{text}");
    assert!(text.contains("\n#blkstat {\"monotonic_ns\":0,\"complete\":true}\n"), "{text}");
}

#[test]
fn an_existing_file_is_refused_appended_to_or_overwritten() {
    let lab = Lab::new();
    lab.record_quietly(lab.plan("a.txt", 2), 0);
    let before = lab.text("a.txt");
    let (_, err, exit) = lab.record(lab.plan("a.txt", 2), 0);
    let path = lab.path("a.txt");
    let refused = "already exists; use --append to append to it or --force to overwrite it";
    assert_eq!((err, exit), (format!("blkstat: {} {refused}\n", path.display()), Exit::Error));
    assert_eq!(lab.text("a.txt"), before);
    lab.record_quietly(Record { append: true, ..lab.plan("a.txt", 2) }, 3);
    assert!(lab.text("a.txt").starts_with(&before));
    assert_eq!(replay(&path).0.len(), 6);
    lab.record_quietly(Record { force: true, ..lab.plan("a.txt", 0) }, 3);
    assert_eq!(replay(&path).0.len(), 1);
    lab.record_quietly(Record { append: true, ..lab.plan("new.txt", 0) }, 3);
}

#[test]
fn a_file_that_cannot_be_written_is_one_line_and_exit_2() {
    let lab = Lab::new();
    fs::create_dir(lab.path("folder")).unwrap();
    for (name, why) in [("folder", "is a directory, not a file"), ("no/such", "No such file")] {
        for plan in [lab.plan(name, 1), Record { append: true, ..lab.plan(name, 1) }] {
            let (_, err, exit) = lab.record(plan, 0);
            assert!(err.contains(why) && err.lines().count() == 1 && exit == Exit::Error, "{err}");
        }
    }
    let (_, err, exit) = lab.record(Record { devices: vec!["sdz".into()], ..lab.plan("b.txt", 1) }, 0);
    assert!(err.ends_with("no such device 'sdz'; did you mean 'sda'?\n") && exit == Exit::NoData, "{err}");
    assert!(!lab.path("b.txt").exists());
    let (_, err, exit) = lab.record(Record { rotate: Some(1000), ..lab.plan("-", 1) }, 0);
    assert!(err.contains("cannot rotate standard output") && exit == Exit::Error, "{err}");
}

#[test]
fn only_fourteen_columns_of_the_named_devices_are_recorded() {
    let lab = Lab::new();
    let plan = Record { legacy_14_columns: true, devices: vec!["sda".into()], ..lab.plan("a.txt", 6) };
    lab.record_quietly(plan, 0);
    let text = lab.text("a.txt");
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(' ')).collect();
    assert!(lines.len() == 7 && lines.iter().all(|line| line.split_whitespace().count() == 14), "{text}");
    // Other devices that appear do not repeat the header.
    assert_eq!(text.matches("#blkstat {\"version\"").count(), 1);
    let mut expected = live(&lab, 6);
    expected
        .iter_mut()
        .for_each(|sample| RecordFilter { devices: vec!["sda".into()], columns: None }.apply(sample));
    let reads = |samples: &[Sample]| samples.iter().map(|s| s.devices[0].counters.reads).collect::<Vec<_>>();
    assert_eq!(reads(&replay(&lab.path("a.txt")).0), reads(&expected));
}

#[test]
fn a_compressed_recording_truncated_at_any_byte_has_all_flushed_samples() {
    let lab = Lab::new();
    lab.record_quietly(lab.plan("a.txt.gz", 6), 0);
    let complete = fs::read(lab.path("a.txt.gz")).unwrap();
    let expected = replay(&lab.path("a.txt.gz")).0;
    let mut counts = Vec::new();
    for cut in 2..=complete.len() {
        fs::write(lab.path("cut.gz"), &complete[..cut]).unwrap();
        let (samples, _) = replay(&lab.path("cut.gz"));
        assert_eq!(samples, expected[..samples.len()], "cut at {cut}");
        counts.push(samples.len());
    }
    assert!(counts.is_sorted() && counts.last() == Some(&7));
    // No sample needs the last ten bytes: an empty block and the trailer.
    assert_eq!(counts[counts.len() - 11], 7);
}

#[test]
fn appending_to_a_truncated_file_loses_only_the_truncated_sample() {
    let lab = Lab::new();
    for name in ["a.txt", "a.txt.gz"] {
        lab.record_quietly(lab.plan(name, 3), 0);
        let complete = fs::read(lab.path(name)).unwrap();
        let first = replay(&lab.path(name)).0;
        let reads = |samples: &[Sample]| -> Vec<u64> {
            samples.iter().map(|sample| sample.devices[0].counters.reads.ios).collect()
        };
        // The last sample byte by byte, and the others here and there.
        for cut in (0..complete.len()).filter(|cut| cut % 23 == 0 || complete.len() - cut < 60) {
            fs::write(lab.path(name), &complete[..cut]).unwrap();
            let kept = if cut < 2 { 0 } else { replay(&lab.path(name)).0.len() };
            lab.record_quietly(Record { append: true, ..lab.plan(name, 1) }, 9);
            let (samples, warnings) = replay(&lab.path(name));
            let all = reads(&samples);
            let (before, after) = all.split_at(all.len() - 2);
            assert_eq!(after, [9, 10], "{name} cut at {cut}: {warnings:?}");
            assert_eq!(before, &reads(&first)[..before.len()], "{name} cut at {cut}: {warnings:?}");
            // A compressed sample may lack only its newline, which is then added.
            assert!(before.len() == kept || before.len() == kept + 1, "{name} cut at {cut}: {warnings:?}");
        }
    }
}

/// A rotated recording, the oldest file first.
fn files(lab: &Lab, name: &str) -> Vec<std::path::PathBuf> {
    let path = lab.path(name);
    let older = (1..99).map(|n| rotated_name(&path, n)).take_while(|path| path.exists());
    let mut files: Vec<_> = std::iter::once(path.clone()).chain(older).collect();
    files.reverse();
    files
}

#[test]
fn rotated_files_replay_separately_and_concatenated() {
    let lab = Lab::new();
    lab.record_quietly(lab.plan("one.txt", 40), 0);
    let expected = replay(&lab.path("one.txt")).0;
    for (name, size) in [("r.txt", 3000), ("r.txt.gz", 1500)] {
        lab.record_quietly(Record { rotate: Some(size), ..lab.plan(name, 40) }, 0);
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
        assert_eq!(replay(&lab.path("concatenated")), (expected.clone(), vec![]), "{name}");
    }
}

#[test]
fn only_the_requested_number_of_files_is_kept() {
    let lab = Lab::new();
    lab.record_quietly(Record { rotate: Some(3000), keep: Some(2), ..lab.plan("r.txt", 40) }, 0);
    let files = files(&lab, "r.txt");
    assert_eq!(files.len(), 3);
    let samples: Vec<Sample> = files.iter().flat_map(|file| replay(file).0).collect();
    let reads: Vec<u64> = samples.iter().map(|sample| sample.devices[0].counters.reads.ios).collect();
    assert!(reads.windows(2).all(|pair| pair[1] == pair[0] + 1) && reads.last() == Some(&40), "{reads:?}");
}

#[test]
fn a_signal_ends_a_recording_with_its_exit_code_and_a_complete_file() {
    let lab = Lab::new();
    for (signal, name) in [(2, "a.txt.gz"), (15, "b.txt")] {
        let clock = lab.clock(0, |n| if n < 3 { WaitOutcome::Due } else { WaitOutcome::Signal(signal) });
        let (_, err, exit) = lab.record_with(lab.plan(name, 50), &clock);
        assert_eq!((err.as_str(), exit), ("", Exit::Signal(signal)));
        assert_eq!(replay(&lab.path(name)).0.len(), 3);
    }
    let mut text = String::new();
    let file = fs::File::open(lab.path("a.txt.gz")).unwrap();
    io::Read::read_to_string(&mut flate2::read::MultiGzDecoder::new(file), &mut text).unwrap();
    assert!(text.ends_with("\"complete\":true}\n"));
}

#[test]
fn a_read_error_ends_a_recording_and_reports_what_was_saved() {
    let lab = Lab::new();
    let clock = lab.clock(0, |n| {
        if n == 3 {
            fs::remove_file(lab.root().join("proc/diskstats")).unwrap();
        }
        WaitOutcome::Due
    });
    let (_, err, exit) = lab.record_with(lab.plan("a.txt.gz", 50), &clock);
    assert!(err.starts_with("blkstat: cannot read ") && err.lines().count() == 1, "{err}");
    assert!(err.ends_with("; 3 complete samples saved, up to 18:22:11\n"), "{err}");
    assert_eq!((exit, replay(&lab.path("a.txt.gz")).0.len()), (Exit::Error, 3));
}

/// A writer that fails after this number of writes.
struct FailingWriter(usize, io::ErrorKind, Vec<u8>);

impl Write for FailingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 = self.0.checked_sub(1).ok_or(self.1)?;
        self.2.extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_write_error_on_standard_output_is_an_error_but_a_closed_pipe_is_not() {
    let lab = Lab::new();
    for (kind, expected) in
        [(io::ErrorKind::BrokenPipe, Exit::Success), (io::ErrorKind::StorageFull, Exit::Error)]
    {
        let clock = lab.clock(0, |_| WaitOutcome::Due);
        let (mut out, mut err) = (FailingWriter(3, kind, Vec::new()), Vec::new());
        let mut context = RunContext { clock: &clock, out: &mut out, err: &mut err, is_terminal: false };
        let exit = run(&Plan::Record(Box::new(lab.plan("-", 50))), &mut context);
        assert_eq!(exit, expected);
        // Each sample is one write.
        assert_eq!(read(out.2.as_slice()).0.len(), 3);
        let err = String::from_utf8(err).unwrap();
        assert_eq!(
            err.ends_with("; 3 complete samples saved, up to 18:22:11\n"),
            exit == Exit::Error,
            "{err}"
        );
    }
}

#[test]
fn a_full_device_is_an_error_that_names_it() {
    let lab = Lab::new();
    let (_, err, exit) = lab.record(Record { file: "/dev/full".into(), ..lab.plan("", 3) }, 0);
    assert!(err.starts_with("blkstat: cannot write /dev/full: No space left on device"), "{err}");
    assert!(err.ends_with("; no samples saved\n") && exit == Exit::Error, "{err}");
}

/// Mounts a file system of 16 KiB; `None` without the permission to do so.
fn small_file_system(lab: &Lab) -> Option<Mounted> {
    let folder = lab.path("small");
    fs::create_dir(&folder).unwrap();
    let mut mount = std::process::Command::new("mount");
    mount.args(["-t", "tmpfs", "-o", "size=16k", "tmpfs"]).arg(&folder);
    mount
        .stderr(std::process::Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
        .then_some(Mounted(folder))
}

struct Mounted(std::path::PathBuf);

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_ends_a_recording_after_its_last_complete_sample() {
    let lab = Lab::new();
    let Some(_mounted) = small_file_system(&lab) else {
        eprintln!("skipped: only root may mount");
        return;
    };
    for name in ["small/a.txt", "small/a.txt.gz"] {
        let (_, err, exit) = lab.record(lab.plan(name, 5000), 0);
        assert!(err.contains(&format!("{name}: No space left on device")) && exit == Exit::Error, "{err}");
        let (samples, warnings) = replay(&lab.path(name));
        assert!(err.contains(&format!("; {} complete samples saved, up to ", samples.len())), "{err}");
        assert_eq!(warnings, Vec::<String>::new());
        fs::remove_file(lab.path(name)).unwrap();
    }
    fs::write(lab.path("small/fill"), vec![0; 16 * 1024]).unwrap();
    let (_, err, _) = lab.record(lab.plan("small/new.txt", 5), 0);
    assert!(err.ends_with("; no samples saved\n"), "{err}");
    assert!(!lab.path("small/new.txt").exists());
}

#[test]
fn two_recordings_cannot_share_a_file() {
    let lab = Lab::new();
    let clock = lab.clock(0, |n| {
        if n == 1 {
            let other = ManualClock::new(jiff::Timestamp::UNIX_EPOCH, |_| WaitOutcome::Due);
            let plan = Record { append: true, ..lab.plan("a.txt", 1) };
            let (_, err, exit) = lab.record_with(plan, &other);
            assert!(err.contains("is in use by another recording"), "{err}");
            assert_eq!(exit, Exit::Error);
        }
        WaitOutcome::Due
    });
    lab.record_with(lab.plan("a.txt", 3), &clock);
    assert_eq!(replay(&lab.path("a.txt")).0.len(), 4);
}

#[test]
fn a_terminal_shows_the_progress_and_summary_of_a_recording() {
    let lab = Lab::new();
    let (_, err, _) = lab.record(Record { stderr_is_tty: true, ..lab.plan("a.txt", 40) }, 0);
    let shown: Vec<&str> = err.split('\r').map(str::trim).filter(|text| !text.is_empty()).collect();
    // Forty intervals of 250 ms, updated once per second.
    assert_eq!(shown.len(), 10, "{err:?}");
    assert!(shown[0].starts_with("5 samples, ") && shown[0].ends_with(", 0:00:01"), "{err:?}");
    assert!(shown[9].starts_with("recorded 41 samples of 3 devices in "), "{err:?}");
    let (_, err, _) = lab.record(Record { stderr_is_tty: true, ..lab.plan("b.txt", 4) }, 0);
    assert!(err.starts_with("recorded 5 samples of 2 devices in ") && err.lines().count() == 1, "{err:?}");
}

#[test]
fn a_rotation_does_not_touch_existing_files_unless_requested() {
    let lab = Lab::new();
    let plan = |keep| Record { rotate: Some(3000), keep, ..lab.plan("r.txt", 40) };
    let precious = rotated_name(&lab.path("r.txt"), 1);
    fs::write(&precious, "precious").unwrap();
    for keep in [None, Some(1), Some(5)] {
        let (_, err, exit) = lab.record(plan(keep), 0);
        assert!(err.contains("r.txt.1 already exists") && err.contains("--force"), "{err}");
        assert_eq!((err.lines().count(), exit), (1, Exit::Error));
        assert_eq!(fs::read(&precious).unwrap(), b"precious");
        assert!(!lab.path("r.txt").exists() && !rotated_name(&lab.path("r.txt"), 2).exists());
    }
    lab.record_quietly(Record { append: true, ..plan(None) }, 0);
    let last = files(&lab, "r.txt").remove(0);
    assert_eq!(fs::read(last).unwrap(), b"precious");
    lab.record_quietly(Record { force: true, ..plan(Some(1)) }, 0);
    assert_ne!(fs::read(&precious).unwrap(), b"precious");
}
