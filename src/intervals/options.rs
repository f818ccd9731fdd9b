//! The options of a stream of intervals: which devices, and how they are assessed.

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceSelection {
    /// Devices by any of their names; empty for all.
    pub devices: Vec<String>,
    /// A regular expression of device names.
    pub regex: Option<String>,
    /// A regular expression of the names of devices that are left out.
    pub exclude: Option<String>,
    /// Include partitions, even idle ones.
    pub partitions: bool,
    /// Include every device, even those that never did any I/O.
    pub all: bool,
    /// Add a total in which no request counts twice.
    pub total: bool,
}

impl DeviceSelection {
    /// Returns whether it leaves out devices by their names.
    pub fn names_devices(&self) -> bool {
        !self.devices.is_empty() || self.regex.is_some()
    }
}

/// The devices that an interval lists, and how much it says about each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// The devices of a report: selected and, unless asked for, active; each with a live verdict.
    #[default]
    Report,
    /// Every selected device, idle or not, with one live verdict for each interval, however long: the input of an
    /// analysis.
    Analysis,
    /// Like [`Self::Analysis`], for charts: also keeps values over time.
    Charts,
}

impl Detail {
    /// Returns whether every selected device is listed, idle or not.
    pub(super) fn lists_all(self) -> bool {
        self != Self::Report
    }
}
