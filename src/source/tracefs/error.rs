//! The reasons why requests cannot be traced.

use std::error::Error;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::sanitize::sanitize;

/// A reason why requests cannot be traced. Its text is one line, with the remedy.
#[derive(Debug)]
pub enum TraceError {
    /// This user may not use tracefs.
    NotPermitted,
    /// The kernel is locked down.
    LockedDown,
    NoTracefs,
    NotMounted,
    /// The kernel was built without this option, which a feature of tracing needs.
    MissingConfig(&'static str),
    /// The kernel has none of these tracepoints.
    MissingEvent(&'static str),
    /// The instance with this name exists already.
    InstanceExists(String),
    /// The kernel is out of memory for histograms.
    OutOfMemory,
    /// The kernel refused a command that was written to a file.
    Refused {
        path: PathBuf,
        /// The text that was written; empty for a directory.
        text: String,
        error: io::Error,
        /// The reason that the kernel wrote to its error log; `None` without one.
        reason: Option<String>,
    },
}

impl TraceError {
    /// Returns the error for a file that cannot be read, or a directory that cannot be created.
    pub(super) fn of_file(path: &Path, error: io::Error) -> Self {
        Self::Refused { path: path.to_owned(), text: String::new(), error, reason: None }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPermitted => {
                f.write_str("cannot trace requests without root or CAP_SYS_ADMIN; run blkstat as root")
            }
            Self::LockedDown => f.write_str(
                "cannot trace requests: the kernel is locked down (confidentiality); boot with \
                 lockdown=integrity or less",
            ),
            Self::NoTracefs => f.write_str(
                "cannot trace requests: this kernel has no tracefs (CONFIG_FTRACE); use a distribution's kernel",
            ),
            Self::NotMounted => f.write_str(
                "tracefs is not mounted; run 'mount -t tracefs tracefs /sys/kernel/tracing' as root",
            ),
            Self::MissingConfig(option) => {
                write!(
                    f,
                    "cannot trace requests: this kernel was built without {option}; Debian's, Ubuntu's and RHEL's \
                     have it"
                )
            }
            Self::MissingEvent(names) => {
                write!(f, "cannot trace requests: this kernel has no tracepoint {names}; report it with 'uname -r'")
            }
            Self::InstanceExists(name) => {
                let name = sanitize(name);
                write!(
                    f,
                    "the tracing instance '{name}' exists already; remove it with 'blkstat latency --cleanup'"
                )
            }
            Self::OutOfMemory => {
                f.write_str("cannot trace requests: the kernel has not enough memory for histograms; free some")
            }
            Self::Refused { path, text, error, reason } => {
                let path = path.display().to_string();
                write!(f, "cannot trace requests: {}: {error}", sanitize(&path))?;
                if let Some(reason) = reason {
                    write!(f, " ({})", sanitize(reason))?;
                }
                if text.is_empty() { Ok(()) } else { write!(f, "; the kernel refused '{}'", sanitize(text)) }
            }
        }
    }
}

impl Error for TraceError {}
