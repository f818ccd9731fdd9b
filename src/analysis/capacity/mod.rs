//! Capacity of a device: models of rate against concurrency, their fit, and the conclusions.

mod by_direction;
mod fit;
mod hard_cap;
mod rate_point;
mod report;
mod usl;

pub use fit::{CapacityFit, Model};
pub use hard_cap::HardCap;
pub use rate_point::RatePoint;
pub use report::{CapParameters, CapacityByDirection, CapacityReport};
pub use usl::Usl;

pub(super) use by_direction::capacity_by_direction;
