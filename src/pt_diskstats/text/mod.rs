//! The text of pt-diskstats, byte for byte.

mod header_pager;
mod saved_sample;
mod table;

pub(super) use header_pager::HeaderPager;
pub(super) use saved_sample::format_saved_sample;
pub(super) use table::{Row, Table};
