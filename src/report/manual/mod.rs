//! The manual: pages in plain Markdown, below src/manual, into which the program puts what it knows itself, such as the
//! descriptions of columns.

use std::cmp::Reverse;
use std::mem::take;

use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag, TagEnd};

use super::{json_csv, native, prometheus, who};
use crate::counters::FACTS;
use crate::report::layout::{TextTable, text_width, wrap};

/// Names with their meanings.
pub type Terms = Vec<(String, String)>;

macro_rules! pages {
    ($($name:literal)*) => { [$(($name, include_str!(concat!("../../manual/", $name, ".md")))),*] };
}

/// The pages of commands: the first that of the program. Each begins with a line `# NAME: SUMMARY`.
const COMMANDS: [(&str, &str); 13] = pages![
    "blkstat" "top" "who" "latency" "record" "analyze" "report" "export" "devices" "service" "iostat" "pt-diskstats"
    "help"
];
/// The pages of topics. A word is looked up in the first of them first.
const TOPICS: [(&str, &str); 11] = pages![
    "columns" "verdicts" "faq" "baselines" "json" "pipelines" "recordings" "files" "prometheus" "formulas"
    "performance"
];

/// Returns the names of the topics.
pub fn topics() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().map(|(name, _)| *name)
}

/// A page of the manual.
pub struct Page {
    name: &'static str,
    summary: String,
    blocks: Vec<Block>,
    /// The files of the pages that it links to, without their endings: `blkstat-top(1)`.
    see_also: Vec<String>,
}

/// Returns the names of all pages, those of commands first.
pub fn names() -> impl Iterator<Item = &'static str> {
    COMMANDS.iter().chain(&TOPICS).map(|(name, _)| *name)
}

/// Returns a page; `None` if there is none of this name. `inserted` returns what the page does not contain: a table for
/// its name, as in a line `{{options}}`.
pub fn page(name: &str, inserted: &dyn Fn(&str) -> Option<Terms>) -> Option<Page> {
    let (name, source) = COMMANDS
        .iter()
        .chain(&TOPICS)
        .find(|(known, _)| *known == name)?;
    let (title, text) = source.split_once('\n')?;
    let (mut blocks, links) = parse(text);
    for block in &mut blocks {
        if let Block::Paragraph(words) = block
            && let Some(table) = words
                .strip_prefix("{{")
                .and_then(|rest| rest.strip_suffix("}}"))
        {
            let terms = match own_table(table) {
                Some(terms) => terms,
                None => inserted(table).unwrap_or_default(),
            };
            *block = Block::Table(with_titles(terms));
        }
    }
    let mut see_also: Vec<String> = Vec::new();
    for link in links {
        let page = format!("{}({})", base_name(&link), section(&link));
        let is_other = link != *name && names().any(|name| name == link);
        if is_other && !see_also.contains(&page) {
            see_also.push(page);
        }
    }
    Some(Page {
        name,
        summary: title.split_once(": ")?.1.to_owned(),
        blocks,
        see_also,
    })
}

/// Returns what the pages say of a name, as text in lines of `width` columns, with the page that each is from: the rows
/// of tables about it, such as those of a column, field or option. If there are none: the sections with this title, else
/// the paragraphs with this word, else every paragraph and row with words that begin with it.
pub fn find_term(term: &str, mut pages: Vec<Page>, width: usize) -> Vec<(String, &'static str)> {
    pages.sort_by_key(|page| Reverse(section(page.name)));
    for is_about in [is_name, has_word] {
        let found = matching_parts(&pages, width, |block| {
            matching_rows(block, |row| is_about(&row[0], term))
        });
        if !found.is_empty() {
            return found;
        }
    }
    for is_wanted in [str::eq_ignore_ascii_case, has_word] {
        let mut found = Vec::new();
        for page in &pages {
            for blocks in sections(&page.blocks, |title| is_wanted(title, term)) {
                found.push((blocks_text(blocks, width), page.name));
            }
        }
        if !found.is_empty() {
            return found;
        }
    }
    let sentences = matching_parts(&pages, width, |block| {
        matching_text(block, |words| has_word(words, term))
    });
    if !sentences.is_empty() {
        return sentences;
    }
    let beginning = format!(" {}", term.to_lowercase());
    let mut found = matching_parts(&pages, width, |block| {
        matching_text(block, |words| words.to_lowercase().contains(&beginning))
    });
    found.extend(matching_parts(&pages, width, |block| {
        // No cell contains the end of a line.
        matching_rows(block, |row| {
            row.join("\n").to_lowercase().contains(&beginning)
        })
    }));
    found
}

/// Returns the parts of blocks that `part` returns, as text with the pages that they are from.
fn matching_parts(
    pages: &[Page],
    width: usize,
    part: impl Fn(&Block) -> Option<Block>,
) -> Vec<(String, &'static str)> {
    let mut found = Vec::new();
    for page in pages {
        for block in &page.blocks {
            if let Some(matching) = part(block) {
                found.push((block_text(&matching, width), page.name));
            }
        }
    }
    found
}

/// Returns the rows of a table that are about something, below its titles; `None` without any.
fn matching_rows(block: &Block, is_about: impl Fn(&[String]) -> bool) -> Option<Block> {
    let Block::Table(rows) = block else {
        return None;
    };
    let (titles, body) = rows.split_first()?;
    let mut matching = vec![titles.clone()];
    for row in body {
        if is_about(row) {
            matching.push(row.clone());
        }
    }
    if matching.len() == 1 {
        return None;
    }
    Some(Block::Table(matching))
}

/// Returns a paragraph or an item if it is about something.
fn matching_text(block: &Block, is_about: impl Fn(&str) -> bool) -> Option<Block> {
    match block {
        Block::Paragraph(words) | Block::Item(words) if is_about(words) => Some(block.clone()),
        _ => None,
    }
}

/// Returns the sections whose title is wanted, without the title.
fn sections(blocks: &[Block], is_wanted: impl Fn(&str) -> bool) -> Vec<&[Block]> {
    let mut found = Vec::new();
    let mut begin = 0;
    for section in blocks.split(|block| matches!(block, Block::Heading(..))) {
        if (1..blocks.len()).contains(&begin)
            && let Block::Heading(_, title) = &blocks[begin - 1]
            && is_wanted(title)
        {
            found.push(section);
        }
        begin += section.len() + 1;
    }
    found
}

/// Returns whether a cell with names, such as `queue` or `--begin T, --end T`, has this one.
fn is_name(cell: &str, term: &str) -> bool {
    for name in cell.replace(STRONG, "").split(", ") {
        let first = name.split(' ').next().unwrap_or_default();
        for form in [name, first, first.trim_start_matches('-')] {
            if form.eq_ignore_ascii_case(term) {
                return true;
            }
        }
    }
    false
}

fn has_word(text: &str, word: &str) -> bool {
    for part in text.replace(STRONG, "").split([' ', ',']) {
        let one = part.trim_matches(['.', ':', ';', '(', ')', '"']);
        if one.eq_ignore_ascii_case(word) || one.trim_start_matches('-').eq_ignore_ascii_case(word)
        {
            return true;
        }
    }
    false
}

/// Returns the verdicts with their meanings, the most severe first, and `-` for none.
pub fn verdict_meanings() -> Terms {
    let mut terms = Terms::new();
    let Some(page) = page("verdicts", &|_| None) else {
        return terms;
    };
    let mut blocks = page.blocks.iter();
    if let Some(Block::Table(rows)) = blocks.find(|block| matches!(block, Block::Table(_))) {
        for row in &rows[1..] {
            terms.push((row[0].replace(STRONG, ""), row[1].replace(STRONG, "")));
        }
    }
    terms
}

fn section(name: &str) -> u8 {
    if COMMANDS.iter().any(|(command, _)| *command == name) {
        1
    } else {
        7
    }
}

fn base_name(name: &str) -> String {
    if name == "blkstat" {
        name.to_owned()
    } else {
        format!("blkstat-{name}")
    }
}

fn with_titles(terms: Terms) -> Vec<Vec<String>> {
    let mut rows = vec![vec![String::new(); 2]];
    for (name, meaning) in terms {
        let mut strong = String::new();
        push_strong(&name, &mut strong);
        rows.push(vec![strong, meaning]);
    }
    rows
}

/// Returns a table of what is printed by other modules of this one.
fn own_table(name: &str) -> Option<Terms> {
    Some(match name {
        "columns" => native::columns_with_meanings(),
        "fields" => owned(json_csv::fields()),
        "who" => owned(who::fields()),
        "metrics" => owned(prometheus::metrics()),
        "health" => owned(FACTS.iter().map(|fact| (fact.name, fact.meaning))),
        _ => return None,
    })
}

fn owned(terms: impl Iterator<Item = (&'static str, &'static str)>) -> Terms {
    terms
        .map(|(name, meaning)| (name.to_owned(), meaning.to_owned()))
        .collect()
}

impl Page {
    /// Puts the ways to call the command before what is said of it.
    #[must_use]
    pub fn with_synopsis(mut self, usage: String) -> Self {
        let head = [
            Block::Heading(HeadingLevel::H2, "Synopsis".to_owned()),
            Block::Code(usage),
            Block::Heading(HeadingLevel::H2, "Description".to_owned()),
        ];
        self.blocks.splice(..0, head);
        self
    }

    /// The name of the file that man(1) looks for, without a directory.
    pub fn file_name(&self) -> String {
        format!("{}.{}", base_name(self.name), section(self.name))
    }

    fn title(&self) -> String {
        match self.name {
            "blkstat" => "blkstat".to_owned(),
            name if section(name) == 1 => format!("blkstat {name}"),
            name => name.to_owned(),
        }
    }
}

/// What begins and ends a word that is emphasized or a piece of code, in a text. Neither takes space on a terminal.
const STRONG: [char; 2] = ['\u{2060}', '\u{2061}'];

/// A part of a page.
#[derive(Clone, Debug, PartialEq)]
enum Block {
    Heading(HeadingLevel, String),
    Paragraph(String),
    /// An item of a list.
    Item(String),
    Code(String),
    /// Rows of cells, the first with the titles of the columns.
    Table(Vec<Vec<String>>),
}

/// Returns the blocks of a text, and the names of the pages that it links to.
fn parse(source: &str) -> (Vec<Block>, Vec<String>) {
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
                if let Some(row) = rows.last_mut() {
                    row.push(take(&mut text));
                }
            }
            Event::End(TagEnd::Table) => blocks.push(Block::Table(take(&mut rows))),
            Event::End(TagEnd::Heading(level)) => {
                blocks.push(Block::Heading(level, take(&mut text)));
            }
            Event::End(TagEnd::CodeBlock) => blocks.push(Block::Code(take(&mut text))),
            Event::Start(Tag::Item) => is_item = true,
            Event::End(TagEnd::Item) => {
                is_item = false;
                blocks.push(Block::Item(take(&mut text)));
            }
            // Items of a list with blank lines are paragraphs.
            Event::End(TagEnd::Paragraph) if is_item => {}
            Event::End(TagEnd::Paragraph) => blocks.push(Block::Paragraph(take(&mut text))),
            _ => {}
        }
    }
    (blocks, pages)
}

/// Appends words, each of them marked, so that a text can be broken between them.
fn push_strong(words: &str, text: &mut String) {
    for (at, word) in words.split(' ').enumerate() {
        let blank = if at > 0 { " " } else { "" };
        *text += &format!("{blank}{}{word}{}", STRONG[0], STRONG[1]);
    }
}

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
fn blocks_text(blocks: &[Block], width: usize) -> String {
    let mut text = String::new();
    let mut was_item = false;
    for block in blocks {
        let is_item = matches!(block, Block::Item(_));
        text += if text.is_empty() || is_item && was_item {
            ""
        } else {
            "\n"
        };
        was_item = is_item;
        text += &block_text(block, width);
    }
    text
}

fn block_text(block: &Block, width: usize) -> String {
    let mut text = String::new();
    match block {
        Block::Heading(_, words) => text = strong(words),
        Block::Paragraph(words) => push_lines("", words, width, &mut text),
        Block::Item(words) => push_lines("- ", words, width, &mut text),
        Block::Code(lines) => {
            for line in lines.lines() {
                push_line("    ", line, &mut text);
            }
        }
        Block::Table(rows) => text = table_text(rows, width),
    }
    text
}

fn strong(words: &str) -> String {
    format!("{}{words}{}\n", STRONG[0], STRONG[1])
}

/// Returns a text with the marked words in bold, or as they are.
pub fn styled(text: &str, is_styled: bool) -> String {
    let marks = if is_styled {
        ["\x1b[1m", "\x1b[0m"]
    } else {
        [""; 2]
    };
    text.replace(STRONG[0], marks[0])
        .replace(STRONG[1], marks[1])
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
fn table_text(rows: &[Vec<String>], width: usize) -> String {
    let Some((titles, body)) = rows.split_first() else {
        return String::new();
    };
    let columns: Vec<&str> = titles.iter().map(String::as_str).collect();
    let mut table = TextTable {
        indent: INDENT,
        ..TextTable::new(&columns, "l", body.iter().cloned())
    };
    let fits = table.width() <= width;
    let (mut longest_word, mut longest_term) = (0, 0);
    for term in rows.iter().filter_map(|row| row.first()) {
        longest_term = longest_term.max(text_width(term));
        for word in term.split(' ') {
            longest_word = longest_word.max(text_width(word));
        }
    }
    let term_width = longest_term.min(MAX_TERM_WIDTH).max(longest_word);
    if !fits && (titles.len() > 2 || term_width > width / 2) {
        return records_text(titles, body, width);
    }
    if !fits {
        let limits = [term_width, width - INDENT - term_width - table.gap];
        for row in &mut table.rows {
            for (cell, limit) in std::iter::zip(row, limits) {
                *cell = wrap(cell, limit).join("\n");
            }
        }
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
            let words = if at == 0 || title.is_empty() {
                cell.clone()
            } else {
                format!("{title}: {cell}")
            };
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
        let name = base_name(self.name);
        let mut text = format!(
            ".TH \"{name}\" \"{}\" \"\" \"blkstat {}\" \"blkstat manual\"\n.SH NAME\n{} \\- {}\n",
            section(self.name),
            env!("CARGO_PKG_VERSION"),
            escape(&name),
            escape(&self.summary),
        );
        if !matches!(self.blocks.first(), Some(Block::Heading(..))) {
            text += ".SH DESCRIPTION\n";
        }
        for block in &self.blocks {
            text += &match block {
                Block::Heading(HeadingLevel::H2, words) => {
                    format!(".SH {}\n", heading(words).to_uppercase())
                }
                Block::Heading(_, words) => format!(".SS {}\n", heading(words)),
                Block::Paragraph(words) => format!(".PP\n{}\n", line(words)),
                Block::Item(words) => format!(".IP \\(bu 2\n{}\n", line(words)),
                Block::Code(lines) => example(lines),
                Block::Table(rows) => table(rows),
            };
        }
        let mut others = Vec::new();
        for page in &self.see_also {
            others.push(format!("\\fB{}\\fR", escape(page)));
        }
        if !others.is_empty() {
            text += &format!(".SH SEE ALSO\n{}\n", others.join(", "));
        }
        text
    }
}

fn table(rows: &[Vec<String>]) -> String {
    let Some((titles, body)) = rows.split_first() else {
        return String::new();
    };
    let drawn = table_text(rows, TABLE_WIDTH);
    let is_list = titles.iter().any(String::is_empty);
    let is_side_by_side = drawn.lines().count() == body.len() + 1;
    if !is_list && is_side_by_side {
        return example(&drawn.replace(STRONG, ""));
    }
    let mut text = String::new();
    for row in body {
        let mut cells = Vec::new();
        for (title, cell) in titles.iter().zip(row).skip(1) {
            let has_title = !title.is_empty() && titles.len() > 2;
            let title = match has_title {
                true => format!("{title}: "),
                false => String::new(),
            };
            cells.push(line(&(title + cell)));
        }
        text += &format!(".TP\n{}\n{}\n", line(&row[0]), cells.join("\n.br\n"));
    }
    text
}

fn example(lines: &str) -> String {
    let lines: Vec<String> = lines.trim_end().lines().map(line).collect();
    format!(".PP\n.EX\n{}\n.EE\n", lines.join("\n"))
}

/// Returns the words of a heading, without what is marked in them.
fn heading(words: &str) -> String {
    let text = escape(&words.replace(STRONG, ""));
    format!("\"{}\"", text.replace('"', "\\(dq"))
}

/// Returns a line of text, which cannot be taken for a request.
fn line(words: &str) -> String {
    let text = escape(words);
    if text.starts_with(['.', '\'']) {
        format!("\\&{text}")
    } else {
        text
    }
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

#[cfg(test)]
mod mod_tests {
    use super::*;
    use crate::judge::Verdict;

    fn pages() -> impl Iterator<Item = Page> {
        names().map(|name| {
            page(name, &|_| {
                Some(vec![("term".to_owned(), "meaning".to_owned())])
            })
            .unwrap()
        })
    }

    #[test]
    fn every_page_is_complete_and_within_80_columns() {
        for page in pages() {
            let text = page.text(80, false);
            assert!(!text.contains("{{") && !text.contains("\n\n\n"), "{text}");
            let is_text = |line: &&str| !line.starts_with("      ");
            let longest = text
                .lines()
                .filter(is_text)
                .max_by_key(|line| line.chars().count())
                .unwrap();
            assert!(longest.chars().count() <= 80, "{}: {longest}", page.name);
            assert!(
                !text.replace('\n', "").contains(char::is_control),
                "{}",
                page.name
            );
        }
        assert!(page("nosuch", &|_| None).is_none());
    }

    #[test]
    fn roff_is_ascii_and_names_the_pages_that_are_linked() {
        for page in pages() {
            let roff = page.roff();
            assert!(
                roff.is_ascii() && roff.starts_with(".TH ") && !roff.contains("{{"),
                "{roff}"
            );
            let is_request = |line: &str| line.starts_with(['.', '\'']);
            let known = [
                ".TH", ".SH", ".SS", ".PP", ".IP", ".TP", ".EX", ".EE", ".br",
            ];
            let stray = roff
                .lines()
                .find(|line| is_request(line) && !known.iter().any(|name| line.starts_with(name)));
            assert_eq!(stray, None, "{}", page.name);
        }
        let roff = page("verdicts", &|_| None).unwrap().roff();
        assert!(roff.contains("blkstat\\-baselines(7)"), "{roff}");
    }

    #[test]
    fn every_field_column_and_metric_has_a_meaning() {
        for table in ["columns", "fields", "who", "metrics", "health"] {
            let terms = own_table(table).unwrap();
            assert!(
                terms.len() > 20 && terms.iter().all(|(_, meaning)| !meaning.is_empty()),
                "{table}"
            );
        }
    }

    #[test]
    fn the_verdicts_are_those_of_the_program() {
        let meanings = verdict_meanings();
        let named: Vec<&str> = meanings.iter().map(|(name, _)| name.as_str()).collect();
        let mut expected: Vec<&str> = Verdict::ALL.iter().map(|verdict| verdict.name()).collect();
        expected.push("-");
        assert_eq!(named, expected);
    }

    #[test]
    fn a_name_is_found_on_the_pages_with_its_meaning() {
        let found = find_term("R_sat", pages().collect(), 80);
        assert!(
            found
                .iter()
                .any(|(text, page)| *page == "columns" && text.contains("saturation")),
            "{found:?}"
        );
        // A word that no table is about is found in sentences.
        let found = find_term("null", pages().collect(), 80);
        assert!(
            found
                .iter()
                .any(|(text, page)| *page == "json" && text.contains("never 0")),
            "{found:?}"
        );
        let found = find_term("exit status", pages().collect(), 80);
        let [(text, "blkstat")] = &*found else {
            panic!("{found:?}")
        };
        assert!(
            text.contains("usage error") && text.ends_with("originals.\n"),
            "{text}"
        );
        // Other tools' names, options without their dashes, several words, and the beginning of one.
        for (term, page, expected) in [
            ("svctm", "columns", "no service time"),
            ("rotate", "record", "new file"),
            ("kernel log", "verdicts", "dmesg"),
            ("compress", "recordings", "ompress"),
        ] {
            let found = find_term(term, pages().collect(), 80);
            assert!(
                found
                    .iter()
                    .any(|(text, of)| *of == page && text.contains(expected)),
                "{term}: {found:?}"
            );
        }
        assert_eq!(find_term("nosuch", pages().collect(), 80), []);
    }
}

#[cfg(test)]
mod markdown_tests {
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
