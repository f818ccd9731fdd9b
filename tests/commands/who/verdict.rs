//! Limits of cgroups in the incident view and in an analysis.

use serde_json::{Value, json};

use super::host::run_on_host;
use crate::support::text::{json_lines, one_line};

fn lines(options: &str, seconds: u64) -> Vec<Value> {
    let (out, err, _) = run_on_host(
        "",
        |_| {},
        &format!("--json {options} sda 1 {seconds}"),
        seconds,
    );
    assert_eq!(err, "");
    json_lines(&out)
}

#[test]
fn a_device_whose_cgroup_is_at_its_limit_is_throttled() {
    let lines = lines("--who", 4);
    let verdicts: Vec<&Value> = lines.iter().map(|line| &line["verdict"]).collect();
    assert!(
        verdicts[..2].iter().all(|verdict| *verdict != "throttled"),
        "{verdicts:?}"
    );
    assert!(
        verdicts[2..].iter().all(|verdict| *verdict == "throttled"),
        "{verdicts:?}"
    );
    let last = &lines[3];
    assert_eq!(
        last["evidence"][0],
        "cgroup db.service is at its limit of 100 reads/s on sda (io.max)"
    );
    assert_eq!(last["top_cgroup"], "/system.slice/db.service");
    assert_eq!(last["top_cgroup_share_pct"].as_f64().unwrap().round(), 67.0);
    let limit = ["limit_kind", "limit_value", "limit_source", "limit_cgroup"]
        .map(|field| last[field].clone());
    assert_eq!(
        Value::from(limit.to_vec()),
        json!(["read_iops", 100.0, "cgroup", "/system.slice/db.service"])
    );
}

#[test]
fn limits_are_found_by_default_and_nothing_is_scanned_without() {
    let last = lines("", 4).remove(3);
    let story = [
        "verdict",
        "incident_victim",
        "incident_cause",
        "incident_owner",
        "incident_begin_known",
    ];
    let expected = json!([
        "throttled",
        "sda",
        "cgroup_limit",
        "/system.slice/db.service",
        true
    ]);
    assert_eq!(
        Value::from(story.map(|field| last[field].clone()).to_vec()),
        expected
    );
    for line in lines("--no-who", 4) {
        assert_ne!(line["verdict"], "throttled");
        assert!(
            line["top_cgroup"].is_null() && line["limit_kind"].is_null(),
            "{line}"
        );
    }
}

#[test]
fn the_table_names_cgroups_and_blocked_tasks_below_the_device() {
    let (out, _, _) = run_on_host("", |_| {}, "--who --explain --width 100 1 4", 4);
    let last = out.rsplit("00:00:04").next().unwrap();
    assert!(last.contains(" throttled 2s\n"), "{out}");
    let incident = "\n└ db.service is at its limit of 100 reads/s on sda (io.max); reads wait before sda counts them;";
    assert!(last.contains(incident), "{out}");
    let who = "\n└ who: db.service 67% (100 r/s), docker 3f2a9c1b7d5e 27%, /evil\\u{1b}[2J, \"quoted\" 3.3%; at limit:\n└   \
               db.service 100 reads/s; D state: x\\u{1b}[2J (3302), mysqld (2114)\n";
    assert!(last.contains(who), "{out}");
    assert!(out.lines().all(|line| line.chars().count() <= 100), "{out}");
    // A device that is idle or ok has no such line.
    let (out, _, _) = run_on_host("", |_| {}, "--width 100 1 4", 4);
    assert!(!out.contains("who:"), "{out}");
}

#[test]
fn an_analysis_finds_the_limit_and_does_not_rule_the_disk_out() {
    let (out, _, _) = run_on_host("analyze", |_| {}, "1 20", 20);
    let text = one_line(&out);
    for expected in [
        "sda throttled since",
        "db.service is at its limit of 100 reads/s on sda (io.max)",
        "sda is throttled ",
    ] {
        assert!(text.contains(expected), "{out}");
    }
    assert!(!out.contains("Not the disk"), "{out}");
    let (out, _, _) = run_on_host("analyze", |_| {}, "--json 1 20", 20);
    let report: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(
        (&report["devices"][0]["verdict"], &report["not_the_disk"]),
        (&"throttled".into(), &Value::Null)
    );
}
