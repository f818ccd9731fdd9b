//! Writes files: recordings, which may be compressed and rotated, saved samples, and small files in full. Other modules
//! provide the contents. Only this module opens files for writing.

mod atomic_write;
mod gzip;
mod gzip_recovery;
mod open_file;
mod recording;
mod recording_writer;
mod rotation;
mod sample_file;
mod write_queue;

pub use atomic_write::{check_new_file, remove_file, replace_file, write_atomically};
pub use gzip::gzip_bytes;
pub use open_file::{IfExists, block_device_message};
pub use recording::RecordingFile;
pub use recording_writer::{Destination, OutputError, write_recording};
pub use rotation::{Rotation, rotated_name};
pub use sample_file::SampleFile;
pub use write_queue::{EndOnDrop, SampleBlock, WriteProgress, WriteQueue};
