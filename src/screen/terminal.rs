//! The terminal: the alternate screen, raw mode, and the cells written to it. Dropping it restores the terminal, even
//! after a panic.

use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use crossterm::cursor::{Hide, MoveTo, Show};
use crossterm::queue;
use crossterm::style::{Attribute, Print, SetAttribute};
use crossterm::terminal::{Clear, ClearType, EnterAlternateScreen, LeaveAlternateScreen};
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::{Color, Modifier};

use crate::terminal::Keyboard;

/// Turns on reports of mouse buttons and of moves with a button pressed, with positions in SGR mode (xterm's ctlseqs).
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
    has_mouse: bool,
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
    pub(crate) fn open(has_mouse: bool) -> io::Result<Option<Self>> {
        let Some(keyboard) = Keyboard::open_raw() else { return Ok(None) };
        let mut screen = Self {
            keyboard,
            has_mouse,
            is_active: false,
            shown: Buffer::empty(Rect::ZERO),
            bytes: Vec::new(),
        };
        keep_panics();
        screen.enter()?;
        Ok(Some(screen))
    }

    fn enter(&mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        queue!(bytes, EnterAlternateScreen, Hide, Clear(ClearType::All))?;
        if self.has_mouse {
            bytes.extend_from_slice(MOUSE_ON.as_bytes());
        }
        self.is_active = true;
        self.shown = Buffer::empty(Rect::ZERO);
        write(&bytes)
    }

    /// Restores the terminal, then prints the message of a panic, if there was one.
    pub(crate) fn leave(&mut self) {
        if !std::mem::take(&mut self.is_active) {
            return;
        }
        let mut bytes = Vec::new();
        if self.has_mouse {
            bytes.extend_from_slice(MOUSE_OFF.as_bytes());
        }
        // Writing to memory cannot fail, and a closed terminal needs no restoring.
        let _ = queue!(bytes, SetAttribute(Attribute::Reset), Show, LeaveAlternateScreen);
        let _ = write(&bytes);
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
            queue!(self.bytes, SetAttribute(Attribute::Reset), Clear(ClearType::All))?;
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

/// Appends the commands that write the cells, with as few commands as possible.
fn put_changes(changes: &[(u16, u16, &ratatui_core::buffer::Cell)], out: &mut Vec<u8>) -> io::Result<()> {
    let mut style = (Color::Reset, Color::Reset, Modifier::empty());
    let mut next: Option<(u16, u16)> = None;
    for (x, y, cell) in changes {
        if next != Some((*x, *y)) {
            queue!(out, MoveTo(*x, *y))?;
        }
        let wanted = (cell.fg, cell.bg, cell.modifier);
        if wanted != style {
            put_style(wanted, style, out)?;
            style = wanted;
        }
        queue!(out, Print(cell.symbol()))?;
        let width = unicode_width::UnicodeWidthStr::width(cell.symbol());
        next = Some((x.saturating_add(u16::try_from(width).unwrap_or(1)), *y));
    }
    queue!(out, SetAttribute(Attribute::Reset))
}

type CellStyle = (Color, Color, Modifier);

fn put_style(wanted: CellStyle, present: CellStyle, out: &mut Vec<u8>) -> io::Result<()> {
    let mut present = present;
    if !wanted.2.contains(present.2)
        || wanted.1 != present.1 && wanted.1 == Color::Reset
        || wanted.0 == Color::Reset && present.0 != Color::Reset
    {
        queue!(out, SetAttribute(Attribute::Reset))?;
        present = (Color::Reset, Color::Reset, Modifier::empty());
    }
    let attributes = [
        (Modifier::BOLD, Attribute::Bold),
        (Modifier::DIM, Attribute::Dim),
        (Modifier::UNDERLINED, Attribute::Underlined),
        (Modifier::REVERSED, Attribute::Reverse),
    ];
    for (modifier, attribute) in attributes {
        if wanted.2.contains(modifier) && !present.2.contains(modifier) {
            queue!(out, SetAttribute(attribute))?;
        }
    }
    if wanted.0 != present.0 {
        put_color(wanted.0, false, out)?;
    }
    if wanted.1 != present.1 {
        put_color(wanted.1, true, out)?;
    }
    Ok(())
}

/// Appends a color. The 16 basic colors have the short codes, which every terminal with colors has.
fn put_color(color: Color, is_background: bool, out: &mut Vec<u8>) -> io::Result<()> {
    let base = if is_background { 40 } else { 30 };
    match color {
        Color::Indexed(code @ ..8) => write!(out, "\x1b[{}m", base + code),
        Color::Indexed(code @ 8..16) => write!(out, "\x1b[{}m", base + 60 + code - 8),
        Color::Indexed(code) => write!(out, "\x1b[{};5;{code}m", base + 8),
        Color::Rgb(red, green, blue) => write!(out, "\x1b[{};2;{red};{green};{blue}m", base + 8),
        _ => write!(out, "\x1b[{}m", base + 9),
    }
}

#[cfg(test)]
mod tests {
    use ratatui_core::style::Style;

    use super::*;

    #[test]
    fn only_changed_cells_are_written_and_colors_are_reset() {
        let area = Rect { x: 0, y: 0, width: 10, height: 2 };
        let before = Buffer::empty(area);
        let mut after = before.clone();
        after.set_string(2, 1, "ab", Style::new().fg(Color::Indexed(1)));
        let mut out = Vec::new();
        put_changes(&before.diff(&after), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "\x1b[2;3H\x1b[31mab\x1b[0m");
    }
}
