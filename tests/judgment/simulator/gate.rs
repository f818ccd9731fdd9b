//! Limits: they let requests pass at a rate and hold the others in line.

use std::collections::VecDeque;

use super::request::{Nanos, Operation, Request, nanos};
use crate::random::Random;

/// The requests that a limit counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limited {
    Reads,
    Writes,
    Both,
}

/// The unit of a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unit {
    Requests,
    /// Bytes, counted in sectors of 512 bytes.
    Sectors,
}

/// The way in which a limit spreads its rate over time.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pacing {
    /// Each request passes a fixed time after the one before.
    Spaced,
    /// A budget for each 100 ms, cut to whole requests, as by the kernel's throttle.
    Slices,
    /// A bucket of burst credits that refills at the rate. While it holds credits, `burst_rate` applies.
    Credits { burst_rate: f64, capacity: f64 },
}

/// A limit on a rate.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    pub(crate) limited: Limited,
    pub(crate) unit: Unit,
    /// Units per second.
    pub(crate) rate: f64,
    pub(crate) pacing: Pacing,
    /// The relative standard deviation of the rate from second to second.
    pub(crate) jitter: f64,
    /// The seconds of the capture in which the limit applies.
    pub(crate) active: (f64, f64),
    /// Credits at the start.
    pub(crate) credits: f64,
}

impl Gate {
    pub(crate) fn new(limited: Limited, unit: Unit, rate: f64, pacing: Pacing) -> Self {
        let active = (f64::NEG_INFINITY, f64::INFINITY);
        Self {
            limited,
            unit,
            rate,
            pacing,
            jitter: 0.0,
            active,
            credits: 0.0,
        }
    }

    /// Returns a limit on requests whose bucket of burst credits is full.
    pub(crate) fn full_of_credits(rate: f64, burst_rate: f64, capacity: f64) -> Self {
        let pacing = Pacing::Credits {
            burst_rate,
            capacity,
        };
        Self {
            credits: capacity,
            ..Self::new(Limited::Both, Unit::Requests, rate, pacing)
        }
    }

    /// Returns the rate that it keeps in the long run: slices of whole requests keep less than they promise.
    pub(crate) fn kept_rate(&self) -> f64 {
        match self.pacing {
            Pacing::Slices if self.cuts_budget() => (self.rate / 10.0).floor() * 10.0,
            _ => self.rate,
        }
    }

    fn cuts_budget(&self) -> bool {
        self.unit == Unit::Requests && self.rate >= 10.0
    }

    pub(crate) fn applies_to(&self, operation: Operation) -> bool {
        match operation {
            Operation::Read => self.limited != Limited::Writes,
            Operation::Write => self.limited != Limited::Reads,
            Operation::Discard | Operation::Flush => false,
        }
    }
}

/// Units that passed a gate in an interval.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct GateTotals {
    /// Units that passed.
    pub(crate) passed: f64,
    /// Nanoseconds in which requests were held.
    pub(crate) held_ns: f64,
}

/// A gate in operation.
#[derive(Debug)]
pub(crate) struct RunningGate {
    pub(crate) gate: Gate,
    pub(crate) held: VecDeque<u32>,
    pub(crate) totals: GateTotals,
    random: Random,
    active: (Nanos, Nanos),
    held_since: Nanos,
    next_free: f64,
    slice_start: Nanos,
    spent: f64,
    credits: f64,
    credits_at: Nanos,
    jitter_second: u64,
    factor: f64,
}

const SLICE: Nanos = 100_000_000;

impl RunningGate {
    pub(crate) fn new(gate: Gate, capture_start_s: f64, random: Random) -> Self {
        let time = |seconds: f64| nanos(capture_start_s + seconds);
        Self {
            active: (time(gate.active.0), time(gate.active.1)),
            credits: gate.credits,
            gate,
            held: VecDeque::new(),
            totals: GateTotals::default(),
            random,
            held_since: 0,
            next_free: 0.0,
            slice_start: 0,
            spent: 0.0,
            credits_at: 0,
            jitter_second: u64::MAX,
            factor: 1.0,
        }
    }

    pub(crate) fn is_active(&self, at: Nanos) -> bool {
        (self.active.0..self.active.1).contains(&at)
    }

    fn cost(&self, request: &Request) -> f64 {
        match self.gate.unit {
            Unit::Requests => 1.0,
            Unit::Sectors => f64::from(request.sectors),
        }
    }

    /// Returns units per nanosecond now.
    fn rate(&mut self, rate: f64, at: Nanos) -> f64 {
        let second = at / 1_000_000_000;
        if self.gate.jitter > 0.0 && second != self.jitter_second {
            self.jitter_second = second;
            self.factor = 1.0 + self.gate.jitter * self.random.normal();
        }
        rate * self.factor / 1e9
    }

    fn credits(&self, at: Nanos, capacity: f64) -> f64 {
        (self.credits + (at - self.credits_at) as f64 * self.gate.rate / 1e9).min(capacity)
    }

    /// Returns whether a bucket of burst credits is empty but for the credits of a few milliseconds.
    pub(crate) fn has_spent_credits(&self, at: Nanos) -> bool {
        match self.gate.pacing {
            Pacing::Credits { capacity, .. } => {
                self.credits(at, capacity) < (0.02 * self.gate.rate).max(2.0).min(0.2 * capacity)
            }
            _ => false,
        }
    }

    /// Returns the rate that limits now, in units per second.
    pub(crate) fn limit(&self, at: Nanos) -> f64 {
        match self.gate.pacing {
            Pacing::Credits { burst_rate, .. } if !self.has_spent_credits(at) => burst_rate,
            _ => self.gate.kept_rate(),
        }
    }

    /// Returns `None` and takes the budget if a request may pass now, else the time at which to try again.
    pub(crate) fn try_pass(&mut self, request: &Request, at: Nanos) -> Option<Nanos> {
        let cost = self.cost(request);
        match self.gate.pacing {
            Pacing::Spaced => {
                if self.next_free > at as f64 {
                    return Some(self.next_free.ceil() as Nanos);
                }
                // A request held in line does not lose the nanoseconds between its time and the event.
                let start = if at as f64 - self.next_free < 2.0 {
                    self.next_free
                } else {
                    at as f64
                };
                self.next_free = start + cost / self.rate(self.gate.rate, at);
            }
            Pacing::Slices => {
                let mut budget = self.rate(self.gate.rate, at) * SLICE as f64;
                if self.gate.cuts_budget() {
                    budget = budget.floor();
                }
                let slices = (at - self.slice_start) / SLICE;
                if slices > 0 {
                    let is_idle = self.held.is_empty();
                    self.slice_start = if is_idle {
                        at
                    } else {
                        self.slice_start + slices * SLICE
                    };
                    // Requests in line keep what is left of a budget of bytes; a budget of requests is cut.
                    let kept = if is_idle || self.gate.cuts_budget() {
                        0.0
                    } else {
                        cost.min(budget)
                    };
                    self.spent = (self.spent - slices as f64 * budget).max(-kept);
                }
                if self.spent + cost.min(budget) > budget + 1e-6 {
                    return Some(self.slice_start + SLICE);
                }
                self.spent += cost;
            }
            Pacing::Credits {
                burst_rate,
                capacity,
            } => {
                if self.next_free > at as f64 {
                    return Some(self.next_free.ceil() as Nanos);
                }
                let credits = self.credits(at, capacity);
                if credits < cost {
                    return Some(at + ((cost - credits) / self.gate.rate * 1e9).ceil() as Nanos);
                }
                (self.credits, self.credits_at) = (credits - cost, at);
                self.next_free = at as f64 + cost / burst_rate * 1e9;
            }
        }
        self.totals.passed += cost;
        None
    }

    pub(crate) fn hold(&mut self, request: u32, at: Nanos) {
        if self.held.is_empty() {
            self.held_since = at;
        }
        self.held.push_back(request);
    }

    /// Adds the time since the last call in which requests were held.
    pub(crate) fn count_held_time(&mut self, at: Nanos) {
        self.totals.held_ns += (at - self.held_since) as f64;
        self.held_since = at;
    }

    /// Returns the totals since the last call.
    pub(crate) fn take_totals(&mut self, at: Nanos) -> GateTotals {
        if !self.held.is_empty() {
            self.count_held_time(at);
        }
        std::mem::take(&mut self.totals)
    }
}
