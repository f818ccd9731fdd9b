//! The summary of a run: for each device the means, and the peaks with their times. The peak of a rate is a maximum,
//! which may be good or bad; the peak of a latency, queue or stall is the worst value.

use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::layout::max_name_width;
use crate::intervals::{DeviceSummary, Peak, RunSpan};
use crate::report::layout::number_format::{duration, number, queue, time};
use crate::report::layout::sentence_numbers::counted;
use crate::report::layout::{TextTable, ellipsize, push_lines};
use crate::sanitize::sanitize;

/// Returns the format of times: with the date if the run spans several days.
fn time_format(span: &RunSpan, zone: &TimeZone) -> &'static str {
    let day = |at: Timestamp| at.to_zoned(zone.clone()).date();
    match span.times {
        Some((first, last)) if day(first) != day(last) => "%Y-%m-%d %H:%M:%S",
        _ => "%H:%M:%S",
    }
}

/// Returns the rows of a device: quantity, mean, kind of peak, peak and its time. `is_short` abbreviates stalls.
fn device_rows(
    summary: &DeviceSummary,
    zone: &TimeZone,
    time_format: &str,
    is_short: bool,
) -> Vec<[String; 5]> {
    let when = |peak: &Peak| {
        let at = peak.at.map(|at| at.to_zoned(zone.clone()).strftime(time_format).to_string());
        at.unwrap_or_default()
    };
    let mib = |kib: f64| number(kib / 1024.0);
    let mut rows = Vec::new();
    let mut row = |title: &str, mean: Option<f64>, kind: &str, peak: &Peak, text: &dyn Fn(f64) -> String| {
        if peak.value > 0.0 {
            rows.push([
                title.to_owned(),
                mean.map(text).unwrap_or_default(),
                kind.to_owned(),
                text(peak.value),
                when(peak),
            ]);
        }
    };
    let sum = &summary.sum;
    for (of, peaks, rate, throughput, latency) in [
        (&sum.reads, &summary.reads, "r/s", "rMB/s", "r_await"),
        (&sum.writes, &summary.writes, "w/s", "wMB/s", "w_await"),
    ] {
        row(rate, of.per_s(), MAX, &peaks.per_s, &number);
        row(throughput, of.kib_per_s(), MAX, &peaks.kib_per_s, &mib);
        row(latency, of.await_ms(), WORST, &peaks.await_ms, &time);
    }
    row("queue", sum.queue(), WORST, &summary.peak_queue, &queue);
    let stall = &summary.peak_stall_s;
    if stall.value > 0.0 {
        let length = if is_short { time(stall.value * 1e3) } else { duration(stall.value) };
        rows.push(["stalled".to_owned(), String::new(), WORST.to_owned(), length, when(stall)]);
    }
    rows
}

/// The kind of the peak of a rate.
const MAX: &str = "max";
/// The kind of the peak of a latency, queue or stall.
const WORST: &str = "worst";
const COLUMNS: [&str; 6] = ["device", "", "mean", "", "peak", "at"];
/// The ranks of the columns that may be dropped from a table that is too wide.
const RANKS: [Option<u8>; 6] = [None, None, Some(1), Some(2), None, Some(0)];
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
    let active: Vec<_> = devices.iter().filter(|(_, summary)| !summary.is_empty()).collect();
    let length = duration(span.seconds);
    let heading = if active.is_empty() {
        format!("summary of {length}: no I/O")
    } else {
        format!("summary of {length}, {}", counted(span.intervals, "interval"))
    };
    out.push(b'\n');
    push_lines(&heading, [""; 2], width, out);
    if active.is_empty() {
        return;
    }
    let mut rows: Vec<Vec<String>> = Vec::new();
    let time_format = time_format(span, zone);
    for (name, summary) in active {
        let mut name = ellipsize(&sanitize(name), max_name_width(width));
        for cells in device_rows(summary, zone, time_format, width < MIN_LONG_WIDTH) {
            rows.push([std::mem::take(&mut name)].into_iter().chain(cells).collect());
        }
    }
    let mut table = TextTable { indent: 1, ..TextTable::new(&COLUMNS, "llrlrl", rows) };
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
    use super::*;
    use crate::metrics::{Completed, Interval};
    use crate::report::layout::UNLIMITED_WIDTH;
    use unicode_width::UnicodeWidthStr;

    fn stats(ios: u64, await_ms: f64, queue: f64) -> Interval {
        let reads = Completed::example(2.0, ios, await_ms);
        Interval { reads, ..Interval::unknown(2.0).with_queue(queue) }
    }

    #[test]
    fn means_are_weighted_and_the_peak_has_its_time() {
        let at = |second| Timestamp::from_second(second).ok();
        let mut summary = DeviceSummary::default();
        summary.observe(&stats(1000, 1.0, 4.0), 0.0, at(10));
        summary.observe(&stats(3000, 2.0, 1.0), 0.0, at(12));
        let mut out = Vec::new();
        let devices = [("sda".to_owned(), summary), ("sdb".to_owned(), DeviceSummary::default())];
        let mut span = RunSpan::default();
        span.observe(2.0, at(8), at(10));
        span.observe(2.0, at(10), at(12));
        draw_summary(&devices, &span, UNLIMITED_WIDTH, &TimeZone::UTC, &mut out);
        let text = String::from_utf8(out).unwrap();
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[1], ["summary", "of", "4.0", "s,", "2", "intervals"]);
        assert_eq!(rows[3], ["sda", "r/s", "1000", "max", "1500", "00:00:12"]);
        assert_eq!(rows[4], ["rMB/s", "3.91", "max", "5.86", "00:00:12"]);
        assert_eq!(rows[5], ["r_await", "1.75ms", "worst", "2.00ms", "00:00:12"]);
        assert_eq!(rows[6], ["queue", "2.50", "worst", "4.00", "00:00:10"]);
        assert_eq!(rows.len(), 7, "{text}");
    }

    #[test]
    fn times_have_their_date_where_the_run_spans_days() {
        let at = |second| Timestamp::from_second(second).ok();
        let mut summary = DeviceSummary::default();
        summary.observe(&stats(1000, 1.0, 4.0), 0.0, at(86_390));
        let printed = |begin, end| {
            let mut span = RunSpan::default();
            span.observe(2.0, at(begin), at(86_390));
            // The clock was set back.
            span.observe(2.0, at(end), at(end - 5));
            let mut out = Vec::new();
            draw_summary(&[("sda".to_owned(), summary)], &span, UNLIMITED_WIDTH, &TimeZone::UTC, &mut out);
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
        summary.observe(&stats(1000, 1.0, 4.0), 200.0, at);
        let mut span = RunSpan::default();
        span.observe(2.0, at, Timestamp::from_second(900_000).ok());
        let devices =
            [("a-volume-with-a-name-that-is-long".to_owned(), summary), ("sda".to_owned(), summary)];
        let printed = |width| {
            let mut out = Vec::new();
            draw_summary(&devices, &span, width, &TimeZone::UTC, &mut out);
            String::from_utf8(out).unwrap()
        };
        for width in 20..120 {
            let text = printed(width);
            assert!(text.lines().all(|line| line.width() <= width), "{width}: {text}");
            assert!(
                text.lines()
                    .filter(|line| line.contains("r/s"))
                    .all(|line| line.ends_with("500") || line.contains("1970")),
                "{width}: {text}"
            );
        }
        let (wide, narrow) = (printed(80), printed(37));
        assert!(wide.contains("1970-01-01 23:59:50") && !wide.contains("hidden"), "{wide}");
        assert!(narrow.contains("\nhidden at width 37: mean at (--width\n"), "{narrow}");
        assert!(narrow.contains("\n a-vol…long  r/s             500\n"), "{narrow}");
        assert!(narrow.contains("stalled  3 min 20 s\n"), "{narrow}");
        let narrowest = printed(20);
        assert!(narrowest.contains("\nsda  r/s         500\n"), "{narrowest}");
        assert!(narrowest.contains("\n     stalled    200s\n"), "{narrowest}");
    }
}
