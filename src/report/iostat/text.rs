//! iostat's tables. Every number stands in a column of fixed width that grows when it does not fit.

use std::io::Write;

use super::columns::{BASIC, BASIC_SHORT, Column, EXTENDED, EXTENDED_SHORT, Kind};
use super::{Heading, Report, Style};
use crate::metrics::CpuShares;
use crate::report::fixed::{push_fixed, push_whole};
use crate::sanitize::sanitize;

/// Width of the column that holds the device's name.
const NAME_WIDTH: usize = 13;

/// What stands for a part of the heading that is not known.
const UNKNOWN: &str = "-";

pub(super) fn begin(heading: &Heading, out: &mut Vec<u8>) {
    let known = |part: &Option<String>| part.clone().unwrap_or_else(|| UNKNOWN.to_owned());
    let cpus = heading.cpus.map_or_else(|| UNKNOWN.to_owned(), |n| n.to_string());
    // Writing to a Vec cannot fail, here and below.
    let _ = writeln!(
        out,
        "Linux {} ({}) \t{} \t_{}_\t({cpus} CPU)\n",
        known(&heading.release),
        known(&heading.nodename),
        heading.date,
        known(&heading.hardware),
    );
}

/// One report; `titles` is the line above its devices.
pub(super) fn report(style: &Style, titles: &str, report: &Report<'_>, out: &mut Vec<u8>) {
    if let Some(time) = &report.time {
        let _ = writeln!(out, "{time}");
    }
    if let Some(cpu) = report.cpu.filter(|_| style.cpu) {
        cpu_table(&cpu, out);
    }
    if style.disk {
        let columns = columns(style);
        out.extend_from_slice(titles.as_bytes());
        for row in &report.rows {
            let name = sanitize(row.name);
            out.extend_from_slice(name.as_bytes());
            out.resize(out.len() + NAME_WIDTH.saturating_sub(name.len()), b' ');
            for column in columns {
                cell(style, column, (column.value)(&row.rates).unwrap_or(0.0), out);
            }
            out.push(b'\n');
        }
    }
    out.extend_from_slice(b"\n\n");
}

fn columns(style: &Style) -> &'static [Column] {
    match (style.extended, style.short) {
        (false, false) => &BASIC,
        (false, true) => &BASIC_SHORT,
        (true, false) => &EXTENDED,
        (true, true) => &EXTENDED_SHORT,
    }
}

/// The line above the devices.
pub(super) fn titles(style: &Style) -> String {
    let title = |column: &Column| {
        format!(" {:>width$}", column.title.replace("kB", style.unit.name()), width = column.width)
    };
    let titles: String = columns(style).iter().map(title).collect();
    format!("{:<NAME_WIDTH$}{titles}\n", "Device")
}

fn cell(style: &Style, column: &Column, value: f64, out: &mut Vec<u8>) {
    out.push(b' ');
    match column.kind {
        Kind::Plain | Kind::Percent | Kind::Size => push_fixed(out, value, column.width, 2),
        Kind::Data => push_fixed(out, value / style.unit.kib(), column.width, 2),
        Kind::Amount => push_whole(out, (value / style.unit.kib()) as u64, column.width),
    }
}

fn cpu_table(cpu: &CpuShares, out: &mut Vec<u8>) {
    out.extend_from_slice(b"avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n       ");
    for share in [cpu.user, cpu.nice, cpu.system, cpu.iowait, cpu.steal, cpu.idle] {
        let _ = write!(out, " {share:>7.2}");
    }
    out.extend_from_slice(b"\n\n");
}
