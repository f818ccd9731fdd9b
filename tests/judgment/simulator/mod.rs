//! An event-driven simulator of block devices and their loads.
//!
//! Clients issue requests; a request passes gates, which limit rates, and devices, which count it as the kernel does,
//! on its way to the servers of a disk, where it waits for a free one. The kernel's counters are sampled; what really
//! happened between two samples is kept beside them as [`Observed`].

mod account;
mod gate;
mod host;
mod load;
mod observed;
mod request;
mod setup;
mod station;

pub(crate) use account::IoTicks;
pub(crate) use gate::{Gate, Limited, Pacing, Unit};
pub(crate) use host::Host;
pub(crate) use load::{Arrivals, Load, Mix, closed};
pub(crate) use observed::{Observed, OperationTotals};
pub(crate) use request::{Nanos, Operation, nanos};
pub(crate) use setup::{Device, History, Hung, Setup, Stage};
pub(crate) use station::{Cache, PowerSave, Slowdown, Spread, Station};
