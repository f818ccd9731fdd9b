//! Writes files: recordings, which may be compressed and rotated, saved samples, and small files in full. Other modules
//! provide the contents. Only this module opens files for writing.

mod atomic_write;
mod gzip;
mod gzip_recovery;
mod open_file;
mod recording;
mod rotation;
mod sample_file;

pub use atomic_write::write_atomically;
pub use open_file::IfExists;
pub use recording::RecordingFile;
pub use rotation::{Rotation, rotated_name};
pub use sample_file::SampleFile;
