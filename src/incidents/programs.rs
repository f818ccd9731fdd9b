//! The names of programs, and those that work for others.

/// The programs that serve disks to the kernel, by the beginning of their names.
const SERVERS: [&str; 10] = [
    "nbdkit",
    "nbdfuse",
    "qemu-nbd",
    "nbd-client",
    "rbd-nbd",
    "tcmu-runner",
    "glusterfs",
    "ceph-osd",
    "iscsid",
    "mount.",
];
/// Threads of the kernel, which older recordings do not tell from others.
const KERNEL: [&str; 10] = [
    "kworker/",
    "jbd2/",
    "kswapd",
    "kcompactd",
    "dmcrypt",
    "kcryptd",
    "xfsaild",
    "xfs-",
    "btrfs-",
    "flush-",
];
/// Threads of the kernel whose names begin so, with a number behind it.
const NUMBERED_KERNEL: [&str; 2] = ["md", "loop"];
/// Shells: their bytes are those of their children that ended.
const SHELLS: [&str; 4] = ["sh", "bash", "dash", "zsh"];

/// Returns whether a program of this name does the I/O of others: it is never the owner of a load, nor its victim.
pub fn serves_disks(comm: &str) -> bool {
    for name in NUMBERED_KERNEL {
        let rest = comm.strip_prefix(name).unwrap_or_default();
        let number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        if number.len() < rest.len() && (name == "loop" || number.starts_with('_')) {
            return true;
        }
    }
    let mut known = SERVERS.iter().chain(&KERNEL);
    known.any(|name| comm.starts_with(name))
}

pub(super) fn is_shell(program: &str) -> bool {
    SHELLS.contains(&program)
}

/// The name of a program: that of the process or, of a task of PostgreSQL, its role, as `postgres: checkpointer`.
pub fn program_name(comm: &str, command: Option<&str>) -> String {
    let Some(title) = command.and_then(|command| command.strip_prefix("postgres:")) else {
        return comm.to_owned();
    };
    let mut words: Vec<&str> = title.split_whitespace().collect();
    // Debian's begin with the name of the cluster: `postgres: 15/main: checkpointer`.
    if words.first().is_some_and(|word| word.ends_with(':')) {
        words.remove(0);
    }
    let role = words.join(" ");
    // A client has a port, or is local.
    if role.contains("[local]") || role.contains(|c: char| c.is_ascii_digit()) {
        return format!("{comm}: client");
    }
    words.truncate(2);
    format!("postgres: {}", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_and_threads_of_the_kernel_work_for_others() {
        for comm in [
            "nbdkit",
            "kworker/u8:2",
            "jbd2/vda1-8",
            "md127_raid1",
            "loop3",
            "mount.nfs",
        ] {
            assert!(serves_disks(comm), "{comm}");
        }
        for comm in ["mdadm", "md5sum", "loopback", "mariadbd", "mount", "fio"] {
            assert!(!serves_disks(comm), "{comm}");
        }
    }

    #[test]
    fn tasks_of_postgresql_go_by_their_role() {
        for (command, expected) in [
            (Some("postgres: checkpointer "), "postgres: checkpointer"),
            (
                Some("postgres: 15/main: background writer"),
                "postgres: background writer",
            ),
            (
                Some("postgres: app shop [local] COMMIT"),
                "postgres: client",
            ),
            (
                Some("postgres: app shop 10.0.0.7(51234) SELECT"),
                "postgres: client",
            ),
            (Some("/usr/bin/postgres -D /data"), "postgres"),
            (None, "postgres"),
        ] {
            assert_eq!(program_name("postgres", command), expected);
        }
    }
}
