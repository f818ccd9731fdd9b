//! Parses the bytes that a terminal sends: keys, and the mouse in SGR mode (xterm's ctlseqs).

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Key(Key),
    /// A mouse button or the wheel, at a column and a row from 0.
    Mouse(MouseAction, u16, u16),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Key {
    Char(char),
    /// A letter with Ctrl, in lower case.
    Ctrl(char),
    Enter,
    Esc,
    /// The key that deletes backwards.
    Backspace,
    Up,
    Down,
    Left,
    Right,
    ShiftLeft,
    ShiftRight,
    CtrlLeft,
    CtrlRight,
    Home,
    End,
    PageUp,
    PageDown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MouseAction {
    Press,
    /// The mouse was moved with the left button pressed.
    Drag,
    Release,
    WheelUp,
    WheelDown,
}

/// Turns bytes into events. An incomplete sequence waits for more bytes.
#[derive(Debug, Default)]
pub(crate) struct InputParser {
    pending: Vec<u8>,
}

/// The length of the longest sequence of a terminal; longer text is not a sequence.
const MAX_SEQUENCE_BYTES: usize = 32;

/// A complete sequence of this number of bytes, with its event if it has a meaning here; `None` if more bytes are needed.
type Parsed = Option<(Option<Event>, usize)>;

impl InputParser {
    /// Takes bytes and hands over the events.
    pub(crate) fn push(&mut self, bytes: &[u8], mut on_event: impl FnMut(Event)) {
        self.pending.extend_from_slice(bytes);
        let mut rest = self.pending.as_slice();
        while let Some((event, length)) = parse(rest) {
            event.into_iter().for_each(&mut on_event);
            rest = &rest[length.clamp(1, rest.len())..];
        }
        self.pending = rest.to_vec();
    }

    /// Returns whether bytes of an incomplete sequence are waiting for more. If none come for a while, call
    /// [`Self::flush`].
    pub(crate) fn is_waiting(&self) -> bool {
        !self.pending.is_empty()
    }

    /// Takes incomplete bytes as they are: a single escape character is the Esc key.
    pub(crate) fn flush(&mut self, mut on_event: impl FnMut(Event)) {
        let pending = std::mem::take(&mut self.pending);
        if pending.first() == Some(&ESC) {
            on_event(Event::Key(Key::Esc));
            self.push(pending.get(1..).unwrap_or_default(), on_event);
        }
    }
}

const ESC: u8 = 0x1b;

fn parse(bytes: &[u8]) -> Parsed {
    let key = |key, length| Some((Some(Event::Key(key)), length));
    match bytes {
        [ESC] => None,
        [ESC, b'[', rest @ ..] => parse_csi(rest),
        [ESC, b'O'] => None,
        [ESC, b'O', letter, ..] => Some((key_of("", *letter).map(Event::Key), 3)),
        // The Esc key, followed by another key.
        [ESC, ..] => key(Key::Esc, 1),
        [b'\r' | b'\n', ..] => key(Key::Enter, 1),
        [0x7f | 0x08, ..] => key(Key::Backspace, 1),
        [control @ 1..=26, ..] => key(Key::Ctrl(char::from(control - 1 + b'a')), 1),
        [_, ..] => parse_character(bytes),
        [] => None,
    }
}

/// Parses a character in UTF-8. Invalid bytes are skipped.
fn parse_character(bytes: &[u8]) -> Parsed {
    let (valid, is_cut) = match std::str::from_utf8(bytes) {
        Ok(text) => (text, false),
        Err(error) => {
            let valid = std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default();
            (valid, error.error_len().is_none())
        }
    };
    match valid.chars().next() {
        Some(c) => Some(((!c.is_control()).then_some(Event::Key(Key::Char(c))), c.len_utf8())),
        None if is_cut => None,
        None => Some((None, 1)),
    }
}

/// Parses the bytes after `ESC [`.
fn parse_csi(bytes: &[u8]) -> Parsed {
    const START: usize = 2;
    // The Linux console sends function keys as `ESC [ [ A`.
    if bytes.first() == Some(&b'[') {
        return if bytes.len() < 2 { None } else { Some((None, START + 2)) };
    }
    let Some(end) = bytes.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        let is_sequence = bytes.len() < MAX_SEQUENCE_BYTES && bytes.iter().all(|b| (0x20..0x40).contains(b));
        return if is_sequence { None } else { Some((None, START + bytes.len())) };
    };
    let parameters = std::str::from_utf8(&bytes[..end]).unwrap_or_default();
    let event = match (bytes[end], parameters.strip_prefix('<')) {
        (letter @ (b'M' | b'm'), Some(mouse)) => parse_mouse(mouse, letter),
        (end, _) => key_of(parameters, end).map(Event::Key),
    };
    Some((event, START + end + 1))
}

/// Returns the key of a sequence by its parameters, the second of which has the modifiers, and by its end.
fn key_of(parameters: &str, end: u8) -> Option<Key> {
    let (key, modifier) = parameters.split_once(';').unwrap_or((parameters, ""));
    Some(match (end, key, modifier) {
        (b'A', ..) => Key::Up,
        (b'B', ..) => Key::Down,
        (b'C', _, "2") => Key::ShiftRight,
        (b'C', _, "5") => Key::CtrlRight,
        (b'C', ..) => Key::Right,
        (b'D', _, "2") => Key::ShiftLeft,
        (b'D', _, "5") => Key::CtrlLeft,
        (b'D', ..) => Key::Left,
        (b'H', ..) | (b'~', "1" | "7", _) => Key::Home,
        (b'F', ..) | (b'~', "4" | "8", _) => Key::End,
        (b'~', "5", _) => Key::PageUp,
        (b'~', "6", _) => Key::PageDown,
        (b'M', _, "") => Key::Enter,
        _ => return None,
    })
}

/// Parses `BUTTON;COLUMN;ROW`; a final `m` is a release.
fn parse_mouse(parameters: &str, letter: u8) -> Option<Event> {
    let mut numbers = parameters.split(';').map(|number| number.parse::<u16>().ok());
    let mut next = || numbers.next().flatten();
    let (button, column, row) = (next()?, next()?, next()?);
    let action = match (button, letter) {
        (0, b'M') => MouseAction::Press,
        (0, _) => MouseAction::Release,
        (32, _) => MouseAction::Drag,
        (64, _) => MouseAction::WheelUp,
        (65, _) => MouseAction::WheelDown,
        _ => return None,
    };
    Some(Event::Mouse(action, column.checked_sub(1)?, row.checked_sub(1)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn events(bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        InputParser::default().push(bytes, |event| events.push(event));
        events
    }

    #[test]
    fn keys_of_common_terminals_are_recognized() {
        let keys: &[(&[u8], Key)] = &[
            (b"q", Key::Char('q')),
            ("ä".as_bytes(), Key::Char('ä')),
            (b"\r", Key::Enter),
            (b"\x03", Key::Ctrl('c')),
            (b"\x7f", Key::Backspace),
            (b"\x1b[A", Key::Up),
            (b"\x1bOB", Key::Down),
            (b"\x1b[1;2C", Key::ShiftRight),
            (b"\x1b[1;5D", Key::CtrlLeft),
            (b"\x1b[5~", Key::PageUp),
            (b"\x1b[1~", Key::Home),
            (b"\x1b[F", Key::End),
        ];
        for (bytes, key) in keys {
            assert_eq!(events(bytes), [Event::Key(*key)], "{bytes:?}");
        }
    }

    #[test]
    fn a_sequence_in_pieces_waits_and_an_escape_alone_is_the_key() {
        let mut parser = InputParser::default();
        let mut events = Vec::new();
        parser.push(b"\x1b", |event| events.push(event));
        assert!(events.is_empty() && parser.is_waiting());
        parser.push(b"[", |event| events.push(event));
        parser.push(b"B", |event| events.push(event));
        assert_eq!(events, [Event::Key(Key::Down)]);
        parser.push(b"\x1b", |event| events.push(event));
        parser.flush(|event| events.push(event));
        assert_eq!(events.last(), Some(&Event::Key(Key::Esc)));
        assert!(!parser.is_waiting());
    }

    #[test]
    fn the_mouse_is_at_a_place_counted_from_zero() {
        let at = |action| Event::Mouse(action, 9, 4);
        assert_eq!(events(b"\x1b[<0;10;5M"), [at(MouseAction::Press)]);
        assert_eq!(events(b"\x1b[<0;10;5m"), [at(MouseAction::Release)]);
        assert_eq!(events(b"\x1b[<65;10;5M"), [at(MouseAction::WheelDown)]);
        assert_eq!(events(b"\x1b[<0;0;5M"), []);
    }

    #[test]
    fn garbage_is_skipped_and_what_follows_is_read() {
        let last = |bytes: &[u8]| events(bytes).last().copied();
        for garbage in
            [&b"\xff\xfe"[..], b"\x1b[999;999;999z", b"\x1b[[A", b"\x1b[<1;2;3M", b"\x00", b"\xe2\x28"]
        {
            assert_eq!(last(&[garbage, b"x"].concat()), Some(Event::Key(Key::Char('x'))), "{garbage:?}");
        }
    }
}
