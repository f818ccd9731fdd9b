//! One story: what every view says of the same trouble, in recordings of made-up disks below volumes.

use serde_json::{Value, json};

use crate::support::program::output;
use crate::support::text::json_lines;
use crate::synthetic::{end_of_sample, header, reads_line, ts_line};

/// A volume `dm-0` on `sda`, another `dm-1` on `sdb`; the four devices in their order.
const DEVICES: [&str; 4] = ["sda", "sdb", "dm-0", "dm-1"];
/// The seconds of the trouble.
const TROUBLE: std::ops::Range<u64> = 40..80;
const SECONDS: u64 = 100;

/// What a device does in a second: reads, their latency in milliseconds, and requests in flight at its end.
type Second = (u64, f64, u64);
/// What each device, by name, does in each second.
type Load = fn(&str, u64) -> Second;

/// A healthy load, a little different in each second.
fn healthy(second: u64) -> Second {
    (180 + second * 37 % 41, 0.5, 0)
}

/// What a device has done so far.
#[derive(Default)]
struct Totals {
    reads: u64,
    ms: f64,
    busy_ms: f64,
    in_flight: u64,
}

/// A recording of what each device does in each second, from `begin` on.
fn recording(begin: u64, does: Load) -> String {
    let devices = json!([
        {"name": "sda"},
        {"name": "sdb"},
        {"name": "dm-0", "backing_devices": ["sda"]},
        {"name": "dm-1", "backing_devices": ["sdb"]},
    ]);
    let mut text = header(&devices);
    let mut totals: [Totals; DEVICES.len()] = Default::default();
    for second in 0..=SECONDS {
        if second >= begin {
            text += &ts_line(second);
        }
        for (minor, (name, total)) in DEVICES.iter().zip(&mut totals).enumerate() {
            let (reads, await_ms, in_flight) = does(name, second);
            let ms = reads as f64 * await_ms;
            total.reads += reads;
            total.ms += ms;
            total.busy_ms += if total.in_flight > 0 || in_flight > 0 {
                1000.0
            } else {
                ms.min(1000.0)
            };
            total.in_flight = in_flight;
            if second >= begin {
                let device = format!(" 8 {} {name}", 16 * minor);
                text += &reads_line(
                    &device,
                    total.reads,
                    total.ms.round() as u64,
                    in_flight,
                    total.busy_ms.round() as u64,
                );
            }
        }
        if second >= begin {
            text += &end_of_sample(second);
        }
    }
    text
}

/// The disk below a volume completes nothing; when it goes on, its requests have waited for all of that time.
fn stopped(name: &str, second: u64) -> Second {
    let stop = TROUBLE.start + 10..TROUBLE.start + 20;
    match name {
        "sda" | "dm-0" if stop.contains(&second) => (0, 0.0, 8),
        "sda" | "dm-0" if second == stop.end => (188, 10_000.0 * 8.0 / 188.0, 0),
        _ => healthy(second),
    }
}

/// A volume with a limit of 300 reads/s, for which 16 requests wait.
fn capped(name: &str, second: u64) -> Second {
    match name {
        "dm-0" if TROUBLE.contains(&second) => (300, 53.3, 16),
        "sda" if TROUBLE.contains(&second) => (300, 0.5, 0),
        _ => healthy(second),
    }
}

/// A disk that takes 80 times as long as before, without more load, for clients that come as they like.
fn slow(name: &str, second: u64) -> Second {
    match name {
        "sda" | "dm-0" if TROUBLE.contains(&second) => (35 + second * 37 % 41, 40.0, 2),
        _ => healthy(second),
    }
}

/// Two disks in different trouble at the same time.
fn two(name: &str, second: u64) -> Second {
    match name {
        "sdb" | "dm-1" => stopped(if name == "sdb" { "sda" } else { "dm-0" }, second),
        _ => capped(name, second),
    }
}

/// What a view says: the device that suffers, the cause, and when it began if that is known.
#[derive(Clone, Debug, PartialEq)]
struct Story {
    victim: String,
    cause: Value,
    begin: Option<Value>,
}

impl Story {
    fn of(fields: &Value, prefix: &str) -> Self {
        let field = |name: &str| fields[format!("{prefix}{name}")].clone();
        let begin = (field("begin_known") == true).then(|| field("begin"));
        Self {
            victim: field("victim").as_str().unwrap_or_default().to_owned(),
            cause: field("cause"),
            begin,
        }
    }
}

/// Checks that the table, JSON and metrics, which judge a recording as it comes, tell of its incidents what an analysis and a
/// page do. Returns these.
fn agreed(recording: &str) -> Vec<Value> {
    let incidents = agreed_in_hindsight(recording);
    let (lines, ..) = output("--json --from -", recording);
    let lines = json_lines(&lines);
    let (table, ..) = output("--from -", recording);
    let (metrics, ..) = output("export --from - 1", recording);
    for incident in &incidents {
        let story = Story::of(incident, "");
        let own = || {
            lines
                .iter()
                .filter(|line| line["incident"] == incident["incident"])
        };
        let last = own().rfind(|line| line["device"] == line["incident_victim"]);
        let last = last.unwrap_or_else(|| panic!("no line of {incident}"));
        assert_eq!(Story::of(last, "incident_"), story, "{last}");
        // Every interval of it names the same victim and beginning.
        let is_same = |line: &Value| {
            (&line["incident_victim"], &line["incident_begin"])
                == (&last["incident_victim"], &last["incident_begin"])
        };
        assert!(own().all(is_same), "{incident}");
        let (victim, verdict) = (&story.victim, incident["verdict"].as_str().unwrap());
        let known = story.begin.is_some();
        let cause = story.cause.as_str().unwrap_or_default();
        let series =
            format!("victim=\"{victim}\",cause=\"{cause}\",owner=\"\",begin_known=\"{known}\"");
        assert!(metrics.contains(&series), "{series}: {metrics}");
        let mark = if known { "" } else { ">" };
        let has_row = |line: &str| {
            line.starts_with(&format!("{victim} "))
                && (line.contains(&format!("{verdict} {mark}")) || line.contains("STALLED for "))
        };
        assert!(table.lines().any(has_row), "{table}");
    }
    incidents
}

/// Checks that an analysis and a page of a recording agree on its incidents. Returns these.
fn agreed_in_hindsight(recording: &str) -> Vec<Value> {
    let (json, err, code) = output("analyze --json -", recording);
    assert_eq!(code, 0, "{err}");
    let document: Value = serde_json::from_str(&json).unwrap();
    let incidents = document["incidents"].as_array().unwrap().clone();
    let (text, ..) = output("analyze -", recording);
    let text = text.replace('\n', " ");
    let (page, ..) = output("report - -o -", recording);
    for incident in &incidents {
        let Story { victim, begin, .. } = Story::of(incident, "");
        let verdict = incident["verdict"].as_str().unwrap();
        let sign = if begin.is_some() { "" } else { "since before " };
        assert!(
            text.contains(&format!("{victim} {verdict} {sign}")),
            "{text}"
        );
        let cell = format!("{verdict}</span><td class=\"time\">{sign}");
        assert!(
            page.contains(&cell) && page.contains(&format!("<bdi>{victim}</bdi>")),
            "{cell}"
        );
    }
    let worst = incidents.iter().find(|one| {
        text.starts_with(&format!("{} ", one["victim"].as_str().unwrap()))
            && page.contains(&format!(
                "<h1><bdi>{}</bdi>",
                one["victim"].as_str().unwrap()
            ))
    });
    assert!(worst.is_some() || incidents.is_empty(), "{text}");
    incidents
}

fn begin_s(incident: &Value) -> f64 {
    incident["begin_s"].as_f64().unwrap()
}

#[test]
fn every_view_tells_the_same_story_of_a_disk_below_a_volume() {
    let cases: [(&str, Load, &str, u64); 3] = [
        ("stopped", stopped, "stalled", TROUBLE.start + 10),
        ("capped", capped, "capped", TROUBLE.start),
        ("slow", slow, "slow", TROUBLE.start),
    ];
    for (name, does, verdict, begin) in cases {
        let incidents = agreed(&recording(0, does));
        let [incident] = &incidents[..] else {
            panic!("{name}: {incidents:?}")
        };
        assert_eq!(
            (&incident["victim"], &incident["verdict"]),
            (&json!("dm-0"), &json!(verdict)),
            "{name}"
        );
        // The counters of a second are those at its end: the first sample of the trouble ends its first interval.
        assert!(
            (begin_s(incident) - (begin - 1) as f64).abs() <= 1.0,
            "{name}: {incident}"
        );
    }
}

#[test]
fn trouble_of_two_disks_at_once_is_two_incidents() {
    let incidents = agreed(&recording(0, two));
    let mut found: Vec<(&Value, &Value)> = incidents
        .iter()
        .map(|one| (&one["victim"], &one["verdict"]))
        .collect();
    found.sort_by_key(|(victim, _)| victim.as_str());
    assert_eq!(
        found,
        [
            (&json!("dm-0"), &json!("capped")),
            (&json!("dm-1"), &json!("stalled"))
        ]
    );
}

#[test]
fn a_recording_without_its_head_lacks_only_what_was_before() {
    let cases: [Load; 3] = [stopped, capped, slow];
    for does in cases {
        let whole = agreed(&recording(0, does)).remove(0);
        for begin in [20, 36] {
            let cut = agreed(&recording(begin, does)).remove(0);
            for field in ["victim", "begin", "end", "verdict"] {
                assert_eq!(whole[field], cut[field], "from {begin}: {cut}");
            }
        }
        // Begun in the middle of it, the beginning is not known, and only hindsight knows how long requests took without it.
        let cut = agreed_in_hindsight(&recording(TROUBLE.start + 14, does)).remove(0);
        assert_eq!(
            (&cut["victim"], &cut["begin_known"]),
            (&whole["victim"], &json!(false)),
            "{cut}"
        );
        assert_eq!(cut["end"], whole["end"], "{cut}");
    }
}
