//! blkstat's own view of a live host: temporary roots, and a clock that does not wait.

use std::cell::Cell;
use std::fs;
use std::time::Duration;

use blkstat::clock::{Clock, ManualClock, WaitOutcome};
use blkstat::exit::Exit;
use jiff::Timestamp;
use serde_json::Value;

use crate::support::fake_root::{FakeRoot, busy_line};
use crate::support::in_process::in_process;

/// Writes the state of a host at `second`: dm-0 on sda2 on sda is busy; sdb has its accounting disabled; sdc hangs from
/// second 2 on; sdd exists in seconds 3 and 4; loop0 is idle.
fn write_host(host: &FakeRoot, second: u64) {
    if second == 0 {
        for name in ["sda", "sdb", "sdc", "dm-0", "loop0"] {
            host.iostats(name, name != "sdb");
        }
        host.file("sys/block/sda/dev", "8:0")
            .file("sys/block/sda/sda2/dev", "8:2")
            .file("sys/block/sda/sda2/partition", 2)
            .file("sys/block/dm-0/dev", "253:0")
            .file("sys/block/dm-0/dm/name", "vg0-root")
            .file("sys/block/dm-0/dm/uuid", "LVM-xyz")
            .file("sys/block/dm-0/slaves/sda2/dev", "8:2")
            .backed("loop0", "/images/a.img")
            .file("proc/self/mountinfo", "30 1 253:0 / / rw - ext4 /dev/mapper/vg0-root rw");
    }
    let mut lines = busy_line("7 0", "loop0", 0, 0);
    lines += &busy_line("8 0", "sda", 1000 + 100 * second, 0);
    lines += &busy_line("8 2", "sda2", 1000 + 100 * second, 0);
    lines += &busy_line("8 16", "sdb", 5, 0);
    lines += &busy_line("8 32", "sdc", 50 + second.min(2), 4);
    if (3..5).contains(&second) {
        lines += &busy_line("8 48", "sdd", 10, 0);
    }
    lines += &busy_line("253 0", "dm-0", 1000 + 100 * second, 0);
    let ticks = format!("{} 0 {} {} 0 0 0 0", 20 * second, 10 * second, 170 * second);
    host.diskstats(&lines).uptime(format!("{}.00", 100 + second)).cpu(&ticks, 3);
    host.pressure(250_000 * second, 50_000 * second);
}

/// Runs blkstat for `seconds` intervals of one second, without a terminal. Returns standard output, standard error and
/// how it ended.
fn output(options: &str, seconds: u64) -> (String, String, Exit) {
    let host = FakeRoot::new();
    write_host(&host, 0);
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |wait| {
        write_host(&host, wait);
        if wait > seconds { WaitOutcome::Signal(2) } else { WaitOutcome::Due }
    });
    in_process(options).root(host.path()).run(&clock)
}

fn json(options: &str, seconds: u64) -> Vec<Value> {
    let (out, err, _) = output(&format!("--json {options}"), seconds);
    assert_eq!(err, "");
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_report_shows_the_host_and_every_device() {
    let expected = "\
hidden at width 100: r_sz w_sz (--width N, --all-columns)
1970-01-01 UTC
00:00:01  1.000s  cpu: 10% user 5% system 85% available  blocked: 3  pressure: 25% some 5.0% full
device       r/s rMB/s r_await   w/s wMB/s w_await r_qu w_qu inflt  util ≤util r_sat w_sat   verdict
sda          100  0.39  2.00ms   100  0.39  2.00ms 0.20 0.20     0   20%   40%     -     -         -
sdb        I/O accounting disabled (queue/iostats=0)
sdc         1.00  0.00 ~2.00ms  1.00  0.00 ~2.00ms 0.00 0.00     4  0.2%  100%     -     -         -
sda2         100  0.39  2.00ms   100  0.39  2.00ms 0.20 0.20     0   20%   40%     -     -         -
vg0-root     100  0.39  2.00ms   100  0.39  2.00ms 0.20 0.20     0   20%   40%     -     -         -
";
    assert_eq!(output("--width 100 1 1", 1), (expected.to_owned(), String::new(), Exit::Success));
}

#[test]
fn mount_points_push_out_no_rate_and_a_loop_device_shows_its_file() {
    let expected = "\
device       r/s r_await   w/s w_await r_qu w_qu  util   verdict  mountpoints
loop0          0       -     0       -    0    0    0%      idle  /images/a.img
";
    let (out, _, _) = output("--width 80 --mounts --all loop0 vg0-root 1 1", 1);
    for line in expected.lines() {
        assert!(out.lines().any(|printed| printed == line), "{out}");
    }
    assert!(out.contains(" 100  2.00ms   100  2.00ms 0.20 0.20   20%         -  /\n"), "{out}");
}

#[test]
fn a_stall_grows_and_hot_plugged_devices_are_named_once() {
    let (out, _, exit) = output("1 --no-summary", 6);
    let sdc: Vec<&str> = out.lines().filter(|line| line.starts_with("sdc ")).collect();
    assert!(sdc[2].ends_with("STALLED for 1.0 s: 4 in flight, nothing completed"), "{out}");
    assert!(sdc[5].ends_with("STALLED for 4.0 s: 4 in flight, nothing completed"), "{out}");
    assert_eq!(out.matches("+ sdd appeared").count(), 1);
    assert_eq!(out.matches("- sdd disappeared").count(), 1);
    assert_eq!(exit, Exit::Signal(2));
}

#[test]
fn json_has_the_same_numbers() {
    let lines = json("sdb sdc vg0-root 1 4", 4);
    let names: Vec<&str> = lines.iter().map(|line| line["device"].as_str().unwrap()).take(3).collect();
    assert_eq!(names, ["sdb", "sdc", "dm-0"]);
    assert_eq!(lines[0]["flags"], serde_json::json!(["accounting_off"]));
    assert!(lines[0]["reads_per_s"].is_null());
    let stalled: Vec<f64> = lines.iter().filter_map(|line| line["stalled_s"].as_f64()).step_by(2).collect();
    assert_eq!(stalled, [0.0, 0.0, 1.0, 2.0]);
    let last = lines.last().unwrap();
    assert_eq!((last["reads_per_s"].as_f64(), last["read_await_ms"].as_f64()), (Some(100.0), Some(2.0)));
    assert_eq!((last["util_pct"].as_f64(), last["util_upper_bound_pct"].as_f64()), (Some(20.0), Some(40.0)));
    assert_eq!(last["cpu_available_pct"].as_f64(), Some(85.0));
    assert_eq!(last["io_pressure_some_pct"].as_f64(), Some(25.0));
}

#[test]
fn a_device_is_found_by_any_of_its_names_and_a_wrong_name_is_reported() {
    for word in ["vg0-root", "dm-0", "/dev/mapper/vg0-root", "/dev/dm-0", "mapper/vg0-root"] {
        assert_eq!(json(&format!("{word} 1 1"), 1)[0]["device"], "dm-0", "{word}");
    }
    let (out, err, exit) = output("vg0-rot 1 1", 1);
    assert_eq!((out.as_str(), exit), ("", Exit::NoData));
    assert_eq!(err, "blkstat: no such device 'vg0-rot'; did you mean 'vg0-root'?\n");
    for (words, why) in [
        ("nosuch 1 2", "no such device or file 'nosuch'; run 'blkstat devices' for a list"),
        ("vg0-rot 1 2", "no such device 'vg0-rot'; did you mean 'vg0-root'?"),
        ("vg0-rot what 1 2", "no such devices: 'vg0-rot', 'what'; run 'blkstat devices' for a list"),
    ] {
        let (out, err, exit) = output(&format!("analyze {words}"), 2);
        assert_eq!((out.as_str(), err, exit), ("", format!("blkstat: {why}\n"), Exit::NoData));
    }
    for command in ["", "analyze"] {
        let (out, err, exit) = output(&format!("{command} --devices-regex ^zzz"), 3);
        assert_eq!((out.as_str(), exit), ("", Exit::NoData));
        assert!(err.ends_with("no device matches '^zzz'\n") && err.lines().count() == 1, "{err}");
    }
}

#[test]
fn an_analysis_without_a_count_says_that_it_runs_until_interrupted() {
    let (out, err, exit) = output("analyze sda", 3);
    assert!(out.starts_with("sda: ") && out.contains("Workload: 3.0 s, 3 intervals"), "{out}");
    assert_eq!((err.as_str(), exit), ("blkstat: analyzing until Ctrl-C (no COUNT given)\n", Exit::Signal(2)));
    let (_, err, exit) = output("analyze sda 1 3", 3);
    assert_eq!((err.as_str(), exit), ("", Exit::Success));
}

#[test]
fn a_device_that_does_not_exist_may_be_a_mistyped_command() {
    for words in ["analze", "analze capture.txt 1 5"] {
        let (out, err, exit) = output(words, 1);
        assert_eq!((out.as_str(), exit), ("", Exit::NoData));
        assert_eq!(err, "blkstat: no such device 'analze'; did you mean 'blkstat analyze'?\n");
    }
    assert!(output("sda analze", 1).1.contains("no such device 'analze'; run"));
}

#[test]
fn a_recording_may_have_a_number_as_its_name_in_a_path() {
    let folder = tempfile::tempdir().unwrap();
    let (_, err, exit) = output(&format!("record {}/1 1 1", folder.path().display()), 1);
    assert_eq!((err.as_str(), exit, folder.path().join("1").exists()), ("", Exit::Success, true));
}

#[test]
fn record_finds_a_device_by_any_of_its_names_too() {
    let folder = tempfile::tempdir().unwrap();
    for (at, word) in
        ["vg0-root", "dm-0", "/dev/mapper/vg0-root", "/dev/dm-0", "mapper/vg0-root"].iter().enumerate()
    {
        let file = folder.path().join(at.to_string());
        let (_, err, exit) = output(&format!("record {} --device {word} 1 1", file.display()), 1);
        assert_eq!((err.as_str(), exit), ("", Exit::Success), "{word}");
        let replayed = json(&format!("--all --from {}", file.display()), 0);
        let names: Vec<&Value> = replayed.iter().map(|line| &line["device"]).collect();
        assert_eq!(names, ["dm-0"], "{word}");
    }
    let (_, err, exit) = output(&format!("record {}/x --device vg0-rot 1 1", folder.path().display()), 1);
    assert!(err.ends_with("no such device 'vg0-rot'; did you mean 'vg0-root'?\n"), "{err}");
    assert_eq!(exit, Exit::NoData);
}

#[test]
fn util_is_not_shown_below_a_tenth_of_a_second() {
    assert!(json("sda 50ms 1", 1)[0]["util_pct"].is_null());
    assert!(json("sda 99ms 1", 1)[0]["util_pct"].is_null());
    assert!(json("sda 100ms 1", 1)[0]["util_pct"].is_number());
}

#[test]
fn averages_since_boot_come_first_on_request() {
    let lines = json("sda --since-boot 1 1", 1);
    assert_eq!((lines[0]["elapsed_s"].as_f64(), lines[0]["reads_per_s"].as_f64()), (Some(100.0), Some(10.0)));
    assert_eq!((lines.len(), lines[1]["reads_per_s"].as_f64()), (2, Some(100.0)));
    assert_eq!(
        (&lines[0]["flags"], &lines[1]["flags"]),
        (&serde_json::json!(["since_boot"]), &serde_json::json!([]))
    );
}

#[test]
fn mount_points_and_a_total_over_physical_disks() {
    let (out, _, _) = output("--mounts --total --width 130 1 1", 1);
    let line = |name: &str| out.lines().find(|line| line.starts_with(name)).unwrap_or_default();
    assert!(line("vg0-root").ends_with("  /"), "{out}");
    // sda and sdc, but neither the partition nor the volume.
    assert!(line("total").starts_with("total        101"), "{out}");
}

#[test]
fn the_summary_has_the_maximum_and_its_time() {
    let (out, _, _) = output("sda --summary 1 3", 3);
    let summary = out.split("summary of ").nth(1).unwrap();
    assert!(summary.starts_with("3.0 s, 3 intervals\n"), "{summary}");
    assert!(
        summary
            .lines()
            .any(|line| line.split_whitespace().eq(["w_await", "2.00ms", "worst", "2.00ms", "00:00:01"]))
    );
}

#[test]
fn a_replayed_recording_prints_the_live_numbers() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["plain.txt", "packed.txt.gz"] {
        let file = folder.path().join(name);
        let (_, err, _) = output(&format!("record {} 1 6", file.display()), 6);
        assert_eq!(err, "");
        for options in
            ["--json", "--csv", "--mounts --total --width 120", "--json vg0-root sdb", "--since-boot --all"]
        {
            let (live, _, _) = output(&format!("{options} 1 6"), 6);
            let (replayed, err, _) = output(&format!("{options} --from {}", file.display()), 0);
            assert_eq!((replayed, err.as_str()), (live, ""), "{options}");
        }
    }
}

#[test]
fn a_recording_knows_if_its_interval_is_too_short_for_util() {
    let folder = tempfile::tempdir().unwrap();
    for every in ["50ms", "95ms", "99ms", "100ms"] {
        let file = folder.path().join(every);
        output(&format!("record {} {every} 3", file.display()), 3);
        let live = json(&format!("sda {every} 3"), 3);
        assert_eq!(live[0]["util_pct"].is_null(), every != "100ms");
        assert_eq!(json(&format!("sda --from {}", file.display()), 0), live, "{every}");
        // Aggregated intervals are long enough.
        assert!(json(&format!("sda --from {} 200ms", file.display()), 0)[0]["util_pct"].is_number());
    }
}

/// Runs blkstat with waits that last 2.5 s too long, except the first. Returns its standard output.
fn output_late(words: &str, host: &FakeRoot) -> String {
    struct Late<'a>(Cell<Duration>, Cell<u64>, &'a FakeRoot);
    impl Clock for Late<'_> {
        fn monotonic(&self) -> Duration {
            self.0.get()
        }
        fn wall(&self) -> Timestamp {
            Timestamp::UNIX_EPOCH
        }
        fn wait_until(&self, deadline: Duration) -> WaitOutcome {
            self.1.set(self.1.get() + 1);
            let late = if self.1.get() == 1 { Duration::ZERO } else { Duration::from_millis(2500) };
            self.0.set(deadline + late);
            write_host(self.2, self.1.get());
            WaitOutcome::Due
        }
    }
    write_host(host, 0);
    let clock = Late(Cell::default(), Cell::default(), host);
    in_process(words).root(host.path()).run(&clock).0
}

#[test]
fn missed_samples_are_counted_on_the_next_line_and_in_a_recording() {
    let host = FakeRoot::new();
    let numbers = |out: &str, name: &str| -> Vec<f64> {
        let lines = out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines.map(|line| line[name].as_f64().unwrap()).collect()
    };
    let live = output_late("--json sda 1 4", &host);
    assert_eq!(numbers(&live, "missed_samples"), [0.0, 0.0, 2.0, 2.0]);
    assert_eq!(numbers(&live, "elapsed_s"), [1.0, 3.5, 3.0, 3.0]);
    let file = host.path().join("late.txt");
    output_late(&format!("record {} 1 4", file.display()), &host);
    let replayed = |more: &str| output(&format!("--json --from {} sda {more}", file.display()), 0).0;
    assert_eq!(replayed(""), live);
    // An aggregated interval has the sum.
    assert_eq!(numbers(&replayed("60"), "missed_samples"), [4.0]);
}

#[test]
fn a_realtime_replay_waits_only_within_segments() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("segments.txt");
    // After two seconds the clock goes back; the recording continues after a reboot, at a much later time of the clock.
    let foreign = |times: &[u64]| -> String {
        times.iter().map(|second| format!("TS {second}\n8 0 sda {second} 0 0 0 0 0 0 0 0 0 0\n")).collect()
    };
    let own = |boot: &str, times: &[u64]| {
        let header = format!("#blkstat {{\"version\":\"0.1.0\",\"boot\":\"{boot}\"}}\n");
        let end = |second| format!("#blkstat {{\"monotonic_ns\":{second}000000000,\"complete\":true}}\n");
        header + &times.iter().map(|second| foreign(&[*second]) + &end(*second)).collect::<String>()
    };
    for text in
        [foreign(&[90_000, 90_002, 10, 11, 14]), own("a", &[7, 9]) + &own("b", &[90_000, 90_001, 90_004])]
    {
        fs::write(&path, text).unwrap();
        let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |_| WaitOutcome::Due);
        let (out, _, _) = in_process(&format!("--json --realtime --from {}", path.display())).run(&clock);
        assert_eq!(out.lines().count(), 3);
        assert_eq!(clock.monotonic(), Duration::from_secs(2 + 4));
    }
}
