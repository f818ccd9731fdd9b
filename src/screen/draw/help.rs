//! The help: keys, marks and colors.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;

use super::{Regions, TextLine, put_line};
use crate::analysis::Verdict;
use crate::report::evidence::verdict_mark;
use crate::report::layout::wrap;
use crate::report::manual::verdict_meanings;
use crate::screen::app::App;
use crate::screen::keys::KEYS;
use crate::screen::theme::BOLD;

const KEYS_WIDTH: usize = 18;

impl App {
    pub(super) fn draw_help(&self, buffer: &mut Buffer, area: Rect, regions: &mut Regions) {
        let lines = self.help_lines(usize::from(area.width));
        let last = lines.len().saturating_sub(usize::from(area.height));
        regions.scroll = regions.scroll.min(last);
        for (at, line) in lines.iter().skip(regions.scroll).take(usize::from(area.height)).enumerate() {
            put_line(buffer, Rect { y: area.y + at as u16, ..area }, line);
        }
    }

    fn help_lines(&self, width: usize) -> Vec<TextLine> {
        let mut lines = Vec::new();
        for (keys, meaning) in KEYS {
            if meaning.is_empty() {
                lines.extend((!lines.is_empty()).then(Vec::new));
                lines.push(vec![(keys.to_owned(), BOLD)]);
            }
            self.push_term(keys, Style::new(), meaning, width, &mut lines);
        }
        lines.push(Vec::new());
        lines.push(vec![("Verdicts, most severe first, with their marks".to_owned(), BOLD)]);
        for (name, meaning) in verdict_meanings() {
            let verdict = Verdict::ALL.into_iter().find(|verdict| verdict.name() == name);
            let term = format!("{} {name}", verdict_mark(verdict));
            self.push_term(&term, self.options.theme.verdict(verdict), &meaning, width, &mut lines);
        }
        lines.push(Vec::new());
        let columns = "Columns and marks in cells: blkstat help columns";
        lines.push(vec![(columns.to_owned(), Style::new())]);
        lines
    }

    fn push_term(&self, term: &str, style: Style, meaning: &str, width: usize, lines: &mut Vec<TextLine>) {
        let mut term = term;
        for line in wrap(meaning, width.saturating_sub(KEYS_WIDTH + 3)) {
            lines.push(vec![(format!("  {term:<KEYS_WIDTH$} "), style), (line, Style::new())]);
            term = "";
        }
    }
}
