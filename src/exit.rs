//! Exit codes: what a shell or a script learns from how the program ended.

use std::process::ExitCode;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything asked for was done. A reader that closed the pipe counts as done.
    Success,
    /// Nothing to report: no such device, or a capture without two whole samples.
    NoData,
    /// Wrong usage under the iostat grammar, which ends with 1 as sysstat's iostat does.
    IostatUsage,
    /// iostat -N without /dev/mapper.
    IostatMapper,
    /// Standard output took no more, under the iostat grammar.
    IostatOutput,
    /// Wrong usage, or standard output that takes no more, under the pt-diskstats grammar.
    PtUsage,
    /// What pt-diskstats dies of: a pattern or a name that is none.
    PtDied,
    /// The same at a prompt.
    PtDiedAtPrompt,
    /// Wrong usage, or a file that could not be read or written.
    Error,
    /// Ended by the signal of this number.
    Signal(u8),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        match exit {
            Exit::Success => ExitCode::SUCCESS,
            Exit::PtDied => ExitCode::from(25),
            Exit::PtDiedAtPrompt => ExitCode::from(11),
            Exit::NoData | Exit::IostatUsage | Exit::PtUsage => ExitCode::from(1),
            Exit::IostatMapper => ExitCode::from(4),
            Exit::IostatOutput => ExitCode::from(6),
            Exit::Error => ExitCode::from(2),
            Exit::Signal(number) => ExitCode::from(128u8.saturating_add(number)),
        }
    }
}
