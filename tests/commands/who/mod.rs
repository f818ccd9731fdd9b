//! `blkstat who` on synthetic hosts.

mod host;
mod messages;
mod output;
mod processes;
mod real;
mod recorded;
mod verdict;
