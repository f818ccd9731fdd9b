//! Colors and characters: for 16 colors, 256 or none, a dark or a light background, UTF-8 or ASCII.

use std::ffi::OsString;

use ratatui_core::style::{Color, Modifier, Style};

use crate::judge::Verdict;
use crate::report::native::Emphasis;
use crate::terminal::shows_utf8;

pub(crate) const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
pub(crate) const REVERSED: Style = Style::new().add_modifier(Modifier::REVERSED);

/// The colors that a terminal has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColorDepth {
    /// No colors, or NO_COLOR is set.
    None,
    /// The colors of the terminal's own palette.
    Sixteen,
    /// The palette of xterm.
    Many,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Theme {
    pub(crate) depth: ColorDepth,
    /// True if the background is light.
    pub(crate) is_light: bool,
    /// True if only ASCII is shown.
    pub(crate) is_ascii: bool,
}

/// A color: in the palette of xterm on a dark background and on a light one, and the nearest of 16 colors.
type Hue = (u8, u8, Color);

const GREEN: Hue = (72, 29, Color::Green);
/// Calm: neither good nor bad.
const TEAL: Hue = (152, 66, Color::Cyan);
const YELLOW: Hue = (179, 100, Color::Yellow);
const ORANGE: Hue = (208, 130, Color::LightRed);
const PURPLE: Hue = (140, 97, Color::Magenta);
const GRAY: Hue = (245, 242, Color::DarkGray);
const BLUE: Hue = (74, 25, Color::Blue);
const RED: Hue = (203, 124, Color::Red);
const CYAN: Hue = (80, 30, Color::Cyan);

/// How a line of a chart is drawn. Without colors, lines differ by their dashes.
#[derive(Clone, Copy)]
pub(crate) struct Stroke {
    hue: Hue,
    /// The dots that are drawn of each four, as bits.
    dashes: u8,
    /// Its mark in a legend, with its dashes.
    pub(crate) mark: &'static str,
}

/// Reads, or a quantity without a direction.
pub(crate) const READS: Stroke = Stroke {
    hue: BLUE,
    dashes: 0b1111,
    mark: "━",
};
pub(crate) const WRITES: Stroke = Stroke {
    hue: ORANGE,
    dashes: 0b0111,
    mark: "╍",
};
/// Flushes, or requests in flight.
pub(crate) const THIRD: Stroke = Stroke {
    hue: CYAN,
    dashes: 0b0101,
    mark: "┉",
};
/// A line to compare with.
pub(crate) const REFERENCE: Stroke = Stroke {
    hue: GRAY,
    dashes: 0b0011,
    mark: "- -",
};

impl Stroke {
    /// Returns whether the line is drawn in a column of dots.
    pub(crate) fn is_dash(&self, column: usize) -> bool {
        self.dashes >> (column % 4) & 1 == 1
    }
}

impl Theme {
    /// Returns the appearance that the environment asks for.
    pub(crate) fn from_environment(variable: &dyn Fn(&str) -> Option<OsString>) -> Self {
        let text = |name: &str| variable(name).map(|value| value.to_string_lossy().into_owned());
        let term = text("TERM").unwrap_or_default();
        let has_no_color = text("NO_COLOR").is_some_and(|value| !value.is_empty());
        let is_true =
            text("COLORTERM").is_some_and(|value| value == "truecolor" || value == "24bit");
        let depth = match term.as_str() {
            _ if has_no_color || term.starts_with("vt1") || term.starts_with("vt2") => {
                ColorDepth::None
            }
            _ if is_true || term.ends_with("-direct") || term.contains("256color") => {
                ColorDepth::Many
            }
            _ => ColorDepth::Sixteen,
        };
        Self {
            depth,
            is_light: has_light_background(text("COLORFGBG").as_deref()),
            is_ascii: !shows_utf8(variable),
        }
    }

    fn style_of(self, (dark, light, basic): Hue) -> Style {
        match self.depth {
            ColorDepth::None => Style::new(),
            ColorDepth::Sixteen => Style::new().fg(basic),
            ColorDepth::Many => {
                Style::new().fg(Color::Indexed(if self.is_light { light } else { dark }))
            }
        }
    }

    pub(crate) fn verdict(self, verdict: Option<Verdict>) -> Style {
        match verdict {
            Some(Verdict::Ok) => self.style_of(GREEN),
            Some(Verdict::Busy) => self.style_of(TEAL),
            Some(Verdict::Queueing) => self.style_of(YELLOW),
            Some(Verdict::Slow) => self.style_of(BLUE),
            Some(Verdict::Saturated) => self.style_of(ORANGE),
            Some(Verdict::Capped) => self.style_of(PURPLE),
            Some(Verdict::Throttled) => self.style_of(PURPLE).add_modifier(Modifier::UNDERLINED),
            Some(Verdict::Stalled) => self.style_of(RED).add_modifier(Modifier::BOLD),
            Some(Verdict::Idle | Verdict::AccountingOff) | None => self.dim(),
        }
    }

    /// Returns the style of an emphasis of the table.
    pub(crate) fn emphasis(self, emphasis: Emphasis) -> Style {
        match emphasis {
            Emphasis::Plain => Style::new(),
            Emphasis::Bold => BOLD,
            Emphasis::Dim => self.dim(),
            Emphasis::Alert => self.style_of(RED).add_modifier(Modifier::BOLD),
            Emphasis::Warning => self.style_of(YELLOW),
        }
    }

    /// Returns the style of less important text.
    pub(crate) fn dim(self) -> Style {
        self.style_of(GRAY)
    }

    /// Returns the style of text that must be noticed.
    pub(crate) fn loud(self) -> Style {
        self.style_of(RED)
            .add_modifier(Modifier::BOLD | Modifier::REVERSED)
    }

    /// Returns the style of the selected line.
    pub(crate) fn selected(self) -> Style {
        match self.depth {
            ColorDepth::None | ColorDepth::Sixteen => REVERSED,
            ColorDepth::Many => {
                Style::new().bg(Color::Indexed(if self.is_light { 254 } else { 237 }))
            }
        }
    }

    /// Returns the style of a line of a chart.
    pub(crate) fn stroke(self, stroke: &Stroke) -> Style {
        self.style_of(stroke.hue)
    }
}

/// Returns whether COLORFGBG, which some terminals set to `foreground;background`, names a light background.
fn has_light_background(variable: Option<&str>) -> bool {
    let background = variable.and_then(|value| value.rsplit(';').next()?.parse::<u8>().ok());
    background.is_some_and(|color| color == 7 || (9..=15).contains(&color))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn theme(variables: &[(&str, &str)]) -> Theme {
        let find = |name: &str| {
            variables
                .iter()
                .find(|(one, _)| *one == name)
                .map(|(_, value)| value.into())
        };
        Theme::from_environment(&find)
    }

    #[test]
    fn the_environment_decides_on_colors_and_characters() {
        let utf8 = ("LANG", "en_US.UTF-8");
        assert_eq!(theme(&[("TERM", "xterm"), utf8]).depth, ColorDepth::Sixteen);
        assert_eq!(
            theme(&[("TERM", "xterm-256color"), utf8]).depth,
            ColorDepth::Many
        );
        assert_eq!(
            theme(&[("TERM", "xterm"), ("COLORTERM", "truecolor")]).depth,
            ColorDepth::Many
        );
        assert_eq!(
            theme(&[("TERM", "xterm-256color"), ("NO_COLOR", "1")]).depth,
            ColorDepth::None
        );
        assert!(!theme(&[("TERM", "xterm"), utf8]).is_ascii);
        assert!(theme(&[("TERM", "linux"), utf8]).is_ascii);
        assert!(theme(&[("TERM", "xterm"), ("LC_ALL", "C"), utf8]).is_ascii);
        assert!(theme(&[("COLORFGBG", "0;15")]).is_light);
        assert!(!theme(&[("COLORFGBG", "15;0")]).is_light);
    }

    #[test]
    fn without_color_nothing_is_colored() {
        let theme = Theme {
            depth: ColorDepth::None,
            is_light: false,
            is_ascii: true,
        };
        for verdict in Verdict::ALL {
            assert_eq!(theme.verdict(Some(verdict)).fg, None);
        }
        assert_eq!(theme.stroke(&WRITES).fg, None);
    }
}
