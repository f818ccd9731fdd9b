//! The keys of an interactive run.

use super::engine::PtEngine;
use super::options::GroupBy;
use super::prompts::Prompt;
use crate::exit::Exit;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Key {
    /// Changes the grouping.
    GroupBy(GroupBy),
    /// Asks for a line of text.
    Ask(Prompt),
    /// Shows or hides inactive devices.
    Inactive,
    /// Pauses until the next key.
    Pause,
    Header,
    /// Shows the help until the next key.
    Help,
    Quit,
}

/// The effect of a key on the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum KeyOutcome {
    Continue,
    /// A file is shown again from its start.
    Redraw,
    Exit(Exit),
}

impl Key {
    /// Returns the action of the key `byte`; `None` for a key without one.
    pub(super) fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            b'A' => Key::GroupBy(GroupBy::All),
            b'D' => Key::GroupBy(GroupBy::Disk),
            b'S' => Key::GroupBy(GroupBy::Sample),
            b'c' => Key::Ask(Prompt::Columns),
            b'/' => Key::Ask(Prompt::Devices),
            b'z' => Key::Ask(Prompt::SampleTime),
            b'i' => Key::Inactive,
            b'p' => Key::Pause,
            b' ' | b'\r' | b'\n' => Key::Header,
            b'?' => Key::Help,
            b'q' => Key::Quit,
            _ => return None,
        })
    }

    /// Applies the action and appends its immediate output. The caller must already have asked the question or waited
    /// for the next key.
    pub(super) fn apply(self, engine: &mut PtEngine, out: &mut Vec<u8>) -> KeyOutcome {
        match self {
            Key::GroupBy(group_by) if engine.is_live => {
                engine.switch_group_by_live(group_by, out);
                return KeyOutcome::Continue;
            }
            Key::GroupBy(group_by) => {
                if !engine.switch_group_by(group_by) {
                    return KeyOutcome::Continue;
                }
            }
            Key::Inactive => {
                engine.settings.show_inactive = !engine.settings.show_inactive;
                engine.force_header_on_redraw();
            }
            Key::Header => {
                engine.pager.push_header(&engine.table, engine.settings.group_by, out);
                return KeyOutcome::Continue;
            }
            Key::Pause | Key::Help | Key::Ask(_) => engine.force_header_on_redraw(),
            Key::Quit => return KeyOutcome::Exit(Exit::Success),
        }
        KeyOutcome::Redraw
    }
}

impl PtEngine {
    /// Starts a file that is shown again with a header, and prints no other headers unless they are due. A live run
    /// gets no header for a changed setting.
    pub(super) fn force_header_on_redraw(&mut self) {
        if !self.is_live {
            self.header_always = false;
            self.pager.force_header();
        }
    }
}
