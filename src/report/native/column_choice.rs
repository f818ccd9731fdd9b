//! The choice of columns. It is made again only if the lines need more space or other columns than before.

use super::columns::{COLUMNS, Column, VERDICT_WIDTH};
use super::layout::{Layout, MIN_NAME_WIDTH, max_name_width};
use super::verdict_cell::{VerdictLength, verdict_widths};
use super::visible_columns::{
    ColumnContents, Content, ExtraVerdictWidth, VisibleColumns, visible_columns, width_above_mounts,
};
use crate::intervals::{DeviceActivity, DeviceInterval};
use crate::report::layout::{ellipsize, text_width};
use crate::sanitize::{is_printable_ascii, sanitize};

/// The title of the names.
const NAME_TITLE: &str = "device";
/// The title of the mount points.
const MOUNTS_TITLE: &str = "mountpoints";
/// The blanks before the mount points.
pub(super) const MOUNTS_GAP: usize = 2;

/// The properties of the lines so far that the choice depends on.
#[derive(Clone, Debug, PartialEq)]
struct Measures {
    /// The width of a line.
    line_width: usize,
    longest_name: usize,
    /// The width of the mount points.
    mounts_width: usize,
    /// The content of the columns.
    contents: ColumnContents,
    /// The additional width of the verdicts.
    extra_verdict_width: ExtraVerdictWidth,
}

/// The columns shown, and their widths.
pub(super) struct ColumnChoice {
    measures: Measures,
    /// The measures when the columns were chosen.
    chosen_for: Option<Measures>,
    /// The indices of the columns, from left to right.
    shown: Vec<usize>,
    pub(super) name_width: usize,
    pub(super) verdict_length: VerdictLength,
    pub(super) verdict_width: usize,
    /// The width of all cells.
    pub(super) cells_width: usize,
    /// The line of the column titles.
    pub(super) titles: String,
}

/// A new choice.
pub(super) struct NewChoice {
    /// True if the line of the column titles has changed.
    pub(super) has_changed: bool,
    /// The titles of the columns with content that do not fit, from left to right.
    pub(super) hidden: Vec<&'static str>,
}

impl ColumnChoice {
    /// Creates the choice before the first line, which has no columns.
    pub(super) fn new(layout: &Layout) -> Self {
        let content = if layout.all_columns { Content::Filled } else { Content::Empty };
        let measures = Measures {
            line_width: 0,
            longest_name: 0,
            mounts_width: if layout.mounts { MOUNTS_TITLE.len() } else { 0 },
            contents: [content; COLUMNS.len()],
            extra_verdict_width: ExtraVerdictWidth::default(),
        };
        Self {
            measures,
            chosen_for: None,
            shown: Vec::new(),
            name_width: MIN_NAME_WIDTH,
            verdict_length: VerdictLength::default(),
            verdict_width: VERDICT_WIDTH,
            cells_width: 0,
            titles: String::new(),
        }
    }

    /// The columns, from left to right.
    pub(super) fn columns(&self) -> impl Iterator<Item = &'static Column> {
        self.shown.iter().map(|index| &COLUMNS[*index])
    }

    /// Returns the width of a column that is shown.
    pub(super) fn width(&self, column: &Column) -> usize {
        if column.is_verdict() { self.verdict_width } else { column.width }
    }

    /// Chooses the columns that fit for these lines and all earlier ones. Returns `None` if the choice is still right:
    /// it changes only for a longer name, mount point or verdict, or for a new kind of activity.
    pub(super) fn update(&mut self, layout: &Layout, lines: &[&DeviceInterval<'_>]) -> Option<NewChoice> {
        self.measures.observe(layout, lines);
        if self.chosen_for.as_ref() == Some(&self.measures) {
            return None;
        }
        self.chosen_for = Some(self.measures.clone());
        Some(self.choose(layout))
    }

    fn choose(&mut self, layout: &Layout) -> NewChoice {
        let Measures { line_width, mounts_width, ref contents, extra_verdict_width, .. } = self.measures;
        let name_width = self.measures.name_width(layout.mounts);
        let available = line_width.saturating_sub(name_width + extra_verdict_width.short);
        let reserved = if layout.mounts {
            let free = available.saturating_sub(width_above_mounts(available, contents));
            free.min(mounts_width + MOUNTS_GAP)
        } else {
            0
        };
        let available = line_width.saturating_sub(name_width + reserved);
        let (verdict_length, extra) = extra_verdict_width.fit(available, contents, layout.mounts);
        let VisibleColumns { shown, hidden } =
            visible_columns(available.saturating_sub(extra), contents, layout.mounts);
        let verdict_width = VERDICT_WIDTH + extra;
        let has_changed =
            shown != self.shown || name_width != self.name_width || verdict_width != self.verdict_width;
        self.verdict_length = verdict_length;
        (self.shown, self.name_width, self.verdict_width) = (shown, name_width, verdict_width);
        self.cells_width = self.columns().map(|column| self.width(column)).sum();
        self.titles = self.title_line(layout);
        NewChoice { has_changed, hidden }
    }

    fn title_line(&self, layout: &Layout) -> String {
        let mut text = format!("{NAME_TITLE:<width$}", width = self.name_width);
        for column in self.columns() {
            text += &format!("{:>width$}", column.title, width = self.width(column));
        }
        if layout.mounts {
            text += &format!("{:MOUNTS_GAP$}{MOUNTS_TITLE}", "");
        }
        ellipsize(&text, layout.line_width())
    }
}

impl Measures {
    fn observe(&mut self, layout: &Layout, lines: &[&DeviceInterval<'_>]) {
        self.line_width = layout.line_width();
        let longest = lines.iter().map(|line| shown_width(line.label)).max().unwrap_or(0);
        self.longest_name = self.longest_name.max(longest.min(max_name_width(self.line_width)));
        if layout.mounts {
            let longest = lines.iter().map(|line| shown_width(line.mountpoints)).max().unwrap_or(0);
            self.mounts_width = self.mounts_width.max(longest.min(layout.max_mounts_width()));
        }
        let is_unfilled = |index: &usize| self.contents[*index] < Content::Filled;
        let unfilled: Vec<usize> = (0..COLUMNS.len()).filter(is_unfilled).collect();
        for activity in lines.iter().filter_map(|line| line.activity()) {
            for index in &unfilled {
                let content = &mut self.contents[*index];
                *content = COLUMNS[*index].content(activity).max(*content);
            }
            self.observe_verdict(activity);
        }
    }

    /// Notes the width of a verdict.
    fn observe_verdict(&mut self, activity: &DeviceActivity) {
        let Some((long, short)) = verdict_widths(activity) else { return };
        let extra = |width: usize| (width + 1).saturating_sub(VERDICT_WIDTH);
        let widest = &mut self.extra_verdict_width;
        widest.long = widest.long.max(extra(long));
        widest.short = widest.short.max(extra(short));
    }

    /// Returns the width of the device column. Blanks after short names are given up if verdicts with their seconds
    /// would otherwise hide a column with content.
    fn name_width(&self, has_mounts: bool) -> usize {
        let widest = self.longest_name.max(MIN_NAME_WIDTH);
        let narrowest = self.longest_name.max(NAME_TITLE.len());
        let extra = self.extra_verdict_width.short;
        let available = self.line_width.saturating_sub(widest);
        let hidden = |extra: usize| {
            visible_columns(available.saturating_sub(extra), &self.contents, has_mounts).hidden
        };
        if extra == 0 || hidden(extra) == hidden(0) { widest } else { widest - extra.min(widest - narrowest) }
    }
}

/// Returns the number of columns that a text takes once it is sanitized.
fn shown_width(text: &str) -> usize {
    if is_printable_ascii(text) { text.len() } else { text_width(&sanitize(text)) }
}
