//! The pages of the manual as text for terminals.

use super::Page;
use super::markdown::{Block, STRONG};
use crate::report::layout::{TextTable, text_width, wrap};

/// The indent of everything but headings.
const INDENT: usize = 2;
/// The width at which the first column of a table is broken.
const MAX_TERM_WIDTH: usize = 26;

impl Page {
    /// Returns the page as text in lines of `width` columns, as far as its blocks of code allow, with words in bold if
    /// `is_styled`.
    pub fn text(&self, width: usize, is_styled: bool) -> String {
        let title = strong(&format!("{}: {}", self.title(), self.summary)) + "\n";
        styled(&(title + &blocks_text(&self.blocks, width)), is_styled)
    }
}

/// Returns blocks with empty lines between them, but not between items of a list.
pub(super) fn blocks_text(blocks: &[Block], width: usize) -> String {
    let mut text = String::new();
    let mut was_item = false;
    for block in blocks {
        let is_item = matches!(block, Block::Item(_));
        text += if text.is_empty() || is_item && was_item { "" } else { "\n" };
        was_item = is_item;
        text += &block_text(block, width);
    }
    text
}

pub(super) fn block_text(block: &Block, width: usize) -> String {
    let mut text = String::new();
    match block {
        Block::Heading(_, words) => text = strong(words),
        Block::Paragraph(words) => push_lines("", words, width, &mut text),
        Block::Item(words) => push_lines("- ", words, width, &mut text),
        Block::Code(lines) => lines.lines().for_each(|line| push_line("    ", line, &mut text)),
        Block::Table(rows) => text = table_text(rows, width),
    }
    text
}

fn strong(words: &str) -> String {
    format!("{}{words}{}\n", STRONG[0], STRONG[1])
}

/// Returns a text with the marked words in bold, or as they are.
pub fn styled(text: &str, is_styled: bool) -> String {
    let marks = if is_styled { ["\x1b[1m", "\x1b[0m"] } else { [""; 2] };
    text.replace(STRONG[0], marks[0]).replace(STRONG[1], marks[1])
}

fn push_line(before: &str, line: &str, text: &mut String) {
    *text += format!("{:INDENT$}{before}{line}", "").trim_end();
    text.push('\n');
}

/// Appends words in lines, the first of them after `mark`.
fn push_lines(mark: &str, words: &str, width: usize, text: &mut String) {
    let mut mark = mark.to_owned();
    for line in wrap(words, width - INDENT - mark.len()) {
        push_line(&mark, &line, text);
        mark = " ".repeat(mark.len());
    }
}

/// Returns a table: side by side if it fits, or has two columns of which the first is narrow; otherwise the cells of each
/// row below its first one.
pub(super) fn table_text(rows: &[Vec<String>], width: usize) -> String {
    let Some((titles, body)) = rows.split_first() else { return String::new() };
    let columns: Vec<&str> = titles.iter().map(String::as_str).collect();
    let mut table = TextTable { indent: INDENT, ..TextTable::new(&columns, "l", body.iter().cloned()) };
    let fits = table.width() <= width;
    let terms = || rows.iter().filter_map(|row| row.first());
    let longest_word = terms().flat_map(|term| term.split(' ')).map(text_width).max().unwrap_or(0);
    let longest_term = terms().map(|term| text_width(term)).max().unwrap_or(0);
    let term_width = longest_term.min(MAX_TERM_WIDTH).max(longest_word);
    if !fits && (titles.len() > 2 || term_width > width / 2) {
        return records_text(titles, body, width);
    }
    if !fits {
        let limits = [term_width, width - INDENT - term_width - table.gap];
        let wrapped = |(cell, width): (&String, usize)| wrap(cell, width).join("\n");
        table.rows = rows.iter().map(|row| row.iter().zip(limits).map(wrapped).collect()).collect();
    }
    if titles.iter().any(String::is_empty) {
        // Lists of terms have no titles.
        table.rows.remove(0);
    }
    let mut out = Vec::new();
    table.push(&mut out);
    String::from_utf8_lossy(&out).into_owned()
}

fn records_text(titles: &[String], rows: &[Vec<String>], width: usize) -> String {
    let mut text = String::new();
    for row in rows {
        for (at, (title, cell)) in titles.iter().zip(row).enumerate() {
            let words = if at == 0 || title.is_empty() { cell.clone() } else { format!("{title}: {cell}") };
            push_lines(if at == 0 { "" } else { "    " }, &words, width, &mut text);
        }
    }
    text
}
