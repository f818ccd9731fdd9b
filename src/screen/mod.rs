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
pub(crate) use history::{SampleTexts, is_trouble};
#[cfg(debug_assertions)]
pub(crate) use keys::Key;
pub(crate) use keys::{Event, InputParser};
pub(crate) use terminal::Screen;
pub(crate) use theme::Theme;

/// The seconds for which the intervals and samples of the running system are kept exactly.
pub(crate) const LIVE_HISTORY_S: f64 = 3600.0;
/// The memory for intervals of the running system, in bytes, if samples use all of theirs; memory that samples do not
/// need is used for intervals, too. Together with sums of older intervals, it is at most 64 MiB.
pub(crate) const LIVE_HISTORY_BYTES: usize = 30 << 20;
/// The memory for samples of the running system as text, in bytes.
pub(crate) const MAX_TEXT_BYTES: usize = 26 << 20;
