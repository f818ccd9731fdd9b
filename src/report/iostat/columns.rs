//! The columns of iostat's device report, as data.

use crate::metrics::Rates;

/// What a column counts, which decides how it is scaled and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A plain number: requests a second, milliseconds, a queue.
    Plain,
    /// A share in percent.
    Percent,
    /// KiB, or KiB a second, in the unit of the report.
    Data,
    /// KiB in the unit of the report, cut to whole units.
    Amount,
    /// KiB, whatever the unit of the report.
    Size,
}

/// A column of the device report.
pub(super) struct Column {
    /// Its title; `kB` stands for the unit of the report.
    pub(super) title: &'static str,
    /// Its width, without the space before it.
    pub(super) width: usize,
    pub(super) kind: Kind,
    pub(super) value: fn(&Rates) -> Option<f64>,
}

const fn column(title: &'static str, width: usize, kind: Kind, value: fn(&Rates) -> Option<f64>) -> Column {
    Column { title, width, kind, value }
}

use Kind::{Amount, Data, Percent, Plain, Size};

/// Transfers and data, as iostat prints them by default.
pub(super) const BASIC: [Column; 7] = [
    column("tps", 8, Plain, |r| r.all.per_s),
    column("kB_read/s", 12, Data, |r| r.reads.kib_per_s),
    column("kB_wrtn/s", 12, Data, |r| r.writes.kib_per_s),
    column("kB_dscd/s", 12, Data, |r| r.discards.kib_per_s),
    column("kB_read", 10, Amount, |r| r.reads.kib),
    column("kB_wrtn", 10, Amount, |r| r.writes.kib),
    column("kB_dscd", 10, Amount, |r| r.discards.kib),
];

/// The same for `-s`.
pub(super) const BASIC_SHORT: [Column; 5] = [
    column("tps", 8, Plain, |r| r.all.per_s),
    column("kB_read/s", 12, Data, |r| r.reads.kib_per_s),
    column("kB_w+d/s", 12, Data, |r| r.writes_and_discards.kib_per_s),
    column("kB_read", 10, Amount, |r| r.reads.kib),
    column("kB_w+d", 10, Amount, |r| r.writes_and_discards.kib),
];

/// `-x`.
pub(super) const EXTENDED: [Column; 22] = [
    column("r/s", 7, Plain, |r| r.reads.per_s),
    column("rkB/s", 9, Data, |r| r.reads.kib_per_s),
    column("rrqm/s", 8, Plain, |r| r.reads.merges_per_s),
    column("%rrqm", 6, Percent, |r| r.reads.merge_pct),
    column("r_await", 7, Plain, |r| r.reads.await_ms),
    column("rareq-sz", 8, Size, |r| r.reads.size_kib),
    column("w/s", 7, Plain, |r| r.writes.per_s),
    column("wkB/s", 9, Data, |r| r.writes.kib_per_s),
    column("wrqm/s", 8, Plain, |r| r.writes.merges_per_s),
    column("%wrqm", 6, Percent, |r| r.writes.merge_pct),
    column("w_await", 7, Plain, |r| r.writes.await_ms),
    column("wareq-sz", 8, Size, |r| r.writes.size_kib),
    column("d/s", 7, Plain, |r| r.discards.per_s),
    column("dkB/s", 9, Data, |r| r.discards.kib_per_s),
    column("drqm/s", 8, Plain, |r| r.discards.merges_per_s),
    column("%drqm", 6, Percent, |r| r.discards.merge_pct),
    column("d_await", 7, Plain, |r| r.discards.await_ms),
    column("dareq-sz", 8, Size, |r| r.discards.size_kib),
    column("f/s", 7, Plain, |r| r.flushes_per_s),
    column("f_await", 7, Plain, |r| r.flush_await_ms),
    column("aqu-sz", 7, Plain, |r| r.queue),
    column("%util", 6, Percent, |r| r.util_pct),
];

/// `-x -s`.
pub(super) const EXTENDED_SHORT: [Column; 7] = [
    column("tps", 8, Plain, |r| r.all.per_s),
    column("kB/s", 9, Data, |r| r.all.kib_per_s),
    column("rqm/s", 8, Plain, |r| r.all.merges_per_s),
    column("await", 7, Plain, |r| r.all.await_ms),
    column("areq-sz", 8, Size, |r| r.all.size_kib),
    column("aqu-sz", 7, Plain, |r| r.queue),
    column("%util", 6, Percent, |r| r.util_pct),
];

/// The order in which the JSON of `-x` names the columns of [`EXTENDED`].
pub(super) const EXTENDED_JSON_ORDER: [usize; 22] =
    [0, 6, 12, 18, 1, 7, 13, 2, 8, 14, 3, 9, 15, 4, 10, 16, 19, 5, 11, 17, 20, 21];
