//! Tests of the reader on short captures.

use proptest::prelude::*;

use super::*;
use crate::capture::{MAX_DEVICES_PER_CAPTURE, MAX_DEVICES_PER_SAMPLE, MAX_SAMPLE_BYTES};

/// Returns all samples as (seconds, segment, devices) and all warnings as (line, message).
#[allow(clippy::type_complexity)]
fn read(text: &[u8]) -> (Vec<(i64, u64, Vec<String>)>, Vec<(u64, String)>) {
    let mut reader = Reader::new(text);
    let (mut previous, mut sample) = (Sample::default(), Sample::default());
    let mut samples = Vec::new();
    while reader.next(&previous, &mut sample).unwrap() {
        let devices = sample
            .devices
            .iter()
            .map(|d| format!("{} {}", d.name, d.counters.reads.ios))
            .collect();
        samples.push((sample.at.wall.unwrap().as_second(), sample.segment, devices));
        std::mem::swap(&mut previous, &mut sample);
    }
    (
        samples,
        reader
            .take_warnings()
            .into_iter()
            .map(|w| (w.line, w.text))
            .collect(),
    )
}

fn line(name: &str, reads: u32) -> String {
    format!("   8       0 {name} {reads} 0 8 1 0 0 0 0 0 1 321\n")
}

fn sample(second: u32, devices: &[(&str, u32)]) -> String {
    let lines: String = devices
        .iter()
        .map(|(name, reads)| line(name, *reads))
        .collect();
    format!("TS {second}.000000000 2026-11-20 18:22:11\n{lines}")
}

fn devices(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn samples_are_read_in_order() {
    let text = sample(10, &[("sda", 1), ("sdb", 2)]) + &sample(11, &[("sda", 3), ("sdb", 4)]);
    let expected = vec![
        (10, 0, devices(&["sda 1", "sdb 2"])),
        (11, 0, devices(&["sda 3", "sdb 4"])),
    ];
    assert_eq!(read(text.as_bytes()), (expected.clone(), vec![]));
    assert_eq!(
        read(text.replace('\n', "\r\n").as_bytes()),
        (expected.clone(), vec![])
    );
    assert_eq!(read(text.trim_end().as_bytes()), (expected, vec![]));
}

#[test]
fn an_invalid_line_does_not_affect_other_lines() {
    let text = sample(10, &[("sda", 1)])
        + "8 0 sdb x 0 0 0 0 0 0 0 0 0 0\n"
        + &line("sdc", 7)
        + &sample(11, &[("sdc", 8)]);
    let (samples, warnings) = read(text.as_bytes());
    assert_eq!(samples[0].2, devices(&["sda 1", "sdc 7"]));
    assert_eq!(
        warnings,
        [(
            3,
            "invalid number 'x' in 'reads completed'; line skipped".to_owned()
        )]
    );
}

#[test]
fn the_second_line_of_a_device_in_a_sample_is_skipped() {
    let first = sample(10, &[("sda", 1), ("sda", 5), ("sdb", 2), ("sdb", 2)]);
    // The same again, in the order of the sample before, and then in another one.
    let same = sample(11, &[("sda", 3), ("sdb", 4), ("sda", 9), ("sdb", 9)]);
    let other = sample(12, &[("sdb", 6), ("sda", 7), ("sda", 7), ("sdc", 1)]);
    let (samples, warnings) = read((first + &same + &other).as_bytes());
    let names = [
        devices(&["sda 1", "sdb 2"]),
        devices(&["sda 3", "sdb 4"]),
        devices(&["sdb 6", "sda 7", "sdc 1"]),
    ];
    let read: Vec<_> = samples.into_iter().map(|sample| sample.2).collect();
    assert_eq!(read, names);
    assert_eq!(
        warnings.iter().map(|warning| warning.0).collect::<Vec<_>>(),
        [3, 5, 9, 10, 14]
    );
    assert_eq!(
        warnings[0].1,
        "'sda' is listed twice in a sample; second line skipped"
    );
}

#[test]
fn an_empty_sample_is_a_sample() {
    let text = sample(10, &[("sda", 1)]) + &sample(11, &[]) + &sample(12, &[("sda", 2)]);
    let (samples, warnings) = read(text.as_bytes());
    assert_eq!(
        samples.iter().map(|s| s.2.len()).collect::<Vec<_>>(),
        [1, 0, 1]
    );
    assert_eq!(warnings, []);
}

#[test]
fn truncating_the_last_sample_at_any_byte_never_changes_a_number() {
    let complete = sample(10, &[("sda", 1), ("sdb", 2)]) + &sample(11, &[("sda", 3), ("sdb", 4)]);
    let (all, _) = read(complete.as_bytes());
    let second = complete.rfind("TS").unwrap();
    for end in second + 2..complete.len() {
        let (samples, warnings) = read(&complete.as_bytes()[..end]);
        // Only the last newline may be missing.
        let expected = if end == complete.len() - 1 {
            &all[..]
        } else {
            &all[..1]
        };
        assert_eq!(samples, expected, "cut at {end}");
        assert_eq!(
            warnings.len(),
            2 - expected.len(),
            "cut at {end}: {warnings:?}"
        );
    }
}

#[test]
fn a_last_sample_that_lacks_the_last_devices_is_skipped_with_a_warning() {
    let before = sample(10, &[("sda", 1), ("sdb", 2), ("sdc", 3)]);
    let last = |devices| read((before.clone() + &sample(11, devices)).as_bytes());
    for (devices, what, line) in [
        (&[][..], "has no devices", 5),
        (&[("sda", 2)][..], "lacks 2 of 3 devices at its end", 6),
        (
            &[("sda", 2), ("sdb", 3)][..],
            "lacks 1 of 3 devices at its end",
            7,
        ),
    ] {
        let (samples, warnings) = last(devices);
        let expected = vec![(
            line,
            format!("last sample {what}, as if truncated; skipped"),
        )];
        assert_eq!((samples.len(), warnings), (1, expected));
    }
    // Devices after a missing one show that it was removed.
    for devices in [
        &[("sda", 2), ("sdc", 4)][..],
        &[("sdc", 4)][..],
        &[("sda", 2), ("sdd", 1)][..],
    ] {
        let (samples, warnings) = last(devices);
        assert_eq!((samples.len(), warnings), (2, vec![]), "{devices:?}");
    }
    // Within a capture devices may disappear.
    let (samples, warnings) =
        read((before.clone() + &sample(11, &[]) + &sample(12, &[])).as_bytes());
    assert_eq!((samples.len(), warnings), (3, vec![]));
}

#[test]
fn a_truncated_sample_is_kept_on_demand() {
    let text = sample(10, &[("sda", 1), ("sdb", 2)]) + &sample(11, &[("sda", 3)]);
    let mut reader = Reader::new(text.as_bytes());
    reader.keep_truncated_sample();
    let (mut previous, mut sample) = (Sample::default(), Sample::default());
    assert!(reader.next(&previous, &mut sample).unwrap());
    std::mem::swap(&mut previous, &mut sample);
    assert!(reader.next(&previous, &mut sample).unwrap());
    assert_eq!((sample.devices.len(), reader.take_warnings()), (1, vec![]));
}

#[test]
fn a_last_line_between_the_column_counts_of_two_kernels_has_lost_its_end() {
    let devices = |columns: usize, end: &str| {
        let counters = vec!["1"; columns - 3].join(" ");
        let text = format!("TS 10\n8 0 sda {counters}\n8 16 sdb {counters}{end}");
        read_all(text.as_bytes(), true)
            .0
            .last()
            .map_or(0, |sample| sample.devices.len())
    };
    let of_last_line = |end: &str| {
        (14..=21)
            .map(|columns| devices(columns, end))
            .collect::<Vec<_>>()
    };
    assert_eq!(of_last_line(""), [2, 1, 1, 1, 2, 1, 2, 2]);
    assert_eq!(of_last_line("\n"), [2; 8]);
}

#[test]
fn a_clock_that_does_not_advance_starts_a_new_segment_at_its_line() {
    let text = sample(10, &[("sda", 1)])
        + &sample(10, &[("sda", 2)])
        + &sample(5, &[("sda", 3)])
        + &sample(6, &[("sda", 4)]);
    let (samples, warnings) = read(text.as_bytes());
    assert_eq!(
        samples.iter().map(|s| s.1).collect::<Vec<_>>(),
        [0, 1, 2, 2]
    );
    assert_eq!(warnings.iter().map(|f| f.0).collect::<Vec<_>>(), [3, 5]);
    assert_eq!(
        warnings[0].1,
        "clock did not advance at 1970-01-01T00:00:10Z; no interval spans this point"
    );
    assert!(
        warnings[1]
            .1
            .starts_with("clock went back to 1970-01-01T00:00:05Z;"),
        "{}",
        warnings[1].1
    );
}

#[test]
fn a_sample_without_a_valid_time_is_skipped_entirely() {
    let text = line("sda", 9)
        + &sample(10, &[("sda", 1)])
        + "TS soon\n"
        + &line("sda", 2)
        + &sample(12, &[("sda", 3)]);
    let (samples, warnings) = read(text.as_bytes());
    assert_eq!(samples.iter().map(|s| s.0).collect::<Vec<_>>(), [10, 12]);
    assert_eq!(
        warnings[0],
        (
            1,
            "lines before the first 'TS' have no timestamp; skipped".to_owned()
        )
    );
    assert_eq!(
        warnings[1],
        (
            4,
            "invalid time 'soon' after 'TS'; sample skipped".to_owned()
        )
    );
}

#[test]
fn words_at_the_end_of_a_capture_do_not_invalidate_its_last_sample() {
    let text = sample(10, &[("sda", 1)]) + &sample(11, &[("sda", 2)]) + "Terminated";
    let (samples, warnings) = read(text.as_bytes());
    assert_eq!((samples.len(), warnings.len()), (2, 1));
}

#[test]
fn a_cpu_line_belongs_to_its_sample() {
    let text = format!(
        "{}cpu  1 2 3 4\ncpu0 1 2 3 4\nTS 11\n",
        sample(10, &[("sda", 1)])
    );
    let mut reader = Reader::new(text.as_bytes());
    let mut sample = Sample::default();
    assert!(reader.next(&Sample::default(), &mut sample).unwrap());
    assert_eq!(sample.cpu.map(|cpu| cpu.idle), Some(4));
}

#[test]
fn of_many_warnings_the_first_are_kept_and_the_rest_counted() {
    let text = sample(10, &[("sda", 1)]) + &"rubbish\n".repeat(5000) + &sample(9, &[("sda", 2)]);
    let mut reader = Reader::new(text.as_bytes());
    assert!(
        reader
            .next(&Sample::default(), &mut Sample::default())
            .unwrap()
    );
    let warnings = reader.take_warnings();
    assert_eq!(
        warnings
            .iter()
            .map(|warning| 1 + warning.omitted)
            .sum::<u64>(),
        5001
    );
    assert_eq!(
        (warnings.len(), warnings[999].line, warnings[1000].line),
        (1001, 1002, 5003)
    );
    assert_eq!(
        warnings[1000].class,
        WarningClass::Clock,
        "clock errors are always kept"
    );
}

#[test]
fn devices_beyond_the_limits_are_skipped() {
    let names: Vec<String> = (0..MAX_DEVICES_PER_SAMPLE + 5)
        .map(|at| format!("sd{at}"))
        .collect();
    let devices: Vec<_> = names.iter().map(|name| (name.as_str(), 1)).collect();
    // A last sample with another last device would look truncated.
    let last = &names[MAX_DEVICES_PER_SAMPLE - 1];
    let text = sample(10, &devices) + &sample(11, &[(last.as_str(), 2)]);
    let (samples, warnings) = read(text.as_bytes());
    assert_eq!(
        samples
            .iter()
            .map(|sample| sample.2.len())
            .collect::<Vec<_>>(),
        [MAX_DEVICES_PER_SAMPLE, 1]
    );
    let message = "sample exceeds 40000 devices or 32 MiB; remaining devices skipped".to_owned();
    assert_eq!(
        warnings,
        [(MAX_DEVICES_PER_SAMPLE as u64 + 2, message.clone())]
    );
    let long = "x".repeat(60_000);
    let names: Vec<String> = (100..700).map(|at| format!("{long}{at}")).collect();
    let devices: Vec<_> = names.iter().map(|name| (name.as_str(), 1)).collect();
    let count = MAX_SAMPLE_BYTES / line(&names[0], 1).len();
    let text = sample(10, &devices) + &sample(11, &[(names[count - 1].as_str(), 2)]);
    let (samples, warnings) = read(text.as_bytes());
    assert_eq!((samples[0].2.len(), samples[1].2.len()), (count, 1));
    assert_eq!(warnings[0].1, message);
}

#[test]
fn an_endless_line_is_reported_and_skipped() {
    let text = sample(10, &[("sda", 1)]) + &"9".repeat(200_000) + "\n" + &sample(11, &[("sda", 2)]);
    let (samples, warnings) = read(text.as_bytes());
    assert_eq!(samples.len(), 2);
    assert_eq!(
        warnings,
        [(3, "line longer than 65536 bytes; skipped".to_owned())]
    );
}

#[test]
fn a_capture_appended_behind_a_truncated_line_loses_only_the_truncated_sample() {
    let recording = "#blkstat {\"version\":\"1\"}\n".to_owned()
        + &sample(20, &[("sda", 5)])
        + "#blkstat {\"monotonic_ns\":1,\"complete\":true}\n";
    let complete = sample(10, &[("sda", 1)]) + &sample(11, &[("sda", 2)]);
    let second = complete.rfind("TS").unwrap();
    for end in second + 3..complete.len() {
        let (samples, warnings) = read((complete[..end].to_owned() + &recording).as_bytes());
        let seconds: Vec<i64> = samples.iter().map(|sample| sample.0).collect();
        // The last line may be complete except for its newline.
        let is_complete = complete[end..] == *"\n";
        let expected = if is_complete {
            vec![10, 11, 20]
        } else {
            vec![10, 20]
        };
        assert_eq!(seconds, expected, "cut at {end}: {warnings:?}");
        assert_eq!(
            warnings.len(),
            usize::from(!is_complete),
            "cut at {end}: {warnings:?}"
        );
    }
}

#[test]
fn the_marker_inside_a_valid_annotation_is_just_text() {
    let text = "#blkstat {\"version\":\"#blkstat {\"}\n".to_owned()
        + &sample(10, &[("sda", 1)])
        + "#blkstat {\"complete\":true}\n";
    let (samples, warnings) = read(text.as_bytes());
    assert_eq!((samples.len(), warnings), (1, vec![]));
}

/// Hands out one byte at a time, so that no more than a line is in memory.
struct OneByte<'a>(&'a [u8]);

impl Read for OneByte<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some((first, rest)) = self.0.split_first() else {
            return Ok(0);
        };
        (into[0], self.0) = (*first, rest);
        Ok(1)
    }
}

/// Returns all samples and warnings.
fn read_all(input: impl Read, keeps_truncated: bool) -> (Vec<Sample>, Vec<String>) {
    let mut reader = Reader::new(input);
    if keeps_truncated {
        reader.keep_truncated_sample();
    }
    let mut samples: Vec<Sample> = Vec::new();
    let (none, mut sample) = (Sample::default(), Sample::default());
    let mut error = None;
    loop {
        match reader.next(samples.last().unwrap_or(&none), &mut sample) {
            Ok(true) => samples.push(sample.clone()),
            Ok(false) => break,
            Err(found) => {
                error = Some(CaptureWarning::new(
                    WarningClass::Capture,
                    0,
                    found.to_string(),
                ));
                break;
            }
        }
    }
    (
        samples,
        reader
            .take_warnings()
            .into_iter()
            .chain(error)
            .map(|w| format!("{}: {}", w.line, w.text))
            .collect(),
    )
}

/// A capture of up to five devices, whose counters grow at random in each sample.
fn capture() -> impl Strategy<Value = String> {
    let device = prop::sample::select(vec![4, 11, 15, 17, 17, 17, 19]).prop_flat_map(|count| {
        prop::collection::vec(
            (any::<u64>(), 0u32..64).prop_map(|(n, by)| n >> 1 >> by),
            count,
        )
    });
    let growth = prop::collection::vec(
        prop_oneof![2 => Just(0), 2 => 1u64..200, 1 => any::<u64>()],
        1..30,
    );
    let samples = prop::collection::vec(growth, 2..9);
    (prop::collection::vec(device, 1..6), samples).prop_map(|(mut devices, samples)| {
        let mut text = String::new();
        for (second, growth) in (10..).zip(samples) {
            text += &format!("TS {second}.5 2026-11-20 18:22:11\n");
            let mut growth = growth.iter().cycle();
            for (minor, counters) in devices.iter_mut().enumerate() {
                counters
                    .iter_mut()
                    .zip(&mut growth)
                    .for_each(|(n, by)| *n = n.wrapping_add(*by));
                let counters: Vec<String> = counters.iter().map(u64::to_string).collect();
                text += &format!("{:4} {minor:7} sd{minor} {}\n", 8, counters.join(" "));
            }
        }
        text
    })
}

proptest! {
    #[test]
    fn a_capture_is_read_alike_as_a_whole_and_byte_by_byte(
        text in capture(),
        faults in prop::collection::vec((any::<prop::sample::Index>(), 0usize..3, "[-+ x0-9\t\r\n#T]{0,2}"), 0..5),
        (keeps_truncated, is_padded) in any::<(bool, bool)>(),
    ) {
        let mut text = text.into_bytes();
        for (at, removed, added) in faults {
            let at = at.index(text.len());
            text.splice(at..(at + removed).min(text.len()), added.into_bytes());
        }
        if is_padded {
            // The last device line is then not near the end of the text in memory, and a later line leads to a warning.
            text.extend([b"\nword\n#", "-".repeat(1000).as_bytes()].concat());
        }
        prop_assert_eq!(read_all(text.as_slice(), keeps_truncated), read_all(OneByte(&text), keeps_truncated));
    }
}

proptest! {
    #[test]
    fn a_recording_cut_anywhere_has_the_complete_samples_before(text in capture(), cut: prop::sample::Index) {
        let end = |second: usize| format!("#blkstat {{\"monotonic_ns\":{second}000000000,\"complete\":true}}\n");
        let mut recording = "#blkstat {\"version\":\"1\",\"devices\":[]}\n".to_owned();
        for (second, sample) in text.split("TS ").enumerate().skip(1) {
            recording += &format!("TS {sample}{}", end(second));
        }
        let (all, warnings) = read_all(recording.as_bytes(), false);
        prop_assert_eq!((all.len(), warnings), (text.matches("TS ").count(), vec![]));
        let cut = cut.index(recording.len());
        let complete = recording[..cut].matches("\"complete\":true}").count();
        let (samples, warnings) = read_all(&recording.as_bytes()[..cut], false);
        prop_assert_eq!(&samples[..], &all[..complete]);
        let is_in_sample = recording[..cut].rfind("TS ") > recording[..cut].rfind("\"complete\":true}");
        prop_assert!(warnings.len() == 1 || !is_in_sample, "{warnings:?}");
    }
}

#[test]
fn devices_beyond_those_of_any_capture_are_skipped() {
    let mut text = String::new();
    let names: Vec<String> = (0..MAX_DEVICES_PER_CAPTURE + 20_000)
        .map(|at| format!("sd{at}"))
        .collect();
    for (second, names) in (10..).zip(names.chunks(20_000)) {
        let devices: Vec<_> = names.iter().map(|name| (name.as_str(), 1)).collect();
        text += &sample(second, &devices);
    }
    let (samples, warnings) = read(text.as_bytes());
    let counts: Vec<usize> = samples.iter().map(|sample| sample.2.len()).collect();
    assert_eq!(counts, [20_000, 20_000]);
    let skipped = "capture exceeds 40000 devices; further devices skipped";
    let of_limit = |warning: &&(u64, String)| warning.1 == skipped;
    assert_eq!(warnings.iter().filter(of_limit).count(), 1, "{warnings:?}");
}
