//! The stack as a tree in the first column of a table.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ContentArrangement, Table};
use unicode_width::UnicodeWidthStr;

use super::forest::{Branch, branches};
use super::words::{accounting, kind, places, rotational, size, wrapped};
use crate::sanitize::sanitize;
use crate::topology::{Node, Topology};

/// What stands between columns, where there is room and where there is not.
const GAPS: [usize; 2] = [2, 1];
/// What mount points need at least, before other columns are left out for them.
const MOUNTS_WIDTH: usize = 16;
const FIRST: &str = "device";
const LAST: &str = "mounted at";

/// A column between the device and where it is mounted.
struct Column {
    title: &'static str,
    align: CellAlignment,
    /// Those of the least worth go first when there is no room.
    worth: u8,
    /// What it says of a device; nothing where that is not known.
    text: fn(&Node) -> Option<String>,
}

const fn column(
    title: &'static str,
    align: CellAlignment,
    worth: u8,
    text: fn(&Node) -> Option<String>,
) -> Column {
    Column { title, align, worth, text }
}

static COLUMNS: [Column; 6] = [
    column("type", CellAlignment::Left, 4, |node| Some(kind(node.kind).to_owned())),
    column("size", CellAlignment::Right, 5, |node| node.size_bytes.map(size)),
    column("rota", CellAlignment::Left, 0, |node| node.rotational.map(rotational)),
    column("sched", CellAlignment::Left, 2, |node| Some(sanitize(node.scheduler.as_deref()?).into_owned())),
    column("queue", CellAlignment::Right, 1, |node| Some(node.nr_requests?.to_string())),
    column("iostats", CellAlignment::Left, 3, |node| node.iostats_enabled.map(accounting)),
];

/// A column with what it says in each row.
type Filled<'a> = (&'a Column, Vec<String>);

/// Draws the stack into `out`, each device below what it stands on, as lsblk does. `all` draws devices that nothing
/// uses as well.
///
/// Lines are `width` columns wide at most, but never cut a device's name off. Where there is no room, the columns
/// that tell least are left out, and the last line says which.
pub fn tree(stack: &Topology, all: bool, width: usize, out: &mut Vec<u8>) {
    let rows = branches(stack, all);
    let names: Vec<String> = rows.iter().map(name).collect();
    let places: Vec<Vec<String>> =
        rows.iter().map(|row| if row.again { Vec::new() } else { places(row.node) }).collect();
    let longest = places.iter().flatten().map(|place| place.width()).max().unwrap_or(0);
    let least = longest.clamp(LAST.len(), MOUNTS_WIDTH);
    let room = width.saturating_sub(widest(FIRST, &names));
    let [wide, narrow] = GAPS.map(|gap| Fitted::new(&rows, room, least, gap));
    let Fitted { columns, left_out, room, gap } = if wide.left_out.is_empty() { wide } else { narrow };
    let mut table = plain_table(&columns, gap);
    for (index, row) in rows.iter().enumerate() {
        let lines = wrapped(&places[index], room);
        let mut first = names[index].clone();
        for _ in 1..lines.len() {
            first.push('\n');
            first.push_str(&row.below);
        }
        let middle = columns.iter().map(|(_, texts)| texts[index].clone());
        table.add_row([first].into_iter().chain(middle).chain([lines.join("\n")]));
    }
    for line in table.lines() {
        out.extend_from_slice(line.trim_end().as_bytes());
        out.push(b'\n');
    }
    if !left_out.is_empty() {
        out.extend_from_slice(format!("No room for: {}.\n", left_out.join(", ")).as_bytes());
    }
}

/// The columns for which there is room.
struct Fitted {
    columns: Vec<Filled<'static>>,
    /// The titles of the others.
    left_out: Vec<&'static str>,
    /// What is left for mount points, at least 1.
    room: usize,
    gap: usize,
}

impl Fitted {
    /// Those that fit into `room` beside `least` of mount points.
    fn new(rows: &[Branch<'_>], room: usize, least: usize, gap: usize) -> Self {
        let text = |column: &Column, row: &Branch<'_>| {
            if row.again { String::new() } else { (column.text)(row.node).unwrap_or_default() }
        };
        let filled = |column: &'static Column| (column, rows.iter().map(|row| text(column, row)).collect());
        let mut columns: Vec<Filled<'static>> = COLUMNS.iter().map(filled).collect();
        let needs = |(column, texts): &Filled<'_>| widest(column.title, texts) + gap;
        let mut needed = gap + columns.iter().map(needs).sum::<usize>();
        let mut left_out = Vec::new();
        while room < needed + least {
            let Some(index) = (0..columns.len()).min_by_key(|index| columns[*index].0.worth) else { break };
            let gone = columns.remove(index);
            needed -= needs(&gone);
            left_out.push(gone.0.title);
        }
        Self { columns, left_out, room: room.saturating_sub(needed).max(1), gap }
    }
}

/// Without any lines, and as wide as its text: what must be wrapped is by then.
fn plain_table(columns: &[Filled<'_>], gap: usize) -> Table {
    let mut table = Table::new();
    let titles = columns.iter().map(|(column, _)| column.title);
    table.load_style(NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header([FIRST].into_iter().chain(titles).chain([LAST]));
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, gap as u16));
        if let Some((of, _)) = index.checked_sub(1).and_then(|index| columns.get(index)) {
            column.set_cell_alignment(of.align);
        }
    }
    table
}

/// The device with the lines that lead to it and the name that people know.
fn name(row: &Branch<'_>) -> String {
    let alias = row.node.alias.iter().map(|name| format!(" {}", sanitize(name)));
    let again = if row.again { " (above)" } else { "" };
    format!("{}{}{}{again}", row.stem, sanitize(&row.node.name), alias.collect::<String>())
}

fn widest(title: &str, texts: &[String]) -> usize {
    texts.iter().map(|text| text.width()).chain([title.width()]).max().unwrap_or(0)
}
