//! blkstat as a library: the parser, the numbers of an interval for arbitrary counters, and the analysis of real captures,
//! of a published table, and of simulated loads of known truth.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod accounting;
mod captures;
mod closed_loops;
mod compare;
mod counter_width;
mod invariants;
mod open_loops;
mod parser_vs_procfs;
mod program;
mod properties;
#[allow(dead_code)] // The simulator of the judgment uses the rest.
#[path = "../support/random.rs"]
mod random;
mod reports;
mod simulator;

#[allow(dead_code)] // The tests of the commands use the rest.
#[path = "../support"]
mod support {
    pub(crate) mod clock;
    pub(crate) mod in_process;
}
