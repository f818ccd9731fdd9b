//! A fleet of hosts with disks of known truth, and the disks that rules name.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use tempfile::TempDir;

use crate::server::write_file;
use crate::support::random_numbers::Rng;

/// The minutes that are simulated, and after which alerts are looked at for the first time and every so often.
const MINUTES: usize = 120;
const FIRST_LOOK: usize = 50;
const LOOK_EVERY: usize = 10;
/// Every so many hosts, one is in the rack whose disks are all slow.
const HOSTS_PER_RACK: usize = 8;

/// What is true of a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Truth {
    Healthy,
    /// Requests take longer than on its peers.
    Slow,
    /// It gets more requests than its peers, which wait for each other.
    Loaded,
    /// All disks of the rack are slow.
    InSlowRack,
}

pub(crate) struct Disk {
    pub(crate) host: usize,
    pub(crate) name: String,
    truth: Truth,
}

pub(crate) struct Fleet {
    disks: Vec<Disk>,
    series: String,
}

impl Fleet {
    /// Simulates hosts, each with as many disks: one disk of 200 is slow, one of 50 is loaded, and the first rack is slow.
    /// The metrics are named with a prefix such as `node_disk_`.
    pub(crate) fn new(hosts: usize, disks_of_host: usize, prefix: &str) -> Self {
        let mut rng = Rng::new(11);
        let mut fleet = Self { disks: Vec::new(), series: String::new() };
        for host in 0..hosts {
            // Hosts differ in load and grow over the day; the disks of one host hardly do.
            let host_load = rng.factor(0.5);
            for disk in 0..disks_of_host {
                let number = host * disks_of_host + disk;
                let truth = match number {
                    _ if host < hosts / HOSTS_PER_RACK => Truth::InSlowRack,
                    _ if number % 200 == 67 => Truth::Slow,
                    _ if number % 50 == 20 => Truth::Loaded,
                    _ => Truth::Healthy,
                };
                let disk = Disk { host, name: format!("nvme{disk}n1"), truth };
                disk.push_series(host_load, prefix, &mut rng, &mut fleet.series);
                fleet.disks.push(disk);
            }
        }
        fleet
    }

    pub(crate) fn with(&self, truth: Truth) -> impl Iterator<Item = &Disk> {
        self.disks.iter().filter(move |disk| disk.truth == truth)
    }

    /// Returns the hosts and devices that an alert named at any time. The device is empty where it names the host.
    pub(crate) fn named(&self, alert: &str, folder: &TempDir, rules: &str) -> BTreeSet<(usize, String)> {
        write_file(folder, "fleet-rules.yml", rules);
        let mut test = format!(
            "rule_files: [fleet-rules.yml]\nevaluation_interval: 1m\ntests:\n- interval: 1m\n  input_series:\n{}  \
             promql_expr_test:\n",
            self.series
        );
        for minute in (FIRST_LOOK..MINUTES).step_by(LOOK_EVERY) {
            let expression = format!(
                "count by (instance, device) (ALERTS{{alertname=\"{alert}\", alertstate=\"firing\"}})"
            );
            writeln!(test, "  - expr: '{expression}'\n    eval_time: {minute}m\n    exp_samples: []")
                .unwrap();
        }
        write_file(folder, "fleet.yml", &test);
        // It fails where an alert fires, and prints what fires.
        let output = Command::new("promtool")
            .args(["test", "rules"])
            .arg(folder.path().join("fleet.yml"))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() || text.contains("got:"), "{text}");
        fs::remove_file(folder.path().join("fleet.yml")).unwrap();
        let label = |labels: &str, name: &str| {
            let value = labels.split(&format!("{name}=\"")).nth(1)?;
            value.split('"').next().map(str::to_owned)
        };
        let named = text.split('{').filter_map(|labels| {
            let host = label(labels.split('}').next()?, "instance")?.strip_prefix("host")?.parse().ok()?;
            Some((host, label(labels, "device").unwrap_or_default()))
        });
        named.collect()
    }
}

impl Disk {
    fn push_series(&self, host_load: f64, prefix: &str, rng: &mut Rng, text: &mut String) {
        let Self { host, name, truth } = self;
        let labels = format!("instance=\"host{host}\",device=\"{name}\"");
        let mut push = |name: &str, labels: &str, values: &[f64]| {
            let values: Vec<String> = values.iter().map(|value| format!("{value:.3}")).collect();
            writeln!(text, "  - series: '{prefix}{name}{{{labels}}}'\n    values: '{}'", values.join(" "))
                .unwrap();
        };
        let role = if prefix.starts_with("blkstat") { ",role=\"physical\"" } else { "" };
        push("info", &format!("{labels},model=\"M1\"{role}"), &[1.0; MINUTES]);
        let (rate_factor, latency_factor) = match truth {
            Truth::Healthy => (1.0, 1.0),
            Truth::Slow => (1.0, 2.5),
            Truth::Loaded => (2.5, 6.0),
            Truth::InSlowRack => (1.0, 2.0),
        };
        let mut weighted = vec![0.0; MINUTES];
        let mut busy = vec![0.0; MINUTES];
        for (requests, bytes, time, rate, size, latency) in [
            ("reads_completed_total", "read_bytes_total", "read_time_seconds_total", 300.0, 16384.0, 0.0005),
            (
                "writes_completed_total",
                "written_bytes_total",
                "write_time_seconds_total",
                150.0,
                32768.0,
                0.0008,
            ),
        ] {
            let rate = rate * host_load * rate_factor * rng.factor(0.05);
            let latency = latency * latency_factor * rng.factor(0.04);
            let [mut counts, mut sizes, mut times] = [(); 3].map(|()| Vec::with_capacity(MINUTES));
            let (mut count, mut time_s) = (1e6, 1e3);
            for minute in 0..MINUTES {
                let wave = 1.0 + 0.3 * (minute as f64 / 40.0).sin();
                let requests = rate * wave * 60.0 * rng.factor(0.08);
                let taken_s = requests * latency * rng.factor(0.08);
                count += requests;
                time_s += taken_s;
                counts.push(count);
                sizes.push(count * size);
                times.push(time_s);
                weighted[minute] += taken_s;
                busy[minute] += taken_s.min(60.0);
            }
            push(requests, &labels, &counts);
            push(bytes, &labels, &sizes);
            push(time, &labels, &times);
        }
        let sums = |values: &[f64], limit: f64| -> Vec<f64> {
            let mut sum = 0.0;
            let add = |value: &f64| {
                sum += value.min(limit);
                sum
            };
            values.iter().map(add).collect()
        };
        push("io_time_weighted_seconds_total", &labels, &sums(&weighted, f64::INFINITY));
        push("io_time_seconds_total", &labels, &sums(&busy, 60.0));
    }
}
