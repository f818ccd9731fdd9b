//! Exit codes.

use std::fmt;
use std::process::ExitCode;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success. A reader that closed the pipe is a normal end.
    Success,
    /// No data: no such device, or a capture without two complete samples.
    NoData,
    /// A usage error of `iostat`: 1, as sysstat's iostat returns.
    IostatUsage,
    /// `iostat -N` without /dev/mapper: 4.
    IostatMapper,
    /// `iostat` cannot write to standard output: 6.
    IostatOutput,
    /// A usage error of `pt-diskstats`, or it cannot write to standard output: 1.
    PtUsage,
    /// An invalid pattern or option value, for which pt-diskstats dies: 25.
    PtDied,
    /// An invalid pattern or value typed at a prompt of pt-diskstats: 11.
    PtDiedAtPrompt,
    /// A usage error, or a file that cannot be read or written: 2.
    Error,
    /// `analyze --check` found a device in trouble: 3.
    Trouble,
    /// The program was ended by this signal: 128 plus its number.
    Signal(u8),
}

impl Exit {
    /// Returns this one unless it is a success; then the other.
    pub fn or(self, other: Self) -> Self {
        match self {
            Self::Success => other,
            _ => self,
        }
    }
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
            Exit::Trouble => ExitCode::from(3),
            Exit::Signal(number) => ExitCode::from(128u8.saturating_add(number)),
        }
    }
}

/// The error of a source that lacks the data or the device that was requested, for [`Exit::NoData`].
#[derive(Debug)]
pub struct NoData(pub String);

impl NoData {
    /// The error of a host without block devices, or without the files that list them.
    pub fn without_devices(reason: &str) -> Self {
        Self(format!(
            "{reason}; use --root DIR to read DIR/proc and DIR/sys instead"
        ))
    }
}

impl fmt::Display for NoData {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoData {}
