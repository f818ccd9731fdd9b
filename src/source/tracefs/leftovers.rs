//! Removes instances with their triggers: those of this process, and those that processes left when they were killed. An
//! instance's name identifies the process that it belongs to.

use std::fs;
use std::path::Path;

use anyhow::Result;

use super::trace_dir::TraceDir;
use crate::source::small_file::read_line;

/// The events whose triggers are removed first: a variable cannot be removed while another trigger refers to it.
const LAST_EVENTS: [&str; 3] = ["block/block_rq_complete", "block/block_bio_complete", "block/block_io_done"];
/// The events whose triggers are removed next.
const FIRST_EVENTS: [&str; 6] = [
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
    let has_ended = |name: &&String| Owner::parse(name).is_some_and(|owner| owner.has_ended(root));
    let mut removed: Vec<String> = dir.list("instances").iter().filter(has_ended).cloned().collect();
    removed.iter().try_for_each(|name| remove_instance(&dir, name))?;
    let events: Vec<String> = synthetic_events(&dir).iter().filter(has_ended).cloned().collect();
    for event in events {
        dir.write("synthetic_events", &format!("!{event}"))?;
        removed.push(event);
    }
    Ok(removed)
}

/// Removes an instance with its triggers, and the synthetic events that they use.
///
/// # Errors
/// If the kernel refuses it. As much as possible is removed nevertheless.
pub(super) fn remove_instance(dir: &TraceDir, name: &str) -> Result<()> {
    let events = format!("instances/{name}/events");
    let synthetic: Vec<String> = synthetic_events(dir)
        .into_iter()
        .filter(|event| event.strip_prefix(name).is_some_and(|rest| rest.starts_with('_')))
        .collect();
    let of_kernel = LAST_EVENTS.iter().chain(&FIRST_EVENTS).map(|event| (*event).to_owned());
    let in_order = of_kernel.chain(synthetic.iter().map(|event| format!("synthetic/{event}")));
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
    outcome.and(dir.remove_instance_directory(name))
}

/// Returns the names of the synthetic events of blkstat.
fn synthetic_events(dir: &TraceDir) -> Vec<String> {
    let text = dir.read("synthetic_events");
    let names = text.lines().filter_map(|line| line.split_whitespace().next());
    names.filter(|name| Owner::parse(name).is_some()).map(str::to_owned).collect()
}

/// Returns the triggers in a `trigger` file in a form that can be written back: without their states.
fn triggers(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    lines.map(|line| match line.rsplit_once(" [") {
        Some((trigger, state)) if state.ends_with(']') => trigger,
        _ => line,
    })
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
        Self { namespace: namespace(root), pid, started: started(root, pid).unwrap_or(0) }
    }

    /// Returns the owner of an instance or synthetic event; `None` if blkstat did not name it.
    pub(super) fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix(Self::PREFIX)?.split('_');
        let namespace = parts.next()?.parse().ok()?;
        Some(Self { namespace, pid: parts.next()?.parse().ok()?, started: parts.next()?.parse().ok()? })
    }

    /// Returns the name of something that this process owns.
    pub(super) fn name(&self, suffix: &str) -> String {
        let Self { namespace, pid, started } = self;
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
    let number = link.to_str().and_then(|link| link.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok());
    number.unwrap_or(0)
}

/// Returns the start time of a process: field 22 of its stat file, after a name in parentheses (proc_pid_stat(5)).
/// `None` if there is no such process.
fn started(root: &Path, pid: u32) -> Option<u64> {
    let line = read_line(&root.join(format!("proc/{pid}/stat")))?;
    line.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
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
        assert_eq!(triggers(text).collect::<Vec<_>>(), expected);
        assert_eq!(triggers("# Available triggers:\n# traceon hist\n").count(), 0);
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
        assert!(dir.read("synthetic_events").ends_with(&format!("!{left}_request\n")));
    }

    #[test]
    fn this_process_is_recognized_by_its_name_and_is_running() {
        let root = Path::new("/");
        let owner = Owner::current(root);
        assert!(owner.started > 0);
        assert_eq!(Owner::parse(&owner.name("0")), Some(owner));
        assert_eq!(Owner::parse(&owner.name("0_request")), Some(owner));
        assert!(!owner.has_ended(root));
        let before = Owner { started: owner.started - 1, ..owner };
        assert!(before.has_ended(root), "another process had its number");
        assert!(!Owner { namespace: 1, ..before }.has_ended(root), "it cannot be seen");
    }

    #[test]
    fn names_of_others_have_no_owner() {
        let names = ["blkstat", "blkstat_", "blkstat_1_2", "blkstat_a_1_2_0", "wakeup_latency", ""];
        assert!(names.iter().all(|name| Owner::parse(name).is_none()));
    }
}
