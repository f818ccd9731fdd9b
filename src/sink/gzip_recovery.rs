//! Completes a gzip file that was truncated, so that more can be appended.
//!
//! The last member is ended after the last block that was flushed, and the text that can still be decoded after that
//! becomes a separate member. Nothing that can be read from the file is lost, even if the program is killed meanwhile:
//! the member itself is never rewritten.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};

use flate2::Crc;
use flate2::bufread::{DeflateDecoder, GzDecoder};

use super::gzip::{Gzip, HEADER, trailer};
use crate::compression::{MIN_LOST_ZEROS, length_without_zeros};

/// The bytes that a flush ends with: the length of an empty stored block, and its complement.
const FLUSH_END: [u8; 4] = [0, 0, 0xff, 0xff];
/// An empty last block of deflate.
const LAST_BLOCK: [u8; 2] = [3, 0];

/// Makes a gzip file, open for reading and writing at any position, end with a complete member. Returns the last byte
/// of its text, if it has any. Removes zeros that a power failure left at the end.
///
/// # Errors
/// [`ErrorKind::InvalidData`] if the file is damaged in another way, or is an incomplete file of another program, which
/// cannot be continued; the file is then not changed. Other errors if it cannot be read or written.
pub(super) fn recover(file: &mut File) -> io::Result<Option<u8>> {
    let (end, last_byte) = find_end(file)?;
    let (start, damage) = match end {
        End::Complete => return Ok(last_byte),
        End::Zeros { start } => return file.set_len(start).map(|()| last_byte),
        End::Truncated { start } => (start, None),
        End::Damaged { start, error } => (start, Some(error)),
    };
    file.seek(SeekFrom::Start(start))?;
    let mut member = Vec::new();
    file.read_to_end(&mut member)?;
    let data = length_without_zeros(&member);
    if member.len() - data >= MIN_LOST_ZEROS {
        member.truncate(data);
    }
    let mut text = Vec::new();
    // This fails at the truncated end, after returning everything before it.
    if let Err(error) = GzDecoder::new(member.as_slice()).read_to_end(&mut text)
        && error.kind() != ErrorKind::UnexpectedEof
    {
        let message = format!("its compressed data is damaged ({})", damage.unwrap_or(error));
        return Err(io::Error::new(ErrorKind::InvalidData, message));
    }
    if !member.starts_with(&HEADER) && !HEADER.starts_with(&member) {
        // Blocks of another program may end within a byte, and its header has no fixed length.
        let message = "it ends in incomplete gzip data of another program";
        return Err(io::Error::new(ErrorKind::InvalidData, message));
    }
    let flushed = find_flushed_part(&member).unwrap_or_default();
    let mut tail = flushed.end;
    let unflushed = text.get(flushed.text_bytes..).unwrap_or_default();
    if !unflushed.is_empty() {
        let mut gzip = Gzip::new();
        tail.extend(gzip.compress(unflushed)?);
        tail.extend(gzip.finish()?);
    }
    // Overwrite the truncated part before shortening the file, so that at no time less can be read.
    let at = start + flushed.bytes as u64;
    file.seek(SeekFrom::Start(at))?;
    file.write_all(&tail)?;
    file.set_len(at + tail.len() as u64)?;
    Ok(text.last().copied().or(last_byte))
}

/// The end of a gzip file.
enum End {
    /// A complete member.
    Complete,
    /// Zeros from this position, after a complete member.
    Zeros { start: u64 },
    /// A truncated member, which begins at this position.
    Truncated { start: u64 },
    /// A member that cannot be decoded, which begins at this position.
    Damaged { start: u64, error: io::Error },
}

/// Returns the end of a file, and the last byte of the text of the complete members.
fn find_end(file: &mut File) -> io::Result<(End, Option<u8>)> {
    file.seek(SeekFrom::Start(0))?;
    let mut input = BufReader::with_capacity(64 * 1024, file);
    let mut last_byte = None;
    loop {
        let start = input.stream_position()?;
        match input.fill_buf()?.first() {
            None => return Ok((End::Complete, last_byte)),
            Some(0) => {
                // This reads up to the first other byte.
                let is_other = input.bytes().any(|byte| !matches!(byte, Ok(0)));
                let error = io::Error::other("no gzip header");
                let end = if is_other { End::Damaged { start, error } } else { End::Zeros { start } };
                return Ok((end, last_byte));
            }
            Some(_) => {}
        }
        match drain(&mut GzDecoder::new(&mut input)) {
            Ok((_, last)) => last_byte = last.or(last_byte),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                return Ok((End::Truncated { start }, last_byte));
            }
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::InvalidData) => {
                return Ok((End::Damaged { start, error }, last_byte));
            }
            Err(error) => return Err(error),
        }
    }
}

/// Reads a text to its end. Returns its checksum and its last byte.
fn drain(input: &mut impl Read) -> io::Result<(Crc, Option<u8>)> {
    let (mut crc, mut last) = (Crc::new(), None);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = input.read(&mut buffer)?;
        let Some(byte) = buffer[..read].last() else { return Ok((crc, last)) };
        last = Some(*byte);
        crc.update(&buffer[..read]);
    }
}

/// The part of a member up to its last flush.
#[derive(Default)]
struct FlushedPart {
    bytes: usize,
    text_bytes: usize,
    /// The bytes that complete the member after this part.
    end: Vec<u8>,
}

/// Finds the last flush; `None` if no block was flushed. The bytes that a flush ends with may also occur within a
/// block; in that case the data up to them, with a last block appended, does not decode to the end.
fn find_flushed_part(member: &[u8]) -> Option<FlushedPart> {
    let data = HEADER.len();
    let mut end = member.len();
    loop {
        let bytes = data + memchr::memmem::rfind(member.get(data..end)?, &FLUSH_END)? + FLUSH_END.len();
        let deflated = member[data..bytes].chain(&LAST_BLOCK[..]);
        let mut decoder = DeflateDecoder::new(BufReader::new(deflated));
        if let Ok((crc, _)) = drain(&mut decoder)
            && decoder.total_in() as usize == bytes - data + LAST_BLOCK.len()
        {
            let text_bytes = decoder.total_out() as usize;
            return Some(FlushedPart { bytes, text_bytes, end: [&LAST_BLOCK[..], &trailer(&crc)].concat() });
        }
        end = bytes - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::gzip::Gzip;
    use super::*;
    use flate2::read::MultiGzDecoder;

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
        let blocks = ["one\n".repeat(9), "two\n".to_owned(), "\0\0\u{ff}three\n".repeat(3)];
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
            MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut after).unwrap();
            assert_eq!(after, [&before[..], b"more\n"].concat(), "cut at {cut}");
        }
    }

    #[test]
    fn an_incomplete_file_of_another_program_is_not_changed() {
        let mut member =
            flate2::GzBuilder::new().filename("x").write(Vec::new(), flate2::Compression::default());
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
        let cases =
            [(bytes.len(), 3), (flushes[2], 3), (flushes[1], 2), (flushes[1] + 3, 2), (flushes[0], 1)];
        for (cut, written) in cases {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&[&bytes[..cut], &[0; 5000]].concat()).unwrap();
            let last = recover(&mut file).unwrap();
            let recovered = read(&mut file);
            assert!(recovered.len() < bytes.len() + 50, "cut at {cut}");
            let text = text(&recovered);
            assert_eq!(last, text.last().copied(), "cut at {cut}");
            let is_all_written = text.starts_with(blocks[..written].concat().as_bytes());
            assert!(is_all_written && all.as_bytes().starts_with(&text), "cut at {cut}");
        }
    }

    #[test]
    fn a_file_with_other_damage_is_not_changed() {
        let mut gzip = Gzip::new();
        let mut bytes = gzip.compress("0123456789\n".repeat(500).as_bytes()).unwrap();
        bytes.extend(gzip.finish().unwrap());
        let mut flipped = bytes.clone();
        flipped[bytes.len() / 2] ^= 0x55;
        let zeros = [&[0; 100][..], b"x"].concat();
        for damaged in [flipped, [&bytes[..], b"no gzip data"].concat(), [&bytes[..], &zeros].concat()] {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&damaged).unwrap();
            assert_eq!(recover(&mut file).unwrap_err().kind(), ErrorKind::InvalidData);
            assert!(read(&mut file) == damaged);
        }
    }
}
