//! Options and operands that several commands share, with what they mean.
//!
//! The short options are the same in all commands that have the long one. `-p` is that of iostat, `-w` and `-a` those of
//! vmstat (wide, active) and ls (all), `-f` names the input as in tar, awk and grep, `-o` the output as everywhere, and
//! sort and JSON have the letters that new tools give them. There is none for an option that overwrites files: `-f` would be
//! its letter. `-n`, `-c`, `-i` and `-t` stay free, because hands that type them mean COUNT or INTERVAL: see `suggest`.
//! So do `-x`, `-d`, `-k` and the other letters of iostat, which suggest `blkstat iostat`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Error, Result, anyhow};
use clap::Args;
#[cfg(feature = "top")]
use jiff::Timestamp;

use super::operands::{Operands, two_numbers};
use crate::analysis::{DeviceBaseline, Settings, StatedCap};
use crate::console::{RunContext, Warnings};
use crate::intervals::{self, BaselineOption, BaselineStore, DeviceSelection, Input, Stacked};
use crate::report::native::sort_keys;
use crate::sanitize::sanitize;
use crate::schedule::{Schedule, parse_interval};
use crate::time_range::{TimePoint, TimeRange};
use crate::topology::DeviceClass;

/// The file with baselines for all users of the host.
const HOST_FILE: &str = "/var/lib/blkstat/baseline.json";
/// The file with baselines of a user, below the directory for state.
const USER_FILE: &str = "blkstat/baseline.json";

/// An operand as shown in the help, with its meaning.
pub(super) type Operand = (&'static str, &'static str);

/// The operands of a view of intervals, for the help.
pub(super) const VIEW_OPERANDS: &[Operand] = &[
    FILE_OPERAND,
    ("[DEVICE]...", "Devices, by any of their names or a path on them (default: those that matter)"),
    ("[INTERVAL]", "Length of an interval: 1, 0.5, 100ms, 2s, 1m (default 1 s, or that of the recording)"),
    ("[COUNT]", "Number of intervals (default: until Ctrl-C or the end of the recording)"),
];
/// The recording to show, for the help.
pub(super) const FILE_OPERAND: Operand =
    ("[FILE]...", "Recording, in one or more files; - is standard input (default: this host)");

/// Returns the error about an argument, whose words come from the user.
pub(super) fn usage_error(message: impl AsRef<str>) -> Error {
    anyhow!("{}", sanitize(message.as_ref()))
}

/// The message about --realtime without a capture.
pub(super) const NO_REALTIME: &str =
    "--realtime needs a capture, such as FILE: the running system has no other speed";

#[derive(Args, Clone, Debug)]
pub(super) struct WidthOption {
    /// Output width (default: that of the terminal; without one, nothing is cut)
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(20..))]
    width: Option<u16>,
}

impl WidthOption {
    pub(super) fn given(&self) -> Option<usize> {
        self.width.map(usize::from)
    }

    /// The width that was given, or else that of the terminal.
    pub(super) fn or_available(&self, context: &RunContext<'_>) -> usize {
        self.given().unwrap_or_else(|| context.width())
    }
}

/// The host that is read.
#[derive(Args, Clone, Debug, Default)]
pub struct Host {
    /// Use DIR/proc and DIR/sys instead of /proc and /sys
    #[arg(long, value_name = "DIR", default_value = "/", global = true, hide_default_value = true)]
    pub root: PathBuf,
    /// The files that may hold its baselines; the first that exists counts.
    #[arg(skip)]
    pub saved_baselines: Vec<PathBuf>,
}

impl Host {
    /// Names the files in which baselines of the running system are saved: that of the host, then that of the user.
    /// There are none for another root, which may describe another host.
    pub(super) fn find_saved_baselines(&mut self, environment: &dyn Fn(&str) -> Option<OsString>) {
        if self.root == Path::new("/") {
            let directory =
                |name: &str| environment(name).map(PathBuf::from).filter(|path| path.is_absolute());
            let state = directory("XDG_STATE_HOME").or_else(|| Some(directory("HOME")?.join(".local/state")));
            self.saved_baselines = vec![HOST_FILE.into()];
            self.saved_baselines.extend(state.map(|state| state.join(USER_FILE)));
        }
    }

    /// Returns the files with saved baselines of the source: a capture has none.
    pub(super) fn baselines_for(&self, input: &Input) -> &[PathBuf] {
        if input.from.is_some() { &[] } else { &self.saved_baselines }
    }

    /// Returns a capture, or this host, as the source of intervals.
    ///
    /// # Errors
    /// If an option about captures is given without one.
    pub(super) fn input(
        &self,
        files: &[PathBuf],
        range: TimeRange,
        schedule: Schedule,
        capture: &CaptureOptions,
    ) -> Result<Input> {
        let options = [
            ("--every", capture.every.is_some()),
            ("--stack", !capture.stack.is_empty()),
            ("--class", !capture.classes.is_empty()),
        ];
        if let (Some((option, _)), true) = (options.iter().find(|(_, given)| *given), files.is_empty()) {
            return Err(usage_error(format!("{option} needs a capture, such as FILE")));
        }
        Ok(Input {
            from: files.first().cloned(),
            more: files.get(1..).unwrap_or_default().to_vec(),
            range,
            root: self.root.clone(),
            interval: schedule.interval,
            count: schedule.count,
            every: capture.every,
            stack: capture.stack.clone(),
            classes: capture.classes.clone(),
            strict: capture.strict,
            scans_io: files.is_empty(),
            ..Input::default()
        })
    }
}

/// The operands, and the options about a capture.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct SourceOptions {
    // Completion scripts show these words; --help shows VIEW_OPERANDS.
    /// Recording, devices, interval and number of intervals
    #[arg(value_name = "DEVICE", hide = true, allow_negative_numbers = true)]
    pub(super) operands: Vec<String>,
    /// Replay a capture, plain or compressed; - is standard input
    #[arg(short, long, value_name = "FILE")]
    pub(super) from: Option<PathBuf>,
    #[command(flatten)]
    pub(super) range: RangeOptions,
    #[command(flatten)]
    pub(super) capture: CaptureOptions,
}

impl SourceOptions {
    /// Returns the source of intervals, and the devices that are named; see [`Operands::split`].
    ///
    /// # Errors
    /// If an operand is invalid, or an option about captures is given without one.
    pub(super) fn source(
        &self,
        is_file_first: bool,
        host: &Host,
        context: &RunContext<'_>,
    ) -> Result<(Input, Vec<String>)> {
        let operands = Operands::split(&self.operands, is_file_first, self.from.as_ref(), &host.root);
        let Operands { files, devices, schedule } = operands.map_err(usage_error)?;
        let range = self.range.range(!files.is_empty(), context)?;
        Ok((host.input(&files, range, schedule, &self.capture)?, devices))
    }
}

/// The options that select devices of a table.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct SelectionOptions {
    /// Show only devices whose name matches REGEX
    #[arg(long, value_name = "REGEX")]
    devices_regex: Option<String>,
    /// Show partitions, even idle ones
    #[arg(short, long)]
    partitions: bool,
    /// Show all devices, even idle ones
    #[arg(short, long)]
    pub(super) all: bool,
}

impl SelectionOptions {
    /// Returns the selection of these devices, without a total.
    pub(super) fn of(&self, devices: Vec<String>) -> DeviceSelection {
        let (regex, partitions, all) = (self.devices_regex.clone(), self.partitions, self.all);
        DeviceSelection { devices, regex, partitions, all, total: false }
    }
}

/// The options of everything that reads captures.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct CaptureOptions {
    /// Treat warnings about a capture as errors
    #[arg(long)]
    pub(super) strict: bool,
    /// Distance of the samples of a capture without times
    #[arg(long, value_name = "TIME", value_parser = distance)]
    pub(super) every: Option<Duration>,
    /// What a device of a capture without /sys stands on, such as dm-0=sda,sdb; repeatable
    #[arg(long, value_name = "DEVICE=BELOW,...", value_parser = stacked)]
    pub(super) stack: Vec<Stacked>,
    /// Class of a device of a capture without /sys: hdd, ssd, nvme or network; repeatable
    #[arg(long = "class", value_name = "DEVICE=CLASS", value_parser = class)]
    pub(super) classes: Vec<(String, DeviceClass)>,
}

/// Parses the distance of samples.
pub(super) fn distance(word: &str) -> Result<Duration, String> {
    parse_interval(word).map_err(|message| message.replace("INTERVAL", "TIME"))
}

/// Parses the class of a device.
fn class(word: &str) -> Result<(String, DeviceClass), String> {
    let (device, name) = word.split_once('=').filter(|(device, _)| !device.is_empty()).unwrap_or_default();
    let found = DeviceClass::NAMES.into_iter().find(|(_, known)| *known == name);
    found.map(|(class, _)| (device.to_owned(), class)).ok_or_else(|| {
        let names = DeviceClass::NAMES.map(|(_, name)| name).join(", ");
        format!("expected DEVICE=CLASS, such as sda=ssd; classes are {names}")
    })
}

/// Parses what a device stands on.
fn stacked(word: &str) -> Result<Stacked, String> {
    let expected = "expected DEVICE=BELOW[,BELOW]..., such as dm-0=sda,sdb";
    let (device, below) = word.split_once('=').ok_or(expected)?;
    let below: Vec<String> = below.split(',').map(str::to_owned).collect();
    if device.is_empty() || below.iter().any(|name| name.is_empty() || name == device) {
        return Err(expected.to_owned());
    }
    Ok(Stacked { device: device.to_owned(), below })
}

/// The options that select a range of time of a capture.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct RangeOptions {
    /// Show a capture from T on: 16:04, 2026-11-20T16:04, -10m (from its end) or +5m (from its start)
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    begin: Option<TimePoint>,
    /// Show a capture up to T, as for --begin
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    end: Option<TimePoint>,
}

impl RangeOptions {
    /// The range from one time to another.
    #[cfg(feature = "top")]
    pub(super) fn between((begin, end): (Timestamp, Timestamp)) -> Self {
        let point = |at: Timestamp| at.to_string().parse().ok();
        Self { begin: point(begin), end: point(end) }
    }

    /// Returns the range of a replay, or of the running system.
    ///
    /// # Errors
    /// A message if a range of the running system is requested.
    pub(super) fn range(&self, is_replay: bool, context: &RunContext<'_>) -> Result<TimeRange> {
        let time_zone = (context.environment)("TZ");
        let range = TimeRange { begin: self.begin.clone(), end: self.end.clone(), time_zone };
        let option = range.points().map(|(option, _)| option).next();
        match option.filter(|_| !is_replay) {
            Some(option) => Err(usage_error(format!(
                "{option} needs a capture, such as --from FILE: the running system has no past"
            ))),
            None => Ok(range),
        }
    }
}

/// The options of the assessment of devices.
#[derive(Args, Clone, Debug)]
pub(super) struct VerdictOptions {
    /// Latency, as a multiple of unloaded latency, at which a device counts as saturated
    #[arg(long, value_name = "MULTIPLE", default_value_t = 3.0, value_parser = multiple)]
    pub(super) saturation_threshold: f64,
    /// Known cap on reads and writes combined, such as that of a cloud volume
    #[arg(long, value_name = "IOPS[,MiB/s]", value_parser = cap)]
    pub(super) cap: Option<StatedCap>,
    #[command(flatten)]
    pub(super) baseline: BaselineOptions,
}

impl VerdictOptions {
    /// Loads the baselines, by default from the first of the `saved` files that exists.
    ///
    /// # Errors
    /// If the file that is given cannot be read or contains no baselines.
    pub(super) fn load_baselines(
        &self,
        saved: &[PathBuf],
        context: &mut RunContext<'_>,
    ) -> Result<BaselineStore> {
        let (saturation_threshold, cap) = (self.saturation_threshold, self.cap);
        let settings = Settings { saturation_threshold, cap, ..Settings::default() };
        self.baseline.load(settings, saved, context)
    }
}

/// The source of unloaded latencies.
#[derive(Args, Clone, Debug, Default)]
pub struct BaselineOptions {
    /// Take unloaded latencies from a capture, or from a file saved with analyze --save-baseline
    #[arg(long, value_name = "FILE", conflicts_with_all = ["baseline_ms", "no_baseline"])]
    baseline: Option<PathBuf>,
    /// Unloaded latency of reads and of writes, in milliseconds
    #[arg(long, value_name = "R[,W]", value_parser = baseline_ms, conflicts_with = "no_baseline")]
    baseline_ms: Option<DeviceBaseline>,
    /// Ignore saved baselines, including those in a recording
    #[arg(long)]
    pub(super) no_baseline: bool,
}

impl BaselineOptions {
    /// Loads the baselines, by default from the first of the `saved` files, with a warning if those cannot be used.
    ///
    /// # Errors
    /// If the file that is given cannot be read or contains no baselines.
    pub(super) fn load(
        &self,
        settings: Settings,
        saved: &[PathBuf],
        context: &mut RunContext<'_>,
    ) -> Result<BaselineStore> {
        let option = match (&self.baseline, &self.baseline_ms, self.no_baseline) {
            (Some(file), ..) => BaselineOption::File(file),
            (None, Some(stated), _) => BaselineOption::Stated(stated),
            (None, None, true) => BaselineOption::Learned,
            (None, None, false) => BaselineOption::Saved(saved),
        };
        let name = self.baseline.as_ref().map(|file| file.display().to_string()).unwrap_or_default();
        let mut warnings = Warnings::about(&name);
        let baselines = intervals::load_baselines(settings, option, context.clock, &mut |warning| {
            warnings.warn_capture(warning, context.err);
        });
        warnings.finish(context.err);
        let baselines = baselines?;
        if let Some(problem) = &baselines.problem {
            context.print_error(problem);
        }
        Ok(baselines)
    }
}

/// Parses the unloaded latencies of reads and writes in milliseconds.
fn baseline_ms(word: &str) -> Result<DeviceBaseline, String> {
    let (read, write) = two_numbers(word).ok_or("expected milliseconds, such as 0.1 or 0.1,0.5")?;
    Ok(DeviceBaseline::stated(read, write))
}

/// Parses a multiple such as `3` or `3x`.
fn multiple(word: &str) -> Result<f64, String> {
    let multiple = word.trim_end_matches('x').parse().ok();
    let multiple = multiple.filter(|multiple: &f64| *multiple > 1.0 && multiple.is_finite());
    multiple.ok_or_else(|| "expected a number above 1".to_owned())
}

/// Parses a cap in IOPS, MiB/s or both.
fn cap(word: &str) -> Result<StatedCap, String> {
    let (iops, mib_per_s) = two_numbers(word).ok_or("expected IOPS[,MiB/s], such as 3000 or 3000,125")?;
    Ok(StatedCap { iops, mib_per_s })
}

/// Parses a percentage above 0, up to 100.
pub(super) fn percentage(word: &str) -> Result<f64, String> {
    let number = word.trim_end_matches('%').parse().ok();
    let number = number.filter(|number: &f64| *number > 0.0 && *number <= 100.0);
    number.ok_or_else(|| "expected a percentage above 0, up to 100".to_owned())
}

/// Parses a key to sort devices by.
pub(super) fn sort_key(word: &str) -> Result<&'static str, String> {
    one_of(&sort_keys().collect::<Vec<_>>(), word)
}

/// Finds a key, in any case.
pub(super) fn one_of(keys: &[&'static str], word: &str) -> Result<&'static str, String> {
    let found = keys.iter().find(|key| key.eq_ignore_ascii_case(word)).copied();
    found.ok_or_else(|| format!("expected one of: {}", keys.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn baselines_are_saved_for_the_host_and_for_the_user() {
        let files = |root: &str, variables: &[(&str, &str)]| -> Vec<String> {
            let value = |name: &str| {
                let (_, value) = variables.iter().find(|(variable, _)| *variable == name)?;
                Some(OsString::from(value))
            };
            let mut host = Host { root: root.into(), ..Host::default() };
            host.find_saved_baselines(&value);
            host.saved_baselines.iter().map(|path| path.display().to_string()).collect()
        };
        let home = ("HOME", "/home/u");
        assert_eq!(
            files("/", &[("XDG_STATE_HOME", "/state"), home]),
            [HOST_FILE, "/state/blkstat/baseline.json"]
        );
        for state in ["", "state"] {
            let variables = [("XDG_STATE_HOME", state), home];
            assert_eq!(files("/", &variables), [HOST_FILE, "/home/u/.local/state/blkstat/baseline.json"]);
        }
        assert_eq!(
            (files("/", &[]), files("/", &[("HOME", ".")])),
            (vec![HOST_FILE.into()], vec![HOST_FILE.into()])
        );
        assert!(files("/mnt/host", &[home]).is_empty());
    }
}
