//! Decompresses captures.

use std::error::Error;
use std::fmt;
use std::io::{self, BufRead, BufReader, Chain, Cursor, ErrorKind, Read};

use super::zstd::ZstdReader;
use crate::compression::{Compression, GZIP_MAGIC, MIN_LOST_ZEROS, TrailingData, length_without_zeros};
use crate::sanitize::sanitize;
use flate2::Crc;
use flate2::bufread::{DeflateDecoder, GzDecoder};

/// The size of the buffer for compressed data.
const BUFFER_BYTES: usize = 64 * 1024;

/// The text of a capture.
pub(super) struct Text<R> {
    decoder: Decoder<R>,
    /// True if it was read in part.
    has_begun: bool,
}

enum Decoder<R> {
    Plain(Start<R>),
    Gzip(Box<GzipReader<BufReader<Start<R>>>>),
    Zstd(Box<ZstdReader<BufReader<Start<R>>>>),
}

/// A file, and its first bytes before it.
type Start<R> = Chain<Cursor<Vec<u8>>, R>;

/// Returns the text of a capture, which is decompressed if its first bytes show that it is compressed.
///
/// # Errors
/// If the first bytes cannot be read, or are a Zstandard header that is not valid.
pub(super) fn decompress<R: Read>(mut input: R) -> io::Result<Text<R>> {
    let mut start = Vec::with_capacity(Compression::MAGIC_BYTES);
    input.by_ref().take(Compression::MAGIC_BYTES as u64).read_to_end(&mut start)?;
    let compression = Compression::detect(&start);
    let input = Cursor::new(start).chain(input);
    let buffered = |input| BufReader::with_capacity(BUFFER_BYTES, input);
    let decoder = match compression {
        Some(Compression::Gzip) => Decoder::Gzip(Box::new(GzipReader::new(buffered(input)))),
        Some(Compression::Zstd) => Decoder::Zstd(Box::new(ZstdReader::open(buffered(input))?)),
        None => Decoder::Plain(input),
    };
    Ok(Text { decoder, has_begun: false })
}

impl<R: Read> Read for Text<R> {
    /// Reads text.
    ///
    /// # Errors
    /// [`NeedsProgram`] if it begins like a file that another program reads.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = match &mut self.decoder {
            Decoder::Plain(text) => text.read(into),
            Decoder::Gzip(text) => text.read(into),
            Decoder::Zstd(text) => text.read(into),
        }?;
        if !std::mem::replace(&mut self.has_begun, true) {
            let is_packed = !matches!(self.decoder, Decoder::Plain(_));
            let found = NeedsProgram::detect(&into[..length], is_packed);
            found.map_or(Ok(()), |found| Err(io::Error::other(found)))?;
        }
        Ok(length)
    }
}

/// A file that only another program reads.
#[derive(Debug)]
pub(super) struct NeedsProgram {
    what: &'static str,
    /// The command that prints its text, around its name.
    command: (&'static str, &'static str),
    /// It is compressed, which that program cannot read.
    is_packed: bool,
}

impl NeedsProgram {
    /// Recognizes such a file by its first bytes.
    fn detect(start: &[u8], is_packed: bool) -> Option<Self> {
        let (what, command) = match start {
            [0xfd, b'7', b'z', b'X', ..] => ("compressed with xz", ("xz -dc ", "")),
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => ("compressed with bzip2", ("bzip2 -dc ", "")),
            // The number of sysstat, in the order of bytes of the host that wrote it.
            [0x96, 0xd5, ..] | [0xd5, 0x96, ..] => ("a data file of sar", ("sadf -d ", " -- -d")),
            _ => return None,
        };
        Some(Self { what, command, is_packed })
    }

    /// Returns the message for the file of this name, which is `None` for standard input.
    pub(super) fn message(&self, name: Option<&str>) -> String {
        let (before, after) = self.command;
        let (name, unpack) = if self.is_packed { (None, "decompress it to FILE, and ") } else { (name, "") };
        let name = name.map_or_else(|| "FILE".to_owned(), |name| shell_word(&sanitize(name)));
        format!("it is {}; {unpack}read it with: {before}{name}{after} | blkstat --from -", self.what)
    }
}

/// Quotes a name for a shell, unless it has ordinary characters only.
fn shell_word(name: &str) -> String {
    let is_ordinary = |c: char| c.is_alphanumeric() || "/._-+:,".contains(c);
    if !name.starts_with('-') && name.chars().all(is_ordinary) {
        name.to_owned()
    } else {
        format!("'{}'", name.replace('\'', r"'\''"))
    }
}

impl fmt::Display for NeedsProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message(None))
    }
}

impl Error for NeedsProgram {}

/// The text of a gzip file, of one member or several.
///
/// Unlike the readers of flate2, it returns all text before any damage, and ignores zeros at the end of the file: see
/// [`ZeroTail`].
pub(super) enum GzipReader<R> {
    /// Before the header of a member.
    Header(ZeroTail<R>),
    /// In the data of a member, with the checksum of its text so far.
    Data(DeflateDecoder<ZeroTail<R>>, Crc),
    /// At the end, or after an error.
    End,
}

impl<R: BufRead> GzipReader<R> {
    fn new(input: R) -> Self {
        Self::Header(ZeroTail { input, zeros: 0, is_passed: false })
    }

    /// Reads the header of a member.
    fn read_header(input: ZeroTail<R>) -> io::Result<Self> {
        let mut member = GzDecoder::new(input);
        if member.header().is_none() {
            // A read gives the reason as its error.
            member.read_exact(&mut [0])?;
        }
        Ok(Self::Data(DeflateDecoder::new(member.into_inner()), Crc::new()))
    }

    /// Reads the end of a member after its data.
    fn read_trailer(mut input: ZeroTail<R>, crc: &Crc) -> io::Result<Self> {
        // The trailer itself usually ends with a zero.
        input.is_passed = true;
        let mut trailer = [0; 8];
        input.read_exact(&mut trailer)?;
        let is_valid = trailer == [crc.sum().to_le_bytes(), crc.amount().to_le_bytes()].as_flattened();
        let next = find_next(&mut input)?;
        input.is_passed = false;
        match next {
            Next::Zeros if !is_valid => Err(ErrorKind::UnexpectedEof.into()),
            _ if !is_valid => Err(damage("gzip", "its text does not match the checksum")),
            Next::Member => Ok(Self::Header(input)),
            Next::Zeros | Next::End => Ok(Self::End),
            Next::Other => Err(TrailingData.into()),
        }
    }
}

impl<R: BufRead> Read for GzipReader<R> {
    /// Reads text.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEof`] if the file ends within a member, and [`TrailingData`] if data other than a member
    /// follows a member.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if into.is_empty() {
            return Ok(0);
        }
        loop {
            *self = match std::mem::replace(self, Self::End) {
                Self::End => return Ok(0),
                Self::Header(input) => Self::read_header(input)?,
                Self::Data(mut decoder, mut crc) => {
                    let before = decoder.total_out();
                    let read = decoder.read(into);
                    // Text may precede an error, which the next read then returns.
                    let length = (decoder.total_out() - before) as usize;
                    crc.update(&into[..length]);
                    match read {
                        Ok(_) if length == 0 => Self::read_trailer(decoder.into_inner(), &crc)?,
                        Err(error) if length == 0 && error.kind() == ErrorKind::InvalidInput => {
                            return Err(damage("gzip", error));
                        }
                        Err(error) if length == 0 && error.kind() != ErrorKind::Interrupted => {
                            return Err(error);
                        }
                        read => {
                            *self = Self::Data(decoder, crc);
                            return if length > 0 { Ok(length) } else { read };
                        }
                    }
                }
            };
        }
    }
}

/// The error of data that is not valid, for a reason. `program` is the one that wrote it.
pub(super) fn damage(program: &str, reason: impl fmt::Display) -> io::Error {
    let message = format!(
        "its {program} data is damaged ({reason}); '{program} -dc' prints the text before the damage"
    );
    io::Error::new(ErrorKind::InvalidData, message)
}

/// The data after a member.
enum Next {
    Member,
    End,
    /// Nothing but zeros.
    Zeros,
    Other,
}

/// Looks at the input after a member. Only zeros are read from it.
fn find_next(input: &mut impl BufRead) -> io::Result<Next> {
    let mut next = Next::End;
    loop {
        let bytes = fill_buffer(input)?;
        match (bytes.first(), &next) {
            (None, _) => return Ok(next),
            (Some(&first), Next::End) if first == GZIP_MAGIC[0] => return Ok(Next::Member),
            _ if bytes.iter().any(|byte| *byte != 0) => return Ok(Next::Other),
            _ => next = Next::Zeros,
        }
        let count = bytes.len();
        input.consume(count);
    }
}

/// A file without the zeros that a power failure left at its end, see [`MIN_LOST_ZEROS`]. The decoder might take them
/// for more text.
pub(super) struct ZeroTail<R> {
    input: R,
    /// The number of zeros that were read from the input but not returned.
    zeros: usize,
    /// True if zeros at the end are returned, too.
    is_passed: bool,
}

impl<R: BufRead> BufRead for ZeroTail<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        const ZEROS: &[u8] = &[0; 512];
        if self.zeros == 0 {
            let bytes = fill_buffer(&mut self.input)?;
            let length = if self.is_passed { bytes.len() } else { length_before_zeros(bytes) };
            if length > 0 || bytes.is_empty() {
                return Ok(&self.input.fill_buf()?[..length]);
            }
            self.take_zeros()?;
        }
        let is_end = self.zeros >= MIN_LOST_ZEROS && fill_buffer(&mut self.input)?.is_empty();
        if is_end && !self.is_passed { Ok(&[]) } else { Ok(&ZEROS[..self.zeros.min(ZEROS.len())]) }
    }

    fn consume(&mut self, count: usize) {
        if self.zeros > 0 { self.zeros -= count } else { self.input.consume(count) }
    }
}

impl<R: BufRead> ZeroTail<R> {
    /// Consumes zeros from the input up to the first other byte.
    fn take_zeros(&mut self) -> io::Result<()> {
        loop {
            let bytes = fill_buffer(&mut self.input)?;
            let count = bytes.iter().take_while(|byte| **byte == 0).count();
            if count == 0 {
                return Ok(());
            }
            self.zeros += count;
            self.input.consume(count);
        }
    }
}

impl<R: BufRead> Read for ZeroTail<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let mut bytes = self.fill_buf()?;
        let count = bytes.read(into)?;
        self.consume(count);
        Ok(count)
    }
}

/// Returns the number of bytes before a long run of zeros, or before zeros at the end, which may continue in the next
/// bytes.
fn length_before_zeros(bytes: &[u8]) -> usize {
    memchr::memmem::find(bytes, &[0; MIN_LOST_ZEROS]).unwrap_or_else(|| length_without_zeros(bytes))
}

/// Fills the buffer even if a signal interrupts the read.
fn fill_buffer(input: &mut impl BufRead) -> io::Result<&[u8]> {
    while let Err(error) = input.fill_buf() {
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
    input.fill_buf()
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression as Level;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Level::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// The text of a file, read in pieces of one byte and of many, and the error at its end.
    fn read(file: &[u8]) -> (Vec<u8>, Option<io::Error>) {
        let [small, large] = [1, BUFFER_BYTES].map(|capacity| {
            let mut text = Vec::new();
            let error =
                GzipReader::new(BufReader::with_capacity(capacity, file)).read_to_end(&mut text).err();
            (text, error)
        });
        assert_eq!(
            (&small.0, small.1.map(|error| error.kind())),
            (&large.0, large.1.as_ref().map(io::Error::kind))
        );
        large
    }

    fn is_damage(error: &io::Error) -> bool {
        matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::InvalidData)
    }

    const ZEROS: &[u8] = &[0; 5000];

    #[test]
    fn zeros_at_the_end_are_not_part_of_a_file() {
        let (one, two) = (gzip(b"one\n"), gzip(b"two\n"));
        for file in
            [[&one[..], &two].concat(), [&one[..], &two, ZEROS].concat(), [&one[..], &two, &[0]].concat()]
        {
            let (text, error) = read(&file);
            assert!(text == b"one\ntwo\n" && error.is_none(), "{error:?}");
        }
    }

    #[test]
    fn zeros_of_a_checksum_or_an_empty_member_are_part_of_a_file() {
        let empty = gzip(b"");
        assert!(empty.ends_with(&[0; 8]));
        for n in 0..1000 {
            let text = format!("{n}\n");
            let member = gzip(text.as_bytes());
            let (read, error) = read(&[&empty[..], &member, &empty, &member, ZEROS].concat());
            assert!(read == text.repeat(2).as_bytes() && error.is_none(), "{n}: {error:?}");
        }
    }

    #[test]
    fn zeros_within_a_member_are_a_truncated_end() {
        let lines: String = (0..2000).map(|n| format!("{n} {}\n", n * 7919 % 1000)).collect();
        let mut encoder = GzEncoder::new(Vec::new(), Level::fast());
        encoder.write_all(lines.as_bytes()).unwrap();
        encoder.flush().unwrap();
        let flushed = encoder.get_ref().len();
        encoder.write_all(lines.as_bytes()).unwrap();
        let file = encoder.finish().unwrap();
        // If the zeros follow a flush, the text ends there.
        let (text, error) = read(&[&file[..flushed], ZEROS].concat());
        assert_eq!((text.len(), error.unwrap().kind()), (lines.len(), ErrorKind::UnexpectedEof));
        // Otherwise it ends later: no earlier text is lost, and nothing is added.
        let all = lines.repeat(2);
        for cut in (flushed..file.len()).step_by(7).chain(file.len() - 9..file.len() - 4) {
            let (text, error) = read(&[&file[..cut], ZEROS].concat());
            assert!(text.starts_with(lines.as_bytes()) && all.as_bytes().starts_with(&text), "cut at {cut}");
            assert_eq!(error.unwrap().kind(), ErrorKind::UnexpectedEof, "cut at {cut}");
        }
    }

    #[test]
    fn other_bytes_after_a_member_are_an_error_of_their_own() {
        let one = gzip(b"one\n");
        for rest in [&b"x"[..], b"garbage that is longer than a header\n", &[&[0; 9][..], b"x"].concat()] {
            let (text, error) = read(&[&one[..], rest].concat());
            assert!(text == b"one\n" && TrailingData::is(&error.unwrap()));
        }
    }

    #[test]
    fn damage_is_an_error() {
        let mut damaged = gzip("0123456789\n".repeat(500).as_bytes());
        let middle = damaged.len() / 2;
        damaged[middle] ^= 0x55;
        for file in [
            damaged.clone(),
            [&damaged[..], ZEROS, b"x"].concat(),
            [&gzip(b"one\n")[..], b"\x1f is no header"].concat(),
        ] {
            let error = read(&file).1.unwrap();
            assert!(is_damage(&error) && !TrailingData::is(&error), "{error:?}");
        }
    }
}
