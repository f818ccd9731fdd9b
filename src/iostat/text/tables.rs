//! iostat's tables. Columns have fixed widths; a number that does not fit makes its line longer.

use std::io::Write;

use super::{Alarm, CellClass};
use super::{BASIC, BASIC_SHORT, Column, EXTENDED, EXTENDED_SHORT, EXTENDED_TABLES};
use super::{Report, Row, Style};
use super::{push_cell, push_in_color, push_percentage};
use crate::capture::RecordingHeader;
use crate::iostat::rates::IostatRates;
use crate::metrics::CpuPercentages;
use crate::sanitize::sanitize;

/// Width of the column of device names.
const NAME_WIDTH: usize = 13;

/// The text for an unknown part of the host.
const UNKNOWN: &str = "-";

/// A table of the device report.
pub(crate) struct Table {
    columns: &'static [Column],
    titles: String,
}

pub(crate) fn begin(host: &RecordingHeader, hardware: Option<&str>, date: &str, out: &mut Vec<u8>) {
    let known = |part: Option<&str>| part.unwrap_or(UNKNOWN).to_owned();
    let cpus = host
        .cpus
        .map_or_else(|| UNKNOWN.to_owned(), |n| n.to_string());
    // Writing to a Vec cannot fail, here and below.
    let _ = writeln!(
        out,
        "Linux {} ({}) \t{} \t_{}_\t({cpus} CPU)\n",
        known(host.kernel.as_deref()),
        known(host.host.as_deref()),
        date,
        known(hardware),
    );
}

pub(crate) fn report(style: &Style, tables: &[Table], report: &Report<'_>, out: &mut Vec<u8>) {
    if let Some(time) = &report.time {
        let _ = writeln!(out, "{time}");
    }
    if let Some(cpu) = report.cpu.filter(|_| style.cpu) {
        push_cpu_table(style, &cpu, out);
    }
    let no_rates = IostatRates::none();
    for (index, table) in tables.iter().enumerate() {
        out.extend_from_slice(table.titles.as_bytes());
        for row in &report.rows {
            let Some(rates) = &row.rates else { continue };
            // After the first table, iostat no longer has the sums of a group.
            let is_lost = row.is_group && index > 0;
            if is_lost && (style.active_only || style.used_only) {
                continue;
            }
            let rates = if is_lost { &no_rates } else { rates };
            push_line(style, table, row, rates, out);
        }
        if report.is_truncated {
            return;
        }
        out.push(b'\n');
    }
    if tables.is_empty() {
        out.push(b'\n');
    }
    out.push(b'\n');
}

/// Returns the tables of the device report: none if the report has no devices.
pub(crate) fn device_tables(style: &Style) -> Vec<Table> {
    if !style.disk {
        return Vec::new();
    }
    let table = |columns| Table {
        columns,
        titles: header_line(style, columns),
    };
    match (style.extended, style.short) {
        (false, false) => vec![table(BASIC)],
        (false, true) => vec![table(BASIC_SHORT)],
        (true, true) => vec![table(EXTENDED_SHORT)],
        (true, false) if style.is_split() => {
            EXTENDED_TABLES.map(|range| table(&EXTENDED[range])).into()
        }
        (true, false) => vec![table(EXTENDED)],
    }
}

fn header_line(style: &Style, columns: &[Column]) -> String {
    let unit = style.unit_name();
    let title = |column: &Column| {
        format!(
            " {:>width$}",
            column.title.replace("kB", unit),
            width = column.width
        )
    };
    let titles: String = columns.iter().map(title).collect();
    if style.pretty {
        format!("{titles} Device\n")
    } else {
        format!("{:<NAME_WIDTH$}{titles}\n", "Device")
    }
}

fn push_line(style: &Style, table: &Table, row: &Row<'_>, rates: &IostatRates, out: &mut Vec<u8>) {
    let name = sanitize(&row.name);
    let push_name = |before: &[u8], width: usize, out: &mut Vec<u8>| {
        let text = |out: &mut Vec<u8>| {
            out.extend_from_slice(before);
            out.extend_from_slice(name.as_bytes());
            out.resize(out.len() + width.saturating_sub(name.len()), b' ');
        };
        push_in_color(style, || CellClass::Item, out, text);
    };
    if !style.pretty {
        push_name(b"", NAME_WIDTH, out);
    }
    table
        .columns
        .iter()
        .for_each(|column| push_cell(style, column, rates, out));
    if style.pretty {
        push_name(b" ", 0, out);
    }
    out.push(b'\n');
}

fn push_cpu_table(style: &Style, cpu: &CpuPercentages, out: &mut Vec<u8>) {
    out.extend_from_slice(b"avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n       ");
    for percentage in [cpu.user, cpu.nice, cpu.system, cpu.iowait, cpu.steal] {
        push_percentage(style, Alarm::High, percentage, 7, out);
    }
    push_percentage(style, Alarm::Low, cpu.idle, 7, out);
    out.extend_from_slice(b"\n\n");
}
