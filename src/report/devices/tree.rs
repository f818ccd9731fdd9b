//! The block-device tree as a table.

use unicode_width::UnicodeWidthStr;

use super::tree_cells::{COLUMNS, device, mountpoints};
use super::tree_layout::{TreeRow, tree_rows};
use crate::report::layout::{Align, FittedColumns, Spacing, fit_columns, plain_table, wrap_list};
use crate::topology::Topology;

/// Blanks between columns if all of them fit.
const WIDE_GAP: usize = 2;
/// Blanks between columns if some may have to be dropped.
const NARROW_GAP: usize = 1;
/// Width that longer mount points get before other columns are dropped for them.
const MIN_MOUNTPOINTS_WIDTH: usize = 16;
/// Title of the first column, which is never dropped.
const DEVICE: &str = "device";
/// Title of the last column, which is never dropped.
const MOUNTPOINTS: &str = "mountpoints";

/// Appends the tree: each device is below those that it is stacked on, as in lsblk. `all` includes devices that are not
/// in use.
///
/// Lines are at most `width` columns wide, except that names of devices are never shortened. Columns that do not fit
/// are dropped, and a last line names them.
pub fn tree(topology: &Topology, all: bool, width: usize, out: &mut Vec<u8>) {
    let rows = tree_rows(topology, all);
    let devices: Vec<String> = rows.iter().map(device).collect();
    let lists: Vec<Vec<String>> =
        rows.iter().map(|row| if row.is_repeated { Vec::new() } else { mountpoints(row.node) }).collect();
    let cells: Vec<Vec<String>> = rows.iter().map(cells).collect();

    let longest = lists.iter().flatten().map(|path| path.width()).max().unwrap_or(0);
    let mountpoints_width = longest.clamp(MOUNTPOINTS.len(), MIN_MOUNTPOINTS_WIDTH);
    let width_after_device = width.saturating_sub(widest(DEVICE, devices.iter()));
    let (fitted, gap, mountpoints_width) = fit(&cells, width_after_device, mountpoints_width);

    let titles = fitted.kept.iter().map(|at| COLUMNS[*at].title);
    let header: Vec<&str> = [DEVICE].into_iter().chain(titles).chain([MOUNTPOINTS]).collect();
    let aligns = fitted.kept.iter().map(|at| COLUMNS[*at].align);
    let aligns: Vec<Align> = [Align::Left].into_iter().chain(aligns).chain([Align::Left]).collect();
    let table =
        rows.iter().zip(devices).zip(lists.iter().zip(cells)).map(|((row, device), (list, cells))| {
            let lines = wrap_list(list, mountpoints_width);
            let further_lines = lines.iter().skip(1).map(|_| format!("\n{}", row.continuation));
            let device = [device].into_iter().chain(further_lines).collect();
            let kept = fitted.kept.iter().map(|at| cells[*at].clone());
            [device].into_iter().chain(kept).chain([lines.join("\n")]).collect()
        });
    plain_table(&header, &aligns, table, Spacing { gap: gap as u16, indent: 0 }, out);
    if !fitted.dropped.is_empty() {
        let titles: Vec<&str> = fitted.dropped.iter().map(|at| COLUMNS[*at].title).collect();
        let note = format!("hidden at width {width}: {} (--json shows all)\n", titles.join(", "));
        out.extend_from_slice(note.as_bytes());
    }
}

/// Returns the cells of a row in all columns between device and mount points; empty if the device is repeated.
fn cells(row: &TreeRow<'_>) -> Vec<String> {
    let text = |text: fn(&_) -> _| if row.is_repeated { None } else { text(row.node) };
    COLUMNS.iter().map(|column| text(column.text).unwrap_or_default()).collect()
}

/// Fits the columns between device and mount points into `width`, leaving at least `mountpoints_width` for mount
/// points. Returns the columns with the gap between them and the remaining width for mount points.
fn fit(cells: &[Vec<String>], width: usize, mountpoints_width: usize) -> (FittedColumns, usize, usize) {
    let ranks = COLUMNS.each_ref().map(|column| column.rank);
    let fit = |gap: usize| {
        let mut widths = [0; COLUMNS.len()];
        for (at, column) in COLUMNS.iter().enumerate() {
            widths[at] = widest(column.title, cells.iter().map(|row| &row[at])) + gap;
        }
        let fitted = fit_columns(&widths, &ranks, width.saturating_sub(gap + mountpoints_width));
        let used: usize = fitted.kept.iter().map(|at| widths[*at]).sum();
        let left = width.saturating_sub(gap + used).max(1);
        (fitted, gap, left)
    };
    let wide = fit(WIDE_GAP);
    if wide.0.dropped.is_empty() { wide } else { fit(NARROW_GAP) }
}

/// Returns the width of a column in terminal columns.
fn widest<'a>(title: &str, cells: impl Iterator<Item = &'a String>) -> usize {
    cells.map(|text| text.width()).chain([title.width()]).max().unwrap_or(0)
}
