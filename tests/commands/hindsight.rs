//! A file is judged with hindsight in every view, which all tell the same of it, and as it comes with `--as-live`.
//! `BLKSTAT_CAPTURES` names folders of further files, separated by colons.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::support::program::blkstat;
#[cfg(feature = "top")]
use crate::support::session::Session;
use crate::support::text::{json_lines, one_line};

/// What a row and an incident say of the trouble.
const STORY: [&str; 5] = ["victim", "begin", "begin_known", "cause", "owner"];

/// The words, the most severe last.
const WORDS: [&str; 10] = [
    "idle",
    "ok",
    "accounting_off",
    "busy",
    "queueing",
    "slow",
    "saturated",
    "capped",
    "throttled",
    "stalled",
];

/// The most incidents of a page.
const MAX_PAGE_INCIDENTS: usize = 300;

/// The most characters of a name in the table of an analysis.
const MAX_NAME: usize = 28;

/// Seconds by device and verdict.
type VerdictSeconds = BTreeMap<(String, String), f64>;

fn captures() -> Vec<PathBuf> {
    let mut folders = vec![
        concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/captures").to_owned(),
        concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/recordings-0.1.0").to_owned(),
    ];
    let further = std::env::var("BLKSTAT_CAPTURES").unwrap_or_default();
    folders.extend(further.split(':').map(str::to_owned));
    let mut files = Vec::new();
    for folder in folders.iter().filter(|folder| !folder.is_empty()) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_string_lossy().into_owned();
            let is_capture = [".txt", ".gz", ".zst"]
                .iter()
                .any(|ending| name.ends_with(ending));
            if is_capture {
                files.push(path);
            }
        }
    }
    assert!(files.len() > 10);
    files
}

fn list<'a>(document: &'a Value, name: &str) -> &'a [Value] {
    document[name].as_array().unwrap()
}

fn text<'a>(object: &'a Value, name: &str) -> &'a str {
    object[name].as_str().unwrap_or_default()
}

fn severity(word: &str) -> Option<usize> {
    WORDS.iter().position(|one| *one == word)
}

#[test]
fn all_views_of_a_file_tell_the_same_of_it() {
    let mut incidents_seen = 0;
    for path in captures() {
        let file = path.display().to_string();
        let rows = blkstat(&format!("--json --all --from {file}")).run();
        let analysis = blkstat(&format!("analyze --json --from {file}")).run();
        assert_eq!(
            rows.code, analysis.code,
            "{file}: {}{}",
            rows.err, analysis.err
        );
        if analysis.out.is_empty() {
            continue;
        }
        let analysis: Value = serde_json::from_str(&analysis.out).unwrap();
        let rows = json_lines(&rows.out);
        incidents_seen += list(&analysis, "incidents").len();
        check_rows(&file, &rows, &analysis);
        let metrics = blkstat(&format!("export --from {file} 1")).run().out;
        check_metrics(&file, &metrics, &rows, &analysis);
        check_words(&file, &analysis);
        let text = blkstat(&format!("analyze --details --from {file}")).run();
        check_text(&file, &text.out, &analysis);
        let page = blkstat(&format!("report --from {file} -o -")).run();
        check_page(&file, &page.out, &rows, &analysis);
    }
    assert!(incidents_seen > 5, "{incidents_seen}");
}

/// Checks that the rows tell the incidents of the analysis, and that the device that suffers has the word of its incident.
fn check_rows(file: &str, rows: &[Value], analysis: &Value) {
    // The last row of each incident: those before may have known less.
    let mut told = BTreeMap::new();
    let mut words: BTreeMap<String, BTreeSet<&str>> = BTreeMap::new();
    for row in rows.iter().filter(|row| row["incident"].is_number()) {
        let id = row["incident"].to_string();
        let story = STORY.map(|name| row[format!("incident_{name}")].clone());
        told.insert(id.clone(), story);
        if row["device"] == row["incident_victim"] {
            words.entry(id).or_default().insert(text(row, "verdict"));
        }
    }
    let mut expected = BTreeMap::new();
    for incident in list(analysis, "incidents") {
        let id = incident["incident"].to_string();
        expected.insert(id.clone(), STORY.map(|name| incident[name].clone()));
        let has_word = words
            .get(&id)
            .is_some_and(|words| words.contains(text(incident, "verdict")));
        assert!(has_word, "{file}: {incident} {words:?}");
    }
    // A few seconds are told while they last, and later only if somebody's load rose, somebody waits, or a cause is stated.
    told.retain(|id, [_, _, _, cause, _]| expected.contains_key(id) || !is_of_load(cause));
    assert_eq!(told, expected, "{file}");
}

fn is_of_load(cause: &Value) -> bool {
    ["unknown", "load", "less"].iter().any(|word| cause == word)
}

/// Checks that metrics count the seconds of the rows with each verdict, and tell the incidents of the analysis.
fn check_metrics(file: &str, metrics: &str, rows: &[Value], analysis: &Value) {
    let mut counted = VerdictSeconds::new();
    let mut latest = VerdictSeconds::new();
    let mut told = BTreeMap::new();
    for line in metrics
        .lines()
        .filter(|line| line.starts_with("blkstat_disk_"))
    {
        let (name, rest) = line.split_once('{').unwrap();
        let (labels, values) = rest.rsplit_once("} ").unwrap();
        let (value, _) = values.split_once(' ').unwrap();
        let label = |name: &str| {
            let labels = format!(",{labels}");
            let (_, value) = labels.split_once(&format!(",{name}=")).unwrap();
            // Labels are escaped as JSON is.
            let mut values = serde_json::Deserializer::from_str(value).into_iter::<String>();
            values.next().unwrap().unwrap()
        };
        let value: f64 = value.parse().unwrap();
        match name {
            "blkstat_disk_verdict_seconds_total" => {
                let key = (label("device"), label("verdict"));
                // After a reset of the device, the counter begins again at zero.
                let before = latest.insert(key.clone(), value).unwrap_or(0.0);
                let added = if value < before {
                    value
                } else {
                    value - before
                };
                *counted.entry(key).or_default() += added;
            }
            "blkstat_disk_incident_begin_timestamp_seconds" => {
                let story = ["victim", "begin_known", "cause", "owner"].map(label);
                let mut known = list(analysis, "incidents").iter();
                let id = label("incident");
                let is_known = known.any(|one| one["incident"].as_u64() == id.parse().ok());
                if is_known || !is_of_load(&Value::from(&*story[2])) {
                    told.insert(id, (story, value));
                }
            }
            _ => {}
        }
    }
    // Metrics have no time twice where the clock went back, and count a second that is judged as a whole, of which only the
    // last row has the verdict.
    let is_countable = rows.is_sorted_by_key(|row| text(row, "time"))
        && rows.iter().all(|row| row["elapsed_s"].as_f64() > Some(0.9));
    if is_countable {
        let used: BTreeSet<String> = counted.keys().map(|(device, _)| device.clone()).collect();
        let mut of_rows = verdict_seconds(rows);
        of_rows.retain(|(device, _), _| used.contains(device));
        // Names with control characters are escaped in metrics.
        counted.retain(|(device, verdict), _| verdict != "unknown" && !device.contains("\\u{"));
        assert_same_seconds(&format!("{file}, metrics"), &counted, &of_rows);
    }
    for incident in list(analysis, "incidents") {
        // One that ends between two points is in none.
        let Some((story, begin_s)) = told.remove(&incident["incident"].to_string()) else {
            continue;
        };
        let expected = [
            text(incident, "victim").to_owned(),
            incident["begin_known"].to_string(),
            text(incident, "cause").to_owned(),
            text(incident, "owner").to_owned(),
        ];
        assert_eq!(story, expected, "{file}: {incident}");
        let begin: Timestamp = text(incident, "begin").parse().unwrap();
        let expected_s = begin.as_microsecond() as f64 / 1e6;
        assert!((begin_s - expected_s).abs() < 2e-3, "{file}: {incident}");
    }
    assert!(told.is_empty(), "{file}: {told:?}");
}

/// The seconds of rows with each verdict.
fn verdict_seconds(rows: &[Value]) -> VerdictSeconds {
    let mut seconds = VerdictSeconds::new();
    for row in rows.iter().filter(|row| row["verdict"].is_string()) {
        let key = (
            text(row, "device").to_owned(),
            text(row, "verdict").to_owned(),
        );
        *seconds.entry(key).or_default() += row["verdict_s"].as_f64().unwrap();
    }
    seconds
}

fn assert_same_seconds(what: &str, one: &VerdictSeconds, other: &VerdictSeconds) {
    let keys: BTreeSet<_> = one.keys().chain(other.keys()).collect();
    for key in keys {
        let [one_s, other_s] = [one, other].map(|all| all.get(key).copied().unwrap_or(0.0));
        let tolerance_s = 0.01 + 1e-4 * one_s;
        assert!(
            (one_s - other_s).abs() <= tolerance_s,
            "{what}, {key:?}: {one_s} s, {other_s} s"
        );
    }
}

/// Checks that the number and the worst word of a device's incidents are those of its events.
fn check_words(file: &str, analysis: &Value) {
    for device in list(analysis, "devices") {
        let own = list(analysis, "events")
            .iter()
            .filter(|event| event["device"] == device["device"]);
        let ids: BTreeSet<_> = own
            .clone()
            .map(|event| event["incident"].as_u64())
            .collect();
        let worst = own
            .map(|event| text(event, "verdict"))
            .max_by_key(|word| severity(word));
        let told = (&device["incidents"], &device["worst_incident_verdict"]);
        assert_eq!(
            told,
            (&json!(ids.len()), &json!(worst)),
            "{file}: {}",
            device["device"]
        );
    }
    for incident in list(analysis, "incidents") {
        let Some(victim) = list(analysis, "devices")
            .iter()
            .find(|device| device["device"] == incident["victim"])
        else {
            continue;
        };
        let beside = text(victim, "worst_incident_verdict");
        assert!(
            severity(text(incident, "verdict")) <= severity(beside),
            "{file}: {incident}"
        );
    }
}

/// What a view says beside the verdict on a device: `2 incidents` and `worst stalled`. `None` without incidents.
fn beside(device: &Value) -> Option<(String, String)> {
    let worst = device["worst_incident_verdict"].as_str()?;
    Some(match device["incidents"].as_u64() {
        Some(1) => ("1 incident".to_owned(), worst.to_owned()),
        _ => (
            format!("{} incidents", device["incidents"]),
            format!("worst {worst}"),
        ),
    })
}

/// Checks that the table and the sentence of each device have its incidents beside its verdict, and that each incident is told.
fn check_text(file: &str, out: &str, analysis: &Value) {
    let joined = one_line(out);
    for device in list(analysis, "devices") {
        let Some((count, worst)) = beside(device) else {
            continue;
        };
        let sentence = one_line(&format!(
            "{}. {count}: {worst}, ",
            text(device, "explanation")
        ));
        assert!(joined.contains(&sentence), "{file}: {sentence}: {out}");
        let (verdict, number) = (text(device, "verdict"), &device["incidents"]);
        let cells = format!(" {verdict} {number}, {worst} ");
        let name: String = text(device, "device").chars().take(MAX_NAME).collect();
        let has_row =
            |line: &str| line.starts_with(&name) && format!("{} ", one_line(line)).contains(&cells);
        assert!(out.lines().any(has_row), "{file}: {cells}: {out}");
    }
    for incident in list(analysis, "incidents") {
        let reason = one_line(text(incident, "text"));
        assert!(joined.contains(&reason), "{file}: {incident}: {out}");
    }
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// The victim, verdict and reason of each incident on a page, the worst first.
fn page_incidents(page: &str) -> Vec<[String; 3]> {
    let mut told = Vec::new();
    for row in page.split("<tr data-from=").skip(1) {
        let between = |begin: &str, end: &str| {
            let (_, rest) = row.split_once(begin).unwrap();
            rest.split_once(end).unwrap().0.to_owned()
        };
        told.push([
            between("<bdi>", "</bdi>"),
            between("<span class=\"tag ", "\">"),
            between("data-l=\"why\">", "</tr>"),
        ]);
    }
    told
}

/// What a page says of each incident of an analysis, in the order of the analysis.
fn expected_on_page(analysis: &Value) -> Vec<[String; 3]> {
    let mut expected = Vec::new();
    for incident in list(analysis, "incidents") {
        let label = list(analysis, "events")
            .iter()
            .find(|event| event["device"] == incident["victim"])
            .map_or(text(incident, "victim"), |event| text(event, "label"));
        expected.push([
            escape(label),
            text(incident, "verdict").to_owned(),
            escape(text(incident, "text")),
        ]);
    }
    expected
}

/// Checks that the page has the incidents of the analysis with the same reasons, each device's beside its verdict, and the
/// verdicts of the rows in its data.
fn check_page(file: &str, page: &str, rows: &[Value], analysis: &Value) {
    let (mut told, mut expected) = (page_incidents(page), expected_on_page(analysis));
    told.sort();
    expected.sort();
    if expected.len() <= MAX_PAGE_INCIDENTS {
        assert_eq!(told, expected, "{file}");
    }
    for device in list(analysis, "devices") {
        let Some((count, worst)) = beside(device) else {
            continue;
        };
        let (verdict, word) = (
            text(device, "verdict"),
            text(device, "worst_incident_verdict"),
        );
        let tags = format!(
            "<span class=\"tag {verdict}\">{verdict}</span> <small>{count}:</small> <span class=\"tag {word}\">{worst}</span>"
        );
        assert!(page.contains(&tags), "{file}: {tags}");
        let sentence = format!("{}. {count}: {worst}, ", text(device, "explanation"));
        assert!(page.contains(&escape(&sentence)), "{file}: {sentence}");
    }
    check_bands(file, page, rows);
}

/// Checks that the bands of a page have the verdicts of the rows, unless several rows share a point.
fn check_bands(file: &str, page: &str, rows: &[Value]) {
    let (_, data) = page
        .split_once("<script type=\"application/json\" id=\"data\">")
        .unwrap();
    let data: Value = serde_json::from_str(data.split_once("</script>").unwrap().0).unwrap();
    let numbers = |name: &str| -> Vec<f64> {
        let values = list(&data, name).iter();
        values.map(|value| value.as_f64().unwrap()).collect()
    };
    let (starts, ends) = (numbers("starts"), numbers("ends"));
    let mut of_rows = verdict_seconds(rows);
    let mut of_page = VerdictSeconds::new();
    let mut shown = BTreeSet::new();
    for group in list(&data, "groups") {
        let device = text(group, "name").to_owned();
        let count = rows.iter().filter(|row| row["device"] == *device).count();
        if count != starts.len() {
            continue;
        }
        let mut point = 0;
        for run in text(group, "verdicts").split(',') {
            let (verdict, count) = run.split_once('*').unwrap();
            for _ in 0..count.parse().unwrap() {
                let key = (device.clone(), verdict.to_owned());
                *of_page.entry(key).or_default() += ends[point] - starts[point];
                point += 1;
            }
        }
        shown.insert(device);
    }
    of_rows.retain(|(device, _), _| shown.contains(device));
    // An interval of less than a second is not judged; the page takes a device without requests for idle then.
    of_page.retain(|(_, verdict), seconds| {
        !["unknown", ""].contains(&verdict.as_str()) && (verdict != "idle" || *seconds >= 1.0)
    });
    assert_same_seconds(&format!("{file}, page"), &of_page, &of_rows);
}

#[cfg(feature = "top")]
#[test]
fn the_screen_begins_at_the_worst_incident_of_the_analysis() {
    let mut incidents_seen = 0;
    for path in captures() {
        let file = path.display().to_string();
        let analysis = blkstat(&format!("analyze --json --from {file}")).run();
        let Ok(analysis) = serde_json::from_str::<Value>(&analysis.out) else {
            continue;
        };
        let page = blkstat(&format!("report --from {file} -o -")).run().out;
        let expected = expected_on_page(&analysis);
        let incidents = page_incidents(&page);
        let Some(worst) = incidents.first() else {
            continue;
        };
        // Of two that are told in the same words, the page does not say which of the analysis is the worst.
        if expected.iter().filter(|one| *one == worst).count() > 1 {
            continue;
        }
        let index = expected.iter().position(|one| one == worst).unwrap();
        let screen = Session::start(&format!("--from {file}"), (140, 40), &[]);
        screen.wait_for(&format!("incident {} of {}", index + 1, expected.len()));
        screen.wait_for(&worst[0]);
        incidents_seen += 1;
    }
    assert!(incidents_seen > 3, "{incidents_seen}");
}

#[test]
fn a_pipe_is_judged_as_it_comes_and_so_is_a_file_as_live() {
    let mut is_other_with_hindsight = false;
    for path in captures() {
        let file = path.display();
        let bytes = fs::read(&path).unwrap();
        let pipe = blkstat("--json --all --from -").input(&bytes).run();
        let live = blkstat(&format!("--json --all --as-live --from {file}")).run();
        assert_eq!((live.code, &live.out), (pipe.code, &pipe.out), "{file}");
        let hindsight = blkstat(&format!("--json --all --from {file}")).run();
        is_other_with_hindsight |= hindsight.out != live.out;
    }
    assert!(is_other_with_hindsight);
}
