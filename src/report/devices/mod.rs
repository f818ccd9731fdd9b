//! What is stacked on what: as a tree for people, and as JSON.

mod forest;
mod json;
mod tree;
mod words;

pub use forest::is_shown;
pub use json::json;
pub use tree::tree;
