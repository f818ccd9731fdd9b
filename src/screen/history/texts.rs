//! The samples of the running system as compressed text, for recordings that begin in the past.

use std::collections::VecDeque;
use std::io::{Read, Write};
use std::sync::Arc;

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use jiff::Timestamp;

#[derive(Clone, Debug)]
struct Stored {
    /// The time at which it was taken; `None` if it is not known.
    at: Option<Timestamp>,
    /// The header that it needs.
    header: Arc<[u8]>,
    /// Its compressed text.
    text: Arc<[u8]>,
}

/// The samples so far, oldest first. A copy shares their memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct SampleTexts {
    samples: VecDeque<Stored>,
    bytes: usize,
    max_bytes: usize,
    max_seconds: f64,
}

impl SampleTexts {
    /// Creates an empty list for these seconds and at most about this memory in bytes.
    pub(crate) fn new(max_seconds: f64, max_bytes: usize) -> Self {
        Self { max_seconds, max_bytes, ..Self::default() }
    }

    /// Adds the text of a sample, and the header before it if it needs another one.
    pub(crate) fn push(&mut self, at: Option<Timestamp>, header: &[u8], text: &[u8]) {
        let last = self.samples.back().filter(|_| header.is_empty());
        let header = last.map_or_else(|| header.into(), |last| Arc::clone(&last.header));
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
        // Writing to memory cannot fail.
        let _ = encoder.write_all(text);
        let text: Arc<[u8]> = encoder.finish().unwrap_or_default().into();
        self.bytes += text.len();
        self.samples.push_back(Stored { at, header, text });
        let is_old = |old: &Stored| {
            let age = at.zip(old.at).map(|(at, old)| at.duration_since(old).as_secs_f64());
            age.is_some_and(|age| age > self.max_seconds)
        };
        while self.samples.len() > 1
            && let Some(oldest) = self.samples.front()
            && (self.bytes > self.max_bytes || is_old(oldest))
        {
            self.bytes -= oldest.text.len();
            self.samples.pop_front();
        }
    }

    /// The memory of the compressed texts.
    pub(crate) fn memory(&self) -> usize {
        self.bytes
    }

    pub(crate) fn len(&self) -> u64 {
        self.samples.len() as u64
    }

    /// Returns the samples from one time to another.
    pub(crate) fn within(mut self, (begin, end): (Timestamp, Timestamp)) -> Self {
        self.samples.retain(|sample| sample.at.is_some_and(|at| (begin..=end).contains(&at)));
        self
    }

    /// Passes a recording of the samples to `take`, in parts. The first begins with a header.
    ///
    /// # Errors
    /// Those of `take`.
    pub(crate) fn try_for_each<E>(&self, mut take: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), E> {
        let mut header: Option<&Arc<[u8]>> = None;
        let mut text = Vec::new();
        for sample in &self.samples {
            text.clear();
            if header.replace(&sample.header).is_none_or(|header| !Arc::ptr_eq(header, &sample.header)) {
                text.extend_from_slice(&sample.header);
            }
            // Data compressed here is valid.
            let _ = DeflateDecoder::new(&*sample.text).read_to_end(&mut text);
            take(&text)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(texts: &SampleTexts, (begin, end): (i64, i64)) -> String {
        let at = |second| Timestamp::from_second(second).unwrap();
        let mut all = Vec::new();
        let take = |text: &[u8]| -> Result<(), std::convert::Infallible> {
            all.extend_from_slice(text);
            Ok(())
        };
        texts.clone().within((at(begin), at(end))).try_for_each(take).unwrap();
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
        assert_eq!(text_of(&texts, (5, 6)), "header 1\nsample 5\nsample 6\n");
        assert_eq!(text_of(&texts, (150, 151)), "header 2\nsample 150\nsample 151\n");
        assert_eq!(text_of(&texts, (99, 100)), "header 1\nsample 99\nheader 2\nsample 100\n");
        let all = text_of(&texts, (0, 999));
        assert_eq!(all.lines().count(), 202);
        assert!(all.starts_with("header 1\nsample 0\n"), "{all}");
    }

    #[test]
    fn old_samples_are_dropped() {
        let mut texts = SampleTexts::new(120.0, 1 << 20);
        for second in 0..600 {
            texts.push(Timestamp::from_second(second).ok(), b"", format!("sample {second}\n").as_bytes());
        }
        let all = text_of(&texts, (0, 999));
        assert!(!all.contains("sample 478\n") && all.contains("sample 480\n"), "{all}");
    }
}
