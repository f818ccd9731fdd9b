//! The last line: the text being typed, a message, or the keys that matter now.

use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use ratatui_core::style::Style;
use unicode_width::UnicodeWidthStr;

use super::put;
use crate::report::layout::{ellipsize, wrap};
use crate::sanitize::sanitize;
use crate::screen::app::{App, Page, Question, Source};
use crate::screen::theme::{BOLD, REVERSED};

/// The last lines of a message that are shown.
const MAX_MESSAGE_LINES: usize = 3;

/// A key and its present effect.
type Hint = (&'static str, &'static str);

impl App {
    pub(super) fn draw_status(&self, buffer: &mut Buffer, area: Rect) {
        let theme = self.options.theme;
        let mut area = area;
        // What the user types, and a message that is longer than the half, need the whole line.
        let half = usize::from(area.width / 2);
        let message = self.message.as_ref().map(|(text, _)| sanitize(text));
        let needs_line =
            self.prompt.is_some() || message.as_ref().is_some_and(|message| message.width() >= half);
        if let Some(text) = self.recording.as_ref().filter(|_| !needs_line) {
            let text = ellipsize(&format!("REC {}", sanitize(text)), half);
            let width = text.width() as u16;
            let style = theme.emphasis(crate::report::native::Emphasis::Alert);
            put(buffer, area.right() - width, area.y, width, &text, style);
            area.width -= width + 1;
        }
        if let Some(prompt) = &self.prompt {
            let (question, answer) = match prompt.question {
                Question::Filter => ("show devices that match: /", prompt.text.as_str()),
                Question::Time => ("go to (18:04, 18:04:47, -5m, +5m): ", prompt.text.as_str()),
                Question::Export => ("export the time shown as: r recording, h HTML report, Esc cancels", ""),
            };
            let x = put(buffer, area.x, area.y, area.width, question, BOLD);
            if prompt.question != Question::Export {
                let x =
                    put(buffer, x, area.y, area.right().saturating_sub(x), &sanitize(answer), Style::new());
                put(buffer, x, area.y, 1, " ", REVERSED);
            }
            return;
        }
        if let Some(message) = message {
            self.draw_message(buffer, area, &message);
            return;
        }
        let mut x = area.x;
        for (key, meaning) in self.hints() {
            let width = (key.width() + 1 + meaning.len()) as u16;
            if x + width > area.right() {
                break;
            }
            x = put(buffer, x, area.y, width, key, BOLD);
            x = put(buffer, x + 1, area.y, width, meaning, theme.dim()) + 2;
        }
    }

    /// Draws a message that ends in the last line. If it is too long for one line, it covers those above.
    fn draw_message(&self, buffer: &mut Buffer, area: Rect, message: &str) {
        let width = usize::from(area.width);
        let lines = wrap(message, width);
        let first = lines.len().saturating_sub(MAX_MESSAGE_LINES);
        for (line, y) in lines[first..].iter().rev().zip((0..=area.y).rev()) {
            let line = ellipsize(line, width);
            put(buffer, area.x, y, area.width, &format!("{line:width$}"), BOLD);
        }
    }

    /// Returns the keys that matter now, the most important first.
    fn hints(&self) -> Vec<Hint> {
        let mut hints: Vec<Hint> = vec![("q", "quit"), ("?", "help")];
        if self.page == Page::Help {
            hints.extend([("Esc", "back"), ("j k", "scroll"), ("PgDn PgUp", "by a page")]);
            return hints;
        }
        hints.push(if self.is_on_page() { ("Esc", "back") } else { ("Enter", "detail") });
        let is_live = self.options.source == Source::Live;
        hints.push(match (is_live, self.follows(), self.play_speed()) {
            (true, true, _) => ("p", "pause"),
            (true, false, _) => ("p", "live"),
            (false, _, None) => ("p", "play"),
            (false, _, Some(_)) => ("p", "stop"),
        });
        hints.extend(self.play_speed().map(|_| ("x", "speed")));
        hints.push(("←→", "step"));
        if !self.incidents.is_empty() {
            hints.extend([("[ ]", "incidents"), ("w", "worst")]);
        }
        hints.push(("b", "go to"));
        if !self.is_on_page() {
            hints.extend([("s", "sort"), ("/", "filter")]);
            hints.push(if self.options.folds { ("f", "unfold") } else { ("f", "fold") });
            hints.push(("t", "tree"));
        }
        hints.push(("+ -", "zoom"));
        if is_live {
            hints.push(if self.recording.is_some() { ("r", "stop recording") } else { ("r", "record") });
        }
        hints.push(("e", "export"));
        hints
    }
}
