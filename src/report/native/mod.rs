//! The incident view as text: a table of each interval, and a summary of the run.

mod columns;
mod header_line;
mod layout;
mod messages;
mod style;
mod summary;
mod table;

pub use columns::{SortKey, sort_keys};
pub use layout::Layout;
pub use summary::draw_summary;
pub use table::Table;
