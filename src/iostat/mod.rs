//! sysstat's iostat, reproduced byte for byte: device selection, arithmetic, engine and text.
//!
//! [`Reporter`] takes pairs of samples and appends reports to a buffer. `cli` parses the options; `run` reads the
//! samples and writes the reports.

mod counter_slots;
mod interval;
mod options;
mod rates;
mod reporter;
mod rows;
mod selection;
mod text;
mod wraparound;

pub use interval::live_interval;
pub use options::{Colors, DefaultDevices, DeviceFiles, Options, RequestedItem, TimeStyle};
pub use rates::{IostatRates, RequestRates};
pub use reporter::Reporter;
pub use rows::{DeviceRows, DisplayNames, NewDevice};
pub use selection::{SelectedItem, Selection};
pub use text::{Format, Heading, Palette, Style, Unit};
pub use wraparound::MillisDelta;
