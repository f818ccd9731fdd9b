//! Writes the steps of a machine as root directories.

use std::fmt::Write;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

use super::machine::{Device, Machine, Step};
use crate::support::fake_root::FakeRoot;

/// Creates the node in /dev of a device with this number.
pub(crate) type MakeNode<'a> = &'a dyn Fn(&Path, (u32, u32)) -> io::Result<()>;

/// Writes every step below `top`, in directories 0, 1, ... `top/current` is a link to the first.
pub(crate) fn write_steps(machine: &Machine, top: &Path, make_node: MakeNode<'_>) {
    for (number, step) in machine.steps.iter().enumerate() {
        write_step(step, &top.join(number.to_string()), make_node);
    }
    symlink("0", top.join("current")).unwrap();
}

/// Switches `top/current` to a step atomically.
pub(crate) fn switch_to(top: &Path, step: usize) {
    let next = top.join("next");
    symlink(step.to_string(), &next).unwrap();
    fs::rename(next, top.join("current")).unwrap();
}

fn write_step(step: &Step, path: &Path, make_node: MakeNode<'_>) {
    let root = &FakeRoot::at(path);
    let uptime = format!(
        "{}.{:02} {}.00",
        step.uptime / 100,
        step.uptime % 100,
        step.uptime / 50
    );
    root.file("proc/uptime", step.uptime_text.as_ref().unwrap_or(&uptime));
    let cpu = join(&step.cpu);
    root.file(
        "proc/stat",
        format!("cpu  {cpu}\ncpu0 1 2 3 4 5 6 7 8 9 10\nbtime 1790000000"),
    );
    root.file(
        "proc/devices",
        "Block devices:\n  8 sd\n  9 md\n253 device-mapper\n259 blkext",
    );
    let mut diskstats = String::new();
    for device in &step.devices {
        let (major, minor) = device.number;
        writeln!(
            diskstats,
            "{major:4} {minor:7} {} {}",
            device.name,
            counters(device)
        )
        .unwrap();
    }
    root.diskstats(&diskstats);
    for folder in ["sys/block", "sys/dev/block", "dev", "flat/dev"] {
        root.folder(folder);
    }
    for cpu in 0..2 {
        root.folder(&format!("sys/devices/system/cpu/cpu{cpu}"));
    }
    step.devices
        .iter()
        .filter(|device| !device.hidden)
        .for_each(|device| write_device(device, root, make_node));
    write_names(step, root, make_node);
    write_device_files(step, root);
    root.link("flat/diskstats", "../proc/diskstats")
        .link("flat/block", "../sys/block")
        .link("flat/dev/block", "../../sys/dev/block");
}

fn write_device(device: &Device, root: &FakeRoot, make_node: MakeNode<'_>) {
    let own = device.name.replace('/', "!");
    let folder = device.disk.as_ref().map_or(own.clone(), |disk| {
        format!("{}/{own}", disk.replace('/', "!"))
    });
    root.file(&format!("sys/block/{folder}/stat"), counters(device));
    let (major, minor) = device.number;
    let number = format!("sys/dev/block/{major}:{minor}");
    // Hidden NVMe paths share a number; the first one gets it.
    if root.path().join(&number).symlink_metadata().is_err() {
        root.link(&number, format!("../../block/{folder}"));
    }
    node(
        &root.path().join("dev").join(&device.name),
        device.number,
        make_node,
    );
}

/// Writes directories for `-f` with devices that the system lacks, and one that it has with other counters.
fn write_device_files(step: &Step, root: &FakeRoot) {
    let shown: Vec<&Device> = step
        .devices
        .iter()
        .filter(|device| !device.hidden)
        .collect();
    let entry = |name: &str| format!("u{}", name.replace('/', "!"));
    let mut diskstats = String::new();
    for (minor, device) in shown.iter().enumerate() {
        let own = entry(&device.name);
        let folder = device
            .disk
            .as_ref()
            .map_or(own.clone(), |disk| format!("{}/{own}", entry(disk)));
        root.file(&format!("user/block/{folder}/stat"), counters(device));
        writeln!(
            diskstats,
            "251 {minor} u{} {}",
            device.name,
            counters(device)
        )
        .unwrap();
    }
    if let (Some(first), Some(last)) = (shown.first(), shown.last()) {
        let (major, minor) = first.number;
        root.file(
            &format!("user/block/{}/stat", first.name.replace('/', "!")),
            counters(last),
        );
        writeln!(
            diskstats,
            "{major} {minor} {} {}",
            first.name,
            counters(last)
        )
        .unwrap();
    }
    root.folder("user/block")
        .file("listed/diskstats", diskstats)
        .link("listed/block", "../user/block");
    root.folder("parts/block");
    for disk in shown.iter().filter(|device| device.disk.is_none()) {
        let folder = format!("parts/block/{}", disk.name.replace('/', "!"));
        root.file(&format!("{folder}/stat"), counters(disk));
        for number in ["1", "12", "20"] {
            let part = format!("{}{number}", disk.name).replace('/', "!");
            root.file(&format!("{folder}/{part}/stat"), counters(disk));
        }
    }
}

fn write_names(step: &Step, root: &FakeRoot, make_node: MakeNode<'_>) {
    for mapped in &step.mapped {
        let Some(device) = step
            .devices
            .iter()
            .find(|device| device.name == mapped.device)
        else {
            continue;
        };
        root.file(
            &format!("sys/block/{}/dm/name", mapped.device),
            &mapped.name,
        );
        let path = format!("dev/mapper/{}", mapped.name);
        if mapped.is_link {
            root.link(&path, format!("../{}", mapped.device));
        } else {
            node(&root.path().join(path), device.number, make_node);
        }
    }
    for (path, target) in &step.links {
        root.link(&format!("dev/{path}"), target);
    }
}

fn counters(device: &Device) -> String {
    device
        .text
        .clone()
        .unwrap_or_else(|| join(&device.counters))
}

fn join(numbers: &[u64]) -> String {
    numbers
        .iter()
        .map(u64::to_string)
        .collect::<Vec<_>>()
        .join(" ")
}

fn node(path: &Path, number: (u32, u32), make_node: MakeNode<'_>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    make_node(path, number).unwrap();
}
