//! Sentences in memory that is reused.

use std::borrow::Cow;

/// Sentences one after the other in one text.
#[derive(Debug, Default)]
pub(crate) struct Sentences {
    text: Vec<u8>,
    /// The end of each sentence in the text, and whether it is [plain](Sentence::is_plain).
    ends: Vec<(usize, bool)>,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Sentence<'a> {
    /// The text in UTF-8.
    pub(crate) text: &'a [u8],
    /// True if it consists only of words and numbers of this program, without names, so that nothing needs to be
    /// escaped.
    pub(crate) is_plain: bool,
}

impl<'a> Sentence<'a> {
    pub(crate) fn to_text(self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.text)
    }
}

impl Sentences {
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.ends.clear();
    }

    /// Adds a sentence of any characters.
    pub(in crate::report) fn push(&mut self, sentence: &str) {
        self.text.extend_from_slice(sentence.as_bytes());
        self.ends.push((self.text.len(), false));
    }

    /// Adds the plain sentence that `write` appends; none if it returns `None`, without having appended anything.
    pub(in crate::report) fn push_plain(
        &mut self,
        write: impl FnOnce(&mut Vec<u8>) -> Option<()>,
    ) -> Option<()> {
        write(&mut self.text)?;
        self.ends.push((self.text.len(), true));
        Some(())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Sentence<'_>> {
        let mut start = 0;
        self.ends.iter().map(move |(end, is_plain)| {
            let text = &self.text[start..*end];
            start = *end;
            Sentence { text, is_plain: *is_plain }
        })
    }

    pub(crate) fn text(&self) -> &[u8] {
        &self.text
    }
}
