//! The baselines that are known of devices before anything is learned: those that the user gives, that are saved for the
//! host, or that a recording holds. What a baseline is, as data, is in [`crate::baselines`].

mod load;
mod saved;
mod store;

pub use load::{BaselineOption, load_baselines};
pub use saved::{DeviceMatching, SavedBaselines};
pub use store::BaselineStore;
