//! The pages of the manual as text for terminals, and as roff for man(1).

use pulldown_cmark::HeadingLevel;

use super::{Block, Page, STRONG, section};
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

/// The width of tables, which man indents by 7 columns.
const TABLE_WIDTH: usize = 73;

impl Page {
    /// Returns the page as roff.
    pub fn roff(&self) -> String {
        let name = self.file_name();
        let name = name.rsplit_once('.').map_or(name.as_str(), |(name, _)| name);
        let mut text = format!(
            ".TH \"{name}\" \"{}\" \"\" \"blkstat {}\" \"blkstat manual\"\n.SH NAME\n{} \\- {}\n",
            section(self.name),
            env!("CARGO_PKG_VERSION"),
            escape(name),
            escape(&self.summary),
        );
        if !matches!(self.blocks.first(), Some(Block::Heading(..))) {
            text += ".SH DESCRIPTION\n";
        }
        for block in &self.blocks {
            text += &match block {
                Block::Heading(HeadingLevel::H2, words) => format!(".SH {}\n", heading(words).to_uppercase()),
                Block::Heading(_, words) => format!(".SS {}\n", heading(words)),
                Block::Paragraph(words) => format!(".PP\n{}\n", line(words)),
                Block::Item(words) => format!(".IP \\(bu 2\n{}\n", line(words)),
                Block::Code(lines) => example(lines),
                Block::Table(rows) => table(rows),
            };
        }
        let others: Vec<String> =
            self.see_also.iter().map(|page| format!("\\fB{}\\fR", escape(page))).collect();
        if !others.is_empty() {
            text += &format!(".SH SEE ALSO\n{}\n", others.join(", "));
        }
        text
    }
}

fn table(rows: &[Vec<String>]) -> String {
    let Some((titles, body)) = rows.split_first() else { return String::new() };
    let drawn = table_text(rows, TABLE_WIDTH);
    let is_list = titles.iter().any(String::is_empty);
    let is_side_by_side = drawn.lines().count() == body.len() + 1;
    if !is_list && is_side_by_side {
        return example(&drawn.replace(STRONG, ""));
    }
    let item = |row: &Vec<String>| {
        let cells = titles.iter().zip(row).skip(1).map(|(title, cell)| {
            let title =
                if title.is_empty() || titles.len() == 2 { String::new() } else { format!("{title}: ") };
            line(&(title + cell))
        });
        format!(".TP\n{}\n{}\n", line(&row[0]), cells.collect::<Vec<_>>().join("\n.br\n"))
    };
    body.iter().map(item).collect()
}

fn example(lines: &str) -> String {
    format!(".PP\n.EX\n{}\n.EE\n", lines.trim_end().lines().map(line).collect::<Vec<_>>().join("\n"))
}

/// Returns the words of a heading, without what is marked in them.
fn heading(words: &str) -> String {
    format!("\"{}\"", escape(&words.replace(STRONG, "")).replace('"', "\\(dq"))
}

/// Returns a line of text, which cannot be taken for a request.
fn line(words: &str) -> String {
    let text = escape(words);
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text }
}

/// Escapes what has a meaning in roff. Characters that groff reads only after a conversion, such as ≤, become groff's
/// names for them.
fn escape(words: &str) -> String {
    let mut text = String::new();
    for c in words.chars() {
        match c {
            '\\' => text += "\\e",
            '-' => text += "\\-",
            _ if c == STRONG[0] => text += "\\fB",
            _ if c == STRONG[1] => text += "\\fR",
            c if c.is_ascii() => text.push(c),
            c => text += &format!("\\[u{:04X}]", u32::from(c)),
        }
    }
    text
}
