//! A line that the user types.

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

impl Prompt {
    /// Creates a line with an initial text.
    pub(crate) fn new(question: Question, text: &str) -> Self {
        Self { question, text: text.to_owned(), before: text.to_owned() }
    }
}
