//! The directory in which tracefs is mounted, the reasons why requests cannot be traced, and the removal of instances with
//! their triggers: those of this process, and those that processes left when they were killed. An instance's name identifies
//! the process that it belongs to.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use flate2::bufread::GzDecoder;
use rustix::thread::{CapabilitySet, capabilities};

use crate::attribution::files::parse_process_stat;
use crate::sanitize::{path_text, sanitize};
use crate::source::small_file::{
    file_name, paths_in, read_bytes, read_bytes_into, read_line, read_text,
};

#[derive(Clone, Debug)]
pub(super) struct TraceDir {
    path: PathBuf,
}

impl TraceDir {
    /// Finds tracefs, and checks that the kernel has the necessary features.
    ///
    /// # Errors
    /// The reason for which requests cannot be traced: that this user may not, and what the kernel lacks, as far as it is
    /// known without root, since root would not help then.
    pub(super) fn find(root: &Path) -> Result<Self> {
        let obstacle = match Self::look_for(root) {
            Ok(dir) => return Ok(dir),
            Err(obstacle) => obstacle,
        };
        match obstacle {
            Obstacle::Denied => bail!(NOT_PERMITTED),
            Obstacle::Missing(reason) if may_trace() => bail!("cannot trace requests: {reason}"),
            Obstacle::Missing(reason) => {
                bail!("cannot trace requests without root or CAP_SYS_ADMIN, nor with it: {reason}")
            }
        }
    }

    fn look_for(root: &Path) -> Result<Self, Obstacle> {
        let candidates =
            ["sys/kernel/tracing", "sys/kernel/debug/tracing"].map(|path| root.join(path));
        let mut is_denied = false;
        for path in candidates {
            match fs::metadata(path.join("events")) {
                Ok(_) => return Self { path }.checked(root),
                Err(error) => is_denied |= error.kind() == ErrorKind::PermissionDenied,
            }
        }
        if is_denied {
            return Err(denied(root));
        }
        let systems = read_text(&root.join("proc/filesystems")).unwrap_or_default();
        if !systems.split_whitespace().any(|word| word == "tracefs") {
            return Err(missing(
                "this kernel has no tracefs (CONFIG_FTRACE); use a distribution's kernel",
            ));
        }
        // A mounted one would not help.
        require_options(&options_disabled_in_config(root))?;
        Err(missing(
            "tracefs is not mounted; run 'mount -t tracefs tracefs /sys/kernel/tracing' as root",
        ))
    }

    fn checked(self, root: &Path) -> Result<Self, Obstacle> {
        if is_locked_down(root) || self.is_refused() {
            return Err(missing(LOCKED_DOWN));
        }
        if let Err(error) = fs::read_dir(self.path.join("instances"))
            && error.kind() == ErrorKind::PermissionDenied
        {
            return Err(denied(root));
        }
        // Every kernel with tracefs has the events of the scheduler.
        let has_hist = self.has("events/block/block_bio_queue/hist")
            || self.has("events/sched/sched_switch/hist");
        let has_all = [
            self.has("events/block"),
            has_hist,
            self.has("synthetic_events"),
        ];
        let mut missing = Vec::new();
        for (option, has_option) in std::iter::zip(OPTIONS, has_all) {
            if !has_option {
                missing.push(option);
            }
        }
        require_options(&missing)?;
        Ok(self)
    }

    /// Returns whether the kernel refuses to open files although permissions allow it, as a locked-down kernel does
    /// (EPERM instead of EACCES). This works even if securityfs is not mounted.
    fn is_refused(&self) -> bool {
        match read_bytes_into(&self.join("synthetic_events"), &mut Vec::new()) {
            Ok(()) => false,
            Err(error) => error.raw_os_error() == Some(rustix::io::Errno::PERM.raw_os_error()),
        }
    }

    /// Returns the path of a file.
    pub(super) fn join(&self, file: &str) -> PathBuf {
        self.path.join(file)
    }

    pub(super) fn has(&self, file: &str) -> bool {
        self.join(file).exists()
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
        let Err(error) = append_line(&path, text) else {
            return Ok(());
        };
        let refused = refused(&path, &error);
        if let ErrorKind::PermissionDenied | ErrorKind::OutOfMemory = error.kind() {
            return Err(refused);
        }
        let reason = match self.logged_reason(file) {
            Some(reason) => format!(" ({reason})"),
            None => String::new(),
        };
        bail!(
            "{refused}{}; the kernel refused '{}'",
            sanitize(&reason),
            sanitize(text)
        );
    }

    /// Returns the last reason in the error log of a file's instance.
    fn logged_reason(&self, file: &str) -> Option<String> {
        let mut parts = file.split('/');
        let log = match (parts.next(), parts.next()) {
            (Some("instances"), Some(name)) => format!("instances/{name}/error_log"),
            _ => "error_log".to_owned(),
        };
        for line in self.read(&log).lines().rev() {
            if let Some((_, reason)) = line.split_once("error: ") {
                return Some(reason.to_owned());
            }
        }
        None
    }

    /// Creates a tracing instance.
    ///
    /// # Errors
    /// If the kernel refuses it, or the instance exists.
    pub(super) fn make_instance(&self, name: &str) -> Result<()> {
        let path = self.join("instances").join(name);
        match fs::create_dir(&path) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => bail!(
                "the tracing instance '{}' exists already; remove it with 'blkstat latency --cleanup'",
                sanitize(name)
            ),
            created => created.map_err(|error| refused(&path, &error)),
        }
    }

    /// Returns the names in a directory, sorted; empty if it cannot be read.
    pub(super) fn list(&self, directory: &str) -> Vec<String> {
        paths_in(&self.join(directory))
            .iter()
            .filter_map(|path| file_name(path))
            .collect()
    }
}

/// Appends a line to a file. The kernel parses each write separately, so the line must be a single write.
fn append_line(path: &Path, text: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().append(true).open(path)?;
    file.write_all(format!("{text}\n").as_bytes())
}

/// The options of the kernel that tracing needs.
const OPTIONS: [&str; 3] = [
    "CONFIG_BLK_DEV_IO_TRACE",
    "CONFIG_HIST_TRIGGERS",
    "CONFIG_SYNTH_EVENTS",
];

/// Why requests cannot be traced.
enum Obstacle {
    /// This user may not.
    Denied,
    /// Something that no user has, with the remedy.
    Missing(String),
}

fn missing(reason: &str) -> Obstacle {
    Obstacle::Missing(reason.to_owned())
}

/// Fails if the kernel was built without some options.
fn require_options(lacking: &[&str]) -> Result<(), Obstacle> {
    if lacking.is_empty() {
        return Ok(());
    }
    Err(missing(&format!(
        "this kernel was built without {}; use a kernel of Debian, Ubuntu or RHEL",
        lacking.join(", ")
    )))
}

/// Returns why requests cannot be traced where this user may not look.
fn denied(root: &Path) -> Obstacle {
    if is_locked_down(root) {
        return missing(LOCKED_DOWN);
    }
    match require_options(&options_disabled_in_config(root)) {
        Ok(()) => Obstacle::Denied,
        Err(obstacle) => obstacle,
    }
}

/// Returns whether the kernel permits this process to trace.
fn may_trace() -> bool {
    capabilities(None).is_ok_and(|sets| sets.effective.contains(CapabilitySet::SYS_ADMIN))
}

const LOCKED_DOWN: &str =
    "the kernel is locked down (confidentiality); boot with lockdown=integrity or less";
const NOT_PERMITTED: &str =
    "cannot trace requests without root or CAP_SYS_ADMIN; run blkstat as root";

/// The error for a file or directory that the kernel refuses to read, write, create or remove.
pub(super) fn refused(path: &Path, error: &io::Error) -> anyhow::Error {
    match error.kind() {
        ErrorKind::PermissionDenied => anyhow!(NOT_PERMITTED),
        ErrorKind::OutOfMemory => {
            anyhow!(
                "cannot trace requests: the kernel has not enough memory for histograms; free some"
            )
        }
        _ => anyhow!("cannot trace requests: {}: {error}", path_text(path)),
    }
}

/// Returns the options that the kernel's configuration lacks; none if it cannot be read. Distributions put it into
/// /boot; a kernel may have it in /proc.
fn options_disabled_in_config(root: &Path) -> Vec<&'static str> {
    let Some(config) = kernel_config(root) else {
        return Vec::new();
    };
    let mut disabled = OPTIONS.to_vec();
    for line in config.lines() {
        disabled.retain(|option| line.strip_prefix(option) != Some("=y"));
    }
    disabled
}

/// Reads the configuration of the kernel. `None` if it cannot be read.
fn kernel_config(root: &Path) -> Option<String> {
    let release = read_line(&root.join("proc/sys/kernel/osrelease")).unwrap_or_default();
    if let Some(text) = read_text(&root.join(format!("boot/config-{release}"))) {
        return Some(text);
    }
    let packed = read_bytes(&root.join("proc/config.gz"))?;
    let mut text = String::new();
    GzDecoder::new(packed.as_slice())
        .read_to_string(&mut text)
        .ok()?;
    Some(text)
}

/// Returns whether the kernel's lockdown prohibits reading its memory and thus tracing.
fn is_locked_down(root: &Path) -> bool {
    let line = read_line(&root.join("sys/kernel/security/lockdown")).unwrap_or_default();
    line.contains("[confidentiality]")
}

/// The events whose triggers are removed, in this order: a variable cannot be removed while another trigger refers to it.
const EVENTS: [&str; 9] = [
    "block/block_rq_complete",
    "block/block_bio_complete",
    "block/block_io_done",
    "block/block_rq_issue",
    "block/block_rq_requeue",
    "block/block_bio_queue",
    "block/block_rq_insert",
    "block/block_io_start",
    "ftrace/print",
];

/// Removes the instances and synthetic events of processes that have ended. Returns their names.
///
/// # Errors
/// If tracefs cannot be used, or the kernel refuses to remove something.
pub fn remove_leftovers(root: &Path) -> Result<Vec<String>> {
    let dir = TraceDir::find(root)?;
    let mut removed = Vec::new();
    for name in dir.list("instances") {
        if has_owner_ended(&name, root) {
            remove_instance(&dir, &name)?;
            removed.push(name);
        }
    }
    for event in synthetic_events(&dir) {
        if has_owner_ended(&event, root) {
            dir.write("synthetic_events", &format!("!{event}"))?;
            removed.push(event);
        }
    }
    Ok(removed)
}

fn has_owner_ended(name: &str, root: &Path) -> bool {
    match Owner::parse(name) {
        Some(owner) => owner.has_ended(root),
        None => false,
    }
}

/// Removes an instance with its triggers, and the synthetic events that they use.
///
/// # Errors
/// If the kernel refuses it. As much as possible is removed nevertheless.
pub(super) fn remove_instance(dir: &TraceDir, name: &str) -> Result<()> {
    let events = format!("instances/{name}/events");
    let mut synthetic = synthetic_events(dir);
    synthetic.retain(|event| event.starts_with(&format!("{name}_")));
    let mut in_order = EVENTS.map(str::to_owned).to_vec();
    for event in &synthetic {
        in_order.push(format!("synthetic/{event}"));
    }
    let mut outcome = Ok(());
    for event in in_order {
        let file = format!("{events}/{event}/trigger");
        for trigger in triggers(&dir.read(&file)) {
            outcome = outcome.and(dir.write(&file, &format!("!{trigger}")));
        }
    }
    for event in synthetic {
        outcome = outcome.and(dir.write("synthetic_events", &format!("!{event}")));
    }
    let directory = dir.join("instances").join(name);
    outcome.and(fs::remove_dir(&directory).map_err(|error| refused(&directory, &error)))
}

/// Returns the names of the synthetic events of blkstat.
fn synthetic_events(dir: &TraceDir) -> Vec<String> {
    let mut names = Vec::new();
    for line in dir.read("synthetic_events").lines() {
        if let Some(name) = line.split_whitespace().next()
            && Owner::parse(name).is_some()
        {
            names.push(name.to_owned());
        }
    }
    names
}

/// Returns the triggers in a `trigger` file in a form that can be written back: without their states.
fn triggers(text: &str) -> Vec<&str> {
    let mut triggers = Vec::new();
    for line in text.lines() {
        if line.starts_with('#') || line.is_empty() {
            continue;
        }
        triggers.push(match line.rsplit_once(" [") {
            Some((trigger, state)) if state.ends_with(']') => trigger,
            _ => line,
        });
    }
    triggers
}

/// The identity of a process: process numbers are reused, but not with the same start time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    /// The inode of its PID namespace: in another namespace, the number belongs to another process.
    namespace: u64,
    pid: u32,
    /// The time at which it started, in clock ticks since boot.
    started: u64,
}

impl Owner {
    /// The beginning of the names of instances and synthetic events.
    pub(super) const PREFIX: &'static str = "blkstat_";

    /// Returns this process. A number that cannot be read is 0.
    pub(super) fn current(root: &Path) -> Self {
        let pid = std::process::id();
        Self {
            namespace: namespace(root),
            pid,
            started: started(root, pid).unwrap_or(0),
        }
    }

    /// Returns the owner of an instance or synthetic event; `None` if blkstat did not name it.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix(Self::PREFIX)?.split('_');
        let namespace = parts.next()?.parse().ok()?;
        Some(Self {
            namespace,
            pid: parts.next()?.parse().ok()?,
            started: parts.next()?.parse().ok()?,
        })
    }

    /// Returns the name of something that this process owns.
    pub(super) fn name(&self, suffix: &str) -> String {
        let Self {
            namespace,
            pid,
            started,
        } = self;
        format!("{}{namespace}_{pid}_{started}_{suffix}", Self::PREFIX)
    }

    /// Returns whether the process has ended. A process of another PID namespace counts as running, since it cannot be
    /// seen.
    pub(super) fn has_ended(&self, root: &Path) -> bool {
        self.namespace == namespace(root) && started(root, self.pid) != Some(self.started)
    }
}

fn namespace(root: &Path) -> u64 {
    let link = fs::read_link(root.join("proc/self/ns/pid")).unwrap_or_default();
    let text = link.to_string_lossy();
    let inode = text.strip_prefix("pid:[").unwrap_or_default();
    inode.trim_end_matches(']').parse().unwrap_or(0)
}

/// Returns the start time of a process; `None` if there is no such process.
fn started(root: &Path, pid: u32) -> Option<u64> {
    Some(parse_process_stat(&read_bytes(&root.join(format!("proc/{pid}/stat")))?)?.start_ticks)
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
            (
                &["proc/filesystems=nodev\ttracefs\n"],
                "run 'mount -t tracefs tracefs /sys/kernel/tracing'",
            ),
            (
                &["sys/kernel/tracing/events/enable"],
                "built without CONFIG_BLK_DEV_IO_TRACE, CONFIG_HIST_TRIGGERS, CONFIG_SYNTH_EVENTS;",
            ),
            (
                &["sys/kernel/tracing/events/block/enable"],
                "built without CONFIG_HIST_TRIGGERS, CONFIG_SYNTH_EVENTS;",
            ),
            (
                &[
                    "sys/kernel/tracing/events/sched/sched_switch/hist",
                    SYNTHETIC,
                ],
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
                &[
                    HIST,
                    SYNTHETIC,
                    "sys/kernel/security/lockdown=none integrity [confidentiality]\n",
                ],
                "locked down",
            ),
            (
                &[
                    HIST,
                    SYNTHETIC,
                    "sys/kernel/security/lockdown=none [integrity] confidentiality\n",
                ],
                "found",
            ),
            (
                &[
                    "sys/kernel/debug/tracing/events/block/block_bio_queue/hist",
                    "sys/kernel/debug/tracing/synthetic_events",
                ],
                "found",
            ),
        ] {
            let message = message(files);
            assert!(
                message.contains(expected) && !message.contains('\n'),
                "{files:?}: {message}"
            );
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
        let error = dir
            .write("instances/a/events/none/trigger", "hist:keys=x")
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("Couldn't find field") && error.contains("'hist:keys=x'"),
            "{error}"
        );
        assert!(
            dir.make_instance("a")
                .unwrap_err()
                .to_string()
                .contains("'a' exists already")
        );
        dir.make_instance("b").unwrap();
        assert_eq!(dir.list("instances"), ["a", "b"]);
        remove_instance(&dir, "b").unwrap();
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

#[cfg(test)]
mod leftovers_tests {
    use super::*;

    #[test]
    fn triggers_are_written_without_their_states() {
        let text = "hist:keys=dev:vals=hitcount:sort=hitcount:size=256 if lat < 5 [active]\n\
                    hist:keys=sector [paused]\ndisable_hist:block:block_rq_issue:unlimited\n";
        let expected = [
            "hist:keys=dev:vals=hitcount:sort=hitcount:size=256 if lat < 5",
            "hist:keys=sector",
            "disable_hist:block:block_rq_issue:unlimited",
        ];
        assert_eq!(triggers(text), expected);
        assert_eq!(triggers("# Available triggers:\n# traceon hist\n").len(), 0);
    }

    #[test]
    fn only_what_a_process_that_ended_left_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let tracing = root.path().join("sys/kernel/tracing");
        let running = format!("proc/{}/stat", std::process::id());
        std::fs::create_dir_all(root.path().join(&running).parent().unwrap()).unwrap();
        std::fs::copy(Path::new("/").join(&running), root.path().join(&running)).unwrap();
        std::fs::create_dir_all(tracing.join("events/block/block_bio_queue/hist")).unwrap();
        let own = Owner::current(root.path()).name("0");
        let left = "blkstat_0_1_77_0";
        for name in [own.as_str(), left, "theirs"] {
            std::fs::create_dir_all(tracing.join("instances").join(name)).unwrap();
        }
        let events = format!("{left}_request\tu32 dev\n{own}_request\tu32 dev\ntheirs\tu32 dev\n");
        std::fs::write(tracing.join("synthetic_events"), events).unwrap();
        let removed = remove_leftovers(root.path()).unwrap();
        // A plain file keeps the event that the kernel would have removed with its instance.
        assert_eq!(removed, [left, &format!("{left}_request")]);
        let dir = TraceDir::find(root.path()).unwrap();
        assert_eq!(dir.list("instances"), [own.as_str(), "theirs"]);
        assert!(
            dir.read("synthetic_events")
                .ends_with(&format!("!{left}_request\n"))
        );
    }

    #[test]
    fn this_process_is_recognized_by_its_name_and_is_running() {
        let root = Path::new("/");
        let owner = Owner::current(root);
        assert!(owner.started > 0);
        assert_eq!(Owner::parse(&owner.name("0")), Some(owner));
        assert_eq!(Owner::parse(&owner.name("0_request")), Some(owner));
        assert!(!owner.has_ended(root));
        let before = Owner {
            started: owner.started - 1,
            ..owner
        };
        assert!(before.has_ended(root), "another process had its number");
        assert!(
            !Owner {
                namespace: 1,
                ..before
            }
            .has_ended(root),
            "it cannot be seen"
        );
    }

    #[test]
    fn names_of_others_have_no_owner() {
        let names = [
            "blkstat",
            "blkstat_",
            "blkstat_1_2",
            "blkstat_a_1_2_0",
            "wakeup_latency",
            "",
        ];
        assert!(names.iter().all(|name| Owner::parse(name).is_none()));
    }
}
