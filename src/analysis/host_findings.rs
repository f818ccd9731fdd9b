//! Findings about the host that point to causes other than its disks, as data. `report` turns them into sentences.

use super::device::DeviceReport;
use super::host::{HostReport, NfsWait, Range};
use super::thresholds::{
    LOW_AVAILABLE_CPU_PCT, LOW_IO_PRESSURE_PCT, MAX_SHORT_QUEUE, MAX_UNIMPORTANT_QUEUE,
    MIN_HIDDEN_IO_WAIT_PCT, MIN_MEMORY_PRESSURE_PCT, MIN_REPORTED_STEAL_PCT, MIN_SWAPPED_PAGES_PER_S,
};
use super::verdict::Verdict;
use crate::topology::Topology;

#[derive(Clone, Debug, PartialEq)]
pub enum HostFinding {
    /// No device did any I/O.
    NoDeviceBusy,
    /// Hardly anyone waited for these devices.
    ShortQueue {
        /// Their kernel names.
        devices: Vec<String>,
        /// The longest mean queue.
        queue: f64,
    },
    /// CPU time, in percent of all CPUs.
    Cpu {
        /// Idle, including the time in which a task waited for I/O.
        available_pct: f64,
        user_pct: f64,
        system_pct: f64,
        /// Time taken by the hypervisor, if it is substantial.
        steal_pct: Option<f64>,
        /// CPU may be the bottleneck, because so little is available.
        is_short: bool,
    },
    /// Time in which tasks waited for I/O, in percent.
    IoPressure {
        /// At least one task waited.
        some_pct: f64,
        /// All non-idle tasks waited; `None` if it is unknown.
        full_pct: Option<f64>,
        /// Tasks hardly waited.
        is_low: bool,
    },
    /// Memory that waits to be written.
    DirtyMemory {
        /// Dirty memory in KiB, mean and maximum.
        dirty_kib: (f64, f64),
        /// Memory under writeback in KiB, mean and maximum; `None` without any.
        writeback_kib: Option<(f64, f64)>,
    },
    /// Tasks waited for I/O that no device shows.
    HiddenIoWait {
        /// Percentage of the time in which at least one task waited for I/O.
        some_pct: f64,
        /// A lower bound of the percentage of the time in which one did while no device had a request in flight.
        hidden_pct: f64,
        nfs: Vec<NfsWait>,
    },
    /// Tasks waited for memory.
    MemoryPressure {
        /// Percentage of the time in which at least one task waited.
        some_pct: f64,
        /// Percentage of the time in which all non-idle tasks waited; `None` if it is unknown.
        full_pct: Option<f64>,
    },
    /// A swap area that was read or written.
    SwapDevice {
        /// Its kernel name.
        device: String,
        read_mib_per_s: f64,
        write_mib_per_s: f64,
    },
    /// Memory was moved to or from swap areas.
    Swapping {
        in_pages_per_s: f64,
        out_pages_per_s: f64,
        /// The swap devices; empty where only files are used, or where they are not known.
        devices: Vec<String>,
    },
}

/// The evidence that none of these devices is the bottleneck, and the findings about the host. `None` unless each
/// device is idle, or had hardly ever a request that someone could wait for, and tasks did not wait long for I/O of these
/// devices.
pub fn not_the_disk(devices: &[DeviceReport], host: &HostReport) -> Option<Vec<HostFinding>> {
    // A device that is not saturated may still be what tasks wait for most of the time.
    if hidden_io_wait(host).is_none() && long_io_wait(host).is_some() {
        return None;
    }
    let (mut busy, mut longest_queue) = (Vec::new(), 0.0f64);
    for report in devices.iter().filter(|report| report.verdict != Some(Verdict::Idle)) {
        let is_fine = matches!(report.verdict, None | Some(Verdict::Ok));
        let is_short = report.all.queue.p99? <= MAX_SHORT_QUEUE;
        let queue = report.mean_queue.filter(|queue| *queue <= MAX_UNIMPORTANT_QUEUE);
        longest_queue = longest_queue.max(queue.filter(|_| is_fine && is_short)?);
        busy.push(report.device.clone());
    }
    let findings = [
        (!devices.is_empty() && busy.is_empty()).then_some(HostFinding::NoDeviceBusy),
        (!busy.is_empty()).then_some(HostFinding::ShortQueue { devices: busy, queue: longest_queue }),
        cpu(host),
        io_pressure(host),
        dirty_memory(host),
    ];
    Some(findings.into_iter().flatten().collect()).filter(|findings: &Vec<_>| !findings.is_empty())
}

/// The findings about the host that are reported whatever the verdicts on its devices: long waits for I/O, those that
/// no device shows, a shortage of memory, and swapping.
pub fn host_findings(devices: &[DeviceReport], topology: &Topology, host: &HostReport) -> Vec<HostFinding> {
    let is_swap = |name: &str| topology.node(name).is_some_and(|node| node.is_swap());
    let swap_devices = devices.iter().filter(|report| is_swap(&report.device)).filter_map(swap_device);
    let io_wait = hidden_io_wait(host).or_else(|| long_io_wait(host));
    let findings = [io_wait, memory_pressure(host), swapping(topology, host)];
    findings.into_iter().flatten().chain(swap_devices).collect()
}

fn cpu(host: &HostReport) -> Option<HostFinding> {
    let available_pct = host.cpu_available_pct.mean?;
    Some(HostFinding::Cpu {
        available_pct,
        user_pct: host.cpu_user_pct.mean?,
        system_pct: host.cpu_system_pct.mean?,
        steal_pct: host.cpu_steal_pct.mean.filter(|steal| *steal >= MIN_REPORTED_STEAL_PCT),
        is_short: available_pct < LOW_AVAILABLE_CPU_PCT,
    })
}

fn io_pressure(host: &HostReport) -> Option<HostFinding> {
    let some_pct = host.io_pressure_some_pct.mean?;
    let is_low = some_pct < LOW_IO_PRESSURE_PCT;
    Some(HostFinding::IoPressure { some_pct, full_pct: host.io_pressure_full_pct.mean, is_low })
}

/// I/O pressure, if tasks waited for a noticeable part of the time.
fn long_io_wait(host: &HostReport) -> Option<HostFinding> {
    let is_long = |some_pct: f64| some_pct >= MIN_HIDDEN_IO_WAIT_PCT;
    io_pressure(host).filter(|_| host.io_pressure_some_pct.mean.is_some_and(is_long))
}

fn dirty_memory(host: &HostReport) -> Option<HostFinding> {
    let used = |range: &Range| range.mean.zip(range.max.filter(|max| *max > 0.0));
    Some(HostFinding::DirtyMemory {
        dirty_kib: used(&host.dirty_kib)?,
        writeback_kib: used(&host.writeback_kib),
    })
}

fn hidden_io_wait(host: &HostReport) -> Option<HostFinding> {
    let hidden_pct = host.hidden_io_wait_pct.mean.filter(|hidden| *hidden >= MIN_HIDDEN_IO_WAIT_PCT)?;
    let (some_pct, nfs) = (host.io_pressure_some_pct.mean?, host.nfs_waits.clone());
    Some(HostFinding::HiddenIoWait { some_pct, hidden_pct, nfs })
}

fn memory_pressure(host: &HostReport) -> Option<HostFinding> {
    let some_pct = host.memory_pressure_some_pct.mean.filter(|some| *some >= MIN_MEMORY_PRESSURE_PCT)?;
    Some(HostFinding::MemoryPressure { some_pct, full_pct: host.memory_pressure_full_pct.mean })
}

fn swapping(topology: &Topology, host: &HostReport) -> Option<HostFinding> {
    let (in_pages_per_s, out_pages_per_s) =
        host.swap_in_pages_per_s.mean.zip(host.swap_out_pages_per_s.mean)?;
    if in_pages_per_s + out_pages_per_s < MIN_SWAPPED_PAGES_PER_S {
        return None;
    }
    let swaps = topology.nodes().iter().filter(|node| node.is_swap());
    let devices = swaps.map(|node| node.name.clone()).collect();
    Some(HostFinding::Swapping { in_pages_per_s, out_pages_per_s, devices })
}

/// The load of a swap device; `None` if it had none.
fn swap_device(report: &DeviceReport) -> Option<HostFinding> {
    let mean = |of: Option<f64>| of.unwrap_or(0.0);
    let (read, write) = (mean(report.read.mib_per_s.mean), mean(report.write.mib_per_s.mean));
    (read + write > 0.0).then(|| HostFinding::SwapDevice {
        device: report.device.clone(),
        read_mib_per_s: read,
        write_mib_per_s: write,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Node;

    fn range(value: f64) -> Range {
        let mut range = Range::default();
        (range.mean, range.min, range.max) = (Some(value), Some(value), Some(value));
        range
    }

    fn report(device: &str, verdict: Option<Verdict>, queue: f64) -> DeviceReport {
        let mut report = DeviceReport { verdict, mean_queue: Some(queue), ..DeviceReport::default() };
        report.device = device.into();
        report.all.queue.p99 = Some(5.0 * queue);
        report
    }

    fn ok(device: &str, queue: f64) -> DeviceReport {
        report(device, Some(Verdict::Ok), queue)
    }

    #[test]
    fn a_claim_needs_proof_for_every_busy_device() {
        let idle = report("sdc", Some(Verdict::Idle), 0.0);
        let host = HostReport::default();
        let short = |names: &[&str], queue| HostFinding::ShortQueue {
            devices: names.iter().map(|name| (*name).to_owned()).collect(),
            queue,
        };
        let two = [ok("sda", 0.02), idle.clone(), report("sdb", None, 0.08)];
        assert_eq!(not_the_disk(&two, &host), Some(vec![short(&["sda", "sdb"], 0.08)]));
        assert_eq!(not_the_disk(std::slice::from_ref(&idle), &host), Some(vec![HostFinding::NoDeviceBusy]));
        assert_eq!(not_the_disk(&[], &host), None);
        let mut in_bursts = ok("sdb", 0.02);
        in_bursts.all.queue.p99 = Some(4.0);
        let queueing = report("sdb", Some(Verdict::Queueing), 0.05);
        for other in [in_bursts, queueing, ok("sdb", 0.96), report("sdb", Some(Verdict::AccountingOff), 0.0)]
        {
            assert_eq!(not_the_disk(&[ok("sda", 0.02), other.clone()], &host), None, "{other:?}");
        }
    }

    #[test]
    fn the_host_is_described_as_far_as_it_is_known() {
        let host = HostReport {
            cpu_available_pct: range(4.0),
            cpu_user_pct: range(80.0),
            cpu_system_pct: range(10.0),
            cpu_steal_pct: range(6.0),
            io_pressure_some_pct: range(0.31),
            dirty_kib: range(12.0 * 1024.0),
            writeback_kib: range(0.0),
            ..HostReport::default()
        };
        let expected = [
            HostFinding::Cpu {
                available_pct: 4.0,
                user_pct: 80.0,
                system_pct: 10.0,
                steal_pct: Some(6.0),
                is_short: true,
            },
            HostFinding::IoPressure { some_pct: 0.31, full_pct: None, is_low: true },
            HostFinding::DirtyMemory { dirty_kib: (12288.0, 12288.0), writeback_kib: None },
        ];
        assert_eq!(not_the_disk(&[ok("sda", 0.02)], &host).unwrap()[1..], expected);
    }

    #[test]
    fn a_device_that_tasks_wait_for_is_not_ruled_out() {
        let pressure =
            |some_pct| HostReport { io_pressure_some_pct: range(some_pct), ..HostReport::default() };
        let devices = [ok("sda", 0.02)];
        assert!(not_the_disk(&devices, &pressure(9.9)).is_some());
        assert_eq!(host_findings(&devices, &Topology::default(), &pressure(9.9)), []);
        assert_eq!(not_the_disk(&devices, &pressure(42.0)), None);
        let wait = HostFinding::IoPressure { some_pct: 42.0, full_pct: None, is_low: false };
        assert_eq!(host_findings(&devices, &Topology::default(), &pressure(42.0)), [wait]);
        // If no device shows the waits, they are not for a device.
        let hidden = HostReport { hidden_io_wait_pct: range(40.0), ..pressure(42.0) };
        assert!(not_the_disk(&devices, &hidden).is_some());
    }

    #[test]
    fn hidden_waits_memory_and_swap_are_found_with_any_verdict() {
        let swap = Node { name: "sda2".into(), mountpoints: vec![Node::SWAP.into()], ..Node::default() };
        let topology = Topology::new(vec![swap]);
        let mut sda2 = report("sda2", None, 0.0);
        sda2.read.mib_per_s.mean = Some(4.5);
        let host = HostReport {
            io_pressure_some_pct: range(85.0),
            hidden_io_wait_pct: range(80.0),
            memory_pressure_some_pct: range(5.0),
            swap_in_pages_per_s: range(9.0),
            swap_out_pages_per_s: range(1.0),
            ..HostReport::default()
        };
        let expected = [
            HostFinding::HiddenIoWait { some_pct: 85.0, hidden_pct: 80.0, nfs: Vec::new() },
            HostFinding::MemoryPressure { some_pct: 5.0, full_pct: None },
            HostFinding::Swapping { in_pages_per_s: 9.0, out_pages_per_s: 1.0, devices: vec!["sda2".into()] },
            HostFinding::SwapDevice { device: "sda2".into(), read_mib_per_s: 4.5, write_mib_per_s: 0.0 },
        ];
        assert_eq!(host_findings(&[sda2], &topology, &host), expected);
        let below = HostReport {
            io_pressure_some_pct: range(9.9),
            hidden_io_wait_pct: range(9.9),
            memory_pressure_some_pct: range(4.9),
            swap_in_pages_per_s: range(8.9),
            ..host
        };
        assert_eq!(host_findings(&[], &topology, &below), []);
    }
}
