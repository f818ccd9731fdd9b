//! A running Prometheus, and promtool.

use std::fmt::Write as _;
use std::io::Write;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;
use tempfile::TempDir;

use crate::support::http::request;

/// The longest wait until Prometheus is ready.
const READY_WAIT: Duration = Duration::from_secs(60);

/// A running Prometheus, which ends when this is dropped.
pub(crate) struct Prometheus {
    child: Child,
    pub(crate) address: String,
}

impl Prometheus {
    /// Returns a folder for its files; `None`, after a message, where it cannot run.
    ///
    /// # Panics
    /// If it cannot run although BLKSTAT_PROMETHEUS=required.
    pub(crate) fn folder() -> Option<TempDir> {
        let wish = std::env::var("BLKSTAT_PROMETHEUS").unwrap_or_default();
        let has = |program: &str| {
            let mut version = Command::new(program);
            version
                .arg("--version")
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status()
                .is_ok_and(|status| status.success())
        };
        let missing = ["prometheus", "promtool"]
            .into_iter()
            .find(|program| !has(program));
        if wish.is_empty() {
            eprintln!("skipped: BLKSTAT_PROMETHEUS is not set");
            return None;
        }
        if let Some(missing) = missing {
            assert_ne!(
                wish, "required",
                "BLKSTAT_PROMETHEUS=required, but {missing} is missing"
            );
            eprintln!("skipped: {missing} is missing");
            return None;
        }
        Some(tempfile::tempdir().unwrap())
    }

    /// Starts it with the rules and the data in the folder, scraping one target every second.
    pub(crate) fn start(folder: &TempDir, target: &str) -> Self {
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [rules.yml]\nscrape_configs:\n  \
             - {{job_name: blkstat, static_configs: [{{targets: ['{target}']}}]}}\n"
        );
        Self::start_with(folder, &config)
    }

    /// Starts it with the data in the folder, which it leaves as they are.
    pub(crate) fn start_without_rules(folder: &TempDir) -> Self {
        Self::start_with(folder, "global: {scrape_interval: 1h}\n")
    }

    fn start_with(folder: &TempDir, config: &str) -> Self {
        write_file(folder, "prometheus.yml", config);
        // A port that was free a moment ago.
        let address = TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap()
            .to_string();
        let child = Command::new("prometheus")
            .current_dir(folder)
            .args([
                "--config.file=prometheus.yml",
                "--storage.tsdb.path=data",
                "--storage.tsdb.retention.time=100y",
                "--storage.tsdb.max-block-duration=2h",
                "--query.max-samples=500000000",
                "--query.timeout=1h",
            ])
            .args([
                &format!("--web.listen-address={address}"),
                "--log.level=error",
            ])
            .spawn()
            .unwrap();
        let prometheus = Self { child, address };
        let start = Instant::now();
        while !prometheus.is_ready() {
            assert!(start.elapsed() < READY_WAIT, "Prometheus is not ready");
            std::thread::sleep(Duration::from_millis(200));
        }
        prometheus
    }

    fn is_ready(&self) -> bool {
        std::net::TcpStream::connect(&self.address).is_ok()
            && request(&self.address, "GET", "/-/ready", "").status == 200
    }

    /// Returns the result of a query, now or at a time in seconds.
    ///
    /// # Panics
    /// If the query is not valid.
    pub(crate) fn query(&self, expression: &str, time: Option<&str>) -> Vec<Value> {
        let mut path = format!("/api/v1/query?query={}", percent_encoded(expression));
        if let Some(time) = time {
            write!(path, "&time={time}").unwrap();
        }
        let answer = self.get(&path);
        answer["data"]["result"]
            .as_array()
            .unwrap_or_else(|| panic!("{expression}: {answer}"))
            .clone()
    }

    /// Returns the series of a query from one time to another, in seconds.
    ///
    /// # Panics
    /// If the query is not valid.
    pub(crate) fn query_range(
        &self,
        expression: &str,
        [start, end]: [usize; 2],
        step_s: usize,
    ) -> Vec<Value> {
        let query = percent_encoded(expression);
        let path =
            format!("/api/v1/query_range?query={query}&start={start}&end={end}&step={step_s}");
        let answer = self.get(&path);
        answer["data"]["result"]
            .as_array()
            .unwrap_or_else(|| panic!("{expression}: {answer}"))
            .clone()
    }

    /// Returns the expressions of all rules.
    pub(crate) fn rule_expressions(&self) -> Vec<String> {
        let answer = self.get("/api/v1/rules");
        let rules = answer["data"]["groups"][0]["rules"]
            .as_array()
            .unwrap()
            .iter();
        rules
            .map(|rule| rule["query"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Returns the alerts that fire: their names and devices.
    pub(crate) fn firing(&self) -> Vec<String> {
        let answer = self.get("/api/v1/alerts");
        let alerts = answer["data"]["alerts"].as_array().unwrap().iter();
        let label = |alert: &Value, name: &str| {
            alert["labels"][name]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let firing = alerts.filter(|alert| alert["state"] == "firing");
        firing
            .map(|alert| {
                ["alertname", "device"]
                    .map(|name| label(alert, name))
                    .join(" ")
            })
            .collect()
    }

    fn get(&self, path: &str) -> Value {
        let answer = request(&self.address, "GET", path, "");
        serde_json::from_slice(&answer.body).unwrap_or_else(|_| panic!("{path}: {}", answer.head))
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs promtool on an input.
///
/// # Panics
/// If it finds anything wrong.
pub(crate) fn promtool(arguments: &[&str], input: &str) {
    let mut child = Command::new("promtool")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(input.as_bytes())
        .unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "promtool {arguments:?}: {text}");
}

pub(crate) fn write_file(folder: &TempDir, name: &str, text: &str) {
    std::fs::write(folder.path().join(name), text).unwrap();
}

fn percent_encoded(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02X}")).collect()
}
