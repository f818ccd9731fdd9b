//! The capacity of a device, in sentences.

use super::tables::has_requests;
use super::times::Times;
use crate::analysis::{
    CapacityReport, DeviceReport, DirectionReport, IoDirection, MAX_RATE_TOLERANCE, Plateau,
};
use crate::report::evidence::{knee_text, limit_suffix, plateau_evidence, plateau_rate};
use crate::report::layout::sentence_numbers::{duration, number, per_second};

/// Relative difference within which two maximum rates count as the same.
const SAME_MAX_TOLERANCE: f64 = 0.01;

/// The capacity of both directions together, the capacity of each if it differs, and every plateau. Empty for a device
/// without requests.
pub(super) fn sentences(report: &DeviceReport, times: &Times<'_>) -> Vec<String> {
    let sentences = match (has_requests(&report.read), has_requests(&report.write)) {
        (false, false) => Vec::new(),
        (true, false) => vec![sentence("Reads", IoDirection::Reads, &report.capacity)],
        (false, true) => vec![sentence("Writes", IoDirection::Writes, &report.capacity)],
        (true, true) => {
            let by_direction = &report.capacity_by_direction;
            let alone = |title, direction, capacity: &Option<CapacityReport>| {
                let capacity = capacity.as_ref().filter(|one| differs(one, &report.capacity))?;
                sentence(title, direction, capacity)
            };
            vec![
                both_directions(&report.capacity, &report.all),
                alone("Reads with hardly any writes", IoDirection::Reads, &by_direction.read),
                alone("Writes with hardly any reads", IoDirection::Writes, &by_direction.write),
            ]
        }
    };
    sentences
        .into_iter()
        .flatten()
        .chain(report.plateaus.iter().map(|plateau| plateau_sentence(plateau, times)))
        .collect()
}

/// The capacity of both directions together, unless the cap is on one of them.
fn both_directions(capacity: &CapacityReport, all: &DirectionReport) -> Option<String> {
    let title = "Reads and writes together";
    match capacity.capped.filter(|direction| *direction != IoDirection::Both) {
        None => sentence(title, IoDirection::Both, capacity),
        Some(direction) => Some(format!(
            "{title}: highest rate seen {}; the {} among them are capped.",
            per_second(all.iops.max?, "requests"),
            direction.noun()
        )),
    }
}

/// Returns whether the capacity of one direction differs from that of both together.
fn differs(one: &CapacityReport, both: &CapacityReport) -> bool {
    let is_near = |(a, b): (f64, f64)| (a - b).abs() <= SAME_MAX_TOLERANCE * b;
    let is_same_max = one.max_iops.zip(both.max_iops).is_some_and(is_near);
    one.is_max_known != both.is_max_known || !is_same_max
}

fn sentence(title: &str, direction: IoDirection, capacity: &CapacityReport) -> Option<String> {
    let max = per_second(capacity.max_iops?, direction.noun());
    let mib = capacity.max_mib_per_s.map(|mib| format!(", {} MiB/s", number(mib))).unwrap_or_default();
    if !capacity.is_max_known {
        let reason = if capacity.is_offered_rate {
            "Requests arrived at that rate; the device may do more.".to_owned()
        } else {
            let percent = MAX_RATE_TOLERANCE * 100.0;
            format!("A maximum shows in a rate that stays within {percent:.0}% while the queue doubles.")
        };
        return Some(format!("{title}: maximum not known; highest rate held {max}{mib}. {reason}"));
    }
    let knee = match capacity.knee_high {
        Some(high) => knee_text(capacity.knee_low, high),
        None => "a constant rate".to_owned(),
    };
    Some(format!("{title}: maximum {max}{mib}, {knee}."))
}

fn plateau_sentence(plateau: &Plateau, times: &Times<'_>) -> String {
    format!(
        "{}{}, from {} on, {} in total: {}.",
        plateau_rate(plateau),
        limit_suffix(plateau),
        times.after(plateau.begin_s),
        duration(plateau.seconds),
        plateau_evidence(plateau)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::intervals::RunClock;
    use jiff::tz::TimeZone;

    fn all(report: &DeviceReport) -> Vec<String> {
        sentences(report, &Times::new(&RunClock::default(), &TimeZone::UTC))
    }

    fn reads(capacity: &CapacityReport) -> Option<String> {
        sentence("Reads", IoDirection::Reads, capacity)
    }

    #[test]
    fn a_rate_is_not_called_a_maximum_unless_it_is_known() {
        let capacity = CapacityReport { max_iops: Some(21_000.4), ..CapacityReport::default() };
        assert_eq!(
            reads(&capacity).unwrap(),
            "Reads: maximum not known; highest rate held 21,000 reads/s. A maximum shows in a rate that stays within 5% \
             while the queue doubles."
        );
        let offered = CapacityReport { is_offered_rate: true, ..capacity };
        assert_eq!(
            reads(&offered).unwrap(),
            "Reads: maximum not known; highest rate held 21,000 reads/s. Requests arrived at that rate; the device may do \
             more."
        );
        assert_eq!(reads(&CapacityReport::default()), None);
    }

    #[test]
    fn a_maximum_has_the_queues_between_which_it_was_reached() {
        let capacity = CapacityReport {
            max_iops: Some(135_000.0),
            max_mib_per_s: Some(1969.0),
            is_max_known: true,
            knee_low: Some(16.0),
            knee_high: Some(64.0),
            ..CapacityReport::default()
        };
        assert_eq!(
            reads(&capacity).unwrap(),
            "Reads: maximum 135k reads/s, 1,969 MiB/s, reached between queue 16.0 and 64.0."
        );
        let all_at_maximum = CapacityReport { knee_low: None, ..capacity };
        assert!(reads(&all_at_maximum).unwrap().ends_with(", reached at queue 64.0 or less."));
        let plateau = CapacityReport { knee_high: None, ..all_at_maximum };
        assert!(reads(&plateau).unwrap().ends_with("1,969 MiB/s, a constant rate."));
    }

    #[test]
    fn a_direction_alone_is_named_where_it_differs() {
        let capacity = |max| CapacityReport { max_iops: Some(max), ..CapacityReport::default() };
        let mut report = DeviceReport { capacity: capacity(1000.0), ..DeviceReport::default() };
        assert!(all(&report).is_empty());
        (report.read.iops.max, report.write.iops.max) = (Some(1000.0), Some(800.0));
        report.capacity_by_direction.read = Some(capacity(999.0));
        report.capacity_by_direction.write = Some(capacity(800.0));
        let sentences = all(&report);
        assert_eq!(sentences.len(), 2);
        assert!(sentences[1].starts_with("Writes with hardly any reads: maximum not known"), "{sentences:?}");
    }
}
