//! The device that a task waits or works for, from what can be read of the task without waiting for it.

use crate::counters::{DeviceNumber, parse_device_number};

/// A device, as far as a file or a name says which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceRef {
    Number(DeviceNumber),
    /// Perhaps the kernel's name of one.
    Name(String),
}

/// The files of /proc about a blocked task.
#[derive(Clone, Debug, Default)]
pub struct TaskFiles {
    /// `stack`: the functions of the kernel in which it waits; empty if this user may not read it.
    pub stack: String,
    /// `syscall`: the number of the system call and its arguments; empty if this user may not read it.
    pub syscall: String,
    /// Its open files that are on a device or are one, by number.
    pub files: Vec<(u64, DeviceRef)>,
    /// The device of its working directory.
    pub working_directory: Option<DeviceRef>,
    /// The device of its root directory.
    pub root: Option<DeviceRef>,
}

/// The numbers of the system calls whose first argument is the file that is read, written or flushed.
#[cfg(target_arch = "x86_64")]
const FILE_CALLS: [u64; 17] = [
    0, 1, 5, 17, 18, 19, 20, 40, 74, 75, 77, 217, 277, 285, 295, 296, 306,
];
#[cfg(not(target_arch = "x86_64"))]
const FILE_CALLS: [u64; 16] = [
    46, 47, 61, 63, 64, 65, 66, 67, 68, 69, 70, 71, 82, 83, 84, 267,
];

/// Functions in which a task waits for something else: a parent for the program that its child starts.
const OTHER_WAITS: [&str; 2] = ["kernel_clone", "wait_for_vfork_done"];

/// The standard streams, which often lead to a log.
const STANDARD_FILES: std::ops::RangeInclusive<u64> = 0..=2;

/// Returns the disk that a blocked task waits for: the disk of the file that its system call reads or writes. If there is no such
/// file, its open files and its working directory must all be on one disk; those on the disk of the root directory do not
/// count, as nearly every process has some. `disk` names the disk of a device; `None` if it is none.
pub fn waited_disk(
    task: &TaskFiles,
    disk: impl Fn(&DeviceRef) -> Option<String>,
) -> Option<String> {
    if OTHER_WAITS.iter().any(|name| task.stack.contains(name)) {
        return None;
    }
    if let Some(file) = syscall_file(&task.syscall) {
        let (_, device) = task.files.iter().find(|(number, _)| *number == file)?;
        return disk(device);
    }
    let root = task.root.as_ref().and_then(&disk);
    let mut devices = Vec::from_iter(&task.working_directory);
    for (number, device) in &task.files {
        if !STANDARD_FILES.contains(number) {
            devices.push(device);
        }
    }
    let mut only = None;
    for device in devices {
        let found = disk(device);
        if found.is_none() || found == root || found == only {
            continue;
        }
        if only.is_some() {
            return None;
        }
        only = found;
    }
    only
}

/// Returns the number of the file that a system call reads, writes or flushes, such as 3 for `74 0x3 0x0`.
pub fn syscall_file(syscall: &str) -> Option<u64> {
    let mut words = syscall.split_ascii_whitespace();
    let call: u64 = words.next()?.parse().ok()?;
    let argument = words.next()?.strip_prefix("0x")?;
    let file = u64::from_str_radix(argument, 16).ok()?;
    FILE_CALLS.contains(&call).then_some(file)
}

/// Returns what may be the device that a thread of the kernel works for, by its name.
pub fn worker_device(name: &str) -> DeviceRef {
    let work = match name.strip_prefix("kworker/") {
        // `+` before what it does, `-` before what it did last.
        Some(worker) => match worker.split_once(['+', '-']) {
            Some((_, work)) => work,
            None => "",
        },
        None => name,
    };
    if let Some(journal) = work.strip_prefix("jbd2/") {
        let (device, _) = journal.rsplit_once('-').unwrap_or((journal, ""));
        return DeviceRef::Name(device.to_owned());
    }
    if let Some((array, _)) = work.split_once('_')
        && array.starts_with("md")
    {
        return DeviceRef::Name(array.to_owned());
    }
    let last = work.rsplit('/').next().unwrap_or_default();
    let device = last.strip_prefix("flush-").unwrap_or(last);
    match parse_device_number(device) {
        Some(number) => DeviceRef::Number(number),
        None => DeviceRef::Name(device.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(major: u32, minor: u32) -> DeviceRef {
        DeviceRef::Number((major, minor))
    }

    #[test]
    fn threads_of_the_kernel_say_what_they_work_for() {
        let named = |name: &str| DeviceRef::Name(name.to_owned());
        for (name, device) in [
            ("kworker/u8:3+flush-253:0", number(253, 0)),
            ("kworker/u8:1-flush-7:0", number(7, 0)),
            ("kworker/1:1H-kcryptd/253:1", number(253, 1)),
            ("kdmflush/253:0", number(253, 0)),
            ("jbd2/dm-0-8", named("dm-0")),
            ("jbd2/nvme0n1p1-", named("nvme0n1p1")),
            ("md0_raid1", named("md0")),
            ("md127_resync", named("md127")),
            ("xfsaild/dm-2", named("dm-2")),
            ("kworker/0:2+xfs-conv/sda1", named("sda1")),
            ("kworker/u4:0-loop0", named("loop0")),
            // These are no devices.
            ("kworker/0:1-events", named("events")),
            ("kworker/0:1H", named("")),
            ("kswapd0", named("kswapd0")),
        ] {
            assert_eq!(worker_device(name), device, "{name}");
        }
    }

    /// `dd` that opens a file on a frozen ext4 (Linux 6.18).
    const OPEN: &str = "[<0>] percpu_rwsem_wait+0x15f/0x1d0\n[<0>] mnt_want_write+0x96/0xc0\n\
        [<0>] path_openat+0x4cf/0x12d0\n[<0>] do_filp_open+0xc3/0x180\n[<0>] do_sys_openat2+0x6e/0xd0\n\
        [<0>] __x64_sys_openat+0x5d/0xa0\n[<0>] do_syscall_64+0x71/0x280\n";
    /// `head` that writes to one.
    const WRITE: &str = "[<0>] percpu_rwsem_wait+0x15f/0x1d0\n[<0>] vfs_write+0x3f0/0x450\n\
        [<0>] ksys_write+0x66/0xe0\n[<0>] do_syscall_64+0x71/0x280\n";
    /// A shell that starts a program.
    const VFORK: &str = "[<0>] kernel_clone+0x33e/0x3b0\n[<0>] __do_sys_vfork+0x44/0x60\n\
        [<0>] do_syscall_64+0x71/0x280\n";

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn a_blocked_task_waits_for_the_file_of_its_system_call() {
        let write =
            "1 0x3 0x55c632818dd0 0x64 0x7f2c51575fe8 0x0 0x0 0x7ffc8c51e2c8 0x7f2c51660350";
        let open =
            "257 0xffffff9c 0x7ffe6c780ac7 0x241 0x1b6 0x0 0x0 0x7ffe6c77e920 0x7ff63c607011";
        let (root, data, wal) = (number(254, 0), number(7, 0), number(7, 1));
        let log = (1, root.clone());
        let of_data = (3, data.clone());
        let of_wal = (4, wal);
        let script = (255, root.clone());
        let null = (5, DeviceRef::Name("null".to_owned()));
        for (stack, syscall, files, working_directory, device) in [
            (
                WRITE,
                write,
                vec![&log, &of_data, &of_wal],
                &root,
                Some(&data),
            ),
            // A pipe is on no device.
            (WRITE, write, vec![&log], &root, None),
            (OPEN, open, vec![&log, &of_data, &null], &root, Some(&data)),
            (OPEN, open, vec![&log], &data, Some(&data)),
            (OPEN, open, vec![&of_data, &of_wal], &data, None),
            (OPEN, open, vec![&script], &root, None),
            ("", "running", vec![&of_data], &root, Some(&data)),
            (VFORK, "58 0x0 0x0", vec![&of_data], &data, None),
        ] {
            let task = TaskFiles {
                stack: stack.to_owned(),
                syscall: syscall.to_owned(),
                files: files.into_iter().cloned().collect(),
                working_directory: Some(working_directory.clone()),
                root: Some(root.clone()),
            };
            let disk = |device: &DeviceRef| match device {
                DeviceRef::Number((major, minor)) => Some(format!("{major}:{minor}")),
                DeviceRef::Name(_) => None,
            };
            assert_eq!(waited_disk(&task, disk), device.and_then(disk), "{task:?}");
        }
    }
}
