//! Recordings as operands, what a capture from elsewhere lacks, and captures that end early.

use std::path::Path;

use blkstat::clock::WaitOutcome;
use jiff::Timestamp;
use serde_json::Value;

use crate::support::clock::ManualClock;
use crate::support::fake_root::FakeRoot;
use crate::support::in_process::in_process;
use crate::support::program::{blkstat, output};
use crate::synthetic::{end_of_sample, reads_line};

/// Copies of /proc/diskstats of sda and dm-0, each after a `TS` line: `reads` of each per second.
fn capture(seconds: std::ops::Range<u64>, reads: u64) -> String {
    let sample = |at: u64| {
        let n = reads * at;
        let lines = ["8 0 sda", "253 0 dm-0"].map(|device| reads_line(device, n, n, 0, n));
        format!("TS {}\n{}", 1_795_200_000 + at, lines.concat())
    };
    seconds.map(sample).collect()
}

fn without_times(capture: &str) -> String {
    capture
        .lines()
        .filter(|line| !line.starts_with("TS"))
        .map(|line| format!("{line}\n"))
        .collect()
}

fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).unwrap();
    path.display().to_string()
}

#[test]
fn a_file_as_an_operand_is_what_from_names() {
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "a.txt", &capture(0..6, 10));
    for (view, options) in [
        ("", "--json"),
        ("analyze", "--json"),
        ("report", "--output -"),
        ("devices", "--json"),
        ("export", ""),
        ("iostat", "-dx"),
        ("pt-diskstats", ""),
    ] {
        let named = output(&format!("{view} {options} --from {file}"), "");
        let operand = output(&format!("{view} {options} {file}"), "");
        assert_eq!(named, operand, "{view}");
        let (out, err, code) = operand;
        assert!(!out.is_empty() && code == 0, "{view}: {err}");
    }
    for (command, message, code) in [
        ("who", "no cgroups or processes in this capture", 1),
        (
            "latency",
            "latency traces the requests of the running system",
            2,
        ),
        ("top", "cannot show the full screen", 2),
        ("export --listen 0", "running system", 2),
    ] {
        let outcome = blkstat(&format!("{command} {file}")).run();
        assert!(
            outcome.err.contains(message) && outcome.code == code,
            "{command}: {outcome:?}"
        );
    }
}

/// For some days, 0.2.0 made recordings of logs, whose counters it made up; their header says what the log lacked.
#[test]
fn a_recording_that_was_made_of_a_log_is_refused() {
    let header = "#blkstat {\"version\":\"0.2.0\",\"host\":\"db1\",\"boot_id\":\"0\",\"missing\":{\"in_flight\":true,\"ios\":false,\
                  \"merges\":false,\"sectors\":false,\"ms\":false,\"busy_ms\":false,\"weighted_ms\":false},\"devices\":[]}\n";
    let made_of_log = header.to_owned() + &capture(0..6, 10);
    for (text, line) in [
        (made_of_log.clone(), 1),
        (capture(0..6, 10) + &made_of_log, 19),
    ] {
        let (_, err, code) = output("--json --from -", text);
        let expected = format!(
            "line {line} begins a recording that blkstat 0.2.0 made of a log of another tool, with counters made up from its rates; \
             read the log itself\n"
        );
        assert!(err.ends_with(&expected) && code == 2, "{err}");
    }
}

#[test]
fn files_in_any_order_are_one_recording() {
    let folder = tempfile::tempdir().unwrap();
    let whole = output("--json --from -", capture(0..12, 10));
    let files = [0..4, 4..8, 8..12].map(|seconds: std::ops::Range<u64>| {
        write(
            folder.path(),
            &format!("{}.txt", seconds.start),
            &capture(seconds, 10),
        )
    });
    let [a, b, c] = &files;
    for words in [format!("{a} {b} {c}"), format!("{c} {a} {b}")] {
        assert_eq!(
            output(&format!("--json --as-live {words}"), ""),
            whole,
            "{words}"
        );
        let (_, err, code) = output(&format!("analyze {words} --begin -3s"), "");
        assert_eq!((err.as_str(), code), ("", 0));
        assert_eq!(
            output(&format!("iostat -dx {words}"), "")
                .0
                .matches("sda")
                .count(),
            11
        );
    }
    // A warning names its file.
    std::fs::write(b, format!("{}x\n", capture(4..8, 10))).unwrap();
    let (_, err, _) = output(&format!("--json {a} {b} {c}"), "");
    assert!(err.starts_with(&format!("blkstat: {b}:13: ")), "{err}");
}

#[test]
fn the_distance_of_samples_without_times_can_be_stated() {
    let (timed, text) = (capture(0..6, 10), without_times(&capture(0..6, 10)));
    let rates = |words: &str, text: &str| {
        let fields = "--fields elapsed_s,device,r/s,r_await,queue,util,verdict";
        let (out, err, code) = output(&format!("{words} --from - --csv {fields}"), text);
        assert_eq!(code, 0, "{err}");
        out.lines().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(rates("--every 1s", &text), rates("", &timed));
    assert_eq!(rates("--every 500ms", &text).len(), 11);
    let message = "copies of /proc/diskstats without times; state their distance: --every 1s";
    for words in ["--json", "analyze", "report -o -", "export", "iostat -dx"] {
        let (out, err, code) = output(&format!("{words} --from -"), &text);
        assert!(
            err.contains(message) && !out.contains("sda") && code == 1,
            "{words}: {err}"
        );
        let (out, err, code) = output(&format!("{words} --every 1s --from -"), &text);
        assert!(!out.is_empty() && code == 0, "{words}: {err}");
    }
    let (_, err, code) = output("--every 1s 1 1", "");
    assert_eq!(
        (err.as_str(), code),
        ("blkstat: --every needs a capture, such as FILE\n", 2)
    );
}

#[test]
fn how_devices_of_a_capture_are_stacked_can_be_stated() {
    let text = capture(0..6, 10);
    let below = |words: &str| output(&format!("devices --json --from - {words}"), &text).0;
    assert!(!below("").contains("\"sda\"]") && below("--stack dm-0=sda").contains("\"sda\""));
    // The total counts what the layers have in common once.
    let total = |words: &str| {
        let (out, err, code) = output(&format!("--total --csv --from - {words}"), &text);
        assert_eq!((err.as_str(), code), ("", 0));
        out.lines()
            .find(|line| line.contains(",total,"))
            .map(str::to_owned)
    };
    assert!(total("--stack dm-0=sda").is_some());
    for words in [
        "--stack dm-0",
        "--stack =sda",
        "--stack dm-0=dm-0",
        "--stack dm-0=sda,",
    ] {
        let (_, err, code) = output(&format!("{words} --from -"), &text);
        assert!(err.contains("expected DEVICE=BELOW") && code == 2, "{err}");
    }
    assert_eq!(output("--stack dm-0=sda 1 1", "").2, 2);
}

#[test]
fn what_a_device_of_a_capture_is_made_of_can_be_stated() {
    let evidence = |words: &str| {
        let (out, err, code) = output(
            &format!("--json --as-live {words} fixtures/captures/sweep-randread.txt vda"),
            "",
        );
        assert_eq!((err.as_str(), code), ("", 0));
        out.contains("what any NVMe SSD needs")
    };
    assert!(!evidence("") && evidence("--class vda=nvme"));
    let text = capture(0..6, 10);
    for (words, message) in [
        (
            "--class sda",
            "expected DEVICE=CLASS, such as sda=ssd; classes are hdd, ssd, nvme, network",
        ),
        ("--class =ssd", "expected DEVICE=CLASS"),
        ("--class sda=disk", "expected DEVICE=CLASS"),
        ("--class sdz=hdd", "--class sdz=hdd: there is no device sdz"),
    ] {
        let (_, err, code) = output(&format!("{words} --from -"), &text);
        assert!(err.contains(message) && code == 2, "{err}");
    }
    assert_eq!(
        output("--class nosuch=ssd 1 1", "").1,
        "blkstat: --class nosuch=ssd: there is no device nosuch\n"
    );
}

#[test]
fn iostat_resamples_a_recording_and_cuts_it() {
    let text = capture(0..31, 10);
    let reports = |words: &str| {
        let (out, err, code) = output(&format!("iostat -d --from - {words}"), &text);
        assert_eq!((err.as_str(), code), ("", 0), "{words}");
        out.lines()
            .filter(|line| line.starts_with("sda"))
            .map(|line| line.split_whitespace().nth(1).unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(reports("").len(), 30);
    assert_eq!(reports("sda 10"), ["10.00"; 3]);
    assert_eq!(reports("10 2"), ["10.00"; 2]);
    // The last interval is shorter.
    assert_eq!(reports("sda 7"), ["10.00"; 5]);
    let folder = tempfile::tempdir().unwrap();
    let file = write(folder.path(), "a.txt", &text);
    let count = |words: &str| {
        output(&format!("{words} {file}"), "")
            .0
            .matches("sda")
            .count()
    };
    for view in ["iostat -d", "pt-diskstats --show-inactive"] {
        assert_eq!(
            count(&format!("{view} --begin +10s --end +15s")),
            5,
            "{view}"
        );
        assert_eq!(count(&format!("{view} --begin -4s")), 4, "{view}");
        let (_, err, _) = output(&format!("{view} --begin 2020-01-01T00:00Z {file}"), "");
        assert!(err.contains("--begin 2020-01-01T00:00Z"), "{view}: {err}");
    }
    let (_, err, code) = output("iostat --begin x --from -", &text);
    assert!(
        err.starts_with("blkstat: --begin: ") && err.lines().count() == 1 && code == 2,
        "{err}"
    );
}

#[test]
fn the_heading_of_iostat_is_that_of_the_recorded_host() {
    let header =
        "#blkstat {\"version\":\"0.2.0\",\"host\":\"db1\",\"kernel\":\"6.1.0-56\",\"cpus\":8}\n";
    let sample = |second: u64| capture(second..second + 1, 10) + &end_of_sample(second);
    let text = header.to_owned() + &sample(1) + &sample(2);
    let (out, _, code) = output("iostat -d --from -", text);
    assert_eq!(code, 0);
    assert!(
        out.starts_with("Linux 6.1.0-56 (db1) \t11/20/26 \t_-_\t(8 CPU)\n"),
        "{out}"
    );
}

#[test]
fn a_recording_cut_anywhere_says_when_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.gz");
    let recorded = blkstat("record").args([&file]).args(["0.01", "60"]).run();
    assert_eq!(recorded.code, 0, "{}", recorded.err);
    let whole = std::fs::read(&file).unwrap();
    let cut_file = folder.path().join("cut.gz").display().to_string();
    let mut with_time = 0;
    for part in 1..=100 {
        let cut = (whole.len() - 1) * part / 100;
        std::fs::write(&cut_file, &whole[..cut]).unwrap();
        let (_, err, code) = output(&format!("--json {cut_file}"), "");
        let is_told = err.contains("compressed data is cut off")
            && err.contains("; the readable part ends at 2")
            || err.contains("truncated before the end of its first sample");
        assert!(
            code < 2 && is_told,
            "cut at {cut} of {}: {err}",
            whole.len()
        );
        with_time += usize::from(err.contains("the readable part ends at"));
    }
    assert!(with_time > 50, "{with_time}");
}

#[test]
fn request_times_that_fell_are_not_taken_for_a_wrap() {
    // The times of sda begin again at 0 while its counts grow.
    let line = |second: u64| {
        let ms = if second < 5 {
            40_000_000 + 10 * second
        } else {
            10 * second
        };
        format!(
            "TS {}\n{}",
            1_795_200_000 + second,
            reads_line("8 0 sda", 1000 + 800 * second, ms, 1, ms)
        )
    };
    let text: String = (0..10).map(line).collect();
    let (out, err, code) = output("--csv --from -", &text);
    assert_eq!((err.as_str(), code), ("", 0));
    let header: Vec<&str> = out.lines().next().unwrap().split(',').collect();
    let at = header
        .iter()
        .position(|title| *title == "read_await_ms")
        .unwrap();
    let awaits: Vec<&str> = out
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(at).unwrap())
        .collect();
    assert_eq!(
        awaits.iter().filter(|value| value.is_empty()).count(),
        1,
        "{awaits:?}"
    );
    assert!(
        awaits
            .iter()
            .all(|value| value.is_empty() || value.parse::<f64>().unwrap() < 1.0),
        "{awaits:?}"
    );
}

#[test]
fn a_recording_keeps_model_and_firmware_bounded() {
    let host = FakeRoot::new();
    host.disk("sda", "8:0", 1024)
        .file(
            "sys/block/sda/device/model",
            "Amazon Elastic Block Store   ",
        )
        .disk("sdb", "8:16", 1024)
        .file(
            "sys/block/sdb/device/model",
            "\u{1b}[31m".to_owned() + &"x".repeat(100_000),
        )
        .file("sys/class/dmi/id/sys_vendor", "Amazon EC2")
        .file("sys/class/dmi/id/product_name", "y".repeat(100_000))
        .diskstats("8 0 sda 1 0 8 1 0 0 0 0 0 1 1\n8 16 sdb 1 0 8 1 0 0 0 0 0 1 1\n");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("recording");
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |_| WaitOutcome::Due);
    in_process("record")
        .args([file.as_os_str()])
        .args(["1", "1"])
        .root(host.path())
        .run(&clock);
    let text = std::fs::read_to_string(&file).unwrap();
    let header = text
        .lines()
        .find_map(|line| line.strip_prefix("#blkstat "))
        .unwrap();
    let header: Value = serde_json::from_str(header).unwrap();
    let long = |value: &Value| value.as_str().unwrap().to_owned();
    assert_eq!(header["machine"]["sys_vendor"], "Amazon EC2");
    assert_eq!(long(&header["machine"]["product_name"]), "y".repeat(64));
    assert_eq!(header["machine"]["chassis_asset_tag"], Value::Null);
    let models: Vec<String> = header["devices"]
        .as_array()
        .unwrap()
        .iter()
        .map(|device| long(&device["model"]))
        .collect();
    assert_eq!(
        models,
        [
            "Amazon Elastic Block Store".to_owned(),
            format!("[31m{}", "x".repeat(60))
        ]
    );
}
