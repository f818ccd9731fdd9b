//! The summary after the last interval.

use super::captures::capture;
use crate::support::program::output;
use crate::synthetic::reads_line;

#[test]
fn a_summary_lists_the_worst_device_first() {
    let names = |words: &str| {
        let (out, _, _) = output(&format!("--summary --from fixtures/captures/{words}"), "");
        let summary = out.split("\nsummary of ").nth(1).unwrap().to_owned();
        let first = |line: &str| {
            line.contains(" max ").then(|| {
                line.strip_prefix(' ')?
                    .split_whitespace()
                    .next()
                    .map(str::to_owned)
            })?
        };
        let rows: Vec<String> = summary.lines().filter_map(first).collect();
        rows.into_iter()
            .filter(|name| !name.contains('/'))
            .collect::<Vec<_>>()
    };
    // By the longest queue.
    assert_eq!(names("hotplug.txt"), ["sda", "sdc", "sdb"]);
    // By the longest stall.
    assert_eq!(names("stalls.txt")[0], "sda");
}

#[test]
fn summary_means_include_idle_time() {
    let after = |reads: u64| {
        let line = |name| reads_line(&format!("8 0 {name}"), reads, reads, 0, reads);
        ["sda", "sda1", "loop0", "zram0"].map(line).concat()
    };
    // Idle for three seconds, busy for one, idle again, absent for two, and back.
    let mut text = String::new();
    for second in 0..=12u64 {
        let lines = match second {
            0..=3 => after(0),
            8 | 9 => "8 16 sdb 0 0 0 0 0 0 0 0 0 0 0\n".to_owned(),
            _ => after(1000),
        };
        text += &format!("TS {}\n{lines}", 1_795_200_000 + second);
    }
    // 1000 reads in nine seconds: seven before the absence and two after it.
    for words in ["", "--all", "--partitions", "sda1 loop0 zram0"] {
        let (out, _, _) = output(&format!("--summary --from - {words}"), &text);
        let summary = out.split("summary of ").nth(1).unwrap();
        let rates: Vec<&str> = summary
            .lines()
            .filter(|line| line.contains(" r/s "))
            .collect();
        let is_expected = |line: &&str| line.split_whitespace().nth(2) == Some("111");
        assert!(
            rates.len() >= 3 && rates.iter().all(is_expected),
            "{words}: {summary}"
        );
        // Only requested devices have a summary.
        assert_eq!(
            summary.contains(" sda "),
            !words.contains("sda1"),
            "{words}: {summary}"
        );
    }
    // The idle time before a device disappeared counts too.
    let idle = |name: &str, reads: u64| format!("{name} {reads} 0 0 0 0 0 0 0 0 0 0");
    let (sda, first, last) = (idle("sda", 0), idle("sdb", 0), idle("sdb", 100));
    let samples: [&[&str]; 6] = [
        &[&sda, &first],
        &[&sda, &first],
        &[&sda],
        &[&sda, &first],
        &[&sda, &first],
        &[&sda, &last],
    ];
    let (out, _, _) = output("--summary --from -", capture(&samples));
    assert!(
        out.lines().any(|line| line
            .split_whitespace()
            .eq(["sdb", "r/s", "33.3", "max", "100", "18:40:05"])),
        "{out}"
    );
}

#[test]
fn unknown_values_do_not_count_in_a_mean() {
    // The milliseconds went backwards in one interval: its latency and queue are unknown.
    let text: String = (0..6u64)
        .map(|at| {
            let ms = if at < 3 {
                4_000_000_000 + 1000 * at
            } else {
                1000 * at
            };
            format!(
                "TS {}\n{}",
                1_795_200_000 + at,
                reads_line("8 0 sda", 100 * at, ms, 0, ms)
            )
        })
        .collect();
    let (out, _, _) = output("--summary --from -", &text);
    let summary = out.split("summary of ").nth(1).unwrap();
    let row = |name: &str| {
        summary
            .lines()
            .find(|line| line.contains(name))
            .unwrap()
            .to_owned()
    };
    assert!(
        row("r_await").contains("10.0ms  worst  10.0ms")
            && row("queue").contains("1.00  worst    1.00"),
        "{summary}"
    );
}
