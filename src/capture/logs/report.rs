//! A report of a log: what it says of each device.

use std::fmt;

use jiff::Timestamp;

use crate::capture::diskstats_line::excerpt;
use crate::capture::normal::first_lines::number;
use crate::counters::LoggedInterval;

/// The rates of the devices over the time since the report before.
#[derive(Debug, Default)]
pub(super) struct Report {
    /// The time at its end; `None` if the log has no times.
    pub(super) at: Option<Timestamp>,
    /// The midnight at which the first report of a log with a date, but without times, is taken to be.
    pub(super) midnight: Option<Timestamp>,
    /// No interval ends here: its rates are averages since boot, or reports before it are missing.
    pub(super) begins: bool,
    /// True for the first report of a run if its rates are those of an interval, not since boot: it begins one length before its time.
    pub(super) has_length: bool,
    /// Its end is missing: no interval ends here.
    pub(super) is_cut: bool,
    /// Lines of devices that it does not name were damaged.
    pub(super) has_lost_lines: bool,
    pub(super) devices: Vec<LoggedDevice>,
}

/// A device in a report.
#[derive(Debug, Default, Clone)]
pub(super) struct LoggedDevice {
    pub(super) name: String,
    pub(super) rates: LoggedInterval,
    /// The amounts of data in the report and per second, in the same unit.
    pub(super) amount: [f64; 2],
}

impl LoggedDevice {
    pub(super) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            ..Self::default()
        }
    }

    /// Returns the rates of requests of each kind, as far as they are known.
    pub(super) fn ios(&self) -> impl Iterator<Item = f64> {
        self.rates.kinds().into_iter().filter_map(|rates| rates.ios)
    }

    /// Returns whether it is listed with nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        let is_known = self.ios().next().is_some();
        let others = [self.rates.queue, self.rates.util_pct];
        is_known
            && self
                .ios()
                .chain(others.into_iter().flatten())
                .all(|value| value == 0.0)
    }

    /// Sets the value in a column of sysstat's tables: of `iostat`, `sar -d` and their JSON, of all versions. Others are
    /// ignored: they follow from these.
    fn set(&mut self, column: &str, value: f64) {
        let base = column.trim_end_matches("/s");
        let is_amount = ["_read", "_wrtn", "_dscd"]
            .iter()
            .any(|end| base.ends_with(end));
        if is_amount {
            self.amount[usize::from(column.ends_with("/s"))] += value;
        }
        let kind = match column.bytes().next() {
            _ if column == "rqm/s" => b' ',
            _ if base.ends_with("_read") => b'r',
            _ if base.ends_with("_wrtn") => b'w',
            _ if base.ends_with("_dscd") => b'd',
            first => first.unwrap_or(b' '),
        };
        let rates = match kind {
            b'r' => &mut self.rates.reads,
            b'w' => &mut self.rates.writes,
            b'd' => &mut self.rates.discards,
            b'f' => &mut self.rates.flushes,
            _ => &mut self.rates.unsplit,
        };
        match column {
            "tps" | "r/s" | "w/s" | "d/s" | "f/s" => rates.ios = Some(value),
            _ if column.ends_with("rqm/s") => rates.merges = Some(value),
            _ if column.ends_with("await") => rates.await_ms = Some(value),
            _ if column.ends_with("/s") => {
                let sectors = [("kB", 2.0), ("MB", 2048.0), ("sec", 1.0), ("Blk", 1.0)];
                if let Some((_, sectors)) = sectors.iter().find(|(unit, _)| column.contains(unit)) {
                    rates.sectors = Some(value * sectors);
                }
            }
            "aqu-sz" | "avgqu-sz" => self.rates.queue = Some(value),
            "%util" | "util" => self.rates.util_pct = Some(value),
            _ => {}
        }
    }

    /// Sets the value in a column from its text. What is no possible value is not known; says so.
    ///
    /// # Errors
    /// The warning.
    pub(super) fn set_text(
        &mut self,
        column: &str,
        text: &str,
        rounding: &mut Rounding,
    ) -> Result<(), String> {
        let Some(printed) = number(text).filter(|printed| is_possible(column, printed.value))
        else {
            if !is_read(column) {
                return Ok(());
            }
            let [text, column, name] =
                [text, column, &self.name].map(|text| excerpt(text.as_bytes()));
            return Err(format!(
                "'{text}' in column {column} of {name} is no possible value; it is not known"
            ));
        };
        // More come from JSON, whose numbers are binary fractions.
        rounding.digits = rounding.digits.max(printed.digits.min(2));
        rounding.has_units |= printed.unit_kib.is_some();
        match printed.unit_kib {
            None => self.set(column, printed.value),
            // A letter is the unit, whatever the header says.
            Some(kib) => {
                let mut column = column.to_owned();
                for unit in ["MB", "Blk", "sec"] {
                    column = column.replace(unit, "kB");
                }
                self.set(&column, printed.value * kib);
            }
        }
        Ok(())
    }
}

/// Returns whether a column holds a value that is read. Others follow from these, or were removed from the tools because they
/// were wrong.
fn is_read(column: &str) -> bool {
    column.ends_with("/s")
        || column.ends_with("await")
        || matches!(column, "tps" | "aqu-sz" | "avgqu-sz" | "%util" | "util")
}

/// Returns whether a device can have such a value. Those of counters that went backwards are far larger.
fn is_possible(column: &str, value: f64) -> bool {
    /// More requests at a time than any device holds, and more percent than the members of a group have together.
    const MAX_COUNT: f64 = 1e6;
    /// Milliseconds: more than a day.
    const MAX_LATENCY_MS: f64 = 1e8;
    value
        < match column {
            "aqu-sz" | "avgqu-sz" | "%util" | "util" => MAX_COUNT,
            _ if column.ends_with("await") => MAX_LATENCY_MS,
            _ => 1e9,
        }
}

/// How the numbers of a log are rounded.
#[derive(Debug, Default)]
pub(super) struct Rounding {
    /// The most digits after the point.
    pub(super) digits: usize,
    /// Numbers of bytes have a letter for their unit, as with `iostat -h`.
    has_units: bool,
}

impl fmt::Display for Rounding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("rates rounded to ")?;
        match self.digits {
            0 => write!(f, "1")?,
            digits => write!(f, "0.{:0>digits$}", 1)?,
        }
        if self.has_units {
            write!(f, ", bytes to 0.1 of the printed unit")
        } else {
            Ok(())
        }
    }
}
