//! The help about the table: its host line, columns, marks and verdicts.

use super::columns::COLUMNS;
use crate::analysis::Verdict;
use crate::report::layout::wrap;

/// The width of the help as plain text.
const TEXT_WIDTH: usize = 80;
const INDENT: usize = 2;

/// A topic of the help: lists of terms with their meanings, and closing remarks.
pub struct Topic {
    /// Lists, each with a heading.
    pub lists: Vec<(&'static str, Vec<(&'static str, &'static str)>)>,
    /// Paragraphs after the lists.
    pub remarks: &'static [&'static str],
}

/// The segments of the line above the devices.
const HOST_LINE: [(&str, &str); 6] = [
    ("time, length", "the end of the interval, and its measured length"),
    ("cpu", "user, system, and available, which is idle time including iowait; also steal, from 1%"),
    (
        "io",
        "share of the time in which some tasks, or all tasks with work to do, waited for I/O (PSI), without \
         asynchronous I/O (io_uring, libaio)",
    ),
    ("blocked", "tasks blocked on I/O at the end of the interval"),
    ("mem", "share of the time in which some tasks waited for memory (PSI), from 5%"),
    ("missed", "intervals or samples that were skipped, whose time is part of this interval"),
];

/// The marks in cells.
const MARKS: [(&str, &str); 4] = [
    (
        "~1.00ms",
        "an estimate: the kernel counts whole milliseconds, which is coarse for the mean of a few fast requests",
    ),
    ("<500µs", "an upper bound: these requests took less time than the kernel can count"),
    ("25%?", "implausible: the kernel's util is above its upper bound, or too low for the queue"),
    ("-", "no value: no such request completed, or there is not enough data"),
];

/// Returns the help about the lines and columns of the table.
pub fn columns() -> Topic {
    Topic {
        lists: vec![
            ("Host line", HOST_LINE.to_vec()),
            ("Columns", COLUMNS.iter().map(|column| (column.title, column.meaning)).collect()),
            ("Marks", MARKS.to_vec()),
        ],
        remarks: &[
            "Columns of discards and flushes are shown if the kernel counts them. On a terminal, the least important \
             columns are hidden if the line is too short for all of them.",
        ],
    }
}

/// Returns the help about the verdicts.
pub fn verdicts() -> Topic {
    let verdicts = Verdict::ALL.map(|verdict| (verdict.name(), verdict.meaning()));
    let unknown = ("-", "not enough data for a verdict, such as an unknown unloaded latency");
    Topic {
        lists: vec![("Verdicts, most severe first", verdicts.into_iter().chain([unknown]).collect())],
        remarks: &[
            "Unloaded latency is learned from intervals in which requests did not wait for each other. For a device \
             that has been loaded from the start, latency is compared with the mean since boot, which can show \
             trouble but never 'ok'; --baseline-ms states another latency, and --baseline takes it from a capture. The options \
             --explain and 'blkstat analyze' show the evidence for a verdict, or what is missing for one.",
            "Better, save unloaded latency in advance, with 'blkstat analyze --save-baseline /var/lib/blkstat/baseline.json'. Every \
             later live view of the host uses that file, or $XDG_STATE_HOME/blkstat/baseline.json (default ~/.local/state) \
             if it does not exist. Devices are found by WWID, serial number or UUID, not \
             by name. --no-baseline ignores these files.",
            "Every sample is assessed. In a longer interval, that is every sample of a capture, and on the running system \
             one per second or a little more often. The interval shows the worst verdict with its seconds ('capped 24s') \
             and the latest evidence for it. Samples without a verdict rank above idle ones only. \
             Averages since boot are assessed as a whole.",
        ],
    }
}

impl Topic {
    /// Returns the lists as plain text.
    pub fn lists_text(&self) -> String {
        let list =
            |(heading, terms): &(&str, Vec<(&str, &str)>)| format!("{heading}:\n{}\n", list_text(terms));
        self.lists.iter().map(list).collect()
    }

    /// Returns the remarks as plain text.
    pub fn remarks_text(&self) -> String {
        self.remarks
            .iter()
            .flat_map(|remark| wrap(remark, TEXT_WIDTH))
            .map(|line| format!("{line}\n"))
            .collect()
    }
}

/// Returns a list of terms with their meanings as plain text.
pub fn list_text(terms: &[(impl AsRef<str>, &str)]) -> String {
    let mut text = String::new();
    let term_width = terms.iter().map(|(term, _)| term.as_ref().chars().count()).max().unwrap_or(0);
    let column = INDENT + term_width + 2;
    for (term, meaning) in terms {
        let mut term = term.as_ref();
        for line in wrap(meaning, TEXT_WIDTH - column) {
            text += &format!("{:INDENT$}{term:term_width$}  {line}\n", "");
            term = "";
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_verdict_and_mark_is_explained_within_80_columns() {
        let text = [columns(), verdicts()].map(|topic| topic.lists_text() + &topic.remarks_text()).concat();
        assert!(text.lines().all(|line| line.chars().count() <= TEXT_WIDTH), "{text}");
        let titles = COLUMNS.iter().map(|column| column.title);
        let terms = titles.chain(Verdict::ALL.map(Verdict::name)).chain(MARKS.map(|(mark, _)| mark));
        for term in terms {
            assert!(text.lines().any(|line| line.trim_start().starts_with(&format!("{term} "))), "{term}");
        }
        assert!(!text.replace('\n', "").contains(char::is_control));
    }
}
