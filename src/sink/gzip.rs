//! Compresses blocks with gzip (RFC 1952) so that each can be read as soon as it is written.

use std::io::{self, Write};

use flate2::write::GzEncoder;
use flate2::{Compress, Compression, Crc, FlushCompress};

use crate::compression::GZIP_MAGIC;

/// The number of bytes of text from which on a member of the file ends with a block. This bounds the part that is
/// incomplete after a recorder was killed, and costs up to 6% in size (measured on a small host).
const MEMBER_BYTES: u64 = 128 * 1024;

/// The header of a member: deflate, no flags, no name, no time, unknown operating system.
pub(super) const HEADER: [u8; 10] = [GZIP_MAGIC[0], GZIP_MAGIC[1], 8, 0, 0, 0, 0, 0, 0, 255];

/// Compresses a whole text, favoring speed over size.
pub fn gzip_bytes(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(text.len() / 8 + HEADER.len()), Compression::fast());
    // Writing to a Vec cannot fail.
    let _ = encoder.write_all(text);
    encoder.finish().unwrap_or_default()
}

/// Compresses blocks. The output for a block ends on a byte and contains all of it (zlib's sync flush).
pub(super) struct Gzip {
    deflate: Compress,
    crc: Crc,
}

impl Gzip {
    pub(super) fn new() -> Self {
        Self { deflate: Compress::new(Compression::default(), false), crc: Crc::new() }
    }

    /// Returns the most bytes that a block of this length can take.
    pub(super) fn max_compressed_bytes(block: usize) -> usize {
        // Five bytes per stored block of several KiB; flush, trailer and the header of the next member.
        block + block / 512 + 128
    }

    /// Compresses a block, which ends the member if that is large enough.
    pub(super) fn compress(&mut self, block: &[u8]) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(Self::max_compressed_bytes(block.len()));
        if self.deflate.total_in() == 0 {
            bytes.extend_from_slice(&HEADER);
        }
        self.crc.update(block);
        self.deflate(block, FlushCompress::Sync, &mut bytes)?;
        if self.deflate.total_in() >= MEMBER_BYTES {
            bytes.extend(self.finish()?);
        }
        Ok(bytes)
    }

    /// Ends the member. Returns nothing if it has no text.
    pub(super) fn finish(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if self.deflate.total_in() > 0 {
            self.deflate(&[], FlushCompress::Finish, &mut bytes)?;
            bytes.extend_from_slice(&trailer(&self.crc));
            self.deflate.reset();
            self.crc.reset();
        }
        Ok(bytes)
    }

    /// Compresses until all output is written. flate2's writer may hold back part of a large block when it flushes.
    fn deflate(&mut self, mut input: &[u8], flush: FlushCompress, out: &mut Vec<u8>) -> io::Result<()> {
        const MIN_FREE_BYTES: usize = 256;
        loop {
            out.reserve(MIN_FREE_BYTES);
            let before = self.deflate.total_in();
            self.deflate.compress_vec(input, out, flush).map_err(io::Error::other)?;
            input = &input[(self.deflate.total_in() - before) as usize..];
            // Unused capacity means that there was nothing more to write.
            if input.is_empty() && out.len() < out.capacity() {
                return Ok(());
            }
        }
    }
}

/// Returns the end of a member whose last block was flushed: an empty block and the trailer.
pub(super) fn member_end(text: &[u8]) -> Vec<u8> {
    const LAST_BLOCK: [u8; 2] = [3, 0];
    let mut crc = Crc::new();
    crc.update(text);
    [&LAST_BLOCK[..], &trailer(&crc)].concat()
}

/// Returns the trailer of a member: the checksum and length of its text.
fn trailer(crc: &Crc) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&crc.sum().to_le_bytes());
    bytes[4..].copy_from_slice(&crc.amount().to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::read::MultiGzDecoder;
    use std::io::Read;

    #[test]
    fn every_block_can_be_read_at_once_across_members() {
        let block = vec![b'x'; 50_000];
        let (mut gzip, mut file) = (Gzip::new(), Vec::new());
        for count in 1..=10 {
            file.extend(gzip.compress(&block).unwrap());
            let mut text = Vec::new();
            // A member is complete after three blocks.
            assert_eq!(MultiGzDecoder::new(file.as_slice()).read_to_end(&mut text).is_ok(), count % 3 == 0);
            assert_eq!(text.len(), count * block.len());
        }
        file.extend(gzip.finish().unwrap());
        let mut text = Vec::new();
        MultiGzDecoder::new(file.as_slice()).read_to_end(&mut text).unwrap();
        assert_eq!(text.len(), 10 * block.len());
        assert!(file.windows(3).filter(|bytes| *bytes == [0x1f, 0x8b, 8]).count() >= 3);
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
            assert!(bytes <= Gzip::max_compressed_bytes(length), "{bytes} of {length}");
        }
    }
}
