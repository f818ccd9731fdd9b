//! What the judge says of a device in a step.

use std::sync::Arc;

use crate::intervals::{DeviceNames, TopCgroup};
use crate::judge::Assessment;
use crate::metrics::Interval;

/// A device with its judgement in a step.
pub(in crate::intervals) struct JudgedDevice<'a> {
    pub(in crate::intervals) names: &'a Arc<DeviceNames>,
    pub(in crate::intervals) interval: &'a Interval,
    pub(in crate::intervals) assessment: &'a Assessment,
    /// The cgroup with most of its bytes; `None` if that is not known.
    pub(in crate::intervals) top_cgroup: Option<TopCgroup>,
}
