//! The directory in which tracefs is mounted, and the reasons why requests cannot be traced.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail, ensure};
use flate2::bufread::GzDecoder;

use crate::sanitize::sanitize;
use crate::source::small_file::{read_bytes_into, read_line, read_text};

#[derive(Clone, Debug)]
pub(super) struct TraceDir {
    path: PathBuf,
}

impl TraceDir {
    /// Finds tracefs, and checks that the kernel has the necessary features.
    ///
    /// # Errors
    /// The reason for which requests cannot be traced.
    pub(super) fn find(root: &Path) -> Result<Self> {
        let candidates = ["sys/kernel/tracing", "sys/kernel/debug/tracing"].map(|path| root.join(path));
        let mut is_denied = false;
        for path in candidates {
            match fs::metadata(path.join("events")) {
                Ok(_) => return Self { path }.checked(root),
                Err(error) => is_denied |= error.kind() == ErrorKind::PermissionDenied,
            }
        }
        if is_denied {
            bail!(NOT_PERMITTED);
        }
        let systems = read_text(&root.join("proc/filesystems")).unwrap_or_default();
        let has_tracefs = systems.lines().any(|line| line.split_whitespace().last() == Some("tracefs"));
        if !has_tracefs {
            bail!(
                "cannot trace requests: this kernel has no tracefs (CONFIG_FTRACE); use a distribution's kernel"
            );
        }
        // A mounted one would not help.
        require_options(&options_disabled_in_config(root))?;
        bail!("tracefs is not mounted; run 'mount -t tracefs tracefs /sys/kernel/tracing' as root");
    }

    fn checked(self, root: &Path) -> Result<Self> {
        if is_locked_down(root) || self.is_refused() {
            bail!(
                "cannot trace requests: the kernel is locked down (confidentiality); boot with lockdown=integrity or less"
            );
        }
        if let Err(error) = fs::read_dir(self.path.join("instances"))
            && error.kind() == ErrorKind::PermissionDenied
        {
            bail!(NOT_PERMITTED);
        }
        // Every kernel with tracefs has the events of the scheduler.
        let has_hist = ["block/block_bio_queue", "sched/sched_switch"]
            .iter()
            .any(|event| self.has(&format!("events/{event}/hist")));
        let found = [self.has("events/block"), has_hist, self.has("synthetic_events")];
        let missing = OPTIONS.into_iter().zip(found).filter(|(_, found)| !found);
        let missing: Vec<&'static str> = missing.map(|(option, _)| option).collect();
        require_options(&missing).map(|()| self)
    }

    /// Returns whether the kernel refuses to open files although permissions allow it, as a locked-down kernel does
    /// (EPERM instead of EACCES). This works even if securityfs is not mounted.
    fn is_refused(&self) -> bool {
        let read = read_bytes_into(&self.join("synthetic_events"), &mut Vec::new());
        read.is_err_and(|error| error.raw_os_error() == Some(rustix::io::Errno::PERM.raw_os_error()))
    }

    /// Returns the path of a file.
    pub(super) fn join(&self, file: &str) -> PathBuf {
        self.path.join(file)
    }

    pub(super) fn has(&self, file: &str) -> bool {
        self.path.join(file).exists()
    }

    /// Reads a file into a buffer, replacing its contents.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn read_into(&self, file: &str, bytes: &mut Vec<u8>) -> Result<()> {
        let path = self.join(file);
        read_bytes_into(&path, bytes).map_err(|error| refused(&path, &error))
    }

    /// Reads a file; empty if it cannot be read.
    pub(super) fn read(&self, file: &str) -> String {
        read_text(&self.join(file)).unwrap_or_default()
    }

    /// Writes a line to a file. Files of tracefs are never truncated: that would remove what others wrote.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub(super) fn write(&self, file: &str, text: &str) -> Result<()> {
        let path = self.join(file);
        let written = OpenOptions::new().append(true).open(&path).and_then(|mut open| {
            // The kernel parses each write separately, so the line must be a single write.
            open.write_all(format!("{text}\n").as_bytes())
        });
        written.map_err(|error| {
            let reason = self.logged_reason(file).map_or_else(String::new, |reason| format!(" ({reason})"));
            let refused = refused(&path, &error).to_string();
            match error.kind() {
                ErrorKind::PermissionDenied | ErrorKind::OutOfMemory => anyhow!(refused),
                _ => anyhow!("{refused}{}; the kernel refused '{}'", sanitize(&reason), sanitize(text)),
            }
        })
    }

    /// Returns the last reason in the error log of a file's instance.
    fn logged_reason(&self, file: &str) -> Option<String> {
        let mut parts = file.split('/');
        let log = match (parts.next(), parts.next()) {
            (Some("instances"), Some(name)) => format!("instances/{name}/error_log"),
            _ => "error_log".to_owned(),
        };
        let text = self.read(&log);
        text.lines().rev().find_map(|line| Some(line.split_once("error: ")?.1.to_owned()))
    }

    /// Creates a tracing instance.
    ///
    /// # Errors
    /// If the kernel refuses it, or the instance exists.
    pub(super) fn make_instance(&self, name: &str) -> Result<()> {
        let path = self.path.join("instances").join(name);
        fs::create_dir(&path).map_err(|error| match error.kind() {
            ErrorKind::AlreadyExists => anyhow!(
                "the tracing instance '{}' exists already; remove it with 'blkstat latency --cleanup'",
                sanitize(name)
            ),
            _ => refused(&path, &error),
        })
    }

    /// Removes a tracing instance without triggers.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub(super) fn remove_instance_directory(&self, name: &str) -> Result<()> {
        let path = self.path.join("instances").join(name);
        fs::remove_dir(&path).map_err(|error| refused(&path, &error))
    }

    /// Returns the names in a directory, sorted; empty if it cannot be read.
    pub(super) fn list(&self, directory: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path.join(directory)).into_iter().flatten().flatten();
        let mut names: Vec<String> =
            entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        names
    }
}

/// The options of the kernel that tracing needs.
const OPTIONS: [&str; 3] = ["CONFIG_BLK_DEV_IO_TRACE", "CONFIG_HIST_TRIGGERS", "CONFIG_SYNTH_EVENTS"];

/// Fails if the kernel was built without some options.
fn require_options(missing: &[&str]) -> Result<()> {
    ensure!(
        missing.is_empty(),
        "cannot trace requests: this kernel was built without {}; use a kernel of Debian, Ubuntu or RHEL",
        missing.join(", ")
    );
    Ok(())
}

const NOT_PERMITTED: &str = "cannot trace requests without root or CAP_SYS_ADMIN; run blkstat as root";

/// The error for a file or directory that the kernel refuses to read, write, create or remove.
pub(super) fn refused(path: &Path, error: &io::Error) -> anyhow::Error {
    match error.kind() {
        ErrorKind::PermissionDenied => anyhow!(NOT_PERMITTED),
        ErrorKind::OutOfMemory => {
            anyhow!("cannot trace requests: the kernel has not enough memory for histograms; free some")
        }
        _ => anyhow!("cannot trace requests: {}: {error}", sanitize(&path.display().to_string())),
    }
}

/// Returns the options that the kernel's configuration lacks; none if it cannot be read. Distributions put it into
/// /boot; a kernel may have it in /proc.
fn options_disabled_in_config(root: &Path) -> Vec<&'static str> {
    let release = read_line(&root.join("proc/sys/kernel/osrelease")).unwrap_or_default();
    let from_proc = || {
        let (mut packed, mut text) = (Vec::new(), String::new());
        read_bytes_into(&root.join("proc/config.gz"), &mut packed).ok()?;
        GzDecoder::new(packed.as_slice()).read_to_string(&mut text).ok().map(|_| text)
    };
    let config = read_text(&root.join(format!("boot/config-{release}"))).or_else(from_proc);
    let Some(config) = config else { return Vec::new() };
    let is_set = |option: &str| config.lines().any(|line| line.strip_prefix(option) == Some("=y"));
    OPTIONS.into_iter().filter(|option| !is_set(option)).collect()
}

/// Returns whether the kernel's lockdown prohibits reading its memory and thus tracing.
fn is_locked_down(root: &Path) -> bool {
    let line = read_line(&root.join("sys/kernel/security/lockdown"));
    line.is_some_and(|line| line.contains("[confidentiality]"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Creates a root with these files, which are empty unless they have text after an `=`.
    fn root(files: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for file in files {
            let (name, text) = file.split_once('=').unwrap_or((file, ""));
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn message(files: &[&str]) -> String {
        let root = root(files);
        TraceDir::find(root.path()).map_or_else(|error| error.to_string(), |_| "found".to_owned())
    }

    const HIST: &str = "sys/kernel/tracing/events/block/block_bio_queue/hist";
    const SYNTHETIC: &str = "sys/kernel/tracing/synthetic_events";

    #[test]
    fn what_is_missing_is_named_with_the_remedy() {
        for (files, expected) in [
            (&["proc/filesystems=nodev\tsysfs\n"][..], "has no tracefs"),
            (&["proc/filesystems=nodev\ttracefs\n"], "run 'mount -t tracefs tracefs /sys/kernel/tracing'"),
            (
                &["sys/kernel/tracing/events/enable"],
                "built without CONFIG_BLK_DEV_IO_TRACE, CONFIG_HIST_TRIGGERS, CONFIG_SYNTH_EVENTS;",
            ),
            (
                &["sys/kernel/tracing/events/block/enable"],
                "built without CONFIG_HIST_TRIGGERS, CONFIG_SYNTH_EVENTS;",
            ),
            (
                &["sys/kernel/tracing/events/sched/sched_switch/hist", SYNTHETIC],
                "built without CONFIG_BLK_DEV_IO_TRACE;",
            ),
            (&[HIST], "built without CONFIG_SYNTH_EVENTS;"),
            (
                &[
                    "proc/filesystems=nodev\ttracefs\n",
                    "proc/sys/kernel/osrelease=6.1.0\n",
                    "boot/config-6.1.0=CONFIG_BLK_DEV_IO_TRACE=y\n# CONFIG_HIST_TRIGGERS is not set\n",
                ],
                "built without CONFIG_HIST_TRIGGERS, CONFIG_SYNTH_EVENTS;",
            ),
            (&[HIST, SYNTHETIC], "found"),
            (
                &[HIST, SYNTHETIC, "sys/kernel/security/lockdown=none integrity [confidentiality]\n"],
                "locked down",
            ),
            (&[HIST, SYNTHETIC, "sys/kernel/security/lockdown=none [integrity] confidentiality\n"], "found"),
            (
                &[
                    "sys/kernel/debug/tracing/events/block/block_bio_queue/hist",
                    "sys/kernel/debug/tracing/synthetic_events",
                ],
                "found",
            ),
        ] {
            let message = message(files);
            assert!(message.contains(expected) && !message.contains('\n'), "{files:?}: {message}");
        }
    }

    #[test]
    fn a_refused_trigger_is_shown_with_the_reason_of_the_kernel() {
        let root = root(&[
            HIST,
            SYNTHETIC,
            "sys/kernel/tracing/instances/a/error_log=[ 9.1] hist:block:b: error: Couldn't find field\n  Command: x\n",
        ]);
        let dir = TraceDir::find(root.path()).unwrap();
        let error = dir.write("instances/a/events/none/trigger", "hist:keys=x").unwrap_err().to_string();
        assert!(error.contains("Couldn't find field") && error.contains("'hist:keys=x'"), "{error}");
        assert!(dir.make_instance("a").unwrap_err().to_string().contains("'a' exists already"));
        dir.make_instance("b").unwrap();
        assert_eq!(dir.list("instances"), ["a", "b"]);
        dir.remove_instance_directory("b").unwrap();
        assert_eq!(dir.list("instances"), ["a"]);
    }

    #[test]
    fn what_others_wrote_is_kept() {
        let root = root(&[HIST, "sys/kernel/tracing/synthetic_events=theirs u32 a\n"]);
        let dir = TraceDir::find(root.path()).unwrap();
        dir.write("synthetic_events", "mine u32 b").unwrap();
        assert_eq!(dir.read("synthetic_events"), "theirs u32 a\nmine u32 b\n");
    }
}
