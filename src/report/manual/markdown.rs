//! The Markdown of the manual's pages: headings, paragraphs, lists of one level, tables and blocks of code.

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

/// What begins and ends a word that is emphasized or a piece of code, in a text. Neither takes space on a terminal.
pub(super) const STRONG: [char; 2] = ['\u{2060}', '\u{2061}'];

/// A part of a page.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Block {
    Heading(HeadingLevel, String),
    Paragraph(String),
    /// An item of a list.
    Item(String),
    Code(String),
    /// Rows of cells, the first with the titles of the columns.
    Table(Vec<Vec<String>>),
}

/// Returns the blocks of a text, and the names of the pages that it links to.
pub(super) fn parse(source: &str) -> (Vec<Block>, Vec<String>) {
    let (mut blocks, mut pages) = (Vec::new(), Vec::new());
    let mut text = String::new();
    let mut rows: Vec<Vec<String>> = Vec::new();
    let (mut is_strong, mut is_item) = (false, false);
    for event in Parser::new_ext(source, Options::ENABLE_TABLES) {
        match event {
            Event::Text(words) if is_strong => push_strong(&words, &mut text),
            Event::Text(words) => text += &words,
            Event::Code(words) => push_strong(&words, &mut text),
            Event::SoftBreak | Event::HardBreak => text.push(' '),
            Event::Start(Tag::Strong) => is_strong = true,
            Event::End(TagEnd::Strong) => is_strong = false,
            Event::Start(Tag::Link { dest_url, .. }) => {
                let file = dest_url.split('#').next().unwrap_or_default();
                pages.extend(file.strip_suffix(".md").map(str::to_owned));
            }
            Event::Start(Tag::Table(_)) => rows.clear(),
            Event::Start(Tag::TableHead | Tag::TableRow) => rows.push(Vec::new()),
            Event::End(TagEnd::TableCell) => {
                rows.last_mut().into_iter().for_each(|row| row.push(std::mem::take(&mut text)));
            }
            Event::End(TagEnd::Table) => blocks.push(Block::Table(std::mem::take(&mut rows))),
            Event::End(TagEnd::Heading(level)) => {
                blocks.push(Block::Heading(level, std::mem::take(&mut text)));
            }
            Event::End(TagEnd::CodeBlock) => blocks.push(Block::Code(std::mem::take(&mut text))),
            Event::Start(Tag::Item) => is_item = true,
            Event::End(TagEnd::Item) => {
                is_item = false;
                blocks.push(Block::Item(std::mem::take(&mut text)));
            }
            // Items of a list with blank lines are paragraphs.
            Event::End(TagEnd::Paragraph) if is_item => {}
            Event::End(TagEnd::Paragraph) => blocks.push(Block::Paragraph(std::mem::take(&mut text))),
            _ => {}
        }
    }
    (blocks, pages)
}

/// Appends words, each of them marked, so that a text can be broken between them.
fn push_strong(words: &str, text: &mut String) {
    for (at, word) in words.split(' ').enumerate() {
        text.push_str(if at > 0 { " " } else { "" });
        text.extend([STRONG[0]].into_iter().chain(word.chars()).chain([STRONG[1]]));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_block_is_read() {
        let source = "# a `b c`\n\ntext\n**more** [on](topic.md#x)\n\n- one\n- two\n  lines\n\nThen:\n\n    $ code\n\n\
                      | t | m |\n| --- | --- |\n| `x\\|y` | z |\n";
        let (blocks, pages) = parse(source);
        let text = |text: &str| text.replace('<', "\u{2060}").replace('>', "\u{2061}");
        let row = |cells: [&str; 2]| cells.map(text).to_vec();
        assert_eq!(
            blocks,
            [
                Block::Heading(HeadingLevel::H1, text("a <b> <c>")),
                Block::Paragraph(text("text <more> on")),
                Block::Item("one".to_owned()),
                Block::Item("two lines".to_owned()),
                Block::Paragraph("Then:".to_owned()),
                Block::Code("$ code\n".to_owned()),
                Block::Table(vec![row(["t", "m"]), row(["<x|y>", "z"])]),
            ]
        );
        assert_eq!(pages, ["topic"]);
    }
}
