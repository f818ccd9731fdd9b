//! The latencies of single requests, as the histogram triggers of the kernel count them, from the files of tracefs to the
//! report. Nothing else knows this room but its command: the verdicts rest on the counters alone, which cost nothing.
//!
//! [`Tracer`] sets up the histograms and reads them as [`TracedIo`], [`TracedInterval`] adds the names of devices, and the
//! report has the percentiles.

mod hist_file;
mod interval;
mod percentiles;
mod report;
mod traced_io;
mod tracefs;

pub use self::interval::TracedInterval;
pub use self::report::{
    LatencyInterval, csv_header, heatmap, heatmap_legend, lines, table, trace_notes,
};
pub use self::traced_io::TracedIo;
pub use self::tracefs::{Tracer, remove_leftovers};
