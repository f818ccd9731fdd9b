//! Compares blkstat with the recorded output of the real iostat on synthetic machines. `peers` records the output.

use tempfile::TempDir;

use super::runner::{run_ours, with_links};
use crate::iostat::case::Case;
use crate::iostat::machine::Machine;
use crate::iostat::{differences, layout, mask, recorded};
use crate::support::references::Outcome;
use crate::wait_for_turn;

/// Returns whether a device of the case is found only by its node, which a copy of a root does not have.
pub(crate) fn needs_nodes(case: &Case) -> bool {
    let by_node = [
        "./sda",
        "dev/sda",
        "fastdisk",
        "disk/by-label/data",
        "mapper/vg-root",
        "mapper/vg-home",
        "vg-home",
        "a-one",
        "/dev/mapper/vg-home",
        "/dev/mapper/thirteen--chr",
    ];
    let renamed = case.machine == "renamed" && case.arguments.contains(&"sda1".to_owned());
    renamed
        || case
            .arguments
            .iter()
            .any(|word| by_node.contains(&word.as_str()))
}

/// Masks the zone of a time with `+NNNN`, since a test cannot set the zone of its own process.
fn without_zones(text: &str) -> String {
    let mut masked = text.to_owned();
    for (at, _) in text.match_indices("TNN:NN:NN") {
        let zone = at + "TNN:NN:NN".len();
        masked.replace_range(zone..zone + 5, "+NNNN");
    }
    masked
}

/// Returns whether the devices are in directory order, which depends on the file system.
fn is_in_directory_order(case: &Case) -> bool {
    let operand = |word: &String| !word.starts_with('-') && word.parse::<u64>().is_err();
    // One operand is the name of the group.
    let named = case.arguments.iter().filter(|word| operand(word)).count() > 1;
    case.has_word("-g") && (!named || case.has('p') || case.arguments.contains(&"ALL".to_owned()))
}

/// Sorts the rows of each table by their text.
fn with_sorted_rows(text: &str) -> String {
    let mut sorted: Vec<String> = Vec::new();
    let (mut in_table, mut table) = (false, 0);
    for line in text.lines() {
        let is_row = line.contains("\"disk_device\"") || (in_table && !line.is_empty());
        in_table =
            !line.is_empty() && (in_table || line.split_whitespace().any(|word| word == "Device"));
        sorted.push(line.trim_end_matches(',').to_owned() + "\n");
        if is_row {
            sorted[table..].sort_unstable();
        } else {
            table = sorted.len();
        }
    }
    sorted.concat()
}

/// Returns the cases of a machine that differ.
fn find_mismatches(machine: &Machine, cases: &[(Case, Outcome)]) -> Vec<String> {
    let top = TempDir::new().unwrap();
    let machine = &with_links(machine);
    layout::write_steps(machine, top.path(), &|path, _| std::fs::write(path, ""));
    let only = std::env::var("BLKSTAT_PEERS_ONLY").unwrap_or_default();
    let mut mismatches = Vec::new();
    for (case, theirs) in cases
        .iter()
        .filter(|(case, _)| case.machine == machine.name)
    {
        if needs_nodes(case) || !format!("{} {}", machine.name, case.line).contains(&only) {
            continue;
        }
        let mut ours = run_ours(case, machine, top.path());
        ours.stdout = without_zones(&mask::machine(&mask::times(&ours.stdout)));
        let mut theirs = Outcome {
            stdout: without_zones(&theirs.stdout),
            status: theirs.status,
        };
        if is_in_directory_order(case) {
            (theirs.stdout, ours.stdout) = (
                with_sorted_rows(&theirs.stdout),
                with_sorted_rows(&ours.stdout),
            );
        }
        mismatches.extend(differences::mismatch(
            case,
            machine,
            recorded::VERSION,
            &theirs,
            &ours,
        ));
    }
    mismatches
}

#[test]
fn blkstat_prints_what_the_real_iostat_printed() {
    let _turn = wait_for_turn();
    let (machines, cases) = recorded::all();
    let found: Vec<String> = std::thread::scope(|scope| {
        let checks: Vec<_> = machines
            .values()
            .map(|machine| scope.spawn(|| find_mismatches(machine, &cases)))
            .collect();
        checks
            .into_iter()
            .flat_map(|check| check.join().unwrap())
            .collect()
    });
    assert!(
        found.is_empty(),
        "{} cases differ (- iostat, + blkstat):\n{}",
        found.len(),
        found.concat()
    );
}

#[test]
fn every_allowed_difference_applies_to_a_case() {
    let (machines, cases) = recorded::all();
    for difference in differences::DIFFERENCES {
        let applies =
            |(case, _): &(Case, Outcome)| (difference.applies)(case, &machines[&case.machine]);
        assert!(
            cases.iter().any(applies),
            "no case for: {}",
            difference.reason
        );
    }
}
