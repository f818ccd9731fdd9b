//! All cases: the command lines that are run on each machine, as [`Case::parse`] reads them.

use std::collections::BTreeMap;

use super::case::Case;
use super::machine::Machine;

/// Run on every possible machine.
const EVERYWHERE: &[&str] = &[
    "",
    "@",
    "-x @",
    "-y @",
    "-z @",
    "-d @",
    "-d -s @",
    "-x -s @",
    "-x -z @",
    "-d -m @",
    "-d -x -m -t @",
    "-d ALL @",
    "-dx ALL @",
    "-d -p @",
    "-dx -p @",
    "-d -p ALL @",
    "-dx -p ALL @",
    "-d --human @",
    "-dh @",
    "-xh @",
    "-dx --dec=0 @",
    "-d --dec=1 @",
    "-dxs --dec=1 --human @",
    "-d -o JSON @",
    "-x -o JSON @",
    "-d -N @",
    "-d -g all ALL @",
    "-dx -H -g all @",
    "POSIXLY_CORRECT=1 -d @",
    "POSIXLY_CORRECT=1 -x @",
    "S_COLORS=always -d @",
    "-d -f @CURRENT@/flat @",
];

/// Impossible machines, on which only their own lines are run.
const IMPOSSIBLE: &[&str] = &["backwards", "junk", "renamed"];

/// The command lines of one machine.
pub(crate) struct Lines {
    pub(crate) machine: &'static str,
    pub(crate) lines: &'static [&'static str],
}

/// Returns every machine by name, and every case.
pub(crate) fn all() -> (BTreeMap<String, Machine>, Vec<Case>) {
    let special: Vec<&Lines> =
        super::options::LINES.iter().chain(super::usage::LINES).chain(super::special::LINES).collect();
    let mut names: Vec<&str> = special.iter().map(|lines| lines.machine).collect();
    names.sort_unstable();
    names.dedup();
    let machines: BTreeMap<String, Machine> =
        names.iter().map(|name| ((*name).to_owned(), Machine::load(name))).collect();
    let mut cases: Vec<Case> = Vec::new();
    for machine in machines.values() {
        let own = special.iter().filter(|lines| lines.machine == machine.name).flat_map(|lines| lines.lines);
        let everywhere = if IMPOSSIBLE.contains(&machine.name.as_str()) { &[] } else { EVERYWHERE };
        for line in everywhere.iter().chain(own) {
            let case = Case::parse(&machine.name, machine.steps.len(), line);
            if !cases.contains(&case) {
                cases.push(case);
            }
        }
    }
    (machines, cases)
}
