//! A gzip file whose end was cut off, made whole so that it can go on: its last member gets an end behind the last
//! block that was flushed, and what can be read behind that gets a member of its own. Nothing that can be read from
//! the file is lost.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};

use flate2::Crc;
use flate2::bufread::{DeflateDecoder, GzDecoder};

use super::gzip::{Gzip, HEADER, trailer};

/// What a flush ends with.
const FLUSHED: [u8; 4] = [0, 0, 0xff, 0xff];
/// An empty last block.
const END: [u8; 2] = [3, 0];

/// Has a gzip file, opened for reading and for writing anywhere, end in a whole member. The last byte of its text,
/// if it has any.
///
/// # Errors
/// When the file is damaged in another way than by losing its end, and what the system says.
pub(super) fn repair(file: &mut File) -> io::Result<Option<u8>> {
    let (from, last_before) = match last_member(file)? {
        Members::Whole(last) => return Ok(last),
        Members::Cut { from, last_before } => (from, last_before),
    };
    file.seek(SeekFrom::Start(from))?;
    let mut member = Vec::new();
    file.read_to_end(&mut member)?;
    if !member.starts_with(&HEADER) && !HEADER.starts_with(&member) {
        // Of what another program was in the middle of writing nobody knows where it can be cut.
        return Err(io::Error::new(ErrorKind::InvalidData, "another program did not write it to its end"));
    }
    let mut text = Vec::new();
    // It ends early, which is why it is here; up to there everything is handed out.
    let _ = GzDecoder::new(member.as_slice()).read_to_end(&mut text);
    let ended = end_member(&member).unwrap_or_default();
    let rest = text.get(ended.text..).unwrap_or_default();
    let mut end = ended.end;
    if !rest.is_empty() {
        let mut gzip = Gzip::new();
        end.extend(gzip.compress(rest)?);
        end.extend(gzip.finish()?);
    }
    // Written over what was cut before the file is made shorter: at no moment is there less to be read.
    let at = from + ended.kept as u64;
    file.seek(SeekFrom::Start(at))?;
    file.write_all(&end)?;
    file.set_len(at + end.len() as u64)?;
    Ok(text.last().copied().or(last_before))
}

enum Members {
    /// All are whole; the last byte of the text.
    Whole(Option<u8>),
    /// The one that begins here lost its end.
    Cut { from: u64, last_before: Option<u8> },
}

fn last_member(file: &mut File) -> io::Result<Members> {
    file.seek(SeekFrom::Start(0))?;
    let mut input = BufReader::with_capacity(64 * 1024, file);
    let mut last = None;
    loop {
        let from = input.stream_position()?;
        if input.fill_buf()?.is_empty() {
            return Ok(Members::Whole(last));
        }
        let mut member = GzDecoder::new(&mut input);
        match read_through(&mut member) {
            Ok((_, byte)) => last = byte.or(last),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                return Ok(Members::Cut { from, last_before: last });
            }
            Err(error) => return Err(error),
        }
    }
}

/// The checksum of a text, and its last byte.
fn read_through(input: &mut impl Read) -> io::Result<(Crc, Option<u8>)> {
    let (mut crc, mut last) = (Crc::new(), None);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let read = input.read(&mut buffer)?;
        let Some(byte) = buffer[..read].last() else { return Ok((crc, last)) };
        last = Some(*byte);
        crc.update(&buffer[..read]);
    }
}

/// How a member is ended: so many of its bytes, which hold so many of the text, then these.
#[derive(Default)]
struct Ended {
    kept: usize,
    text: usize,
    end: Vec<u8>,
}

/// Looks for the last place where an end may stand. The bytes that a flush ends with may stand in a block too; then
/// what is kept does not decode up to the end. `None` if nothing was flushed.
fn end_member(member: &[u8]) -> Option<Ended> {
    let data = HEADER.len();
    let mut before = member.len();
    loop {
        let kept = data + memchr::memmem::rfind(member.get(data..before)?, &FLUSHED)? + FLUSHED.len();
        let whole = member[data..kept].chain(&END[..]);
        let mut decoder = DeflateDecoder::new(BufReader::new(whole));
        if let Ok((crc, _)) = read_through(&mut decoder)
            && decoder.total_in() as usize == kept - data + END.len()
        {
            let text = decoder.total_out() as usize;
            return Some(Ended { kept, text, end: [&END[..], &trailer(&crc)].concat() });
        }
        before = kept - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::super::gzip::Gzip;
    use super::*;
    use flate2::read::MultiGzDecoder;

    /// What can be read of a file, whole or not.
    fn text(bytes: &[u8]) -> Vec<u8> {
        let mut text = Vec::new();
        let _ = MultiGzDecoder::new(bytes).read_to_end(&mut text);
        text
    }

    #[test]
    fn a_file_cut_at_any_byte_goes_on_behind_all_that_can_be_read() {
        let blocks = ["one\n".repeat(9), "two\n".to_owned(), "\0\0\u{ff}three\n".repeat(3)];
        let (mut gzip, mut whole) = (Gzip::new(), Vec::new());
        for block in &blocks {
            whole.extend(gzip.compress(block.as_bytes()).unwrap());
        }
        whole.extend(gzip.finish().unwrap());
        for cut in 0..=whole.len() {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(&whole[..cut]).unwrap();
            let last = repair(&mut file).unwrap();
            file.seek(SeekFrom::End(0)).unwrap();
            let mut gzip = Gzip::new();
            file.write_all(&gzip.compress(b"more\n").unwrap()).unwrap();
            file.write_all(&gzip.finish().unwrap()).unwrap();
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(0)).unwrap();
            file.read_to_end(&mut bytes).unwrap();
            let before = text(&whole[..cut]);
            assert_eq!(last, before.last().copied(), "cut at {cut}");
            let mut after = Vec::new();
            MultiGzDecoder::new(bytes.as_slice()).read_to_end(&mut after).unwrap();
            assert_eq!(after, [&before[..], b"more\n"].concat(), "cut at {cut}");
        }
    }

    #[test]
    fn what_another_program_left_unfinished_is_left_alone() {
        let mut member =
            flate2::GzBuilder::new().filename("x").write(Vec::new(), flate2::Compression::default());
        member.write_all(b"some text\n").unwrap();
        let bytes = member.finish().unwrap();
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes[..bytes.len() - 3]).unwrap();
        assert!(repair(&mut file).is_err());
        assert_eq!(file.metadata().unwrap().len(), bytes.len() as u64 - 3);
    }
}
