//! Sentences about what is missing.

use crate::attribution::Attribution;
use crate::counters::ScanProblem;

/// Returns the reason for which cgroups are missing, with the remedy.
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

/// Returns the sentence about processes that this user may not read; `None` if there are none.
pub fn hidden_processes_text(attribution: &Attribution) -> Option<String> {
    let hidden = attribution.processes.as_ref()?.hidden;
    let plural = if hidden == 1 { "" } else { "es" };
    (hidden > 0).then(|| format!("the I/O of {hidden} process{plural} cannot be read: permission denied"))
}

/// Returns the sentences about an interval.
pub(super) fn interval_notes(attribution: Option<&Attribution>) -> Vec<String> {
    let Some(attribution) = attribution else {
        return vec!["no scan of cgroups and processes finished in this interval".to_owned()];
    };
    let mut notes = Vec::new();
    if attribution.skipped > 0 {
        let plural = if attribution.skipped == 1 { "" } else { "s" };
        notes.push(format!(
            "{} scan{plural} skipped to use no more than 5% of a CPU; the numbers are for {:.1} s",
            attribution.skipped, attribution.elapsed_s
        ));
    }
    match &attribution.processes {
        None => notes.push("processes are known from the next interval on".to_owned()),
        Some(processes) if processes.is_partial => {
            notes.push("too many processes: some are missing".to_owned());
        }
        Some(_) => {}
    }
    notes
}
