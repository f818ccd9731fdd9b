//! The keys and the mouse.

use jiff::Timestamp;

use super::app::{Action, App, ORDERS, Page, Prompt, Question, Source};
use super::history::Frame;
use super::input::{Event, Key, MouseAction};
use crate::time_range::TimePoint;

/// The keys for the help: each with its meaning, below headings without one.
pub(crate) const KEYS: [(&str, &str); 30] = [
    ("Devices", ""),
    ("up down, k j", "select a device; PgUp PgDn by a page"),
    ("g G, Home End", "first and last device"),
    ("Enter, Esc", "show the selected device full screen, and return"),
    ("s S", "sort by the next or previous column"),
    ("/", "show only devices whose name matches a regular expression; Esc shows all"),
    ("f", "fold or unfold devices that are ok or idle"),
    ("t", "tree of disks and the devices stacked on them"),
    ("u", "throughput in MB/s (MiB), KB/s (KiB) or Mbit/s"),
    ("Time", ""),
    ("p, space", "pause; a recording plays or stops"),
    ("left right, h l", "back and forward by an interval; Shift by 10 s, Ctrl by a minute"),
    ("< >, , .", "back and forward by a minute, by 10 s"),
    ("[ ]", "previous and next incident"),
    ("w", "the worst interval"),
    ("b", "go to a time: 18:04, 18:04:47, 2026-11-20T18:04, -5m (before the newest interval)"),
    ("0 $", "the first interval, and the newest one"),
    ("+ -", "shorter and longer time axis"),
    ("x", "speed of a recording that plays"),
    ("Files", ""),
    ("r", "start a recording that begins with the history, or stop it"),
    ("e", "export the time shown"),
    ("Mouse", ""),
    (
        "click",
        "select a device, a time in a chart, or a title to sort by; click a device again to open its page",
    ),
    ("wheel", "scroll; in a chart, shorter and longer time axis"),
    ("Screen", ""),
    ("?", "this help"),
    ("Ctrl-L", "draw again"),
    ("Ctrl-Z", "suspend"),
    ("q, Ctrl-C", "quit"),
];

/// The most characters of a line that the user types.
const MAX_LENGTH: usize = 100;
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
            Key::Char('q') => return Some(Action::Quit),
            Key::Ctrl('c') => return Some(Action::Interrupt),
            Key::Ctrl('z') => return Some(Action::Suspend),
            Key::Ctrl('l') => return Some(Action::Redraw),
            Key::Char('?') => {
                self.page = if self.page == Page::Help { Page::List } else { Page::Help };
                self.scroll = 0;
            }
            Key::Char('r') if self.options.source == Source::Live => return Some(Action::ToggleRecording),
            Key::Char('r') => {
                self.say("only the running system can be recorded; e exports a part of a recording")
            }
            Key::Char('e') => self.prompt = Some(Prompt::new(Question::Export, "")),
            Key::Char('/') => {
                let text = self.filter.as_ref().map_or(String::new(), |(text, _)| text.clone());
                self.prompt = Some(Prompt::new(Question::Filter, &text));
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
            Key::Char('+' | '=') => self.axis.zoom(true),
            Key::Char('-') => self.axis.zoom(false),
            Key::Char('x') => self.change_speed(),
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
                self.say(if self.is_tree { "tree of devices" } else { "list of devices" });
            }
            Key::Char('u') => self.change_unit(),
            Key::Char(c) => self.say(format!("{c} has no meaning here; ? shows the keys")),
            Key::Backspace | Key::Ctrl(_) => {}
        }
        None
    }

    /// The lines of the list by which a page moves.
    fn list_page(&self) -> isize {
        self.regions.list_rows.max(2) as isize - 1
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
        let at = ORDERS.iter().position(|order| *order == self.options.sort).unwrap_or(1);
        ORDERS[(at + steps) % ORDERS.len()]
    }

    fn sort_by(&mut self, order: &'static str) {
        self.options.sort = order;
        self.say(format!("sorted by {order}"));
    }

    /// Selects the device this many lines below the selected one. On its own page, the next device is shown.
    fn select_by(&mut self, lines: isize) {
        let names = self.listed_names();
        let Some(last) = names.len().checked_sub(1) else { return };
        let at = names.iter().position(|name| self.selected.as_ref() == Some(name));
        let target = at.map_or(0, |at| (at as isize).saturating_add(lines).clamp(0, last as isize) as usize);
        self.selected = Some(names[target].clone());
        self.has_selected = true;
    }

    /// Takes a key while the user is typing a line.
    fn type_key(&mut self, key: Key) -> Option<Action> {
        let mut prompt = self.prompt.take()?;
        let export = |extension| Some(Action::Export(extension, self.shown_range()));
        match (prompt.question, key) {
            (Question::Export, Key::Char('r')) => return export("gz"),
            (Question::Export, Key::Char('h')) => return export("html"),
            (Question::Export, _) => return None,
            (Question::Time, Key::Enter) => {
                self.go_to_text(&prompt.text);
                return None;
            }
            (Question::Filter, Key::Enter) => {
                self.filter_error().into_iter().for_each(|error| self.say(error));
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
        let cursor = self.moment().and_then(Frame::end);
        let times = self.history.times();
        if let (Some(before), Some(newest)) = (point.before_end(), times.last()) {
            return self.go_to_wall(newest.saturating_sub(before).unwrap_or(*newest));
        }
        let (Some(first), Some(newest)) = (times.first().copied(), times.last().copied()) else {
            return self.say(format!("no interval at {}", text.trim()));
        };
        // As it is displayed, without fractions of a second.
        let start = Timestamp::from_second(first.as_second()).unwrap_or(first);
        let after_start = point.after_start().and_then(|after| first.checked_add(after).ok());
        let moments = after_start.into_iter().chain(point.moments_from(start, &self.options.time_zone));
        let distance = |at: &Timestamp| cursor.map(|cursor| at.duration_since(cursor).abs());
        let nearest = moments.take_while(|at| *at <= newest).min_by_key(distance);
        match nearest {
            Some(wall) => self.go_to_wall(wall),
            None => self.say(format!("no interval at {}", text.trim())),
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
                    self.cursor = self.history.at(time_s.max(0.0)).map(|moment| moment.end_s);
                }
                if let Some(device) = self.regions.device_at(row).cloned()
                    && self.page == Page::List
                {
                    let is_again = self.selected.as_ref() == Some(&device) && action == MouseAction::Press;
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
