//! What was cut from the command line is refused with what to do instead.

use blkstat::commands::removed::{ANY, REMOVED, VIEW};

use crate::support::program::blkstat;

/// Every command whose arguments clap checks.
const COMMANDS: [&str; 12] = [
    "",
    "top",
    "analyze",
    "report",
    "who",
    "latency",
    "record",
    "export",
    "devices",
    "completions",
    "service",
    "version",
];

/// The sentence comes only after clap has refused the option, so the test fails if the option still exists.
#[test]
fn what_was_cut_is_refused_with_what_to_do_instead() {
    for removed in REMOVED {
        let commands = match removed.command {
            ANY => COMMANDS.to_vec(),
            VIEW => vec![""],
            command => vec![command],
        };
        for command in commands {
            let outcome = blkstat(command).args([removed.option]).run();
            let message = format!("blkstat: {}\n", removed.sentence());
            let expected = ("", message.as_str(), 2);
            let found = (outcome.out.as_str(), outcome.err.as_str(), outcome.code);
            assert_eq!(found, expected, "{command} {}", removed.option);
        }
    }
}
