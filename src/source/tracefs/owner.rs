//! The process that an instance belongs to, as identified by the instance's name.

use std::fs;
use std::path::Path;

use crate::source::small_file::read_line_lossy;

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
    let line = read_line_lossy(&root.join(format!("proc/{pid}/stat")))?;
    line.rsplit_once(") ")?.1.split(' ').nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
