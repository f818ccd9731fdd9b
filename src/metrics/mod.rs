//! Two readings and the time between them, turned into rates: the one place where that is done.
//!
//! Pure: live reading, replay and every dialect call the same functions. "Since boot" is the interval from
//! zero over the uptime. What has no value (an await without requests, a counter that went back) is `None`;
//! each dialect decides how to print it.

mod advance;
mod change;
mod cpu;
mod figures;
mod history;
mod machine;
mod pairs;
mod percona;
mod rates;

pub use advance::Advance;
pub use change::{Change, Ticks, modulo_2_32, was_replugged, wrapped_sectors};
pub use cpu::CpuShares;
pub use figures::{Direction, Figures, in_flight};
pub use history::{History, Mark};
pub use machine::MachineFigures;
pub use pairs::Pairs;
pub use percona::{DirectionRates, Work, WorkRates};
pub use rates::{Activity, Rates};
