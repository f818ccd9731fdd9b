//! Writes files: recordings, which may be compressed and rotated, and small files in full. Other modules
//! provide the contents. Only this module opens files for writing.

mod atomic_write;
mod gzip;
mod recording;
mod standard_output;
mod write_queue;

pub use self::atomic_write::{
    IfExists, block_device_message, check_new_file, is_same_file, remove_file, replace_file,
    rotated_name, write_atomically, write_page_atomically,
};
pub use self::gzip::gzip_bytes;
pub use self::recording::{RecordingFile, Rotation, is_recording};
pub use self::standard_output::{StandardOutput, Unread};
pub use self::write_queue::{
    Destination, EndOnDrop, OutputError, SampleBlock, WriteProgress, WriteQueue, write_recording,
};
