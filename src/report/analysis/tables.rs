//! The tables of the text.

use crate::analysis::{ConcurrencyLevel, DeviceReport, DirectionReport, Distribution, Layer};
use crate::report::layout::number_format as cells;
use crate::report::layout::{Align, Spacing, plain_table};
use crate::sanitize::sanitize;

const SPACING: Spacing = Spacing { gap: 2, indent: 4 };

/// Appends a table with the first column aligned left and the others right.
fn push_table(header: &[&str], rows: impl IntoIterator<Item = Vec<String>>, out: &mut Vec<u8>) {
    plain_table(header, &[Align::Left, Align::Right], rows, SPACING, out);
}

/// The title of a row, its quantity and the format of its numbers.
type Quantity = (&'static str, fn(&DirectionReport) -> &Distribution, fn(f64) -> String);

static QUANTITIES: [Quantity; 5] = [
    ("/s", |of| &of.iops, cells::number),
    ("MB/s", |of| &of.mib_per_s, cells::number),
    ("_sz", |of| &of.size_kib, cells::size),
    ("_await", |of| &of.await_ms, cells::time),
    ("_qu", |of| &of.queue, cells::queue),
];

/// Appends the distributions of each direction, without rows that have no values and directions that have no requests.
pub(super) fn workload(report: &DeviceReport, out: &mut Vec<u8>) {
    let directions = [("r", &report.read), ("w", &report.write)];
    let rows = directions.into_iter().filter(|(_, of)| has_requests(of)).flat_map(|(letter, of)| {
        QUANTITIES.iter().filter_map(move |(title, distribution, format)| {
            let Distribution { mean, p50, p95, p99, max } = distribution(of);
            let cell = |value: &Option<f64>| value.map(format).unwrap_or_default();
            mean.or(*max)?;
            let title = format!("{letter}{title}");
            Some([title].into_iter().chain([mean, p50, p95, p99, max].map(cell)).collect())
        })
    });
    push_table(&["", "mean", "median", "p95", "p99", "max"], rows, out);
}

/// Returns whether a direction had requests.
pub(super) fn has_requests(of: &DirectionReport) -> bool {
    of.iops.max.is_some_and(|rate| rate > 0.0)
}

/// Appends the levels of concurrency by their mean queue.
pub(super) fn levels(levels: &[ConcurrencyLevel], out: &mut Vec<u8>) {
    let row = |level: &ConcurrencyLevel| {
        vec![
            cells::queue(level.queue),
            level.intervals.to_string(),
            cells::number(level.iops),
            cells::number(level.mib_per_s),
            cells::time(level.await_ms),
            level.saturation.map(cells::multiple).unwrap_or_default(),
        ]
    };
    let header = ["queue", "intervals", "io/s", "MB/s", "await", "saturation"];
    push_table(&header, levels.iter().map(row), out);
}

/// Appends the queue at each layer.
pub(super) fn layers(layers: &[Layer], out: &mut Vec<u8>) {
    let row = |layer: &Layer| {
        let name = sanitize(&layer.device).into_owned();
        let numbers =
            [layer.iops.map(cells::number), layer.await_ms.map(cells::time), layer.queue.map(cells::queue)];
        [name].into_iter().chain(numbers.map(Option::unwrap_or_default)).collect()
    };
    push_table(&["layer", "io/s", "await", "queue"], layers.iter().map(row), out);
}
