//! Live reports of iostat on roots of temporary files, with a clock that does not wait.

use std::path::Path;

use blkstat::clock::{Clock, WaitOutcome};
use blkstat::exit::Exit;
use jiff::Timestamp;

use crate::support::clock::ManualClock;
use crate::support::fake_root::FakeRoot;
use crate::support::in_process::in_process;

/// Writes a host with a disk, its partition and an idle loop device.
fn write_host(host: &FakeRoot, uptime: &str, cpu: &str, sda: &str) {
    let zeros = "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0";
    let lines = format!(
        "   7 0 loop0 {zeros}\n   8 0 sda {sda}\n   8 1 sda1 5 0 40 1 {}\n",
        &zeros[8..]
    );
    host.folder("sys/block/sda/sda1").folder("sys/block/loop0");
    host.uptime(uptime).cpu(cpu, 0).diskstats(&lines);
}

const BOOT: (&str, &str, &str) = (
    "100.00",
    "100 0 100 800 0 0 0 0",
    "1000 0 8000 500 0 0 0 0 0 5000 500 0 0 0 0 0 0",
);
const LATER: (&str, &str, &str) = (
    "102.00",
    "150 0 110 940 0 0 0 0",
    "1300 100 12000 1100 0 0 0 0 4 6000 1100 0 0 0 0 10 25",
);

/// Runs iostat. Returns its standard output, its standard error and how it ended.
fn run_iostat(arguments: &str, root: &Path, clock: &dyn Clock) -> (String, String, Exit) {
    in_process(&format!("iostat {arguments}"))
        .root(root)
        .env("S_TIME_FORMAT", "ISO")
        .run(clock)
}

fn two_readings(arguments: &str) -> String {
    let host = FakeRoot::new();
    write_host(&host, BOOT.0, BOOT.1, BOOT.2);
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |_| {
        write_host(&host, LATER.0, LATER.1, LATER.2);
        WaitOutcome::Due
    });
    let (out, err, exit) = run_iostat(arguments, host.path(), &clock);
    assert_eq!((err.as_str(), exit), ("", Exit::Success));
    // The heading describes the machine that the test runs on.
    out.split_once("\n\n").unwrap().1.to_owned()
}

#[test]
fn the_first_report_covers_the_time_since_boot_and_the_next_the_interval() {
    // 1000 reads in 100 s; then 300 in 2 s, 600 ms of them, 4000 sectors, 1000 ms busy.
    let expected = "\
Device             tps      kB/s    rqm/s   await  areq-sz  aqu-sz  %util
sda              10.00     40.00     0.00    0.50     4.00    0.01   5.00


Device             tps      kB/s    rqm/s   await  areq-sz  aqu-sz  %util
sda             150.00   1000.00    50.00    2.00     6.67    0.30  50.00


";
    assert_eq!(two_readings("-dxs 1 2"), expected);
    assert_eq!(
        two_readings("-dxs -y 1 1"),
        expected.split_inclusive("\n\n\n").nth(1).unwrap()
    );
}

#[test]
fn a_fraction_of_a_second_is_measured_by_the_monotonic_clock() {
    // The uptime says 2 s, the clock that a wait ends 0.5 s after the start.
    let text = two_readings("-dxs 0.5 2");
    assert!(
        text.contains(
            "sda             600.00   4000.00   200.00    2.00     6.67    1.20 200.00\n"
        ),
        "{text}"
    );
}

#[test]
fn without_proc_iostat_cannot_count_the_cpus() {
    let host = FakeRoot::new();
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |_| WaitOutcome::Due);
    let (out, err, exit) = run_iostat("-d", host.path(), &clock);
    assert_eq!((out.as_str(), exit), ("", Exit::NoData));
    let stat = host.path().join("proc/stat");
    assert_eq!(
        err,
        format!(
            "Cannot open {}: No such file or directory\n",
            stat.display()
        )
    );
}

#[test]
fn a_list_of_f_that_names_a_device_again_has_its_later_counters() {
    let host = FakeRoot::new();
    write_host(&host, BOOT.0, BOOT.1, BOOT.2);
    let line = |number: &str, name: &str, ios: u64| {
        format!("8 {number} {name} {ios} 0 0 0 0 0 0 0 0 0 0\n")
    };
    let lines = [
        line("0", "sda", 100),
        line("16", "sdb", 200),
        line("0", "sda", 900),
    ];
    host.file("list/diskstats", lines.concat());
    let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |_| WaitOutcome::Due);
    let list = host.path().join("list");
    let (out, err, _) = run_iostat(
        &format!("-ds -p ALL -f {}", list.display()),
        host.path(),
        &clock,
    );
    let rates: Vec<Vec<&str>> = out
        .lines()
        .filter(|line| line.starts_with("sd"))
        .map(|line| line.split_whitespace().take(2).collect())
        .collect();
    assert_eq!(
        (rates, err.as_str()),
        (vec![vec!["sda", "9.00"], vec!["sdb", "2.00"]], "")
    );
}
