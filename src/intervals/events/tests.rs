//! Tests of events over intervals of a second.

use super::*;
use crate::analysis::{Assessment, Evidence, Verdict, Verdict::*};
use crate::intervals::{DeviceActivity, DeviceInterval, DeviceState, IntervalHeader, IntervalRows};
use crate::metrics::{Completed, Interval};
use crate::topology::{Kind, Node, Topology};
use jiff::Timestamp;

/// The row of a device in a second: its name, its verdict, and the seconds for which that has lasted.
type Row = (&'static str, Option<Verdict>, f64);

fn interval(second: u64, rows: &[Row]) -> IntervalRows {
    let device = |(device, verdict, lasted_s): &Row| {
        let reads = Completed::example(1.0, 100 * (second + 1), 10.0);
        let stats = Interval { reads, ..Interval::unknown(1.0).with_queue(second as f64) };
        let assessment = Assessment {
            verdict: *verdict,
            lasted_s: (*lasted_s > 0.0).then_some(*lasted_s),
            evidence: vec![Evidence::NoLatency],
            ..Assessment::default()
        };
        let activity = DeviceActivity { stats, assessment, ..DeviceActivity::default() };
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

/// The tracker after seconds with these verdicts on sda; a verdict may have lasted for longer.
fn tracked(seconds: &[(Option<Verdict>, f64)]) -> EventTracker {
    let mut tracker = EventTracker::default();
    for (second, (verdict, lasted_s)) in seconds.iter().enumerate() {
        tracker.observe(&interval(second as u64, &[("sda", *verdict, *lasted_s)]));
    }
    tracker
}

/// The verdict, beginning and end of each event after seconds with these verdicts on sda, and whether it is ongoing.
fn events(seconds: &[(Option<Verdict>, f64)]) -> Vec<(Verdict, f64, f64, bool)> {
    let events = tracked(seconds).events();
    events.list.iter().map(|one| (one.verdict, one.begin.run_s, one.end.run_s, one.is_ongoing)).collect()
}

fn repeat(verdict: Verdict, count: usize) -> Vec<(Option<Verdict>, f64)> {
    vec![(Some(verdict), 1.0); count]
}

const SILENT: (Option<Verdict>, f64) = (None, 0.0);

#[test]
fn an_event_begins_at_the_onset_and_ends_with_the_last_interval() {
    let seconds =
        [repeat(Ok, 2), vec![SILENT; 2], vec![(Some(Saturated), 3.0)], repeat(Saturated, 3), repeat(Ok, 2)];
    assert_eq!(events(&seconds.concat()), [(Saturated, 2.0, 8.0, false)]);
    let tracker = tracked(&seconds.concat());
    let event = tracker.events().list.remove(0);
    assert_eq!(event.begin.at, Timestamp::from_second(1002).ok());
    assert_eq!(event.claimed_at.run_s, 5.0);
    // The rate includes the intervals before the claim.
    let rate = event.rate.unwrap().per_s;
    assert_eq!((event.duration_s, rate, event.peak_queue), (6.0, 550.0, Some(7.0)));
    assert_eq!(event.mean_queue, Some(4.5));
}

#[test]
fn requests_that_took_less_time_than_the_kernel_counts_have_no_latency() {
    for (await_ms, expected) in [(0.0, None), (0.002, Some(0.002))] {
        let mut tracker = EventTracker::default();
        for second in 0..3 {
            let mut rows = interval(second, &[("zram1", Some(Throttled), 1.0 + second as f64)]);
            let DeviceState::Active(activity) = &mut rows.devices[0].state else { unreachable!() };
            activity.stats.reads = Completed::example(1.0, 1000, await_ms);
            tracker.observe(&rows);
        }
        let event = tracker.events().list.remove(0);
        assert_eq!(event.peak_latency.map(|peak| peak.await_ms), expected);
    }
}

#[test]
fn an_onset_is_not_before_an_interval_without_trouble() {
    let seconds = [repeat(Ok, 4), vec![SILENT], vec![(Some(Capped), 5.0)]].concat();
    assert_eq!(events(&seconds), [(Capped, 4.0, 6.0, true)]);
    let seconds = [vec![SILENT; 2], repeat(Idle, 1), vec![SILENT], vec![(Some(Capped), 5.0)]].concat();
    assert_eq!(events(&seconds), [(Capped, 3.0, 5.0, true)]);
}

#[test]
fn an_onset_is_not_before_a_break_or_a_reset() {
    let mut tracker = tracked(&[SILENT; 3]);
    tracker.note_break();
    tracker.observe(&interval(3, &[("sda", Some(Capped), 4.0)]));
    assert_eq!(tracker.events().list[0].begin.run_s, 3.0);
    let mut tracker = tracked(&repeat(Saturated, 3));
    tracker.note_break();
    tracker.observe(&interval(3, &[("sda", Some(Saturated), 4.0)]));
    let begins: Vec<f64> = tracker.events().list.iter().map(|event| event.begin.run_s).collect();
    assert_eq!(begins, [0.0, 3.0]);
    let mut tracker = tracked(&[SILENT; 3]);
    let mut reset = interval(3, &[("sda", None, 0.0)]);
    reset.devices[0].state = DeviceState::Reset;
    tracker.observe(&reset);
    tracker.observe(&interval(4, &[("sda", Some(Capped), 5.0)]));
    assert_eq!(tracker.events().list[0].begin.run_s, 4.0);
}

#[test]
fn a_cap_that_shows_for_a_part_of_the_time_is_the_same_event() {
    let around = |count: usize| {
        [repeat(Ok, 2), repeat(Saturated, count), repeat(Capped, 3), repeat(Saturated, 12)].concat()
    };
    let event = tracked(&around(12)).events().list.remove(0);
    assert_eq!((event.verdict, event.duration_s, event.verdict_s), (Capped, 27.0, 3.0));
    // Hours of saturation are not merged into a few seconds at a cap.
    let verdicts: Vec<Verdict> = events(&around(40)).into_iter().map(|event| event.0).collect();
    assert_eq!(verdicts, [Saturated, Capped]);
}

#[test]
fn the_begin_is_not_known_where_trouble_was_there_at_the_first_sample() {
    let known = |tracker: &EventTracker| -> Vec<bool> {
        tracker.events().list.iter().map(|event| event.begin_is_known).collect()
    };
    assert_eq!(known(&tracked(&repeat(Saturated, 3))), [false]);
    assert_eq!(known(&tracked(&[SILENT, (Some(Capped), 2.0)])), [false]);
    assert_eq!(known(&tracked(&[SILENT, (Some(Capped), 1.0)])), [true]);
    let mut tracker = tracked(&[repeat(Ok, 2), repeat(Saturated, 3)].concat());
    tracker.note_break();
    tracker.observe(&interval(5, &[("sda", Some(Saturated), 1.0)]));
    assert_eq!(known(&tracker), [true, false]);
}

#[test]
fn trouble_that_began_before_the_range_has_its_true_onset() {
    let mut tracker = EventTracker::default();
    for (second, verdict) in [Saturated, Ok, Ok, Ok, Ok, Capped, Capped, Capped].into_iter().enumerate() {
        let mut rows = interval(second as u64, &[("sda", Some(verdict), 1.0)]);
        rows.header.is_preceding = second < 6;
        tracker.observe(&rows);
    }
    // An event that ended before the range is not listed.
    let [event] = &tracker.events().list[..] else { panic!("one event") };
    assert_eq!((event.begin.run_s, event.end.run_s, event.duration_s), (-1.0, 2.0, 3.0));
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
    let seconds =
        [repeat(Queueing, 3), repeat(Saturated, 5), vec![(Some(Capped), 3.0)], repeat(Capped, 9)].concat();
    let events_found = tracked(&seconds).events().list;
    let course: Vec<(Verdict, f64)> =
        events_found[0].course.iter().map(|one| (one.verdict, one.begin.run_s)).collect();
    assert_eq!(events_found.len(), 1);
    assert_eq!(course, [(Queueing, 0.0), (Saturated, 3.0), (Capped, 6.0)]);
    assert_eq!((events_found[0].verdict_s, events_found[0].duration_s), (12.0, 18.0));
    // An onset before the milder verdict replaces it.
    let seconds = [vec![SILENT], repeat(Saturated, 5), vec![(Some(Capped), 6.0)]].concat();
    assert_eq!(events(&seconds), [(Capped, 1.0, 7.0, true)]);
}

#[test]
fn long_times_of_milder_verdicts_are_events_of_their_own() {
    let seconds = [repeat(Saturated, 30), repeat(Stalled, 5), repeat(Saturated, 30)].concat();
    let found = [(Saturated, 0.0, 30.0, false), (Stalled, 30.0, 35.0, false), (Saturated, 35.0, 65.0, true)];
    assert_eq!(events(&seconds), found);
    let seconds = [repeat(Queueing, 30), repeat(Capped, 5), repeat(Queueing, 11)].concat();
    assert_eq!(events(&seconds).len(), 3);
    // Equal times of the same load.
    let seconds = [repeat(Saturated, 30), repeat(Capped, 30)].concat();
    assert_eq!(events(&seconds), [(Capped, 0.0, 60.0, true)]);
}

#[test]
fn the_present_trouble_has_its_onset() {
    let seconds =
        [repeat(Ok, 2), vec![SILENT; 2], vec![(Some(Saturated), 3.0)], repeat(Saturated, 3)].concat();
    let since = tracked(&seconds).since("sda").unwrap();
    assert_eq!((since.verdict, since.begin.run_s, since.lasted_s), (Saturated, 2.0, 6.0));
    let seconds = [seconds, vec![SILENT], repeat(Saturated, 2)].concat();
    assert_eq!(tracked(&seconds).since("sda").unwrap().begin.run_s, 2.0);
    assert_eq!(tracked(&[seconds.clone(), repeat(Ok, 1)].concat()).since("sda"), None);
    assert_eq!(tracked(&seconds).since("sdb"), None);
    // A device that is not listed is idle.
    let mut tracker = tracked(&seconds);
    tracker.observe(&interval(99, &[]));
    assert_eq!((tracker.since("sda"), tracker.events().list[0].is_ongoing), (None, false));
}

#[test]
fn events_stay_bounded() {
    let mut tracker = EventTracker::default();
    for second in 0..110_000 {
        let verdict = if second % 5 == 0 { Saturated } else { Ok };
        tracker.observe(&interval(second, &[("sda", Some(verdict), 1.0)]));
    }
    let events = tracker.events();
    assert!((10_000..20_001).contains(&events.list.len()), "{}", events.list.len());
    assert_eq!(events.list.len() as u64 + events.dropped, 22_000);
    assert!(events.list.is_sorted_by(|a, b| a.begin.run_s <= b.begin.run_s));
}

fn node(name: &str, kind: Kind, below: &[&str]) -> Node {
    let backing_devices = below.iter().map(|name| (*name).to_owned()).collect();
    Node { name: name.into(), kind, backing_devices, ..Node::default() }
}

#[test]
fn events_of_stacked_devices_at_one_time_are_one_incident() {
    let topology = Topology::new(vec![
        node("sda", Kind::Disk, &[]),
        node("sda1", Kind::Partition, &["sda"]),
        node("dm-0", Kind::Lvm, &["sda1"]),
        node("sdb", Kind::Disk, &[]),
    ]);
    let rows =
        |verdicts: [(&'static str, Verdict); 4]| verdicts.map(|(name, verdict)| (name, Some(verdict), 1.0));
    let mut tracker = EventTracker::default();
    for second in 0..5 {
        let verdicts = [("sda", Saturated), ("sda1", Saturated), ("dm-0", Queueing), ("sdb", Saturated)];
        tracker.observe(&interval(second, &rows(verdicts)));
    }
    for second in 5..10 {
        tracker.observe(&interval(second, &[("sdb", Some(Saturated), 1.0)]));
    }
    for second in 10..15 {
        tracker.observe(&interval(second, &[("sda", Some(Ok), 1.0), ("dm-0", Some(Capped), 1.0)]));
    }
    let events = tracker.events().list;
    let incidents = group_incidents(&events, &topology);
    let names = |incident: &Incident| {
        let others: Vec<&str> = incident.others.iter().map(|at| events[*at].device.as_str()).collect();
        format!("{} {}", events[incident.lead].device, others.join(" "))
    };
    let found: Vec<String> = incidents.iter().map(names).collect();
    assert_eq!(found, ["sda sda1 dm-0", "sdb ", "dm-0 "]);
    assert_eq!(group_incidents(&events, &Topology::default()).len(), events.len());
}

#[test]
fn a_long_trouble_leads_its_incident_before_a_short_one_with_a_worse_verdict() {
    let topology = Topology::new(vec![node("sda", Kind::Disk, &[]), node("dm-0", Kind::Lvm, &["sda"])]);
    let lead = |throttled_s: u64| {
        let mut tracker = EventTracker::default();
        for second in 0..20 {
            let of_disk = if second < throttled_s { Throttled } else { Ok };
            tracker
                .observe(&interval(second, &[("dm-0", Some(Saturated), 1.0), ("sda", Some(of_disk), 1.0)]));
        }
        let events = tracker.events().list;
        let incidents = group_incidents(&events, &topology);
        assert_eq!((events.len(), incidents.len()), (2, 1));
        let mut sorted: Vec<&Event> = events.iter().collect();
        sorted.sort_by(|a, b| a.worst_first(b));
        assert_eq!(sorted[0].device, events[incidents[0].lead].device);
        events[incidents[0].lead].device.clone()
    };
    assert_eq!(lead(5), "dm-0");
    assert_eq!(lead(20), "sda");
}
