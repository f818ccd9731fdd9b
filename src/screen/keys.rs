//! The keys and the mouse: the bytes that a terminal sends for them (for the mouse in SGR mode, see xterm's ctlseqs), and the
//! actions that follow.

use std::time::Duration;

use jiff::Timestamp;

use super::app::{Action, App, ORDERS, Page, Prompt, Question, Source};
use super::history::Frame;
use crate::time_range::TimePoint;

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
    F1,
    F10,
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
    match bytes {
        [ESC] => None,
        [ESC, b'[', rest @ ..] => parse_csi(rest),
        [ESC, b'O'] => None,
        [ESC, b'O', letter, ..] => Some((key_of("", *letter).map(Event::Key), 3)),
        // The Esc key, followed by another key.
        [ESC, ..] => key(Key::Esc),
        [b'\r' | b'\n', ..] => key(Key::Enter),
        [0x7f | 0x08, ..] => key(Key::Backspace),
        [control @ 1..=26, ..] => key(Key::Ctrl(char::from(control - 1 + b'a'))),
        [_, ..] => parse_character(bytes),
        [] => None,
    }
}

/// Returns the key of a single byte.
fn key(key: Key) -> Parsed {
    Some((Some(Event::Key(key)), 1))
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
        Some(c) => Some((
            (!c.is_control()).then_some(Event::Key(Key::Char(c))),
            c.len_utf8(),
        )),
        None if is_cut => None,
        None => Some((None, 1)),
    }
}

/// Parses the bytes after `ESC [`.
fn parse_csi(bytes: &[u8]) -> Parsed {
    const START: usize = 2;
    // The Linux console sends function keys as `ESC [ [ A`.
    if bytes.first() == Some(&b'[') {
        let is_f1 = *bytes.get(1)? == b'A';
        return Some((is_f1.then_some(Event::Key(Key::F1)), START + 2));
    }
    let Some(end) = bytes.iter().position(|byte| (0x40..=0x7e).contains(byte)) else {
        let can_go_on =
            bytes.len() < MAX_SEQUENCE_BYTES && bytes.iter().all(|b| (0x20..0x40).contains(b));
        if can_go_on {
            return None;
        }
        return Some((None, START + bytes.len()));
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
        (b'P', ..) | (b'~', "11", _) => Key::F1,
        (b'~', "21", _) => Key::F10,
        _ => return None,
    })
}

/// Parses `BUTTON;COLUMN;ROW`; a final `m` is a release.
fn parse_mouse(parameters: &str, letter: u8) -> Option<Event> {
    let mut numbers = [0_u16; 3];
    let mut texts = parameters.split(';');
    for number in &mut numbers {
        *number = texts.next()?.parse().ok()?;
    }
    let [button, column, row] = numbers;
    let action = match (button, letter) {
        (0, b'M') => MouseAction::Press,
        (0, _) => MouseAction::Release,
        (32, _) => MouseAction::Drag,
        (64, _) => MouseAction::WheelUp,
        (65, _) => MouseAction::WheelDown,
        _ => return None,
    };
    Some(Event::Mouse(
        action,
        column.checked_sub(1)?,
        row.checked_sub(1)?,
    ))
}

/// The keys for the help: each with its meaning, below headings without one.
pub(crate) const KEYS: [(&str, &str); 26] = [
    ("Devices", ""),
    ("up down, k j", "select a device; PgUp PgDn by a page"),
    ("g G, Home End", "first and last device"),
    (
        "Enter, Esc",
        "show the selected device full screen, and return",
    ),
    ("s S", "sort by the next or previous column"),
    (
        "/",
        "show only devices whose name matches a regular expression; Esc shows all",
    ),
    ("f", "fold or unfold devices that are ok or idle"),
    ("t", "tree of disks and the devices stacked on them"),
    ("Time", ""),
    ("p, space", "pause the running system, or go on"),
    (
        "left right, h l",
        "back and forward by an interval; Shift by 10 s, Ctrl by a minute",
    ),
    ("< >, , .", "back and forward by a minute, by 10 s"),
    ("[ ]", "previous and next incident"),
    ("w", "the worst interval"),
    (
        "b",
        "go to a time: 18:04, 18:04:47, 2026-11-20T18:04, -5m (before the newest interval)",
    ),
    ("0 $", "the first interval, and the newest one"),
    ("z Z", "shorter and longer time axis"),
    (
        "+ -",
        "longer and shorter interval of the running system, from 0.1 s to a minute",
    ),
    ("Mouse", ""),
    (
        "click",
        "select a device, a time in a chart, or a title to sort by; click a device again to open its page",
    ),
    ("wheel", "scroll; in a chart, shorter and longer time axis"),
    ("Screen", ""),
    ("?, F1", "this help"),
    ("Ctrl-L", "draw again"),
    ("Ctrl-Z", "suspend"),
    ("q, F10, Ctrl-C", "quit; q leaves the help first"),
];

/// The most characters of a line that the user types.
const MAX_LENGTH: usize = 100;
/// The intervals that can be chosen, in seconds.
const INTERVALS_S: [f64; 9] = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0];
/// The steps in time: ten seconds and a minute.
const STEP_S: f64 = 10.0;
const LONG_STEP_S: f64 = 60.0;

impl App {
    /// Takes an event. Returns what the program should do.
    pub(crate) fn handle(&mut self, event: Event) -> Option<Action> {
        match event {
            Event::Key(key) => self.press(key),
            Event::Mouse(action, column, row) => {
                self.point(action, column, row);
                None
            }
        }
    }

    fn press(&mut self, key: Key) -> Option<Action> {
        // It is about what was done before.
        self.message = None;
        if self.prompt.is_some() {
            return self.type_key(key);
        }
        match key {
            Key::Char('q') if self.page == Page::Help => self.page = Page::List,
            Key::Char('q') | Key::F10 => return Some(Action::Quit),
            Key::Ctrl('c') => return Some(Action::Interrupt),
            Key::Ctrl('z') => return Some(Action::Suspend),
            Key::Ctrl('l') => return Some(Action::Redraw),
            Key::Char('?') | Key::F1 => {
                self.page = if self.page == Page::Help {
                    Page::List
                } else {
                    Page::Help
                };
                self.scroll = 0;
            }
            Key::Char('/') => {
                let text = self.filter.as_ref().map_or("", |(text, _)| text);
                self.prompt = Some(Prompt::new(Question::Filter, text));
            }
            Key::Char('b') => self.prompt = Some(Prompt::new(Question::Time, "")),
            Key::Enter | Key::Esc => self.turn_page(key),
            Key::Char('p' | ' ') => self.toggle_pause(),
            Key::Left | Key::Char('h') => self.step(false),
            Key::Right | Key::Char('l') => self.step(true),
            Key::ShiftLeft | Key::Char(',') => self.move_by(-STEP_S),
            Key::ShiftRight | Key::Char('.') => self.move_by(STEP_S),
            Key::CtrlLeft | Key::Char('<') => self.move_by(-LONG_STEP_S),
            Key::CtrlRight | Key::Char('>') => self.move_by(LONG_STEP_S),
            Key::Char('[') => self.go_to_next_incident(false),
            Key::Char(']') => self.go_to_next_incident(true),
            Key::Char('w') => self.go_to_worst(),
            Key::Char('0') => self.move_to_end(false),
            Key::Char('$') => self.move_to_end(true),
            Key::Char('z') => self.axis.zoom(true),
            Key::Char('Z') => self.axis.zoom(false),
            Key::Char('+' | '=') => return self.change_interval(true),
            Key::Char('-') => return self.change_interval(false),
            key if self.page == Page::Help => self.scroll_text(key),
            Key::Up | Key::Char('k') => self.select_by(-1),
            Key::Down | Key::Char('j') => self.select_by(1),
            Key::PageUp => self.select_by(-self.list_page()),
            Key::PageDown => self.select_by(self.list_page()),
            Key::Home | Key::Char('g') => self.select_by(isize::MIN / 2),
            Key::End | Key::Char('G') => self.select_by(isize::MAX / 2),
            Key::Char('s') => self.sort_by(self.next_order(1)),
            Key::Char('S') => self.sort_by(self.next_order(ORDERS.len() - 1)),
            Key::Char('f') => self.toggle_folds(),
            Key::Char('t') => {
                self.is_tree = !self.is_tree;
                self.say(if self.is_tree {
                    "tree of devices"
                } else {
                    "list of devices"
                });
            }
            Key::Char(c) => self.say(format!("{c} has no meaning here; ? shows the keys")),
            Key::Backspace | Key::Ctrl(_) => {}
        }
        None
    }

    /// The lines of the list by which a page moves.
    fn list_page(&self) -> isize {
        self.regions.list_rows.max(2) as isize - 1
    }

    /// Changes to the next longer or shorter interval.
    fn change_interval(&mut self, longer: bool) -> Option<Action> {
        if self.options.source != Source::Live {
            self.say("a recording has the interval at which it was recorded; z and Z zoom");
            return None;
        }
        let now_s = self.options.interval_s.unwrap_or(1.0);
        let next = if longer {
            INTERVALS_S.into_iter().find(|one| *one > now_s * 1.001)
        } else {
            INTERVALS_S.into_iter().rfind(|one| *one < now_s / 1.001)
        };
        let Some(next_s) = next else {
            let end = if longer { "longest" } else { "shortest" };
            self.say(format!("{now_s} s is the {end} interval"));
            return None;
        };
        self.options.interval_s = Some(next_s);
        if self.arrived_s.is_some() {
            // From now on, the next interval is expected.
            self.arrived_s = Some(self.now_s);
        }
        self.say(format!("an interval of {next_s} s"));
        Some(Action::ChangeInterval(Duration::from_secs_f64(next_s)))
    }

    fn turn_page(&mut self, key: Key) {
        self.scroll = 0;
        self.page = match (self.page, key) {
            (Page::List, Key::Enter) => {
                let names = self.listed_names();
                // The selected device may not match a filter that has just been typed.
                let selected = self.selected.take().filter(|name| names.contains(name));
                self.selected = selected.or(names.first().cloned());
                if names.is_empty() {
                    return;
                }
                // The page stays with this device, even if another one gets worse.
                self.has_selected = true;
                Page::Detail
            }
            (Page::List, Key::Esc) => {
                self.filter = None;
                Page::List
            }
            (Page::Detail | Page::Help | Page::List, _) => Page::List,
        };
    }

    fn toggle_folds(&mut self) {
        self.options.folds = !self.options.folds;
        self.scroll = 0;
        let (ok, idle) = self.rows().folded;
        self.say(match (self.options.folds, ok + idle) {
            (true, 0) => "no device is ok or idle, so that none is folded".to_owned(),
            (true, _) => "devices that are ok or idle are folded".to_owned(),
            (false, _) => "all devices are listed".to_owned(),
        });
    }

    fn scroll_text(&mut self, key: Key) {
        let page = usize::from(self.size.1.max(4)) - 3;
        self.scroll = match key {
            Key::Up | Key::Char('k') => self.scroll.saturating_sub(1),
            Key::Down | Key::Char('j') => self.scroll + 1,
            Key::PageUp => self.scroll.saturating_sub(page),
            Key::PageDown => self.scroll + page,
            Key::Home | Key::Char('g') => 0,
            _ => self.scroll,
        };
    }

    /// Returns the order some steps after the present one, or after that by verdict.
    fn next_order(&self, steps: usize) -> &'static str {
        let at = ORDERS
            .iter()
            .position(|order| *order == self.options.sort)
            .unwrap_or(1);
        ORDERS[(at + steps) % ORDERS.len()]
    }

    fn sort_by(&mut self, order: &'static str) {
        self.options.sort = order;
        self.say(format!("sorted by {order}"));
    }

    /// Selects the device this many lines below the selected one. On its own page, the next device is shown.
    fn select_by(&mut self, lines: isize) {
        let names = self.listed_names();
        let Some(last) = names.len().checked_sub(1) else {
            return;
        };
        let selected = names
            .iter()
            .position(|name| self.selected.as_ref() == Some(name));
        let target = match selected {
            Some(at) => (at as isize).saturating_add(lines).clamp(0, last as isize) as usize,
            None => 0,
        };
        self.selected = Some(names[target].clone());
        self.has_selected = true;
    }

    /// Takes a key while the user is typing a line.
    fn type_key(&mut self, key: Key) -> Option<Action> {
        let mut prompt = self.prompt.take()?;
        match (prompt.question, key) {
            (Question::Time, Key::Enter) => {
                self.go_to_text(&prompt.text);
                return None;
            }
            (Question::Filter, Key::Enter) => {
                if let Some(error) = self.filter_error() {
                    self.say(error);
                }
                return None;
            }
            (_, Key::Backspace) if !prompt.text.is_empty() => drop(prompt.text.pop()),
            (_, Key::Ctrl('u')) => prompt.text.clear(),
            (_, Key::Char(c)) if prompt.text.chars().count() < MAX_LENGTH => prompt.text.push(c),
            (question, Key::Esc | Key::Ctrl('c' | 'g') | Key::Backspace) => {
                if question == Question::Filter {
                    self.set_filter(&prompt.before);
                }
                return None;
            }
            _ => {}
        }
        if prompt.question == Question::Filter {
            self.set_filter(&prompt.text);
        }
        self.prompt = Some(prompt);
        None
    }

    /// Goes to a time that the user typed. If it is ambiguous, for example as to the day, the one nearest to the cursor
    /// is meant.
    fn go_to_text(&mut self, text: &str) {
        let point: TimePoint = match text.trim().parse() {
            Ok(point) => point,
            Err(error) => return self.say(error),
        };
        let times = self.history.times();
        let (Some(first), Some(newest)) = (times.first(), times.last()) else {
            return self.say(format!("no interval at {}", text.trim()));
        };
        if let Some(before) = point.before_end() {
            return self.go_to_wall(newest.saturating_sub(before).unwrap_or(*newest));
        }
        let nearest = match point.after_start() {
            Some(after) => first.checked_add(after).ok(),
            None => {
                // As it is displayed, without fractions of a second.
                let start = Timestamp::from_second(first.as_second()).unwrap_or(*first);
                let cursor = self.moment().and_then(Frame::end);
                point
                    .moments_from(start, &self.options.time_zone)
                    .take_while(|at| at <= newest)
                    .min_by_key(|at| cursor.map(|cursor| at.duration_since(cursor).abs()))
            }
        };
        match nearest {
            Some(wall) if wall <= *newest => self.go_to_wall(wall),
            _ => self.say(format!("no interval at {}", text.trim())),
        }
    }

    fn point(&mut self, action: MouseAction, column: u16, row: u16) {
        match action {
            MouseAction::WheelUp | MouseAction::WheelDown => {
                let down = action == MouseAction::WheelDown;
                if self.page == Page::Help {
                    self.scroll_text(if down { Key::Down } else { Key::Up });
                } else if self.regions.chart_at(column, row).is_some() {
                    self.axis.zoom(!down);
                } else {
                    self.select_by(if down { 1 } else { -1 });
                }
            }
            MouseAction::Press | MouseAction::Drag => {
                self.message = None;
                if let Some(time_s) = self.regions.chart_at(column, row) {
                    self.has_moved = true;
                    self.cursor = self.history.end_at(time_s.max(0.0));
                }
                if let Some(device) = self.regions.device_at(row).cloned()
                    && self.page == Page::List
                {
                    let is_again =
                        self.selected.as_ref() == Some(&device) && action == MouseAction::Press;
                    self.selected = Some(device);
                    self.has_selected = true;
                    if is_again && column < self.regions.names_width {
                        self.page = Page::Detail;
                    }
                } else if action == MouseAction::Press
                    && let Some(sort) = self.regions.title_at(column, row)
                {
                    self.sort_by(sort);
                }
            }
            MouseAction::Release => {}
        }
    }
}

#[cfg(test)]
mod input_tests {
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
            (b"\x1bOP", Key::F1),
            (b"\x1b[11~", Key::F1),
            (b"\x1b[[A", Key::F1),
            (b"\x1b[21~", Key::F10),
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
        for garbage in [
            &b"\xff\xfe"[..],
            b"\x1b[999;999;999z",
            b"\x1b[[B",
            b"\x1b[<1;2;3M",
            b"\x00",
            b"\xe2\x28",
        ] {
            assert_eq!(
                last(&[garbage, b"x"].concat()),
                Some(Event::Key(Key::Char('x'))),
                "{garbage:?}"
            );
        }
    }
}
