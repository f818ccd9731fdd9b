//! One device of an interval in few bytes, without loss.
//!
//! Statistics are stored as the whole numbers that they were computed from. The usual evidence, which repeats numbers
//! of the statistics, is stored as a few bits. Rare values are stored unchanged in [`Rare`].

use jiff::Timestamp;

use super::bytes::{ByteReader, put_f64, put_u64};
use crate::analysis::{Assessment, BaselineSource, Doubt, Evidence, IoDirection, Latency, Verdict};
use crate::attribution::ReachedLimit;
use crate::intervals::{DeviceActivity, DeviceState, EventKind, TopCgroup};
use crate::metrics::{DataFlag, DirectionStats, IntervalCounts, IntervalStats};
use crate::units::Span;

/// The values of the devices of an interval that do not fit into their bytes.
#[derive(Clone, Debug, Default)]
pub(super) struct Rare {
    pub(super) evidence: Vec<Evidence>,
    pub(super) stats: Vec<IntervalStats>,
    pub(super) limits: Vec<ReachedLimit>,
    pub(super) top_cgroups: Vec<TopCgroup>,
    pub(super) times: Vec<Timestamp>,
}

impl Rare {
    /// No values.
    pub(super) const NONE: Self = Self {
        evidence: Vec::new(),
        stats: Vec::new(),
        limits: Vec::new(),
        top_cgroups: Vec::new(),
        times: Vec::new(),
    };

    /// An estimate of its memory.
    pub(super) fn bytes(&self) -> usize {
        // Evidence with several words has them on the heap.
        self.evidence.len() * (size_of::<Evidence>() + 100)
            + self.stats.len() * size_of::<IntervalStats>()
            + self.limits.len() * (size_of::<ReachedLimit>() + 20)
            + self.top_cgroups.len() * size_of::<TopCgroup>()
            + self.times.len() * size_of::<Timestamp>()
    }
}

/// The states, as the low bits of the first byte. Its high bits are the verdict: see [`verdict_code`].
const ACTIVE: u8 = 0;
const RESET: u8 = 1;
const MEMBER_RESET: u8 = 2;
const ACCOUNTING_OFF: u8 = 3;
const EVENT: u8 = 4;
const STATE_BITS: u8 = 3;

/// The bits of an activity.
const HAS_STALL: u8 = 1;
const HAS_VERDICT_S: u8 = 1 << 1;
/// Set if the verdict held for the whole interval.
const IS_WHOLE: u8 = 1 << 2;
const HAS_LIMIT: u8 = 1 << 3;
const HAS_TOP_CGROUP: u8 = 1 << 4;
const HAS_EVIDENCE_TIME: u8 = 1 << 5;
const FLAG_SHIFT: u8 = 6;

/// The bits for the known saturations and the origin of the baseline.
const HAS_READ_SATURATION: u8 = 1;
const HAS_WRITE_SATURATION: u8 = 1 << 1;
const HAS_FLUSH_SATURATION: u8 = 1 << 2;
const HAS_DURATION: u8 = 1 << 3;
const SOURCE_SHIFT: u8 = 4;

/// Kinds of evidence.
const EVIDENCE_IDLE: u8 = 0;
const EVIDENCE_NO_LATENCY: u8 = 1;
const EVIDENCE_UNCONFIRMED: u8 = 2;
const EVIDENCE_LATENCY: u8 = 3;
const EVIDENCE_RARE: u8 = 4;

/// Bits of a latency.
const LATENCY_OF_STATS: u8 = 1;
const SATURATION_OF_ASSESSMENT: u8 = 1 << 1;
const HAS_SATURATION: u8 = 1 << 2;

/// Returns a number for a verdict: 0 for none.
pub(super) fn verdict_code(verdict: Option<Verdict>) -> u8 {
    let at = verdict.and_then(|verdict| Verdict::ALL.iter().position(|one| *one == verdict));
    at.and_then(|at| u8::try_from(at + 1).ok()).unwrap_or(0)
}

/// Returns the verdict of a number.
pub(super) fn verdict_of_code(code: u8) -> Option<Verdict> {
    usize::from(code).checked_sub(1).and_then(|at| Verdict::ALL.get(at)).copied()
}

/// Returns the verdict of a device, from its first byte.
pub(super) fn peek_verdict(bytes: &[u8]) -> Option<Verdict> {
    verdict_of_code(bytes.first().copied().unwrap_or(0) >> STATE_BITS)
}

/// Appends the state of a device in an interval of this length.
pub(super) fn put_row(state: &DeviceState, interval: Span, rare: &mut Rare, out: &mut Vec<u8>) {
    let verdict = match state {
        DeviceState::Active(activity) => activity.assessment.verdict,
        DeviceState::AccountingOff(_) => Some(Verdict::AccountingOff),
        _ => None,
    };
    let first = |state: u8| verdict_code(verdict) << STATE_BITS | state;
    match state {
        DeviceState::Active(activity) => {
            out.push(first(ACTIVE));
            put_activity(activity, interval, rare, out);
        }
        DeviceState::Reset => out.push(first(RESET)),
        DeviceState::MemberReset => out.push(first(MEMBER_RESET)),
        DeviceState::AccountingOff(stats) => {
            out.push(first(ACCOUNTING_OFF));
            put_stats(stats, interval, rare, out);
        }
        DeviceState::Event(kind) => {
            out.push(first(EVENT));
            let at = EVENT_KINDS.iter().position(|one| one == kind).unwrap_or(0);
            out.push(at as u8);
        }
    }
}

const EVENT_KINDS: [EventKind; 4] =
    [EventKind::Appeared, EventKind::Disappeared, EventKind::Reappeared, EventKind::AppearedBriefly];
const FLAGS: [DataFlag; 3] = [DataFlag::UtilTooLow, DataFlag::UtilTooHigh, DataFlag::AccountingOff];
const SOURCES: [BaselineSource; 4] =
    [BaselineSource::Given, BaselineSource::Saved, BaselineSource::Learned, BaselineSource::SinceBoot];
const DIRECTIONS: [IoDirection; 4] =
    [IoDirection::Reads, IoDirection::Writes, IoDirection::Both, IoDirection::Flushes];
const DOUBTS: [Doubt; 6] = [
    Doubt::NoBaseline,
    Doubt::ConstantLoad,
    Doubt::AboveSinceBoot,
    Doubt::Bursts,
    Doubt::Faster,
    Doubt::FewRequests,
];

/// Returns a number for an optional value, from its index in a list: 0 for none.
fn code<T: PartialEq>(value: Option<&T>, all: &[T]) -> u8 {
    value.and_then(|value| all.iter().position(|one| one == value)).map_or(0, |at| at as u8 + 1)
}

fn of_code<T: Copy>(code: u8, all: &[T]) -> Option<T> {
    usize::from(code).checked_sub(1).and_then(|at| all.get(at)).copied()
}

/// Reads a state.
pub(super) fn read_row(bytes: &[u8], interval: Span, rare: &Rare) -> DeviceState {
    let mut reader = ByteReader(bytes);
    let first = reader.u8();
    let verdict = verdict_of_code(first >> STATE_BITS);
    match first & ((1 << STATE_BITS) - 1) {
        ACTIVE => DeviceState::Active(Box::new(read_activity(&mut reader, verdict, interval, rare))),
        MEMBER_RESET => DeviceState::MemberReset,
        ACCOUNTING_OFF => DeviceState::AccountingOff(Box::new(read_stats(&mut reader, interval, rare))),
        EVENT => DeviceState::Event(EVENT_KINDS[usize::from(reader.u8()).min(EVENT_KINDS.len() - 1)]),
        _ => DeviceState::Reset,
    }
}

/// Reads only the statistics; `None` for a device without activity.
pub(super) fn read_row_stats(bytes: &[u8], interval: Span, rare: &Rare) -> Option<IntervalStats> {
    let mut reader = ByteReader(bytes);
    let is_active = reader.u8() & ((1 << STATE_BITS) - 1) == ACTIVE;
    is_active.then(|| read_stats(&mut reader, interval, rare))
}

/// The count of values that marks statistics that are stored in [`Rare`].
const RARE_STATS: u8 = 0xff;

/// Appends statistics: bits for the known ones, a bit for each value that is not zero, and then these values.
fn put_stats(stats: &IntervalStats, interval: Span, rare: &mut Rare, out: &mut Vec<u8>) {
    let Some(counts) = IntervalCounts::of(stats, interval) else {
        out.push(RARE_STATS);
        put_u64(rare.stats.len() as u64, out);
        rare.stats.push(*stats);
        return;
    };
    out.push(0);
    put_u64(counts.known.into(), out);
    let values = counts.values.iter().enumerate();
    let filled = values.clone().fold(0, |bits, (at, value)| bits | u64::from(*value > 0) << at);
    put_u64(filled, out);
    values.filter(|(_, value)| **value > 0).for_each(|(_, value)| put_u64(*value, out));
}

fn read_stats(reader: &mut ByteReader<'_>, interval: Span, rare: &Rare) -> IntervalStats {
    if reader.u8() == RARE_STATS {
        let at = reader.u64() as usize;
        return rare.stats.get(at).copied().unwrap_or_default();
    }
    let known = u32::try_from(reader.u64()).unwrap_or_default();
    let filled = reader.u64();
    let mut counts = IntervalCounts { known, ..IntervalCounts::default() };
    for (at, value) in counts.values.iter_mut().enumerate() {
        if filled >> at & 1 == 1 {
            *value = reader.u64();
        }
    }
    counts.stats(interval)
}

fn put_activity(activity: &DeviceActivity, interval: Span, rare: &mut Rare, out: &mut Vec<u8>) {
    let DeviceActivity { stats, flag, stalled_s, assessment, verdict_s, limit, top_cgroup, evidence_at } =
        activity;
    put_stats(stats, interval, rare, out);
    let is_whole = *verdict_s == Some(stats.seconds);
    let bits = [
        (*stalled_s != 0.0, HAS_STALL),
        (verdict_s.is_some() && !is_whole, HAS_VERDICT_S),
        (is_whole, IS_WHOLE),
        (limit.is_some(), HAS_LIMIT),
        (top_cgroup.is_some(), HAS_TOP_CGROUP),
        (evidence_at.is_some(), HAS_EVIDENCE_TIME),
    ];
    let bits = bits.into_iter().fold(0, |all, (is_set, bit)| if is_set { all | bit } else { all });
    out.push(bits | code(flag.as_ref(), &FLAGS) << FLAG_SHIFT);
    if bits & HAS_STALL > 0 {
        put_f64(*stalled_s, out);
    }
    if bits & HAS_VERDICT_S > 0 {
        put_f64(verdict_s.unwrap_or_default(), out);
    }
    put_rare(limit.as_ref(), &mut rare.limits, out);
    put_rare(top_cgroup.as_ref(), &mut rare.top_cgroups, out);
    put_rare(evidence_at.as_ref(), &mut rare.times, out);
    put_assessment(assessment, stats, rare, out);
}

/// Stores a value in `all`, if there is one, and appends its index.
fn put_rare<T: Clone>(value: Option<&T>, all: &mut Vec<T>, out: &mut Vec<u8>) {
    if let Some(value) = value {
        put_u64(all.len() as u64, out);
        all.push(value.clone());
    }
}

fn read_activity(
    reader: &mut ByteReader<'_>,
    verdict: Option<Verdict>,
    interval: Span,
    rare: &Rare,
) -> DeviceActivity {
    let stats = read_stats(reader, interval, rare);
    let bits = reader.u8();
    let has = |bit: u8| bits & bit > 0;
    let stalled_s = if has(HAS_STALL) { reader.f64() } else { 0.0 };
    let verdict_s =
        if has(HAS_VERDICT_S) { Some(reader.f64()) } else { has(IS_WHOLE).then_some(stats.seconds) };
    let mut place = |bit: u8| has(bit).then(|| reader.u64() as usize);
    let limit = place(HAS_LIMIT).and_then(|at| rare.limits.get(at)).cloned();
    let top_cgroup = place(HAS_TOP_CGROUP).and_then(|at| rare.top_cgroups.get(at)).cloned();
    let evidence_at = place(HAS_EVIDENCE_TIME).and_then(|at| rare.times.get(at)).copied();
    DeviceActivity {
        stats,
        flag: of_code(bits >> FLAG_SHIFT, &FLAGS),
        stalled_s,
        assessment: read_assessment(reader, verdict, &stats, rare),
        verdict_s,
        limit,
        top_cgroup,
        evidence_at,
    }
}

fn put_assessment(assessment: &Assessment, stats: &IntervalStats, rare: &mut Rare, out: &mut Vec<u8>) {
    let saturations = saturations(assessment);
    let bits = [HAS_READ_SATURATION, HAS_WRITE_SATURATION, HAS_FLUSH_SATURATION];
    let known = saturations.iter().zip(bits).fold(
        0,
        |all, (saturation, bit)| {
            if saturation.is_some() { all | bit } else { all }
        },
    );
    let duration = if assessment.lasted_s.is_some() { HAS_DURATION } else { 0 };
    out.push(known | duration | code(assessment.baseline_source.as_ref(), &SOURCES) << SOURCE_SHIFT);
    saturations.into_iter().flatten().for_each(|saturation| put_f64(saturation, out));
    assessment.lasted_s.into_iter().for_each(|lasted_s| put_f64(lasted_s, out));
    put_u64(assessment.evidence.len() as u64, out);
    for evidence in &assessment.evidence {
        put_evidence(evidence, assessment, stats, rare, out);
    }
}

fn saturations(assessment: &Assessment) -> [Option<f64>; 3] {
    [assessment.read_saturation, assessment.write_saturation, assessment.flush_saturation]
}

fn read_assessment(
    reader: &mut ByteReader<'_>,
    verdict: Option<Verdict>,
    stats: &IntervalStats,
    rare: &Rare,
) -> Assessment {
    let bits = reader.u8();
    let has_duration = bits & HAS_DURATION > 0;
    let mut saturation = |bit: u8| (bits & bit > 0).then(|| reader.f64());
    let mut assessment = Assessment {
        verdict,
        read_saturation: saturation(HAS_READ_SATURATION),
        write_saturation: saturation(HAS_WRITE_SATURATION),
        flush_saturation: saturation(HAS_FLUSH_SATURATION),
        baseline_source: of_code(bits >> SOURCE_SHIFT, &SOURCES),
        evidence: Vec::new(),
        lasted_s: None,
    };
    if has_duration {
        assessment.lasted_s = Some(reader.f64());
    }
    let evidence = (0..reader.u64()).filter_map(|_| read_evidence(reader, &assessment, stats, rare));
    assessment.evidence = evidence.collect();
    assessment
}

/// Appends evidence; its kind is in the low bits of the first byte.
fn put_evidence(
    evidence: &Evidence,
    assessment: &Assessment,
    stats: &IntervalStats,
    rare: &mut Rare,
    out: &mut Vec<u8>,
) {
    match evidence {
        Evidence::Idle => out.push(EVIDENCE_IDLE),
        Evidence::NoLatency => out.push(EVIDENCE_NO_LATENCY),
        Evidence::Unconfirmed(verdict) => {
            out.extend([EVIDENCE_UNCONFIRMED, verdict_code(Some(*verdict))]);
        }
        Evidence::Latency { direction, latency, source, doubt }
            if doubt.is_none_or(|doubt| DOUBTS.contains(&doubt)) =>
        {
            out.push(EVIDENCE_LATENCY);
            out.push(code(Some(direction), &DIRECTIONS));
            out.push(code(source.as_ref(), &SOURCES) << 4 | code(doubt.as_ref(), &DOUBTS));
            put_latency(latency, *direction, assessment, stats, out);
        }
        evidence => {
            out.push(EVIDENCE_RARE);
            put_rare(Some(evidence), &mut rare.evidence, out);
        }
    }
}

fn read_evidence(
    reader: &mut ByteReader<'_>,
    assessment: &Assessment,
    stats: &IntervalStats,
    rare: &Rare,
) -> Option<Evidence> {
    match reader.u8() {
        EVIDENCE_IDLE => Some(Evidence::Idle),
        EVIDENCE_NO_LATENCY => Some(Evidence::NoLatency),
        EVIDENCE_UNCONFIRMED => verdict_of_code(reader.u8()).map(Evidence::Unconfirmed),
        EVIDENCE_LATENCY => {
            let direction = of_code(reader.u8(), &DIRECTIONS)?;
            let codes = reader.u8();
            let latency = read_latency(reader, direction, assessment, stats);
            let (source, doubt) = (of_code(codes >> 4, &SOURCES), of_code(codes & 0xf, &DOUBTS));
            Some(Evidence::Latency { direction, latency, source, doubt })
        }
        _ => rare.evidence.get(reader.u64() as usize).cloned(),
    }
}

/// Returns the latency and queue of a direction in the statistics; `None` if they have none.
fn latency_of_stats(direction: IoDirection, stats: &IntervalStats) -> Option<(f64, f64)> {
    let of = |stats: &DirectionStats| stats.await_ms.zip(stats.queue);
    match direction {
        IoDirection::Reads => of(&stats.reads),
        IoDirection::Writes => of(&stats.writes),
        IoDirection::Both => None,
        // Computed like in the analysis.
        IoDirection::Flushes => stats
            .flushes_per_s
            .zip(stats.flush_await_ms)
            .map(|(per_s, await_ms)| (await_ms, per_s * stats.seconds * await_ms / 1000.0 / stats.seconds)),
    }
}

fn saturation_of_assessment(direction: IoDirection, assessment: &Assessment) -> Option<f64> {
    match direction {
        IoDirection::Reads => assessment.read_saturation,
        IoDirection::Writes => assessment.write_saturation,
        IoDirection::Both => None,
        IoDirection::Flushes => assessment.flush_saturation,
    }
}

fn put_latency(
    latency: &Latency,
    direction: IoDirection,
    assessment: &Assessment,
    stats: &IntervalStats,
    out: &mut Vec<u8>,
) {
    let is_of_stats = latency_of_stats(direction, stats) == Some((latency.await_ms, latency.queue));
    let is_of_assessment = saturation_of_assessment(direction, assessment) == latency.saturation;
    let mut bits = 0;
    bits |= if is_of_stats { LATENCY_OF_STATS } else { 0 };
    bits |= if is_of_assessment { SATURATION_OF_ASSESSMENT } else { 0 };
    bits |= if latency.saturation.is_some() { HAS_SATURATION } else { 0 };
    out.push(bits);
    if !is_of_stats {
        put_f64(latency.await_ms, out);
        put_f64(latency.queue, out);
    }
    if let Some(saturation) = latency.saturation.filter(|_| !is_of_assessment) {
        put_f64(saturation, out);
    }
}

fn read_latency(
    reader: &mut ByteReader<'_>,
    direction: IoDirection,
    assessment: &Assessment,
    stats: &IntervalStats,
) -> Latency {
    let bits = reader.u8();
    let known = latency_of_stats(direction, stats).filter(|_| bits & LATENCY_OF_STATS > 0);
    let (await_ms, queue) = known.unwrap_or_else(|| (reader.f64(), reader.f64()));
    let saturation = if bits & SATURATION_OF_ASSESSMENT > 0 {
        saturation_of_assessment(direction, assessment)
    } else {
        (bits & HAS_SATURATION > 0).then(|| reader.f64())
    };
    Latency { await_ms, queue, saturation }
}
