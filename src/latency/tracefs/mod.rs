//! Traces single requests with the histogram triggers of the kernel (Documentation/trace/histogram.rst), using only
//! files of tracefs.
//!
//! A [`Tracer`] keeps everything in its own tracing instances, whose names begin with [`owner::Owner::PREFIX`], so that
//! other users of tracefs are not affected, and removes them when it is dropped. Instances left behind by a process
//! that was killed are recognized by their names and removed by [`remove_leftovers`].

mod overhead;
mod request_rate;
mod session;
mod surplus;
mod trace_dir;
mod trace_set;

pub use self::session::Tracer;
pub use self::trace_dir::remove_leftovers;
