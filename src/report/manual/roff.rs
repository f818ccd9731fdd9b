//! The pages of the manual as roff, for man(1).

use pulldown_cmark::HeadingLevel;

use super::markdown::{Block, STRONG};
use super::terminal::table_text;
use super::{Page, section};

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
