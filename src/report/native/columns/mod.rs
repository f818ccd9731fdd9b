//! The columns of the table, as data.

mod queue;
mod requests;
mod state;

pub(super) use requests::latency_figure;
pub(super) use state::{VERDICT_WIDTH, VERDICT_WIDTH_WITH_SECONDS};

use state::util_figure;

use super::style::Emphasis;
use super::verdict_cell::verdict_cell;
use crate::counters::Columns;
use crate::intervals::DeviceActivity;
use crate::metrics::Completed;
use crate::report::layout::figure::Figure;
use crate::report::layout::number_format::{NUMBER, NumberFormat};

#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) title: &'static str,
    /// The explanation in the help.
    pub(super) meaning: &'static str,
    /// The width, with the blank before it.
    pub(super) width: usize,
    /// Columns of the lowest rank are dropped first from lines that are too wide.
    pub(super) rank: u8,
    /// The columns of the kernel without which it has no values.
    pub(super) needs: Columns,
    /// The emphasis of a cell that is neither empty nor zero.
    pub(super) emphasis: EmphasisRule,
    /// The value shown, by which devices can be sorted.
    pub(super) value: Quantity,
    text: CellText,
}

/// The emphasis of a cell, given the multiple of unloaded latency from which a device counts as saturated.
type EmphasisRule = fn(&DeviceActivity, f64) -> Emphasis;

/// A quantity of a device; `None` if it has no value.
pub(super) type Quantity = fn(&DeviceActivity) -> Option<f64>;

#[derive(Clone, Copy)]
enum CellText {
    Value(NumberFormat),
    /// The mean latency of a direction.
    Latency(fn(&DeviceActivity) -> &Completed),
    /// The util, which may be marked.
    Util,
    Verdict,
}

impl Column {
    /// The default values of the fields.
    const DEFAULT: Self = Self {
        title: "",
        meaning: "",
        width: 6,
        rank: 0,
        needs: Columns::Partition,
        emphasis: |_, _| Emphasis::Plain,
        value: |_| None,
        text: CellText::Value(NUMBER),
    };

    /// Returns the number in the cell of a device; `None` without a value, and for a verdict.
    pub(super) fn figure(&self, activity: &DeviceActivity) -> Option<Figure> {
        match self.text {
            CellText::Value(format) => Some(format.figure((self.value)(activity)?)),
            CellText::Latency(direction) => latency_figure(direction(activity)),
            CellText::Util => util_figure(activity),
            CellText::Verdict => None,
        }
    }

    /// Appends the cell of a device, with the seconds of a verdict if they fit into `max_verdict_width`; returns `None`
    /// if it has no value.
    pub(super) fn push_cell(
        &self,
        out: &mut Vec<u8>,
        activity: &DeviceActivity,
        max_verdict_width: usize,
    ) -> Option<()> {
        if self.is_verdict() {
            out.extend_from_slice(verdict_cell(activity, max_verdict_width)?.as_bytes());
        } else {
            self.figure(activity)?.push(out);
        }
        Some(())
    }

    /// Returns whether this is the column of the verdict, which may be wider.
    pub(super) fn is_verdict(&self) -> bool {
        matches!(self.text, CellText::Verdict)
    }
}

/// The columns in groups, in the order in which they are shown.
const GROUPS: [&[Column]; 3] = [&requests::COLUMNS, &queue::COLUMNS, &state::COLUMNS];

/// All columns, in the order in which they are shown.
pub(super) const COLUMNS: &[Column] = &concat();

const COUNT: usize = requests::COLUMNS.len() + queue::COLUMNS.len() + state::COLUMNS.len();

const fn concat() -> [Column; COUNT] {
    let mut all = [Column::DEFAULT; COUNT];
    let (mut group, mut next) = (0, 0);
    while group < GROUPS.len() {
        let mut index = 0;
        while index < GROUPS[group].len() {
            all[next] = GROUPS[group][index];
            index += 1;
            next += 1;
        }
        group += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_are_narrower_than_their_columns() {
        assert!(COLUMNS.iter().all(|column| column.title.chars().count() < column.width));
    }

    #[test]
    fn every_column_has_its_own_title_and_a_meaning() {
        for (index, column) in COLUMNS.iter().enumerate() {
            assert!(!column.title.is_empty() && !column.meaning.is_empty() && column.rank > 0, "{index}");
            assert!(COLUMNS[..index].iter().all(|other| other.title != column.title), "{}", column.title);
        }
    }
}
