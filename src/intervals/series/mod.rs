//! Bounded history: any number of intervals in a bounded number of points, for charts.
//!
//! A [`Timeline`] divides the time that was observed into at most a given number of points. When it is full, it doubles
//! the length of a point and merges neighbors, so that one pass over a capture of any length needs bounded memory. Any
//! number of [`Series`] share a timeline: each keeps a value for every point of the timeline and merges the same
//! neighbors. Time that no interval covers is not part of any point and remains a gap as long as it is longer than a
//! point.
//!
//! ```text
//! let placement = timeline.push(span, max_points);
//! placement.merged.iter().for_each(|merged| series.merge(merged)); // every series, before it gets values
//! series.at(placement.index).observe(latency, requests);
//! ```
//!
//! The values of a series are of any type that can be merged: [`Extent`] has minimum, mean and maximum of a quantity,
//! [`Sum`] an amount, [`WorstVerdict`] the most severe verdict, [`LatencyCounts`] the requests by their latency.

mod extent;
mod latency_counts;
mod timeline;
mod values;
mod worst_verdict;

pub use extent::{Extent, Sum};
pub use latency_counts::LatencyCounts;
pub use timeline::{Placement, TimeSpan, Timeline};
pub use values::{Merge, Series};
pub use worst_verdict::WorstVerdict;
