//! Limits in words.

use crate::attribution::{LimitKind, LimitUse};
use crate::report::layout::number_format::number;

/// Bytes of a MiB, the unit of `MB/s` in all tables.
pub(super) const MIB: f64 = 1024.0 * 1024.0;

/// Returns a limit with its unit: `50 r/s`, `2.00 wMB/s`, `512 wkB/s`.
pub(crate) fn limit_value(kind: LimitKind, value: u64) -> String {
    let bytes = |direction: char| match value as f64 / MIB {
        mib @ 1.0.. => format!("{} {direction}MB/s", number(mib)),
        mib => format!("{} {direction}kB/s", number(mib * 1024.0)),
    };
    match kind {
        LimitKind::ReadIops => format!("{value} r/s"),
        LimitKind::WriteIops => format!("{value} w/s"),
        LimitKind::ReadBytes => bytes('r'),
        LimitKind::WriteBytes => bytes('w'),
    }
}

/// Returns the limits of a cgroup for a table: those that have been reached or, if none has, the nearest one.
pub(super) fn limits_cell(limits: &[LimitUse]) -> String {
    let reached: Vec<String> = limits
        .iter()
        .filter(|limit| limit.is_reached)
        .map(|limit| limit_value(limit.kind, limit.value))
        .collect();
    if !reached.is_empty() {
        return format!("at limit {}", reached.join(", "));
    }
    let fraction = |limit: &&LimitUse| limit.rate / limit.value.max(1) as f64;
    let nearest = limits.iter().max_by(|a, b| fraction(a).total_cmp(&fraction(b)));
    nearest.map(|limit| limit_value(limit.kind, limit.value)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_that_matters_is_shown() {
        let limit = |kind, value, rate, is_reached| LimitUse { kind, value, rate, is_reached };
        let reads = limit(LimitKind::ReadIops, 50, 10.0, false);
        let bytes = limit(LimitKind::WriteBytes, 2 << 20, 1e6, false);
        assert_eq!(limits_cell(&[]), "");
        let low = limit(LimitKind::ReadBytes, 2000, 0.0, false);
        assert_eq!(limits_cell(&[low]), "1.95 rkB/s");
        assert_eq!(limits_cell(&[reads, bytes]), "2.00 wMB/s");
        let reached = limit(LimitKind::ReadIops, 50, 50.0, true);
        assert_eq!(limits_cell(&[reached, bytes]), "at limit 50 r/s");
    }
}
