//! The cgroups and processes that use the devices: as a table for people, as JSON Lines and as CSV.

pub(super) mod fields;
mod table;

use jiff::tz::TimeZone;

use self::fields::Row;
#[cfg(feature = "top")]
pub(crate) use self::table::push_tables;
pub use self::table::{hidden_processes_text, hung_read_text, problem_text, skipped_scans_text};
use crate::attribution::{Attribution, DeviceUse};
use crate::intervals::{IntervalHeader, TracedThread};

/// The use of the devices in an interval, and how much of it is shown.
#[derive(Clone, Debug)]
pub struct WhoInterval<'a> {
    /// The values that all devices of the interval share.
    pub header: &'a IntervalHeader,
    /// The use by cgroups and processes; the devices to show are in [`Self::devices`]. `None` if no scan was finished
    /// in the interval.
    pub attribution: Option<&'a Attribution>,
    /// The seconds without a scan up to the end of the interval; 0 with [`Self::attribution`].
    pub unread_s: f64,
    /// The devices that are shown, each with the requested partitions: the kernel counts the I/O of cgroups only on whole
    /// disks.
    pub devices: Vec<(&'a DeviceUse, Vec<&'a str>)>,
    /// The threads that submitted I/O to these devices, and the length of that time in seconds. They are shown instead of
    /// the processes. `None` if they were not traced.
    pub threads: Option<(Vec<&'a TracedThread>, f64)>,
    /// One of [`SORT_KEYS`].
    pub sort: &'static str,
    /// The most cgroups on each device, apart from those at their limits, and the most threads and processes.
    pub top: usize,
}

/// The kinds of lines, which have different columns in CSV: one per device and cgroup.
pub const CGROUP: &str = "cgroup";
/// One per process or blocked task.
pub const PROCESS: &str = "process";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhoFormat {
    /// A table for people.
    Table,
    /// JSON Lines of both kinds.
    Json,
    /// CSV of one kind.
    Csv(&'static str),
}

/// The quantities by which cgroups, threads and processes are sorted: those of both directions, or a column.
pub const SORT_KEYS: [&str; 6] = ["MB/s", "rMB/s", "wMB/s", "iops", "r/s", "w/s"];

/// Returns the value by which a row is sorted: the bytes if its requests are not counted, as those of processes.
fn sort_value(key: &str, row: &Row<'_>) -> f64 {
    let bytes = row.kib_per_s.unwrap_or_default();
    let [read, write] = if key.ends_with("MB/s") { bytes } else { row.ios_per_s.unwrap_or(bytes) };
    match key {
        "rMB/s" | "r/s" => read,
        "wMB/s" | "w/s" => write,
        _ => read + write,
    }
}

impl WhoFormat {
    /// Appends the text before the first interval.
    pub fn begin(self, out: &mut Vec<u8>) {
        if let Self::Csv(kind) = self {
            fields::csv_header(kind, out);
        }
    }

    /// Appends an interval; `width` is that of tables.
    pub fn push(self, interval: &WhoInterval<'_>, width: usize, time_zone: &TimeZone, out: &mut Vec<u8>) {
        match self {
            Self::Table => table::table(interval, width, time_zone, out),
            Self::Json => fields::lines(interval, None, out),
            Self::Csv(kind) => fields::lines(interval, Some(kind), out),
        }
    }
}
