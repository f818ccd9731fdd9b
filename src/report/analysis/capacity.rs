//! The capacity of a device, in sentences.

use super::tables::has_requests;
use super::times::Times;
use crate::analysis::{
    CapacityReport, DeviceReport, DirectionReport, IoDirection, KNEE_FRACTION, MIN_FIT_LEVELS,
    MIN_LOADED_QUEUE, Model, Plateau, Verdict,
};
use crate::report::evidence::{limit_suffix, plateau_evidence, plateau_rate};
use crate::report::layout::sentence_numbers::{duration, number, per_second, percent_of, queue};

/// Relative difference within which two maximum rates count as the same.
const SAME_MAX_TOLERANCE: f64 = 0.01;

/// The reason for a missing maximum rate.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MissingMax {
    /// As far as the data show, the device was not driven to its maximum.
    NotReached,
    /// The device is saturated, so it was driven to its maximum, but no model fits.
    NoModel,
}

/// The capacity of both directions together, the capacity of each if it differs, and every plateau. Empty for a device
/// without requests.
pub(super) fn sentences(report: &DeviceReport, times: &Times<'_>) -> Vec<String> {
    let is_saturated = report.verdict == Some(Verdict::Saturated);
    let missing = if is_saturated { MissingMax::NoModel } else { MissingMax::NotReached };
    let of_direction = |title, direction, capacity: CapacityReport, of: &DirectionReport| {
        sentence(title, direction, &with_highest_seen(capacity, of), missing)
    };
    let sentences = match (has_requests(&report.read), has_requests(&report.write)) {
        (false, false) => Vec::new(),
        (true, false) => vec![of_direction("Reads", IoDirection::Reads, report.capacity, &report.read)],
        (false, true) => vec![of_direction("Writes", IoDirection::Writes, report.capacity, &report.write)],
        (true, true) => {
            let by_direction = &report.capacity_by_direction;
            let alone = |title, direction, capacity: &Option<CapacityReport>| {
                let capacity = capacity.as_ref().filter(|one| differs(one, &report.capacity))?;
                sentence(title, direction, capacity, missing)
            };
            vec![
                both_directions(&report.capacity, &report.all, missing),
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
fn both_directions(capacity: &CapacityReport, all: &DirectionReport, missing: MissingMax) -> Option<String> {
    let title = "Reads and writes together";
    match capacity.capped.filter(|direction| *direction != IoDirection::Both) {
        None => sentence(title, IoDirection::Both, &with_highest_seen(*capacity, all), missing),
        Some(direction) => Some(format!(
            "{title}: highest rate seen {}; the {} among them are capped.",
            per_second(all.iops.max?, "requests"),
            direction.noun()
        )),
    }
}

/// Sets the maximum to the highest rate of an interval, if no level has one.
fn with_highest_seen(capacity: CapacityReport, of: &DirectionReport) -> CapacityReport {
    let has_max = capacity.max_iops.is_some();
    CapacityReport {
        max_iops: capacity.max_iops.or(of.iops.max),
        max_mib_per_s: if has_max { capacity.max_mib_per_s } else { of.mib_per_s.max },
        ..capacity
    }
}

/// Returns whether the capacity of one direction differs from that of both together.
fn differs(one: &CapacityReport, both: &CapacityReport) -> bool {
    let is_near = |(a, b): (f64, f64)| (a - b).abs() <= SAME_MAX_TOLERANCE * b;
    let is_same_max = one.max_iops.zip(both.max_iops).is_some_and(is_near);
    one.knee_reached != both.knee_reached || one.model != both.model || !is_same_max
}

fn sentence(
    title: &str,
    direction: IoDirection,
    capacity: &CapacityReport,
    missing: MissingMax,
) -> Option<String> {
    let max = per_second(capacity.max_iops?, direction.noun());
    let mib = capacity.max_mib_per_s.map(|mib| format!(", {} MiB/s", number(mib))).unwrap_or_default();
    if !capacity.knee_reached {
        let missing = match missing {
            MissingMax::NotReached => "maximum not reached",
            MissingMax::NoModel => "maximum unknown",
        };
        let reason = no_fit_reason(capacity);
        return Some(format!("{title}: {missing}; highest rate seen {max}{mib}. {reason}"));
    }
    let range = capacity.max_iops_low.zip(capacity.max_iops_high);
    let range = range.map(|(low, high)| format!(" ({} to {})", number(low), number(high)));
    let knee = capacity.knee_concurrency.map(|knee| {
        let or_less = if capacity.knee_is_upper_bound { " or less (lowest fitted)" } else { "" };
        format!(" Knee ({} of maximum) at concurrency {}{or_less}.", percent_of(KNEE_FRACTION), queue(knee))
    });
    Some(format!(
        "{title}: maximum {max}{}{mib}, by {}.{}",
        range.unwrap_or_default(),
        model_text(capacity),
        knee.unwrap_or_default()
    ))
}

fn no_fit_reason(capacity: &CapacityReport) -> String {
    let levels = capacity.fitted_levels;
    if capacity.is_offered_rate {
        "Requests arrived at that rate; the device may do more.".to_owned()
    } else if levels < MIN_FIT_LEVELS {
        format!(
            "A fit needs {MIN_FIT_LEVELS} levels of concurrency {MIN_LOADED_QUEUE} or more; seen: {levels}."
        )
    } else {
        "The data end before the knee or fit no model.".to_owned()
    }
}

/// The model with its error.
fn model_text(capacity: &CapacityReport) -> String {
    let name = match (capacity.model, &capacity.usl) {
        (Model::Usl, Some(law)) => format!(
            "the Universal Scalability Law (λ {}, σ {}, κ {})",
            number(law.lambda),
            coefficient(law.sigma),
            coefficient(law.kappa)
        ),
        (Model::Usl, None) => "the Universal Scalability Law".to_owned(),
        (Model::Cap, _) if capacity.relative_error.is_none() => "a constant rate".to_owned(),
        (Model::Cap, _) if capacity.is_proven => "a hard cap".to_owned(),
        _ if capacity.is_close_fit() => "a model with a flat limit".to_owned(),
        _ => "a rough model with a flat limit".to_owned(),
    };
    let error = capacity.relative_error.map(|error| format!("error {:.1}%", error * 100.0));
    let r_squared = capacity.r_squared.filter(|value| *value > 0.0).map(|value| format!("R² {value:.3}"));
    let few_levels = (!capacity.confident && capacity.relative_error.is_some())
        .then(|| format!("only {} levels of concurrency", capacity.fitted_levels));
    let quality: Vec<String> = [error, r_squared, few_levels].into_iter().flatten().collect();
    if quality.is_empty() { name } else { format!("{name} ({})", quality.join(", ")) }
}

/// A coefficient of the Universal Scalability Law, which has no unit: `0.050`, `1.2e-4`.
fn coefficient(value: f64) -> String {
    if value > 0.0 && value < 1e-3 { format!("{value:.1e}") } else { format!("{value:.3}") }
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
    use crate::analysis::Usl;
    use crate::intervals::RunClock;
    use jiff::tz::TimeZone;

    fn all(report: &DeviceReport) -> Vec<String> {
        sentences(report, &Times::new(&RunClock::default(), &TimeZone::UTC))
    }

    fn reads(capacity: &CapacityReport) -> Option<String> {
        sentence("Reads", IoDirection::Reads, capacity, MissingMax::NotReached)
    }

    #[test]
    fn a_maximum_that_was_not_reached_has_no_number_of_a_model() {
        let capacity =
            CapacityReport { max_iops: Some(21_000.4), fitted_levels: 2, ..CapacityReport::default() };
        assert_eq!(
            reads(&capacity).unwrap(),
            "Reads: maximum not reached; highest rate seen 21,000 reads/s. A fit needs 4 levels of concurrency 0.5 or \
             more; seen: 2."
        );
        assert_eq!(reads(&CapacityReport::default()), None);
    }

    #[test]
    fn the_pace_of_requests_is_not_called_a_maximum() {
        let capacity = CapacityReport {
            max_iops: Some(500.0),
            fitted_levels: 9,
            is_offered_rate: true,
            ..CapacityReport::default()
        };
        assert_eq!(
            reads(&capacity).unwrap(),
            "Reads: maximum not reached; highest rate seen 500 reads/s. Requests arrived at that rate; the device may do \
             more."
        );
    }

    #[test]
    fn a_saturated_device_has_reached_its_maximum() {
        let mut report = DeviceReport { verdict: Some(Verdict::Saturated), ..DeviceReport::default() };
        report.read.iops.max = Some(1.0);
        let sentences = all(&report);
        assert!(
            sentences[0].starts_with("Reads: maximum unknown; highest rate seen 1.00 reads/s."),
            "{sentences:?}"
        );
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
        assert!(
            sentences[1].starts_with("Writes with hardly any reads: maximum not reached"),
            "{sentences:?}"
        );
    }

    #[test]
    fn a_model_is_named_with_its_error_and_knee() {
        let capacity = CapacityReport {
            model: Model::Usl,
            knee_reached: true,
            fitted_levels: 5,
            max_iops: Some(150_000.0),
            max_iops_low: Some(145_000.0),
            max_iops_high: Some(156_000.0),
            knee_concurrency: Some(33.3),
            relative_error: Some(0.0312),
            r_squared: Some(0.9991),
            usl: Some(Usl { lambda: 21_000.0, sigma: 0.05, kappa: 0.000_123 }),
            ..CapacityReport::default()
        };
        assert_eq!(
            reads(&capacity).unwrap(),
            "Reads: maximum 150k reads/s (145k to 156k), by the Universal Scalability Law (λ 21,000, σ 0.050, \
             κ 1.2e-4) (error 3.1%, R² 0.999, only 5 levels of concurrency). Knee (90% of maximum) at concurrency 33.3."
        );
    }
}
