//! The incident view as text: a table of each interval, and a summary of the run.

#[cfg(feature = "top")]
mod cells;
mod column_choice;
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
mod who_line;

#[cfg(feature = "top")]
pub(crate) use cells::{Cell, cell, host_segments, state_message, usage_line};
#[cfg(feature = "top")]
pub(crate) use messages::event_text;
pub use sort_key::{SortKey, sort_keys};
#[cfg(feature = "top")]
pub(crate) use style::Emphasis;
pub use table_writer::{TableOptions, TableWriter};
