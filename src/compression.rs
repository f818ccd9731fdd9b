//! The compression formats of captures, recognized by their first bytes.

/// The first bytes of a gzip member (RFC 1952).
pub const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// The first bytes of a Zstandard frame (RFC 8878).
const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// A compression format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// gzip.
    Gzip,
    /// Zstandard.
    Zstd,
}

impl Compression {
    /// The number of bytes that recognize every format.
    pub const MAGIC_BYTES: usize = ZSTD_MAGIC.len();

    /// Recognizes a format by the first bytes of a file; `None` if they are of neither.
    pub fn detect(start: &[u8]) -> Option<Self> {
        if start.starts_with(&GZIP_MAGIC) {
            Some(Self::Gzip)
        } else {
            start.starts_with(&ZSTD_MAGIC).then_some(Self::Zstd)
        }
    }
}
