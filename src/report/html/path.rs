//! Paths of SVG with integer, relative coordinates, which take the least space.

use std::fmt::Write;

/// A path that is being drawn: its present end and its text.
#[derive(Clone, Debug, Default)]
pub(super) struct Path {
    text: String,
    at: Option<(i32, i32)>,
    /// True if the pen is up, so that the next line begins with a move.
    is_interrupted: bool,
}

impl Path {
    /// The path's text; empty if nothing was drawn.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Draws a horizontal line. A vertical line connects it with the previous line, unless that is far away or
    /// [`Self::interrupt`] was called.
    pub(super) fn step(&mut self, x: i32, end: i32, y: i32) {
        match self.at {
            Some((at_x, at_y)) if at_x == x && !self.is_interrupted => self.push('v', y - at_y),
            _ => self.move_to(x, y),
        }
        // A line must be visible, however short its time.
        let end = end.max(x + 1);
        self.push('h', end - x);
        self.at = Some((end, y));
        self.is_interrupted = false;
    }

    /// Ends a line: the next one is not connected with it.
    pub(super) fn interrupt(&mut self) {
        self.is_interrupted = true;
    }

    pub(super) fn bar(&mut self, x: i32, top: i32, bottom: i32) {
        self.move_to(x, top);
        self.push('v', (bottom - top).max(1));
        self.at = Some((x, bottom.max(top + 1)));
    }

    /// Draws a dot, as a line without length with round ends.
    pub(super) fn dot(&mut self, x: i32, y: i32) {
        self.move_to(x, y);
        self.text.push_str("h0");
    }

    pub(super) fn rectangle(&mut self, x: i32, y: i32, width: i32, height: i32) {
        self.move_to(x, y);
        // Writing to a string cannot fail.
        let _ = write!(self.text, "h{width}v{height}h{}z", -width);
    }

    fn move_to(&mut self, x: i32, y: i32) {
        match self.at {
            // Relative numbers are shorter; a minus sign also separates them.
            Some((at_x, at_y)) => {
                let (dx, dy) = (x - at_x, y - at_y);
                let separator = if dy < 0 { "" } else { " " };
                let _ = write!(self.text, "m{dx}{separator}{dy}");
            }
            None => {
                let _ = write!(self.text, "M{x} {y}");
            }
        }
        self.at = Some((x, y));
    }

    fn push(&mut self, command: char, by: i32) {
        if by != 0 {
            let _ = write!(self.text, "{command}{by}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_connected_unless_there_is_a_gap() {
        let mut path = Path::default();
        path.step(0, 10, 50);
        path.step(10, 20, 40);
        path.step(20, 30, 40);
        path.interrupt();
        path.step(30, 40, 60);
        path.step(80, 90, 20);
        assert_eq!(path.text(), "M0 50h10v-10h10h10m0 20h10m40-40h10");
    }

    #[test]
    fn a_rectangle_is_left_where_it_began() {
        let mut path = Path::default();
        path.rectangle(1, 2, 3, 4);
        path.rectangle(2, 2, 3, 4);
        assert_eq!(path.text(), "M1 2h3v4h-3zm1 0h3v4h-3z");
    }

    #[test]
    fn short_marks_are_still_seen() {
        let mut path = Path::default();
        path.bar(5, 7, 7);
        path.dot(6, 9);
        path.step(7, 7, 9);
        assert_eq!(path.text(), "M5 7v1m1 1h0m1 0h1");
    }
}
