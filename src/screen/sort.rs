//! The order of the list.

use super::history::severity;
use crate::intervals::{DeviceInterval, DeviceState};
use crate::report::native::SortKey;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Sort {
    /// The most severe verdict first; devices with equal ones are in the order of the table.
    #[default]
    Severity,
    /// By name, like the table.
    Name,
    /// By a quantity, the largest first.
    Key(SortKey),
}

/// The columns that devices can be sorted by, in their order on the screen.
const KEYS: [&str; 9] = ["r/s", "w/s", "MB/s", "r_await", "w_await", "queue", "inflt", "util", "sat"];

impl Sort {
    /// The name of the order: that of its column.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Severity => "verdict",
            Self::Name => "device",
            Self::Key(key) => key.name(),
        }
    }

    /// Returns the order for the column of this title; `None` if devices cannot be sorted by it.
    pub(crate) fn by_column(title: &str) -> Option<Self> {
        match title {
            "verdict" | "since" => Some(Self::Severity),
            "device" => Some(Self::Name),
            title => SortKey::named(title).map(Self::Key),
        }
    }

    /// Returns the next or the previous order.
    pub(crate) fn next(self, forward: bool) -> Self {
        let names: Vec<&str> = ["device", "verdict"].into_iter().chain(KEYS).collect();
        let at = names.iter().position(|name| *name == self.name()).unwrap_or(1);
        let next = if forward { at + 1 } else { at + names.len() - 1 };
        Self::by_column(names[next % names.len()]).unwrap_or_default()
    }

    /// Returns the value to sort by: the device with the largest comes first.
    pub(crate) fn value(self, device: &DeviceInterval) -> f64 {
        match self {
            Self::Name => 0.0,
            Self::Severity => f64::from(severity(device.verdict())),
            // A stalled device may have no value, but matters most.
            Self::Key(key) => match &device.state {
                DeviceState::Active(activity) if activity.stalled_s > 0.0 => f64::INFINITY,
                _ => key.value(device).unwrap_or(-1.0),
            },
        }
    }
}
