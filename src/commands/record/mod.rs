//! `blkstat record`: writes samples of a live host to a file that every view can replay.
//!
//! One thread samples and another opens and writes the file, so that a sample is taken on time whether or not its disk
//! answers.
//! After the first sample, the thread that samples opens files of /proc and /sys only.

mod learner;
mod rotation;
pub(super) mod samples;

use std::path::{Path, PathBuf, absolute};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use std::{io, thread};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use jiff::tz::TimeZone;

use self::learner::Learner;
use self::rotation::{kept_files, rotation, rotation_limits};
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
use crate::source::{DeviceResolver, HostReader, ReadFailure, ScanScope, read_topology};

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
        self.check_arguments()?;
        let writes_to_output = self.file.as_os_str() == "-";
        let name = if writes_to_output {
            "standard output".into()
        } else {
            self.file.display().to_string()
        };
        let name: &str = &sanitize(&name);
        if let Some(from) = &self.from {
            return self.convert(from, name, context);
        }
        let (device_names, schedule) =
            split_devices_and_schedule(&self.operands).map_err(usage_error)?;
        let rotation = match self.rotate {
            Some(limits) => Some(rotation(limits, self.keep).map_err(usage_error)?),
            None => None,
        };
        let interval = schedule.interval.unwrap_or(DEFAULT_INTERVAL);
        let baselines = self
            .baseline
            .load(Settings::default(), &host.saved_baselines, context)?;
        let mut sample = Sample::default();
        let scans = (!self.no_who).then_some(ScanScope::Everything);
        let mut source = HostReader::start(&host.root, context.clock, scans)?;
        let mut warnings = Warnings::about(&source.live.name());
        source.read(&mut sample, |line, error| {
            warnings.warn_line(line as u64, &error, context.err)
        })?;
        self.refuse_device_as_file(&sample)?;
        let devices = kernel_names(&device_names, host, &sample.devices)
            .map_err(|reason| NoData(format!("{}: {reason}", sanitize(&source.live.name()))))?;
        let problem = Mutex::new(None);
        let filter = RecordFilter {
            devices: devices.clone(),
            columns: (self.columns == "14").then_some(14),
        };
        let recorder = Recorder::new(
            &host.root,
            filter,
            &baselines,
            interval,
            context.time_zone(),
        );
        let queue = &WriteQueue::new(MAX_QUEUE_BYTES).context("cannot start to write")?;
        // The writer has it from now on.
        let out = std::mem::replace(&mut context.out, no_output());
        thread::scope(|scope| {
            let _end = EndOnDrop(queue);
            let mut learner = None;
            if let Some(path) = &self.learn_baseline {
                learner = Some(Learner::start(
                    scope, path, devices, &host.root, interval, &baselines, &problem,
                )?);
            }
            thread::Builder::new()
                .name("writer".to_owned())
                .stack_size(WRITER_STACK_BYTES)
                .spawn_scoped(scope, move || {
                    write_recording(queue, || self.open_destination(rotation, name, out))
                })
                .context("cannot start to write")?;
            if !queue.wait_until_open(OPEN_PATIENCE) {
                context.print_error(format_args!(
                    "waiting to open {name}; samples are kept in memory until it is open"
                ));
            } else if let Some(error) = queue.take_error() {
                return Err(error);
            }
            // Errors go to a terminal, and samples do not.
            let writes_to_terminal = writes_to_output && context.is_terminal;
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
                warnings,
                events: FileEvents::default(),
                queue,
                progress: Progress::new(shows_progress, start),
            };
            recording.run(&mut sample, context)
        })
    }

    /// Checks what clap cannot check.
    fn check_arguments(&self) -> Result<()> {
        if let Some(word) = self.file.to_str()
            && is_number_or_interval(word)
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
        if let Some(learned) = &self.learn_baseline
            && absolute(learned).ok() == absolute(&self.file).ok()
        {
            return Err(usage_error(
                "--learn-baseline needs a different file than the recording",
            ));
        }
        Ok(())
    }

    /// Fails if FILE is the name of a device: what was meant is a device, and FILE is missing.
    fn refuse_device_as_file(&self, sample: &Sample) -> Result<()> {
        for Device { name, .. } in &sample.devices {
            ensure!(
                self.file.as_os_str() != name.as_str(),
                "{}; ./{name} for a file named {name}",
                block_device_message(name)
            );
        }
        Ok(())
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

/// An output that drops everything. Boxing a [`io::Sink`], which has no size, allocates nothing, so leaking it costs nothing.
fn no_output() -> &'static mut io::Sink {
    Box::leak(Box::new(io::sink()))
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
    name: &'a str,
    interval: Duration,
    recorder: Recorder<'a>,
    source: HostReader<'a>,
    warnings: Warnings,
    events: FileEvents,
    queue: &'a WriteQueue,
    progress: Progress,
}

impl Recording<'_> {
    /// Records until the end, and waits until all samples are written. `sample` is the first one.
    fn run(mut self, sample: &mut Sample, context: &mut RunContext<'_>) -> Result<Exit> {
        let ended = self.take_samples(sample, context);
        if let Some(learner) = &mut self.learner {
            learner.samples = None;
        }
        let write_result = self.wait_until_written(context);
        self.report_events(context);
        self.progress.clear(context);
        let name = self.name;
        if let Some(text) = skipped_scans_text(self.recorder.skipped_scans) {
            context.print_error(format_args!("{name}: {text}"));
        }
        self.warnings.finish(context.err);
        let state = self.queue.progress();
        let outcome = match (ended, write_result) {
            (Ok(exit), Ok(())) => Ok(exit),
            (Err(error), _) | (_, Err(error)) => Err(error),
        };
        if let Err(error) = &outcome
            && !is_closed_pipe(error)
        {
            bail!("{error:#}; {}", saved_text(&state, &self.recorder.zone));
        }
        if self.progress.is_enabled {
            let recorded = counted(state.samples, "sample");
            let devices = counted(self.recorder.devices.len() as u64, "device");
            let _ = writeln!(
                context.err,
                "recorded {recorded} of {devices} in {name}, {}",
                written_text(&state)
            );
        }
        outcome
    }

    /// Takes samples until COUNT is reached, a signal comes, or an error occurs.
    fn take_samples(&mut self, sample: &mut Sample, context: &mut RunContext<'_>) -> Result<Exit> {
        let start = sample.at.monotonic.unwrap_or_default();
        let mut deadlines = Deadlines::new(start, self.interval);
        loop {
            if let Some(scan) = &sample.io_scan
                && scan.has_long_wait()
            {
                self.source.health.request();
            }
            let block = self
                .recorder
                .block(sample, &self.source.live, &mut |message| {
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
                || status_text(self.recorder.samples, &self.queue.progress()),
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
        let mut failure = ReadFailure::default();
        let mut all_missed = 0;
        loop {
            let (deadline, missed) = deadlines.next(context.clock.monotonic());
            self.source.request(deadline);
            match context
                .clock
                .wait(Some(deadline), Some(self.queue.failure()))
            {
                WaitOutcome::Signal(signal) => return Some(Exit::Signal(signal)),
                WaitOutcome::Due if !self.queue.is_done() => {}
                // The writer failed, before the deadline or at it; the end of the recording reports why.
                WaitOutcome::Input | WaitOutcome::Due => return Some(Exit::Error),
            }
            all_missed += missed + deadlines.skip_passed(context.clock.monotonic());
            let read = self.source.read(sample, |line, error| {
                self.warnings.warn_line(line as u64, &error, context.err)
            });
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
        let queue = self.queue;
        let name = self.name;
        queue.end();
        context.clock.clear_signal();
        let mut checks = 0;
        while !self.wait_until_done(CHECK_INTERVAL) {
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

    /// Waits for the end of the threads, for each of them at most for `limit`. Returns whether they have ended.
    fn wait_until_done(&self, limit: Duration) -> bool {
        let is_written = self.queue.wait_until_done(limit);
        match &self.learner {
            Some(learner) => is_written && learner.wait_until_done(limit),
            None => is_written,
        }
    }

    /// Reports events of the file, and why baselines could not be saved. The next attempt to save them follows after a
    /// while.
    fn report_events(&mut self, context: &mut RunContext<'_>) {
        for message in self.events.messages(&self.queue.progress(), self.name) {
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
fn saved_text(state: &WriteProgress, zone: &TimeZone) -> String {
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
fn status_text(samples: u64, state: &WriteProgress) -> String {
    let waiting = match state.waiting {
        // One sample is usually just being written.
        0 | 1 => String::new(),
        waiting => format!(", {waiting} waiting"),
    };
    format!("{samples} samples, {}{waiting}", written_text(state))
}

fn written_text(state: &WriteProgress) -> String {
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
        let mut messages = Vec::new();
        if old.losses != state.losses {
            messages.push(state.loss.clone());
        }
        if old.damage != state.damage {
            let reason = state.damage.as_deref().unwrap_or_default();
            let kept = rotated_name(Path::new(name), 1);
            messages.push(format!(
                "cannot append to {name}: {reason}; it is kept as {}, and a new file begins",
                kept.display()
            ));
        }
        if old.obstacle != state.obstacle {
            messages.push(match &state.obstacle {
                Some(reason) => {
                    format!("{reason}; samples are kept in memory until they can be written")
                }
                None => format!("{name}: samples are written again"),
            });
        }
        messages
    }
}
