//! The page of a device in an interval whose single requests were traced.

use super::{draw, frames_of, lines, live, press, replay};
use crate::counters::{LatencySpan, RequestKind};
use crate::metrics::LatencyStats;
use crate::report::layout::number_format::{count, time};

const CAPTURE: &str = "tracefs/recording.txt";

#[test]
fn the_page_has_the_percentiles_of_the_interval_under_the_cursor() {
    // For each interval, the cells of each kind of request of the volume, and the beginnings of the lines of its
    // threads.
    let mut expected: Vec<(f64, Vec<[String; 4]>, Vec<String>)> = Vec::new();
    let mut end_s = 0.0;
    let (frames, _) = frames_of(CAPTURE, false, |rows| {
        end_s += rows.header.elapsed_s;
        let traced = rows.traced.as_ref().unwrap();
        let device = traced.devices.iter().find(|device| device.name == "dm-0");
        let kinds = [(RequestKind::Read, "read"), (RequestKind::Write, "write")];
        let cells = kinds.into_iter().filter_map(|(kind, name)| {
            let stats = LatencyStats::of(device?.histogram(kind, LatencySpan::Device)?)?;
            let times = [time(stats.percentiles_ms[2]), time(stats.max_ms)];
            let [p99, max] = times;
            Some([name.to_owned(), count(stats.count), p99, max])
        });
        let threads =
            traced.threads.iter().flatten().filter(|thread| thread.device == "dm-0" && thread.bytes() > 0);
        let threads = threads.map(|thread| format!("who: {} {}", thread.comm, thread.tid));
        expected.push((end_s, cells.collect(), threads.collect()));
    });
    assert_eq!(expected.iter().filter(|(_, cells, _)| cells.len() == 2).count(), 2);
    assert!(expected.iter().any(|(_, _, threads)| !threads.is_empty()));
    let mut app = replay(CAPTURE);
    draw(&mut app, 120, 50);
    let volume = (0..frames[0].len()).map(|row| frames[0].names(row)).find(|names| &*names.device == "dm-0");
    app.selected = Some(volume.unwrap().id);
    press(&mut app, "\r0");
    let mut seen = 0;
    for (end_s, kinds, threads) in &expected {
        assert!((app.moment().unwrap().end_s() - end_s).abs() < 1e-6);
        let page = lines(&mut app, 120, 50);
        let has_titles =
            page.iter().any(|line| line.trim_start().starts_with("requests") && line.contains("p99.9"));
        assert_eq!(has_titles, !kinds.is_empty(), "{page:#?}");
        for cells in kinds {
            let line = page.iter().find(|line| {
                let words: Vec<&str> = line.split_whitespace().collect();
                words.first() == Some(&cells[0].as_str()) && words.last() == Some(&"100%")
            });
            let words: Vec<&str> = line.unwrap().split_whitespace().collect();
            assert_eq!([words[1], words[4], words[6]], [&cells[1], &cells[2], &cells[3]].map(String::as_str));
            seen += 1;
        }
        let shown = page.iter().filter(|line| line.contains("who: ") && line.contains(" MiB/s"));
        let shown: Vec<&str> = shown.map(|line| line.trim_start()).collect();
        assert_eq!(shown.len(), threads.len(), "{page:#?}");
        assert!(shown.iter().zip(threads).all(|(line, thread)| line.starts_with(thread)), "{shown:?}");
        press(&mut app, "\u{1b}[C");
    }
    assert_eq!(seen, 4);
}

#[test]
fn a_capture_without_single_requests_has_no_lines_about_them() {
    let mut app = replay("captures/capped-3000.txt");
    draw(&mut app, 120, 50);
    press(&mut app, "\r");
    let page = lines(&mut app, 120, 50);
    assert!(page.iter().all(|line| !line.contains("p99") && !line.contains("single requests")), "{page:#?}");
}

#[test]
fn requests_are_traced_only_while_the_page_of_a_device_is_open() {
    let mut live = live("captures/capped-3000.txt");
    draw(&mut live, 120, 50);
    press(&mut live, "\r");
    assert!(!live.wants_trace(), "nobody asked for it");
    press(&mut live, "\u{1b}");
    live.options.traces = true;
    assert!(!live.wants_trace());
    press(&mut live, "\r");
    assert!(live.wants_trace());
    let page = lines(&mut live, 120, 50);
    assert!(page.iter().any(|line| line == "  single requests: tracing begins ..."), "{page:#?}");
    press(&mut live, "\u{1b}");
    assert!(!live.wants_trace());
    press(&mut live, "\r");
    live.note_trace_failure("cannot trace requests: refused".to_owned());
    let page = lines(&mut live, 120, 50);
    assert!(!live.wants_trace() && page.iter().any(|line| line.contains("cannot trace requests: refused")));
    assert!(page.iter().all(|line| !line.contains("tracing begins")), "{page:#?}");
    let mut capture = replay(CAPTURE);
    capture.options.traces = true;
    press(&mut capture, "\r");
    assert!(!capture.wants_trace());
}
