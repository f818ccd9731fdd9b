//! Faulty input, environments and outputs: nothing complete is lost, no number is absurd, the exit code is right, and
//! memory stays bounded.
//!
//! Slow tests are ignored: `cargo test --release --test commands faults:: -- --ignored --nocapture` runs them and prints their
//! measurements.

mod environment;
mod input;
mod memory;
mod output;
mod signals;
mod support;
