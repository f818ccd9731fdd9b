//! One number of a table: its text, its unit, its colour.

use super::Style;
use super::colors::{Class, class_of, class_of_share};
use super::columns::{Column, Value};
use crate::metrics::IostatRates;
use crate::report::layout::fixed_decimal::{push_fixed, push_whole};

/// The units of `--human`, from KiB up; what is beyond the last is not asked for.
const HUMAN_UNITS: &[u8; 6] = b"kMGTP?";

/// Appends a column's cell for a device.
pub(super) fn push_cell(style: &Style, column: &Column, rates: &IostatRates, out: &mut Vec<u8>) {
    let width = column.width;
    match column.value {
        Value::Plain(value) => push_number(style, value(rates).unwrap_or(0.0), width, out),
        Value::Percent(value) => push_share(style, value(rates).unwrap_or(0.0), width, out),
        Value::Data(value) if style.human => {
            let kib = value(rates);
            // iostat judges by the sectors what is zero.
            push_human(style, kib, class_of(kib * 2.0, style.decimals), width, out);
        }
        Value::Data(value) => push_number(style, value(rates) / style.unit.kib(), width, out),
        Value::Size(value) => {
            let kib = value(rates).unwrap_or(0.0);
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
            painted(style, class_of_amount(amount), out, |out| push_whole(out, amount, width));
        }
    }
}

fn push_number(style: &Style, value: f64, width: usize, out: &mut Vec<u8>) {
    let class = class_of(value, style.decimals);
    painted(style, class, out, |out| push_fixed(out, value, width, style.decimals));
}

/// Appends a share in percent.
pub(super) fn push_share(style: &Style, share: f64, width: usize, out: &mut Vec<u8>) {
    let (width, decimals) =
        if style.human { (width - 1, human_decimals(style)) } else { (width, style.decimals) };
    painted(style, class_of_share(share, decimals), out, |out| push_fixed(out, share, width, decimals));
    if style.human {
        out.push(b'%');
    }
}

/// Appends an amount with a unit that suits its size. The unit is chosen before the number is rounded.
fn push_human(style: &Style, kib: f64, class: Class, width: usize, out: &mut Vec<u8>) {
    let mut value = kib;
    let mut unit = 0;
    while value >= 1024.0 {
        value /= 1024.0;
        unit += 1;
    }
    painted(style, class, out, |out| push_fixed(out, value, width - 1, human_decimals(style)));
    out.push(HUMAN_UNITS[unit.min(HUMAN_UNITS.len() - 1)]);
}

/// `--human` shows one decimal at most.
fn human_decimals(style: &Style) -> usize {
    style.decimals.min(1)
}

fn class_of_amount(amount: u64) -> Class {
    if amount == 0 { Class::Zero } else { Class::Number }
}

/// Appends a cell after its blank, in the colour of its class if there are colours.
fn painted(style: &Style, class: Class, out: &mut Vec<u8>, cell: impl FnOnce(&mut Vec<u8>)) {
    paint(style, class, out, |out| {
        out.push(b' ');
        cell(out);
    });
}

/// Appends what `text` appends, in the colour of a class if there are colours.
pub(super) fn paint(style: &Style, class: Class, out: &mut Vec<u8>, text: impl FnOnce(&mut Vec<u8>)) {
    let Some(palette) = &style.palette else { return text(out) };
    out.extend_from_slice(b"\x1b[");
    out.extend_from_slice(palette.sgr(class).as_bytes());
    out.push(b'm');
    text(out);
    out.extend_from_slice(b"\x1b[0m");
}
