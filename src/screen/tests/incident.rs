//! An incident on the screen: the layer where requests wait, the baseline, late samples, and the search for a device.

use super::*;
use crate::topology::Node;

/// A device: its name, verdict, queue, requests in flight and read latency in milliseconds.
type Device = (&'static str, Option<Verdict>, f64, u64, f64);

/// Returns the state of a device.
fn state(&(_, verdict, queue, in_flight, await_ms): &Device) -> DeviceState {
    let reads = Completed::example(1.0, 100, await_ms);
    let busy = Interval::unknown(1.0).with_queue(queue).with_util(100.0);
    let stats = Interval {
        reads,
        in_flight: Some(in_flight),
        ..busy
    };
    let assessment = Assessment {
        verdict,
        read_saturation: Some(2.0),
        baseline_source: Some(BaselineSource::SinceBoot),
        ..Assessment::default()
    };
    DeviceState::Active(Box::new(DeviceActivity {
        shown_verdict: assessment.verdict,
        ..DeviceActivity::example(stats, assessment)
    }))
}

/// Adds an interval of this length; `layers` is the stacking of the devices.
fn push(app: &mut App, devices: &[Device], layers: &[(&str, &[&str])], elapsed_s: f64) {
    let nodes = layers.iter().map(|(name, below)| Node {
        name: (*name).to_owned(),
        backing_devices: below.iter().map(|name| (*name).to_owned()).collect(),
        ..Node::default()
    });
    let rows = devices
        .iter()
        .map(|device| DeviceInterval::without_alias(device.0, state(device)));
    let end_s = app.history.newest().map_or(0.0, |newest| newest.span.end_s) + elapsed_s;
    let end =
        jiff::Timestamp::from_nanosecond((1_763_654_640.0 * 1e9 + end_s * 1e9) as i128).unwrap();
    let rows = IntervalRows {
        header: IntervalHeader {
            end: Some(end),
            elapsed_s,
            requested_s: Some(1.0),
            ..IntervalHeader::default()
        },
        devices: rows.collect(),
        total: None,
        events: Vec::new(),
        attribution: None,
        has_found_any: true,
    };
    app.push(rows, Arc::new(Topology::new(nodes.collect())));
}

/// Returns the layers on the page of a device, and for each layer whether requests wait there.
fn layers_of(name: &str, devices: &[Device], layers: &[(&str, &[&str])]) -> Vec<(String, bool)> {
    let mut app = app(Source::Live);
    push(&mut app, devices, layers, 1.0);
    app.selected = Some(name.to_owned());
    press(&mut app, "\r");
    let lines = lines(&mut app, 120, 40);
    let title = lines
        .iter()
        .position(|line| line.starts_with("  layer "))
        .unwrap();
    let listed = lines[title + 1..]
        .iter()
        .take_while(|line| !line.contains("who: "));
    listed
        .map(|line| {
            let name = line.split_whitespace().next().unwrap().to_owned();
            (name, line.contains("requests wait here"))
        })
        .collect()
}

#[test]
fn the_layer_where_requests_wait_is_marked() {
    let marks = |pairs: &[(&str, bool)]| -> Vec<(String, bool)> {
        pairs
            .iter()
            .map(|(name, waits)| ((*name).to_owned(), *waits))
            .collect()
    };
    let stalled = [
        ("loop0", Some(Verdict::Ok), 0.5, 0, 1.0),
        ("loop1", Some(Verdict::Stalled), 0.0, 16, 1.0),
        ("vda", Some(Verdict::Ok), 2.0, 3, 1.0),
    ];
    let stack: [(&str, &[&str]); 3] = [("loop0", &["vda"]), ("loop1", &["vda"]), ("vda", &[])];
    let expected = marks(&[("loop1", true), ("vda", false)]);
    assert_eq!(
        layers_of("loop1", &stalled, &stack),
        expected,
        "the kernel counts no queue while none completes"
    );
    assert_eq!(
        layers_of("vda", &stalled, &stack),
        expected,
        "of two devices on one, that with more requests"
    );

    let array = [
        ("md0", None, 40.0, 40, 1.0),
        ("sda", None, 19.0, 20, 1.0),
        ("sdb", None, 20.5, 20, 1.0),
    ];
    let stack: [(&str, &[&str]); 3] = [("md0", &["sda", "sdb"]), ("sda", &[]), ("sdb", &[])];
    let expected = marks(&[("md0", false), ("sda", false), ("sdb", true)]);
    assert_eq!(
        layers_of("md0", &array, &stack),
        expected,
        "the members share the requests of an array"
    );

    let chain = [
        ("dm-1", None, 22.0, 22, 1.0),
        ("dm-0", None, 15.0, 15, 1.0),
        ("sda", None, 5.0, 5, 1.0),
    ];
    let stack: [(&str, &[&str]); 3] = [("dm-1", &["dm-0"]), ("dm-0", &["sda"]), ("sda", &[])];
    let expected = marks(&[("dm-1", false), ("dm-0", true), ("sda", false)]);
    assert_eq!(
        layers_of("sda", &chain, &stack),
        expected,
        "7, 10 and 5 wait"
    );
}

#[test]
fn the_chart_names_what_latency_is_compared_with() {
    let mut app = app(Source::Live);
    push(&mut app, &[("sda", None, 1.0, 1, 8.0)], &[], 1.0);
    let text = text(&mut app);
    assert!(
        text.contains("mean since boot 4.00ms") && !text.contains("unloaded 4"),
        "{text}"
    );
}

#[test]
fn a_sample_that_was_late_is_loud_then_and_later() {
    let mut app = app(Source::Live);
    for elapsed_s in [1.0, 1.4, 6.0] {
        let said = text(&mut app).contains("sample late");
        assert!(!said, "{}", text(&mut app));
        push(&mut app, &[("sda", None, 1.0, 1, 8.0)], &[], elapsed_s);
    }
    let shown = lines(&mut app, 120, 40);
    assert!(shown[0].contains("sample late by 5.0 s"), "{}", shown[0]);
    assert!(shown[39].contains("sample late by 5.0 s"), "{}", shown[39]);
    push(&mut app, &[("sda", None, 1.0, 1, 8.0)], &[], 1.0);
    assert!(!lines(&mut app, 120, 40)[0].contains("late"));
    press(&mut app, "h");
    assert!(lines(&mut app, 120, 40)[0].contains("sample late by 5.0 s"));
}

#[test]
fn the_time_is_shown_on_the_narrowest_screen() {
    let mut app = replay("captures/capped-3000.txt");
    app.options.source = Source::Capture("a-long-name-of-a-capture.txt".to_owned());
    let head = lines(&mut app, 60, 15).swap_remove(0);
    assert!(
        head.contains("18:23:04") && head.contains("incident 1 of 2  REPLAY"),
        "{head}"
    );
}

#[test]
fn the_worst_device_is_selected_and_one_that_was_there_shortly_is_found() {
    let mut app = app(Source::Live);
    let others = |await_ms| -> Vec<Device> {
        let names = ["sda", "sdb", "sdc", "sdd", "sde", "sdf"];
        names
            .map(|name| (name, Some(Verdict::Saturated), 1.0, 1, await_ms))
            .to_vec()
    };
    for second in 0..40 {
        let mut devices = others(if second == 20 { 8.0 } else { 5.0 });
        if second == 20 {
            devices.insert(3, ("usb", Some(Verdict::Saturated), 1.0, 1, 9.0));
        }
        push(&mut app, &devices, &[], 1.0);
    }
    press(&mut app, "w");
    assert_eq!(app.selected.as_deref(), Some("usb"));
}

#[test]
fn the_ribbon_says_in_words_what_it_does_not_know() {
    let mut app = app(Source::Live);
    let old = ("sda", Some(Verdict::Ok), 1.0, 1, 1.0);
    for second in 0..90 {
        match second {
            0..45 => push(&mut app, &[old], &[], 1.0),
            _ => push(&mut app, &[old, ("sdb", None, 1.0, 1, 1.0)], &[], 1.0),
        }
    }
    let text = lines(&mut app, 200, 40).join("\n");
    assert!(text.contains("  no data  "), "{text}");
    assert!(text.contains("? no verdict ?"), "{text}");
}

#[test]
fn a_burst_is_cut_and_what_has_no_value_is_not_drawn() {
    let mut app = app(Source::Live);
    for second in 0..60 {
        let queue = if second == 30 { 4000.0 } else { 2.0 };
        push(
            &mut app,
            &[("sda", Some(Verdict::Ok), queue, 0, 1.0)],
            &[],
            1.0,
        );
    }
    press(&mut app, "\r");
    let text = text(&mut app);
    assert_eq!(text.matches("▲ up to ").count(), 1, "{text}");
    let queue = text
        .split("\n")
        .find(|line| line.starts_with("queue"))
        .unwrap();
    assert!(queue.ends_with("▲ up to 4000"), "{queue}");
    assert!(
        text.contains("requests/s") && !text.contains("flushes"),
        "{text}"
    );
    assert!(!text.contains("cannot be true"), "{text}");
}
