//! Writes files: recordings, compressed and rotated, and small files as a whole. The contents come from other modules.

mod atomic_write;
mod gzip;
mod gzip_recovery;
mod recording;
mod rotation;
mod sample_file;

pub use atomic_write::write_atomically;
pub use recording::{IfExists, RecordingFile};
pub use rotation::{Rotation, rotated_name};
pub use sample_file::SampleFile;
