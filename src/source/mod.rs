//! Where the next sample comes from: a live machine, or a capture that is replayed. The one room that opens
//! files.

mod document;
mod live;
mod machine;
mod names;
mod replay;
mod stack;
mod statfiles;
mod sysfs;
mod timezone;

pub use document::read_object;
pub use live::Live;
pub use machine::{Machine, describe};
pub use names::Names;
pub use replay::Replay;
pub use stack::{read_stack, stack_by_names};
pub use statfiles::StatFiles;
pub use sysfs::read_topology;
pub use timezone::local_time_zone;
