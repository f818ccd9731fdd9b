//! The cost of parsing, and of every report on many devices and on a long time.
//!
//! `cargo bench --manifest-path tests/benches/Cargo.toml` runs all of them; with `-- parse`, some. All inputs are generated and the same in every run.

#![allow(clippy::unwrap_used, clippy::panic)]

mod parse;
mod reports;
mod synthetic;

use std::time::Duration;

use criterion::Criterion;

fn main() {
    // Short times, because there are dozens of benchmarks.
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(400))
        .measurement_time(Duration::from_millis(1600))
        .sample_size(20)
        .configure_from_args();
    parse::bench(&mut criterion);
    reports::bench(&mut criterion);
    criterion.final_summary();
}
