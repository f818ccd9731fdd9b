//! Compares blkstat with the recorded output of the real iostat on synthetic machines: in this process, without root
//! and without waiting. `peers` records the output.

use std::cell::Cell;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use blkstat::clock::{Clock, WaitOutcome};
use blkstat::exit::Exit;
use jiff::Timestamp;
use tempfile::TempDir;

use crate::iostat::case::{Case, End};
use crate::iostat::layout;
use crate::iostat::machine::Machine;
use crate::iostat::rows::{self, Row};
use crate::iostat::{differences, mask, recorded, table};
use crate::support::in_process::in_process;
use crate::support::references::Outcome;
use crate::wait_for_turn;

/// No case takes longer; a run that does is stopped.
const MAX_RUN: Duration = Duration::from_secs(100);

/// A clock that advances only when it is waited on. The machine then advances to the step of that time.
struct StepClock<'a> {
    now: Cell<Duration>,
    top: &'a Path,
    steps: u64,
    end: End,
    shown: Cell<u64>,
}

impl StepClock<'_> {
    /// Shows a step, the last one at most. As in the peers tests, a step begins half a second before its time.
    fn show(&self, step: u64) {
        let step = step.min(self.steps - 1);
        if self.shown.replace(step) != step {
            layout::switch_to(self.top, usize::try_from(step).unwrap());
        }
    }
}

impl Clock for StepClock<'_> {
    fn monotonic(&self) -> Duration {
        self.now.get()
    }

    fn wall(&self) -> Timestamp {
        Timestamp::from_second(1_790_000_000).unwrap()
    }

    fn wait_until(&self, deadline: Duration) -> WaitOutcome {
        match self.end {
            End::Signal(name) if deadline >= Duration::from_secs(self.steps) => {
                WaitOutcome::Signal(if name == "INT" { 2 } else { 15 })
            }
            _ if deadline > MAX_RUN => WaitOutcome::Signal(9),
            _ => {
                self.now.set(deadline.max(self.now.get()));
                self.show((deadline + Duration::from_millis(500)).as_secs());
                WaitOutcome::Due
            }
        }
    }
}

/// Runs blkstat.
fn run_ours(case: &Case, machine: &Machine, top: &Path) -> Outcome {
    layout::switch_to(top, 0);
    let clock = StepClock {
        now: Cell::default(),
        top,
        steps: machine.steps.len() as u64,
        end: case.end,
        shown: Cell::new(0),
    };
    let mut iostat = in_process("iostat").root(&top.join("current")).args(case.arguments_at(top));
    for (name, value) in &case.environment {
        iostat = iostat.env(name, value);
    }
    let (stdout, _, exit) = iostat.run(&clock);
    Outcome { stdout, status: status(exit) }
}

/// Returns the exit status as a number.
fn status(exit: Exit) -> i32 {
    let is_equal = |number: &u8| ExitCode::from(exit) == ExitCode::from(*number);
    i32::from((0..=u8::MAX).find(is_equal).unwrap())
}

/// Returns whether a device of the case is found only by its node, which a copy of a root does not have.
fn needs_nodes(case: &Case) -> bool {
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
    renamed || case.arguments.iter().any(|word| by_node.contains(&word.as_str()))
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

/// Replaces the nodes of mapped names by links, because a regular file does not have a device number.
fn with_links(machine: &Machine) -> Machine {
    let mut machine = machine.clone();
    machine.steps.iter_mut().flat_map(|step| &mut step.mapped).for_each(|mapped| mapped.is_link = true);
    machine
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
        in_table = !line.is_empty() && (in_table || line.split_whitespace().any(|word| word == "Device"));
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
fn find_mismatches(machine: &Machine) -> Vec<String> {
    let top = TempDir::new().unwrap();
    let machine = &with_links(machine);
    layout::write_steps(machine, top.path(), &|path, _| std::fs::write(path, ""));
    let only = std::env::var("BLKSTAT_PEERS_ONLY").unwrap_or_default();
    let mut mismatches = Vec::new();
    for (line, theirs) in recorded::read_machine(&machine.name) {
        let case = Case::parse(&machine.name, "", machine.steps.len(), &line);
        if needs_nodes(&case) || !format!("{} {line}", machine.name).contains(&only) {
            continue;
        }
        let mut ours = run_ours(&case, machine, top.path());
        ours.stdout = without_zones(&mask::machine(&mask::times(&ours.stdout)));
        let mut theirs = Outcome { stdout: without_zones(&theirs.stdout), ..theirs };
        if is_in_directory_order(&case) {
            (theirs.stdout, ours.stdout) = (with_sorted_rows(&theirs.stdout), with_sorted_rows(&ours.stdout));
        }
        mismatches.extend(differences::mismatch(&case, machine, &theirs, &ours));
    }
    mismatches
}

#[test]
fn blkstat_prints_what_the_real_iostat_printed() {
    let _turn = wait_for_turn();
    let (machines, _) = table::all();
    let found: Vec<String> = std::thread::scope(|scope| {
        let checks: Vec<_> =
            machines.values().map(|machine| scope.spawn(|| find_mismatches(machine))).collect();
        checks.into_iter().flat_map(|check| check.join().unwrap()).collect()
    });
    assert!(found.is_empty(), "{} cases differ (- iostat, + blkstat):\n{}", found.len(), found.concat());
}

/// Returns the output of blkstat for a line on the mixed machine, and the recorded output of iostat for another line,
/// both without the heading.
fn outputs(ours: &str, recorded_line: &str) -> (String, String) {
    let machine = with_links(&Machine::load("mixed"));
    let top = TempDir::new().unwrap();
    layout::write_steps(&machine, top.path(), &|path, _| std::fs::write(path, ""));
    let ours = run_ours(&Case::parse("mixed", "", machine.steps.len(), ours), &machine, top.path()).stdout;
    let recorded = recorded::read_machine("mixed").into_iter().find(|(line, _)| line == recorded_line);
    let theirs = recorded.unwrap().1.stdout;
    let is_kept = |line: &&str| !line.starts_with("Linux ") && !line.contains("\"date\"");
    let without_heading = |text: &str| text.split_inclusive('\n').filter(is_kept).collect();
    (without_heading(&mask::machine(&ours)), without_heading(&theirs))
}

#[test]
fn an_interval_with_a_fraction_gives_the_reports_of_a_whole_one() {
    for (ours, line) in [("-d 1.0 4", "-d @"), ("-x 1.0 4", "-x @"), ("-xs -o JSON 1.0 4", "-xs -o JSON @")] {
        let (ours, theirs) = outputs(ours, line);
        assert_eq!(ours, theirs, "{line}");
    }
}

#[test]
fn rates_are_per_second_of_an_interval_with_a_fraction() {
    // The reports end with the same samples, 2.5 and 3 seconds after the first one.
    let (mut ours, mut theirs) = outputs("2.5 2", "3 2");
    let mut compared = 0;
    rows::change(&mut theirs, &mut ours, |row| {
        if row.name == "Device" {
            return false;
        }
        for (title, (theirs, ours)) in row.titles.iter().zip(row.theirs.iter().zip(row.ours.iter())) {
            let is_rate = row.report == 1 && (title == "tps" || title.ends_with("/s"));
            let factor = if is_rate { 3.0 / 2.5 } else { 1.0 };
            assert_close(ours, number(theirs) * factor, 0.012, row, title);
            compared += usize::from(is_rate && number(theirs) > 1.0);
        }
        false
    });
    assert!(compared > 0);
}

#[test]
fn u_prints_the_time_of_t_in_seconds_since_the_epoch() {
    for (ours, line) in [("-dtU @", "-dt @"), ("-U -dt -o JSON @", "-dt -o JSON @"), ("-U @", "@")] {
        let (ours, theirs) = outputs(ours, line);
        assert_eq!(theirs.contains("NN:NN"), line.contains('t'), "{line}");
        assert_eq!(ours, theirs.replace("NN/NN/NN NN:NN:NN", "1790000000"), "{line}");
    }
}

#[test]
fn g_prints_the_numbers_of_k_in_gibibytes() {
    for (ours, line) in [
        ("-Gd @", "-d @"),
        ("-Gx @", "-kx @"),
        ("-Gs @", "-ks @"),
        ("-G -o JSON @", "-o JSON @"),
        ("-xG -o JSON @", "-x -o JSON @"),
        ("-dG -g G sda nvme0n1 -o JSON @", "-d -g G sda nvme0n1 -o JSON @"),
    ] {
        let (mut ours, mut theirs) = outputs(ours, line);
        assert!(ours.contains("GB") && !ours.contains("kB"), "{line}: {ours}");
        let mut converted = 0;
        rows::change(&mut theirs, &mut ours, |row| {
            if row.name == "Device" {
                return false;
            }
            for (title, (theirs, ours)) in row.titles.iter().zip(row.theirs.iter().zip(row.ours.iter())) {
                if title.contains("kB") {
                    let tolerance = if ours.contains('.') { 0.0051 } else { 1.0 };
                    assert_close(ours, number(theirs) / 1_048_576.0, tolerance, row, title);
                    converted += usize::from(number(ours) > 0.0);
                } else if !(row.name.starts_with(' ') && title == "util") {
                    assert_eq!(ours, theirs, "{}: {title}", row.name);
                }
            }
            false
        });
        assert!(converted > 0, "{line}");
    }
}

fn number(cell: &str) -> f64 {
    cell.parse().unwrap()
}

fn assert_close(cell: &str, expected: f64, tolerance: f64, row: &Row<'_>, title: &str) {
    let difference = (number(cell) - expected).abs();
    assert!(difference <= tolerance, "{}: {title}: {cell}, expected {expected}", row.name);
}

#[test]
fn every_allowed_difference_applies_to_a_case() {
    let (machines, cases) = table::all();
    for difference in differences::DIFFERENCES {
        let applies = |case: &Case| (difference.applies)(case, &machines[&case.machine]);
        assert!(cases.iter().any(applies), "no case for: {}", difference.reason);
    }
}

#[test]
fn every_case_of_the_table_is_recorded() {
    let (_, cases) = table::all();
    let mut files: Vec<String> = cases.iter().map(|case| case.file.clone()).collect();
    files.sort_unstable();
    files.dedup();
    let again = "record it with BLKSTAT_RECORD=1 cargo test --test replicas recorded_on_request";
    assert_eq!(recorded::files(), files, "{again}");
    for file in &files {
        let recorded: Vec<String> = recorded::read(file).into_iter().map(|(line, _)| line).collect();
        let of_file = cases.iter().filter(|case| case.file == *file);
        let table: Vec<&str> = of_file.map(|case| case.line.as_str()).collect();
        assert_eq!(recorded, table, "{file}: {again}");
    }
}
