use std::fs;

use super::*;

const V2: &str = "25 22 0:23 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
const V1: &str = "36 30 0:32 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n\
                  37 30 0:33 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";

/// A tree of files below a root; in memory if possible, because it may be large.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new(mountinfo: &str) -> Self {
        let tree = Self(
            tempfile::tempdir_in("/dev/shm")
                .or_else(|_| tempfile::tempdir())
                .unwrap(),
        );
        tree.file("proc/1/mountinfo", mountinfo);
        tree
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.0.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Writes the bytes that a cgroup of version 2 has read from 8:0.
    fn io_stat(&self, path: &str, bytes: u64) {
        let text = format!("8:0 rbytes={bytes} wbytes=0 rios=1 wios=0 dbytes=0 dios=0\n");
        self.file(&format!("sys/fs/cgroup{path}/io.stat"), &text);
    }

    fn remove(&self, path: &str) {
        fs::remove_dir_all(self.0.path().join(path)).unwrap();
    }

    fn reader(&self) -> CgroupReader {
        CgroupReader::new(self.0.path())
    }
}

/// Scans at a time in seconds.
fn scan(reader: &mut CgroupReader, at_s: u64) -> IoScan {
    reader.prepare(Duration::from_secs(at_s), false);
    reader.read()
}

/// Returns the bytes read by each cgroup of a scan.
fn read_bytes(reader: &mut CgroupReader, at_s: u64) -> Vec<(String, u64)> {
    let scanned = scan(reader, at_s);
    let bytes = |cgroup: &Cgroup| {
        cgroup
            .devices
            .iter()
            .map(|device| device.io.read_bytes)
            .sum()
    };
    scanned
        .cgroups
        .iter()
        .map(|cgroup| (cgroup.path.to_string(), bytes(cgroup)))
        .collect()
}

fn named(expected: &[(&str, u64)]) -> Vec<(String, u64)> {
    expected
        .iter()
        .map(|(path, bytes)| ((*path).to_owned(), *bytes))
        .collect()
}

#[test]
fn cgroups_come_and_go() {
    let tree = Tree::new(V2);
    tree.io_stat("", 1000);
    tree.io_stat("/a", 100);
    tree.io_stat("/a/b", 60);
    let mut reader = tree.reader();
    assert_eq!(
        read_bytes(&mut reader, 0),
        named(&[("/a", 100), ("/a/b", 60)]),
        "the root has the devices' counters"
    );

    tree.io_stat("/a", 200);
    tree.io_stat("/a/b", 160);
    tree.io_stat("/new", 5);
    assert_eq!(
        read_bytes(&mut reader, 1),
        named(&[("/a", 200), ("/a/b", 160)]),
        "not looked for yet"
    );
    assert_eq!(
        read_bytes(&mut reader, 5),
        named(&[("/a", 200), ("/new", 5), ("/a/b", 160)])
    );
    let is_new: Vec<bool> = scan(&mut reader, 5)
        .cgroups
        .iter()
        .map(|c| c.is_new)
        .collect();
    assert_eq!(is_new, [false; 3], "read before");

    tree.remove("sys/fs/cgroup/a/b");
    tree.io_stat("/a", 300);
    assert_eq!(
        read_bytes(&mut reader, 6),
        named(&[("/a", 300), ("/new", 5)])
    );
}

#[test]
fn below_an_idle_cgroup_nothing_is_read() {
    let tree = Tree::new(V2);
    tree.io_stat("/a", 100);
    tree.io_stat("/a/b", 60);
    let mut reader = tree.reader();
    read_bytes(&mut reader, 0);
    read_bytes(&mut reader, 1);
    // No kernel would count I/O in a child only; this shows which files are read.
    tree.io_stat("/a/b", 99);
    assert_eq!(
        read_bytes(&mut reader, 2),
        named(&[("/a", 100), ("/a/b", 60)])
    );
    tree.io_stat("/a", 139);
    assert_eq!(
        read_bytes(&mut reader, 3),
        named(&[("/a", 139), ("/a/b", 99)])
    );
}

#[test]
fn of_many_cgroups_one_without_io_for_long_is_read_less_often_and_then_as_if_it_were_new() {
    for count in [MANY_CGROUPS - 1, MANY_CGROUPS] {
        let tree = Tree::new(V2);
        for at in 0..count {
            tree.io_stat(&format!("/{at}"), 100);
        }
        let mut reader = tree.reader();
        (0..=10).for_each(|_| drop(scan(&mut reader, 0)));
        tree.io_stat("/0", 200);
        let mut found = Vec::new();
        for _ in 0..5 {
            let cgroup = scan(&mut reader, 0).cgroups.remove(0);
            found.push((cgroup.devices[0].io.read_bytes, cgroup.is_new));
        }
        let as_new = found.iter().filter(|one| **one == (200, true)).count();
        assert_eq!(as_new, usize::from(count == MANY_CGROUPS), "{found:?}");
        assert_eq!(found[4].0, 200);
        assert!(count == MANY_CGROUPS || found[0].0 == 200, "{found:?}");
    }
}

#[test]
fn a_cgroup_that_is_created_is_read_at_once_with_all_that_it_did() {
    let tree = Tree::new(V2);
    let population = |count| {
        let text = format!("nr_descendants {count}\nnr_dying_descendants 0\n");
        tree.file("sys/fs/cgroup/cgroup.stat", &text);
    };
    population(1);
    tree.io_stat("/a", 100);
    let mut reader = tree.reader();
    let mut found = |at_s| {
        let mut found = Vec::new();
        for cgroup in scan(&mut reader, at_s).cgroups {
            found.push((cgroup.path.to_string(), cgroup.is_new));
        }
        found
    };
    let named = |path: &str, is_new| (path.to_owned(), is_new);
    assert_eq!(
        found(0),
        [named("/a", true)],
        "it is not known since when it did this"
    );
    population(2);
    tree.io_stat("/b", 5);
    assert_eq!(found(1), [named("/a", false), named("/b", false)]);
    tree.io_stat("/c", 5);
    assert_eq!(found(2).len(), 2, "the kernel does not say that it exists");
    assert_eq!(
        found(6)[2],
        named("/c", true),
        "so it may be older than a second"
    );
}

#[test]
fn in_bad_seconds_all_limits_are_read_in_each() {
    let tree = Tree::new(V2);
    tree.io_stat("/a", 100);
    let mut reader = tree.reader();
    (0..=20).for_each(|at_s| drop(scan(&mut reader, at_s)));
    let mut limits = Vec::new();
    for at_s in 21..24 {
        let text = format!("8:0 rbps=max wbps=max riops={at_s} wiops=max\n");
        tree.file("sys/fs/cgroup/a/io.max", &text);
        reader.prepare(Duration::from_secs(at_s), true);
        limits.extend(reader.read().cgroups[0].devices[0].limits[0]);
    }
    assert_eq!(limits, [21, 22, 23]);
}

#[test]
fn limits_are_read_again_after_a_while_and_listed_without_io() {
    let tree = Tree::new(V2);
    tree.file("sys/fs/cgroup/a/io.stat", "");
    tree.file(
        "sys/fs/cgroup/a/io.max",
        "8:0 rbps=max wbps=max riops=100 wiops=max\n",
    );
    let pressure = "some avg10=0 avg60=0 avg300=0 total=5\nfull avg10=0 avg60=0 avg300=0 total=3\n";
    tree.file("sys/fs/cgroup/a/io.pressure", pressure);
    let mut reader = tree.reader();
    let mut limit = |at_s| {
        let cgroups = scan(&mut reader, at_s).cgroups;
        cgroups.first().map(|cgroup| {
            (
                cgroup.devices[0].limits,
                cgroup.pressure.map(|pressure| pressure.some_us),
            )
        })
    };
    let iops = |read_iops| [Some(read_iops), None, None, None];
    assert_eq!(limit(0), Some((iops(100), Some(5))));
    tree.file(
        "sys/fs/cgroup/a/io.max",
        "8:0 rbps=max wbps=max riops=50 wiops=max\n",
    );
    assert_eq!(limit(9), Some((iops(100), Some(5))));
    assert_eq!(limit(10), Some((iops(50), Some(5))));
    tree.file("sys/fs/cgroup/a/io.max", "");
    assert_eq!(limit(20), None);
}

#[test]
fn in_a_hybrid_system_version_1_counts() {
    let tree = Tree::new(V1);
    tree.file("sys/fs/cgroup/unified/x/io.pressure", "");
    for (path, bytes) in [("", 7), ("/db", 4096)] {
        let file = |name: &str| format!("sys/fs/cgroup/blkio{path}/blkio.throttle.{name}");
        tree.file(
            &file("io_service_bytes"),
            &format!("8:0 Read {bytes}\n8:0 Write 0\nTotal {bytes}\n"),
        );
        tree.file(&file("io_serviced"), "8:0 Read 3\n8:0 Write 0\nTotal 3\n");
    }
    tree.file(
        "sys/fs/cgroup/blkio/db/blkio.throttle.read_iops_device",
        "8:0 777\n",
    );
    let scanned = scan(&mut tree.reader(), 0);
    assert_eq!(scanned.hierarchy, Some(CgroupHierarchy::V1));
    let found: Vec<_> = scanned
        .cgroups
        .iter()
        .map(|cgroup| (&*cgroup.path, cgroup.devices[0]))
        .collect();
    assert_eq!(
        found[0].0, "/",
        "processes of the root have counters of their own"
    );
    assert_eq!(
        (found[1].0, found[1].1.io.read_bytes, found[1].1.io.reads),
        ("/db", 4096, 3)
    );
    assert_eq!(found[1].1.limits, [Some(777), None, None, None]);
}

#[test]
fn a_scan_without_cgroups_says_why() {
    let problem = |tree: &Tree| scan(&mut tree.reader(), 0).problem;
    assert_eq!(problem(&Tree::new("")), Some(ScanProblem::NoHierarchy));
    let tree = Tree::new(V2);
    tree.io_stat("", 1000);
    tree.file("sys/fs/cgroup/system.slice/cgroup.procs", "1\n");
    assert_eq!(problem(&tree), Some(ScanProblem::ControllerOff));
    tree.io_stat("/system.slice", 5);
    assert_eq!(problem(&tree), None);
}

#[test]
fn names_may_hold_any_bytes() {
    use std::os::unix::ffi::OsStrExt;
    let tree = Tree::new(V2);
    let dir = tree
        .0
        .path()
        .join("sys/fs/cgroup")
        .join(std::ffi::OsStr::from_bytes(b"a\x1b[2J\xff \n"));
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("io.stat"), "8:0 rbytes=1").unwrap();
    assert_eq!(
        read_bytes(&mut tree.reader(), 0),
        named(&[("/a\u{1b}[2J\u{fffd} \n", 1)])
    );
}

#[test]
fn ten_thousand_cgroups_are_read() {
    let tree = Tree::new(V2);
    for slice in 0..100 {
        tree.io_stat(&format!("/s{slice:02}"), 100);
        for unit in 0..99 {
            tree.io_stat(&format!("/s{slice:02}/u{unit:02}"), 1);
        }
    }
    let scanned = scan(&mut tree.reader(), 0);
    assert_eq!((scanned.cgroups.len(), scanned.problem), (10_000, None));
    assert_eq!(&*scanned.cgroups[100].path, "/s00/u00", "parents first");
}

#[test]
fn new_limits_of_a_cgroup_without_io_are_read_when_it_has_io_or_within_a_minute() {
    let tree = Tree::new(V2);
    tree.io_stat("/a", 100);
    tree.io_stat("/b", 100);
    let mut reader = tree.reader();
    (0..=10).for_each(|_| drop(scan(&mut reader, 0)));
    for path in ["a", "b"] {
        let limits = "8:0 rbps=max wbps=max riops=100 wiops=max\n";
        tree.file(&format!("sys/fs/cgroup/{path}/io.max"), limits);
    }
    tree.io_stat("/a", 200);
    let mut limited_at = [None; 2];
    for at_s in 1..=70 {
        for (cgroup, limited_at) in scan(&mut reader, at_s).cgroups.iter().zip(&mut limited_at) {
            let is_limited = cgroup.devices[0].limits[0] == Some(100);
            *limited_at = limited_at.or(is_limited.then_some(at_s));
        }
    }
    assert!(
        limited_at[0].unwrap() <= 5 && limited_at[1].unwrap() <= 60,
        "{limited_at:?}"
    );
}

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
    assert_eq!(
        found(SYSTEMD),
        Some((CgroupHierarchy::V2, path("/sys/fs/cgroup"), path("/")))
    );
    assert_eq!(
        found(HYBRID),
        Some((CgroupHierarchy::V1, path("/sys/fs/cgroup/blkio"), path("/")))
    );
    let without_blkio: Vec<&str> = HYBRID
        .lines()
        .filter(|line| !line.contains("blkio"))
        .collect();
    assert_eq!(
        found(&without_blkio.join("\n")),
        Some((
            CgroupHierarchy::V2,
            path("/sys/fs/cgroup/unified"),
            path("/")
        ))
    );
}

#[test]
fn a_container_may_see_only_its_own_cgroup() {
    let line = "730 725 0:31 /docker/1a2b /sys/fs/cgroup/blk\\040io ro - cgroup cgroup rw,blkio";
    let path = |text: &str| text.to_owned();
    assert_eq!(
        found(line),
        Some((
            CgroupHierarchy::V1,
            path("/sys/fs/cgroup/blk io"),
            path("/docker/1a2b")
        ))
    );
}

#[test]
fn other_tables_have_none() {
    for text in [
        "",
        "x",
        "1 2 0:3 / /a rw - cgroup",
        "1 2 0:3 / /a rw - cgroup cgroup rw,cpu",
    ] {
        assert_eq!(found(text), None, "{text}");
    }
}
