//! The columns of queues: merges, and requests in the queue, being served or in flight.

use super::CellText::Value;
use super::Column;
use crate::counters::Columns;
use crate::report::layout::number_format::{COUNT, PERCENT, QUEUE};

pub(super) const COLUMNS: [Column; 8] = [
    Column {
        title: "rmrg",
        meaning: "share of the reads that were merged into others before they were issued",
        width: 5,
        rank: 40,
        value: |a| a.stats.reads.merge_pct(),
        text: Value(PERCENT),
        ..Column::DEFAULT
    },
    Column {
        title: "wmrg",
        meaning: "share of the writes that were merged into others",
        width: 5,
        rank: 40,
        value: |a| a.stats.writes.merge_pct(),
        text: Value(PERCENT),
        ..Column::DEFAULT
    },
    Column {
        title: "dmrg",
        meaning: "share of the discards that were merged into others",
        width: 5,
        rank: 5,
        needs: Columns::Discards,
        value: |a| a.stats.discards.merge_pct(),
        text: Value(PERCENT),
        ..Column::DEFAULT
    },
    Column {
        title: "r_qu",
        meaning: "mean number of reads in the queue or being served",
        width: 5,
        rank: 90,
        value: |a| a.stats.reads.queue(),
        text: Value(QUEUE),
        ..Column::DEFAULT
    },
    Column {
        title: "w_qu",
        meaning: "mean number of writes in the queue or being served",
        width: 5,
        rank: 90,
        value: |a| a.stats.writes.queue(),
        text: Value(QUEUE),
        ..Column::DEFAULT
    },
    Column {
        title: "d_qu",
        meaning: "mean number of discards in the queue or being served",
        width: 5,
        rank: 5,
        needs: Columns::Discards,
        value: |a| a.stats.discards.queue(),
        text: Value(QUEUE),
        ..Column::DEFAULT
    },
    // Shown only if the columns above do not fit; a sort key for users of iostat's aqu-sz.
    Column {
        title: "queue",
        meaning: "mean number of requests of all kinds in the queue or being served; shown where r_qu \
                  and w_qu do not fit",
        rank: 98,
        value: |a| a.stats.queue(),
        text: Value(QUEUE),
        ..Column::DEFAULT
    },
    Column {
        title: "inflt",
        meaning: "requests in flight at the end of the interval",
        rank: 82,
        value: |a| a.stats.in_flight.map(|in_flight| in_flight as f64),
        text: Value(COUNT),
        ..Column::DEFAULT
    },
];
