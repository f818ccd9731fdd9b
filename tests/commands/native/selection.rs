//! Which devices are shown, and in which order.

use crate::support::program::output;
use crate::support::text::json_lines;
use crate::synthetic::{end_of_sample, reads_line};

/// A capture of sda from the first sample on, and of sdb from the fourth.
fn late_sdb() -> String {
    let line = |second: u64, name: &str| format!("8 0 {name} {second} 0 8 1 0 0 0 0 0 1 1\n");
    let sample = |second: u64| {
        let sdb = if second < 3 {
            String::new()
        } else {
            line(second, "sdb")
        };
        format!(
            "TS {}\n{}{sdb}",
            1_795_200_000 + second,
            line(second, "sda")
        )
    };
    (0..6).map(sample).collect()
}

#[test]
fn devices_not_found_are_reported_and_the_others_are_shown() {
    for (words, rows, why) in [
        ("--devices-regex ^zzz", 0, "no device matches '^zzz'"),
        (
            "--devices-regex ^zzz 1 2",
            0,
            "no device matches '^zzz' in the first 2 intervals",
        ),
        ("sda --devices-regex ^zzz", 5, "no device matches '^zzz'"),
        ("sda sdbb", 5, "no such device 'sdbb'; did you mean 'sdb'?"),
        (
            "sda what where",
            5,
            "no such devices: 'what', 'where'; run 'blkstat devices --from -' for a list",
        ),
        ("sdb 1 2", 0, "'sdb' not found in the first 2 intervals"),
        ("sdb 1 1", 0, "'sdb' not found in the first interval"),
        (
            "sdb sda x 1 2",
            2,
            "'sdb', 'x' not found in the first 2 intervals",
        ),
    ] {
        let (out, err, code) = output(&format!("--json --from - {words}"), late_sdb());
        assert_eq!(err, format!("blkstat: standard input: {why}\n"), "{words}");
        assert_eq!((out.lines().count(), code), (rows, 1), "{words}");
        let (_, err, code) = output(&format!("analyze --json --from - {words}"), late_sdb());
        assert_eq!(
            (err, code),
            (format!("blkstat: standard input: {why}\n"), 1),
            "analyze {words}"
        );
    }
    for words in ["sda sdb", "--devices-regex b$", "sdb 1 4"] {
        let (_, err, code) = output(&format!("--json --from - {words}"), late_sdb());
        assert_eq!((err.as_str(), code), ("", 0), "{words}");
    }
}

#[test]
fn a_device_that_did_io_once_keeps_its_line() {
    let line =
        |name: &str, reads: u64| format!("7 0 {name} {reads} 0 {reads} {reads} 0 0 0 0 0 0 0\n");
    let sample = |second: u64| {
        let devices = line("loop0", 5)
            + &line("loop1", 5 + u64::from(second >= 2))
            + &line("sda", 9 + second % 2);
        format!("TS {}\n{devices}", 1_795_200_000 + second)
    };
    let capture: String = (0..6).map(sample).collect();
    let names = |words: &str| -> Vec<Vec<String>> {
        let (out, ..) = output(&format!("--from - {words}"), &capture);
        let name = |line: &str| line.split_whitespace().next().map(str::to_owned);
        let is_device = |line: &&str| line.starts_with("loop") || line.starts_with("sd");
        out.split("\n\n")
            .map(|block| block.lines().filter(is_device).filter_map(name).collect())
            .collect()
    };
    assert_eq!(names("")[0], ["sda"]);
    assert_eq!(names("")[1..], vec![["loop1", "sda"]; 4]);
    // Only what is shown counts.
    let begin = jiff::Timestamp::from_second(1_795_200_003).unwrap();
    assert_eq!(names(&format!("--begin {begin}"))[..], vec![["sda"]; 2]);
}

#[test]
fn devices_are_sorted_by_any_column() {
    let line = |name: &str, reads: u64, sectors: u64, flushes: u64| {
        format!(
            "8 0 {name} {reads} 0 {sectors} {reads} 0 0 0 0 0 1 1 0 0 0 0 {flushes} {flushes}\n"
        )
    };
    let sample = |second: u64, n: u64| {
        let devices = line("sda", 10 * n, 80 * n, n) + &line("sdb", n, 80 * n, 0);
        format!("TS {second}\n{devices}")
    };
    let capture = sample(1_795_200_000, 0) + &sample(1_795_200_001, 10);
    let first = |key: &str| output(&format!("--csv --from - --top 1 --sort {key}"), &capture).0;
    for (key, name) in [
        ("r/s", "sda"),
        ("r_sz", "sdb"),
        ("R_SZ", "sdb"),
        ("f/s", "sda"),
        ("r_await", "sda"),
    ] {
        assert!(
            first(key)
                .lines()
                .nth(1)
                .unwrap()
                .contains(&format!(",{name},")),
            "{key}"
        );
    }
    let header = output("--from -", &capture).0;
    for title in header
        .lines()
        .find_map(|line| line.strip_prefix("device"))
        .unwrap()
        .split_whitespace()
    {
        assert_eq!(
            output(&format!("--from - --sort {title}"), &capture).2,
            0,
            "{title}"
        );
    }
}

/// 1,000 reads per second that wait for 16 ms at loop0 and take 0.2 ms at vda below. Topology is recorded.
fn held_above_vda() -> String {
    let line = |name: &str, second: u64, ms: u64, in_flight: u64| {
        let time = 1000 * second * ms / 10;
        reads_line(
            &format!("8 0 {name}"),
            1000 * second,
            time,
            in_flight,
            time.min(1000 * second),
        )
    };
    let header = "#blkstat {\"version\":\"0.2.0\",\"devices\":[{\"name\":\"loop0\",\"kind\":\"loop\",\
        \"backing_devices\":[\"vda1\"]},{\"name\":\"vda1\",\"kind\":\"partition\",\"backing_devices\":[\"vda\"]},\
        {\"name\":\"vda\",\"kind\":\"disk\"}]}\n";
    let sample = |second: u64| {
        let devices = ["vda", "vda1"]
            .map(|name| line(name, second, 2, 0))
            .concat()
            + &line("loop0", second, 160, 16);
        format!(
            "TS {}\n{devices}{}",
            1_795_200_000 + second,
            end_of_sample(second)
        )
    };
    header.to_owned() + &(0..6).map(sample).collect::<String>()
}

#[test]
fn a_selected_device_is_judged_with_those_above_and_below_it() {
    let rows = |words: &str| -> Vec<serde_json::Value> {
        let out = output(&format!("--json --from - {words}"), held_above_vda()).0;
        json_lines(&out)
    };
    let all = rows("--partitions");
    for name in ["loop0", "vda", "vda1"] {
        let alone = rows(name);
        let among_all: Vec<_> = all.iter().filter(|row| row["device"] == name).collect();
        assert_eq!(alone.len(), 5, "{name}");
        for (alone, among_all) in alone.iter().zip(among_all) {
            assert_eq!(alone, among_all, "{name}");
        }
    }
    let last = rows("loop0").pop().unwrap();
    assert_eq!(last["verdict"], "saturated");
    assert!(
        last["evidence"]
            .to_string()
            .contains("requests are held between them"),
        "{last}"
    );
}

#[test]
fn excluded_devices_are_left_out_of_every_line_and_of_the_total() {
    for (words, rows) in [
        ("", &["sda,1.0", "total,1.0"][..]),
        ("--exclude ^sdb", &["sda,1.0", "total,1.0"]),
        // A device that is named is shown.
        ("sda --exclude ^sd", &["sda,1.0", "total,1.0"]),
        (
            "--devices-regex ^sd --exclude b$",
            &["sda,1.0", "total,1.0"],
        ),
    ] {
        let fields = "--csv --fields device,reads_per_s";
        let (out, err, code) = output(
            &format!("{fields} --from - --total 1 1 {words}"),
            late_sdb(),
        );
        assert_eq!((err.as_str(), code), ("", 0), "{words}");
        let printed: Vec<&str> = out.lines().skip(1).collect();
        assert_eq!(printed, rows, "{words}");
    }
    for (words, why) in [
        ("--exclude ^sd", "leaves no device"),
        (
            "--exclude ^sd 1 1",
            "leaves no device in the first interval",
        ),
    ] {
        let (_, err, code) = output(&format!("--from - {words}"), late_sdb());
        let message = format!("blkstat: standard input: --exclude '^sd' {why}\n");
        assert_eq!((err, code), (message, 1), "{words}");
    }
    let (_, err, code) = output("--exclude [ --from -", late_sdb());
    assert!(
        code == 2 && err.contains("--exclude '[' is not a regular expression"),
        "{err}"
    );
}
