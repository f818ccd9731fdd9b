//! Host-wide numbers from files below /proc: CPU times, blocked tasks, pressure, dirty memory and swapped pages.

use memchr::memmem;
use procfs::{FromBufRead, IoPressure};

use crate::counters::{CpuTimes, Pressure};

/// Parses the `cpu ` line of /proc/stat: the time of all CPUs, in clock ticks. `None` for any other line.
///
/// Columns that an old kernel lacks are zero.
pub fn parse_cpu_line(line: &[u8]) -> Option<CpuTimes> {
    let mut times = std::str::from_utf8(line.strip_prefix(b"cpu ")?)
        .ok()?
        .split_ascii_whitespace();
    let [user, nice, system, idle] = [(); 4].map(|()| times.next()?.parse().ok());
    let [iowait, irq, softirq, steal, guest, guest_nice] =
        [(); 6].map(|()| times.next().map_or(Some(0), |time| time.parse().ok()));
    Some(CpuTimes {
        user: user?,
        nice: nice?,
        system: system?,
        idle: idle?,
        iowait: iowait?,
        irq: irq?,
        softirq: softirq?,
        steal: steal?,
        guest: guest?,
        guest_nice: guest_nice?,
    })
}

/// Returns the `cpu ` line of /proc/stat with these times, without a newline.
pub(super) fn cpu_line(cpu: &CpuTimes) -> String {
    let times = [
        cpu.user,
        cpu.nice,
        cpu.system,
        cpu.idle,
        cpu.iowait,
        cpu.irq,
        cpu.softirq,
    ];
    let times = times
        .into_iter()
        .chain([cpu.steal, cpu.guest, cpu.guest_nice]);
    // The line of all CPUs has two blanks, those of single ones have one.
    let texts: String = times.map(|time| format!(" {time}")).collect();
    format!("cpu {texts}")
}

/// Finds `procs_blocked` in the text of /proc/stat: tasks blocked on I/O. `None` if the kernel does not report it.
pub fn parse_blocked(stat: &[u8]) -> Option<u64> {
    number_after(stat, b"\nprocs_blocked ")
}

/// Parses the time that tasks have waited from /proc/pressure/io or /proc/pressure/memory, which have the same form.
/// `None` for any other text.
pub fn parse_pressure(text: &[u8]) -> Option<Pressure> {
    // procfs slices each line at its fifth byte, and panics if there is none.
    let is_sliceable = |line: &[u8]| line.is_ascii() && line.len() > "some ".len();
    if text
        .split(|byte| *byte == b'\n')
        .take(2)
        .filter(|line| is_sliceable(line))
        .count()
        != 2
    {
        return None;
    }
    let pressure = IoPressure::from_buf_read(text).ok()?;
    Some(Pressure {
        some_us: pressure.some.total,
        full_us: pressure.full.total,
    })
}

/// Finds `Dirty` and `Writeback` in the text of /proc/meminfo, in KiB; `None` for a line that is missing.
pub fn parse_meminfo(text: &[u8]) -> (Option<u64>, Option<u64>) {
    (
        number_after(text, b"\nDirty:"),
        number_after(text, b"\nWriteback:"),
    )
}

/// Finds `pswpin` and `pswpout` in the text of /proc/vmstat; `None` if one of them is missing.
pub fn parse_vmstat(text: &[u8]) -> Option<[u64; 2]> {
    Some([
        number_after(text, b"\npswpin ")?,
        number_after(text, b"\npswpout ")?,
    ])
}

/// Finds `nr_dirty` and `nr_writeback` in the text of /proc/vmstat, in pages: /proc/meminfo shows them as `Dirty` and
/// `Writeback`. `None` if one of them is missing.
pub fn parse_dirty_pages(text: &[u8]) -> Option<(u64, u64)> {
    Some((
        number_after(text, b"\nnr_dirty ")?,
        number_after(text, b"\nnr_writeback ")?,
    ))
}

/// Returns the number after a name; `None` without the name, or if no number that fits follows.
fn number_after(text: &[u8], name: &[u8]) -> Option<u64> {
    let rest = text[memmem::find(text, name)? + name.len()..].trim_ascii_start();
    let end = rest
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .unwrap_or(rest.len());
    std::str::from_utf8(&rest[..end]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cpu_line_of_a_current_kernel_has_ten_columns() {
        let cpu = parse_cpu_line(b"cpu  1 2 3 4 5 6 7 8 9 10").unwrap();
        assert_eq!(
            (cpu.user, cpu.nice, cpu.system, cpu.idle, cpu.iowait),
            (1, 2, 3, 4, 5)
        );
        assert_eq!(
            (cpu.irq, cpu.softirq, cpu.steal, cpu.guest, cpu.guest_nice),
            (6, 7, 8, 9, 10)
        );
    }

    #[test]
    fn columns_that_an_old_kernel_lacks_are_zero() {
        let cpu = parse_cpu_line(b"cpu  1 2 3 4").unwrap();
        assert_eq!((cpu.idle, cpu.iowait, cpu.steal), (4, 0, 0));
    }

    #[test]
    fn other_lines_are_not_cpu_lines() {
        for line in ["cpu0 1 2 3 4", "cpu", "cpu  1 2 x 4", "intr 5", ""] {
            assert_eq!(parse_cpu_line(line.as_bytes()), None, "{line}");
        }
    }

    #[test]
    fn pressure_consists_of_the_two_totals() {
        let text = b"some avg10=1.14 avg60=0.79 avg300=0.39 total=8498442\nfull avg10=0.84 avg60=0.68 avg300=0.35 total=6800405\n";
        assert_eq!(
            parse_pressure(text),
            Some(Pressure {
                some_us: 8_498_442,
                full_us: 6_800_405
            })
        );
    }

    #[test]
    fn other_text_is_not_pressure() {
        for text in [
            "",
            "some",
            "some\nfull",
            "some \nfull ",
            "some avg10=1",
            "some é\nfull é",
            "x\ny\n",
            "\n\n\n",
        ] {
            assert_eq!(parse_pressure(text.as_bytes()), None, "{text:?}");
        }
        let complete = "some avg10=1.14 avg60=0.79 avg300=0.39 total=8\nfull avg10=0.84 avg60=0.68 avg300=0.35 total=6";
        for end in 0..complete.len() - 2 {
            assert_eq!(
                parse_pressure(&complete.as_bytes()[..end]),
                None,
                "{}",
                &complete[..end]
            );
        }
    }

    #[test]
    fn blocked_tasks_and_dirty_memory_are_found_by_name() {
        assert_eq!(
            parse_blocked(b"cpu 1\nprocs_running 1\nprocs_blocked 17\nsoftirq 5\n"),
            Some(17)
        );
        assert_eq!(parse_blocked(b"cpu 1\nprocs_blocked x\n"), None);
        let meminfo =
            b"MemTotal: 5 kB\nDirty:            318040 kB\nWriteback:             7 kB\nWritebackTmp: 9 kB\n";
        assert_eq!(parse_meminfo(meminfo), (Some(318_040), Some(7)));
        assert_eq!(parse_meminfo(b"MemTotal: 5 kB\n"), (None, None));
    }

    #[test]
    fn swapped_pages_are_known_only_in_both_directions() {
        let vmstat = b"nr_free_pages 5\npgpgin 1\npswpin 12\npswpout 345\npgalloc_dma 0\n";
        assert_eq!(parse_vmstat(vmstat), Some([12, 345]));
        assert_eq!(parse_vmstat(b"nr_free_pages 5\npswpin 12\n"), None);
        let dirty =
            b"nr_free_pages 5\nnr_dirty 42\nnr_writeback 7\nnr_writeback_temp 0\nnr_dirty_threshold 9\n";
        assert_eq!(parse_dirty_pages(dirty), Some((42, 7)));
        assert_eq!(
            parse_dirty_pages(b"nr_free_pages 5\nnr_dirty_threshold 9\nnr_writeback 7\n"),
            None
        );
        assert_eq!(
            parse_vmstat(b"nr_free_pages 5\npswpin 12\npswpout x\n"),
            None
        );
    }
}
