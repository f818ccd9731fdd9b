//! An event: a time in which a device was in trouble, with one verdict or several such times merged.

use std::sync::Arc;

use crate::analysis::{Evidence, IoDirection, TroubleSpan, Verdict};
use crate::intervals::{Cause, DeviceActivity, DeviceNames, Moment, RunClock, TopCgroup};
use crate::metrics::Interval;

/// Less than any interval, more than the rounding error of a sum of seconds.
pub(super) const TOLERANCE_S: f64 = 1e-3;

/// A verdict within an event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Course {
    pub verdict: Verdict,
    pub begin: Moment,
    /// Seconds from its onset to the end of the last interval with it.
    pub duration_s: f64,
}

/// A time in which one device was in trouble: one verdict, or several such times merged. What it suffered from, since
/// when and because of whom is its incident's.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub names: Arc<DeviceNames>,
    /// The worst verdict, and the seconds with it.
    pub verdict: Verdict,
    pub verdict_s: f64,
    /// The onset, and whether it was observed: those of the incident where the device suffers from it.
    pub begin: Moment,
    pub begin_is_known: bool,
    pub end: Moment,
    pub is_ongoing: bool,
    /// The verdicts with their onsets, where they changed on the way.
    pub course: Vec<Course>,
    /// The number of its incident; `None` if the requests only wait for each other a little.
    pub incident: Option<u64>,
    pub(super) figures: Figures,
    /// The most certain cause that the device itself shows.
    pub(super) cause: Option<Cause>,
}

impl Event {
    /// A phase from its onset to the end of the interval in which its verdict was claimed.
    pub(super) fn new(
        names: &Arc<DeviceNames>,
        verdict: Verdict,
        (begin, end): (Moment, Moment),
        figures: Figures,
        cause: Option<Cause>,
    ) -> Self {
        let verdict_s = end.run_s - begin.run_s;
        Self {
            names: Arc::clone(names),
            verdict,
            verdict_s,
            begin,
            begin_is_known: true,
            end,
            is_ongoing: false,
            course: vec![Course {
                verdict,
                begin,
                duration_s: verdict_s,
            }],
            incident: None,
            figures,
            cause,
        }
    }

    pub(super) fn duration_s(&self) -> f64 {
        self.end.run_s - self.begin.run_s
    }

    /// Its seconds, each weighted by its verdict, so that a long time at a limit counts more than a short stall.
    pub(super) fn trouble_s(&self) -> f64 {
        let known_s: f64 = self.course.iter().map(|one| one.duration_s).sum();
        let weighted_s: f64 = self
            .course
            .iter()
            .map(|one| one.duration_s * verdict_weight(one.verdict))
            .sum();
        weighted_s + (self.duration_s() - known_s).max(0.0) * verdict_weight(Verdict::Queueing)
    }

    /// Adds another interval with its verdict.
    pub(super) fn extend(&mut self, end: Moment, figures: &Figures, cause: Option<Cause>) {
        self.set_end(end);
        self.figures.add(figures);
        // Errors are counted, and a limit may be changed.
        if let Some(cause) = cause
            && self.cause.as_ref().is_none_or(|known| {
                cause.rank() > known.rank() || cause.rank() == known.rank() && !cause.is_of_victim()
            })
        {
            self.cause = Some(cause);
        }
    }

    /// Moves the end of a phase that has one verdict.
    pub(super) fn set_end(&mut self, end: Moment) {
        self.end = end;
        self.verdict_s = self.duration_s();
        if let Some(last) = self.course.last_mut() {
            last.duration_s = end.run_s - last.begin.run_s;
        }
    }

    /// Changes the seconds of all moments.
    pub(super) fn shift(&mut self, seconds: f64) {
        let own = [&mut self.begin, &mut self.end];
        let moments = own
            .into_iter()
            .chain(self.course.iter_mut().map(|one| &mut one.begin));
        moments.for_each(|moment| moment.run_s += seconds);
    }

    /// Gives a phase the worse verdict of a span that it lies in.
    pub(super) fn raise(&mut self, span: &TroubleSpan) {
        self.verdict = span.verdict;
        self.verdict_s = self.duration_s();
        self.course = vec![Course {
            verdict: span.verdict,
            begin: self.begin,
            duration_s: self.verdict_s,
        }];
        self.cause = completed_by(Some(cause_of_span(span, &self.names)), self.cause.take());
    }

    /// Returns the cause of an incident that the device shows. What a device below the victim is based on says nothing about
    /// the victim.
    pub(super) fn cause_of_incident(&self, is_victim: bool) -> Option<Cause> {
        let own = self
            .cause
            .as_ref()
            .filter(|cause| is_victim || !cause.is_of_victim());
        own.cloned()
            .or_else(|| (!is_victim).then(|| Cause::DeviceBelow(Arc::clone(&self.names))))
    }
}

/// The cause that all intervals together show.
fn cause_of_span(span: &TroubleSpan, names: &Arc<DeviceNames>) -> Cause {
    span.plateau
        .clone()
        .map_or(Cause::Evidence("latency"), |plateau| Cause::Cap {
            plateau,
            device: Arc::clone(names),
        })
}

/// The most certain cause that an interval with a verdict shows.
pub(super) fn cause_of_interval(
    activity: &DeviceActivity,
    verdict: Verdict,
    names: &Arc<DeviceNames>,
) -> Option<Cause> {
    if let Some(limit) = activity.limit.as_ref().filter(|limit| limit.holds_device) {
        return Some(Cause::CgroupLimit(limit.clone()));
    }
    let causes = activity
        .assessment
        .evidence
        .iter()
        .filter_map(|evidence| match evidence {
            Evidence::Health(health) => Some(Cause::Health(health.clone())),
            Evidence::ConstantRate(plateau) if verdict == Verdict::Capped => Some(Cause::Cap {
                plateau: plateau.clone(),
                device: Arc::clone(names),
            }),
            Evidence::HeldBetween { below, .. } if !below.is_empty() => {
                Some(Cause::QueuedAbove(below.clone()))
            }
            other => evidence_name(other, verdict).map(Cause::Evidence),
        });
    causes.reduce(|best, next| {
        if next.rank() > best.rank() {
            next
        } else {
            best
        }
    })
}

/// Returns the cause of the worse of two phases, unless the milder one has a more certain cause than its evidence.
fn completed_by(worse: Option<Cause>, milder: Option<Cause>) -> Option<Cause> {
    let rank = worse.as_ref().map_or(0, Cause::rank);
    milder.filter(|milder| milder.rank() > rank).or(worse)
}

/// Returns how many seconds of queueing a second of a verdict counts as. During a stall nothing completes; at a limit
/// or saturated, requests take several times longer than unloaded; a slow device still serves its load.
fn verdict_weight(verdict: Verdict) -> f64 {
    match verdict {
        Verdict::Stalled => 20.0,
        Verdict::Throttled | Verdict::Capped => 4.0,
        Verdict::Saturated => 3.0,
        Verdict::Slow => 2.0,
        Verdict::Queueing | Verdict::AccountingOff | Verdict::Ok | Verdict::Idle => 1.0,
    }
}

/// The name of the evidence in machine formats, if it supports a verdict; otherwise `None`.
fn evidence_name(evidence: &Evidence, verdict: Verdict) -> Option<&'static str> {
    match (evidence, verdict) {
        (Evidence::NothingCompleted { .. }, Verdict::Stalled) => Some("nothing_completed"),
        (Evidence::Hung { .. }, Verdict::Stalled) => Some("hung_requests"),
        (_, Verdict::Stalled) => None,
        (Evidence::AtLimit(_), Verdict::Throttled) => Some("cgroup_limit"),
        (_, Verdict::Throttled) => None,
        (Evidence::SharedLimit(_), Verdict::Capped) => Some("shared_limit"),
        (_, Verdict::Capped) => None,
        (Evidence::SlowBesidePeers(_), _) => Some("peers"),
        (Evidence::Latency { doubt: None, .. }, _) => Some("latency"),
        (Evidence::HeldBetween { .. }, _) => Some("queued_between"),
        _ => None,
    }
}

/// The most intervals without a verdict, or with another one, that do not split an event. Confirming a verdict takes
/// three of four intervals, and confirming the end of trouble takes two: a shorter gap may be random variation of one
/// load.
pub(in crate::intervals) const MAX_GAP_INTERVALS: f64 = 3.0;

/// The length in seconds, or [`MAX_GAP_INTERVALS`] if that is longer, up to which a milder phase belongs to the worse
/// one next to it, as the way into trouble or out of it.
const MAX_FLANK_S: f64 = 10.0;

/// A milder phase up to this many times as long as the worse one next to it is of the same load: the evidence for a cap
/// may suffice for only a part of the time.
const MAX_MILDER_RATIO: f64 = 9.0;

/// Returns whether two consecutive phases of a device are one event. `interval_s` is the present length of an interval
/// in seconds.
pub(super) fn is_same_event(before: &Event, after: &Event, interval_s: f64) -> bool {
    let max_gap_s = MAX_GAP_INTERVALS * interval_s;
    let gap_s = after.begin.run_s - before.end.run_s;
    if gap_s > max_gap_s + TOLERANCE_S || is_broken(before.end, after.begin) {
        return false;
    }
    let (worse, milder) = if before.verdict.severity() >= after.verdict.severity() {
        (before, after)
    } else {
        (after, before)
    };
    let is_flank = milder.duration_s() <= MAX_FLANK_S.max(max_gap_s) + TOLERANCE_S;
    worse.verdict == milder.verdict
        || is_flank
        || is_load(worse.verdict)
            && is_load(milder.verdict)
            && milder.duration_s() <= worse.duration_s().max(MAX_MILDER_RATIO * worse.verdict_s)
}

/// Returns whether the wall clock advanced by more or less between two moments than the intervals did: time broke, or
/// the clock was set.
fn is_broken(before: Moment, after: Moment) -> bool {
    const MAX_DIFFERENCE_S: f64 = 1.0;
    before.at.zip(after.at).is_some_and(|(from, to)| {
        let difference_s = to.duration_since(from).as_secs_f64() - (after.run_s - before.run_s);
        difference_s.abs() > MAX_DIFFERENCE_S
    })
}

/// Returns whether a verdict is one of those that a single load can have at different times, as the evidence or the
/// strength of the load changes. Not `stalled`, whose length is its most important number, nor `queueing`, which may
/// last for hours around trouble.
fn is_load(verdict: Verdict) -> bool {
    matches!(
        verdict,
        Verdict::Slow | Verdict::Saturated | Verdict::Capped | Verdict::Throttled
    )
}

/// Joins two consecutive phases.
pub(super) fn merge(before: Event, after: Event) -> Event {
    let is_same = before.verdict == after.verdict;
    let mut figures = before.figures;
    figures.add(&after.figures);
    let end = after.end;
    let mut course = before.course;
    after
        .course
        .into_iter()
        .for_each(|one| push(&mut course, one));
    let is_worse = after.verdict.severity() > before.verdict.severity();
    let verdict = if is_worse {
        after.verdict
    } else {
        before.verdict
    };
    let (worse, milder, worse_s) = if is_worse || is_same {
        (after.cause, before.cause, after.verdict_s)
    } else {
        (before.cause, after.cause, before.verdict_s)
    };
    let verdict_s = if is_same {
        before.verdict_s + after.verdict_s
    } else {
        worse_s
    };
    let cause = completed_by(worse, milder);
    let is_ongoing = after.is_ongoing;
    Event {
        is_ongoing,
        verdict,
        verdict_s,
        end,
        course,
        figures,
        cause,
        ..before
    }
}

/// The most verdicts that an event keeps.
const MAX_COURSE: usize = 8;

/// Adds a verdict to a course. If there are too many, the first ones are kept: they show how the trouble began.
fn push(course: &mut Vec<Course>, next: Course) {
    if let Some(last) = course
        .last_mut()
        .filter(|last| last.verdict == next.verdict)
    {
        last.duration_s = next.begin.run_s + next.duration_s - last.begin.run_s;
    } else if course.len() < MAX_COURSE {
        course.push(next);
    }
}

/// Adds the parts of spans without a phase to the phases of a device, which must be in the order of time.
pub(super) fn complete(
    names: &Arc<DeviceNames>,
    phases: Vec<Event>,
    spans: &[TroubleSpan],
    clock: &RunClock,
) -> Vec<Event> {
    let mut all = phases;
    let mut interval_s: f64 = 0.0;
    // The worst spans come first: they get the time that they share with milder ones.
    let mut spans: Vec<&TroubleSpan> = spans.iter().collect();
    spans.sort_by_key(|span| std::cmp::Reverse(span.verdict.severity()));
    for span in spans {
        interval_s = interval_s.max(span.load.seconds / span.load.intervals);
        all.iter_mut()
            .filter(|phase| is_within(phase, span))
            .for_each(|phase| phase.raise(span));
        let added: Vec<Event> = uncovered(span, &all)
            .into_iter()
            .filter(|(begin_s, end_s)| end_s - begin_s >= MAX_GAP_INTERVALS * interval_s)
            .map(|(begin_s, end_s)| {
                let times = (clock.moment(begin_s), clock.moment(end_s));
                Event::new(
                    names,
                    span.verdict,
                    times,
                    Figures::of_span(span),
                    Some(cause_of_span(span, names)),
                )
            })
            .collect();
        if !added.is_empty() {
            all.extend(added);
            all.sort_by(|a, b| a.begin.run_s.total_cmp(&b.begin.run_s));
        }
    }
    let mut merged: Vec<Event> = Vec::with_capacity(all.len());
    for phase in all {
        match merged.pop_if(|last| is_same_event(last, &phase, interval_s)) {
            Some(last) => merged.push(merge(last, phase)),
            None => merged.push(phase),
        }
    }
    merged
}

/// Returns whether most of a phase lies in a span, if the phase was milder than the span at least part of the time.
fn is_within(phase: &Event, span: &TroubleSpan) -> bool {
    let common_s = phase.end.run_s.min(span.end_s) - phase.begin.run_s.max(span.begin_s);
    let is_milder = phase.verdict.severity() < span.verdict.severity();
    let is_partly_milder = phase.verdict == span.verdict && phase.course.len() > 1;
    (is_milder || is_partly_milder) && 2.0 * common_s >= phase.duration_s()
}

/// Returns the parts of a span without a phase, in seconds of the run.
fn uncovered(span: &TroubleSpan, phases: &[Event]) -> Vec<(f64, f64)> {
    let mut found = Vec::new();
    let mut from_s = span.begin_s;
    for phase in phases.iter().filter(|phase| phase.end.run_s > span.begin_s) {
        if phase.begin.run_s >= span.end_s {
            break;
        }
        found.push((from_s, phase.begin.run_s));
        from_s = from_s.max(phase.end.run_s);
    }
    found.push((from_s, span.end_s));
    found.retain(|(begin_s, end_s)| end_s > begin_s);
    found
}

/// The most cgroups whose bytes are added up.
const MAX_CGROUPS: usize = 8;

/// The numbers of one interval, and of several added up.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Figures {
    /// The second of the run at which a single interval begins.
    pub(super) begin_s: f64,
    pub(super) seconds: f64,
    /// The numbers of completed reads, writes and flushes, and the milliseconds that they took.
    ios: [f64; 3],
    ms: [f64; 3],
    queue_s: f64,
    has_queue: bool,
    /// The bytes of each cgroup in percent of the device's, multiplied by the seconds.
    cgroups: Vec<(Arc<str>, f64)>,
    /// The seconds for which a cgroup is known to have used the device.
    attributed_s: f64,
}

/// Returns the part of the three numbers that are about a kind of requests.
fn total(of: &[f64; 3], requests: IoDirection) -> f64 {
    match requests {
        IoDirection::Reads => of[0],
        IoDirection::Writes => of[1],
        IoDirection::Both => of[0] + of[1],
        IoDirection::Flushes => of[2],
    }
}

impl Figures {
    pub(super) fn of(activity: &DeviceActivity) -> Self {
        let stats = &activity.stats;
        let kinds = [&stats.reads, &stats.writes, &stats.flushes];
        let queue = queue(stats);
        let top = activity.top_cgroup.as_ref();
        Self {
            begin_s: 0.0,
            seconds: stats.seconds(),
            ios: kinds.map(|of| of.ios as f64),
            ms: kinds.map(|of| of.await_ms().unwrap_or(0.0) * of.ios as f64),
            queue_s: queue.unwrap_or(0.0) * stats.seconds(),
            has_queue: queue.is_some(),
            cgroups: top.map_or_else(Vec::new, |top| {
                vec![(Arc::clone(&top.path), top.share_pct * stats.seconds())]
            }),
            attributed_s: if top.is_some() { stats.seconds() } else { 0.0 },
        }
    }

    /// The numbers of a time of trouble that only all intervals together show.
    pub(super) fn of_span(span: &TroubleSpan) -> Self {
        let load = &span.load;
        let kinds = [load.reads, load.writes, load.flushes];
        Self {
            seconds: load.seconds,
            ios: kinds.map(|totals| totals.ios),
            ms: kinds.map(|totals| totals.ms),
            queue_s: load.reads.ms / 1000.0 + load.writes.ms / 1000.0,
            has_queue: true,
            ..Self::default()
        }
    }

    /// Adds the numbers of another time.
    pub(super) fn add(&mut self, other: &Self) {
        self.seconds += other.seconds;
        for kind in 0..3 {
            self.ios[kind] += other.ios[kind];
            self.ms[kind] += other.ms[kind];
        }
        self.queue_s += other.queue_s;
        self.has_queue |= other.has_queue;
        self.attributed_s += other.attributed_s;
        for (path, share) in &other.cgroups {
            match self.cgroups.iter().position(|(known, _)| known == path) {
                Some(at) => self.cgroups[at].1 += share,
                None if self.cgroups.len() < MAX_CGROUPS => {
                    self.cgroups.push((Arc::clone(path), *share))
                }
                None => {}
            }
        }
    }

    /// The kind of requests that waited most beyond what they took before; `None` if none completed in a time that the
    /// kernel counts. `before_ms` is the mean latency of a kind before, if that is known.
    pub(super) fn slowest(
        &self,
        before_ms: impl Fn(IoDirection) -> Option<f64>,
    ) -> Option<IoDirection> {
        let kinds = [
            IoDirection::Reads,
            IoDirection::Writes,
            IoDirection::Flushes,
        ];
        let waited = kinds
            .into_iter()
            .zip(self.ms)
            .zip(self.ios)
            .filter(|((_, ms), _)| *ms > 0.0);
        let beyond =
            waited.map(|((kind, ms), ios)| (kind, ms - before_ms(kind).unwrap_or(0.0) * ios));
        beyond
            .reduce(|most, one| if one.1 > most.1 { one } else { most })
            .map(|(kind, _)| kind)
    }

    /// Returns whether nothing completed although requests were in flight.
    pub(super) fn is_stalled(&self) -> bool {
        self.ios == [0.0; 3] && self.queue_s > 0.0
    }

    /// The mean latency of a kind of requests in milliseconds; `None` if none completed.
    pub(super) fn await_ms(&self, requests: IoDirection) -> Option<f64> {
        let ios = total(&self.ios, requests);
        (ios > 0.0).then(|| total(&self.ms, requests) / ios)
    }

    /// The mean number of requests that waited or were served, including flushes.
    pub(super) fn waiting(&self) -> f64 {
        let [reads, writes, flushes] = self.ms;
        (self.queue_s.max((reads + writes) / 1000.0) + flushes / 1000.0) / self.seconds
    }

    /// The mean queue; while nothing completes, the requests in flight. `None` if it is not known.
    pub(super) fn queue(&self) -> Option<f64> {
        (self.has_queue && self.seconds > 0.0).then(|| self.queue_s / self.seconds)
    }

    /// The rate of a kind of requests per second; `None` if none completed.
    pub(super) fn per_s(&self, requests: IoDirection) -> Option<f64> {
        let ios = total(&self.ios, requests);
        (ios > 0.0 && self.seconds > 0.0).then(|| ios / self.seconds)
    }

    /// The cgroup with most of the bytes, and its mean share. Where no cgroup is known to have used the device, its
    /// share counts as 0: a cgroup that has just begun is not known before the next scan.
    pub(super) fn top_cgroup(&self) -> Option<TopCgroup> {
        let (path, sum) = self.cgroups.iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let is_at_least = self.attributed_s < self.seconds;
        Some(TopCgroup {
            path: Arc::clone(path),
            share_pct: sum / self.seconds,
            is_at_least,
        })
    }
}

/// The mean queue of an interval; if nothing completes, the requests in flight.
fn queue(stats: &Interval) -> Option<f64> {
    match stats.in_flight.filter(|_| stats.completed() == 0) {
        Some(in_flight) => Some(in_flight as f64),
        None => stats
            .queue()
            .or_else(|| Some(stats.reads.queue()? + stats.writes.queue()?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_a_cgroup_is_a_lower_bound_if_it_is_not_known_all_the_time() {
        let interval = |share_pct: Option<f64>| {
            let top = |share_pct| TopCgroup {
                path: "/backup".into(),
                share_pct,
                is_at_least: false,
            };
            let stats = Interval::unknown(2.0);
            Figures::of(&DeviceActivity {
                stats,
                top_cgroup: share_pct.map(top),
                ..DeviceActivity::default()
            })
        };
        let total = |shares: [Option<f64>; 2]| {
            let mut figures = Figures::default();
            shares
                .into_iter()
                .for_each(|share| figures.add(&interval(share)));
            figures
                .top_cgroup()
                .map(|top| (top.share_pct, top.is_at_least))
        };
        assert_eq!(total([Some(90.0), Some(80.0)]), Some((85.0, false)));
        assert_eq!(total([None, Some(80.0)]), Some((40.0, true)));
        assert_eq!(total([None, None]), None);
    }
}
