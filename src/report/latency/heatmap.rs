//! The heat map: a line for each interval, device and kind of request, darker at latencies with more requests.

use jiff::tz::TimeZone;

use super::LatencyInterval;
use super::notes::{interval_notes, push_note};
use super::scale::{columns_of, title};
use super::table::kind_text;
use crate::counters::RequestKind;
use crate::intervals::TracedDevice;
use crate::metrics::LatencyStats;
use crate::report::layout::ellipsize;
use crate::report::layout::number_format::{count, time};
use crate::sanitize::sanitize;

/// The shades, the lightest first. Each stands for eight times as many requests as the one before it.
const SHADES: [char; 4] = ['░', '▒', '▓', '█'];
/// The largest number of requests of each shade except the last.
const SHADE_LIMITS: [u64; 3] = [1, 8, 64];
const NAME_WIDTH: usize = 12;
/// The width of the time, the name, the kind, the count and the percentiles.
const CELLS_WIDTH: usize = 9 + NAME_WIDTH + 1 + 8 + 7 + 2 + 16;
/// The least and the most columns of the map.
const COLUMNS: [usize; 2] = [12, 120];

fn columns(width: usize) -> usize {
    width.saturating_sub(CELLS_WIDTH).clamp(COLUMNS[0], COLUMNS[1])
}

pub(super) fn legend(width: usize, out: &mut Vec<u8>) {
    let columns = columns(width);
    let (time, name, kind, count, p50, p99) = ("time", "device", "requests", "count", "p50", "p99");
    let map = format!("{:columns$}", title(columns));
    let line = format!("{time:9}{name:NAME_WIDTH$} {kind:8}{count:>7}  {map}{p50:>8}{p99:>8}\n");
    out.extend_from_slice(line.as_bytes());
    let [a, b, c] = SHADE_LIMITS;
    let [first, second, third, last] = SHADES;
    let legend = format!("{first} {a}  {second} up to {b}  {third} up to {c}  {last} more requests\n");
    out.extend_from_slice(legend.as_bytes());
}

/// Appends the lines of an interval.
pub(super) fn lines(interval: &LatencyInterval<'_>, width: usize, time_zone: &TimeZone, out: &mut Vec<u8>) {
    let end = interval.header.end;
    let mut clock =
        end.map(|end| end.to_zoned(time_zone.clone()).strftime("%H:%M:%S").to_string()).unwrap_or_default();
    let mut is_empty = true;
    for device in &interval.devices {
        for kind in RequestKind::ALL {
            if let Some(line) = line(device, kind, &clock, columns(width)) {
                out.extend_from_slice(line.as_bytes());
                // The time is shown only once per interval.
                clock.clear();
                is_empty = false;
            }
        }
    }
    for note in interval_notes(interval.traced, !is_empty) {
        push_note(&note, width, &format!("{clock:9}"), "         ", out);
    }
}

fn line(device: &TracedDevice, kind: RequestKind, clock: &str, columns: usize) -> Option<String> {
    let histogram = device.histogram(kind)?;
    let stats = LatencyStats::of(histogram)?;
    let map: String = columns_of(histogram, columns).into_iter().map(shade).collect();
    let name = ellipsize(&sanitize(&device.label), NAME_WIDTH);
    let [p50, _, p99, _] = stats.percentiles_ms.map(time);
    let (kind, count) = (kind_text(kind), count(stats.count));
    Some(format!("{clock:9}{name:NAME_WIDTH$} {kind:8}{count:>7}  {map}{p50:>8}{p99:>8}\n"))
}

fn shade(count: u64) -> char {
    if count == 0 {
        return ' ';
    }
    let at = SHADE_LIMITS.iter().position(|limit| count <= *limit);
    SHADES[at.unwrap_or(SHADES.len() - 1)]
}
