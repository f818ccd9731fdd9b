//! Terminals that show only ASCII.

use super::help::text_on_terminal;
use crate::support::program::blkstat;

#[test]
fn every_view_is_ascii_on_a_terminal_whose_locale_is_not_utf_8() {
    for words in [
        "--explain --from fixtures/captures/capped-3000.txt",
        "analyze fixtures/captures/capped-3000.txt",
        "analyze --details fixtures/captures/throttled-volume.txt.gz",
        "devices --from fixtures/recordings-0.1.0/recording.txt",
        "who -w 70 --from fixtures/captures/throttled-volume.txt.gz",
        "help formulas",
    ] {
        let shown = |locale: &str, term: &str| {
            let program = blkstat(words)
                .env("LC_ALL", locale)
                .env("TERM", term)
                .env("PAGER", "cat");
            text_on_terminal(program)
        };
        let utf8 = shown("C.UTF-8", "xterm");
        assert!(!utf8.is_ascii(), "{words}: {utf8}");
        for (locale, term) in [("C", "xterm"), ("C.UTF-8", "linux")] {
            let ascii = shown(locale, term);
            assert!(ascii.is_ascii(), "{words}: {ascii}");
            assert_eq!(ascii.lines().count(), utf8.lines().count(), "{words}");
        }
        // A file is for any terminal.
        assert!(
            !blkstat(words).env("LC_ALL", "C").run().out.is_ascii(),
            "{words}"
        );
    }
}
