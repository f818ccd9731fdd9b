//! `blkstat record`: writes samples of a live host to a file that every view can replay.
//!
//! One thread samples and another opens and writes the file, so that a sample is taken on time whether or not its disk
//! answers.
//! After the first sample, the thread that samples opens files of /proc and /sys only.

mod convert;
mod learner;
mod messages;
mod rotation;

use std::io;
use std::path::{PathBuf, absolute};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;

use self::learner::Learner;
use self::messages::{FileEvents, saved, status, written};
use self::rotation::{kept_files, rotation, rotation_limits};
use super::operands::{is_number_or_interval, parse_schedule};
use super::options::{BaselineOptions, Host, Operand, distance, usage_error};
use super::progress::Progress;
use super::recorder::Recorder;
use crate::analysis::Settings;
use crate::capture::RecordFilter;
use crate::clock::WaitOutcome;
use crate::console::{RunContext, Warnings, is_closed_pipe};
use crate::counters::{Device, Sample};
use crate::exit::{Exit, NoData};
use crate::intervals::{NotFound, find_device};
use crate::report::layout::sentence_numbers::counted;
use crate::report::who::skipped_scans_text;
use crate::sanitize::sanitize;
use crate::schedule::{DEFAULT_INTERVAL, Deadlines};
use crate::signals::end_process;
use crate::sink::{
    Destination, EndOnDrop, IfExists, RecordingFile, Rotation, WriteQueue, block_device_message,
    write_recording,
};
use crate::source::{DeviceResolver, HealthReader, IoScanner, Live, ScanScope, read_topology};

/// The operands of `record`, for the help.
pub(super) const OPERANDS: &[Operand] = &[
    ("FILE", "File to write, compressed if its name ends in .gz; - is standard output"),
    ("[INTERVAL]", "Time between samples: 1, 0.5, 100ms, 2s, 1m (default 1 s)"),
    ("[COUNT]", "Number of intervals; one more sample is taken (default: until Ctrl-C)"),
];

/// The memory in bytes for samples that wait to be written: more than an hour of 50 devices with a sample per second.
const MAX_QUEUE_BYTES: usize = 32 * 1024 * 1024;

/// The longest wait for the file to open before sampling goes on without it.
const OPEN_PATIENCE: Duration = Duration::from_millis(500);

/// A recording must be longer than this to show its progress.
const MIN_SHOWN_DURATION: Duration = Duration::from_secs(5);

/// The size of the stack of the writing thread, all of which is locked in memory.
const WRITER_STACK_BYTES: usize = 512 * 1024;

/// The time between checks for a signal.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// The number of checks after which a message shows what the program is waiting for.
const CHECKS_BEFORE_MESSAGE: u32 = 10;

#[derive(Args, Clone, Debug, Default)]
#[command(override_usage = "blkstat record [OPTIONS] FILE [INTERVAL [COUNT]]")]
pub struct Record {
    // Completion scripts show these words; --help shows OPERANDS.
    /// File to write
    #[arg(hide = true)]
    pub file: PathBuf,
    /// Time between samples
    #[arg(hide = true, allow_negative_numbers = true)]
    pub interval: Option<String>,
    /// Number of intervals
    #[arg(hide = true, allow_negative_numbers = true)]
    pub count: Option<String>,
    /// Convert every sample of a capture of any form, or of a log of another program; - is standard input
    #[arg(short, long, value_name = "CAPTURE")]
    #[arg(conflicts_with_all = ["interval", "device", "columns", "no_who", "rotate", "learn_baseline", "baseline"])]
    pub from: Option<PathBuf>,
    /// Distance of the samples of a capture without times
    #[arg(long, value_name = "TIME", value_parser = distance)]
    pub every: Option<Duration>,
    /// Record only this device, by any of its names, with the cgroups that use it or a device below; repeatable
    #[arg(long, value_name = "DEVICE")]
    pub device: Vec<String>,
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
    /// Start a new file before FILE exceeds SIZE (10M, 1G) or after TIME (30min, 1h, 1d), or both (1G,1d), renaming older
    /// ones to FILE.1, FILE.2, ...
    #[arg(long, value_name = "SIZE|TIME", value_parser = rotation_limits)]
    pub rotate: Option<Rotation>,
    /// Keep at most N older files, or as many as fit in SIZE, or both (30,2G; with --rotate; default all)
    #[arg(long, value_name = "N|SIZE", requires = "rotate", value_parser = kept_files)]
    pub keep: Option<Rotation>,
    /// Keep unloaded latencies in FILE up to date, for --baseline or as /var/lib/blkstat/baseline.json for every live view
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
        if let Some(word) = self.file.to_str().filter(|word| is_number_or_interval(word)) {
            return Err(usage_error(format!(
                "missing FILE before '{word}'; usage: blkstat record FILE [INTERVAL [COUNT]] \
                 (./{word} for a file of that name)"
            )));
        }
        if self.every.is_some() && self.from.is_none() {
            return Err(usage_error("--every needs a capture, such as --from CAPTURE"));
        }
        let writes_to_output = self.file.as_os_str() == "-";
        let name = if writes_to_output { "standard output".into() } else { self.file.display().to_string() };
        let name = sanitize(&name).into_owned();
        if let Some(from) = &self.from {
            return self.convert(from, &name, context);
        }
        let learns_in_file = |learned: &PathBuf| absolute(learned).ok() == absolute(&self.file).ok();
        if self.learn_baseline.as_ref().is_some_and(learns_in_file) {
            return Err(usage_error("--learn-baseline needs a different file than the recording"));
        }
        let schedule = parse_schedule(self.interval.as_ref(), self.count.as_ref()).map_err(usage_error)?;
        let rotation = self.rotate.map(|limits| rotation(limits, self.keep)).transpose();
        let rotation = rotation.map_err(usage_error)?;
        let interval = schedule.interval.unwrap_or(DEFAULT_INTERVAL);
        let baselines = self.baseline.load(Settings::default(), &host.saved_baselines, context)?;
        let mut source = Live::new(&host.root, context.clock).with_host_state();
        let mut warnings = Warnings::about(&source.name());
        let mut sample = Sample::default();
        let scanner = match self.no_who {
            false => Some(IoScanner::start(&host.root, context.clock, ScanScope::Everything)?),
            true => None,
        };
        // Before the first sample, so that waiting for it misses no deadline.
        let health = HealthReader::start(&host.root, context.clock)?;
        scanner.iter().for_each(IoScanner::wait_for_first);
        health.wait_for_first();
        source.read_first(&mut sample, |line, error| warnings.warn_line(line as u64, &error, context.err))?;
        let devices = self.kernel_names(host, &sample.devices);
        let devices = devices.map_err(|reason| NoData(format!("{}: {reason}", sanitize(&source.name()))))?;
        let is_file = |device: &&Device| self.file.as_os_str() == device.name.as_str();
        if let Some(device) = sample.devices.iter().find(is_file) {
            bail!("{}; ./{1} for a file named {1}", block_device_message(&device.name), device.name);
        }
        let writes_to_terminal = writes_to_output && context.is_terminal;
        let problem = Mutex::new(None);
        let columns = (self.columns == "14").then_some(14);
        let filter = RecordFilter { devices: devices.clone(), columns };
        let recorder = Recorder::new(&host.root, filter, &baselines, interval, context.time_zone());
        let queue = WriteQueue::new(MAX_QUEUE_BYTES).context("cannot start to write")?;
        // The writer has it from now on. Something without a size is not on the heap.
        let out = std::mem::replace(&mut context.out, Box::leak(Box::new(io::sink())));
        thread::scope(|scope| {
            let _end = EndOnDrop(&queue);
            let learner = self.learn_baseline.as_deref();
            let learner = learner
                .map(|path| Learner::start(scope, path, devices, &host.root, interval, &baselines, &problem))
                .transpose()?;
            let writer = thread::Builder::new().name("writer".to_owned()).stack_size(WRITER_STACK_BYTES);
            let (queue, file_name) = (&queue, name.clone());
            let write = move || write_recording(queue, || self.open_destination(rotation, &file_name, out));
            writer.spawn_scoped(scope, write).context("cannot start to write")?;
            if !queue.wait_until_open(OPEN_PATIENCE) {
                context.print_error(format_args!(
                    "waiting to open {name}; samples are kept in memory until it is open"
                ));
            } else if let Some(error) = queue.take_error() {
                return Err(error);
            }
            let shows_progress = context.err_is_terminal && !writes_to_terminal;
            let is_long = schedule.count.is_none_or(|count| {
                interval.saturating_mul(u32::try_from(count).unwrap_or(u32::MAX)) > MIN_SHOWN_DURATION
            });
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
                progress: Progress::new(shows_progress && is_long, start),
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
        Ok(Destination::File(Box::new(RecordingFile::open(&self.file, name, if_exists, rotation)?)))
    }

    /// Resolves the requested devices, given by any of their names, to kernel names.
    ///
    /// # Errors
    /// The first name that no device has.
    fn kernel_names(&self, host: &Host, devices: &[Device]) -> Result<Vec<String>, NotFound> {
        if self.device.is_empty() {
            return Ok(Vec::new());
        }
        let topology = read_topology(&host.root);
        let resolver = DeviceResolver::new(&host.root, &[host.root.join("sys")]);
        let resolve = |name: &String| match find_device(name, devices, &topology, Some(&resolver)) {
            Some(at) => Ok(devices[at].name.clone()),
            None => {
                let names = devices.iter().map(|device| device.name.as_str());
                let aliases = topology.nodes().iter().filter_map(|node| node.alias.as_deref());
                Err(NotFound::name(name, names.chain(aliases), "blkstat devices"))
            }
        };
        self.device.iter().map(resolve).collect()
    }
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
        self.learner.iter_mut().for_each(|learner| learner.samples = None);
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
                    let _ = writeln!(context.err, "recorded {recorded} of {devices} in {name}, {written}");
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
            sample.io_scan = self.scanner.as_mut().and_then(|scanner| scanner.latest(now));
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
            if self.count.is_some_and(|count| self.recorder.samples > count) {
                return Ok(Exit::Success);
            }
            self.report_events(context);
            self.progress.show(|| status(self.recorder.samples, &self.queue.progress()), context);
            let (deadline, missed) = deadlines.next(context.clock.monotonic());
            if let Some(scanner) = &self.scanner {
                scanner.request(deadline);
            }
            match context.clock.wait_for_input(Some(deadline), self.queue.failure()) {
                WaitOutcome::Signal(signal) => return Ok(Exit::Signal(signal)),
                // The writer failed, and the end of the recording reports why.
                WaitOutcome::Input => return Ok(Exit::Error),
                WaitOutcome::Due if self.queue.is_done() => return Ok(Exit::Error),
                WaitOutcome::Due => {}
            }
            let skipped = deadlines.skip_passed(context.clock.monotonic());
            context.read_live(&mut self.source, sample, &mut self.warnings)?;
            sample.missed_samples = missed + skipped;
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
            let is_learned = || learner.is_none_or(|learner| learner.wait_until_done(CHECK_INTERVAL));
            queue.wait_until_done(CHECK_INTERVAL) && is_learned()
        };
        while !is_done() {
            let waiting = queue.progress().waiting as u64;
            if let Some(signal) = context.clock.signal() {
                self.progress.clear(context);
                context.print_error(format_args!("{} not written to {name}", counted(waiting, "sample")));
                end_process(signal);
            }
            checks += 1;
            if checks == CHECKS_BEFORE_MESSAGE {
                self.progress.clear(context);
                if queue.is_done() {
                    context.print_error("waiting for baselines to be saved; press Ctrl-C again to give up");
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
        while let Some(message) = self.events.next_message(&self.queue.progress(), &self.name) {
            self.progress.clear(context);
            context.print_error(message);
        }
        if let Some(problem) = self.problem.lock().unwrap_or_else(PoisonError::into_inner).take() {
            self.progress.clear(context);
            context.print_error(problem);
        }
    }
}
