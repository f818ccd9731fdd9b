//! The text of iostat, byte for byte: the parts of a report, and table cells with number, unit and color.

pub(super) mod json;
pub(super) mod tables;

use std::borrow::Cow;

use Value::{Amount, Data, Percent, Plain, Size};

use super::rates::IostatRates;
use crate::fixed_decimal::{push_fixed, push_whole};
use crate::metrics::CpuPercentages;

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
    /// `-o JSON`.
    pub is_json: bool,
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
    /// No default devices, and no groups, that have not completed a request since boot.
    pub used_only: bool,
    /// The colors; `None` for no colors.
    pub palette: Option<Palette>,
}

impl Style {
    /// Returns whether the device report is split into several tables.
    pub(crate) fn is_split(&self) -> bool {
        !self.is_json && self.extended && !self.short && self.pretty && !self.compact
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

/// The units of `--human` from KiB up; units larger than PiB are shown as `?`.
const HUMAN_UNITS: &[u8; 6] = b"kMGTP?";

/// Appends the cell of a column for a device.
pub(super) fn push_cell(style: &Style, column: &Column, rates: &IostatRates, out: &mut Vec<u8>) {
    let width = column.width;
    match column.value {
        Value::Plain(value) => push_number(style, value(rates), width, out),
        Value::Percent(alarm, value) => push_percentage(style, alarm, value(rates), width, out),
        Value::Data(value) if style.human => {
            let kib = value(rates);
            // iostat uses the number of sectors to decide which values are colored as zero.
            push_human(style, kib, class_of(kib * 2.0, style.decimals), width, out);
        }
        Value::Data(value) => push_number(style, value(rates) / style.unit.kib(), width, out),
        Value::Size(value) => {
            let kib = value(rates);
            if style.human {
                push_human(style, kib, class_of(kib, style.decimals), width, out);
            } else {
                push_number(style, kib, width, out);
            }
        }
        Value::Amount(value) if style.human => {
            let sectors = value(rates);
            push_human(
                style,
                sectors as f64 / 2.0,
                class_of_amount(sectors),
                width,
                out,
            );
        }
        Value::Amount(value) => {
            let amount = value(rates) / style.unit.sectors();
            push_colored(
                style,
                || class_of_amount(amount),
                out,
                |out| push_whole(out, amount, width),
            );
        }
    }
}

fn push_number(style: &Style, value: f64, width: usize, out: &mut Vec<u8>) {
    let class = || class_of(value, style.decimals);
    push_colored(style, class, out, |out| {
        push_fixed(out, value, width, style.decimals)
    });
}

pub(super) fn push_percentage(
    style: &Style,
    alarm: Alarm,
    percentage: f64,
    width: usize,
    out: &mut Vec<u8>,
) {
    let (width, decimals) = if style.human {
        (width - 1, human_decimals(style))
    } else {
        (width, style.decimals)
    };
    let class = || class_of_percentage(alarm, percentage, decimals);
    push_colored(style, class, out, |out| {
        push_fixed(out, percentage, width, decimals)
    });
    if style.human {
        out.push(b'%');
    }
}

/// Appends an amount in a unit that suits its size, chosen before the number is rounded.
fn push_human(style: &Style, kib: f64, class: CellClass, width: usize, out: &mut Vec<u8>) {
    let mut value = kib;
    let mut unit = 0;
    while value >= 1024.0 {
        value /= 1024.0;
        unit += 1;
    }
    push_colored(
        style,
        || class,
        out,
        |out| push_fixed(out, value, width - 1, human_decimals(style)),
    );
    out.push(HUMAN_UNITS[unit.min(HUMAN_UNITS.len() - 1)]);
}

/// Returns the decimals of `--human`, at most one.
fn human_decimals(style: &Style) -> usize {
    style.decimals.min(1)
}

fn class_of_amount(amount: u64) -> CellClass {
    if amount == 0 {
        CellClass::Zero
    } else {
        CellClass::Number
    }
}

/// Appends a blank and a cell, in the color of its class if the style has colors.
fn push_colored(
    style: &Style,
    class: impl FnOnce() -> CellClass,
    out: &mut Vec<u8>,
    cell: impl FnOnce(&mut Vec<u8>),
) {
    push_in_color(style, class, out, |out| {
        out.push(b' ');
        cell(out);
    });
}

/// Appends text in the color of a class if the style has colors.
pub(super) fn push_in_color(
    style: &Style,
    class: impl FnOnce() -> CellClass,
    out: &mut Vec<u8>,
    text: impl FnOnce(&mut Vec<u8>),
) {
    let Some(palette) = &style.palette else {
        return text(out);
    };
    out.extend_from_slice(b"\x1b[");
    out.extend_from_slice(palette.sgr(class()).as_bytes());
    out.push(b'm');
    text(out);
    out.extend_from_slice(b"\x1b[0m");
}

/// The reason for the color of a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CellClass {
    /// A percentage that is an alarm.
    Alarm,
    /// A percentage that is a warning.
    Warning,
    Item,
    Number,
    /// A number that rounds to zero.
    Zero,
}

/// The SGR parameters of the classes of cells. A later entry for a class wins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Palette(Vec<(CellClass, String)>);

impl Palette {
    /// Returns the default colors, changed by the entries of S_COLORS_SGR: `K=SGR` for the classes X, W, I, N and Z,
    /// separated by colons. H is also X, and M is W. Like iostat, this ignores invalid entries.
    pub fn from_entries(entries: &str) -> Self {
        const MAX_SGR_BYTES: usize = 5;
        use CellClass::{Alarm, Item, Number, Warning, Zero};
        let default = [
            (Alarm, "31;1"),
            (Warning, "35;1"),
            (Item, "32;22"),
            (Number, "34;1"),
            (Zero, "34;22"),
        ];
        let mut palette = Self(default.map(|(class, sgr)| (class, sgr.to_owned())).to_vec());
        for (class, sgr) in entries.split(':').filter_map(|entry| entry.split_once('=')) {
            let class = match class {
                "X" | "H" => Alarm,
                "W" | "M" => Warning,
                "I" => Item,
                "N" => Number,
                "Z" => Zero,
                _ => continue,
            };
            let is_sgr = sgr
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b';');
            if is_sgr && (1..=MAX_SGR_BYTES).contains(&sgr.len()) {
                palette.0.push((class, sgr.to_owned()));
            }
        }
        palette
    }

    /// Returns the SGR parameters of a class.
    pub(super) fn sgr(&self, class: CellClass) -> &str {
        self.0
            .iter()
            .rev()
            .find(|(one, _)| *one == class)
            .map_or("", |(_, sgr)| sgr)
    }
}

/// The percentages that are an alarm, as of sysstat 12.7.2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alarm {
    /// 90 percent or more; from 75 percent on, it is a warning.
    High,
    /// 10 percent or less; up to 25 percent, it is a warning.
    Low,
    /// As before, except zero.
    LowButNotZero,
}

/// Returns the class of a percentage that is printed with this many decimals.
fn class_of_percentage(alarm: Alarm, percentage: f64, decimals: usize) -> CellClass {
    // iostat applies the limit of two decimals here if there are none.
    let is_zero = percentage < if decimals == 1 { 0.05 } else { 0.005 };
    match (alarm, percentage) {
        (Alarm::High, 90.0..) => CellClass::Alarm,
        (Alarm::High, 75.0..) => CellClass::Warning,
        (Alarm::LowButNotZero, _) if is_zero => CellClass::Zero,
        (Alarm::Low | Alarm::LowButNotZero, ..=10.0) => CellClass::Alarm,
        (Alarm::Low | Alarm::LowButNotZero, ..=25.0) => CellClass::Warning,
        _ => class_of(percentage, decimals),
    }
}

/// Returns the class of a number that is printed with this many decimals: zero if all its visible digits are.
fn class_of(value: f64, decimals: usize) -> CellClass {
    let is_zero = match decimals {
        0 => value <= 0.5,
        1 => value < 0.05,
        _ => value < 0.005,
    };
    if is_zero {
        CellClass::Zero
    } else {
        CellClass::Number
    }
}

/// The quantity of a column, which determines its scale and format.
#[derive(Clone, Copy)]
pub(super) enum Value {
    /// A plain number: requests per second, milliseconds, a queue length.
    Plain(fn(&IostatRates) -> f64),
    Percent(Alarm, fn(&IostatRates) -> f64),
    /// KiB per second, printed in the unit of the report.
    Data(fn(&IostatRates) -> f64),
    /// Sectors, printed in whole units of the report, rounded down.
    Amount(fn(&IostatRates) -> u64),
    /// KiB, independent of the unit of the report.
    Size(fn(&IostatRates) -> f64),
}

/// A column of the device report.
pub(super) struct Column {
    /// The title, in which `kB` is replaced by the unit of the report.
    pub(super) title: &'static str,
    /// The width, without the blank before it.
    pub(super) width: usize,
    pub(super) value: Value,
}

const fn column(title: &'static str, width: usize, value: Value) -> Column {
    Column {
        title,
        width,
        value,
    }
}

/// The default report: transfers and data.
pub(super) const BASIC: &[Column] = &[
    column("tps", 8, Plain(|r| r.all.wrapping_per_s())),
    column("kB_read/s", 12, Data(|r| r.reads.wrapping_kib_per_s())),
    column("kB_wrtn/s", 12, Data(|r| r.writes.wrapping_kib_per_s())),
    column("kB_dscd/s", 12, Data(|r| r.discards.wrapping_kib_per_s())),
    column("kB_read", 10, Amount(|r| r.reads.sectors)),
    column("kB_wrtn", 10, Amount(|r| r.writes.sectors)),
    column("kB_dscd", 10, Amount(|r| r.discards.sectors)),
];

/// The default report with `-s`.
pub(super) const BASIC_SHORT: &[Column] = &[
    column("tps", 8, Plain(|r| r.all.wrapping_per_s())),
    column("kB_read/s", 12, Data(|r| r.reads.wrapping_kib_per_s())),
    column(
        "kB_w+d/s",
        12,
        Data(|r| r.writes.wrapping_kib_per_s() + r.discards.wrapping_kib_per_s()),
    ),
    column("kB_read", 10, Amount(|r| r.reads.sectors)),
    column(
        "kB_w+d",
        10,
        Amount(|r| r.writes.sectors.wrapping_add(r.discards.sectors)),
    ),
];

/// The report of `-x`: reads, writes, discards, flushes, and the device as a whole.
pub(super) const EXTENDED: &[Column] = &[
    column("r/s", 7, Plain(|r| r.reads.per_s())),
    column("rkB/s", 9, Data(|r| r.reads.kib_per_s())),
    column("rrqm/s", 8, Plain(|r| r.reads.merges_per_s())),
    column(
        "%rrqm",
        6,
        Percent(Alarm::LowButNotZero, |r| r.reads.merge_pct()),
    ),
    column("r_await", 7, Plain(|r| r.reads.await_ms())),
    column("rareq-sz", 8, Size(|r| r.reads.size_kib())),
    column("w/s", 7, Plain(|r| r.writes.per_s())),
    column("wkB/s", 9, Data(|r| r.writes.kib_per_s())),
    column("wrqm/s", 8, Plain(|r| r.writes.merges_per_s())),
    column(
        "%wrqm",
        6,
        Percent(Alarm::LowButNotZero, |r| r.writes.merge_pct()),
    ),
    column("w_await", 7, Plain(|r| r.writes.await_ms())),
    column("wareq-sz", 8, Size(|r| r.writes.size_kib())),
    column("d/s", 7, Plain(|r| r.discards.per_s())),
    column("dkB/s", 9, Data(|r| r.discards.kib_per_s())),
    column("drqm/s", 8, Plain(|r| r.discards.merges_per_s())),
    column(
        "%drqm",
        6,
        Percent(Alarm::LowButNotZero, |r| r.discards.merge_pct()),
    ),
    column("d_await", 7, Plain(|r| r.discards.await_ms())),
    column("dareq-sz", 8, Size(|r| r.discards.size_kib())),
    column("f/s", 7, Plain(|r| r.flushes.per_s())),
    column("f_await", 7, Plain(|r| r.flushes.await_ms())),
    column("aqu-sz", 7, Plain(|r| r.queue())),
    column("%util", 6, Percent(Alarm::High, |r| r.util_pct())),
];

/// The tables that `-x --pretty` splits [`EXTENDED`] into.
pub(super) const EXTENDED_TABLES: [std::ops::Range<usize>; 4] = [0..6, 6..12, 12..18, 18..22];

/// The report of `-x -s`.
pub(super) const EXTENDED_SHORT: &[Column] = &[
    column("tps", 8, Plain(|r| r.all.per_s())),
    column(
        "kB/s",
        9,
        Data(|r| r.reads.kib_per_s() + r.writes.kib_per_s() + r.discards.kib_per_s()),
    ),
    column("rqm/s", 8, Plain(|r| r.all.merges_per_s())),
    column("await", 7, Plain(|r| r.all.await_ms())),
    column("areq-sz", 8, Size(|r| r.all.size_kib())),
    column("aqu-sz", 7, Plain(|r| r.queue())),
    column("%util", 6, Percent(Alarm::High, |r| r.util_pct())),
];

/// The order of the columns of [`EXTENDED`] in the JSON of `-x`.
pub(super) const EXTENDED_JSON_ORDER: [usize; 22] = [
    0, 6, 12, 18, 1, 7, 13, 2, 8, 14, 3, 9, 15, 4, 10, 16, 19, 5, 11, 17, 20, 21,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_entries_change_the_palette() {
        let palette = Palette::from_entries("H=4:Q=1:n=7:Z=38;5;1:I=1;2:N=:W=a:bad:I=3");
        let default = Palette::from_entries("");
        assert_eq!(
            (palette.sgr(CellClass::Alarm), palette.sgr(CellClass::Item)),
            ("4", "3")
        );
        for class in [CellClass::Warning, CellClass::Number, CellClass::Zero] {
            assert_eq!(palette.sgr(class), default.sgr(class));
        }
    }

    #[test]
    fn percentages_are_classified_before_rounding() {
        use CellClass::{Number, Warning, Zero};
        const ALARM: CellClass = CellClass::Alarm;
        for (alarm, percentage, decimals, expected) in [
            (Alarm::High, 90.0, 2, ALARM),
            (Alarm::High, 89.996, 2, Warning),
            (Alarm::High, 75.0, 2, Warning),
            (Alarm::High, 74.996, 2, Number),
            (Alarm::High, 0.04, 1, Zero),
            (Alarm::Low, 25.01, 2, Number),
            (Alarm::Low, 25.0, 2, Warning),
            (Alarm::Low, 10.01, 0, Warning),
            (Alarm::Low, 10.0, 2, ALARM),
            (Alarm::Low, 0.0, 2, ALARM),
            (Alarm::LowButNotZero, 10.0, 2, ALARM),
            (Alarm::LowButNotZero, 0.01, 2, ALARM),
            (Alarm::LowButNotZero, 0.01, 0, ALARM),
            (Alarm::LowButNotZero, 0.01, 1, Zero),
            (Alarm::LowButNotZero, 0.0, 0, Zero),
        ] {
            let class = class_of_percentage(alarm, percentage, decimals);
            assert_eq!(class, expected, "{alarm:?} {percentage} {decimals}");
        }
    }

    #[test]
    fn a_number_that_rounds_to_zero_is_in_the_class_zero() {
        assert_eq!(
            (class_of(0.0049, 2), class_of(0.005, 2)),
            (CellClass::Zero, CellClass::Number)
        );
        assert_eq!(
            (class_of(0.5, 0), class_of(0.51, 0)),
            (CellClass::Zero, CellClass::Number)
        );
    }
}
