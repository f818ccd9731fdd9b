//! Reads what recordings have beside the lines of devices.

use std::io::Read;
use std::sync::Arc;
use std::time::Duration;

use super::Reader;
use super::state::Position;
use crate::capture::annotation::{Annotation, EndOfSample, HealthLine, RecordingHeader, bounded};
use crate::capture::diskstats_line::excerpt;
use crate::capture::{MAX_DEVICES_PER_SAMPLE, WarningClass};
use crate::counters::Sample;

impl<R: Read> Reader<R> {
    /// Processes an annotation. Returns whether a sample is handed out.
    pub(super) fn read_annotation(
        &mut self,
        annotation: Annotation,
        previous: &Sample,
        sample: &mut Sample,
    ) -> bool {
        match annotation {
            Annotation::Header(header) => return self.begin_recording(*header, previous, sample),
            Annotation::HeaderLists(lists) => {
                self.state.append_devices(bounded(lists.devices));
                self.state.append_baselines(lists.baselines);
            }
            Annotation::Health(line) => self.read_health(line),
            Annotation::IoScan(part) => self.scans.add(part),
            Annotation::DroppedSamples(dropped) if dropped.count > 0 => {
                self.dropped_samples = self.dropped_samples.saturating_add(dropped.count);
                self.warn(WarningClass::Other, dropped.to_string());
            }
            Annotation::DroppedSamples(_) => {}
            Annotation::ClockChange(change) => {
                if let Some(seconds) = change.suspended_s {
                    self.warn(
                        WarningClass::Other,
                        format!("host was suspended for {seconds:.0} s"),
                    );
                }
                if let Some(seconds) = change.step_s {
                    let direction = if seconds < 0.0 { "back" } else { "forward" };
                    let text = format!("wall clock was set {direction} by {:.1} s", seconds.abs());
                    self.warn(WarningClass::Other, text);
                }
            }
            Annotation::EndOfSample(end) => return self.read_end_of_sample(&end, sample),
        }
        false
    }

    /// Begins a recording, which ends the sample before it. Returns whether that is handed out.
    pub(super) fn begin_recording(
        &mut self,
        header: RecordingHeader,
        previous: &Sample,
        sample: &mut Sample,
    ) -> bool {
        let lacks_devices = self
            .devices
            .find_missing_end(previous, &sample.devices)
            .is_some();
        if let Position::InSample(open) = &mut self.position {
            open.is_truncated |= lacks_devices;
        }
        let is_first_line = matches!(self.position, Position::BeforeFirstTimestamp);
        let next = if is_first_line {
            Position::BeforeFirstTimestamp
        } else {
            Position::BetweenSamples
        };
        let is_handed_out = self.end_sample(next, false, sample);
        self.state.header = self.state.header.take().or(self.header_before.take());
        self.health = None;
        if let Some(change) = self.state.begin_recording(header) {
            self.segments.start_segment();
            self.warn(WarningClass::Other, change);
        }
        is_handed_out
    }

    /// Takes facts about the health of devices, in place of earlier ones or in addition to them.
    pub(super) fn read_health(&mut self, line: HealthLine) {
        let facts = Arc::make_mut(self.health.get_or_insert_default());
        if !line.continues {
            facts.clear();
        }
        let free = MAX_DEVICES_PER_SAMPLE.saturating_sub(facts.len());
        facts.extend(line.health.into_iter().take(free));
    }

    pub(super) fn read_end_of_sample(&mut self, end: &EndOfSample, sample: &mut Sample) -> bool {
        let Position::InSample(open) = &mut self.position else {
            return false;
        };
        open.monotonic = end
            .monotonic_ns
            .map(Duration::from_nanos)
            .or(open.monotonic);
        open.uptime = end.uptime_cs.or(open.uptime);
        if !end.complete {
            return false;
        }
        sample.host = end.host;
        let dropped = std::mem::take(&mut self.dropped_samples);
        sample.missed_samples = end.missed_samples.unwrap_or(0).saturating_add(dropped);
        sample.missed_scan = end.missed_scan;
        self.end_sample(Position::BetweenSamples, true, sample)
    }

    pub(super) fn reject_annotation(&mut self, error: &serde_json::Error, ended: bool) {
        let in_recorded_sample = self.is_blkstat_recording() && self.position.is_in_sample();
        let reason = match error.is_eof() {
            // A warning about the truncated sample follows.
            true if !ended || in_recorded_sample => return,
            true => "truncated JSON".to_owned(),
            false => excerpt(error.to_string().as_bytes()),
        };
        if let Position::InSample(open) = &mut self.position {
            open.has_invalid_annotation = true;
        }
        self.warn(
            WarningClass::Lines,
            format!("invalid '#blkstat' line: {reason}; skipped"),
        );
    }
}
