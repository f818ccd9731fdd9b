//! The command line of `iostat`.
#![no_main]

mod words;

use blkstat::exit::Exit;
use blkstat::plan::Plan;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // The variables that it knows are words too.
    let mut lines = words::words(bytes);
    let (colors, sgr) = (lines.next(), lines.next());
    let environment = |name: &str| match name {
        "S_COLORS" => colors.clone(),
        "S_COLORS_SGR" => sgr.clone(),
        _ => None,
    };
    match words::planned("/usr/local/bin/iostat", lines, &environment) {
        Ok(plan) => assert!(matches!(plan, Plan::Iostat(_))),
        Err(refusal) => assert!(refusal.exit == Exit::Success || refusal.message.ends_with('\n'), "{refusal:?}"),
    }
});
