//! Incidents: what was wrong, since when, because of whom, and what helps. One pass over judged seconds, scans of cgroups and
//! tasks, and facts; no clock, no I/O, no sentences.
//!
//! Every bad second of a device gets a word and a cause, from that second alone (`cause`), which then travel together; what only
//! several seconds show, a limit or a frozen file system (`limits`, `frozen`), takes them over. Seconds of one device and one
//! cause are an episode (`episodes`); episodes of one cause, at one time, of devices that lie on one another are an incident
//! (`join`). Who did more than before (`owner`), who waits and what to do is computed of an incident when it is told
//! (`describe`). `tests/incidents/reference/refincident.py` is the same as an executable specification.

mod cause;
mod describe;
mod device;
mod episodes;
mod frozen;
mod held;
mod host;
mod join;
mod limits;
mod owner;
mod programs;
mod second;
mod second_cause;
mod told;
mod tracker;

pub use held::{HeldDevices, LimitStep};
pub use host::{HostFact, HostFacts};
pub use programs::{program_name, serves_disks};
pub use second::{
    DeviceSecond, HostSecond, Moment, Process, RequestKind, Requests, Scan, Second, Task, Use,
};
pub use told::{Advice, Because, Cause, DeviceTimes, Owner, Told, Unknown, Waiter};
pub use tracker::Incidents;
