//! Text layout shared by all formats: numbers, column fitting, plain tables and wrapping.

pub(crate) mod fixed_decimal;
pub(crate) mod number_format;
pub(crate) mod number_row;
pub(crate) mod sentence_numbers;
pub(crate) mod sparkline;
mod table;
mod wrap;

pub(crate) use table::{Align, FittedColumns, Spacing, column_widths, fit_columns, plain_table};
pub(crate) use wrap::{ellipsize, text_width, wrap, wrap_list};

/// The width of a line, in terminal columns, without a terminal.
pub(crate) const DEFAULT_WIDTH: usize = 100;
