//! Lets a real Prometheus scrape a running exporter and import a recording, and evaluates every expression of the
//! dashboard and of the alert rules there. Lets it find the slow disks of a simulated fleet by the rules for peers:
//! BLKSTAT_FLEET_HOSTS=N, BLKSTAT_FLEET_DISKS=M and BLKSTAT_FLEET_HOURS=H make it larger.
//!
//! The exporter reads a host in memory whose counters grow with the time: a volume that is at its limit (from a capture
//! of a real one), and a disk with every kind of request, whose writes a cgroup's limit holds back. It takes about two
//! minutes, needs `prometheus` and `promtool`, and runs only if BLKSTAT_PROMETHEUS is set. Without the programs it is
//! skipped; with BLKSTAT_PROMETHEUS=required it fails.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout
)]

#[cfg(test)]
mod advancing_host;
#[cfg(test)]
mod fleet;
#[cfg(test)]
mod server;

#[allow(dead_code)] // The tests of the commands use the rest.
#[path = "../support"]
mod support {
    pub(crate) mod fake_root;
    pub(crate) mod http;
    pub(crate) mod program;
    pub(crate) mod random;
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::io::{BufRead, BufReader};
    use std::process::Stdio;
    use std::time::{Duration, Instant};

    use serde_json::Value;

    use crate::advancing_host::{AdvancingHost, READS_PER_S, WRITE_LIMIT_BYTES};
    use crate::fleet::{Disk, Fleet, Truth, rule_expression};
    use crate::server::{Prometheus, promtool, write_file};
    use crate::support::http::Exporter;
    use crate::support::program::blkstat;

    /// The ranges of the rules, shortened so that an alert fires within the test.
    const SHORTENED: [(&str, &str); 6] = [
        ("[5m]", "[30s]"),
        ("> 180", "> 18"),
        ("[2m]", "[10s]"),
        ("[15m]", "[20s]"),
        ("[10m]", "[20s]"),
        ("> 600", "> 15"),
    ];
    /// The longest wait for the alert: the capture shows a cap after half a minute.
    const ALERT_WAIT: Duration = Duration::from_secs(180);
    /// The seconds for which rates of Prometheus and of `--json` are compared: the last ones.
    const RATE_S: usize = 30;
    /// The largest relative difference of a rate that Prometheus computes and the mean of the rates of `--json`.
    const RATE_TOLERANCE: f64 = 0.01;
    /// A time within the capture, 18:22:50.
    const CAPTURE_TIME: &str = "1795198970";

    /// Returns the expressions of the dashboard with its variables replaced.
    fn dashboard_expressions([rate, range]: [&str; 2]) -> Vec<String> {
        let dashboard: Value =
            serde_json::from_str(&blkstat("export --print dashboard").run().out).unwrap();
        let queries = dashboard["panels"]
            .as_array()
            .unwrap()
            .iter()
            .flat_map(|panel| panel["targets"].as_array().unwrap());
        let expressions = queries.map(|query| {
            let expression = query["expr"].as_str().unwrap();
            expression
                .replace("$__rate_interval", rate)
                .replace("$__range", range)
                .replace("$instance", ".*")
                .replace("$device", ".*")
        });
        expressions.collect()
    }

    /// Returns whether an answer has a series with a number.
    fn has_data(result: &[Value]) -> bool {
        result.iter().any(|series| {
            series["value"][1]
                .as_str()
                .is_some_and(|value| value != "NaN")
        })
    }

    #[test]
    fn a_real_prometheus_scrapes_imports_evaluates_and_alerts() {
        let Some(folder) = Prometheus::folder() else {
            return;
        };
        let file = |name: &str| folder.path().join(name).display().to_string();
        let rules = blkstat("export --print alert-rules").run().out;
        write_file(&folder, "blkstat-alerts.yml", &rules);
        write_file(
            &folder,
            "blkstat-alert-tests.yml",
            &blkstat("export --print alert-tests").run().out,
        );
        promtool(&["check", "rules", &file("blkstat-alerts.yml")], "");
        promtool(&["test", "rules", &file("blkstat-alert-tests.yml")], "");
        let shortened = SHORTENED
            .iter()
            .fold(rules, |rules, (long, short)| rules.replace(long, short));
        write_file(&folder, "rules.yml", &shortened);
        let capture = "export --from fixtures/captures/capped-3000.txt --label instance=recorded 5";
        write_file(&folder, "recording.om", &blkstat(capture).run().out);
        let blocks = [
            "tsdb",
            "create-blocks-from",
            "openmetrics",
            &file("recording.om"),
            &file("data"),
        ];
        promtool(&blocks, "");

        let start = Instant::now();
        let (host, same_host) = (AdvancingHost::start(start), AdvancingHost::start(start));
        let exporter = Exporter::start(&format!("--root {}", host.root()));
        host.compute_when_read();
        promtool(&["check", "metrics"], exporter.get("/metrics").text());
        let prometheus = Prometheus::start(&folder, &exporter.address);
        let mut json = blkstat(&format!("--json --root {} sda 1", same_host.root()))
            .spawn(Stdio::piped(), Stdio::null());
        same_host.compute_when_read();

        let mut firing = Vec::new();
        while start.elapsed() < ALERT_WAIT
            && !firing.iter().any(|name| name == "BlkstatDiskAtLimit loop0")
        {
            std::thread::sleep(Duration::from_secs(2));
            firing = prometheus.firing();
        }
        assert!(
            firing.iter().any(|name| name == "BlkstatDiskAtLimit loop0"),
            "{firing:?}"
        );
        assert!(start.elapsed() > Duration::from_secs(RATE_S as u64));

        let mut empty: Vec<String> = Vec::new();
        for expression in dashboard_expressions(["20s", "60s"]) {
            if !has_data(&prometheus.query(&expression, None)) {
                empty.push(expression);
            }
        }
        let expressions = prometheus.rule_expressions();
        assert!(expressions.len() >= 5, "{expressions:?}");
        for expression in expressions {
            // The value that is compared with the threshold, which not every rule exceeds.
            let (value, _) = expression.rsplit_once(" > ").unwrap();
            if !has_data(&prometheus.query(value, None)) {
                empty.push(expression);
            }
        }
        assert!(empty.is_empty(), "no data: {empty:#?}");

        // The load was the same all the time.
        let rate = |metric: &str| {
            let result = prometheus.query(
                &format!("rate({metric}{{device=\"sda\"}}[{RATE_S}s])"),
                None,
            );
            result[0]["value"][1]
                .as_str()
                .unwrap()
                .parse::<f64>()
                .unwrap()
        };
        let prometheus_rates: BTreeMap<&str, f64> = [
            ("reads_per_s", rate("blkstat_disk_reads_completed_total")),
            (
                "read_kib_per_s",
                rate("blkstat_disk_read_bytes_total") / 1024.0,
            ),
            (
                "write_kib_per_s",
                rate("blkstat_disk_written_bytes_total") / 1024.0,
            ),
            ("queue", rate("blkstat_disk_io_time_weighted_seconds_total")),
        ]
        .into();
        json.kill().unwrap();
        let lines = BufReader::new(json.stdout.take().unwrap())
            .lines()
            .map_while(Result::ok);
        let lines: Vec<Value> = lines
            .filter_map(|line| serde_json::from_str(&line).ok())
            .collect();
        json.wait().unwrap();
        let last = &lines[lines.len() - RATE_S..];
        for (field, rate) in prometheus_rates {
            let seconds: f64 = last
                .iter()
                .map(|line| line["elapsed_s"].as_f64().unwrap())
                .sum();
            let amount =
                |line: &Value| line[field].as_f64().unwrap() * line["elapsed_s"].as_f64().unwrap();
            let mean = last.iter().map(amount).sum::<f64>() / seconds;
            assert!(
                (rate / mean - 1.0).abs() < RATE_TOLERANCE,
                "{field}: {rate} and {mean}"
            );
        }
        assert!(
            (rate("blkstat_disk_reads_completed_total") / READS_PER_S as f64 - 1.0).abs() < 0.05
        );
        let limit = "blkstat_disk_limit_bytes_per_second{source=\"cgroup\"}";
        let limit = prometheus.query(limit, None);
        assert_eq!(
            (&limit[0]["metric"]["device"], &limit[0]["value"][1]),
            (&"sda".into(), &WRITE_LIMIT_BYTES.to_string().into())
        );

        let recorded =
            "rate(blkstat_disk_reads_completed_total{instance=\"recorded\",device=\"loop0\"}[30s])";
        let result = prometheus.query(recorded, Some(CAPTURE_TIME));
        let rate: f64 = result[0]["value"][1].as_str().unwrap().parse().unwrap();
        assert!((2700.0..3100.0).contains(&rate), "{rate}");
        let capped = "blkstat_disk_verdict_seconds_total{instance=\"recorded\",verdict=\"capped\",device=\"loop0\"}";
        assert!(has_data(&prometheus.query(capped, Some(CAPTURE_TIME))));
    }

    /// Rules for node_exporter in public collections, or what is often advised, with the prefix of blkstat's metrics: their
    /// names, expressions and the minutes for which they must be true.
    const PUBLIC_RULES: [(&str, &str, usize); 5] = [
        (
            "NodeDiskIOSaturation (queue > 10)",
            "rate(blkstat_disk_io_time_weighted_seconds_total[5m]) > 10",
            30,
        ),
        (
            "HostUnusualDiskReadLatency (> 100 ms)",
            "rate(blkstat_disk_read_time_seconds_total[1m]) / rate(blkstat_disk_reads_completed_total[1m]) > 0.1 \
             and rate(blkstat_disk_reads_completed_total[1m]) > 0",
            2,
        ),
        (
            "HostUnusualDiskWriteLatency (> 100 ms)",
            "rate(blkstat_disk_write_time_seconds_total[1m]) / rate(blkstat_disk_writes_completed_total[1m]) > 0.1 \
             and rate(blkstat_disk_writes_completed_total[1m]) > 0",
            2,
        ),
        (
            "HostUnusualDiskIo (util > 80%)",
            "rate(blkstat_disk_io_time_seconds_total[5m]) > 0.8",
            5,
        ),
        (
            "await > 20 ms",
            "(rate(blkstat_disk_read_time_seconds_total[5m]) + rate(blkstat_disk_write_time_seconds_total[5m])) \
             / (rate(blkstat_disk_reads_completed_total[5m]) + rate(blkstat_disk_writes_completed_total[5m])) > 0.02",
            5,
        ),
    ];

    #[test]
    fn the_rules_name_the_slow_disks_and_the_slow_rack_of_a_fleet() {
        let Some(folder) = Prometheus::folder() else {
            return;
        };
        let number = |name: &str, default: usize| {
            std::env::var(name)
                .ok()
                .and_then(|text| text.parse().ok())
                .unwrap_or(default)
        };
        let (hosts, disks) = (
            number("BLKSTAT_FLEET_HOSTS", 24),
            number("BLKSTAT_FLEET_DISKS", 12),
        );
        let minutes = 60 * number("BLKSTAT_FLEET_HOURS", 2);
        let rules = blkstat("export --print peer-rules").run().out;
        write_file(&folder, "peers.yml", &rules);
        promtool(
            &[
                "check",
                "rules",
                &folder.path().join("peers.yml").display().to_string(),
            ],
            "",
        );
        let mut fleet = Fleet::new(hosts, disks, minutes);
        fleet.import(&folder);
        fleet.record(&folder, &rules);
        let prometheus = Prometheus::start_without_rules(&folder);
        let print = |name: &str, named: &BTreeSet<(usize, String)>| {
            let counts = [
                Truth::Slow,
                Truth::InSlowRack,
                Truth::Loaded,
                Truth::Healthy,
            ]
            .map(|truth| {
                let of = |disk: &&Disk| named.contains(&(disk.host, disk.name.clone()));
                format!(
                    "{truth:?} {} of {}",
                    fleet.with(truth).filter(of).count(),
                    fleet.with(truth).count()
                )
            });
            println!("{name}: {}", counts.join(", "));
        };
        let alert =
            |name: &str| rule_expression(rules.split_once(&format!("alert: {name}\n")).unwrap().1);
        let slow: BTreeSet<_> = fleet
            .with(Truth::Slow)
            .map(|disk| (disk.host, disk.name.clone()))
            .collect();
        assert!(!slow.is_empty());
        let named = fleet.named(&prometheus, &alert("BlkstatDiskSlowerThanPeers"), 15);
        print("BlkstatDiskSlowerThanPeers", &named);
        assert_eq!(named, slow);
        let rack: BTreeSet<_> = fleet
            .with(Truth::InSlowRack)
            .map(|disk| (disk.host, String::new()))
            .collect();
        // A host of the rack that also has more load than others is not told from one that is only loaded.
        let named = fleet.named(&prometheus, &alert("BlkstatHostSlowerThanFleet"), 15);
        println!(
            "BlkstatHostSlowerThanFleet: {} of {} hosts of the rack",
            named.len(),
            rack.len()
        );
        assert!(!named.is_empty() && named.is_subset(&rack), "{named:?}");
        let expressions = rules.split("\n      - ").skip(1).map(rule_expression);
        let times: Vec<f64> = expressions
            .map(|expression| fleet.query_s(&prometheus, &expression))
            .collect();
        println!(
            "seconds of the rules, {:.2} together: {times:.2?}",
            times.iter().sum::<f64>()
        );
        for (name, expression, holds) in PUBLIC_RULES {
            print(name, &fleet.named(&prometheus, expression, holds));
        }
        let expressions = dashboard_expressions(["5m", "1h"]);
        let times: Vec<f64> = expressions
            .iter()
            .map(|query| fleet.hour_s(&prometheus, query))
            .collect();
        println!("seconds of an hour of the dashboard's panels: {times:.2?}");
    }
}
