//! The options of iostat, parsed.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::text::{Palette, Style, Unit};
use crate::console::{ArgError, Environment};
use crate::exit::Exit;
use crate::sanitize::sanitize;
use crate::schedule::parse_interval;
use crate::source::is_recording;
use crate::time_range::TimeRange;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The parts and the format of a report.
    pub style: Style,
    /// True if the report has colors only on a terminal.
    pub colors_only_terminal: bool,
    /// Devices and groups in the order of the command line.
    pub items: Vec<RequestedItem>,
    /// The devices that are shown in addition.
    pub default_devices: DefaultDevices,
    /// The index of the first item that is not sorted by name; `None` if all devices are.
    pub unsorted_from: Option<usize>,
    /// `-H`: groups without their devices.
    pub groups_only: bool,
    /// `-N`: device-mapper names.
    pub mapper_names: bool,
    /// `-j`: persistent names of this type, a directory /dev/disk/by-TYPE.
    pub persistent_names: Option<String>,
    /// The files that devices are read from.
    pub device_files: DeviceFiles,
    /// `-y`: no report since boot.
    pub skip_first: bool,
    /// `-t`: the format of the time above each report.
    pub time_format: Option<&'static str>,
    /// True if the date in the heading is in the format of ISO 8601.
    pub iso_date: bool,
    /// The time between reports; `None` for a single live report, or for every sample of a capture.
    pub interval: Option<Duration>,
    /// The number of reports; `None` for no limit.
    pub count: Option<u64>,
    /// `--from`: the capture to replay; `None` for a live system.
    pub from: Option<PathBuf>,
    /// Further files of the capture.
    pub more: Vec<PathBuf>,
    /// `--begin` and `--end`: the part of the capture that is shown.
    pub range: TimeRange,
    /// `--every`: the distance of samples without times.
    pub every: Option<Duration>,
    /// `--root`: the directory that contains `proc`, `sys` and `dev`.
    pub root: PathBuf,
}

/// The devices that are shown in addition to those on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DefaultDevices {
    None,
    #[default]
    Whole,
    /// With their partitions, in the order of /proc/diskstats.
    WithPartitions,
}

impl Options {
    /// Returns whether all devices and partitions are listed, in the order of /proc/diskstats.
    pub(super) fn lists_all(&self) -> bool {
        self.default_devices == DefaultDevices::WithPartitions
    }
}

/// A device or a group on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestedItem {
    Device {
        /// The argument, which may be any name of the device.
        name: String,
        /// True if its partitions are also shown.
        partitions: bool,
        /// The type of persistent names that `name` may be one of.
        persistent: Option<String>,
    },
    /// The start of a group with this name.
    Group(String),
}

/// The files that devices are read from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum DeviceFiles {
    /// /proc and /sys.
    #[default]
    System,
    /// `-f`: this directory instead of /proc and /sys.
    Only(PathBuf),
    /// `+f`: this directory in addition to /proc and /sys.
    Also(PathBuf),
}

/// The longest live interval. It replaces multiples of 2^32 seconds: alarm(2), which iostat calls, takes 32 bits and
/// never fires for 0.
const MAX_INTERVAL: Duration = Duration::from_secs(u32::MAX as u64);

/// The text of `-V`, which is not iostat's. All was compared with 12.7.5 except what is named.
const VERSION: &str = concat!(
    "blkstat ",
    env!("CARGO_PKG_VERSION"),
    ", compatible with iostat of sysstat 12.7.5; -G, -U, -y and the end by SIGTERM are those of 12.7.9\n"
);

const USAGE: &str = "\
Usage: iostat [ options ] [ <interval> [ <count> ] ]
Options are:
[ -c ] [ -d ] [ -h ] [ -k | -m | -G ] [ -N ] [ -s ] [ -t ] [ -U ] [ -V ] [ -x ] [ -y ] [ -z ]
[ { -f | +f } <directory> ] [ -j { ID | LABEL | PATH | UUID | ... } ]
[ --compact ] [ --dec={ 0 | 1 | 2 } ] [ --human ] [ --pretty ] [ -o JSON ]
[ [ -H ] -g <group_name> ] [ -p [ <device> [,...] | ALL ] ]
[ --from <file> ] [ --begin <time> ] [ --end <time> ] [ --every <time> ]
[ --root <directory> ] [ <file> [...] ] [ <device> [...] | ALL ]
";

/// Parses the arguments of iostat.
///
/// # Errors
/// The text to print instead of a run: the usage after an error, or the version that was requested.
pub fn parse(
    arguments: &[OsString],
    root: &Path,
    environment: Environment<'_>,
) -> Result<Options, ArgError> {
    let mut parsed = Parsed::default();
    parsed.options.root = root.to_owned();
    parsed.options.style.decimals = 2;
    let arguments: Vec<String> = arguments
        .iter()
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect();
    let mut arguments = arguments.iter().map(String::as_str).peekable();
    while let Some(argument) = arguments.next() {
        let options = &mut parsed.options;
        match argument {
            "--from" => options.from = Some(arguments.next().ok_or_else(usage)?.into()),
            "--begin" => {
                options.range.begin = Some(capture_value(argument, arguments.next(), str::parse)?)
            }
            "--end" => {
                options.range.end = Some(capture_value(argument, arguments.next(), str::parse)?)
            }
            "--every" => {
                let every = capture_value(argument, arguments.next(), parse_interval)?;
                options.every = Some(every);
            }
            "--root" => options.root = arguments.next().ok_or_else(usage)?.into(),
            "-p" => {
                parsed.add_partitions(
                    arguments.next_if(|next| !next.starts_with('-') && !is_number(next)),
                );
            }
            "-g" => parsed.add_group(arguments.next().ok_or_else(usage)?),
            "-o" if arguments.next() == Some("JSON") => options.style.is_json = true,
            "-j" => parsed.set_persistent_names(arguments.next().ok_or_else(usage)?)?,
            "-f" | "+f" => {
                parsed.set_device_files(argument, arguments.next().ok_or_else(usage)?)?
            }
            "--human" => options.style.human = true,
            "--pretty" => options.style.pretty = true,
            "--compact" => options.style.compact = true,
            "--dec=0" => options.style.decimals = 0,
            "--dec=1" => options.style.decimals = 1,
            "--dec=2" => options.style.decimals = 2,
            _ if argument.starts_with("--") || argument == "-o" => return Err(usage()),
            _ if argument.starts_with('-') => parsed.set_letters(&argument[1..])?,
            _ => parsed.add_operand(argument)?,
        }
    }
    parsed.resolve(environment)
}

/// Parses the value of an option about captures, which iostat does not have.
fn capture_value<T>(
    option: &str,
    value: Option<&str>,
    parse: impl Fn(&str) -> Result<T, String>,
) -> Result<T, ArgError> {
    let value = value.ok_or_else(|| invalid_value(option, "a value is missing"))?;
    parse(value).map_err(|error| invalid_value(option, &error))
}

fn invalid_value(option: &str, reason: &str) -> ArgError {
    ArgError {
        message: format!("blkstat: {option}: {}\n", sanitize(reason)),
        exit: Exit::Error,
    }
}

fn usage() -> ArgError {
    ArgError {
        message: USAGE.to_owned(),
        exit: Exit::IostatUsage,
    }
}

/// Returns whether the argument is an interval or a count: digits, or digits with a fraction.
fn is_number(argument: &str) -> bool {
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match argument.split_once('.') {
        Some((whole, fraction)) => {
            !whole.is_empty() && !fraction.is_empty() && is_digits(whole) && is_digits(fraction)
        }
        None => is_digits(argument),
    }
}

/// Returns a number as iostat reads it: an empty text is 0, and a number that is too large is the largest one.
fn parse_number(digits: &str) -> u64 {
    const MAX: u64 = i64::MAX as u64;
    if digits.is_empty() {
        0
    } else {
        digits.parse().unwrap_or(MAX).min(MAX)
    }
}

/// The options as they were typed, before they are combined.
#[derive(Default)]
struct Parsed {
    /// Shows CPUs and devices only where that is requested. An interval of zero stands for a single report.
    options: Options,
    /// True if an option about devices was given, which shows devices even with `-c`.
    needs_disk: bool,
    unit: Option<Unit>,
    /// `-t`.
    timestamps: bool,
    /// `-U`.
    epoch: bool,
    /// True if ALL is among the devices.
    all: bool,
    /// True if `-p` is given without devices, or with ALL.
    all_partitions: bool,
    /// True if unused devices are shown, too.
    includes_unused: bool,
}

impl Parsed {
    /// Adds `-p [DEVICE[,...]|ALL]`.
    fn add_partitions(&mut self, devices: Option<&str>) {
        self.needs_disk = true;
        let Some(devices) = devices else {
            self.add_all_partitions();
            return;
        };
        for name in devices.split(',').filter(|name| !name.is_empty()) {
            if name == "ALL" {
                self.add_all_partitions();
            } else {
                self.add_device(name, true);
            }
        }
        // An empty list has the same effect.
        self.includes_unused = true;
    }

    fn add_all_partitions(&mut self) {
        self.all_partitions = true;
        self.options
            .unsorted_from
            .get_or_insert(self.options.items.len());
    }

    fn add_device(&mut self, name: &str, partitions: bool) {
        self.needs_disk = true;
        self.includes_unused = true;
        let persistent = self.options.persistent_names.clone();
        self.options.items.push(RequestedItem::Device {
            name: name.to_owned(),
            partitions,
            persistent,
        });
    }

    /// Adds `-g NAME`, unless there is a group with this name: then the devices after it belong to the last group.
    fn add_group(&mut self, name: &str) {
        let group = RequestedItem::Group(name.to_owned());
        if !self.options.items.contains(&group) {
            self.options
                .unsorted_from
                .get_or_insert(self.options.items.len());
            self.options.items.push(group);
        }
    }

    /// Sets `-j TYPE`.
    fn set_persistent_names(&mut self, kind: &str) -> Result<(), ArgError> {
        let kind = kind.to_lowercase();
        if kind.is_empty()
            || !self
                .options
                .root
                .join(format!("dev/disk/by-{kind}"))
                .is_dir()
        {
            let message = "Invalid type of persistent device name\n".to_owned();
            return Err(ArgError {
                message,
                exit: Exit::IostatUsage,
            });
        }
        self.options.persistent_names = Some(kind);
        self.options.style.pretty = true;
        Ok(())
    }

    /// Sets `-f DIR` or `+f DIR`.
    fn set_device_files(&mut self, option: &str, directory: &str) -> Result<(), ArgError> {
        let directory = PathBuf::from(directory);
        if self.options.device_files != DeviceFiles::System || !directory.is_dir() {
            return Err(usage());
        }
        self.options.device_files = if option == "-f" {
            DeviceFiles::Only(directory)
        } else {
            DeviceFiles::Also(directory)
        };
        Ok(())
    }

    /// Sets a cluster of one-letter options. A single dash is ignored.
    fn set_letters(&mut self, letters: &str) -> Result<(), ArgError> {
        for letter in letters.chars() {
            let options = &mut self.options;
            match letter {
                'c' => options.style.cpu = true,
                'd' => options.style.disk = true,
                'h' => (options.style.human, options.style.pretty) = (true, true),
                'k' => self.set_unit(Unit::Kilo)?,
                'm' => self.set_unit(Unit::Mega)?,
                'G' => self.set_unit(Unit::Giga)?,
                'H' => options.groups_only = true,
                'N' => options.mapper_names = true,
                'p' => self.add_partitions(None),
                's' => options.style.short = true,
                't' => self.timestamps = true,
                'U' => self.epoch = true,
                'V' => {
                    return Err(ArgError {
                        message: VERSION.to_owned(),
                        exit: Exit::Success,
                    });
                }
                'x' => (options.style.extended, self.needs_disk) = (true, true),
                'y' => options.skip_first = true,
                'z' => options.style.active_only = true,
                _ => return Err(usage()),
            }
        }
        Ok(())
    }

    fn set_unit(&mut self, unit: Unit) -> Result<(), ArgError> {
        if self.unit.replace(unit).is_some_and(|before| before != unit) {
            Err(usage())
        } else {
            Ok(())
        }
    }

    /// Adds a device, the interval or the count.
    fn add_operand(&mut self, operand: &str) -> Result<(), ArgError> {
        if operand == "ALL" {
            self.needs_disk = true;
            self.all = true;
        } else if !is_number(operand) && is_recording(operand, &self.options.root) {
            match &self.options.from {
                None => self.options.from = Some(operand.into()),
                Some(_) => self.options.more.push(operand.into()),
            }
        } else if !is_number(operand) {
            self.add_device(operand, false);
        } else if self.options.interval.is_none() {
            let fraction = operand.parse().ok().filter(|_| operand.contains('.'));
            let fraction = fraction.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            self.options.interval = Some(match (fraction, parse_number(operand)) {
                (Some(duration), _) if duration.is_zero() => return Err(usage()),
                (Some(duration), _) => duration,
                (None, 0) => Duration::ZERO,
                (None, seconds) => match seconds & u64::from(u32::MAX) {
                    0 => MAX_INTERVAL,
                    seconds => Duration::from_secs(seconds),
                },
            });
        } else if self.options.count.is_none() && !operand.contains('.') {
            self.options.count = Some(parse_number(operand));
        } else {
            return Err(usage());
        }
        Ok(())
    }

    /// Combines the options with each other and with environment variables.
    ///
    /// # Errors
    /// The usage if they contradict each other.
    fn resolve(self, environment: Environment<'_>) -> Result<Options, ArgError> {
        let mut options = self.options;
        let has_groups = options
            .items
            .iter()
            .any(|item| matches!(item, RequestedItem::Group(_)));
        let is_single = options.interval.is_some_and(|interval| interval.is_zero());
        if options.groups_only && !has_groups
            || options.count == Some(0)
            || is_single && options.count.is_some()
        {
            return Err(usage());
        }
        options.interval = options.interval.filter(|_| !is_single);
        options.range.time_zone = environment("TZ");
        let is_about_capture = !options.range.is_everything() || options.every.is_some();
        if is_about_capture && options.from.is_none() {
            return Err(invalid_value(
                "--begin, --end and --every",
                "need a recording, such as --from FILE",
            ));
        }
        let includes_unused = self.includes_unused || self.all;
        options.default_devices = match self.all_partitions {
            true => DefaultDevices::WithPartitions,
            false if self.all || !includes_unused => DefaultDevices::Whole,
            false => DefaultDevices::None,
        };
        let is_posix = environment("POSIXLY_CORRECT").is_some();
        let style = &mut options.style;
        style.unit = self
            .unit
            .unwrap_or(if is_posix { Unit::Block } else { Unit::Kilo });
        (style.cpu, style.disk) = (
            style.cpu || !style.disk,
            style.disk || self.needs_disk || !style.cpu,
        );
        style.used_only = !includes_unused;
        options.iso_date = environment("S_TIME_FORMAT").is_some_and(|value| value == "ISO");
        let time_format = match (self.epoch, options.iso_date) {
            (true, _) => "%s",
            (false, true) => "%Y-%m-%dT%H:%M:%S%z",
            (false, false) => "%m/%d/%y %H:%M:%S",
        };
        options.time_format = self.timestamps.then_some(time_format);
        let is =
            |name: &str, expected: &str| environment(name).is_some_and(|value| value == expected);
        let is_unwanted =
            environment("NO_COLOR").is_some_and(|value| !value.is_empty()) || is("TERM", "dumb");
        options.colors_only_terminal = !is("S_COLORS", "always");
        if !options.colors_only_terminal || !is("S_COLORS", "never") && !is_unwanted {
            let sgr = environment("S_COLORS_SGR").unwrap_or_default();
            options.style.palette = Some(Palette::from_entries(&sgr.to_string_lossy()));
        }
        Ok(options)
    }
}
