//! Single requests as evidence beside verdicts, on a real capture of a capped volume to which they are added.

use std::fmt::Write;

use serde_json::Value;

use crate::support::program::output;

const CAPTURE: &str = "fixtures/captures/capped-3000.txt";

/// Part of the reads that take 40 ms, and of those that are not matched, in percent.
#[derive(Clone, Copy, Default)]
struct Trace {
    slow_pct: u64,
    unmatched_pct: u64,
    /// A problem of the tracing in all intervals.
    problem: &'static str,
}

/// Returns the capture as a recording, with traced reads of loop0 in each interval.
fn recording(trace: Trace) -> String {
    let capture = std::fs::read_to_string(CAPTURE).unwrap();
    let (mut text, mut before) = (String::new(), None);
    for sample in capture.split_inclusive("\nTS ").map(|sample| sample.trim_end_matches("\nTS ")) {
        let reads = |line: &str| line.split_whitespace().nth(3).unwrap().parse::<u64>().unwrap();
        let now = sample.lines().find(|line| line.contains(" loop0 ")).map(reads).unwrap();
        if let Some(before) = before.replace(now) {
            let completed = now - before;
            let traced = completed * (100 - trace.unmatched_pct) / 100;
            let slow = completed * trace.slow_pct / 100;
            let problem = match trace.problem {
                "" => String::new(),
                problem => format!(",\"problem\":\"{problem}\""),
            };
            let buckets = [(1_000_000, traced - slow), (40_000_000, slow)];
            let buckets = buckets.map(|(ns, count)| format!("[{ns},{},{count},{}]", ns + 199, ns * count));
            writeln!(
                text,
                "#blkstat {{\"traced\":{{\"elapsed_ns\":1000000000,\"completed\":[[7,0,{completed},0,0,0]],\
                 \"latencies\":[{{\"number\":[7,0],\"kind\":\"read\",\"buckets\":[{}]}}]{problem}}}}}",
                buckets.join(",")
            )
            .unwrap();
        }
        let sample = sample.trim_start_matches("TS ").trim_end();
        writeln!(text, "TS {sample}\n#blkstat {{\"complete\":true}}").unwrap();
    }
    text
}

fn lines(arguments: &str, input: &str) -> Vec<Value> {
    let (out, err, code) = output(arguments, input);
    assert_eq!(code, 0, "{err}");
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The sentences about single requests.
fn sentences(line: &Value) -> Vec<&str> {
    let all = line["evidence"].as_array().unwrap().iter().map(|sentence| sentence.as_str().unwrap());
    all.filter(|sentence| sentence.contains("far longer")).collect()
}

const SENTENCE: &str =
    "read p99 40.0 ms, 40.0x p50 (1.00 ms), slowest 40.0 ms: a few take far longer than the rest";

#[test]
fn a_few_slow_requests_are_evidence_and_change_no_verdict() {
    let plain = lines("--json --from -", &recording(Trace::default()));
    let traced = lines("--json --from -", &recording(Trace { slow_pct: 2, ..Trace::default() }));
    assert_eq!(plain.len(), traced.len());
    let mut found = 0;
    for (plain, mut traced) in plain.into_iter().zip(traced) {
        let own = sentences(&traced);
        assert!(own.is_empty() || own == [SENTENCE] && traced["device"] == "loop0", "{own:?}");
        found += own.len();
        traced["evidence"].as_array_mut().unwrap().retain(|one| one != SENTENCE);
        assert_eq!(traced, plain);
    }
    assert_eq!(found, 58);
}

#[test]
fn nothing_is_said_where_requests_are_not_known_or_not_far_slower() {
    let slow = Trace { slow_pct: 2, ..Trace::default() };
    let cases = [
        (58, slow),
        (58, Trace { unmatched_pct: 4, ..slow }),
        (0, Trace { unmatched_pct: 6, ..slow }),
        (0, Trace { problem: "overhead", ..slow }),
        (0, Trace { problem: "failed", ..slow }),
        // More than half of them.
        (0, Trace { slow_pct: 60, ..slow }),
        (0, Trace { slow_pct: 0, ..slow }),
    ];
    for (number, (expected, trace)) in cases.into_iter().enumerate() {
        let all = lines("--json loop0 --from -", &recording(trace));
        let found: usize = all.iter().map(|line| sentences(line).len()).sum();
        assert_eq!(found, expected, "case {number}");
    }
}

#[test]
fn the_sentence_of_a_long_interval_has_no_time_of_a_sample() {
    let recording = recording(Trace { slow_pct: 2, ..Trace::default() });
    let (out, _, _) = output("--explain --from - loop0 20", &recording);
    let out = out.replace("\n  ", " ");
    assert!(out.contains(&format!(" {SENTENCE}")) && !out.contains(&format!(": {SENTENCE}")), "{out}");
    assert!(out.contains(": 3,000 reads/s "), "{out}");
    // What a verdict without trouble leaves out.
    let (out, _, _) = output("--explain --from - loop0 --baseline-ms 30 --cap 9999", &recording);
    let out = out.replace("\n  ", " ");
    assert!(out.contains(&format!("  ok {SENTENCE}")), "{out}");
}

#[test]
fn an_analysis_and_a_page_say_when_it_was_worst() {
    let traced = recording(Trace { slow_pct: 2, ..Trace::default() });
    let (out, _, _) = output("analyze -", &traced);
    assert!(out.contains(" reads/s, 21.2 ms, read p99 40.0 ms (40.0x p50), queue "), "{out}");
    let out = out.replace('\n', " ");
    let sentence = "A few reads of loop0 took far longer than the rest in 58 intervals; worst from 18:22:11: read \
                    p99 40.0 ms, 40.0x p50 (1.00 ms), slowest 40.0 ms.";
    assert!(out.contains(sentence), "{out}");
    let (out, _, _) = output("report - -o -", &traced);
    assert!(out.contains(sentence), "{out}");

    let of = |input: &str| serde_json::from_str::<Value>(&output("analyze --json -", input).0).unwrap();
    let (mut plain, mut json) = (of(&recording(Trace::default())), of(&traced));
    let own = json["devices"].as_array().unwrap().iter().find(|device| device["device"] == "loop0");
    let expected = serde_json::json!([{
        "direction": "read", "intervals": 58, "begin": "2026-11-20T18:22:11.000256Z", "percentile": 99.0,
        "percentile_ms": 40.0, "p50_ms": 1.0, "max_ms": 40.0
    }]);
    assert_eq!(own.unwrap()["slow_requests"], expected);
    assert_eq!(json["events"][0]["slow_requests_percentile_ms"], 40.0);
    // Nothing else differs.
    for document in [&mut plain, &mut json] {
        for device in document["devices"].as_array_mut().unwrap() {
            device["slow_requests"] = Value::Null;
        }
        for event in document["events"].as_array_mut().unwrap() {
            event.as_object_mut().unwrap().retain(|name, _| !name.starts_with("slow_requests_"));
        }
    }
    assert_eq!(json, plain);
}
