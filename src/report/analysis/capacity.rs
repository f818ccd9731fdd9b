//! The most that a device can do, in sentences.

use super::tables::has_worked;
use crate::analysis::{
    CapacityReport, DeviceReport, DirectionReport, Model, Plateau, STATED, Verdict, number, per_second,
};

/// What is known of a device's capacity: of both directions together, of each where it was alone and says something
/// else, and every rate that stood still. Empty for a device that did nothing.
pub(super) fn sentences(report: &DeviceReport) -> Vec<String> {
    let said = match (has_worked(&report.read), has_worked(&report.write)) {
        (false, false) => Vec::new(),
        (true, false) => vec![sentence("Reads", "reads", &seen(report.capacity, &report.read))],
        (false, true) => vec![sentence("Writes", "writes", &seen(report.capacity, &report.write))],
        (true, true) => {
            let by = &report.capacity_by_direction;
            let alone = |who, noun, of: &Option<CapacityReport>| {
                sentence(who, noun, of.as_ref().filter(|of| differs(of, &report.capacity))?)
            };
            vec![
                together(&report.capacity, &report.all),
                alone("Reads with hardly any write", "reads", &by.read),
                alone("Writes with hardly any read", "writes", &by.write),
            ]
        }
    };
    let at_its_limit = report.verdict == Some(Verdict::Saturated);
    // "Not reached" is not true of a device that is at its limit: only no model tells it.
    let told = |said: String| {
        if at_its_limit {
            said.replacen(": not reached; the", ": no model tells the most; the", 1)
        } else {
            said
        }
    };
    said.into_iter().flatten().map(told).chain(report.plateaus.iter().map(plateau)).collect()
}

/// What is known of both directions together, where the cap is not on one of them.
fn together(of: &CapacityReport, did: &DirectionReport) -> Option<String> {
    let noun = of.capped.filter(|noun| *noun != "requests");
    match noun {
        None => sentence("Reads and writes together", "requests", &seen(*of, did)),
        Some(noun) => Some(format!(
            "Reads and writes together: the highest rate seen is {}; the {noun} among them are capped.",
            per_second(did.iops.max?, "requests")
        )),
    }
}

/// The same with the highest rate of an interval, where no level was high enough to have one.
fn seen(of: CapacityReport, did: &DirectionReport) -> CapacityReport {
    CapacityReport {
        max_iops: of.max_iops.or(did.iops.max),
        max_mib_per_s: if of.max_iops.is_some() { of.max_mib_per_s } else { did.mib_per_s.max },
        ..of
    }
}

/// Whether a direction alone says something else than both together.
fn differs(of: &CapacityReport, both: &CapacityReport) -> bool {
    const SAME: f64 = 0.01;
    let is_near = |a: f64, b: f64| (a - b).abs() <= SAME * b;
    let is_same = of.max_iops.zip(both.max_iops).is_some_and(|(of, both)| is_near(of, both));
    of.reached != both.reached || of.model != both.model || !is_same
}

fn sentence(who: &str, noun: &str, of: &CapacityReport) -> Option<String> {
    let most = per_second(of.max_iops?, noun);
    let mib = of.max_mib_per_s.map(|mib| format!(", {} MiB/s", number(mib))).unwrap_or_default();
    if !of.reached {
        return Some(format!(
            "{who}: not reached; the highest rate seen is {most}{mib}. {}",
            why_not(of.fitted_levels)
        ));
    }
    let between = of.max_iops_low.zip(of.max_iops_high);
    let between = between.map(|(low, high)| format!(" ({} to {})", number(low), number(high)));
    let knee = of.knee_concurrency.map(|knee| {
        let less = if of.knee_is_upper_bound { " or less, the lowest of the fit" } else { "" };
        format!(
            " The knee lies at a concurrency of {}{less}: from there on the rate is within 10 % of the most.",
            number(knee)
        )
    });
    Some(format!(
        "{who}: at most {most}{}{mib}, by {}.{}",
        between.unwrap_or_default(),
        model(of),
        knee.unwrap_or_default()
    ))
}

fn why_not(levels: usize) -> String {
    const LEAST: usize = 4;
    if levels < LEAST {
        format!(
            "A fit needs {LEAST} levels of concurrency of 0.5 or more; there {}.",
            if levels == 1 { "was 1".to_owned() } else { format!("were {levels}") }
        )
    } else {
        "The data end before the knee, or follow no model.".to_owned()
    }
}

/// The model with its error.
fn model(of: &CapacityReport) -> String {
    let name = match (of.model, &of.usl) {
        (Model::Usl, Some(law)) => format!(
            "the Universal Scalability Law (λ {}, σ {}, κ {})",
            number(law.lambda),
            number(law.sigma),
            small(law.kappa)
        ),
        (Model::Usl, None) => "the Universal Scalability Law".to_owned(),
        (Model::Cap, _) if of.relative_error.is_none() => "a rate that stood still".to_owned(),
        (Model::Cap, _) if of.is_proven => "a hard cap".to_owned(),
        _ if of.is_close_fit() => "the model of a flat limit".to_owned(),
        _ => "the model of a flat limit, roughly".to_owned(),
    };
    let error = of.relative_error.map(|error| format!("error {:.1} %", error * 100.0));
    let explained = of.r_squared.filter(|share| *share > 0.0).map(|share| format!("R² {share:.3}"));
    let few = (!of.confident && of.relative_error.is_some())
        .then(|| format!("only {} levels of concurrency", of.fitted_levels));
    let known: Vec<String> = [error, explained, few].into_iter().flatten().collect();
    if known.is_empty() { name } else { format!("{name} ({})", known.join(", ")) }
}

fn small(value: f64) -> String {
    if value > 0.0 && value < 1e-3 { format!("{value:.1e}") } else { number(value) }
}

fn plateau(of: &Plateau) -> String {
    let known = of.alias.as_ref().map(|name| match name.as_str() {
        STATED => format!(" This is {STATED}."),
        name => format!(" This lies on a known cap: {name}."),
    });
    format!(
        "{}, from interval {} on, {} s together: {}.{}",
        of.rate(),
        of.first_interval + 1,
        number(of.seconds),
        of.sentence(),
        known.unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Usl;

    #[test]
    fn what_was_not_reached_has_no_number_of_a_model() {
        let of = CapacityReport { max_iops: Some(21_000.4), fitted_levels: 2, ..CapacityReport::default() };
        let said = sentence("Reads", "reads", &of).unwrap();
        assert_eq!(
            said,
            "Reads: not reached; the highest rate seen is 21,000 reads/s. A fit needs 4 levels of concurrency of 0.5 \
             or more; there were 2."
        );
        assert_eq!(sentence("Reads", "reads", &CapacityReport::default()), None);
    }

    #[test]
    fn a_saturated_device_has_reached_its_most() {
        let mut report = DeviceReport { verdict: Some(Verdict::Saturated), ..DeviceReport::default() };
        report.read.iops.max = Some(1.0);
        let said = sentences(&report);
        assert!(
            said[0].starts_with("Reads: no model tells the most; the highest rate seen is 1 read/s."),
            "{said:?}"
        );
    }

    #[test]
    fn a_direction_alone_is_named_where_it_says_something_else() {
        let of = |max| CapacityReport { max_iops: Some(max), ..CapacityReport::default() };
        let mut report = DeviceReport { capacity: of(1000.0), ..DeviceReport::default() };
        assert!(sentences(&report).is_empty());
        (report.read.iops.max, report.write.iops.max) = (Some(1000.0), Some(800.0));
        report.capacity_by_direction.read = Some(of(999.0));
        report.capacity_by_direction.write = Some(of(800.0));
        let said = sentences(&report);
        assert_eq!(said.len(), 2);
        assert!(said[1].starts_with("Writes with hardly any read: not reached"), "{}", said[1]);
    }

    #[test]
    fn a_model_is_named_with_its_error_and_knee() {
        let of = CapacityReport {
            model: Model::Usl,
            reached: true,
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
            sentence("Reads", "reads", &of).unwrap(),
            "Reads: at most 150,000 reads/s (145,000 to 156,000), by the Universal Scalability Law (λ 21,000, σ 0.05, \
             κ 1.2e-4) (error 3.1 %, R² 0.999, only 5 levels of concurrency). The knee lies at a concurrency of 33.3: \
             from there on the rate is within 10 % of the most."
        );
    }
}
