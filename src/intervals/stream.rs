//! The stream of intervals.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use anyhow::{Result, bail};

use super::baseline_store::BaselineStore;
use super::device_filter::{DeviceFilter, are_all_requests_counted};
use super::device_interval::{DeviceState, IntervalHeader, IntervalRows};
use super::device_lookup::NotFound;
use super::device_tracker::{DeviceTracker, JudgedLog};
use super::incident_log::{IncidentLog, IncidentReport};
use super::options::{Detail, DeviceSelection};
use super::summary::{DeviceSummary, RunSpan};
use super::total::{counts_in_total, total_roles};
use crate::attribution::{Attribution, Attributor};
use crate::baselines::SavedBaselines;
use crate::capture::RecordingHeader;
use crate::clock::Clock;
use crate::counters::{BlockedTask, Counters, CpuTimes, Device, DeviceNumber, Sample};
use crate::incidents::Moment;
use crate::judge::{
    HostJudge, Knowledge, MIN_UTIL_INTERVAL_S, StatedCap, Verdict, hidden_io_wait_pct,
};
use crate::metrics::{DeviceMatch, HostStats};
use crate::sanitize::sanitize;
use crate::source::{
    Input, Next, OnLiveSample, OnWarning, Replay, SampleSource, SharedInterval, Step, StepSource,
    check_stated,
};
use crate::topology::{Kind, Machine, Topology, nvme_head};
use crate::units::Span;

/// The shortest measured interval with a util, in seconds: a little less than [`MIN_UTIL_INTERVAL_S`], which is
/// compared with the requested interval.
const MIN_MEASURED_UTIL_INTERVAL_S: f64 = 0.09;

/// The intervals of a running system or of a capture.
pub struct Intervals<'a> {
    input: &'a Input,
    baselines: &'a BaselineStore,
    source: StepSource<'a>,
    attributor: Attributor,
    filter: DeviceFilter<'a>,
    pub(super) tracker: DeviceTracker<'a>,
    incidents: IncidentLog,
    /// The cgroups and processes in the latest step.
    attribution: Option<Attribution>,
    topology: Topology,
    machine: Machine,
    host_name: Option<Arc<str>>,
    /// The requested interval at the end of the last one.
    requested: Option<Duration>,
    /// Seconds of all steps so far, without breaks.
    run_s: f64,
    /// The number of times that the topology was read, or found in a recording.
    pub topology_revision: u64,
    /// True if the samples have the requests of all devices.
    has_all_requests: bool,
    /// The intervals so far and the time that they span.
    pub span: RunSpan,
    /// True until the first interval of the range of time that is shown is returned.
    pub(super) is_before_range: bool,
    run: Run,
}

/// What a run over the samples is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Run {
    /// Judge them as they come.
    AsItComes,
    /// Learn from them, for a second run.
    ToLearn,
    WithHindsight,
}

/// What a first run has learned.
#[derive(Debug)]
pub struct Learned {
    knowledge: Knowledge,
    /// The samples that it read.
    samples: u64,
}

/// The next step of the stream.
#[derive(Debug)]
#[expect(
    clippy::large_enum_variant,
    reason = "there is one at a time, and it is not stored"
)]
pub enum NextInterval {
    Rows(IntervalRows),
    /// Time broke: the clock went back, the host rebooted, or another recording follows. No interval spans this point.
    Break,
    End,
    /// A signal requests the end.
    Signal(u8),
}

impl<'a> Intervals<'a> {
    /// Opens the source.
    ///
    /// # Errors
    /// When a capture cannot be opened, or the pattern of the selection is not a regular expression.
    pub fn open(
        input: &'a Input,
        selection: &'a DeviceSelection,
        detail: Detail,
        baselines: &'a BaselineStore,
        clock: &'a dyn Clock,
    ) -> Result<Self> {
        let samples = SampleSource::open(input, clock)?;
        Self::new(input, selection, detail, baselines, samples, clock)
    }

    /// Takes samples of the running system from another thread, until it hangs up. Each ends an interval.
    ///
    /// # Errors
    /// When the pattern of the selection is not a regular expression.
    pub fn receive(
        input: &'a Input,
        selection: &'a DeviceSelection,
        baselines: &'a BaselineStore,
        samples: Receiver<Sample>,
        clock: &'a dyn Clock,
    ) -> Result<Self> {
        let samples = SampleSource::receive(input, samples);
        Self::new(input, selection, Detail::Report, baselines, samples, clock)
    }

    fn new(
        input: &'a Input,
        selection: &'a DeviceSelection,
        detail: Detail,
        baselines: &'a BaselineStore,
        samples: SampleSource<'a>,
        clock: &'a dyn Clock,
    ) -> Result<Self> {
        Ok(Self {
            input,
            baselines,
            filter: DeviceFilter::new(selection)?,
            incidents: IncidentLog::new(samples.is_live()),
            // An analysis assesses whole intervals, however long.
            source: StepSource::new(
                input,
                samples,
                clock,
                detail == Detail::Report && !input.single_samples,
            ),
            attributor: Attributor::default(),
            tracker: DeviceTracker::new(detail, baselines),
            attribution: None,
            topology: Topology::default(),
            machine: Machine::default(),
            host_name: None,
            requested: None,
            run_s: 0.0,
            topology_revision: 0,
            has_all_requests: false,
            span: RunSpan::default(),
            is_before_range: input.range.begin.is_some(),
            run: Run::AsItComes,
        })
    }

    /// Makes it a first run, of what the intervals teach: a second one with hindsight follows. Rows are made of the running
    /// system only, because the devices in trouble determine what of it is read next.
    pub fn to_learn(mut self) -> Self {
        self.tracker.judge = HostJudge::first_run();
        self.run = Run::ToLearn;
        self
    }

    /// Ends a first run. Returns what it has learned, even before an error.
    pub fn into_learned(self) -> Learned {
        Learned {
            samples: self.source.sample_count,
            knowledge: self.tracker.judge.into_knowledge(),
        }
    }

    /// Judges with hindsight: with what a first run over the same samples has learned. Samples that were added meanwhile are not
    /// shown.
    pub fn with_hindsight(mut self, learned: Learned) -> Self {
        self.tracker.judge = HostJudge::second_run(learned.knowledge);
        self.source.max_samples = Some(learned.samples);
        self.run = Run::WithHindsight;
        self
    }

    /// Also passes each sample of the running system to `tap`, with the texts that it was read from. Samples of a
    /// capture are not passed.
    pub fn tap(&mut self, tap: OnLiveSample<'a>) {
        self.source.samples.tap(tap);
    }

    /// The interval of the running system, to be changed; `None` for a capture.
    pub fn shared_interval(&self) -> Option<SharedInterval> {
        self.source.samples.shared_interval()
    }

    /// Takes the first sample. `false` if there is none.
    ///
    /// # Errors
    /// When the source cannot be read.
    pub fn start(&mut self, on_warning: OnWarning<'_>) -> Result<bool> {
        let found = self.source.start(on_warning)?;
        if found {
            self.begin_segment();
            self.requested = self.requested_interval();
            check_stated(&self.topology, self.input)?;
        }
        Ok(found)
    }

    /// Waits for the next interval of the range of time that is shown.
    ///
    /// # Errors
    /// When the source cannot be read, or lacks the range; with `strict` also on a warning about a capture.
    pub fn next(&mut self, on_warning: OnWarning<'_>) -> Result<NextInterval> {
        if self.has_reached_count() {
            return Ok(NextInterval::End);
        }
        loop {
            let is_preceding = match self.source.next(on_warning)? {
                Next::Step { ends, is_preceding } => {
                    self.judge(is_preceding);
                    if !ends {
                        continue;
                    }
                    is_preceding
                }
                Next::Rest => false,
                Next::Break => {
                    self.begin_segment();
                    self.incidents.note_break();
                    return Ok(NextInterval::Break);
                }
                Next::End => return Ok(NextInterval::End),
                Next::Signal(signal) => return Ok(NextInterval::Signal(signal)),
            };
            if !self.is_told() {
                return Ok(NextInterval::Rows(IntervalRows::default()));
            }
            let rows = self.rows(is_preceding);
            if !is_preceding {
                return Ok(NextInterval::Rows(rows));
            }
        }
    }

    /// Follows the devices to the last sample, which no interval reaches from the sample before it.
    fn begin_segment(&mut self) {
        self.tracker.follow(&self.source.step());
        self.learn_topology();
        self.tracker.interrupt();
        self.attributor.interrupt();
        self.observe_io_scan();
    }

    /// Follows the devices to the last sample, and judges what leads to it.
    fn judge(&mut self, is_preceding: bool) {
        if self.source.is_first_step() {
            self.tracker.begin_interval();
        }
        let have_changed = self.tracker.follow(&self.source.step());
        if have_changed || self.is_topology_stale() {
            self.learn_topology();
        }
        self.observe_io_scan();
        let step = self.source.step();
        self.run_s += step.span.seconds();
        if !self.tracker.add(&step) {
            return;
        }
        self.attribution = self.attributor.finish_step(&self.topology);
        let attribution = self.attribution.as_ref();
        let log = JudgedLog {
            incidents: &mut self.incidents,
            now: Moment {
                at: step.newer.at.wall,
                run_s: self.run_s,
            },
            missed: self.source.missed_samples,
            is_preceding,
        };
        let is_told = self.run != Run::ToLearn || self.source.samples.is_live();
        let log = is_told.then_some(log);
        self.tracker.judge(&step, &self.topology, attribution, log);
        if !self.is_told() {
            return;
        }
        let is_waited_for =
            attribution.is_some_and(|found| found.blocked.iter().any(BlockedTask::goes_on_waiting));
        if self.tracker.judge.has_trouble() || is_waited_for {
            self.source.samples.refresh_health();
        }
    }

    /// Returns whether more is made of the intervals than what they teach.
    fn is_told(&self) -> bool {
        self.run != Run::ToLearn || self.is_live()
    }

    /// Passes the scan of the last sample on.
    fn observe_io_scan(&mut self) {
        if let Some(scan) = &self.source.newest.io_scan
            && !self.input.ignores_scans
        {
            self.attributor.observe(scan);
        }
    }

    fn rows(&mut self, is_preceding: bool) -> IntervalRows {
        if !is_preceding && std::mem::take(&mut self.is_before_range) {
            self.tracker.clear_summaries();
        }
        if self.is_topology_stale() {
            self.learn_topology();
        }
        let attribution = self.attributor.finish_interval(&self.topology);
        let (first, last, span) = (self.source.first(), &self.source.newest, self.source.span());
        let mut header = header(first, last, span, self.has_all_requests);
        header.missed_samples = self.source.missed_samples;
        header.missed_scans = self.source.missed_scans;
        let requested = self.requested_interval();
        if std::mem::replace(&mut self.requested, requested) == requested {
            header.requested_s = requested.map(|requested| requested.as_secs_f64());
        }
        header.host_name.clone_from(&self.host_name);
        if hidden_io_wait_pct(&header.host) > Some(0.0) {
            header.nfs_waits = self.tracker.judge.nfs_waits().to_vec();
        }
        let without_util = self.is_too_short_for_util(span);
        if !is_preceding {
            self.span
                .observe(header.elapsed_s, header.start, header.end);
        }
        let mut rows = IntervalRows {
            header,
            events: self.tracker.events(first, last, &self.filter),
            attribution,
            has_found_any: self.filter.has_found_any(),
            ..IntervalRows::default()
        };
        self.tracker
            .list(first, last, span, &self.filter, without_util, &mut rows);
        for device in &mut rows.devices {
            if let DeviceState::Active(activity) = &mut device.state {
                activity.incident = self.incidents.ongoing(&device.names);
                // Hindsight does not flicker, nor does what is part of an incident.
                let said = activity.judged.verdict();
                let is_of_incident = activity.incident.is_some() && said > Some(Verdict::Ok);
                if self.run == Run::WithHindsight || is_of_incident {
                    activity.shown_verdict = said;
                }
            }
        }
        self.incidents.note_changes(&rows, &self.source.newest);
        rows
    }

    fn is_too_short_for_util(&self, span: Span) -> bool {
        let requested = self.source.samples.requested_interval();
        requested.is_some_and(|requested| requested.as_secs_f64() < MIN_UTIL_INTERVAL_S)
            || span.seconds() < MIN_MEASURED_UTIL_INTERVAL_S
    }

    /// Reads the topology and learns the attributes of the devices of the last sample.
    fn learn_topology(&mut self) {
        self.topology = self.source.topology(&self.topology);
        self.machine = self.source.samples.machine();
        self.host_name = self.source.samples.host_name().map(Arc::from);
        let resolver = self.source.samples.resolver();
        let devices = &self.source.newest.devices;
        self.has_all_requests = are_all_requests_counted(&self.topology, devices);
        let recorded = self.source.samples.recorded_baselines();
        self.tracker.learn(
            devices,
            &self.topology,
            recorded,
            resolver.as_ref(),
            &mut self.filter,
        );
        self.tracker.classes.clear();
        for device in devices {
            let class = self.topology.device_class(&device.name, &self.machine);
            self.tracker.classes.push(class);
        }
        self.topology_revision += 1;
    }

    /// Returns whether the topology should be read again. A device whose counters started at zero may be another one
    /// with the same name.
    fn is_topology_stale(&self) -> bool {
        self.is_live() && (self.tracker.had_reset || self.has_new_loop())
            || self.source.is_topology_stale()
    }

    /// Returns whether a loop device that had no file completed requests.
    fn has_new_loop(&self) -> bool {
        let step = self.source.step();
        for name in self.topology.unbound_loops() {
            let older = step.older.device(name).map(|one| one.counters.completed());
            let newer = step.newer.device(name).map(|one| one.counters.completed());
            if older != newer {
                return true;
            }
        }
        false
    }
}

/// The header of an interval. The time with a request in flight is not known if the requests of some device are not
/// counted.
fn header(first: &Sample, last: &Sample, span: Span, has_all_requests: bool) -> IntervalHeader {
    let mut host = HostStats::between(first, last, span);
    if !has_all_requests {
        host.in_flight_upper_bound_pct = None;
    }
    IntervalHeader {
        start: first.at.wall,
        end: last.at.wall,
        elapsed_s: span.seconds(),
        host,
        ..IntervalHeader::default()
    }
}

impl Intervals<'_> {
    /// Passes the averages since boot to `show`. Returns `false` if the uptime is not known. Must be called after
    /// [`Self::start`].
    pub fn since_boot(&mut self, show: &mut dyn FnMut(&IntervalRows)) -> bool {
        let newer = &self.source.newest;
        let Some(span) = newer.at.uptime.and_then(Span::from_hundredths) else {
            return false;
        };
        let boot = sample_at_boot(newer);
        let step = Step {
            older: &boot,
            newer,
            span,
            device_match: DeviceMatch::Identical,
        };
        let mut tracker = DeviceTracker::new(Detail::Report, self.baselines);
        let resolver = self.source.samples.resolver();
        tracker.follow(&step);
        let recorded = self.source.samples.recorded_baselines();
        tracker.learn(
            &newer.devices,
            &self.topology,
            recorded,
            resolver.as_ref(),
            &mut self.filter,
        );
        tracker.begin_interval();
        if tracker.add(&step) {
            tracker.judge(&step, &self.topology, None, None);
        }
        let mut header = header(&boot, newer, span, self.has_all_requests);
        header.is_since_boot = true;
        header.host_name.clone_from(&self.host_name);
        let mut rows = IntervalRows {
            header,
            has_found_any: true,
            ..IntervalRows::default()
        };
        tracker.list(&boot, newer, span, &self.filter, false, &mut rows);
        show(&rows);
        true
    }
}

/// Returns the sample as it would have been at boot: all counters are zero.
fn sample_at_boot(sample: &Sample) -> Sample {
    let mut devices = sample.devices.clone();
    for device in &mut devices {
        device.counters = Counters {
            columns: device.counters.columns,
            ..Counters::ZERO
        };
    }
    Sample {
        devices,
        cpu: sample.cpu.map(|_| CpuTimes::default()),
        host: sample.host.at_boot(),
        ..Sample::default()
    }
}

impl Intervals<'_> {
    /// The capture that is replayed; `None` for the running system.
    pub fn replay(&self) -> Option<&Replay<'_>> {
        self.source.samples.replay()
    }

    /// Returns the fraction of a capture that has been read, from 0 to 1; `None` if its size is not known.
    pub fn progress(&self) -> Option<f64> {
        self.replay()?.progress()
    }

    /// Returns the requested time between reports; `None` for a capture that does not record it.
    pub fn requested_interval(&self) -> Option<Duration> {
        self.source.samples.requested_interval()
    }

    fn has_reached_count(&self) -> bool {
        self.input
            .count
            .is_some_and(|count| self.span.intervals >= count)
    }

    /// Returns whether samples come from the running system.
    pub fn is_live(&self) -> bool {
        self.source.samples.is_live()
    }

    /// Returns whether the stream ends after a given number of intervals.
    pub fn has_count(&self) -> bool {
        self.input.count.is_some()
    }

    /// The name of the source in messages.
    pub fn source_name(&self) -> String {
        self.source.samples.name()
    }

    /// Describes the host that the samples are from. Must be called after [`Self::start`].
    pub fn host(&self) -> RecordingHeader {
        self.source.samples.host()
    }

    pub fn newest(&self) -> &Sample {
        &self.source.newest
    }

    /// The topology, which may be inferred from device names.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Returns the selected devices of the last sample.
    pub fn selected_devices(&self) -> impl Iterator<Item = &Device> {
        let devices = self.source.newest.devices.iter();
        let known = devices.zip(&self.tracker.attributes);
        known.filter_map(|(device, attributes)| {
            self.filter.is_selected(attributes).then_some(device)
        })
    }

    /// The latency of reads and of writes of a device as multiples of the median of its peers; `None` if it was not compared.
    pub fn beside_peers(&self, device: &str) -> [Option<f64>; 2] {
        self.tracker.judge.beside_peers(device)
    }

    /// Returns for each device of the last sample whether a total over all devices counts its requests. One over the
    /// selected devices would count a volume whose disk is not selected.
    pub fn counted_once(&self) -> Vec<bool> {
        let newest = &self.source.newest;
        let mut counted = Vec::with_capacity(newest.devices.len());
        for role in total_roles(&newest.devices, &self.topology, None) {
            counted.push(counts_in_total(role, newest));
        }
        counted
    }

    /// Returns the whole devices that are selected in the last sample or contain selected partitions, by the kernel's
    /// names, each with its selected partitions.
    pub fn selected_disks(&self) -> BTreeMap<&str, Vec<&str>> {
        let mut disks: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for Device { name, .. } in self.selected_devices() {
            match self.topology.disk_of(name) {
                None => drop(disks.entry(name).or_default()),
                Some(disk) => disks.entry(disk).or_default().push(name),
            }
        }
        disks
    }

    /// Returns the numbers of the devices of [`Self::selected_disks`], and of the paths of NVMe disks, which have the
    /// requests of those disks.
    pub fn selected_disk_numbers(&self) -> Vec<DeviceNumber> {
        let disks = self.selected_disks();
        let mut numbers = Vec::new();
        for device in &self.source.newest.devices {
            let head = nvme_head(&device.name);
            if disks.contains_key(device.name.as_str())
                || head.is_some_and(|head| disks.contains_key(head.as_str()))
            {
                numbers.push((device.major, device.minor));
            }
        }
        numbers
    }

    /// Returns the baselines learned for each selected device that can be found again: by its identity, or, as a plain disk of
    /// virtio, by its name. Another loop device has the same name tomorrow.
    pub fn learned_baselines(&self) -> SavedBaselines {
        let mut baselines = SavedBaselines::default();
        for Device { name, .. } in self.selected_devices() {
            let identity = self.topology.identity(name);
            if identity.is_none() && !self.is_on_disk(name) {
                continue;
            }
            if let Some(baseline) = self.tracker.judge.saved_baseline(name)
                && !baseline.is_empty()
            {
                baselines.insert(name, identity, baseline);
            }
        }
        baselines
    }

    /// Returns whether a device is a disk or a partition of one.
    fn is_on_disk(&self, name: &str) -> bool {
        let disk = self.topology.disk_of(name).unwrap_or(name);
        self.topology
            .node(disk)
            .is_some_and(|node| node.kind == Kind::Disk)
    }

    /// Forgets what was learned of all devices.
    pub fn forget_devices(&mut self) {
        self.tracker.judge = HostJudge::default();
        self.learn_topology();
    }

    /// Lets the next signal end the program at once, because what follows does not look for one.
    pub(super) fn end_at_next_signal(&self) {
        self.source.clock.end_at_next_signal();
    }

    /// Returns the incidents of the selected devices so far.
    pub fn incidents(&self) -> IncidentReport {
        self.incidents.report(|names| {
            self.filter.is_name_selected(&names.device)
                || self.filter.is_name_selected(&names.label)
        })
    }

    /// Returns the summary of each selected device, by label, worst first ([`DeviceSummary::worst_first`]).
    pub fn summaries(&self) -> Vec<(String, DeviceSummary)> {
        self.tracker.summaries(&self.filter)
    }

    /// The topology; `None` if it could only be inferred from device names.
    pub fn known_topology(&self) -> Option<&Topology> {
        self.source
            .samples
            .has_known_topology()
            .then_some(&self.topology)
    }

    /// The cap that the user states of every device; `None` without one.
    pub(super) fn cap(&self) -> Option<StatedCap> {
        self.baselines.common.cap
    }

    /// Returns the requested devices that were not found so far; `None` if all were.
    pub fn not_found(&self) -> Option<NotFound> {
        let searched = if self.has_reached_count() {
            self.input.count
        } else {
            None
        };
        let devices = &self.source.newest.devices;
        self.filter.not_found(
            devices,
            &self.tracker.attributes,
            searched,
            self.input.from.as_deref(),
        )
    }

    /// Returns why there are no intervals.
    ///
    /// # Errors
    /// When the capture is not a text file.
    pub fn no_data_reason(&self) -> Result<String> {
        let capture = self.replay().map(|replay| replay.state());
        if let Some(capture) = capture
            && capture.is_not_text
        {
            bail!(
                "{} is not a text file; expected a diskstats capture",
                sanitize(&self.source.samples.name())
            );
        }
        let look_alike = capture.and_then(|capture| capture.look_alike);
        let reason = match self.source.sample_count {
            // Later samples were not read.
            0 | 1 if self.input.range.end.is_some() => {
                "fewer than two complete samples up to --end"
            }
            1.. if capture.is_some_and(|capture| capture.is_log)
                && self.input.range.is_everything() =>
            {
                "the log has no interval: its first report has averages since boot; of one of iostat -y, --every 10s \
                 states the length"
            }
            0 => {
                let replay = self.replay();
                return Ok(
                    replay.map_or_else(|| "no samples found".to_owned(), Replay::no_samples_reason)
                );
            }
            1 => {
                let why = look_alike.map(|(line, what)| format!("line {line} {what}"));
                let why = why.unwrap_or_else(|| "two are needed".to_owned());
                return Ok(format!("only one complete sample; {why}"));
            }
            _ if !self.input.range.is_everything() => "no interval lies between --begin and --end",
            _ => {
                "no two consecutive samples in order of time; a capture holds copies of /proc/diskstats, each with its time"
            }
        };
        Ok(reason.to_owned())
    }
}
