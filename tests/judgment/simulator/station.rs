//! The servers of a device and the line before them.

use std::collections::VecDeque;

use super::request::{Nanos, OPERATIONS, Operation, Request, nanos};
use crate::random::Random;

/// The distribution of service times around their mean.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Spread {
    Exponential,
    /// Normal with a relative standard deviation, cut at a tenth of the mean.
    Even(f64),
    /// Log-normal with a standard deviation of the logarithm.
    Lognormal(f64),
    /// A share of the requests takes several times as long as the others.
    HeavyTail {
        share: f64,
        times: f64,
    },
}

impl Spread {
    /// Draws a service time, as a multiple of the mean.
    fn draw(self, random: &mut Random) -> f64 {
        match self {
            Self::Exponential => random.exponential(),
            Self::Even(deviation) => (1.0 + deviation * random.normal()).max(0.1),
            Self::Lognormal(sigma) => (sigma * random.normal() - sigma * sigma / 2.0).exp(),
            Self::HeavyTail { share, times } => {
                let factor = if random.chance(share) { times } else { 1.0 };
                factor / (1.0 + share * (times - 1.0)) * random.between(0.8, 1.2)
            }
        }
    }
}

/// A time in which the device serves at another speed, in seconds of the capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slowdown {
    pub(crate) from_s: f64,
    pub(crate) until_s: f64,
    /// The multiple of the healthy service time at the start and at the end; between them it grows evenly.
    pub(crate) factors: (f64, f64),
    /// The operations that it affects; `None` for all.
    pub(crate) operation: Option<Operation>,
    /// It is the device's usual speed from then on, as after a replacement.
    pub(crate) is_usual: bool,
}

/// A cache in the device, which answers without the servers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cache {
    pub(crate) hit_s: f64,
    /// The share of reads that hit before and after `cold_from_s`, seconds of the capture.
    pub(crate) hits: (f64, f64),
    pub(crate) cold_from_s: f64,
}

/// The disk sleeps after a time without requests, and takes a time to wake up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PowerSave {
    pub(crate) after_s: f64,
    pub(crate) wake_s: f64,
}

/// A device as servers with one line before them.
#[derive(Clone, Debug)]
pub(crate) struct Station {
    pub(crate) servers: u32,
    /// Mean service time in seconds by operation, without the transfer.
    pub(crate) service_s: [f64; OPERATIONS],
    /// Service time of a request that continues the one before; `None` where that makes no difference.
    pub(crate) sequential_s: Option<f64>,
    /// Seconds for each sector.
    pub(crate) sector_s: f64,
    pub(crate) spread: Spread,
    /// The growth of service time with each further request being served.
    pub(crate) interference: f64,
    /// Times without service, in seconds of the capture.
    pub(crate) pauses_s: Vec<(f64, f64)>,
    pub(crate) slowdowns: Vec<Slowdown>,
    pub(crate) cache: Option<Cache>,
    pub(crate) power_save: Option<PowerSave>,
}

impl Station {
    pub(crate) fn new(servers: u32, service_s: f64, spread: Spread) -> Self {
        Self {
            servers,
            service_s: [service_s; OPERATIONS],
            sequential_s: None,
            sector_s: 0.0,
            spread,
            interference: 0.0,
            pauses_s: Vec::new(),
            slowdowns: Vec::new(),
            cache: None,
            power_save: None,
        }
    }

    /// Returns the most requests per second that the servers complete, for reads of a size.
    pub(crate) fn capacity(&self, sectors: u32) -> f64 {
        let growth = 1.0 + self.interference * f64::from(self.servers - 1);
        f64::from(self.servers) / (self.service_s[0] + f64::from(sectors) * self.sector_s) / growth
    }
}

/// A station in operation.
#[derive(Debug)]
pub(crate) struct RunningStation {
    pub(crate) station: Station,
    pub(crate) line: VecDeque<u32>,
    pub(crate) busy: u32,
    /// Time in which servers were busy, summed over them, up to `busy_until`.
    busy_ns: f64,
    busy_until: Nanos,
    random: Random,
    capture_start_s: f64,
    pauses: Vec<(Nanos, Nanos)>,
    last_load: usize,
    last_active: Nanos,
    awake_at: Nanos,
}

impl RunningStation {
    pub(crate) fn new(station: Station, capture_start_s: f64, random: Random) -> Self {
        let time = |seconds: f64| nanos(capture_start_s + seconds);
        let pauses = station
            .pauses_s
            .iter()
            .map(|(from, until)| (time(*from), time(*until)))
            .collect();
        Self {
            station,
            line: VecDeque::new(),
            busy: 0,
            busy_ns: 0.0,
            busy_until: 0,
            random,
            capture_start_s,
            pauses,
            last_load: usize::MAX,
            last_active: 0,
            awake_at: 0,
        }
    }

    fn factor(&self, operation: Operation, at: Nanos, usual_only: bool) -> f64 {
        let second = at as f64 / 1e9 - self.capture_start_s;
        let affects = |one: &&Slowdown| {
            (one.from_s..one.until_s).contains(&second)
                && one.operation.is_none_or(|affected| affected == operation)
                && (one.is_usual || !usual_only)
        };
        let factor = |one: &Slowdown| {
            let (first, last) = one.factors;
            let part = (second - one.from_s) / (one.until_s - one.from_s);
            if part.is_finite() && first != last {
                first + (last - first) * part
            } else {
                first
            }
        };
        self.station
            .slowdowns
            .iter()
            .filter(affects)
            .map(factor)
            .product()
    }

    /// Returns the time at which service of a length ends, with the pauses in between.
    fn end(&self, from: Nanos, service: Nanos) -> Nanos {
        let first = self.pauses.partition_point(|(_, until)| *until <= from);
        let mut end = from + service;
        for (start, until) in &self.pauses[first..] {
            if *start >= end {
                break;
            }
            end += until - (*start).max(from);
        }
        end
    }

    fn count_busy_time(&mut self, at: Nanos) {
        self.busy_ns += f64::from(self.busy) * (at - self.busy_until) as f64;
        self.busy_until = at;
    }

    /// Returns the time in which servers were busy since the last call, as a share of all servers' time.
    pub(crate) fn take_busy_ns(&mut self, at: Nanos) -> f64 {
        self.count_busy_time(at);
        std::mem::take(&mut self.busy_ns) / f64::from(self.station.servers)
    }

    /// Returns whether a read finds its data in the cache.
    pub(crate) fn hits_cache(&mut self, request: &Request, at: Nanos) -> bool {
        let Some(cache) = self
            .station
            .cache
            .filter(|_| request.operation == Operation::Read)
        else {
            return false;
        };
        let is_cold = at as f64 / 1e9 - self.capture_start_s >= cache.cold_from_s;
        self.random
            .chance(if is_cold { cache.hits.1 } else { cache.hits.0 })
    }

    /// Serves a request from the cache and returns the time at which it ends.
    pub(crate) fn serve_from_cache(&mut self, request: &mut Request, at: Nanos) -> Nanos {
        let hit_ns = self.station.cache.map_or(0.0, |cache| cache.hit_s * 1e9);
        (request.state_ns, request.usual_ns, request.best_ns) = (hit_ns, hit_ns, hit_ns);
        let service = (hit_ns * self.random.between(0.8, 1.2)) as Nanos;
        let end = self.end(at, service);
        request.wait_ns = (end - at) as f64 - hit_ns.min((end - at) as f64);
        end
    }

    /// Begins to serve a request on a free server and returns the time at which it ends.
    pub(crate) fn serve(&mut self, request: &mut Request, at: Nanos) -> Nanos {
        let mut wake_ns = 0;
        if let Some(sleep) = self.station.power_save {
            if self.busy == 0 && at - self.last_active > nanos(sleep.after_s) {
                self.awake_at = at + nanos(sleep.wake_s);
            }
            wake_ns = self.awake_at.saturating_sub(at);
        }
        self.count_busy_time(at);
        self.busy += 1;
        let transfer_s = f64::from(request.sectors) * self.station.sector_s;
        let random_s = self.station.service_s[request.operation as usize] + transfer_s;
        let continues = request.is_sequential && self.last_load == request.load;
        let sequential_s = self
            .station
            .sequential_s
            .map(|seconds| seconds + transfer_s);
        let nominal_s = sequential_s.filter(|_| continues).unwrap_or(random_s);
        self.last_load = request.load;
        // A disk that chooses among more requests finds a nearer one.
        let is_disk = self.station.sequential_s.is_some() && !continues;
        let choice = if is_disk {
            1.0 / (1.0 + 0.15 * (1.0 + self.line.len() as f64).ln())
        } else {
            1.0
        };
        let usual_ns = nominal_s * 1e9 * self.factor(request.operation, at, true);
        let state_ns = nominal_s * 1e9 * self.factor(request.operation, at, false) * choice;
        let interference = 1.0 + self.station.interference * f64::from(self.busy - 1);
        let service = (state_ns * self.station.spread.draw(&mut self.random)).max(1000.0);
        let end = self.end(at, (service * interference) as Nanos + wake_ns);
        request.holds_server = true;
        request.state_ns = state_ns + wake_ns as f64;
        request.usual_ns = usual_ns + wake_ns as f64;
        request.best_ns = match self.station.cache {
            Some(cache) => (cache.hit_s * 1e9).min(usual_ns),
            None => sequential_s.map_or(usual_ns, |seconds| (seconds * 1e9).min(usual_ns)),
        };
        request.wait_ns =
            (at - request.arrived) as f64 + (end - at) as f64 - service - wake_ns as f64;
        end
    }

    /// Frees the server of a request.
    pub(crate) fn free(&mut self, at: Nanos) {
        self.count_busy_time(at);
        self.busy -= 1;
        self.last_active = at;
    }
}
