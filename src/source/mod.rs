//! Reads samples from a live host, or from a capture that is replayed, and describes the host and its devices.

mod host;
mod json_file;
mod live;
mod names;
mod replay;
mod small_file;
mod stack;
mod statfiles;
mod sysfs;
mod timezone;

pub use host::{Host, read_recording_header};
pub use json_file::read_json_object;
pub use live::Live;
pub use names::DeviceResolver;
pub use replay::Replay;
pub use stack::{read_topology, topology_from_names};
pub use statfiles::StatFiles;
pub use sysfs::read_partition_map;
pub use timezone::local_time_zone;
