//! Machines that lack something, and environments that ask for something else.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use super::support::{Came, blkstat, capture, machine};

/// What comes of a command on the machine below a root.
fn on(root: &Path, words: &str) -> Came {
    let root = root.to_str().unwrap();
    blkstat(&words.replace("ROOT", root)).output().unwrap().into()
}

/// The commands that read a machine.
const LIVE: [&str; 4] = [
    "--root ROOT --json 10ms 1",
    "--root ROOT 10ms 1",
    "iostat --root ROOT -dx 1 1",
    "record --root ROOT - 10ms 1",
];

#[test]
fn a_machine_without_diskstats_is_one_line_that_names_the_file() {
    let root = machine();
    let file = root.path().join("proc/diskstats");
    fs::remove_file(&file).unwrap();
    let commands = || LIVE.iter().chain(&["pt-diskstats --root ROOT --iterations 1"]);
    let missing: Vec<Came> = commands().map(|words| on(root.path(), words)).collect();
    // What nobody may read is no different; that a directory cannot be read holds for root too.
    fs::create_dir(&file).unwrap();
    let unreadable: Vec<Came> = commands().map(|words| on(root.path(), words)).collect();
    for (words, came) in commands().chain(commands()).zip(missing.iter().chain(&unreadable)) {
        assert_eq!((came.err.lines().count(), came.code), (1, 2), "{words}: {came:?}");
        let start = format!("blkstat: cannot read {}: ", file.display());
        assert!(came.err.starts_with(&start), "{words}: {came:?}");
    }
}

#[test]
fn a_machine_without_devices_or_without_sys_works_as_far_as_it_goes() {
    let root = machine();
    let with_sys: Vec<Came> = LIVE.iter().map(|words| on(root.path(), words)).collect();
    fs::remove_dir_all(root.path().join("sys")).unwrap();
    for (words, with_sys) in LIVE.iter().zip(with_sys) {
        let came = on(root.path(), words);
        assert_eq!((came.err.as_str(), came.code), ("", with_sys.code), "{words}");
    }
    let devices = on(root.path(), "devices --root ROOT");
    assert_eq!((devices.err.lines().count(), devices.code), (1, 2), "{devices:?}");
    fs::write(root.path().join("proc/diskstats"), "").unwrap();
    for words in LIVE {
        let came = on(root.path(), words);
        assert!(came.code <= 1 && came.err.lines().count() <= 1, "{words}: {came:?}");
    }
}

#[test]
fn a_machine_that_says_nonsense_of_itself_is_read_all_the_same() {
    let root = machine();
    for file in [
        "proc/stat",
        "proc/meminfo",
        "proc/pressure/io",
        "proc/self/mountinfo",
        "proc/swaps",
        "sys/block/sda/queue/iostats",
        "sys/block/sda/dev",
        "sys/block/sda/size",
    ] {
        let path = root.path().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, "some\n\u{1b}[2J \u{7f} 99999999999999999999999 -1 \\040 x\n").unwrap();
    }
    for words in LIVE.iter().chain(&["devices --root ROOT", "devices --json --root ROOT"]) {
        let came = on(root.path(), words);
        assert_eq!((came.err.as_str(), came.code), ("", 0), "{words}");
        assert!(!came.out.contains('\u{1b}') || words.starts_with("record"), "{words}: {:?}", came.out);
    }
}

#[test]
fn nothing_is_written_on_a_machine_that_is_only_looked_at() {
    let root = machine();
    let all = |folder: &Path| {
        let mut found = Vec::new();
        let mut folders = vec![folder.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                }
                found.push((entry.path(), entry.metadata().unwrap().modified().unwrap()));
            }
        }
        found.sort();
        found
    };
    let before = all(root.path());
    for words in LIVE {
        let words = words.replace("ROOT", root.path().to_str().unwrap());
        blkstat(&words)
            .current_dir(root.path())
            .env("HOME", root.path())
            .stdout(Stdio::null())
            .status()
            .unwrap();
    }
    assert_eq!(all(root.path()), before);
}

#[test]
fn neither_language_nor_terminal_changes_a_number() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("capture");
    fs::write(&file, capture(5)).unwrap();
    for words in [
        "--from FILE",
        "--json --from FILE",
        "--csv --from FILE",
        "iostat -dxt --from FILE",
        "pt-diskstats FILE",
        "--help",
    ] {
        let words = words.replace("FILE", file.to_str().unwrap());
        let plain: Came = blkstat(&words).output().unwrap().into();
        assert_eq!((plain.err.as_str(), plain.code), ("", 0), "{words}");
        for (name, value) in [
            ("LC_ALL", "de_DE.UTF-8"),
            ("LANG", "de_DE.UTF-8"),
            ("TERM", "dumb"),
            ("TERM", "xterm-256color"),
            ("NO_COLOR", "1"),
            ("CLICOLOR_FORCE", "1"),
        ] {
            let came: Came = blkstat(&words).env(name, value).output().unwrap().into();
            assert_eq!(came, plain, "{words} with {name}={value}");
        }
    }
}

#[test]
fn twenty_columns_are_enough_for_a_table() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("capture");
    fs::write(&file, capture(5)).unwrap();
    let came: Came = blkstat(&format!("--width 20 --from {}", file.display())).output().unwrap().into();
    assert_eq!((came.err.as_str(), came.code), ("", 0));
    assert!(came.out.lines().all(|line| line.chars().count() <= 20), "{}", came.out);
    let sda: Vec<&str> = came.out.lines().filter(|line| line.starts_with("sda")).collect();
    assert_eq!(sda.len(), 4, "{}", came.out);
    assert!(sda.iter().all(|line| line.ends_with(" 100")), "no line without a number: {}", came.out);
}
