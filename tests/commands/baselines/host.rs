//! A host with one disk, whose load and identity the test sets.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use blkstat::clock::WaitOutcome;
use blkstat::commands::{Plan, plan};
use blkstat::exit::Exit;
use jiff::Timestamp;

use crate::support::clock::ManualClock;
use crate::support::fake_root::FakeRoot;
use crate::support::in_process::of_plan;
use crate::support::text::json_lines;
use crate::synthetic::reads_line;

/// The load of a device in an interval of one second: 4 KiB reads per second, and their latency in milliseconds.
pub(crate) type Load = (f64, f64);

/// Loads on an unloaded and on a busy device.
pub(crate) const LIGHT: Load = (1000.0, 0.1);
pub(crate) const HEAVY: Load = (8000.0, 0.8);

/// An invented host with one disk at a time.
pub(crate) struct Host {
    pub(crate) root: FakeRoot,
}

impl Host {
    /// Creates a host whose disk has a name and a WWID.
    pub(crate) fn new(name: &str, wwid: &str) -> Self {
        let host = Self {
            root: FakeRoot::new(),
        };
        host.set_wwid(name, wwid);
        host
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().join(name)
    }

    pub(crate) fn set_wwid(&self, name: &str, wwid: &str) {
        self.root
            .file(&format!("sys/block/{name}/device/wwid"), wwid);
    }

    /// Writes the counters of the disk after these intervals.
    pub(crate) fn load(&self, name: &str, loads: &[Load]) {
        let ios = loads.iter().map(|(rate, _)| rate).sum::<f64>() as u64;
        let ms = loads
            .iter()
            .map(|(rate, await_ms)| rate * await_ms)
            .sum::<f64>()
            .round() as u64;
        let in_flight = loads
            .last()
            .map_or(0.0, |(rate, await_ms)| (rate * await_ms / 1000.0).round());
        let busy_ms = 1000 * loads.len() as u64;
        self.root.diskstats(&reads_line(
            &format!("8 0 {name}"),
            ios,
            ms,
            in_flight as u64,
            busy_ms,
        ));
    }

    /// Runs blkstat on the host; `on_wait` changes it before each sample after the first. `saved` is the file with
    /// its baselines.
    pub(crate) fn run(
        &self,
        words: &str,
        saved: Option<&Path>,
        on_wait: impl Fn(usize),
    ) -> (String, String, Exit) {
        let words = format!("blkstat {words} --root {}", self.root.path().display());
        let plan = plan(words.split_whitespace().map(OsString::from), &|_| None);
        let mut plan = plan.unwrap_or_else(|error| panic!("{}", error.message));
        let Plan::Native(_, host) = &mut plan else {
            panic!("{plan:?}")
        };
        assert!(
            host.saved_baselines.is_none(),
            "another root has no saved baselines"
        );
        host.saved_baselines = saved.map(Path::to_owned);
        let clock = ManualClock::new(Timestamp::UNIX_EPOCH, |wait| {
            on_wait(wait as usize);
            WaitOutcome::Due
        });
        of_plan(plan).run(&clock)
    }

    /// Runs blkstat while the disk has a load in each interval.
    pub(crate) fn run_under(
        &self,
        loads: &[Load],
        words: &str,
        saved: Option<&Path>,
    ) -> (String, String, Exit) {
        self.load("sda", &[]);
        self.run(words, saved, |wait| {
            self.load("sda", &loads[..wait.min(loads.len())])
        })
    }
}

/// Returns the read saturation in each line of JSON, to one decimal.
pub(crate) fn saturations(out: &str) -> Vec<Option<f64>> {
    json_lines(out)
        .into_iter()
        .map(|line| {
            line["read_saturation"]
                .as_f64()
                .map(|x| (x * 10.0).round() / 10.0)
        })
        .collect()
}

/// Writes a file of baselines: the key of each device, and milliseconds.
pub(crate) fn save(path: &Path, entries: &[(&str, f64)]) {
    let mut devices = Vec::new();
    for (key, ms) in entries {
        let latency =
            format!(r#"{{"size_kib":4.0,"await_ms":{ms},"queue":0.1,"upper_bound":false}}"#);
        devices.push(format!(r#""{key}":{{"read":[{latency}],"write":[]}}"#));
    }
    fs::write(path, format!("{{\"devices\":{{{}}}}}", devices.join(","))).unwrap();
}
