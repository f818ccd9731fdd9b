//! Files that look like captures but are not, recognized by one of their lines.

use crate::capture::diskstats_line::device_line_start;

/// Returns what a line is, and what to do; `None` if it does not show why there are no samples.
pub(super) fn look_alike(line: &str) -> Option<&'static str> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let is_number = |word: &&&str| word.bytes().all(|byte| byte.is_ascii_digit());
    let numbers = words.iter().rev().take_while(is_number).count();
    let name = words.iter().rev().nth(numbers).filter(|name| name.starts_with(char::is_alphabetic));
    let is_named = name.is_some_and(|name| *name != "softirq") && device_line_start(line, 0).is_none();
    if line.starts_with("Every ") && line.contains("s: ") {
        Some(
            "is the head of 'watch', which writes only what changes on the screen; capture with: \
             while sleep 1; do date +%s; cat /proc/diskstats; done",
        )
    } else if words.starts_with(&["major", "minor", "#blocks"]) {
        Some("is the head of /proc/partitions, which has no counters; capture /proc/diskstats")
    } else if line.starts_with("# hostname;") {
        Some("is the head of 'sadf' without disks; write them with: sadf -d FILE -- -d")
    } else if line.matches([',', ';']).count() >= 3 {
        Some("has columns with commas or semicolons; blkstat reads lines of /proc/diskstats, with blanks")
    } else if is_named && matches!(numbers, 11 | 15 | 17) {
        Some("lacks the two numbers before the name of a device; write two, such as '0 0', before each name")
    } else {
        None
    }
}
