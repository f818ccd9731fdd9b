//! Combines the options of iostat with each other and with environment variables.

use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use super::super::options::{Colors, DefaultDevices, Options, RequestedItem, TimeStyle};
use super::super::text::{Format, Palette, Style, Unit};
use super::raw_args::{RawArgs, RawInterval};
use super::usage;
use crate::console::ArgError;

/// The longest live interval. It replaces multiples of 2^32 seconds: alarm(2), which iostat calls, takes 32 bits and
/// never fires for 0.
const MAX_INTERVAL: Duration = Duration::from_secs(u32::MAX as u64);

impl RawArgs {
    /// Combines the options.
    ///
    /// # Errors
    /// The usage if they contradict each other.
    pub(super) fn resolve(
        self,
        root: &Path,
        environment: &dyn Fn(&str) -> Option<OsString>,
    ) -> Result<Options, ArgError> {
        let has_groups = self.items.iter().any(|item| matches!(item, RequestedItem::Group(_)));
        if self.groups_only && !has_groups {
            return Err(usage());
        }
        let interval = self.resolve_interval()?;
        let is_iso = environment("S_TIME_FORMAT").is_some_and(|value| value == "ISO");
        let is_posix = environment("POSIXLY_CORRECT").is_some();
        Ok(Options {
            style: self.style(is_posix),
            colors: resolve_colors(environment),
            default_devices: self.default_devices(),
            items: self.items,
            unsorted_from: self.unsorted_from,
            groups_only: self.groups_only,
            mapper_names: self.mapper_names,
            persistent_names: self.persistent_names,
            device_files: self.device_files,
            skip_first: self.skip_first,
            timestamps: self.timestamps,
            time_style: match (self.epoch, is_iso) {
                (true, _) => TimeStyle::Epoch,
                (false, true) => TimeStyle::Iso,
                (false, false) => TimeStyle::Local,
            },
            iso_date: is_iso,
            interval,
            count: self.count,
            from: self.from,
            root: self.root.unwrap_or_else(|| root.to_owned()),
        })
    }

    fn style(&self, is_posix: bool) -> Style {
        Style {
            cpu: self.cpu || !self.disk,
            disk: self.disk || self.needs_disk || !self.cpu,
            extended: self.extended,
            short: self.short,
            unit: self.unit.unwrap_or(if is_posix { Unit::Block } else { Unit::Kilo }),
            format: if self.json { Format::Json } else { Format::Text },
            decimals: self.decimals.unwrap_or(2),
            human: self.human,
            pretty: self.pretty,
            compact: self.compact,
            active_only: self.active_only,
            used_only: self.default_devices().are_used_only(),
            palette: None,
        }
    }

    fn default_devices(&self) -> DefaultDevices {
        let includes_unused = self.includes_unused || self.all;
        match (self.all_partitions, self.all) {
            (true, _) if includes_unused => DefaultDevices::AllWithPartitions,
            (true, _) => DefaultDevices::UsedWithPartitions,
            (false, true) => DefaultDevices::AllWhole,
            (false, false) if includes_unused => DefaultDevices::None,
            (false, false) => DefaultDevices::UsedWhole,
        }
    }

    /// Returns the interval; `None` for a single report, which an interval of 0 requests, too.
    ///
    /// # Errors
    /// The usage if the count is 0, or the interval is 0 and a count is given.
    fn resolve_interval(&self) -> Result<Option<Duration>, ArgError> {
        if self.count == Some(0) {
            return Err(usage());
        }
        Ok(match self.interval {
            None => None,
            Some(RawInterval::Fraction(duration)) => Some(duration),
            Some(RawInterval::Seconds(0)) if self.count.is_some() => return Err(usage()),
            Some(RawInterval::Seconds(0)) => None,
            Some(RawInterval::Seconds(seconds)) => match seconds & u64::from(u32::MAX) {
                0 => Some(MAX_INTERVAL),
                seconds => Some(Duration::from_secs(seconds)),
            },
        })
    }
}

fn resolve_colors(environment: &dyn Fn(&str) -> Option<OsString>) -> Colors {
    let is = |name: &str, expected: &str| environment(name).is_some_and(|value| value == expected);
    let sgr = environment("S_COLORS_SGR").unwrap_or_default();
    let palette = Palette::from_entries(&sgr.to_string_lossy());
    let is_unwanted = environment("NO_COLOR").is_some_and(|value| !value.is_empty()) || is("TERM", "dumb");
    if is("S_COLORS", "always") {
        Colors::Always(palette)
    } else if is("S_COLORS", "never") || is_unwanted {
        Colors::Never
    } else {
        Colors::OnTerminal(palette)
    }
}
