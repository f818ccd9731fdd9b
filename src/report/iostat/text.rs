//! iostat's tables. Every number stands in a column of fixed width that grows when it does not fit.

use std::fmt::Write;

use super::columns::{BASIC, BASIC_SHORT, Column, EXTENDED, EXTENDED_SHORT, Kind};
use super::{Heading, Report, Style};
use crate::metrics::CpuShares;
use crate::sanitize::sanitize;

/// Width of the column that holds the device's name.
const NAME_WIDTH: usize = 13;

/// What stands for a part of the heading that is not known.
const UNKNOWN: &str = "-";

pub(super) fn begin(heading: &Heading, out: &mut String) {
    let known = |part: &Option<String>| part.clone().unwrap_or_else(|| UNKNOWN.to_owned());
    let cpus = heading.cpus.map_or_else(|| UNKNOWN.to_owned(), |n| n.to_string());
    // Writing to a String cannot fail, here and below.
    let _ = writeln!(
        out,
        "Linux {} ({}) \t{} \t_{}_\t({cpus} CPU)\n",
        known(&heading.release),
        known(&heading.nodename),
        heading.date,
        known(&heading.hardware),
    );
}

pub(super) fn report(style: &Style, report: &Report<'_>, out: &mut String) {
    if let Some(time) = &report.time {
        let _ = writeln!(out, "{time}");
    }
    if let Some(cpu) = report.cpu.filter(|_| style.cpu) {
        cpu_table(&cpu, out);
    }
    if style.disk {
        let columns = columns(style);
        titles(style, columns, out);
        for row in &report.rows {
            let _ = write!(out, "{:<NAME_WIDTH$}", sanitize(row.name));
            for column in columns {
                cell(style, column, (column.value)(&row.rates).unwrap_or(0.0), out);
            }
            out.push('\n');
        }
    }
    out.push_str("\n\n");
}

fn columns(style: &Style) -> &'static [Column] {
    match (style.extended, style.short) {
        (false, false) => &BASIC,
        (false, true) => &BASIC_SHORT,
        (true, false) => &EXTENDED,
        (true, true) => &EXTENDED_SHORT,
    }
}

fn titles(style: &Style, columns: &[Column], out: &mut String) {
    let _ = write!(out, "{:<NAME_WIDTH$}", "Device");
    for column in columns {
        let _ =
            write!(out, " {:>width$}", column.title.replace("kB", style.unit.name()), width = column.width);
    }
    out.push('\n');
}

fn cell(style: &Style, column: &Column, value: f64, out: &mut String) {
    let width = column.width;
    let _ = match column.kind {
        Kind::Plain | Kind::Percent | Kind::Size => write!(out, " {value:>width$.2}"),
        Kind::Data => write!(out, " {:>width$.2}", value / style.unit.kib()),
        Kind::Amount => write!(out, " {:>width$}", (value / style.unit.kib()) as u64),
    };
}

fn cpu_table(cpu: &CpuShares, out: &mut String) {
    out.push_str("avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n       ");
    for share in [cpu.user, cpu.nice, cpu.system, cpu.iowait, cpu.steal, cpu.idle] {
        let _ = write!(out, " {share:>7.2}");
    }
    out.push_str("\n\n");
}
