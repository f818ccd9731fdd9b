//! Sentences about missing data.

use super::WhoInterval;
use crate::attribution::Attribution;
use crate::counters::ScanProblem;

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

/// The circumstances in which the I/O of processes could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HiddenFrom {
    /// A user without the necessary capabilities.
    User,
    /// A user with these capabilities.
    PrivilegedUser,
    /// The user who made the recording.
    Recorder,
}

/// Returns the sentence about processes whose I/O is hidden; `None` if there are none.
pub fn hidden_processes_text(attribution: &Attribution, from: HiddenFrom) -> Option<String> {
    let hidden = attribution.processes.as_ref()?.hidden;
    let plural = if hidden == 1 { "" } else { "es" };
    let reason = match from {
        HiddenFrom::User => {
            "cannot be read: permission denied (needs root, or CAP_DAC_READ_SEARCH and CAP_SYS_PTRACE)"
        }
        HiddenFrom::PrivilegedUser => "cannot be read even by root: a security policy denies it",
        HiddenFrom::Recorder => "is not in this recording: permission was denied",
    };
    (hidden > 0).then(|| format!("the I/O of {hidden} process{plural} {reason}"))
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
    let plural = if skipped == 1 { "" } else { "s" };
    let text =
        || format!("{skipped} scan{plural} of cgroups and processes skipped to use no more than 5% of a CPU");
    (skipped > 0).then(text)
}

/// Returns the sentences about an interval.
pub(super) fn interval_notes(interval: &WhoInterval<'_>) -> Vec<String> {
    let Some(attribution) = interval.attribution else {
        return vec![format!("cgroups and processes not read for {:.1} s", interval.unread_s)];
    };
    let mut notes = Vec::new();
    if let Some(text) = skipped_scans_text(attribution.skipped) {
        notes.push(format!("{text}; the numbers are for {:.1} s", attribution.elapsed_s));
    }
    notes.extend(hung_read_text(attribution));
    match &attribution.processes {
        // Threads are shown instead of processes.
        _ if interval.threads.is_some() => {}
        None if attribution.hung_read.is_some() => {}
        None => notes.push("processes are known from the next interval on".to_owned()),
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
        let mut attribution = Attribution { skipped: 2, elapsed_s: 3.0, ..Attribution::default() };
        attribution.hung_read = Some(HungRead { pid: 4711, elapsed });
        let header = IntervalHeader { elapsed_s: 1.0, ..IntervalHeader::default() };
        let mut interval = WhoInterval {
            header: &header,
            attribution: Some(&attribution),
            unread_s: 12.0,
            devices: Vec::new(),
            processes: Vec::new(),
            threads: None,
        };
        let skipped = "2 scans of cgroups and processes skipped to use no more than 5% of a CPU; the numbers are for 3.0 s";
        let hung = "processes not read for 12 s: /proc/4711/io does not answer";
        assert_eq!(interval_notes(&interval), [skipped, hung]);
        let answering = Attribution { hung_read: None, ..attribution.clone() };
        interval.attribution = Some(&answering);
        let next = "processes are known from the next interval on";
        assert_eq!(interval_notes(&interval), [skipped, next]);
        interval.threads = Some((Vec::new(), 1.0));
        assert_eq!(interval_notes(&interval), [skipped]);
        interval.attribution = None;
        assert_eq!(interval_notes(&interval), ["cgroups and processes not read for 12.0 s"]);
    }
}
