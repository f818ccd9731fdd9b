//! The lines of a log without what collectors of logs, `ts`, mail and Markdown put before them.

use std::borrow::Cow;

use super::first_lines::{head_line, log_start};
use super::time_form::{find_time, is_time_alone};

/// A line of a log.
pub(crate) struct LogLine<'a> {
    /// What was put before it, which may be a time.
    pub(crate) before: Cow<'a, str>,
    pub(crate) text: Cow<'a, str>,
}

impl<'a> LogLine<'a> {
    /// A line with nothing before it.
    pub(crate) fn whole(line: &'a str) -> Self {
        Self {
            before: Cow::Borrowed(""),
            text: Cow::Borrowed(line),
        }
    }

    /// Returns whether it is the first line of a log, or one with a time alone.
    pub(crate) fn is_head_or_time(&self) -> bool {
        head_line(&self.text).is_some() || is_time_alone(&self.text)
    }

    /// Returns whether there is a time in the line itself.
    pub(crate) fn has_time(&self) -> bool {
        find_time(&self.text).is_some()
    }
}

/// What stands before each line of a log.
#[derive(Clone, Default)]
pub(crate) struct LogLines {
    /// The number of words; `None` while it is not known.
    words: Option<usize>,
    /// The blanks before them, and behind them.
    indent: usize,
    gap: usize,
    /// The name of the program at its end, with a colon: lines of other programs may be between.
    program: Option<String>,
}

impl LogLines {
    /// Looks at a line: one with which a log begins shows what stands before each.
    pub(crate) fn learn(&mut self, line: &str) {
        let line = without_glue(line);
        let Some(start) = log_start(&line).filter(|start| *start > 0) else {
            return;
        };
        if self.words.is_some() {
            return;
        }
        let words: Vec<&str> = line[..start].split_whitespace().collect();
        self.words = Some(words.len());
        self.indent = line.len() - line.trim_start().len();
        self.gap = start - line[..start].trim_end().len();
        if let Some(last) = words.last().filter(|word| word.ends_with(':')) {
            self.program = Some((*last).to_owned());
        }
    }

    /// Returns a line and what was before it; `None` if it is of another program.
    pub(crate) fn split<'a>(&self, line: &'a str) -> Option<LogLine<'a>> {
        let line = without_glue(line);
        // A logger that adds times to the tables may leave out the first line.
        let is_bare = self.words.is_none() || head_line(&line).is_some();
        if is_bare {
            return Some(LogLine {
                before: Cow::Borrowed(""),
                text: line,
            });
        }
        let start = self.start(&line)?;
        Some(match line {
            Cow::Borrowed(line) => LogLine {
                before: Cow::Borrowed(&line[..start]),
                text: Cow::Borrowed(&line[start..]),
            },
            Cow::Owned(line) => LogLine {
                before: Cow::Owned(line[..start].to_owned()),
                text: Cow::Owned(line[start..].to_owned()),
            },
        })
    }

    /// Returns where a line itself begins; `None` if it is of another program.
    fn start(&self, line: &str) -> Option<usize> {
        let words = self.words.unwrap_or(0);
        if words == 0 {
            return Some(blanks(line, self.indent));
        }
        let (mut rest, mut last) = (line, "");
        for _ in 0..words {
            rest = rest.trim_start();
            (last, rest) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
        }
        let is_of_log =
            !last.is_empty() && self.program.as_ref().is_none_or(|program| program == last);
        is_of_log.then_some(line.len() - rest.len() + blanks(rest, self.gap))
    }
}

/// Returns where the blanks at the beginning of a text end, of which so many bytes are looked at.
fn blanks(text: &str, most: usize) -> usize {
    let rest = text.trim_start_matches(char::is_whitespace);
    let mut end = (text.len() - rest.len()).min(most);
    while !text.is_char_boundary(end) {
        end += 1;
    }
    end
}

/// Parts a time in brackets from the word to which a logger has glued it: `[18:01:12]Device`.
fn without_glue(line: &str) -> Cow<'_, str> {
    if let Some((time, rest)) = line.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        && rest.starts_with(|c: char| !c.is_whitespace())
        && find_time(time).is_some()
    {
        return Cow::Owned(format!("[{time}] {rest}"));
    }
    Cow::Borrowed(line)
}
