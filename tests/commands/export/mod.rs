//! `blkstat export`.

mod clients;
mod live;
mod recordings;
