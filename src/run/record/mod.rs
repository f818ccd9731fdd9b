//! `blkstat record`: writes samples of a live host to a file that every view can replay.
//!
//! One thread samples and another opens and writes the file, so that a sample is taken on time whether or not its disk
//! answers.
//! After the first sample, the thread that samples opens files of /proc and /sys only.

mod ending;
mod learner;
mod progress;

use std::collections::HashMap;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use self::ending::{end_recording, saved};
use self::learner::Learner;
use self::progress::{FileEvents, print_summary, shows_progress, status};
use super::progress::Progress;
use super::recorder::Recorder;
use super::warnings::Warnings;
use super::{RunContext, is_closed_pipe, load_baselines, lock_memory, read_live};
use crate::capture::RecordFilter;
use crate::clock::WaitOutcome;
use crate::counters::{Device, Sample};
use crate::exit::Exit;
use crate::intervals::{NotFound, VerdictOptions, find_device, similar_name};
use crate::plan::Record;
use crate::report::who::skipped_scans_text;
use crate::sanitize::sanitize;
use crate::schedule::{DEFAULT_INTERVAL, Deadlines};
use crate::sink::{
    Destination, EndOnDrop, IfExists, RecordingFile, WriteQueue, block_device_message, write_recording,
};
use crate::source::{DeviceResolver, IoScanner, Live, ScanScope, read_topology};

/// The memory in bytes for samples that wait to be written: more than an hour of 50 devices with a sample per second.
const MAX_QUEUE_BYTES: usize = 32 * 1024 * 1024;

/// The longest wait for the file to open before sampling goes on without it.
const OPEN_PATIENCE: Duration = Duration::from_millis(500);

/// The size of the stack of the writing thread, all of which is locked in memory.
const WRITER_STACK_BYTES: usize = 512 * 1024;

/// Records the requested number of intervals, or until a signal comes. The first sample is taken at once, so there is
/// one more sample than intervals.
///
/// # Errors
/// If a sample cannot be read or written; the message includes the number of samples that were saved.
pub(super) fn run(plan: &Record, context: &mut RunContext<'_>) -> Result<Exit> {
    let options = VerdictOptions { baseline: plan.baseline.clone(), ..VerdictOptions::default() };
    let baselines = load_baselines(&options, context)?;
    let mut source = Live::new(&plan.root, context.clock).with_host_state();
    let mut warnings = Warnings::about(&source.name());
    let mut sample = Sample::default();
    let scanner = match plan.scans_io {
        true => Some(IoScanner::start(&plan.root, context.clock, ScanScope::Everything)?),
        false => None,
    };
    // Before the first sample, so that waiting for it misses no deadline.
    scanner.iter().for_each(IoScanner::wait_for_first);
    source.read_first(&mut sample, |line, error| warnings.warn_line(line as u64, &error, context.err))?;
    let devices = match kernel_names(plan, &sample.devices) {
        Ok(devices) => devices,
        Err(reason) => {
            context.print_error(format_args!("{}: {reason}", sanitize(&source.name())));
            return Ok(Exit::NoData);
        }
    };
    if let Some(device) = sample.devices.iter().find(|device| plan.file.as_os_str() == device.name.as_str()) {
        bail!("{}; ./{1} for a file named {1}", block_device_message(&device.name), device.name);
    }
    let interval = plan.schedule.interval.unwrap_or(DEFAULT_INTERVAL);
    let zone = context.time_zone(plan.time_zone.as_deref());
    let name = recording_name(plan);
    let writes_to_terminal = plan.writes_to_output() && context.is_terminal;
    let problem = Mutex::new(None);
    let columns = plan.legacy_14_columns.then_some(14);
    let filter = RecordFilter { devices: devices.clone(), columns };
    let recorder = Recorder::new(&plan.root, filter, &baselines, interval, zone);
    let queue = WriteQueue::new(MAX_QUEUE_BYTES).context("cannot start to write")?;
    let mut nothing = io::sink();
    let RunContext { clock, out, err, is_terminal, may_lock_memory } = context;
    let out = &mut **out;
    let mut context = RunContext {
        clock: *clock,
        out: &mut nothing,
        err: &mut **err,
        is_terminal: *is_terminal,
        may_lock_memory: *may_lock_memory,
    };
    thread::scope(|scope| {
        let _end = EndOnDrop(&queue);
        let learner = plan.learn_baseline.as_deref();
        let learner = learner
            .map(|path| Learner::start(scope, path, devices, plan, interval, &baselines, &problem))
            .transpose()?;
        let writer = thread::Builder::new().name("writer".to_owned()).stack_size(WRITER_STACK_BYTES);
        let (queue, file_name) = (&queue, name.clone());
        let write = move || write_recording(queue, || open_destination(plan, &file_name, out));
        writer.spawn_scoped(scope, write).context("cannot start to write")?;
        if !queue.wait_until_open(OPEN_PATIENCE) {
            context.print_error(format_args!(
                "waiting to open {name}; samples are kept in memory until it is open"
            ));
        } else if let Some(error) = queue.take_error() {
            return Err(error);
        }
        let recording = Recording {
            learner,
            problem: &problem,
            plan,
            name,
            interval,
            recorder,
            source,
            scanner,
            warnings,
            events: FileEvents::default(),
            queue,
            writes_to_terminal,
        };
        recording.run(&mut sample, &mut context)
    })
}

struct Recording<'a> {
    learner: Option<Learner>,
    /// The last problem of the learner that has not been reported yet.
    problem: &'a Mutex<Option<String>>,
    plan: &'a Record,
    /// The name of the recording in messages, without control characters.
    name: String,
    interval: Duration,
    recorder: Recorder<'a>,
    source: Live<'a>,
    /// `None` if cgroups and processes are not recorded.
    scanner: Option<IoScanner>,
    warnings: Warnings,
    events: FileEvents,
    queue: &'a WriteQueue,
    writes_to_terminal: bool,
}

impl Recording<'_> {
    /// Records until the end, and waits until all samples are written. `sample` is the first one.
    fn run(mut self, sample: &mut Sample, context: &mut RunContext<'_>) -> Result<Exit> {
        let start = sample.at.monotonic.unwrap_or_default();
        let is_shown = shows_progress(self.plan, self.interval) && !self.writes_to_terminal;
        let mut progress = Progress::new(is_shown, start);
        let ended = self.take_samples(sample, start, &mut progress, context);
        let learner = self.learner.take().map(Learner::end);
        let is_written = end_recording(self.queue, &self.name, learner.as_ref(), &mut progress, context);
        self.report_events(&mut progress, context);
        progress.clear(context);
        if let Some(text) = skipped_scans_text(self.recorder.skipped_scans) {
            context.print_error(format_args!("{}: {text}", self.name));
        }
        self.warnings.finish(context.err);
        let state = self.queue.progress();
        match ended.and_then(|exit| is_written.map(|()| exit)) {
            Err(error) if !is_closed_pipe(&error) => {
                bail!("{error:#}; {}", saved(&state, self.recorder.zone()))
            }
            ended => {
                print_summary(
                    self.plan,
                    &self.name,
                    &self.recorder,
                    &state,
                    self.writes_to_terminal,
                    context,
                );
                ended
            }
        }
    }

    /// Takes samples until COUNT is reached, a signal comes, or an error occurs.
    fn take_samples(
        &mut self,
        sample: &mut Sample,
        start: Duration,
        progress: &mut Progress,
        context: &mut RunContext<'_>,
    ) -> Result<Exit> {
        let mut deadlines = Deadlines::new(start, self.interval);
        loop {
            let now = sample.at.monotonic.unwrap_or_default();
            sample.io_scan = self.scanner.as_mut().and_then(|scanner| scanner.latest(now));
            let block = self.recorder.block(sample, &self.source, &mut |message| {
                context.print_error(message);
            });
            self.queue.push(block);
            if let Some(learner) = &self.learner {
                learner.push(sample);
            }
            if self.recorder.samples == 1 {
                lock_memory(context);
            }
            if self.plan.schedule.count.is_some_and(|count| self.recorder.samples > count) {
                return Ok(Exit::Success);
            }
            self.report_events(progress, context);
            progress.show(|| status(self.recorder.samples, &self.queue.progress()), context);
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
            read_live(&mut self.source, sample, &mut self.warnings, context)?;
            sample.missed_samples = missed + skipped;
        }
    }

    /// Reports events of the file, and why baselines could not be saved. The next attempt to save them follows after a
    /// while.
    fn report_events(&mut self, progress: &mut Progress, context: &mut RunContext<'_>) {
        while let Some(message) = self.events.next_message(&self.queue.progress(), &self.name) {
            progress.clear(context);
            context.print_error(message);
        }
        if let Some(problem) = self.problem.lock().unwrap_or_else(PoisonError::into_inner).take() {
            progress.clear(context);
            context.print_error(problem);
        }
    }
}

/// Returns the name of the recording in messages, without control characters.
fn recording_name(plan: &Record) -> String {
    let name =
        if plan.writes_to_output() { "standard output".into() } else { plan.file.display().to_string() };
    sanitize(&name).into_owned()
}

/// Opens the file of a recording, or takes standard output.
///
/// # Errors
/// If the file exists and must not be changed, or cannot be written.
fn open_destination<'a>(
    plan: &Record,
    name: &str,
    out: &'a mut (dyn io::Write + Send),
) -> Result<Destination<'a>> {
    if plan.writes_to_output() {
        if plan.rotation.is_some() {
            bail!("cannot rotate standard output; --rotate needs a file name");
        }
        return Ok(Destination::Output(out));
    }
    let if_exists = match (plan.append, plan.force) {
        (true, _) => IfExists::Append,
        (_, true) => IfExists::Replace,
        _ => IfExists::Refuse,
    };
    let file = RecordingFile::open(&plan.file, name, if_exists, plan.rotation)?;
    Ok(Destination::File(Box::new(file)))
}

/// Resolves the requested devices, given by any of their names, to kernel names.
///
/// # Errors
/// The first name that no device has.
fn kernel_names(plan: &Record, devices: &[Device]) -> Result<Vec<String>, NotFound> {
    if plan.devices.is_empty() {
        return Ok(Vec::new());
    }
    let topology = read_topology(&plan.root);
    let aliases: HashMap<&str, &String> =
        topology.nodes().iter().filter_map(|node| Some((node.name.as_str(), node.alias.as_ref()?))).collect();
    let alias = |device: &Device| aliases.get(device.name.as_str()).map(|name| name.as_str());
    let resolver = DeviceResolver::new(&plan.root, &[plan.root.join("sys")]);
    let resolve = |name: &String| match find_device(name, devices, alias, Some(&resolver)) {
        Some(at) => Ok(devices[at].name.clone()),
        None => {
            let names = devices.iter().map(|device| device.name.as_str());
            let similar = similar_name(name, names.chain(aliases.values().map(|name| name.as_str())));
            let (name, list_command) = (name.clone(), "blkstat devices".to_owned());
            Err(NotFound::Name { name, similar: similar.map(str::to_owned), list_command })
        }
    };
    plan.devices.iter().map(resolve).collect()
}
