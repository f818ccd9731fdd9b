//! The text of iostat, byte for byte.

mod cells;
pub(super) mod json;
pub(super) mod tables;

use std::borrow::Cow;

use super::rates::IostatRates;
use crate::counters::Missing;
use crate::metrics::CpuPercentages;

pub(super) use cells::Palette;
#[derive(Clone, Debug, Default)]
pub(super) struct Report<'a> {
    /// The formatted time; `None` without `-t`.
    pub(super) time: Option<String>,
    /// CPU utilization; `None` if unknown.
    pub(super) cpu: Option<CpuPercentages>,
    /// Devices and groups in order.
    pub(super) rows: Vec<Row<'a>>,
    /// True if the report ends after the last row because of an error.
    pub(super) is_truncated: bool,
}

/// A device or a group in a report.
#[derive(Clone, Debug)]
pub(super) struct Row<'a> {
    pub(super) name: Cow<'a, str>,
    pub(super) is_group: bool,
    /// `None` for a group that never had a device: it is not printed, but JSON has the comma after it.
    pub(super) rates: Option<IostatRates>,
}

/// The parts of a report and how they are formatted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// True if the report has CPU utilization.
    pub cpu: bool,
    /// True if the report has devices.
    pub disk: bool,
    /// `-x`: extended statistics.
    pub extended: bool,
    /// `-s`: fewer columns.
    pub short: bool,
    /// The unit of amounts of data.
    pub unit: Unit,
    pub format: Format,
    /// `--dec`: decimals in the tables, at most 2.
    pub decimals: usize,
    /// `--human`: a suitable unit for each amount.
    pub human: bool,
    /// `--pretty`: names at the ends of lines, and shorter lines.
    pub pretty: bool,
    /// `--compact`: long lines despite `--pretty`.
    pub compact: bool,
    /// `-z`: no devices without activity in the interval.
    pub active_only: bool,
    /// No devices and groups that were never used.
    pub used_only: bool,
    /// The colors; `None` for no colors.
    pub palette: Option<Palette>,
}

impl Style {
    /// Returns whether the device report is split into several tables.
    pub(crate) fn is_split(&self) -> bool {
        self.format == Format::Text && self.extended && !self.short && self.pretty && !self.compact
    }

    /// Returns the values of devices that the report shows: with `-s`, reads and writes are added up.
    pub(crate) fn shown(&self) -> Missing {
        let (extended, split) = (self.extended, self.extended && !self.short);
        Missing {
            in_flight: false,
            ios: split,
            merges: extended,
            sectors: split || !extended,
            ms: split,
            busy_ms: extended,
            weighted_ms: extended,
        }
    }

    /// Returns the name of the unit in column titles and keys.
    pub(super) fn unit_name(&self) -> &'static str {
        match self.unit {
            Unit::Kilo => "kB",
            Unit::Mega => "MB",
            Unit::Giga => "GB",
            Unit::Block if self.extended => "sec",
            Unit::Block => "Blk",
        }
    }
}

/// The unit of amounts of data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unit {
    /// KiB, which iostat calls kB.
    #[default]
    Kilo,
    /// MiB, which iostat calls MB.
    Mega,
    /// GiB, which iostat calls GB.
    Giga,
    /// Blocks of 512 bytes, as in POSIX.
    Block,
}

impl Unit {
    /// Returns the sectors of 512 bytes in one unit.
    pub(super) fn sectors(self) -> u64 {
        match self {
            Unit::Kilo => 2,
            Unit::Mega => 2 << 10,
            Unit::Giga => 2 << 20,
            Unit::Block => 1,
        }
    }

    /// Returns the KiB in one unit.
    pub(super) fn kib(self) -> f64 {
        self.sectors() as f64 / 2.0
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    #[default]
    Text,
    /// `-o JSON`.
    Json,
}
