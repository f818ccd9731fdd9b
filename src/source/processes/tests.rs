use std::fs;
use std::time::Duration;

use super::blocked_tasks::BlockedTaskReader;
use super::process_io::ProcessIoReader;
use super::task_files::TICKS_PER_S;
use crate::counters::{BlockedTask, BusyProcess, Device};

struct Proc(tempfile::TempDir);

impl Proc {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.0.path().join("proc").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn uptime(&self, seconds: u64) {
        self.file("uptime", &format!("{seconds}.00 5.00\n"));
    }

    /// Writes a process that started at a time in seconds since boot, with the bytes that it read.
    fn process(&self, pid: u32, comm: &str, start_s: u64, read_bytes: u64) {
        self.file(
            &format!("{pid}/io"),
            &format!("read_bytes: {read_bytes}\nwrite_bytes: 0\n"),
        );
        self.file(&format!("{pid}/stat"), &stat(pid, comm, 'S', start_s, 0, 2));
        self.file(
            &format!("{pid}/cgroup"),
            &format!("0::/system.slice/{comm}.service\n"),
        );
    }

    fn thread(&self, pid: u32, tid: u32, comm: &str, state: char, delay_ticks: u64) {
        self.file(
            &format!("{pid}/task/{tid}/stat"),
            &stat(tid, comm, state, 1, delay_ticks, 2),
        );
    }

    /// Writes a process that started in second 1, with the bytes of all, of its only thread, and the page faults of its
    /// children that have ended.
    fn child(&self, (pid, parent): (u32, u32), faults_of_ended: u64, [all, own]: [u64; 2]) {
        self.process(pid, "sh", 1, all);
        let stat = format!(
            "{pid} (sh) S {parent} {}{faults_of_ended} {}1 0 {TICKS_PER_S} {}0 0 0\n",
            "0 ".repeat(6),
            "0 ".repeat(8),
            "0 ".repeat(19)
        );
        self.file(&format!("{pid}/stat"), &stat);
        self.file(
            &format!("{pid}/task/{pid}/io"),
            &format!("read_bytes: {own}\nwrite_bytes: 0\n"),
        );
    }

    fn end(&self, pid: u32) {
        fs::remove_dir_all(self.0.path().join(format!("proc/{pid}"))).unwrap();
    }

    fn io_reader(&self) -> ProcessIoReader {
        ProcessIoReader::new(self.0.path(), false, Duration::MAX)
    }

    fn blocked_reader(&self) -> BlockedTaskReader {
        BlockedTaskReader::new(self.0.path(), false, Duration::MAX)
    }
}

fn stat(id: u32, comm: &str, state: char, start_s: u64, delay_ticks: u64, threads: u64) -> String {
    let start = start_s * TICKS_PER_S;
    let zeros = |count: usize| "0 ".repeat(count);
    format!(
        "{id} ({comm}) {state} {}{threads} 0 {start} {}{delay_ticks} 0 0\n",
        zeros(16),
        zeros(19)
    )
}

fn busiest(reader: &mut ProcessIoReader, at_s: u64) -> Option<Vec<(u32, String, u64)>> {
    let processes = reader.read(Duration::from_secs(at_s), false)?;
    Some(
        processes
            .busiest
            .iter()
            .map(|p| (p.pid, p.comm.clone(), p.read_bytes))
            .collect(),
    )
}

#[test]
fn the_busiest_come_first_and_processes_vanish() {
    let proc = Proc::new();
    proc.uptime(100);
    proc.process(7, "db", 1, 1000);
    proc.process(8, "backup", 1, 500);
    proc.process(9, "idle", 1, 99);
    proc.process(10, "short", 1, 5);
    let mut reader = proc.io_reader();
    assert_eq!(busiest(&mut reader, 0), None);
    proc.uptime(105);
    proc.process(7, "db", 1, 1010);
    proc.process(8, "backup", 1, 900);
    proc.end(10);
    let expected = vec![(8, "backup".to_owned(), 400), (7, "db".to_owned(), 10)];
    assert_eq!(busiest(&mut reader, 1), Some(expected));
    proc.process(7, "db", 1, 2010);
    assert_eq!(busiest(&mut reader, 5), None, "not read again");
    let processes = reader.read(Duration::from_secs(6), false).unwrap();
    assert_eq!(processes.busiest[0].read_bytes, 1000);
    assert_eq!(
        processes.busiest[0].cgroup.as_deref(),
        Some("/system.slice/db.service")
    );
    assert_eq!(processes.elapsed, Duration::from_secs(5));
}

#[test]
fn in_bad_seconds_processes_are_read_in_each() {
    let proc = Proc::new();
    proc.uptime(100);
    proc.process(7, "backup", 1, 0);
    let mut reader = proc.io_reader();
    let mut read_s = Vec::new();
    for second in 0..20 {
        proc.process(7, "backup", 1, 1000 * second);
        // Scans begin earlier the longer the last one took.
        let at = Duration::from_millis(1000 * second - 200 * (second % 2));
        if let Some(processes) = reader.read(at, (8..12).contains(&second)) {
            assert_eq!(processes.busiest[0].pid, 7);
            read_s.push(second);
        }
    }
    assert_eq!(read_s, [1, 6, 8, 9, 10, 11, 16]);
}

#[test]
fn all_bytes_of_a_new_process_are_new_even_under_a_used_number() {
    let proc = Proc::new();
    proc.uptime(100);
    proc.process(7, "old", 1, 1000);
    let mut reader = proc.io_reader();
    busiest(&mut reader, 0);
    proc.uptime(105);
    proc.process(7, "new", 103, 1500);
    proc.process(8, "newer", 104, 20);
    // It was hidden before, so the time over which it read these bytes is not known.
    proc.process(9, "revealed", 2, 1 << 40);
    let expected = vec![(7, "new".to_owned(), 1500), (8, "newer".to_owned(), 20)];
    assert_eq!(busiest(&mut reader, 5), Some(expected));
}

/// Reads twice, with what `change` does in between: pid, bytes, whether of children that ended.
fn between(proc: &Proc, change: impl FnOnce()) -> Vec<(u32, u64, bool)> {
    proc.uptime(100);
    let mut reader = proc.io_reader();
    busiest(&mut reader, 0);
    change();
    let processes = reader.read(Duration::from_secs(5), false).unwrap();
    processes
        .busiest
        .iter()
        .map(|process| {
            let BusyProcess {
                pid,
                read_bytes,
                is_of_ended_children,
                ..
            } = process;
            (*pid, *read_bytes, *is_of_ended_children)
        })
        .collect()
}

#[test]
fn a_process_does_not_get_what_its_children_did_before() {
    let proc = Proc::new();
    proc.child((7, 1), 0, [100, 100]);
    proc.child((8, 7), 0, [1 << 30, 1 << 30]);
    let found = between(&proc, || {
        proc.child((7, 1), 50, [100 + (1 << 30) + 200 + 5, 105]);
        proc.end(8);
    });
    assert_eq!(found, [(7, 200, true), (7, 5, false)]);
}

#[test]
fn children_that_nobody_has_seen_are_told_apart() {
    let proc = Proc::new();
    proc.child((7, 1), 50, [1000, 10]);
    let found = between(&proc, || proc.child((7, 1), 90, [1700, 20]));
    assert_eq!(found, [(7, 690, true), (7, 10, false)]);
    // A thread that has ended.
    let found = between(&proc, || proc.child((7, 1), 90, [2000, 20]));
    assert_eq!(found, [(7, 300, false)]);
}

#[test]
fn a_parent_that_ends_passes_on_what_it_got() {
    let proc = Proc::new();
    proc.child((7, 1), 50, [100, 100]);
    proc.child((8, 7), 0, [1000, 1000]);
    proc.child((9, 8), 0, [10_000, 10_000]);
    let found = between(&proc, || {
        proc.child((7, 1), 90, [100 + 1000 + 10_000 + 4, 100]);
        proc.end(8);
        proc.end(9);
    });
    assert_eq!(found, [(7, 4, true)]);
    // A child that nobody waits for is not counted in its parent.
    proc.child((8, 7), 0, [1000, 1000]);
    let found = between(&proc, || {
        proc.child((7, 1), 90, [11_109, 105]);
        proc.end(8);
    });
    assert_eq!(found, [(7, 5, false)]);
}

/// Searches at a time in seconds.
fn search(reader: &mut BlockedTaskReader, at_s: u64, is_due: bool) -> Option<Vec<BlockedTask>> {
    reader.read(Duration::from_secs(at_s), is_due, &[])
}

#[test]
fn blocked_tasks_are_searched_for_when_it_is_due() {
    let proc = Proc::new();
    proc.file("stat", "cpu 1 2\nprocs_blocked 0\n");
    proc.process(7, "db", 1, 0);
    proc.thread(7, 7, "db", 'S', 0);
    proc.thread(7, 12, "db) D (writer", 'S', 10);
    let mut reader = proc.blocked_reader();
    assert!(!reader.is_any_blocked());
    assert_eq!(
        search(&mut reader, 0, false),
        Some(Vec::new()),
        "the first search"
    );
    assert_eq!(search(&mut reader, 1, false), None);
    proc.file("stat", "cpu 1 2\nprocs_blocked 1\n");
    assert!(reader.is_any_blocked());
    proc.thread(7, 12, "db) D (writer", 'D', 10);
    let blocked = search(&mut reader, 2, true).unwrap();
    let names: Vec<_> = blocked
        .iter()
        .map(|task| (task.pid, task.tid, task.comm.as_str()))
        .collect();
    assert_eq!(names, [(7, 12, "db) D (writer")]);
    assert_eq!(
        blocked[0].cgroup.as_deref(),
        Some("/system.slice/db.service")
    );
    let again = search(&mut reader, 3, false);
    assert_eq!(again.unwrap().len(), 1, "another look");
    assert_eq!(search(&mut reader, 4, false), None);
    assert_eq!(search(&mut reader, 5, true).unwrap().len(), 1);
}

#[test]
fn a_task_that_goes_on_waiting_is_watched() {
    let proc = Proc::new();
    proc.process(7, "db", 1, 0);
    // It waits for a file system that is frozen, which the kernel does not count.
    proc.thread(7, 7, "db", 'D', 0);
    proc.file("7/task/7/schedstat", "100 20 3\n");
    let mut reader = proc.blocked_reader();
    let mut waited = |at_s| {
        let blocked = search(&mut reader, at_s, false)?;
        Some(
            blocked
                .iter()
                .map(|task| task.waited_ms)
                .collect::<Vec<_>>(),
        )
    };
    assert_eq!(waited(1), Some(vec![0]));
    assert_eq!(waited(2), Some(vec![1000]));
    assert_eq!(waited(3), Some(vec![2000]));
    // It was awake in between.
    proc.file("7/task/7/schedstat", "101 20 4\n");
    assert_eq!(waited(4), Some(vec![0]));
    assert_eq!(waited(5), None);
    proc.thread(7, 7, "db", 'S', 0);
    assert_eq!(waited(6), Some(vec![]));
    assert_eq!([7, 8, 9, 10].map(&mut waited), [None, None, None, None]);
    assert_eq!(waited(11), Some(vec![]));
}

#[test]
fn the_disk_that_a_task_waits_for_is_that_of_its_file() {
    let proc = Proc::new();
    let device = |major, minor, name: &str| Device {
        major,
        minor,
        name: name.to_owned(),
        ..Device::default()
    };
    let devices = [
        device(8, 0, "sda"),
        device(8, 1, "sda1"),
        device(8, 16, "sdb"),
        device(253, 0, "dm-0"),
    ];
    proc.process(7, "db", 1, 0);
    proc.file("7/stat", &stat(7, "db", 'D', 1, 0, 1));
    let link = |path: &str, target: &str| {
        let path = proc.0.path().join("proc").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    };
    proc.file(
        "7/mountinfo",
        "27 1 8:1 / / rw - ext4 /dev/root rw\n42 27 253:0 / /data rw shared:5 - xfs /dev/dm-0 rw\n\
         43 27 0:40 / /pool rw - btrfs /dev/sdb rw\n44 27 0:5 / /proc rw - proc proc rw\n",
    );
    link("7/fd/1", "/var/log/db");
    proc.file("7/fdinfo/1", "pos:\t0\nflags:\t02\nmnt_id:\t27\nino:\t12\n");
    link("7/cwd", "/var/lib");
    let found = || {
        let mut reader = proc.blocked_reader();
        let blocked = reader.read(Duration::ZERO, false, &devices).unwrap();
        blocked[0].device.clone()
    };
    assert_eq!(found(), None, "its directory is on the root disk");
    link("7/fd/5", "/data/5");
    proc.file("7/fdinfo/5", "mnt_id:\t42\n");
    assert_eq!(found().as_deref(), Some("dm-0"), "its file");
    link("7/fd/6", "/pool/6");
    proc.file("7/fdinfo/6", "mnt_id:\t43\n");
    assert_eq!(found(), None, "files on two disks");
    proc.file("7/syscall", "0 0x6 0x7ffe6c780ac7 0x1000");
    if cfg!(target_arch = "x86_64") {
        assert_eq!(found().as_deref(), Some("sdb"), "the file that it reads");
    }
    proc.file("7/syscall", "running");
    fs::remove_dir_all(proc.0.path().join("proc/7/fdinfo")).unwrap();
    proc.file("7/fdinfo/7", "");
    link("7/fd/7", "/dev/dm-0");
    assert_eq!(found().as_deref(), Some("dm-0"), "a device");
    proc.file("7/stat", "7 (kworker/u8:1+flush-8:1) D 2 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 0 9 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
    assert_eq!(found().as_deref(), Some("sda"), "a thread of the kernel");
}

#[test]
fn a_process_of_one_thread_is_its_only_task() {
    let proc = Proc::new();
    proc.file("stat", "cpu 1 2\nprocs_blocked 1\n");
    proc.file("9/stat", &stat(9, "dd", 'D', 1, 0, 1));
    let blocked = search(&mut proc.blocked_reader(), 1, true).unwrap();
    let found: Vec<_> = blocked
        .iter()
        .map(|task| (task.pid, task.tid, task.comm.as_str()))
        .collect();
    assert_eq!(found, [(9, 9, "dd")]);
}

#[test]
fn processes_and_blocked_tasks_have_command_lines() {
    let proc = Proc::new();
    proc.uptime(100);
    proc.file("stat", "cpu 1 2\nprocs_blocked 1\n");
    proc.process(7, "db", 1, 0);
    proc.thread(7, 12, "writer", 'D', 0);
    proc.file("7/cmdline", "/opt/db\0--fast\0");
    proc.file("7/task/12/cmdline", "/opt/db\0--fast\0");
    proc.file("7/task/12/schedstat", "1 2 3");
    proc.process(8, "kworker", 1, 0);
    let mut blocked_reader = proc.blocked_reader();
    let mut blocked = || {
        search(&mut blocked_reader, 1, true).unwrap()[0]
            .command
            .clone()
    };
    assert_eq!(blocked().as_deref(), Some("db --fast"));
    let mut reader = proc.io_reader();
    busiest(&mut reader, 0);
    // A process says what it does; that of a task that still waits is not read again.
    proc.file("7/cmdline", "db: backup\0\0\0");
    proc.file("7/task/12/cmdline", "db: backup\0\0\0");
    assert_eq!(blocked().as_deref(), Some("db --fast"));
    proc.process(7, "db", 1, 100);
    proc.process(8, "kworker", 1, 50);
    let processes = reader.read(Duration::from_secs(5), false).unwrap();
    let commands: Vec<_> = processes
        .busiest
        .iter()
        .map(|process| process.command.as_deref())
        .collect();
    assert_eq!(commands, [Some("db: backup"), None]);
}

#[test]
fn the_delay_is_known_if_the_kernel_counts_it() {
    let proc = Proc::new();
    proc.file("stat", "cpu 1 2\nprocs_blocked 1\n");
    let mut reader = proc.blocked_reader();
    let mut delay = |at_s, ticks| {
        proc.process(7, "db", 1, 0);
        proc.thread(7, 7, "db", 'D', ticks);
        search(&mut reader, at_s, true).unwrap()[0].delay_permille
    };
    assert_eq!((delay(1, 0), delay(2, 0)), (None, None));
    proc.file("sys/kernel/task_delayacct", "1\n");
    assert_eq!(
        (delay(3, 0), delay(5, 150), delay(6, 260)),
        (Some(0), Some(750), Some(1000))
    );
}
