//! iostat's JSON: one document, with one element of `statistics` per report.

use std::fmt::Write as _;
use std::io::Write;

use super::{BASIC, Column, EXTENDED, EXTENDED_JSON_ORDER, EXTENDED_SHORT, Value};
use super::{Report, Style};
use crate::capture::RecordingHeader;
use crate::sanitize::json_string;

pub(crate) fn begin(host: &RecordingHeader, hardware: Option<&str>, date: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"sysstat\": {\n\t\"hosts\": [\n\t\t{\n");
    let mut member = |key: &str, value: String| {
        // Writing to a Vec cannot fail, here and below.
        let _ = writeln!(out, "\t\t\t\"{key}\": {value},");
    };
    let mut text = |key: &str, value: Option<&str>| {
        if let Some(value) = value {
            member(key, json_string(value));
        }
    };
    text("nodename", host.host.as_deref());
    text("sysname", Some("Linux"));
    text("release", host.kernel.as_deref());
    text("machine", hardware);
    if let Some(cpus) = host.cpus {
        member("number-of-cpus", cpus.to_string());
    }
    member("date", json_string(date));
    out.extend_from_slice(b"\t\t\t\"statistics\": [\n");
}

/// Appends a report, which `separator` separates from what is before it.
pub(crate) fn report(style: &Style, report: &Report<'_>, separator: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(separator.as_bytes());
    let mut members = Vec::new();
    if let Some(time) = &report.time {
        members.push(format!("\"timestamp\": {}", json_string(time)));
    }
    if let Some(cpu) = report.cpu.filter(|_| style.cpu) {
        members.push(format!(
            "\"avg-cpu\":  {{\"user\": {:.2}, \"nice\": {:.2}, \"system\": {:.2}, \"iowait\": {:.2}, \
             \"steal\": {:.2}, \"idle\": {:.2}}}",
            cpu.user, cpu.nice, cpu.system, cpu.iowait, cpu.steal, cpu.idle
        ));
    }
    if style.disk {
        members.push(devices(style, report));
    }
    let _ = write!(
        out,
        "\t\t\t\t{{\n\t\t\t\t\t{}",
        members.join(",\n\t\t\t\t\t")
    );
    if !report.is_truncated {
        out.extend_from_slice(b"\n\t\t\t\t}");
    }
}

pub(crate) fn end(out: &mut Vec<u8>) {
    out.extend_from_slice(b"\n\t\t\t]\n\t\t}\n\t]\n}}\n");
}

fn devices(style: &Style, report: &Report<'_>) -> String {
    let columns: Vec<&Column> = match (style.extended, style.short) {
        // `-s` without `-x` has no effect here.
        (false, _) => BASIC.iter().collect(),
        (true, false) => EXTENDED_JSON_ORDER.iter().map(|i| &EXTENDED[*i]).collect(),
        (true, true) => EXTENDED_SHORT.iter().collect(),
    };
    let rows: Vec<String> = report
        .rows
        .iter()
        .map(|row| {
            let Some(rates) = &row.rates else {
                return String::new();
            };
            let mut line = format!("\t\t\t\t\t\t{{\"disk_device\": {}", json_string(&row.name));
            for column in &columns {
                let key = column
                    .title
                    .trim_start_matches('%')
                    .replace("kB", style.unit_name());
                let number = match column.value {
                    Value::Amount(value) => (value(rates) / style.unit.sectors()).to_string(),
                    Value::Data(value) => format!("{:.2}", value(rates) / style.unit.kib()),
                    Value::Plain(value) | Value::Percent(_, value) | Value::Size(value) => {
                        format!("{:.2}", value(rates))
                    }
                };
                let _ = write!(line, ", \"{key}\": {number}");
            }
            line.push('}');
            line
        })
        .collect();
    let end = if report.is_truncated {
        ""
    } else {
        "\n\t\t\t\t\t]"
    };
    format!("\"disk\": [\n{}{end}", rows.join(",\n"))
}
