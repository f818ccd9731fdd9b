//! Counters have 64 bits on every architecture.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::program::{lines, output};

/// More than 32 bits hold; the kernel counts only milliseconds in as few.
const MANY: u64 = 3 << 32;

/// A capture of a second in which every counter of requests and sectors grows by [`MANY`].
fn capture() -> String {
    let sample = |at: u64, n: u64| {
        format!("TS {at}.0 x\n8 0 sda {n} {n} {n} 0 {n} {n} {n} 0 0 0 0 {n} {n} {n} 0 {n} 0\n")
    };
    sample(1_795_197_600, MANY) + &sample(1_795_197_601, 2 * MANY)
}

#[test]
fn differences_beyond_32_bits_are_exact() {
    let line = &lines(&capture(), "sda")[0];
    for requests in ["read", "write", "discard"] {
        let number = |name: &str| line[format!("{requests}{name}")].as_f64();
        assert_eq!(number("s_per_s"), Some(MANY as f64), "{line}");
        assert_eq!(number("_merges_per_s"), Some(MANY as f64), "{line}");
        assert_eq!(number("_kib_per_s"), Some(MANY as f64 / 2.0), "{line}");
    }
    assert_eq!(line["flushes_per_s"], MANY as f64);
    let document: Value =
        serde_json::from_str(&output("iostat -x -y -o JSON --from", &[&capture()])).unwrap();
    let disk = &document["sysstat"]["hosts"][0]["statistics"][0]["disk"][0];
    let names = ["r/s", "w/s", "d/s", "rrqm/s", "wrqm/s", "drqm/s"];
    assert_eq!(
        names.map(|name| &disk[name]),
        [&Value::from(MANY as f64); 6]
    );
    let table = output(
        "pt-diskstats --group-by all --columns-regex _s$",
        &[&capture()],
    );
    let rate = (MANY as f64).to_string();
    assert_eq!(
        table
            .lines()
            .last()
            .unwrap()
            .matches(&format!(" {rate}.0"))
            .count(),
        2,
        "{table}"
    );
}

#[test]
fn no_counter_is_converted_to_a_machine_word() {
    // `usize` is for indexes only.
    for place in [
        "counters",
        "metrics",
        "units.rs",
        "iostat",
        "pt_diskstats",
        "capture/diskstats_line.rs",
    ] {
        for file in files(&Path::new("src").join(place)) {
            let source = fs::read_to_string(&file).unwrap();
            let code = source.split("#[cfg(test)]").next().unwrap();
            for conversion in ["as usize", "as isize", "usize::try_from", "parse::<usize>"] {
                assert!(
                    !code.contains(conversion),
                    "{}: {conversion}",
                    file.display()
                );
            }
        }
    }
}

fn files(place: &Path) -> Vec<PathBuf> {
    if place.is_file() {
        return vec![place.to_owned()];
    }
    fs::read_dir(place)
        .unwrap()
        .flat_map(|entry| files(&entry.unwrap().path()))
        .collect()
}
