//! The arguments of `blkstat export`.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::command::Operand;
use super::native::VerdictArguments;
use super::operands::{parse_interval, parse_schedule};
use super::range::RangeArguments;
use crate::intervals::{DeviceScope, DeviceSelection, Input};
use crate::plan::{Export, ExportTarget, Plan, Textfile};
use crate::report::prometheus::{ALERT_RULES, ALERT_TESTS, DASHBOARD};
use crate::source::ScanScope;

/// The operands of `export`, for the help.
pub(super) const OPERANDS: &[Operand] =
    &[("[INTERVAL]", "Time between samples (default 1 s), or with --from between points (default 15 s)")];

/// The default time between points of a recording, and between versions of a text file.
const DEFAULT_EVERY: Duration = Duration::from_secs(15);

const NO_TARGET: &str = "nothing to export to; use --listen PORT to serve metrics at http://127.0.0.1:PORT/metrics, --textfile FILE.prom \
                         for node_exporter, or --from FILE to convert a recording";

#[derive(Args)]
#[command(
    override_usage = "blkstat export [OPTIONS] [INTERVAL]",
    after_help = "Nothing listens without --listen. --listen and --textfile can be combined."
)]
pub(super) struct ExportArguments {
    // Completion scripts show these words; --help shows OPERANDS.
    /// Time between samples, or with --from between points
    #[arg(hide = true, allow_negative_numbers = true)]
    interval: Option<String>,
    // No doc comment: rustdoc would take the brackets for a link.
    #[arg(
        long,
        value_name = "[ADDR:]PORT",
        value_parser = listen_address,
        help = "Serve metrics over HTTP: PORT, ADDR:PORT or [ADDR]:PORT (default address 127.0.0.1; port 0 is any free one)"
    )]
    listen: Option<SocketAddr>,
    /// Keep FILE up to date for node_exporter's textfile collector; its name must end in .prom
    #[arg(long, value_name = "FILE", value_parser = textfile_path)]
    textfile: Option<PathBuf>,
    /// Time between two versions of the text file (default 15 s)
    #[arg(long, value_name = "TIME", value_parser = duration, requires = "textfile")]
    textfile_every: Option<Duration>,
    /// Print the metrics of a recording with timestamps, for 'promtool tsdb create-blocks-from openmetrics'
    #[arg(long, value_name = "FILE", conflicts_with_all = ["listen", "textfile"])]
    from: Option<PathBuf>,
    /// Add a label to every metric, such as instance=db1:9980; repeatable (with --from)
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    label: Vec<(String, String)>,
    /// Export only this device, by any of its names; repeatable
    #[arg(long, value_name = "DEVICE")]
    device: Vec<String>,
    /// Export only devices whose name matches REGEX
    #[arg(long, value_name = "REGEX")]
    devices_regex: Option<String>,
    /// Include partitions
    #[arg(long)]
    partitions: bool,
    /// Include loop, ram and zram devices that were never used
    #[arg(long)]
    all: bool,
    /// Do not scan cgroups (no time at limits, no verdict 'throttled')
    #[arg(long, conflicts_with = "from")]
    no_who: bool,
    /// Treat warnings about a recording as errors
    #[arg(long)]
    strict: bool,
    /// Print a Grafana dashboard as JSON
    #[arg(long, exclusive = true)]
    dashboard: bool,
    /// Print alert rules for Prometheus
    #[arg(long, exclusive = true)]
    alerts: bool,
    /// Print unit tests of the alert rules, for 'promtool test rules'
    #[arg(long, exclusive = true)]
    alert_tests: bool,
    #[command(flatten)]
    range: RangeArguments,
    #[command(flatten)]
    verdicts: VerdictArguments,
}

impl ExportArguments {
    /// Returns the plan that the arguments request.
    ///
    /// # Errors
    /// A message about an invalid interval, or a missing destination.
    pub(super) fn plan(
        self,
        root: PathBuf,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Plan, String> {
        if self.dashboard {
            return Ok(Plan::Print(DASHBOARD.as_bytes().to_vec()));
        }
        if self.alerts || self.alert_tests {
            let text = if self.alerts { ALERT_RULES } else { ALERT_TESTS };
            return Ok(Plan::Print(text.as_bytes().to_vec()));
        }
        // clap does not require --from if another option excludes it.
        if self.from.is_none() && (self.strict || !self.label.is_empty()) {
            let option = if self.strict { "--strict" } else { "--label" };
            return Err(format!("{option} needs --from FILE"));
        }
        if let Some(name) = repeated_name(&self.label) {
            return Err(format!("--label {name} is given more than once"));
        }
        let is_name = |word: &String| word.starts_with(|c: char| c.is_ascii_alphabetic());
        if let Some(word) = self.interval.as_ref().filter(|word| is_name(word)) {
            return Err(format!("unexpected '{word}'; name devices with --device"));
        }
        let interval = parse_schedule(self.interval.as_ref(), None)?.interval;
        let is_replay = self.from.is_some();
        let target = match (is_replay, self.listen, self.textfile) {
            (true, ..) => {
                ExportTarget::Backfill { every: interval.unwrap_or(DEFAULT_EVERY), labels: self.label }
            }
            (false, None, None) => return Err(NO_TARGET.to_owned()),
            (false, listen, path) => {
                let every = self.textfile_every.unwrap_or(DEFAULT_EVERY);
                ExportTarget::Live { listen, textfile: path.map(|path| Textfile { path, every }) }
            }
        };
        let input = Input {
            range: self.range.range(is_replay, environment)?,
            from: self.from,
            root,
            interval: interval.filter(|_| !is_replay),
            strict: self.strict,
            scans_io: !is_replay && !self.no_who,
            scan_scope: ScanScope::Limits,
            single_samples: true,
            ..Input::default()
        };
        let selection = DeviceSelection {
            devices: self.device,
            regex: self.devices_regex,
            partitions: self.partitions,
            all: true,
            total: false,
        };
        Ok(Plan::Export(Box::new(Export {
            verdicts: self.verdicts.options(&input, environment),
            input,
            selection,
            scope: DeviceScope { partitions: self.partitions, unused: self.all },
            target,
        })))
    }
}

/// Parses an address with its port, or a port of 127.0.0.1.
fn listen_address(word: &str) -> Result<SocketAddr, String> {
    let port = word.strip_prefix(':').unwrap_or(word).parse::<u16>();
    if let Ok(port) = port {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    let word =
        word.strip_prefix("localhost:").map_or_else(|| word.to_owned(), |port| format!("127.0.0.1:{port}"));
    word.parse().map_err(|_| {
        "expected a port, or an IP address and a port, such as 9980, 0.0.0.0:9980 or [::]:9980".to_owned()
    })
}

/// Parses the path of a file that node_exporter reads.
fn textfile_path(word: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(word);
    let is_read = path.extension().is_some_and(|extension| extension == "prom");
    is_read
        .then_some(path)
        .ok_or_else(|| "node_exporter reads only files whose names end in .prom".to_owned())
}

fn duration(word: &str) -> Result<Duration, String> {
    parse_interval(word).map_err(|message| message.replace("INTERVAL", "TIME"))
}

/// Parses a label, whose name Prometheus must accept.
fn label(word: &str) -> Result<(String, String), String> {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_name = |name: &str| {
        name.starts_with(is_first)
            && !name.starts_with("__")
            && name.chars().all(|c| is_first(c) || c.is_ascii_digit())
    };
    let (name, value) = word
        .split_once('=')
        .filter(|(name, _)| is_name(name))
        .ok_or("expected NAME=VALUE, such as instance=db1")?;
    if OWN_LABELS.contains(&name) {
        return Err(format!("the metrics already have a label '{name}'"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// Returns a name that several labels have; Prometheus refuses such metrics.
fn repeated_name(labels: &[(String, String)]) -> Option<&str> {
    let mut names = HashSet::new();
    labels.iter().map(|(name, _)| name.as_str()).find(|name| !names.insert(*name))
}

/// The labels that metrics have themselves.
const OWN_LABELS: [&str; 14] = [
    "device",
    "name",
    "kind",
    "role",
    "model",
    "serial",
    "identity",
    "verdict",
    "direction",
    "source",
    "le",
    "cgroup",
    "version",
    "quantile",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_an_address_only_this_host_is_served() {
        let parsed = |word| listen_address(word).map(|address| address.to_string());
        for (word, address) in [
            ("9980", "127.0.0.1:9980"),
            (":9980", "127.0.0.1:9980"),
            ("localhost:1", "127.0.0.1:1"),
            ("0.0.0.0:9980", "0.0.0.0:9980"),
            ("[::]:9980", "[::]:9980"),
        ] {
            assert_eq!(parsed(word).as_deref(), Ok(address), "{word}");
        }
        for word in ["", ":", "x", "99999", "1.2.3.4", "example.com:80", "::1:80x", "-1"] {
            assert!(parsed(word).is_err(), "{word}");
        }
    }

    #[test]
    fn a_label_has_a_name_of_its_own() {
        assert_eq!(label("instance=db=1"), Ok(("instance".into(), "db=1".into())));
        for word in ["instance", "=x", "1a=x", "__name__=x", "a-b=x", "device=sda", "le=1"] {
            assert!(label(word).is_err(), "{word}");
        }
        let labels = |words: [&str; 3]| words.map(|word| label(word).unwrap());
        assert_eq!(repeated_name(&labels(["a=1", "b=1", "A=1"])), None);
        assert_eq!(repeated_name(&labels(["a=1", "b=1", "a=2"])), Some("a"));
    }

    #[test]
    fn node_exporter_must_be_able_to_find_the_file() {
        assert!(textfile_path("/var/lib/x/blkstat.prom").is_ok());
        for word in ["/var/lib/x", "x.prom.new", ".prom", "x.txt"] {
            assert!(textfile_path(word).is_err(), "{word}");
        }
    }
}
