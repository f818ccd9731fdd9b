//! Loads of a device: one interval each, their history in bounded memory, and their grouping by concurrency.

mod concurrency_levels;
mod history;
mod recent;
mod sample;

pub use concurrency_levels::ConcurrencyLevel;
pub(super) use concurrency_levels::concurrency_levels;
pub(super) use history::LoadHistory;
pub use sample::{IoDirection, LoadSample, RateUnit};

pub(super) use concurrency_levels::{group_by_queue, weighted_median_of};
pub(super) use history::{count_transitions, steady_or_all};
pub(super) use recent::{RATE_KINDS, RecentLoads};
