//! The incident view as text: a table of each interval, and a summary of the run.

mod columns;
mod header_line;
mod layout;
mod messages;
mod style;
mod summary;
mod table;
mod table_writer;

pub use columns::{SortKey, sort_keys};
pub use table_writer::{TableOptions, TableWriter};
