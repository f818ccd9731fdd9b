//! Recorded incidents of which is known when they began and ended.

use std::path::Path;

use crate::judge::analyze;
use crate::words::Word;

/// Seconds by which an event may begin or end too early or too late.
const MAX_ERROR_S: f64 = 2.0;

#[test]
fn a_backup_that_saturates_the_disk_of_a_database_is_one_event_of_the_disk() {
    // From the log of the backup, in seconds of the recording.
    let cases = [
        ("backup-on-a-database-disk", 24.0, 48.1),
        ("backup-saturates-a-loop-device", 29.0, 53.5),
    ];
    for (name, begin, end) in cases {
        let recording = format!("fixtures/oracle/{name}.txt.gz");
        let disk = &analyze(Path::new(&recording), &["vda"])[0];
        let [event] = &disk.events[..] else {
            panic!("{name}: {:?}", disk.events);
        };
        assert_eq!(
            (disk.word, event.word),
            (Some(Word::Saturated), Word::Saturated),
            "{name}"
        );
        assert!(
            (event.begin - begin).abs() <= MAX_ERROR_S,
            "{name}: {event:?}"
        );
        assert!((event.end - end).abs() <= MAX_ERROR_S, "{name}: {event:?}");
    }
}
