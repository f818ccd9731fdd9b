//! The analysis of whole captures: those of a real machine, the table of a paper, and simulated loads of which the
//! truth is known.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod captures;
mod judged;
mod machine;
mod open;
mod simulated;
