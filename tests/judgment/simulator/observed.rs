//! The true course of an interval inside a simulated device; its counters show only a part.

use super::host::Host;
use super::request::{Nanos, OPERATIONS, Request};

/// Sums over the requests of an operation that ended in an interval, in nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct OperationTotals {
    pub(crate) requests: u64,
    /// Waiting at the servers.
    pub(crate) wait_ns: f64,
    /// Expected service in the state of the device.
    pub(crate) state_ns: f64,
    /// Expected service of such requests on the healthy device.
    pub(crate) usual_ns: f64,
    /// Expected service of the quickest kind of request on the healthy device.
    pub(crate) best_ns: f64,
}

impl OperationTotals {
    pub(super) fn add(&mut self, request: &Request) {
        self.requests += 1;
        self.wait_ns += request.wait_ns;
        self.state_ns += request.state_ns;
        self.usual_ns += request.usual_ns;
        self.best_ns += request.best_ns;
    }
}

/// A gate in an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GateObserved {
    /// The units that passed, as a share of the limit.
    pub(crate) use_of_limit: f64,
    /// The share of the time in which requests were held.
    pub(crate) held_share: f64,
    /// The limit at the end of the interval in units per second.
    pub(crate) limit: f64,
    /// The limit was another at the start, or did not apply for all of the interval.
    pub(crate) has_changed: bool,
    /// A bucket of burst credits is empty.
    pub(crate) has_spent_credits: bool,
}

/// The counters of a device.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DeviceObserved {
    /// Requests so far.
    pub(crate) completions: u64,
    /// Nanoseconds that reads and writes took so far.
    pub(crate) time_ns: u64,
    pub(crate) in_flight: u64,
}

/// An interval inside a simulated device.
#[derive(Clone, Debug)]
pub(crate) struct Observed {
    pub(crate) from: Nanos,
    pub(crate) until: Nanos,
    pub(crate) operations: [OperationTotals; OPERATIONS],
    /// The share of the servers' time in which they were busy.
    pub(crate) utilization: f64,
    pub(crate) gates: Vec<GateObserved>,
    /// The counters of each device at the end.
    pub(crate) devices: Vec<DeviceObserved>,
    /// Requests that hang at the end.
    pub(crate) hung: u32,
}

/// Takes the totals of a host since the last time.
pub(super) fn observe(
    host: &mut Host,
    from: Nanos,
    until: Nanos,
    limits_before: &[f64],
) -> Observed {
    let elapsed = (until - from).max(1) as f64;
    let gates = host
        .gates
        .iter_mut()
        .zip(limits_before)
        .map(|(gate, before)| {
            let totals = gate.take_totals(until);
            let limit = gate.limit(until);
            let was_active = gate.is_active(from);
            GateObserved {
                use_of_limit: if gate.is_active(until) {
                    totals.passed / (limit * elapsed / 1e9)
                } else {
                    0.0
                },
                held_share: totals.held_ns / elapsed,
                limit,
                has_changed: (limit / before - 1.0).abs() > 0.01
                    || was_active != gate.is_active(until),
                has_spent_credits: gate.has_spent_credits(until),
            }
        });
    Observed {
        from,
        until,
        gates: gates.collect(),
        operations: std::mem::take(&mut host.operations),
        utilization: host.station.take_busy_ns(until) / elapsed,
        devices: host
            .accounts
            .iter()
            .map(|account| DeviceObserved {
                completions: account.completions(),
                time_ns: account.time_ns(),
                in_flight: account.in_flight(),
            })
            .collect(),
        hung: host.hung,
    }
}
