//! The verdict on all intervals of a device together, in a word and in a sentence.

use super::baseline::Baseline;
use super::explain::{number, ratio, whole};
use super::levels::ConcurrencyLevel;
use super::load::{IoDirection, IoTotals, LoadSample};
use super::plateau::Plateau;
use super::report::DeviceReport;
use super::settings::Settings;
use super::summary::DirectionReport;
use super::verdict::{ALONE, LEAST_QUEUE, MINOR, QUEUEING_AT, Verdict, by_saturation, worse};

/// Fewer working intervals give no verdict but of what needs no history.
const LEAST_INTERVALS: u64 = 3;
/// The share of the working time that a verdict takes to speak for the whole.
const TELLING: f64 = 0.1;

/// The shares of the working time by what each load alone would be called.
#[derive(Default)]
pub(super) struct Shares {
    ok: f64,
    queueing: f64,
    saturated: f64,
    saturated_intervals: f64,
    /// Of the loads for which that is not known.
    unknown: f64,
    unknown_loads: Together,
    saturated_loads: Together,
    /// The time of all loads in seconds, known or not.
    seconds: f64,
}

impl Shares {
    pub(super) fn of(loads: &[LoadSample], reads: &Baseline, writes: &Baseline, saturated_at: f64) -> Self {
        let mut shares = Self::default();
        for load in loads {
            shares.seconds += load.seconds;
            match alone(load, reads, writes, saturated_at) {
                Some(Verdict::Queueing) => shares.queueing += load.seconds,
                Some(Verdict::Saturated) => {
                    shares.saturated += load.seconds;
                    shares.saturated_intervals += load.intervals;
                    shares.saturated_loads.add(load);
                }
                Some(_) => shares.ok += load.seconds,
                None => {
                    shares.unknown += load.seconds;
                    shares.unknown_loads.add(load);
                }
            }
        }
        if shares.seconds > 0.0 {
            shares.ok /= shares.seconds;
            shares.queueing /= shares.seconds;
            shares.saturated /= shares.seconds;
            shares.unknown /= shares.seconds;
        }
        shares
    }
}

/// Several loads as one.
#[derive(Default)]
struct Together {
    work: IoTotals,
    seconds: f64,
}

impl Together {
    fn add(&mut self, load: &LoadSample) {
        self.work = self.work.plus(&load.work(IoDirection::Both));
        self.seconds += load.seconds;
    }

    /// The mean response time and queue in words; `None` without requests.
    fn answered(&self) -> Option<String> {
        let queue = self.work.ms / 1000.0 / self.seconds;
        Some(format!("{} ms at a queue of {}", number(self.work.await_ms()?), number(queue)))
    }
}

/// What a load alone would be called; `None` where that is not known, or not of a direction that matters: it may be
/// worse than what is known.
fn alone(load: &LoadSample, reads: &Baseline, writes: &Baseline, saturated_at: f64) -> Option<Verdict> {
    let total = load.concurrency(IoDirection::Both);
    let one = |baseline: &Baseline, side: IoDirection| {
        let (work, queue) = (load.work(side), load.concurrency(side));
        let verdict = baseline
            .saturation(&work, total)
            .map(|times| by_saturation(times, queue, load.in_flight, saturated_at))
            // However slow: with hardly anybody there nobody waits.
            .or_else(|| (total < ALONE).then_some(Verdict::Ok));
        (verdict, verdict.is_none() && work.ms > MINOR * load.work(IoDirection::Both).ms)
    };
    let ((reads, reads_unknown), (writes, writes_unknown)) =
        (one(reads, IoDirection::Reads), one(writes, IoDirection::Writes));
    let unknown = reads_unknown || writes_unknown;
    worse(reads, writes).filter(|verdict| *verdict != Verdict::Ok || !unknown)
}

/// What the verdict needs beside the report.
pub(super) struct Facts {
    /// Whether the kernel counts its requests.
    pub(super) is_counted: Option<bool>,
    /// Whether it ever was not idle.
    pub(super) was_busy: bool,
    /// The seconds of all stalls.
    pub(super) stalled_s: f64,
    /// A rate that stood still at a cap or at busy servers.
    pub(super) unclear: Option<Plateau>,
    /// Discards and flushes.
    pub(super) other: [f64; 2],
}

/// The verdict of the whole with its reason.
pub(super) fn judged(
    report: &DeviceReport,
    facts: &Facts,
    shares: &Shares,
    settings: &Settings,
) -> (Option<Verdict>, String) {
    const BRIEF: f64 = 0.05;
    let is_stalled = report.longest_stall_s >= 1.0;
    let is_brief = facts.stalled_s < BRIEF * (shares.seconds + facts.stalled_s);
    let capped_s: f64 = report.plateaus.iter().map(|plateau| plateau.seconds).sum();
    let is_capped = capped_s > 0.0 && capped_s >= TELLING * shares.seconds;
    let is_saturated = shares.saturated >= TELLING && shares.saturated_intervals >= LEAST_INTERVALS as f64;
    let stall = format!("requests hung for {} s and none was completed", number(report.longest_stall_s));
    let also = if is_stalled { format!("; for a time {stall}") } else { String::new() };
    if facts.is_counted == Some(false) {
        let why = "has its accounting switched off: queue/iostats is 0, and its counters stand still";
        (Some(Verdict::AccountingOff), why.into())
    } else if report.intervals == 0 {
        (None, "has no interval to judge by".into())
    } else if !facts.was_busy {
        (Some(Verdict::Idle), "was idle: nothing completed and nothing in flight".into())
    } else if is_stalled && !(is_brief && (is_capped || is_saturated)) {
        (Some(Verdict::Stalled), format!("stalled: {stall}"))
    } else if is_capped {
        (Some(Verdict::Capped), format!("{}{also}", capped(&report.plateaus)))
    } else if report.working_intervals == 0 {
        (None, without_times(report, facts))
    } else if report.working_intervals < LEAST_INTERVALS {
        let noun = if report.working_intervals == 1 { "interval" } else { "intervals" };
        (None, format!("worked in {} {noun}, too few for a verdict", report.working_intervals))
    } else if is_saturated {
        (Some(Verdict::Saturated), format!("{}{}{also}", saturated(report, shares, settings), unclear(facts)))
    } else {
        let (verdict, why) = by_time(report, shares);
        (verdict, format!("{why}{}", unclear(facts)))
    }
}

/// That a rate stood still as it does at a cap and where every server is busy; empty where none did.
fn unclear(facts: &Facts) -> String {
    facts.unclear.as_ref().map_or(String::new(), |one| {
        let (from, to) = (whole(one.concurrency_from), whole(one.concurrency_to));
        let off = number(100.0 * one.variation.max(0.001));
        format!(
            "; from a queue of {from} to one of {to} its rate stood at {} (±{off} %), which may be a cap or that of \
             busy servers: it varied too much to tell",
            one.rate()
        )
    })
}

/// What a device did that completed no reads or writes whose times are known.
fn without_times(report: &DeviceReport, facts: &Facts) -> String {
    let done = facts.other.into_iter().zip(["discards", "flushes"]);
    let said: Vec<String> = done
        .filter(|(count, _)| *count > 0.0)
        .map(|(count, noun)| format!("{noun}: {}/s", number(count / report.seconds)))
        .collect();
    if report.left_out.without_times > 0 {
        "gives no verdict: the kernel gives no times for its requests".into()
    } else if said.is_empty() {
        "gives no verdict: it completed no reads or writes".into()
    } else {
        format!("gives no verdict: it did only {}", said.join(" and "))
    }
}

fn by_time(report: &DeviceReport, shares: &Shares) -> (Option<Verdict>, String) {
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let is_timed = report.all.await_ms.mean.is_some();
    if shares.queueing + shares.saturated >= TELLING {
        let share = percent(shares.queueing + shares.saturated);
        let seen = at_worst_level(report).map(|seen| format!(": {seen}")).unwrap_or_default();
        (Some(Verdict::Queueing), format!("has requests that wait for each other {share} of the time{seen}"))
    } else if is_timed && shares.ok >= 0.5 && shares.unknown < TELLING {
        let is_slow = report.all.saturation.p95.is_some_and(|times| times >= QUEUEING_AT);
        let word = match (is_slow, shares.saturated > 0.0) {
            (false, _) => "is far from saturated",
            (true, false) => "is not saturated",
            (true, true) => "is not saturated most of the time",
        };
        let why = match report.all.queue.p95.filter(|queue| is_slow && *queue < LEAST_QUEUE) {
            Some(queue) => format!("; its queue was {} then, too short for saturation", number(queue)),
            None => String::new(),
        };
        (Some(Verdict::Ok), format!("{word}{}{why}", answered(report, shares)))
    } else if is_timed && shares.ok >= TELLING {
        let seen = shares.unknown_loads.answered().map(|seen| format!(" (it answered in {seen})"));
        let (ok, unknown) = (percent(shares.ok), percent(shares.unknown));
        let why = format!(
            "gives no verdict: it was far from saturated {ok} of the time, but for the loads of {unknown} of it{} \
             the unloaded response time is not known",
            seen.unwrap_or_default()
        );
        (None, why)
    } else {
        let seen = at_worst_level(report).map(|seen| format!("; it answered in {seen}"));
        let seen = seen.unwrap_or_else(|| ", as the kernel counted hardly any time for its requests".into());
        (None, format!("gives no verdict: its unloaded response time is not known{seen}"))
    }
}

/// The response time at the level of the highest saturation; `None` without levels.
fn at_worst_level(report: &DeviceReport) -> Option<String> {
    let level = report.levels.iter().max_by(|a, b| {
        let saturation = |level: &ConcurrencyLevel| level.saturation.unwrap_or(0.0);
        saturation(a).total_cmp(&saturation(b))
    })?;
    let times = level.saturation.map(|times| format!(", {} the unloaded time", ratio(times)));
    let (time, queue) = (number(level.await_ms), number(level.concurrency));
    Some(format!("{time} ms{} at a queue of {queue}", times.unwrap_or_default()))
}

/// How fast reads and writes were answered, most of the time and in the slowest interval; empty where that is not
/// known. Multiples only where they are known of nearly all: they are to belong to the times before them.
fn answered(report: &DeviceReport, shares: &Shares) -> String {
    const NEARLY_ALL: f64 = 0.01;
    let is_known =
        shares.unknown <= NEARLY_ALL && report.read.saturation.max.or(report.write.saturation.max).is_some();
    let of = |noun: &str, of: &DirectionReport| {
        let (usual, worst) = of.await_ms.p95.zip(of.await_ms.max)?;
        let times = |times: Option<f64>| {
            times.filter(|_| is_known).map(|x| format!(" ({})", ratio(x))).unwrap_or_default()
        };
        let (at_95, at_worst) = (times(of.saturation.p95), times(of.saturation.max));
        Some(format!(
            "95 % of the time {noun} were answered within {} ms{at_95}, at the worst in {} ms{at_worst}",
            number(usual),
            number(worst)
        ))
    };
    let both = [of("reads", &report.read), of("writes", &report.write)];
    let said: Vec<String> = both.into_iter().flatten().collect();
    if said.is_empty() {
        return String::new();
    }
    let unit = if is_known { "; multiples are of the unloaded response time" } else { "" };
    format!(": {}{unit}", said.join("; "))
}

/// That the load went beyond what the user states as its cap; empty where it did not.
pub(super) fn beyond(report: &DeviceReport, settings: &Settings) -> String {
    const CLEARLY: f64 = 1.05;
    let cap = settings.cap.unwrap_or_default();
    let above =
        |seen: Option<f64>, cap: Option<f64>| seen.zip(cap).filter(|(seen, cap)| *seen > CLEARLY * cap);
    let requests = above(report.all.iops.p95, cap.iops)
        .map(|(seen, cap)| format!("{} requests/s ({} seen)", number(cap), number(seen)));
    let bytes = above(report.all.mib_per_s.p95, cap.mib_per_s)
        .map(|(seen, cap)| format!("{} MiB/s ({} seen)", number(cap), number(seen)));
    let said: Vec<String> = [requests, bytes].into_iter().flatten().collect();
    if said.is_empty() {
        return String::new();
    }
    format!("; for a time its load went beyond the stated cap of {}", said.join(" and "))
}

fn capped(plateaus: &[Plateau]) -> String {
    let rates: Vec<String> = plateaus.iter().map(|one| format!("{}{}", one.rate(), one.hint())).collect();
    let evidence: Vec<String> = plateaus.iter().map(Plateau::sentence).collect();
    let is_doubted = plateaus.iter().all(|one| !one.is_certain);
    let doubt = plateaus.first().filter(|_| is_doubted).map_or("", Plateau::doubt);
    format!("is capped at {}: {}{doubt}", rates.join(", then "), evidence.join("; then "))
}

fn saturated(report: &DeviceReport, shares: &Shares, settings: &Settings) -> String {
    let share = format!("{:.0} %", shares.saturated * 100.0);
    let worst =
        report.levels.iter().rfind(|level| level.saturation.is_some_and(|x| x >= settings.saturated_at));
    let seen = worst.map_or(String::new(), |level| {
        let times = level.saturation.map(ratio).unwrap_or_default();
        let (time, queue) = (number(level.await_ms), whole(level.concurrency));
        format!(", {time} ms ({times} the unloaded time) at a queue of {queue}")
    });
    // Where the levels mix it with other loads they do not tell.
    let then = || shares.saturated_loads.answered().map(|seen| format!(", then it answered in {seen}"));
    let seen = Some(seen).filter(|seen| !seen.is_empty()).or_else(then).unwrap_or_default();
    let most = report.capacity.knee_concurrency.map(|knee| {
        let max = number(report.capacity.max_iops.unwrap_or_default());
        let less = if report.capacity.knee_is_upper_bound { " or less" } else { "" };
        let knee = whole(knee);
        format!("; it does {max} requests/s at the most, and nearly that from a queue of {knee}{less} on")
    });
    format!("is saturated {share} of the time it worked{seen}{}", most.unwrap_or_default())
}
