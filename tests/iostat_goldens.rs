//! What the real iostat printed on invented machines, printed again by blkstat: in this process, without root and
//! without waiting. `tests/peers` records it.

#![allow(clippy::disallowed_methods)] // The fixtures are real files.

#[cfg(test)]
mod support;

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};
    use std::ffi::OsString;
    use std::path::Path;
    use std::process::ExitCode;
    use std::time::Duration;

    use blkstat::clock::{Clock, WaitOutcome};
    use blkstat::exit::Exit;
    use blkstat::run::{RunContext, run};
    use jiff::Timestamp;
    use tempfile::TempDir;

    use crate::support::case::{Case, End};
    use crate::support::layout;
    use crate::support::machine::Machine;
    use crate::support::outcomes::Outcome;
    use crate::support::{differences, mask, recorded, table};

    /// No case asks for more seconds; a run that goes on is wrong and is stopped.
    const TOO_LONG: Duration = Duration::from_secs(100);

    /// A clock that stands still but when it is waited on; the machine then goes to the step of that time.
    struct StepClock<'a> {
        now: Cell<Duration>,
        top: &'a Path,
        steps: u64,
        end: End,
        shown: RefCell<u64>,
    }

    impl StepClock<'_> {
        /// As the peers see it, a step stands from half a second before its time.
        fn show(&self, step: u64) {
            let step = step.min(self.steps - 1);
            if self.shown.replace(step) != step {
                layout::show(self.top, usize::try_from(step).unwrap());
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
                _ if deadline > TOO_LONG => WaitOutcome::Signal(9),
                _ => {
                    self.now.set(deadline.max(self.now.get()));
                    self.show((deadline + Duration::from_millis(500)).as_secs());
                    WaitOutcome::Due
                }
            }
        }
    }

    fn ours(case: &Case, machine: &Machine, top: &Path) -> Outcome {
        layout::show(top, 0);
        let arguments = ["iostat".into(), "--root".into(), top.join("current").into_os_string()].into_iter();
        let arguments = arguments.chain(case.arguments_at(top).into_iter().map(OsString::from));
        let variable = |name: &str| {
            case.environment.iter().find(|(known, _)| known == name).map(|(_, value)| value.into())
        };
        let clock = StepClock {
            now: Cell::default(),
            top,
            steps: machine.steps.len() as u64,
            end: case.end,
            shown: RefCell::new(0),
        };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let exit = match blkstat::cli::plan(arguments, &variable) {
            Ok(plan) => run(
                &plan,
                &mut RunContext { clock: &clock, out: &mut out, err: &mut err, is_terminal: false },
            ),
            Err(refusal) => {
                if refusal.exit == Exit::Success {
                    out = refusal.message.into_bytes();
                }
                refusal.exit
            }
        };
        Outcome { stdout: String::from_utf8(out).unwrap(), status: status(exit) }
    }

    /// The number that a shell sees.
    fn status(exit: Exit) -> i32 {
        let is_it = |number: &u8| ExitCode::from(exit) == ExitCode::from(*number);
        i32::from((0..=u8::MAX).find(is_it).unwrap())
    }

    /// A device that only its node tells: a copy of a root has none.
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

    /// The text with `+NNNN` for the zone of a time: a test cannot choose the zone of its own process.
    fn without_zones(text: &str) -> String {
        let mut masked = text.to_owned();
        for (at, _) in text.match_indices("TNN:NN:NN") {
            let zone = at + "TNN:NN:NN".len();
            masked.replace_range(zone..zone + 5, "+NNNN");
        }
        masked
    }

    /// The machine with links for all mapped names: an empty file does not tell which device it is.
    fn with_links(machine: &Machine) -> Machine {
        let mut machine = machine.clone();
        machine.steps.iter_mut().flat_map(|step| &mut step.mapped).for_each(|mapped| mapped.is_link = true);
        machine
    }

    /// Whether devices come in the order in which a folder lists them, which is the file system's affair.
    fn is_in_folder_order(case: &Case) -> bool {
        let operand = |word: &String| !word.starts_with('-') && word.parse::<u64>().is_err();
        // One operand is the group's name.
        let named = case.arguments.iter().filter(|word| operand(word)).count() > 1;
        case.has_word("-g") && (!named || case.has('p') || case.arguments.contains(&"ALL".to_owned()))
    }

    /// The text with the rows of each table in the order of their text.
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

    /// What is wrong with the cases of a machine.
    fn check(machine: &Machine) -> Vec<String> {
        let top = TempDir::new().unwrap();
        let machine = &with_links(machine);
        layout::lay(machine, top.path(), &|path, _| std::fs::write(path, ""));
        let only = std::env::var("BLKSTAT_PEERS_ONLY").unwrap_or_default();
        let mut found = Vec::new();
        for (line, theirs) in recorded::read(&machine.name) {
            let case = Case::parse(&machine.name, machine.steps.len(), &line);
            if needs_nodes(&case) || !format!("{} {line}", machine.name).contains(&only) {
                continue;
            }
            let mut ours = ours(&case, machine, top.path());
            ours.stdout = without_zones(&mask::machine(&mask::times(&ours.stdout)));
            let mut theirs = Outcome { stdout: without_zones(&theirs.stdout), ..theirs };
            if is_in_folder_order(&case) {
                (theirs.stdout, ours.stdout) =
                    (with_sorted_rows(&theirs.stdout), with_sorted_rows(&ours.stdout));
            }
            found.extend(differences::mismatch(&case, machine, &theirs, &ours));
        }
        found
    }

    #[test]
    fn blkstat_prints_what_the_real_iostat_printed() {
        let (machines, _) = table::all();
        let found: Vec<String> = std::thread::scope(|scope| {
            let checks: Vec<_> = machines.values().map(|machine| scope.spawn(|| check(machine))).collect();
            checks.into_iter().flat_map(|check| check.join().unwrap()).collect()
        });
        assert!(found.is_empty(), "{} cases differ (- iostat, + blkstat):\n{}", found.len(), found.concat());
    }

    #[test]
    fn every_allowed_difference_is_one_of_a_case() {
        let (machines, cases) = table::all();
        for difference in differences::DIFFERENCES {
            let applies = |case: &Case| (difference.applies)(case, &machines[&case.machine]);
            assert!(cases.iter().any(applies), "no case for: {}", difference.reason);
        }
    }

    #[test]
    fn every_case_of_the_table_is_recorded() {
        let (machines, cases) = table::all();
        for name in machines.keys() {
            let recorded: Vec<String> = recorded::read(name).into_iter().map(|(line, _)| line).collect();
            let table: Vec<&str> =
                cases.iter().filter(|case| case.machine == *name).map(|case| case.line.as_str()).collect();
            assert_eq!(recorded, table, "record {name} anew with BLKSTAT_RECORD=1 cargo test --test peers");
        }
    }
}
