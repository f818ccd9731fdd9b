//! Parsers of the files of cgroups and processes. Each takes the bytes of a file. A line that it does not understand is
//! ignored without affecting other lines: the kernel's formats grow, and a file may end in the middle of a line.

use crate::counters::{CgroupDevice, DeviceNumber, IoCounters, parse_device_number};

/// Splits a text into lines of words. Lines that are not UTF-8 are left out.
fn lines(text: &[u8]) -> impl Iterator<Item = std::str::SplitAsciiWhitespace<'_>> {
    let lines = text.split(|byte| *byte == b'\n');
    lines.filter_map(|line| Some(std::str::from_utf8(line).ok()?.split_ascii_whitespace()))
}

/// Adds the counters of a file to the devices of a cgroup. Each line has one of them: `8:0 Read 5`, `8:0 Write 7`.
/// Other kinds, such as `Sync` and `Total`, count the same requests again. `counted` selects the counters of reads and
/// of writes that the file has.
pub fn parse_blkio_counter(
    text: &[u8],
    counted: fn(&mut IoCounters) -> [&mut u64; 2],
    devices: &mut Vec<CgroupDevice>,
) {
    for mut words in lines(text) {
        let Some(number) = words.next().and_then(parse_device_number) else {
            continue;
        };
        let (Some(kind), Some(Ok(value)), None) = (
            words.next(),
            words.next().map(str::parse::<u64>),
            words.next(),
        ) else {
            continue;
        };
        let [reads, writes] = counted(&mut CgroupDevice::entry(devices, number).io);
        match kind {
            "Read" => *reads = value,
            "Write" => *writes = value,
            _ => {}
        }
    }
}

/// Adds the limits that a file has, those at this index of [`CgroupDevice::limits`], to the devices of a cgroup: `8:0 1000`.
pub fn parse_blkio_limit(text: &[u8], index: usize, devices: &mut Vec<CgroupDevice>) {
    for mut words in lines(text) {
        let Some(number) = words.next().and_then(parse_device_number) else {
            continue;
        };
        let (Some(Ok(value)), None) = (words.next().map(str::parse), words.next()) else {
            continue;
        };
        CgroupDevice::entry(devices, number).limits[index] = Some(value);
    }
}

/// Adds the counters of `io.stat` to the devices of a cgroup: `8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353`.
///
/// A device without counters on its line is left out. Linux 5.15 may not end such a line, so that the next device
/// follows on the same line.
pub fn parse_io_stat(text: &[u8], devices: &mut Vec<CgroupDevice>) {
    each_value(text, |number, key, value| {
        let io = &mut CgroupDevice::entry(devices, number).io;
        // The counters of io.cost and io.latency may not be whole numbers.
        let Ok(value) = value.parse() else { return };
        match key {
            "rbytes" => io.read_bytes = value,
            "wbytes" => io.write_bytes = value,
            "rios" => io.reads = value,
            "wios" => io.writes = value,
            _ => {}
        }
    });
}

/// Adds the limits of `io.max` to the devices of a cgroup: `8:16 rbps=2097152 wbps=max riops=max wiops=120`.
pub fn parse_io_max(text: &[u8], devices: &mut Vec<CgroupDevice>) {
    each_value(text, |number, key, value| {
        // `max` means no limit.
        let Ok(value) = value.parse() else { return };
        let index = match key {
            "riops" => 0,
            "wiops" => 1,
            "rbps" => 2,
            "wbps" => 3,
            _ => return,
        };
        CgroupDevice::entry(devices, number).limits[index] = Some(value);
    });
}

/// Calls `found` with the key and the value of each pair, and the device it belongs to.
fn each_value(text: &[u8], mut found: impl FnMut(DeviceNumber, &str, &str)) {
    let mut number = None;
    for line in lines(text) {
        for (at, word) in line.enumerate() {
            match word.split_once('=') {
                Some((key, value)) => {
                    if let Some(number) = number {
                        found(number, key, value);
                    }
                }
                // A line that does not begin with a device belongs to none.
                None if at == 0 || parse_device_number(word).is_some() => {
                    number = parse_device_number(word)
                }
                None => {}
            }
        }
    }
}

/// A task, from `stat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessStat {
    /// Its name. Bytes that are not UTF-8 are replaced.
    pub comm: String,
    /// It is in uninterruptible sleep, usually waiting for a device: `D`.
    pub is_blocked: bool,
    /// The process that started it, or that took it over.
    pub parent: u32,
    /// The page faults of the children that ended and were waited for: more than before if another one was.
    pub faults_of_ended: u64,
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
    let (mut read, mut written, mut cancelled) = (None, None, 0);
    for mut words in lines(text) {
        let (Some(name), Some(Ok(value))) = (words.next(), words.next().map(str::parse)) else {
            continue;
        };
        match name {
            "read_bytes:" => read = Some(value),
            "write_bytes:" => written = Some(value),
            "cancelled_write_bytes:" => cancelled = value,
            _ => {}
        }
    }
    let written: u64 = written?;
    Some((read?, written.saturating_sub(cancelled)))
}

/// Finds the cgroup of a process in the text of /proc/PID/cgroup: in the hierarchy of `blkio` if `is_v1`, otherwise in
/// the hierarchy of version 2. Bytes that are not UTF-8 are replaced. `None` if the process is in none.
pub fn parse_process_cgroup(text: &[u8], is_v1: bool) -> Option<String> {
    for line in text.split(|byte| *byte == b'\n') {
        // The path may contain colons.
        let mut parts = line.splitn(3, |byte| *byte == b':');
        let (Some(number), Some(controllers), Some(path)) =
            (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        let is_wanted = if is_v1 {
            let mut names = controllers.split(|byte| *byte == b',');
            names.any(|name| name == b"blkio")
        } else {
            number == b"0" && controllers.is_empty()
        };
        if is_wanted {
            return Some(String::from_utf8_lossy(path).into_owned());
        }
    }
    None
}

/// The most characters of a command line that are kept.
const MAX_COMMAND_CHARS: usize = 40;

/// Returns the first words of a command line, from the text of /proc/PID/cmdline: the program without its directory and
/// its arguments, quoted where they contain a blank. A single word with blanks is what the process calls itself, such as
/// `postgres: 15/main: app db [local] SELECT`. `None` without a command line, as of threads of the kernel.
pub fn parse_command_line(text: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(text);
    let text = text.trim_end_matches(|last: char| last == '\0' || last.is_whitespace());
    let mut words = text.split('\0');
    let first = words.next()?;
    if first.is_empty() {
        return None;
    }
    let mut command = match first.rsplit_once('/') {
        Some((_, name)) if first.starts_with('/') && !name.is_empty() => name.to_owned(),
        _ => first.to_owned(),
    };
    for word in words {
        // A script may have many lines.
        let on_one_line = word.split_whitespace().collect::<Vec<_>>().join(" ");
        command.push(' ');
        if !on_one_line.is_empty() && !on_one_line.contains(' ') {
            command += &on_one_line;
        } else if on_one_line.contains('\'') {
            command += &format!("\"{on_one_line}\"");
        } else {
            command += &format!("'{on_one_line}'");
        }
        if command.len() > 4 * MAX_COMMAND_CHARS {
            break;
        }
    }
    if command.chars().nth(MAX_COMMAND_CHARS).is_some() {
        command = command.chars().take(MAX_COMMAND_CHARS - 3).collect();
        command.push_str("...");
    }
    Some(command)
}

/// Parses /proc/PID/stat or /proc/PID/task/TID/stat. `None` for any other text.
pub fn parse_process_stat(text: &[u8]) -> Option<ProcessStat> {
    // The numbers of the fields in proc_pid_stat(5), minus the fields up to the one after the name.
    const PARENT: usize = 4 - 3;
    const FAULTS_OF_ENDED: usize = 11 - 3;
    const THREADS: usize = 20 - 3;
    const START_TIME: usize = 22 - 3;
    const DELAY: usize = 42 - 3;
    // The name may contain blanks and parentheses.
    let open = text.iter().position(|byte| *byte == b'(')?;
    let close = text.iter().rposition(|byte| *byte == b')')?;
    let comm = text.get(open + 1..close)?;
    let rest = std::str::from_utf8(&text[close + 1..]).ok()?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(ProcessStat {
        comm: String::from_utf8_lossy(comm).into_owned(),
        is_blocked: *fields.first()? == "D",
        parent: u32::try_from(number_at(&fields, PARENT)?).ok()?,
        faults_of_ended: number_at(&fields, FAULTS_OF_ENDED)?,
        threads: number_at(&fields, THREADS)?,
        start_ticks: number_at(&fields, START_TIME)?,
        delay_ticks: number_at(&fields, DELAY)?,
    })
}

fn number_at(fields: &[&str], index: usize) -> Option<u64> {
    fields.get(index)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::IoCounters;

    #[test]
    fn reads_and_writes_are_counted_once() {
        // Linux 6.18.
        let requests = b"254:0 Read 61344\n254:0 Write 3\n254:0 Sync 61344\n254:0 Async 0\n254:0 Discard 0\n\
                         254:0 Total 61347\n7:0 Read 61172\n7:0 Write 0\n7:0 Total 61172\nTotal 122516\n";
        let bytes = b"254:0 Read 311492608\n254:0 Write 12288\n7:0 Read 250560512";
        let mut devices = Vec::new();
        parse_blkio_counter(requests, |io| [&mut io.reads, &mut io.writes], &mut devices);
        parse_blkio_counter(
            bytes,
            |io| [&mut io.read_bytes, &mut io.write_bytes],
            &mut devices,
        );
        let found: Vec<_> = devices
            .iter()
            .map(|device| (device.number, device.io))
            .collect();
        let loop0 = IoCounters {
            read_bytes: 250_560_512,
            reads: 61_172,
            ..IoCounters::default()
        };
        let vda = IoCounters {
            read_bytes: 311_492_608,
            write_bytes: 12_288,
            reads: 61_344,
            writes: 3,
        };
        assert_eq!(found, [((7, 0), loop0), ((254, 0), vda)]);
    }

    #[test]
    fn a_command_line_is_the_name_of_the_program_and_its_first_words() {
        let long = "x".repeat(200_000);
        let dd = format!("/bin/dd\0if={long}\0of=/dev/null\0");
        let dd_start = format!("dd if={}...", "x".repeat(31));
        for (text, command) in [
            ("", None),
            ("\0\0", None),
            (
                "/usr/bin/tar\0-cf\0/backup/db.tar\0",
                Some("tar -cf /backup/db.tar"),
            ),
            ("sh\0-c\0sleep 5\0\0", Some("sh -c 'sleep 5'")),
            ("sh\0-c\0echo 'a b'\0", Some("sh -c \"echo 'a b'\"")),
            ("fio\0\0--name=a", Some("fio '' --name=a")),
            (
                "postgres: 14/main: app db [local] SELECT\0\0\0   \0\0",
                Some("postgres: 14/main: app db [local] SELECT"),
            ),
            ("-bash\0", Some("-bash")),
            ("/", Some("/")),
            (&dd, Some(&dd_start)),
        ] {
            let found = parse_command_line(text.as_bytes());
            assert_eq!(found.as_deref(), command, "{text:.40?}");
        }
        assert_eq!(
            parse_command_line(b"a\0\xff\0").as_deref(),
            Some("a \u{fffd}")
        );
    }

    #[test]
    fn each_file_of_limits_has_one_limit() {
        let mut devices = Vec::new();
        parse_blkio_limit(b"7:0 777\n", 0, &mut devices);
        parse_blkio_limit(b"7:0 1048576", 3, &mut devices);
        parse_blkio_limit(b"7:0 max\n7:0\n7:0 5 6\nTotal 5\n", 1, &mut devices);
        let limits = [Some(777), None, None, Some(1_048_576)];
        assert_eq!(
            devices,
            [CgroupDevice {
                number: (7, 0),
                limits,
                ..CgroupDevice::default()
            }]
        );
    }

    #[test]
    fn lines_of_other_forms_give_nothing() {
        let mut devices = Vec::new();
        for text in [
            "",
            "Total 5\n",
            "8:0 Read\n",
            "8:0 Read x\n",
            "8:0 Read 5 6\n",
            "a:b Read 5\n",
            "8:0",
        ] {
            parse_blkio_counter(
                text.as_bytes(),
                |io| [&mut io.read_bytes, &mut io.write_bytes],
                &mut devices,
            );
        }
        assert_eq!(devices, []);
    }

    fn io_stat(text: &str) -> Vec<(DeviceNumber, [u64; 4])> {
        let mut devices = Vec::new();
        parse_io_stat(text.as_bytes(), &mut devices);
        let values = |io: &IoCounters| [io.read_bytes, io.write_bytes, io.reads, io.writes];
        devices
            .iter()
            .map(|device| (device.number, values(&device.io)))
            .collect()
    }

    #[test]
    fn counters_are_found_by_their_keys() {
        let text = "8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n\
                    8:0 rbytes=90430464 wbytes=299008000 rios=8950 wios=1252 dbytes=50331648 dios=3021 \
                    cost.usage=37.5 cost.wait=1\n";
        let expected = [
            ((8, 0), [90_430_464, 299_008_000, 8950, 1252]),
            ((8, 16), [1_459_200, 314_773_504, 192, 353]),
        ];
        assert_eq!(io_stat(text), expected);
    }

    #[test]
    fn a_device_without_counters_may_end_its_line_or_not() {
        let rest = "254:0 rbytes=4096 wbytes=0 rios=1 wios=0 dbytes=0 dios=0";
        for before in ["7:7 \n7:6 \n", "7:7 7:6 "] {
            let devices = io_stat(&format!("{before}{rest}"));
            assert_eq!(devices, [((254, 0), [4096, 0, 1, 0])], "{before:?}");
        }
    }

    #[test]
    fn other_lines_of_version_2_give_nothing() {
        for text in [
            "",
            "\n\n",
            "(unknown) rbytes=5\n",
            "rbytes=5\n",
            "8:x rbytes=1\n",
            "8 rbytes=1\n",
        ] {
            assert_eq!(io_stat(text), [], "{text:?}");
        }
        assert_eq!(
            io_stat("8:0 rbytes=5\n(unknown) rbytes=7\n"),
            [((8, 0), [5, 0, 0, 0])]
        );
        assert_eq!(
            io_stat("8:0 rbytes=5 wbytes=x rios=-1 wio"),
            [((8, 0), [5, 0, 0, 0])]
        );
        let mut devices = Vec::new();
        parse_io_stat(b"8:0 rbytes=\xff\n8:1 rbytes=3\n", &mut devices);
        assert_eq!(devices.len(), 1);
    }

    #[test]
    fn max_is_no_limit() {
        let mut devices = Vec::new();
        parse_io_max(
            b"8:16 rbps=2097152 wbps=max riops=max wiops=120\n8:0 rbps=max wbps=max riops=max wiops=max\n",
            &mut devices,
        );
        let limits = [None, Some(120), Some(2_097_152), None];
        let expected = CgroupDevice {
            number: (8, 16),
            limits,
            ..CgroupDevice::default()
        };
        assert_eq!(devices, [expected]);
    }

    #[test]
    fn bytes_of_deleted_files_are_not_written() {
        let text =
            b"rchar: 6976\nwchar: 0\nsyscr: 10\nsyscw: 0\nread_bytes: 4096\nwrite_bytes: 12288\n\
                     cancelled_write_bytes: 8192\n";
        assert_eq!(parse_process_io(text), Some((4096, 4096)));
        assert_eq!(
            parse_process_io(b"read_bytes: 1\nwrite_bytes: 2\ncancelled_write_bytes: 3"),
            Some((1, 0))
        );
        for text in [
            "",
            "read_bytes: 1\n",
            "read_bytes: x\nwrite_bytes: 1\n",
            "read_bytes:\nwrite_bytes:\n",
        ] {
            assert_eq!(parse_process_io(text.as_bytes()), None, "{text:?}");
        }
    }

    #[test]
    fn the_cgroup_is_that_of_the_hierarchy_that_counts_io() {
        let text = b"9:name=systemd:/init.scope\n7:cpu,blkio:/a:b\n0::/user.slice\xff\n";
        assert_eq!(parse_process_cgroup(text, true).as_deref(), Some("/a:b"));
        assert_eq!(
            parse_process_cgroup(text, false).as_deref(),
            Some("/user.slice\u{fffd}")
        );
        assert_eq!(parse_process_cgroup(b"0::/", true), None);
        assert_eq!(parse_process_cgroup(b"7:blkio:/\n", false), None);
        assert_eq!(parse_process_cgroup(b"0:/", false), None);
    }

    #[test]
    fn a_name_may_contain_anything() {
        let rest = "D 1 2 3 0 -1 4194304 5 0 0 0 6 7 0 0 20 0 7 0 12345 8 9 18446744073709551615 1 1 0 0 0 0 0 0 0 \
                    0 0 0 17 1 0 0 678 0 0";
        for comm in [
            "fio",
            "a) R (b",
            "\u{1b}[2J",
            "",
            "kworker/u4:2+flush-254:0",
            ")",
        ] {
            let stat = parse_process_stat(format!("4242 ({comm}) {rest}\n").as_bytes()).unwrap();
            assert_eq!((stat.comm.as_str(), stat.is_blocked), (comm, true));
            assert_eq!(
                (stat.threads, stat.start_ticks, stat.delay_ticks),
                (7, 12_345, 678)
            );
        }
        let asleep = format!("1 (x) {}", rest.replacen('D', "S", 1));
        assert!(!parse_process_stat(asleep.as_bytes()).unwrap().is_blocked);
    }

    #[test]
    fn other_text_is_not_a_stat() {
        for text in [
            "",
            "1 (x",
            "1 x) D 1",
            "1 (x)",
            "1 (x) D",
            "1 (x) D 1 2 3",
            ")(",
        ] {
            assert_eq!(parse_process_stat(text.as_bytes()), None, "{text}");
        }
    }
}
