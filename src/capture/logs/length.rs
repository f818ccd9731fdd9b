//! How long the intervals of a log without times are, as its numbers show.

use std::collections::HashSet;
use std::time::Duration;

use jiff::SignedDuration;

use super::report::Report;

/// The longest interval that is looked for, in seconds. Rates are rounded to hundredths, so that any number is a whole
/// number of requests in 100 s.
const MAX_SECONDS: usize = 60;
/// The lengths that people choose.
const USUAL: [usize; 12] = [1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, 60];
/// How likely another one is, compared with these.
const UNUSUAL: f64 = 0.05;
/// How likely a rate is that does not fit to the length.
const UNEXPLAINED: f64 = 1e-3;
/// Beside a length that is sure, this few rates may be of a shorter or a longer interval.
const MIN_SHARE: f64 = 0.9;
/// How unlikely it must be that rates fit to a length by chance.
const MAX_CHANCE: f64 = 2e-3;
/// The same before the rest of a stream is seen.
const MAX_EARLY_CHANCE: f64 = 1e-9;
/// An interval may be off its length by a tick of the clock from which it is measured, in seconds.
const TICK_S: f64 = 0.01;

/// Counts which lengths the rates of a log fit to.
#[derive(Debug, Default)]
pub(super) struct Lengths {
    /// What times, or amounts of data and their rates, show.
    exact: Vec<Duration>,
    /// For each length in seconds, the rates that are whole numbers of requests: if it is exact, and if it is off by a tick.
    fits: Vec<[Fit; 2]>,
    /// The rates that were taken: the same one again tells nothing new.
    known: HashSet<u64>,
}

/// The most rates that are taken.
const MAX_RATES: usize = 100_000;

/// As many different rates of an interval of twice the length would not all be even numbers of requests.
const MANY_RATES: usize = 16;

/// How well rates fit to a length: of these `rates`, so many are a whole number of requests, and so many would be by chance.
#[derive(Clone, Copy, Debug, Default)]
struct Fit {
    rates: f64,
    whole: f64,
    by_chance: f64,
}

impl Fit {
    /// Takes a rate that may be a whole number of requests, which `tolerance` of a request is likely to show by chance.
    fn observe(&mut self, is_whole: bool, tolerance: f64) {
        // So wide a range tells nothing.
        if tolerance < 0.45 {
            self.rates += 1.0;
            self.whole += f64::from(is_whole);
            self.by_chance += 2.0 * tolerance;
        }
    }

    /// Returns whether nearly all rates fit, and far more than by chance.
    fn is_it(&self, max_chance: f64) -> bool {
        let (share, by_chance) = (self.whole / self.rates, self.by_chance / self.rates);
        if self.rates < 2.0 || share < MIN_SHARE || share <= by_chance {
            return false;
        }
        // The bound of Chernoff and Hoeffding for the sum of independent ones.
        let others = match 1.0 - share {
            0.0 => 0.0,
            others => others * (others / (1.0 - by_chance)).ln(),
        };
        let divergence = share * (share / by_chance).ln() + others;
        (-self.rates * divergence).exp() <= max_chance
    }
}

impl Lengths {
    /// Takes an interval, whose rates have this many digits after the point.
    pub(super) fn observe(&mut self, report: &Report, digits: usize) {
        self.fits.resize(MAX_SECONDS + 1, [Fit::default(); 2]);
        if self.exact.len() < 1000 {
            self.exact.extend(length_of_amounts(report));
        }
        let rounding = 0.5 * 0.1_f64.powi(i32::try_from(digits).unwrap_or(2));
        for device in &report.devices {
            let merges = [&device.rates.reads, &device.rates.writes].map(|rates| rates.merges);
            let counts = device.ios().chain(merges.into_iter().flatten());
            for per_s in counts.filter(|per_s| *per_s > 0.0) {
                if self.known.len() == MAX_RATES || !self.known.insert(per_s.to_bits()) {
                    continue;
                }
                let is_whole = |seconds: f64| is_whole(per_s, seconds, digits);
                let is_of_second = is_whole(1.0);
                for (seconds, [exact, off]) in (0..).zip(&mut self.fits).skip(1) {
                    // What is whole in a second is whole in any, which tells nothing.
                    if seconds > 1 && is_of_second {
                        break;
                    }
                    let (seconds, tolerance) = (f64::from(seconds), rounding * f64::from(seconds));
                    let is_exact = is_whole(seconds);
                    let is_off = || is_whole(seconds - TICK_S) || is_whole(seconds + TICK_S);
                    exact.observe(is_exact, tolerance);
                    off.observe(is_exact || is_off(), 3.0 * tolerance);
                }
            }
        }
    }

    /// Takes the time between two reports.
    pub(super) fn observe_step(&mut self, step: SignedDuration) {
        let step = Duration::try_from(step).ok().filter(|step| !step.is_zero());
        if self.exact.len() < 1000 {
            self.exact.extend(step);
        }
    }

    /// Returns whether what follows would show the same length.
    pub(super) fn is_sure(&self) -> bool {
        let has_many = self.known.len() >= MANY_RATES;
        !self.exact.is_empty() || has_many && self.find(MAX_EARLY_CHANCE).is_some()
    }

    /// Returns the length; `None` if nothing shows it.
    pub(super) fn decide(&self) -> Option<Duration> {
        let mut exact = self.exact.clone();
        exact.sort_unstable();
        if let Some(middle) = exact.get(exact.len() / 2) {
            return Some(*middle);
        }
        let seconds = self.find(MAX_CHANCE)?;
        Some(Duration::from_secs(seconds.try_into().ok()?))
    }

    /// Returns the most likely length that rates fit to, in seconds.
    fn find(&self, max_chance: f64) -> Option<usize> {
        let mut best: Option<(usize, f64)> = None;
        for (seconds, fits) in self.fits.iter().enumerate().skip(1) {
            let Some(fit) = fits.iter().find(|fit| fit.is_it(max_chance)) else {
                continue;
            };
            // What is whole in a second, too, is left out of the rates of longer intervals.
            let all = self.known.len() as f64;
            let others = fit.rates - fit.whole;
            let mut likelihood =
                -(all - others) * (fit.by_chance / fit.rates).ln() + others * UNEXPLAINED.ln();
            if !USUAL.contains(&seconds) {
                likelihood += UNUSUAL.ln();
            }
            if best.is_none_or(|(_, most)| likelihood > most) {
                best = Some((seconds, likelihood));
            }
        }
        best.map(|(seconds, _)| seconds)
    }
}

/// Returns whether a rate with these digits after the point is a whole number of requests in these seconds. Half way between two
/// numbers of the last digit, that depends on how the tool divides.
fn is_whole(per_s: f64, seconds: f64, digits: usize) -> bool {
    let requests = (per_s * seconds).round();
    let rounding = 0.5 * 0.1_f64.powi(i32::try_from(digits).unwrap_or(2)) * seconds;
    let distance = (per_s * seconds - requests).abs();
    if requests < 1.0 || (distance - rounding).abs() > 1e-6 {
        return requests >= 1.0 && distance < rounding;
    }
    let text = format!("{per_s:.digits$}");
    let rates = [requests / seconds, requests / (seconds * 100.0) * 100.0];
    rates.iter().any(|rate| format!("{rate:.digits$}") == text)
}

/// Returns the whole seconds that the amounts of a report show; `None` if they are too small.
fn length_of_amounts(report: &Report) -> Option<Duration> {
    const MIN_AMOUNT: f64 = 100.0;
    let [amount, rate] = [0, 1].map(|at| {
        report
            .devices
            .iter()
            .map(|device| device.amount[at])
            .sum::<f64>()
    });
    let seconds = (amount / rate).round();
    let is_exact = amount >= MIN_AMOUNT && (amount / rate - seconds).abs() <= 0.05 * seconds;
    (is_exact && seconds >= 1.0).then(|| Duration::try_from_secs_f64(seconds).ok())?
}
