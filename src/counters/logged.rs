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
    /// Returns the rates of reads and of writes. If there was only one of both, what the log says of both is its own.
    pub fn reads_and_writes(&self) -> [LoggedRates; 2] {
        let amount = |rates: &LoggedRates| rates.ios.or(rates.sectors);
        let (reads, writes) = (amount(&self.reads), amount(&self.writes));
        let did_any = reads
            .zip(writes)
            .is_some_and(|(reads, writes)| reads + writes > 0.0);
        let did_nothing = self.unsplit.ios == Some(0.0);
        let discarded = amount(&self.discards).is_some_and(|amount| amount > 0.0);
        let is_alone =
            |other: Option<f64>| other == Some(0.0) && (did_any || did_nothing) && !discarded;
        [
            alone(
                &self.reads,
                &self.unsplit,
                is_alone(writes),
                is_alone(reads),
            ),
            alone(
                &self.writes,
                &self.unsplit,
                is_alone(reads),
                is_alone(writes),
            ),
        ]
    }

    /// The same columns where nothing happened, as for a device that a report leaves out.
    pub fn idle(&self) -> Self {
        let zero = |value: Option<f64>| value.map(|_| 0.0);
        let idle = |rates: &LoggedRates| LoggedRates {
            ios: zero(rates.ios),
            merges: zero(rates.merges),
            sectors: zero(rates.sectors),
            await_ms: zero(rates.await_ms),
        };
        Self {
            reads: idle(&self.reads),
            writes: idle(&self.writes),
            discards: idle(&self.discards),
            flushes: idle(&self.flushes),
            unsplit: idle(&self.unsplit),
            queue: zero(self.queue),
            util_pct: zero(self.util_pct),
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
