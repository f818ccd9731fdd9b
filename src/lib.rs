//! `blkstat` watches Linux block devices: it samples /proc/diskstats and turns counters into numbers.
//!
//! # The way of a sample
//!
//! ```text
//! source ──Sample──▶ select ──▶ metrics ──▶ report ──▶ bytes
//! live | replay                  pure        │
//!                                            └──────▶ analysis ──Verdict──▶ report
//! ```

pub mod analysis;
pub mod capture;
pub mod cli;
pub mod clock;
pub mod counters;
pub mod exit;
pub mod metrics;
pub mod plan;
pub mod report;
pub mod run;
pub mod sanitize;
pub mod select;
pub mod signals;
pub mod sink;
pub mod source;
pub mod topology;
pub mod units;
pub mod view;
