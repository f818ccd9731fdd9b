//! The fields of a record, such as a device: programs get them as JSON or CSV, people as a row of a table. A new field is a
//! line in the list of its record, and one in src/manual/json.md.

use crate::report::json_csv::value::{Field, LineFormat, push_line};
use crate::report::layout::TextTable;
use crate::report::layout::number_format::{lsblk_size, number, percent};
use crate::sanitize::sanitize;

/// What is known of a record in one respect.
pub(crate) struct RecordField<'a> {
    /// Its name for programs, which ends in the unit; empty for what only people see.
    name: &'static str,
    /// Its title in a table; empty for what only programs see.
    title: &'static str,
    value: Field<'a>,
}

/// A field that only programs see, unless it gets a title.
pub(crate) fn field<'a>(name: &'static str, value: Field<'a>) -> RecordField<'a> {
    RecordField {
        name,
        title: "",
        value,
    }
}

/// A cell that only people see.
pub(crate) fn cell(title: &'static str, text: String) -> RecordField<'static> {
    field("", Field::Name(Some(text))).titled(title)
}

impl RecordField<'_> {
    pub(crate) fn titled(mut self, title: &'static str) -> Self {
        self.title = title;
        self
    }

    /// Its value for people. The end of its name says in which unit it is.
    fn text(&self) -> String {
        match &self.value {
            Field::Number(Some(kib)) if self.name.ends_with("_kib_per_s") => number(kib / 1024.0),
            Field::Number(Some(share)) if self.name.ends_with("_pct") => percent(*share),
            Field::Number(Some(value)) => number(*value),
            Field::Whole(Some(bytes)) if self.name.ends_with("_bytes") => lsblk_size(*bytes),
            Field::Whole(Some(count)) => count.to_string(),
            Field::Flag(Some(true)) => "yes".to_owned(),
            Field::Flag(Some(false)) => "no".to_owned(),
            Field::Word(Some(word)) => (*word).to_owned(),
            Field::Text(Some(text)) => sanitize(text).into_owned(),
            Field::Name(Some(text)) => sanitize(text).into_owned(),
            _ => String::new(),
        }
    }
}

/// Appends the first line of CSV: the names of the fields.
pub(crate) fn push_header(fields: &[RecordField<'_>], out: &mut Vec<u8>) {
    let mut names = Vec::new();
    for field in fields {
        if !field.name.is_empty() {
            names.push(field.name);
        }
    }
    out.extend_from_slice((names.join(",") + "\n").as_bytes());
}

/// Appends a record as an object of JSON or as a line of CSV.
pub(crate) fn push_record(fields: Vec<RecordField<'_>>, format: LineFormat, out: &mut Vec<u8>) {
    let fields = fields.into_iter().filter(|field| !field.name.is_empty());
    push_line(fields.map(|field| (field.name, field.value)), format, out);
}

/// Returns a table with these columns of records; see [`TextTable::new`]. A field that a record lacks is an empty cell.
pub(crate) fn text_table(
    titles: &[&str],
    aligns: &str,
    records: &[Vec<RecordField<'_>>],
) -> TextTable {
    let mut rows = Vec::new();
    for fields in records {
        let mut cells = Vec::new();
        for title in titles {
            let field = fields.iter().find(|field| field.title == *title);
            cells.push(field.map(RecordField::text).unwrap_or_default());
        }
        rows.push(cells);
    }
    TextTable::new(titles, aligns, rows)
}
