//! Text layout shared by all formats: numbers, column fitting, plain tables and wrapping.

pub(crate) mod fixed_decimal;
pub(crate) mod number_format;
mod wrap;

pub(crate) use wrap::wrap;
