//! Logs of the real iostat, read as captures, have the rates of the counters that iostat read.

use serde_json::Value;

use super::real_iostat;
use super::sandbox::Sandbox;
use crate::iostat::case::Case;
use crate::iostat::machine::Machine;
use crate::support::program::output;
use crate::wait_for_turn;

/// A machine under load: each step lasts a second.
const MACHINE: &str = "\
step 5000.00
cpu 41230 1200 15000 780000 9000 0 2300 410 0 0
disk 8:0 sda 52000 1200 3120000 41000 31000 9100 1980000 67000 0 88000 109000 420 12 81920 900 3100 1100
disk 259:0 nvme0n1 910000 31 72800000 182000 640000 77000 99200000 512000 3 401000 694000 2100 0 16800000 4200 61000 2440
step +1.00
add sda 150 7 8000 300 60 5 960 480 2 640 790 3 0 4096 30 2 8
add nvme0n1 90000 0 720000 7200 1000 0 64000 4000 1 1000 11200 0 0 0 0 5 5
step +1.00
add sda 0 0 0 0 1 0 8 25 0 20 25 0 0 0 0 1 17
add nvme0n1 1 0 8 0 0 0 0 0 0 0 0 0 0 0 0 0 0
step +1.00
step +1.00
add sda 40 0 320 4000 40 0 320 2000 9 990 6000 0 0 0 0 0 0
add nvme0n1 12345 67 891011 1213 141 5 1617 1819 0 202 3032 1 0 8 1 7 3
";

/// The columns of the output, with those of /proc/diskstats that they are a rate of, and the size of their unit. A name
/// that stands twice is a quotient.
const RATES: [(&str, usize, f64); 9] = [
    ("reads_per_s", 0, 1.0),
    ("read_merges_per_s", 1, 1.0),
    ("read_kib_per_s", 2, 0.5),
    ("writes_per_s", 4, 1.0),
    ("write_merges_per_s", 5, 1.0),
    ("write_kib_per_s", 6, 0.5),
    ("util_pct", 9, 0.1),
    ("discards_per_s", 11, 1.0),
    ("flushes_per_s", 15, 1.0),
];
const LATENCIES: [(&str, usize, usize); 4] = [
    ("read_await_ms", 3, 0),
    ("write_await_ms", 7, 4),
    ("discard_await_ms", 14, 11),
    ("flush_await_ms", 16, 15),
];

/// Returns the first value that differs by more than rounding; `None` if there is none.
fn difference(machine: &Machine, log: &str, is_coarse: bool) -> Option<String> {
    let (out, err, _) = output("--json --all --from -", log);
    let lines: Vec<Value> = out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    if lines.len() != 2 * (machine.steps.len() - 1) {
        return Some(format!("{} lines; {err}", lines.len()));
    }
    for (at, line) in lines.iter().enumerate() {
        let name = line["device"].as_str().unwrap();
        let [before, after] = [0, 1].map(|after| machine.step(at / 2 + after).counters(name).unwrap());
        let grown = |column: usize| (after[column] - before[column]) as f64;
        let rate = |(column, of, unit): &(&'static str, usize, f64)| {
            let tolerance = if !is_coarse { 0.51 } else { 0.01 * grown(*of) * unit + 5.3 };
            (*column, Some(grown(*of) * unit), tolerance)
        };
        let latency = |(column, ms, ios): &(&'static str, usize, usize)| {
            (
                *column,
                Some(grown(*ms) / grown(*ios)).filter(|mean| mean.is_finite()),
                0.01 + 0.5 / grown(*ios),
            )
        };
        for (column, expected, tolerance) in RATES.iter().map(rate).chain(LATENCIES.iter().map(latency)) {
            let found = line[column].as_f64();
            let is_near = match (found, expected) {
                (Some(found), Some(expected)) => (found - expected).abs() <= tolerance,
                _ => found == expected,
            };
            if !is_near {
                return Some(format!("{name} {at} {column}: {found:?}, not {expected:?}"));
            }
        }
    }
    None
}

#[test]
fn logs_of_iostat_have_the_rates_of_the_counters() {
    const MAX_ATTEMPTS: usize = 30;
    let _turn = wait_for_turn();
    if real_iostat().is_none() {
        return;
    }
    let machine = Machine::parse("logged", MACHINE);
    let lines = ["-x @", "-xt @", "-dx @", "-xm @", "-xh @", "-x -o JSON @", "-xt -o JSON @"];
    let cases: Vec<Case> =
        lines.iter().map(|line| Case::parse("logged", "", machine.steps.len(), line)).collect();
    let mut found = vec!["this computer is too busy to keep the time".to_owned()];
    for _ in 0..MAX_ATTEMPTS {
        let Some(outcomes) = Sandbox::new(&machine).unwrap().run(&cases, &[&["iostat"]]) else { continue };
        let logs = cases.iter().zip(outcomes);
        found = logs
            .filter_map(|(case, outcomes)| {
                let is_coarse = case.line.contains(['m', 'h']);
                let log = &outcomes[0].stdout;
                Some(format!("{}: {}\n{log}", case.line, difference(&machine, log, is_coarse)?))
            })
            .collect();
        // A sample may have been on the wrong side of a step.
        if found.is_empty() {
            return;
        }
    }
    panic!("{}", found.concat());
}
