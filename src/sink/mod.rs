//! Where recordings go: the one room that writes files. What stands in them is not known in here.

mod document;
mod gzip;
mod recording;
mod repair;
mod rotation;
mod sample_file;

pub use document::write_document;
pub use recording::{IfExists, RecordingFile};
pub use rotation::{Rotation, rotated_name};
pub use sample_file::SampleFile;
