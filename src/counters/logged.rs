//! What the log of another tool says of a device. It has rates over the time between two reports, and no counters.

/// A device over the time since the report before. What the log lacks is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoggedInterval {
    pub reads: LoggedRates,
    pub writes: LoggedRates,
    pub discards: LoggedRates,
    pub flushes: LoggedRates,
    /// Reads and writes together, as far as the log does not split them.
    pub unsplit: LoggedRates,
    /// The mean number of requests waiting or being served.
    pub queue: Option<f64>,
    /// The share of the time with a request in flight, in percent.
    pub util_pct: Option<f64>,
}

/// Rates of one kind of requests, as they were printed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LoggedRates {
    /// Requests completed per second.
    pub ios: Option<f64>,
    /// Requests merged per second.
    pub merges: Option<f64>,
    /// Sectors of 512 bytes per second.
    pub sectors: Option<f64>,
    /// Mean latency in milliseconds.
    pub await_ms: Option<f64>,
}

impl LoggedInterval {
    /// The rates of each kind of requests.
    pub fn kinds(&self) -> [&LoggedRates; 5] {
        [
            &self.reads,
            &self.writes,
            &self.discards,
            &self.flushes,
            &self.unsplit,
        ]
    }

    /// Returns the rates of reads and of writes. If there was only one of both, what the log says of both is its own.
    pub fn reads_and_writes(&self) -> [LoggedRates; 2] {
        let (reads, writes) = (self.reads.amount(), self.writes.amount());
        let did_any = match (reads, writes) {
            (Some(reads), Some(writes)) => reads + writes > 0.0,
            _ => false,
        };
        let did_nothing = self.unsplit.ios == Some(0.0);
        let discarded = self.discards.amount() > Some(0.0);
        let shows_absence = (did_any || did_nothing) && !discarded;
        let has_no_reads = shows_absence && reads == Some(0.0);
        let has_no_writes = shows_absence && writes == Some(0.0);
        [
            alone(&self.reads, &self.unsplit, has_no_writes, has_no_reads),
            alone(&self.writes, &self.unsplit, has_no_reads, has_no_writes),
        ]
    }

    /// The same columns where nothing happened, as for a device that a report leaves out.
    pub fn idle(&self) -> Self {
        Self {
            reads: self.reads.idle(),
            writes: self.writes.idle(),
            discards: self.discards.idle(),
            flushes: self.flushes.idle(),
            unsplit: self.unsplit.idle(),
            queue: self.queue.and(Some(0.0)),
            util_pct: self.util_pct.and(Some(0.0)),
        }
    }
}

impl LoggedRates {
    /// Returns the requests or, if they are not known, the sectors.
    fn amount(&self) -> Option<f64> {
        self.ios.or(self.sectors)
    }

    fn idle(&self) -> Self {
        Self {
            ios: self.ios.and(Some(0.0)),
            merges: self.merges.and(Some(0.0)),
            sectors: self.sectors.and(Some(0.0)),
            await_ms: self.await_ms.and(Some(0.0)),
        }
    }
}

/// Returns the rates of a kind of requests with those of both kinds, if it `is_alone`; without any requests, if it `is_absent`.
fn alone(kind: &LoggedRates, both: &LoggedRates, is_alone: bool, is_absent: bool) -> LoggedRates {
    let zero = is_absent.then_some(0.0);
    let [ios, await_ms] = if is_alone && !is_absent {
        [both.ios, both.await_ms]
    } else {
        [
            zero.and(both.ios).and(zero),
            zero.and(both.await_ms).and(zero),
        ]
    };
    LoggedRates {
        ios: kind.ios.or(ios),
        await_ms: kind.await_ms.or(await_ms),
        ..*kind
    }
}
