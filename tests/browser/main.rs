//! Pages in a real browser: headless Chromium, driven through its DevTools protocol.
//!
//! Where Chromium is missing the tests are skipped; with BLKSTAT_BROWSER=required they fail.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::print_stderr
)]

mod devtools;
mod pages;

#[path = "../support"]
mod support {
    #[allow(dead_code)] // Other tests use the rest.
    pub(crate) mod program;
}
