//! Files with the lines of several hosts are refused with the names.

use std::io::Write;
use std::process::Stdio;

use serde_json::Value;

use crate::support::program::{blkstat, output};

const FIRST_S: u64 = 1_700_000_000;

/// The counters of a disk that reads so many times a second.
fn disk(second: u64, reads: u64) -> String {
    let reads = 10_000 + reads * second;
    format!(
        "   8       0 sda {reads} 0 {} {reads} 0 0 0 0 0 700 1400",
        8 * reads
    )
}

/// The copies of two hosts, which take turns.
fn interleaved(write: &dyn Fn(&str, u64, &str) -> String) -> String {
    let mut text = String::new();
    for second in 0..8 {
        text += &write("h1", FIRST_S + second, &disk(second, 100));
        text += &write("h2", FIRST_S + second, &disk(second, 300));
    }
    text
}

fn rates(lines: &str) -> Vec<f64> {
    lines
        .lines()
        .map(|line| {
            let line: Value = serde_json::from_str(line).unwrap();
            let rate = line["reads_per_s"].as_f64();
            rate.unwrap_or_else(|| panic!("{line}"))
        })
        .collect()
}

/// Checks that a file is refused, and that a pipe is.
fn check(text: &str) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("capture").display().to_string();
    std::fs::write(&path, text).unwrap();
    for source in [&path[..], "-"] {
        let (out, err, code) = output(&format!("--json --from {source}"), text);
        assert_eq!((out.as_str(), code), ("", 2), "{source} {err}{text}");
        assert!(
            err.ends_with("has lines of several hosts: h1, h2; give each host a file of its own\n"),
            "{err}{text}"
        );
    }
}

#[test]
fn before_lines_behind_times_and_before_blocks() {
    let before_lines = |before: &'static str| {
        interleaved(&|host, time, line| {
            let before = before.replace("HOST", host);
            format!("{before}{time}\n{before}{line}\n")
        })
    };
    let before_blocks = |before: &'static str| {
        interleaved(&|host, time, line| format!("{}{time}\n{line}\n", before.replace("HOST", host)))
    };
    for text in [
        before_lines("HOST: "),
        before_lines("HOST | "),
        before_lines("HOST  | "),
        before_lines("[HOST] "),
        before_lines("HOST\t"),
        before_lines("HOST "),
        before_lines("Nov 14 22:13:20 HOST disks[7]: "),
        before_lines("2023-11-14T22:13:20Z HOST disks: "),
        before_lines("2023-11-14T22:13:20.000000+00:00 HOST "),
        before_blocks("HOST | CHANGED | rc=0 >>\n"),
        before_blocks("==> HOST <==\n"),
        before_blocks("[1] 22:13:20 [SUCCESS] HOST\n"),
        before_blocks("----------------\nHOST\n----------------\n"),
        before_blocks("HOST:\n"),
    ] {
        check(&text);
    }
    check(
        &interleaved(&|host, time, line| {
            format!("[pod/{host}/disks] {time}\n[pod/{host}/disks] {line}\n")
        })
        .replace("pod/", "")
        .replace("/disks", ""),
    );
    check(&interleaved(&|host, time, line| {
        format!("{host} {time} {line}\n")
    }));
    // The lines of one host are read, whatever stands before them.
    let mut one = String::new();
    for line in before_lines("HOST: ").lines() {
        if line.starts_with("h1") {
            one += &format!("{line}\n");
        }
    }
    assert_eq!(rates(&output("--json --from -", one).0), [100.0; 7]);
}

/// A capture of a host, with `TS` lines.
fn capture(reads: u64, after: &dyn Fn(u64) -> String) -> String {
    let sample = |second| {
        let time = FIRST_S + second;
        format!("TS {time}\n{}\n{}", disk(second, reads), after(second))
    };
    (0..8).map(sample).collect()
}

#[test]
fn in_captures_with_timestamps() {
    let plain = |reads| capture(reads, &|_| String::new());
    check(&format!(
        "==> h1 <==\n{}\n==> h2 <==\n{}",
        plain(100),
        plain(300)
    ));
    // pt-diskstats takes them for one.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("capture").display().to_string();
    let text = format!("==> h1 <==\n{}\n==> h2 <==\n{}", plain(100), plain(300));
    std::fs::write(&path, text).unwrap();
    let (_, err, code) = output(&format!("pt-diskstats {path}"), "");
    assert!(!err.contains("several hosts") && code == 0, "{err}");
    let of_host = |host: &str, reads| -> String {
        plain(reads)
            .lines()
            .map(|line| format!("{host}: {line}\n"))
            .collect()
    };
    check(&(of_host("h1", 100) + &of_host("h2", 300)));
}

#[test]
fn the_name_of_a_device_before_its_line_is_no_host() {
    let line = |second| disk(second, 100);
    let text: String = (0..8)
        .map(|second| {
            let (time, sda) = (FIRST_S + second, line(second));
            let sdb = sda.replace("sda", "sdb");
            format!("{time}\nsda: {sda}\nsdb: {sdb}\n")
        })
        .collect();
    let (out, err, _) = output("--json --from -", text);
    assert_eq!(rates(&out), [100.0; 14], "{err}");
}

#[test]
fn in_a_log_behind_its_date() {
    let columns = "Device r/s w/s rkB/s wkB/s r_await w_await aqu-sz %util";
    let run = |host: &str, minute: u32, reads: u32| {
        let mut text = format!(
            "2024-01-15 10:{minute:02}:00\nLinux 5.10.0 ({host}) \t01/15/2024 \t_x86_64_\t(4 CPU)\n\n"
        );
        for _ in 0..2 {
            text += &format!("{columns}\nsda {reads}.00 3.00 40.00 12.00 1.00 1.00 0.05 3.00\n\n");
        }
        text
    };
    let text: String = (0..7)
        .map(|minute| run("h1", minute, 100) + &run("h2", minute, 300))
        .collect();
    check(&text);
    let json = |host: &str, reads: u32| {
        let disk = format!(
            "{{\"disk_device\": \"sda\", \"r/s\": {reads}.00, \"w/s\": 1.00, \"r_await\": 1.00, \"aqu-sz\": 0.10, \"util\": 3.00}}"
        );
        let report = |second: u32| {
            format!(
                "\t\t\t\t{{\n\t\t\t\t\t\"timestamp\": \"01/15/2024 10:00:0{second}\",\n\t\t\t\t\t\"disk\": [\n\t\t\t\t\t\t{disk}\n\t\t\t\t\t]\n\t\t\t\t}}"
            )
        };
        let reports: Vec<String> = (0..8).map(report).collect();
        format!(
            "{{\"sysstat\": {{\n\t\"hosts\": [\n\t\t{{\n\t\t\t\"nodename\": \"{host}\",\n\t\t\t\"sysname\": \"Linux\",\n\t\t\t\"release\": \"6.8.0\",\n\t\t\t\"machine\": \"x86_64\",\n\t\t\t\"number-of-cpus\": 2,\n\t\t\t\"date\": \"01/15/2024\",\n\t\t\t\"statistics\": [\n{}\n\t\t\t]\n\t\t}}\n\t]\n}}}}\n",
            reports.join(",\n")
        )
    };
    check(&(json("h1", 100) + &json("h2", 300)));
}

#[test]
fn a_second_host_that_comes_late_in_a_pipe_ends_it_with_one_line() {
    let program = blkstat("--json --from -").stdin(Stdio::piped());
    let mut program = program.spawn(Stdio::piped(), Stdio::piped());
    let mut input = program.stdin.take().unwrap();
    for second in 0..3 {
        let (time, line) = (FIRST_S + second, disk(second, 100));
        write!(input, "h1: {time}\nh1: {line}\n").unwrap();
    }
    input.flush().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    for second in 3..6 {
        let (time, line) = (FIRST_S + second, disk(second, 300));
        // The program has ended when it has seen enough.
        let _ = write!(input, "h2: {time}\nh2: {line}\n");
    }
    drop(input);
    let output = program.wait_with_output().unwrap();
    let (out, err) = (
        String::from_utf8(output.stdout).unwrap(),
        String::from_utf8(output.stderr).unwrap(),
    );
    assert_eq!(rates(&out), [100.0; 2], "{err}");
    let last = err.lines().last().unwrap();
    assert!(
        last.ends_with("has lines of several hosts: h1, h2; give each host a file of its own"),
        "{err}"
    );
    assert_eq!(output.status.code(), Some(2));
}
