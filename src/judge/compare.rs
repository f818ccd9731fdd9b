//! Compares a device in two captures: load, latency at similar queue and size, limits and verdict. A difference counts
//! only beyond the spread between blocks of each capture.

use std::collections::BTreeSet;

use serde::Serialize;

use self::ComparedQuantity::{Latency, LatencyAt, Queue, Rate, ReadShare, Size, Throughput};
use super::blocks::{Block, RequestClass};
use super::report::DeviceReport;
use crate::attribution::IoDirection;
use crate::metrics::Completed;

/// The smallest relative difference that counts: a smaller one hardly matters.
const MIN_CHANGE: f64 = 0.05;
/// The least distance between the ranges of the blocks, in multiples of the longer range. With three blocks or more on
/// each side, independent blocks without a change are this far apart in less than 1% of all cases.
const MIN_GAP: f64 = 1.0;
/// The least distance if a side has only two blocks, whose range is a poor measure of spread: it is exceeded by chance
/// in 4% of all cases, before [`MIN_CHANGE`] is applied.
const MIN_GAP_OF_TWO: f64 = 2.0;
/// The fewest requests of a block whose mean latency counts.
const MIN_LATENCY_REQUESTS: f64 = 30.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ComparedQuantity {
    Rate(IoDirection),
    Throughput(IoDirection),
    /// The size of a request in KiB.
    Size(IoDirection),
    /// The percentage of requests that are reads.
    ReadShare,
    /// The mean number of requests in the queue or being served.
    Queue,
    /// The mean latency in milliseconds, at any queue.
    Latency(IoDirection),
    /// The mean latency in milliseconds of requests of similar size at a similar queue.
    LatencyAt(RequestClass),
}

/// A quantity over the blocks of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BlockMeans {
    /// The median of the block means.
    pub median: f64,
    /// The lowest block mean; from ten blocks on, that above the lowest tenth.
    pub low: f64,
    /// The highest block mean; from ten blocks on, that below the highest tenth.
    pub high: f64,
    pub blocks: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It changed by more than the spread between blocks.
    Changed,
    /// It did not change by more than that, or by less than 5%.
    NoDifference,
    /// A capture is shorter than two blocks.
    SpreadUnknown,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Difference {
    pub quantity: ComparedQuantity,
    pub before: BlockMeans,
    pub after: BlockMeans,
    pub outcome: Outcome,
}

impl BlockMeans {
    fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let blocks = values.len();
        let last = blocks.checked_sub(1)?;
        // A single burst must not hide a change: from ten blocks on, the lowest and the highest tenth are left out.
        let trimmed = blocks / 10;
        Some(Self {
            median: (values[last / 2] + values[blocks / 2]) / 2.0,
            low: values[trimmed],
            high: values[last - trimmed],
            blocks,
        })
    }

    fn range(&self) -> f64 {
        self.high - self.low
    }
}

impl Difference {
    fn between(quantity: ComparedQuantity, before: BlockMeans, after: BlockMeans) -> Self {
        let blocks = before.blocks.min(after.blocks);
        let gap = (after.low - before.high).max(before.low - after.high);
        let min_gap = if blocks == 2 { MIN_GAP_OF_TWO } else { MIN_GAP };
        let is_large =
            (after.median - before.median).abs() > MIN_CHANGE * before.median.max(after.median);
        let outcome = match blocks {
            0 | 1 => Outcome::SpreadUnknown,
            _ if is_large && gap > min_gap * before.range().max(after.range()) => Outcome::Changed,
            _ => Outcome::NoDifference,
        };
        Self {
            quantity,
            before,
            after,
            outcome,
        }
    }
}

/// Compares a device in two captures. Quantities that are zero or not known in both are left out.
pub fn compare(before: &DeviceReport, after: &DeviceReport) -> Vec<Difference> {
    let mut quantities = Vec::new();
    for direction in [IoDirection::Reads, IoDirection::Writes] {
        quantities.extend([Rate(direction), Throughput(direction), Size(direction)]);
    }
    quantities.extend([ReadShare, Queue]);
    quantities.extend([IoDirection::Reads, IoDirection::Writes].map(Latency));
    let mut classes = BTreeSet::new();
    for block in &before.blocks {
        classes.extend(block.classes.keys().copied());
    }
    quantities.extend(classes.into_iter().map(LatencyAt));

    let mut differences = Vec::new();
    for quantity in quantities {
        let (Some(old), Some(new)) = (means(quantity, before), means(quantity, after)) else {
            continue;
        };
        if old.high != 0.0 || new.high != 0.0 {
            differences.push(Difference::between(quantity, old, new));
        }
    }
    differences
}

/// A quantity over the blocks of a capture; `None` if no block has it.
fn means(quantity: ComparedQuantity, report: &DeviceReport) -> Option<BlockMeans> {
    let blocks = report.blocks.iter();
    BlockMeans::of(blocks.filter_map(|block| value(quantity, block)).collect())
}

/// A quantity in a block; `None` if it has too few requests for one.
fn value(quantity: ComparedQuantity, block: &Block) -> Option<f64> {
    match quantity {
        Rate(direction) => Some(block.of(direction).ios.sum / block.seconds),
        Throughput(direction) => Some(block.of(direction).kib() / 1024.0 / block.seconds),
        Size(direction) => block.of(direction).size_kib(),
        ReadShare => {
            let all = block.reads.ios.sum + block.writes.ios.sum;
            (all > 0.0).then(|| 100.0 * block.reads.ios.sum / all)
        }
        Queue => {
            let seconds = (block.reads.time.sum + block.writes.time.sum) / 1000.0;
            Some(seconds / block.seconds)
        }
        Latency(direction) => latency(block.of(direction)),
        LatencyAt(class) => latency(block.classes.get(&class)?),
    }
}

fn latency(requests: &Completed) -> Option<f64> {
    if requests.ios.sum < MIN_LATENCY_REQUESTS {
        return None;
    }
    requests.await_ms()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn means_of(values: &[f64]) -> BlockMeans {
        BlockMeans::of(values.to_vec()).unwrap()
    }

    fn outcome(before: &[f64], after: &[f64]) -> Outcome {
        Difference::between(ComparedQuantity::Queue, means_of(before), means_of(after)).outcome
    }

    #[test]
    fn a_change_exceeds_the_spread_between_blocks() {
        assert_eq!(
            outcome(&[1.1, 1.2, 1.3], &[2.7, 2.9, 3.2]),
            Outcome::Changed
        );
        assert_eq!(
            outcome(&[2.7, 2.9, 3.2], &[1.1, 1.2, 1.3]),
            Outcome::Changed
        );
        assert_eq!(
            outcome(&[1.1, 1.2, 1.3], &[1.3, 1.4, 1.5]),
            Outcome::NoDifference
        );
        // Steady loads whose difference is too small to matter.
        assert_eq!(
            outcome(&[1.0, 1.0, 1.0], &[1.04, 1.04, 1.04]),
            Outcome::NoDifference
        );
        assert_eq!(outcome(&[0.0, 0.0], &[5.0, 5.0]), Outcome::Changed);
    }

    #[test]
    fn two_blocks_must_be_farther_apart_and_one_shows_no_spread() {
        assert_eq!(outcome(&[1.0, 1.1], &[1.25, 1.35]), Outcome::NoDifference);
        assert_eq!(outcome(&[1.0, 1.1], &[1.4, 1.5]), Outcome::Changed);
        assert_eq!(outcome(&[1.0], &[9.0, 9.0]), Outcome::SpreadUnknown);
    }

    #[test]
    fn a_single_burst_among_many_blocks_hides_no_change() {
        let mut before = vec![1.0; 19];
        before.push(50.0);
        assert_eq!(outcome(&before, &[3.0; 20]), Outcome::Changed);
        assert_eq!(
            (means_of(&before).median, means_of(&before).high),
            (1.0, 1.0)
        );
    }

    #[test]
    fn independent_blocks_without_a_change_seldom_differ() {
        // A linear congruential generator; block means spread by up to 20% around their mean.
        let mut state = 7u64;
        let mut random = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let uniform = |shift: u32| ((state >> shift) & 0xffff) as f64 / 65_536.0;
            1.0 + 0.2 * (uniform(48) + uniform(32) + uniform(16) - 1.5)
        };
        for (blocks, most) in [(2, 0.06), (3, 0.015), (5, 0.003), (20, 0.001)] {
            let trials = 4000;
            let mut values = || (0..blocks).map(|_| random()).collect::<Vec<f64>>();
            let claims = (0..trials)
                .filter(|_| outcome(&values(), &values()) == Outcome::Changed)
                .count();
            assert!(
                (claims as f64) < most * f64::from(trials),
                "{blocks} blocks: {claims} of {trials}"
            );
        }
    }
}
