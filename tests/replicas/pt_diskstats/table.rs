//! All cases.

use super::captures::names;
use super::case::{Case, Session};

/// Run on every capture with each grouping.
const EVERYWHERE: &[&str] = &[
    "@",
    "--headers '' @",
    "--headers scroll @",
    "--show-inactive @",
    "--show-timestamps --sample-time 2 @",
];

/// Run in addition on the captures in [`THOROUGH_CAPTURES`].
const THOROUGH: &[&str] = &[
    "--headers group @",
    "--headers scroll,group @",
    "--headers=group,scroll --show-inactive @",
    "--columns-regex cnc|rt @",
    "--columns-regex '^ *rd' @",
    "--columns-regex '^io_s$|busy' --headers '' @",
    "--columns-regex nothing @",
    "--devices-regex sd @",
    "--devices-regex 'a$' --headers group @",
    "--devices-regex nothing @",
    "--devices-regex '^[a-z]+$' --show-timestamps @",
    "--show-inactive --show-timestamps --headers scroll @",
    "--sample-time 2 --headers scroll @",
    "--sample-time 3 --show-inactive @",
    "--sample-time 10 @",
    "--sample-time 100 --headers '' @",
    "--interval 5 --iterations 2 @",
];

const THOROUGH_CAPTURES: &[&str] = &["hotplug", "idle", "names", "one", "sleepy", "subsec", "uneven"];

const GROUPS: [&str; 3] = ["all", "disk", "sample"];

/// Invalid command lines, and valid ones that look invalid, on one small capture. Only their exit status is compared.
const STATUS_ONLY: &[&str] = &[
    "--nope @",
    "-z @",
    "--group-by x @",
    "--group-by dis @",
    "--group-by '' @",
    "--group-by",
    "--group-by All @",
    "--group-by DISK @",
    "--group-by Sample @",
    "--group-by all @",
    "--group-b disk @",
    "--g disk @",
    "--show @",
    "--show-i @",
    "--c rd @",
    "--he group @",
    "--no @",
    "--ver @",
    "--version- @",
    "--group-by disks @",
    "--group-by 0 @",
    "--columns-regex 0 @",
    "--devices-regex 0 @",
    "--devices-regex --show-inactive @",
    "--columns-regex -interval @",
    "--headers --show-inactive @",
    "--sample-time 1_0 @",
    "--sample-time 99999999999999999999 @",
    "--headers nothing @",
    "--headers group,nothing @",
    "--headers",
    "--columns-regex ( @",
    "--columns-regex '[' @",
    "--devices-regex ( @",
    "--devices-regex",
    "--columns-regex * @",
    "--columns-regex '' @",
    "--devices-regex '' @",
    "--sample-time x @",
    "--sample-time 0 @",
    "--sample-time -1 @",
    "--sample-time 1.5 @",
    "--sample-time '' @",
    "--sample-time",
    "--interval x @",
    "--interval 0 @",
    "--interval 0.5 @",
    "--interval -1 @",
    "--iterations x @",
    "--iterations 1.5 @",
    "--iterations 0 @",
    "--iterations 1 @",
    "--iterations -1 @",
    "/nonexistent",
    "/",
    "@ /nonexistent",
    "/nonexistent @",
    "--config /nonexistent @",
    "--config /dev/null @",
    "--config '' @",
    "--config /dev/null,/dev/null @",
    "--config /dev/null,/nonexistent @",
    "--config=/dev/null @",
    "--show-inactive --config /dev/null @",
    "@ --config /dev/null",
    "--config",
    "--version",
    "--version @",
    "--help",
    "--help @",
    "--help --nope",
    "--nope --help",
    "--version --nope",
    "--version --help",
    "--version-check @",
    "--no-version-check @",
    "--noversion-check @",
    "--no-show-inactive @",
    "--noshow-inactive @",
    "--nogroup-by @",
    "--show-inactive=1 @",
    "--save-samples /nonexistent/file @",
    "--save-samples",
    "-- @",
    "@ --",
    "- @",
    "@ --group-by disk",
    "@ --group-by nope",
    "-g disk @",
    "-d sd @",
    "-c rd @",
    "-s 2 @",
    "-i 2 @",
];

/// The capture of [`STATUS_ONLY`].
const SMALL: &str = "two5";

/// Returns the cases whose output and exit status are compared.
pub(crate) fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for capture in names() {
        let thoroughly = if THOROUGH_CAPTURES.contains(&capture.as_str()) { THOROUGH } else { &[] };
        for line in EVERYWHERE.iter().chain(thoroughly) {
            cases.extend(
                GROUPS.iter().map(|group| Case::new(&capture, &format!("--group-by {group} {line}"))),
            );
        }
    }
    cases
}

/// Returns the cases in which only the exit status is compared.
pub(crate) fn status_only() -> Vec<Case> {
    STATUS_ONLY.iter().map(|line| Case::new(SMALL, line)).collect()
}

/// Key presses: capture, options, presses. Each is run with many and with few rows.
const KEY_PRESSES: &[(&str, &str, &[&str])] = &[
    (
        "two5",
        "@",
        &[
            "q",
            "A q",
            "D q",
            "S q",
            "A A q",
            "D D q",
            "S S q",
            "S S S q",
            "D A q",
            "D S A q",
            "S A S q",
            "S D S q",
            "i q",
            "i i q",
            "? x q",
            "? A q",
            "? q q",
            "p x q",
            "p D q",
            "p q q",
            "Space q",
            "Enter q",
            "Space Space Enter q",
            "Space A q",
            "A Space A q",
            "D Enter D q",
            "S Space S q",
            "c rd+ q",
            "c + q",
            "c ^wr|busy+ A c . + q",
            "/ sda+ q",
            "/ sda+ / + q",
            "/ nothing+ q",
            "/ nothing+ Space A q",
            "z 2+ q",
            "z 2+ S q",
            "z 3+ S z 1+ q",
            "z + q",
            "z 1.5+ S q",
            "x y 1 q",
            "ADS q",
            "Ai q",
            "Up q",
            "Down Right A q",
            "xA q",
            "c rd+ ? x q",
            "/ b+ D ? x q",
            "z 2+ S i ? x q",
            "z x+",
            "c (+",
            "/ (+",
        ],
    ),
    ("three", "@", &["S Space A q", "/ sda+ D S q"]),
    ("hotplug", "@", &["i D q", "S i S q", "/ sd[bc]+ A S D q", "z 3+ S A q"]),
    ("sleepy", "--headers scroll @", &["A i q", "S i Space S q", "D i A q"]),
    ("sleepy", "--headers '' @", &["A Space A q", "S S q", "D i q", "? x Space q"]),
    ("sleepy", "--headers group @", &["A Space A q", "S S D q", "i A q"]),
    ("one5", "@", &["A Space A q", "S S q", "D D A q", "i Space q"]),
    ("idle", "--group-by disk @", &["D q", "A D q", "i S q"]),
    ("uneven", "--group-by sample --show-timestamps @", &["S q", "z 3+ S q", "i A D S q"]),
    ("names", "--show-inactive --columns-regex rd @", &["? x q", "i c busy+ q"]),
    ("late", "@", &["S A S S A S q", "A D S D A S q", "A A i A i S q", "c rd+ A D A q"]),
    ("late", "--group-by sample @", &["S A S A q"]),
    ("single", "@", &["A Space D q"]),
    ("empty", "@", &["A Space q"]),
];

const ROWS: [u16; 2] = [24, 10];

/// Returns the terminal sessions.
pub(crate) fn sessions() -> Vec<Session> {
    let mut sessions = Vec::new();
    for (capture, line, typed) in KEY_PRESSES {
        for (rows, keys) in ROWS.iter().flat_map(|rows| typed.iter().map(move |keys| (*rows, *keys))) {
            sessions.push(Session {
                capture: (*capture).to_owned(),
                rows,
                line: (*line).to_owned(),
                keys: keys.to_owned(),
            });
        }
    }
    sessions
}
