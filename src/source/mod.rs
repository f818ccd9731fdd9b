//! Where the next sample comes from: a live machine, or a capture that is replayed. The one room that opens
//! files.

mod live;
mod machine;
mod names;
mod replay;
mod statfiles;
mod sysfs;
mod timezone;

pub use live::Live;
pub use machine::Machine;
pub use names::Names;
pub use replay::Replay;
pub use statfiles::StatFiles;
pub use sysfs::read_topology;
pub use timezone::local_time_zone;
