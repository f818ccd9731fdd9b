//! Rates that stand still: caps, also those that change on the way.

use libm::log;
use serde::Serialize;

use super::clouds::known_cap;
use super::load::{IoDirection, LoadSample, RateUnit};
use super::settings::StatedCap;
use super::still::{
    LEAST_LOADED, STILL, Still, brief_before, changed, densest, is_beaten, is_pace, judged, without_others,
};

/// What a cap is known as that the user stated.
pub const STATED: &str = "the stated cap";

/// A stretch of time in which a rate stood still.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plateau {
    /// Whose rate: `reads`, `writes`, `requests` (both together).
    #[serde(serialize_with = "noun")]
    pub side: IoDirection,
    /// In what it stands still.
    #[serde(serialize_with = "measure")]
    pub measure: RateUnit,
    /// Requests a second, the median.
    pub iops: f64,
    /// MiB a second, the median.
    pub mib_per_s: f64,
    /// By which share the rate varied (standard deviation over mean).
    pub variation: f64,
    /// How many intervals it lasted.
    pub intervals: u64,
    /// Seconds in it.
    pub seconds: f64,
    /// The first of its intervals, counted from the beginning of the capture.
    pub first_interval: u64,
    /// The lowest mean concurrency in it.
    pub concurrency_from: f64,
    /// The highest mean concurrency in it.
    pub concurrency_to: f64,
    /// Mean response time in milliseconds at the lowest concurrency.
    pub await_from_ms: f64,
    /// Mean response time in milliseconds at the highest concurrency.
    pub await_to_ms: f64,
    /// The known caps that it lies on; `None` when it lies on none.
    pub alias: Option<String>,
    /// Whether the rate varied too little for busy servers, or the user stated the cap: if not, only where it lies,
    /// or another plateau, tells that it is a cap.
    pub is_certain: bool,
}

// Serde hands out references.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn noun<S: serde::Serializer>(side: &IoDirection, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(side.noun())
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn measure<S: serde::Serializer>(measure: &RateUnit, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(if *measure == RateUnit::Requests { "requests" } else { "bytes" })
}

/// The rates of a device that stood still.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Standing {
    /// Those that are caps, in the order of time.
    pub(super) caps: Vec<Plateau>,
    /// Where there is no cap: one that stood still while the queue quadrupled, but that scattered as much as that of
    /// busy servers.
    pub(super) unclear: Option<Plateau>,
}

/// The plateaus of a device, in the order of time; none where the rates do not stand still.
///
/// Requests and bytes, of both directions together first, then of each. What stands still in both measures is
/// called one of bytes only where a known or stated cap speaks for that.
pub fn plateaus(loads: &[LoadSample], stated: Option<StatedCap>) -> Vec<Plateau> {
    standing(loads, stated).caps
}

/// The same with what may be a cap or not.
pub(super) fn standing(loads: &[LoadSample], stated: Option<StatedCap>) -> Standing {
    let steady: Vec<&LoadSample> = loads.iter().filter(|load| load.steady).collect();
    // Where hardly anything is steady, that is the load's nature and no change of it.
    let used = if 2 * steady.len() >= loads.len() { steady } else { loads.iter().collect() };
    let mut unclear = None;
    for side in sides(&used) {
        let by_requests = search(&used, side, RateUnit::Requests, stated.and_then(|cap| cap.iops));
        let by_bytes =
            search(&used, side, RateUnit::Kib, stated.and_then(|cap| cap.mib_per_s.map(|m| m * 1024.0)));
        let named = |found: &[Plateau]| found.iter().any(|plateau| plateau.alias.is_some());
        let large = by_requests.caps.iter().all(Plateau::is_of_large_requests);
        let prefer_bytes =
            by_requests.caps.is_empty() || (named(&by_bytes.caps) && (large || !named(&by_requests.caps)));
        unclear = unclear.or(by_requests.unclear).or(by_bytes.unclear);
        let caps = if prefer_bytes { by_bytes.caps } else { by_requests.caps };
        if !caps.is_empty() {
            return Standing { caps, unclear: None };
        }
    }
    Standing { caps: Vec::new(), unclear }
}

/// Which sides to look at: one alone where the other hardly works.
fn sides(loads: &[&LoadSample]) -> Vec<IoDirection> {
    let sum = |side: IoDirection| loads.iter().map(|load| load.work(side).ios).sum::<f64>();
    let (reads, writes) = (sum(IoDirection::Reads), sum(IoDirection::Writes));
    if writes <= 0.01 * reads {
        vec![IoDirection::Reads]
    } else if reads <= 0.01 * writes {
        vec![IoDirection::Writes]
    } else {
        vec![IoDirection::Both, IoDirection::Reads, IoDirection::Writes]
    }
}

fn search(loads: &[&LoadSample], side: IoDirection, measure: RateUnit, stated: Option<f64>) -> Standing {
    let loaded =
        |load: &&&LoadSample| load.concurrency(side) >= LEAST_LOADED && load.rate(side, measure) > 0.0;
    let all: Vec<&LoadSample> = loads.iter().filter(loaded).copied().collect();
    let mut still = held(&all, side, measure, stated);
    still.retain(|one| one.is_stated || !is_pace(one, loads, side, measure));
    let changes = |one: &Still, other: &Still| changed(one, other, side);
    let is_cap = |one: &Still| {
        one.is_proof()
            || (one.is_quiet() && is_beaten(one, &all, side, measure))
            || still.iter().any(|other| {
                changes(one, other)
                    && one.may_be_a_cap()
                    && (one.is_quiet() || other.is_quiet() || other.is_proof())
            })
    };
    let caps: Vec<&Still> = still.iter().filter(|one| is_cap(one)).collect();
    // The first to be spent were those that others lie below.
    let brief = caps.iter().filter_map(|one| brief_before(one, &all, side, measure)).next();
    let known = |one: &Still| !caps.iter().any(|cap| (cap.rate / one.rate - 1.0).abs() <= 2.0 * STILL);
    let told = |one: &Still| described(one, side, measure);
    let mut plateaus: Vec<Plateau> =
        caps.iter().copied().chain(brief.iter().filter(|one| known(one))).filter_map(told).collect();
    plateaus.sort_by_key(|plateau| plateau.first_interval);
    let unclear = still.iter().filter(|one| one.has_grown).find_map(told).filter(|_| plateaus.is_empty());
    Standing { caps: plateaus, unclear }
}

/// The rates at which loads stood still, those of most time first.
fn held<'a>(
    all: &[&'a LoadSample],
    side: IoDirection,
    measure: RateUnit,
    stated: Option<f64>,
) -> Vec<Still<'a>> {
    const TRIES: usize = 6;
    let mut left = all.to_vec();
    left.sort_by(|a, b| a.rate(side, measure).total_cmp(&b.rate(side, measure)));
    let mut found: Vec<Still> = Vec::new();
    for _ in 0..TRIES {
        let Some(range) = densest(&left, side, measure) else { break };
        let dense = left.drain(range).collect();
        found.extend(judged(dense, all, side, measure, stated));
    }
    let apart = |one: &Still<'a>, others: &[&Still]| {
        let rest = without_others(one, others, all, side)?;
        judged(one.loads.clone(), &rest, side, measure, stated).filter(|one| one.is_still)
    };
    // Caps that come and go in turn lie within each other's time: those that are exact by themselves speak for each
    // other.
    let everything: Vec<&Still> = found.iter().collect();
    let in_turn: Vec<Still> =
        found.iter().filter_map(|one| apart(one, &everything)).filter(Still::is_quiet).collect();
    let proven: Vec<&Still> = found.iter().filter(|one| one.is_still).chain(&in_turn).collect();
    let returned: Vec<Still> = found.iter().filter_map(|one| apart(one, &proven)).collect();
    found.extend(returned);
    found.retain(|one| one.is_still);
    found
}

fn described(still: &Still, side: IoDirection, measure: RateUnit) -> Option<Plateau> {
    let near = |concurrency: f64| {
        let load = still.loads.iter().min_by(|a, b| {
            let distance = |load: &LoadSample| log(load.concurrency(side) / concurrency).abs();
            distance(a).total_cmp(&distance(b))
        })?;
        load.work(side).await_ms()
    };
    let median = |measure| super::levels::median_of(&still.loads, |load| Some(load.rate(side, measure)));
    let intervals: f64 = still.loads.iter().map(|load| load.intervals).sum();
    let squares = |load: &&LoadSample| load.intervals * (load.rate(side, measure) / still.rate - 1.0).powi(2);
    let (iops, mib_per_s) = (median(RateUnit::Requests)?, median(RateUnit::Kib)? / 1024.0);
    Some(Plateau {
        side,
        measure,
        iops,
        mib_per_s,
        variation: (still.loads.iter().map(squares).sum::<f64>() / intervals).sqrt(),
        intervals: intervals as u64,
        seconds: still.loads.iter().map(|load| load.seconds).sum(),
        first_interval: still.loads.first()?.place as u64,
        concurrency_from: still.low,
        concurrency_to: still.high,
        await_from_ms: near(still.low)?,
        await_to_ms: near(still.high)?,
        is_certain: still.is_certain(),
        alias: if still.is_stated { Some(STATED.into()) } else { known_cap(measure, iops, mib_per_s) },
    })
}

#[cfg(test)]
mod tests {
    use super::super::load::IoTotals;
    use super::*;

    /// LoadHistory of `(rate, concurrency, size)`.
    fn loads(of: impl IntoIterator<Item = (f64, f64, f64)>) -> Vec<LoadSample> {
        let load = |(place, (ios, n, size)): (usize, (f64, f64, f64))| {
            let reads = IoTotals { ios, kib: ios * size, ms: 1000.0 * n };
            LoadSample {
                place: place as f64,
                seconds: 1.0,
                intervals: 1.0,
                reads,
                steady: true,
                ..LoadSample::default()
            }
        };
        of.into_iter().enumerate().map(load).collect()
    }

    fn rates(found: &[Plateau]) -> Vec<f64> {
        found.iter().map(|plateau| plateau.iops.round()).collect()
    }

    #[test]
    fn a_rate_that_stands_still_while_the_queue_quadruples_is_a_plateau() {
        let capped = loads((0..30).map(|k| (3000.0 + f64::from(k % 3), f64::from(1 << (k / 6)), 4.0)));
        let found = plateaus(&capped, None);
        assert_eq!(rates(&found), [3001.0]);
        assert_eq!((found[0].concurrency_from, found[0].concurrency_to), (1.0, 16.0));
        assert_eq!(found[0].alias.as_deref(), Some("AWS gp3 (base)"));
    }

    #[test]
    fn a_steady_rate_at_a_queue_of_one_is_none() {
        // As a lower device under a cap: ten times the concurrency, but nobody waits.
        assert_eq!(plateaus(&loads((0..50).map(|k| (3000.0, 0.1 + f64::from(k) / 40.0, 4.0))), None), []);
        // One level alone says nothing, and so do two levels that are in proportion.
        assert_eq!(plateaus(&loads((0..50).map(|_| (3000.0, 32.0, 4.0))), None), []);
        let growing = |k: i32| if k < 25 { (3000.0, 8.0, 4.0) } else { (4000.0, 10.0, 4.0) };
        assert_eq!(plateaus(&loads((0..50).map(growing)), None), []);
    }

    #[test]
    fn burst_credits_that_are_spent_make_two_plateaus() {
        let spent = loads((0..40).map(|k| (if k < 20 { 3000.0 } else { 300.0 }, 32.0, 4.0)));
        assert_eq!(rates(&plateaus(&spent, None)), [3000.0, 300.0]);
        let larger = loads((0..40).map(|k| if k < 20 { (3000.0, 32.0, 4.0) } else { (300.0, 32.0, 64.0) }));
        assert_eq!(plateaus(&larger, None), []);
    }

    #[test]
    fn bytes_can_stand_still_where_requests_do_not() {
        let sized = loads((0..40).map(|k| {
            let size = [16.0, 64.0, 256.0][k % 3];
            (125.0 * 1024.0 / size, f64::from(1 << (k / 8)), size)
        }));
        let found = plateaus(&sized, None);
        assert_eq!((found.len(), found[0].measure), (1, RateUnit::Kib));
        assert!((found[0].mib_per_s - 125.0).abs() < 0.01);
    }

    #[test]
    fn a_stated_cap_needs_no_other_proof() {
        let flat = loads((0..10).map(|_| (4000.0, 32.0, 4.0)));
        let stated = Some(StatedCap { iops: Some(4000.0), mib_per_s: None });
        assert_eq!(plateaus(&flat, stated)[0].alias.as_deref(), Some("the stated cap"));
    }
}
