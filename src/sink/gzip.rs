//! Blocks as gzip (RFC 1952), each of which can be read as soon as it is written.

use std::io;

use flate2::{Compress, Compression, Crc, FlushCompress};

/// A member of the file is ended after so many bytes, so that no more than the last need be looked at when the
/// recording was killed and is to go on. What that costs in size is less than a percent.
const MEMBER: usize = 1024 * 1024;

/// What a member begins with: deflate, no name, no time, from no system in particular.
pub(super) const HEADER: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];

/// Compresses blocks. What it gives for a block ends on a byte and holds all of it (zlib's sync flush).
pub(super) struct Gzip {
    deflate: Compress,
    crc: Crc,
}

impl Gzip {
    pub(super) fn new() -> Self {
        Self { deflate: Compress::new(Compression::default(), false), crc: Crc::new() }
    }

    /// No block takes more bytes than this.
    pub(super) fn most(block: usize) -> usize {
        // Five bytes for some KiB that cannot be compressed; flush, trailer and the header of the next member.
        block + block / 512 + 128
    }

    /// A block, compressed.
    pub(super) fn compress(&mut self, block: &[u8]) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(Self::most(block.len()));
        if self.deflate.total_in() > MEMBER as u64 {
            self.end(&mut bytes)?;
        }
        if self.deflate.total_in() == 0 {
            bytes.extend_from_slice(&HEADER);
        }
        self.crc.update(block);
        self.deflate(block, FlushCompress::Sync, &mut bytes)?;
        Ok(bytes)
    }

    /// What ends the file; nothing if nothing was begun.
    pub(super) fn finish(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        if self.deflate.total_in() > 0 {
            self.end(&mut bytes)?;
        }
        Ok(bytes)
    }

    fn end(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        self.deflate(&[], FlushCompress::Finish, bytes)?;
        bytes.extend_from_slice(&trailer(&self.crc));
        self.deflate.reset();
        self.crc.reset();
        Ok(())
    }

    /// flate2's writer leaves a part of large blocks for later when it flushes, so this asks until all is out.
    fn deflate(&mut self, mut input: &[u8], flush: FlushCompress, out: &mut Vec<u8>) -> io::Result<()> {
        const ROOM: usize = 256;
        loop {
            out.reserve(ROOM);
            let before = self.deflate.total_in();
            self.deflate.compress_vec(input, out, flush).map_err(io::Error::other)?;
            input = &input[(self.deflate.total_in() - before) as usize..];
            // Room that is left says that there was nothing more to write.
            if input.is_empty() && out.len() < out.capacity() {
                return Ok(());
            }
        }
    }
}

/// What ends a member of this text.
pub(super) fn trailer(crc: &Crc) -> [u8; 8] {
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
    fn members_follow_one_another_and_every_block_can_be_read_at_once() {
        let block = vec![b'x'; 300_000];
        let (mut gzip, mut file) = (Gzip::new(), Vec::new());
        for count in 1..=10 {
            file.extend(gzip.compress(&block).unwrap());
            let mut text = Vec::new();
            assert!(MultiGzDecoder::new(file.as_slice()).read_to_end(&mut text).is_err());
            assert_eq!(text.len(), count * block.len());
        }
        file.extend(gzip.finish().unwrap());
        let mut text = Vec::new();
        MultiGzDecoder::new(file.as_slice()).read_to_end(&mut text).unwrap();
        assert_eq!(text.len(), 10 * block.len());
        assert!(file.windows(3).filter(|bytes| *bytes == [0x1f, 0x8b, 8]).count() >= 3);
    }

    #[test]
    fn no_block_takes_more_than_is_said() {
        let mut state = 1u32;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let mut gzip = Gzip::new();
        for length in [1, 100, 40_000, 2_000_000, 50] {
            let block: Vec<u8> = (0..length).map(|_| noise()).collect();
            let takes = gzip.compress(&block).unwrap().len();
            assert!(takes <= Gzip::most(length), "{takes} of {length}");
        }
    }
}
