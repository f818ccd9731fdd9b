//! What the kernel counts: one device's counters, and one reading of the whole machine.
//!
//! Plain data. How it is read is in `capture` and `source`, what it means in `metrics`.

use crate::units::SampleTime;

/// One kind of request: the four columns that reads, writes and discards each have (iostats.rst).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Requests {
    /// Requests completed.
    pub ios: u64,
    /// Requests merged into a neighbour before they were issued.
    pub merges: u64,
    /// Sectors of 512 bytes.
    pub sectors: u64,
    /// Milliseconds from start to completion, summed over the requests; 32 bits in every kernel.
    pub ms: u64,
}

impl Requests {
    /// Both together. Sums wrap as the counters do.
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            ios: self.ios.wrapping_add(other.ios),
            merges: self.merges.wrapping_add(other.merges),
            sectors: self.sectors.wrapping_add(other.sectors),
            ms: self.ms.wrapping_add(other.ms),
        }
    }
}

/// Which columns the kernel gave for a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Columns {
    /// 7 columns: a partition on a kernel up to 2.6.24. Requests issued and sectors, no times.
    Partition,
    /// 14 columns.
    #[default]
    Basic,
    /// 18 columns, since 4.18: discards.
    Discards,
    /// 20 columns and more, since 5.5: flushes.
    Flushes,
}

/// The counters of one device. All only grow, but for `in_flight`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Which of the fields the kernel gave; the others are zero.
    pub columns: Columns,
    /// Reads.
    pub reads: Requests,
    /// Writes.
    pub writes: Requests,
    /// Discards.
    pub discards: Requests,
    /// Flush requests completed; whole devices only.
    pub flushes: u64,
    /// Milliseconds that flushes took, summed; 32 bits.
    pub flush_ms: u64,
    /// Requests issued and not yet completed, at the moment of reading.
    pub in_flight: u64,
    /// Milliseconds with at least one request in flight (io_ticks); 32 bits.
    pub busy_ms: u64,
    /// Milliseconds weighted by the requests in flight (time_in_queue); 32 bits.
    pub weighted_ms: u64,
}

const NO_REQUESTS: Requests = Requests { ios: 0, merges: 0, sectors: 0, ms: 0 };

impl Counters {
    /// A device that has just come.
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

    /// Reads, writes and discards together; no flushes. Sums wrap as the counters do.
    pub fn requests(&self) -> Requests {
        self.reads.plus(&self.writes).plus(&self.discards)
    }

    /// These and another device's counters together, as iostat adds up the devices of a group.
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

    /// Whether these are the four columns of a partition of an old kernel.
    pub fn is_old_partition(&self) -> bool {
        self.columns == Columns::Partition
    }

    /// Whether the eleven columns that every kernel has are the same.
    pub fn basic_columns_equal(&self, other: &Self) -> bool {
        let basic = |c: &Self| (c.reads, c.writes, c.in_flight, c.busy_ms, c.weighted_ms);
        basic(self) == basic(other)
    }

    /// Requests of every kind that were completed: reads, writes, discards, flushes.
    pub fn completed(&self) -> [u64; 4] {
        [self.reads.ios, self.writes.ios, self.discards.ios, self.flushes]
    }
}

/// One device in one reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Device {
    /// Major device number; 0 for hidden NVMe paths.
    pub major: u32,
    /// Minor device number.
    pub minor: u32,
    /// The kernel's name, as /proc/diskstats prints it: `sda1`, `cciss/c0d0`. It may hold anything.
    pub name: String,
    /// What the kernel counted.
    pub counters: Counters,
}

/// The first line of /proc/stat: time spent by all CPUs together, in clock ticks (proc_stat(5)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// User mode, guests included.
    pub user: u64,
    /// User mode at low priority, low-priority guests included.
    pub nice: u64,
    /// Kernel mode.
    pub system: u64,
    /// Idle.
    pub idle: u64,
    /// Idle while a task waited for I/O: a kind of idle, not of work.
    pub iowait: u64,
    /// Servicing interrupts.
    pub irq: u64,
    /// Servicing soft interrupts.
    pub softirq: u64,
    /// Taken by the hypervisor.
    pub steal: u64,
    /// Running guests; also in `user`.
    pub guest: u64,
    /// Running low-priority guests; also in `nice`.
    pub guest_nice: u64,
}

/// How long tasks have waited for I/O since boot, in microseconds (/proc/pressure/io, since 4.20).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pressure {
    /// At least one task waited.
    pub some_us: u64,
    /// All tasks that had work waited.
    pub full_us: u64,
}

/// What a reading says of the machine as a whole, beside its CPUs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HostState {
    /// Tasks blocked on I/O at that moment (procs_blocked of /proc/stat).
    pub blocked: Option<u64>,
    /// Waiting for I/O so far.
    pub pressure: Option<Pressure>,
    /// Memory that waits to be written to disk, in KiB (Dirty of /proc/meminfo).
    pub dirty_kib: Option<u64>,
    /// Memory that is being written to disk, in KiB (Writeback of /proc/meminfo).
    pub writeback_kib: Option<u64>,
}

/// One reading of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// When it was taken.
    pub at: SampleTime,
    /// Counts the breaks in time before this sample. Two samples of different segments have no interval
    /// between them: the clock went back there, or the machine was rebooted.
    pub segment: u64,
    /// The devices in the order in which they were read.
    pub devices: Vec<Device>,
    /// The time of day as the capture writes it, `HH:MM:SS`.
    pub written_time: Option<String>,
    /// CPU time, where the reading has it.
    pub cpu: Option<CpuTimes>,
    /// The machine as a whole.
    pub host: HostState,
    /// Deadlines that were skipped before it, as its recording says.
    pub missed_samples: u64,
}

impl Sample {
    /// The device of this name.
    pub fn device(&self, name: &str) -> Option<&Device> {
        self.devices.iter().find(|device| device.name == name)
    }
}
