//! The text of Zstandard files (RFC 8878).

use std::fmt;
use std::io::{self, BufRead, ErrorKind, Read};

use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::decompress::damage;
use crate::compression::TrailingData;

/// The text of a Zstandard file, of one frame or several. Skippable frames are skipped.
///
/// Unlike the reader of ruzstd, it reads every frame, compares checksums, and returns the text of all complete blocks of
/// a truncated file.
pub(super) struct ZstdReader<R> {
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
        Self { input, decoder: FrameDecoder::new(), state: State::BetweenFrames }
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
            Err(FrameDecoderError::ReadFrameHeaderError(BadMagicNumber(_))) => Err(TrailingData.into()),
            Err(error) => Err(self.error_for(error)),
        }
    }

    /// Decodes the next block of a frame.
    fn decode_block(&mut self) -> io::Result<State> {
        let Err(error) = self.decoder.decode_blocks(&mut self.input, BlockDecodingStrategy::UptoBlocks(1))
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
        let ended = self.decoder.decode_blocks(&END[..], BlockDecodingStrategy::UptoBlocks(1));
        ended.map(|_| State::Truncated).map_err(|_| error)
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
    use std::io::BufReader;

    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn zstd(text: &[u8]) -> Vec<u8> {
        compress_to_vec(text, CompressionLevel::Fastest)
    }

    /// The text of a file, and the error at its end.
    fn read(file: &[u8]) -> (Vec<u8>, Option<io::Error>) {
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
        let file =
            [skippable, &zstd(b"one\n")[..], &zstd(b""), skippable, &zstd(b"two\n"), skippable].concat();
        let (text, error) = read(&file);
        assert!(text == b"one\ntwo\n" && error.is_none(), "{error:?}");
    }

    #[test]
    fn a_file_truncated_anywhere_has_the_text_of_its_complete_blocks() {
        let lines = lines();
        let first = zstd(b"first\n");
        let file = [&first[..], &zstd(&lines)].concat();
        let all = [b"first\n", &lines[..]].concat();
        let mut longest = 0;
        for cut in (first.len() + 1..first.len() + 40).chain((first.len() + 40..file.len()).step_by(9973)) {
            let (text, error) = read(&file[..cut]);
            assert_eq!(error.unwrap().kind(), ErrorKind::UnexpectedEof, "cut at {cut}");
            assert!(text.starts_with(b"first\n") && all.starts_with(&text), "cut at {cut}");
            longest = longest.max(text.len());
        }
        assert!(longest > lines.len() / 2, "{longest}");
        for cut in file.len() - 4..file.len() {
            let (text, error) = read(&file[..cut]);
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
        let error = read(&damaged).1.unwrap();
        assert!(error.to_string().contains("checksum"), "{error}");
        for rest in [&b"garbage"[..], &[0; 20]] {
            let (text, error) = read(&[&zstd(b"one\n")[..], rest].concat());
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
