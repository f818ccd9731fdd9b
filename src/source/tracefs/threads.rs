//! Finds the processes and cgroups of threads.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use crate::attribution::files::parse_process_cgroup;
use crate::counters::{TracedUser, TracedUsers};
use crate::source::small_file::{read_bytes, read_text};

/// The process and the cgroup of a thread; `None` if they are not known.
type Process = (Option<u32>, Option<Arc<str>>);

/// Finds the process and the cgroup of each thread that is still running.
pub(super) fn find_processes(root: &Path, users: &mut TracedUsers) {
    let mut found: HashMap<(u32, Arc<str>), Process> = HashMap::new();
    users.set_processes(|user| {
        // A process that was started by a shell had the shell's name before.
        let key = (user.tid, Arc::clone(&user.comm));
        found.entry(key).or_insert_with(|| process_of(root, user)).clone()
    });
}

/// Returns the process and the cgroup of a thread; `None` if it has ended, or another thread has its number.
fn process_of(root: &Path, user: &TracedUser) -> Process {
    let folder = root.join(format!("proc/{}", user.tid));
    let status = read_text(&folder.join("status")).unwrap_or_default();
    let value = |name: &str| status.lines().find_map(|line| line.strip_prefix(name)).map(str::trim);
    // The kernel appends the current work to the name of a worker thread.
    let is_same = value("Name:").is_some_and(|name| name.starts_with(user.comm.trim()));
    if !is_same {
        return (None, None);
    }
    let pid = value("Tgid:").and_then(|pid| pid.parse().ok());
    let text = read_bytes(&folder.join("cgroup")).unwrap_or_default();
    let cgroup = parse_process_cgroup(&text, false).or_else(|| parse_process_cgroup(&text, true));
    (pid, cgroup.as_deref().map(Arc::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::RequestKind;

    #[test]
    fn a_thread_has_the_process_and_the_cgroup_of_its_files() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("proc/12");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("status"), "Name:\tkworker/u4:1-flush-8:0\nTgid:\t10\n").unwrap();
        std::fs::write(folder.join("cgroup"), "0::/db.service\n").unwrap();
        let user = |comm: &str, tid| TracedUser {
            number: (8, 0),
            tid,
            comm: comm.into(),
            pid: None,
            cgroup: None,
            kind: RequestKind::Write,
            count: 1,
            sectors: 8,
        };
        // The process did I/O under the name of the shell that started it, too.
        let mut users: TracedUsers =
            [user("bash", 12), user("kworker/u4:1", 12), user("sh", 14)].into_iter().collect();
        find_processes(root.path(), &mut users);
        let found = users.as_slice();
        assert_eq!((found[1].pid, found[1].cgroup.as_deref()), (Some(10), Some("/db.service")));
        assert_eq!((found[0].pid, found[2].pid), (None, None));
    }
}
