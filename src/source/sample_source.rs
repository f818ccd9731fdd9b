//! The source of samples: the running system or a capture.

use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, anyhow, bail, ensure};

use super::input::{Input, Stacked};
use super::{
    DeviceResolver, HostReader, Live, Replay, open_range, read_hostname, read_machine,
    read_recording_header, reread_topology,
};
use crate::baselines::RecordedBaselines;
use crate::capture::{CaptureWarning, LineError, RecordingHeader, WarningClass};
use crate::clock::Clock;
use crate::counters::Sample;
use crate::sanitize::sanitize;
use crate::schedule::{DEFAULT_INTERVAL, SampleDeadlines};
use crate::time_range::{Place, RangeFilter};
use crate::topology::{Machine, Node, Topology};

/// The age at which the topology of the running system is read again although no device name changed.
const MAX_TOPOLOGY_AGE: Duration = Duration::from_secs(30);

/// The longest time between samples of the running system that are assessed one by one.
const MAX_SAMPLE_STEP: Duration = Duration::from_secs(1);

/// Called for each warning about the input.
pub type OnWarning<'w> = &'w mut dyn FnMut(&CaptureWarning);

/// Called with each sample of the running system, and the texts that it was read from.
pub type OnLiveSample<'a> = Box<dyn FnMut(&mut Sample, &Live<'a>) + 'a>;

/// The interval of the running system, which another thread may change at any time.
#[derive(Clone)]
pub struct SharedInterval(Arc<Mutex<Duration>>);

impl SharedInterval {
    pub fn get(&self) -> Duration {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set(&self, interval: Duration) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = interval;
    }
}

/// Samples of the running system, each at its deadline, or of a capture.
pub struct SampleSource<'a> {
    input: &'a Input,
    kind: SourceKind<'a>,
    /// The time at which the topology of the running system was read.
    topology_read_at: Duration,
}

enum SourceKind<'a> {
    Live(Box<LiveSource<'a>>),
    /// Samples of the running system that another thread takes.
    Received(Receiver<Sample>),
    Replay(Box<ReplaySource<'a>>),
}

struct LiveSource<'a> {
    host: HostReader<'a>,
    interval: SharedInterval,
    /// True if samples are also taken within long intervals.
    subdivides: bool,
    /// `None` before the first sample.
    deadlines: Option<SampleDeadlines>,
    on_sample: Option<OnLiveSample<'a>>,
}

struct ReplaySource<'a> {
    replay: Replay<'a>,
    /// The number of headers when the topology was last taken.
    header_count: u64,
    /// `None` if the whole capture is shown.
    range: Option<RangeFilter>,
    /// The place of the last sample.
    place: Place,
}

impl<'a> SampleSource<'a> {
    /// Opens the source.
    ///
    /// # Errors
    /// When a capture cannot be opened or lacks the range, or no thread can be started.
    pub fn open(input: &'a Input, clock: &'a dyn Clock) -> Result<Self> {
        if let Some(kept) = &input.kept {
            return Self::of_capture(input, Replay::open_kept(kept, input.every, clock)?);
        }
        if let Some(path) = &input.from {
            return Self::of_capture(
                input,
                Replay::open_all(path, &input.more, input.every, clock)?,
            );
        }
        let scans = input.scans_io.then_some(input.scan_scope);
        let interval = input.interval.unwrap_or(DEFAULT_INTERVAL);
        let source = LiveSource {
            host: HostReader::start(&input.root, clock, scans)?,
            interval: SharedInterval(Arc::new(Mutex::new(interval))),
            subdivides: false,
            deadlines: None,
            on_sample: None,
        };
        Ok(Self::new(input, SourceKind::Live(Box::new(source))))
    }

    /// Takes samples of a capture.
    ///
    /// # Errors
    /// If it lacks the range.
    pub fn of_capture(input: &'a Input, replay: Replay<'a>) -> Result<Self> {
        let range = match &input.range {
            range if range.is_everything() => None,
            range => Some(open_range(range, &replay)?),
        };
        let source = ReplaySource {
            replay,
            header_count: 0,
            range,
            place: Place::Within,
        };
        Ok(Self::new(input, SourceKind::Replay(Box::new(source))))
    }

    /// Takes samples of the running system from another thread, until it hangs up.
    pub fn receive(input: &'a Input, samples: Receiver<Sample>) -> Self {
        Self::new(input, SourceKind::Received(samples))
    }

    fn new(input: &'a Input, kind: SourceKind<'a>) -> Self {
        Self {
            input,
            kind,
            topology_read_at: Duration::ZERO,
        }
    }

    /// `None` if this process does not take the samples itself.
    fn live(&mut self) -> Option<&mut LiveSource<'a>> {
        match &mut self.kind {
            SourceKind::Live(live) => Some(live),
            SourceKind::Received(_) | SourceKind::Replay(_) => None,
        }
    }

    /// The capture; `None` for the running system.
    pub fn replay(&self) -> Option<&Replay<'a>> {
        match &self.kind {
            SourceKind::Replay(source) => Some(&source.replay),
            SourceKind::Live(_) | SourceKind::Received(_) => None,
        }
    }

    /// Returns whether samples come from the running system.
    pub fn is_live(&self) -> bool {
        self.replay().is_none()
    }

    /// The header of the recording that is replayed; `None` for the running system, and before a header.
    fn header(&self) -> Option<&RecordingHeader> {
        self.replay()?.header()
    }

    /// The interval of the running system, to be changed; `None` for a capture, or if another thread takes the samples.
    pub fn shared_interval(&self) -> Option<SharedInterval> {
        match &self.kind {
            SourceKind::Live(source) => Some(source.interval.clone()),
            SourceKind::Received(_) | SourceKind::Replay(_) => None,
        }
    }

    /// Also passes each sample of the running system to `tap`.
    pub fn tap(&mut self, tap: OnLiveSample<'a>) {
        if let Some(source) = self.live() {
            source.on_sample = Some(tap);
        }
    }

    /// Reads the facts about the health of devices at once, because trouble begins.
    pub fn refresh_health(&mut self) {
        if let Some(source) = self.live() {
            source.host.health.request();
        }
    }

    /// The name of the source in messages.
    pub fn name(&self) -> String {
        match &self.kind {
            SourceKind::Live(source) => source.host.live.name(),
            SourceKind::Received(_) => "samples".to_owned(),
            SourceKind::Replay(source) => source.replay.name().to_owned(),
        }
    }

    /// The requested time between the samples of a report; `None` for a capture that does not record it.
    pub fn requested_interval(&self) -> Option<Duration> {
        match &self.kind {
            SourceKind::Live(source) => return Some(source.interval.get()),
            SourceKind::Received(_) => {
                return Some(self.input.interval.unwrap_or(DEFAULT_INTERVAL));
            }
            SourceKind::Replay(_) => {}
        }
        // Aggregated samples are farther apart, never closer.
        Some(Duration::from_nanos(self.header()?.interval_ns?)).max(self.input.interval)
    }

    /// Starts the deadlines of the running system after its first sample: if `subdivides`, also within a long interval.
    pub fn start_deadlines(&mut self, first: &Sample, subdivides: bool) {
        if let Some(source) = self.live() {
            let start = first.at.monotonic.unwrap_or_default();
            source.subdivides = subdivides;
            let interval = source.interval.get();
            let max_step = source.max_step(interval);
            source.deadlines = Some(SampleDeadlines::new(start, interval, max_step));
        }
    }

    /// Returns the next deadline after `now` and the number of intervals missed before it; `None` if another program or
    /// thread decides when samples are taken.
    pub fn next_deadline(&mut self, now: Duration) -> Option<(Duration, u64)> {
        let source = self.live()?;
        let interval = source.interval.get();
        let max_step = source.max_step(interval);
        let deadlines = source.deadlines.as_mut()?;
        deadlines.set_interval(interval, max_step, now);
        let next = deadlines.next(now);
        source.host.request(next.0);
        Some(next)
    }

    /// Skips the intervals that ended while the wait for the last deadline lasted too long, and returns their number.
    pub fn skip_passed(&mut self, now: Duration) -> u64 {
        match self.deadlines() {
            Some(deadlines) => deadlines.skip_passed(now),
            None => 0,
        }
    }

    /// Returns whether a sample of the running system ends an interval; `None` for a capture.
    pub fn ends_interval(&mut self, sample: &Sample) -> Option<bool> {
        if !self.is_live() {
            return None;
        }
        Some(self.ends_interval_at(sample.at.monotonic.unwrap_or_default()))
    }

    /// Goes on to the next interval if the one that has begun is over, and returns whether it is.
    pub fn ends_interval_at(&mut self, now: Duration) -> bool {
        match self.deadlines() {
            Some(deadlines) => deadlines.ends_interval(now),
            None => true,
        }
    }

    fn deadlines(&mut self) -> Option<&mut SampleDeadlines> {
        self.live()?.deadlines.as_mut()
    }

    /// Returns whether the last sample precedes the range of time that is shown.
    pub fn is_preceding(&self) -> bool {
        matches!(&self.kind, SourceKind::Replay(source) if source.place == Place::Preceding)
    }

    /// Reads the sample that follows `previous` into `sample`. `false` at the end of a capture, or of the range that is
    /// shown.
    ///
    /// # Errors
    /// When the source cannot be read, or lacks the range; with `strict` also on a warning about a capture.
    pub fn read(
        &mut self,
        previous: &Sample,
        sample: &mut Sample,
        on_warning: OnWarning<'_>,
    ) -> Result<bool> {
        match &mut self.kind {
            SourceKind::Live(source) => source.read(sample, on_warning),
            SourceKind::Received(samples) => {
                let received = samples.recv().ok();
                let found = received.is_some();
                *sample = received.unwrap_or_default();
                Ok(found)
            }
            SourceKind::Replay(source) => {
                source.read(previous, sample, self.input.strict, on_warning)
            }
        }
    }

    /// Returns the topology of the devices of the newest sample. If a capture has none, it is inferred from their
    /// names.
    pub fn topology(&mut self, newest: &Sample, previous: &Topology) -> Topology {
        let SourceKind::Replay(source) = &mut self.kind else {
            self.topology_read_at = newest.at.monotonic.unwrap_or_default();
            return with_stated(reread_topology(&self.input.root, previous), self.input);
        };
        source.header_count = source.replay.state().header_count;
        let topology = match recorded_topology(&source.replay) {
            Some(recorded) => recorded.clone(),
            None => Topology::from_names(&newest.devices),
        };
        with_stated(topology, self.input)
    }

    /// Describes the host; nothing is known of a capture without a header.
    pub fn host(&self) -> RecordingHeader {
        if self.is_live() {
            return read_recording_header(&self.input.root, &Topology::default());
        }
        self.header().cloned().unwrap_or_default()
    }

    /// Returns the name of the host; `None` for a capture that does not name it.
    pub fn host_name(&self) -> Option<String> {
        if self.is_live() {
            return read_hostname(&self.input.root);
        }
        self.header()?.host.clone()
    }

    /// Returns the machine as its firmware identifies itself; that of a capture without a header is unknown.
    pub fn machine(&self) -> Machine {
        if self.is_live() {
            return read_machine(&self.input.root);
        }
        match self.header() {
            Some(header) => header.machine.clone(),
            None => Machine::default(),
        }
    }

    /// Returns whether the topology should be read again.
    pub fn is_topology_stale(&self, newest: &Sample) -> bool {
        match &self.kind {
            // A header after the range belongs to samples that are not shown.
            SourceKind::Replay(source) => {
                source.place != Place::Following
                    && source.replay.state().header_count != source.header_count
            }
            SourceKind::Live(_) | SourceKind::Received(_) => {
                newest.at.monotonic > Some(self.topology_read_at + MAX_TOPOLOGY_AGE)
            }
        }
    }

    /// Returns whether the topology is known rather than inferred from device names.
    pub fn has_known_topology(&self) -> bool {
        match self.replay() {
            Some(replay) if self.input.stack.is_empty() => recorded_topology(replay).is_some(),
            _ => true,
        }
    }

    /// Returns the baselines of the recording that is replayed; none without a recording.
    pub fn recorded_baselines(&self) -> &RecordedBaselines {
        static NONE: RecordedBaselines = RecordedBaselines::NONE;
        match self.header() {
            Some(header) => &header.baselines,
            None => &NONE,
        }
    }

    /// Returns a resolver of names in /dev and of paths on devices, for samples of the running system, also if they were kept;
    /// `None` for a capture.
    pub fn resolver(&self) -> Option<DeviceResolver> {
        if self.input.from.is_some() {
            return None;
        }
        let root = &self.input.root;
        Some(DeviceResolver::new(root, &[root.join("sys")]))
    }
}

impl LiveSource<'_> {
    /// The longest time between samples of an interval of this length.
    fn max_step(&self, interval: Duration) -> Duration {
        if self.subdivides {
            MAX_SAMPLE_STEP
        } else {
            interval
        }
    }

    fn read(&mut self, sample: &mut Sample, on_warning: OnWarning<'_>) -> Result<bool> {
        let on_error = |line, error: LineError| {
            on_warning(&CaptureWarning::new(
                WarningClass::Lines,
                line as u64,
                error.to_string(),
            ));
        };
        self.host.read(sample, on_error)?;
        if let Some(on_sample) = &mut self.on_sample {
            on_sample(sample, &self.host.live);
        }
        Ok(true)
    }
}

impl ReplaySource<'_> {
    fn read(
        &mut self,
        previous: &Sample,
        sample: &mut Sample,
        is_strict: bool,
        on_warning: OnWarning<'_>,
    ) -> Result<bool> {
        if self.place == Place::Following {
            return Ok(false);
        }
        let found = self.replay.next(previous, sample);
        let warnings = self.replay.take_warnings();
        let name = sanitize(self.replay.name());
        if is_strict && let Some(warning) = warnings.iter().find(|warning| !warning.is_note()) {
            bail!("{name}:{}: {}", warning.line, warning.text);
        }
        warnings.iter().for_each(&mut *on_warning);
        let found = found?;
        let Some(range) = &mut self.range else {
            return Ok(found);
        };
        let in_capture = |error| anyhow!("{name}: {error}");
        if !found {
            range.finish().map_err(in_capture)?;
            return Ok(false);
        }
        if let Some(at) = sample.at.wall {
            self.place = range.place(at).map_err(in_capture)?;
        }
        if let Some(note) = range.take_note() {
            on_warning(&CaptureWarning::new(WarningClass::Capture, 0, note));
        }
        Ok(self.place != Place::Following)
    }
}

/// Checks that a capture has the devices whose stack or class the user states.
///
/// # Errors
/// If it lacks one.
pub fn check_stated(topology: &Topology, input: &Input) -> Result<()> {
    for (device, class) in &input.classes {
        let name = sanitize(device);
        ensure!(
            topology.node(device).is_some(),
            "--class {name}={}: there is no device {name}",
            class.name()
        );
    }
    for Stacked { device, below } in &input.stack {
        for name in std::iter::once(device).chain(below) {
            ensure!(
                topology.node(name).is_some(),
                "--stack {}={}: the capture has no device {}",
                sanitize(device),
                sanitize(&below.join(",")),
                sanitize(name)
            );
        }
    }
    Ok(())
}

/// Returns a topology with the stacks and classes that the user states.
pub fn with_stated(topology: Topology, input: &Input) -> Topology {
    if input.stack.is_empty() && input.classes.is_empty() {
        return topology;
    }
    let mut nodes: Vec<Node> = topology.into();
    for node in &mut nodes {
        for (device, class) in &input.classes {
            if node.name == *device {
                node.stated_class = Some(*class);
            }
        }
        for Stacked { device, below } in &input.stack {
            if node.name == *device {
                node.backing_devices.clone_from(below);
            }
        }
    }
    Topology::new(nodes)
}

/// Returns the topology in the header of a recording; `None` for a capture without one.
fn recorded_topology<'r>(replay: &'r Replay<'_>) -> Option<&'r Topology> {
    let topology = &replay.header()?.topology;
    if topology.nodes().is_empty() {
        return None;
    }
    Some(topology)
}
