//! Unloaded latencies that are saved, stated or recorded, and the devices that they are for.

mod host;
mod recorded;
mod replaced;
mod saved;
