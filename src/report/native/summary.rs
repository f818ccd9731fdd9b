//! What a run comes to: means, and the worst interval of each device with its time.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr;

use super::table::{cut, name_room};
use crate::metrics::{DirectionStats, IntervalStats};
use crate::report::layout::number_format as cells;
use crate::report::layout::wrap;
use crate::sanitize::sanitize;

/// The most that a quantity was, and when.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extreme {
    value: f64,
    at: Option<Timestamp>,
}

impl Extreme {
    fn see(&mut self, value: Option<f64>, at: Option<Timestamp>) {
        if let Some(value) = value.filter(|value| *value > self.value) {
            *self = Self { value, at };
        }
    }
}

/// Sums from which means come, and the worst intervals, of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Means {
    ios: f64,
    /// Those whose times are known.
    timed: f64,
    kib: f64,
    ms: f64,
    rate: Extreme,
    throughput: Extreme,
    response: Extreme,
}

impl Means {
    fn see(&mut self, of: &DirectionStats, seconds: f64, at: Option<Timestamp>) {
        let ios = of.ios.unwrap_or(0) as f64;
        self.ios += ios;
        self.kib += of.kib_per_s.unwrap_or(0.0) * seconds;
        if let Some(await_ms) = of.await_ms {
            self.timed += ios;
            self.ms += await_ms * ios;
        }
        self.rate.see(of.per_s, at);
        self.throughput.see(of.kib_per_s, at);
        self.response.see(of.await_ms, at);
    }
}

/// How much a summary is of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Extent {
    /// Intervals.
    pub intervals: u64,
    /// How long they were together.
    pub seconds: f64,
    /// The earliest and the latest time of day.
    span: Option<(Timestamp, Timestamp)>,
}

impl Extent {
    /// Takes note of an interval, and of when it began and ended.
    pub fn see(&mut self, seconds: f64, begin: Option<Timestamp>, end: Option<Timestamp>) {
        self.intervals += 1;
        self.seconds += seconds;
        for at in [begin, end].into_iter().flatten() {
            let (first, last) = self.span.unwrap_or((at, at));
            self.span = Some((first.min(at), last.max(at)));
        }
    }

    /// How a time is printed: with its day where it was not always the same.
    fn time_format(&self, zone: &TimeZone) -> &'static str {
        let day = |at: Timestamp| at.to_zoned(zone.clone()).date();
        match self.span {
            Some((first, last)) if day(first) != day(last) => "%Y-%m-%d %H:%M:%S",
            _ => "%H:%M:%S",
        }
    }
}

/// What is remembered of one device.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Summary {
    seconds: f64,
    reads: Means,
    writes: Means,
    queue: f64,
    /// Seconds for which the queue is known.
    queue_seconds: f64,
    longest_queue: Extreme,
    longest_stall: Extreme,
}

impl Summary {
    /// Takes note of an interval that ended `at`; `stalled_s` is for how long the device had stalled then.
    pub fn see(&mut self, figures: &IntervalStats, stalled_s: f64, at: Option<Timestamp>) {
        self.seconds += figures.seconds;
        self.reads.see(&figures.reads, figures.seconds, at);
        self.writes.see(&figures.writes, figures.seconds, at);
        if let Some(queue) = figures.queue {
            self.queue_seconds += figures.seconds;
            self.queue += queue * figures.seconds;
        }
        self.longest_queue.see(figures.queue, at);
        self.longest_stall.see(Some(stalled_s), at);
    }

    /// Takes note of so many seconds in which the device did nothing: means are over them as well.
    pub fn idle(&mut self, seconds: f64) {
        self.seconds += seconds;
        self.queue_seconds += seconds;
    }

    /// Whether the device did anything at all.
    pub fn is_empty(&self) -> bool {
        self.reads.ios + self.writes.ios + self.queue + self.longest_stall.value == 0.0
    }

    /// Its rows: quantity, mean, worst, and when that was, in this format; `short` leaves out words.
    fn rows(&self, zone: &TimeZone, time_format: &str, short: bool) -> Vec<[String; 4]> {
        let when = |worst: &Extreme| {
            let at = worst.at.map(|at| at.to_zoned(zone.clone()).strftime(time_format).to_string());
            at.unwrap_or_default()
        };
        let number = cells::number;
        let mib = |kib: f64| cells::number(kib / 1024.0);
        let mut rows = Vec::new();
        let mut row = |what: &str, mean: f64, worst: &Extreme, text: &dyn Fn(f64) -> String| {
            if worst.value > 0.0 {
                rows.push([what.to_owned(), text(mean), text(worst.value), when(worst)]);
            }
        };
        for (of, rate, throughput, response) in
            [(&self.reads, "r/s", "rMB/s", "r_await"), (&self.writes, "w/s", "wMB/s", "w_await")]
        {
            row(rate, of.ios / self.seconds, &of.rate, &number);
            row(throughput, of.kib / self.seconds, &of.throughput, &mib);
            row(response, of.ms / of.timed.max(1.0), &of.response, &cells::time);
        }
        row("queue", self.queue / self.queue_seconds, &self.longest_queue, &cells::queue);
        if self.longest_stall.value > 0.0 {
            let seconds = self.longest_stall.value;
            let stalled = if short { cells::time(seconds * 1e3) } else { cells::duration(seconds) };
            rows.push(["stalled".to_owned(), String::new(), stalled, when(&self.longest_stall)]);
        }
        rows
    }
}

/// The titles of the columns.
const TITLES: [&str; 5] = ["device", "", "mean", "worst", "at"];
/// Those that go where there is no room, the first first.
const LEAST_IMPORTANT: [usize; 2] = [4, 2];
/// Here a stall of minutes, in words, leaves no room for a name.
const NARROW: usize = 30;
/// A shorter name tells nothing.
const SHORTEST_NAME: usize = 3;

/// Appends the summary of a run: a few rows for each device that worked, in no more than `width` columns if that is
/// given. Means are over time, response times over requests; the worst is that of one interval, with the time at its
/// end.
pub fn draw_summary(
    devices: &[(String, Summary)],
    extent: &Extent,
    width: Option<usize>,
    zone: &TimeZone,
    out: &mut Vec<u8>,
) {
    let width = width.unwrap_or(usize::MAX);
    let intervals = extent.intervals;
    let time_format = extent.time_format(zone);
    let worked: Vec<_> = devices.iter().filter(|(_, summary)| !summary.is_empty()).collect();
    let s = if intervals == 1 { "" } else { "s" };
    let length = cells::duration(extent.seconds);
    let heading = if worked.is_empty() {
        format!("summary of {length}: nothing was done")
    } else {
        format!("summary of {length}, {intervals} interval{s}")
    };
    out.push(b'\n');
    let mut say = |text: &str| {
        for line in wrap(text, width) {
            out.extend_from_slice(line.as_bytes());
            out.push(b'\n');
        }
    };
    say(&heading);
    if worked.is_empty() {
        return;
    }
    let mut rows = vec![TITLES.map(str::to_owned)];
    let longest_name = name_room(width);
    for (name, summary) in worked {
        let mut name = cut(&sanitize(name), longest_name);
        for [what, mean, worst, at] in summary.rows(zone, time_format, width < NARROW) {
            rows.push([std::mem::take(&mut name), what, mean, worst, at]);
        }
    }
    let (shown, left_out) = fitting(&rows, width);
    if !left_out.is_empty() {
        say(&format!("{width} columns are too few for {}; --width N shows all", left_out.join(" ")));
    }
    let over = total(&rows, &shown).saturating_sub(width);
    // The blank in front goes first, then letters of the names.
    let margin = usize::from(over > 0);
    if over > margin {
        let room = column_width(&rows, 0).saturating_sub(over - margin).max(SHORTEST_NAME);
        rows.iter_mut().for_each(|row| row[0] = cut(&row[0], room));
    }
    let mut table = Table::new();
    table.load_style(NOTHING);
    for row in &rows {
        table.add_row(shown.iter().map(|at| &row[*at]));
    }
    for (at, column) in shown.iter().enumerate() {
        if let Some(column) = table.column_mut(at).filter(|_| ["mean", "worst"].contains(&TITLES[*column])) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    for line in table.lines() {
        let line = line.get(margin..).unwrap_or_default().trim_end();
        // Numbers that no device has may still be too wide.
        out.extend_from_slice(cut(line, width).as_bytes());
        out.push(b'\n');
    }
}

/// Which columns are shown in `width`, and the titles of the others.
fn fitting(rows: &[[String; 5]], width: usize) -> (Vec<usize>, Vec<&'static str>) {
    let mut shown: Vec<usize> = (0..TITLES.len()).collect();
    let mut left_out = Vec::new();
    for least in LEAST_IMPORTANT {
        if total(rows, &shown) <= width {
            break;
        }
        shown.retain(|at| *at != least);
        left_out.push(TITLES[least]);
    }
    (shown, left_out)
}

/// The width of all these columns: each has a blank on both sides, of which the last is not printed.
fn total(rows: &[[String; 5]], shown: &[usize]) -> usize {
    shown.iter().map(|at| column_width(rows, *at) + 2).sum::<usize>() - 1
}

fn column_width(rows: &[[String; 5]], at: usize) -> usize {
    rows.iter().map(|row| row[at].width()).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(ios: u64, await_ms: f64, queue: f64) -> IntervalStats {
        let reads = DirectionStats {
            ios: Some(ios),
            per_s: Some(ios as f64 / 2.0),
            kib_per_s: Some(ios as f64 * 2.0),
            await_ms: Some(await_ms),
            ..DirectionStats::default()
        };
        IntervalStats { seconds: 2.0, reads, queue: Some(queue), ..IntervalStats::default() }
    }

    #[test]
    fn means_are_weighted_and_the_worst_has_its_time() {
        let at = |second| Timestamp::from_second(second).ok();
        let mut summary = Summary::default();
        summary.see(&figures(1000, 1.0, 4.0), 0.0, at(10));
        summary.see(&figures(3000, 2.0, 1.0), 0.0, at(12));
        let mut out = Vec::new();
        let devices = [("sda".to_owned(), summary), ("sdb".to_owned(), Summary::default())];
        let mut extent = Extent::default();
        extent.see(2.0, at(8), at(10));
        extent.see(2.0, at(10), at(12));
        draw_summary(&devices, &extent, None, &TimeZone::UTC, &mut out);
        let text = String::from_utf8(out).unwrap();
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[1], ["summary", "of", "4.0", "s,", "2", "intervals"]);
        assert_eq!(rows[3], ["sda", "r/s", "1000", "1500", "00:00:12"]);
        assert_eq!(rows[4], ["rMB/s", "3.91", "5.86", "00:00:12"]);
        assert_eq!(rows[5], ["r_await", "1.75ms", "2.00ms", "00:00:12"]);
        assert_eq!(rows[6], ["queue", "2.50", "4.00", "00:00:10"]);
        assert_eq!(rows.len(), 7, "{text}");
    }

    #[test]
    fn the_day_is_told_where_there_was_more_than_one() {
        let at = |second| Timestamp::from_second(second).ok();
        let mut summary = Summary::default();
        summary.see(&figures(1000, 1.0, 4.0), 0.0, at(86_390));
        let printed = |begin, end| {
            let mut extent = Extent::default();
            extent.see(2.0, at(begin), at(86_390));
            // The clock was set back.
            extent.see(2.0, at(end), at(end - 5));
            let mut out = Vec::new();
            draw_summary(&[("sda".to_owned(), summary)], &extent, None, &TimeZone::UTC, &mut out);
            String::from_utf8(out).unwrap()
        };
        assert!(printed(86_000, 86_399).contains("  23:59:50\n"));
        assert!(printed(86_000, 86_400).contains("  1970-01-01 23:59:50\n"));
        assert!(printed(86_000, 400_000).contains("  1970-01-01 23:59:50\n"));
    }

    #[test]
    fn a_summary_fits_into_its_width() {
        let at = Timestamp::from_second(86_390).ok();
        let mut summary = Summary::default();
        summary.see(&figures(1000, 1.0, 4.0), 200.0, at);
        let mut extent = Extent::default();
        extent.see(2.0, at, Timestamp::from_second(900_000).ok());
        let devices =
            [("a-volume-with-a-name-that-is-long".to_owned(), summary), ("sda".to_owned(), summary)];
        let printed = |width| {
            let mut out = Vec::new();
            draw_summary(&devices, &extent, Some(width), &TimeZone::UTC, &mut out);
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
        let (wide, narrow) = (printed(80), printed(40));
        assert!(wide.contains("1970-01-01 23:59:50") && !wide.contains("too few"), "{wide}");
        assert!(narrow.contains("\n40 columns are too few for at mean;\n--width N shows all\n"), "{narrow}");
        assert!(narrow.contains("\n a-vol…-long  r/s             500\n"), "{narrow}");
        assert!(narrow.contains("stalled  3 min 20 s\n"), "{narrow}");
        let narrowest = printed(20);
        assert!(narrowest.contains("\nsda  r/s         500\n"), "{narrowest}");
        assert!(narrowest.contains("\n     stalled    200s\n"), "{narrowest}");
    }
}
