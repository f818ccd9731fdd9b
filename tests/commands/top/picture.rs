//! The moving pictures in the README: what a terminal shows of `blkstat top` on its way into an incident, as SVG.

use std::fmt::Write;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use vt100::{Cell, Color};

use crate::support::session::Session;

const SIZE: (u16, u16) = (100, 30);
/// The times of the recording that are shown one after another, each for a while.
const TIMES: [&str; 6] = [
    "18:22:20", "18:22:27", "18:22:31", "18:22:40", "18:22:51", "18:23:04",
];
/// The seconds for which a time is shown; the last one is shown twice as long.
const SECONDS_PER_TIME: f64 = 2.0;
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

/// Returns each row of a screen as SVG. Text has the width of its cells whatever the font; dots are drawn, because fonts
/// disagree on their width.
fn rows(screen: &vt100::Screen, look: &Look) -> Vec<String> {
    let (columns, rows) = SIZE;
    let mut drawn = Vec::new();
    for row in 0..rows {
        let mut out = String::new();
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
        drawn.push(out);
    }
    drawn
}

/// Returns the picture of screens that follow each other. Who asked for less motion sees the last one.
fn moving_picture(screens: &[Vec<String>], look: &Look) -> String {
    let (columns, row_count) = SIZE;
    let [width, height] = [f64::from(columns) * CELL[0], f64::from(row_count) * CELL[1]]
        .map(|size| size + 2.0 * MARGIN);
    let last = screens.len() - 1;
    let duration = (screens.len() + 1) as f64 * SECONDS_PER_TIME;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" font-size=\"14\" \
         font-family=\"ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace\">\n\
         <style>g{{visibility:hidden;animation:{duration}s step-end infinite}}"
    );
    for at in 0..=last {
        let percent = |at: usize| 100.0 * at as f64 / (screens.len() + 1) as f64;
        let (begin, end) = (percent(at), percent(at + 1));
        let hidden = if at == last {
            String::new()
        } else {
            format!("{end:.3}%{{visibility:hidden}}")
        };
        let _ = write!(
            out,
            "@keyframes s{at}{{0%{{visibility:hidden}}{begin:.3}%{{visibility:visible}}{hidden}}}.s{at}{{animation-name:s{at}}}"
        );
    }
    let _ = writeln!(
        out,
        "@media(prefers-reduced-motion:reduce){{g{{animation:none}}.s{last}{{visibility:visible}}}}</style>\n\
         <rect width=\"{width}\" height=\"{height}\" rx=\"8\" fill=\"{}\" stroke=\"#888\" stroke-opacity=\".4\"/>",
        look.background
    );
    let is_always_same = |row: usize| screens.iter().all(|screen| screen[row] == screens[0][row]);
    for row in (0..screens[0].len()).filter(|row| is_always_same(*row)) {
        out += &screens[0][row];
    }
    for (at, screen) in screens.iter().enumerate() {
        let _ = writeln!(out, "<g class=\"s{at}\">");
        for row in (0..screen.len()).filter(|row| !is_always_same(*row)) {
            out += &screen[row];
        }
        out += "</g>\n";
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

/// Waits until the screen stays as it is, and returns its rows.
fn settled_rows(session: &Session, look: &Look) -> Vec<String> {
    let start = Instant::now();
    let mut unchanged_since = start;
    let mut text = session.text();
    while unchanged_since.elapsed() < Duration::from_millis(300)
        && start.elapsed() < Duration::from_secs(10)
    {
        thread::sleep(Duration::from_millis(50));
        let newer = session.text();
        if newer != text {
            (text, unchanged_since) = (newer, Instant::now());
        }
    }
    let mut terminal = vt100::Parser::new(SIZE.1, SIZE.0, 0);
    terminal.process(text.as_bytes());
    rows(terminal.screen(), look)
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
        let mut screens = Vec::new();
        for time in TIMES {
            session.press("b", "time");
            session.press(&format!("{time}\r"), &format!("{time}  1.000s"));
            screens.push(settled_rows(&session, &look));
        }
        let picture = moving_picture(&screens, &look);
        if std::env::var_os("BLKSTAT_REFRESH").is_some() {
            fs::write(&path, &picture).unwrap();
        } else {
            assert!(picture == shown, "{path} shows something else");
        }
    }
}
