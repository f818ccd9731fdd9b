//! The samples that wait to be written, in bounded memory.
//!
//! When they exceed the bound, the oldest detail is given up first: every second sample of the older half is dropped.
//! Counters only grow, so the remaining samples still count every request; only the distribution of requests over the
//! time in between is lost. The longer a disk does not accept anything, the coarser the beginning of that time becomes,
//! while the latest samples stay complete.

use std::collections::VecDeque;
use std::mem;

use jiff::Timestamp;

use crate::capture::{DroppedSamples, ScanGrowth};

/// A sample that is ready to be written.
#[derive(Clone, Debug, Default)]
pub struct SampleBlock {
    /// The header that describes this and the following samples; empty if the previous header still does.
    pub header: Vec<u8>,
    /// Notes about the time before the sample, which are kept even if the sample is dropped.
    pub notes: Vec<u8>,
    /// The scan of cgroups and processes that precedes it, whose growth is kept even if the sample is dropped; `None`
    /// if there is no new one.
    pub scan: Option<ScanGrowth>,
    pub text: Vec<u8>,
    /// The time at which it was taken; `None` if it is not known.
    pub at: Option<Timestamp>,
    /// Seconds that local clocks were ahead of UTC, which decides when a day ends.
    pub utc_offset_s: i64,
    /// The dropped samples before it.
    pub dropped: DroppedSamples,
}

impl SampleBlock {
    fn bytes(&self) -> usize {
        let scan = self.scan.as_ref().map_or(0, ScanGrowth::bytes);
        size_of::<Self>() + self.header.len() + self.notes.len() + self.text.len() + scan
    }

    /// Moves everything that must not be lost with this sample to the next one.
    fn drop_before(mut self, next: &mut Self) {
        self.dropped.add(self.at);
        self.dropped.extend(next.dropped);
        next.dropped = self.dropped;
        if next.header.is_empty() {
            next.header = self.header;
        }
        self.notes.append(&mut next.notes);
        next.notes = self.notes;
        if let Some(scan) = self.scan {
            match &mut next.scan {
                Some(next) => next.add_before(scan),
                None => next.scan = Some(scan),
            }
        }
    }
}

/// Samples in the order in which they were taken.
#[derive(Debug)]
pub(super) struct SampleQueue {
    samples: VecDeque<SampleBlock>,
    bytes: usize,
    max_bytes: usize,
}

impl SampleQueue {
    pub(super) fn new(max_bytes: usize) -> Self {
        Self { samples: VecDeque::new(), bytes: 0, max_bytes }
    }

    /// Adds a sample. Returns the samples that were dropped to make room.
    pub(super) fn push(&mut self, sample: SampleBlock) -> DroppedSamples {
        self.bytes += sample.bytes();
        self.samples.push_back(sample);
        let mut dropped = DroppedSamples::default();
        while self.bytes > self.max_bytes && self.samples.len() > 1 {
            dropped.extend(self.thin());
        }
        dropped
    }

    /// Removes the oldest sample; `None` if there is none.
    pub(super) fn pop(&mut self) -> Option<SampleBlock> {
        let sample = self.samples.pop_front()?;
        self.bytes -= sample.bytes();
        Some(sample)
    }

    pub(super) fn len(&self) -> usize {
        self.samples.len()
    }

    /// Drops every second sample of the older half, at least one. Returns them.
    fn thin(&mut self) -> DroppedSamples {
        let older = (self.samples.len() / 2).max(2);
        let mut dropped = DroppedSamples::default();
        let mut last: Option<SampleBlock> = None;
        for (index, mut sample) in mem::take(&mut self.samples).into_iter().enumerate() {
            match last.take() {
                Some(before) if index < older && index % 2 == 1 => {
                    dropped.add(before.at);
                    before.drop_before(&mut sample);
                }
                before => self.samples.extend(before),
            }
            last = Some(sample);
        }
        self.samples.extend(last);
        self.bytes = self.samples.iter().map(SampleBlock::bytes).sum();
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT_BYTES: usize = 1000;

    fn sample(second: i64) -> SampleBlock {
        let at = Timestamp::from_second(second).ok();
        SampleBlock { text: vec![b'x'; TEXT_BYTES], at, ..SampleBlock::default() }
    }

    fn drain(queue: &mut SampleQueue) -> Vec<SampleBlock> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    fn seconds(samples: &[SampleBlock]) -> Vec<i64> {
        samples.iter().map(|sample| sample.at.unwrap().as_second()).collect()
    }

    #[test]
    fn nothing_is_dropped_below_the_bound() {
        let mut queue = SampleQueue::new(100 * 2 * TEXT_BYTES);
        let dropped: u64 = (0..100).map(|second| queue.push(sample(second)).count).sum();
        assert_eq!((dropped, queue.len()), (0, 100));
        assert_eq!(seconds(&drain(&mut queue)), (0..100).collect::<Vec<_>>());
        assert_eq!((queue.bytes, queue.len()), (0, 0));
    }

    #[test]
    fn the_oldest_samples_become_coarser_and_the_latest_stay_complete() {
        let mut queue = SampleQueue::new(100 * (TEXT_BYTES + size_of::<SampleBlock>()));
        let mut dropped = 0;
        for second in 0..2000 {
            dropped += queue.push(sample(second)).count;
            assert!(queue.bytes <= queue.max_bytes);
        }
        let rest = drain(&mut queue);
        assert_eq!(rest.len() as u64 + dropped, 2000);
        let noted: u64 = rest.iter().map(|sample| sample.dropped.count).sum();
        assert_eq!(noted, dropped);
        let seconds = seconds(&rest);
        assert!(rest.len() > 50 && seconds.last() == Some(&1999), "{seconds:?}");
        assert!(seconds[seconds.len() - 40..].windows(2).all(|pair| pair[1] == pair[0] + 1), "{seconds:?}");
        let gaps: Vec<i64> = seconds.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(gaps[0] >= 8, "{gaps:?}");
        // Every sample states exactly which samples before it are missing.
        let mut before = -1;
        for sample in &rest {
            let at = sample.at.unwrap().as_second();
            let DroppedSamples { count, first, last } = sample.dropped;
            assert_eq!(count as i64, at - before - 1);
            if count > 0 {
                let range = [first, last].map(|at| at.unwrap().as_second());
                assert_eq!(range, [before + 1, at - 1]);
            }
            before = at;
        }
    }

    #[test]
    fn the_latest_header_and_all_notes_survive_a_dropped_sample() {
        let mut queue = SampleQueue::new(0);
        let with = |header: &str, notes: &str, second| SampleBlock {
            header: header.into(),
            notes: notes.into(),
            ..sample(second)
        };
        let samples = [with("A", "1", 0), with("", "2", 1), with("B", "", 2), with("", "3", 3)];
        assert_eq!(samples.into_iter().map(|sample| queue.push(sample).count).sum::<u64>(), 3);
        let rest = drain(&mut queue);
        assert_eq!((rest.len(), &rest[0].header[..], &rest[0].notes[..]), (1, &b"B"[..], &b"123"[..]));
        assert_eq!(rest[0].dropped.count, 3);
    }
}
