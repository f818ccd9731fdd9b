//! A line of JSON or CSV. It is built in a buffer, in which a number is written as one or two words, and then copied as
//! a whole.

use memchr::memchr2;

use super::value::{MAX_SMALL, millionths_of_small, push_number, push_texts, push_whole};
use crate::report::evidence::Sentences;
use crate::report::layout::fixed_decimal::{
    MAX_MILLIONTHS_SIZE, push_millionths, write_millionths, write_whole,
};
use crate::sanitize::{is_printable_ascii, push_json_string};

/// The differences between JSON and CSV.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Syntax {
    is_json: bool,
    /// The bytes of [`NULL`] that are written for a value that is missing.
    null_size: usize,
}

/// A value of JSON that is missing.
const NULL: &[u8; 4] = b"null";

pub(super) const JSON: &Syntax = &Syntax { is_json: true, null_size: NULL.len() };
pub(super) const CSV: &Syntax = &Syntax { is_json: false, null_size: 0 };

/// Memory that is reused for one line after the other.
pub(super) struct LineBuffer {
    text: Box<[u8; Self::SIZE]>,
    sentences: Sentences,
}

impl LineBuffer {
    /// Most lines have less than half as many bytes.
    const SIZE: usize = 4096;
}

impl Default for LineBuffer {
    fn default() -> Self {
        Self { text: Box::new([0; Self::SIZE]), sentences: Sentences::default() }
    }
}

/// A part of the text that all lines have in common.
pub(super) struct Segment {
    /// The text if it is short, padded: a fixed number of bytes is copied faster.
    text: [u8; Self::SIZE],
    is_short: bool,
    /// Its position in the common text.
    start: usize,
    size: usize,
}

impl Segment {
    const SIZE: usize = 32;

    /// Returns the rest of the common text from `start` on.
    pub(super) fn new(common: &[u8], start: usize) -> Self {
        let rest = &common[start..];
        let (mut text, is_short) = ([0; Self::SIZE], rest.len() <= Self::SIZE);
        if is_short {
            text[..rest.len()].copy_from_slice(rest);
        }
        Self { text, is_short, start, size: rest.len() }
    }

    /// Returns whether the segment has a copy of its text, so that the common text is not needed.
    pub(super) fn is_short(&self) -> bool {
        self.is_short
    }

    /// The position in the common text after this segment.
    pub(super) fn end(&self) -> usize {
        self.start + self.size
    }
}

/// A line that is being built.
pub(super) struct Line<'a> {
    syntax: &'static Syntax,
    buffer: &'a mut LineBuffer,
    /// The number of bytes in the buffer that belong to the line.
    end: usize,
    /// The output. If the buffer is too small for the line, the beginning of the line is already here.
    out: &'a mut Vec<u8>,
}

impl<'a> Line<'a> {
    /// Begins a line at the end of `out`.
    pub(super) fn new(syntax: &'static Syntax, buffer: &'a mut LineBuffer, out: &'a mut Vec<u8>) -> Self {
        Self { syntax, buffer, end: 0, out }
    }

    /// Appends a text that all lines have in common.
    #[inline]
    pub(super) fn push_segment(&mut self, segment: &Segment, common: &[u8]) {
        match self.buffer.text.get_mut(self.end..self.end + Segment::SIZE) {
            Some(place) if segment.is_short => {
                place.copy_from_slice(&segment.text);
                self.end += segment.size;
            }
            _ if segment.is_short => self.push(&segment.text[..segment.size]),
            _ => self.push(&common[segment.start..segment.end()]),
        }
    }

    /// Appends a number with at most six decimals.
    #[inline(always)]
    pub(super) fn push_number(&mut self, value: Option<f64>) {
        match value {
            Some(value) if (0.0..MAX_SMALL).contains(&value) => {
                let millionths = millionths_of_small(value);
                match self.buffer.text.get_mut(self.end..self.end + MAX_MILLIONTHS_SIZE) {
                    Some(place) => self.end += write_millionths(millionths, place),
                    None => self.flush_and_push_millionths(millionths),
                }
            }
            Some(value) => self.flush_and_push_number(value),
            None => self.push_null(),
        }
    }

    #[cold]
    #[inline(never)]
    fn flush_and_push_millionths(&mut self, millionths: u64) {
        push_millionths(self.flush(), millionths);
    }

    #[cold]
    #[inline(never)]
    fn flush_and_push_number(&mut self, value: f64) {
        push_number(value, self.flush());
    }

    /// Appends a value that is missing.
    #[inline]
    fn push_null(&mut self) {
        match self.buffer.text.get_mut(self.end..self.end + NULL.len()) {
            Some(place) => {
                place.copy_from_slice(NULL);
                self.end += self.syntax.null_size;
            }
            None => {
                let size = self.syntax.null_size;
                self.flush().extend_from_slice(&NULL[..size]);
            }
        }
    }

    pub(super) fn push_whole(&mut self, value: Option<u64>) {
        match value {
            Some(value) => match self.buffer.text.get_mut(self.end..self.end + MAX_MILLIONTHS_SIZE) {
                Some(place) => self.end += write_whole(value, place),
                None => push_whole(value, self.flush()),
            },
            None => self.push_null(),
        }
    }

    /// Appends a word without characters that must be escaped.
    pub(super) fn push_word(&mut self, word: Option<&'static str>) {
        match word {
            Some(word) if self.syntax.is_json => self.push_quoted(word.as_bytes()),
            Some(word) => self.push(word.as_bytes()),
            None => self.push_null(),
        }
    }

    /// Appends a set of such words: an array in JSON, joined by `+` in CSV.
    pub(super) fn push_words(&mut self, words: impl Iterator<Item = &'static str>) {
        let (begin, separator, end): (&[u8], &[u8], &[u8]) =
            if self.syntax.is_json { (b"[", b",", b"]") } else { (b"", b"+", b"") };
        self.push(begin);
        for (at, word) in words.enumerate() {
            self.push(if at > 0 { separator } else { b"" });
            self.push_word(Some(word));
        }
        self.push(end);
    }

    pub(super) fn push_text(&mut self, text: Option<&str>) {
        let Some(text) = text else { return self.push_null() };
        let is_json = self.syntax.is_json;
        let bytes = text.as_bytes();
        let needs_no_escape = is_printable_ascii(text)
            && !bytes.iter().any(|byte| *byte == b'"' || *byte == if is_json { b'\\' } else { b',' });
        match (needs_no_escape, is_json) {
            (true, true) => self.push_quoted(bytes),
            (true, false) => self.push(bytes),
            (false, true) => push_json_string(text, self.flush()),
            (false, false) => push_texts([text], self.flush()),
        }
    }

    /// Appends the sentences that `write` puts into the empty list: an array in JSON, joined by `; ` in CSV.
    pub(super) fn push_sentences(&mut self, write: impl FnOnce(&mut Sentences)) {
        let mut sentences = std::mem::take(&mut self.buffer.sentences);
        sentences.clear();
        write(&mut sentences);
        if self.syntax.is_json {
            self.push(b"[");
            for (at, sentence) in sentences.iter().enumerate() {
                self.push(if at > 0 { b"," } else { b"" });
                if sentence.is_plain {
                    self.push_quoted(sentence.text);
                } else {
                    push_json_string(&sentence.to_text(), self.flush());
                }
            }
            self.push(b"]");
        } else if sentences.iter().all(|sentence| sentence.is_plain) {
            let has_comma = memchr2(b',', b'"', sentences.text()).is_some();
            let quote: &[u8] = if has_comma { b"\"" } else { b"" };
            self.push(quote);
            for (at, sentence) in sentences.iter().enumerate() {
                self.push(if at > 0 { b"; " } else { b"" });
                self.push(sentence.text);
            }
            self.push(quote);
        } else {
            let texts: Vec<String> =
                sentences.iter().map(|sentence| sentence.to_text().into_owned()).collect();
            push_texts(texts.iter().map(String::as_str), self.flush());
        }
        self.buffer.sentences = sentences;
    }

    /// Ends the line with the rest of the common text.
    pub(super) fn finish(mut self, rest: &[u8]) {
        self.push(rest);
        self.out.extend_from_slice(&self.buffer.text[..self.end]);
    }

    /// Appends bytes unchanged between quotes.
    fn push_quoted(&mut self, bytes: &[u8]) {
        self.push(b"\"");
        self.push(bytes);
        self.push(b"\"");
    }

    /// Appends bytes unchanged.
    #[inline]
    fn push(&mut self, bytes: &[u8]) {
        match self.buffer.text.get_mut(self.end..self.end + bytes.len()) {
            Some(place) => {
                place.copy_from_slice(bytes);
                self.end += bytes.len();
            }
            None => self.flush().extend_from_slice(bytes),
        }
    }

    /// Moves the contents of the buffer to the output, which is returned. Except at the ends of lines it is rarely
    /// needed, so it is not inlined.
    #[cold]
    #[inline(never)]
    fn flush(&mut self) -> &mut Vec<u8> {
        self.out.extend_from_slice(&self.buffer.text[..self.end]);
        self.end = 0;
        self.out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::json_csv::value::{Field, push_csv, push_json};
    use proptest::prelude::*;

    /// Returns the text that `write` appends to a line.
    fn line(syntax: &'static Syntax, write: impl FnOnce(&mut Line<'_>)) -> String {
        let (mut buffer, mut out) = (LineBuffer::default(), b"before ".to_vec());
        let mut line = Line::new(syntax, &mut buffer, &mut out);
        write(&mut line);
        line.finish(b" end");
        String::from_utf8(out).unwrap()
    }

    /// Returns a field as a line between the texts around [`line`].
    fn field(syntax: &Syntax, fields: &[Field<'_>]) -> String {
        let push = if syntax == JSON { push_json } else { push_csv };
        let mut out = b"before ".to_vec();
        fields.iter().for_each(|field| push(field, &mut out));
        out.extend_from_slice(b" end");
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn sentences_are_quoted_and_escaped_where_they_must_be() {
        fn plain(out: &mut Vec<u8>, text: &str) -> Option<()> {
            out.extend_from_slice(text.as_bytes());
            Some(())
        }
        let sentences = |syntax, add: fn(&mut Sentences)| line(syntax, |line| line.push_sentences(add));
        let both = |add| [sentences(JSON, add), sentences(CSV, add)];
        assert_eq!(both(|_| ()), ["before [] end", "before  end"]);
        let add = |sentences: &mut Sentences| {
            sentences.push_plain(|out| plain(out, "12 µs"));
            sentences.push_plain(|_| None);
            sentences.push_plain(|out| plain(out, "idle"));
        };
        assert_eq!(both(add), [r#"before ["12 µs","idle"] end"#, "before 12 µs; idle end"]);
        let add = |sentences: &mut Sentences| {
            sentences.push_plain(|out| plain(out, "1, 2"));
            sentences.push_plain(|out| plain(out, "3"));
        };
        assert_eq!(both(add), [r#"before ["1, 2","3"] end"#, r#"before "1, 2; 3" end"#]);
        let add = |sentences: &mut Sentences| {
            sentences.push("a\"\u{1b}");
            sentences.push_plain(|out| plain(out, "b"));
        };
        assert_eq!(both(add), [r#"before ["a\"\u001b","b"] end"#, r#"before "a""\u{1b}; b" end"#]);
    }

    #[test]
    fn words_need_no_escapes() {
        let words = |words: &'static [&'static str]| {
            [JSON, CSV].map(|syntax| line(syntax, |line| line.push_words(words.iter().copied())))
        };
        assert_eq!(words(&[]), ["before [] end", "before  end"]);
        assert_eq!(
            words(&["reset", "since_boot"]),
            [r#"before ["reset","since_boot"] end"#, "before reset+since_boot end"]
        );
    }

    proptest! {
        #[test]
        fn values_are_those_of_fields(
            texts in prop::collection::vec(prop_oneof!["[ -~]{0,12}", ".{0,5}", "(ab){1,3000}"], 0..4),
            numbers in prop::collection::vec(prop_oneof![any::<f64>(), 0.0..1e11, 0.0..1e3, Just(0.0), Just(8787.0)], 0..300),
            whole: u64,
        ) {
            for syntax in [JSON, CSV] {
                let written = line(syntax, |line| {
                    texts.iter().for_each(|text| line.push_text(Some(text)));
                    numbers.iter().for_each(|number| line.push_number(Some(*number)));
                    line.push_number(None);
                    line.push_whole(Some(whole));
                    line.push_word(Some("capped"));
                });
                let fields = texts.iter().map(|text| Field::Text(Some(text)));
                let fields = fields.chain(numbers.iter().map(|number| Field::Number(Some(*number))));
                let others = [Field::Number(None), Field::Whole(Some(whole)), Field::Text(Some("capped"))];
                prop_assert_eq!(written, field(syntax, &fields.chain(others).collect::<Vec<_>>()));
            }
        }

        #[test]
        fn segments_of_any_length_are_appended(texts in prop::collection::vec("[a-z]{0,60}", 0..200)) {
            let (mut common, mut segments) = (Vec::new(), Vec::new());
            for text in &texts {
                let start = common.len();
                common.extend_from_slice(text.as_bytes());
                segments.push(Segment::new(&common, start));
                prop_assert_eq!(segments.last().map(Segment::end), Some(common.len()));
            }
            let written = line(CSV, |line| {
                segments.iter().for_each(|segment| line.push_segment(segment, &common));
            });
            prop_assert_eq!(written, format!("before {} end", texts.concat()));
        }
    }
}
