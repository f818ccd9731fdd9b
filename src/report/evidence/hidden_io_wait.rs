//! Waits for I/O that no device shows, in words.

use crate::report::layout::sentence_numbers::percent;

/// The possible causes of such waits.
pub(crate) const HIDDEN_IO_WAIT_CAUSES: &str =
    "a network file system, a limit above the device (cgroup io.max), or swap in a cgroup";

/// The waits of an interval as a sentence without a period; `hidden_pct` is a lower bound of the percentage of the
/// time.
pub(crate) fn hidden_io_wait_text(hidden_pct: f64) -> String {
    format!(
        "tasks wait for I/O that no device shows, {} of the time or more: {HIDDEN_IO_WAIT_CAUSES}",
        percent(hidden_pct)
    )
}
