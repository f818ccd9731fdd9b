//! Captures of /proc/diskstats as people reported them.

use super::reported_logs::{of, read};
use crate::support::program::output;
use crate::support::text::one_line;

/// A capture of a device in 14 columns, a sample a second.
fn capture(seconds: u64, lines: impl Fn(u64) -> String) -> String {
    let sample = |second| format!("TS {}\n{}", 1_700_000_000 + second, lines(second));
    (0..seconds).map(sample).collect()
}

#[test]
fn a_time_that_is_the_same_in_all_samples_is_none() {
    let samples: String = (0..6)
        .map(|second| {
            let reads = 40 * second;
            format!(
                "==> /proc/diskstats <==\n   8       0 sda {reads} 0 {} {reads} 0 0 0 0 0 9 9\n\n\
                 ==> /proc/stat <==\ncpu  1891376 33427221 7552408 80057582\nctxt 50{second}0\nbtime 1665000000\n\n",
                16 * reads
            )
        })
        .collect();
    let (lines, err) = read("", &samples);
    assert!(
        lines.is_empty() && err.contains("without times; state their distance: --every 1s"),
        "{err}"
    );
    let (lines, _) = read("--every 1s", &samples);
    assert_eq!(lines.len(), 5);
    assert!(lines.iter().all(|line| line["reads_per_s"] == 40.0));
    // The date before each copy is its time, whatever stands still beside it.
    let dated: String = samples
        .split("==> /proc/diskstats <==\n")
        .skip(1)
        .enumerate()
        .map(|(second, sample)| format!("Thu Oct 13 22:26:4{second} UTC 2022\n{sample}"))
        .collect();
    let (lines, err) = read("", dated);
    assert_eq!(lines.len(), 5, "{err}");
    assert!(lines.iter().all(|line| line["reads_per_s"] == 40.0));
}

#[test]
fn a_partition_has_nothing_in_flight_that_its_disk_lacks() {
    let text = capture(30, |second| {
        let (reads, in_flight) = (20 * second, second % 3 % 2);
        format!(
            "8 0 sda {reads} 0 {} {} 0 0 0 0 {in_flight} {} {}\n8 1 sda1 500 0 4000 300 600 0 8000 900 1 {} {}\n",
            8 * reads,
            3 * reads,
            55 * second,
            60 * second,
            5000 + 1000 * second,
            6000 + 1000 * second
        )
    });
    let (lines, err) = read("--all", &text);
    assert_eq!(of(&lines, "sda1", "verdict").len(), 29, "{err}");
    assert!(
        of(&lines, "sda1", "verdict")
            .iter()
            .all(|verdict| **verdict == "idle")
    );
    assert!(
        of(&lines, "sda1", "in_flight")
            .iter()
            .all(|count| count.is_null())
    );
    // A disk that is busy all the time may hold it.
    let busy = capture(30, |second| {
        format!(
            "8 0 sda {} 0 0 0 0 0 0 0 1 {} {}\n8 1 sda1 500 0 4000 300 600 0 8000 900 1 {} {}\n",
            20 * second,
            1000 * second,
            1000 * second,
            1000 * second,
            1000 * second
        )
    });
    let (lines, _) = read("--all", &busy);
    assert_eq!(of(&lines, "sda1", "verdict")[20], "stalled");
}

#[test]
fn milliseconds_that_fall_without_a_wrap_are_those_of_another_device() {
    let old = "90 0 900 10 1 0 2048 300 0 200 310 0 0 0 0 0 0";
    let new = "91 0 900 10 1 0 2048 4 0 9 14 0 0 0 0 0 0";
    let text = capture(6, |second| {
        let counters = if second < 3 { old } else { new };
        format!("253 3 dm-3 {counters}\n8 0 sda {second} 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n")
    });
    let (lines, err) = read("--all", &text);
    let flags = of(&lines, "dm-3", "flags");
    assert_eq!(flags[2], &serde_json::json!(["reset"]), "{err}");
    assert!(of(&lines, "dm-3", "reads_per_s")[2].is_null());
    // A single value that is wrong is no other device, nor are times that wrapped.
    for counters in [
        "91 0 900 10 1 0 2048 4 0 200 310 0 0 0 0 0 0",
        "91 0 900 10 1 0 2048 300 0 200 310 0 0 0 0 0 0",
    ] {
        let wrapped = text.replace(new, counters);
        let (lines, _) = read("--all", &wrapped);
        assert_eq!(of(&lines, "dm-3", "reads_per_s")[2], 1.0, "{counters}");
    }
}

#[test]
fn a_multipath_disk_is_not_idle_while_its_path_works() {
    let text = capture(10, |second| {
        let reads = 2000 * second;
        format!(
            "0 0 nvme0c0n1 {reads} 0 {} {} 0 0 0 0 0 {} {}\n259 1 nvme0n1 0 0 0 0 0 0 0 0 0 0 0\n",
            8 * reads,
            reads / 10,
            230 * second,
            reads / 10
        )
    });
    let (lines, err) = read("--all", &text);
    let verdicts = of(&lines, "nvme0n1", "verdict");
    assert_eq!(verdicts.len(), 9, "{err}");
    assert!(
        verdicts.iter().all(|verdict| **verdict == "accounting_off"),
        "{verdicts:?}"
    );
}

#[test]
fn another_kernel_with_fewer_columns_is_no_cut() {
    let line = |name: &str, second: u64, columns: &str| {
        let reads = 100 * second;
        format!(
            "8 0 {name} {reads} 0 {} {reads} 0 0 0 0 0 9 9{columns}\n",
            8 * reads
        )
    };
    let sample = |at: u64, second: u64, columns: &str| {
        format!(
            "TS {at}\n{}{}",
            line("sda", second, columns),
            line("dm-0", second, columns)
        )
    };
    let newer: String = (0..12)
        .map(|second| sample(1_502_000_000 + second, second, " 0 0 0 0 0 0"))
        .collect();
    let older: String = (0..12)
        .map(|second| sample(1_536_560_000 + second, 50 + second, ""))
        .collect();
    let (lines, err) = read("", newer.clone() + &older);
    assert_eq!(lines.len(), 44, "{err}");
    assert_eq!(err.lines().count(), 1, "{err}");
    assert!(err.contains("no interval spans this point"), "{err}");
    // One line that has lost its end costs its sample.
    let cut = newer.replacen(
        "dm-0 300 0 2400 300 0 0 0 0 0 9 9 0 0 0 0 0 0",
        "dm-0 300 0 2400 300 0 0 0 0 0 9 9",
        1,
    );
    let (_, err) = read("", cut);
    assert!(err.contains("sample is truncated; skipped"), "{err}");
}

#[test]
fn a_disk_that_is_slower_than_any_is_slow_whatever_its_queue() {
    // Reads of 54 KiB that take half a second, one or two at a time, in intervals of ten seconds.
    let (mut text, mut reads) = (String::new(), 0);
    for interval in 0..40 {
        text += &format!(
            "TS {}\n8 16 sdb {reads} 0 {} {} 0 0 0 0 1 {} {}\n",
            1_700_000_000 + 10 * interval,
            108 * reads,
            490 * reads,
            9900 * interval,
            490 * reads
        );
        reads += 26 + interval % 3 * 8;
    }
    let (lines, err) = read("", text);
    let verdicts = of(&lines, "sdb", "verdict");
    assert_eq!(verdicts.len(), 39, "{err}");
    assert!(
        verdicts.iter().all(|verdict| **verdict == "slow"),
        "{verdicts:?}"
    );
}

#[test]
fn a_volume_whose_credits_are_spent_has_the_limit_that_holds_now_and_the_rate_before() {
    // 3,000 writes a second for a minute, then 500 and 100, or 100 at once, with eight requests at a time.
    for (rates, expected) in [
        (
            [3000, 100, 100],
            "xvdf stays at 100 writes/s (was 3,000), as if limited; writes take 80.0 ms",
        ),
        (
            [3000, 500, 100],
            "xvdf stays at 100 writes/s (was 3,000), as if limited; writes take",
        ),
    ] {
        let text = capture(180, |second| {
            let [first, then, now] = rates;
            let writes = first * second.min(60)
                + then * second.saturating_sub(60).min(60)
                + now * second.saturating_sub(120);
            let (busy_ms, taken_ms) = (1000 * second, 8000 * second);
            format!(
                " 202 80 xvdf 0 0 0 0 {writes} 0 {} {taken_ms} 8 {busy_ms} {taken_ms}\n",
                32 * writes
            )
        });
        let (out, err, code) = output("analyze -", &text);
        assert_eq!((err.as_str(), code), ("", 0));
        let out = one_line(&out);
        assert!(out.contains(expected), "{out}");
    }
}
