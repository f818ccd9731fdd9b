//! The repository: what the README shows, what the dependencies are, and which module imports which.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, clippy::print_stderr)]

mod analysis_layering;
mod layering;
mod licenses;
mod readme;
mod supply_chain;

#[allow(dead_code)] // The tests of the commands use the rest.
#[path = "../support"]
mod support {
    pub(crate) mod program;
}
