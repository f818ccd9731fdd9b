//! The commands of blkstat itself, as users run them: on captures, on synthetic hosts, and with faulty input and output.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr
)]

mod analyze;
mod baselines;
mod devices;
mod export;
mod faults;
mod hard_disks;
mod health;
mod hindsight;
mod latency;
mod live;
mod native;
mod other_causes;
mod recordings;
mod refused;
mod report;
mod service;
mod soak;
mod story;
mod synthetic;
#[cfg(feature = "top")]
mod top;
mod version;
mod who;

#[path = "../support"]
mod support {
    pub(crate) mod clock;
    #[allow(dead_code)] // Recordings and replicas use the rest.
    pub(crate) mod fake_root;
    pub(crate) mod http;
    #[allow(dead_code)] // Recordings use the rest.
    pub(crate) mod in_process;
    pub(crate) mod process;
    pub(crate) mod program;
    #[cfg(feature = "top")]
    pub(crate) mod session;
    pub(crate) mod snapshot;
    pub(crate) mod terminal;
    pub(crate) mod text;
}
