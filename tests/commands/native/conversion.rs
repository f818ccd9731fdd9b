//! Captures of other programs, and their conversion into recordings.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::program::{blkstat, output};
use crate::support::text::json_lines;

/// The lines of the devices in the sample at `second`.
fn devices(second: u64) -> [String; 2] {
    [("sda", 0, 7), ("nvme0n1", 5, 90)].map(|(name, minor, by)| {
        let counters: Vec<String> = (1..=17)
            .map(|n| (second * by * n % 8000 + 9000 * second).to_string())
            .collect();
        let counters = [&counters[..8].join(" "), "3", &counters[9..].join(" ")].join(" ");
        format!("{:4} {minor:7} {name} {counters}", 8)
    })
}

/// A capture with a sample per second, each with the lines of `sample`.
fn capture(sample: impl Fn(u64, &[String; 2]) -> String) -> String {
    (0..6)
        .map(|second| sample(1_795_524_433 + second, &devices(second)))
        .collect()
}

fn twin() -> String {
    capture(|at, [sda, nvme]| format!("TS {at}\n{sda}\n{nvme}\n"))
}

/// The raw data of collectl, with the lines of other files of /proc.
fn collectl() -> String {
    let head = "################\n# Collectl:   V4.3.1-1  HiRes: 1  Options: -scD -i 1:10 -c 15 \n\
        # Host:       db1  DaemonOpts: \n# Booted:     1795506207.49 [20261124-07:43:27]\n\
        # Date:       20261124-124713  Secs: 1795524433 TZ: +0000\n# Kernel:     6.1.0\n################\n";
    let samples = capture(|at, [sda, nvme]| {
        format!(
            ">>> {at}.000 <<<\nload 0.01 0.02 0.03 1/90 7\nint 24: 5 6 PCI-MSI 49152-edge virtio0 a b\n\
             disk {}\ndisk {}\nnet   eth0: 1 2 3 4 5 6 7 8 9 10\n",
            sda.trim_start(),
            nvme.trim_start()
        )
    });
    format!("{head}{samples}>>> 1795524439.000 <<<\n")
}

fn rates(path: &Path) -> Vec<Value> {
    let run = blkstat("--json --all --from").args([path]).run();
    assert_eq!(run.code, 0, "{}", run.err);
    json_lines(&run.out)
}

#[test]
fn the_raw_data_of_collectl_has_the_rates_of_its_twin() {
    let (out, err, code) = output("--json --all --from -", collectl());
    let note = "standard input:8: samples have no 'TS' lines; their times are seconds since 1970\n";
    assert_eq!((err, code), (format!("blkstat: {note}"), 0));
    assert_eq!(out, output("--json --all --from -", twin()).0);
    assert_eq!(out.lines().count(), 10);
}

#[test]
fn a_part_of_the_data_of_collectl_has_no_other_rates() {
    let (text, whole) = (collectl(), output("--json --all --from -", twin()).0);
    for cut in (300..text.len()).step_by(61) {
        let (out, ..) = output("--json --all --from -", &text[..cut]);
        assert!(whole.starts_with(&out), "cut at {cut}");
    }
}

#[test]
fn a_converted_capture_has_the_rates_of_the_capture() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let loop_of_dates = capture(|at, [sda, nvme]| format!("{at}.25\n{sda}\n{nvme}\n"));
    let with_cpu =
        capture(|at, [sda, nvme]| format!("TS {at}\n{sda}\n{nvme}\ncpu  {at} 1 2 3 4 5 6 7 8 9\n"));
    for (name, text) in [
        ("c", collectl()),
        ("d", loop_of_dates),
        ("e", with_cpu),
        ("f", twin()),
    ] {
        fs::write(path(name), &text).unwrap();
        let converted = path(&format!("{name}.gz"));
        let run = blkstat("record --from")
            .args([path(name), converted.clone()])
            .run();
        assert_eq!((run.out.as_str(), run.code), ("", 0), "{}", run.err);
        assert_eq!(rates(&converted), rates(&path(name)));
        assert_eq!(rates(&converted).len(), 10);
        // Nothing is overwritten, and nothing is changed by another conversion.
        let again = blkstat("record --from")
            .args([path(name), converted.clone()])
            .run();
        assert!(
            again.code == 2 && again.err.contains("already exists"),
            "{}",
            again.err
        );
        let copy = path(&format!("{name}.txt"));
        assert_eq!(
            blkstat("record --from")
                .args([&converted, &copy])
                .run()
                .code,
            0
        );
        assert!(
            fs::read_to_string(&copy)
                .unwrap()
                .starts_with("TS 1795524433.")
        );
        assert_eq!(rates(&copy), rates(&converted));
    }
    fs::hard_link(path("c"), path("other")).unwrap();
    for name in ["c", "other"] {
        let itself = blkstat("record --force --from")
            .args([path("c"), path(name)])
            .run();
        assert!(
            itself.code == 2 && itself.err.contains("is the capture itself"),
            "{}",
            itself.err
        );
    }
    assert_eq!(fs::read_to_string(path("c")).unwrap(), collectl());
}

#[test]
fn a_recording_is_converted_without_any_change() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let mut text = "#blkstat {\"version\":\"1\",\"host\":\"db1\",\"devices\":[]}\n".to_owned();
    for second in 0..3 {
        let [sda, _] = devices(second);
        writeln!(
            text,
            "#blkstat {{\"clock_step_s\":1.5}}\nTS {} x\n{sda}",
            1_795_524_433 + second
        )
        .unwrap();
        writeln!(
            text,
            "#blkstat {{\"monotonic_ns\":1{second}000000000,\"complete\":true}}"
        )
        .unwrap();
    }
    fs::write(&from, &text).unwrap();
    assert_eq!(blkstat("record --from").args([&from, &to]).run().code, 0);
    assert_eq!(fs::read_to_string(&to).unwrap(), text);
}

#[test]
fn nothing_is_written_for_a_file_without_samples() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to.gz"));
    fs::write(&from, "no capture\n").unwrap();
    let run = blkstat("record --from").args([&from, &to]).run();
    assert_eq!(run.code, 1);
    assert!(
        run.err.contains("from: no samples found; ") && !to.exists(),
        "{}",
        run.err
    );
}

#[test]
fn the_command_for_a_file_of_another_program_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (start, command) in [
        (
            &b"\xfd7zXZ\0\0\x04"[..],
            "it is compressed with xz; read it with: xz -dc 'my file'",
        ),
        (
            b"BZh91AY&SY",
            "it is compressed with bzip2; read it with: bzip2 -dc 'my file'",
        ),
        (
            b"\x96\xd5\x75\x21\x0c\x06",
            "it is a data file of sar; read it with: sadf -d 'my file' -- -d",
        ),
        (
            b"\xd5\x96\x21\x75\x06\x0c",
            "it is a data file of sar; read it with: sadf -d 'my file' -- -d",
        ),
    ] {
        fs::write(folder.path().join("my file"), [start, &[0; 100]].concat()).unwrap();
        let message = format!("blkstat: cannot read my file: {command} | blkstat --from -\n");
        for words in [
            "--from",
            "analyze",
            "iostat --from",
            "pt-diskstats",
            "devices --from",
            "record - --from",
        ] {
            let run = blkstat(words)
                .args(["my file"])
                .current_dir(folder.path())
                .run();
            let code = if words == "pt-diskstats" { run.code } else { 2 };
            assert_eq!(
                (run.out.as_str(), run.err.as_str(), run.code),
                ("", message.as_str(), code),
                "{words}"
            );
        }
    }
}
