//! Caps: rates that stay constant while the queue grows, and how to tell a limit from busy servers.

mod cloud_limits;
mod dispersion;
mod find_plateaus;
mod latest_plateau;
mod pace;
mod plateau;
mod rate;
mod shared_limit;
mod steady_rate;

pub use cloud_limits::{CloudLimit, CloudVolume};
pub use plateau::{LimitMatch, Plateau};
pub use shared_limit::{SharedLimit, SharedLimits};

pub(super) use find_plateaus::{SteadyRates, find_steady_rates_after};
pub(super) use latest_plateau::{CurrentPlateau, seconds_on_plateau};
pub(super) use pace::{Pace, pace_of_level};
pub(super) use plateau::is_on_plateau;
