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

/// The bytes that a flush ends with: the length of an empty stored block, and its complement.
const FLUSH_END: [u8; 4] = [0, 0, 0xff, 0xff];
/// An empty last block of deflate.
const LAST_BLOCK: [u8; 2] = [3, 0];

/// Makes a gzip file, open for reading and writing at any position, end with a complete member. Returns the last byte
/// of its text, if it has any.
///
/// # Errors
/// If the file is damaged in another way than by truncation, was truncated by a program that cannot be continued, or
/// cannot be read or written.
pub(super) fn recover(file: &mut File) -> io::Result<Option<u8>> {
    let (start, last_byte) = find_truncated_member(file)?;
    let Some(start) = start else { return Ok(last_byte) };
    file.seek(SeekFrom::Start(start))?;
    let mut member = Vec::new();
    file.read_to_end(&mut member)?;
    if !member.starts_with(&HEADER) && !HEADER.starts_with(&member) {
        // Its blocks may end within a byte, and its header has no fixed length.
        return Err(io::Error::new(ErrorKind::InvalidData, "incomplete gzip written by another program"));
    }
    let mut text = Vec::new();
    // Fails at the truncated end, after handing out everything before it.
    let _ = GzDecoder::new(member.as_slice()).read_to_end(&mut text);
    let flushed = find_flushed_part(&member).unwrap_or_default();
    let mut tail = flushed.end;
    let unflushed = text.get(flushed.text_bytes..).unwrap_or_default();
    if !unflushed.is_empty() {
        let mut gzip = Gzip::new();
        tail.extend(gzip.compress(unflushed)?);
        tail.extend(gzip.finish()?);
    }
    // Overwrites the truncated part before the file is shortened, so that at any time no less can be read.
    let at = start + flushed.bytes as u64;
    file.seek(SeekFrom::Start(at))?;
    file.write_all(&tail)?;
    file.set_len(at + tail.len() as u64)?;
    Ok(text.last().copied().or(last_byte))
}

/// Returns the position of the last member if it is truncated, and the last byte of the text of the complete members.
fn find_truncated_member(file: &mut File) -> io::Result<(Option<u64>, Option<u8>)> {
    file.seek(SeekFrom::Start(0))?;
    let mut input = BufReader::with_capacity(64 * 1024, file);
    let mut last_byte = None;
    loop {
        let start = input.stream_position()?;
        if input.fill_buf()?.is_empty() {
            return Ok((None, last_byte));
        }
        match drain(&mut GzDecoder::new(&mut input)) {
            Ok((_, last)) => last_byte = last.or(last_byte),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok((Some(start), last_byte)),
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
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(0)).unwrap();
            file.read_to_end(&mut bytes).unwrap();
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
}
