//! The command line of `iostat`.
#![no_main]

mod arguments;

use blkstat::commands::Plan;
use blkstat::exit::Exit;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    // The first two lines are environment variables.
    let mut lines = arguments::split(bytes);
    let (colors, sgr) = (lines.next(), lines.next());
    let environment = |name: &str| match name {
        "S_COLORS" => colors.clone(),
        "S_COLORS_SGR" => sgr.clone(),
        _ => None,
    };
    match arguments::check_plan("/usr/local/bin/iostat", lines, &environment) {
        Ok(plan) => assert!(matches!(plan, Plan::Iostat(_))),
        Err(error) => assert!(
            error.exit == Exit::Success || error.message.ends_with('\n'),
            "{error:?}"
        ),
    }
});
