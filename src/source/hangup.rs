//! The signal that a process gets when its terminal is closed.

use std::path::Path;

use super::small_file::read_text;

/// Returns whether this process ignores SIGHUP, as one that `nohup` started does. `false` if that is not known.
pub fn ignores_hangup() -> bool {
    read_text(Path::new("/proc/self/status")).is_some_and(|status| has_hangup(&status))
}

/// Returns whether the ignored signals in a status file include SIGHUP: the lowest bit is signal 1
/// (proc_pid_status(5)).
fn has_hangup(status: &str) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lowest_bit_of_the_ignored_signals_is_hangup() {
        assert!(has_hangup("Name:\tblkstat\nSigIgn:\t0000000000001001\nSigCgt:\t0000000000000000\n"));
        assert!(!has_hangup("SigBlk:\t0000000000000001\nSigIgn:\t0000000000001000\n"));
        assert!(!has_hangup(""));
    }
}
