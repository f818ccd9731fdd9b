//! Text layout shared by all formats: numbers, column fitting, plain tables and wrapping.

pub(crate) mod fixed_decimal;
pub(crate) mod number_format;
pub(crate) mod sentence_numbers;
mod wrap;

pub(crate) use wrap::wrap;
