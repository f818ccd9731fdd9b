//! `blkstat` samples the block-device counters of Linux, turns them into statistics of intervals, and shows whether a
//! disk is the bottleneck.
//!
//! # The path of a sample
//!
//! ```text
//! source ──Step────▶ intervals ──DeviceInterval──▶ report (table, JSON, CSV, summary, HTML)
//! live | replay      metrics + judge        │
//!    │                                      └────▶ judge ──DeviceReport──▶ report (text, JSON, fio job)
//!    └─────Sample──▶ iostat, pt_diskstats ──▶ the text of those tools
//! ```
//!
//! - [`source`] provides the next [`counters::Sample`], from the running system at its deadline or from a capture, and
//!   the tree of block devices as a [`topology::Topology`]; it says where time broke. [`capture`] parses and
//!   writes samples as text: one parser for the running system, every kernel version and every capture.
//! - [`attribution`] finds the cgroups and programs that use a device, and the limits that they have reached.
//! - [`metrics`] turns two samples and the time between them into [`metrics::Interval`].
//! - [`intervals`] turns a stream of steps from sample to sample into [`intervals::DeviceInterval`]s: aggregation over a
//!   longer interval, hot-plug, device selection, totals, and events.
//! - [`judge`] turns intervals into verdicts with their evidence, as data; with hindsight, the same a second time.
//! - [`incidents`] turns judged seconds, scans of cgroups and tasks, and facts into incidents: what was wrong, since when,
//!   because of whom, and what helps, as data.
//! - [`quantities`] names what is known of a device over an interval: columns, fields and charts are lists of them.
//! - [`report`] turns finished values into bytes, with a folder for each kind of report. All sentences are here.
//!   Metrics for Prometheus are such a report: [`totals`] adds up their values and `commands::export` publishes them.
//! - [`latency`] measures single requests through the kernel's histograms; only its command imports it.
//! - `screen`, with the cargo feature `top`, is the full screen: its state, its keys, and drawing to cells of a terminal.
//! - [`iostat`] and [`pt_diskstats`] replicate these tools: device selection, arithmetic and text.
//! - [`commands`] has a file or folder for each command: its arguments and its run. [`console`] is where its messages and
//!   reports go. [`sink`] writes recordings.
//!
//! # Module order
//!
//! A module imports only modules to its left; `tests/repository/layering.rs` checks it: [`exit`], [`os_error`], [`memory_lock`], [`sanitize`], [`typo`], [`units`], [`fixed_decimal`], [`time_range`], [`schedule`], [`compression`],
//! [`signals`], [`terminal`], [`clock`], [`counters`], [`topology`], [`baselines`], [`attribution`], [`capture`],
//! [`metrics`], [`judge`], [`incidents`], [`quantities`], [`source`], [`intervals`], [`totals`], [`sink`], [`report`],
//! [`latency`], [`console`], `screen`, [`iostat`], [`pt_diskstats`], [`commands`].
//!
//! # Rules that hold everywhere
//!
//! - A value that is not known is `None`, never zero; each format decides how to print it.
//! - The time between samples is a [`units::Span`], which cannot be zero, measured with the monotonic clock.
//! - Only [`clock`] reads the real time and waits, so that tests can replace it, except that [`sink`] waits for the reader of
//!   standard output.
//! - Only [`source`] opens files for reading and [`sink`] for writing, except that [`terminal`] opens `/dev/tty`, and that
//!   [`latency`] reads and writes tracefs, in which a write is a command to the kernel.
//! - A name from outside (devices, files, hosts) reaches a terminal only through [`mod@sanitize`].
//! - Only `commands::export` opens a socket, to listen if the user requests it.

pub mod attribution;
pub mod baselines;
pub mod capture;
pub mod clock;
pub mod commands;
pub mod compression;
pub mod console;
pub mod counters;
pub mod exit;
pub mod fixed_decimal;
pub mod incidents;
pub mod intervals;
pub mod iostat;
pub mod judge;
pub mod latency;
pub mod memory_lock;
pub mod metrics;
pub mod os_error;
pub mod pt_diskstats;
pub mod quantities;
pub mod report;
pub mod sanitize;
pub mod schedule;
#[cfg(feature = "top")]
pub mod screen;
pub mod signals;
pub mod sink;
pub mod source;
pub mod terminal;
pub mod time_range;
pub mod topology;
pub mod totals;
pub mod typo;
pub mod units;
