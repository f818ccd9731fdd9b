//! Stacked devices: the queue at each layer, and stacking inferred from similar load.

mod infer;
mod queue_by_layer;

pub use infer::infer_stack;
pub use queue_by_layer::{Layer, LayerLink, QueueByLayer, WaitLocation, clear_lower_layers, queue_by_layer};
