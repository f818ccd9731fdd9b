//! iostat's grammar. It is parsed by hand: clap knows neither `-p [DEV]` nor `+f`, and the bytes of the usage
//! text are iostat's.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::Refusal;
use crate::exit::Exit;
use crate::plan::{DeviceName, Iostat, Pace};
use crate::report::iostat::{Format, Style, Unit};
use crate::select::Others;

const USAGE: &str = "\
Usage: iostat [ options ] [ <interval> [ <count> ] ]
Options are:
[ -c ] [ -d ] [ -k | -m ] [ -s ] [ -t ] [ -x ] [ -y ] [ -z ]
[ -o JSON ] [ -p [ <device> [,...] | ALL ] ] [ <device> [...] | ALL ]
[ --from <file> ] [ --root <dir> ]
";

/// What was typed, before it is known what it means together.
#[derive(Default)]
struct Typed {
    cpu: bool,
    disk: bool,
    /// An option that says something of devices shows them beside `-c`.
    needs_disk: bool,
    extended: bool,
    short: bool,
    megabytes: bool,
    timestamps: bool,
    skip_first: bool,
    active_only: bool,
    json: bool,
    names: Vec<DeviceName>,
    all: bool,
    /// `-p` without devices, or with ALL.
    all_partitions: bool,
    /// Devices that never worked as well.
    idle_too: bool,
    interval: Option<Duration>,
    count: Option<u64>,
    from: Option<PathBuf>,
    root: Option<PathBuf>,
}

/// What iostat's arguments ask for.
pub(super) fn plan(
    arguments: &[OsString],
    root: &Path,
    environment: &dyn Fn(&str) -> Option<OsString>,
) -> Result<Iostat, Refusal> {
    let mut typed = Typed::default();
    let mut words = arguments.iter().map(|word| word.to_string_lossy().into_owned()).peekable();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--from" => typed.from = Some(words.next().ok_or_else(usage)?.into()),
            "--root" => typed.root = Some(words.next().ok_or_else(usage)?.into()),
            "-o" if words.next().as_deref() == Some("JSON") => typed.json = true,
            "-p" => {
                let devices = words.next_if(|next| !next.starts_with('-') && !is_number(next));
                partitions(&mut typed, devices.as_deref());
            }
            word if word.starts_with('-') => short_options(&mut typed, &word[1..])?,
            word => operand(&mut typed, word)?,
        }
    }
    Ok(resolve(typed, root, environment))
}

fn usage() -> Refusal {
    Refusal { message: USAGE.to_owned(), exit: Exit::IostatUsage }
}

fn is_number(word: &str) -> bool {
    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_digit())
}

/// `-p [DEVICE[,...]|ALL]`.
fn partitions(typed: &mut Typed, devices: Option<&str>) {
    typed.needs_disk = true;
    let Some(devices) = devices else {
        typed.all_partitions = true;
        return;
    };
    for word in devices.split(',').filter(|word| !word.is_empty()) {
        if word == "ALL" {
            (typed.all_partitions, typed.idle_too) = (true, true);
        } else {
            typed.names.push(DeviceName { word: word.to_owned(), partitions: true });
        }
    }
}

/// A cluster of one-letter options.
fn short_options(typed: &mut Typed, letters: &str) -> Result<(), Refusal> {
    if letters.is_empty() {
        return Err(usage());
    }
    for letter in letters.chars() {
        match letter {
            'c' => typed.cpu = true,
            'd' => typed.disk = true,
            'x' => (typed.extended, typed.needs_disk) = (true, true),
            's' => typed.short = true,
            'k' => typed.megabytes = false,
            'm' => typed.megabytes = true,
            't' => typed.timestamps = true,
            'y' => typed.skip_first = true,
            'z' => typed.active_only = true,
            _ => return Err(usage()),
        }
    }
    Ok(())
}

/// A device, the interval or the count.
fn operand(typed: &mut Typed, word: &str) -> Result<(), Refusal> {
    let number = || word.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    if word == "ALL" {
        typed.all = true;
    } else if !word.starts_with(|c: char| c.is_ascii_digit()) || number().is_none() {
        typed.names.push(DeviceName { word: word.to_owned(), partitions: false });
    } else if typed.interval.is_none() {
        let seconds = number().filter(|n| *n > 0.0).and_then(|n| Duration::try_from_secs_f64(n).ok());
        typed.interval = Some(seconds.ok_or_else(usage)?);
    } else if typed.count.is_none() {
        typed.count = Some(word.parse().ok().filter(|count| *count > 0).ok_or_else(usage)?);
    } else {
        return Err(usage());
    }
    Ok(())
}

fn resolve(typed: Typed, root: &Path, environment: &dyn Fn(&str) -> Option<OsString>) -> Iostat {
    let idle_too = typed.idle_too || typed.all || !typed.names.is_empty();
    Iostat {
        style: Style {
            cpu: typed.cpu || !typed.disk,
            disk: typed.disk || typed.needs_disk || !typed.cpu,
            extended: typed.extended,
            short: typed.short,
            unit: if typed.megabytes { Unit::Mega } else { Unit::Kilo },
            format: if typed.json { Format::Json } else { Format::Text },
        },
        others: match (typed.all_partitions, typed.all) {
            (true, _) if idle_too => Others::All,
            (true, _) => Others::WorkedAndPartitions,
            (false, true) => Others::Whole,
            (false, false) if idle_too => Others::None,
            (false, false) => Others::Worked,
        },
        names: typed.names,
        active_only: typed.active_only,
        skip_first: typed.skip_first,
        timestamps: typed.timestamps,
        iso_time: environment("S_TIME_FORMAT").is_some_and(|value| value == "ISO"),
        time_zone: environment("TZ"),
        pace: Pace { every: typed.interval, count: typed.count },
        from: typed.from,
        root: typed.root.unwrap_or_else(|| root.to_owned()),
    }
}
