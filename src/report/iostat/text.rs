//! iostat's tables. Every number stands in a column of fixed width that grows when it does not fit.

use std::io::Write;
use std::ops::Range;

use super::cell::{paint, push_cell, push_share};
use super::colors::Class;
use super::columns::{BASIC, BASIC_SHORT, Column, EXTENDED, EXTENDED_SHORT, EXTENDED_TABLES};
use super::{Heading, Report, Row, Style};
use crate::metrics::{CpuPercentages, IostatRates};
use crate::sanitize::sanitize;

/// Width of the column that holds the device's name.
const NAME_WIDTH: usize = 13;

/// What stands for a part of the heading that is not known.
const UNKNOWN: &str = "-";

/// A table of the device report: its columns, and the line above them.
pub(super) struct Table {
    columns: &'static [Column],
    titles: String,
}

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

/// One report.
pub(super) fn report(style: &Style, tables: &[Table], report: &Report<'_>, out: &mut Vec<u8>) {
    if let Some(time) = &report.time {
        let _ = writeln!(out, "{time}");
    }
    if let Some(cpu) = report.cpu.filter(|_| style.cpu) {
        cpu_table(style, &cpu, out);
    }
    for (number, table) in tables.iter().enumerate() {
        out.extend_from_slice(table.titles.as_bytes());
        for row in &report.rows {
            // iostat has forgotten a group's sums after its first table.
            let is_forgotten = row.is_group && number > 0;
            if is_forgotten && style.active_only {
                continue;
            }
            let rates = if is_forgotten { &IostatRates::NONE } else { &row.rates };
            line(style, table.columns, row, rates, out);
        }
        if report.is_cut {
            return;
        }
        out.push(b'\n');
    }
    if tables.is_empty() {
        out.push(b'\n');
    }
    out.push(b'\n');
}

/// The tables of a device report; none where only the CPU is asked for.
pub(super) fn tables(style: &Style) -> Vec<Table> {
    if !style.disk {
        return Vec::new();
    }
    let table = |columns: &'static [Column]| Table { columns, titles: titles(style, columns) };
    match (style.extended, style.short) {
        (false, false) => vec![table(&BASIC)],
        (false, true) => vec![table(&BASIC_SHORT)],
        (true, true) => vec![table(&EXTENDED_SHORT)],
        (true, false) if style.is_broken_up() => {
            EXTENDED_TABLES.map(|columns: Range<usize>| table(&EXTENDED[columns])).into()
        }
        (true, false) => vec![table(&EXTENDED)],
    }
}

fn titles(style: &Style, columns: &[Column]) -> String {
    let unit = if style.extended { style.unit.short_name() } else { style.unit.name() };
    let title =
        |column: &Column| format!(" {:>width$}", column.title.replace("kB", unit), width = column.width);
    let titles: String = columns.iter().map(title).collect();
    if style.pretty { format!("{titles} Device\n") } else { format!("{:<NAME_WIDTH$}{titles}\n", "Device") }
}

fn line(style: &Style, columns: &[Column], row: &Row<'_>, rates: &IostatRates, out: &mut Vec<u8>) {
    let name = sanitize(&row.name);
    if !style.pretty {
        paint(style, Class::Item, out, |out| {
            out.extend_from_slice(name.as_bytes());
            out.resize(out.len() + NAME_WIDTH.saturating_sub(name.len()), b' ');
        });
    }
    for column in columns {
        push_cell(style, column, rates, out);
    }
    if style.pretty {
        paint(style, Class::Item, out, |out| {
            out.push(b' ');
            out.extend_from_slice(name.as_bytes());
        });
    }
    out.push(b'\n');
}

fn cpu_table(style: &Style, cpu: &CpuPercentages, out: &mut Vec<u8>) {
    out.extend_from_slice(b"avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n       ");
    for share in [cpu.user, cpu.nice, cpu.system, cpu.iowait, cpu.steal, cpu.idle] {
        push_share(style, share, 7, out);
    }
    out.extend_from_slice(b"\n\n");
}
