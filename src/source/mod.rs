//! Where the next sample comes from: a live machine, or a capture that is replayed. The one room that opens
//! files.

mod device_resolver;
mod document;
mod iostat_f_dir;
mod live;
mod machine;
mod replay;
mod small_file;
mod timezone;
mod topology;

pub use device_resolver::DeviceResolver;
pub use document::read_object;
pub use live::Live;
pub use machine::{Host, describe};
pub use replay::Replay;
pub use timezone::local_time_zone;
pub use topology::{read_partitions, read_topology};
