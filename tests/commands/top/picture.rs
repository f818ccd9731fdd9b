//! The pictures in the README: what a terminal shows of `blkstat top`, as SVG.

use std::fmt::Write;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use vt100::{Cell, Color};

use crate::support::session::Session;

const SIZE: (u16, u16) = (100, 30);
/// The size of a character cell.
const CELL: [f64; 2] = [9.0, 18.0];
const MARGIN: f64 = 14.0;
/// The first of 256 characters with two columns of four dots each, and the bits of their dots by column and row.
const BRAILLE: u32 = 0x2800;
const DOTS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// A terminal of one appearance: its name, its background and text, and what makes the program draw for it.
struct Look {
    name: &'static str,
    background: &'static str,
    text: &'static str,
    variables: [(&'static str, &'static str); 2],
}

const LOOKS: [Look; 2] = [
    Look {
        name: "light",
        background: "#ffffff",
        text: "#1f2328",
        variables: [("COLORTERM", "truecolor"), ("COLORFGBG", "0;15")],
    },
    Look {
        name: "dark",
        background: "#0d1117",
        text: "#e6edf3",
        variables: [("COLORTERM", "truecolor"), ("COLORFGBG", "15;0")],
    },
];

/// What cells that are drawn together have in common: color, weight and dimness.
type Style = (String, bool, bool);

fn style(cell: &Cell, look: &Look) -> Style {
    let color = match cell.fgcolor() {
        // The grays and the cube of xterm's palette.
        Color::Idx(gray @ 232..) => format!("#{0:02x}{0:02x}{0:02x}", 8 + 10 * (gray - 232)),
        Color::Idx(color @ 16..) => {
            let levels = [0, 95, 135, 175, 215, 255];
            let [red, green, blue] =
                [36, 6, 1].map(|unit| levels[usize::from((color - 16) / unit % 6)]);
            format!("#{red:02x}{green:02x}{blue:02x}")
        }
        Color::Default | Color::Idx(_) | Color::Rgb(..) => look.text.to_owned(),
    };
    (color, cell.bold(), cell.dim())
}

/// Returns the picture of a screen. Text has the width of its cells whatever the font; dots are drawn, because fonts
/// disagree on their width.
fn svg(screen: &vt100::Screen, look: &Look) -> String {
    let (columns, rows) = SIZE;
    let [width, height] =
        [f64::from(columns) * CELL[0], f64::from(rows) * CELL[1]].map(|size| size + 2.0 * MARGIN);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-size=\"14\" \
         font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace\">\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"{}\" stroke=\"#888\" stroke-opacity=\".4\"/>\n",
        look.background
    );
    for row in 0..rows {
        let cells: Vec<&Cell> = (0..columns)
            .filter_map(|column| screen.cell(row, column))
            .collect();
        let mut begin = 0;
        while begin < cells.len() {
            let is_dots = |cell: &Cell| {
                cell.contents()
                    .chars()
                    .next()
                    .is_some_and(|c| u32::from(c) & !0xff == BRAILLE)
            };
            let of = style(cells[begin], look);
            let same =
                |cell: &&Cell| style(cell, look) == of && is_dots(cell) == is_dots(cells[begin]);
            let end = begin + cells[begin..].iter().take_while(|cell| same(cell)).count();
            push_run(
                &cells[begin..end],
                (begin, row),
                &of,
                is_dots(cells[begin]),
                &mut out,
            );
            begin = end;
        }
    }
    out + "</svg>\n"
}

fn push_run(
    cells: &[&Cell],
    (column, row): (usize, u16),
    (color, bold, dim): &Style,
    is_dots: bool,
    out: &mut String,
) {
    let [x, y] = [column as f64 * CELL[0], f64::from(row) * CELL[1]].map(|at| at + MARGIN);
    let opacity = if *dim { " opacity=\".65\"" } else { "" };
    if is_dots {
        let mut path = String::new();
        for (at, cell) in cells.iter().enumerate() {
            let bits = cell
                .contents()
                .chars()
                .next()
                .map_or(0, |c| u32::from(c) - BRAILLE);
            for (across, dots) in DOTS.iter().enumerate() {
                for (down, bit) in dots.iter().enumerate().filter(|(_, bit)| bits & **bit != 0) {
                    let left = x + (at as f64 + across as f64 / 2.0) * CELL[0] + 1.0;
                    let top = y + down as f64 / 4.0 * CELL[1] + 1.0;
                    let _ = (write!(path, "M{left} {top}h2.6v2.6h-2.6z"), bit);
                }
            }
        }
        let _ = writeln!(out, "<path d=\"{path}\" fill=\"{color}\"{opacity}/>");
        return;
    }
    let text: String = cells
        .iter()
        .map(|cell| {
            if cell.has_contents() {
                cell.contents()
            } else {
                " "
            }
        })
        .collect();
    let shown = text.trim_end();
    let blanks = shown.len() - shown.trim_start().len();
    if shown.trim().is_empty() {
        return;
    }
    let length = (shown.chars().count() - blanks) as f64 * CELL[0];
    let weight = if *bold { " font-weight=\"bold\"" } else { "" };
    let escaped = shown
        .trim_start()
        .replace('&', "&amp;")
        .replace('<', "&lt;");
    let _ = writeln!(
        out,
        "<text x=\"{}\" y=\"{}\" textLength=\"{length}\" xml:space=\"preserve\" fill=\"{color}\"{weight}{opacity}>{escaped}</text>",
        x + blanks as f64 * CELL[0],
        y + 13.5
    );
}

/// With BLKSTAT_REFRESH=1, draws them instead.
#[test]
fn the_pictures_show_what_the_program_draws() {
    for look in LOOKS {
        let path = format!(".github/top-{}.svg", look.name);
        let shown = fs::read_to_string(&path).unwrap_or_default();
        let mut session = Session::start(
            "--from fixtures/captures/capped-3000.txt --stack loop0=vda",
            SIZE,
            &look.variables,
        );
        session.wait_for("incident 1 of 1");
        // The charts grow while the recording is read.
        session.press("?", "regular expression");
        session.press("\x1b", "loop0: capped");
        let drawn = || {
            let mut terminal = vt100::Parser::new(SIZE.1, SIZE.0, 0);
            terminal.process(session.text().as_bytes());
            svg(terminal.screen(), &look)
        };
        let start = Instant::now();
        let mut picture = drawn();
        while picture != shown && start.elapsed() < Duration::from_secs(3) {
            thread::sleep(Duration::from_millis(100));
            picture = drawn();
        }
        if std::env::var_os("BLKSTAT_REFRESH").is_some() {
            fs::write(&path, &picture).unwrap();
        }
        assert!(
            picture == shown || std::env::var_os("BLKSTAT_REFRESH").is_some(),
            "{path} shows something else"
        );
    }
}
