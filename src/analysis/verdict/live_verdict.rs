//! The verdict on a device after every interval.

use std::cmp::Reverse;

use super::debounce::Debounce;
use super::hung_requests::{Hung, HungRequests};
use super::load_verdict::{DirectionAssessment, Doubt, LoadAssessment};
use super::stall::is_stall;
use super::{Assessment, Evidence, Latency, Verdict};
use crate::analysis::baseline::{Baselines, SinceBoot};
use crate::analysis::caps::{CurrentPlateau, near_limit_of_latest, seconds_on_plateau};
use crate::analysis::load::{LoadSample, RecentLoads};
use crate::analysis::settings::Settings;
use crate::analysis::thresholds::{MIN_CHANGED_INTERVALS, STILL_SATURATED_FRACTION};
use crate::metrics::{HostStats, Interval};

/// Assesses a device after every interval, from the intervals so far, in bounded memory.
#[derive(Clone, Debug, Default)]
pub struct LiveVerdict {
    settings: Settings,
    baselines: Baselines,
    recent: RecentLoads,
    plateau: CurrentPlateau,
    debounce: Debounce,
    hung: HungRequests,
    /// Number of latest consecutive intervals in which requests were of another kind than those of the baseline.
    changed_intervals: u32,
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
    /// [`crate::metrics::StallTimer::observe`] returns it for this interval; `host` is the host in the interval.
    pub fn observe(&mut self, stats: &Interval, stalled_s: f64, host: &HostStats) -> Assessment {
        let mut assessment = Assessment::default();
        self.intervals += 1.0;
        let hung = self.hung.observe(stats, host);
        if self.assess_without_io(stats, stalled_s, &mut assessment) {
            assessment.verdict = self.debounce.confirm(assessment.verdict, stats.seconds());
            return assessment;
        }
        let Some(load) = LoadSample::of(stats, host, self.intervals) else {
            assessment.evidence.push(Evidence::NoLatency);
            return assessment;
        };
        let mut assessed = LoadAssessment::of(&load, &self.baselines, self.settings.saturation_threshold);
        if self.settings.device.is_hard_disk {
            assessed = assessed.at_hard_disk(&load, self.settings.saturation_threshold);
        }
        // The baselines learn after the assessment: an interval must not be compared with itself.
        self.baselines.learn(&load, |direction| assessed.is_slow(direction));
        self.forget_changed_requests(&load, &assessed);
        self.recent.push(load);
        assess_directions(&assessed, &mut assessment);
        if let Some(deep_queue) = assessed.deep_queue {
            assessment.evidence.insert(0, Evidence::DeepQueue(deep_queue));
        }
        let mut verdict = self.still_in_trouble(&assessed);
        let mut lasted_s = None;
        if let Some(plateau) = self.plateau.observe(&self.recent, self.settings.cap, &self.settings.device) {
            verdict = Some(Verdict::Capped);
            lasted_s = Some(seconds_on_plateau(&plateau, self.recent.iter()));
            assessment.evidence.insert(0, Evidence::ConstantRate(plateau));
        }
        if let Some(hung) = hung {
            let Hung { requests, for_s, may_be_leaked, may_be_bursts } = hung;
            assessment.evidence.insert(0, Evidence::Hung { requests, for_s, may_be_leaked, may_be_bursts });
            verdict = match verdict {
                _ if hung.is_certain() => Some(Verdict::Stalled),
                Some(Verdict::Ok) => None,
                other => other,
            };
            if verdict == Some(Verdict::Stalled) {
                lasted_s = Some(for_s);
            }
        }
        assessment.verdict = self.debounce.confirm(verdict, stats.seconds());
        let trouble_s = self.debounce.trouble_s();
        assessment.lasted_s = lasted_s.or((trouble_s > 0.0).then_some(trouble_s));
        if let Some(unconfirmed) = verdict.filter(|_| assessment.verdict.is_none()) {
            assessment.evidence.insert(0, Evidence::Unconfirmed(unconfirmed));
        }
        if matches!(assessment.verdict, None | Some(Verdict::Saturated | Verdict::Queueing)) {
            let near_limit = near_limit_of_latest(&self.recent, &self.settings.device);
            assessment.evidence.extend(near_limit.map(Evidence::NearLimit));
        }
        assessment
    }

    /// Marks a break in time: the next interval does not follow the latest. Baselines stay.
    pub fn interrupt(&mut self) {
        self.recent.clear();
        self.plateau.clear();
        self.debounce.clear();
        self.hung.clear();
    }

    /// Assesses an interval without completed requests. Returns `false` if requests were completed.
    fn assess_without_io(&self, stats: &Interval, stalled_s: f64, assessment: &mut Assessment) -> bool {
        let (verdict, evidence) = if stats.is_idle() {
            (Some(Verdict::Idle), Evidence::Idle)
        } else if stats.completed() == 0 {
            let in_flight = stats.in_flight.unwrap_or(0);
            let may_be_leaked = self.hung.may_be_leaked();
            let is_stall = is_stall(stalled_s, |count| self.recent.iter().rev().take(count).collect());
            let verdict = (is_stall && !may_be_leaked).then_some(Verdict::Stalled);
            (verdict, Evidence::NothingCompleted { in_flight, for_s: stalled_s, may_be_leaked })
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
        let (present, milder) = match self.debounce.present() {
            Some(Verdict::Saturated) => (Verdict::Saturated, Verdict::Queueing),
            Some(Verdict::Slow) => (Verdict::Slow, Verdict::Ok),
            _ => return assessed.verdict,
        };
        let min_saturation = STILL_SATURATED_FRACTION * self.settings.saturation_threshold;
        let is_still = assessed.verdict == Some(milder)
            && assessed.directions().any(|one| {
                one.verdict == Ok(milder)
                    && one.saturation.is_some_and(|(saturation, _)| saturation >= min_saturation)
            });
        if is_still { Some(present) } else { assessed.verdict }
    }

    /// Forgets the baseline if requests have been of another kind for a while: from now on they are compared with their
    /// own kind.
    fn forget_changed_requests(&mut self, load: &LoadSample, assessed: &LoadAssessment) {
        let fell = |doubt: Doubt| matches!(doubt, Doubt::RateFell { .. });
        let is_changed = |one: &&DirectionAssessment| one.is_major && one.verdict.is_err_and(fell);
        let mut changed = assessed.directions().filter(is_changed).map(|one| one.direction).peekable();
        self.changed_intervals = if changed.peek().is_none() { 0 } else { self.changed_intervals + 1 };
        if self.changed_intervals >= MIN_CHANGED_INTERVALS {
            self.changed_intervals = 0;
            for direction in changed {
                let size_kib = load.totals(direction).size_kib().unwrap_or_default();
                self.baselines.of_mut(direction).forget(size_kib);
            }
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
    [assessment.read_saturation, assessment.write_saturation, assessment.flush_saturation] =
        assessed.directions.each_ref().map(saturation);
    assessment.baseline_source = assessed.baseline_source();
}
