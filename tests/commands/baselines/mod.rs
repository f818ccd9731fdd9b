//! Unloaded latencies that are saved, given or recorded, and the devices that they are for.

mod host;
mod recorded;
mod replaced;
mod saved;
