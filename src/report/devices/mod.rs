//! The block-device tree: as a table for people, and as JSON.

mod json;
mod tree;
mod tree_cells;
mod tree_layout;

pub use json::json;
pub use tree::tree;
pub use tree_layout::is_shown;
