//! The event loop: requests travel from the clients through gates and devices to the servers and back.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::account::{Account, Accounting};
use super::gate::RunningGate;
use super::load::{Arrivals, Load};
use super::observed::{Observed, OperationTotals, observe};
use super::request::{Nanos, OPERATIONS, Operation, Request, nanos};
use super::setup::{Setup, Stage};
use super::station::RunningStation;
use crate::random::Random;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A load issues its next requests, by index.
    Arrival(usize),
    /// A client of a closed load issues a request.
    Issue(usize),
    /// A gate lets requests pass, by index.
    Release(usize),
    /// A request ends, by its place.
    End(u32),
    /// Requests begin to hang.
    Hang,
    /// The in-flight count becomes wrong.
    Leak,
    /// The disk is replaced.
    Replace,
}

/// A load in operation.
#[derive(Debug)]
struct RunningLoad {
    load: Load,
    from: Nanos,
    until: Nanos,
    next_due: f64,
    outstanding: u32,
    owed: u32,
}

/// A host in operation.
#[derive(Debug)]
pub(crate) struct Host {
    setup: Setup,
    random: Random,
    now: Nanos,
    events: BinaryHeap<Reverse<(Nanos, u64, Event)>>,
    event_count: u64,
    requests: Vec<Request>,
    free: Vec<u32>,
    loads: Vec<RunningLoad>,
    pub(super) gates: Vec<RunningGate>,
    pub(super) accounts: Vec<Account>,
    pub(super) station: RunningStation,
    pub(super) operations: [OperationTotals; OPERATIONS],
    pub(super) hung: u32,
    /// Tasks that are blocked, and the time in which there was at least one.
    blocked: u32,
    some_ns: u64,
    some_since: Nanos,
}

impl Host {
    pub(crate) fn new(setup: &Setup, mut random: Random) -> Self {
        let start_s = setup.warm_up_s;
        let accounting = |counts_in_ticks| Accounting {
            ticks: setup.ticks,
            hz: setup.hz,
            counts_in_ticks,
        };
        let mut accounts: Vec<Account> = setup
            .devices
            .iter()
            .map(|device| Account::new(accounting(device.counts_in_ticks)))
            .collect();
        for account in &mut accounts {
            for past in &setup.history {
                account.add_history(past.operation, past.ios, past.sectors, past.mean_s * 1e9);
            }
        }
        let running = |load: &Load| RunningLoad {
            load: *load,
            from: nanos(start_s + load.from_s),
            until: nanos(start_s + load.until_s),
            next_due: 0.0,
            outstanding: 0,
            owed: 0,
        };
        let mut host = Self {
            gates: setup
                .gates
                .iter()
                .map(|gate| RunningGate::new(gate.clone(), start_s, random.fork()))
                .collect(),
            station: RunningStation::new(setup.station.clone(), start_s, random.fork()),
            loads: setup.loads.iter().map(running).collect(),
            accounts,
            setup: setup.clone(),
            random: random.fork(),
            now: 0,
            events: BinaryHeap::new(),
            event_count: 0,
            requests: Vec::new(),
            free: Vec::new(),
            operations: [OperationTotals::default(); OPERATIONS],
            hung: 0,
            blocked: 0,
            some_ns: 0,
            some_since: 0,
        };
        host.schedule_start();
        host
    }

    fn schedule_start(&mut self) {
        let start_s = self.setup.warm_up_s;
        for index in 0..self.loads.len() {
            let from = self.loads[index].from;
            self.loads[index].next_due = from as f64;
            if let Arrivals::Closed { clients, .. } = self.loads[index].load.arrivals {
                for _ in 0..clients {
                    let at = from + (self.random.unit() * 2e6) as Nanos;
                    self.schedule(at, Event::Issue(index));
                }
            } else {
                self.schedule(from, Event::Arrival(index));
            }
        }
        if let Some(hung) = self.setup.hung {
            self.schedule(nanos(start_s + hung.from_s), Event::Hang);
        }
        if let Some((at_s, _)) = self.setup.leak {
            self.schedule(nanos(start_s + at_s), Event::Leak);
        }
        if let Some(at_s) = self.setup.replaced_at_s {
            self.schedule(nanos(start_s + at_s), Event::Replace);
        }
    }

    fn schedule(&mut self, at: Nanos, event: Event) {
        self.event_count += 1;
        self.events.push(Reverse((at, self.event_count, event)));
    }

    /// Simulates up to a time and returns what happened since the last call.
    pub(crate) fn run_until(&mut self, until: Nanos) -> Observed {
        let from = self.now;
        let before: Vec<_> = self.gates.iter().map(|gate| gate.limit(from)).collect();
        while let Some(Reverse((at, _, event))) = self.events.peek().copied()
            && at <= until
        {
            self.events.pop();
            self.now = at;
            self.handle(event);
        }
        self.now = until;
        observe(self, from, until, &before)
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Arrival(load) => self.arrive(load),
            Event::Issue(load) => {
                if self.now < self.loads[load].until {
                    self.issue(load);
                }
            }
            Event::Release(gate) => self.release(gate),
            Event::End(request) => self.end(request),
            Event::Hang => self.hang(),
            Event::Leak => {
                let requests = self.setup.leak.map_or(0, |(_, requests)| requests);
                self.accounts
                    .iter_mut()
                    .for_each(|account| account.leak(requests));
            }
            Event::Replace => {
                for (account, device) in self.accounts.iter_mut().zip(&self.setup.devices) {
                    let (ticks, hz) = (self.setup.ticks, self.setup.hz);
                    let counts_in_ticks = device.counts_in_ticks;
                    *account = Account::new(Accounting {
                        ticks,
                        hz,
                        counts_in_ticks,
                    });
                }
            }
        }
    }

    /// Issues what is due of an open load and schedules the next.
    fn arrive(&mut self, index: usize) {
        if self.now >= self.loads[index].until {
            return;
        }
        let (distance_s, size) = match self.loads[index].load.arrivals {
            Arrivals::Poisson { rate } => (self.random.exponential() / rate, 1),
            Arrivals::Paced { rate, .. } => (1.0 / rate, 1),
            Arrivals::Bursts { every_s, size } => (every_s, size),
            Arrivals::Closed { .. } => return,
        };
        for _ in 0..size {
            match self.loads[index].load.arrivals {
                Arrivals::Paced { depth, .. } if self.loads[index].outstanding >= depth => {
                    self.loads[index].owed += 1;
                }
                _ => self.issue(index),
            }
        }
        self.loads[index].next_due += distance_s * 1e9;
        let mut at = self.loads[index].next_due;
        if let Arrivals::Paced { rate, jitter, .. } = self.loads[index].load.arrivals {
            at += jitter * self.random.unit() / rate * 1e9;
        }
        self.schedule((at as Nanos).max(self.now), Event::Arrival(index));
    }

    fn issue(&mut self, load: usize) {
        let request = self.loads[load].load.mix.request(load, &mut self.random);
        self.submit(request);
    }

    fn submit(&mut self, request: Request) {
        let running = &mut self.loads[request.load];
        running.outstanding += 1;
        if running.load.is_synchronous {
            if self.blocked == 0 {
                self.some_since = self.now;
            }
            self.blocked += 1;
        }
        let place = match self.free.pop() {
            Some(place) => {
                self.requests[place as usize] = request;
                place
            }
            None => {
                self.requests.push(request);
                (self.requests.len() - 1) as u32
            }
        };
        self.advance(place);
    }

    /// Takes a request through its next stages, as far as it gets now.
    fn advance(&mut self, place: u32) {
        let request = &mut self.requests[place as usize];
        while let Some(stage) = self.setup.stages.get(request.stage) {
            match *stage {
                Stage::Device(index) => {
                    request.entered[index] = self.now;
                    let volume = request.load % self.accounts.len();
                    let index = if self.setup.has_volumes {
                        volume
                    } else {
                        index
                    };
                    self.accounts[index].start(request.operation, self.now);
                }
                Stage::Gate(index) => {
                    let gate = &mut self.gates[index];
                    if gate.is_active(self.now) && gate.gate.applies_to(request.operation) {
                        let is_first = gate.held.is_empty();
                        let wait = if is_first {
                            gate.try_pass(request, self.now)
                        } else {
                            Some(0)
                        };
                        if let Some(ready) = wait {
                            gate.hold(place, self.now);
                            if is_first {
                                self.schedule(ready.max(self.now), Event::Release(index));
                            }
                            return;
                        }
                    }
                }
            }
            request.stage += 1;
        }
        request.arrived = self.now;
        if self.station.hits_cache(request, self.now) {
            let end = self.station.serve_from_cache(request, self.now);
            self.schedule(end, Event::End(place));
        } else {
            self.station.line.push_back(place);
            self.serve();
        }
    }

    /// Lets held requests pass a gate, and schedules the next release if more are held.
    fn release(&mut self, index: usize) {
        while let Some(place) = self.gates[index].held.front().copied() {
            let gate = &mut self.gates[index];
            let request = &mut self.requests[place as usize];
            if gate.is_active(self.now)
                && let Some(ready) = gate.try_pass(request, self.now)
            {
                self.schedule(ready.max(self.now + 1), Event::Release(index));
                return;
            }
            gate.count_held_time(self.now);
            gate.held.pop_front();
            request.stage += 1;
            self.advance(place);
        }
    }

    /// Begins to serve requests while a server is free.
    fn serve(&mut self) {
        while self.station.busy < self.station.station.servers
            && let Some(place) = self.station.line.pop_front()
        {
            let request = &mut self.requests[place as usize];
            let end = self.station.serve(request, self.now);
            self.schedule(end, Event::End(place));
        }
    }

    fn hang(&mut self) {
        let Some(hung) = self.setup.hung else { return };
        let until = nanos(self.setup.warm_up_s + hung.until_s);
        self.hung = hung.requests;
        for _ in 0..hung.requests {
            let mut request = Request::new(Operation::Read, 8, usize::MAX);
            request.entered = [self.now; 2];
            self.accounts
                .iter_mut()
                .for_each(|account| account.start(Operation::Read, self.now));
            self.requests.push(request);
            self.schedule(until, Event::End((self.requests.len() - 1) as u32));
        }
    }

    fn end(&mut self, place: u32) {
        let request = self.requests[place as usize].clone();
        let first = if self.setup.has_volumes {
            request.load % self.accounts.len()
        } else {
            0
        };
        let used = if self.setup.has_volumes {
            1
        } else {
            self.accounts.len()
        };
        for (account, entered) in self.accounts[first..first + used]
            .iter_mut()
            .zip(request.entered)
        {
            account.finish(&request, entered, self.now);
        }
        if request.load == usize::MAX {
            self.hung -= 1;
            return;
        }
        self.free.push(place);
        self.operations[request.operation as usize].add(&request);
        if request.holds_server {
            self.station.free(self.now);
        }
        self.answer(&request);
        self.serve();
    }

    /// Lets the client of a finished request go on.
    fn answer(&mut self, request: &Request) {
        let running = &mut self.loads[request.load];
        running.outstanding -= 1;
        if running.load.is_synchronous {
            self.blocked -= 1;
            if self.blocked == 0 {
                self.some_ns += self.now - self.some_since;
            }
        }
        if running.owed > 0 && self.now < running.until {
            running.owed -= 1;
            self.issue(request.load);
        } else if let Arrivals::Closed { think_s, .. } = running.load.arrivals {
            if running.load.mix.flushes && request.operation != Operation::Flush {
                self.submit(Request::new(Operation::Flush, 0, request.load));
            } else {
                let think_ns = if think_s > 0.0 {
                    think_s * 1e9 * self.random.exponential()
                } else {
                    0.0
                };
                self.schedule(self.now + think_ns as Nanos, Event::Issue(request.load));
            }
        }
    }

    /// Returns the tasks that are blocked now and the nanoseconds so far in which there was at least one.
    pub(crate) fn pressure(&self) -> (u32, u64) {
        let open = if self.blocked > 0 {
            self.now - self.some_since
        } else {
            0
        };
        (self.blocked, self.some_ns + open)
    }

    /// Returns the requests of an operation that a device completed, and the seconds that they took.
    pub(crate) fn totals(&self, device: usize, operation: Operation) -> (f64, f64) {
        let (ios, nanos) = self.accounts[device].totals(operation);
        (ios as f64, nanos as f64 / 1e9)
    }

    /// Returns the columns of each device, the uppermost first.
    pub(crate) fn columns(&mut self) -> Vec<String> {
        let now = self.now;
        self.accounts
            .iter_mut()
            .map(|account| account.columns(now))
            .collect()
    }
}
