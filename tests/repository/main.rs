//! The repository: what README and manual show, what the dependencies are, and which module imports which.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr
)]

mod documents;
mod file_cycles;
mod layering;
mod licenses;
mod supply_chain;

#[allow(dead_code)] // The tests of the commands use the rest.
#[path = "../support"]
mod support {
    pub(crate) mod program;
}
