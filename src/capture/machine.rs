//! The machine as a whole: what is blocked, and what waits to be written.

use memchr::memmem;
use procfs::{FromBufRead, IoPressure};

use crate::counters::Pressure;

/// `procs_blocked` of /proc/stat: tasks that are blocked on I/O. `None` where the kernel does not tell.
pub fn parse_blocked(stat: &[u8]) -> Option<u64> {
    const NAME: &[u8] = b"\nprocs_blocked ";
    // It is near the end, behind lines of thousands of numbers.
    let at = memmem::rfind(stat, NAME)? + NAME.len();
    number(&stat[at..])
}

/// /proc/pressure/io: how long tasks have waited for I/O. `None` if it is no such text.
pub fn parse_pressure(text: &[u8]) -> Option<Pressure> {
    // The parser takes what follows the fifth character, and panics where there is none.
    let is_whole = |line: &[u8]| line.is_ascii() && line.len() > "some ".len();
    if text.split(|byte| *byte == b'\n').take(2).filter(|line| is_whole(line)).count() != 2 {
        return None;
    }
    let pressure = IoPressure::from_buf_read(text).ok()?;
    Some(Pressure { some_us: pressure.some.total, full_us: pressure.full.total })
}

/// `Dirty` and `Writeback` of /proc/meminfo in KiB; `None` where a line is not there.
pub fn parse_meminfo(text: &[u8]) -> (Option<u64>, Option<u64>) {
    let value = |name: &[u8]| {
        let at = memmem::find(text, name)? + name.len();
        number(text[at..].trim_ascii_start())
    };
    (value(b"\nDirty:"), value(b"\nWriteback:"))
}

/// The number that some text begins with.
fn number(text: &[u8]) -> Option<u64> {
    let end = text.iter().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    std::str::from_utf8(&text[..end]).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pressure_is_the_two_totals() {
        let text = b"some avg10=1.14 avg60=0.79 avg300=0.39 total=8498442\nfull avg10=0.84 avg60=0.68 avg300=0.35 total=6800405\n";
        assert_eq!(parse_pressure(text), Some(Pressure { some_us: 8_498_442, full_us: 6_800_405 }));
    }

    #[test]
    fn what_is_no_pressure_is_none() {
        for text in
            ["", "some", "some\nfull", "some \nfull ", "some avg10=1", "some é\nfull é", "x\ny\n", "\n\n\n"]
        {
            assert_eq!(parse_pressure(text.as_bytes()), None, "{text:?}");
        }
        let whole =
            "some avg10=1.14 avg60=0.79 avg300=0.39 total=8\nfull avg10=0.84 avg60=0.68 avg300=0.35 total=6";
        for end in 0..whole.len() - 2 {
            assert_eq!(parse_pressure(&whole.as_bytes()[..end]), None, "{}", &whole[..end]);
        }
    }

    #[test]
    fn blocked_and_dirty_are_found_by_their_names() {
        assert_eq!(parse_blocked(b"cpu 1\nprocs_running 1\nprocs_blocked 17\nsoftirq 5\n"), Some(17));
        assert_eq!(parse_blocked(b"cpu 1\nprocs_blocked x\n"), None);
        let meminfo =
            b"MemTotal: 5 kB\nDirty:            318040 kB\nWriteback:             7 kB\nWritebackTmp: 9 kB\n";
        assert_eq!(parse_meminfo(meminfo), (Some(318_040), Some(7)));
        assert_eq!(parse_meminfo(b"MemTotal: 5 kB\n"), (None, None));
    }
}
