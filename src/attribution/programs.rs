//! Which programs use a device.
//!
//! The kernel counts the bytes of a process on all devices together. What a program did beyond all bytes of the disks that
//! a device has nothing to do with, it did on that device.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use super::{Attribution, DeviceUse};
use crate::counters::{BusyProcess, IoCounters, IoScan, ProcessIo};
use crate::topology::Topology;

/// A process that reads more than this multiple of what all disks read did not read it now: older recordings add all reads of
/// its children when they end.
const MAX_READ_RATIO: f64 = 1.5;
/// A program is named on a device where at least this fraction of its bytes must be.
const MIN_CERTAIN_FRACTION: f64 = 0.5;
/// The most programs that are kept for each device.
const MAX_PROGRAMS: usize = 3;
/// The age from which a reading says nothing of now.
const MAX_AGE: Duration = Duration::from_secs(12);
/// The time between two scans and that between two readings of processes may differ by this factor at most.
const MAX_LENGTH_RATIO: f64 = 1.5;

/// The latest reading of processes, and the bytes of the devices meanwhile.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessReading {
    pub processes: Arc<ProcessIo>,
    /// Bytes per second, read and written, of each whole device; empty if they are not known for that time.
    pub devices: HashMap<Arc<str>, [f64; 2]>,
    /// The monotonic time of the scan that brought it.
    pub at: Duration,
}

/// The processes of one name in one cgroup that use a device.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// The process with the most bytes.
    pub pid: u32,
    pub comm: String,
    /// The beginning of the command line of that process; `None` if it is not known.
    pub command: Option<Arc<str>>,
    pub cgroup: Option<Arc<str>>,
    /// The number of its processes that were among the busiest.
    pub process_count: usize,
    /// The mean bytes per second, read and written, of all of them on all devices.
    pub bytes_per_s: f64,
    /// Those that were written.
    pub written_per_s: f64,
    /// The fraction of the device's bytes that they did at least; more than 1 if they wrote to memory what will be
    /// written to the device later.
    pub least_fraction: f64,
}

/// Notices each new reading of processes in successive scans.
#[derive(Clone, Debug, Default)]
pub(super) struct Readings {
    /// The scan that brought the latest reading or, before the first one, the first scan.
    last: Option<Arc<IoScan>>,
    pub(super) latest: Option<Arc<ProcessReading>>,
}

impl Readings {
    pub(super) fn observe(&mut self, scan: &Arc<IoScan>) {
        let last = self.last.get_or_insert_with(|| Arc::clone(scan));
        if let Some(known) = &self.latest
            && (scan.hung_read.is_some() || scan.at.saturating_sub(known.at) > MAX_AGE)
        {
            self.latest = None;
        }
        let Some(processes) = &scan.processes else {
            return;
        };
        if let Some(known) = &self.latest
            && known.processes == *processes
        {
            return;
        }
        let elapsed_s = scan.at.saturating_sub(last.at).as_secs_f64();
        let ratio = elapsed_s / processes.elapsed.as_secs_f64();
        let mut devices = HashMap::new();
        if ratio > 1.0 / MAX_LENGTH_RATIO && ratio < MAX_LENGTH_RATIO {
            devices = bytes_per_s(last, scan, elapsed_s);
        }
        self.latest = Some(Arc::new(ProcessReading {
            processes: Arc::clone(processes),
            devices,
            at: scan.at,
        }));
        self.last = Some(Arc::clone(scan));
    }
}

/// Returns the counters of each whole device in a scan.
pub(super) fn io_by_name(scan: &IoScan) -> HashMap<&str, IoCounters> {
    let mut counters = HashMap::new();
    for device in &scan.devices {
        counters.insert(device.name.as_str(), device.io);
    }
    counters
}

fn bytes_per_s(older: &IoScan, newer: &IoScan, elapsed_s: f64) -> HashMap<Arc<str>, [f64; 2]> {
    let before = io_by_name(older);
    let mut rates = HashMap::new();
    for device in &newer.devices {
        if let Some(before) = before.get(device.name.as_str()) {
            let grown = device.io.growth_since(before);
            let read_per_s = grown.read_bytes as f64 / elapsed_s;
            let written_per_s = grown.write_bytes as f64 / elapsed_s;
            let name = Arc::from(device.name.as_str());
            rates.insert(name, [read_per_s, written_per_s]);
        }
    }
    rates
}

impl Attribution {
    /// The I/O of processes in the latest reading, on all devices together; `None` before the first.
    pub fn processes(&self) -> Option<&ProcessIo> {
        Some(&self.reading.as_ref()?.processes)
    }

    /// Finds the programs that use each device. None are found where that cannot be told from their use of other devices.
    pub(super) fn find_programs(&mut self, topology: &Topology) {
        let Some(reading) = self.reading.clone() else {
            return;
        };
        let [reads, writes] = reading.on_disks(topology);
        for usage in &mut self.devices {
            let bytes_per_s = reading.bytes_per_s(&usage.name);
            if bytes_per_s == 0.0 {
                continue;
            }
            let elsewhere = reads + writes - reading.below(&usage.name, topology);
            for mut program in reading.programs(usage, reads) {
                let certain = program.bytes_per_s - elsewhere.max(0.0);
                if certain >= MIN_CERTAIN_FRACTION * program.bytes_per_s {
                    program.least_fraction = certain / bytes_per_s;
                    usage.programs.push(program);
                }
            }
            usage.programs.truncate(MAX_PROGRAMS);
        }
    }
}

impl ProcessReading {
    /// Returns the bytes per second, read and written, of all disks: devices that are stacked on others repeat theirs.
    fn on_disks(&self, topology: &Topology) -> [f64; 2] {
        let mut sum = [0.0, 0.0];
        for (name, [read, written]) in &self.devices {
            if topology.backing_devices(name).is_empty() {
                sum[0] += read;
                sum[1] += written;
            }
        }
        sum
    }

    /// Returns the bytes per second of a device; 0 if they are not known.
    fn bytes_per_s(&self, device: &str) -> f64 {
        match self.devices.get(device) {
            Some([read, written]) => read + written,
            None => 0.0,
        }
    }

    /// Returns the bytes per second of a disk, or of the disks that a device is stacked on.
    fn below(&self, device: &str, topology: &Topology) -> f64 {
        let mut disks = topology.devices_below(device);
        disks.push(device.to_owned());
        let mut sum = 0.0;
        for name in disks {
            if topology.backing_devices(&name).is_empty() {
                sum += self.bytes_per_s(&name);
            }
        }
        sum
    }

    /// Returns the programs that may use a device, the busiest first; `all_reads_per_s` is what all disks read, in bytes. Threads
    /// of the kernel work for others and are left out.
    fn programs(&self, usage: &DeviceUse, all_reads_per_s: f64) -> Vec<Program> {
        let elapsed_s = self.processes.elapsed.as_secs_f64();
        let mut programs: HashMap<(&str, Option<&str>), Program> = HashMap::new();
        // The busiest process comes first, so that it gives its name.
        for process in &self.processes.busiest {
            let reads_per_s = process.read_bytes as f64 / elapsed_s;
            // Older recordings don't say which threads are the kernel's.
            if process.is_kernel
                || process.comm.starts_with("kworker/")
                || reads_per_s > MAX_READ_RATIO * all_reads_per_s
                || !may_use(process, usage)
            {
                continue;
            }
            let key = (process.comm.as_str(), process.cgroup.as_deref());
            let program = programs.entry(key).or_insert_with(|| Program::of(process));
            program.process_count += 1;
            program.bytes_per_s += (process.read_bytes + process.write_bytes) as f64 / elapsed_s;
            program.written_per_s += process.write_bytes as f64 / elapsed_s;
        }
        let mut busiest: Vec<Program> = programs.into_values().collect();
        busiest.sort_by(|a, b| {
            b.bytes_per_s
                .total_cmp(&a.bytes_per_s)
                .then(a.pid.cmp(&b.pid))
        });
        busiest
    }
}

/// Returns whether a process may use a device: its cgroup does, or that is not known.
fn may_use(process: &BusyProcess, usage: &DeviceUse) -> bool {
    let path = process.cgroup.as_deref().unwrap_or("/");
    if path == "/" || usage.cgroups.is_empty() {
        return true;
    }
    for cgroup in &usage.cgroups {
        if *cgroup.path == *path && cgroup.rates.bytes_per_s() > 0.0 {
            return true;
        }
    }
    false
}

impl Program {
    /// The beginning of the command line of its busiest process, or the name of that.
    pub fn name(&self) -> &str {
        self.command.as_deref().unwrap_or(&self.comm)
    }

    /// Returns whether a process of this name and cgroup is one of it.
    pub fn has(&self, comm: &str, cgroup: &Option<Arc<str>>) -> bool {
        self.comm == comm && self.cgroup == *cgroup
    }

    fn of(process: &BusyProcess) -> Self {
        Self {
            pid: process.pid,
            comm: process.comm.clone(),
            command: process.command.clone(),
            cgroup: process.cgroup.clone(),
            process_count: 0,
            bytes_per_s: 0.0,
            written_per_s: 0.0,
            least_fraction: 0.0,
        }
    }
}

/// A value for each program.
#[derive(Clone, Debug)]
pub struct ByProgram<T>(pub Vec<(Program, T)>);

impl<T> Default for ByProgram<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T: Default> ByProgram<T> {
    /// Returns the value of a program, which keeps what is known of it now.
    pub fn value(&mut self, program: &Program) -> &mut T {
        let mut known = self.0.iter();
        let at = known.position(|(known, _)| known.has(&program.comm, &program.cgroup));
        let at = at.unwrap_or(self.0.len());
        if at == self.0.len() {
            self.0.push((program.clone(), T::default()));
        } else {
            self.0[at].0.clone_from(program);
        }
        &mut self.0[at].1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::{Cgroup, ScannedDevice};
    use crate::topology::Node;

    const MIB: u64 = 1_048_576;

    fn scan(at_s: u64, disks: &[(&str, u64)], processes: Option<Vec<BusyProcess>>) -> Arc<IoScan> {
        let mut devices = Vec::new();
        for (name, read_mib) in disks {
            devices.push(ScannedDevice {
                name: (*name).to_owned(),
                number: (8, devices.len() as u32),
                io: IoCounters {
                    read_bytes: read_mib * MIB,
                    ..IoCounters::default()
                },
            });
        }
        let processes = processes.map(|busiest| {
            Arc::new(ProcessIo {
                elapsed: Duration::from_secs(5),
                busiest,
                ..ProcessIo::default()
            })
        });
        Arc::new(IoScan {
            at: Duration::from_secs(at_s),
            devices,
            cgroups: Vec::<Cgroup>::new(),
            processes,
            ..IoScan::default()
        })
    }

    fn process(pid: u32, comm: &str, read_mib: u64) -> BusyProcess {
        BusyProcess {
            pid,
            comm: comm.to_owned(),
            read_bytes: read_mib * MIB,
            ..BusyProcess::default()
        }
    }

    fn disk(name: &str) -> Node {
        Node {
            name: name.to_owned(),
            ..Node::default()
        }
    }

    /// Returns the programs named on `sda` after 5 s in which the disks read these MiB.
    fn named(
        disks: &[(&str, u64)],
        processes: Vec<BusyProcess>,
        topology: &Topology,
    ) -> Vec<String> {
        let none: Vec<(&str, u64)> = disks.iter().map(|(name, _)| (*name, 0)).collect();
        let mut attributor = super::super::Attributor::default();
        attributor.observe(&scan(10, &none, None));
        attributor.observe(&scan(15, disks, Some(processes)));
        let attribution = attributor.finish_step(topology).unwrap();
        let usage = attribution.device("sda").unwrap();
        let mut names = Vec::new();
        for program in &usage.programs {
            let Program {
                pid,
                comm,
                process_count,
                least_fraction,
                ..
            } = program;
            names.push(format!("{comm} {pid} x{process_count} {least_fraction:.2}"));
        }
        names
    }

    #[test]
    fn a_program_is_named_where_its_bytes_must_be() {
        let flat = Topology::new(vec![disk("sda"), disk("sdb")]);
        let four = || {
            (1..=4)
                .map(|pid| process(pid, "dd", 250))
                .collect::<Vec<_>>()
        };
        assert_eq!(
            named(&[("sda", 1000), ("sdb", 0)], four(), &flat),
            ["dd 1 x4 1.00"]
        );
        // They may have read from the other disk only.
        assert!(named(&[("sda", 1000), ("sdb", 1000)], four(), &flat).is_empty());
        // Reads of children that ended long ago.
        let inherited = vec![process(7, "postgres", 4000), process(9, "cp", 600)];
        assert_eq!(
            named(&[("sda", 1000), ("sdb", 0)], inherited, &flat),
            ["cp 9 x1 0.60"]
        );
        // A volume repeats the bytes of its disk.
        let volume = Node {
            backing_devices: vec!["sda".to_owned()],
            ..disk("dm-0")
        };
        let stacked = Topology::new(vec![disk("sda"), volume]);
        assert_eq!(
            named(&[("sda", 1000), ("dm-0", 1000)], four(), &stacked),
            ["dd 1 x4 1.00"]
        );
        let worker = BusyProcess {
            is_kernel: true,
            ..process(5, "loop0", 1000)
        };
        assert!(named(&[("sda", 1000)], vec![worker], &flat).is_empty());
    }
}
