//! `blkstat record`: writes samples of a live host to a file that every view can replay.
//!
//! One thread samples and another opens and writes the file, so that a sample is taken on time whether or not its disk
//! answers.
//! After the first sample, the thread that samples opens files of /proc and /sys only.

mod learner;
pub(super) mod samples;

use std::path::{Path, PathBuf, absolute};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{io, thread};

use anyhow::{Context, Result, bail};
use clap::Args;
use jiff::tz::TimeZone;

use self::learner::Learner;
pub(super) use self::samples::Recorder;
use super::follow::Progress;
use super::options::{
    BaselineOptions, Host, Operand, distance, is_number_or_interval, split_devices_and_schedule,
    usage_error,
};
use crate::capture::RecordFilter;
use crate::clock::WaitOutcome;
use crate::console::{RunContext, Warnings, is_closed_pipe};
use crate::counters::{Device, Sample};
use crate::exit::{Exit, NoData};
use crate::intervals::{NotFound, find_device};
use crate::judge::Settings;
use crate::report::layout::number_format::bytes;
use crate::report::layout::sentence_numbers::counted;
use crate::report::who::skipped_scans_text;
use crate::sanitize::sanitize;
use crate::schedule::{DEFAULT_INTERVAL, Deadlines};
use crate::signals::end_process;
use crate::sink::{
    Destination, EndOnDrop, IfExists, RecordingFile, Rotation, WriteProgress, WriteQueue,
    block_device_message, rotated_name, write_recording,
};
use crate::source::{
    DeviceResolver, HealthReader, IoScanner, Live, ReadFailure, ScanScope, read_topology,
};

/// The operands of `record`, for the help.
pub(super) const OPERANDS: &[Operand] = &[
    (
        "FILE",
        "File to write, compressed if it ends in .gz; - is standard output",
    ),
    (
        "[DEVICE]...",
        "Record only these devices, and the cgroups that use them",
    ),
    ("[INTERVAL]", "1, 0.5, 100ms, 2s, 1m (default 1 s)"),
    (
        "[COUNT]",
        "Number of intervals, between COUNT + 1 samples (default: until Ctrl-C)",
    ),
];

/// The memory in bytes for samples that wait to be written: more than an hour of 50 devices with a sample per second.
const MAX_QUEUE_BYTES: usize = 32 * 1024 * 1024;

/// The longest wait for the file to open before sampling goes on without it.
const OPEN_PATIENCE: Duration = Duration::from_millis(500);

/// The size of the stack of the writing thread, all of which is locked in memory.
const WRITER_STACK_BYTES: usize = 512 * 1024;

/// The time between checks for a signal.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The number of checks after which a message shows what the program is waiting for.
const CHECKS_BEFORE_MESSAGE: u32 = 10;

#[derive(Args, Clone, Debug, Default)]
#[command(override_usage = "blkstat record [OPTIONS] FILE [DEVICE]... [INTERVAL [COUNT]]")]
pub struct Record {
    // Completion scripts show these words; --help shows OPERANDS.
    /// File to write
    #[arg(hide = true)]
    pub file: PathBuf,
    /// Devices, time between samples and number of intervals
    #[arg(value_name = "DEVICE", hide = true, allow_negative_numbers = true)]
    pub operands: Vec<String>,
    /// Convert a capture of any form; - is standard input
    #[arg(short, long, value_name = "CAPTURE")]
    #[arg(conflicts_with_all = ["operands", "columns", "no_who", "rotate", "learn_baseline", "baseline"])]
    pub from: Option<PathBuf>,
    /// Interval between samples of a capture without timestamps
    #[arg(long, value_name = "TIME", value_parser = distance)]
    pub every: Option<Duration>,
    /// Host to read from a capture of several hosts
    #[arg(long, value_name = "NAME", requires = "from")]
    pub host: Option<String>,
    /// Columns per device line; 14 for old versions of pt-diskstats
    #[arg(long, value_name = "N", default_value = "all", value_parser = ["14", "all"])]
    pub columns: String,
    /// Do not record cgroups and processes
    #[arg(long)]
    pub no_who: bool,
    /// Append to FILE
    #[arg(long, conflicts_with = "force")]
    pub append: bool,
    /// Overwrite FILE, and with --rotate rename or delete existing FILE.1, ...
    #[arg(long)]
    pub force: bool,
    /// Start a new file before SIZE (10M, 1G), after TIME (30min, 1d) or both (1G,1d); older ones become FILE.1, FILE.2, ...
    #[arg(long, value_name = "SIZE|TIME", value_parser = rotation_limits)]
    pub rotate: Option<Rotation>,
    /// Keep N older files, as many as fit in SIZE, or both (30,2G; with --rotate; default all)
    #[arg(long, value_name = "N|SIZE", requires = "rotate", value_parser = kept_files)]
    pub keep: Option<Rotation>,
    /// Keep unloaded latencies up to date in FILE, for --baseline or, as /var/lib/blkstat/baseline.json, for every live view
    #[arg(long, value_name = "FILE")]
    pub learn_baseline: Option<PathBuf>,
    #[command(flatten)]
    pub baseline: BaselineOptions,
}

impl Record {
    /// Records the requested number of intervals, or until a signal comes. The first sample is taken at once, so there
    /// is one more sample than intervals.
    ///
    /// # Errors
    /// If an argument is invalid, or a sample cannot be read or written; the message then includes the number of samples
    /// that were saved.
    pub(super) fn run(&self, host: &Host, context: &mut RunContext<'_>) -> Result<Exit> {
        if let Some(word) = self
            .file
            .to_str()
            .filter(|word| is_number_or_interval(word))
        {
            return Err(usage_error(format!(
                "missing FILE before '{word}'; usage: blkstat record FILE [DEVICE]... [INTERVAL [COUNT]] \
                 (./{word} for a file of that name)"
            )));
        }
        if self.every.is_some() && self.from.is_none() {
            return Err(usage_error(
                "--every needs a capture, such as --from CAPTURE",
            ));
        }
        let writes_to_output = self.file.as_os_str() == "-";
        let name = if writes_to_output {
            "standard output".into()
        } else {
            self.file.display().to_string()
        };
        let name = sanitize(&name).into_owned();
        if let Some(from) = &self.from {
            return self.convert(from, &name, context);
        }
        let learns_in_file =
            |learned: &PathBuf| absolute(learned).ok() == absolute(&self.file).ok();
        if self.learn_baseline.as_ref().is_some_and(learns_in_file) {
            return Err(usage_error(
                "--learn-baseline needs a different file than the recording",
            ));
        }
        let (device_names, schedule) =
            split_devices_and_schedule(&self.operands).map_err(usage_error)?;
        let rotation = self
            .rotate
            .map(|limits| rotation(limits, self.keep))
            .transpose();
        let rotation = rotation.map_err(usage_error)?;
        let interval = schedule.interval.unwrap_or(DEFAULT_INTERVAL);
        let baselines = self
            .baseline
            .load(Settings::default(), &host.saved_baselines, context)?;
        let mut source = Live::new(&host.root, context.clock).with_host_state();
        let mut warnings = Warnings::about(&source.name());
        let mut sample = Sample::default();
        let scanner = match self.no_who {
            false => Some(IoScanner::start(
                &host.root,
                context.clock,
                ScanScope::Everything,
            )?),
            true => None,
        };
        // Before the first sample, so that waiting for it misses no deadline.
        let health = HealthReader::start(&host.root, context.clock)?;
        scanner.iter().for_each(IoScanner::wait_for_first);
        health.wait_for_first();
        source.read_first(&mut sample, |line, error| {
            warnings.warn_line(line as u64, &error, context.err)
        })?;
        let is_file = |device: &&Device| self.file.as_os_str() == device.name.as_str();
        if let Some(device) = sample.devices.iter().find(is_file) {
            bail!(
                "{}; ./{1} for a file named {1}",
                block_device_message(&device.name),
                device.name
            );
        }
        let devices = kernel_names(&device_names, host, &sample.devices)
            .map_err(|reason| NoData(format!("{}: {reason}", sanitize(&source.name()))))?;
        let writes_to_terminal = writes_to_output && context.is_terminal;
        let problem = Mutex::new(None);
        let columns = (self.columns == "14").then_some(14);
        let filter = RecordFilter {
            devices: devices.clone(),
            columns,
        };
        let recorder = Recorder::new(
            &host.root,
            filter,
            &baselines,
            interval,
            context.time_zone(),
        );
        let queue = WriteQueue::new(MAX_QUEUE_BYTES).context("cannot start to write")?;
        // The writer has it from now on. Something without a size is not on the heap.
        let out = std::mem::replace(&mut context.out, Box::leak(Box::new(io::sink())));
        thread::scope(|scope| {
            let _end = EndOnDrop(&queue);
            let learner = self.learn_baseline.as_deref();
            let learner = learner
                .map(|path| {
                    Learner::start(
                        scope, path, devices, &host.root, interval, &baselines, &problem,
                    )
                })
                .transpose()?;
            let writer = thread::Builder::new()
                .name("writer".to_owned())
                .stack_size(WRITER_STACK_BYTES);
            let (queue, file_name) = (&queue, name.clone());
            let write =
                move || write_recording(queue, || self.open_destination(rotation, &file_name, out));
            writer
                .spawn_scoped(scope, write)
                .context("cannot start to write")?;
            if !queue.wait_until_open(OPEN_PATIENCE) {
                context.print_error(format_args!(
                    "waiting to open {name}; samples are kept in memory until it is open"
                ));
            } else if let Some(error) = queue.take_error() {
                return Err(error);
            }
            let shows_progress = context.err_is_terminal && !writes_to_terminal;
            let start = sample.at.monotonic.unwrap_or_default();
            let recording = Recording {
                learner,
                problem: &problem,
                count: schedule.count,
                name,
                interval,
                recorder,
                source,
                scanner,
                health,
                warnings,
                events: FileEvents::default(),
                queue,
                shows_progress,
                progress: Progress::new(shows_progress, start),
            };
            recording.run(&mut sample, context)
        })
    }

    /// Opens the file of a recording, or takes standard output.
    ///
    /// # Errors
    /// If the file exists and must not be changed, or cannot be written.
    fn open_destination<'a>(
        &self,
        rotation: Option<Rotation>,
        name: &str,
        out: &'a mut (dyn io::Write + Send),
    ) -> Result<Destination<'a>> {
        if self.file.as_os_str() == "-" {
            if rotation.is_some() {
                bail!("cannot rotate standard output; --rotate needs a file name");
            }
            return Ok(Destination::Output(out));
        }
        let if_exists = match (self.append, self.force) {
            (true, _) => IfExists::Append,
            (_, true) => IfExists::Replace,
            _ => IfExists::Refuse,
        };
        Ok(Destination::File(Box::new(RecordingFile::open(
            &self.file, name, if_exists, rotation,
        )?)))
    }
}

/// Resolves devices, given by any of their names, to kernel names.
///
/// # Errors
/// The first name that no device has.
fn kernel_names(
    words: &[String],
    host: &Host,
    devices: &[Device],
) -> Result<Vec<String>, NotFound> {
    if words.is_empty() {
        return Ok(Vec::new());
    }
    let topology = read_topology(&host.root);
    let resolver = DeviceResolver::new(&host.root, &[host.root.join("sys")]);
    let mut found = Vec::new();
    for word in words {
        let Some(at) = find_device(word, devices, &topology, Some(&resolver)) else {
            let names = devices.iter().map(|device| device.name.as_str());
            let aliases = topology
                .nodes()
                .iter()
                .filter_map(|node| node.alias.as_deref());
            return Err(NotFound::name(
                word,
                names.chain(aliases),
                "blkstat devices",
            ));
        };
        found.push(devices[at].name.clone());
    }
    Ok(found)
}

struct Recording<'a> {
    learner: Option<Learner>,
    /// The last problem of the learner that has not been reported yet.
    problem: &'a Mutex<Option<String>>,
    /// The number of intervals; `None` for no limit.
    count: Option<u64>,
    /// The name of the recording in messages, without control characters.
    name: String,
    interval: Duration,
    recorder: Recorder<'a>,
    source: Live<'a>,
    /// `None` if cgroups and processes are not recorded.
    scanner: Option<IoScanner>,
    health: HealthReader,
    warnings: Warnings,
    events: FileEvents,
    queue: &'a WriteQueue,
    /// Errors go to a terminal, and samples do not.
    shows_progress: bool,
    progress: Progress,
}

impl Recording<'_> {
    /// Records until the end, and waits until all samples are written. `sample` is the first one.
    fn run(mut self, sample: &mut Sample, context: &mut RunContext<'_>) -> Result<Exit> {
        let ended = self.take_samples(sample, context);
        self.learner
            .iter_mut()
            .for_each(|learner| learner.samples = None);
        let is_written = self.wait_until_written(context);
        self.report_events(context);
        self.progress.clear(context);
        let name = &self.name;
        if let Some(text) = skipped_scans_text(self.recorder.skipped_scans) {
            context.print_error(format_args!("{name}: {text}"));
        }
        self.warnings.finish(context.err);
        let state = self.queue.progress();
        match ended.and_then(|exit| is_written.map(|()| exit)) {
            Err(error) if !is_closed_pipe(&error) => {
                bail!("{error:#}; {}", saved(&state, &self.recorder.zone))
            }
            ended => {
                if self.shows_progress {
                    let recorded = counted(state.samples, "sample");
                    let devices = counted(self.recorder.devices.len() as u64, "device");
                    let written = written(&state);
                    let _ = writeln!(
                        context.err,
                        "recorded {recorded} of {devices} in {name}, {written}"
                    );
                }
                ended
            }
        }
    }

    /// Takes samples until COUNT is reached, a signal comes, or an error occurs.
    fn take_samples(&mut self, sample: &mut Sample, context: &mut RunContext<'_>) -> Result<Exit> {
        let start = sample.at.monotonic.unwrap_or_default();
        let mut deadlines = Deadlines::new(start, self.interval);
        loop {
            let now = sample.at.monotonic.unwrap_or_default();
            sample.io_scan = self
                .scanner
                .as_mut()
                .and_then(|scanner| scanner.latest(now));
            if sample
                .io_scan
                .as_ref()
                .is_some_and(|scan| scan.has_long_wait())
            {
                self.health.request();
            }
            sample.health = self.health.latest(now);
            let block = self.recorder.block(sample, &self.source, &mut |message| {
                context.print_error(message);
            });
            self.queue.push(block);
            if let Some(learner) = &self.learner {
                learner.push(sample);
            }
            if self.recorder.samples == 1 {
                context.lock_memory();
            }
            if self
                .count
                .is_some_and(|count| self.recorder.samples > count)
            {
                return Ok(Exit::Success);
            }
            self.report_events(context);
            self.progress.show(
                || status(self.recorder.samples, &self.queue.progress()),
                context,
            );
            if let Some(exit) = self.read_next(sample, &mut deadlines, context) {
                return Ok(exit);
            }
        }
    }

    /// Reads the next sample when it is due. One that cannot be read is missed. Returns the exit code if the recording ends
    /// first.
    fn read_next(
        &mut self,
        sample: &mut Sample,
        deadlines: &mut Deadlines,
        context: &mut RunContext<'_>,
    ) -> Option<Exit> {
        let (mut failure, mut all_missed) = (ReadFailure::default(), 0);
        loop {
            let (deadline, missed) = deadlines.next(context.clock.monotonic());
            if let Some(scanner) = &self.scanner {
                scanner.request(deadline);
            }
            match context
                .clock
                .wait(Some(deadline), Some(self.queue.failure()))
            {
                WaitOutcome::Signal(signal) => return Some(Exit::Signal(signal)),
                // The writer failed, and the end of the recording reports why.
                WaitOutcome::Input => return Some(Exit::Error),
                WaitOutcome::Due if self.queue.is_done() => return Some(Exit::Error),
                WaitOutcome::Due => {}
            }
            all_missed += missed + deadlines.skip_passed(context.clock.monotonic());
            let read = context.read_live(&mut self.source, sample, &mut self.warnings);
            if let Some(text) = failure.observe(read.as_ref().err()) {
                self.warnings.warn_input(&text, context.err);
            }
            if read.is_ok() {
                sample.missed_samples = all_missed;
                return None;
            }
            all_missed += 1;
        }
    }

    /// Waits until all samples are written. After a while, a message shows that it is waiting; a signal then ends the
    /// program at once.
    ///
    /// # Errors
    /// If a sample cannot be written.
    fn wait_until_written(&mut self, context: &mut RunContext<'_>) -> Result<()> {
        let (queue, name) = (self.queue, &self.name);
        queue.end();
        context.clock.clear_signal();
        let mut checks = 0;
        let is_done = || {
            let learner = self.learner.as_ref();
            let is_learned =
                || learner.is_none_or(|learner| learner.wait_until_done(CHECK_INTERVAL));
            queue.wait_until_done(CHECK_INTERVAL) && is_learned()
        };
        while !is_done() {
            let waiting = queue.progress().waiting as u64;
            if let Some(signal) = context.clock.signal() {
                self.progress.clear(context);
                context.print_error(format_args!(
                    "{} not written to {name}",
                    counted(waiting, "sample")
                ));
                end_process(signal);
            }
            checks += 1;
            if checks == CHECKS_BEFORE_MESSAGE {
                self.progress.clear(context);
                if queue.is_done() {
                    context.print_error(
                        "waiting for baselines to be saved; press Ctrl-C again to give up",
                    );
                } else {
                    context.print_error(format_args!(
                        "waiting for {name}: {} not on disk yet; press Ctrl-C again to give up",
                        counted(waiting, "sample")
                    ));
                }
            }
        }
        let dropped = queue.progress().dropped;
        if dropped.count > 0 {
            self.progress.clear(context);
            context.print_error(format_args!(
                "{name}: {} dropped, because they could not be written for so long that memory was full",
                counted(dropped.count, "sample")
            ));
        }
        queue.take_error().map_or(Ok(()), Err)
    }

    /// Reports events of the file, and why baselines could not be saved. The next attempt to save them follows after a
    /// while.
    fn report_events(&mut self, context: &mut RunContext<'_>) {
        for message in self.events.messages(&self.queue.progress(), &self.name) {
            self.progress.clear(context);
            context.print_error(message);
        }
        if let Some(problem) = self
            .problem
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
        {
            self.progress.clear(context);
            context.print_error(problem);
        }
    }
}

/// Describes the samples that were saved and those that were not, for an error message.
fn saved(state: &WriteProgress, zone: &TimeZone) -> String {
    let lost = match state.waiting {
        0 => String::new(),
        waiting => format!("{} lost; ", counted(waiting as u64, "sample")),
    };
    let Some(last) = state.last_at else {
        return format!("{lost}no samples saved");
    };
    let time = last.to_zoned(zone.clone()).strftime("%H:%M:%S").to_string();
    match state.samples {
        1 => format!("{lost}1 complete sample saved, taken at {time}"),
        n => format!("{lost}{n} complete samples saved, up to {time}"),
    }
}

/// Returns the status of a recording after this number of samples, such as
/// `120 samples, 1.2 MB, 0 dropped, slowest write 4.2 ms`.
fn status(samples: u64, state: &WriteProgress) -> String {
    let waiting = match state.waiting {
        // One sample is usually just being written.
        0 | 1 => String::new(),
        waiting => format!(", {waiting} waiting"),
    };
    format!("{samples} samples, {}{waiting}", written(state))
}

fn written(state: &WriteProgress) -> String {
    let slowest = state.slowest;
    let slowest = if slowest < Duration::from_secs(1) {
        format!("{:.1} ms", slowest.as_secs_f64() * 1000.0)
    } else {
        format!("{:.1} s", slowest.as_secs_f64())
    };
    format!(
        "{}, {} dropped, slowest write {slowest}",
        bytes(state.bytes),
        state.dropped.count
    )
}

/// The events of the file that were already reported.
#[derive(Default)]
struct FileEvents(WriteProgress);

impl FileEvents {
    /// Returns messages about what has happened since the last call.
    fn messages(&mut self, state: &WriteProgress, name: &str) -> Vec<String> {
        let old = std::mem::replace(&mut self.0, state.clone());
        let damaged = || {
            let (kept, reason) = (
                rotated_name(Path::new(name), 1),
                state.damage.as_deref().unwrap_or_default(),
            );
            format!(
                "cannot append to {name}: {reason}; it is kept as {}, and a new file begins",
                kept.display()
            )
        };
        let blocked = || match &state.obstacle {
            Some(reason) => {
                format!("{reason}; samples are kept in memory until they can be written")
            }
            None => format!("{name}: samples are written again"),
        };
        let messages = [
            (old.losses != state.losses).then(|| state.loss.clone()),
            (old.damage != state.damage).then(damaged),
            (old.obstacle != state.obstacle).then(blocked),
        ];
        messages.into_iter().flatten().collect()
    }
}

/// Combines the values of `--rotate` and `--keep`.
///
/// # Errors
/// A message if not even one file could be kept.
fn rotation(limits: Rotation, kept: Option<Rotation>) -> Result<Rotation, String> {
    let Rotation {
        keep, keep_bytes, ..
    } = kept.unwrap_or(limits);
    if let (Some(size), Some(bytes)) = (limits.size, keep_bytes)
        && bytes < size
    {
        return Err("--keep is smaller than --rotate: no older file could be kept".to_owned());
    }
    Ok(Rotation {
        keep,
        keep_bytes,
        ..limits
    })
}

/// Parses the limits of a file: a size, a time, or both, separated by a comma.
fn rotation_limits(word: &str) -> Result<Rotation, String> {
    const EXPECTED: &str =
        "expected a size of 64k or more, such as 10M or 1G, or a time, such as 30min, 1h or 1d";
    let mut limits = Rotation::default();
    for part in word.split(',') {
        let is_new = if let Some(every) = time(part) {
            limits.every.replace(every).is_none()
        } else if part.ends_with('m') {
            return Err(format!(
                "'{part}' is ambiguous: {}M is a size, {0}min a time",
                part.trim_end_matches('m')
            ));
        } else {
            const MIN_BYTES: u64 = 64 * 1024;
            let size = parse_bytes(part)
                .filter(|size| *size >= MIN_BYTES)
                .ok_or(EXPECTED)?;
            limits.size.replace(size).is_none()
        };
        if !is_new {
            return Err(EXPECTED.to_owned());
        }
    }
    Ok(limits)
}

/// Parses the limits of older files: a number of files, a size with its unit, or both, separated by a comma.
fn kept_files(word: &str) -> Result<Rotation, String> {
    const EXPECTED: &str =
        "expected a number of files, a size such as 500M or 2G, or both, such as 30,2G";
    let mut kept = Rotation::default();
    for part in word.split(',') {
        let is_new = match part.parse() {
            Ok(0) => return Err(EXPECTED.to_owned()),
            Ok(count) => kept.keep.replace(count).is_none(),
            Err(_) => kept
                .keep_bytes
                .replace(parse_bytes(part).ok_or(EXPECTED)?)
                .is_none(),
        };
        if !is_new {
            return Err(EXPECTED.to_owned());
        }
    }
    Ok(kept)
}

/// Parses a number of bytes; the suffixes `k`, `M` and `G` are powers of 1024.
fn parse_bytes(word: &str) -> Option<u64> {
    let (number, unit) = number_and_unit(word)?;
    let unit: u64 = match unit {
        "" => 1,
        "k" | "K" => 1 << 10,
        "M" => 1 << 20,
        "g" | "G" => 1 << 30,
        _ => return None,
    };
    number.checked_mul(unit)
}

/// Parses a time with its unit; `None` for zero.
fn time(word: &str) -> Option<Duration> {
    let (number, unit) = number_and_unit(word)?;
    let seconds: u64 = match unit {
        "s" => 1,
        "min" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return None,
    };
    number
        .checked_mul(seconds)
        .filter(|seconds| *seconds > 0)
        .map(Duration::from_secs)
}

fn number_and_unit(word: &str) -> Option<(u64, &str)> {
    let (number, unit) = word.split_at(
        word.find(|c: char| !c.is_ascii_digit())
            .unwrap_or(word.len()),
    );
    Some((number.parse().ok()?, unit))
}

#[cfg(test)]
mod rotation_tests {
    use super::*;

    #[test]
    fn a_file_is_limited_by_size_or_time_or_both() {
        let limits = |size, hours| Rotation {
            size,
            every: Option::map(hours, |hours: u64| Duration::from_secs(3600 * hours)),
            ..Rotation::default()
        };
        for (word, expected) in [
            ("10M", limits(Some(10 << 20), None)),
            ("65536", limits(Some(65536), None)),
            ("1G", limits(Some(1 << 30), None)),
            ("1d", limits(None, Some(24))),
            ("120min", limits(None, Some(2))),
            ("1G,1h", limits(Some(1 << 30), Some(1))),
            ("3600s,64k", limits(Some(65536), Some(1))),
        ] {
            assert_eq!(rotation_limits(word), Ok(expected), "{word}");
        }
        for word in [
            "",
            "M",
            "1k",
            "10x",
            "-5M",
            "99999999999G",
            "0d",
            "1d,2d",
            "1M,2M",
            "1M,",
            "1.5h",
        ] {
            assert!(rotation_limits(word).is_err(), "{word}");
        }
        assert!(
            rotation_limits("10m")
                .is_err_and(|message| message.contains("10M is a size, 10min a time"))
        );
    }

    #[test]
    fn older_files_are_limited_by_number_or_size_or_both() {
        let kept = |keep, keep_bytes| Rotation {
            keep,
            keep_bytes,
            ..Rotation::default()
        };
        for (word, expected) in [
            ("7", kept(Some(7), None)),
            ("500M", kept(None, Some(500 << 20))),
            ("30,2G", kept(Some(30), Some(2 << 30))),
            ("2G,30", kept(Some(30), Some(2 << 30))),
        ] {
            assert_eq!(kept_files(word), Ok(expected), "{word}");
        }
        for word in ["", "0", "x", "1,2", "1M,2M", "-1"] {
            assert!(kept_files(word).is_err(), "{word}");
        }
        let limits = rotation_limits("10M").unwrap();
        assert!(rotation(limits, kept_files("9M").ok()).is_err());
        assert!(
            rotation(limits, kept_files("10M").ok())
                .is_ok_and(|rotation| rotation.keep_bytes == Some(10 << 20))
        );
    }
}
