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
    /// The name of these lines among those of the machine; empty if it has no others.
    pub(crate) group: &'static str,
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
    let everywhere = |machine: &'static str, group| Lines { machine, group, lines: EVERYWHERE };
    for name in names {
        let own = || special.iter().copied().filter(|lines| lines.machine == name);
        let is_grouped = own().any(|lines| !lines.group.is_empty());
        let common = everywhere(name, if is_grouped { "everywhere" } else { "" });
        for lines in (!IMPOSSIBLE.contains(&name)).then_some(&common).into_iter().chain(own()) {
            for line in lines.lines {
                let case = Case::parse(name, lines.group, machines[name].steps.len(), line);
                if !cases.iter().any(|known| known.machine == name && known.line == case.line) {
                    cases.push(case);
                }
            }
        }
    }
    (machines, cases)
}
