//! The load in blocks of time. The spread between blocks of one capture is what a difference between captures must
//! exceed.

use std::collections::BTreeMap;

use super::range::size_class;
use crate::attribution::IoDirection;
use crate::metrics::{Completed, Interval};

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
    /// The class of reads or of writes with a latency, at the queue of all; `None` without any.
    fn of(requests: &Completed, is_write: bool, queue: f64) -> Option<Self> {
        requests.await_ms()?;
        Some(Self {
            is_write,
            queue: queue.max(MIN_QUEUE).log2().round() as i32,
            size: size_class(requests.size_kib()?),
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
    pub reads: Completed,
    pub writes: Completed,
    pub(super) classes: BTreeMap<RequestClass, Completed>,
}

impl Block {
    /// Its writes, or its reads: it has no other requests.
    pub(super) fn of(&self, direction: IoDirection) -> &Completed {
        match direction {
            IoDirection::Writes => &self.writes,
            _ => &self.reads,
        }
    }

    fn add(&mut self, interval: &Interval) {
        self.seconds += interval.seconds();
        self.reads = self.reads.followed_by(&interval.reads);
        self.writes = self.writes.followed_by(&interval.writes);
        let queue = interval
            .reads
            .beside(&interval.writes)
            .queue()
            .unwrap_or(0.0);
        for (requests, is_write) in [(&interval.reads, false), (&interval.writes, true)] {
            if let Some(class) = RequestClass::of(requests, is_write, queue) {
                let sum = self.classes.entry(class).or_default();
                *sum = sum.followed_by(requests);
            }
        }
    }

    fn merge(&mut self, other: &Self) {
        self.seconds += other.seconds;
        self.reads = self.reads.followed_by(&other.reads);
        self.writes = self.writes.followed_by(&other.writes);
        for (class, requests) in &other.classes {
            let own = self.classes.entry(*class).or_default();
            *own = own.followed_by(requests);
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
    pub(super) fn observe(&mut self, interval: &Interval) {
        self.open.add(interval);
        if self.open.seconds < self.block_s() {
            return;
        }
        self.complete.push(std::mem::take(&mut self.open));
        if self.complete.len() > MAX_BLOCKS {
            let mut merged = Vec::new();
            for pair in self.complete.chunks(2) {
                let mut block = pair[0].clone();
                for other in &pair[1..] {
                    block.merge(other);
                }
                merged.push(block);
            }
            self.complete = merged;
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
