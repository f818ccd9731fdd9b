//! What sysstat's iostat prints, byte for byte.

mod cell;
mod colors;
mod columns;
mod json;
mod text;

use std::borrow::Cow;

pub use colors::Palette;

use crate::metrics::{CpuPercentages, IostatRates};

/// What a report holds and how it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Style {
    /// The CPU report.
    pub cpu: bool,
    /// The device report.
    pub disk: bool,
    /// `-x`.
    pub extended: bool,
    /// `-s`: fewer columns.
    pub short: bool,
    /// What amounts of data are counted in.
    pub unit: Unit,
    /// Text or JSON.
    pub format: Format,
    /// `--dec`: decimals in the tables, at most 2.
    pub decimals: usize,
    /// `--human`: units that suit the amounts.
    pub human: bool,
    /// `--pretty`: names at the end of the lines, and short lines.
    pub pretty: bool,
    /// `--compact`: long lines nevertheless.
    pub compact: bool,
    /// `-z`: devices that did nothing are left out.
    pub active_only: bool,
    /// Colours; `None` for none.
    pub palette: Option<Palette>,
}

impl Style {
    /// Whether the device report is broken up into several tables.
    pub fn is_broken_up(&self) -> bool {
        self.format == Format::Text && self.extended && !self.short && self.pretty && !self.compact
    }
}

/// What amounts of data are counted in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// KiB, which iostat calls kB.
    #[default]
    Kilo,
    /// MiB, which iostat calls MB.
    Mega,
    /// GiB, which iostat calls GB.
    Giga,
    /// Blocks of 512 bytes, as POSIX wants them.
    Block,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Kilo => "kB",
            Unit::Mega => "MB",
            Unit::Giga => "GB",
            Unit::Block => "Blk",
        }
    }

    /// The name in the extended report.
    fn short_name(self) -> &'static str {
        if self == Unit::Block { "sec" } else { self.name() }
    }

    fn sectors(self) -> u64 {
        match self {
            Unit::Kilo => 2,
            Unit::Mega => 2 << 10,
            Unit::Giga => 2 << 20,
            Unit::Block => 1,
        }
    }

    fn kib(self) -> f64 {
        self.sectors() as f64 / 2.0
    }
}

/// How a report is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// Tables.
    #[default]
    Text,
    /// `-o JSON`.
    Json,
}

/// What stands above all reports. Unknown parts are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heading {
    /// The host's name.
    pub nodename: Option<String>,
    /// The kernel's release.
    pub release: Option<String>,
    /// The hardware's name.
    pub hardware: Option<String>,
    /// Number of CPUs.
    pub cpus: Option<usize>,
    /// The date, as it is to be printed.
    pub date: String,
}

/// One report: what happened in one interval.
#[derive(Clone, Debug, Default)]
pub struct Report<'a> {
    /// The time, as it is to be printed; `None` without `-t`.
    pub time: Option<String>,
    /// CPU use; `None` where it is not known.
    pub cpu: Option<CpuPercentages>,
    /// The devices in their order.
    pub rows: Vec<Row<'a>>,
    /// It ends with the last row: something went wrong there.
    pub is_cut: bool,
}

/// A device in a report, or a group of devices.
#[derive(Clone, Debug)]
pub struct Row<'a> {
    /// What it is called.
    pub name: Cow<'a, str>,
    /// It is a group.
    pub is_group: bool,
    /// What it did.
    pub rates: IostatRates,
}

/// Writes the reports of one run into a buffer of the caller's.
pub struct Printer {
    style: Style,
    tables: Vec<text::Table>,
    reports: usize,
}

impl Printer {
    /// A printer of reports in a style.
    pub fn new(style: Style) -> Self {
        Self { tables: text::tables(&style), style, reports: 0 }
    }

    /// What comes before the first report.
    pub fn begin(&self, heading: &Heading, out: &mut Vec<u8>) {
        match self.style.format {
            Format::Text => text::begin(heading, out),
            Format::Json => json::begin(heading, out),
        }
    }

    /// The next report.
    pub fn report(&mut self, report: &Report<'_>, out: &mut Vec<u8>) {
        match self.style.format {
            Format::Text => text::report(&self.style, &self.tables, report, out),
            Format::Json => json::report(&self.style, report, self.reports == 0, out),
        }
        self.reports += 1;
    }

    /// What comes after the last report.
    pub fn end(&self, out: &mut Vec<u8>) {
        match self.style.format {
            Format::Text => {}
            Format::Json => json::end(out),
        }
    }
}
