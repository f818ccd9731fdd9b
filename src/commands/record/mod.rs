//! `blkstat record`: writes samples of a live host to a file that every view can replay.
//!
//! One thread samples and another opens and writes the file, so that a sample is taken on time whether or not its disk
//! answers.
//! After the first sample, the thread that samples opens files of /proc and /sys only.

mod excerpt;
mod learner;
mod recording;
mod rotation_limits;
pub(super) mod samples;

use std::path::{PathBuf, absolute};
use std::sync::Mutex;
use std::time::Duration;
use std::{io, thread};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;

use self::learner::Learner;
use self::recording::{FileEvents, Recording};
use self::rotation_limits::{kept_files, rotation, rotation_limits};
use self::samples::Recorder;
use super::follow::Progress;
use super::options::{
    BaselineOptions, Host, Operand, RangeOptions, distance, is_number_or_interval,
    split_devices_and_schedule, usage_error,
};
use crate::capture::RecordFilter;
use crate::console::{RunContext, Warnings};
use crate::counters::{Device, Sample};
use crate::exit::{Exit, NoData};
use crate::intervals::{NotFound, find_devices};
use crate::judge::Settings;
use crate::sanitize::{path_text, sanitize};
use crate::schedule::DEFAULT_INTERVAL;
use crate::sink::{
    Destination, EndOnDrop, IfExists, RecordingFile, Rotation, WriteQueue, block_device_message,
    write_recording,
};
use crate::source::{DeviceResolver, HostReader, ScanScope, read_topology};

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
        "Intervals between COUNT + 1 samples (default: until Ctrl-C)",
    ),
];

/// The memory in bytes for samples that wait to be written: more than an hour of 50 devices with a sample per second.
const MAX_QUEUE_BYTES: usize = 32 * 1024 * 1024;

/// The longest wait for the file to open before sampling goes on without it.
const OPEN_PATIENCE: Duration = Duration::from_millis(500);

/// The size of the stack of the writing thread, all of which is locked in memory.
const WRITER_STACK_BYTES: usize = 512 * 1024;

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
    /// Write a capture of any form as a recording; - is standard input. Repeat it for the files of one recording
    #[arg(short, long, value_name = "CAPTURE")]
    #[arg(conflicts_with_all = ["operands", "no_who", "rotate", "learn_baseline", "baseline_ms"])]
    pub from: Vec<PathBuf>,
    #[command(flatten)]
    pub range: RangeOptions,
    /// Replace the names of host, volumes, mount points, cgroups, programs and serial numbers
    #[arg(long, requires = "from")]
    pub anonymous: bool,
    /// Interval between samples of a capture without timestamps
    #[arg(long, value_name = "TIME", value_parser = distance)]
    pub every: Option<Duration>,
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
    /// Keep the unloaded latencies up to date in FILE; every live view reads /var/lib/blkstat/baseline.json
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
        let name: &str = &match self.writes_to_output() {
            true => "standard output".to_owned(),
            false => path_text(&self.file),
        };
        let range = self.range.range(!self.from.is_empty(), context)?;
        if !self.from.is_empty() {
            return self.copy_captures(&range, name, context);
        }
        let (device_names, schedule) =
            split_devices_and_schedule(&self.operands).map_err(usage_error)?;
        let rotation = match self.rotate {
            Some(limits) => Some(rotation(limits, self.keep).map_err(usage_error)?),
            None => None,
        };
        let interval = schedule.interval.unwrap_or(DEFAULT_INTERVAL);
        let baselines = self.baseline.load(
            Settings::default(),
            host.saved_baselines.as_deref(),
            context,
        );
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
        };
        let recorder = Recorder::new(
            &host.root,
            filter,
            &baselines,
            interval,
            context.time_zone(),
        );
        let queue = &WriteQueue::new(MAX_QUEUE_BYTES).context("cannot start to write")?;
        // The writer has it from now on. What takes its place has no size, so that leaking it costs nothing.
        let out = std::mem::replace(&mut context.out, Box::leak(Box::new(io::sink())));
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
            let writes_to_terminal = self.writes_to_output() && context.is_terminal;
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
        if self.every.is_some() && self.from.is_empty() {
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
        if self.writes_to_output() {
            if rotation.is_some() {
                bail!("cannot rotate standard output; --rotate needs a file name");
            }
            return Ok(Destination::Output(out));
        }
        let file = self.open_file(rotation, name)?;
        Ok(Destination::File(Box::new(file)))
    }

    fn writes_to_output(&self) -> bool {
        self.file.as_os_str() == "-"
    }

    /// Opens the file of a recording.
    ///
    /// # Errors
    /// If it exists and must not be changed, or cannot be written.
    fn open_file(&self, rotation: Option<Rotation>, name: &str) -> Result<RecordingFile> {
        let if_exists = match (self.append, self.force) {
            (true, _) => IfExists::Append,
            (_, true) => IfExists::Replace,
            _ => IfExists::Refuse,
        };
        RecordingFile::open(&self.file, name, if_exists, rotation)
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
    let found = find_devices(words, devices, &topology, Some(&resolver))?;
    let mut names = Vec::new();
    for index in found {
        names.push(devices[index].name.clone());
    }
    Ok(names)
}
