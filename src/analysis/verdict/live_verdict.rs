//! The verdict on a device after every interval.

use std::cmp::Reverse;
use std::collections::VecDeque;

use super::hung_requests::{Hung, HungRequests, is_stall};
use super::load_verdict::{DirectionAssessment, LoadAssessment};
use super::{Assessment, Evidence, Latency, Verdict};
use crate::analysis::baseline::{Baselines, SinceBoot};
use crate::analysis::caps::{CurrentPlateau, SharedLimit, seconds_on_plateau};
use crate::analysis::load::{IoDirection, LoadSample, RecentLoads};
use crate::analysis::peers::SlowBesidePeers;
use crate::analysis::settings::Settings;
use crate::analysis::thresholds::{
    MIN_CONFIRMATIONS, MIN_INTERVAL_REQUESTS, MIN_QUEUEING_SATURATION, MIN_RECOVERED_INTERVALS,
    MIN_SATURATED_QUEUE, SATURATION_WINDOW_INTERVALS, STILL_SATURATED_FRACTION,
};
use crate::metrics::{HostStats, Interval};

/// Findings about a device that take other devices to see.
#[derive(Clone, Debug, Default)]
pub struct Beside<'a> {
    /// It is slower than its peers.
    pub slow: Option<&'a SlowBesidePeers>,
    /// It shares this limit, which was reached up to the interval before.
    pub shared_limit: Option<SharedLimit>,
}

/// Assesses a device after every interval, from the intervals so far, in bounded memory.
#[derive(Clone, Debug, Default)]
pub struct LiveVerdict {
    settings: Settings,
    baselines: Baselines,
    recent: RecentLoads,
    plateau: CurrentPlateau,
    debounce: Debounce,
    hung: HungRequests,
    intervals: f64,
}

impl LiveVerdict {
    /// The verdict on a device before its first interval, with the baselines that `settings` give for it and its
    /// counters at the first sample.
    pub fn new(settings: &Settings, since_boot: SinceBoot) -> Self {
        Self {
            settings: settings.clone(),
            baselines: Baselines::default().with_given(settings, since_boot),
            ..Self::default()
        }
    }

    /// Assesses the interval that has just ended. `stalled_s` is the length of the current stall in seconds, as
    /// [`crate::metrics::StallTimer::observe`] returns it for this interval; `host` is the host in the interval, and
    /// `beside` what other devices show.
    pub fn observe(
        &mut self,
        stats: &Interval,
        stalled_s: f64,
        host: &HostStats,
        beside: Beside<'_>,
    ) -> Assessment {
        let mut assessment = Assessment::default();
        self.intervals += 1.0;
        let hung = self.hung.observe(stats, host);
        if self.assess_without_io(stats, stalled_s, &mut assessment) {
            assessment.verdict = self
                .debounce
                .confirm(assessment.verdict, stats.seconds(), 0.0);
            return assessment;
        }
        let Some(load) = LoadSample::of(stats, host, self.intervals) else {
            assessment.evidence.push(Evidence::NoLatency);
            return assessment;
        };
        let assessed =
            LoadAssessment::of(&load, &self.baselines, self.settings.saturation_threshold);
        // The baselines learn after the assessment: an interval must not be compared with itself.
        self.baselines
            .learn(&load, |direction| assessed.is_slow(direction));
        self.recent.push(load);
        assess_directions(&assessed, &mut assessment);
        let mut verdict = self.still_in_trouble(&assessed);
        let mut lasted_s = None;
        if let Some(plateau) =
            self.plateau
                .observe(&self.recent, self.settings.cap, &self.settings.device)
        {
            verdict = Some(Verdict::Capped);
            lasted_s = Some(seconds_on_plateau(&plateau, self.recent.iter()));
            assessment
                .evidence
                .insert(0, Evidence::ConstantRate(plateau));
        }
        if let Some(hung) = hung {
            let Hung {
                requests,
                for_s,
                may_be_leaked,
                may_be_bursts,
            } = hung;
            assessment.evidence.insert(
                0,
                Evidence::Hung {
                    requests,
                    for_s,
                    may_be_leaked,
                    may_be_bursts,
                },
            );
            verdict = match verdict {
                _ if hung.is_certain() => Some(Verdict::Stalled),
                Some(Verdict::Ok) => None,
                other => other,
            };
            if verdict == Some(Verdict::Stalled) {
                lasted_s = Some(for_s);
            }
        }
        let requests = load.totals(IoDirection::Both).ios;
        assessment.verdict = self.debounce.confirm(verdict, stats.seconds(), requests);
        let trouble_s = self.debounce.trouble_s();
        assessment.lasted_s = lasted_s.or((trouble_s > 0.0).then_some(trouble_s));
        if let Some(unconfirmed) = verdict.filter(|_| assessment.verdict.is_none()) {
            assessment
                .evidence
                .insert(0, Evidence::Unconfirmed(unconfirmed));
        }
        if let Some(slow) = beside.slow.filter(|_| requests >= MIN_INTERVAL_REQUESTS) {
            assessment.note_slow_beside_peers(slow);
        }
        if let Some(limit) = beside
            .shared_limit
            .filter(|_| load.total_queue() >= MIN_SATURATED_QUEUE)
        {
            assessment.note_shared_limit(limit);
        }
        assessment
    }

    /// Marks a break in time: the next interval does not follow the latest. Baselines stay.
    pub fn interrupt(&mut self) {
        self.recent.clear();
        self.plateau = CurrentPlateau::default();
        self.debounce = Debounce::default();
        self.hung.clear();
    }

    /// Assesses an interval without completed requests. Returns `false` if requests were completed.
    fn assess_without_io(
        &self,
        stats: &Interval,
        stalled_s: f64,
        assessment: &mut Assessment,
    ) -> bool {
        let (verdict, evidence) = if stats.is_idle() {
            (Some(Verdict::Idle), Evidence::Idle)
        } else if stats.completed() == 0 {
            let in_flight = stats.in_flight.unwrap_or(0);
            let may_be_leaked = self.hung.may_be_leaked();
            let is_stall = is_stall(stalled_s, |count| {
                self.recent.iter().rev().take(count).collect()
            });
            let verdict = (is_stall && !may_be_leaked).then_some(Verdict::Stalled);
            (
                verdict,
                Evidence::NothingCompleted {
                    in_flight,
                    for_s: stalled_s,
                    may_be_leaked,
                },
            )
        } else {
            return false;
        };
        assessment.verdict = verdict;
        assessment.lasted_s = (stalled_s > 0.0).then_some(stalled_s);
        assessment.evidence.push(evidence);
        true
    }

    /// The verdict on the interval by itself; the present verdict stays if a device in trouble has become only a little
    /// faster.
    fn still_in_trouble(&self, assessed: &LoadAssessment) -> Option<Verdict> {
        let threshold = self.settings.saturation_threshold;
        let (present, milder, threshold) = match self.debounce.present {
            Some(Verdict::Saturated) => (Verdict::Saturated, Verdict::Queueing, threshold),
            Some(Verdict::Queueing) => (Verdict::Queueing, Verdict::Ok, MIN_QUEUEING_SATURATION),
            Some(Verdict::Slow) => (Verdict::Slow, Verdict::Ok, threshold),
            _ => return assessed.verdict,
        };
        // If one direction is slow, requests of another may still wait for each other.
        let is_slow_meanwhile =
            present == Verdict::Saturated && assessed.verdict == Some(Verdict::Slow);
        if is_slow_meanwhile && assessed.is_unknown {
            return None;
        }
        let min_saturation = STILL_SATURATED_FRACTION * threshold;
        let is_still = (assessed.verdict == Some(milder) || is_slow_meanwhile)
            && assessed.directions().any(|one| {
                one.verdict == Ok(milder)
                    && one
                        .saturation
                        .is_some_and(|(saturation, _)| saturation >= min_saturation)
            });
        if is_still {
            Some(present)
        } else {
            assessed.verdict
        }
    }
}

/// Sets the saturations and the evidence of a load, but not the verdict.
fn assess_directions(assessed: &LoadAssessment, assessment: &mut Assessment) {
    // The most severe direction comes first.
    let severity = |one: &DirectionAssessment| one.verdict.ok().map_or(0, Verdict::severity);
    let mut directions = assessed.directions.each_ref();
    directions.sort_by_key(|one| Reverse(one.as_ref().map_or(0, severity)));
    // In most intervals, at most one more piece of evidence comes before these.
    assessment.evidence.reserve_exact(directions.len() + 1);
    for one in directions.into_iter().flatten() {
        if one.is_major || one.saturation.is_some() {
            assessment.evidence.push(Evidence::Latency {
                direction: one.direction,
                latency: Latency {
                    await_ms: one.await_ms,
                    queue: one.queue,
                    saturation: one.saturation.map(|(saturation, _)| saturation),
                },
                source: one.saturation.map(|(_, source)| source),
                doubt: one.verdict.err(),
            });
        }
    }
    let saturation = |one: &Option<DirectionAssessment>| Some(one.as_ref()?.saturation?.0);
    // In the order of `Baselines::DIRECTIONS`.
    [
        assessment.read_saturation,
        assessment.write_saturation,
        assessment.flush_saturation,
    ] = assessed.directions.each_ref().map(saturation);
    assessment.baseline_source = assessed.decisive_saturation().map(|(_, _, source)| source);
}

/// Confirms the verdicts on single intervals. An interval whose verdict differs from the present one and is not
/// confirmed yet gets no verdict: a wrong one would be worse.
#[derive(Clone, Debug, Default)]
pub(super) struct Debounce {
    /// The latest verdict that was confirmed.
    present: Option<Verdict>,
    latest: VecDeque<JudgedInterval>,
}

/// The verdict on an interval by itself.
#[derive(Clone, Copy, Debug)]
struct JudgedInterval {
    verdict: Option<Verdict>,
    seconds: f64,
    /// The reads and writes completed in it.
    requests: f64,
}

impl Debounce {
    /// Takes the verdict on an interval by itself, with its length in seconds and the number of its requests, and returns
    /// the confirmed verdict; `None` if no verdict is confirmed.
    pub(super) fn confirm(
        &mut self,
        verdict: Option<Verdict>,
        seconds: f64,
        requests: f64,
    ) -> Option<Verdict> {
        if self.latest.len() == SATURATION_WINDOW_INTERVALS {
            self.latest.pop_front();
        }
        self.latest.push_back(JudgedInterval {
            verdict,
            seconds,
            requests,
        });
        let verdict = verdict?;
        if self.present == Some(verdict) || self.is_confirmed(verdict) {
            self.present = Some(verdict);
            return self.present;
        }
        // Requests wait for each other in any case: one interval makes neither more nor less of it.
        let is_waiting = |verdict| matches!(verdict, Verdict::Queueing | Verdict::Saturated);
        self.present
            .filter(|present| is_waiting(*present) && is_waiting(verdict))
    }

    /// Returns the total seconds of the latest consecutive intervals that showed trouble, as far as they are
    /// remembered.
    pub(super) fn trouble_s(&self) -> f64 {
        let in_trouble = |one: &&JudgedInterval| one.verdict.is_some_and(Verdict::is_trouble);
        self.latest
            .iter()
            .rev()
            .take_while(in_trouble)
            .map(|one| one.seconds)
            .sum()
    }

    fn is_confirmed(&self, verdict: Verdict) -> bool {
        let was_in_trouble = self.present.is_some_and(Verdict::is_trouble);
        let has_few_requests = self
            .latest
            .back()
            .is_none_or(|one| one.requests < MIN_INTERVAL_REQUESTS);
        let needed = match verdict {
            // These verdicts are certain from a single interval, or were found over several.
            Verdict::Idle
            | Verdict::Stalled
            | Verdict::Throttled
            | Verdict::Capped
            | Verdict::AccountingOff => 1,
            Verdict::Ok if was_in_trouble => MIN_RECOVERED_INTERVALS,
            // A few requests now and then do not end that a device is idle.
            Verdict::Ok if has_few_requests && self.present == Some(Verdict::Idle) => {
                MIN_RECOVERED_INTERVALS
            }
            Verdict::Ok => 1,
            Verdict::Queueing | Verdict::Slow | Verdict::Saturated => MIN_CONFIRMATIONS,
        };
        let is_saturated = |one: &JudgedInterval| one.verdict == Some(Verdict::Saturated);
        // A device whose latency is about the threshold stays saturated.
        if (verdict, self.present) == (Verdict::Queueing, Some(Verdict::Saturated))
            && self.latest.iter().any(is_saturated)
        {
            return false;
        }
        // A saturated device also queues.
        let supports = |one: &&JudgedInterval| match one.verdict {
            Some(Verdict::Saturated | Verdict::Capped) if verdict == Verdict::Queueing => true,
            other => other == Some(verdict),
        };
        let supporting = || self.latest.iter().filter(supports);
        // A few requests that happen to be slow show nothing, however many intervals they are spread over.
        let min_requests = if verdict == Verdict::Slow {
            MIN_INTERVAL_REQUESTS
        } else {
            0.0
        };
        supporting().count() >= needed
            && supporting().map(|one| one.requests).sum::<f64>() >= min_requests
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Idle, Ok, Queueing, Saturated};

    fn confirmed(verdicts: &[Verdict]) -> Vec<Option<Verdict>> {
        let mut debounce = Debounce::default();
        verdicts
            .iter()
            .map(|verdict| debounce.confirm(Some(*verdict), 1.0, 100.0))
            .collect()
    }

    #[test]
    fn one_odd_interval_changes_nothing() {
        let found = confirmed(&[Ok, Saturated, Ok, Ok, Saturated, Saturated, Ok, Saturated]);
        let ok = Some(Ok);
        assert_eq!(found, [ok, None, ok, ok, None, None, ok, Some(Saturated)]);
    }

    #[test]
    fn the_end_of_trouble_takes_two_intervals() {
        let found = confirmed(&[Saturated, Saturated, Saturated, Ok, Ok, Idle]);
        assert_eq!(found[2..], [Some(Saturated), None, Some(Ok), Some(Idle)]);
    }

    #[test]
    fn the_beginning_of_trouble_is_the_first_of_the_intervals_in_a_row_that_show_it() {
        let mut debounce = Debounce::default();
        let mut trouble_s = |verdict| {
            debounce.confirm(verdict, 2.0, 100.0);
            debounce.trouble_s()
        };
        let verdicts = [
            Some(Ok),
            Some(Queueing),
            Some(Saturated),
            Some(Saturated),
            None,
            Some(Saturated),
        ];
        assert_eq!(verdicts.map(&mut trouble_s), [0.0, 2.0, 4.0, 6.0, 0.0, 2.0]);
    }

    #[test]
    fn saturated_intervals_support_queueing() {
        let found = confirmed(&[Saturated, Queueing, Saturated, Queueing]);
        assert_eq!(found, [None, None, None, Some(Queueing)]);
    }
}
