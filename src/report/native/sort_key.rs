//! The keys to sort devices by.

use super::columns::{COLUMNS, Quantity};
use crate::intervals::DeviceInterval;

/// A key to sort devices by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortKey(usize);

/// Sort keys that are not columns.
pub(super) const MORE_KEYS: [(&str, Quantity); 5] = [
    ("util_ub", |a| a.stats.util_upper_bound_pct()),
    ("iops", |a| sum([a.stats.reads.per_s(), a.stats.writes.per_s(), a.stats.discards.per_s()])),
    ("MB/s", |a| sum([a.stats.reads.kib_per_s(), a.stats.writes.kib_per_s(), None])),
    ("sat", |a| {
        max([a.assessment.read_saturation, a.assessment.write_saturation, a.assessment.flush_saturation])
    }),
    ("await", |a| max([a.stats.reads.await_ms(), a.stats.writes.await_ms(), a.stats.discards.await_ms()])),
];

/// The index of the column `queue` in [`COLUMNS`].
const QUEUE_COLUMN: usize = 20;

fn keys() -> impl Iterator<Item = (&'static str, Quantity)> {
    COLUMNS.iter().map(|column| (column.title, column.value)).chain(MORE_KEYS)
}

fn sum(parts: [Option<f64>; 3]) -> Option<f64> {
    parts.into_iter().flatten().reduce(|a, b| a + b)
}

fn max(parts: [Option<f64>; 3]) -> Option<f64> {
    parts.into_iter().flatten().reduce(f64::max)
}

/// Returns the names of the sort keys: the column titles, `util_ub` for `≤util`, and `iops`, `MB/s`, `await`.
pub fn sort_keys() -> impl Iterator<Item = &'static str> {
    keys().map(|(name, _)| name)
}

impl SortKey {
    /// The default key if only the busiest devices are shown.
    pub const QUEUE: Self = Self(QUEUE_COLUMN);

    /// Finds a key by name, in any case.
    pub fn named(name: &str) -> Option<Self> {
        keys().position(|(key, _)| key.eq_ignore_ascii_case(name)).map(Self)
    }

    pub fn name(self) -> &'static str {
        keys().nth(self.0).map_or("", |(name, _)| name)
    }

    /// Returns the value of a device; `None` sorts last.
    pub fn value(self, device: &DeviceInterval) -> Option<f64> {
        let (_, quantity) = keys().nth(self.0)?;
        quantity(device.activity()?)
    }
}

#[cfg(test)]
mod tests {
    use super::super::columns::Column;
    use super::*;

    #[test]
    fn every_column_is_a_sort_key() {
        assert_eq!(SortKey::named("QUEUE"), Some(SortKey::QUEUE));
        assert_eq!(SortKey::named("nope"), None);
        let is_key = |column: &Column| SortKey::named(column.title).is_some();
        let not_keys: Vec<&str> = COLUMNS.iter().filter(|c| !is_key(c)).map(|c| c.title).collect();
        assert_eq!(not_keys, Vec::<&str>::new());
    }
}
