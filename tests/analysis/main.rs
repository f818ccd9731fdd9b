//! The analysis as a library: of real captures, of a published table, and of simulated loads of known truth.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod accounting;
mod captures;
mod closed_loops;
mod layering;
mod open_loops;
mod reports;
mod simulator;
