//! Text layout shared by all formats: numbers, column fitting, plain tables and wrapping.

mod ellipsis;
pub(crate) mod figure;
mod fit;
pub(crate) mod fixed_decimal;
pub(crate) mod number_format;
pub(crate) mod number_row;
pub(crate) mod sentence_numbers;
pub(crate) mod sparkline;
mod table;
mod wrap;

pub(crate) use ellipsis::{ellipsize, text_width};
pub(crate) use fit::{FittedColumns, fit_columns};
pub(crate) use table::{Align, Spacing, plain_table};
pub(crate) use wrap::{wrap, wrap_list};

/// The width of a line, in terminal columns, without a terminal.
pub(crate) const DEFAULT_WIDTH: usize = 100;
