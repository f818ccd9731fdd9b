//! Sentences for the evidence of verdicts, shared by the table, JSON, CSV and the report of an analysis: here on an interval,
//! a run and the health of a device.

mod incident;
mod limits;
mod remedy;

use jiff::Timestamp;

pub(crate) use self::incident::*;
pub(crate) use self::limits::*;
pub(crate) use self::remedy::advice_text;
use crate::attribution::{Attribution, ReachedLimit};
use crate::counters::{Fact, FactKind, FactValue, Health, SYNC_ACTION, SYNC_COMPLETED, SYNC_SPEED};
use crate::incidents::{Cause, Told};
use crate::intervals::{DeviceActivity, IntervalHeader};
use crate::judge::{
    BaselineSource, DeviceReport, Doubt, Evidence, HealthEvidence, IoDirection, Judged, Latency,
    NfsWait, Plateau, PlateauInRun, RateUnit, SharedLimit, Verdict, hidden_io_wait_pct,
    high_memory_pressure_pct, no_cpu_pct,
};
use crate::report::layout::sentence_numbers::{
    counted, duration, mib, multiple, named, number, per_second, percent, percent_of, queue, time,
};
use crate::sanitize::sanitize;
use crate::topology::DeviceClass;

/// The mark of a verdict, for readers who cannot see its color; `?` without a verdict.
pub(crate) fn verdict_mark(verdict: Option<Verdict>) -> char {
    match verdict {
        Some(Verdict::Idle) => ' ',
        Some(Verdict::Ok) => '.',
        Some(Verdict::Busy) => '+',
        Some(Verdict::Queueing) => '-',
        Some(Verdict::Saturated) => '=',
        Some(Verdict::Capped) => 'C',
        Some(Verdict::Throttled) => 'T',
        Some(Verdict::AccountingOff) => 'x',
        Some(Verdict::Slow) => 's',
        Some(Verdict::Stalled) => '!',
        None => '?',
    }
}

/// Returns a sentence for each piece of evidence, and for the limit that was reached.
pub(crate) fn evidence_sentences(judged: &Judged) -> Vec<String> {
    let mut sentences = Vec::new();
    sentences.extend(reached_limit(judged).map(cgroup_limit_text));
    sentences.extend(judged.assessment().evidence.iter().map(evidence_text));
    sentences
}

fn reached_limit(judged: &Judged) -> Option<&ReachedLimit> {
    judged.worst.as_ref()?.reached_limit.as_ref()
}

/// The evidence like [`evidence_sentences`], for people, without what the line about the incident of a victim says. A sentence
/// about one of several samples in the interval begins with its time, formatted by `time_text`.
pub(crate) fn timed_evidence_sentences(
    activity: &DeviceActivity,
    time_text: impl Fn(Timestamp) -> String,
) -> Vec<String> {
    let at = activity.judged.evidence_at().map(time_text);
    let incident = activity.incident.as_ref().filter(|one| one.is_victim);
    let told = incident.map(|one| &*one.told);
    let mut sentences = Vec::new();
    if let Some(reached) = reached_limit(&activity.judged)
        && told.and_then(Told::limit) != Some(&reached.limit)
    {
        sentences.push(cgroup_limit_text(reached));
    }
    for evidence in &activity.judged.assessment().evidence {
        if !told.is_some_and(|told| is_its_cause(told, evidence)) {
            sentences.push(evidence_text(evidence));
        }
    }
    if let Some(at) = at {
        for sentence in &mut sentences {
            *sentence = format!("{at}: {sentence}");
        }
    }
    sentences
}

/// Returns whether a piece of evidence says no more than the cause of an incident.
fn is_its_cause(told: &Told, evidence: &Evidence) -> bool {
    match (&told.cause, evidence) {
        (Cause::Suspended(device), Evidence::Health(health)) => health.device == **device,
        _ => false,
    }
}

/// A fact about one interval as a sentence without a period.
fn evidence_text(evidence: &Evidence) -> String {
    match evidence {
        Evidence::Idle => "nothing completed, nothing in flight".to_owned(),
        Evidence::NothingCompleted {
            in_flight,
            for_s,
            may_be_leaked,
        } => {
            let in_flight = match in_flight {
                Some(count) => format!("{count} in flight"),
                None => "requests wait".to_owned(),
            };
            let leaked = if *may_be_leaked {
                "; no task has waited for I/O for minutes, so the kernel may have lost count of them"
            } else {
                ""
            };
            format!(
                "{in_flight}, none completed for {}{leaked}",
                duration(*for_s)
            )
        }
        Evidence::Hung { requests, for_s } => {
            let requests = counted(*requests, "request");
            format!(
                "{requests} in flight for {} or longer while others complete",
                duration(*for_s)
            )
        }
        Evidence::HeldBetween {
            in_flight,
            below,
            latencies,
        } => {
            // With a limit that releases requests in slices, none may be in flight at that moment.
            let in_flight = match in_flight {
                Some(count) if *count > 0 => format!("{count} in flight; "),
                _ => String::new(),
            };
            let below: Vec<String> = below
                .iter()
                .map(|name| sanitize(name).into_owned())
                .collect();
            format!(
                "{in_flight}latency {} here, {} at {} below: requests are held between them",
                time(latencies.await_above_ms),
                time(latencies.await_below_ms),
                below.join(", ")
            )
        }
        Evidence::WaitingAbove { above } => {
            format!(
                "idle most of the time while requests wait at {} above",
                sanitize(above)
            )
        }
        Evidence::NoLatency => "no read or write latency to assess".to_owned(),
        Evidence::Latency(latency) => latency_text(latency),
        Evidence::SlowBesidePeers(slow) => {
            let direction = match slow.direction {
                IoDirection::Both => String::new(),
                one => format!("{} ", one.name()),
            };
            let (times, peers) = (multiple(slow.times), slow.peers);
            let lasted = duration(slow.lasted_s);
            format!(
                "{direction}latency {times} its {peers} peers at the same time, with a like load, for {lasted}"
            )
        }
        Evidence::SharedLimit(limit) => shared_limit_text(limit),
        Evidence::ConstantRate(plateau) => {
            let (rate, limit) = (plateau_rate(plateau), limit_suffix(plateau));
            format!("{rate}{limit}: {}", plateau_evidence(plateau))
        }
        Evidence::Health(health) => health_evidence_text(health),
    }
}

/// `writes take 17.5 ms, 180x the lowest seen 20 s ago; 23 requests at a time`.
fn latency_text(latency: &Latency) -> String {
    let requests = at_a_time(latency.queue);
    let await_ms = time(latency.await_ms);
    if latency.doubt == Some(Doubt::NothingQuieter) {
        return format!(
            "busy: {requests}, {await_ms} each; no quieter time seen to compare with (blkstat help busy)"
        );
    }
    let mut text = format!("{} take {await_ms}", latency.direction.noun());
    if let (Some(times), Some(source)) = (latency.saturation, latency.source) {
        text += &of_what_text(times * source.scale(), source, latency.seen_s_ago);
    }
    if latency.direction != IoDirection::Flushes {
        text += &format!("; {requests}");
    }
    text + match latency.doubt {
        Some(Doubt::NothingBetter) => {
            "; nothing shows whether that is its limit (blkstat help busy)"
        }
        Some(Doubt::LessWork) => {
            "; it does less than before, so other data or a slower device may be the reason"
        }
        Some(Doubt::FewRequests) => "; too few to say more",
        Some(Doubt::NothingQuieter) | None => "",
    }
}

/// `23 requests at a time`, `issued one at a time`.
fn at_a_time(queue: f64) -> String {
    /// Within this of one, the rate is what the latency allows: each request waits for the one before.
    const TOLERANCE: f64 = 0.1;
    if (queue - 1.0).abs() <= TOLERANCE {
        return "issued one at a time".to_owned();
    }
    format!("{} requests at a time", number(queue))
}

/// A latency as a multiple of another one: `, 6.8x what any hard disk needs`.
fn of_what_text(times: f64, source: BaselineSource, seen_s_ago: Option<f64>) -> String {
    const ABOUT_THE_SAME: f64 = 1.1;
    let known = match source {
        BaselineSource::Given => "the given baseline".to_owned(),
        BaselineSource::Saved => "the saved baseline".to_owned(),
        BaselineSource::SinceBoot => "the mean since boot".to_owned(),
        BaselineSource::Class(class) => format!("what any {} needs", class_noun(class)),
        BaselineSource::Peers => "its peers".to_owned(),
        BaselineSource::Learned | BaselineSource::Lowest => match seen_s_ago {
            Some(seconds) if seconds >= 1.0 => {
                format!("the lowest seen {} ago", duration(seconds))
            }
            _ => "the lowest seen".to_owned(),
        },
    };
    let is_limit = matches!(source, BaselineSource::Class(_));
    let is_seen = matches!(source, BaselineSource::Learned | BaselineSource::Lowest);
    if is_limit && times < 1.0 {
        format!(", no longer than {known}")
    } else if is_seen && times < ABOUT_THE_SAME {
        format!(", about {known}")
    } else {
        format!(", {} {known}", multiple(times))
    }
}

/// `shared with sdb and sdc: together 3,000 requests/s (±0.2%), while the rate of each varies`.
fn shared_limit_text(limit: &SharedLimit) -> String {
    let others = limit.others.iter().map(|name| sanitize(name).into_owned());
    let others: Vec<String> = others.collect();
    let rate = match limit.unit {
        RateUnit::Requests => per_second(limit.rate, "requests"),
        RateUnit::Kib => format!("{}/s", mib(limit.rate)),
    };
    let variation = variation_text(limit.variation);
    format!(
        "shared with {}: together {rate} ({variation}), while the rate of each varies",
        others.join(", ")
    )
}

fn class_noun(class: Option<DeviceClass>) -> &'static str {
    match class {
        None => "disk",
        Some(DeviceClass::HardDisk) => "hard disk",
        Some(DeviceClass::Ssd) => "SSD",
        Some(DeviceClass::Nvme) => "NVMe SSD",
        Some(DeviceClass::Network) => "network volume",
    }
}

/// The causes of such waits: NFS mounts with requests without an answer or, without one, what may cause them.
pub(crate) fn hidden_io_wait_causes(nfs: &[NfsWait]) -> String {
    if nfs.is_empty() {
        return "a network file system, a limit above the device (cgroup io.max), or swap in a cgroup"
            .to_owned();
    }
    let texts: Vec<String> = nfs.iter().map(nfs_wait_text).collect();
    texts.join(", ")
}

/// What an NFS mount waits for: `NFS at /data has had requests without an answer for 12 s`.
pub(crate) fn nfs_wait_text(wait: &NfsWait) -> String {
    format!(
        "NFS at {} has had requests without an answer for {}",
        sanitize(&wait.mount),
        duration(wait.unanswered_s)
    )
}

/// The waits of an interval as a sentence without a period; `None` if no task waits so.
fn hidden_io_wait_text(header: &IntervalHeader) -> Option<String> {
    let hidden_pct = hidden_io_wait_pct(&header.host).filter(|hidden| *hidden > 0.0)?;
    Some(format!(
        "tasks wait for I/O that no device shows, {} of the time or more: {}",
        percent(hidden_pct),
        hidden_io_wait_causes(&header.nfs_waits)
    ))
}

/// What keeps programs waiting whatever the disks do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HostTrouble {
    NoCpu,
    NoMemory,
    /// I/O that no device shows.
    HiddenWaits,
    /// I/O of NFS.
    NfsWaits,
    /// Tasks wait for an unknown device.
    UnplacedWaits,
}

impl HostTrouble {
    /// Returns whether a device in trouble, or a limit on one, may be the cause.
    pub(crate) fn may_be_of_device(self) -> bool {
        !matches!(self, Self::NoCpu | Self::NoMemory)
    }
}

/// Returns what keeps programs waiting in an interval, each as a sentence without a period.
pub(crate) fn host_texts(
    header: &IntervalHeader,
    attribution: Option<&Attribution>,
) -> Vec<(HostTrouble, String)> {
    let hidden = match header.nfs_waits.is_empty() {
        true => HostTrouble::HiddenWaits,
        false => HostTrouble::NfsWaits,
    };
    let found = [
        (HostTrouble::NoCpu, no_cpu_text(header)),
        (HostTrouble::NoMemory, memory_text(header)),
        (hidden, hidden_io_wait_text(header)),
        (
            HostTrouble::UnplacedWaits,
            attribution.and_then(unplaced_waits_text),
        ),
    ];
    let mut texts = Vec::new();
    for (trouble, text) in found {
        texts.extend(text.map(|text| (trouble, text)));
    }
    texts
}

/// The tasks that wait for long for what is not known: `waiting for an unknown device or a lock: dd (812), for up to 4.0 s`.
fn unplaced_waits_text(attribution: &Attribution) -> Option<String> {
    const MAX_NAMED: usize = 2;
    let longest = attribution.long_waits(None).next()?;
    let mut tasks = Vec::new();
    for task in attribution.long_waits(None) {
        tasks.push(process_text(task.command.as_deref(), &task.comm, task.tid));
    }
    Some(format!(
        "waiting for an unknown device or a lock: {}, for up to {}",
        named(&tasks, MAX_NAMED, ", "),
        duration(longest.waited_ms as f64 / 1000.0)
    ))
}

fn memory_text(header: &IntervalHeader) -> Option<String> {
    let some_pct = high_memory_pressure_pct(&header.host)?;
    Some(format!(
        "tasks wait for memory {} of the time: the host or a cgroup is short of it, and reading it back causes I/O",
        percent(some_pct)
    ))
}

fn no_cpu_text(header: &IntervalHeader) -> Option<String> {
    let available_pct = no_cpu_pct(&header.host)?;
    Some(format!(
        "CPU {} available: programs wait for the CPU, too",
        percent(available_pct)
    ))
}

/// The explanation of the verdict on a device as a sentence without a period.
pub(crate) fn explanation_text(report: &DeviceReport) -> String {
    let mut text = format!("{} {}", report.device, verdict_text(report));
    let is_at_limit = matches!(report.verdict, Some(Verdict::Saturated | Verdict::Capped));
    if let Some(knee) = report.capacity.knee_high.filter(|_| is_at_limit) {
        let rate = per_second(report.capacity.max_iops.unwrap_or_default(), "requests");
        text += &format!(
            "; maximum {rate}, {}",
            knee_text(report.capacity.knee_low, knee)
        );
    }
    if report.verdict != Some(Verdict::Stalled) && report.longest_stall_s >= 1.0 {
        let longest = duration(report.longest_stall_s);
        text += &format!("; requests hung for up to {longest} without any completion");
    }
    let mut exceeded = Vec::new();
    for cap in &report.exceeded {
        let (value, seen) = (number(cap.cap), number(cap.seen));
        exceeded.push(format!("{value} {} ({seen} seen)", unit_name(cap.unit)));
    }
    if !exceeded.is_empty() {
        let caps = exceeded.join(" and ");
        text += &format!("; load temporarily exceeded the stated cap of {caps}");
    }
    text
}

/// The predicate of the explanation: `is slow 12% of the time with work; at worst, reads take ...`.
fn verdict_text(report: &DeviceReport) -> String {
    let Some(verdict) = report.verdict else {
        return match report.excluded.untimed {
            0 => "has no verdict: no interval to analyze".to_owned(),
            _ => "has no verdict: the kernel gives no request times".to_owned(),
        };
    };
    let share = percent_of(report.times.share_of_word(verdict));
    let worst = match &report.worst {
        // A limit does not get worse.
        Some(worst) if matches!(verdict, Verdict::Throttled | Verdict::Capped) => {
            format!(": {}", evidence_text(&worst.evidence))
        }
        Some(worst) => format!("; at worst, {}", evidence_text(&worst.evidence)),
        None => String::new(),
    };
    match verdict {
        Verdict::AccountingOff => {
            "has I/O accounting disabled (queue/iostats=0): its counters do not change".to_owned()
        }
        Verdict::Idle => "was idle: nothing completed, nothing in flight".to_owned(),
        Verdict::Ok => ok_text(report),
        Verdict::Stalled => {
            let seconds = duration(report.times.of(Verdict::Stalled));
            format!("was stalled for {seconds}{worst}")
        }
        Verdict::Capped if !report.plateaus.is_empty() => capped_text(&report.plateaus),
        _ => format!("is {} {share} of the time with work{worst}", verdict.name()),
    }
}

fn capped_text(plateaus: &[PlateauInRun]) -> String {
    let plateaus: Vec<&Plateau> = plateaus.iter().map(|one| &one.plateau).collect();
    // Caps of reads and of writes apply at the same time.
    let is_in_turns = plateaus
        .windows(2)
        .all(|pair| pair[0].direction == pair[1].direction);
    let (word, join) = if is_in_turns {
        (", then ", "; then ")
    } else {
        (" and ", "; ")
    };
    let (mut rates, mut evidence) = (Vec::new(), Vec::new());
    for one in plateaus {
        rates.push(format!("{}{}", plateau_rate(one), limit_suffix(one)));
        evidence.push(match is_in_turns {
            true => plateau_evidence(one),
            false => format!("{} {}", one.direction.name(), plateau_evidence(one)),
        });
    }
    format!("is capped at {}: {}", rates.join(word), evidence.join(join))
}

/// Where more load stopped bringing more: between the queues of two levels, or at the shortest queue of all.
pub(crate) fn knee_text(low: Option<f64>, high: f64) -> String {
    match low {
        Some(low) => format!("reached between queue {} and {}", queue(low), queue(high)),
        None => format!("reached at queue {} or less", queue(high)),
    }
}

fn ok_text(report: &DeviceReport) -> String {
    let mut facts = Vec::new();
    for (noun, of) in [("reads", &report.read), ("writes", &report.write)] {
        if let (Some(p95), Some(max)) = (of.await_ms.p95, of.await_ms.max) {
            let (p95, max) = (time(p95), time(max));
            facts.push(format!(
                "{noun} take {p95} or less 95% of the time, at worst {max}"
            ));
        }
    }
    match facts.is_empty() {
        true => "is ok".to_owned(),
        false => format!("is ok: {}", facts.join("; ")),
    }
}

/// The unit in which people are told a rate.
fn unit_name(unit: RateUnit) -> &'static str {
    match unit {
        RateUnit::Requests => "requests/s",
        RateUnit::Kib => "MiB/s",
    }
}

/// Returns the troubles of a device as a sentence without a period: `sdb: 2 timeouts, 5 errors in the last 40 s`. Counts are
/// of the last `counted_s` seconds, or of the time since the device appeared. `None` if nothing is wrong.
pub(crate) fn health_text(
    device: &str,
    troubles: &Health,
    counted_s: Option<f64>,
) -> Option<String> {
    let mut all = texts(troubles, |kind| kind.errors().is_none());
    let counts = texts(troubles, |kind| kind.errors().is_some());
    if !counts.is_empty() {
        let span = match counted_s {
            Some(seconds) => format!(" in the last {}", duration(seconds)),
            None => String::new(),
        };
        all.push(format!("{}{span}", counts.join(", ")));
    }
    (!all.is_empty()).then(|| format!("{}: {}", sanitize(device), all.join("; ")))
}

/// Returns the same of a device in trouble, for its evidence.
pub(crate) fn health_evidence_text(evidence: &HealthEvidence) -> String {
    health_text(
        &evidence.device,
        &evidence.troubles,
        Some(evidence.counted_s),
    )
    .unwrap_or_default()
}

fn texts(troubles: &Health, is_wanted: impl Fn(FactKind) -> bool) -> Vec<String> {
    let wanted = troubles.iter().filter(|(fact, _)| is_wanted(fact.kind));
    wanted
        .filter_map(|(fact, value)| fact_text(fact, value, troubles))
        .collect()
}

/// Returns the text of a fact; `None` for one that is only the extent of another.
fn fact_text(fact: &Fact, value: &FactValue, troubles: &Health) -> Option<String> {
    Some(match (fact.kind, value) {
        (FactKind::State(..), FactValue::Word(word)) if fact.name == SYNC_ACTION => {
            sync_text(word, troubles)
        }
        (FactKind::State(noun, _), FactValue::Word(word)) => {
            format!("{noun} is {}", sanitize(word))
        }
        (FactKind::Trouble("suspended"), _) => "suspended".to_owned(),
        (FactKind::Trouble(noun), FactValue::Number(count)) => counted(*count, noun),
        (kind, FactValue::Number(count)) => counted(*count, kind.errors()?),
        _ => return None,
    })
}

/// Returns the activity of an array: `rebuilding, 43% done, 180 MiB/s`.
fn sync_text(action: &str, troubles: &Health) -> String {
    let action = match action {
        "recover" => "rebuilding".into(),
        "resync" => "resyncing".into(),
        "check" => "being checked".into(),
        "repair" => "being repaired".into(),
        "reshape" => "being reshaped".into(),
        other => sanitize(other),
    };
    let mut text = action.into_owned();
    if let Some(percent) = troubles.number(SYNC_COMPLETED) {
        text += &format!(", {percent}% done");
    }
    if let Some(kib) = troubles.number(SYNC_SPEED) {
        text += &format!(", {}/s", mib(kib as f64));
    }
    text
}

#[cfg(test)]
mod latency_tests {
    use super::*;

    fn sentence(source: BaselineSource, doubt: Option<Doubt>) -> String {
        latency_text(&Latency {
            direction: IoDirection::Writes,
            verdict: Verdict::Saturated,
            await_ms: 17.5,
            queue: 23.0,
            saturation: Some(180.0),
            source: Some(source),
            seen_s_ago: Some(20.0),
            doubt,
        })
    }

    #[test]
    fn a_latency_is_a_multiple_of_what_is_known() {
        let sentences = [
            (
                BaselineSource::Lowest,
                "writes take 17.5 ms, 180x the lowest seen 20 s ago; 23.0 requests at a time",
            ),
            (
                BaselineSource::SinceBoot,
                "writes take 17.5 ms, 360x the mean since boot; 23.0 requests at a time",
            ),
            (
                BaselineSource::Given,
                "writes take 17.5 ms, 216x the given baseline; 23.0 requests at a time",
            ),
            (
                BaselineSource::Class(Some(DeviceClass::Nvme)),
                "writes take 17.5 ms, 180x what any NVMe SSD needs; 23.0 requests at a time",
            ),
        ];
        for (source, expected) in sentences {
            assert_eq!(sentence(source, None), expected);
        }
        // A multiple below 1 would say less.
        let nvme = BaselineSource::Class(Some(DeviceClass::Nvme));
        assert_eq!(
            of_what_text(0.4, nvme, None),
            ", no longer than what any NVMe SSD needs"
        );
        assert_eq!(
            of_what_text(0.9, BaselineSource::Lowest, Some(20.0)),
            ", about the lowest seen 20 s ago"
        );
        assert_eq!(
            sentence(BaselineSource::Lowest, Some(Doubt::NothingQuieter)),
            "busy: 23.0 requests at a time, 17.5 ms each; no quieter time seen to compare with (blkstat help busy)"
        );
    }
}

#[cfg(test)]
mod explanation_tests {
    use super::*;
    use crate::attribution::LimitSource;
    use crate::judge::{ExceededCap, VerdictTimes};

    fn plateau(iops: f64, source: LimitSource) -> PlateauInRun {
        PlateauInRun {
            plateau: Plateau {
                direction: IoDirection::Reads,
                unit: RateUnit::Requests,
                iops,
                mib_per_s: 11.7,
                variation: 0.003,
                intervals: 48,
                seconds: 48.0,
                queue_from: 0.9,
                queue_to: 63.6,
                await_from_ms: 0.32,
                await_to_ms: 21.2,
                source,
            },
            begin_s: 0.0,
            seconds: 48.0,
            intervals: 48,
        }
    }

    #[test]
    fn caps_are_in_the_order_of_time() {
        let report = DeviceReport {
            device: "sda".to_owned(),
            verdict: Some(Verdict::Capped),
            plateaus: vec![
                plateau(3000.4, LimitSource::Inferred),
                plateau(300.0, LimitSource::Given),
            ],
            ..DeviceReport::default()
        };
        assert_eq!(
            explanation_text(&report),
            "sda is capped at 3,000 reads/s, then \
             300 reads/s (the stated cap): rate stayed constant (±0.3%) while the queue grew from 0.90 to 63.6; latency rose from 320 µs to 21.2 ms; then rate \
             stayed constant (±0.3%) while the queue grew from 0.90 to 63.6; latency rose from 320 µs to 21.2 ms"
        );
    }

    #[test]
    fn the_share_of_the_time_comes_first_and_additions_follow() {
        let mut times = VerdictTimes::default();
        times.add(Some(Verdict::Saturated), 46.0);
        times.add(Some(Verdict::Ok), 54.0);
        times.add(Some(Verdict::Idle), 900.0);
        let mut report = DeviceReport {
            device: "vda".to_owned(),
            verdict: times.summary(),
            times,
            longest_stall_s: 3.0,
            exceeded: vec![ExceededCap {
                unit: RateUnit::Requests,
                cap: 3000.0,
                seen: 131_000.0,
            }],
            ..DeviceReport::default()
        };
        report.capacity.max_iops = Some(152_498.0);
        report.capacity.knee_low = Some(18.9);
        report.capacity.knee_high = Some(37.4);
        assert_eq!(
            explanation_text(&report),
            "vda is saturated 46% of the time with work; maximum 152k requests/s, reached between queue 18.9 and 37.4; \
             requests hung for up to 3.0 s without any completion; load temporarily exceeded the stated cap of 3,000 \
             requests/s (131k seen)"
        );
    }

    #[test]
    fn without_data_there_is_no_verdict() {
        let mut report = DeviceReport {
            device: "sda".to_owned(),
            ..DeviceReport::default()
        };
        assert_eq!(
            explanation_text(&report),
            "sda has no verdict: no interval to analyze"
        );
        report.excluded.untimed = 3;
        assert_eq!(
            explanation_text(&report),
            "sda has no verdict: the kernel gives no request times"
        );
    }
}

#[cfg(test)]
mod health_tests {
    use super::*;

    fn text(json: &str, counted_s: Option<f64>) -> Option<String> {
        let health: Health = serde_json::from_str(json).unwrap();
        let before = r#"{"errors":0,"timeouts":0,"file_system_errors":0}"#;
        health_text(
            "sdb",
            &health.troubles(Some(&serde_json::from_str(before).unwrap())),
            counted_s,
        )
    }

    #[test]
    fn a_sentence_says_what_is_wrong() {
        assert_eq!(
            text(
                r#"{"suspended":0,"state":"running","errors":0,"commands":9,"sync_action":"idle"}"#,
                None
            ),
            None
        );
        assert_eq!(
            text(r#"{"suspended":1}"#, None).as_deref(),
            Some("sdb: suspended")
        );
        assert_eq!(
            text(
                r#"{"errors":5,"timeouts":2,"state":"offline","file_system_errors":1}"#,
                Some(40.0)
            )
            .as_deref(),
            Some(
                "sdb: state is offline; 2 timeouts, 5 errors, 1 file system error in the last 40 s"
            )
        );
        let rebuild = r#"{"sync_action":"recover","sync_completed_pct":43,"sync_kib_per_s":184320,"missing_members":1}"#;
        assert_eq!(
            text(rebuild, None).as_deref(),
            Some("sdb: rebuilding, 43% done, 180 MiB/s; 1 missing member")
        );
    }

    #[test]
    fn words_of_a_recording_cannot_control_a_terminal() {
        let text = text(r#"{"state":"\u202eon","sync_action":"\u202eon"}"#, None).unwrap();
        assert!(!text.contains('\u{202e}'), "{text}");
    }
}
