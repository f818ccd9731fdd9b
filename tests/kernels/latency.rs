//! The latencies of single requests, against fio's log of every request.

use std::collections::HashMap;

use serde_json::Value;

use crate::guest::{Guest, Script, on_each_kernel};

/// The most by which a latency that fio measured may exceed that of the kernel, in milliseconds: on the emulated computer, a
/// process often waits for a CPU before it sees that its request was completed.
const FIO_EXTRA_MS: f64 = 500.0;
/// The difference of a percentile from that of the events of another tracer. Each takes the time of an event when its turn
/// comes, which on the emulated computer is tens of microseconds after the other, or more if it lost its CPU in between.
const EVENT_TOLERANCE: f64 = 0.2;
/// The same in milliseconds.
const EVENT_TOLERANCE_MS: f64 = 0.1;
/// The relative width of a bucket.
const BUCKET: f64 = 0.02;

/// Returns the lines of a device.
fn lines_of(guest: &Guest, name: &str, device: &str) -> Vec<Value> {
    let text = guest.read(&format!("{name}.json"));
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.filter(|line| line["device"] == device).collect()
}

fn sum(lines: &[Value], field: &str) -> u64 {
    lines.iter().filter_map(|line| line[field].as_u64()).sum()
}

/// Returns the latencies in milliseconds that fio logged for reads and for writes, each in order. `kind` is `clat`, from
/// the submission to the completion, or `lat`, which includes the submission.
fn fio_log(guest: &Guest, name: &str, kind: &str) -> [Vec<f64>; 2] {
    let mut latencies = [Vec::new(), Vec::new()];
    for line in guest.read(&format!("{name}_{kind}.1.log")).lines() {
        let words: Vec<&str> = line.split(", ").collect();
        let direction: usize = words[2].parse().unwrap();
        latencies[direction].push(words[1].parse::<f64>().unwrap() / 1e6);
    }
    latencies
        .iter_mut()
        .for_each(|list| list.sort_by(f64::total_cmp));
    latencies
}

/// The lowest and the highest value of a field in all lines that have it, in milliseconds. Of a percentile of each line,
/// that of all requests together lies between them.
fn range(lines: &[Value], field: &str) -> [f64; 2] {
    let values = lines.iter().filter_map(|line| line[field].as_f64());
    values.fold([f64::INFINITY, 0.0], |[low, high], value| {
        [low.min(value), high.max(value)]
    })
}

/// Returns the latency of this percentile, of latencies in order.
fn percentile(latencies: &[f64], percent: usize) -> f64 {
    latencies[(latencies.len() * percent).div_ceil(100) - 1]
}

#[test]
fn every_request_that_fio_made_is_counted_once() {
    on_each_kernel(Script::Latency, |guest| {
        let disk = guest.disks("nvme").remove(0);
        for (name, device) in [("nvme", disk.as_str()), ("slow", "dm-0")] {
            let lines = lines_of(guest, "latency", device);
            let logged = fio_log(guest, name, "clat").map(|list| list.len() as u64);
            // Opening a device reads its partition table.
            let reads = sum(&lines, "read_count");
            assert!(
                (logged[0]..logged[0] + 20).contains(&reads),
                "{}: {device}: {reads} of {}",
                guest.version,
                logged[0]
            );
            assert_eq!(
                sum(&lines, "write_count"),
                logged[1],
                "{}: {device}",
                guest.version
            );
        }
        // The device below has the requests of the slow one, too.
        let logged = ["null", "slow"].map(|name| fio_log(guest, name, "clat")[1].len() as u64);
        let lines = lines_of(guest, "latency", "nullb0");
        assert_eq!(
            sum(&lines, "write_count"),
            logged[0] + logged[1],
            "{}",
            guest.version
        );
    });
}

#[test]
fn latencies_are_those_of_fio() {
    on_each_kernel(Script::Latency, |guest| {
        let disk = guest.disks("nvme").remove(0);
        for (name, device) in [("nvme", disk.as_str()), ("slow", "dm-0")] {
            let lines = lines_of(guest, "latency", device);
            let logged = &fio_log(guest, name, "lat")[1];
            // Of the same requests, each took no longer in the kernel than fio saw, and so did each of the same rank.
            let most = |fio_ms: f64| fio_ms * (1.0 + BUCKET) + 0.001;
            for (field, percent) in [("write_p50_ms", 50), ("write_p95_ms", 95)] {
                let ([low, high], fio_ms) = (range(&lines, field), percentile(logged, percent));
                assert!(
                    low <= most(fio_ms) && high > fio_ms - FIO_EXTRA_MS,
                    "{}: {device}: {field}: {low} to {high} is not {fio_ms}",
                    guest.version
                );
            }
            let ([_, slowest], fio_ms) = (range(&lines, "write_max_ms"), percentile(logged, 100));
            assert!(
                slowest > fio_ms - FIO_EXTRA_MS && slowest <= most(fio_ms),
                "{}: {device}: {slowest} is not {fio_ms}",
                guest.version
            );
        }
        // A device that delays requests by 30 ms, by a clock that ticks every 4 ms.
        let lines = lines_of(guest, "latency", "dm-0");
        let [_, median] = range(&lines, "write_p50_ms");
        assert!(median > 26.0, "{}: {lines:?}", guest.version);
    });
}

/// An event of another tracer.
struct Event<'a> {
    ms: f64,
    is_issue: bool,
    rwbs: &'a str,
    sector: &'a str,
}

/// Returns the beginnings and ends of requests that another tracer kept, in order.
fn events(trace: &str) -> impl Iterator<Item = Event<'_>> {
    trace.lines().filter_map(|line| {
        let (before, after) = line.split_once(": block_rq_")?;
        let before: Vec<&str> = before.split_whitespace().collect();
        let words: Vec<&str> = after.split_whitespace().collect();
        Some(Event {
            ms: before.last().unwrap().parse::<f64>().unwrap() * 1e3,
            is_issue: words[0] == "issue:",
            rwbs: words[2],
            sector: words[words.iter().position(|word| *word == "+").unwrap() - 1],
        })
    })
}

/// Returns the latencies in milliseconds of the requests whose letters begin so, in order.
fn event_latencies(trace: &str, letters: &str) -> Vec<f64> {
    let mut issued: HashMap<&str, f64> = HashMap::new();
    let mut latencies = Vec::new();
    for event in events(trace).filter(|event| event.rwbs.starts_with(letters)) {
        if event.is_issue {
            issued.insert(event.sector, event.ms);
        } else if let Some(begin) = issued.remove(event.sector) {
            latencies.push(event.ms - begin);
        }
    }
    latencies.sort_by(f64::total_cmp);
    latencies
}

#[test]
fn percentiles_are_those_of_the_events_of_another_tracer() {
    on_each_kernel(Script::Latency, |guest| {
        let disk = guest.disks("nvme").remove(0);
        let lines = lines_of(guest, "latency", &disk);
        let events = event_latencies(&guest.read("nvme.trace"), "W");
        assert_eq!(
            events.len() as u64,
            sum(&lines, "write_count"),
            "{}",
            guest.version
        );
        for (field, percent) in [("write_p50_ms", 50), ("write_p95_ms", 95)] {
            let ([low, high], expected) = (range(&lines, field), percentile(&events, percent));
            let tolerance = expected * EVENT_TOLERANCE + EVENT_TOLERANCE_MS;
            assert!(
                low <= expected + tolerance && high >= expected - tolerance,
                "{}: {field}: {low} to {high} is not {expected}",
                guest.version
            );
        }
    });
}

#[test]
fn sets_of_triggers_take_turns_and_miss_hardly_any_request() {
    on_each_kernel(Script::Latency, |guest| {
        let lines = lines_of(guest, "renewed", "nullb0");
        let reads = sum(&lines, "read_count");
        // A request in flight while sets change may be in neither: 2 of 20,000 were seen, and 52 on a busy host.
        assert!(
            (19_900..20_050).contains(&reads),
            "{}: {reads}",
            guest.version
        );
        assert!(
            lines.iter().all(|line| line["dropped_requests"] == 0),
            "{lines:?}"
        );
    });
}

#[test]
fn a_volume_that_is_made_again_is_traced_on() {
    on_each_kernel(Script::Latency, |guest| {
        let text = guest.read("remade.json");
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        // The volumes before it are dm-0 and dm-1.
        let of_last: Vec<Value> = lines
            .iter()
            .filter(|line| line["device"] == "dm-2")
            .cloned()
            .collect();
        assert!(
            sum(&of_last, "read_count") >= 30,
            "{}: {text}",
            guest.version
        );
    });
}

#[test]
fn failed_requests_are_counted_by_error() {
    on_each_kernel(Script::Latency, |guest| {
        let lines = lines_of(guest, "failed", "nullb1");
        let failed = sum(&lines, "failed_requests");
        assert!(failed >= 3, "{}: {lines:?}", guest.version);
        let named = lines.iter().filter_map(|line| line["errors"].as_str());
        let counts = named.map(|errors| {
            errors
                .strip_prefix("Input/output error ")
                .unwrap()
                .parse::<u64>()
                .unwrap()
        });
        assert_eq!(counts.sum::<u64>(), failed, "{}", guest.version);
        assert_eq!(
            sum(&lines_of(guest, "latency", "nullb0"), "failed_requests"),
            0,
            "{}",
            guest.version
        );
    });
}

#[test]
fn nothing_is_left_in_the_kernel() {
    on_each_kernel(Script::Latency, |guest| {
        // The names of instances begin with the process: each has one for requests.
        let instances = guest.read("two.instances");
        let ends = instances
            .lines()
            .filter(|name| name.ends_with("l0"))
            .count();
        assert_eq!(ends, 2, "two at once: {instances}");
        let ends = [
            ("latency", "130\n"),
            ("other", "143\n"),
            ("remade", "143\n"),
            ("failed", "143\n"),
            ("renewed", "129\n"),
            ("guard", "143\n"),
        ];
        for (name, exit) in ends {
            assert_eq!(
                guest.read(&format!("{name}.exit")),
                exit,
                "{}: {name}",
                guest.version
            );
            assert_eq!(
                guest.read(&format!("{name}.err")).matches("cannot").count(),
                0,
                "{}: {name}",
                guest.version
            );
        }
        // The run that ended second leaves nothing; the first leaves what the second needs.
        assert!(guest.read("other.left").contains("blkstat_"));
        for name in ["latency", "failed", "renewed", "guard", "cleanup"] {
            assert_eq!(
                guest.read(&format!("{name}.left")),
                "",
                "{}: {name}",
                guest.version
            );
        }
        assert!(
            guest.read("killed.left").contains("_request"),
            "{}",
            guest.version
        );
        assert!(
            guest.read("cleanup.txt").starts_with("removed blkstat_"),
            "{}",
            guest.version
        );
    });
}

#[test]
fn without_tracefs_a_message_says_how_to_mount_it() {
    on_each_kernel(Script::Latency, |guest| {
        let message = "blkstat: cannot trace requests: tracefs is not mounted; run 'mount -t tracefs tracefs /sys/kernel/tracing' as root\n";
        assert_eq!(
            (
                guest.read("unmounted.err").as_str(),
                guest.read("unmounted.exit").as_str()
            ),
            (message, "2\n")
        );
    });
}

#[test]
fn a_disk_with_several_paths_has_their_requests() {
    on_each_kernel(Script::Latency, |guest| {
        let head = guest.disks("nvme_head").remove(0);
        let lines = lines_of(guest, "latency", &head);
        let logged = fio_log(guest, "head", "clat").map(|list| list.len() as u64);
        let reads = sum(&lines, "read_count");
        assert!(
            (logged[0]..logged[0] + 20).contains(&reads),
            "{}: {reads} of {}",
            guest.version,
            logged[0]
        );
        assert_eq!(sum(&lines, "write_count"), logged[1], "{}", guest.version);
        let is_matched = |line: &Value| line["matched_pct"].as_f64() > Some(95.0);
        assert!(lines.iter().all(is_matched), "{}: {lines:?}", guest.version);
        for path in guest.disks("nvme_paths") {
            assert!(
                lines_of(guest, "latency", &path).is_empty(),
                "{}: {path} is listed, too",
                guest.version
            );
        }
    });
}

#[test]
fn above_the_permitted_overhead_tracing_pauses_and_then_goes_on() {
    on_each_kernel(Script::Latency, |guest| {
        let lines = lines_of(guest, "guard", "nullb0");
        let is_paused = |line: &Value| line["problem"] == "overhead";
        let paused = lines
            .iter()
            .position(is_paused)
            .unwrap_or_else(|| panic!("no pause: {lines:?}"));
        let resumed = lines.iter().skip(paused).position(|line| !is_paused(line));
        let resumed = paused + resumed.unwrap_or_else(|| panic!("no end of the pause: {lines:?}"));
        assert!(
            lines[resumed..].iter().all(|line| !is_paused(line)),
            "{lines:?}"
        );
        // A second in which it paused, or went on, has some requests.
        let traced = |part: &[Value]| {
            part.iter()
                .filter(|line| line["read_count"].as_u64() > Some(0))
                .count()
        };
        assert!(
            traced(&lines[..paused]) > 0 && traced(&lines[resumed..]) > 0,
            "{}: {lines:?}",
            guest.version
        );
        let inside = &lines[paused + 1..resumed - 1];
        assert!(!inside.is_empty(), "{}: {lines:?}", guest.version);
        for line in inside {
            assert_eq!(line["read_count"], 0, "{}: {line}", guest.version);
            assert!(
                line["read_p50_ms"].is_null() && line["read_max_ms"].is_null(),
                "{}: {line}",
                guest.version
            );
            assert_eq!(line["matched_pct"], 0.0, "{}: {line}", guest.version);
        }
        let message = "tracing is paused: at this rate it would cost more CPU time than --max-overhead permits\n";
        let err = guest.read("guard.err");
        assert!(
            err.contains(&format!("blkstat: {message}")),
            "{}: {err}",
            guest.version
        );
    });
}

#[test]
fn tests_in_the_guest_pass() {
    on_each_kernel(Script::Latency, |guest| {
        let text = guest.read("in_guest.txt");
        assert_eq!(
            guest.read("in_guest.exit"),
            "0\n",
            "{}: {text}",
            guest.version
        );
        assert!(
            text.contains("test result: ok. 1 passed"),
            "{}: {text}",
            guest.version
        );
    });
}

#[test]
fn a_kernel_that_is_locked_down_is_named_as_the_reason() {
    on_each_kernel(Script::Latency, |guest| {
        let message = "blkstat: cannot trace requests: the kernel is locked down (confidentiality); boot with \
                       lockdown=integrity or less\n";
        assert_eq!(
            (
                guest.read("locked.err").as_str(),
                guest.read("locked.exit").as_str()
            ),
            (message, "2\n")
        );
    });
}
