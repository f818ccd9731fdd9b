//! Finds the hierarchy of cgroups that counts I/O in a table of mounts.

use procfs::process::MountInfo;

use crate::counters::CgroupHierarchy;
use crate::source::topology::unescape;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hierarchy {
    pub(super) version: CgroupHierarchy,
    pub(super) mountpoint: String,
    /// The cgroup that the mount point shows, `/` unless in a container.
    pub(super) root: String,
}

/// Finds the hierarchy that counts I/O in the text of /proc/PID/mountinfo: `blkio` of version 1 if it is mounted,
/// because a controller belongs to only one hierarchy; otherwise the hierarchy of version 2. `None` without either.
///
/// In a hybrid system both are mounted, and the one of version 2 has no controllers.
pub(super) fn find_hierarchy(mountinfo: &str) -> Option<Hierarchy> {
    let mounts = || mountinfo.lines().filter_map(|line| MountInfo::from_line(line).ok());
    let has_blkio =
        |mount: &MountInfo| mount.fs_type == "cgroup" && mount.super_options.contains_key("blkio");
    let found = |mount: &MountInfo, version| {
        let mountpoint = unescape(mount.mount_point.to_str()?);
        Some(Hierarchy { version, mountpoint, root: unescape(&mount.root) })
    };
    let v1 = mounts().find(has_blkio).and_then(|mount| found(&mount, CgroupHierarchy::V1));
    v1.or_else(|| found(&mounts().find(|mount| mount.fs_type == "cgroup2")?, CgroupHierarchy::V2))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYSTEMD: &str = "\
22 28 0:20 / /sys rw,nosuid shared:2 - sysfs sysfs rw
25 22 0:23 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot
";
    const HYBRID: &str = "\
30 24 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755
31 30 0:27 / /sys/fs/cgroup/unified rw shared:10 - cgroup2 cgroup2 rw,nsdelegate
32 30 0:28 / /sys/fs/cgroup/systemd rw shared:11 - cgroup cgroup rw,xattr,name=systemd
35 30 0:31 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
36 30 0:32 / /sys/fs/cgroup/blkio rw shared:15 - cgroup cgroup rw,blkio
";

    fn found(mountinfo: &str) -> Option<(CgroupHierarchy, String, String)> {
        find_hierarchy(mountinfo).map(|found| (found.version, found.mountpoint, found.root))
    }

    #[test]
    fn the_controller_is_in_version_1_if_it_is_mounted_there() {
        let path = |text: &str| text.to_owned();
        assert_eq!(found(SYSTEMD), Some((CgroupHierarchy::V2, path("/sys/fs/cgroup"), path("/"))));
        assert_eq!(found(HYBRID), Some((CgroupHierarchy::V1, path("/sys/fs/cgroup/blkio"), path("/"))));
        let without_blkio: Vec<&str> = HYBRID.lines().filter(|line| !line.contains("blkio")).collect();
        assert_eq!(
            found(&without_blkio.join("\n")),
            Some((CgroupHierarchy::V2, path("/sys/fs/cgroup/unified"), path("/")))
        );
    }

    #[test]
    fn a_container_may_see_only_its_own_cgroup() {
        let line = "730 725 0:31 /docker/1a2b /sys/fs/cgroup/blk\\040io ro - cgroup cgroup rw,blkio";
        let path = |text: &str| text.to_owned();
        assert_eq!(
            found(line),
            Some((CgroupHierarchy::V1, path("/sys/fs/cgroup/blk io"), path("/docker/1a2b")))
        );
    }

    #[test]
    fn other_tables_have_none() {
        for text in ["", "x", "1 2 0:3 / /a rw - cgroup", "1 2 0:3 / /a rw - cgroup cgroup rw,cpu"] {
            assert_eq!(found(text), None, "{text}");
        }
    }
}
