//! Recordings: writing, reading back, and what remains after a kill or on a full disk.

mod annotations;
mod failures;
mod format;
mod killed;
mod lab;
mod old_recordings;
mod recordings;
mod rotation;
mod truncation;
