//! Caps in a range of time, found with the help of the loads before it.

use super::find_plateaus::{SteadyRates, find_steady_rates};
use super::latest_plateau::is_on_plateau;
use super::plateau::Plateau;
use crate::analysis::load::LoadSample;
use crate::analysis::settings::{KnownDevice, StatedCap};
use crate::analysis::thresholds::SATURATION_WINDOW_INTERVALS;

/// The steady rates of the loads of a range. A cap that holds for the whole range is only visible against the loads
/// before it: if the range alone shows no cap, caps of both together count that have enough intervals within the range.
/// The indices of the preceding loads are negative.
pub(crate) fn find_steady_rates_after(
    preceding: Vec<LoadSample>,
    loads: &[LoadSample],
    stated: Option<StatedCap>,
    device: &KnownDevice,
) -> SteadyRates {
    let own = find_steady_rates(loads, stated, device);
    if preceding.is_empty() || loads.is_empty() || !own.caps.is_empty() {
        return own;
    }
    let both: Vec<LoadSample> = preceding.into_iter().chain(loads.iter().copied()).collect();
    let found = find_steady_rates(&both, stated, device).caps;
    let caps: Vec<Plateau> = found.into_iter().filter_map(|cap| within(cap, loads)).collect();
    if caps.is_empty() { own } else { SteadyRates { caps, unclear: None } }
}

/// The part of a plateau within the range, with the evidence of the whole plateau; `None` if the part is too short.
fn within(plateau: Plateau, loads: &[LoadSample]) -> Option<Plateau> {
    let on: Vec<&LoadSample> = loads.iter().filter(|load| is_on_plateau(&plateau, load)).collect();
    let intervals: f64 = on.iter().map(|load| load.intervals).sum();
    let first = on.first().filter(|_| intervals >= SATURATION_WINDOW_INTERVALS as f64)?;
    Some(Plateau {
        intervals: intervals as u64,
        seconds: on.iter().map(|load| load.seconds).sum(),
        first_interval: first.interval_index as u64,
        begin_s: first.begin_s,
        ..plateau
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::load::{IoDirection, RateUnit};
    use crate::analysis::stats::IoTotals;

    /// A second of reads at a rate and a queue.
    fn load(index: usize, (ios, queue): (f64, f64)) -> LoadSample {
        let reads = IoTotals { ios, kib: 4.0 * ios, ms: 1000.0 * queue };
        LoadSample {
            interval_index: index as f64,
            begin_s: index as f64,
            seconds: 1.0,
            intervals: 1.0,
            reads,
            is_steady: true,
            in_flight_at_end: Some(queue as u64),
            ..LoadSample::default()
        }
    }

    fn loads(count: usize, rate_and_queue: impl Fn(usize) -> (f64, f64)) -> Vec<LoadSample> {
        (0..count).map(|index| load(index, rate_and_queue(index))).collect()
    }

    fn caps(preceding: Vec<LoadSample>, own: &[LoadSample]) -> Vec<Plateau> {
        find_steady_rates_after(preceding, own, None, &KnownDevice::default()).caps
    }

    #[test]
    fn a_cap_shows_by_the_growth_of_the_queue_before_the_range() {
        let own = loads(6, |_| (2000.0, 24.0));
        assert_eq!(caps(Vec::new(), &own), []);
        let mut preceding = loads(12, |index| (2000.0, [3.0, 3.0, 6.0, 12.0][index / 3]));
        preceding.iter_mut().for_each(|load| load.interval_index -= 12.0);
        let [cap] = &caps(preceding.clone(), &own)[..] else { panic!("one cap") };
        assert_eq!((cap.intervals, cap.seconds, cap.first_interval, cap.begin_s), (6, 6.0, 0, 0.0));
        assert_eq!(own[0].rate(IoDirection::Reads, RateUnit::Requests), cap.iops);
        assert_eq!((cap.queue_from, cap.queue_to), (3.0, 24.0));
        // It is not a cap of a range with far higher rates.
        let fast = loads(6, |_| (9000.0, 24.0));
        assert_eq!(caps(preceding, &fast), []);
    }
}
