//! The command line of `blkstat` itself.
#![no_main]

mod arguments;

use blkstat::exit::Exit;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let arguments: Vec<_> = arguments::split(bytes).collect();
    // The replicas have their own targets, and pt-diskstats might read an endless configuration file.
    if arguments
        .iter()
        .any(|argument| argument == "iostat" || argument == "pt-diskstats")
    {
        return;
    }
    let environment = |name: &str| (name == "TERM").then(|| "xterm".into());
    if let Err(error) = arguments::check_plan("blkstat", arguments.into_iter(), &environment)
        && error.exit != Exit::Success
    {
        let line = error.message.strip_suffix('\n').unwrap_or_default();
        assert!(
            line.starts_with("blkstat: ") && !line.contains(char::is_control),
            "{error:?}"
        );
        assert_eq!(error.exit, Exit::Error);
    }
});
