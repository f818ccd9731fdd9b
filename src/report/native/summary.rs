//! The summary of a run: for each device the means, and the peaks with their times. The peak of a rate is a maximum, which may
//! be good or bad; the peak of a latency, queue or stall is the worst value.

use jiff::tz::TimeZone;

use super::columns::format_of;
use super::lines::quantity_text;
use super::max_name_width;
use crate::intervals::{DeviceSummary, Peak, RunSpan};
use crate::quantities::Unit;
use crate::quantities::device::*;
use crate::report::layout::number_format::{duration, time};
use crate::report::layout::sentence_numbers::counted;
use crate::report::layout::{KEEP, TextTable, ellipsize, format_time, push_lines};
use crate::sanitize::sanitize;

/// Returns the format of times: with the date if the run spans several days.
fn time_format(span: &RunSpan, zone: &TimeZone) -> &'static str {
    if let Some((first, last)) = span.times
        && first.to_zoned(zone.clone()).date() != last.to_zoned(zone.clone()).date()
    {
        return "%Y-%m-%d %H:%M:%S";
    }
    "%H:%M:%S"
}

fn peak_time(peak: &Peak, zone: &TimeZone, format: &str) -> String {
    match peak.at {
        Some(at) => format_time(at, zone, format),
        None => String::new(),
    }
}

/// Returns the rows of a device: quantity, mean, kind of peak, peak and its time. `is_short` abbreviates stalls.
fn device_rows(
    summary: &DeviceSummary,
    zone: &TimeZone,
    time_format: &str,
    is_short: bool,
) -> Vec<[String; 5]> {
    let peaks = [
        (READS_PER_S, &summary.reads.per_s),
        (READ_KIB_PER_S, &summary.reads.kib_per_s),
        (READ_AWAIT_MS, &summary.reads.await_ms),
        (WRITES_PER_S, &summary.writes.per_s),
        (WRITE_KIB_PER_S, &summary.writes.kib_per_s),
        (WRITE_AWAIT_MS, &summary.writes.await_ms),
        (QUEUE, &summary.peak_queue),
    ];
    let mut rows = Vec::new();
    for (quantity, peak) in peaks {
        if peak.value > 0.0 {
            let is_rate = matches!(quantity.unit, Unit::PerSecond | Unit::KibPerSecond);
            rows.push([
                quantity.title.to_owned(),
                quantity_text(&quantity, &summary.sum),
                if is_rate { MAX } else { WORST }.to_owned(),
                format_of(quantity.unit)(peak.value).text(),
                peak_time(peak, zone, time_format),
            ]);
        }
    }
    let stall = &summary.peak_stall_s;
    if stall.value > 0.0 {
        let length = if is_short {
            time(stall.value * 1e3)
        } else {
            duration(stall.value)
        };
        rows.push([
            "stalled".to_owned(),
            String::new(),
            WORST.to_owned(),
            length,
            peak_time(stall, zone, time_format),
        ]);
    }
    rows
}

/// The kind of the peak of a rate.
const MAX: &str = "max";
/// The kind of the peak of a latency, queue or stall.
const WORST: &str = "worst";
const COLUMNS: [&str; 6] = ["device", "", "mean", "", "peak", "at"];
/// The ranks of the columns that may be dropped from a table that is too wide.
const RANKS: [u8; 6] = [KEEP, KEEP, 1, 2, KEEP, 0];
/// The width below which the length of a stall is abbreviated, because it would leave no space for a name.
const MIN_LONG_WIDTH: usize = 30;
/// The least width that names are shortened to.
const MIN_NAME_WIDTH: usize = 3;

/// Appends the summary of a run: a few rows for each active device, in at most `width` columns. Means are over time,
/// but those of latency are over requests. The peak is the highest value of an interval, with the time of its end.
pub(super) fn draw_summary(
    devices: &[(String, DeviceSummary)],
    span: &RunSpan,
    width: usize,
    zone: &TimeZone,
    out: &mut Vec<u8>,
) {
    let mut active = devices
        .iter()
        .filter(|(_, summary)| !summary.is_empty())
        .peekable();
    let length = duration(span.seconds);
    let extent = match active.peek() {
        Some(_) => format!(", {}", counted(span.intervals, "interval")),
        None => ": no I/O".to_owned(),
    };
    out.push(b'\n');
    push_lines(&format!("summary of {length}{extent}"), [""; 2], width, out);
    if active.peek().is_none() {
        return;
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    let time_format = time_format(span, zone);
    for (name, summary) in active {
        let mut name = ellipsize(&sanitize(name), max_name_width(width));
        for cells in device_rows(summary, zone, time_format, width < MIN_LONG_WIDTH) {
            let mut row = vec![std::mem::take(&mut name)];
            row.extend(cells);
            rows.push(row);
        }
    }
    let mut table = TextTable {
        indent: 1,
        ..TextTable::new(&COLUMNS, "llrlrl", rows)
    };
    let mut hidden = table.drop_columns(&RANKS, width);
    hidden.retain(|title| !title.is_empty());
    if !hidden.is_empty() {
        let note = format!("hidden at width {width}: {} (--width N)", hidden.join(" "));
        push_lines(&note, [""; 2], width, out);
    }
    if table.width() > width {
        table.indent = 0;
    }
    table.shorten(0, MIN_NAME_WIDTH, width);
    table.push(out);
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::judge::{Assessment, Judged};
    use crate::metrics::{Completed, Interval};
    use crate::report::layout::UNLIMITED_WIDTH;
    use unicode_width::UnicodeWidthStr;

    fn judged(ios: u64, await_ms: f64, queue: f64) -> Judged {
        let reads = Completed::example(2.0, ios, await_ms);
        let interval = Interval {
            reads,
            ..Interval::unknown(2.0).with_queue(queue)
        };
        Judged::example(interval, Assessment::default())
    }

    #[test]
    fn means_are_weighted_and_the_peak_has_its_time() {
        let at = |second| Timestamp::from_second(second).ok();
        let mut summary = DeviceSummary::default();
        summary.observe(&judged(1000, 1.0, 4.0), 0.0, at(10));
        summary.observe(&judged(3000, 2.0, 1.0), 0.0, at(12));
        let mut out = Vec::new();
        let devices = [
            ("sda".to_owned(), summary),
            ("sdb".to_owned(), DeviceSummary::default()),
        ];
        let mut span = RunSpan::default();
        span.observe(2.0, at(8), at(10));
        span.observe(2.0, at(10), at(12));
        draw_summary(&devices, &span, UNLIMITED_WIDTH, &TimeZone::UTC, &mut out);
        let text = String::from_utf8(out).unwrap();
        let rows: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split_whitespace().collect())
            .collect();
        assert_eq!(rows[1], ["summary", "of", "4.0", "s,", "2", "intervals"]);
        assert_eq!(rows[3], ["sda", "r/s", "1000", "max", "1500", "00:00:12"]);
        assert_eq!(rows[4], ["rMiB/s", "3.91", "max", "5.86", "00:00:12"]);
        assert_eq!(
            rows[5],
            ["r_await", "1.75ms", "worst", "2.00ms", "00:00:12"]
        );
        assert_eq!(rows[6], ["queue", "2.50", "worst", "4.00", "00:00:10"]);
        assert_eq!(rows.len(), 7, "{text}");
    }

    #[test]
    fn times_have_their_date_where_the_run_spans_days() {
        let at = |second| Timestamp::from_second(second).ok();
        let mut summary = DeviceSummary::default();
        summary.observe(&judged(1000, 1.0, 4.0), 0.0, at(86_390));
        let printed = |begin, end| {
            let mut span = RunSpan::default();
            span.observe(2.0, at(begin), at(86_390));
            // The clock was set back.
            span.observe(2.0, at(end), at(end - 5));
            let mut out = Vec::new();
            draw_summary(
                &[("sda".to_owned(), summary.clone())],
                &span,
                UNLIMITED_WIDTH,
                &TimeZone::UTC,
                &mut out,
            );
            String::from_utf8(out).unwrap()
        };
        assert!(printed(86_000, 86_399).contains("  23:59:50\n"));
        assert!(printed(86_000, 86_400).contains("  1970-01-01 23:59:50\n"));
        assert!(printed(86_000, 400_000).contains("  1970-01-01 23:59:50\n"));
    }

    #[test]
    fn a_summary_fits_its_width() {
        let at = Timestamp::from_second(86_390).ok();
        let mut summary = DeviceSummary::default();
        summary.observe(&judged(1000, 1.0, 4.0), 200.0, at);
        let mut span = RunSpan::default();
        span.observe(2.0, at, Timestamp::from_second(900_000).ok());
        let devices = [
            (
                "a-volume-with-a-name-that-is-long".to_owned(),
                summary.clone(),
            ),
            ("sda".to_owned(), summary),
        ];
        let printed = |width| {
            let mut out = Vec::new();
            draw_summary(&devices, &span, width, &TimeZone::UTC, &mut out);
            String::from_utf8(out).unwrap()
        };
        for width in 20..120 {
            let text = printed(width);
            assert!(
                text.lines().all(|line| line.width() <= width),
                "{width}: {text}"
            );
            assert!(
                text.lines()
                    .filter(|line| line.contains("r/s"))
                    .all(|line| line.ends_with("500") || line.contains("1970")),
                "{width}: {text}"
            );
        }
        let (wide, narrow) = (printed(80), printed(37));
        assert!(
            wide.contains("1970-01-01 23:59:50") && !wide.contains("hidden"),
            "{wide}"
        );
        assert!(
            narrow.contains("\nhidden at width 37: mean at (--width\n"),
            "{narrow}"
        );
        assert!(
            narrow.contains("\n a-vol…long  r/s             500\n"),
            "{narrow}"
        );
        assert!(narrow.contains("stalled  3 min 20 s\n"), "{narrow}");
        let narrowest = printed(20);
        assert!(
            narrowest.contains("\nsda  r/s         500\n"),
            "{narrowest}"
        );
        assert!(
            narrowest.contains("\n     stalled    200s\n"),
            "{narrowest}"
        );
    }
}
