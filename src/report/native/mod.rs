//! The incident view as text: a table of each interval, and a summary of the run.

mod columns;
mod header_line;
pub mod help;
mod layout;
mod messages;
mod sort_key;
mod style;
mod summary;
mod table;
mod table_writer;
mod verdict_cell;
mod visible_columns;
mod who_line;

pub use sort_key::{SortKey, sort_keys};
pub use table_writer::{TableOptions, TableWriter};
