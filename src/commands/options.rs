//! Options and operands that several commands share, with what they mean.
//!
//! The short options are the same in all commands that have the long one. `-p` is that of iostat, `-w` and `-a` those of
//! vmstat (wide, active) and ls (all), `-f` names the input as in tar, awk and grep, `-o` the output as everywhere, and
//! sort and JSON have the letters that new tools give them. There is none for an option that overwrites files: `-f` would be
//! its letter. `-n`, `-c`, `-i` and `-t` stay free, because hands that type them mean COUNT or INTERVAL: see `suggestions`.
//! So do `-x`, `-d`, `-k` and the other letters of iostat, which suggest `blkstat iostat`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Error, Result, anyhow};
use clap::Args;

use super::baseline_file::read_baselines;
use crate::baselines::DeviceBaseline;
use crate::console::RunContext;
use crate::intervals::{BaselineStore, DeviceSelection};
use crate::judge::{Settings, StatedCap};
use crate::quantities;
use crate::report::native::sort_keys;
use crate::sanitize::sanitize;
use crate::schedule::{Schedule, parse_interval};
use crate::source::{Input, Stacked, is_device_name, is_recording};
use crate::time_range::{TimePoint, TimeRange};
use crate::topology::DeviceClass;
use crate::typo::did_you_mean;

/// The operands of a view: recordings, devices, an interval and a count, in any order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Operands {
    /// The files of one capture; empty for the running system.
    pub(super) files: Vec<PathBuf>,
    pub(super) devices: Vec<String>,
    pub(super) schedule: Schedule,
}

/// The first operand where it may also be a file whose name is that of a device or a number, or one that does not exist.
pub(super) const FILE_FIRST: bool = true;
/// The first operand where it is like all others.
pub(super) const ANY_FIRST: bool = false;

impl Operands {
    /// Splits operands: see [`split_devices_and_schedule`]. A file is a recording unless a device has its name; with
    /// `from`, only a path is. `is_file_first` is [`FILE_FIRST`] or [`ANY_FIRST`].
    ///
    /// # Errors
    /// A message about an invalid interval or count, or a number after them.
    pub(super) fn split(
        words: &[String],
        is_file_first: bool,
        from: Option<&PathBuf>,
        root: &Path,
    ) -> Result<Self, String> {
        let mut files: Vec<PathBuf> = from.cloned().into_iter().collect();
        let mut others = Vec::new();
        for (at, word) in words.iter().enumerate() {
            let is_first = is_file_first && at == 0 && from.is_none();
            let is_named = from.is_some() && !word.contains(['/', '.']);
            // A relative directory is hardly meant as a path on a device.
            let is_directory = word.starts_with('/') && Path::new(word).is_dir();
            if is_first && is_file(word) && !is_directory && !is_device_name(word, root)
                || !is_named && !is_number_or_interval(word) && is_recording(word, root)
            {
                files.push(PathBuf::from(word));
            } else {
                others.push(word);
            }
        }
        let (devices, schedule) = split_devices_and_schedule(others)?;
        if files.len() > 1 && files.iter().any(|file| file.as_os_str() == "-") {
            return Err("standard input cannot be one of several files".to_owned());
        }
        Ok(Self {
            files,
            devices,
            schedule,
        })
    }
}

/// Splits operands that are no recordings. The first word that starts like a number is the interval, the second one the
/// count.
///
/// # Errors
/// A message about an invalid interval or count, or a number after them.
pub(super) fn split_devices_and_schedule<'w>(
    words: impl IntoIterator<Item = &'w String>,
) -> Result<(Vec<String>, Schedule), String> {
    let mut devices = Vec::new();
    let mut numbers = Vec::new();
    for word in words {
        let is_path = word.contains('/') || Path::new(word).is_dir();
        if word.starts_with(|c: char| c.is_ascii_digit() || "-+.".contains(c)) && !is_path {
            numbers.push(word);
        } else {
            devices.push(word.clone());
        }
    }
    let schedule = parse_schedule(numbers.first().copied(), numbers.get(1).copied())?;
    if let Some(word) = numbers.get(2) {
        return Err(format!("unexpected '{word}' after INTERVAL and COUNT"));
    }
    Ok((devices, schedule))
}

/// Parses an interval and a count; `None` if they are not given.
///
/// # Errors
/// A message about the one that is invalid.
fn parse_schedule(interval: Option<&String>, count: Option<&String>) -> Result<Schedule, String> {
    let mut schedule = Schedule::default();
    if let Some(word) = interval {
        schedule.interval = Some(parse_interval(word)?);
    }
    if let Some(word) = count {
        match word.parse() {
            Ok(count @ 1..) => schedule.count = Some(count),
            _ => {
                return Err(format!(
                    "invalid COUNT '{word}'; expected a whole number, 1 or more"
                ));
            }
        }
    }
    Ok(schedule)
}

/// Returns whether a word names a capture rather than a device: `-`, a path outside /dev, or a regular file in the
/// current directory.
fn is_file(word: &str) -> bool {
    word == "-"
        || (word.contains('/') && !word.starts_with("/dev/") && !word.starts_with("mapper/"))
        || Path::new(word).is_file()
}

/// Returns whether a word is a number or an interval, such as `1`, `0.5` or `100ms`, and so hardly a file name.
pub(super) fn is_number_or_interval(word: &str) -> bool {
    let is_number = word.parse::<f64>().is_ok() && word.contains(|c: char| c.is_ascii_digit());
    is_number || parse_interval(word).is_ok()
}

/// Parses `A`, `A,B` or `,B`, where both are numbers above zero; `None` for any other text.
pub(super) fn two_numbers(word: &str) -> Option<(Option<f64>, Option<f64>)> {
    let (first, second) = word.split_once(',').unwrap_or((word, ""));
    let mut both = [None; 2];
    for (word, number) in [first, second].into_iter().zip(&mut both) {
        if !word.is_empty() {
            *number = Some(number_within(word, 0.0, f64::MAX)?);
        }
    }
    match both {
        [None, None] => None,
        [first, second] => Some((first, second)),
    }
}

/// Parses a number above `min`, up to `max`.
fn number_within(word: &str, min: f64, max: f64) -> Option<f64> {
    let number = word.parse().ok()?;
    (min < number && number <= max).then_some(number)
}

/// The file in which the recorder of the host keeps its baselines.
const BASELINE_FILE: &str = "/var/lib/blkstat/baseline.json";

/// An operand as shown in the help, with its meaning.
pub(super) type Operand = (&'static str, &'static str);

/// The operands of a view of intervals, for the help.
pub(super) const VIEW_OPERANDS: &[Operand] = &[
    FILE_OPERAND,
    (
        "[DEVICE]...",
        "Devices by any name or a path on them (default: all in use)",
    ),
    (
        "[INTERVAL]",
        "1, 0.5, 100ms, 2s, 1m (default 1 s, or as recorded)",
    ),
    (
        "[COUNT]",
        "Number of intervals (default: until Ctrl-C or the end)",
    ),
];
/// The recording to show, for the help.
pub(super) const FILE_OPERAND: Operand = (
    "[FILE]...",
    "Recording, or several; - is standard input (default: this host)",
);

/// Returns the error about an argument, whose words come from the user.
pub(super) fn usage_error(message: impl AsRef<str>) -> Error {
    anyhow!("{}", sanitize(message.as_ref()))
}

#[derive(Args, Clone, Debug)]
pub(super) struct WidthOption {
    /// Width of the output (default: that of the terminal, unlimited in a pipe)
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
    /// Read DIR/proc and DIR/sys instead of /proc and /sys
    #[arg(
        long,
        value_name = "DIR",
        default_value = "/",
        global = true,
        hide_default_value = true,
        hide_short_help = true
    )]
    pub root: PathBuf,
    /// The file with its baselines, if there may be one.
    #[arg(skip)]
    pub saved_baselines: Option<PathBuf>,
}

impl Host {
    /// Names the file with the baselines of the running system. Another root may describe another host, which has none here.
    pub(super) fn find_saved_baselines(&mut self) {
        if self.root == Path::new("/") {
            self.saved_baselines = Some(BASELINE_FILE.into());
        }
    }

    /// Returns the file with saved baselines of the source; `None` for a capture.
    pub(super) fn baselines_for(&self, input: &Input) -> Option<&Path> {
        if input.from.is_some() {
            return None;
        }
        self.saved_baselines.as_deref()
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
            ("--as-live", capture.as_live),
            ("--every", capture.every.is_some()),
            ("--stack", !capture.stack.is_empty()),
        ];
        for (option, is_given) in options {
            if is_given && files.is_empty() {
                return Err(usage_error(format!(
                    "{option} needs a capture, such as FILE"
                )));
            }
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
            as_live: capture.as_live,
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
    /// Read a recording or capture; - is standard input
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
        let operands = Operands::split(
            &self.operands,
            is_file_first,
            self.from.as_ref(),
            &host.root,
        );
        let Operands {
            files,
            devices,
            schedule,
        } = operands.map_err(usage_error)?;
        let range = self.range.range(!files.is_empty(), context)?;
        Ok((host.input(&files, range, schedule, &self.capture)?, devices))
    }
}

/// The options that select devices of a table.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct SelectionOptions {
    /// Show only devices whose name matches
    #[arg(long, value_name = "REGEX")]
    devices_regex: Option<String>,
    /// Leave out devices whose name matches, such as '^loop'
    #[arg(long, value_name = "REGEX")]
    exclude: Option<String>,
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
        DeviceSelection {
            devices,
            regex: self.devices_regex.clone(),
            exclude: self.exclude.clone(),
            partitions: self.partitions,
            all: self.all,
            total: false,
        }
    }
}

/// The options of everything that reads captures.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct CaptureOptions {
    /// Treat warnings about a capture as errors
    #[arg(long, hide_short_help = true)]
    pub(super) strict: bool,
    /// Judge a capture as it comes, like the live host, without hindsight
    #[arg(long, hide_short_help = true)]
    pub(super) as_live: bool,
    /// Interval between samples of a capture without timestamps
    #[arg(long, value_name = "TIME", value_parser = distance, hide_short_help = true)]
    pub(super) every: Option<Duration>,
    /// Devices below another one, for a capture without /sys: dm-0=sda,sdb; repeatable
    #[arg(long, value_name = "DEVICE=BELOW,...", value_parser = stacked, hide_short_help = true)]
    pub(super) stack: Vec<Stacked>,
    /// Class of a device if /sys does not show it: hdd, ssd, nvme, network; repeatable
    #[arg(long = "class", value_name = "DEVICE=CLASS", value_parser = class, hide_short_help = true)]
    pub(super) classes: Vec<(String, DeviceClass)>,
}

/// Parses the distance of samples.
pub(super) fn distance(word: &str) -> Result<Duration, String> {
    parse_interval(word).map_err(|message| message.replace("INTERVAL", "TIME"))
}

/// Parses the class of a device.
fn class(word: &str) -> Result<(String, DeviceClass), String> {
    let (device, name) = word.split_once('=').unwrap_or_default();
    for (class, known) in DeviceClass::NAMES {
        if known == name && !device.is_empty() {
            return Ok((device.to_owned(), class));
        }
    }
    let names = DeviceClass::NAMES.map(|(_, name)| name).join(", ");
    Err(format!(
        "expected DEVICE=CLASS, such as sda=ssd; classes are {names}"
    ))
}

/// Parses what a device stands on.
fn stacked(word: &str) -> Result<Stacked, String> {
    let expected = "expected DEVICE=BELOW[,BELOW]..., such as dm-0=sda,sdb";
    let (device, below) = word.split_once('=').ok_or(expected)?;
    let below: Vec<String> = below.split(',').map(str::to_owned).collect();
    if device.is_empty() || below.iter().any(|name| name.is_empty() || name == device) {
        return Err(expected.to_owned());
    }
    Ok(Stacked {
        device: device.to_owned(),
        below,
    })
}

/// The options that select a range of time of a capture.
#[derive(Args, Clone, Debug, Default)]
pub struct RangeOptions {
    /// Begin at 16:04, -10m from the end, +5m from the start
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    begin: Option<TimePoint>,
    /// End at this time, as for --begin
    #[arg(long, value_name = "T", allow_hyphen_values = true)]
    end: Option<TimePoint>,
}

impl RangeOptions {
    /// Returns the range of a replay, or of the running system.
    ///
    /// # Errors
    /// A message if a range of the running system is requested.
    pub(super) fn range(&self, is_replay: bool, context: &RunContext<'_>) -> Result<TimeRange> {
        let range = TimeRange {
            begin: self.begin.clone(),
            end: self.end.clone(),
            time_zone: (context.environment)("TZ"),
        };
        if let Some((option, _)) = range.points().next()
            && !is_replay
        {
            return Err(usage_error(format!(
                "{option} needs a capture, such as --from FILE: the running system has no past"
            )));
        }
        Ok(range)
    }
}

/// The options of the assessment of devices.
#[derive(Args, Clone, Debug)]
pub(super) struct VerdictOptions {
    /// Known limit of reads and writes combined, such as that of a cloud volume
    #[arg(long, value_name = "IOPS[,MiB/s]", value_parser = cap, hide_short_help = true)]
    pub(super) cap: Option<StatedCap>,
    #[command(flatten)]
    pub(super) baseline: BaselineOptions,
}

impl VerdictOptions {
    /// Returns the settings of the verdicts, with the baselines of the `saved` file unless the user states others.
    pub(super) fn load_baselines(
        &self,
        saved: Option<&Path>,
        context: &mut RunContext<'_>,
    ) -> BaselineStore {
        let settings = Settings {
            cap: self.cap,
            ..Settings::default()
        };
        self.baseline.load(settings, saved, context)
    }
}

/// The source of unloaded latencies.
#[derive(Args, Clone, Debug, Default)]
pub struct BaselineOptions {
    /// Unloaded latency of reads and of writes, in milliseconds
    #[arg(long, value_name = "R[,W]", value_parser = baseline_ms, conflicts_with = "no_baseline", hide_short_help = true)]
    baseline_ms: Option<DeviceBaseline>,
    /// Ignore saved baselines, including those in a recording
    #[arg(long, hide_short_help = true)]
    no_baseline: bool,
}

impl BaselineOptions {
    /// Adds the unloaded latencies that are known beforehand. A `saved` file that cannot be used is ignored with a warning.
    pub(super) fn load(
        &self,
        settings: Settings,
        saved: Option<&Path>,
        context: &mut RunContext<'_>,
    ) -> BaselineStore {
        let mut baselines = BaselineStore {
            common: settings,
            ..BaselineStore::default()
        };
        if self.baseline_ms.is_some() {
            baselines.common.baseline.clone_from(&self.baseline_ms);
            return baselines;
        }
        if self.no_baseline {
            return baselines;
        }
        baselines.uses_recorded = true;
        if let Some(path) = saved {
            match read_baselines(path) {
                Ok(saved) => baselines.saved = saved,
                Err(problem) => context.print_error(problem),
            }
        }
        baselines
    }
}

/// Parses the unloaded latencies of reads and writes in milliseconds.
fn baseline_ms(word: &str) -> Result<DeviceBaseline, String> {
    let (read, write) = two_numbers(word).ok_or("expected milliseconds, such as 0.1 or 0.1,0.5")?;
    Ok(DeviceBaseline::stated(read, write))
}

/// Parses a cap in IOPS, MiB/s or both.
fn cap(word: &str) -> Result<StatedCap, String> {
    let (iops, mib_per_s) =
        two_numbers(word).ok_or("expected IOPS[,MiB/s], such as 3000 or 3000,125")?;
    Ok(StatedCap { iops, mib_per_s })
}

/// Parses a percentage above 0, up to 100.
pub(super) fn percentage(word: &str) -> Result<f64, String> {
    let number = number_within(word.trim_end_matches('%'), 0.0, 100.0);
    number.ok_or_else(|| "expected a percentage above 0, up to 100".to_owned())
}

/// Parses a key to sort devices by.
pub(super) fn sort_key(word: &str) -> Result<&'static str, String> {
    one_of(&sort_keys().collect::<Vec<_>>(), word)
}

/// Finds a key, in any case, by its title, its name in JSON, or iostat's name.
pub(super) fn one_of(keys: &[&'static str], word: &str) -> Result<&'static str, String> {
    let title = quantities::device::find(word).map(|quantity| quantity.title);
    for name in [Some(word), title].into_iter().flatten() {
        if let Some(key) = keys.iter().find(|key| key.eq_ignore_ascii_case(name)) {
            return Ok(key);
        }
    }
    let all = format!("expected one of: {}", keys.join(", "));
    let end = did_you_mean(word, keys.iter().copied(), &all);
    Err(format!("there is no such key{end}"))
}

#[cfg(test)]
mod operands_tests {
    use super::*;

    #[allow(clippy::type_complexity)]
    fn parts(words: &str) -> Result<(Vec<String>, Option<u128>, Option<u64>), String> {
        let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
        let Operands {
            devices, schedule, ..
        } = Operands::split(&words, ANY_FIRST, None, Path::new("/"))?;
        Ok((
            devices,
            schedule.interval.map(|interval| interval.as_micros()),
            schedule.count,
        ))
    }

    #[test]
    fn devices_then_an_interval_then_a_count() {
        assert_eq!(parts(""), Ok((vec![], None, None)));
        assert_eq!(
            parts("vda dm-0 0.5 3"),
            Ok((vec!["vda".into(), "dm-0".into()], Some(500_000), Some(3)))
        );
        for (word, us) in [
            ("0.1", 100_000),
            ("100ms", 100_000),
            ("2s", 2_000_000),
            ("1m", 60_000_000),
            (".25", 250_000),
            ("10ms", 10_000),
        ] {
            assert_eq!(parts(word), Ok((vec![], Some(us), None)), "{word}");
        }
    }

    #[test]
    fn operands_may_stand_in_any_order() {
        for words in ["vda 1 2", "1 vda 2", "1 2 vda"] {
            assert_eq!(
                parts(words),
                Ok((vec!["vda".into()], Some(1_000_000), Some(2))),
                "{words}"
            );
        }
    }

    #[test]
    fn an_existing_file_is_a_recording_unless_a_device_has_its_name() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(root.path().join("sys/class/block/Cargo.toml")).unwrap();
        let split = |words: &str, from: Option<&str>, root: &Path| {
            let words: Vec<String> = words.split_whitespace().map(str::to_owned).collect();
            let operands =
                Operands::split(&words, ANY_FIRST, from.map(PathBuf::from).as_ref(), root).unwrap();
            (operands.files, operands.devices)
        };
        let (file, none) = (|name: &str| vec![PathBuf::from(name)], Vec::<String>::new());
        assert_eq!(
            split("Cargo.toml", None, Path::new("/")),
            (file("Cargo.toml"), none.clone())
        );
        assert_eq!(
            split("./Cargo.toml", None, root.path()),
            (file("./Cargo.toml"), none.clone())
        );
        assert_eq!(split("1 -", None, Path::new("/")), (file("-"), none));
        let device = |name: &str| vec![name.to_owned()];
        assert_eq!(
            split("Cargo.toml", None, root.path()),
            (vec![], device("Cargo.toml"))
        );
        // With --from, a name without a dot is a device of the recording.
        assert_eq!(
            split("LICENSE", Some("x"), Path::new("/")),
            (file("x"), device("LICENSE"))
        );
        assert_eq!(
            split("src /var", None, Path::new("/")),
            (vec![], vec!["src".into(), "/var".into()])
        );
    }

    #[test]
    fn numbers_and_intervals_are_distinguished_from_file_names() {
        for word in ["1", "0.5", "100ms", "2s", "0", "99999999999"] {
            assert!(is_number_or_interval(word), "{word}");
        }
        for word in [
            "./1",
            "1.txt",
            "2026-11-20",
            "inf",
            "nan",
            "-",
            "a",
            "1x",
            "s",
            "",
        ] {
            assert!(!is_number_or_interval(word), "{word}");
        }
    }

    #[test]
    fn invalid_intervals_are_refused() {
        for word in ["0", "-1", "9ms", "1x", "1e400", "1.2.3", "0.001", "99999h"] {
            let refused = parts(&format!("1 {word}"));
            assert!(refused.is_err(), "as a count: {word}");
        }
        for word in ["0", "-1", "9ms", "1x", "1.2.3", "0.001", "+inf"] {
            assert!(
                parts(word).unwrap_err().contains("expected 10ms or more"),
                "{word}"
            );
        }
        for word in ["1e3", "2E1s", "1e400"] {
            assert!(
                parts(word).unwrap_err().contains("without an exponent"),
                "{word}"
            );
        }
        for word in ["99999h", "99999999999", "8785h"] {
            let message = format!("invalid INTERVAL '{word}'; expected 366 days (8784h) or less");
            assert_eq!(parts(word), Err(message));
        }
        assert!(parts("8784h").is_ok());
        assert!(
            parts("1 2 vda 3")
                .unwrap_err()
                .contains("unexpected '3' after INTERVAL and COUNT")
        );
        assert!(parts("1 0").unwrap_err().contains("invalid COUNT '0'"));
    }

    #[test]
    fn captures_and_devices_are_distinguished() {
        for word in ["-", "a/b", "./x", "/tmp/x", "Cargo.toml"] {
            assert!(is_file(word), "{word}");
        }
        for word in [
            "vda",
            "/dev/vda",
            "/dev/mapper/vg0-root",
            "mapper/vg0-root",
            "src",
        ] {
            assert!(!is_file(word), "{word}");
        }
    }
}

#[cfg(test)]
mod options_tests {
    use super::*;

    #[test]
    fn only_the_running_system_has_saved_baselines() {
        for (root, expected) in [("/", Some(Path::new(BASELINE_FILE))), ("/mnt/host", None)] {
            let mut host = Host {
                root: root.into(),
                ..Host::default()
            };
            host.find_saved_baselines();
            assert_eq!(host.saved_baselines.as_deref(), expected);
        }
    }
}
