//! iostat's grammar. It is parsed by hand: clap knows neither `-p [DEV]` nor `+f`, and the usage text is iostat's.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::ArgError;
use crate::exit::Exit;
use crate::plan::{Colors, DeviceFiles, Iostat, Item, TimeStyle};
use crate::report::iostat::{Format, Palette, Style, Unit};
use crate::schedule::Schedule;
use crate::select::DefaultDevices;

/// What `-V` prints: the one text that is ours.
const VERSION: &str =
    concat!("blkstat ", env!("CARGO_PKG_VERSION"), ", compatible with iostat of sysstat 12.7.9\n");

const USAGE: &str = "\
Usage: iostat [ options ] [ <interval> [ <count> ] ]
Options are:
[ -c ] [ -d ] [ -h ] [ -k | -m | -G ] [ -N ] [ -s ] [ -t ] [ -U ] [ -V ] [ -x ] [ -y ] [ -z ]
[ { -f | +f } <directory> ] [ -j { ID | LABEL | PATH | UUID | ... } ]
[ --compact ] [ --dec={ 0 | 1 | 2 } ] [ --human ] [ --pretty ] [ -o JSON ]
[ [ -H ] -g <group_name> ] [ -p [ <device> [,...] | ALL ] ]
[ --from <file> ] [ --root <directory> ] [ <device> [...] | ALL ]
";

/// What was typed, before it is known what it means together.
#[derive(Default)]
struct RawArgs {
    cpu: bool,
    disk: bool,
    /// An option that says something of devices shows them beside `-c`.
    needs_disk: bool,
    extended: bool,
    short: bool,
    unit: Option<Unit>,
    decimals: Option<usize>,
    human: bool,
    pretty: bool,
    compact: bool,
    json: bool,
    timestamps: bool,
    epoch: bool,
    skip_first: bool,
    active_only: bool,
    mapper_names: bool,
    persistent_names: Option<String>,
    device_files: DeviceFiles,
    items: Vec<Item>,
    groups_only: bool,
    /// ALL among the devices.
    all: bool,
    /// `-p` without devices, or with ALL.
    all_partitions: bool,
    /// Devices that never worked as well.
    idle_too: bool,
    unsorted_from: Option<usize>,
    interval: Option<Interval>,
    count: Option<u64>,
    from: Option<PathBuf>,
    root: Option<PathBuf>,
}

/// An interval as it was typed.
enum Interval {
    /// Whole seconds, which may be none.
    Seconds(u64),
    /// With a fraction, which iostat does not know.
    Fraction(Duration),
}

/// What iostat's arguments ask for.
pub(super) fn plan(
    arguments: &[OsString],
    root: &Path,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Iostat, ArgError> {
    let mut typed = RawArgs::default();
    let words: Vec<String> = arguments.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let mut words = words.iter().map(String::as_str).peekable();
    while let Some(word) = words.next() {
        match word {
            "--from" => typed.from = Some(words.next().ok_or_else(usage)?.into()),
            "--root" => typed.root = Some(words.next().ok_or_else(usage)?.into()),
            "-p" => {
                typed.partitions(words.next_if(|next| !next.starts_with('-') && !is_number(next)));
            }
            "-g" => typed.group(words.next().ok_or_else(usage)?),
            "-H" => typed.groups_only = true,
            "-o" if words.next() == Some("JSON") => typed.json = true,
            "-j" => typed.persistent_names(words.next().ok_or_else(usage)?, root)?,
            "-f" | "+f" => typed.device_files(word, words.next().ok_or_else(usage)?)?,
            "--human" => typed.human = true,
            "--pretty" => typed.pretty = true,
            "--compact" => typed.compact = true,
            "--dec=0" => typed.decimals = Some(0),
            "--dec=1" => typed.decimals = Some(1),
            "--dec=2" => typed.decimals = Some(2),
            _ if word.starts_with("--") || word == "-o" => return Err(usage()),
            _ if word.starts_with('-') => typed.letters(&word[1..])?,
            _ => typed.operand(word)?,
        }
    }
    typed.resolve(root, environment)
}

fn usage() -> ArgError {
    ArgError { message: USAGE.to_owned(), exit: Exit::IostatUsage }
}

/// Whether the word is an interval or a count: digits, or digits with a fraction.
fn is_number(word: &str) -> bool {
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    match word.split_once('.') {
        Some((whole, fraction)) => {
            !whole.is_empty() && !fraction.is_empty() && digits(whole) && digits(fraction)
        }
        None => digits(word),
    }
}

/// A number as iostat reads it: no text is 0, and what is too large is the largest there is.
fn whole_number(digits: &str) -> u64 {
    const LARGEST: u64 = i64::MAX as u64;
    if digits.is_empty() { 0 } else { digits.parse().unwrap_or(LARGEST).min(LARGEST) }
}

impl RawArgs {
    /// `-p [DEVICE[,...]|ALL]`.
    fn partitions(&mut self, devices: Option<&str>) {
        self.needs_disk = true;
        let Some(devices) = devices else {
            self.all_partitions();
            return;
        };
        for word in devices.split(',').filter(|word| !word.is_empty()) {
            if word == "ALL" {
                self.all_partitions();
                self.idle_too = true;
            } else {
                self.device(word, true);
            }
        }
        // A list without a device in it still is one.
        self.idle_too = true;
    }

    fn all_partitions(&mut self) {
        self.all_partitions = true;
        self.unsorted_from.get_or_insert(self.items.len());
    }

    fn device(&mut self, word: &str, partitions: bool) {
        self.needs_disk = true;
        self.idle_too = true;
        let persistent = self.persistent_names.clone();
        self.items.push(Item::Device { word: word.to_owned(), partitions, persistent });
    }

    /// `-g NAME`.
    fn group(&mut self, name: &str) {
        self.unsorted_from.get_or_insert(self.items.len());
        self.items.push(Item::Group(name.to_owned()));
    }

    /// `-j TYPE`.
    fn persistent_names(&mut self, kind: &str, root: &Path) -> Result<(), ArgError> {
        let root = self.root.as_deref().unwrap_or(root);
        let kind = kind.to_lowercase();
        if kind.is_empty() || !root.join(format!("dev/disk/by-{kind}")).is_dir() {
            let message = "Invalid type of persistent device name\n".to_owned();
            return Err(ArgError { message, exit: Exit::IostatUsage });
        }
        self.persistent_names = Some(kind);
        self.pretty = true;
        Ok(())
    }

    /// `-f DIR` and `+f DIR`.
    fn device_files(&mut self, option: &str, folder: &str) -> Result<(), ArgError> {
        let folder = PathBuf::from(folder);
        if self.device_files != DeviceFiles::System || !folder.is_dir() {
            return Err(usage());
        }
        self.device_files =
            if option == "-f" { DeviceFiles::Only(folder) } else { DeviceFiles::Also(folder) };
        Ok(())
    }

    /// A cluster of one-letter options. A dash alone is passed over.
    fn letters(&mut self, letters: &str) -> Result<(), ArgError> {
        for letter in letters.chars() {
            match letter {
                'c' => self.cpu = true,
                'd' => self.disk = true,
                'h' => (self.human, self.pretty) = (true, true),
                'k' => self.unit(Unit::Kilo)?,
                'm' => self.unit(Unit::Mega)?,
                'G' => self.unit(Unit::Giga)?,
                'N' => self.mapper_names = true,
                'p' => self.partitions(None),
                's' => self.short = true,
                't' => self.timestamps = true,
                'U' => self.epoch = true,
                'V' => return Err(ArgError { message: VERSION.to_owned(), exit: Exit::Success }),
                'x' => (self.extended, self.needs_disk) = (true, true),
                'y' => self.skip_first = true,
                'z' => self.active_only = true,
                _ => return Err(usage()),
            }
        }
        Ok(())
    }

    fn unit(&mut self, unit: Unit) -> Result<(), ArgError> {
        if self.unit.replace(unit).is_some_and(|before| before != unit) { Err(usage()) } else { Ok(()) }
    }

    /// A device, the interval or the count.
    fn operand(&mut self, word: &str) -> Result<(), ArgError> {
        if word == "ALL" {
            self.needs_disk = true;
            self.all = true;
        } else if !is_number(word) {
            self.device(word, false);
        } else if self.interval.is_none() {
            let fraction = word.parse().ok().filter(|_| word.contains('.'));
            let fraction = fraction.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            self.interval = Some(match fraction {
                Some(duration) if duration.is_zero() => return Err(usage()),
                Some(duration) => Interval::Fraction(duration),
                None => Interval::Seconds(whole_number(word)),
            });
        } else if self.count.is_none() && !word.contains('.') {
            self.count = Some(whole_number(word));
        } else {
            return Err(usage());
        }
        Ok(())
    }

    fn resolve(
        self,
        root: &Path,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Iostat, ArgError> {
        let has_groups = self.items.iter().any(|item| matches!(item, Item::Group(_)));
        if self.groups_only && !has_groups {
            return Err(usage());
        }
        let pace = self.pace()?;
        let is_iso = environment("S_TIME_FORMAT").is_some_and(|value| value == "ISO");
        let default_unit = if environment("POSIXLY_CORRECT").is_some() { Unit::Block } else { Unit::Kilo };
        let idle_too = self.idle_too || self.all;
        Ok(Iostat {
            style: Style {
                cpu: self.cpu || !self.disk,
                disk: self.disk || self.needs_disk || !self.cpu,
                extended: self.extended,
                short: self.short,
                unit: self.unit.unwrap_or(default_unit),
                format: if self.json { Format::Json } else { Format::Text },
                decimals: self.decimals.unwrap_or(2),
                human: self.human,
                pretty: self.pretty,
                compact: self.compact,
                active_only: self.active_only,
                palette: None,
            },
            colors: colors(environment),
            others: match (self.all_partitions, self.all) {
                (true, _) if idle_too => DefaultDevices::All,
                (true, _) => DefaultDevices::WorkedAndPartitions,
                (false, true) => DefaultDevices::Whole,
                (false, false) if idle_too => DefaultDevices::None,
                (false, false) => DefaultDevices::Worked,
            },
            items: self.items,
            unsorted_from: self.unsorted_from,
            groups_only: self.groups_only,
            mapper_names: self.mapper_names,
            persistent_names: self.persistent_names,
            devices: self.device_files,
            skip_first: self.skip_first,
            timestamps: self.timestamps,
            time_style: match (self.epoch, is_iso) {
                (true, _) => TimeStyle::Epoch,
                (false, true) => TimeStyle::Iso,
                (false, false) => TimeStyle::Local,
            },
            iso_date: is_iso,
            time_zone: environment("TZ"),
            schedule: pace,
            from: self.from,
            root: self.root.unwrap_or_else(|| root.to_owned()),
        })
    }

    /// An interval of 0 reports once and takes no count; a count of 0 is none.
    fn pace(&self) -> Result<Schedule, ArgError> {
        // alarm(2), which iostat sets, takes 32 bits; with 0 it never rings.
        const NEVER: Duration = Duration::from_secs(u32::MAX as u64);
        let every = match self.interval {
            None => None,
            Some(Interval::Fraction(duration)) => Some(duration),
            Some(Interval::Seconds(0)) if self.count.is_some() => return Err(usage()),
            Some(Interval::Seconds(0)) => None,
            Some(Interval::Seconds(seconds)) => match seconds & u64::from(u32::MAX) {
                0 => Some(NEVER),
                seconds => Some(Duration::from_secs(seconds)),
            },
        };
        if self.count == Some(0) { Err(usage()) } else { Ok(Schedule { interval: every, count: self.count }) }
    }
}

fn colors(environment: &dyn Fn(&str) -> Option<OsString>) -> Colors {
    let is = |name: &str, value: &str| environment(name).is_some_and(|set| set == value);
    let sgr = environment("S_COLORS_SGR").unwrap_or_default();
    let palette = Palette::with(&sgr.to_string_lossy());
    let unwanted = environment("NO_COLOR").is_some_and(|set| !set.is_empty()) || is("TERM", "dumb");
    if is("S_COLORS", "always") {
        Colors::Always(palette)
    } else if is("S_COLORS", "never") || unwanted {
        Colors::Never
    } else {
        Colors::OnTerminal(palette)
    }
}
