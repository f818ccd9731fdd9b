//! Arbitrary bytes as a file, through every view: none panics, hangs or fills the memory, no text controls a terminal, and JSON
//! is valid.
#![no_main]

#[allow(dead_code)]
#[path = "../../numbers/invariants.rs"]
mod invariants;
#[allow(dead_code)]
#[path = "../../numbers/program.rs"]
mod program;
#[allow(dead_code)]
#[path = "../../support"]
mod support {
    pub(crate) mod clock;
    pub(crate) mod in_process;
    pub(crate) mod text;
}

use blkstat::exit::Exit;
use blkstat::sanitize::sanitize;
use libfuzzer_sys::fuzz_target;

const LINES_OF_JSON: [&str; 2] = ["--json --all --from", "who --json --from"];
const JSON: [&str; 3] = [
    "analyze --json",
    "devices --json --from",
    "iostat -x -g all -o JSON --from",
];
const TEXT: [&str; 9] = [
    "--all --explain --from",
    "--csv --all --from",
    "analyze --details",
    "report -o -",
    "who --from",
    "export --from",
    "devices --from",
    "iostat -x -p ALL --from",
    "pt-diskstats --show-inactive",
];

fuzz_target!(|bytes: &[u8]| {
    for view in LINES_OF_JSON {
        for line in show(view, bytes).lines() {
            let parsed = serde_json::from_str::<serde_json::Value>(line);
            assert!(parsed.is_ok(), "{view}: {line:?}");
        }
    }
    for view in JSON {
        let out = show(view, bytes);
        let parsed = serde_json::from_str::<serde_json::Value>(&out);
        assert!(out.is_empty() || parsed.is_ok(), "{view}: {out:?}");
    }
    for view in TEXT {
        show(view, bytes);
    }
});

/// Returns what a view prints of a file.
fn show(view: &str, text: &[u8]) -> String {
    let (out, err, exit) = program::run(view, &[text]);
    assert!(
        matches!(exit, Exit::Success | Exit::NoData | Exit::Error),
        "{view}: {exit:?}: {err}"
    );
    let is_safe = |text: &str| {
        text.split(['\n', '\t'])
            .all(|part| *sanitize(part) == *part)
    };
    assert!(is_safe(&out), "{view}: {out:?}");
    assert!(is_safe(&err), "{view}: {err:?}");
    // Only some numbers can be wrong of what is valid.
    if view.starts_with("--json") && exit == Exit::Success {
        invariants::lines(&out);
    }
    out
}
