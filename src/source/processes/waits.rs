//! Reads what a blocked task waits for. No read of these files waits for a device.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use super::patient_reader::read_command;
use super::task_files::list_ids;
use crate::attribution::waits::{DeviceRef, TaskFiles, syscall_file};
use crate::counters::parse_device_number;
use crate::source::small_file::{read_line, read_text};

/// The most open files of a task that are looked at.
const MAX_FILES: usize = 64;

/// What is read once of a task that is blocked.
pub(super) struct Wait {
    pub(super) command: Option<Arc<str>>,
    pub(super) files: TaskFiles,
}

/// Reads the files in the directory of a task.
pub(super) fn read_wait(dir: &Path) -> Wait {
    let syscall = read_line(&dir.join("syscall")).unwrap_or_default();
    let mounts = read_mounts(dir);
    let mut numbers = Vec::new();
    match syscall_file(&syscall) {
        Some(file) => numbers.push(file),
        None => numbers.extend(list_ids(&dir.join("fdinfo")).into_iter().map(u64::from)),
    }
    numbers.truncate(MAX_FILES);
    let mut files = Vec::new();
    for file in numbers {
        if let Some(device) = file_device(dir, file, &mounts) {
            files.push((file, device));
        }
    }
    let mut root = None;
    for (mount_point, device) in mounts.values() {
        if mount_point == "/" {
            root = Some(device.clone());
        }
    }
    let files = TaskFiles {
        stack: read_text(&dir.join("stack")).unwrap_or_default(),
        syscall,
        files,
        working_directory: directory_device(&dir.join("cwd"), &mounts),
        root,
    };
    Wait {
        files,
        command: read_command(dir),
    }
}

/// The mounts that a task sees, by their numbers: the mount point, and the device.
type Mounts = HashMap<u64, (String, DeviceRef)>;

fn read_mounts(dir: &Path) -> Mounts {
    let text = read_text(&dir.join("mountinfo")).unwrap_or_default();
    let mut mounts = Mounts::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split(' ').collect();
        let [id, _, number, _, mount_point, ..] = words[..] else {
            continue;
        };
        let source = words.iter().skip_while(|word| **word != "-").nth(2);
        let device = match (parse_device_number(number), source) {
            (Some(number), _) if number.0 > 0 => DeviceRef::Number(number),
            // A file system on several devices has a number of its own.
            (_, Some(source)) => match source.strip_prefix("/dev/") {
                Some(name) => DeviceRef::Name(name.to_owned()),
                None => continue,
            },
            _ => continue,
        };
        if let Ok(id) = id.parse() {
            mounts.insert(id, (mount_point.to_owned(), device));
        }
    }
    mounts
}

/// Returns the device that an open file is on, or that it is; `None` for pipes and the like.
fn file_device(dir: &Path, file: u64, mounts: &Mounts) -> Option<DeviceRef> {
    let link = dir.join("fd").join(file.to_string()).read_link();
    if let Ok(path) = link
        && let Some(path) = path.to_str()
        && let Some(name) = path.strip_prefix("/dev/")
    {
        return Some(DeviceRef::Name(name.to_owned()));
    }
    for line in read_text(&dir.join("fdinfo").join(file.to_string()))?.lines() {
        if let Some(mount) = line.strip_prefix("mnt_id:") {
            let (_, device) = mounts.get(&mount.trim().parse().ok()?)?;
            return Some(device.clone());
        }
    }
    None
}

/// Returns the device of the directory that a link leads to: that of the nearest mount point above.
fn directory_device(link: &Path, mounts: &Mounts) -> Option<DeviceRef> {
    let path = link.read_link().ok()?;
    let above = mounts
        .values()
        .filter(|(mount_point, _)| path.starts_with(mount_point));
    let (_, device) = above.max_by_key(|(mount_point, _)| mount_point.len())?;
    Some(device.clone())
}
