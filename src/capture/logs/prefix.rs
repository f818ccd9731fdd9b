//! Prefixes that collectors of logs put before each line.

use super::{head_line, iostat};

/// The words before each line of a log, as `ts` and collectors of logs add them.
pub(super) struct Prefix {
    words: usize,
    /// The name of the program at its end, with a colon: lines of other programs may be between.
    program: Option<String>,
}

impl Prefix {
    /// Returns the prefix of a line that begins a log of sysstat; `None` for other lines, and without a prefix.
    pub(super) fn before_first_line(line: &str) -> Option<Self> {
        let begins = |rest: &&str| {
            ["avg-cpu: ", "# hostname;", "{\"sysstat\""].iter().any(|first| rest.starts_with(first))
                || head_line(rest).is_some() && rest.trim_end().ends_with(" CPU)")
                || rest.starts_with("Device")
                    && iostat::header(&rest.split_whitespace().collect::<Vec<_>>()).is_some()
        };
        let starts = line.match_indices([' ', '\t']).map(|(at, _)| at + 1);
        let at = starts.take(MAX_PREFIX_WORDS).find(|at| begins(&&line[*at..]))?;
        let words = line[..at].split_whitespace();
        let program = words.clone().last().filter(|word| word.ends_with(':')).map(str::to_owned);
        Some(Self { words: words.count(), program })
    }

    /// Splits a line into its prefix and the line of the log; `None` if it is of another program.
    pub(super) fn split<'a>(&self, line: &'a str) -> Option<(&'a str, &'a str)> {
        let (mut rest, mut last) = (line, "");
        for _ in 0..self.words {
            rest = rest.trim_start();
            (last, rest) = rest.split_at(rest.find(char::is_whitespace).unwrap_or(rest.len()));
        }
        let is_of_log = !last.is_empty() && self.program.as_ref().is_none_or(|program| program == last);
        let mut text = rest.chars();
        text.next();
        is_of_log.then(|| (&line[..line.len() - rest.len()], text.as_str()))
    }
}

/// A prefix is in the first words of a line; the spaces between them count, too.
const MAX_PREFIX_WORDS: usize = 16;
