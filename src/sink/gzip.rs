//! Compresses blocks with gzip (RFC 1952) so that each can be read as soon as it is written, and completes the last member
//! of a file that was truncated, so that more can be appended. Nothing that can be read from the file is lost.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};

use flate2::Compression;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;

use crate::compression::{MIN_LOST_ZEROS, length_without_zeros};

/// The number of bytes of text from which on a member of the file ends with a block. This bounds the part that is
/// incomplete after a recorder was killed, and costs up to 6% in size (measured on a small host).
const MEMBER_BYTES: u64 = 128 * 1024;

/// The bytes of the header of a member, without a name.
const HEADER_BYTES: usize = 10;

/// Compresses a whole text, favoring speed over size.
pub fn gzip_bytes(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 8), Compression::fast());
    // Writing to a Vec cannot fail.
    let _ = encoder.write_all(text);
    encoder.finish().unwrap_or_default()
}

/// Compresses blocks. The output for a block ends on a byte and contains all of it (zlib's sync flush).
pub(super) struct Gzip {
    encoder: GzEncoder<Vec<u8>>,
    /// The bytes of text in the member.
    text_bytes: u64,
}

impl Gzip {
    pub(super) fn new() -> Self {
        Self {
            encoder: GzEncoder::new(Vec::new(), Compression::default()),
            text_bytes: 0,
        }
    }

    /// Returns the most bytes that a block of this length can take.
    pub(super) fn max_compressed_bytes(block: usize) -> usize {
        // Some bytes per flush; trailer and the header of the next member.
        block + block / 512 + 128
    }

    /// Compresses a block, which ends the member if that is large enough.
    pub(super) fn compress(&mut self, block: &[u8]) -> io::Result<Vec<u8>> {
        /// flate2 may hold back part of a block that takes more than its buffer of 32 KiB.
        const MAX_FLUSH_BYTES: usize = 16 * 1024;
        for part in block.chunks(MAX_FLUSH_BYTES) {
            self.encoder.write_all(part)?;
            self.encoder.flush()?;
        }
        self.text_bytes += block.len() as u64;
        let mut bytes = std::mem::take(self.encoder.get_mut());
        if self.text_bytes >= MEMBER_BYTES {
            bytes.extend(self.finish()?);
        }
        Ok(bytes)
    }

    /// Ends the member. Returns nothing if it has no text.
    pub(super) fn finish(&mut self) -> io::Result<Vec<u8>> {
        let member = std::mem::replace(self, Self::new());
        if member.text_bytes > 0 {
            member.encoder.finish()
        } else {
            Ok(Vec::new())
        }
    }
}

/// Makes a gzip file, open for reading and writing at any position, end with a complete member. Returns the last byte
/// of its text, if it has any. Removes zeros that a power failure left at the end.
///
/// # Errors
/// [`ErrorKind::InvalidData`] if the file is damaged in another way, or is an incomplete file of another program, which
/// cannot be continued; the file is then not changed. Other errors if it cannot be read or written.
pub(super) fn recover(file: &mut File) -> io::Result<Option<u8>> {
    let (start, last_byte) = find_incomplete_member(file)?;
    let end = length_without_zeros(file, MIN_LOST_ZEROS)?;
    file.seek(SeekFrom::Start(start))?;
    let mut member = Vec::new();
    file.take(end.saturating_sub(start))
        .read_to_end(&mut member)?;
    let mut text = Vec::new();
    match GzDecoder::new(member.as_slice()).read_to_end(&mut text) {
        Err(error) if !member.is_empty() && error.kind() != ErrorKind::UnexpectedEof => {
            return Err(damage(&format!("its compressed data is damaged ({error})")));
        }
        // This fails at the truncated end, after returning everything before it.
        _ => {}
    }
    let own = Gzip::new().compress(b"\n")?;
    if !own[..HEADER_BYTES]
        .iter()
        .zip(&member)
        .all(|(own, byte)| own == byte)
    {
        // What another program writes may not be meant for appending.
        return Err(damage("it ends in incomplete gzip data of another program"));
    }
    let mut gzip = Gzip::new();
    let rest = [gzip.compress(&text)?, gzip.finish()?].concat();
    // Overwrites before it shortens the file, and syncs, so that nearly at no time less can be read.
    file.seek(SeekFrom::Start(start))?;
    file.write_all(&rest)?;
    file.set_len(start + rest.len() as u64)?;
    if !rest.is_empty() {
        // Not every file system can sync.
        let _ = file.sync_data();
    }
    Ok(text.last().copied().or(last_byte))
}

/// The error of a file that cannot be continued.
pub(super) fn damage(message: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, message)
}

/// Returns the position at which the complete members end, and the last byte of their text.
fn find_incomplete_member(file: &mut File) -> io::Result<(u64, Option<u8>)> {
    file.seek(SeekFrom::Start(0))?;
    let mut input = BufReader::with_capacity(64 * 1024, file);
    let mut last_byte = None;
    loop {
        let start = input.stream_position()?;
        if input.fill_buf()?.is_empty() {
            return Ok((start, last_byte));
        }
        match last_byte_of(&mut GzDecoder::new(&mut input)) {
            Ok(last) => last_byte = last.or(last_byte),
            Err(error) if is_of_data(&error) => return Ok((start, last_byte)),
            Err(error) => return Err(error),
        }
    }
}

/// Returns whether an error is about the data rather than the disk.
fn is_of_data(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::UnexpectedEof | ErrorKind::InvalidInput | ErrorKind::InvalidData
    )
}

/// Reads a text to its end, and returns its last byte.
fn last_byte_of(input: &mut impl Read) -> io::Result<Option<u8>> {
    let mut last = None;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = input.read(&mut buffer)?;
        let Some(byte) = buffer[..read].last() else {
            return Ok(last);
        };
        last = Some(*byte);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::MultiGzDecoder;

    use super::*;

    #[test]
    fn every_block_can_be_read_at_once_across_members() {
        let block = vec![b'x'; 50_000];
        let (mut gzip, mut file) = (Gzip::new(), Vec::new());
        for count in 1..=10 {
            file.extend(gzip.compress(&block).unwrap());
            let mut text = Vec::new();
            // A member is complete after three blocks.
            assert_eq!(
                MultiGzDecoder::new(file.as_slice())
                    .read_to_end(&mut text)
                    .is_ok(),
                count % 3 == 0
            );
            assert_eq!(text.len(), count * block.len());
        }
        file.extend(gzip.finish().unwrap());
        let mut text = Vec::new();
        MultiGzDecoder::new(file.as_slice())
            .read_to_end(&mut text)
            .unwrap();
        assert_eq!(text.len(), 10 * block.len());
        assert!(
            file.windows(3)
                .filter(|bytes| *bytes == [0x1f, 0x8b, 8])
                .count()
                >= 3
        );
    }

    #[test]
    fn no_block_exceeds_its_maximum_size() {
        let mut state = 1u32;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let mut gzip = Gzip::new();
        for length in [1, 100, 40_000, 2_000_000, 50] {
            let block: Vec<u8> = (0..length).map(|_| noise()).collect();
            let bytes = gzip.compress(&block).unwrap().len();
            assert!(
                bytes <= Gzip::max_compressed_bytes(length),
                "{bytes} of {length}"
            );
        }
    }

    /// Returns all text that can be read from a file, complete or not.
    fn text(bytes: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        let _ = MultiGzDecoder::new(bytes).read_to_end(&mut text);
        text
    }

    fn read(file: &mut File) -> Vec<u8> {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(0)).unwrap();
        file.read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_file_truncated_at_any_byte_is_continued_after_all_that_can_be_read() {
        let blocks = [
            "one\n".repeat(9),
            "two\n".to_owned(),
            "\0\0\u{ff}three\n".repeat(3),
        ];
        let (mut gzip, mut complete) = (Gzip::new(), Vec::new());
        for block in &blocks {
            complete.extend(gzip.compress(block.as_bytes()).unwrap());
        }
        complete.extend(gzip.finish().unwrap());
        for cut in 0..=complete.len() {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&complete[..cut]).unwrap();
            let last = recover(&mut file).unwrap();
            file.seek(SeekFrom::End(0)).unwrap();
            let mut gzip = Gzip::new();
            file.write_all(&gzip.compress(b"more\n").unwrap()).unwrap();
            file.write_all(&gzip.finish().unwrap()).unwrap();
            let bytes = read(&mut file);
            let before = text(&complete[..cut]);
            assert_eq!(last, before.last().copied(), "cut at {cut}");
            let mut after = Vec::new();
            MultiGzDecoder::new(bytes.as_slice())
                .read_to_end(&mut after)
                .unwrap();
            assert_eq!(after, [&before[..], b"more\n"].concat(), "cut at {cut}");
        }
    }

    #[test]
    fn an_incomplete_file_of_another_program_is_not_changed() {
        let mut member = flate2::GzBuilder::new()
            .filename("x")
            .write(Vec::new(), flate2::Compression::default());
        member.write_all(b"some text\n").unwrap();
        let bytes = member.finish().unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes[..bytes.len() - 3]).unwrap();
        assert!(recover(&mut file).is_err());
        assert_eq!(file.metadata().unwrap().len(), bytes.len() as u64 - 3);
    }

    #[test]
    fn zeros_that_a_power_failure_left_are_cut_off_and_nothing_else() {
        let blocks = ["one\n".repeat(900), "two\n".to_owned(), "three\n".repeat(3)];
        let (mut gzip, mut bytes) = (Gzip::new(), Vec::new());
        let mut flushes = Vec::new();
        for block in &blocks {
            bytes.extend(gzip.compress(block.as_bytes()).unwrap());
            flushes.push(bytes.len());
        }
        bytes.extend(gzip.finish().unwrap());
        let all = blocks.concat();
        let cases = [
            (bytes.len(), 3),
            (flushes[2], 3),
            (flushes[1], 2),
            (flushes[1] + 3, 2),
            (flushes[0], 1),
        ];
        for (cut, written) in cases {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&[&bytes[..cut], &[0; 5000]].concat())
                .unwrap();
            let last = recover(&mut file).unwrap();
            let recovered = read(&mut file);
            assert!(recovered.len() < bytes.len() + 50, "cut at {cut}");
            let text = text(&recovered);
            assert_eq!(last, text.last().copied(), "cut at {cut}");
            let is_all_written = text.starts_with(blocks[..written].concat().as_bytes());
            assert!(
                is_all_written && all.as_bytes().starts_with(&text),
                "cut at {cut}"
            );
        }
    }

    #[test]
    fn a_file_with_other_damage_is_not_changed() {
        let mut gzip = Gzip::new();
        let mut bytes = gzip
            .compress("0123456789\n".repeat(500).as_bytes())
            .unwrap();
        bytes.extend(gzip.finish().unwrap());
        let mut flipped = bytes.clone();
        flipped[bytes.len() / 2] ^= 0x55;
        let zeros = [&[0; 100][..], b"x"].concat();
        for damaged in [
            flipped,
            [&bytes[..], b"no gzip data"].concat(),
            [&bytes[..], &zeros].concat(),
        ] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&damaged).unwrap();
            assert_eq!(
                recover(&mut file).unwrap_err().kind(),
                ErrorKind::InvalidData
            );
            assert!(read(&mut file) == damaged);
        }
    }
}
