//! The device rows of two outputs, side by side.

/// A device in a report of both programs.
pub(crate) struct Row<'a> {
    /// The index of the report.
    pub(crate) report: usize,
    /// The name of the device; that of a group begins with a blank.
    pub(crate) name: &'a str,
    /// The titles of the columns, without `%` and with `kB` as the unit.
    pub(crate) titles: &'a [String],
    pub(crate) theirs: &'a mut Vec<String>,
    pub(crate) ours: &'a mut Vec<String>,
}

/// Calls `change` for every row that both outputs have. If it returns true, the row is rewritten in both, with single
/// blanks between cells. Outputs with different numbers of lines are left unchanged.
pub(crate) fn change(
    theirs: &mut String,
    ours: &mut String,
    mut change: impl FnMut(&mut Row<'_>) -> bool,
) {
    let mut walk = Walk::default();
    let (mut their_lines, mut our_lines) = (split(theirs), split(ours));
    if their_lines.len() != our_lines.len() {
        return;
    }
    for (their_line, our_line) in their_lines.iter_mut().zip(&mut our_lines) {
        walk.observe(&without_colors(their_line));
        let (a, b) = (
            walk.cells(&without_colors(their_line)),
            walk.cells(&without_colors(our_line)),
        );
        let (Some(mut a), Some(mut b)) = (a, b) else {
            continue;
        };
        if a.name != b.name || a.values.len() != b.values.len() || a.titles != b.titles {
            continue;
        }
        let mut row = Row {
            report: walk.reports.saturating_sub(1),
            name: &a.name,
            titles: &a.titles,
            theirs: &mut a.values,
            ours: &mut b.values,
        };
        if change(&mut row) {
            *their_line = format!("{}: {}\n", a.name, a.values.join(" "));
            *our_line = format!("{}: {}\n", b.name, b.values.join(" "));
        }
    }
    (*theirs, *ours) = (their_lines.concat(), our_lines.concat());
}

fn split(text: &str) -> Vec<String> {
    text.split_inclusive('\n').map(str::to_owned).collect()
}

/// Returns a line without its colors.
pub(crate) fn without_colors(line: &str) -> String {
    let mut pieces = line.split('\u{1b}');
    let first = pieces.next().unwrap_or("").to_owned();
    first
        + &pieces
            .filter_map(|piece| piece.split_once('m').map(|(_, text)| text))
            .collect::<String>()
}

struct Cells {
    name: String,
    titles: Vec<String>,
    values: Vec<String>,
}

/// The position in an output.
#[derive(Default)]
struct Walk {
    /// The header of the first table, which begins every report.
    first_header: Option<String>,
    titles: Vec<String>,
    name_is_last: bool,
    in_table: bool,
    reports: usize,
}

impl Walk {
    fn observe(&mut self, line: &str) {
        let words: Vec<&str> = line.split_whitespace().collect();
        let header = [words.first(), words.last()].contains(&Some(&"Device"));
        if words == ["\"disk\":", "["] {
            self.reports += 1;
        } else if header {
            self.in_table = true;
            self.name_is_last = words.last() == Some(&"Device");
            self.titles = words
                .iter()
                .filter(|word| **word != "Device")
                .map(|word| plain(word))
                .collect();
            if self.first_header.get_or_insert_with(|| line.to_owned()) == line {
                self.reports += 1;
            }
        } else if words.is_empty() {
            self.in_table = false;
        }
    }

    fn cells(&self, line: &str) -> Option<Cells> {
        if let Some(row) = line.trim().strip_prefix("{\"disk_device\": \"") {
            return json_cells(row);
        }
        let mut values: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        if !self.in_table || values.len() != self.titles.len() + 1 {
            return None;
        }
        let (name, is_group) = if self.name_is_last {
            let name = values.pop()?;
            let is_group = line.trim_end().ends_with(&format!("  {name}"));
            (name, is_group)
        } else {
            (values.remove(0), line.starts_with(' '))
        };
        let name = if is_group { format!(" {name}") } else { name };
        Some(Cells {
            name,
            titles: self.titles.clone(),
            values,
        })
    }
}

fn json_cells(row: &str) -> Option<Cells> {
    let (name, members) = row.split_once("\", ")?;
    let members = members.trim_end_matches(',').trim_end_matches('}');
    let pairs = members
        .split(", ")
        .filter_map(|member| member.split_once(": "));
    let (titles, values) = pairs
        .map(|(key, value)| (plain(key.trim_matches('"')), value.to_owned()))
        .unzip();
    Some(Cells {
        name: name.to_owned(),
        titles,
        values,
    })
}

fn plain(title: &str) -> String {
    let title = title.trim_start_matches('%');
    title
        .replace("MB", "kB")
        .replace("GB", "kB")
        .replace("Blk", "kB")
        .replace("sec/s", "kB/s")
}
