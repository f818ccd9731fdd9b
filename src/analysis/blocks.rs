//! The load in blocks of time. The spread between blocks of one capture is what a difference between captures must
//! exceed.

use std::collections::BTreeMap;

use super::load::{IoDirection, LoadSample};
use super::stats::IoTotals;

pub(super) const MIN_BLOCK_S: f64 = 30.0;
/// The fraction of its length at which a block is complete: samples are never exactly on time.
const COMPLETE_FRACTION: f64 = 0.99;
/// Blocks kept at most; pairs are merged beyond that.
const MAX_BLOCKS: usize = 256;
/// Queues below this are one class: an unloaded device.
const MIN_QUEUE: f64 = 0.5;

/// Requests of one direction and of similar size at a similar queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RequestClass {
    is_write: bool,
    queue: i32,
    size: i32,
}

impl RequestClass {
    fn of(load: &LoadSample, direction: IoDirection) -> Option<Self> {
        let size_kib = load.totals(direction).size_kib()?;
        Some(Self {
            is_write: direction == IoDirection::Writes,
            queue: load.total_queue().max(MIN_QUEUE).log2().round() as i32,
            size: size_kib.max(0.5).log2().round() as i32,
        })
    }

    /// Reads or writes.
    pub fn direction(&self) -> IoDirection {
        if self.is_write {
            IoDirection::Writes
        } else {
            IoDirection::Reads
        }
    }

    /// The queue, a power of two; the mean queue of its intervals is within a factor of 1.4. `None` below 0.7.
    pub fn queue(&self) -> Option<f64> {
        (self.queue >= 0).then(|| f64::from(self.queue).exp2())
    }

    /// The size of a request in KiB, a power of two; the mean size of its intervals is within a factor of 1.4.
    pub fn size_kib(&self) -> f64 {
        f64::from(self.size).exp2()
    }
}

/// The load of a block of time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Block {
    pub seconds: f64,
    pub reads: IoTotals,
    pub writes: IoTotals,
    pub(super) classes: BTreeMap<RequestClass, IoTotals>,
}

impl Block {
    fn add(&mut self, load: &LoadSample) {
        self.reads = self.reads.plus(&load.reads);
        self.writes = self.writes.plus(&load.writes);
        // The requests of a burst met a longer queue than the mean of the interval.
        if load.is_edge_of_burst() {
            return;
        }
        for direction in [IoDirection::Reads, IoDirection::Writes] {
            if let Some(class) = RequestClass::of(load, direction) {
                let totals = self.classes.entry(class).or_default();
                *totals = totals.plus(&load.totals(direction));
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.reads = self.reads.plus(&other.reads);
        self.writes = self.writes.plus(&other.writes);
        for (class, totals) in &other.classes {
            let own = self.classes.entry(*class).or_default();
            *own = own.plus(totals);
        }
    }
}

/// Divides the intervals of a device into blocks, in bounded memory.
#[derive(Clone, Debug, Default)]
pub(super) struct BlockHistory {
    complete: Vec<Block>,
    open: Block,
    /// How often the length of a block was doubled.
    doublings: u32,
}

impl BlockHistory {
    /// Adds an interval of this length in seconds; `load` is `None` if nothing was completed.
    pub(super) fn observe(&mut self, load: Option<&LoadSample>, seconds: f64) {
        self.open.seconds += seconds;
        if let Some(load) = load {
            self.open.add(load);
        }
        if self.open.seconds < self.block_s() {
            return;
        }
        self.complete.push(std::mem::take(&mut self.open));
        if self.complete.len() > MAX_BLOCKS {
            let merged = self.complete.chunks(2).map(|pair| {
                let mut block = pair[0].clone();
                pair[1..].iter().for_each(|other| block.merge(other));
                block
            });
            self.complete = merged.collect();
            self.doublings += 1;
        }
    }

    fn block_s(&self) -> f64 {
        COMPLETE_FRACTION * MIN_BLOCK_S * f64::from(self.doublings).exp2()
    }

    /// Returns the blocks. A remainder that is too short for a block is added to the last one.
    pub(super) fn finish(mut self) -> Vec<Block> {
        match self.complete.last_mut() {
            Some(last) => last.merge(&self.open),
            None if self.open.seconds > 0.0 => self.complete.push(self.open),
            None => {}
        }
        self.complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(ios: f64, await_ms: f64) -> LoadSample {
        let reads = IoTotals {
            ios,
            kib: ios * 4.0,
            ms: ios * await_ms,
        };
        LoadSample {
            seconds: 1.0,
            intervals: 1.0,
            reads,
            ..LoadSample::default()
        }
    }

    fn blocks(seconds: usize) -> Vec<Block> {
        let mut history = BlockHistory::default();
        (0..seconds).for_each(|_| history.observe(Some(&load(100.0, 10.0)), 0.9999));
        history.finish()
    }

    #[test]
    fn a_block_has_30_seconds_or_more() {
        let lengths = |seconds| -> Vec<f64> {
            blocks(seconds)
                .iter()
                .map(|block| block.seconds.round())
                .collect()
        };
        assert_eq!(lengths(29), [29.0]);
        assert_eq!(lengths(59), [59.0]);
        assert_eq!(lengths(60), [30.0, 30.0]);
        assert_eq!(lengths(100), [30.0, 30.0, 40.0]);
        assert!(blocks(0).is_empty());
    }

    #[test]
    fn a_capture_of_weeks_takes_no_more_memory_and_loses_nothing() {
        let found = blocks(100_000);
        assert!(found.len() <= MAX_BLOCKS);
        assert_eq!(
            found.iter().map(|block| block.reads.ios).sum::<f64>(),
            100_000.0 * 100.0
        );
        assert!(
            found
                .iter()
                .all(|block| block.seconds >= COMPLETE_FRACTION * MIN_BLOCK_S)
        );
    }

    #[test]
    fn requests_are_classed_by_queue_and_size() {
        let class =
            |ios, await_ms| RequestClass::of(&load(ios, await_ms), IoDirection::Reads).unwrap();
        assert_eq!(
            (class(1000.0, 4.0).queue(), class(1000.0, 4.0).size_kib()),
            (Some(4.0), 4.0)
        );
        assert_eq!(class(1000.0, 3.0), class(500.0, 10.0));
        assert_eq!(class(100.0, 1.0).queue(), None);
        assert_eq!(
            RequestClass::of(&load(100.0, 1.0), IoDirection::Writes),
            None
        );
    }
}
