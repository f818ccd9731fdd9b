//! Table cells: number, unit and color.

use super::Style;
use super::colors::{Alarm, CellClass, class_of, class_of_percentage};
use super::columns::{Column, Value};
use crate::iostat::rates::IostatRates;
use crate::report::layout::fixed_decimal::{push_fixed, push_whole};

/// The units of `--human` from KiB up; units larger than PiB are shown as `?`.
const HUMAN_UNITS: &[u8; 6] = b"kMGTP?";

/// Appends the cell of a column for a device.
pub(super) fn push_cell(style: &Style, column: &Column, rates: &IostatRates, out: &mut Vec<u8>) {
    let width = column.width;
    match column.value {
        Value::Plain(value) => push_number(style, value(rates), width, out),
        Value::Percent(alarm, value) => push_percentage(style, alarm, value(rates), width, out),
        Value::Data(value) if style.human => {
            let kib = value(rates);
            // iostat uses the number of sectors to decide which values are colored as zero.
            push_human(style, kib, class_of(kib * 2.0, style.decimals), width, out);
        }
        Value::Data(value) => push_number(style, value(rates) / style.unit.kib(), width, out),
        Value::Size(value) => {
            let kib = value(rates);
            if style.human {
                push_human(style, kib, class_of(kib, style.decimals), width, out);
            } else {
                push_number(style, kib, width, out);
            }
        }
        Value::Amount(value) if style.human => {
            let sectors = value(rates);
            push_human(style, sectors as f64 / 2.0, class_of_amount(sectors), width, out);
        }
        Value::Amount(value) => {
            let amount = value(rates) / style.unit.sectors();
            push_colored(style, || class_of_amount(amount), out, |out| push_whole(out, amount, width));
        }
    }
}

fn push_number(style: &Style, value: f64, width: usize, out: &mut Vec<u8>) {
    let class = || class_of(value, style.decimals);
    push_colored(style, class, out, |out| push_fixed(out, value, width, style.decimals));
}

pub(super) fn push_percentage(style: &Style, alarm: Alarm, percentage: f64, width: usize, out: &mut Vec<u8>) {
    let (width, decimals) =
        if style.human { (width - 1, human_decimals(style)) } else { (width, style.decimals) };
    let class = || class_of_percentage(alarm, percentage, decimals);
    push_colored(style, class, out, |out| push_fixed(out, percentage, width, decimals));
    if style.human {
        out.push(b'%');
    }
}

/// Appends an amount in a unit that suits its size, chosen before the number is rounded.
fn push_human(style: &Style, kib: f64, class: CellClass, width: usize, out: &mut Vec<u8>) {
    let mut value = kib;
    let mut unit = 0;
    while value >= 1024.0 {
        value /= 1024.0;
        unit += 1;
    }
    push_colored(style, || class, out, |out| push_fixed(out, value, width - 1, human_decimals(style)));
    out.push(HUMAN_UNITS[unit.min(HUMAN_UNITS.len() - 1)]);
}

/// Returns the decimals of `--human`, at most one.
fn human_decimals(style: &Style) -> usize {
    style.decimals.min(1)
}

fn class_of_amount(amount: u64) -> CellClass {
    if amount == 0 { CellClass::Zero } else { CellClass::Number }
}

/// Appends a blank and a cell, in the color of its class if the style has colors.
#[inline]
fn push_colored(
    style: &Style,
    class: impl FnOnce() -> CellClass,
    out: &mut Vec<u8>,
    cell: impl FnOnce(&mut Vec<u8>),
) {
    push_in_color(style, class, out, |out| {
        out.push(b' ');
        cell(out);
    });
}

/// Appends text in the color of a class if the style has colors.
#[inline]
pub(super) fn push_in_color(
    style: &Style,
    class: impl FnOnce() -> CellClass,
    out: &mut Vec<u8>,
    text: impl FnOnce(&mut Vec<u8>),
) {
    let Some(palette) = &style.palette else { return text(out) };
    out.extend_from_slice(b"\x1b[");
    out.extend_from_slice(palette.sgr(class()).as_bytes());
    out.push(b'm');
    text(out);
    out.extend_from_slice(b"\x1b[0m");
}
