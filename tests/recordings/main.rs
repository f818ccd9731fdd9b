//! Recordings: writing, reading back, and what remains after a kill or on a full disk.
//!
//! In a binary of their own, because most record in its process: a program that another test starts inherits the open
//! files of the process for a moment, and with them the lock of a recording and the space of a removed one.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr
)]

mod annotations;
mod clocks;
mod excerpt;
mod failures;
mod format;
mod hung_disk;
mod killed;
mod lab;
mod learning;
mod old_recordings;
mod recordings;
mod rotation;
mod volume;

#[allow(dead_code)] // The tests of the commands use the rest.
#[path = "../support"]
mod support {
    pub(crate) mod clock;
    pub(crate) mod fake_root;
    pub(crate) mod in_process;
    pub(crate) mod process;
    pub(crate) mod program;
    pub(crate) mod text;
}
