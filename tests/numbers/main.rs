//! blkstat as a library: the parser, and the numbers of an interval for arbitrary counters.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod counter_width;
mod invariants;
mod logs;
mod parser_vs_procfs;
mod program;
mod properties;

#[allow(dead_code)] // The tests of the commands use the rest.
#[path = "../support"]
mod support {
    pub(crate) mod clock;
    pub(crate) mod in_process;
    pub(crate) mod text;
}
