//! `blkstat export`: metrics for Prometheus.
//!
//! The main thread samples and publishes a snapshot after each interval. A second thread serves the latest one over
//! HTTP, a third one writes it to a file. Neither can delay sampling: they only take published snapshots.
//!
//! The latest metrics, which one thread publishes and others read: the thread that keeps a file up to date with them for
//! node_exporter's textfile collector, whose disk may not answer, and the HTTP server.

mod server;

use core::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args;
use hyper::body::Bytes;
use jiff::Timestamp;

use self::server::{Hosts, Server};
use super::follow::{Observer, Run, follow};
use super::hindsight::open_view;
use super::options::{
    ANY_FIRST, FILE_OPERAND, Host, Operand, SourceOptions, VerdictOptions, distance, usage_error,
};
use crate::clock::{Clock, RealClock};
use crate::console::{RunContext, require_counters};
use crate::exit::Exit;
use crate::intervals::{DeviceSelection, IntervalRows};
use crate::os_error::os_error_text;
use crate::report::prometheus::{
    ALERT_RULES, ALERT_TESTS, DASHBOARD, END, LABELS, PEER_RULES, common_labels, metrics_text,
    node_exporter_rules, push_metadata, push_metrics,
};
use crate::sanitize::sanitize;
use crate::schedule::{DEFAULT_INTERVAL, Deadlines};
use crate::sink::{gzip_bytes, remove_file, replace_file};
use crate::source::{Input, ScanScope};
use crate::totals::{DeviceScope, MetricsSnapshot, RunningTotals};

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

/// The default time between points of a recording, and between versions of a text file.
const DEFAULT_EVERY: Duration = Duration::from_secs(15);

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
    /// Answer requests for this host name, too; repeatable. By default, every name is answered, but where only this host is
    /// served only its own
    #[arg(long, value_name = "NAME", requires = "listen")]
    allow_host: Vec<String>,
    /// Keep FILE.prom up to date for node_exporter's textfile collector
    #[arg(long, value_name = "FILE", value_parser = textfile_path)]
    pub textfile: Option<PathBuf>,
    /// Print the metrics after one interval, for collectors that run a command
    #[arg(long, conflicts_with_all = ["listen", "textfile", "from"])]
    once: bool,
    /// Interval between updates of the text file (default 15 s)
    #[arg(long, value_name = "TIME", value_parser = distance, requires = "textfile")]
    textfile_every: Option<Duration>,
    /// Add a label to every metric, such as instance=db1:9980; repeatable (with --from)
    #[arg(long, value_name = "NAME=VALUE", value_parser = label)]
    label: Vec<(String, String)>,
    /// Export only devices whose name matches
    #[arg(long, value_name = "REGEX")]
    devices_regex: Option<String>,
    /// Leave out devices whose name matches; node_exporter's pattern: '^(z?ram|loop|fd|(h|s|v|xv)d[a-z]|nvme\d+n\d+p)\d+$'
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
    /// Print a Grafana dashboard as JSON
    #[arg(long, exclusive = true)]
    dashboard: bool,
    /// Print alert rules for Prometheus
    #[arg(long, exclusive = true)]
    alerts: bool,
    /// Print unit tests of the alert rules, for 'promtool test rules'
    #[arg(long, exclusive = true)]
    alert_tests: bool,
    /// Print rules that compare each disk with its peers, and each host with the others
    #[arg(long, exclusive = true)]
    peer_rules: bool,
    /// Print the same rules for the metrics of node_exporter, for hosts without blkstat
    #[arg(long, exclusive = true)]
    node_exporter_rules: bool,
    #[command(flatten)]
    verdicts: VerdictOptions,
}

impl Export {
    /// Returns the text of this program that is to be printed; `None` if metrics are to be exported.
    fn text(&self) -> Option<String> {
        let texts = [
            (self.dashboard, DASHBOARD),
            (self.alerts, ALERT_RULES),
            (self.alert_tests, ALERT_TESTS),
            (self.peer_rules, PEER_RULES),
        ];
        let found = texts.into_iter().find(|(is_wanted, _)| *is_wanted);
        found
            .map(|(_, text)| text.to_owned())
            .or_else(|| self.node_exporter_rules.then(node_exporter_rules))
    }

    /// Exports metrics until a signal comes, or those of a recording to its end.
    ///
    /// # Errors
    /// If an argument is invalid, a sample cannot be read, the address cannot be used, or the file cannot be written at
    /// the start.
    pub(super) fn run(&self, host: &Host, context: &mut RunContext<'_>) -> Result<Exit> {
        if let Some(text) = self.text() {
            context.emit(&mut text.into_bytes())?;
            return Ok(Exit::Success);
        }
        let (input, devices) = self.source.source(ANY_FIRST, host, context)?;
        self.check(&input).map_err(usage_error)?;
        let (interval, is_replay) = (input.interval, input.from.is_some());
        let input = Input {
            interval: interval.filter(|_| !is_replay),
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
            .load_baselines(host.baselines_for(&input), context)?;
        let intervals = open_view(&input, &selection, &baselines, context)?;
        let scope = DeviceScope {
            partitions: self.partitions,
            unused: self.all,
        };
        let totals = RunningTotals::new(scope, self.verdicts.cap);
        if is_replay {
            let points = Points {
                every: interval.unwrap_or(DEFAULT_EVERY),
                last: None,
            };
            let (labels, mut text) = (common_labels(&self.label), Vec::new());
            push_metadata(&mut text);
            // If the capture is cut, the first point is the end of the first interval in the range.
            let is_cut = input.range.begin.is_some();
            let mut backfill = Backfill {
                labels,
                text,
                totals,
                points,
                is_cut,
                last: None,
            };
            return follow(intervals, &mut backfill, context);
        }
        if self.once {
            let mut once = Once {
                totals,
                interval: interval.unwrap_or(DEFAULT_INTERVAL),
            };
            return follow(intervals, &mut once, context);
        }
        // Bind before the first sample: another program may have the address.
        let server = self.listen.map(Server::bind).transpose()?;
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
        if let Some((option, _)) = options.iter().find(|(_, is_wrong)| *is_wrong) {
            return Err(match is_live {
                true => format!("{option} needs --from FILE"),
                false => format!("{option} is about the running system; omit it or the recording"),
            });
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
    interval: Duration,
}

impl Observer for Once {
    fn observe(&mut self, rows: Option<IntervalRows>, run: &mut Run<'_, '_, '_>) -> Result<()> {
        rows.iter().for_each(|rows| self.totals.observe(rows));
        let snapshot = self.totals.snapshot(&run.intervals);
        run.context
            .emit(&mut metrics_text(&snapshot, self.interval))
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
            let every = self.export.textfile_every.unwrap_or(DEFAULT_EVERY);
            self.file = Some(TextfileWriter::start(path, every, &self.published)?);
            let name = path.display().to_string();
            context.print_error(format_args!("writing metrics to {}", sanitize(&name)));
        }
        if let Some(server) = self.server.take() {
            let address = server.address();
            let hosts = Hosts::new(address.ip(), &self.export.allow_host);
            server.start(hosts, &self.published)?;
            let reach = if address.ip().is_loopback() {
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
        rows.iter().for_each(|rows| self.totals.observe(rows));
        self.published
            .publish(self.totals.snapshot(intervals), context.clock.monotonic());
        if let Some(message) = self.file.as_ref().and_then(TextfileWriter::take_message) {
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
    let word = word
        .strip_prefix("localhost:")
        .map_or_else(|| word.to_owned(), |port| format!("127.0.0.1:{port}"));
    word.parse().map_err(|_| {
        "expected a port, or an IP address and a port, such as 9980, 0.0.0.0:9980 or [::]:9980"
            .to_owned()
    })
}

/// Parses the path of a file that node_exporter reads.
fn textfile_path(word: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(word);
    let is_read = path
        .extension()
        .is_some_and(|extension| extension == "prom");
    is_read
        .then_some(path)
        .ok_or_else(|| "node_exporter reads only files whose names end in .prom".to_owned())
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
    if LABELS.contains(&name) {
        return Err(format!("the metrics already have a label '{name}'"));
    }
    Ok((name.to_owned(), value.to_owned()))
}

/// Returns a name that several labels have; Prometheus refuses such metrics.
fn repeated_name(labels: &[(String, String)]) -> Option<&str> {
    let mut names = HashSet::new();
    labels
        .iter()
        .map(|(name, _)| name.as_str())
        .find(|name| !names.insert(*name))
}

/// Prints a point for the first sample, for the first in every multiple of a time, and for the last one.
struct Backfill {
    /// Those of every metric.
    labels: String,
    text: Vec<u8>,
    totals: RunningTotals,
    points: Points,
    /// True if only a range of time of the recording is exported.
    is_cut: bool,
    /// The time of the last sample within the range: later ones do not count.
    last: Option<Timestamp>,
}

impl Observer for Backfill {
    fn begin(&mut self, run: &mut Run<'_, '_, '_>) -> Result<()> {
        require_counters(run.intervals.replay())?;
        self.last = run.intervals.newest().at.wall.filter(|_| !self.is_cut);
        self.observe(None, run)
    }

    fn observe(&mut self, rows: Option<IntervalRows>, run: &mut Run<'_, '_, '_>) -> Result<()> {
        if let Some(rows) = rows {
            self.totals.observe(&rows);
            self.last = rows.header.end;
        }
        if self.points.is_due(self.last) {
            push_metrics(
                &self.totals.snapshot(&run.intervals),
                &self.labels,
                &mut self.text,
            );
            run.context.emit(&mut self.text)?;
        }
        Ok(())
    }

    fn end(&mut self, outcome: &Result<Exit>, run: &mut Run<'_, '_, '_>) -> Result<()> {
        if outcome.is_err() {
            return Ok(());
        }
        if self.points.is_later(self.last) && run.intervals.newest().at.wall == self.last {
            push_metrics(
                &self.totals.snapshot(&run.intervals),
                &self.labels,
                &mut self.text,
            );
        }
        self.text.extend_from_slice(END);
        run.context.emit(&mut self.text)
    }
}

/// Decides which samples become points.
struct Points {
    every: Duration,
    /// The time of the last point.
    last: Option<Timestamp>,
}

impl Points {
    /// Returns whether a sample is the first in its multiple of the time between points, and remembers that multiple.
    fn is_due(&mut self, at: Option<Timestamp>) -> bool {
        let multiple = |at: Timestamp| {
            at.as_nanosecond()
                .div_euclid(self.every.as_nanos().max(1).cast_signed())
        };
        let is_due = self.is_later(at)
            && at
                .zip(self.last)
                .is_none_or(|(at, last)| multiple(at) != multiple(last));
        if is_due {
            self.last = at;
        }
        is_due
    }

    /// Returns whether a sample is later than the last point: Prometheus refuses points that go back in time, as after
    /// a clock was set.
    fn is_later(&self, at: Option<Timestamp>) -> bool {
        // Timestamps have milliseconds.
        at.is_some_and(|at| {
            self.last
                .is_none_or(|last| at.as_millisecond() > last.as_millisecond())
        })
    }
}

/// The number of intervals, and below the additional time, after which a sample is late. A busy host may miss one
/// sample.
const MAX_LATE_INTERVALS: u32 = 2;
const MAX_LATE: Duration = Duration::from_secs(1);

struct Published {
    interval: Duration,
    latest: Mutex<Option<Arc<Latest>>>,
}

/// The metrics of an interval. Their text is made for the first who asks for it, and shared by all others.
struct Latest {
    snapshot: MetricsSnapshot,
    interval: Duration,
    /// The monotonic time of the publication.
    at: Duration,
    text: OnceLock<Bytes>,
    compressed: OnceLock<Bytes>,
}

impl Latest {
    fn text(&self) -> &Bytes {
        self.text
            .get_or_init(|| metrics_text(&self.snapshot, self.interval).into())
    }

    /// Returns the text, compressed with gzip.
    fn compressed(&self) -> &Bytes {
        self.compressed
            .get_or_init(|| gzip_bytes(self.text()).into())
    }
}

impl Published {
    /// Creates a place for metrics that are published after each interval of this length.
    fn new(interval: Duration) -> Self {
        Self {
            interval,
            latest: Mutex::new(None),
        }
    }

    fn publish(&self, snapshot: MetricsSnapshot, at: Duration) {
        let latest = Latest {
            snapshot,
            interval: self.interval,
            at,
            text: OnceLock::new(),
            compressed: OnceLock::new(),
        };
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(latest));
    }

    /// Returns the latest metrics; `None` before the first.
    fn latest(&self) -> Option<Arc<Latest>> {
        self.latest
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Returns the time since the latest metrics if they are late; `None` if they are not.
    fn lateness(&self, now: Duration) -> Option<Duration> {
        let age = now.saturating_sub(self.latest()?.at);
        (age > self.interval * MAX_LATE_INTERVALS + MAX_LATE).then_some(age)
    }
}

/// The longest wait for the removal of the file at the end: its disk may not answer.
const MAX_REMOVAL_WAIT: Duration = Duration::from_secs(1);

/// Writes the file until this is dropped, and then removes it: otherwise node_exporter would go on showing metrics that
/// no longer change.
struct TextfileWriter {
    /// Messages that have not been printed yet; disconnected when the thread has ended.
    messages: Receiver<String>,
    /// The thread ends when this is gone.
    stop: Option<Sender<()>>,
}

impl Drop for TextfileWriter {
    fn drop(&mut self) {
        self.stop = None;
        // If it takes longer, nothing can be done.
        while self.messages.recv_timeout(MAX_REMOVAL_WAIT).is_ok() {}
    }
}

impl TextfileWriter {
    /// Writes the file once, and from then on in a thread.
    ///
    /// # Errors
    /// If the file cannot be written, or the system has no more threads.
    fn start(path: &Path, every: Duration, published: &Arc<Published>) -> Result<Self> {
        let name = sanitize(&path.display().to_string()).into_owned();
        let mut written_at = None;
        write_latest(path, published, &mut written_at)
            .with_context(|| format!("cannot write {name}"))?;
        let (stop, stopped) = channel();
        let (report, messages) = channel();
        let (path, published) = (path.to_owned(), Arc::clone(published));
        start_thread("textfile", move || {
            let clock = RealClock::new(None);
            let mut deadlines = Deadlines::new(clock.monotonic(), every);
            let mut is_failing = false;
            loop {
                let (due, _) = deadlines.next(clock.monotonic());
                let wait = due.saturating_sub(clock.monotonic());
                if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
                let written = write_latest(&path, &published, &mut written_at);
                if written.is_err() != std::mem::replace(&mut is_failing, written.is_err()) {
                    // Without a receiver, the program is ending.
                    let _ = report.send(match written {
                        Err(error) => format!(
                            "cannot write {name}: {}; trying again",
                            os_error_text(&error)
                        ),
                        Ok(()) => format!("writing {name} again"),
                    });
                }
            }
            // After an error, the file remains, as after a crash.
            let _ = remove_file(&path);
        })?;
        Ok(Self {
            messages,
            stop: Some(stop),
        })
    }

    /// Returns a message about the file; `None` if there is no new one.
    fn take_message(&self) -> Option<String> {
        self.messages.try_recv().ok()
    }
}

/// Writes the latest metrics unless they have been written already: the age of the file shows when no samples are
/// taken.
fn write_latest(
    path: &Path,
    published: &Published,
    written_at: &mut Option<Duration>,
) -> std::io::Result<()> {
    if let Some(latest) = published
        .latest()
        .filter(|latest| Some(latest.at) != *written_at)
    {
        replace_file(path, latest.text())?;
        *written_at = Some(latest.at);
    }
    Ok(())
}

/// The size of the stack of each further thread, all of which is locked in memory.
const STACK_BYTES: usize = 256 * 1024;

/// Starts a thread with a small stack.
///
/// # Errors
/// If the system has no more threads.
fn start_thread(
    name: &str,
    run: impl FnOnce() + Send + 'static,
) -> Result<std::thread::JoinHandle<()>> {
    let builder = std::thread::Builder::new()
        .name(name.to_owned())
        .stack_size(STACK_BYTES);
    builder
        .spawn(run)
        .with_context(|| format!("cannot start the thread {name}"))
}

#[cfg(test)]
mod mod_tests {
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

#[cfg(test)]
mod backfill_tests {
    use super::*;

    #[test]
    fn a_point_is_the_first_sample_of_its_multiple() {
        let mut points = Points {
            every: Duration::from_secs(15),
            last: None,
        };
        let seconds = [7, 8, 14, 15, 16, 29, 31, 100, 90, 99, 101, 105, 105];
        let due: Vec<i64> = seconds
            .into_iter()
            .filter(|second| points.is_due(Timestamp::from_second(*second).ok()))
            .collect();
        assert_eq!(due, [7, 15, 31, 100, 105]);
        assert!(!points.is_due(None) && !points.is_later(Timestamp::from_second(105).ok()));
    }
}

#[cfg(test)]
mod published_tests {
    use super::*;

    #[test]
    fn metrics_are_late_after_two_intervals_and_a_second() {
        let s = Duration::from_secs;
        let published = Published::new(s(5));
        assert!(published.latest().is_none() && published.lateness(s(99)).is_none());
        published.publish(MetricsSnapshot::default(), s(100));
        assert_eq!(
            (published.lateness(s(111)), published.lateness(s(112))),
            (None, Some(s(12)))
        );
        published.publish(MetricsSnapshot::default(), s(112));
        assert_eq!(
            (
                published.lateness(s(112)),
                published.latest().map(|latest| latest.at)
            ),
            (None, Some(s(112)))
        );
    }
}
