//! What each step costs: parsing, the numbers of an interval, every report, the analysis.
//!
//! `cargo bench`, or `cargo bench -- parse` for some. All inputs are invented and the same in every run.

#![allow(clippy::unwrap_used, clippy::panic)]

mod analysis;
mod invented;
mod metrics;
mod parse;
mod reports;

use std::time::Duration;

use criterion::Criterion;

fn main() {
    // Short enough that nobody puts off running all of them.
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(400))
        .measurement_time(Duration::from_millis(1600))
        .sample_size(20)
        .configure_from_args();
    parse::bench(&mut criterion);
    metrics::bench(&mut criterion);
    reports::bench(&mut criterion);
    analysis::bench(&mut criterion);
    criterion.final_summary();
}
