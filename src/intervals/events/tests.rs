//! Tests of events and incidents over steps of a second.

use jiff::Timestamp;

use super::*;
use crate::attribution::{Limit, LimitSource, RateUnit, ReachedLimit};
use crate::counters::CgroupHierarchy;
use crate::intervals::DeviceNames;
use crate::intervals::incident::{Cause, Moment, OngoingIncident};
use crate::judge::{Assessment, Evidence, IoDirection, Judged, Verdict, Verdict::*};
use crate::metrics::{Completed, Interval};
use crate::topology::{Kind, Node, Topology};

/// A device in a second: its name, its verdict, and the latency of its reads in milliseconds.
type Row = (&'static str, Verdict, f64);

/// Drives a tracker from second to second.
#[derive(Default)]
struct Run {
    tracker: EventTracker,
    topology: Topology,
    second: u64,
    /// The evidence of all devices.
    evidence: Vec<Evidence>,
    /// The steps at the beginning that precede the range that is shown.
    preceding: u64,
}

impl Run {
    fn step(&mut self, rows: &[Row]) {
        self.second += 1;
        let mut judged = Vec::new();
        for (name, verdict, await_ms) in rows {
            let interval = Interval {
                reads: Completed::example(1.0, 100, *await_ms),
                ..Interval::unknown(1.0)
            };
            let assessment = Assessment {
                verdict: Some(*verdict),
                evidence: self.evidence.clone(),
                ..Assessment::default()
            };
            judged.push((
                DeviceNames::without_alias(name),
                Judged::example(interval, assessment),
            ));
        }
        let devices: Vec<JudgedDevice<'_>> = judged
            .iter()
            .map(|(names, judged)| JudgedDevice {
                names,
                judged: judged.clone(),
            })
            .collect();
        let now = Moment {
            at: Timestamp::from_second(1000 + self.second as i64).ok(),
            run_s: self.second as f64,
        };
        let is_preceding = self.second <= self.preceding;
        self.tracker
            .observe(&devices, now, None, &self.topology, is_preceding);
    }

    /// Observes sda with these verdicts, each for a number of seconds.
    fn sda(mut self, verdicts: &[(Verdict, u64)]) -> Self {
        for (verdict, seconds) in verdicts {
            for _ in 0..*seconds {
                self.step(&[("sda", *verdict, 10.0)]);
            }
        }
        self
    }

    /// The verdict, beginning, end and state of each event.
    fn events(&self) -> Vec<(Verdict, f64, f64, bool)> {
        let of = |event: Event| {
            (
                event.verdict,
                event.begin.run_s,
                event.end.run_s,
                event.is_ongoing,
            )
        };
        self.tracker.events().list.into_iter().map(of).collect()
    }

    /// The number, victim, beginning and length of the incident of a device now, with `>` if it may have begun earlier.
    fn incident(&self, name: &str) -> Option<String> {
        let ongoing = self.tracker.ongoing(&DeviceNames::without_alias(name))?;
        let OngoingIncident {
            incident, lasted_s, ..
        } = ongoing;
        let since = if incident.begin_is_known { "" } else { ">" };
        Some(format!(
            "#{} {} {} {since}{lasted_s}",
            incident.id, incident.victim.device, incident.begin.run_s
        ))
    }
}

/// A verdict, and the seconds for which it was said in a row.
type Said = (Verdict, u64);
/// Verdict, beginning and end of an event, and whether it is ongoing.
type Expected = (Verdict, f64, f64, bool);

fn sda(verdicts: &[Said]) -> Vec<Expected> {
    Run::default().sda(verdicts).events()
}

#[test]
fn an_event_begins_with_the_first_bad_step_and_ends_with_the_last() {
    // Verdicts with their seconds, and the events that follow from them.
    let cases: [(&[Said], &[Expected]); 7] = [
        (
            &[(Ok, 2), (Saturated, 4), (Ok, 6)],
            &[(Saturated, 2.0, 6.0, false)],
        ),
        (&[(Ok, 2), (Saturated, 1), (Ok, 6)], &[]),
        (
            &[(Ok, 2), (Saturated, 1), (Busy, 1), (Slow, 1)],
            &[(Saturated, 2.0, 5.0, true)],
        ),
        // A short interruption does not split it, a long one does.
        (
            &[(Ok, 1), (Slow, 3), (Ok, 4), (Slow, 3)],
            &[(Slow, 1.0, 11.0, true)],
        ),
        (
            &[(Ok, 1), (Slow, 3), (Ok, 5), (Slow, 3)],
            &[(Slow, 1.0, 4.0, false), (Slow, 9.0, 12.0, true)],
        ),
        // A stall is an event of its own.
        (
            &[(Saturated, 3), (Stalled, 2), (Saturated, 3)],
            &[
                (Saturated, 0.0, 3.0, false),
                (Stalled, 3.0, 5.0, false),
                (Saturated, 5.0, 8.0, true),
            ],
        ),
        // Queueing is no trouble; the word is the most severe one with a quarter of the time.
        (
            &[(Queueing, 5), (Saturated, 6), (Capped, 3)],
            &[(Capped, 5.0, 14.0, true)],
        ),
    ];
    for (verdicts, expected) in cases {
        assert_eq!(sda(verdicts), expected, "{verdicts:?}");
    }
}

#[test]
fn an_event_knows_its_course_and_when_it_began() {
    let run = Run::default().sda(&[(Ok, 2), (Saturated, 3), (Capped, 2)]);
    let event = run.tracker.events().list.remove(0);
    assert_eq!(event.begin.at, Timestamp::from_second(1002).ok());
    let course: Vec<_> = event
        .course
        .iter()
        .map(|one| (one.verdict, one.begin.run_s, one.duration_s))
        .collect();
    assert_eq!(course, [(Saturated, 2.0, 3.0), (Capped, 5.0, 2.0)]);
    assert_eq!((event.verdict, event.verdict_s), (Capped, 2.0));
}

#[test]
fn no_event_spans_a_break_and_its_beginning_is_not_known_there() {
    let mut run = Run::default().sda(&[(Saturated, 3)]);
    run.tracker.note_break();
    let run = run.sda(&[(Saturated, 3), (Ok, 9), (Slow, 2)]);
    let events = run.tracker.events().list;
    let found: Vec<_> = events
        .iter()
        .map(|event| (event.begin.run_s, event.begin_is_known))
        .collect();
    assert_eq!(found, [(0.0, false), (3.0, false), (15.0, true)]);
}

#[test]
fn trouble_that_began_before_the_range_has_its_true_onset() {
    let run = Run {
        preceding: 12,
        ..Run::default()
    };
    let run = run.sda(&[(Saturated, 2), (Ok, 8), (Capped, 4)]);
    assert_eq!(run.events(), [(Capped, -2.0, 2.0, true)]);
}

#[test]
fn events_stay_bounded() {
    let mut run = Run::default();
    for _ in 0..25_000 {
        run = run.sda(&[(Stalled, 1), (Ok, 1)]);
    }
    let events = run.tracker.events();
    assert!((10_000..20_001).contains(&events.list.len()));
    assert_eq!(events.list.len() as u64 + events.dropped, 25_000);
    assert_eq!(
        (events.incidents.len() as u64, events.dropped_incidents),
        (events.list.len() as u64, events.dropped)
    );
}

#[test]
fn the_latest_events_of_a_running_system_are_kept() {
    let mut run = Run {
        tracker: EventTracker::new(true),
        ..Run::default()
    };
    for _ in 0..5000 {
        run = run.sda(&[(Stalled, 1), (Ok, 1)]);
    }
    let events = run.tracker.events();
    assert!((1000..2001).contains(&events.incidents.len()));
    assert_eq!(
        events.incidents.len() as u64 + events.dropped_incidents,
        5000
    );
    assert!(events.list[0].begin.run_s > 5000.0);
}

fn node(name: &str, kind: Kind, below: &[&str]) -> Node {
    Node {
        name: name.into(),
        kind,
        backing_devices: below.iter().map(|name| (*name).to_owned()).collect(),
        ..Node::default()
    }
}

/// Disks, with a partition and a volume on one of them.
fn stack() -> Run {
    Run {
        topology: Topology::new(vec![
            node("sda", Kind::Disk, &[]),
            node("sda1", Kind::Partition, &["sda"]),
            node("dm-0", Kind::Lvm, &["sda1"]),
            node("sdb", Kind::Disk, &[]),
        ]),
        ..Run::default()
    }
}

#[test]
fn an_incident_begins_with_the_queue_that_became_trouble() {
    let begin_s = |queueing: u64| {
        let run = Run::default().sda(&[(Ok, 2), (Queueing, queueing), (Saturated, 6)]);
        run.tracker.events().incidents[0].incident.begin.run_s
    };
    assert_eq!([0, 3, 9].map(begin_s), [2.0, 2.0, 6.0]);
}

#[test]
fn worse_trouble_of_a_device_below_that_begins_later_is_another_incident() {
    let begins = |before: u64, below: Verdict| -> Vec<(f64, f64, Verdict)> {
        let mut run = stack();
        for _ in 0..before {
            run.step(&[("sda", Ok, 1.0), ("dm-0", Slow, 9.0)]);
        }
        for _ in 0..8 {
            run.step(&[("sda", below, 40.0), ("dm-0", below, 45.0)]);
        }
        let incidents = run.tracker.events().incidents;
        let of_volume = incidents.iter().filter(|one| one.has("dm-0"));
        of_volume
            .map(|one| (one.incident.begin.run_s, one.end.run_s, one.verdict))
            .collect()
    };
    assert_eq!(
        begins(10, Saturated),
        [(0.0, 10.0, Slow), (10.0, 18.0, Saturated)]
    );
    // It is no worse, or its disk was as slow all the time before it showed.
    assert_eq!(begins(10, Slow), [(0.0, 18.0, Slow)]);
    assert_eq!(begins(3, Saturated), [(0.0, 11.0, Saturated)]);
}

#[test]
fn the_devices_of_a_stack_have_one_incident_whose_victim_is_the_topmost() {
    let mut run = stack();
    for _ in 0..2 {
        run.step(&[("sda", Ok, 2.0), ("sdb", Ok, 2.0), ("dm-0", Ok, 2.0)]);
    }
    for _ in 0..2 {
        run.step(&[
            ("sda", Saturated, 80.0),
            ("sdb", Slow, 9.0),
            ("dm-0", Ok, 2.0),
        ]);
    }
    assert_eq!(run.incident("sda").as_deref(), Some("#2 sda 2 2"));
    assert_eq!(run.incident("sdb").as_deref(), Some("#1 sdb 2 2"));
    for _ in 0..2 {
        run.step(&[
            ("sda", Saturated, 80.0),
            ("sdb", Ok, 2.0),
            ("dm-0", Slow, 90.0),
        ]);
    }
    assert_eq!(run.incident("sda").as_deref(), Some("#2 dm-0 2 4"));
    assert_eq!(run.incident("dm-0").as_deref(), Some("#2 dm-0 2 4"));
    let incidents = run.tracker.events().incidents;
    let devices = |one: &IncidentSummary| {
        let names = one.devices.iter().map(|one| one.names.device.clone());
        names.collect::<Vec<_>>().join(" ")
    };
    let mut found: Vec<String> = incidents.iter().map(devices).collect();
    found.sort();
    assert_eq!(found, ["dm-0 sda", "sdb"]);
    let stacked = incidents.iter().find(|one| one.has("dm-0")).unwrap();
    assert!(
        matches!(&stacked.incident.cause, Some(Cause::DeviceBelow(below)) if below.device == "sda")
    );
    assert_eq!(stacked.incident.requests, Some(IoDirection::Reads));
    assert_eq!(stacked.incident.before_ms, Some(2.0));
}

#[test]
fn an_incident_ends_with_its_event_and_the_next_one_inherits_nothing() {
    let mut run = stack();
    run = run.sda(&[(Ok, 2), (Stalled, 3)]);
    assert_eq!(run.incident("sda").as_deref(), Some("#1 sda 2 3"));
    run = run.sda(&[(Saturated, 2)]);
    assert_eq!(run.incident("sda").as_deref(), Some("#2 sda 5 2"));
    let incidents = run.tracker.events().incidents;
    let found: Vec<_> = incidents
        .iter()
        .map(|one| {
            (
                one.verdict,
                one.incident.begin.run_s,
                one.end.run_s,
                one.is_ongoing,
            )
        })
        .collect();
    assert_eq!(
        found,
        [(Stalled, 2.0, 5.0, false), (Saturated, 5.0, 7.0, true)]
    );
}

#[test]
fn another_fact_that_the_kernel_states_is_another_incident() {
    let limit_of = |cgroup: &str| {
        Evidence::AtLimit(ReachedLimit {
            limit: Limit {
                owner: Some(cgroup.into()),
                device: "sda".into(),
                direction: IoDirection::Writes,
                unit: RateUnit::Requests,
                value: 50.0,
                source: LimitSource::Cgroup(CgroupHierarchy::V2),
            },
            share_pct: None,
            holds_device: true,
            others_wait: false,
        })
    };
    let mut run = stack().sda(&[(Ok, 2), (Saturated, 2)]);
    // The cause becomes known: it is the same trouble.
    run.evidence = vec![limit_of("/a")];
    run = run.sda(&[(Throttled, 4)]);
    assert_eq!(run.incident("sda").as_deref(), Some("#1 sda 2 6"));
    run.evidence = vec![limit_of("/b")];
    run = run.sda(&[(Throttled, 3)]);
    assert_eq!(run.incident("sda").as_deref(), Some("#2 sda 8 3"));
    // The limit has been gone for longer than it takes to read it again, and something else is slow.
    run.evidence.clear();
    run = run.sda(&[(Saturated, 20)]);
    let owners: Vec<_> = run
        .tracker
        .events()
        .incidents
        .iter()
        .map(|one| one.incident.owner.as_deref().map(str::to_owned))
        .collect();
    let expected = [Some("/a"), Some("/b"), None];
    assert_eq!(owners, expected.map(|owner| owner.map(str::to_owned)));
}

#[test]
fn a_short_stall_does_not_weigh_more_than_a_long_time_at_a_limit() {
    let trouble_s = |verdict, seconds| {
        let run = Run::default().sda(&[(verdict, seconds)]);
        run.tracker.events().incidents[0].trouble_s
    };
    let (limit, short, long) = (
        trouble_s(Capped, 600),
        trouble_s(Stalled, 3),
        trouble_s(Stalled, 150),
    );
    assert!(short < limit && limit < long, "{short} {limit} {long}");
}
