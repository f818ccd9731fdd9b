//! The plateau of the latest load, for the live verdict.

use super::find_plateaus::CapSearch;
use super::plateau::{Plateau, is_above_plateau, is_on_plateau};
use super::rate::RateKind;
use crate::analysis::load::{IoDirection, LoadSample, RATE_KINDS, RateUnit, RecentLoads};
use crate::analysis::settings::{KnownDevice, StatedCap};
use crate::analysis::thresholds::{
    CLOSED_LOOP_TOLERANCE, CONSTANT_QUEUE_INTERVALS, MIN_CONSTANT_QUEUE, MIN_IRREGULAR_DISPERSION,
    MIN_PLATEAU_INTERVALS, MIN_QUEUE_CHANGE_RATIO, MIN_RATE_CHANGE_RATIO, MIN_SATURATED_QUEUE,
};

/// The directions that can have a cap.
pub(super) const DIRECTIONS: [IoDirection; 3] =
    [IoDirection::Both, IoDirection::Reads, IoDirection::Writes];

/// The highest number of intervals on a plateau before it is searched for again.
const MAX_UNSEARCHED_INTERVALS: u32 = 15;

/// The number of searches that may fail for each that found a plateau...
const FOUND_CREDIT: u32 = 4;
/// ...and the most of them.
const MAX_CREDIT: u32 = 64;

/// The plateau that the loads of a device lie on at present. While they stay on a plateau that several searches have
/// found, searches become rarer and rarer, because a search takes longer than everything else that is done for an
/// interval.
#[derive(Clone, Debug, Default)]
pub(crate) struct CurrentPlateau {
    found: Option<Plateau>,
    /// The remaining intervals for which the plateau is taken without a search.
    unsearched_intervals: u32,
    /// The number of searches that may fail before the plateau is given up.
    credit: u32,
    /// The number of intervals between the latest two searches.
    latest_pause: u32,
}

impl CurrentPlateau {
    /// The plateau that the latest of the `recent` loads lies on with a queue; `None` if it lies on none.
    pub(crate) fn observe(
        &mut self,
        recent: &RecentLoads,
        stated: Option<StatedCap>,
        device: &KnownDevice,
    ) -> Option<Plateau> {
        let latest = recent.latest()?;
        let stays = self
            .found
            .as_ref()
            .is_some_and(|plateau| is_on_plateau(plateau, latest));
        if stays && self.unsearched_intervals > 0 {
            self.unsearched_intervals -= 1;
            return self.found.clone();
        }
        let found = plateau_of_latest(recent, stated, device);
        let is_confirmed = stays && found.is_some();
        // A device that is at a limit stays there while its rate does, and comes back to it.
        let is_exceeded = self
            .found
            .as_ref()
            .is_some_and(|plateau| is_above_plateau(plateau, latest));
        if found.is_some() {
            self.credit = (self.credit + FOUND_CREDIT).min(MAX_CREDIT);
        } else if stays {
            self.credit = self.credit.saturating_sub(1);
        }
        if is_exceeded {
            self.credit = 0;
        }
        if found.is_some() || self.credit == 0 {
            self.found = found;
        }
        self.latest_pause = if is_confirmed {
            (2 * self.latest_pause + 1).min(MAX_UNSEARCHED_INTERVALS)
        } else {
            0
        };
        self.unsearched_intervals = self.latest_pause;
        self.found
            .clone()
            .filter(|plateau| is_on_plateau(plateau, latest))
    }
}

/// The plateau that the latest load lies on with a queue; `None` if it lies on none.
///
/// The search takes long. It is only made if enough intervals have had about the rate of the latest, and either the
/// number of clients was constant or the queue or rate changed meanwhile. Most intervals fail this test.
fn plateau_of_latest(
    recent: &RecentLoads,
    stated: Option<StatedCap>,
    device: &KnownDevice,
) -> Option<Plateau> {
    let latest = recent.latest()?;
    let queue = latest.queue(IoDirection::Both);
    if queue < MIN_CONSTANT_QUEUE {
        return None;
    }
    let is_dense = |(index, kind): &(usize, RateKind)| {
        let width = 1.0 + 2.0 * kind.tolerance(latest);
        recent.has_dense(*index, MIN_PLATEAU_INTERVALS as u32, width)
    };
    let kinds = RATE_KINDS.into_iter().map(|(direction, unit)| RateKind {
        direction,
        unit,
        device: *device,
    });
    let dense: Vec<RateKind> = kinds
        .enumerate()
        .filter(is_dense)
        .map(|(_, kind)| kind)
        .collect();
    if dense.is_empty() {
        return None;
    }
    let loads: Vec<&LoadSample> = recent.iter().collect();
    // With a shorter queue, only a constant number of clients can be held back by a cap.
    let is_possible = stated.is_some()
        || queue >= MIN_SATURATED_QUEUE
            && DIRECTIONS
                .into_iter()
                .any(|direction| has_changed(&loads, direction))
        || has_constant_clients(&loads, latest) && is_more_regular_than_chance(&loads, latest);
    if !is_possible {
        return None;
    }
    let search = CapSearch::new(&loads, stated, device);
    let is_on = |plateau: &Plateau| is_on_plateau(plateau, latest);
    // Which of the caps on several kinds of rate count depends on all of them, but usually there is none.
    let has_any = dense
        .into_iter()
        .any(|kind| search.caps_of(kind).caps.iter().any(is_on));
    has_any
        .then(|| search.find().caps.into_iter().find(is_on))
        .flatten()
}

/// Returns whether enough intervals ended with about as many requests in flight as the latest.
fn has_constant_clients(recent: &[&LoadSample], latest: &LoadSample) -> bool {
    let Some(in_flight) = latest.in_flight_at_end else {
        return false;
    };
    let tolerance = 1.0 + CLOSED_LOOP_TOLERANCE * in_flight as f64;
    let is_near = |load: &&&LoadSample| {
        load.in_flight_at_end
            .is_some_and(|other| other.abs_diff(in_flight) as f64 <= tolerance)
    };
    recent.iter().filter(is_near).count() >= CONSTANT_QUEUE_INTERVALS
}

/// Returns whether half of the last intervals had the latest rate, or number of completions, of any kind, within a
/// fraction of the variation by chance.
fn is_more_regular_than_chance(recent: &[&LoadSample], latest: &LoadSample) -> bool {
    let is_regular = |direction: IoDirection, unit: RateUnit| {
        let rate = latest.rate(direction, unit);
        let requests = latest.totals(direction).ios;
        let tolerance = MIN_IRREGULAR_DISPERSION / requests.sqrt() + 1.0 / requests;
        let amount = latest.amount(direction, unit);
        let is_near = |other: &&&LoadSample| {
            (other.rate(direction, unit) / rate - 1.0).abs() <= tolerance
                || (other.amount(direction, unit) / amount - 1.0).abs() <= tolerance
        };
        let last = &recent[recent.len().saturating_sub(CONSTANT_QUEUE_INTERVALS)..];
        requests > 0.0 && 2 * last.iter().filter(is_near).count() >= last.len()
    };
    RATE_KINDS
        .into_iter()
        .any(|(direction, unit)| is_regular(direction, unit))
}

/// Returns whether the queue or the rates of a direction changed.
fn has_changed(recent: &[&LoadSample], direction: IoDirection) -> bool {
    has_changed_by(
        MIN_QUEUE_CHANGE_RATIO,
        recent.iter().map(|load| load.queue(direction)),
    ) || RateUnit::ALL.into_iter().any(|unit| {
        has_changed_by(
            MIN_RATE_CHANGE_RATIO,
            recent.iter().map(|load| load.rate(direction, unit)),
        )
    })
}

/// Returns whether the highest value is at least this multiple of the lowest. Usually a few values suffice to show it.
fn has_changed_by(ratio: f64, mut values: impl Iterator<Item = f64>) -> bool {
    let (mut min, mut max) = (f64::INFINITY, 0.0f64);
    values.any(|value| {
        (min, max) = (min.min(value), max.max(value));
        max / min >= ratio
    })
}

/// Returns the seconds for which the latest of the `recent` loads have been on the plateau in a row. A single load off
/// the plateau may lie between: an interval that did not use up the cap, or that caught up on it.
pub(crate) fn seconds_on_plateau<'a>(
    plateau: &Plateau,
    recent: impl DoubleEndedIterator<Item = &'a LoadSample>,
) -> f64 {
    let (mut seconds, mut skipped_s) = (0.0, 0.0);
    let mut next_index = None;
    for load in recent.rev() {
        if next_index.is_some_and(|next| next - load.interval_index > 1.5) {
            break;
        }
        next_index = Some(load.interval_index);
        if is_on_plateau(plateau, load) {
            seconds += skipped_s + load.seconds;
            skipped_s = 0.0;
        } else if skipped_s > 0.0 {
            break;
        } else {
            skipped_s = load.seconds;
        }
    }
    seconds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::stats::IoTotals;

    /// A load of requests of 4 KiB at a constant queue of eight.
    fn load(index: usize, ios: f64) -> LoadSample {
        LoadSample {
            interval_index: index as f64,
            seconds: 1.0,
            intervals: 1.0,
            reads: IoTotals {
                ios,
                kib: 4.0 * ios,
                ms: 8000.0,
            },
            is_steady: true,
            in_flight_at_end: Some(8),
            ..LoadSample::default()
        }
    }

    #[test]
    fn a_plateau_reaches_back_over_its_loads_in_a_row() {
        let stated = Some(StatedCap {
            iops: Some(3000.0),
            mib_per_s: None,
        });
        let loads = |rates: &[f64]| -> Vec<LoadSample> {
            rates
                .iter()
                .enumerate()
                .map(|(index, rate)| load(index, *rate))
                .collect()
        };
        let mut recent = RecentLoads::default();
        loads(&[3000.0; 9])
            .iter()
            .for_each(|load| recent.push(*load));
        let plateau = plateau_of_latest(&recent, stated, &KnownDevice::default()).unwrap();
        let seconds = |rates: &[f64]| seconds_on_plateau(&plateau, loads(rates).iter());
        assert_eq!(seconds(&[3000.0; 9]), 9.0);
        assert_eq!(seconds(&[3000.0, 1000.0, 3000.0, 3000.0]), 4.0);
        assert_eq!(seconds(&[1000.0, 3000.0, 3000.0]), 2.0);
        assert_eq!(seconds(&[3000.0, 1000.0, 1000.0, 3000.0, 3000.0]), 2.0);
        // The device did nothing in between.
        let mut interrupted = loads(&[3000.0; 5]);
        interrupted.remove(2);
        assert_eq!(seconds_on_plateau(&plateau, interrupted.iter()), 2.0);
    }

    #[test]
    fn a_plateau_is_kept_until_the_load_leaves_it() {
        let stated = Some(StatedCap {
            iops: Some(3000.0),
            mib_per_s: None,
        });
        let (mut current, mut recent) = (CurrentPlateau::default(), RecentLoads::default());
        let mut observe = |ios: f64| {
            let index = recent.iter().len();
            recent.push(load(index, ios));
            let found = current.observe(&recent, stated, &KnownDevice::default());
            (
                found.map(|plateau| plateau.intervals),
                current.unsearched_intervals,
            )
        };
        (0..7).for_each(|_| assert_eq!(observe(3000.0), (None, 0)));
        // The plateau is found, confirmed, and then kept for one interval, for three, and so on.
        assert_eq!(observe(3000.0), (Some(8), 0));
        assert_eq!(observe(3000.0), (Some(9), 1));
        assert_eq!(observe(3000.0), (Some(9), 0));
        assert_eq!(observe(3000.0), (Some(11), 3));
        assert_eq!(observe(2000.0), (None, 0));
        // It comes back to the plateau.
        assert_eq!(observe(3000.0), (Some(11), 1));
    }
}
