//! Tests of events over intervals of a second.

use super::*;
use crate::analysis::{Assessment, Evidence, Verdict, Verdict::*};
use crate::intervals::{
    Cause, DeviceActivity, DeviceInterval, DeviceState, IntervalHeader, IntervalRows,
    OngoingIncident,
};
use crate::metrics::{Completed, Interval};
use crate::topology::{Kind, Node, Topology};
use jiff::Timestamp;

/// The row of a device in a second: its name, its verdict, and the seconds for which that has lasted.
type Row = (&'static str, Option<Verdict>, f64);

fn interval(second: u64, rows: &[Row]) -> IntervalRows {
    let device = |(device, verdict, lasted_s): &Row| {
        let reads = Completed::example(1.0, 100 * (second + 1), 10.0);
        let stats = Interval {
            reads,
            ..Interval::unknown(1.0).with_queue(second as f64)
        };
        let assessment = Assessment {
            verdict: *verdict,
            lasted_s: (*lasted_s > 0.0).then_some(*lasted_s),
            evidence: vec![Evidence::NoLatency],
            ..Assessment::default()
        };
        let activity = DeviceActivity {
            stats,
            assessment,
            ..DeviceActivity::default()
        };
        let state = DeviceState::Active(Box::new(activity));
        DeviceInterval::without_alias(device, state)
    };
    let header = IntervalHeader {
        end: Timestamp::from_second(1000 + second as i64 + 1).ok(),
        elapsed_s: 1.0,
        ..IntervalHeader::default()
    };
    IntervalRows {
        header,
        devices: rows.iter().map(device).collect(),
        total: None,
        events: Vec::new(),
        attribution: None,
        has_found_any: true,
    }
}

fn observe(tracker: &mut EventTracker, mut rows: IntervalRows) -> IntervalRows {
    tracker.observe(&mut rows, &Topology::default());
    rows
}

/// The tracker after seconds with these verdicts on sda; a verdict may have lasted for longer.
fn tracked(seconds: &[(Option<Verdict>, f64)]) -> EventTracker {
    let mut tracker = EventTracker::default();
    for (second, (verdict, lasted_s)) in seconds.iter().enumerate() {
        observe(
            &mut tracker,
            interval(second as u64, &[("sda", *verdict, *lasted_s)]),
        );
    }
    tracker
}

/// The verdict, beginning and end of each event after seconds with these verdicts on sda, and whether it is ongoing.
fn events(seconds: &[(Option<Verdict>, f64)]) -> Vec<(Verdict, f64, f64, bool)> {
    let events = tracked(seconds).events(&Topology::default());
    events
        .list
        .iter()
        .map(|one| (one.verdict, one.begin.run_s, one.end.run_s, one.is_ongoing))
        .collect()
}

fn repeat(verdict: Verdict, count: usize) -> Vec<(Option<Verdict>, f64)> {
    vec![(Some(verdict), 1.0); count]
}

const SILENT: (Option<Verdict>, f64) = (None, 0.0);

#[test]
fn an_event_begins_at_the_onset_and_ends_with_the_last_interval() {
    let seconds = [
        repeat(Ok, 2),
        vec![SILENT; 2],
        vec![(Some(Saturated), 3.0)],
        repeat(Saturated, 3),
        repeat(Ok, 2),
    ];
    assert_eq!(events(&seconds.concat()), [(Saturated, 2.0, 8.0, false)]);
    let tracker = tracked(&seconds.concat());
    let event = tracker.events(&Topology::default()).list.remove(0);
    assert_eq!(event.begin.at, Timestamp::from_second(1002).ok());
    assert_eq!(event.verdict_s, 6.0);
}

#[test]
fn an_onset_is_not_before_an_interval_without_trouble() {
    let seconds = [repeat(Ok, 4), vec![SILENT], vec![(Some(Capped), 5.0)]].concat();
    assert_eq!(events(&seconds), [(Capped, 4.0, 6.0, true)]);
    let seconds = [
        vec![SILENT; 2],
        repeat(Idle, 1),
        vec![SILENT],
        vec![(Some(Capped), 5.0)],
    ]
    .concat();
    assert_eq!(events(&seconds), [(Capped, 3.0, 5.0, true)]);
}

#[test]
fn an_onset_is_not_before_a_break_or_a_reset() {
    let mut tracker = tracked(&[SILENT; 3]);
    tracker.note_break();
    observe(&mut tracker, interval(3, &[("sda", Some(Capped), 4.0)]));
    assert_eq!(
        tracker.events(&Topology::default()).list[0].begin.run_s,
        3.0
    );
    let mut tracker = tracked(&repeat(Saturated, 3));
    tracker.note_break();
    observe(&mut tracker, interval(3, &[("sda", Some(Saturated), 4.0)]));
    let begins: Vec<f64> = tracker
        .events(&Topology::default())
        .list
        .iter()
        .map(|event| event.begin.run_s)
        .collect();
    assert_eq!(begins, [0.0, 3.0]);
    let mut tracker = tracked(&[SILENT; 3]);
    let mut reset = interval(3, &[("sda", None, 0.0)]);
    reset.devices[0].state = DeviceState::Reset;
    observe(&mut tracker, reset);
    observe(&mut tracker, interval(4, &[("sda", Some(Capped), 5.0)]));
    assert_eq!(
        tracker.events(&Topology::default()).list[0].begin.run_s,
        4.0
    );
}

#[test]
fn a_cap_that_shows_for_a_part_of_the_time_is_the_same_event() {
    let around = |count: usize| {
        [
            repeat(Ok, 2),
            repeat(Saturated, count),
            repeat(Capped, 3),
            repeat(Saturated, 12),
        ]
        .concat()
    };
    let event = tracked(&around(12))
        .events(&Topology::default())
        .list
        .remove(0);
    assert_eq!(
        (
            event.verdict,
            event.end.run_s - event.begin.run_s,
            event.verdict_s
        ),
        (Capped, 27.0, 3.0)
    );
    // Hours of saturation are not merged into a few seconds at a cap.
    let verdicts: Vec<Verdict> = events(&around(40))
        .into_iter()
        .map(|event| event.0)
        .collect();
    assert_eq!(verdicts, [Saturated, Capped]);
}

#[test]
fn the_begin_is_not_known_where_trouble_was_there_at_the_first_sample() {
    let known = |tracker: &EventTracker| -> Vec<bool> {
        tracker
            .events(&Topology::default())
            .list
            .iter()
            .map(|event| event.begin_is_known)
            .collect()
    };
    assert_eq!(known(&tracked(&repeat(Saturated, 3))), [false]);
    assert_eq!(known(&tracked(&[SILENT, (Some(Capped), 2.0)])), [false]);
    assert_eq!(known(&tracked(&[SILENT, (Some(Capped), 1.0)])), [true]);
    let mut tracker = tracked(&[repeat(Ok, 2), repeat(Saturated, 3)].concat());
    tracker.note_break();
    observe(&mut tracker, interval(5, &[("sda", Some(Saturated), 1.0)]));
    assert_eq!(known(&tracker), [true, false]);
}

#[test]
fn trouble_that_began_before_the_range_has_its_true_onset() {
    let mut tracker = EventTracker::default();
    for (second, verdict) in [Saturated, Ok, Ok, Ok, Ok, Capped, Capped, Capped]
        .into_iter()
        .enumerate()
    {
        let mut rows = interval(second as u64, &[("sda", Some(verdict), 1.0)]);
        rows.header.is_preceding = second < 6;
        observe(&mut tracker, rows);
    }
    // An event that ended before the range is not listed.
    let [event] = &tracker.events(&Topology::default()).list[..] else {
        panic!("one event")
    };
    assert_eq!((event.begin.run_s, event.end.run_s), (-1.0, 2.0));
    assert_eq!(event.begin.at, Timestamp::from_second(1005).ok());
    assert!(event.begin_is_known);
}

#[test]
fn a_throttled_device_was_at_its_limit_for_three_intervals_although_it_was_ok() {
    let seconds = [repeat(Ok, 5), repeat(Throttled, 2)].concat();
    assert_eq!(events(&seconds), [(Throttled, 3.0, 7.0, true)]);
}

#[test]
fn short_interruptions_do_not_split_an_event() {
    let gap = |between: Vec<(Option<Verdict>, f64)>| {
        events(&[repeat(Saturated, 4), between, repeat(Saturated, 4)].concat()).len()
    };
    assert_eq!(gap(vec![SILENT; 3]), 1);
    assert_eq!(gap(repeat(Ok, 3)), 1);
    assert_eq!(gap(repeat(Idle, 3)), 1);
    assert_eq!(gap(repeat(Ok, 4)), 2);
    assert_eq!(gap(vec![SILENT; 4]), 2);
}

#[test]
fn verdicts_of_one_incident_are_one_event_with_the_worst() {
    let seconds = [
        repeat(Queueing, 3),
        repeat(Saturated, 5),
        vec![(Some(Capped), 3.0)],
        repeat(Capped, 9),
    ]
    .concat();
    let events_found = tracked(&seconds).events(&Topology::default()).list;
    let course: Vec<(Verdict, f64)> = events_found[0]
        .course
        .iter()
        .map(|one| (one.verdict, one.begin.run_s))
        .collect();
    assert_eq!(events_found.len(), 1);
    assert_eq!(course, [(Queueing, 0.0), (Saturated, 3.0), (Capped, 6.0)]);
    assert_eq!(
        (
            events_found[0].verdict_s,
            events_found[0].end.run_s - events_found[0].begin.run_s
        ),
        (12.0, 18.0)
    );
    // An onset before the milder verdict replaces it.
    let seconds = [
        vec![SILENT],
        repeat(Saturated, 5),
        vec![(Some(Capped), 6.0)],
    ]
    .concat();
    assert_eq!(events(&seconds), [(Capped, 1.0, 7.0, true)]);
}

#[test]
fn long_times_of_milder_verdicts_are_events_of_their_own() {
    let seconds = [
        repeat(Saturated, 30),
        repeat(Stalled, 5),
        repeat(Saturated, 30),
    ]
    .concat();
    let found = [
        (Saturated, 0.0, 30.0, false),
        (Stalled, 30.0, 35.0, false),
        (Saturated, 35.0, 65.0, true),
    ];
    assert_eq!(events(&seconds), found);
    let seconds = [
        repeat(Queueing, 30),
        repeat(Capped, 5),
        repeat(Queueing, 11),
    ]
    .concat();
    assert_eq!(events(&seconds).len(), 3);
    // Equal times of the same load.
    let seconds = [repeat(Saturated, 30), repeat(Capped, 30)].concat();
    assert_eq!(events(&seconds), [(Capped, 0.0, 60.0, true)]);
}

#[test]
fn events_stay_bounded() {
    let mut tracker = EventTracker::default();
    for second in 0..110_000 {
        let verdict = if second % 5 == 0 { Saturated } else { Ok };
        observe(
            &mut tracker,
            interval(second, &[("sda", Some(verdict), 1.0)]),
        );
    }
    let events = tracker.events(&Topology::default());
    assert!(
        (10_000..20_001).contains(&events.list.len()),
        "{}",
        events.list.len()
    );
    assert_eq!(events.list.len() as u64 + events.dropped, 22_000);
    assert!(
        events
            .list
            .is_sorted_by(|a, b| a.begin.run_s <= b.begin.run_s)
    );
}

fn node(name: &str, kind: Kind, below: &[&str]) -> Node {
    let backing_devices = below.iter().map(|name| (*name).to_owned()).collect();
    Node {
        name: name.into(),
        kind,
        backing_devices,
        ..Node::default()
    }
}

/// Disks, with a partition and volumes on one of them.
fn stack() -> Topology {
    Topology::new(vec![
        node("sda", Kind::Disk, &[]),
        node("sda1", Kind::Partition, &["sda"]),
        node("dm-0", Kind::Lvm, &["sda1"]),
        node("sdb", Kind::Disk, &[]),
    ])
}

/// Observes these devices for as many seconds as given, and returns the last rows.
fn observe_for(
    tracker: &mut EventTracker,
    seconds: u64,
    rows: &[(&'static str, Verdict)],
) -> IntervalRows {
    let rows: Vec<Row> = rows
        .iter()
        .map(|(name, verdict)| (*name, Some(*verdict), 1.0))
        .collect();
    let mut last = None;
    for second in 0..seconds {
        let mut rows = interval(second, &rows);
        tracker.observe(&mut rows, &stack());
        last = Some(rows);
    }
    last.unwrap()
}

/// The number of the incident of each device, its victim, its beginning and how long it has lasted.
fn incidents(rows: &IntervalRows) -> Vec<String> {
    let text = |row: &DeviceInterval| {
        let OngoingIncident {
            incident, lasted_s, ..
        } = row.incident()?;
        let (id, victim, begin) = (incident.id, &incident.victim.device, incident.begin.run_s);
        let since = if incident.begin_is_known { "" } else { ">" };
        Some(format!(
            "{} #{id} {victim} {begin} {since}{lasted_s}",
            row.device()
        ))
    };
    rows.devices.iter().filter_map(text).collect()
}

#[test]
fn the_devices_of_a_stack_have_one_incident_whose_victim_is_the_topmost() {
    let mut tracker = EventTracker::default();
    observe_for(&mut tracker, 5, &[("sda", Ok), ("dm-0", Ok), ("sdb", Ok)]);
    let rows = observe_for(
        &mut tracker,
        2,
        &[("sda", Saturated), ("dm-0", Ok), ("sdb", Capped)],
    );
    assert_eq!(incidents(&rows), ["sda #2 sda 5 2", "sdb #1 sdb 5 2"]);
    let rows = observe_for(
        &mut tracker,
        3,
        &[
            ("sda", Saturated),
            ("sda1", Saturated),
            ("dm-0", Queueing),
            ("sdb", Ok),
        ],
    );
    assert_eq!(
        incidents(&rows),
        ["sda #2 dm-0 5 5", "sda1 #2 dm-0 5 5", "dm-0 #2 dm-0 5 5"]
    );
    let cause = |rows: &IntervalRows| rows.devices[0].incident()?.incident.cause.clone();
    assert!(matches!(cause(&rows), Some(Cause::DeviceBelow(below)) if below.device == "sda"));
    let events = tracker.events(&stack());
    let names = |one: &IncidentSummary| {
        one.devices
            .iter()
            .map(|one| &*one.names.device)
            .collect::<Vec<_>>()
            .join(" ")
    };
    let found: Vec<String> = events.incidents.iter().map(names).collect();
    assert_eq!(found, ["sdb", "dm-0 sda sda1"]);
}

#[test]
fn trouble_that_comes_back_soon_is_the_same_incident() {
    let begins = |gap_s: u64| {
        let mut tracker = EventTracker::default();
        observe_for(&mut tracker, 5, &[("sda", Ok)]);
        observe_for(&mut tracker, 5, &[("sda", Saturated)]);
        assert!(incidents(&observe_for(&mut tracker, gap_s, &[("sda", Ok)])).is_empty());
        observe_for(&mut tracker, 1, &[("sda", Saturated)]);
        incidents(&observe_for(&mut tracker, 1, &[("sda", Capped)])).remove(0)
    };
    assert_eq!(
        [begins(3), begins(10)],
        ["sda #1 sda 5 10", "sda #1 sda 5 17"]
    );
    assert_eq!(begins(11), "sda #2 sda 21 2");
}

#[test]
fn a_short_stall_does_not_weigh_more_than_a_long_time_at_a_limit() {
    let trouble_s = |verdict, seconds| {
        let events = tracked(&repeat(verdict, seconds)).events(&Topology::default());
        events.incidents[0].trouble_s
    };
    let (limit, short, long) = (
        trouble_s(Capped, 600),
        trouble_s(Stalled, 3),
        trouble_s(Stalled, 150),
    );
    assert!(short < limit && limit < long, "{short} {limit} {long}");
}

#[test]
fn an_incident_of_the_first_interval_may_have_begun_before_it() {
    let mut tracker = EventTracker::default();
    let rows = observe_for(&mut tracker, 3, &[("sda", Capped)]);
    assert_eq!(incidents(&rows), ["sda #1 sda 0 >3"]);
    tracker.note_break();
    let rows = observe_for(&mut tracker, 3, &[("sda", Capped)]);
    assert_eq!(incidents(&rows), ["sda #2 sda 3 >3"]);
}

#[test]
fn slow_requests_that_nobody_waits_for_are_no_incident() {
    let found = |await_ms: f64| {
        let mut tracker = EventTracker::default();
        let mut rows = interval(0, &[("sda", Some(Slow), 1.0)]);
        let DeviceState::Active(activity) = &mut rows.devices[0].state else {
            unreachable!()
        };
        let flushes = Completed::example(1.0, 7, await_ms);
        activity.stats = Interval {
            flushes,
            ..Interval::unknown(1.0).with_queue(0.01)
        };
        incidents(&observe(&mut tracker, rows)).len()
    };
    assert_eq!((found(0.4), found(40.0)), (0, 1));
}

#[test]
fn latency_is_compared_with_that_before_the_trouble() {
    let mut tracker = EventTracker::default();
    for second in 0..6 {
        let mut rows = interval(
            second,
            &[("sda", Some(if second < 3 { Ok } else { Slow }), 1.0)],
        );
        let DeviceState::Active(activity) = &mut rows.devices[0].state else {
            unreachable!()
        };
        activity.stats.reads = Completed::example(1.0, 100, if second < 3 { 2.0 } else { 80.0 });
        let rows = observe(&mut tracker, rows);
        let incident = rows.devices[0].incident().map(|ongoing| &ongoing.incident);
        let expected =
            (second >= 3).then_some((Some(crate::analysis::IoDirection::Reads), Some(2.0)));
        assert_eq!(
            incident.map(|incident| (incident.requests, incident.before_ms)),
            expected
        );
    }
}
