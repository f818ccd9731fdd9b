//! `blkstat` watches Linux block devices: it samples /proc/diskstats, turns counters into numbers, and says whether a
//! disk is the problem.
//!
//! # The way of a sample
//!
//! ```text
//! source ──Sample──▶ metrics ──IntervalStats──▶ report ──▶ bytes
//! live | replay      pure        │
//!    │                           └──────▶ analysis ──Verdict──▶ report
//!    └──Sample──▶ iostat, pt_diskstats ──▶ bytes
//! ```
//!
//! - [`source`] says where the next [`counters::Sample`] comes from: this machine, or a capture that is replayed; and,
//!   as a [`topology::Topology`], the tree of its block devices.
//! - [`capture`] is text to samples and back: one parser for live reading, every kernel's lines and every capture.
//! - [`metrics`] is the one place that turns two samples and the time between them into the numbers of blkstat's own
//!   views, [`metrics::IntervalStats`].
//! - [`iostat`] and [`pt_diskstats`] hold the replicas of these tools, each with its own device selection, arithmetic and
//!   text.
//! - [`analysis`] turns many intervals into a judgement with its evidence, or says what is missing for one.
//! - [`report`] turns finished numbers into bytes, a folder for each dialect.
//! - [`cli`] turns arguments into a [`plan::Plan`], and [`run`] carries it out: its loops are the only ones. What is
//!   recorded goes to the files of [`sink`].
//!
//! # Who may know whom
//!
//! From the ground up: [`exit`], [`sanitize`], [`units`], [`terminal`], [`signals`], [`clock`], [`counters`], [`topology`],
//! [`capture`], [`metrics`], [`analysis`], [`source`], [`sink`], [`report`], [`iostat`], [`pt_diskstats`], [`plan`], [`cli`],
//! [`run`]. A room knows only rooms before it, and not all of these: `tests/layering.rs` holds the arrows and fails
//! on one that points the wrong way.
//!
//! # What holds everywhere
//!
//! - What is missing is `None`, never zero; each dialect decides how to print it.
//! - Time between samples is a [`units::Interval`], which cannot be zero, on a clock that nobody sets.
//! - Only [`clock`] knows the real time and waits; [`source`] and [`sink`] alone open files, so that tests bring
//!   their own clock and their own machine.
//! - A name from a file reaches a terminal only through [`mod@sanitize`].

pub mod analysis;
pub mod capture;
pub mod cli;
pub mod clock;
pub mod compression;
pub mod counters;

pub mod exit;
pub mod intervals;
pub mod iostat;
pub mod metrics;
pub mod os_error;
pub mod plan;
pub mod pt_diskstats;
pub mod report;
pub mod run;
pub mod sanitize;
pub mod schedule;
pub mod signals;
pub mod sink;
pub mod source;
pub mod terminal;
pub mod topology;
pub mod units;
