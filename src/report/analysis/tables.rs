//! The tables of a report.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};

use super::words::push_line;
use crate::analysis::{ConcurrencyLevel, DeviceReport, DirectionReport, Distribution, Layer, Pattern};
use crate::report::layout::number_format as cells;
use crate::sanitize::sanitize;

/// How far tables are from the margin.
const INDENT: usize = 4;

/// A table without lines, its first column to the left and numbers to the right.
fn draw(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>, out: &mut Vec<u8>) {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header.to_vec());
    for row in rows {
        table.add_row(row);
    }
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        column.set_cell_alignment(if index == 0 { CellAlignment::Left } else { CellAlignment::Right });
    }
    for line in table.lines() {
        push_line(&line, INDENT, out);
    }
}

type Quantity = (&'static str, fn(&DirectionReport) -> &Distribution, fn(f64) -> String);

static QUANTITIES: [Quantity; 5] = [
    ("/s", |of| &of.iops, cells::number),
    ("MB/s", |of| &of.mib_per_s, cells::number),
    ("_size", |of| &of.size_kib, cells::size),
    ("_await", |of| &of.await_ms, cells::time),
    ("_queue", |of| &of.queue, cells::queue),
];

/// What each direction did; rows without values, and directions without requests, are left out.
pub(super) fn did(report: &DeviceReport, out: &mut Vec<u8>) {
    let directions = [("r", &report.read), ("w", &report.write)];
    let rows = directions.into_iter().filter(|(_, of)| has_worked(of)).flat_map(|(letter, of)| {
        QUANTITIES.iter().filter_map(move |(name, statistic, text)| {
            let Distribution { mean, p50, p95, p99, max } = statistic(of);
            let cell = |value: &Option<f64>| value.map(text).unwrap_or_default();
            mean.or(*max)?;
            Some(
                [format!("{letter}{name}")].into_iter().chain([mean, p50, p95, p99, max].map(cell)).collect(),
            )
        })
    });
    draw(&["", "mean", "median", "95 %", "99 %", "max"], rows, out);
}

/// Whether a direction had requests.
pub(super) fn has_worked(of: &DirectionReport) -> bool {
    of.iops.max.is_some_and(|rate| rate > 0.0)
}

/// Merged share and pattern of the directions that worked; `None` where nothing is known.
pub(super) fn patterns(report: &DeviceReport) -> Option<String> {
    let of = |noun: &str, of: &DirectionReport| {
        let merged = of.merged_pct.map(|share| format!("{} merged", cells::percent(share)));
        let pattern = match of.pattern {
            Pattern::Sequential => Some("sequential".to_owned()),
            Pattern::Random => Some("random".to_owned()),
            Pattern::Unknown => None,
        };
        let known: Vec<String> = merged.into_iter().chain(pattern).collect();
        (has_worked(of) && !known.is_empty()).then(|| format!("{noun}: {}", known.join(", ")))
    };
    let both = [of("reads", &report.read), of("writes", &report.write)];
    let known: Vec<String> = both.into_iter().flatten().collect();
    (!known.is_empty()).then(|| format!("{}.", known.join("; ")))
}

/// The concurrency table.
pub(super) fn levels(levels: &[ConcurrencyLevel], out: &mut Vec<u8>) {
    let row = |level: &ConcurrencyLevel| {
        vec![
            cells::queue(level.concurrency),
            level.intervals.to_string(),
            cells::number(level.iops),
            cells::number(level.mib_per_s),
            cells::time(level.await_ms),
            level.saturation.map(|times| format!("{times:.1}x")).unwrap_or_default(),
        ]
    };
    let header = ["concurrency", "intervals", "io/s", "MB/s", "await", "saturation"];
    draw(&header, levels.iter().map(row), out);
}

/// The queue at each layer.
pub(super) fn layers<'a>(layers: impl Iterator<Item = &'a Layer>, out: &mut Vec<u8>) {
    let row = |layer: &Layer| {
        let name = sanitize(&layer.device).into_owned();
        let numbers =
            [layer.iops.map(cells::number), layer.await_ms.map(cells::time), layer.queue.map(cells::queue)];
        [name].into_iter().chain(numbers.map(Option::unwrap_or_default)).collect()
    };
    draw(&["layer", "io/s", "await", "queue"], layers.map(row), out);
}
