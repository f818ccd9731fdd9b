//! A line that the user types.

use super::input::Key;

/// The question that the line answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Question {
    Filter,
    /// A time to go to.
    Time,
    /// The kind of an export: a single key.
    Export,
}

/// A line that is being typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Prompt {
    pub(crate) question: Question,
    pub(crate) text: String,
    /// The text before, which Esc restores.
    pub(crate) before: String,
}

/// The effect of a key on the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Typed {
    /// The user is still typing.
    Going,
    Done,
    Cancelled,
}

const MAX_LENGTH: usize = 100;

impl Prompt {
    /// Creates a line with an initial text.
    pub(crate) fn new(question: Question, text: &str) -> Self {
        Self { question, text: text.to_owned(), before: text.to_owned() }
    }

    pub(crate) fn press(&mut self, key: Key) -> Typed {
        match key {
            Key::Enter => return Typed::Done,
            Key::Esc | Key::Ctrl('c' | 'g') => return Typed::Cancelled,
            Key::Backspace if self.text.is_empty() => return Typed::Cancelled,
            Key::Backspace => drop(self.text.pop()),
            Key::Ctrl('u') => self.text.clear(),
            Key::Char(c) if self.text.chars().count() < MAX_LENGTH => self.text.push(c),
            _ => {}
        }
        Typed::Going
    }
}
