//! What Percona's pt-diskstats prints, byte for byte.

mod columns;
mod pages;

pub use columns::{Line, Table};
pub use pages::Pages;

/// How readings are put together into lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum GroupBy {
    /// A line for each device and interval.
    #[default]
    All,
    /// A line for each device, over all intervals.
    Disk,
    /// A line for each interval, all devices together.
    Sample,
}

impl GroupBy {
    /// The name that `--group-by` takes.
    pub fn name(self) -> &'static str {
        match self {
            GroupBy::All => "all",
            GroupBy::Disk => "disk",
            GroupBy::Sample => "sample",
        }
    }

    /// The key that chooses it.
    pub fn key(self) -> char {
        match self {
            GroupBy::All => 'A',
            GroupBy::Disk => 'D',
            GroupBy::Sample => 'S',
        }
    }
}
