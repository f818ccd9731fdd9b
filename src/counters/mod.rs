//! The kernel's counters of a device, and samples of a whole host.
//!
//! Plain data that `capture` and `source` read, and that `metrics` and `attribution` interpret.

mod health;
mod io_scan;
mod logged;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use self::health::{FACTS, Fact, FactKind, FactPlace, FactValue, Health, HealthFacts};
pub use self::health::{NFS_UNANSWERED, SUSPENDED, SYNC_ACTION, SYNC_COMPLETED, SYNC_SPEED};
pub use self::io_scan::{
    BlockedTask, BusyProcess, Cgroup, CgroupDevice, CgroupHierarchy, DeviceNumber, HungRead,
    IoCounters, IoLimits, IoScan, MissedScan, ProcessIo, ScanProblem, ScannedDevice,
    WATCHED_WAIT_MS, parse_device_number,
};
pub use self::logged::{LoggedInterval, LoggedRates};
use crate::units::SampleTime;

/// The counters of one kind of request: reads, writes and discards have four columns each (the kernel's iostats.rst).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Requests completed.
    pub ios: u64,
    /// Requests merged with an adjacent one before they were issued.
    pub merges: u64,
    /// Sectors of 512 bytes.
    pub sectors: u64,
    /// Milliseconds from start to completion, summed over all requests; 32 bits in every kernel.
    pub ms: u64,
}

impl Requests {
    /// Adds the counters of both. Sums wrap around like the counters themselves.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            ios: self.ios.wrapping_add(other.ios),
            merges: self.merges.wrapping_add(other.merges),
            sectors: self.sectors.wrapping_add(other.sectors),
            ms: self.ms.wrapping_add(other.ms),
        }
    }
}

/// The columns that the kernel printed for a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Columns {
    /// 7 columns, a partition up to kernel 2.6.24: requests issued and sectors, no times.
    Partition,
    /// 14 columns.
    #[default]
    Basic,
    /// 18 columns, since kernel 4.18: discards.
    Discards,
    /// 20 or more columns, since kernel 5.5: flushes.
    Flushes,
}

/// The counters of one device. All of them only grow, except `in_flight`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// The columns that the kernel printed; the fields of other columns are zero.
    pub columns: Columns,
    pub reads: Requests,
    pub writes: Requests,
    pub discards: Requests,
    /// Flush requests completed; whole devices only.
    pub flushes: u64,
    /// Milliseconds from start to completion, summed over all flushes; 32 bits.
    pub flush_ms: u64,
    /// Requests issued and not yet completed at the time of the sample.
    pub in_flight: u64,
    /// Milliseconds with at least one request in flight (io_ticks); 32 bits.
    pub busy_ms: u64,
    /// Milliseconds multiplied by the requests in flight (time_in_queue); 32 bits.
    pub weighted_ms: u64,
}

/// `Default` as a constant.
const NO_REQUESTS: Requests = Requests {
    ios: 0,
    merges: 0,
    sectors: 0,
    ms: 0,
};

/// Returns how far a counter of milliseconds has grown. Such counters wrap at 2^32 on every kernel (they are `unsigned int` in
/// the kernel's `diskstats_show`).
pub fn growth_u32(older: u64, newer: u64) -> u64 {
    newer.wrapping_sub(older) & u64::from(u32::MAX)
}

impl Counters {
    /// The counters of a device that was just added: `Default` as a constant.
    pub const ZERO: Self = Self {
        columns: Columns::Basic,
        reads: NO_REQUESTS,
        writes: NO_REQUESTS,
        discards: NO_REQUESTS,
        flushes: 0,
        flush_ms: 0,
        in_flight: 0,
        busy_ms: 0,
        weighted_ms: 0,
    };

    /// Returns the sum of reads, writes and discards, without flushes. Sums wrap around like the counters themselves.
    pub fn requests(&self) -> Requests {
        self.reads.plus(&self.writes).plus(&self.discards)
    }

    /// Adds the counters of another device, as iostat does for the devices of a group.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            columns: self.columns.max(other.columns),
            reads: self.reads.plus(&other.reads),
            writes: self.writes.plus(&other.writes),
            discards: self.discards.plus(&other.discards),
            flushes: self.flushes.wrapping_add(other.flushes),
            flush_ms: self.flush_ms.wrapping_add(other.flush_ms),
            in_flight: self.in_flight.wrapping_add(other.in_flight),
            busy_ms: self.busy_ms.wrapping_add(other.busy_ms),
            weighted_ms: self.weighted_ms.wrapping_add(other.weighted_ms),
        }
    }

    /// Returns whether these are the four columns of a partition of an old kernel.
    pub fn is_old_partition(&self) -> bool {
        self.columns == Columns::Partition
    }

    /// Returns whether the eleven counters that every kernel prints are equal, ignoring discards and flushes.
    pub fn basic_columns_equal(&self, other: &Self) -> bool {
        self.reads == other.reads
            && self.writes == other.writes
            && self.in_flight == other.in_flight
            && self.busy_ms == other.busy_ms
            && self.weighted_ms == other.weighted_ms
    }

    /// Returns the requests completed of each kind: reads, writes, discards, flushes.
    pub fn completed(&self) -> [u64; 4] {
        [
            self.reads.ios,
            self.writes.ios,
            self.discards.ios,
            self.flushes,
        ]
    }
}

/// One device in a sample. Copying it into another reuses the memory of the other's name.
#[derive(Debug, Default, PartialEq)]
pub struct Device {
    /// Major device number; 0 for hidden NVMe paths.
    pub major: u32,
    pub minor: u32,
    /// The kernel's name, as /proc/diskstats prints it: `sda1`, `cciss/c0d0`. In a capture it may contain any
    /// character.
    pub name: String,
    /// All zero in the log of another tool, which has no counters.
    pub counters: Counters,
    /// What a log says of the time since the sample before; `None` for counters, and where a log begins.
    pub logged: Option<Box<LoggedInterval>>,
}

/// The first line of /proc/stat: time spent by all CPUs together, in clock ticks (proc_stat(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// User mode, including guests.
    pub user: u64,
    /// User mode at low priority, including low-priority guests.
    pub nice: u64,
    /// Kernel mode.
    pub system: u64,
    pub idle: u64,
    /// Idle while a task waited for I/O. It counts as idle time.
    pub iowait: u64,
    pub irq: u64,
    pub softirq: u64,
    /// Taken by the hypervisor.
    pub steal: u64,
    /// Running guests; also in `user`.
    pub guest: u64,
    /// Running low-priority guests; also in `nice`.
    pub guest_nice: u64,
}

/// The time that tasks have waited for a resource since boot, in microseconds (/proc/pressure, since kernel 4.20).
/// Tasks with asynchronous I/O in progress (io_uring, libaio) do not count as waiting for I/O.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "[u64; 2]", into = "[u64; 2]")]
pub struct Pressure {
    /// Time in which at least one task waited.
    pub some_us: u64,
    /// Time in which all non-idle tasks waited.
    pub full_us: u64,
}

impl Pressure {
    /// Returns the sum of both.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            some_us: self.some_us.saturating_add(other.some_us),
            full_us: self.full_us.saturating_add(other.full_us),
        }
    }

    /// Returns the difference of both, with zero for negative values.
    pub fn minus(&self, other: &Self) -> Self {
        Self {
            some_us: self.some_us.saturating_sub(other.some_us),
            full_us: self.full_us.saturating_sub(other.full_us),
        }
    }
}

impl From<Pressure> for [u64; 2] {
    fn from(pressure: Pressure) -> Self {
        [pressure.some_us, pressure.full_us]
    }
}

impl From<[u64; 2]> for Pressure {
    fn from([some_us, full_us]: [u64; 2]) -> Self {
        Self { some_us, full_us }
    }
}

/// The state of the whole host, except its CPUs, in recordings as well. Values that are not known are `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HostState {
    /// Tasks blocked on I/O at the time of the sample (procs_blocked of /proc/stat).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub blocked: Option<u64>,
    /// The time that tasks have waited for I/O.
    #[serde(rename = "pressure_us", skip_serializing_if = "Option::is_none")]
    pub pressure: Option<Pressure>,
    /// The time that tasks have waited for memory: while it was reclaimed, or read back from files or swap.
    #[serde(rename = "memory_pressure_us", skip_serializing_if = "Option::is_none")]
    pub memory_pressure: Option<Pressure>,
    /// Pages read from and written to swap areas since boot (pswpin and pswpout of /proc/vmstat).
    #[serde(rename = "swapped_pages", skip_serializing_if = "Option::is_none")]
    pub swapped: Option<[u64; 2]>,
    /// Memory waiting to be written to disk, in KiB (Dirty of /proc/meminfo, nr_dirty of
    /// /proc/vmstat).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dirty_kib: Option<u64>,
    /// Memory being written to disk, in KiB (Writeback of /proc/meminfo, nr_writeback of /proc/vmstat).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub writeback_kib: Option<u64>,
}

impl HostState {
    /// Returns the state from which averages since boot are computed: cumulative values become zero if they are known,
    /// and the others stay.
    pub fn at_boot(&self) -> Self {
        Self {
            pressure: self.pressure.map(|_| Pressure::default()),
            memory_pressure: self.memory_pressure.map(|_| Pressure::default()),
            swapped: self.swapped.map(|_| [0; 2]),
            ..*self
        }
    }
}

impl Clone for Device {
    fn clone(&self) -> Self {
        Self {
            name: self.name.clone(),
            logged: self.logged.clone(),
            ..*self
        }
    }

    fn clone_from(&mut self, source: &Self) {
        let mut name = std::mem::take(&mut self.name);
        name.clone_from(&source.name);
        let logged = source.logged.clone();
        *self = Self {
            name,
            logged,
            ..*source
        };
    }
}

/// One sample of a host. Copying it into another reuses the memory of the other's devices and their names.
#[derive(Debug, Default, PartialEq)]
pub struct Sample {
    /// The time at which it was taken.
    pub at: SampleTime,
    /// The segment of the capture, from 0. No interval spans two segments: between them a clock did not advance, or the
    /// host was rebooted or changed.
    pub segment: u64,
    /// The devices, in the order of /proc/diskstats.
    pub devices: Vec<Device>,
    /// The time of day in the `TS` line of the capture, `HH:MM:SS`; `None` if it has none.
    pub written_time: Option<String>,
    /// The CPU times; `None` if they were not recorded.
    pub cpu: Option<CpuTimes>,
    pub host: HostState,
    /// The number of deadlines that its recorder missed before it.
    pub missed_samples: u64,
    /// The last finished scan of cgroups and processes; `None` if they are not scanned, or if no scan has finished yet.
    pub io_scan: Option<Arc<IoScan>>,
    /// The reason why no scan was finished since the sample before; `None` if one was, or if none was requested.
    pub missed_scan: Option<MissedScan>,
    /// The facts about the health of devices that were read last; `None` if they are not known.
    pub health: Option<Arc<HealthFacts>>,
}

impl Clone for Sample {
    fn clone(&self) -> Self {
        let mut copy = Self::default();
        copy.clone_from(self);
        copy
    }

    fn clone_from(&mut self, source: &Self) {
        let mut devices = std::mem::take(&mut self.devices);
        devices.clone_from(&source.devices);
        *self = Self {
            devices,
            written_time: source.written_time.clone(),
            io_scan: source.io_scan.clone(),
            health: source.health.clone(),
            ..*source
        };
    }
}

impl Sample {
    /// Returns the device with this name; `None` if the sample lacks it.
    pub fn device(&self, name: &str) -> Option<&Device> {
        self.devices.iter().find(|device| device.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn milliseconds_wrap_at_32_bits() {
        assert_eq!(growth_u32(4_294_967_290, 4), 10);
        assert_eq!(growth_u32(4, 4), 0);
    }
}
