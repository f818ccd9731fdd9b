//! The samples of the running system as the text of a recording, compressed, so that a recording can begin in the past.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use jiff::Timestamp;

/// The number of samples that are compressed together.
const SAMPLES_PER_BLOCK: usize = 60;
/// The compression level: a fast one suffices, because it makes the text at most a third larger.
const LEVEL: u32 = 1;

#[derive(Clone, Copy, Debug)]
struct SampleEntry {
    /// The time at which it was taken; `None` if it is not known.
    at: Option<Timestamp>,
    /// The length in bytes of the header before it and of its text.
    lengths: [usize; 2],
}

#[derive(Debug, Default)]
struct Block {
    /// The header that the first sample needs.
    header: Arc<[u8]>,
    samples: Vec<SampleEntry>,
    bytes: Vec<u8>,
}

impl Block {
    /// The time of its last sample.
    fn end(&self) -> Option<Timestamp> {
        self.samples.last().and_then(|sample| sample.at)
    }
}

/// The samples so far, oldest first.
#[derive(Debug)]
pub(crate) struct SampleTexts {
    blocks: VecDeque<Arc<Block>>,
    bytes: usize,
    max_bytes: usize,
    max_seconds: f64,
    /// The incomplete block.
    open: Block,
    encoder: DeflateEncoder<Vec<u8>>,
    header: Arc<[u8]>,
}

impl SampleTexts {
    /// Creates an empty list for these seconds and at most about this memory in bytes.
    pub(crate) fn new(max_seconds: f64, max_bytes: usize) -> Self {
        Self {
            blocks: VecDeque::new(),
            bytes: 0,
            max_bytes,
            max_seconds,
            open: Block::default(),
            encoder: encoder(),
            header: Arc::default(),
        }
    }

    /// Adds the text of a sample, and the header before it if it needs another one.
    pub(crate) fn push(&mut self, at: Option<Timestamp>, header: &[u8], text: &[u8]) {
        if !header.is_empty() {
            self.header = header.into();
        }
        if self.open.samples.is_empty() {
            self.open.header = Arc::clone(&self.header);
        }
        // Writing to memory cannot fail.
        let _ = self.encoder.write_all(header);
        let _ = self.encoder.write_all(text);
        self.open.samples.push(SampleEntry { at, lengths: [header.len(), text.len()] });
        if self.open.samples.len() == SAMPLES_PER_BLOCK {
            self.close_block();
        }
    }

    /// Compresses the open block, and drops the oldest ones that exceed the limits.
    fn close_block(&mut self) {
        let mut block = std::mem::take(&mut self.open);
        block.bytes = std::mem::replace(&mut self.encoder, encoder()).finish().unwrap_or_default();
        block.bytes.shrink_to_fit();
        self.bytes += block.bytes.len();
        let end = block.end();
        self.blocks.push_back(Arc::new(block));
        let is_old = |block: &Block| match (block.end(), end) {
            (Some(old), Some(new)) => new.duration_since(old).as_secs_f64() > self.max_seconds,
            _ => false,
        };
        while self.blocks.len() > 1
            && let Some(oldest) = self.blocks.front()
            && (self.bytes > self.max_bytes || is_old(oldest))
        {
            self.bytes -= oldest.bytes.len();
            self.blocks.pop_front();
        }
    }

    /// Returns the samples so far. They share memory with this list.
    pub(crate) fn snapshot(&mut self) -> TextSnapshot {
        if !self.open.samples.is_empty() {
            self.close_block();
        }
        TextSnapshot { blocks: self.blocks.iter().map(Arc::clone).collect() }
    }

    /// The memory of the compressed texts.
    pub(crate) fn memory(&self) -> usize {
        self.bytes + self.encoder.get_ref().len()
    }
}

/// The samples up to some time.
#[derive(Debug, Default)]
pub(crate) struct TextSnapshot {
    blocks: Vec<Arc<Block>>,
}

impl TextSnapshot {
    pub(crate) fn samples(&self) -> u64 {
        self.blocks.iter().map(|block| block.samples.len() as u64).sum()
    }

    /// Returns the number of samples from one time to another.
    pub(crate) fn samples_in(&self, range: (Timestamp, Timestamp)) -> usize {
        let is_inside = |sample: &&SampleEntry| sample.at.is_some_and(|at| (range.0..=range.1).contains(&at));
        self.blocks.iter().flat_map(|block| &block.samples).filter(is_inside).count()
    }

    /// Passes the text of a recording of the samples from one time to another, or of all samples without times, to
    /// `take`, block by block with the number of samples. The first text begins with a header.
    ///
    /// # Errors
    /// Those of `take`.
    pub(crate) fn try_for_each<E>(
        &self,
        range: Option<(Timestamp, Timestamp)>,
        mut take: impl FnMut(Vec<u8>, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let is_inside = |at: Option<Timestamp>| {
            range.is_none_or(|(begin, end)| at.is_some_and(|at| (begin..=end).contains(&at)))
        };
        let mut needs_header = true;
        for block in self.blocks.iter().filter(|block| block.samples.iter().any(|one| is_inside(one.at))) {
            let mut text = Vec::new();
            // Data compressed here is valid.
            let _ = DeflateDecoder::new(block.bytes.as_slice()).read_to_end(&mut text);
            let (mut out, mut samples) = (Vec::new(), 0);
            let (mut header, mut rest) = (&*block.header, text.as_slice());
            for SampleEntry { at, lengths: [header_length, length] } in &block.samples {
                let (own_header, text) = rest.split_at((*header_length).min(rest.len()));
                let (text, after) = text.split_at((*length).min(text.len()));
                rest = after;
                if !own_header.is_empty() {
                    header = own_header;
                }
                if is_inside(*at) {
                    let has_header = std::mem::take(&mut needs_header) || !own_header.is_empty();
                    out.extend_from_slice(if has_header { header } else { &[] });
                    out.extend_from_slice(text);
                    samples += 1;
                }
            }
            take(out, samples)?;
        }
        Ok(())
    }
}

fn encoder() -> DeflateEncoder<Vec<u8>> {
    DeflateEncoder::new(Vec::new(), Compression::new(LEVEL))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(texts: &mut SampleTexts, range: Option<(i64, i64)>) -> String {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut all = Vec::new();
        let take = |text: Vec<u8>, _| -> Result<(), std::convert::Infallible> {
            all.extend(text);
            Ok(())
        };
        texts.snapshot().try_for_each(range.map(|(a, b)| (at(a), at(b))), take).unwrap();
        String::from_utf8(all).unwrap()
    }

    #[test]
    fn a_recording_of_any_part_begins_with_the_header_that_it_needs() {
        let mut texts = SampleTexts::new(3600.0, 1 << 20);
        for second in 0..200 {
            let header = match second {
                0 => "header 1\n",
                100 => "header 2\n",
                _ => "",
            };
            let at = Timestamp::from_second(second).ok();
            texts.push(at, header.as_bytes(), format!("sample {second}\n").as_bytes());
        }
        assert_eq!(text_of(&mut texts, Some((5, 6))), "header 1\nsample 5\nsample 6\n");
        assert_eq!(text_of(&mut texts, Some((150, 151))), "header 2\nsample 150\nsample 151\n");
        let across = text_of(&mut texts, Some((99, 100)));
        assert_eq!(across, "header 1\nsample 99\nheader 2\nsample 100\n");
        let all = text_of(&mut texts, None);
        assert_eq!(all.lines().count(), 202);
        assert!(all.starts_with("header 1\nsample 0\n"), "{all}");
    }

    #[test]
    fn old_samples_are_dropped() {
        let mut texts = SampleTexts::new(120.0, 1 << 20);
        for second in 0..600 {
            texts.push(Timestamp::from_second(second).ok(), b"", format!("sample {second}\n").as_bytes());
        }
        let all = text_of(&mut texts, None);
        assert!(!all.contains("sample 300\n") && all.contains("sample 480\n"), "{all}");
    }
}
