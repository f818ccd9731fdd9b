//! The incident view as text: a table of each interval, and a summary of the run.

mod column_choice;
mod columns;
mod layout;
mod lines;
mod summary;
mod table;

pub(in crate::report) use self::columns::columns_with_meanings;
pub use self::columns::{sort_keys, sort_value};
pub use self::layout::TableOptions;
pub use self::table::TableWriter;
#[cfg(feature = "top")]
pub(crate) use self::{
    columns::{Cell, cell, incident_time},
    layout::Emphasis,
    lines::{event_text, header_line, state_message, who_line},
};
