//! The compression formats of captures, recognized by their first bytes.

use std::error::Error;
use std::fmt;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;

/// The first bytes of a gzip member (RFC 1952).
pub const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The first bytes of a Zstandard frame (RFC 8878).
pub const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The fewest zeros at the end of a file that are not part of its data. A file system may leave them after a power failure
/// if the file had grown but its data was not on the disk yet. A complete gzip file ends with at most nine zeros, if its
/// text is empty.
pub const MIN_LOST_ZEROS: u64 = 10;

/// Returns the length of a file without the zeros at its end; its whole length if there are fewer of them than a minimum.
///
/// # Errors
/// If the file cannot be read.
pub fn length_without_zeros(file: &File, min_zeros: u64) -> io::Result<u64> {
    let length = file.metadata()?.len();
    let mut buffer = vec![0; 64 * 1024];
    let mut end = length;
    while end > 0 {
        let start = end.saturating_sub(buffer.len() as u64);
        let block = &mut buffer[..(end - start) as usize];
        file.read_exact_at(block, start)?;
        end = start;
        if let Some(last) = block.iter().rposition(|byte| *byte != 0) {
            end = start + last as u64 + 1;
            break;
        }
    }
    Ok(if length - end >= min_zeros {
        end
    } else {
        length
    })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    Gzip,
    Zstd,
}

impl Compression {
    /// The number of bytes needed to recognize every format.
    pub const MAGIC_BYTES: usize = ZSTD_MAGIC.len();

    /// Recognizes a format by the first bytes of a file; `None` if they are of neither.
    pub fn detect(start: &[u8]) -> Option<Self> {
        if start.starts_with(&GZIP_MAGIC) {
            Some(Self::Gzip)
        } else {
            // The files of pzstd begin with a frame that is skipped, which has no text.
            let is_skippable = matches!(start, [0x50..=0x5f, 0x2a, 0x4d, 0x18, ..]);
            (start.starts_with(&ZSTD_MAGIC) || is_skippable).then_some(Self::Zstd)
        }
    }
}

/// The error of a read after the end of compressed data if other data follows. All text before it was read and is
/// complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrailingData;

impl TrailingData {
    /// Returns whether a read failed for this reason.
    pub fn is(error: &io::Error) -> bool {
        error.get_ref().is_some_and(|inner| inner.is::<Self>())
    }
}

impl fmt::Display for TrailingData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("something else follows the compressed data")
    }
}

impl Error for TrailingData {}

impl From<TrailingData> for io::Error {
    fn from(error: TrailingData) -> Self {
        Self::new(ErrorKind::InvalidData, error)
    }
}

/// Returns whether a read failed because the text of a capture ends there: within its compressed data, or before
/// [`TrailingData`].
pub fn is_end_of_text(error: &io::Error) -> bool {
    error.kind() == ErrorKind::UnexpectedEof || TrailingData::is(error)
}
