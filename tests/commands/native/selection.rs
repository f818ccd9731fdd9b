//! Which devices are shown, and in which order.

use crate::support::program::output;

/// A capture of sda from the first sample on, and of sdb from the fourth.
fn late_sdb() -> String {
    let line = |second: u64, name: &str| format!("8 0 {name} {second} 0 8 1 0 0 0 0 0 1 1\n");
    let sample = |second: u64| {
        let sdb = if second < 3 { String::new() } else { line(second, "sdb") };
        format!("TS {}\n{}{sdb}", 1_795_200_000 + second, line(second, "sda"))
    };
    (0..6).map(sample).collect()
}

#[test]
fn devices_not_found_are_reported_and_the_others_are_shown() {
    for (words, rows, why) in [
        ("--devices-regex ^zzz", 0, "no device matches '^zzz'"),
        ("--devices-regex ^zzz 1 2", 0, "no device matches '^zzz' in the first 2 intervals"),
        ("sda --devices-regex ^zzz", 5, "no device matches '^zzz'"),
        ("sda sdbb", 5, "no such device 'sdbb'; did you mean 'sdb'?"),
        ("sda what where", 5, "no such devices: 'what', 'where'; run 'blkstat devices --from -' for a list"),
        ("sdb 1 2", 0, "'sdb' not found in the first 2 intervals"),
        ("sdb 1 1", 0, "'sdb' not found in the first interval"),
        ("sdb sda x 1 2", 2, "'sdb', 'x' not found in the first 2 intervals"),
    ] {
        let (out, err, code) = output(&format!("--json --from - {words}"), late_sdb());
        assert_eq!(err, format!("blkstat: standard input: {why}\n"), "{words}");
        assert_eq!((out.lines().count(), code), (rows, 1), "{words}");
        let (_, err, code) = output(&format!("analyze --json --from - {words}"), late_sdb());
        assert_eq!((err, code), (format!("blkstat: standard input: {why}\n"), 1), "analyze {words}");
    }
    for words in ["sda sdb", "--devices-regex b$", "sdb 1 4"] {
        let (_, err, code) = output(&format!("--json --from - {words}"), late_sdb());
        assert_eq!((err.as_str(), code), ("", 0), "{words}");
    }
}

#[test]
fn devices_are_sorted_by_any_column() {
    let line = |name: &str, reads: u64, sectors: u64, flushes: u64| {
        format!("8 0 {name} {reads} 0 {sectors} {reads} 0 0 0 0 0 1 1 0 0 0 0 {flushes} {flushes}\n")
    };
    let sample = |second: u64, n: u64| {
        let devices = line("sda", 10 * n, 80 * n, n) + &line("sdb", n, 80 * n, 0);
        format!("TS {second}\n{devices}")
    };
    let capture = sample(1_795_200_000, 0) + &sample(1_795_200_001, 10);
    let first = |key: &str| output(&format!("--csv --from - --top 1 --sort {key}"), &capture).0;
    for (key, name) in [("r/s", "sda"), ("r_sz", "sdb"), ("R_SZ", "sdb"), ("f/s", "sda"), ("r_await", "sda")]
    {
        assert!(first(key).lines().nth(1).unwrap().contains(&format!(",{name},")), "{key}");
    }
    let header = output("--from - --all-columns", &capture).0;
    for title in header.lines().find_map(|line| line.strip_prefix("device")).unwrap().split_whitespace() {
        assert_eq!(output(&format!("--from - --sort {title}"), &capture).2, 0, "{title}");
    }
}
