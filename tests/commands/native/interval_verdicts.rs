//! The verdict on a long interval: the worst of those on its samples, with its seconds.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::Value;

use crate::support::program::blkstat;
use crate::support::text::json_lines;

fn printed(words: &str) -> String {
    let outcome = blkstat(words).run();
    assert_eq!(outcome.code, 0, "{words}: {}", outcome.err);
    outcome.out
}

fn captures() -> Vec<PathBuf> {
    let folder = fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/captures")).unwrap();
    let paths = folder.map(|entry| entry.unwrap().path());
    paths
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect()
}

/// The rank of a verdict among those on the samples of an interval, as the README describes it.
fn rank(verdict: Option<&str>) -> usize {
    let from_best = [
        None,
        Some("idle"),
        Some("ok"),
        Some("accounting_off"),
        Some("busy"),
        Some("queueing"),
        Some("slow"),
        Some("saturated"),
        Some("capped"),
        Some("throttled"),
        Some("stalled"),
    ];
    from_best
        .into_iter()
        .position(|other| other == verdict)
        .unwrap()
}

/// Microseconds of a time.
fn micros(time: &Value) -> i128 {
    time.as_str()
        .unwrap()
        .parse::<Timestamp>()
        .unwrap()
        .as_microsecond()
        .into()
}

#[test]
fn a_long_interval_has_the_worst_verdict_of_its_samples_and_its_seconds() {
    let mut partial = 0;
    let mut seen = BTreeMap::new();
    for path in captures() {
        let file = path.display();
        let samples = json_lines(&printed(&format!("--json --all --from {file}")));
        for interval in [3, 8, 20] {
            for long in json_lines(&printed(&format!("--json --all --from {file} {interval}"))) {
                let no_numbers = [
                    "reset",
                    "accounting_off",
                    "appeared",
                    "disappeared",
                    "reappeared",
                ];
                let is_event = |flag: &Value| flag.as_str().unwrap().starts_with("appeared");
                let flags = long["flags"].as_array().unwrap();
                if flags
                    .iter()
                    .any(|flag| no_numbers.iter().any(|name| flag == name) || is_event(flag))
                {
                    continue;
                }
                let (end, length) = (micros(&long["time"]), long["elapsed_s"].as_f64().unwrap());
                let begin = end - (length * 1e6).round() as i128;
                let is_within = |sample: &&Value| {
                    sample["device"] == long["device"]
                        && (begin + 10..=end + 10).contains(&micros(&sample["time"]))
                };
                let within: Vec<&Value> = samples.iter().filter(is_within).collect();
                let worst = within
                    .iter()
                    .map(|sample| sample["verdict"].as_str())
                    .max_by_key(|it| rank(*it));
                let worst =
                    worst.unwrap_or_else(|| panic!("{file} {interval}: no samples for {long}"));
                assert_eq!(long["verdict"].as_str(), worst, "{file} {interval}: {long}");
                let has_worst = |sample: &&&Value| sample["verdict"].as_str() == worst;
                let seconds: f64 = within
                    .iter()
                    .filter(has_worst)
                    .map(|sample| sample["elapsed_s"].as_f64().unwrap())
                    .sum();
                match worst {
                    Some(verdict) => {
                        let verdict_s = long["verdict_s"].as_f64().unwrap();
                        assert!(
                            (verdict_s - seconds).abs() < 1e-4,
                            "{file} {interval}: {seconds} {long}"
                        );
                        partial += u64::from(verdict_s < length);
                        *seen.entry(verdict.to_owned()).or_insert(0) += 1;
                    }
                    None => assert!(long["verdict_s"].is_null(), "{long}"),
                }
                let last = within
                    .iter()
                    .rfind(|sample| sample["verdict"].as_str() == worst)
                    .unwrap();
                for field in ["evidence", "baseline_source"] {
                    assert_eq!(long[field], last[field], "{file} {interval}");
                }
            }
        }
    }
    let kinds: Vec<&str> = seen.keys().map(String::as_str).collect();
    assert!(
        partial > 20 && kinds.contains(&"saturated") && kinds.contains(&"stalled"),
        "{partial} {seen:?}"
    );
}

#[test]
fn a_sample_of_its_own_has_its_whole_length() {
    for line in json_lines(&printed("--json --from fixtures/captures/capped-3000.txt")) {
        let expected = if line["verdict"].is_null() {
            &Value::Null
        } else {
            &line["elapsed_s"]
        };
        assert_eq!(&line["verdict_s"], expected, "{line}");
    }
}

#[test]
fn the_table_says_how_long_ago_the_incident_began() {
    let options = "--from fixtures/captures/capped-3000.txt loop0 8";
    let wide = printed(options);
    let narrow = printed(&format!("--width 80 {options}"));
    let cell = |text: &str, end: &str| {
        text.lines()
            .any(|line| line.starts_with("loop0") && line.ends_with(end))
    };
    let json = json_lines(&printed(&format!("--json {options}")));
    let in_incident: Vec<&Value> = json
        .iter()
        .filter(|line| !line["incident"].is_null())
        .collect();
    assert!(in_incident.len() > 3);
    for line in in_incident {
        let story = [
            "incident",
            "incident_victim",
            "incident_begin",
            "incident_begin_known",
        ];
        let first = json
            .iter()
            .find(|line| !line["incident"].is_null())
            .unwrap();
        assert_eq!(
            story.map(|field| &line[field]),
            story.map(|field| &first[field])
        );
        let seconds = (micros(&line["time"]) - micros(&line["incident_begin"])) as f64 / 1e6;
        let expected = format!(" {} {seconds:.0}s", line["verdict"].as_str().unwrap());
        for text in [&wide, &narrow] {
            assert!(cell(text, &expected), "{expected}: {text}");
        }
    }
    assert!(
        narrow.lines().all(|line| line.chars().count() <= 80),
        "{narrow}"
    );
    // There is no space for the time.
    let narrowest = printed("--width 40 --from fixtures/captures/capped-3000.txt 20");
    assert!(cell(&narrowest, " capped"), "{narrowest}");
    assert!(
        narrowest.lines().all(|line| line.chars().count() <= 40),
        "{narrowest}"
    );
    let last_titles = narrowest
        .lines()
        .rfind(|line| line.starts_with("device"))
        .unwrap();
    let titles: Vec<&str> = last_titles.split_whitespace().collect();
    assert_eq!(titles, ["device", "r_await", "queue", "util", "verdict"]);
    // The evidence names the time of its sample.
    let explained = printed(&format!("--explain {options}"));
    assert!(
        explained
            .lines()
            .any(|line| line.starts_with("└ 18:2") && line.contains("latency")),
        "{explained}"
    );
}
