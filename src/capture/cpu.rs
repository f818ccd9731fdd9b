//! The `cpu` line of /proc/stat, through the procfs crate.

use procfs::{FromBufReadSI, KernelStats, SystemInfoInterface};

use crate::counters::CpuTimes;

/// procfs asks for the machine it reads on, and wants more lines than a capture or an invented machine has.
struct AnyMachine;

impl SystemInfoInterface for AnyMachine {
    fn boot_time_secs(&self) -> procfs::ProcResult<u64> {
        Ok(0)
    }
    fn ticks_per_second(&self) -> u64 {
        100
    }
    fn page_size(&self) -> u64 {
        4096
    }
    fn is_little_endian(&self) -> bool {
        cfg!(target_endian = "little")
    }
}

/// Reads a line that starts with `cpu `: the time of all CPUs, in clock ticks. `None` if it is no such line.
///
/// Columns that an old kernel lacks are zero.
pub fn parse_cpu_line(line: &[u8]) -> Option<CpuTimes> {
    const LINES_THAT_PROCFS_EXPECTS: &[u8] = b"\nctxt 0\nbtime 0\nprocesses 0\n";
    if !line.starts_with(b"cpu ") {
        return None;
    }
    let text = [line, LINES_THAT_PROCFS_EXPECTS].concat();
    let cpu = KernelStats::from_buf_read(text.as_slice(), &AnyMachine).ok()?.total;
    Some(CpuTimes {
        user: cpu.user,
        nice: cpu.nice,
        system: cpu.system,
        idle: cpu.idle,
        iowait: cpu.iowait.unwrap_or(0),
        irq: cpu.irq.unwrap_or(0),
        softirq: cpu.softirq.unwrap_or(0),
        steal: cpu.steal.unwrap_or(0),
        guest: cpu.guest.unwrap_or(0),
        guest_nice: cpu.guest_nice.unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_kernel_of_today() {
        let cpu = parse_cpu_line(b"cpu  1 2 3 4 5 6 7 8 9 10").unwrap();
        assert_eq!((cpu.user, cpu.nice, cpu.system, cpu.idle, cpu.iowait), (1, 2, 3, 4, 5));
        assert_eq!((cpu.irq, cpu.softirq, cpu.steal, cpu.guest, cpu.guest_nice), (6, 7, 8, 9, 10));
    }

    #[test]
    fn columns_that_an_old_kernel_lacks_are_zero() {
        let cpu = parse_cpu_line(b"cpu  1 2 3 4").unwrap();
        assert_eq!((cpu.idle, cpu.iowait, cpu.steal), (4, 0, 0));
    }

    #[test]
    fn anything_else_is_no_cpu_line() {
        for line in ["cpu0 1 2 3 4", "cpu", "cpu  1 2 x 4", "intr 5", ""] {
            assert_eq!(parse_cpu_line(line.as_bytes()), None, "{line}");
        }
    }
}
