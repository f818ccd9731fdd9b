//! blkstat's own view of captures.

mod aggregation;
mod ascii;
mod captures;
mod conversion;
mod foreign;
mod help;
mod hot_plug;
mod input;
mod interval_verdicts;
mod layout;
mod logs;
mod machine_formats;
mod range;
mod reported_captures;
mod reported_logs;
mod sar_logs;
mod selection;
mod several_hosts;
mod snapshots;
mod summary;
mod totals;
mod usage;
