//! What `who` says beside its numbers.

use super::WhoInterval;
use crate::attribution::Attribution;
use crate::counters::ScanProblem;
use crate::report::layout::sentence_numbers::counted;

/// Returns the reason why cgroups are missing, with the remedy.
pub fn problem_text(problem: ScanProblem) -> &'static str {
    match problem {
        ScanProblem::NoHierarchy => {
            "no cgroups: neither cgroup2 nor the blkio controller of version 1 is mounted"
        }
        ScanProblem::ControllerOff => {
            "no cgroups: their I/O is not counted; \
             'systemctl set-property UNIT IOAccounting=yes' enables that for a unit"
        }
        ScanProblem::TooManyCgroups => "too many cgroups: some are missing",
        ScanProblem::NotPermitted => "some cgroups cannot be read by this user; run as root",
    }
}

/// The number of processes that root may not read from which that is said.
const MIN_DENIED: u64 = 10;

/// Returns the sentence about processes whose I/O is hidden from this user, or was from the one who made the recording;
/// `None` if there are none.
pub fn hidden_processes_text(
    attribution: &Attribution,
    is_live: bool,
    may_read_all: bool,
) -> Option<String> {
    let hidden = attribution.processes()?.hidden;
    let processes = counted(hidden, "process");
    let reason = match (is_live, may_read_all) {
        (true, false) => {
            "cannot be read: permission denied (needs root, or CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE)"
        }
        // One or two protected services are no news.
        (true, true) if hidden < MIN_DENIED => return None,
        (true, true) => "cannot be read even by root: a security policy denies it",
        (false, _) => "is not in this recording: permission was denied",
    };
    if hidden == 0 {
        return None;
    }
    Some(format!("the I/O of {processes} {reason}"))
}

/// Returns the sentence about a read of a process that hangs; `None` if none does.
pub fn hung_read_text(attribution: &Attribution) -> Option<String> {
    let hung = attribution.hung_read?;
    Some(format!(
        "processes not read for {} s: /proc/{}/io does not answer",
        hung.elapsed.as_secs(),
        hung.pid
    ))
}

/// Returns the sentence about scans that were skipped; `None` if none were.
pub fn skipped_scans_text(skipped: u64) -> Option<String> {
    if skipped == 0 {
        return None;
    }
    let scans = counted(skipped, "scan");
    Some(format!(
        "{scans} of cgroups and processes skipped to use no more than 5% of a CPU"
    ))
}

/// Returns the sentences about an interval.
pub(super) fn interval_notes(interval: &WhoInterval<'_>) -> Vec<String> {
    let Some(attribution) = interval.attribution else {
        return vec!["cgroups and processes were not read in this interval".to_owned()];
    };
    let mut notes = Vec::new();
    if let Some(text) = skipped_scans_text(attribution.skipped) {
        notes.push(format!(
            "{text}; the numbers are for {:.1} s",
            attribution.elapsed_s
        ));
    }
    notes.extend(hung_read_text(attribution));
    match attribution.processes() {
        None if attribution.hung_read.is_some() => {}
        None => notes.push("processes are known once they were read twice".to_owned()),
        Some(processes) if processes.is_partial => {
            notes.push("too many processes: some are missing".to_owned());
        }
        Some(_) => {}
    }
    notes
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::counters::HungRead;
    use crate::intervals::IntervalHeader;

    #[test]
    fn an_interval_says_what_was_skipped_or_does_not_answer() {
        let elapsed = Duration::from_millis(12_700);
        let mut attribution = Attribution {
            skipped: 2,
            elapsed_s: 3.0,
            ..Attribution::default()
        };
        attribution.hung_read = Some(HungRead { pid: 4711, elapsed });
        let header = IntervalHeader {
            elapsed_s: 1.0,
            ..IntervalHeader::default()
        };
        let mut interval = WhoInterval {
            header: &header,
            attribution: Some(&attribution),
            devices: Vec::new(),
            sort: "MiB/s",
            top: 10,
        };
        let skipped = "2 scans of cgroups and processes skipped to use no more than 5% of a CPU; the numbers are for 3.0 s";
        let hung = "processes not read for 12 s: /proc/4711/io does not answer";
        assert_eq!(interval_notes(&interval), [skipped, hung]);
        let answering = Attribution {
            hung_read: None,
            ..attribution.clone()
        };
        interval.attribution = Some(&answering);
        let next = "processes are known once they were read twice";
        assert_eq!(interval_notes(&interval), [skipped, next]);
        interval.attribution = None;
        assert_eq!(
            interval_notes(&interval),
            ["cgroups and processes were not read in this interval"]
        );
    }
}
