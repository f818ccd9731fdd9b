//! Caps: rates that stay constant while the queue grows, and the distinction of a limit from busy servers.

mod cap_evidence;
mod cloud_limits;
mod dispersion;
mod find_plateaus;
mod latest_plateau;
mod pace;
mod plateau;
mod steady_rate;

pub use find_plateaus::find_plateaus;
pub use plateau::{LimitMatch, Plateau};

pub(super) use find_plateaus::{SteadyRates, find_steady_rates};
pub(super) use latest_plateau::{may_be_plateau, plateau_of_latest};
