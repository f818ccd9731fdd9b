//! The incidents of recordings beside those of the reference: whole, and cut shortly after each began.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

use blkstat::attribution::{Limit, cgroup_name};
use blkstat::incidents::{Because, Cause, Incidents, Told};
use serde_json::Value;

use crate::differences::DIFFERENCES;
use crate::stored::Stored;

/// What is compared of an incident, in words; times in seconds since 1970.
type Facts = Vec<(&'static str, String)>;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/incidents")
}

/// The incidents of a recording up to a time, the worst first.
fn told(name: &str, until_s: Option<f64>) -> Vec<Told> {
    let Stored { seconds, topology } = Stored::read(&folder().join(format!("{name}.gz")), until_s);
    let mut incidents = Incidents::default();
    let mut told = Vec::new();
    for second in seconds {
        told.extend(incidents.push(second, &topology));
    }
    told.extend(incidents.open().map(|one| Told::clone(one)));
    told.sort_by(Told::worst_first);
    told
}

fn cause_text(cause: &Cause) -> String {
    match cause {
        Cause::Limit(limit) => limit_text(limit),
        Cause::Suspended(device) => format!("suspended {device}"),
        Cause::Sync(array) => format!("sync {array}"),
        Cause::Capped(_) => "capped".to_owned(),
        other => other.name().to_owned(),
    }
}

fn limit_text(limit: &Limit) -> String {
    let owner = limit.owner.as_deref().unwrap_or_default();
    format!("limit {owner} {} {:.1}", limit.rate_name(), limit.value)
}

fn facts_of(told: &Told) -> Facts {
    let owner = told.owner.as_ref().map(|owner| {
        let names: BTreeSet<String> = owner.cgroups.iter().map(|path| cgroup_name(path)).collect();
        let because = match owner.because {
            Because::DeviceBytes => "device",
            Because::ProcessBytes => "processes",
            Because::Newcomer => "newcomer",
        };
        let names = Vec::from_iter(names).join(", ");
        format!(
            "{} of {names} by {because}",
            owner.program.as_deref().unwrap_or("?")
        )
    });
    let mut waits = BTreeSet::new();
    for one in &told.waits {
        let name = one.cgroup.as_deref().map(cgroup_name);
        waits.insert(format!("{} of {}", one.program, name.unwrap_or_default()));
    }
    vec![
        ("victim", told.victim.device.clone()),
        ("bottleneck", told.bottleneck.device.clone()),
        ("begin", format!("{:.0}", told.begin.run_s)),
        ("end", format!("{:.0}", told.end.run_s)),
        ("ongoing", told.is_ongoing.to_string()),
        ("begin is known", told.begin_is_known.to_string()),
        ("word", told.word.name().to_owned()),
        ("cause", cause_text(&told.cause)),
        ("owner", owner.unwrap_or_default()),
        ("waits", Vec::from_iter(waits).join(", ")),
        (
            "advice",
            told.advice.map_or("", |advice| advice.name()).to_owned(),
        ),
        ("seconds", format!("{:.0}", told.bad_s)),
        (
            "requests",
            told.requests.map_or("", |kind| kind.name()).to_owned(),
        ),
        ("ms", ms(told.await_ms)),
        ("ms before", ms(told.await_before_ms)),
    ]
}

fn ms(value: Option<f64>) -> String {
    value.map_or("?".to_owned(), |ms| format!("{ms:.1}"))
}

fn facts_of_reference(one: &Value) -> Facts {
    let text = |field: &str| one[field].as_str().unwrap_or_default().to_owned();
    let cause = one["cause"].as_array().unwrap();
    let word = cause[0].as_str().unwrap();
    let cause = match word {
        "limit" => format!(
            "limit {} {} {:.1}",
            cause[1].as_str().unwrap(),
            cause[2].as_str().unwrap(),
            cause[3].as_f64().unwrap()
        ),
        "suspended" | "sync" => format!("{word} {}", cause[1].as_str().unwrap()),
        other => other.to_owned(),
    };
    let owner = match &one["owner"] {
        Value::Null => String::new(),
        owner => {
            let because = owner["because"].as_str().unwrap();
            let known = if because.contains("on the device rose") {
                "device"
            } else if because.contains("processes") {
                "processes"
            } else if because.contains("waits") {
                "newcomer"
            } else {
                "?"
            };
            let program = owner["program"].as_str().unwrap_or("?");
            format!(
                "{program} of {} by {known}",
                owner["cgroup"].as_str().unwrap()
            )
        }
    };
    let mut waits = BTreeSet::new();
    for waiter in one["waits"].as_array().unwrap() {
        let waiter = waiter.as_str().unwrap();
        waits.insert(if waiter.contains(" of ") {
            waiter.to_owned()
        } else {
            format!("{waiter} of (root)")
        });
    }
    let advice = match word {
        _ if one["advice"].is_null() => "",
        "limit" => "raise_limit",
        "suspended" => "resume",
        "frozen" => "unfreeze",
        "stall" => "look_at_path",
        "sync" => "slow_sync",
        "swap" => "memory",
        "cpu" => "cpu_first",
        "less" => "look_at_device",
        _ => "limit_owner",
    };
    vec![
        ("victim", text("victim")),
        ("bottleneck", text("bottleneck")),
        ("begin", format!("{:.0}", one["begin"].as_f64().unwrap())),
        ("end", format!("{:.0}", one["end"].as_f64().unwrap() + 0.0)),
        ("ongoing", one["ongoing"].to_string()),
        ("begin is known", one["begin_known"].to_string()),
        ("word", text("word")),
        ("cause", cause),
        ("owner", owner),
        ("waits", Vec::from_iter(waits).join(", ")),
        ("advice", advice.to_owned()),
        ("seconds", one["seconds"].to_string()),
        ("requests", text("kind")),
        ("ms", ms(one["now_ms"].as_f64())),
        ("ms before", ms(one["was_ms"].as_f64())),
    ]
}

/// How far both are apart: what is told of the same incident has the least.
fn distance(one: &Facts, other: &Facts) -> usize {
    one.iter().zip(other).filter(|(a, b)| a != b).count()
}

/// The differences of a recording, as lines: `NAME CUT DEVICE BEGIN: FACT: REFERENCE, here PROGRAM`.
fn differences(name: &str, line: &Value) -> Vec<String> {
    let cut = line["cut"].as_f64();
    let mut own: Vec<Facts> = told(name, cut).iter().map(facts_of).collect();
    let mut found = Vec::new();
    let place = cut.map_or("whole".to_owned(), |cut| format!("cut at {cut:.0}"));
    for reference in line["incidents"].as_array().unwrap() {
        let reference = facts_of_reference(reference);
        let of = format!("{name} {place} {} {}", reference[0].1, reference[2].1);
        let nearest = (0..own.len()).min_by_key(|at| distance(&own[*at], &reference));
        match nearest.filter(|at| own[*at][0] == reference[0] || own[*at][1] == reference[1]) {
            None => found.push(format!("{of}: not told: {}", reference[7].1)),
            Some(at) => {
                for ((fact, here), (_, there)) in own.remove(at).into_iter().zip(reference) {
                    if here != there {
                        found.push(format!("{of}: {fact}: {there}, here {here}"));
                    }
                }
            }
        }
    }
    for one in own {
        found.push(format!(
            "{name} {place} {} {}: only here: {} {}",
            one[0].1, one[2].1, one[6].1, one[7].1
        ));
    }
    found
}

#[test]
fn incidents_are_those_of_the_reference() {
    let mut found = Vec::new();
    let mut count = 0;
    let mut names: Vec<PathBuf> = fs::read_dir(folder())
        .unwrap()
        .map(|one| one.unwrap().path())
        .collect();
    names.sort();
    for path in names
        .into_iter()
        .filter(|path| path.extension().unwrap() == "json")
    {
        let name = path.file_stem().unwrap().to_str().unwrap();
        for line in fs::read_to_string(&path).unwrap().lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            count += 1;
            found.extend(differences(name, &line));
        }
    }
    assert!(count > 60, "{count}");
    let mut explained = vec![false; DIFFERENCES.len()];
    found.retain(|difference| {
        let known = DIFFERENCES
            .iter()
            .position(|(begin, _)| difference.starts_with(begin));
        known.inspect(|at| explained[*at] = true).is_none()
    });
    assert!(
        found.is_empty(),
        "{} differences:\n{}",
        found.len(),
        found.join("\n")
    );
    for (is_explained, (begin, _)) in explained.into_iter().zip(DIFFERENCES) {
        assert!(is_explained, "no longer a difference: {begin}");
    }
}
