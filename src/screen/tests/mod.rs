//! Tests of the whole screen: captures, keys, and the resulting screen.

mod incident;
mod memory;
mod prompts;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use jiff::tz::TimeZone;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;

use super::app::{Action, App, AppOptions, BY_VERDICT, Page, Source};
use super::history::History;
use super::keys::InputParser;
use super::live_history_bytes;
use super::theme::{ColorDepth, Theme};
use crate::clock::RealClock;
use crate::counters::{Columns, Counters};
use crate::incidents::Told;
use crate::intervals::{
    BaselineStore, Detail, DeviceActivity, DeviceInterval, DeviceSelection, DeviceState,
    IntervalHeader, IntervalRows, Intervals, NextInterval,
};
use crate::judge::{Assessment, BaselineSource, Evidence, IoDirection, Latency, Verdict};
use crate::metrics::{Completed, Interval};
use crate::report::native::{TableOptions, TableWriter};
use crate::source::Input;
use crate::topology::Topology;
use crate::units::Span;

const THEME: Theme = Theme {
    depth: ColorDepth::None,
    is_light: false,
    is_ascii: false,
};

/// An interval, and how its devices are stacked.
type Pushed = (IntervalRows, Arc<Topology>);

/// Returns the intervals of a capture with its incidents, and calls `see` with each interval.
fn frames_of(
    capture: &str,
    all: bool,
    mut see: impl FnMut(&IntervalRows),
) -> (Vec<Pushed>, Vec<Told>) {
    let input = Input {
        from: Some(Path::new("fixtures").join(capture)),
        ..Input::default()
    };
    let selection = DeviceSelection {
        all,
        ..DeviceSelection::default()
    };
    let (baselines, clock) = (BaselineStore::default(), RealClock::new(None));
    let mut intervals =
        Intervals::open(&input, &selection, Detail::Report, &baselines, &clock).unwrap();
    let mut frames = Vec::new();
    assert!(intervals.start(&mut |_| {}).unwrap());
    loop {
        let topology = Arc::new(intervals.topology().clone());
        match intervals.next(&mut |_| {}).unwrap() {
            NextInterval::Rows(rows) => {
                see(&rows);
                frames.push((rows, topology));
            }
            NextInterval::Break => {}
            NextInterval::End => break,
            NextInterval::Signal(_) => unreachable!(),
        }
    }
    (frames, intervals.incidents().list)
}

fn app(source: Source) -> App {
    App::new(AppOptions {
        source,
        host: "db7".to_owned(),
        interval_s: Some(1.0),
        time_zone: TimeZone::UTC,
        theme: THEME,
        sort: BY_VERDICT,
        folds: true,
        history: (64 << 20, f64::INFINITY),
    })
}

/// Returns the screen of a capture that has been read.
fn replay(capture: &str) -> App {
    let (frames, incidents) = frames_of(capture, false, |_| {});
    let mut app = app(Source::Capture(capture.to_owned()));
    frames
        .into_iter()
        .for_each(|(rows, topology)| app.push(rows, topology));
    app.incidents = incidents;
    app.finish_loading();
    app
}

/// Returns the screen of a running system that does what a capture recorded.
fn live(capture: &str) -> App {
    let (frames, incidents) = frames_of(capture, false, |_| {});
    let mut app = app(Source::Live);
    frames
        .into_iter()
        .for_each(|(rows, topology)| app.push(rows, topology));
    app.incidents = incidents;
    app
}

fn draw(app: &mut App, width: u16, height: u16) -> Buffer {
    let mut buffer = Buffer::empty(Rect {
        x: 0,
        y: 0,
        width,
        height,
    });
    app.draw(&mut buffer);
    buffer
}

/// Returns the lines of the screen without blanks at their ends.
fn lines(app: &mut App, width: u16, height: u16) -> Vec<String> {
    let buffer = draw(app, width, height);
    let line = |y| {
        (0..width)
            .map(|x| buffer[(x, y)].symbol())
            .collect::<String>()
            .trim_end()
            .to_owned()
    };
    (0..height).map(line).collect()
}

/// Presses keys as a terminal sends them. Returns what the program should do.
fn press(app: &mut App, keys: &str) -> Vec<Action> {
    let mut events = Vec::new();
    let mut parser = InputParser::default();
    parser.push(keys.as_bytes(), |event| events.push(event));
    parser.flush(|event| events.push(event));
    events
        .into_iter()
        .filter_map(|event| app.handle(event))
        .collect()
}

fn text(app: &mut App) -> String {
    lines(app, 120, 40).join("\n")
}

/// The table as the scrolling view prints it.
fn table(rows: &IntervalRows) -> String {
    let options = TableOptions {
        explain: true,
        who: true,
        ..TableOptions::default()
    };
    let mut out = Vec::new();
    TableWriter::new(&options, false, TimeZone::UTC).push_interval(rows, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn every_interval_of_the_past_is_exactly_what_the_scrolling_view_prints() {
    let mut checked = 0;
    for capture in [
        "captures/capped-3000.txt",
        "captures/mixed.txt",
        "captures/stalls.txt",
        "captures/hotplug.txt",
        "captures/old-kernel.txt",
        "captures/faults.txt",
        "captures/hostile.txt",
        "recordings-0.1.0/recording.txt",
    ] {
        let mut printed = Vec::new();
        let (frames, _) = frames_of(capture, true, |rows| {
            printed.push((
                table(rows),
                IntervalRows {
                    total: None,
                    ..rows.clone()
                }
                .devices
                .len(),
            ));
        });
        for ((rows, topology), (printed, devices)) in frames.into_iter().zip(&printed) {
            let mut history = History::new(3600.0, 1 << 20);
            history.push(rows, topology);
            assert_eq!(table(&history.frames()[0].rows), *printed, "{capture}");
            checked += devices;
        }
    }
    assert!(checked > 350, "{checked}");
}

#[test]
fn a_capture_opens_at_the_worst_interval_of_its_worst_incident() {
    let mut app = replay("captures/capped-3000.txt");
    let text = text(&mut app);
    assert!(
        text.contains("REPLAY") && text.contains("incident 1 of 2"),
        "{text}"
    );
    assert!(text.contains("loop0: capped for"), "{text}");
    assert!(text.contains("rate stayed constant"), "{text}");
}

#[test]
fn all_sizes_from_60x15_to_300x100_are_drawn_and_the_important_columns_stay() {
    for capture in [
        "captures/capped-3000.txt",
        "captures/mixed.txt",
        "captures/hostile.txt",
    ] {
        let mut app = replay(capture);
        for (width, height) in [
            (60, 15),
            (80, 24),
            (100, 30),
            (120, 40),
            (200, 60),
            (300, 100),
        ] {
            for page in ["", "\r", "?", "t"] {
                press(&mut app, page);
                // Messages disappear after a while.
                app.tick(app.now_s + 10.0);
                let lines = lines(&mut app, width, height);
                assert_eq!(lines.len(), usize::from(height));
                assert!(lines[0].starts_with("blkstat "), "{lines:#?}");
                assert!(
                    lines[usize::from(height) - 1].starts_with("q quit"),
                    "{lines:#?}"
                );
                if page.is_empty() {
                    for title in ["device", "verdict", "await", "queue"] {
                        assert!(lines[1].contains(title), "{title}: {lines:#?}");
                    }
                    assert_eq!(lines[1].contains("w_await"), width >= 100, "{lines:#?}");
                }
                press(&mut app, "\x1b");
            }
        }
        assert!(lines(&mut app, 59, 15)[0].contains("too small"));
    }
}

#[test]
fn time_is_stepped_and_the_newest_interval_is_followed_again() {
    let mut app = live("captures/capped-3000.txt");
    assert_eq!(app.cursor, None);
    let newest = app.cursor_s();
    press(&mut app, "\x1b[D");
    assert!(
        (newest - app.cursor_s() - 1.0).abs() < 0.1,
        "{}",
        app.cursor_s()
    );
    assert!(text(&mut app).contains("PAUSED -1.0 s"));
    press(&mut app, ",");
    assert!(
        (newest - app.cursor_s() - 11.0).abs() < 0.1,
        "{}",
        app.cursor_s()
    );
    press(&mut app, "<");
    assert!((newest - app.cursor_s()) > 40.0, "the beginning");
    press(&mut app, "0");
    assert!((app.cursor_s() - 1.0).abs() < 0.1);
    press(&mut app, "h");
    assert!(text(&mut app).contains("no earlier interval"));
    press(&mut app, "$");
    assert_eq!(app.cursor, None);
    press(&mut app, "p");
    assert_eq!(app.cursor, Some(newest));
    press(&mut app, " ");
    assert_eq!(app.cursor, None);
    press(&mut app, "pl");
    assert_eq!(app.cursor, None, "forward from the newest interval");
}

#[test]
fn a_time_is_found_by_the_clock_and_by_distance() {
    let mut app = replay("captures/capped-3000.txt");
    press(&mut app, "b18:22:30\r");
    assert!(lines(&mut app, 120, 40)[0].contains("18:22:30"));
    let newest = app.history.newest().unwrap().span.end_s;
    press(&mut app, "b-10s\r");
    assert!(
        (newest - app.cursor_s() - 10.0).abs() < 1.1,
        "{}",
        app.cursor_s()
    );
    let before = app.cursor_s();
    press(&mut app, "bnonsense\r");
    assert!(app.message.is_some());
    press(&mut app, "b05:00\r");
    assert!(text(&mut app).contains("no interval at 05:00"));
    assert_eq!(app.cursor_s(), before);
}

#[test]
fn a_key_without_effect_says_so() {
    let mut app = replay("captures/capped-3000.txt");
    press(&mut app, "y");
    assert!(text(&mut app).contains("y has no meaning here; ? shows the keys"));
    press(&mut app, "p");
    assert!(text(&mut app).contains("a recording stands still; left and right step through it"));
}

#[test]
fn the_interval_of_the_running_system_changes_and_no_sample_counts_as_late() {
    let mut app = live("captures/capped-3000.txt");
    app.tick(100.0);
    app.arrived_s = Some(99.0);
    let changed = |seconds| Action::ChangeInterval(Duration::from_secs_f64(seconds));
    assert_eq!(press(&mut app, "++"), [changed(2.0), changed(5.0)]);
    assert!(text(&mut app).contains("an interval of 5 s"));
    app.tick(107.0);
    assert!(!text(&mut app).contains("NO SAMPLE"));
    assert_eq!(press(&mut app, "-"), [changed(2.0)]);
    press(&mut app, "-----");
    assert_eq!(press(&mut app, "-"), []);
    assert!(text(&mut app).contains("0.1 s is the shortest interval"));
    let mut app = replay("captures/capped-3000.txt");
    assert_eq!(press(&mut app, "+"), []);
    assert!(text(&mut app).contains("a recording has the interval at which it was recorded"));
}

#[test]
fn f1_shows_the_help_and_f10_quits() {
    let mut app = live("captures/capped-3000.txt");
    press(&mut app, "\x1bOP");
    assert_eq!(app.page, Page::Help);
    press(&mut app, "\x1b[11~");
    assert_eq!(app.page, Page::List);
    assert_eq!(press(&mut app, "\x1b[21~"), [Action::Quit]);
}

#[test]
fn an_arrow_marks_the_column_that_sorts() {
    let mut app = live("captures/capped-3000.txt");
    for order in ["verdict▼", "▼r/s", "▼w/s", "▼MiB/s"] {
        let titles = lines(&mut app, 120, 40)[1].clone();
        assert!(titles.contains(order), "{titles}");
        assert_eq!(titles.matches('▼').count(), 1, "{titles}");
        press(&mut app, "s");
    }
    app.options.sort = "device";
    assert!(lines(&mut app, 120, 40)[1].starts_with("device▲ "));
    app.options.theme.is_ascii = true;
    assert!(lines(&mut app, 120, 40)[1].starts_with("device^ "));
}

#[test]
fn the_cpu_is_in_the_head_at_80_columns() {
    let mut app = replay("captures/throttled-volume.txt.gz");
    let head = lines(&mut app, 80, 24)[0].clone();
    assert!(
        head.contains("% avail") && head.ends_with("REPLAY"),
        "{head}"
    );
    assert!(lines(&mut app, 200, 24)[0].contains("% sys"));
}

#[test]
fn incidents_and_the_worst_interval_are_found() {
    let mut app = replay("captures/sweep-randread.txt");
    press(&mut app, "0");
    let mut seen = Vec::new();
    for _ in 0..app.incidents.len() {
        press(&mut app, "]");
        seen.push(app.cursor_s());
        assert!(app.incident_at_cursor().is_some());
    }
    press(&mut app, "]");
    assert!(text(&mut app).contains("no later incident"));
    assert_eq!(seen.len(), 1);
    app.dropped_incidents = 7;
    press(&mut app, "0[");
    assert!(text(&mut app).contains("no earlier incident kept; 7 were too many"));
    press(&mut app, "0w");
    let worst = app.incidents.iter().map(|one| one.word).max();
    let row = app
        .rows()
        .listed
        .into_iter()
        .find(|row| Some(row.device.device()) == app.selected.as_deref())
        .unwrap();
    assert_eq!(row.device.verdict(), worst);
}

#[test]
fn the_list_is_sorted_filtered_folded_and_drawn_as_a_tree() {
    let mut app = replay("recordings-0.1.0/recording.txt");
    let names = |app: &App| -> Vec<String> {
        app.rows()
            .listed
            .iter()
            .map(|row| row.device.label().to_owned())
            .collect()
    };
    press(&mut app, "f");
    let unfolded = names(&app);
    press(&mut app, "f");
    let rows = app.rows();
    assert_eq!(
        rows.listed.len() + rows.folded.0 + rows.folded.1,
        unfolded.len()
    );
    drop(rows);
    press(&mut app, "fs");
    assert_eq!(app.options.sort, "r/s");
    press(&mut app, "S");
    assert_eq!(app.options.sort, "verdict");
    press(&mut app, &format!("/^{}$\r", unfolded[0]));
    assert_eq!(names(&app), [unfolded[0].clone()]);
    assert!(text(&mut app).contains("do not match"));
    press(&mut app, "\x1b");
    assert_eq!(names(&app).len(), unfolded.len());
    press(&mut app, "/([\r");
    assert!(
        names(&app).is_empty(),
        "text that is not a valid expression is matched literally"
    );
    press(&mut app, "\x1bt");
    let depths: Vec<usize> = app.rows().listed.iter().map(|row| row.depth).collect();
    assert_eq!(depths.len(), unfolded.len());
    assert!(
        depths[0] == 0 && depths.iter().any(|depth| *depth > 0),
        "{depths:?}"
    );
}

/// With BLKSTAT_REFRESH=1, writes the screens instead.
#[test]
#[allow(clippy::disallowed_methods)]
fn the_screens_are_those_that_were_reviewed() {
    let mut app = replay("captures/capped-3000.txt");
    app.options.source = Source::Capture("capped-3000.txt".to_owned());
    for (name, keys, height) in [("list", "", 24), ("detail", "\r", 32)] {
        press(&mut app, keys);
        let shown = lines(&mut app, 100, height)
            .iter()
            .map(|line| format!("{}\n", line.trim_end()))
            .collect::<String>();
        let path = format!(
            "{}/fixtures/snapshots/top/{name}.txt",
            env!("CARGO_MANIFEST_DIR")
        );
        if std::env::var_os("BLKSTAT_REFRESH").is_some() {
            std::fs::write(&path, &shown).unwrap();
        }
        assert_eq!(
            std::fs::read_to_string(&path).unwrap_or_default(),
            shown,
            "{path}"
        );
    }
}

#[test]
fn names_with_escape_codes_stay_text() {
    let mut app = replay("captures/hostile.txt");
    press(&mut app, "f");
    for page in ["", "\r"] {
        press(&mut app, page);
        let buffer = draw(&mut app, 120, 40);
        let symbols = buffer.content.iter().map(|cell| cell.symbol());
        assert!(symbols.flat_map(str::chars).all(|c| !c.is_control()));
    }
}

#[test]
fn with_ascii_every_character_is() {
    for capture in [
        "captures/capped-3000.txt",
        "captures/mixed.txt",
        "captures/hostile.txt",
    ] {
        let mut app = replay(capture);
        app.options.theme.is_ascii = true;
        for page in ["", "\r", "\x1b?"] {
            press(&mut app, page);
            let text = text(&mut app);
            assert!(text.is_ascii(), "{text}");
        }
    }
}

#[test]
fn keys_that_leave_the_screen_are_actions() {
    let mut app = live("captures/capped-3000.txt");
    assert_eq!(press(&mut app, "q"), [Action::Quit]);
    assert_eq!(press(&mut app, "\x03"), [Action::Interrupt]);
    assert_eq!(press(&mut app, "\x1a"), [Action::Suspend]);
}

#[test]
fn the_mouse_selects_devices_titles_and_times() {
    let mut app = live("captures/capped-3000.txt");
    press(&mut app, "f");
    draw(&mut app, 120, 40);
    let names = app.listed_names();
    press(&mut app, "\x1b[<0;3;4M");
    assert_eq!(app.selected.as_ref(), Some(&names[1]));
    press(&mut app, "\x1b[<0;3;4M");
    assert_eq!(app.page, Page::Detail);
    draw(&mut app, 120, 40);
    let y = app.regions.charts[0].0.y + 1;
    press(&mut app, &format!("\x1b[<0;100;{y}M"));
    assert_ne!(app.cursor, None);
    let span_s = app.axis.span_s();
    press(&mut app, &format!("\x1b[<64;100;{y}M"));
    assert!(app.axis.span_s() < span_s);
    press(&mut app, "\x1b");
    draw(&mut app, 120, 40);
    press(&mut app, "\x1b[<0;25;2M");
    assert_eq!(app.options.sort, "verdict");
}

#[test]
fn a_late_sample_and_the_end_of_the_source_are_loud() {
    let mut app = live("captures/capped-3000.txt");
    app.tick(10.0);
    app.arrived_s = Some(10.0);
    app.tick(11.5);
    assert!(!text(&mut app).contains("NO SAMPLE"));
    app.tick(14.0);
    assert!(text(&mut app).contains("NO SAMPLE FOR 4.0 s"));
    app.ended = Some("cannot read /proc/diskstats".to_owned());
    assert!(text(&mut app).contains("cannot read /proc/diskstats"));
}

#[test]
fn events_of_the_terminal_do_not_disturb() {
    let mut app = live("captures/mixed.txt");
    assert_eq!(press(&mut app, "\x1b[999;999H\u{7f}äöü~^"), []);
    text(&mut app);
}

#[test]
fn charts_stay_in_place_while_sentences_come_and_go() {
    let (frames, _) = frames_of("captures/capped-3000.txt", false, |_| {});
    let mut app = app(Source::Live);
    let mut starts = Vec::new();
    for (second, (rows, topology)) in frames.into_iter().enumerate() {
        app.tick(second as f64);
        app.push(rows, topology);
        app.has_selected = true;
        let lines = lines(&mut app, 120, 40);
        starts.push(
            lines
                .iter()
                .position(|line| line.starts_with("latency"))
                .unwrap(),
        );
    }
    assert!(starts.iter().all(|start| *start == starts[0]), "{starts:?}");
}

#[test]
fn the_page_of_a_device_stays_with_it() {
    let (mut frames, _) = frames_of("captures/sweep-randread.txt", false, |_| {});
    let mut app = app(Source::Live);
    let rest = frames.split_off(2);
    frames
        .into_iter()
        .for_each(|(rows, topology)| app.push(rows, topology));
    draw(&mut app, 120, 40);
    press(&mut app, "f");
    draw(&mut app, 120, 40);
    press(&mut app, "G\r");
    let selected = app.selected.clone();
    for (rows, topology) in rest {
        app.push(rows, topology);
        draw(&mut app, 120, 40);
        assert_eq!(app.selected, selected);
    }
}
