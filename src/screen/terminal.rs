//! The terminal: the alternate screen, raw mode, and the cells written to it. Dropping it restores the terminal, even
//! after a panic.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use anstyle::{Reset, Style};
use ratatui_core::buffer::{Buffer, Cell};
use ratatui_core::layout::Rect;
use ratatui_core::style::Color;

use crate::terminal::Keyboard;

// Control sequences, named as in xterm's ctlseqs.
const ENTER_ALTERNATE_SCREEN: &str = "\x1b[?1049h";
const LEAVE_ALTERNATE_SCREEN: &str = "\x1b[?1049l";
const HIDE_CURSOR: &str = "\x1b[?25l";
const SHOW_CURSOR: &str = "\x1b[?25h";
const CLEAR: &str = "\x1b[2J";
/// Turns on reports of mouse buttons and of moves with a button pressed, with positions in SGR mode.
const MOUSE_ON: &str = "\x1b[?1000h\x1b[?1002h\x1b[?1006h";
const MOUSE_OFF: &str = "\x1b[?1006l\x1b[?1002l\x1b[?1000l";
/// The beginning and the end of a frame that is shown at once (synchronized updates).
const UPDATE_BEGIN: &str = "\x1b[?2026h";
const UPDATE_END: &str = "\x1b[?2026l";

/// The messages of panics while the screen is shown, where they would be lost.
static PANICS: Mutex<String> = Mutex::new(String::new());

/// Stores the messages of panics until the screen is closed.
fn keep_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let mut panics = PANICS.lock().unwrap_or_else(PoisonError::into_inner);
        *panics += &format!("blkstat: {panic}\n");
    }));
}

pub(crate) struct Screen {
    keyboard: Keyboard,
    is_active: bool,
    /// The cells that the terminal shows.
    shown: Buffer,
    bytes: Vec<u8>,
}

impl Screen {
    /// Takes over the terminal on standard input and output; `None` if there is none.
    ///
    /// # Errors
    /// If the terminal cannot be written.
    pub(crate) fn open() -> io::Result<Option<Self>> {
        let Some(keyboard) = Keyboard::open_raw() else {
            return Ok(None);
        };
        let mut screen = Self {
            keyboard,
            is_active: false,
            shown: Buffer::empty(Rect::ZERO),
            bytes: Vec::new(),
        };
        keep_panics();
        screen.enter()?;
        Ok(Some(screen))
    }

    fn enter(&mut self) -> io::Result<()> {
        self.is_active = true;
        self.shown = Buffer::empty(Rect::ZERO);
        write(format!("{ENTER_ALTERNATE_SCREEN}{HIDE_CURSOR}{CLEAR}{MOUSE_ON}").as_bytes())
    }

    /// Restores the terminal, then prints the message of a panic, if there was one.
    pub(crate) fn leave(&mut self) {
        if !std::mem::take(&mut self.is_active) {
            return;
        }
        // A closed terminal needs no restoring.
        let _ =
            write(format!("{MOUSE_OFF}{Reset}{SHOW_CURSOR}{LEAVE_ALTERNATE_SCREEN}").as_bytes());
        self.keyboard.restore();
        let panics = std::mem::take(&mut *PANICS.lock().unwrap_or_else(PoisonError::into_inner));
        let _ = io::stderr().write_all(panics.as_bytes());
    }

    /// Takes the terminal over again.
    ///
    /// # Errors
    /// If the terminal cannot be written.
    pub(crate) fn resume(&mut self) -> io::Result<()> {
        self.keyboard.set_raw()?;
        self.enter()
    }

    /// Redraws everything the next time, because the terminal may show something else.
    pub(crate) fn forget(&mut self) {
        self.shown = Buffer::empty(Rect::ZERO);
    }

    /// Shows a frame: writes the cells that changed, all at once.
    ///
    /// # Errors
    /// If the terminal cannot be written.
    pub(crate) fn show(&mut self, buffer: &Buffer) -> io::Result<()> {
        self.bytes.clear();
        if self.shown.area != buffer.area {
            write!(self.bytes, "{Reset}{CLEAR}")?;
            self.shown = Buffer::empty(buffer.area);
        }
        let changes = self.shown.diff(buffer);
        if changes.is_empty() && self.bytes.is_empty() {
            return Ok(());
        }
        put_changes(&changes, &mut self.bytes)?;
        self.shown.clone_from(buffer);
        let bytes = [UPDATE_BEGIN.as_bytes(), &self.bytes, UPDATE_END.as_bytes()].concat();
        write(&bytes)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        self.leave();
    }
}

fn write(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Appends the control sequences and the text that write the cells.
fn put_changes(changes: &[(u16, u16, &Cell)], out: &mut Vec<u8>) -> io::Result<()> {
    let mut present = Style::new();
    let mut next: Option<(u16, u16)> = None;
    for (x, y, cell) in changes {
        if next != Some((*x, *y)) {
            write!(out, "\x1b[{};{}H", y + 1, x + 1)?;
        }
        let wanted = style(cell);
        if wanted != present {
            write!(out, "{}{wanted}", present.render_reset())?;
            present = wanted;
        }
        write!(out, "{}", cell.symbol())?;
        let width = unicode_width::UnicodeWidthStr::width(cell.symbol());
        next = Some((x.saturating_add(u16::try_from(width).unwrap_or(1)), *y));
    }
    write!(out, "{Reset}")
}

fn style(cell: &Cell) -> Style {
    let color = |color: Color| (color != Color::Reset).then(|| color.into());
    Style::new()
        .fg_color(color(cell.fg))
        .bg_color(color(cell.bg))
        .effects(cell.modifier.into())
}

#[cfg(test)]
mod tests {
    use ratatui_core::style::Style;

    use super::*;

    #[test]
    fn only_changed_cells_are_written_and_colors_are_reset() {
        let area = Rect {
            x: 0,
            y: 0,
            width: 10,
            height: 2,
        };
        let before = Buffer::empty(area);
        let mut after = before.clone();
        after.set_string(2, 1, "ab", Style::new().fg(Color::Red));
        let mut out = Vec::new();
        put_changes(&before.diff(&after), &mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            "\x1b[2;3H\x1b[31mab\x1b[0m"
        );
    }
}
