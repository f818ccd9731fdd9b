//! From episodes to incidents: those of one cause, at one time, of devices that lie on one another.

use super::cause::are_stacked;
use super::episodes::Episode;
use super::second_cause::SecondCause;
use crate::judge::PATIENCE_S;
use crate::topology::Topology;

/// Half of the shorter of two episodes must lie within the other, and begin and end may be seen so late.
const HALF: f64 = 0.5;
const LATE_S: f64 = 1.5;
/// Steps without a bad one that a stall may have.
const STALL_STEPS: f64 = 1.6;

/// The episodes of an incident, by their indices, in the order of their beginnings.
#[derive(Clone, Debug)]
pub(super) struct Joined {
    pub(super) cause: SecondCause,
    pub(super) begin_s: f64,
    pub(super) end_s: f64,
    pub(super) episodes: Vec<usize>,
}

/// Joins episodes. `place` is that of a device among all devices.
pub(super) fn join(
    episodes: &[Episode],
    place: impl Fn(&str) -> usize,
    topology: &Topology,
) -> Vec<Joined> {
    let mut order: Vec<usize> = (0..episodes.len())
        .filter(|at| episodes[*at].is_certain())
        .collect();
    order.sort_by(|a, b| {
        let (a, b) = (&episodes[*a], &episodes[*b]);
        let begins = a.begin_s().total_cmp(&b.begin_s());
        begins
            .then_with(|| place(&a.device).cmp(&place(&b.device)))
            .then(a.id.cmp(&b.id))
    });
    let mut incidents: Vec<Joined> = Vec::new();
    for at in order {
        let episode = &episodes[at];
        let joined = incidents
            .iter_mut()
            .find(|one| one.takes(episode, episodes, topology));
        match joined {
            Some(one) => one.add(at, episode),
            None => incidents.push(Joined {
                cause: episode.cause.clone(),
                begin_s: episode.begin_s(),
                end_s: episode.end_s(),
                episodes: vec![at],
            }),
        }
    }
    incidents
}

impl Joined {
    /// Returns whether it goes on. A stall is over when a request completes.
    pub(super) fn goes_on(&self, now_s: f64, step_s: f64) -> bool {
        let patience_s = if self.cause.is_stall() {
            STALL_STEPS * step_s
        } else {
            PATIENCE_S.max(2.0 * step_s)
        };
        now_s - self.end_s < patience_s
    }

    /// Returns whether an episode that begins later is part of it.
    fn takes(&self, episode: &Episode, episodes: &[Episode], topology: &Topology) -> bool {
        let (begin_s, end_s) = (episode.begin_s(), episode.end_s());
        let is_same = self.cause == episode.cause;
        let is_alike = self.cause.is_of_load() && episode.cause.is_of_load()
            || self.cause.is_stall() && episode.cause.is_stall();
        // Noise before, for lack of CPU, is not the beginning of a queue.
        let is_later_queue = self.cause == SecondCause::Cpu
            && episode.cause == SecondCause::Queue
            && begin_s - self.begin_s > PATIENCE_S;
        if !is_same && !is_alike || is_later_queue {
            return false;
        }
        let common_s = end_s.min(self.end_s) - begin_s.max(self.begin_s);
        let is_stacked = || {
            let mut members = self.episodes.iter();
            members.any(|at| are_stacked(&episodes[*at].device, &episode.device, topology))
        };
        if episode.cause.is_stated() {
            return common_s >= -PATIENCE_S && (is_same || is_stacked());
        }
        // A queue goes over into a constant rate, and back.
        let goes_over =
            |cause: &SecondCause| matches!(cause, SecondCause::Queue | SecondCause::Capped);
        let mut members = self.episodes.iter();
        if goes_over(&self.cause)
            && goes_over(&episode.cause)
            && common_s >= -PATIENCE_S
            && members.any(|at| episodes[*at].device == episode.device)
        {
            return true;
        }
        let shorter_s = (end_s - begin_s).min(self.end_s - self.begin_s);
        common_s >= (HALF * shorter_s - LATE_S).max(-LATE_S) && is_stacked()
    }

    /// Adds an episode. One that says more gives the incident its cause.
    fn add(&mut self, at: usize, episode: &Episode) {
        let begin_s = episode.begin_s();
        self.end_s = self.end_s.max(episode.end_s());
        self.episodes.push(at);
        let says_more = matches!(self.cause, SecondCause::Cpu | SecondCause::Used)
            && matches!(episode.cause, SecondCause::Queue | SecondCause::Capped);
        if says_more || matches!(episode.cause, SecondCause::Suspended(_)) {
            self.cause = episode.cause.clone();
            self.begin_s = if begin_s - self.begin_s <= PATIENCE_S {
                self.begin_s.min(begin_s)
            } else {
                begin_s
            };
        }
    }
}
