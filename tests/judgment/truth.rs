//! The true state of a simulated device, from what happened inside it.
//!
//! Definitions, for an interval and a device that counts requests:
//!
//! - **stalled**: the device answers nothing for a second or more while requests are in flight; also where requests
//!   have hung for [`MIN_HUNG_INTERVALS`] and 10 s, and are more than twice as many as the others, plus two.
//! - **capped**: a gate behind the device let pass [`BOUND_USE`] of its limit or more and held requests for
//!   [`BOUND_HELD_SHARE`] of the time or more; **throttled** as well where the gate lies between two devices or its
//!   burst credits are spent.
//! - **throttled**: the same of a gate before all devices, which themselves have nothing to wait for. `capped` is true
//!   too. A device below a gate between two devices is as its servers are.
//! - **slow**: the servers need [`SEVERE`] times as long as is usual for such requests, by their expected service time,
//!   not by the chance of single requests. Requests of a slower kind than the device's quickest, as from a cold cache,
//!   may be called slow, and need not be.
//! - **saturated**: waiting for servers and service take [`SEVERE`] times the usual service time or more, and the
//!   servers are busy for [`BUSY_SHARE`] of their time. **queueing**: [`MODERATE`] times or more.
//! - **ok**: less, in every direction with requests. **idle**: nothing completed and nothing in flight.
//!
//! Around a bound, both neighbors are accepted. An interval in which the load or the device changes has no truth.

use crate::simulator::{Observed, OperationTotals, Setup, Stage, nanos};
use crate::words::{Word, Words};

/// A gate that lets pass this share of its limit is bound by it.
const BOUND_USE: f64 = 0.97;
/// ... if it holds requests for this share of the time.
const BOUND_HELD_SHARE: f64 = 0.2;
/// Below these, a gate surely does not matter.
const NEARLY_BOUND: (f64, f64) = (0.85, 0.02);
/// Multiples of the usual time on both sides of 3: between them both neighbors are accepted.
const SEVERE: (f64, f64) = (2.7, 3.3);
/// Multiples of the usual time on both sides of 1.5.
const MODERATE: (f64, f64) = (1.35, 1.65);
/// The share of the time for which the servers of a saturated device are busy.
const BUSY_SHARE: f64 = 0.85;
/// From this multiple of the usual service time on a device may be called slow.
const MIN_SLOW: f64 = 2.0;
/// Requests at a time: with fewer than two, no request waits behind more than one other.
const HARDLY_ANY_WAITS: f64 = 2.7;
/// Requests at a time: with fewer than half, nobody waits for most of the time.
const HARDLY_ANYONE_WAITS: f64 = 0.7;
/// Fewer requests of an operation than this count only where there are no others.
const MIN_REQUESTS: u64 = 5;
/// Intervals for which requests must hang before they are surely more than slow.
const MIN_HUNG_INTERVALS: f64 = 12.0;
/// A pause of the device of this length is a stall.
pub(crate) const MIN_STALL_S: f64 = 1.0;

/// The truth about a device in an interval.
#[derive(Clone, Debug)]
pub(crate) struct Truth {
    /// The true verdicts; empty where there is none to be scored.
    pub(crate) words: Words,
    /// Something completed or was in flight.
    pub(crate) is_busy: bool,
    /// Requests were in flight and none completed. Of a second or more it may be called a stall, whatever the cause.
    pub(crate) answers_nothing: bool,
    /// The gates that limit it, or may, with their limits now.
    pub(crate) bound_gates: Vec<(usize, f64)>,
    /// Requests wait for nothing but gates above all devices, whose counters do not have them.
    pub(crate) is_hidden: bool,
    /// Nothing else is true than that a gate limits it.
    pub(crate) is_surely_capped: bool,
}

/// Returns the truth about a device in each interval. `observed` begins with the time before the first sample.
pub(crate) fn truths(setup: &Setup, observed: &[Observed], device: usize) -> Vec<Truth> {
    observed
        .windows(2)
        .map(|pair| truth(setup, &pair[0], &pair[1], device))
        .collect()
}

fn truth(setup: &Setup, before: &Observed, now: &Observed, device: usize) -> Truth {
    let (before, after) = (&before.devices[device], &now.devices[device]);
    let completed = after.completions.wrapping_sub(before.completions);
    let is_busy = completed > 0 || after.in_flight > 0;
    let answers_nothing = completed == 0 && before.in_flight > 0 && after.in_flight > 0;
    let took_ns = after.time_ns.wrapping_sub(before.time_ns);
    let queue = took_ns as f64 / (now.until - now.from) as f64;
    let bound_gates = bound_gates(now);
    let words = if has_changed(setup, now) {
        Words::NONE
    } else {
        words(setup, now, device, completed, queue)
    };
    let caps = Words::of(&[Word::Capped, Word::Throttled, Word::Slow]);
    let is_surely_capped = words.contains(Word::Capped) && words.is_within(caps);
    let first_device = setup
        .stages
        .iter()
        .position(|stage| matches!(stage, Stage::Device(_)))
        .unwrap_or(0);
    let is_above =
        |(gate, _): &(usize, f64)| setup.stages[..first_device].contains(&Stage::Gate(*gate));
    let is_hidden = is_surely_capped && !bound_gates.is_empty() && bound_gates.iter().all(is_above);
    Truth {
        words,
        is_busy,
        answers_nothing,
        bound_gates,
        is_hidden,
        is_surely_capped,
    }
}

fn bound_gates(now: &Observed) -> Vec<(usize, f64)> {
    let may_be_bound = |gate: usize| {
        now.gates[gate].use_of_limit >= NEARLY_BOUND.0
            && now.gates[gate].held_share >= NEARLY_BOUND.1
    };
    (0..now.gates.len())
        .filter(|gate| may_be_bound(*gate))
        .map(|gate| (gate, now.gates[gate].limit))
        .collect()
}

/// Returns whether the load or the device changes in an interval.
fn has_changed(setup: &Setup, now: &Observed) -> bool {
    let is_within = |second: f64| {
        let at = nanos(setup.warm_up_s + second);
        second.is_finite() && at > now.from && at <= now.until
    };
    let loads = setup
        .loads
        .iter()
        .flat_map(|load| [load.from_s, load.until_s]);
    let slowdowns = setup
        .station
        .slowdowns
        .iter()
        .flat_map(|one| [one.from_s, one.until_s]);
    let hung = setup
        .hung
        .iter()
        .flat_map(|hung| [hung.from_s, hung.until_s]);
    let cold = setup.station.cache.iter().map(|cache| cache.cold_from_s);
    let others = setup
        .leak
        .iter()
        .map(|leak| leak.0)
        .chain(setup.replaced_at_s);
    let stalls = setup
        .station
        .pauses_s
        .iter()
        .filter(|(from, until)| until - from >= MIN_STALL_S);
    let stalls = stalls.flat_map(|(from, until)| [*from, *until]);
    loads
        .chain(slowdowns)
        .chain(hung)
        .chain(cold)
        .chain(others)
        .chain(stalls)
        .any(is_within)
        || now.gates.iter().any(|gate| gate.has_changed)
}

fn words(setup: &Setup, now: &Observed, device: usize, completed: u64, queue: f64) -> Words {
    let in_flight = now.devices[device].in_flight;
    let stall = setup.station.pauses_s.iter().find(|(from, until)| {
        let time = |second: f64| nanos(setup.warm_up_s + second);
        until - from >= MIN_STALL_S && time(*from) <= now.from && now.until <= time(*until)
    });
    if let Some((from, _)) = stall
        && in_flight > 0
        && completed == 0
    {
        let lasted = now.until - nanos(setup.warm_up_s + from);
        let is_long = lasted as f64 >= (MIN_STALL_S + 0.1) * 1e9;
        return if is_long {
            Words::of(&[Word::Stalled])
        } else {
            Words::NONE
        };
    }
    let leaked = setup.leak.map_or(
        0,
        |(at, requests)| if reached(setup, now, at) { requests } else { 0 },
    );
    let others = in_flight - leaked - u64::from(now.hung);
    let base = if completed > 0 {
        worse_of_gates_and_servers(setup, now, device, queue)
    } else if others == 0 {
        Words::of(&[Word::Idle])
    } else {
        Words::NONE
    };
    let stalled = Words::of(&[Word::Stalled]);
    if now.hung > 0 {
        return hung_words(setup, now, others, base);
    }
    if leaked == 0 || base.is_empty() {
        base
    } else {
        base.or(stalled).or(Words::of(&[Word::Ok]))
    }
}

fn reached(setup: &Setup, now: &Observed, second: f64) -> bool {
    now.until >= nanos(setup.warm_up_s + second)
}

fn hung_words(setup: &Setup, now: &Observed, others: u64, base: Words) -> Words {
    let stalled = Words::of(&[Word::Stalled]);
    let for_s = setup.hung.map_or(0.0, |hung| {
        now.until as f64 / 1e9 - setup.warm_up_s - hung.from_s
    });
    let is_long = for_s >= (MIN_HUNG_INTERVALS * setup.interval_s).max(10.0);
    let is_most = u64::from(now.hung) >= 2 * others + 2;
    if is_long && is_most {
        stalled
    } else if base.is_within(Words::of(&[Word::Idle])) {
        // Nothing but requests that hang, for a short time.
        if for_s >= 2.0 * setup.interval_s + MIN_STALL_S {
            stalled
        } else {
            Words::NONE
        }
    } else {
        base.or(stalled)
    }
}

fn worse_of_gates_and_servers(setup: &Setup, now: &Observed, device: usize, queue: f64) -> Words {
    let servers = words_of_servers(setup, now, queue);
    let own_stage = setup
        .stages
        .iter()
        .position(|stage| *stage == Stage::Device(device))
        .unwrap_or(0);
    let mut words = servers;
    for (gate, state) in now.gates.iter().enumerate() {
        let stage = setup
            .stages
            .iter()
            .position(|stage| *stage == Stage::Gate(gate))
            .unwrap_or(0);
        let is_device = |one: &Stage| matches!(one, Stage::Device(_));
        let is_below_a_device = setup.stages[..stage].iter().any(is_device);
        if stage < own_stage && is_below_a_device {
            // It shows at the device above it.
            continue;
        }
        let is_between = stage > own_stage && setup.stages[stage..].iter().any(is_device);
        let mut limited = Words::of(&[Word::Capped]);
        if stage < own_stage || is_between || state.has_spent_credits {
            limited = limited.or(Words::of(&[Word::Throttled]));
        }
        if state.has_spent_credits {
            limited = limited.or(Words::of(&[Word::Slow]));
        }
        if queue < HARDLY_ANY_WAITS {
            limited = limited.or(Words::of(&[Word::Ok]));
        }
        let is_bound = state.use_of_limit >= BOUND_USE && state.held_share >= BOUND_HELD_SHARE;
        let may_be_bound =
            state.use_of_limit >= NEARLY_BOUND.0 && state.held_share >= NEARLY_BOUND.1;
        if is_bound {
            let is_calm = words.is_within(Words::of(&[Word::Ok, Word::Queueing, Word::Slow]));
            words = if is_calm { limited } else { words.or(limited) };
        } else if may_be_bound {
            words = words.or(limited).or(Words::of(&[Word::Queueing]));
        }
    }
    words
}

/// Returns the truth about the servers alone: that of the operation that fares worst.
fn words_of_servers(setup: &Setup, now: &Observed, queue: f64) -> Words {
    let most = now
        .operations
        .iter()
        .map(|one| one.requests)
        .max()
        .unwrap_or(0);
    let counts = |one: &&OperationTotals| one.requests >= MIN_REQUESTS.min(most).max(1);
    let elapsed_ns = (now.until - now.from) as f64;
    let always_was_so = setup
        .station
        .slowdowns
        .iter()
        .any(|one| one.from_s == f64::NEG_INFINITY);
    let words_of = |one: &OperationTotals| {
        let words = words_of_operation(one, now.utilization);
        let operation_queue = (one.wait_ns + one.state_ns) / elapsed_ns;
        let hardly_matters =
            operation_queue < HARDLY_ANYONE_WAITS || queue < HARDLY_ANY_WAITS && always_was_so;
        if hardly_matters && words.contains(Word::Slow) {
            words.or(Words::of(&[Word::Ok]))
        } else {
            words
        }
    };
    let words = now.operations.iter().filter(counts).map(words_of);
    words.reduce(Words::worse).unwrap_or(Words::NONE)
}

fn words_of_operation(one: &OperationTotals, utilization: f64) -> Words {
    use Word::{Ok, Queueing, Saturated, Slow};
    let slowdown = one.state_ns / one.usual_ns;
    let waiting = one.wait_ns / one.state_ns;
    let stretch = (one.wait_ns + one.state_ns) / one.usual_ns;
    if slowdown >= MIN_SLOW {
        return if slowdown < SEVERE.1 {
            let words: &[Word] = if stretch >= SEVERE.1 { &[] } else { &[Ok] };
            Words::of(words).or(Words::of(&[Queueing, Slow, Saturated]))
        } else if waiting < 0.5 {
            Words::of(&[Slow])
        } else if waiting < SEVERE.1 - 1.0 {
            Words::of(&[Slow, Saturated, Queueing])
        } else {
            Words::of(&[Slow, Saturated])
        };
    }
    let words = if stretch >= SEVERE.1 && utilization >= BUSY_SHARE {
        Words::of(&[Saturated])
    } else if stretch >= SEVERE.0 {
        Words::of(&[Saturated, Queueing])
    } else if stretch >= MODERATE.1 {
        Words::of(&[Queueing])
    } else if stretch >= MODERATE.0 {
        Words::of(&[Queueing, Ok])
    } else {
        Words::of(&[Ok])
    };
    let is_slower_kind = one.usual_ns >= MIN_SLOW * one.best_ns;
    if is_slower_kind && stretch < SEVERE.1 {
        words.or(Words::of(&[Slow]))
    } else {
        words
    }
}
