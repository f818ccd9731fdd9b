//! Captures that are cut, damaged, interleaved with rubbish, or full of hostile names.

use std::io::Write;

use serde_json::Value;

use super::support::{Came, capture, device, on_input, sample};

/// The bytes to cut or damage a file at: some everywhere, and all near its end.
fn places(length: usize, some: usize) -> impl Iterator<Item = usize> {
    (0..length).step_by(length / some + 1).chain(length.saturating_sub(4)..length)
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text).unwrap();
    gzip.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    ruzstd::encoding::compress_to_vec(text, ruzstd::encoding::CompressionLevel::Fastest)
}

/// Runs the JSON view on what became of a capture: whatever it was, the lines are the first ones of the whole, and
/// the exit code and one line or two tell the rest.
fn check(input: &[u8], whole: &str, what: &str) -> Came {
    let came = on_input("--json --from -", input);
    assert!(whole.starts_with(&came.out), "{what}: another number: {}", came.out);
    assert!(came.out.is_empty() || came.out.ends_with('\n'), "{what}: half a line");
    match came.code {
        // What is cut in front of a sample, or right behind one, is whole.
        0 => assert!(!came.out.is_empty() && came.err.lines().count() <= 1, "{what}: {}", came.err),
        1 => assert!(came.out.is_empty() && !came.err.is_empty(), "{what}"),
        2 => assert_eq!(came.err.lines().count(), 1, "{what}: {}", came.err),
        code => panic!("{what}: exit {code}: {}", came.err),
    }
    assert!(
        came.err
            .lines()
            .all(|line| line.starts_with("blkstat: standard input")
                || line.starts_with("blkstat: cannot read")),
        "{what}: {}",
        came.err
    );
    came
}

#[test]
fn a_capture_cut_anywhere_gives_the_samples_that_are_whole() {
    let text = capture(12);
    let whole = on_input("--json --from -", text.as_bytes()).out;
    for at in places(text.len(), 40) {
        let came = check(&text.as_bytes()[..at], &whole, &format!("cut at {at}"));
        assert_ne!(came.code, 2, "a cut file is no error");
    }
}

#[test]
fn a_compressed_capture_cut_anywhere_gives_the_samples_that_are_whole() {
    let text = capture(200);
    let whole = on_input("--json --from -", text.as_bytes()).out;
    for (kind, packed) in [("gzip", gzip(text.as_bytes())), ("zstd", zstd(text.as_bytes()))] {
        assert_eq!(on_input("--json --from -", &packed).out, whole, "{kind}");
        for at in places(packed.len(), 12) {
            check(&packed[..at], &whole, &format!("{kind} cut at {at}"));
        }
    }
}

#[test]
fn damaged_compressed_data_never_crashes_and_is_told() {
    let text = capture(200);
    for (kind, packed) in [("gzip", gzip(text.as_bytes())), ("zstd", zstd(text.as_bytes()))] {
        for at in places(packed.len(), 12) {
            let mut damaged = packed.clone();
            damaged[at] ^= 0x55;
            let came = on_input("--json --from -", &damaged);
            let told = came.code == 0 || came.err.starts_with("blkstat: ");
            // A checksum that is wrong at the end is told behind all samples.
            assert!((0..=2).contains(&came.code) && told, "{kind} at {at}: {came:?}");
            assert!(
                came.out.lines().all(|line| serde_json::from_str::<Value>(line).is_ok()),
                "{kind} at {at}"
            );
        }
    }
}

#[test]
fn rubbish_between_the_lines_costs_no_good_line() {
    let rubbish = [
        "hello world\n",
        "8 0 sda x 2\n",
        "\u{1b}[31m\n",
        "\0\0\0\n",
        "TSX 5\n",
        "{\"a\":1}\n",
        "99999999999999999999 0 sdz 1\n",
        "\u{ff}\n",
        "8 0\n",
    ];
    let text = capture(30);
    let whole = on_input("--json --from -", text.as_bytes());
    let mut mixed = String::new();
    for (at, line) in text.split_inclusive('\n').enumerate() {
        mixed += line;
        mixed += rubbish[at % rubbish.len()];
    }
    let came = on_input("--json --from -", mixed.as_bytes());
    assert_eq!((came.out == whole.out, came.code), (true, 0));
    assert!(came.err.lines().count() == 11 && came.err.contains(" more warnings like these"), "{}", came.err);
    assert!(!came.err.contains('\u{1b}'));
}

#[test]
fn names_of_any_kind_make_good_json_and_never_steer_a_terminal() {
    let names = [
        "\u{1b}[2J\u{1b}]0;x\u{7}",
        "a\"b",
        "back\\slash",
        "';DROP",
        "\u{202e}abc",
        "\u{9b}31m",
        "é\u{301}",
        "a\u{c}b",
        "\u{feff}",
        "nul\0l",
        "\u{2028}",
        "a\u{b}b",
    ];
    let lines =
        |work: u64| names.iter().zip(0..).map(|(name, at)| device(at, name, work)).collect::<String>();
    let text = sample(1, &lines(1)) + &sample(2, &lines(100)) + &sample(3, &lines(300));
    let json = on_input("--json --all --from -", text.as_bytes());
    let found: Vec<Value> = json.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for name in names {
        assert_eq!(found.iter().filter(|line| line["device"] == name).count(), 2, "{name:?}: {}", json.out);
    }
    let document = on_input("iostat -x -o JSON --from -", text.as_bytes()).out;
    let value: Value = serde_json::from_str(&document).unwrap();
    let disks = value["sysstat"]["hosts"][0]["statistics"][0]["disk"].as_array().unwrap().clone();
    assert!(names.iter().all(|name| disks.iter().any(|disk| disk["disk_device"] == *name)), "{document}");
    let is_hostile =
        |c: char| c.is_control() && c != '\n' && c != '\t' || matches!(c, '\u{202e}' | '\u{2028}');
    for words in [
        "--all --from -",
        "--json --all --from -",
        "--csv --all --from -",
        "iostat -x --from -",
        "iostat -o JSON --from -",
    ] {
        let came = on_input(words, text.as_bytes());
        assert!(!came.out.contains(is_hostile) && !came.err.contains(is_hostile), "{words}: {:?}", came.out);
    }
}

#[test]
fn time_that_goes_back_begins_anew_and_says_where() {
    let line = |work| device(0, "sda", work);
    let text =
        sample(10, &line(1)) + &sample(11, &line(101)) + &sample(5, &line(201)) + &sample(6, &line(301));
    for words in ["--json --from -", "iostat -d --from -"] {
        let came = on_input(words, text.as_bytes());
        assert_eq!((came.err.lines().count(), came.code), (1, 0), "{words}: {}", came.err);
        assert!(came.err.starts_with("blkstat: standard input:5: the clock goes back to "), "{}", came.err);
    }
    let json = on_input("--json --from -", text.as_bytes()).out;
    let rates: Vec<f64> = json
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["reads_per_s"].as_f64().unwrap())
        .collect();
    assert_eq!(rates, [100.0, 100.0]);
}

#[test]
fn a_compressed_stream_that_is_none_is_told() {
    for start in [
        b"\x1f\x8b".as_slice(),
        b"\x1f\x8b\x08rubbish of many bytes",
        b"\x28\xb5\x2f\xfd",
        b"\x28\xb5\x2f\xfdrubbish",
    ] {
        let came = on_input("--from -", start);
        assert!(came.out.is_empty() && (1..=2).contains(&came.code), "{start:?}: {came:?}");
        assert!(came.err.starts_with("blkstat: ") && came.err.lines().count() <= 2, "{came:?}");
    }
}
