//! `blkstat who` on synthetic hosts.

mod bad_second;
mod host;
mod messages;
mod output;
mod processes;
mod real;
mod recorded;
mod verdict;
