//! The manual: pages in Markdown below src/manual, which a terminal shows as they are, in lines of its width.

use super::{json_csv, native, prometheus};
use crate::counters::FACTS;
use crate::judge::Verdict;
use crate::quantities::verdict_meaning;
use crate::report::layout::push_lines;

/// Names with their meanings.
type Terms = Vec<(String, String)>;

macro_rules! pages {
    ($($name:literal)*) => { [$(($name, include_str!(concat!("../manual/", $name, ".md")))),*] };
}

/// The pages, with their names. Each begins with a line `# NAME: SUMMARY`.
const PAGES: [(&str, &str); 24] = pages![
    "columns" "verdicts" "incidents" "faq" "baselines" "json" "pipelines" "recordings" "prometheus" "formulas"
    "performance" "blkstat" "top" "who" "latency" "record" "analyze" "report" "export" "devices" "service"
    "iostat" "pt-diskstats" "help"
];

/// Returns the names of all pages.
pub fn names() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|(name, _)| *name)
}

/// Returns a page as text in lines of `width` columns; `None` if there is none of this name.
pub fn page(name: &str, width: usize) -> Option<String> {
    let (_, source) = PAGES.iter().find(|(known, _)| *known == name)?;
    let mut text = Vec::new();
    for block in blocks(source) {
        push_block(&block, width, &mut text);
    }
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Returns the items of all pages that explain one of these names, such as those of a column and its field, below the
/// headings of their sections, with the page; empty if none does.
pub fn explain(names: &[&str], width: usize) -> String {
    let mut text = Vec::new();
    for (page, source) in PAGES {
        let length = text.len();
        let mut section = String::new();
        for block in blocks(source) {
            if block.starts_with("## ") {
                section = block + "\n";
            } else if names.iter().any(|name| is_about(&block, name)) {
                if !section.is_empty() && text.len() > length {
                    text.push(b'\n');
                }
                text.extend_from_slice(section.as_bytes());
                section.clear();
                push_block(&block, width, &mut text);
            }
        }
        if text.len() > length {
            text.extend_from_slice(format!("  (blkstat help {page})\n\n").as_bytes());
        }
    }
    text.pop();
    String::from_utf8_lossy(&text).into_owned()
}

/// Returns whether a block is an item about a name: `- name, NAME: meaning`, each name in backticks.
fn is_about(block: &str, name: &str) -> bool {
    let Some((term, _)) = block
        .strip_prefix("- `")
        .and_then(|item| item.split_once("`: "))
    else {
        return false;
    };
    term.split("`, `").any(|one| one.eq_ignore_ascii_case(name))
}

/// Returns the headings, items, paragraphs and lines of code of a page, each as one line, without the targets of links. A line
/// such as `{{[columns](FILE)}}` becomes the items of this list.
fn blocks(source: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut is_text = false;
    for line in source.lines() {
        if let Some((list, _)) = line
            .strip_prefix("{{[")
            .and_then(|rest| rest.split_once(']'))
        {
            for (name, meaning) in terms(list) {
                blocks.push(format!("- `{name}`: {meaning}"));
            }
            continue;
        }
        let was_text = is_text;
        is_text = !is_kept(line);
        match blocks.last_mut() {
            Some(paragraph) if is_text && was_text && mark_of(line).is_empty() => {
                *paragraph += &format!(" {}", line.trim_start());
            }
            _ => blocks.push(line.to_owned()),
        }
    }
    for block in &mut blocks {
        *block = without_targets(block);
    }
    blocks
}

/// Returns whether a line remains as it is: a heading, code, a row of a table or an empty line.
fn is_kept(line: &str) -> bool {
    line.is_empty() || line.starts_with(['#', '|']) || line.starts_with("    ")
}

/// Returns a text with `words` in place of `[words](target)`.
fn without_targets(text: &str) -> String {
    let mut shown = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("](")
        && let Some((start, words)) = before.rsplit_once('[')
        && let Some((_, end)) = after.split_once(')')
    {
        shown += start;
        shown += words;
        rest = end;
    }
    shown + rest
}

fn push_block(block: &str, width: usize, text: &mut Vec<u8>) {
    if is_kept(block) {
        text.extend_from_slice(block.as_bytes());
        text.push(b'\n');
        return;
    }
    let mark = mark_of(block);
    push_lines(
        &block[mark.len()..],
        [mark, &" ".repeat(mark.len())],
        width,
        text,
    );
}

/// Returns what begins an item, `- ` or `1. `; empty before other text.
fn mark_of(text: &str) -> &str {
    match text.as_bytes() {
        [b'-', b' ', ..] => &text[..2],
        [b'0'..=b'9', b'.', b' ', ..] => &text[..3],
        _ => "",
    }
}

/// Returns a list of what the program prints, with the meanings.
fn terms(list: &str) -> Terms {
    match list {
        "columns" => native::columns_with_meanings(),
        "fields" => owned(json_csv::fields()),
        "metrics" => owned(prometheus::metrics()),
        "health" => owned(FACTS.iter().map(|fact| (fact.name, fact.meaning))),
        "verdicts" => owned(verdicts()),
        _ => Terms::new(),
    }
}

fn verdicts() -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = Verdict::ALL.into_iter().map(Some).chain([None]);
    all.map(|verdict| (verdict.map_or("-", Verdict::name), verdict_meaning(verdict)))
}

fn owned(terms: impl Iterator<Item = (&'static str, &'static str)>) -> Terms {
    let mut owned = Terms::new();
    for (name, meaning) in terms {
        owned.push((name.to_owned(), meaning.to_owned()));
    }
    owned
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::layout::text_width;

    #[test]
    fn every_page_fits_on_80_columns_and_has_nothing_left_to_insert() {
        for name in names() {
            let text = page(name, 80).unwrap();
            assert!(
                text.starts_with(&format!("# {name}: "))
                    || text.starts_with(&format!("# blkstat {name}: ")),
                "{text}"
            );
            assert!(!text.contains("{{") && !text.contains("]("), "{text}");
            for line in text.lines() {
                assert!(
                    text_width(line) <= 80 || line.starts_with("    "),
                    "{name}: {line}"
                );
            }
        }
        assert_eq!(page("nosuch", 80), None);
    }

    #[test]
    fn every_list_has_meanings() {
        for list in ["columns", "fields", "metrics", "health", "verdicts"] {
            let terms = terms(list);
            assert!(
                terms.len() > 9 && terms.iter().all(|(_, meaning)| !meaning.is_empty()),
                "{list}"
            );
        }
    }

    #[test]
    fn paragraphs_and_items_are_wrapped_and_the_rest_is_kept() {
        let source = "# a: b\n\nmore\n[words on\n`x`](topic.md#x)\n\n- one\n- two\n  lines\n1. three\n2. four\n\n    $ code    kept\n\n| a | b |\n";
        let mut text = Vec::new();
        for block in blocks(source) {
            push_block(&block, 10, &mut text);
        }
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "# a: b\n\nmore words\non `x`\n\n- one\n- two\n  lines\n1. three\n2. four\n\n    $ code    kept\n\n| a | b |\n"
        );
    }

    #[test]
    fn a_name_is_explained_by_the_items_that_begin_with_it() {
        let text = explain(&["R_SAT"], 80);
        assert!(
            text.starts_with("- `r_sat`: ") && text.ends_with("  (blkstat help columns)\n"),
            "{text}"
        );
        let text = explain(&["stalled"], 80);
        assert!(text.contains("  (blkstat help verdicts)\n"), "{text}");
        assert_eq!(explain(&["nosuch"], 80), "");
    }
}
