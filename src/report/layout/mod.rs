//! Text layout shared by all formats: numbers, column fitting, plain tables and wrapping.

mod ellipsis;
pub(crate) mod fixed_decimal;
pub(crate) mod number_format;
mod wrap;

pub(crate) use ellipsis::ellipsize;
pub(crate) use wrap::wrap;
