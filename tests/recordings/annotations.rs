//! The lines that blkstat adds to a capture: headers, times, and what it ignores.

use std::time::Duration;

use blkstat::capture::{Reader, RecordingHeader};
use blkstat::counters::{Counters, Device, Requests, Sample};
use blkstat::topology::{Node, Topology};
use blkstat::units::SampleTime;
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::format::{header, write};
use super::lab::read;

fn at(monotonic: u64, wall: i64, reads: u64) -> Sample {
    let counters = Counters {
        reads: Requests {
            ios: reads,
            ..Requests::default()
        },
        ..Counters::default()
    };
    let time = Timestamp::from_second(wall).unwrap();
    Sample {
        at: SampleTime {
            monotonic: Some(Duration::from_secs(monotonic)),
            wall: Some(time),
            uptime: None,
        },
        devices: vec![Device {
            major: 8,
            minor: 0,
            name: "sda".into(),
            counters,
            logged: None,
        }],
        written_time: Some(
            time.to_zoned(TimeZone::UTC)
                .strftime("%H:%M:%S")
                .to_string(),
        ),
        ..Sample::default()
    }
}

fn segments(text: &[u8]) -> (Vec<u64>, Vec<(u64, String)>) {
    let (samples, warnings) = read(text);
    (
        samples.iter().map(|sample| sample.segment).collect(),
        warnings,
    )
}

#[test]
fn a_wall_clock_that_is_set_back_does_not_start_a_segment() {
    let text = write(
        &header("b", "h"),
        &[at(10, 100, 1), at(11, 50, 2), at(12, 50, 3)],
    );
    assert_eq!(segments(&text), (vec![0, 0, 0], vec![]));
}

#[test]
fn a_recording_continues_another_unless_the_host_changed_or_was_rebooted() {
    let first = write(&header("b", "h"), &[at(10, 100, 1)]);
    let then = |boot, host| [first.clone(), write(&header(boot, host), &[at(20, 110, 2)])].concat();
    assert_eq!(segments(&then("b", "h")), (vec![0, 0], vec![]));
    let warning = |text: &str| vec![(5, format!("{text}; no interval spans this point"))];
    assert_eq!(
        segments(&then("c", "h")),
        (vec![0, 1], warning("host was rebooted"))
    );
    assert_eq!(
        segments(&then("c", "i")),
        (vec![0, 1], warning("recording continues on another host"))
    );
}

#[test]
fn thousands_of_devices_and_mount_points_are_written_in_lines_of_bounded_length() {
    let node = |n: usize| Node {
        name: format!("sd{n}"),
        mountpoints: (0..n % 900).map(|m| format!("/mnt/{m}")).collect(),
        ..Node::default()
    };
    let header = RecordingHeader {
        topology: Topology::new((0..2000).map(node).collect()),
        ..header("b", "h")
    };
    let text = write(&header, &[at(1, 1, 1)]);
    let longest = text
        .split(|byte| *byte == b'\n')
        .map(<[u8]>::len)
        .max()
        .unwrap();
    assert!(longest < 64 * 1024, "{longest}");
    let mut reader = Reader::new(text.as_slice());
    assert!(
        reader
            .next(&Sample::default(), &mut Sample::default())
            .unwrap()
    );
    assert!(reader.header() == Some(&header));
}

#[test]
fn an_invalid_annotation_is_reported_and_its_sample_kept() {
    let text = String::from_utf8(write(
        &header("b", "h"),
        &[at(1, 1, 1), at(2, 2, 2), at(3, 3, 3)],
    ))
    .unwrap();
    let bad = text.replace("{\"monotonic_ns\":2000000000", "{\"monotonic_ns\":\"2\"");
    let (samples, warnings) = read(bad.as_bytes());
    assert_eq!(
        samples
            .iter()
            .map(|s| s.at.monotonic.is_some())
            .collect::<Vec<_>>(),
        [true, false, true]
    );
    assert_eq!((warnings.len(), warnings[0].0), (1, 7));
    assert!(
        warnings[0]
            .1
            .starts_with("invalid '#blkstat' line: invalid type"),
        "{warnings:?}"
    );
}

#[test]
fn unknown_names_and_comments_are_ignored() {
    let text = String::from_utf8(write(&header("b", "h"), &[at(1, 1, 1)])).unwrap();
    let more = text.replace(",\"complete\"", ",\"later\":[{}],\"complete\"");
    let more = format!("# by hand\n#blkstat {{\"later\":1}}\n{more}# the end\n#\n#blkstatistics\n");
    assert_eq!(read(more.as_bytes()), read(text.as_bytes()));
    assert_eq!(read(more.as_bytes()).1, []);
}

#[test]
fn a_recording_may_be_combined_with_a_capture_of_another_tool() {
    let foreign = "TS 50 x\n8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n";
    let own = String::from_utf8(write(&header("b", "h"), &[at(1, 60, 1)])).unwrap();
    assert_eq!(
        segments((foreign.to_owned() + &own).as_bytes()),
        (vec![0, 0], vec![])
    );
    let (samples, warnings) = read((own + foreign).as_bytes());
    assert_eq!((samples.len(), warnings.len()), (1, 1));
}

#[test]
fn notes_of_the_recorder_become_warnings_and_missed_samples() {
    let text = String::from_utf8(write(&header("b", "h"), &[at(1, 1, 1), at(5, 5, 2)])).unwrap();
    let second = text.rfind("TS ").unwrap();
    let notes = "#blkstat {\"write_stalled_s\":3.5,\"write_error\":\"No space left on device\"}\n\
         #blkstat {\"dropped_samples\":3,\"dropped_from\":\"1970-01-01T00:00:02Z\",\"dropped_to\":\"1970-01-01T00:00:04.5Z\"}\n\
         #blkstat {\"clock_step_s\":-3600.25,\"suspended_s\":61.0}\n";
    let (samples, warnings) =
        read(format!("{}{notes}{}", &text[..second], &text[second..]).as_bytes());
    assert_eq!(
        samples
            .iter()
            .map(|sample| sample.missed_samples)
            .collect::<Vec<_>>(),
        [0, 3]
    );
    assert!(samples.iter().all(|sample| sample.segment == 0));
    let warnings: Vec<&str> = warnings.iter().map(|(_, text)| text.as_str()).collect();
    assert_eq!(
        warnings,
        [
            "3 samples from 1970-01-01T00:00:02Z to 1970-01-01T00:00:04Z dropped by the recorder, whose disk did not \
             accept them",
            "host was suspended for 61 s",
            "wall clock was set back by 3600.2 s",
        ]
    );
}
