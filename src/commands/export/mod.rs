//! `blkstat export`: metrics for Prometheus.
//!
//! The main thread samples and publishes a snapshot after each interval. A second thread serves the latest one over
//! HTTP, a third one writes it to a file. Neither can delay sampling: they only take published snapshots.

mod backfill;
mod published;
mod server;
mod textfile;

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};

use self::backfill::Backfill;
use self::published::Published;
use self::server::{Hosts, Server, is_of_this_host};
use self::textfile::TextfileWriter;
use super::follow::{Observer, Run, follow};
use super::hindsight::open_view;
use super::options::{
    ANY_FIRST, FILE_OPERAND, Host, Operand, SourceOptions, VerdictOptions, usage_error,
};
use crate::console::RunContext;
use crate::exit::Exit;
use crate::intervals::{DeviceSelection, IntervalRows};
use crate::report::prometheus::{
    ALERT_RULES, ALERT_TESTS, DASHBOARD, LABELS, PEER_RULES, metrics_text,
};
use crate::sanitize::path_text;
use crate::schedule::DEFAULT_INTERVAL;
use crate::source::{Input, ScanScope};
use crate::totals::{DeviceScope, RunningTotals};

/// The operands of `export`, for the help.
pub(super) const OPERANDS: &[Operand] = &[
    FILE_OPERAND,
    (
        "[DEVICE]...",
        "Export only these devices (default: all that were used)",
    ),
    (
        "[INTERVAL]",
        "Between samples (default 1 s), or points of a recording (15 s)",
    ),
];

/// The default time between points of a recording.
const DEFAULT_EVERY: Duration = Duration::from_secs(15);

/// The time between versions of the text file. Few scrape node_exporter more often, and a file that is written every
/// second would itself be load on a disk.
const TEXTFILE_EVERY: Duration = Duration::from_secs(15);

const NO_TARGET: &str = "nothing to export to; use --listen PORT to serve metrics at http://127.0.0.1:PORT/metrics, --textfile FILE.prom \
                         for node_exporter, --once to print them, or --from FILE to convert a recording";

#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "blkstat export [OPTIONS] [FILE]... [DEVICE]... [INTERVAL]",
    after_help = "Nothing listens without --listen. --listen and --textfile can be combined."
)]
pub struct Export {
    #[command(flatten)]
    source: SourceOptions,
    // No doc comment: rustdoc would take the brackets for a link.
    #[arg(
        long,
        value_name = "[ADDR:]PORT",
        value_parser = listen_address,
        help = "Serve metrics over HTTP on this host only (PORT), or at an address: 0.0.0.0:PORT, [::]:PORT; port 0 is any free one"
    )]
    pub listen: Option<SocketAddr>,
    /// Answer requests for this host name, too; repeatable. By default all names are answered, and only localhost where
    /// only this host is served
    #[arg(long, value_name = "NAME", requires = "listen")]
    allow_host: Vec<String>,
    /// Keep FILE.prom up to date for node_exporter's textfile collector
    #[arg(long, value_name = "FILE", value_parser = textfile_path)]
    pub textfile: Option<PathBuf>,
    /// Print the metrics after one interval, for collectors that run a command
    #[arg(long, conflicts_with_all = ["listen", "textfile", "from"])]
    once: bool,
    /// Add a label to every metric, such as instance=db1:9980; repeatable (with --from)
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    label: Vec<(String, String)>,
    /// Export only devices whose name matches
    #[arg(long, value_name = "REGEX")]
    devices_regex: Option<String>,
    /// Leave out devices whose name matches, such as '^loop'
    #[arg(long, value_name = "REGEX")]
    exclude: Option<String>,
    /// Include partitions
    #[arg(short, long)]
    partitions: bool,
    /// Include loop, ram and zram devices that were never used
    #[arg(short, long)]
    all: bool,
    /// Do not read cgroups (no limits, no verdict 'throttled')
    #[arg(long)]
    no_who: bool,
    /// Print a file for Prometheus or Grafana
    #[arg(long, value_name = "KIND", exclusive = true)]
    print: Option<PrintKind>,
    #[command(flatten)]
    verdicts: VerdictOptions,
}

/// A file that is part of the program.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum PrintKind {
    /// Alert rules for Prometheus
    AlertRules,
    /// Unit tests of the alert rules, for 'promtool test rules'
    AlertTests,
    /// Rules that compare each disk with its peers, and each host with the others
    PeerRules,
    /// A dashboard for Grafana, as JSON
    Dashboard,
}

impl PrintKind {
    fn text(self) -> &'static str {
        match self {
            Self::AlertRules => ALERT_RULES,
            Self::AlertTests => ALERT_TESTS,
            Self::PeerRules => PEER_RULES,
            Self::Dashboard => DASHBOARD,
        }
    }
}

impl Export {
    /// Exports metrics until a signal comes, or those of a recording to its end.
    ///
    /// # Errors
    /// If an argument is invalid, a sample cannot be read, the address cannot be used, or the file cannot be written at
    /// the start.
    pub(super) fn run(&self, host: &Host, context: &mut RunContext<'_>) -> Result<Exit> {
        if let Some(kind) = self.print {
            context.emit(&mut kind.text().into())?;
            return Ok(Exit::Success);
        }
        let (input, devices) = self.source.source(ANY_FIRST, host, context)?;
        self.check(&input).map_err(usage_error)?;
        let interval = input.interval;
        let is_replay = input.from.is_some();
        let input = Input {
            interval: if is_replay { None } else { interval },
            scans_io: input.scans_io && !self.no_who,
            scan_scope: ScanScope::Limits,
            single_samples: true,
            count: self.once.then_some(1),
            ..input
        };
        let selection = DeviceSelection {
            devices,
            regex: self.devices_regex.clone(),
            exclude: self.exclude.clone(),
            partitions: self.partitions,
            all: true,
            total: false,
        };
        let baselines = self
            .verdicts
            .load_baselines(host.baselines_for(&input), context);
        let intervals = open_view(&input, &selection, &baselines, context)?;
        let scope = DeviceScope {
            partitions: self.partitions,
            unused: self.all,
        };
        let totals = RunningTotals::new(scope, self.verdicts.cap);
        if is_replay {
            let every = interval.unwrap_or(DEFAULT_EVERY);
            // If the capture is cut, the first point is the end of the first interval in the range.
            let is_cut = input.range.begin.is_some();
            let mut backfill = Backfill::new(totals, &self.label, every, is_cut);
            return follow(intervals, &mut backfill, context);
        }
        if self.once {
            return follow(intervals, &mut Once { totals }, context);
        }
        // Bind before the first sample: another program may have the address.
        let server = match self.listen {
            Some(address) => Some(Server::bind(address)?),
            None => None,
        };
        let published = Arc::new(Published::new(interval.unwrap_or(DEFAULT_INTERVAL)));
        let mut publisher = Publisher {
            export: self,
            totals,
            published,
            server,
            file: None,
        };
        follow(intervals, &mut publisher, context)
    }

    /// Checks what clap cannot check.
    fn check(&self, input: &Input) -> Result<(), String> {
        let is_live = input.from.is_none();
        let options = [
            ("--strict", input.strict && is_live),
            ("--label", !self.label.is_empty() && is_live),
            ("--listen", self.listen.is_some() && !is_live),
            ("--textfile", self.textfile.is_some() && !is_live),
            ("--once", self.once && !is_live),
            ("--no-who", self.no_who && !is_live),
        ];
        for (option, is_wrong) in options {
            if is_wrong && is_live {
                return Err(format!("{option} needs --from FILE"));
            }
            if is_wrong {
                return Err(format!(
                    "{option} is about the running system; omit it or the recording"
                ));
            }
        }
        if let Some(name) = repeated_name(&self.label) {
            return Err(format!("--label {name} is given more than once"));
        }
        if input.count.is_some() {
            return Err("export takes no COUNT".to_owned());
        }
        if is_live && self.listen.is_none() && self.textfile.is_none() && !self.once {
            return Err(NO_TARGET.to_owned());
        }
        Ok(())
    }
}

/// Prints the metrics after the last interval, of which there is one.
struct Once {
    totals: RunningTotals,
}

impl Observer for Once {
    fn observe(&mut self, rows: Option<IntervalRows>, run: &mut Run<'_, '_, '_>) -> Result<()> {
        if let Some(rows) = &rows {
            self.totals.observe(rows);
        }
        let snapshot = self.totals.snapshot(&run.intervals);
        run.context.emit(&mut metrics_text(&snapshot))
    }
}

/// Publishes the metrics of the running system after every interval.
struct Publisher<'a> {
    export: &'a Export,
    totals: RunningTotals,
    published: Arc<Published>,
    /// The server that has not been started yet.
    server: Option<Server>,
    file: Option<TextfileWriter>,
}

impl Observer for Publisher<'_> {
    fn begin(&mut self, run: &mut Run<'_, '_, '_>) -> Result<()> {
        let Run { intervals, context } = run;
        self.published
            .publish(self.totals.snapshot(intervals), context.clock.monotonic());
        if let Some(path) = &self.export.textfile {
            self.file = Some(TextfileWriter::start(
                path,
                TEXTFILE_EVERY,
                &self.published,
            )?);
            context.print_error(format_args!("writing metrics to {}", path_text(path)));
        }
        if let Some(server) = self.server.take() {
            let address = server.address();
            let hosts = Hosts::new(address.ip(), &self.export.allow_host);
            server.start(hosts, &self.published)?;
            let reach = if is_of_this_host(address.ip()) {
                ", to this host only"
            } else {
                ""
            };
            context.print_error(format_args!(
                "serving metrics at http://{address}/metrics{reach}"
            ));
        }
        Ok(())
    }

    fn observe(&mut self, rows: Option<IntervalRows>, run: &mut Run<'_, '_, '_>) -> Result<()> {
        let Run { intervals, context } = run;
        if let Some(rows) = &rows {
            self.totals.observe(rows);
        }
        self.published
            .publish(self.totals.snapshot(intervals), context.clock.monotonic());
        if let Some(file) = &self.file
            && let Some(message) = file.take_message()
        {
            context.print_error(message);
        }
        Ok(())
    }
}

/// Parses an address with its port, or a port of 127.0.0.1.
fn listen_address(word: &str) -> Result<SocketAddr, String> {
    let port = word.strip_prefix(':').unwrap_or(word).parse::<u16>();
    if let Ok(port) = port {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    let address = match word.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}").parse(),
        None => word.parse(),
    };
    address.map_err(|_| {
        "expected a port, or an IP address and a port, such as 9980, 0.0.0.0:9980 or [::]:9980"
            .to_owned()
    })
}

/// Parses the path of a file that node_exporter reads.
fn textfile_path(word: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(word);
    if path.extension() != Some("prom".as_ref()) {
        return Err("node_exporter reads only files whose names end in .prom".to_owned());
    }
    Ok(path)
}

/// Parses a label, whose name Prometheus must accept.
fn label(word: &str) -> Result<(String, String), String> {
    const EXPECTED: &str = "expected NAME=VALUE, such as instance=db1";
    let (name, value) = word.split_once('=').ok_or(EXPECTED)?;
    let has_valid_begin =
        !name.starts_with("__") && !name.starts_with(|c: char| c.is_ascii_digit());
    let has_valid_characters = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if name.is_empty() || !has_valid_begin || !has_valid_characters {
        return Err(EXPECTED.to_owned());
    }
    if LABELS.contains(&name) {
        return Err(format!("the metrics already have a label '{name}'"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// Returns a name that several labels have; Prometheus refuses such metrics.
fn repeated_name(labels: &[(String, String)]) -> Option<&str> {
    let mut names = HashSet::new();
    let (name, _) = labels.iter().find(|(name, _)| !names.insert(name))?;
    Some(name)
}

/// The size of the stack of each further thread, all of which is locked in memory.
const STACK_BYTES: usize = 256 * 1024;

/// Starts a thread with a small stack.
///
/// # Errors
/// If the system has no more threads.
fn start_thread(name: &str, run: impl FnOnce() + Send + 'static) -> Result<()> {
    std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(STACK_BYTES)
        .spawn(run)
        .with_context(|| format!("cannot start the thread {name}"))?;
    Ok(())
}

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
        for word in [
            "",
            ":",
            "x",
            "99999",
            "1.2.3.4",
            "example.com:80",
            "::1:80x",
            "-1",
        ] {
            assert!(parsed(word).is_err(), "{word}");
        }
    }

    #[test]
    fn a_label_has_a_name_of_its_own() {
        assert_eq!(
            label("instance=db=1"),
            Ok(("instance".into(), "db=1".into()))
        );
        for word in [
            "instance",
            "=x",
            "1a=x",
            "__name__=x",
            "a-b=x",
            "device=sda",
            "le=1",
        ] {
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
