//! What blkstat printed when it was last reviewed.

use std::fs;
use std::path::Path;

/// Compares a text with `fixtures/snapshots/NAME`. With BLKSTAT_REFRESH=1, rewrites the file instead.
#[track_caller]
pub(crate) fn assert_snapshot(name: &str, printed: &str) {
    let path = Path::new("fixtures/snapshots").join(name);
    if std::env::var_os("BLKSTAT_REFRESH").is_some() {
        fs::write(&path, printed).unwrap();
        return;
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        printed == expected,
        "{} differs; blkstat printed:\n{printed}",
        path.display()
    );
}
