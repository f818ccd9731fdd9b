//! A device over some time, for a column of a chart: the worst verdict and the quantities.

use crate::analysis::Verdict;
use crate::intervals::series::{Extent, Merge, WorstVerdict};
use crate::intervals::{DEVICE_QUANTITIES, DeviceInterval};

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Point {
    verdict: WorstVerdict,
    extents: [Extent; DEVICE_QUANTITIES.len()],
}

impl Point {
    /// Returns the point of a device in one interval.
    pub(super) fn of(device: &DeviceInterval) -> Self {
        let mut point = Self::default();
        point.verdict.observe(device.verdict());
        for (extent, (_, value)) in point.extents.iter_mut().zip(DEVICE_QUANTITIES) {
            let known = device.activity().and_then(value);
            known.into_iter().for_each(|(value, weight)| extent.observe(value, weight));
        }
        point
    }

    pub(crate) fn verdict(&self) -> Option<Verdict> {
        self.verdict.get().flatten()
    }

    /// Returns a quantity by its name; empty if it is not known.
    pub(crate) fn extent(&self, name: &str) -> Extent {
        let found = DEVICE_QUANTITIES.iter().position(|(one, _)| *one == name);
        found.map_or_else(Extent::default, |at| self.extents[at])
    }
}

impl Merge for Point {
    fn merge(&mut self, later: Self) {
        self.verdict.merge(later.verdict);
        self.extents.iter_mut().zip(later.extents).for_each(|(extent, later)| extent.merge(later));
    }
}

/// Returns the rank of a verdict for sorting: an unknown verdict ranks above ok and below every trouble.
pub(crate) fn severity(verdict: Option<Verdict>) -> u8 {
    verdict.unwrap_or(Verdict::AccountingOff).severity()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::Assessment;
    use crate::intervals::{DeviceActivity, DeviceState};
    use crate::metrics::{Completed, Interval};

    fn point(verdict: Verdict, await_ms: Option<f64>) -> Point {
        let reads = await_ms.map_or(Completed::default(), |await_ms| Completed::example(1.0, 10, await_ms));
        let stats = Interval { reads, ..Interval::default() };
        let assessment = Assessment { verdict: Some(verdict), ..Assessment::default() };
        let activity = DeviceActivity { stats, assessment, ..DeviceActivity::default() };
        Point::of(&DeviceInterval::without_alias("sda", DeviceState::Active(Box::new(activity))))
    }

    #[test]
    fn a_point_has_the_worst_verdict_and_the_extent_of_what_is_known() {
        let mut sum = point(Verdict::Ok, None);
        for (verdict, await_ms) in [(Verdict::Saturated, 4.0), (Verdict::Queueing, 1.0), (Verdict::Ok, 1.0)] {
            sum.merge(point(verdict, Some(await_ms)));
        }
        assert_eq!(sum.verdict(), Some(Verdict::Saturated));
        let reads = sum.extent("read_await_ms");
        assert_eq!((reads.min(), reads.mean(), reads.max()), (Some(1.0), Some(2.0), Some(4.0)));
        assert!(sum.extent("write_await_ms").is_empty());
    }
}
