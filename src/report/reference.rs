//! The reference: texts in plain Markdown, below src/manual, with the tables of columns, fields and verdicts inserted.

use super::json_csv::fields;
use super::native::help::{columns, list_text, verdicts};
use super::{latency, who};

/// The topics with their texts, in which a line `{{NAME}}` stands for what the program inserts.
const TOPICS: [(&str, &str); 5] = [
    ("columns", include_str!("../manual/columns.md")),
    ("csv", include_str!("../manual/csv.md")),
    ("files", include_str!("../manual/files.md")),
    ("json", include_str!("../manual/json.md")),
    ("verdicts", include_str!("../manual/verdicts.md")),
];

/// Returns the names of the topics.
pub fn topics() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().map(|(name, _)| *name)
}

/// Returns the reference on a topic as plain text; `None` if there is no such topic.
pub fn reference(topic: &str) -> Option<String> {
    let (_, source) = TOPICS.iter().find(|(name, _)| *name == topic)?;
    let mut text = String::new();
    for line in source.lines() {
        let name = line.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"));
        match (name.and_then(|name| inserted(topic, name)), line.strip_prefix("# ")) {
            (Some(inserted), _) => text += &inserted,
            (None, Some(heading)) => text += &format!("{heading}:\n"),
            (None, None) => text += &format!("{line}\n"),
        }
    }
    Some(text.trim_end().to_owned() + "\n")
}

fn inserted(topic: &str, name: &str) -> Option<String> {
    let table = |terms: &[(String, &str)]| list_text(terms) + "\n";
    Some(match name {
        "columns" => columns().lists_text(),
        "verdicts" => verdicts().lists_text(),
        "remarks" if topic == "columns" => columns().remarks_text(),
        "remarks" => verdicts().remarks_text(),
        "fields" => table(&fields()),
        "who" => table(&who::fields::fields()),
        "latency" => table(&latency::fields::fields()),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Verdict;

    #[test]
    fn every_topic_is_complete_and_within_80_columns() {
        for topic in topics() {
            let text = reference(topic).unwrap();
            assert!(!text.contains("{{") && !text.contains("\n\n\n"), "{topic}: {text}");
            // A heading may name a long command.
            let is_short = |line: &&str| line.chars().count() <= 80 || line.ends_with(':');
            assert_eq!(text.lines().find(|line| !is_short(line)), None, "{topic}");
        }
        assert_eq!(reference("nosuch"), None);
    }

    #[test]
    fn every_field_has_a_meaning() {
        let all = [fields(), who::fields::fields(), latency::fields::fields()].concat();
        assert!(all.len() > 90, "{}", all.len());
        for (name, meaning) in all {
            assert!(!meaning.is_empty(), "{name}");
        }
    }

    #[test]
    fn what_to_do_is_said_of_every_verdict() {
        let text = reference("verdicts").unwrap();
        for heading in ["What to do:", "What they rest on:"] {
            let section = text.split(heading).nth(1).unwrap().split(":\n\n").next().unwrap();
            for verdict in Verdict::ALL.map(Verdict::name) {
                assert!(section.contains(&format!("`{verdict}`")), "{heading} {verdict}");
            }
        }
    }
}
