//! The averages since the host booted.

use super::{Intervals, header};
use crate::counters::{Counters, CpuTimes, Device, Sample};
use crate::intervals::device_interval::{IntervalHeader, IntervalRows};
use crate::intervals::device_tracker::{DeviceTracker, Rows};
use crate::intervals::options::Detail;
use crate::intervals::step_source::Step;
use crate::metrics::DeviceMatch;
use crate::units::Span;

impl Intervals<'_> {
    /// Passes the averages since boot to `show`. Returns `false` if the uptime is not known. Must be called after
    /// [`Self::start`].
    pub fn since_boot(&mut self, show: &mut dyn FnMut(&IntervalRows)) -> bool {
        let newer = &self.source.newest;
        let Some(span) = newer.at.uptime.and_then(Span::from_hundredths) else { return false };
        let boot = sample_at_boot(newer);
        let step = Step { older: &boot, newer, span, device_match: DeviceMatch::Identical };
        let mut tracker = DeviceTracker::new(Detail::Report, self.baselines);
        let resolver = self.source.samples.resolver();
        tracker.follow(&step);
        let recorded = self.source.samples.recorded_baselines();
        tracker.learn(&newer.devices, &self.topology, recorded, resolver.as_ref(), &mut self.filter);
        tracker.begin_interval();
        tracker.judge(&step, &self.topology, false);
        let header = header(&boot, newer, span, self.has_all_requests);
        let header = IntervalHeader { is_since_boot: true, ..header };
        let Rows { listed: devices, total, .. } = tracker.rows(&boot, newer, span, &self.filter, false);
        let (events, attribution) = (Vec::new(), None);
        show(&IntervalRows { header, devices, total, events, attribution, has_found_any: true });
        true
    }
}

/// Returns the sample as it would have been at boot: all counters are zero.
fn sample_at_boot(sample: &Sample) -> Sample {
    let at_boot = |device: &Device| Device {
        counters: Counters { columns: device.counters.columns, ..Counters::ZERO },
        ..device.clone()
    };
    Sample {
        devices: sample.devices.iter().map(at_boot).collect(),
        cpu: sample.cpu.map(|_| CpuTimes::default()),
        host: sample.host.at_boot(),
        ..Sample::default()
    }
}
