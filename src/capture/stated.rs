//! What a capture does not tell itself, and the user states.

use std::time::Duration;

/// What a capture does not tell itself, and the user states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stated {
    /// The distance of samples that have no times.
    pub every: Option<Duration>,
    /// The host whose lines are read, if there are several.
    pub host: Option<String>,
}
