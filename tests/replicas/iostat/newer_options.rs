//! Options that the packaged iostat does not have or understands differently, against its output for similar ones: `-G`,
//! `-U` and intervals with a fraction.

use tempfile::TempDir;

use super::runner::{run_ours, with_links};
use crate::iostat::case::Case;
use crate::iostat::machine::Machine;
use crate::iostat::rows::{self, Row};
use crate::iostat::{layout, mask, recorded};

/// Returns the output of blkstat for a line on the mixed machine, and the recorded output of iostat for another line,
/// both without the heading.
fn outputs(ours: &str, recorded_line: &str) -> (String, String) {
    let machine = with_links(&Machine::load("mixed"));
    let top = TempDir::new().unwrap();
    layout::write_steps(&machine, top.path(), &|path, _| std::fs::write(path, ""));
    let ours = run_ours(
        &Case::parse("mixed", machine.steps.len(), ours),
        &machine,
        top.path(),
    )
    .stdout;
    let is_recorded = |(case, _): &(Case, _)| case.machine == "mixed" && case.line == recorded_line;
    let theirs = recorded::all()
        .1
        .into_iter()
        .find(is_recorded)
        .unwrap()
        .1
        .stdout;
    let is_kept = |line: &&str| !line.starts_with("Linux ") && !line.contains("\"date\"");
    let without_heading = |text: &str| text.split_inclusive('\n').filter(is_kept).collect();
    (
        without_heading(&mask::machine(&ours)),
        without_heading(&theirs),
    )
}

#[test]
fn an_interval_with_a_fraction_gives_the_reports_of_a_whole_one() {
    for (ours, line) in [
        ("-d 1.0 4", "-d @"),
        ("-x 1.0 4", "-x @"),
        ("-xs -o JSON 1.0 4", "-xs -o JSON @"),
    ] {
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
        for (title, (theirs, ours)) in row
            .titles
            .iter()
            .zip(row.theirs.iter().zip(row.ours.iter()))
        {
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
    for (ours, line) in [
        ("-dtU @", "-dt @"),
        ("-U -dt -o JSON @", "-dt -o JSON @"),
        ("-U @", "@"),
    ] {
        let (ours, theirs) = outputs(ours, line);
        assert_eq!(theirs.contains("NN:NN"), line.contains('t'), "{line}");
        assert_eq!(
            ours,
            theirs.replace("NN/NN/NN NN:NN:NN", "1790000000"),
            "{line}"
        );
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
        (
            "-dG -g G sda nvme0n1 -o JSON @",
            "-d -g G sda nvme0n1 -o JSON @",
        ),
    ] {
        let (mut ours, mut theirs) = outputs(ours, line);
        assert!(
            ours.contains("GB") && !ours.contains("kB"),
            "{line}: {ours}"
        );
        let mut converted = 0;
        rows::change(&mut theirs, &mut ours, |row| {
            if row.name == "Device" {
                return false;
            }
            for (title, (theirs, ours)) in row
                .titles
                .iter()
                .zip(row.theirs.iter().zip(row.ours.iter()))
            {
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
    assert!(
        difference <= tolerance,
        "{}: {title}: {cell}, expected {expected}",
        row.name
    );
}
