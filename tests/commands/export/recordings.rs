//! The metrics of recordings.

use crate::support::program::{blkstat, output};

/// Returns the points of a metric: its value and its time.
fn points(text: &str, metric: &str) -> Vec<(f64, f64)> {
    let values = text.lines().filter_map(|line| line.strip_prefix(metric));
    let point = |rest: &str| {
        let (value, time) = rest.trim().split_once(' ').unwrap();
        (value.parse().unwrap(), time.parse().unwrap())
    };
    values.map(point).collect()
}

#[test]
fn a_recording_becomes_points_with_times() {
    let outcome =
        blkstat("export --from fixtures/captures/capped-3000.txt --label instance=db1").run();
    assert_eq!((outcome.code, outcome.err.as_str()), (0, ""));
    let text = outcome.out;
    assert!(text.ends_with("# EOF\n"));
    let reads = points(
        &text,
        "blkstat_disk_reads_completed_total{instance=\"db1\",device=\"loop0\"}",
    );
    // The first sample, those at 18:22:15, 30, 45 and 18:23:00, and the last.
    let times: Vec<i64> = reads
        .iter()
        .map(|(_, time)| time.floor() as i64 - 1_795_198_931)
        .collect();
    assert_eq!(times, [0, 4, 19, 34, 49, 58]);
    assert!(reads.windows(2).all(|two| two[0].0 < two[1].0));
    assert_eq!(reads[0].0, 54042.0);
    let capped = points(
        &text,
        "blkstat_disk_verdict_seconds_total{instance=\"db1\",device=\"loop0\",verdict=\"capped\"}",
    );
    assert!(
        capped.last().unwrap().0 > 10.0 && capped[0].0 == 0.0,
        "{capped:?}"
    );
    let limit = "blkstat_disk_limit_iops{instance=\"db1\",device=\"loop0\",direction=\"read\",source=\"inferred\"}";
    assert!((points(&text, limit).last().unwrap().0 - 3000.0).abs() < 30.0);
}

#[test]
fn a_stated_limit_is_known_before_it_is_reached() {
    let values = |cap: &str, metric: &str| {
        let text = blkstat(&format!(
            "export --from fixtures/captures/capped-3000.txt --cap {cap}"
        ))
        .run()
        .out;
        let metric = format!(
            "blkstat_disk_limit_{metric}{{device=\"loop0\",direction=\"all\",source=\"given\"}}"
        );
        points(&text, &metric)
            .into_iter()
            .map(|(value, _)| value)
            .collect::<Vec<_>>()
    };
    assert_eq!(values("9000,125", "iops"), [9000.0; 6]);
    assert_eq!(
        values("9000,125", "bytes_per_second"),
        [125.0 * 1024.0 * 1024.0; 6]
    );
    assert_eq!(values("9000", "bytes_per_second"), [0.0; 0]);
}

#[test]
fn the_time_between_points_and_the_range_can_be_chosen() {
    let count = |arguments: &str| {
        let text = blkstat(&format!(
            "export --from fixtures/captures/capped-3000.txt {arguments}"
        ))
        .run()
        .out;
        points(&text, "blkstat_disk_reads_completed_total{device=\"vda\"}").len()
    };
    assert_eq!((count("1"), count("30"), count("1h")), (59, 4, 2));
    assert_eq!(count("1 --begin +10s --end +20s"), 10);
}

#[test]
fn counters_are_the_same_however_far_apart_points_are() {
    let last = |arguments: &str| {
        let text = blkstat(&format!(
            "export --from fixtures/captures/stalls.txt {arguments}"
        ))
        .run()
        .out;
        let mut values: Vec<String> = Vec::new();
        for name in [
            "stalled_seconds_total{device=\"sda\"}",
            "verdict_seconds_total{device=\"sda\",verdict=\"stalled\"}",
        ] {
            values.push(format!(
                "{:?}",
                points(&text, &format!("blkstat_disk_{name}"))
                    .last()
                    .unwrap()
            ));
        }
        values
    };
    assert_eq!(last("1"), last("1h"));
}

#[test]
fn every_second_of_samples_shorter_than_a_judgement_counts_once() {
    let outcome = blkstat("export --from fixtures/oracle/bursts-01s.txt.gz").run();
    let mut seconds = 0.0;
    for verdict in [
        "unknown",
        "idle",
        "ok",
        "busy",
        "queueing",
        "slow",
        "saturated",
        "capped",
        "stalled",
    ] {
        let metric =
            format!("blkstat_disk_verdict_seconds_total{{device=\"sda\",verdict=\"{verdict}\"}}");
        seconds += points(&outcome.out, &metric).last().unwrap().0;
    }
    // The samples span 90 s.
    assert!((seconds - 90.0).abs() < 0.01, "{seconds}");
}

#[test]
fn what_is_no_recording_ends_as_in_other_views() {
    let (out, err, code) = output("export --from -", "no capture\n");
    assert!(
        code == 1 && err.contains("no samples found") && out.ends_with("# EOF\n"),
        "{err}"
    );
    let (_, err, code) = output("export --from /nosuch", "");
    assert!(code == 2 && err.contains("/nosuch"), "{err}");
}

#[test]
fn the_comparison_with_peers_is_a_metric() {
    // Six disks with the same reads, of which those of sdc take 2.5 times as long.
    let sample = |minute: u64| {
        let disk = |number: u64| {
            let name = char::from(b'a' + u8::try_from(number).unwrap());
            let (reads, latency_ms) = (6000 * minute, if name == 'c' { 5 } else { 2 });
            let ms = reads * latency_ms;
            format!(
                "8 {} sd{name} {reads} 0 {} {ms} 0 0 0 0 0 {} {ms} 0 0 0 0 0 0\n",
                16 * number,
                16 * reads,
                ms / 2
            )
        };
        format!(
            "TS {}.000000000\n{}",
            1_700_000_000 + 60 * minute,
            (0..6).map(disk).collect::<String>()
        )
    };
    let capture: String = (0..20).map(sample).collect();
    let (out, _, _) = output("export --from -", capture);
    let last = |device: &str| {
        let start = format!(
            "blkstat_disk_latency_over_peers_ratio{{device=\"{device}\",direction=\"read\"}} "
        );
        let value = out
            .lines()
            .rev()
            .find_map(|line| line.strip_prefix(&start))?;
        value.split(' ').next()?.parse::<f64>().ok()
    };
    assert_eq!([last("sdc"), last("sda")], [Some(2.5), Some(1.0)], "{out}");
    assert!(!out.contains("over_peers_ratio{device=\"sda\",direction=\"write\"}"));
}
