//! `blkstat top`: the full screen.
//!
//! ```text
//! IntervalRows ──▶ Frame ──▶ App (History, cursor, selection) ──draw──▶ Buffer ──▶ Screen (terminal)
//!                    bytes of the terminal ──InputParser──▶ Event ──▶ App ──▶ Action (what the run does)
//! ```
//!
//! `App` is pure: it takes intervals and events, keeps every interval exactly as the other views print it (`History`),
//! and draws itself into a buffer of cells. Only `terminal` writes to a terminal. Cells, sentences and the host line
//! are those of the table, from `report`.

mod app;
mod draw;
mod history;
mod keys;
mod navigation;
mod regions;
mod terminal;
#[cfg(test)]
mod tests;
mod theme;
mod time_axis;

pub(crate) use app::{Action, App, AppOptions, BY_VERDICT, Source};
pub(crate) use history::is_trouble;
#[cfg(debug_assertions)]
pub(crate) use keys::Key;
pub(crate) use keys::{Event, InputParser};
pub(crate) use terminal::Screen;
pub(crate) use theme::Theme;

/// The seconds for which the intervals of the running system are kept exactly.
pub(crate) const LIVE_HISTORY_S: f64 = 3600.0;
/// The memory for intervals of the running system in bytes, however short the interval. With the program itself,
/// what is known of each device, and the incidents, it makes 64 MiB for 500 devices.
pub(crate) fn live_history_bytes(devices: usize, incidents: usize) -> usize {
    const WITHOUT_DEVICES: usize = 46 << 20;
    // With the holes in the memory that intervals of other lengths leave where devices come and go.
    const OF_DEVICE: usize = 192 << 10;
    // The list is in memory up to four times while a new one is made.
    const OF_INCIDENT: usize = 10 << 10;
    const LEAST: usize = 6 << 20;
    WITHOUT_DEVICES
        .saturating_sub(devices * OF_DEVICE + incidents * OF_INCIDENT)
        .max(LEAST)
}
