//! Captures for the tests, and the JSON that is printed for them.

use crate::support::program::output;
use crate::support::text::json_lines;

/// The JSON lines that a run without messages prints.
pub(crate) fn json(words: &str, input: &str) -> Vec<serde_json::Value> {
    let (out, err, code) = output(&format!("--json --from - {words}"), input);
    assert_eq!((err.as_str(), code), ("", 0), "{words}");
    json_lines(&out)
}

/// A capture with samples one second apart, from lines without device numbers.
pub(crate) fn capture(samples: &[&[&str]]) -> String {
    let sample = |(second, lines): (usize, &&[&str])| {
        let lines: String = lines.iter().map(|line| format!("8 0 {line}\n")).collect();
        format!("TS {}\n{lines}", 1_795_200_000 + second)
    };
    samples.iter().enumerate().map(sample).collect()
}

/// The lines of a device with these counts of reads, one per sample; empty where it is absent.
pub(crate) fn lines_of(name: &str, counts: &[Option<u64>]) -> Vec<String> {
    let line = |reads: u64| {
        format!(
            "{name} {reads} 0 {} {reads} 0 0 0 0 0 {reads} {reads}",
            8 * reads
        )
    };
    counts
        .iter()
        .map(|count| count.map_or_else(String::new, line))
        .collect()
}

/// A capture of several devices, given as their lines of each sample.
pub(crate) fn capture_of(devices: &[Vec<String>]) -> String {
    let samples: Vec<Vec<&str>> = (0..devices[0].len())
        .map(|at| {
            devices
                .iter()
                .map(|lines| lines[at].as_str())
                .filter(|line| !line.is_empty())
                .collect()
        })
        .collect();
    capture(&samples.iter().map(Vec::as_slice).collect::<Vec<_>>())
}
