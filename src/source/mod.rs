//! Where the next sample comes from: a live machine, or a capture that is replayed. The one room that opens
//! files.

mod live;
mod machine;
mod replay;
mod sysfs;
mod timezone;

pub use live::Live;
pub use machine::Machine;
pub use replay::Replay;
pub use sysfs::{read_topology, resolve_name};
pub use timezone::local_time_zone;
