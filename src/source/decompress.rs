//! Decompresses captures.

use std::fmt;
use std::io::{self, BufRead, BufReader, Chain, Cursor, ErrorKind, Read, Take};

use flate2::bufread::GzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use crate::compression::{Compression, GZIP_MAGIC, TrailingData};
use crate::sanitize::shell_word;

/// The size of the buffer for compressed data.
const BUFFER_BYTES: usize = 64 * 1024;

/// The name of standard input in messages.
pub(super) const STANDARD_INPUT: &str = "standard input";

/// The text of a capture.
pub(super) struct Text<R> {
    decoder: Decoder<R>,
    /// The name of the file; `None` once it was read in part.
    name: Option<String>,
}

enum Decoder<R> {
    Plain(Start<R>),
    Gzip(Box<GzipReader<BufReader<Start<R>>>>),
    Zstd(Box<ZstdReader<BufReader<Start<R>>>>),
}

/// A file without lost zeros at its end, and its first bytes before it.
type Start<R> = Chain<Cursor<Vec<u8>>, Take<R>>;

/// Returns the text of a capture, which is decompressed if its first bytes show that it is compressed. `length` is the number
/// of its bytes that are read.
///
/// # Errors
/// If the first bytes cannot be read.
pub(super) fn decompress<R: Read>(input: R, length: u64, name: &str) -> io::Result<Text<R>> {
    let mut input = input.take(length);
    let mut start = Vec::with_capacity(Compression::MAGIC_BYTES);
    input
        .by_ref()
        .take(Compression::MAGIC_BYTES as u64)
        .read_to_end(&mut start)?;
    let compression = Compression::detect(&start);
    let input = Cursor::new(start).chain(input);
    let buffered = |input| BufReader::with_capacity(BUFFER_BYTES, input);
    let decoder = match compression {
        Some(Compression::Gzip) => Decoder::Gzip(Box::new(GzipReader::new(buffered(input)))),
        Some(Compression::Zstd) => Decoder::Zstd(Box::new(ZstdReader::new(buffered(input)))),
        None => Decoder::Plain(input),
    };
    Ok(Text {
        decoder,
        name: Some(name.to_owned()),
    })
}

impl<R: Read> Read for Text<R> {
    /// Reads text.
    ///
    /// # Errors
    /// If it begins like a file that another program reads; names that program.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let length = match &mut self.decoder {
            Decoder::Plain(text) => text.read(into),
            Decoder::Gzip(text) => text.read(into),
            Decoder::Zstd(text) => text.read(into),
        }?;
        let is_packed = !matches!(self.decoder, Decoder::Plain(_));
        if let Some(name) = self.name.take()
            && let Some(message) = message_of_program(&into[..length], &name, is_packed)
        {
            return Err(io::Error::other(message));
        }
        Ok(length)
    }
}

/// Returns the message about a file that only another program reads, recognized by its first bytes: the command that prints
/// its text. A compressed one (`is_packed`) must be decompressed first.
fn message_of_program(start: &[u8], name: &str, is_packed: bool) -> Option<String> {
    let (what, before, after) = match start {
        [0xfd, b'7', b'z', b'X', ..] => ("compressed with xz", "xz -dc", ""),
        [b'B', b'Z', b'h', b'1'..=b'9', ..] => ("compressed with bzip2", "bzip2 -dc", ""),
        // The number of sysstat, in the order of bytes of the host that wrote it.
        [0x96, 0xd5, ..] | [0xd5, 0x96, ..] => ("a data file of sar", "sadf -d", " -- -d"),
        _ => return None,
    };
    let unpack = if is_packed {
        "decompress it to FILE, and "
    } else {
        ""
    };
    let name = if is_packed || name == STANDARD_INPUT {
        "FILE".to_owned()
    } else {
        shell_word(name)
    };
    Some(format!(
        "it is {what}; {unpack}read it with: {before} {name}{after} | blkstat --from -"
    ))
}

/// The text of a gzip file, of one member or several.
///
/// Unlike the reader of flate2 for several members, it tells other data behind a member from damage.
struct GzipReader<R> {
    /// `None` at the end, or after an error.
    member: Option<GzDecoder<R>>,
}

/// The most text that is decompressed at a time, because what precedes damage in it is lost.
const MAX_TEXT_BYTES: usize = 8 * 1024;

impl<R: BufRead> GzipReader<R> {
    fn new(input: R) -> Self {
        Self {
            member: Some(GzDecoder::new(input)),
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
        let most = into.len().min(MAX_TEXT_BYTES);
        while let Some(member) = &mut self.member {
            match member.read(&mut into[..most]) {
                Ok(0) if most > 0 => {}
                Err(error) if error.kind() == ErrorKind::InvalidInput => {
                    self.member = None;
                    return Err(damage("gzip", error));
                }
                read => return read,
            }
            let Some(mut input) = self.member.take().map(GzDecoder::into_inner) else {
                break;
            };
            match input.fill_buf()?.first() {
                None => {}
                Some(&first) if first == GZIP_MAGIC[0] => self.member = Some(GzDecoder::new(input)),
                Some(_) => return Err(TrailingData.into()),
            }
        }
        Ok(0)
    }
}

/// The error of data that is not valid, for a reason. `program` is the one that wrote it.
pub(super) fn damage(program: &str, reason: impl fmt::Display) -> io::Error {
    let message = format!(
        "its {program} data is damaged ({reason}); '{program} -dc' prints the text before the damage"
    );
    io::Error::new(ErrorKind::InvalidData, message)
}

/// The text of a Zstandard file, of one frame or several. Skippable frames are skipped.
///
/// Unlike the reader of ruzstd, it reads every frame, compares checksums, and returns the text of all complete blocks of
/// a truncated file.
struct ZstdReader<R> {
    input: R,
    decoder: FrameDecoder,
    state: State,
}

#[derive(Clone, Copy)]
enum State {
    BetweenFrames,
    InFrame,
    /// In a truncated frame, whose text has not been handed out yet.
    Truncated,
    /// At the end, or after an error.
    End,
}

impl<R: BufRead> ZstdReader<R> {
    pub(super) fn new(input: R) -> Self {
        Self {
            input,
            decoder: FrameDecoder::new(),
            state: State::BetweenFrames,
        }
    }

    /// Reads the header of the next frame, or skips a skippable frame.
    fn read_header(&mut self) -> io::Result<State> {
        use ReadFrameHeaderError::{BadMagicNumber, SkipFrame};
        if self.input.fill_buf()?.is_empty() {
            return Ok(State::End);
        }
        match self.decoder.reset(&mut self.input) {
            Ok(()) => Ok(State::InFrame),
            Err(FrameDecoderError::ReadFrameHeaderError(SkipFrame { length, .. })) => {
                let length = u64::from(length);
                let skipped = io::copy(&mut (&mut self.input).take(length), &mut io::sink())?;
                if skipped == length {
                    Ok(State::BetweenFrames)
                } else {
                    Err(ErrorKind::UnexpectedEof.into())
                }
            }
            Err(FrameDecoderError::ReadFrameHeaderError(BadMagicNumber(_))) => {
                Err(TrailingData.into())
            }
            Err(error) => Err(self.error_for(error)),
        }
    }

    /// Decodes the next block of a frame.
    fn decode_block(&mut self) -> io::Result<State> {
        let Err(error) = self
            .decoder
            .decode_blocks(&mut self.input, BlockDecodingStrategy::UptoBlocks(1))
        else {
            return Ok(State::InFrame);
        };
        let error = self.error_for(error);
        if error.kind() != ErrorKind::UnexpectedEof {
            return Err(error);
        }
        // The decoder holds back the last part of the text until the frame ends. An empty last block, and a checksum,
        // end it.
        const END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];
        match self
            .decoder
            .decode_blocks(&END[..], BlockDecodingStrategy::UptoBlocks(1))
        {
            Ok(_) => Ok(State::Truncated),
            Err(_) => Err(error),
        }
    }

    /// Compares the text of a frame with its checksum, if it has one.
    fn verify(&self) -> io::Result<State> {
        match self.decoder.get_checksum_from_data() {
            Some(sum) if Some(sum) != self.decoder.get_calculated_checksum() => {
                Err(damage("zstd", "its text does not match the checksum"))
            }
            _ => Ok(State::BetweenFrames),
        }
    }

    /// Returns the error to report if decoding failed: that of the input, whose end the decoder may not have expected.
    fn error_for(&mut self, error: impl fmt::Display) -> io::Error {
        match self.input.fill_buf() {
            Ok([]) => ErrorKind::UnexpectedEof.into(),
            Ok(_) => damage("zstd", error),
            Err(error) => error,
        }
    }
}

impl<R: BufRead> Read for ZstdReader<R> {
    /// Reads text.
    ///
    /// # Errors
    /// [`ErrorKind::UnexpectedEof`] if the file ends within a frame, and [`TrailingData`] if data other than a frame
    /// follows a frame.
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.decoder.can_collect() == 0 && !into.is_empty() {
            self.state = match std::mem::replace(&mut self.state, State::End) {
                State::BetweenFrames => self.read_header()?,
                State::InFrame if self.decoder.is_finished() => self.verify()?,
                State::InFrame => self.decode_block()?,
                State::Truncated => return Err(ErrorKind::UnexpectedEof.into()),
                State::End => return Ok(0),
            };
        }
        self.decoder.read(into)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use flate2::Compression as Level;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

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
            let error = GzipReader::new(BufReader::with_capacity(capacity, file))
                .read_to_end(&mut text)
                .err();
            (text, error)
        });
        assert_eq!(
            small.1.map(|error| error.kind()),
            large.1.as_ref().map(io::Error::kind)
        );
        // Text before damage may be lost.
        assert!(small.0.starts_with(&large.0));
        large
    }

    fn is_damage(error: &io::Error) -> bool {
        matches!(
            error.kind(),
            ErrorKind::InvalidInput | ErrorKind::InvalidData
        )
    }

    #[test]
    fn other_bytes_after_a_member_are_an_error_of_their_own() {
        let one = gzip(b"one\n");
        for rest in [
            &b"x"[..],
            b"garbage that is longer than a header\n",
            &[0; 20],
        ] {
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
            [&gzip(b"one\n")[..], b"\x1f is no header"].concat(),
        ] {
            let error = read(&file).1.unwrap();
            assert!(is_damage(&error) && !TrailingData::is(&error), "{error:?}");
        }
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    /// The text of a file, and the error at its end.
    fn read_zstd(file: &[u8]) -> (Vec<u8>, Option<io::Error>) {
        let mut text = Vec::new();
        let mut reader = ZstdReader::new(file);
        let error = reader.read_to_end(&mut text).err();
        assert_eq!(reader.read(&mut [0; 9]).unwrap(), 0);
        (text, error)
    }

    /// Lines of 500 KiB, which take several blocks.
    fn lines() -> Vec<u8> {
        (0..50_000)
            .map(|n: u32| format!("{:09}\n", n.wrapping_mul(2_654_435_761) % 999_983))
            .collect::<String>()
            .into()
    }

    #[test]
    fn the_text_of_all_frames_is_read_and_skippable_frames_are_skipped() {
        let skippable = b"\x5a\x2a\x4d\x18\x05\0\0\0hello";
        let file = [
            skippable,
            &zstd(b"one\n")[..],
            &zstd(b""),
            skippable,
            &zstd(b"two\n"),
            skippable,
        ]
        .concat();
        let (text, error) = read_zstd(&file);
        assert!(text == b"one\ntwo\n" && error.is_none(), "{error:?}");
    }

    #[test]
    fn a_file_truncated_anywhere_has_the_text_of_its_complete_blocks() {
        let lines = lines();
        let first = zstd(b"first\n");
        let file = [&first[..], &zstd(&lines)].concat();
        let all = [b"first\n", &lines[..]].concat();
        let mut longest = 0;
        for cut in
            (first.len() + 1..first.len() + 40).chain((first.len() + 40..file.len()).step_by(9973))
        {
            let (text, error) = read_zstd(&file[..cut]);
            assert_eq!(
                error.unwrap().kind(),
                ErrorKind::UnexpectedEof,
                "cut at {cut}"
            );
            assert!(
                text.starts_with(b"first\n") && all.starts_with(&text),
                "cut at {cut}"
            );
            longest = longest.max(text.len());
        }
        assert!(longest > lines.len() / 2, "{longest}");
        for cut in file.len() - 4..file.len() {
            let (text, error) = read_zstd(&file[..cut]);
            assert_eq!(
                (text == all, error.unwrap().kind()),
                (true, ErrorKind::UnexpectedEof),
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn damage_and_other_data_are_errors() {
        let lines = lines();
        let mut damaged = zstd(&lines);
        let last = damaged.len() - 1;
        damaged[last] ^= 1;
        let error = read_zstd(&damaged).1.unwrap();
        assert!(error.to_string().contains("checksum"), "{error}");
        for rest in [&b"garbage"[..], &[0; 20]] {
            let (text, error) = read_zstd(&[&zstd(b"one\n")[..], rest].concat());
            assert!(text == b"one\n" && TrailingData::is(&error.unwrap()));
        }
    }

    #[test]
    fn an_error_of_reading_is_reported_as_it_is() {
        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::from_raw_os_error(5))
            }
        }
        let file = zstd(&lines());
        for cut in [0, 2, 5, 30, file.len() / 2] {
            let mut reader = ZstdReader::new(BufReader::new(file[..cut].chain(Fails)));
            let error = reader.read_to_end(&mut Vec::new()).unwrap_err();
            assert_eq!(error.raw_os_error(), Some(5), "after {cut} bytes");
        }
    }
}
