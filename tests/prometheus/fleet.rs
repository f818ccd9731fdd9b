//! A fleet of hosts with disks of known truth in a real Prometheus, and the disks that rules name there.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{BufWriter, Write as _};
use std::time::Instant;

use tempfile::TempDir;

use crate::server::{Prometheus, promtool, write_file};
use crate::support::random::Random;

/// A whole multiple of two hours, as blocks of Prometheus begin.
const START_S: usize = 1_699_999_200;
const STEP_S: usize = 60;
/// The begin of the names of the metrics.
const PREFIX: &str = "blkstat_disk_";
/// Minutes that are simulated, imported and queried at a time: those of a block.
const CHUNK: usize = 120;
/// Minutes of a window in which rules are evaluated. The latest alert comes after 23: eight of its ratio, and fifteen more.
const WINDOW: usize = 48;
/// Every so many hosts, one is in the rack whose disks are all slow.
const HOSTS_PER_RACK: usize = 50;
/// The info metric is written every so many minutes; Prometheus remembers a sample for five.
const INFO_EVERY: usize = 4;

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

/// Requests of one direction: those per second and their latency when nothing happens, and the counters so far.
struct Requests {
    names: [&'static str; 3],
    rate: f64,
    bytes: f64,
    latency_s: f64,
    count: f64,
    time_s: f64,
}

pub(crate) struct Disk {
    pub(crate) host: usize,
    pub(crate) name: String,
    truth: Truth,
    model: &'static str,
    rng: Random,
    requests: [Requests; 2],
    weighted_s: f64,
    busy_s: f64,
    /// Minutes for which the disk is still busy with itself, as with the collection of garbage.
    hiccup: u32,
}

pub(crate) struct Fleet {
    disks: Vec<Disk>,
    minutes: usize,
}

impl Fleet {
    /// Makes hosts, each with as many disks of one kind, which is flash or hard disks: one disk of 600 is slow, one of 50
    /// is loaded, and the first rack is slow.
    pub(crate) fn new(hosts: usize, disks_of_host: usize, minutes: usize) -> Self {
        let mut rng = Random(11);
        let mut disks = Vec::new();
        for host in 0..hosts {
            // Hosts differ in load; the disks of one host hardly do.
            let host_load = rng.factor(0.5);
            for disk in 0..disks_of_host {
                let number = host * disks_of_host + disk;
                let truth = match number {
                    _ if host < (hosts / HOSTS_PER_RACK).max(2) => Truth::InSlowRack,
                    _ if number % 600 == 67 => Truth::Slow,
                    _ if number % 50 == 20 => Truth::Loaded,
                    _ => Truth::Healthy,
                };
                disks.push(Disk::new(host, disk, truth, host_load, &mut rng));
            }
        }
        Self { disks, minutes }
    }

    pub(crate) fn with(&self, truth: Truth) -> impl Iterator<Item = &Disk> {
        self.disks.iter().filter(move |disk| disk.truth == truth)
    }

    /// Simulates the time and lets promtool make blocks of the data.
    pub(crate) fn import(&mut self, folder: &TempDir) {
        let path = folder.path().join("fleet.om");
        let (text_path, data) = (
            path.display().to_string(),
            folder.path().join("data").display().to_string(),
        );
        for first in (0..self.minutes).step_by(CHUNK) {
            let mut file = BufWriter::new(File::create(&path).unwrap());
            let mut text = String::new();
            for disk in &mut self.disks {
                text.clear();
                disk.push_samples(first, CHUNK.min(self.minutes - first), &mut text);
                file.write_all(text.as_bytes()).unwrap();
            }
            file.write_all(b"# EOF\n").unwrap();
            drop(file);
            promtool(
                &[
                    "tsdb",
                    "create-blocks-from",
                    "openmetrics",
                    "--quiet",
                    &text_path,
                    &data,
                ],
                "",
            );
            fs::remove_file(&path).unwrap();
        }
    }

    /// The first and the last minute of the times at which rules are evaluated: all, or of a longer time the last ones of
    /// each quarter.
    fn windows(&self) -> Vec<[usize; 2]> {
        if self.minutes <= CHUNK {
            return vec![[0, self.minutes - 1]];
        }
        (1..=4)
            .map(|quarter| self.minutes * quarter / 4)
            .map(|end| [end - WINDOW, end - 1])
            .collect()
    }

    /// Records the rules that alerts need, those of one level after those of the level below.
    pub(crate) fn record(&self, folder: &TempDir, rules: &str) {
        let records = rules
            .split("\n      - ")
            .filter(|rule| rule.starts_with("record: "));
        let records: Vec<&str> = records.collect();
        for level in [":rate5m\n", ":median\n", ":ratio\n"] {
            let mut text = "groups:\n  - name: level\n    rules:\n".to_owned();
            for rule in records.iter().filter(|rule| rule.contains(level)) {
                // The next group follows the last rule of a group.
                let rule = rule.split("\n  - name:").next().unwrap();
                writeln!(text, "      - {rule}").unwrap();
            }
            write_file(folder, "level.yml", &text);
            let prometheus = Prometheus::start_without_rules(folder);
            let url = format!("--url=http://{}", prometheus.address);
            let [output, file] =
                ["data", "level.yml"].map(|name| folder.path().join(name).display().to_string());
            let output = format!("--output-dir={output}");
            for window in self.windows() {
                let [start, end] = window.map(|minute| START_S + minute * STEP_S);
                let (start, end) = (format!("--start={start}"), format!("--end={end}"));
                promtool(
                    &[
                        "tsdb",
                        "create-blocks-from",
                        "rules",
                        &url,
                        &start,
                        &end,
                        &output,
                        &file,
                    ],
                    "",
                );
            }
        }
    }

    /// Returns the hosts and devices for which an expression was true for so many minutes without a gap. The device is
    /// empty where it names the host.
    pub(crate) fn named(
        &self,
        prometheus: &Prometheus,
        expression: &str,
        minutes: usize,
    ) -> BTreeSet<(usize, String)> {
        let mut runs = BTreeMap::<_, (usize, usize)>::new();
        let mut named = BTreeSet::new();
        for window in self.windows() {
            let times = window.map(|minute| START_S + minute * STEP_S);
            for series in prometheus.query_range(expression, times, STEP_S) {
                let label = |name: &str| {
                    series["metric"][name]
                        .as_str()
                        .unwrap_or_default()
                        .to_owned()
                };
                let host: usize = label("instance")
                    .strip_prefix("host")
                    .unwrap()
                    .parse()
                    .unwrap();
                let of = (host, label("device"));
                for value in series["values"].as_array().unwrap() {
                    let minute = (value[0].as_f64().unwrap() as usize - START_S) / STEP_S;
                    let key = (of.clone(), label("direction"));
                    let run = runs.entry(key).or_insert((minute, minute));
                    if minute > run.1 + 1 {
                        run.0 = minute;
                    }
                    run.1 = minute;
                    if minute - run.0 >= minutes {
                        named.insert(of.clone());
                    }
                }
            }
        }
        named
    }

    /// Returns the seconds that Prometheus takes for the value of an expression at the end of the time.
    pub(crate) fn query_s(&self, prometheus: &Prometheus, expression: &str) -> f64 {
        let start = Instant::now();
        prometheus.query(
            expression,
            Some(&(START_S + (self.minutes - 1) * STEP_S).to_string()),
        );
        start.elapsed().as_secs_f64()
    }

    /// Returns the seconds that Prometheus takes for the last hour of an expression, as a dashboard shows it.
    pub(crate) fn hour_s(&self, prometheus: &Prometheus, expression: &str) -> f64 {
        let start = Instant::now();
        let end = START_S + (self.minutes - 1) * STEP_S;
        prometheus.query_range(expression, [end - 3600, end], STEP_S);
        start.elapsed().as_secs_f64()
    }
}

/// The lines of a rule from its expression on, as one line; `rule` begins where its name does.
pub(crate) fn rule_expression(rule: &str) -> String {
    let text = rule.split_once("expr:").unwrap().1;
    // The expression is all lines that are indented deeper than its key.
    let mut lines = text.trim_start_matches([' ', '>', '-', '\n']).lines();
    let first = lines.next().unwrap().to_owned();
    let rest = lines.take_while(|line| line.starts_with("          "));
    rest.fold(first, |text, line| text + " " + line.trim())
}

impl Disk {
    fn new(host: usize, number: usize, truth: Truth, host_load: f64, rng: &mut Random) -> Self {
        let (rate_factor, latency_factor) = match truth {
            Truth::Healthy => (1.0, 1.0),
            Truth::Slow => (1.0, 2.5),
            Truth::Loaded => (2.5, 6.0),
            Truth::InSlowRack => (1.0, 2.0),
        };
        let is_flash = host.is_multiple_of(2);
        let mut requests = |names, [rate, bytes, latency_s]: [f64; 3]| Requests {
            names,
            rate: rate * host_load * rate_factor * rng.factor(0.05),
            bytes,
            latency_s: latency_s * latency_factor * rng.factor(0.04),
            count: 1e6,
            time_s: 1e3,
        };
        let reads = [
            "reads_completed_total",
            "read_bytes_total",
            "read_time_seconds_total",
        ];
        let writes = [
            "writes_completed_total",
            "written_bytes_total",
            "write_time_seconds_total",
        ];
        let (read, write) = if is_flash {
            ([300.0, 16384.0, 0.0005], [150.0, 32768.0, 0.0008])
        } else {
            ([30.0, 65536.0, 0.008], [15.0, 131_072.0, 0.006])
        };
        let requests = [requests(reads, read), requests(writes, write)];
        Self {
            host,
            name: if is_flash {
                format!("nvme{number}n1")
            } else {
                format!("sd{}", char::from(b'a' + number as u8))
            },
            truth,
            model: if is_flash { "F1" } else { "H1" },
            rng: Random(rng.below(1 << 40)),
            requests,
            weighted_s: 0.0,
            busy_s: 0.0,
            hiccup: 0,
        }
    }

    /// Simulates minutes and appends the metrics at their ends.
    fn push_samples(&mut self, first: usize, minutes: usize, text: &mut String) {
        let mut lines: [String; 8] = Default::default();
        let labels = format!(
            "{{instance=\"host{}\",device=\"{}\"}}",
            self.host, self.name
        );
        for minute in first..first + minutes {
            let time = START_S + minute * STEP_S;
            let wave =
                1.0 + 0.4 * (minute as f64 / 229.0).sin() + 0.2 * (minute as f64 / 40.0).sin();
            self.hiccup = if self.rng.one_in(500) {
                3
            } else {
                self.hiccup.saturating_sub(1)
            };
            let hiccup = if self.hiccup > 0 { 5.0 } else { 1.0 };
            let mut queue = 0.0;
            for (requests, lines) in self.requests.iter_mut().zip(lines.chunks_mut(3)) {
                let count = requests.rate * wave * STEP_S as f64 * self.rng.factor(0.08);
                let taken_s = count * requests.latency_s * hiccup * self.rng.factor(0.08);
                requests.count += count;
                requests.time_s += taken_s;
                queue += taken_s / STEP_S as f64;
                let values = [
                    requests.count.floor(),
                    (requests.count * requests.bytes).floor(),
                    requests.time_s,
                ];
                for ((line, name), value) in lines.iter_mut().zip(requests.names).zip(values) {
                    writeln!(line, "{PREFIX}{name}{labels} {value:.3} {time}").unwrap();
                }
            }
            self.weighted_s += queue * STEP_S as f64;
            // Where requests arrive at random, none is there for this part of the time.
            self.busy_s += (1.0 - (-queue).exp()) * STEP_S as f64;
            writeln!(
                lines[6],
                "{PREFIX}io_time_weighted_seconds_total{labels} {:.3} {time}",
                self.weighted_s
            )
            .unwrap();
            writeln!(
                lines[7],
                "{PREFIX}io_time_seconds_total{labels} {:.3} {time}",
                self.busy_s
            )
            .unwrap();
            if minute.is_multiple_of(INFO_EVERY) {
                let labels = labels.trim_end_matches('}');
                writeln!(
                    text,
                    "{PREFIX}info{labels},model=\"{}\",role=\"physical\"}} 1 {time}",
                    self.model
                )
                .unwrap();
            }
        }
        text.extend(lines);
    }
}
