//! Reads samples of the running host, or of a directory tree that looks like one; and devices as `iostat -f DIR` reads
//! them, from one file per device in DIR/block instead of /proc/diskstats.

use std::collections::HashMap;
use std::fs::read_dir;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rustix::param::page_size;

use super::small_file::{SampledFile, links_in, read_bytes_into, read_text};
use super::topology::{device_name, read_devno};
use crate::capture::proc_files::{
    parse_blocked, parse_cpu_line, parse_dirty_pages, parse_meminfo, parse_pressure, parse_vmstat,
};
use crate::capture::{LineError, parse_diskstats, parse_line};
use crate::clock::Clock;
use crate::counters::{CpuTimes, Device, HostState, Sample, parse_device_number};
use crate::exit::NoData;
use crate::sanitize::sanitize;
use crate::units::SampleTime;

/// The initial size of the buffer: one read suffices for /proc/diskstats with several hundred devices.
const BUFFER_BYTES: usize = 64 * 1024;

/// The source that is used for a device that both a directory of device files and the system have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Precedence {
    /// The directory. Devices that only the system has are omitted, like in `iostat -f`.
    Alone,
    Directory,
    System,
}

/// A directory that devices are read from.
struct DeviceDirectory {
    /// The directory of `iostat -f`, which replaces both /proc and /sys.
    path: PathBuf,
    precedence: Precedence,
    /// True if its list of devices and partitions is read, instead of a file for each device.
    is_listing: bool,
}

/// Reads samples from files below `ROOT/proc`: the devices, the time since boot and the CPU times; [if
/// asked](Self::with_host_state) also the rest of [`Sample::host`].
pub struct Live<'a> {
    diskstats: SampledFile,
    uptime: SampledFile,
    stat: SampledFile,
    io_pressure: SampledFile,
    memory_pressure: SampledFile,
    vmstat: SampledFile,
    meminfo: SampledFile,
    directory: Option<DeviceDirectory>,
    proc: PathBuf,
    clock: &'a dyn Clock,
    /// The text that the devices were last read from.
    pub text: Vec<u8>,
    reads_host_state: bool,
}

impl<'a> Live<'a> {
    /// Creates a source of samples of the host below `root`, which is `/` for the running one.
    pub fn new(root: &Path, clock: &'a dyn Clock) -> Self {
        let proc = root.join("proc");
        let file = |name: &str| SampledFile::new(proc.join(name));
        Self {
            diskstats: file("diskstats"),
            uptime: file("uptime"),
            stat: file("stat"),
            io_pressure: file("pressure/io"),
            memory_pressure: file("pressure/memory"),
            vmstat: file("vmstat"),
            meminfo: file("meminfo"),
            directory: None,
            proc,
            clock,
            text: Vec::with_capacity(BUFFER_BYTES),
            reads_host_state: false,
        }
    }

    /// Also reads [`Sample::host`] from three more files below `ROOT/proc`: `pressure/io`, `pressure/memory` and
    /// `vmstat`; also from `meminfo` if `vmstat` lacks the dirty pages or ROOT is not `/`.
    pub fn with_host_state(self) -> Self {
        Self {
            reads_host_state: true,
            ..self
        }
    }

    /// Reads the devices from a directory, too, or only from there, like `iostat +f` and `iostat -f`. If `is_listing`,
    /// the directory's own list of all devices and partitions is read, which may be missing, instead of a file for each
    /// device.
    pub fn with_device_files(
        self,
        directory: &Path,
        precedence: Precedence,
        is_listing: bool,
    ) -> Self {
        let path = directory.to_owned();
        Self {
            directory: Some(DeviceDirectory {
                path,
                precedence,
                is_listing,
            }),
            ..self
        }
    }

    /// Reads the first sample, as [`Self::read`] does.
    ///
    /// # Errors
    /// [`NoData`] if the list of devices is missing or empty; any other error if it cannot be read.
    pub fn read_first(
        &mut self,
        sample: &mut Sample,
        on_error: impl FnMut(usize, LineError),
    ) -> Result<()> {
        if let Err(error) = self.read(sample, on_error) {
            if let Some(cause) = error.downcast_ref::<io::Error>()
                && cause.kind() == io::ErrorKind::NotFound
            {
                bail!(NoData::without_devices(&sanitize(&format!("{error:#}"))));
            }
            return Err(error);
        }
        if sample.devices.is_empty() {
            let reason = format!("no block devices in {}", sanitize(&self.name()));
            bail!(NoData::without_devices(&reason));
        }
        Ok(())
    }

    /// Reads a sample into `sample`, reusing its memory. Invalid lines are skipped and passed to `on_error`, with
    /// their line numbers.
    ///
    /// Uptime, CPU times and values of the host are `None` if they cannot be read.
    ///
    /// # Errors
    /// If the list of devices, usually /proc/diskstats, cannot be read.
    pub fn read(
        &mut self,
        sample: &mut Sample,
        mut on_error: impl FnMut(usize, LineError),
    ) -> Result<()> {
        sample.host = if self.reads_host_state {
            self.memory_and_pressure()
        } else {
            HostState::default()
        };
        let uptime = self.uptime();
        sample.cpu = self.read_stat(&mut sample.host);
        sample.at = SampleTime {
            monotonic: Some(self.clock.monotonic()),
            wall: Some(self.clock.wall()),
            uptime,
        };
        let is_read = self.diskstats.read_into(&mut self.text);
        match &self.directory {
            // Only its device numbers matter, if it can be read.
            Some(directory) if directory.precedence == Precedence::Alone => {
                parse_diskstats(&self.text, sample, |_, _| {});
            }
            _ => {
                is_read
                    .with_context(|| format!("cannot read {}", self.diskstats.path.display()))?;
                parse_diskstats(&self.text, sample, &mut on_error);
            }
        }
        if let Some(directory) = &self.directory {
            directory.read(sample, on_error);
        }
        Ok(())
    }

    /// Returns why /proc/stat cannot be read; `None` if it can.
    pub fn stat_error(&self) -> Option<io::Error> {
        read_bytes_into(&self.proc.join("stat"), &mut Vec::new()).err()
    }

    /// Returns the path that the devices are read from, for messages.
    pub fn name(&self) -> String {
        match &self.directory {
            Some(DeviceDirectory {
                path,
                precedence: Precedence::Alone,
                is_listing,
            }) => path
                .join(if *is_listing { "diskstats" } else { "block" })
                .display()
                .to_string(),
            _ => self.diskstats.path.display().to_string(),
        }
    }

    fn uptime(&mut self) -> Option<u64> {
        self.uptime.read_into(&mut self.text).ok()?;
        let mut words = self.text.trim_ascii().split(u8::is_ascii_whitespace);
        let seconds: f64 = std::str::from_utf8(words.next()?).ok()?.parse().ok()?;
        // The file has two decimals, so rounding restores the exact value.
        (seconds >= 0.0).then(|| (seconds * 100.0).round() as u64)
    }

    /// Returns the CPU times; `host` gets the number of blocked tasks.
    fn read_stat(&mut self, host: &mut HostState) -> Option<CpuTimes> {
        self.stat.read_into(&mut self.text).ok()?;
        if self.reads_host_state {
            host.blocked = parse_blocked(&self.text);
        }
        self.text
            .split(|byte| *byte == b'\n')
            .find_map(parse_cpu_line)
    }

    fn memory_and_pressure(&mut self) -> HostState {
        let mut host = HostState::default();
        if self.io_pressure.read_into(&mut self.text).is_ok() {
            host.pressure = parse_pressure(&self.text);
        }
        if self.memory_pressure.read_into(&mut self.text).is_ok() {
            host.memory_pressure = parse_pressure(&self.text);
        }
        if self.vmstat.read_into(&mut self.text).is_ok() {
            host.swapped = parse_vmstat(&self.text);
            // The files may be copies from a system with another page size.
            if self.proc == Path::new("/proc")
                && let Some((dirty, writeback)) = parse_dirty_pages(&self.text)
            {
                let kib = page_size() as u64 / 1024;
                host.dirty_kib = Some(dirty * kib);
                host.writeback_kib = Some(writeback * kib);
                return host;
            }
        }
        // For this file, the kernel iterates over all block devices.
        if self.meminfo.read_into(&mut self.text).is_ok() {
            (host.dirty_kib, host.writeback_kib) = parse_meminfo(&self.text);
        }
        host
    }
}

impl DeviceDirectory {
    /// Combines the devices of the system, which `sample` has, with those of the directory.
    fn read(&self, sample: &mut Sample, on_error: impl FnMut(usize, LineError)) {
        let devices = if self.is_listing {
            self.read_list(on_error)
        } else {
            // The directory may lack device numbers, which the system has.
            self.read_files(sample)
        };
        if self.precedence == Precedence::Alone {
            sample.devices = devices;
            return;
        }
        for device in devices {
            match sample
                .devices
                .iter_mut()
                .find(|other| other.name == device.name)
            {
                // The list of the directory always replaces that of the system.
                Some(other) if self.is_listing || self.precedence == Precedence::Directory => {
                    *other = device
                }
                Some(_) => {}
                None => sample.devices.push(device),
            }
        }
    }

    /// Reads DIR/diskstats. Like in iostat, a device that is listed again has its later counters at its first place.
    fn read_list(&self, mut on_error: impl FnMut(usize, LineError)) -> Vec<Device> {
        let mut text = Vec::new();
        if read_bytes_into(&self.path.join("diskstats"), &mut text).is_err() {
            return Vec::new();
        }
        let mut devices: Vec<Device> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (number, line) in (1..).zip(text.split(|byte| *byte == b'\n')) {
            let mut device = Device::default();
            match parse_line(line, &mut device) {
                Ok(()) => {}
                Err(_) if line.trim_ascii().is_empty() => continue,
                Err(error) => {
                    // Where both lists are read, messages have the name of that of the system.
                    if self.precedence == Precedence::Alone {
                        on_error(number, error);
                    }
                    continue;
                }
            }
            match places.get(&device.name) {
                Some(place) => devices[*place] = device,
                None => {
                    places.insert(device.name.clone(), devices.len());
                    devices.push(device);
                }
            }
        }
        devices
    }

    /// Reads DIR/block/NAME/stat of every whole device, and DIR/block/NAME/PARTITION/stat of every partition. Like in
    /// iostat, a file without enough numbers gives a device whose counters are zero.
    ///
    /// The number (major, minor) of a device is that of its link DIR/dev/block/MAJOR:MINOR; for a device without such a
    /// link, the one in `system`.
    fn read_files(&self, system: &Sample) -> Vec<Device> {
        let mut devices = Vec::new();
        let block = self.path.join("block");
        let mut numbers = HashMap::new();
        for device in &system.devices {
            numbers.insert(device.name.clone(), (device.major, device.minor));
        }
        // Such as `8:1 -> ../../block/sda/sda1`.
        for (link, target) in links_in(&self.path.join("dev/block")) {
            if let Some(devno) = parse_device_number(&link) {
                numbers.insert(device_name(&target), devno);
            }
        }
        for disk in subdirectories(&block) {
            let disk_dir = block.join(&disk);
            if disk_dir.join("stat").exists() {
                devices.push(read_device(&disk_dir, &disk, &numbers));
            }
            for partition in subdirectories(&disk_dir) {
                let partition_dir = disk_dir.join(&partition);
                if partition_dir.join("stat").exists() {
                    devices.push(read_device(&partition_dir, &partition, &numbers));
                }
            }
        }
        devices
    }
}

fn read_device(dir: &Path, file_name: &str, numbers: &HashMap<String, (u32, u32)>) -> Device {
    let name = device_name(file_name);
    let known = numbers.get(&name).copied();
    let (major, minor) = read_devno(dir).or(known).unwrap_or((0, 0));
    let stat = read_text(&dir.join("stat")).unwrap_or_default();
    let mut device = Device::default();
    let line = format!("{major} {minor} {name} {}", stat.trim());
    if parse_line(line.as_bytes(), &mut device).is_err() {
        device = Device {
            major,
            minor,
            name,
            ..Device::default()
        };
    }
    device
}

/// Returns the names of the directories in a directory, including links to directories.
fn subdirectories(dir: &Path) -> Vec<String> {
    let mut names = Vec::new();
    for entry in read_dir(dir).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            names.extend(entry.file_name().into_string());
        }
    }
    names
}
