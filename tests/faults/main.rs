//! What goes wrong around the program, and what it makes of that: nothing is lost that was whole, no number is wild,
//! the exit code tells, and memory stays bounded.
//!
//! The tests that take long are ignored: `cargo test --release --test faults -- --ignored --nocapture` runs them and
//! prints what they measured.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods, clippy::print_stderr)]

mod environment;
mod input;
mod memory;
mod output;
mod signals;
mod support;
mod words;
