//! Where the next sample comes from: a live machine, or a capture that is replayed. The one room that opens
//! files.

mod document;
mod iostat_f_dir;
mod live;
mod machine;
mod names;
mod replay;
mod stack;
mod sysfs;
mod timezone;

pub use document::read_object;
pub use live::Live;
pub use machine::{Host, describe};
pub use names::DeviceResolver;
pub use replay::Replay;
pub use stack::{read_topology, topology_from_names};
pub use sysfs::read_partition_map;
pub use timezone::local_time_zone;
