//! A file is judged with hindsight in every view, and as it comes with `--as-live`. `BLKSTAT_CAPTURES` names folders of further
//! files, separated by colons.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::support::program::blkstat;

/// What a row and an incident say of the trouble.
const STORY: [&str; 4] = ["victim", "begin", "cause", "owner"];

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

fn objects(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn the_rows_of_a_file_tell_the_incidents_of_its_analysis() {
    let mut incidents_seen = 0;
    for path in captures() {
        let file = path.display();
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
        // The last row of each incident: those before may have known less.
        let mut told = BTreeMap::new();
        for row in objects(&rows.out) {
            let story = STORY.map(|name| row[format!("incident_{name}")].clone());
            if row["incident"].is_number() {
                told.insert(row["incident"].to_string(), story);
            }
        }
        let mut expected = BTreeMap::new();
        for incident in analysis["incidents"].as_array().unwrap() {
            let story = STORY.map(|name| incident[name].clone());
            expected.insert(incident["incident"].to_string(), story);
        }
        incidents_seen += expected.len();
        assert_eq!(told, expected, "{file}");
    }
    assert!(incidents_seen > 5, "{incidents_seen}");
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
