//! The files of a process: `io`, `cgroup` and `stat` (proc(5)).

use super::lines;

/// A task, from `stat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// Its name. Bytes that are not UTF-8 are replaced.
    pub comm: String,
    /// It is in uninterruptible sleep, usually waiting for a device: `D`.
    pub is_blocked: bool,
    /// The number of threads of the process.
    pub threads: u64,
    /// The time at which it started, in clock ticks since boot. With the number it identifies a task.
    pub start_ticks: u64,
    /// The time for which it has waited for devices, in clock ticks. 0 unless `kernel.task_delayacct` is on.
    pub delay_ticks: u64,
}

/// Parses the bytes read and written in /proc/PID/io. Bytes of files that were deleted before they were written back do
/// not count as written. `None` for any other text.
pub fn parse_process_io(text: &[u8]) -> Option<(u64, u64)> {
    let value = |name: &str| {
        let mut found = lines(text).filter_map(|mut words| (words.next()? == name).then(|| words.next()));
        found.next()??.parse::<u64>().ok()
    };
    let written = value("write_bytes:")?;
    Some((value("read_bytes:")?, written.saturating_sub(value("cancelled_write_bytes:").unwrap_or(0))))
}

/// Finds the cgroup of a process in the text of /proc/PID/cgroup: in the hierarchy of `blkio` if `is_v1`, otherwise in
/// the hierarchy of version 2. Bytes that are not UTF-8 are replaced. `None` if the process is in none.
pub fn parse_process_cgroup(text: &[u8], is_v1: bool) -> Option<String> {
    text.split(|byte| *byte == b'\n').find_map(|line| {
        // The path may contain colons.
        let mut parts = line.splitn(3, |byte| *byte == b':');
        let (number, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
        let is_wanted = if is_v1 {
            controllers.split(|byte| *byte == b',').any(|name| name == b"blkio")
        } else {
            number == b"0" && controllers.is_empty()
        };
        is_wanted.then(|| String::from_utf8_lossy(path).into_owned())
    })
}

/// Parses /proc/PID/stat or /proc/PID/task/TID/stat. `None` for any other text.
pub fn parse_process_stat(text: &[u8]) -> Option<ProcessStat> {
    // The numbers of the fields in proc_pid_stat(5), minus the fields up to the one after the name.
    const THREADS: usize = 20 - 3;
    const START_TIME: usize = 22 - 3;
    const DELAY: usize = 42 - 3;
    // The name may contain blanks and parentheses.
    let open = text.iter().position(|byte| *byte == b'(')?;
    let close = text.iter().rposition(|byte| *byte == b')').filter(|close| *close > open)?;
    let fields: Vec<&str> = std::str::from_utf8(&text[close + 1..]).ok()?.split_ascii_whitespace().collect();
    let number = |at: usize| fields.get(at)?.parse::<u64>().ok();
    Some(ProcessStat {
        comm: String::from_utf8_lossy(&text[open + 1..close]).into_owned(),
        is_blocked: *fields.first()? == "D",
        threads: number(THREADS)?,
        start_ticks: number(START_TIME)?,
        delay_ticks: number(DELAY)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_of_deleted_files_are_not_written() {
        let text = b"rchar: 6976\nwchar: 0\nsyscr: 10\nsyscw: 0\nread_bytes: 4096\nwrite_bytes: 12288\n\
                     cancelled_write_bytes: 8192\n";
        assert_eq!(parse_process_io(text), Some((4096, 4096)));
        assert_eq!(
            parse_process_io(b"read_bytes: 1\nwrite_bytes: 2\ncancelled_write_bytes: 3"),
            Some((1, 0))
        );
        for text in ["", "read_bytes: 1\n", "read_bytes: x\nwrite_bytes: 1\n", "read_bytes:\nwrite_bytes:\n"]
        {
            assert_eq!(parse_process_io(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn the_cgroup_is_that_of_the_hierarchy_that_counts_io() {
        let text = b"9:name=systemd:/init.scope\n7:cpu,blkio:/a:b\n0::/user.slice\xff\n";
        assert_eq!(parse_process_cgroup(text, true).as_deref(), Some("/a:b"));
        assert_eq!(parse_process_cgroup(text, false).as_deref(), Some("/user.slice\u{fffd}"));
        assert_eq!(parse_process_cgroup(b"0::/", true), None);
        assert_eq!(parse_process_cgroup(b"7:blkio:/\n", false), None);
        assert_eq!(parse_process_cgroup(b"0:/", false), None);
    }

    #[test]
    fn a_name_may_contain_anything() {
        let rest = "D 1 2 3 0 -1 4194304 5 0 0 0 6 7 0 0 20 0 7 0 12345 8 9 18446744073709551615 1 1 0 0 0 0 0 0 0 \
                    0 0 0 17 1 0 0 678 0 0";
        for comm in ["fio", "a) R (b", "\u{1b}[2J", "", "kworker/u4:2+flush-254:0", ")"] {
            let stat = parse_process_stat(format!("4242 ({comm}) {rest}\n").as_bytes()).unwrap();
            assert_eq!((stat.comm.as_str(), stat.is_blocked), (comm, true));
            assert_eq!((stat.threads, stat.start_ticks, stat.delay_ticks), (7, 12_345, 678));
        }
        let asleep = format!("1 (x) {}", rest.replacen('D', "S", 1));
        assert!(!parse_process_stat(asleep.as_bytes()).unwrap().is_blocked);
    }

    #[test]
    fn other_text_is_not_a_stat() {
        for text in ["", "1 (x", "1 x) D 1", "1 (x)", "1 (x) D", "1 (x) D 1 2 3", ")("] {
            assert_eq!(parse_process_stat(text.as_bytes()), None, "{text}");
        }
    }
}
