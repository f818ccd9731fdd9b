//! No room of `src/` knows a room that it must not know.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

use std::collections::BTreeMap;
use std::path::Path;

/// For each room the rooms that it may know; the order is from the ground up.
const ROOMS: &[(&str, &[&str])] = &[
    ("exit", &[]),
    ("sanitize", &[]),
    ("units", &[]),
    ("compression", &[]),
    ("deadlines", &[]),
    ("signals", &[]),
    ("clock", &["signals"]),
    ("counters", &["units"]),
    ("topology", &["counters"]),
    ("capture", &["counters", "topology", "units", "sanitize"]),
    ("metrics", &["counters", "units"]),
    ("analysis", &["metrics", "topology", "units", "counters"]),
    ("select", &["counters", "topology"]),
    ("source", &["capture", "compression", "counters", "topology", "clock", "units"]),
    ("sink", &["compression"]),
    ("report", &["analysis", "metrics", "counters", "topology", "units", "sanitize"]),
    ("view", &["report", "metrics", "counters", "sanitize"]),
    ("plan", &["analysis", "select", "report"]),
    ("cli", &["plan", "analysis", "select", "report", "sanitize", "exit"]),
    (
        "run",
        &[
            "exit",
            "sanitize",
            "units",
            "clock",
            "deadlines",
            "counters",
            "topology",
            "capture",
            "metrics",
            "analysis",
            "select",
            "source",
            "sink",
            "report",
            "plan",
            "view",
        ],
    ),
    ("lib", &[]),
    ("main", &["cli", "clock", "exit", "run", "signals"]),
];

fn sources(folder: &Path, found: &mut BTreeMap<String, Vec<String>>, room: Option<&str>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let room = room.unwrap_or(&name);
        if path.is_dir() {
            sources(&path, found, Some(room));
        } else {
            found.entry(room.to_owned()).or_default().push(std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// The rooms that a source names, as `crate::room` or `blkstat::room`.
fn known(source: &str) -> impl Iterator<Item = &str> {
    let code = source.split("#[cfg(test)]").next().unwrap_or_default();
    ["crate::", "blkstat::"].into_iter().flat_map(move |prefix| {
        code.split(prefix).skip(1).map(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
            &rest[..end]
        })
    })
}

#[test]
fn no_arrow_points_the_wrong_way() {
    let mut found = BTreeMap::new();
    sources(Path::new("src"), &mut found, None);
    for (room, sources) in &found {
        let (_, may_know) = ROOMS
            .iter()
            .find(|(name, _)| name == room)
            .unwrap_or_else(|| panic!("the room '{room}' is in no plan"));
        for source in sources {
            for other in known(source).filter(|other| other != room) {
                assert!(may_know.contains(&other), "{room} must not know {other}");
            }
        }
    }
    assert_eq!(found.len(), ROOMS.len(), "a room of the plan is not there: {:?}", found.keys());
}

#[test]
fn the_plan_itself_has_no_circle() {
    for (index, (room, may_know)) in ROOMS.iter().enumerate() {
        for other in *may_know {
            let place = ROOMS.iter().position(|(name, _)| name == other);
            assert!(place.is_some_and(|place| place < index), "{room} may know {other}, which comes later");
        }
    }
}

#[test]
fn only_cli_knows_clap() {
    let mut found = BTreeMap::new();
    sources(Path::new("src"), &mut found, None);
    for (room, sources) in found.iter().filter(|(room, _)| *room != "cli") {
        assert!(sources.iter().all(|source| !source.contains("clap::")), "{room} knows clap");
    }
}
