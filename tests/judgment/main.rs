//! The verdicts of the program against the known truth of simulated devices.
//!
//! The scenarios, the definitions of the true verdicts and the scores know nothing of the rules by which the program
//! judges. Set these variables:
//!
//! - `BLKSTAT_JUDGMENT=full`: all seeds of each scenario, rather than a few, and whole days.
//! - `BLKSTAT_JUDGMENT_ONLY=TEXT`: only the scenarios whose name contains the text, and every interval of them.
//! - `BLKSTAT_JUDGMENT_SEED=N`: only this seed.
//! - `BLKSTAT_JUDGMENT_CAPTURES=DIR`: write the captures there.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout
)]

mod accounting;
mod capacity;
mod capture;
mod counters;
mod events;
mod goals;
mod hours;
mod incidents;
mod judge;
mod neighbors;
mod new_machine;
mod oracle;
#[allow(dead_code)] // The tests of the replicas use the rest.
#[path = "../support/random.rs"]
mod random;
mod run;
mod scenarios;
mod score;
mod score_tests;
mod simulator;
mod table;
mod tally;
mod theory;
mod truth;
mod words;
