//! `blkstat export`.

mod attacks;
mod clients;
mod live;
mod recordings;
