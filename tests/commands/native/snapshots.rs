//! Tables, JSON and CSV of captures, compared with `fixtures/snapshots/native`.

use crate::support::program::blkstat;
use crate::support::snapshot::assert_snapshot;

/// Runs blkstat on a capture and compares both streams and the exit code with the snapshot.
fn check_snapshot(capture: &str, options: &str) {
    let outcome = blkstat(&format!("{options} --from fixtures/captures/{capture}.txt")).run();
    let name = options.replace(['-', '/'], "").replace(' ', "-");
    assert_snapshot(
        &format!("native/{capture}.{name}.txt"),
        &outcome.transcript(),
    );
}

#[test]
fn tables_match_their_snapshots() {
    for width in [80, 100, 200] {
        check_snapshot("mixed", &format!("--width {width}"));
        check_snapshot("capped-3000", &format!("--width {width} 4"));
        check_snapshot("hotplug", &format!("--width {width} --summary"));
    }
    check_snapshot("names", "--all");
    check_snapshot("names", "--total --sort r/s --top 3");
    check_snapshot("old-kernel", "--all");
    check_snapshot("capped-3000", "--explain 2");
    check_snapshot("stalls", "--width 100");
    check_snapshot("stalls", "--json");
    check_snapshot("hostile", "--all");
    check_snapshot("hostile", "--csv --all");
}

#[test]
fn json_and_csv_match_their_snapshots() {
    check_snapshot("mixed", "--json");
    check_snapshot("hotplug", "--csv");
}
