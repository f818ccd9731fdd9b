//! The cgroups and processes that use the devices: as a table for people, as JSON Lines and as CSV.

pub(super) mod fields;
mod table;

use jiff::tz::TimeZone;

#[cfg(feature = "top")]
pub(crate) use self::table::push_tables;
pub use self::table::{HiddenFrom, hidden_processes_text, hung_read_text, problem_text, skipped_scans_text};
use crate::attribution::{Attribution, CgroupUse, DeviceUse, IoRates};
use crate::counters::BusyProcess;
use crate::intervals::{IntervalHeader, TracedThread};

/// The use of the devices in an interval, in the order in which it is shown.
#[derive(Clone, Debug)]
pub struct WhoInterval<'a> {
    /// The values that all devices of the interval share.
    pub header: &'a IntervalHeader,
    /// The use by cgroups and processes; the devices to show are in [`Self::devices`]. `None` if no scan was finished
    /// in the interval.
    pub attribution: Option<&'a Attribution>,
    /// The seconds without a scan up to the end of the interval; 0 with [`Self::attribution`].
    pub unread_s: f64,
    /// The devices that are shown.
    pub devices: Vec<WhoDevice<'a>>,
    /// The processes with the most bytes.
    pub processes: Vec<&'a BusyProcess>,
    /// The threads that submitted I/O, by device, and the length of that time in seconds. They are shown instead of the
    /// processes. `None` if they were not traced.
    pub threads: Option<(Vec<&'a TracedThread>, f64)>,
}

/// A device that is shown.
#[derive(Clone, Debug)]
pub struct WhoDevice<'a> {
    pub usage: &'a DeviceUse,
    /// The cgroups that are shown.
    pub cgroups: Vec<&'a CgroupUse>,
    /// The requested partitions: the kernel counts the I/O of cgroups only on whole disks.
    pub partitions: Vec<&'a str>,
}

/// The kinds of lines, which have different columns in CSV.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhoKind {
    /// A line per device and cgroup.
    #[default]
    Cgroup,
    /// A line per process or blocked task.
    Process,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhoFormat {
    /// A table for people.
    Table,
    /// JSON Lines of both kinds.
    Json,
    /// CSV of one kind.
    Csv(WhoKind),
}

/// The quantities by which cgroups and processes are sorted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhoSort {
    /// Bytes read and written.
    #[default]
    Bytes,
    ReadBytes,
    WriteBytes,
    /// Reads and writes.
    Iops,
    Reads,
    Writes,
}

impl WhoSort {
    /// The keys that users type, including column titles.
    pub const KEYS: [(&'static str, Self); 6] = [
        ("MB/s", Self::Bytes),
        ("rMB/s", Self::ReadBytes),
        ("wMB/s", Self::WriteBytes),
        ("iops", Self::Iops),
        ("r/s", Self::Reads),
        ("w/s", Self::Writes),
    ];

    /// Returns the value of a cgroup.
    pub fn of_cgroup(self, rates: &IoRates) -> f64 {
        self.of([rates.reads_per_s, rates.writes_per_s], [rates.read_bytes_per_s, rates.write_bytes_per_s])
    }

    /// Returns the value of a thread on a device.
    pub fn of_thread(self, thread: &TracedThread) -> f64 {
        let numbers = |of: [u64; 2]| of.map(|number| number as f64);
        self.of(numbers([thread.reads, thread.writes]), numbers([thread.read_bytes, thread.write_bytes]))
    }

    /// Returns the value of a process: bytes in the same direction, because the requests of processes are not counted.
    pub fn of_process(self, process: &BusyProcess) -> f64 {
        let bytes = [process.read_bytes, process.write_bytes].map(|bytes| bytes as f64);
        self.of(bytes, bytes)
    }

    /// Returns the value of these requests, reads and writes, with these bytes.
    fn of(self, requests: [f64; 2], bytes: [f64; 2]) -> f64 {
        let [read, write] =
            if matches!(self, Self::Iops | Self::Reads | Self::Writes) { requests } else { bytes };
        match self {
            Self::Bytes | Self::Iops => read + write,
            Self::ReadBytes | Self::Reads => read,
            Self::WriteBytes | Self::Writes => write,
        }
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
            Self::Json => fields::json_lines(interval, out),
            Self::Csv(kind) => fields::csv_lines(interval, kind, out),
        }
    }
}
