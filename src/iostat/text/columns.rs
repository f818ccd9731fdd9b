//! The columns of iostat's device report, as data.

use super::style::Unit;
use crate::iostat::rates::IostatRates;
use crate::report::layout::number_row::{MAX_COLUMNS, RowValues};

/// The quantity of a column, which determines its scale and format. A value of `None` is printed as zero.
#[derive(Clone, Copy)]
pub(super) enum Value {
    /// A plain number: requests per second, milliseconds, a queue length.
    Plain(fn(&IostatRates) -> Option<f64>),
    Percent(fn(&IostatRates) -> Option<f64>),
    /// KiB per second, printed in the unit of the report.
    Data(fn(&IostatRates) -> f64),
    /// Sectors, printed in whole units of the report, rounded down.
    Amount(fn(&IostatRates) -> u64),
    /// KiB, independent of the unit of the report.
    Size(fn(&IostatRates) -> Option<f64>),
}

impl Value {
    /// Returns the number to print, without units that depend on its size. A large amount is not exact.
    #[inline(always)]
    fn number(self, rates: &IostatRates, unit: Unit, unit_kib: f64) -> f64 {
        match self {
            Plain(value) | Percent(value) | Size(value) => or_zero(value(rates)),
            Data(value) => value(rates) / unit_kib,
            Amount(value) => (value(rates) / unit.sectors()) as f64,
        }
    }
}

/// A column of the device report.
pub(super) struct Column {
    /// The title, in which `kB` is replaced by the unit of the report.
    pub(super) title: &'static str,
    /// The width, without the blank before it.
    pub(super) width: usize,
    pub(super) value: Value,
}

pub(super) struct Columns {
    pub(super) all: &'static [Column],
    /// Returns the numbers of a row.
    pub(super) values: fn(&IostatRates, Unit) -> RowValues,
}

/// Defines columns, each with its title, width and quantity. The function for their numbers has each quantity inlined.
macro_rules! columns {
    ($($title:literal $width:literal $value:expr;)+) => {
        Columns {
            all: &[$(Column { title: $title, width: $width, value: $value }),+],
            values: |rates, unit| {
                let kib = unit.kib();
                let numbers = [$($value.number(rates, unit, kib)),+];
                let mut values = [0.0; MAX_COLUMNS];
                values[..numbers.len()].copy_from_slice(&numbers);
                values
            },
        }
    };
}

/// Replaces the rate of a counter that went backwards by zero, even in a sum.
#[inline]
fn or_zero(rate: Option<f64>) -> f64 {
    rate.unwrap_or(0.0)
}

use Value::{Amount, Data, Percent, Plain, Size};

/// The default report: transfers and data.
pub(super) static BASIC: Columns = columns! {
    "tps" 8 Plain(|r| r.all.per_s());
    "kB_read/s" 12 Data(|r| or_zero(r.reads.kib_per_s()));
    "kB_wrtn/s" 12 Data(|r| or_zero(r.writes.kib_per_s()));
    "kB_dscd/s" 12 Data(|r| or_zero(r.discards.kib_per_s()));
    "kB_read" 10 Amount(|r| r.reads.sectors);
    "kB_wrtn" 10 Amount(|r| r.writes.sectors);
    "kB_dscd" 10 Amount(|r| r.discards.sectors);
};

/// The default report with `-s`.
pub(super) static BASIC_SHORT: Columns = columns! {
    "tps" 8 Plain(|r| r.all.per_s());
    "kB_read/s" 12 Data(|r| or_zero(r.reads.kib_per_s()));
    "kB_w+d/s" 12 Data(|r| or_zero(r.writes.kib_per_s()) + or_zero(r.discards.kib_per_s()));
    "kB_read" 10 Amount(|r| r.reads.sectors);
    "kB_w+d" 10 Amount(|r| r.writes.sectors.wrapping_add(r.discards.sectors));
};

/// The report of `-x`: reads, writes, discards, flushes, and the device as a whole.
pub(super) static EXTENDED: Columns = columns! {
    "r/s" 7 Plain(|r| r.reads.per_s());
    "rkB/s" 9 Data(|r| or_zero(r.reads.kib_per_s()));
    "rrqm/s" 8 Plain(|r| r.reads.merges_per_s());
    "%rrqm" 6 Percent(|r| r.reads.merge_pct());
    "r_await" 7 Plain(|r| r.reads.await_ms());
    "rareq-sz" 8 Size(|r| r.reads.size_kib());
    "w/s" 7 Plain(|r| r.writes.per_s());
    "wkB/s" 9 Data(|r| or_zero(r.writes.kib_per_s()));
    "wrqm/s" 8 Plain(|r| r.writes.merges_per_s());
    "%wrqm" 6 Percent(|r| r.writes.merge_pct());
    "w_await" 7 Plain(|r| r.writes.await_ms());
    "wareq-sz" 8 Size(|r| r.writes.size_kib());
    "d/s" 7 Plain(|r| r.discards.per_s());
    "dkB/s" 9 Data(|r| or_zero(r.discards.kib_per_s()));
    "drqm/s" 8 Plain(|r| r.discards.merges_per_s());
    "%drqm" 6 Percent(|r| r.discards.merge_pct());
    "d_await" 7 Plain(|r| r.discards.await_ms());
    "dareq-sz" 8 Size(|r| r.discards.size_kib());
    "f/s" 7 Plain(|r| r.flushes_per_s());
    "f_await" 7 Plain(|r| r.flush_await_ms());
    "aqu-sz" 7 Plain(|r| r.queue());
    "%util" 6 Percent(|r| r.util_pct());
};

/// The tables that `-x --pretty` splits [`EXTENDED`] into.
pub(super) const EXTENDED_TABLES: [std::ops::Range<usize>; 4] = [0..6, 6..12, 12..18, 18..22];

/// The report of `-x -s`.
pub(super) static EXTENDED_SHORT: Columns = columns! {
    "tps" 8 Plain(|r| r.all.per_s());
    "kB/s" 9 Data(|r| {
            or_zero(r.reads.kib_per_s()) + or_zero(r.writes.kib_per_s()) + or_zero(r.discards.kib_per_s())
        });
    "rqm/s" 8 Plain(|r| r.all.merges_per_s());
    "await" 7 Plain(|r| r.all.await_ms());
    "areq-sz" 8 Size(|r| r.all.size_kib());
    "aqu-sz" 7 Plain(|r| r.queue());
    "%util" 6 Percent(|r| r.util_pct());
};

/// The order of the columns of [`EXTENDED`] in the JSON of `-x`.
pub(super) const EXTENDED_JSON_ORDER: [usize; 22] =
    [0, 6, 12, 18, 1, 7, 13, 2, 8, 14, 3, 9, 15, 4, 10, 16, 19, 5, 11, 17, 20, 21];
