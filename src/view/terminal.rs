//! The terminal: keys that act without Enter, and the size of the screen. The one file that touches it.

use std::fs::OpenOptions;
use std::io::{self, IsTerminal};
use std::os::fd::AsFd;

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr,
};

/// Standard input as a keyboard. The terminal is as it was before when this is dropped.
pub struct Keyboard {
    before: Termios,
}

impl Keyboard {
    /// Takes keys from standard input; `None` where that is no terminal.
    pub fn open() -> Option<Self> {
        let input = io::stdin();
        if !input.is_terminal() {
            return None;
        }
        let keyboard = Self { before: tcgetattr(&input).ok()? };
        keyboard.act_at_once().ok()?;
        Some(keyboard)
    }

    /// Keys act at once and are not shown. Signals and the output stay as they are, other than in raw mode.
    fn act_at_once(&self) -> io::Result<()> {
        let mut now = self.before.clone();
        now.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO);
        now.special_codes[SpecialCodeIndex::VMIN] = 1;
        now.special_codes[SpecialCodeIndex::VTIME] = 0;
        Ok(tcsetattr(io::stdin(), OptionalActions::Now, &now)?)
    }

    /// The next key, once one is there; `None` when the terminal is gone. Several bytes at once, as of an arrow
    /// key or of pasted text, are no key: 0.
    ///
    /// # Errors
    /// What the terminal says.
    pub fn key(&self) -> io::Result<Option<u8>> {
        let mut bytes = [0; 64];
        Ok(match rustix::io::read(io::stdin(), &mut bytes)? {
            0 => None,
            1 => Some(bytes[0]),
            _ => Some(0),
        })
    }

    /// Reads a line as it is typed and edited, without its newline. `wait` waits for the line; what it ends with
    /// instead is handed on.
    ///
    /// # Errors
    /// What the terminal says.
    pub fn line<E>(&self, wait: impl FnOnce() -> Result<(), E>) -> io::Result<Result<String, E>> {
        tcsetattr(io::stdin(), OptionalActions::Now, &self.before)?;
        if let Err(other) = wait() {
            return Ok(Err(other));
        }
        let mut line = Vec::new();
        let mut byte = [0];
        while rustix::io::read(io::stdin(), &mut byte)? > 0 && byte[0] != b'\n' {
            line.push(byte[0]);
        }
        self.act_at_once()?;
        Ok(Ok(String::from_utf8_lossy(&line).into_owned()))
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        // There is nobody to tell.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.before);
    }
}

/// Lines of the screen: of the terminal that controls the program; else what the variable LINES says; else of
/// standard input; else 24.
#[allow(clippy::disallowed_methods)] // The terminal is not a source of samples.
pub fn screen_rows(lines: Option<&str>) -> usize {
    const DEFAULT: usize = 24;
    let rows = |fd: &dyn AsFd| tcgetwinsize(fd.as_fd()).ok().map(|size| usize::from(size.ws_row));
    if let Some(rows) = OpenOptions::new().read(true).open("/dev/tty").ok().and_then(|tty| rows(&tty)) {
        return if rows > 0 { rows } else { DEFAULT };
    }
    let said = lines.and_then(|lines| lines.trim_start().trim_start_matches('+').parse().ok());
    said.filter(|rows| *rows > 0).or_else(|| rows(&io::stdin())).filter(|rows| *rows > 0).unwrap_or(DEFAULT)
}

/// Columns and lines of the terminal that standard output goes to; `None` where it is none, or does not say.
pub fn screen_size() -> Option<(usize, usize)> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0 && size.ws_row > 0).then(|| (usize::from(size.ws_col), usize::from(size.ws_row)))
}
