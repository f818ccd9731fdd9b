//! Recordings: what is written, what is read back, and what is left after a kill or on a full disk.

#![allow(clippy::unwrap_used, clippy::panic, clippy::disallowed_methods)]

mod format;
mod killed;
mod machine;
mod recordings;
