//! Takes off what other programs put around the lines of a capture or a log: every line becomes a time, a host and the line
//! itself. What stands behind this pass, the readers of captures and of logs, searches for neither.

mod candidates;
pub(super) mod clock;
pub(super) mod copies;
pub(super) mod first_copies;
pub(super) mod first_lines;
mod hosts;
pub(super) mod lines;
pub(super) mod log_lines;
mod names;
mod plain;
mod spread;
pub(super) mod time_form;
