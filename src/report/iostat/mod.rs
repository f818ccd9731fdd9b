//! What sysstat's iostat prints, byte for byte.

mod columns;
mod json;
mod text;

use crate::metrics::{CpuShares, Rates};

/// What a report holds and how it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

/// What amounts of data are counted in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// KiB, which iostat calls kB.
    #[default]
    Kilo,
    /// MiB, which iostat calls MB.
    Mega,
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Kilo => "kB",
            Unit::Mega => "MB",
        }
    }

    fn kib(self) -> f64 {
        match self {
            Unit::Kilo => 1.0,
            Unit::Mega => 1024.0,
        }
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
    pub cpu: Option<CpuShares>,
    /// The devices in their order.
    pub rows: Vec<Row<'a>>,
}

/// A device in a report.
#[derive(Clone, Copy, Debug)]
pub struct Row<'a> {
    /// What it is called.
    pub name: &'a str,
    /// What it did.
    pub rates: Rates,
}

/// Writes the reports of one run into a buffer of the caller's.
pub struct Printer {
    style: Style,
    /// The line above the devices, the same in every report.
    titles: String,
    reports: usize,
}

impl Printer {
    /// A printer of reports in a style.
    pub fn new(style: Style) -> Self {
        Self { style, titles: text::titles(&style), reports: 0 }
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
            Format::Text => text::report(&self.style, &self.titles, report, out),
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
