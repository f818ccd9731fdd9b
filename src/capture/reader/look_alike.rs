//! What looks like a capture, or is the output of another tool, and is not read: what a line is, and what to do instead.

use crate::capture::diskstats_line::device_line_start;

/// Returns what a line is, and what to do; `None` if it does not show why there are no samples.
pub(super) fn look_alike(line: &str) -> Option<&'static str> {
    let line = line.trim_start();
    let mut others = OTHER_SYSTEMS.iter().chain(OTHER_TOOLS);
    let other = others.find(|tool| tool.wrote(line));
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_number = |word: &&&str| word.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = words.iter().rev().take_while(is_number).count();
    let name = words
        .iter()
        .rev()
        .nth(numbers)
        .filter(|name| name.starts_with(char::is_alphabetic));
    let is_named =
        name.is_some_and(|name| *name != "softirq") && device_line_start(line, 0).is_none();
    if let Some(tool) = other {
        Some(tool.text)
    } else if line.matches([',', ';']).count() >= 3 && !line.starts_with('{') {
        Some(
            "has columns with commas or semicolons; blkstat reads lines of /proc/diskstats, with blanks",
        )
    } else if is_named && matches!(numbers, 11 | 15 | 17) {
        Some(
            "lacks the two numbers before the name of a device; write two, such as '0 0', before each name",
        )
    } else {
        None
    }
}

/// Returns whether a line is the head of a table of a system other than Linux, whose columns have other units.
pub(crate) fn is_of_other_system(line: &str) -> bool {
    let line = line.trim_start();
    OTHER_SYSTEMS.iter().any(|tool| tool.wrote(line))
}

/// The output of a tool, known by a line that has all of some texts, the first of them at its beginning.
struct OtherTool {
    begin: &'static str,
    texts: &'static [&'static str],
    /// What the line is, and what to do.
    text: &'static str,
}

impl OtherTool {
    fn wrote(&self, line: &str) -> bool {
        line.starts_with(self.begin) && self.texts.iter().all(|text| line.contains(text))
    }
}

const fn tool(
    begin: &'static str,
    texts: &'static [&'static str],
    text: &'static str,
) -> OtherTool {
    OtherTool { begin, texts, text }
}

const SOLARIS: &str = "is of iostat of Solaris or a BSD; blkstat reads that of Linux: iostat -xt 1";
const VMSTAT: &str =
    "is of vmstat; write what it reads: while sleep 1; do date +%s; cat /proc/diskstats; done";
const DSTAT: &str = "is of dstat or dool, which have no latencies; write with: iostat -xt 1";
const COLLECTL: &str = "is the text of collectl; blkstat reads its raw data: collectl -sD -f DIRECTORY writes a file .raw.gz";
const ATOP: &str = "is the text of atop, which has no reads and writes apart from their latency; write with: iostat -xt 1";
const NMON: &str = "is of nmon, which has no latencies; write with: iostat -xt 1";
const SAR: &str = "is of sar without disks; write them with: sar -d -f FILE";
const PROMETHEUS: &str =
    "holds metrics for Prometheus, at a single time; write counters with: blkstat record FILE";
const TELEGRAF: &str = "is of telegraf; write counters with: blkstat record FILE";

/// What a log is that ends without a device.
pub(super) const NO_DEVICES: &str = "ends a log that lists no devices, as on WSL 1 or in a container, which have none of their \
     own; write it on the host: iostat -xt 1";

/// The heads of tables that look like those of iostat on Linux.
static OTHER_SYSTEMS: &[OtherTool] = &[
    tool("", &["r/s", "kr/s"], SOLARIS),
    tool("", &["r/i", "kr/i"], SOLARIS),
    tool("", &["extended device statistics"], SOLARIS),
    tool("", &["extended disk statistics"], SOLARIS),
    tool(
        "",
        &["KB/t", "tps"],
        "is of iostat of macOS or a BSD; blkstat reads that of Linux: iostat -xt 1",
    ),
    tool(
        "",
        &["tm_act", "Kb_read"],
        "is of iostat of AIX; blkstat reads that of Linux: iostat -xt 1",
    ),
    tool(
        "device",
        &["bps", "sps", "msps"],
        "is of iostat of HP-UX; blkstat reads that of Linux: iostat -xt 1",
    ),
];

static OTHER_TOOLS: &[OtherTool] = &[
    tool(
        "Every ",
        &["s: "],
        "is the head of 'watch', which writes only what changes on the screen; capture with: \
         while sleep 1; do date +%s; cat /proc/diskstats; done",
    ),
    tool(
        "major",
        &["minor", "#blocks"],
        "is the head of /proc/partitions, which has no counters; capture /proc/diskstats",
    ),
    tool(
        "# hostname;",
        &[],
        "is the head of 'sadf' without disks; write them with: sadf -d FILE -- -d",
    ),
    tool("disk-", &["-reads-"], VMSTAT),
    tool("procs -", &["memory"], VMSTAT),
    tool("r  b", &["swpd", "free"], VMSTAT),
    tool("AAA,", &[], NMON),
    tool("ZZZZ,T", &[], NMON),
    tool("DISKBUSY,", &[], NMON),
    tool("", &["-total-cpu-usage-"], DSTAT),
    tool("", &["-dsk/"], DSTAT),
    tool("You did not select any stats", &[], DSTAT),
    tool("\"Dstat ", &[], DSTAT),
    tool("\"pcp-dstat", &[], DSTAT),
    tool("\"Dool ", &[], DSTAT),
    tool("waiting for ", &["second sample"], COLLECTL),
    tool("# DISK ", &["(/sec)"], COLLECTL),
    tool("#<", &["<-", "->"], COLLECTL),
    tool("#Date Time ", &["["], COLLECTL),
    tool("ATOP - ", &[], ATOP),
    tool("DSK ", &[" busy "], ATOP),
    tool("DSK ", &["/"], ATOP),
    tool("CPU | sys ", &[], ATOP),
    tool(
        "avg-cpu:",
        &[],
        "is of iostat without devices; write them with: iostat -xt 1",
    ),
    tool("# HELP ", &[], PROMETHEUS),
    tool("# TYPE ", &[], PROMETHEUS),
    tool("node_disk_", &[], PROMETHEUS),
    tool("diskio,", &["="], TELEGRAF),
    tool("", &["\"name\":\"diskio\""], TELEGRAF),
    tool("", &["%user", "%iowait"], SAR),
    tool("", &["rtps", "wtps"], SAR),
    tool("", &["pgpgin/s"], SAR),
    tool("", &["kbmemfree"], SAR),
    tool("", &["runq-sz"], SAR),
    tool("", &["IFACE", "rxpck/s"], SAR),
    tool("", &["proc/s", "cswch/s"], SAR),
    tool("", &["pswpin/s"], SAR),
    tool(
        "",
        &["kB_rd/s", "kB_wr/s"],
        "is of pidstat, which has no devices; write them with: iostat -xt 1",
    ),
    tool(
        "Total DISK READ",
        &[],
        "is of iotop, which has no devices; write them with: iostat -xt 1",
    ),
    tool(
        "capacity",
        &["operations", "bandwidth"],
        "is of zpool iostat; the disks below the pool are in: iostat -xt 1",
    ),
];
