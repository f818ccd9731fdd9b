//! The controlling terminal: key presses without Enter, the size of the screen, and text for those that show only ASCII.
//!
//! Only this module changes terminal settings, and only it opens /dev/tty, for the size of the screen.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsFd;

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr,
};

/// Standard input in unbuffered mode, without echo. Dropping it restores the previous terminal settings.
pub struct Keyboard {
    saved: Termios,
}

impl Keyboard {
    /// Switches standard input to unbuffered mode; `None` if it is not a terminal or refuses the mode.
    pub fn open() -> Option<Self> {
        let keyboard = Self {
            saved: tcgetattr(io::stdin()).ok()?,
        };
        keyboard.set_unbuffered().ok()?;
        Some(keyboard)
    }

    /// Switches standard input to raw mode, in which Ctrl-C and Ctrl-Z are keys; `None` if it is not a terminal or
    /// refuses the mode.
    pub fn open_raw() -> Option<Self> {
        let keyboard = Self {
            saved: tcgetattr(io::stdin()).ok()?,
        };
        keyboard.set_raw().ok()?;
        Some(keyboard)
    }

    /// Switches to raw mode again, after [`Self::restore`].
    ///
    /// # Errors
    /// If the terminal refuses the mode.
    pub fn set_raw(&self) -> io::Result<()> {
        let mut raw = self.saved.clone();
        raw.make_raw();
        Ok(tcsetattr(io::stdin(), OptionalActions::Now, &raw)?)
    }

    pub fn restore(&self) {
        // A closed terminal needs no restoring.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.saved);
    }

    /// Reads the typed bytes into `bytes`, without waiting for more, and returns their number; 0 once the terminal is
    /// closed.
    ///
    /// # Errors
    /// If the terminal cannot be read.
    pub fn read_bytes(bytes: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(io::stdin(), bytes)?)
    }

    /// Makes each key readable at once and turns echo off. Unlike raw mode, this keeps signals and output processing.
    fn set_unbuffered(&self) -> io::Result<()> {
        let mut unbuffered = self.saved.clone();
        unbuffered
            .local_modes
            .remove(LocalModes::ICANON | LocalModes::ECHO);
        unbuffered.special_codes[SpecialCodeIndex::VMIN] = 1;
        unbuffered.special_codes[SpecialCodeIndex::VTIME] = 0;
        Ok(tcsetattr(io::stdin(), OptionalActions::Now, &unbuffered)?)
    }

    /// Reads the next key, waiting for it; `None` once the terminal is closed. Several bytes at once, for example from
    /// an arrow key or from pasted text, are returned as 0.
    ///
    /// # Errors
    /// If the terminal cannot be read.
    pub fn read_key(&self) -> io::Result<Option<u8>> {
        let mut bytes = [0; 64];
        Ok(match rustix::io::read(io::stdin(), &mut bytes)? {
            0 => None,
            1 => Some(bytes[0]),
            _ => Some(0),
        })
    }

    /// Reads a line with the terminal's own echo and editing, without the newline. `wait` blocks until the line is
    /// complete; if it fails, nothing is read and its error is returned as the inner error.
    ///
    /// # Errors
    /// If the terminal cannot be read or its mode cannot be changed.
    pub fn read_line<E>(
        &self,
        wait: impl FnOnce() -> Result<(), E>,
    ) -> io::Result<Result<String, E>> {
        tcsetattr(io::stdin(), OptionalActions::Now, &self.saved)?;
        if let Err(interrupted) = wait() {
            return Ok(Err(interrupted));
        }
        let mut line = Vec::new();
        let mut byte = [0];
        while rustix::io::read(io::stdin(), &mut byte)? > 0 && byte[0] != b'\n' {
            line.push(byte[0]);
        }
        self.set_unbuffered()?;
        Ok(Ok(String::from_utf8_lossy(&line).into_owned()))
    }
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        self.restore();
    }
}

/// Returns the number of rows of the screen: of the controlling terminal (24 if that reports none); without one,
/// `lines` (the variable LINES), otherwise the rows of the terminal on standard input, otherwise 24.
pub fn screen_rows(lines: Option<&str>) -> usize {
    const DEFAULT_ROWS: usize = 24;
    let rows = |fd: &dyn AsFd| {
        tcgetwinsize(fd.as_fd())
            .ok()
            .map(|size| usize::from(size.ws_row))
    };
    if let Some(rows) = OpenOptions::new()
        .read(true)
        .open("/dev/tty")
        .ok()
        .and_then(|tty| rows(&tty))
    {
        return if rows > 0 { rows } else { DEFAULT_ROWS };
    }
    let from_variable =
        lines.and_then(|lines| lines.trim_start().trim_start_matches('+').parse().ok());
    from_variable
        .filter(|rows| *rows > 0)
        .or_else(|| rows(&io::stdin()))
        .filter(|rows| *rows > 0)
        .unwrap_or(DEFAULT_ROWS)
}

/// Returns the columns and rows of the terminal on standard output; `None` if it is not a terminal or does not
/// report its size.
pub fn screen_size() -> Option<(usize, usize)> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    (size.ws_col > 0 && size.ws_row > 0)
        .then(|| (usize::from(size.ws_col), usize::from(size.ws_row)))
}

/// Returns whether the terminal shows UTF-8, by the locale (setlocale(3)). The Linux console has few characters.
pub fn shows_utf8(variable: &dyn Fn(&str) -> Option<OsString>) -> bool {
    let text =
        |name: &&str| variable(name).map(|value| value.to_string_lossy().to_ascii_lowercase());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| text(name).filter(|v| !v.is_empty()));
    locale.is_some_and(|locale| locale.contains("utf-8") || locale.contains("utf8"))
        && text(&"TERM").is_none_or(|term| term != "linux")
}

/// Replaces what is not ASCII. In tables the width stays: only `±`, which stands in sentences, becomes longer.
pub fn to_ascii(text: &str) -> String {
    let mut ascii = String::with_capacity(text.len());
    for c in text.chars() {
        if c == '±' {
            ascii.push('+');
        }
        ascii.push(match c {
            'µ' => 'u',
            '≤' => '<',
            'Δ' => 'D',
            '…' => '~',
            '–' | '—' | '─' | '▄' | '±' => '-',
            '│' | '├' => '|',
            '└' => '`',
            '░' | '▂' => '.',
            '▒' => 'o',
            '▓' => 'O',
            '▁' => '_',
            '▃' => ',',
            '▅' => '=',
            '▆' => '+',
            '▇' => '*',
            '█' => '#',
            c if c.is_ascii() => c,
            _ => '?',
        });
    }
    ascii
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_names_the_locale() {
        let shows = |variables: &[(&str, &str)]| {
            let find = |name: &str| variables.iter().find(|(known, _)| *known == name);
            shows_utf8(&|name| find(name).map(|(_, value)| OsString::from(*value)))
        };
        let utf8 = ("LANG", "en_US.UTF-8");
        assert!(
            shows(&[utf8]) && shows(&[("LC_ALL", ""), ("LC_CTYPE", "C.utf8"), ("TERM", "xterm")])
        );
        assert!(
            !shows(&[]) && !shows(&[("LC_ALL", "C"), utf8]) && !shows(&[utf8, ("TERM", "linux")])
        );
    }

    #[test]
    fn tables_keep_their_width() {
        assert_eq!(
            to_ascii("≤util 10µs ├─vda1 │ └─ ▁▅█ ░▒▓█ se…"),
            "<util 10us |-vda1 | `- _=# .oO# se~"
        );
        assert_eq!(to_ascii("(±0.3%) – диск"), "(+-0.3%) - ????");
    }
}
