//! The counters that the kernel keeps for a device.

use super::request::{Nanos, OPERATIONS, Operation, Request};

/// The way in which the kernel counts the time with requests in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IoTicks {
    /// About Linux 5.7 to 6.9: all time since the last event where a request ends, one tick where one starts.
    AllBeforeEnd,
    /// Since about Linux 6.10: all time since the last event where requests were in flight, else one tick.
    AllInFlight,
}

/// How a kernel and a driver count.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Accounting {
    pub(crate) ticks: IoTicks,
    /// Ticks per second of the kernel.
    pub(crate) hz: u64,
    /// Request times are counted in ticks, as for bio-based device-mapper devices, rather than in nanoseconds.
    pub(crate) counts_in_ticks: bool,
}

/// The counters of an operation.
#[derive(Clone, Copy, Debug, Default)]
struct OperationCounters {
    ios: u64,
    merges: u64,
    sectors: u64,
    nanos: u64,
}

/// The counters of a device, as `/proc/diskstats` shows them.
#[derive(Clone, Debug)]
pub(crate) struct Account {
    accounting: Accounting,
    operations: [OperationCounters; OPERATIONS],
    in_flight: u64,
    io_ticks: u64,
    last_tick: u64,
    /// Requests that the kernel lost count of: they never end.
    leaked: u64,
}

impl Account {
    pub(crate) fn new(accounting: Accounting) -> Self {
        let operations = [OperationCounters::default(); OPERATIONS];
        Self {
            accounting,
            operations,
            in_flight: 0,
            io_ticks: 0,
            last_tick: 0,
            leaked: 0,
        }
    }

    /// Adds an earlier life: requests of a size that took a mean time.
    pub(crate) fn add_history(
        &mut self,
        operation: Operation,
        ios: u64,
        sectors: u64,
        mean_ns: f64,
    ) {
        let counters = &mut self.operations[operation as usize];
        counters.ios += ios;
        counters.sectors += sectors * ios;
        counters.nanos += (ios as f64 * mean_ns) as u64;
        self.io_ticks += (ios as f64 * mean_ns / 1e9 * self.accounting.hz as f64 / 4.0) as u64;
    }

    /// Leaves the in-flight count too high for ever.
    pub(crate) fn leak(&mut self, requests: u64) {
        self.leaked += requests;
    }

    /// Returns the completed requests so far.
    pub(crate) fn completions(&self) -> u64 {
        self.operations.iter().map(|counters| counters.ios).sum()
    }

    /// Returns the completed requests of an operation and the nanoseconds that they took.
    pub(crate) fn totals(&self, operation: Operation) -> (u64, u64) {
        let counters = self.operations[operation as usize];
        (counters.ios, counters.nanos)
    }

    /// Returns the nanoseconds that completed reads and writes took.
    pub(crate) fn time_ns(&self) -> u64 {
        self.totals(Operation::Read).1 + self.totals(Operation::Write).1
    }

    /// Returns the requests in flight that the kernel counts.
    pub(crate) fn in_flight(&self) -> u64 {
        self.in_flight + self.leaked
    }

    fn tick(&self, at: Nanos) -> u64 {
        (u128::from(at) * u128::from(self.accounting.hz) / 1_000_000_000) as u64
    }

    fn update_ticks(&mut self, at: Nanos, is_end: bool) {
        let now = self.tick(at);
        if now > self.last_tick {
            let counts_all = is_end
                || (self.accounting.ticks == IoTicks::AllInFlight
                    && self.in_flight + self.leaked > 0);
            self.io_ticks += if counts_all { now - self.last_tick } else { 1 };
            self.last_tick = now;
        }
    }

    /// A request enters the device. Flushes are counted only where they end.
    pub(crate) fn start(&mut self, operation: Operation, at: Nanos) {
        if operation != Operation::Flush {
            self.update_ticks(at, false);
            self.in_flight += 1;
        }
    }

    /// A request that entered at `entered` leaves the device.
    pub(crate) fn finish(&mut self, request: &Request, entered: Nanos, at: Nanos) {
        if request.operation != Operation::Flush {
            self.update_ticks(at, true);
            self.in_flight -= 1;
        }
        let nanos = if self.accounting.counts_in_ticks {
            (self.tick(at) - self.tick(entered)) * 1_000_000_000 / self.accounting.hz
        } else {
            at - entered
        };
        let counters = &mut self.operations[request.operation as usize];
        counters.ios += 1;
        counters.nanos += nanos;
        if request.operation != Operation::Flush {
            counters.merges += u64::from(request.merges);
            counters.sectors += u64::from(request.sectors);
        }
    }

    /// Returns the columns after the device's name at a time, as the kernel prints them: milliseconds in 32 bits.
    pub(crate) fn columns(&mut self, at: Nanos) -> String {
        if self.in_flight() > 0 {
            self.update_ticks(at, true);
        }
        let ms = |nanos: u64| (nanos / 1_000_000) as u32;
        let basic = |one: &OperationCounters| {
            format!(
                "{} {} {} {}",
                one.ios,
                one.merges,
                one.sectors,
                ms(one.nanos)
            )
        };
        let [reads, writes, discards, flushes] = &self.operations;
        let ticks_ms = (self.io_ticks * 1000 / self.accounting.hz) as u32;
        let weighted = self.operations.iter().map(|one| one.nanos).sum::<u64>();
        format!(
            "{} {} {} {ticks_ms} {} {} {} {}",
            basic(reads),
            basic(writes),
            self.in_flight() as u32,
            ms(weighted),
            basic(discards),
            flushes.ios,
            ms(flushes.nanos)
        )
    }
}
