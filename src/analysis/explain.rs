//! The judgement in words, with its numbers.

use libm::log10;

use super::load::{IoDirection, RateUnit};
use super::plateau::{Plateau, STATED};

/// A number as a person reads it in a sentence: thousands grouped, else two significant digits or three.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size >= 1000.0 {
        return grouped(value.round());
    }
    let digits = match size {
        _ if size == 0.0 || size >= 100.0 => 0,
        _ if size >= 10.0 => 1,
        _ if size >= 1.0 => 2,
        _ => ((1.0 - log10(size).floor()) as usize).min(6),
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

fn grouped(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 && text != "-" {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A rate with what is counted: `3,000 reads/s`, `1 read/s`.
pub fn per_second(rate: f64, plural: &str) -> String {
    let rate = number(rate);
    let noun = if rate == "1" { plural.trim_end_matches('s') } else { plural };
    format!("{rate} {noun}/s")
}

/// A multiple: `3.6x`.
pub(super) fn ratio(value: f64) -> String {
    format!("{value:.1}x")
}

/// From this size on, a cap on requests may be one on bytes.
const LARGE_KIB: f64 = 64.0;

impl Plateau {
    /// Whether its requests are so large that their bytes may be what is capped.
    pub(super) fn is_of_large_requests(&self) -> bool {
        self.mib_per_s * 1024.0 >= LARGE_KIB * self.iops
    }

    /// What stood still, in words: `3,000 reads/s`; with the bytes where these may be what is capped.
    pub fn rate(&self) -> String {
        match self.measure {
            RateUnit::Requests if self.is_of_large_requests() => {
                let (iops, mib) = (per_second(self.iops, self.side.noun()), number(self.mib_per_s));
                format!("{iops} or {mib} MiB/s")
            }
            RateUnit::Requests => per_second(self.iops, self.side.noun()),
            RateUnit::Kib if self.side == IoDirection::Both => format!("{} MiB/s", number(self.mib_per_s)),
            RateUnit::Kib => format!("{} MiB/s of {}", number(self.mib_per_s), self.side.noun()),
        }
    }

    /// The plateau as evidence: how still, between which queues, with which response times.
    pub fn sentence(&self) -> String {
        let still = format!("±{:.1} %", (self.variation * 100.0).max(0.1));
        let queue = if self.concurrency_to >= 1.5 * self.concurrency_from {
            format!("grew from {} to {}", whole(self.concurrency_from), whole(self.concurrency_to))
        } else {
            format!("was {}", whole(self.concurrency_to))
        };
        let time = if self.await_to_ms >= 1.5 * self.await_from_ms {
            format!("{} ms -> {} ms", number(self.await_from_ms), number(self.await_to_ms))
        } else {
            format!("{} ms", number(self.await_to_ms))
        };
        format!("the rate stood still ({still}) while the queue {queue}; response time {time}")
    }

    /// What speaks against a cap; empty where it is certain.
    pub(super) fn doubt(&self) -> &'static str {
        if self.is_certain {
            ""
        } else {
            "; that it lies on a known cap speaks for one, but busy servers could vary as little"
        }
    }

    /// Which known cap it lies on, to be put behind a sentence; empty where it lies on none.
    pub(super) fn hint(&self) -> String {
        match &self.alias {
            Some(name) if name == STATED => format!(" ({STATED})"),
            Some(name) => format!(" (the cap of {name})"),
            None => String::new(),
        }
    }
}

/// A concurrency without digits that nobody needs.
pub(super) fn whole(concurrency: f64) -> String {
    if concurrency >= 0.95 { number(concurrency.round()) } else { number(concurrency) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        let numbers = [3000.2, 151_234.0, 21.19, 0.3157, 0.0351, 1.0, 0.0, 640.4, 1_234_567.0, 0.5];
        let expected = ["3,000", "151,234", "21.2", "0.32", "0.035", "1", "0", "640", "1,234,567", "0.5"];
        assert_eq!(numbers.map(number), expected);
        assert_eq!([per_second(1.0, "reads"), per_second(1.2, "reads")], ["1 read/s", "1.2 reads/s"]);
        assert_eq!(ratio(3.57), "3.6x");
        assert_eq!((whole(63.57), whole(0.95), whole(0.3)), ("64".into(), "1".into(), "0.3".into()));
    }
}
