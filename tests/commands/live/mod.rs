//! blkstat's own view of a live host: a synthetic one, and a clock that does not wait.

mod host;
mod names;
mod replay;
mod views;
