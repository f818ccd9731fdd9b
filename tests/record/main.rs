//! Recordings: writing, reading back, and what remains after a kill or on a full disk.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod format;
mod killed;
mod lab;
mod old_recordings;
mod recordings;
