//! The columns of iostat's device report, as data.

use super::cells::Alarm;
use crate::iostat::rates::IostatRates;

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
    Column { title, width, value }
}

use Value::{Amount, Data, Percent, Plain, Size};

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
    column("kB_w+d/s", 12, Data(|r| r.writes.wrapping_kib_per_s() + r.discards.wrapping_kib_per_s())),
    column("kB_read", 10, Amount(|r| r.reads.sectors)),
    column("kB_w+d", 10, Amount(|r| r.writes.sectors.wrapping_add(r.discards.sectors))),
];

/// The report of `-x`: reads, writes, discards, flushes, and the device as a whole.
pub(super) const EXTENDED: &[Column] = &[
    column("r/s", 7, Plain(|r| r.reads.per_s())),
    column("rkB/s", 9, Data(|r| r.reads.kib_per_s())),
    column("rrqm/s", 8, Plain(|r| r.reads.merges_per_s())),
    column("%rrqm", 6, Percent(Alarm::LowButNotZero, |r| r.reads.merge_pct())),
    column("r_await", 7, Plain(|r| r.reads.await_ms())),
    column("rareq-sz", 8, Size(|r| r.reads.size_kib())),
    column("w/s", 7, Plain(|r| r.writes.per_s())),
    column("wkB/s", 9, Data(|r| r.writes.kib_per_s())),
    column("wrqm/s", 8, Plain(|r| r.writes.merges_per_s())),
    column("%wrqm", 6, Percent(Alarm::LowButNotZero, |r| r.writes.merge_pct())),
    column("w_await", 7, Plain(|r| r.writes.await_ms())),
    column("wareq-sz", 8, Size(|r| r.writes.size_kib())),
    column("d/s", 7, Plain(|r| r.discards.per_s())),
    column("dkB/s", 9, Data(|r| r.discards.kib_per_s())),
    column("drqm/s", 8, Plain(|r| r.discards.merges_per_s())),
    column("%drqm", 6, Percent(Alarm::LowButNotZero, |r| r.discards.merge_pct())),
    column("d_await", 7, Plain(|r| r.discards.await_ms())),
    column("dareq-sz", 8, Size(|r| r.discards.size_kib())),
    column("f/s", 7, Plain(|r| r.flushes_per_s())),
    column("f_await", 7, Plain(|r| r.flush_await_ms())),
    column("aqu-sz", 7, Plain(|r| r.queue())),
    column("%util", 6, Percent(Alarm::High, |r| r.util_pct())),
];

/// The tables that `-x --pretty` splits [`EXTENDED`] into.
pub(super) const EXTENDED_TABLES: [std::ops::Range<usize>; 4] = [0..6, 6..12, 12..18, 18..22];

/// The report of `-x -s`.
pub(super) const EXTENDED_SHORT: &[Column] = &[
    column("tps", 8, Plain(|r| r.all.per_s())),
    column("kB/s", 9, Data(|r| r.reads.kib_per_s() + r.writes.kib_per_s() + r.discards.kib_per_s())),
    column("rqm/s", 8, Plain(|r| r.all.merges_per_s())),
    column("await", 7, Plain(|r| r.all.await_ms())),
    column("areq-sz", 8, Size(|r| r.all.size_kib())),
    column("aqu-sz", 7, Plain(|r| r.queue())),
    column("%util", 6, Percent(Alarm::High, |r| r.util_pct())),
];

/// The order of the columns of [`EXTENDED`] in the JSON of `-x`.
pub(super) const EXTENDED_JSON_ORDER: [usize; 22] =
    [0, 6, 12, 18, 1, 7, 13, 2, 8, 14, 3, 9, 15, 4, 10, 16, 19, 5, 11, 17, 20, 21];
