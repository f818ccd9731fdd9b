//! The command line of `blkstat` itself.
#![no_main]

mod words;

use blkstat::exit::Exit;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let lines: Vec<_> = words::words(bytes).collect();
    // The dialects have targets of their own; and a configuration file may be one without an end.
    if lines.iter().any(|word| word == "iostat" || word == "pt-diskstats") {
        return;
    }
    let environment = |name: &str| (name == "TERM").then(|| "xterm".into());
    if let Err(refusal) = words::planned("blkstat", lines.into_iter(), &environment)
        && refusal.exit != Exit::Success
    {
        let line = refusal.message.strip_suffix('\n').unwrap_or_default();
        assert!(line.starts_with("blkstat: ") && !line.contains(char::is_control), "{refusal:?}");
        assert_eq!(refusal.exit, Exit::Error);
    }
});
