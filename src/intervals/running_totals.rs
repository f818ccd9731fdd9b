//! Values that only grow, added up over all intervals since the start, for metrics: the kernel has no counters for
//! them, and occasional scrapes would miss what happens in between.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;

use super::device_interval::{DeviceInterval, IntervalRows};
use super::incident::Incident;
use super::stream::Intervals;
use super::total::{counts_in_total, total_roles};
use crate::attribution::{Attribution, Limit, LimitSource};
use crate::counters::{Counters, Health, HostState};
use crate::judge::{BaselineSource, Judged, RateUnit, StatedCap};
use crate::metrics::Completed;
use crate::topology::{Kind, Node};

/// The upper bounds of the buckets of latency, in milliseconds: about three per factor of ten, from an NVMe disk at
/// work (0.1 ms) to a hard disk with a long queue (100 ms). Above a second, a device is hardly usable. There are few
/// buckets, because each becomes a time series for every device of every host.
pub const LATENCY_BOUNDS_MS: [f64; 8] = [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0];

/// The upper bounds of the buckets of the queue: up to one request at a time, the depth of a busy disk, that of its
/// hardware queue (32 for SATA), and more than most devices accept at once.
pub const QUEUE_BOUNDS: [f64; 5] = [1.0, 4.0, 16.0, 64.0, 256.0];

/// The most pairs of a device and a cgroup with a value of their own; the others of each device are combined into one.
const MAX_CGROUPS: usize = 100;

/// The selected devices that have metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceScope {
    pub partitions: bool,
    /// Include loop, ram and zram devices that never did any I/O.
    pub unused: bool,
}

#[derive(Debug, Default)]
pub struct RunningTotals {
    scope: DeviceScope,
    /// The cap that the user states of every device.
    cap: Option<StatedCap>,
    devices: HashMap<String, Record>,
    cgroups: CgroupTotals,
    /// The revision of the topology that the identities are from; `None` before the first.
    topology_revision: Option<u64>,
    intervals: u64,
    missed_samples: u64,
    skipped_scans: u64,
}

/// A device of the last sample.
#[derive(Debug, Default)]
struct Record {
    info: Arc<DeviceInfo>,
    totals: DeviceTotals,
    /// The incident that it belonged to in the last interval.
    incident: Option<Arc<Incident>>,
}

/// The metrics at the end of an interval.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MetricsSnapshot {
    /// The time of the last sample; `None` without a wall clock.
    pub at: Option<Timestamp>,
    /// The intervals since the start.
    pub intervals: u64,
    /// The samples missed since the start.
    pub missed_samples: u64,
    /// The scans of cgroups that were left out since the start, because they would have cost too much.
    pub skipped_scans: u64,
    /// The host in the last sample.
    pub host: HostState,
    /// The devices of the last sample.
    pub devices: Vec<DeviceSnapshot>,
    /// The cgroups that have limits, sorted by device and path.
    pub cgroups: Vec<LimitedCgroup>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DeviceSnapshot {
    pub info: Arc<DeviceInfo>,
    /// The counters of the kernel in the last sample.
    pub counters: Counters,
    /// Its values since the start.
    pub totals: DeviceTotals,
    /// The limits that the user states, and those of requests and of bytes that it reached last.
    pub limits: Vec<Limit>,
    /// The health that the kernel reports for it; `None` if that is not known.
    pub health: Option<Arc<Health>>,
    /// The incident that it belongs to; `None` without one.
    pub incident: Option<Arc<Incident>>,
    /// The latency of reads and of writes as multiples of the median of its peers, over the last quarter of an hour; `None`
    /// without peers that serve a like load.
    pub over_peers: [Option<f64>; 2],
}

impl RunningTotals {
    /// Starts at zero for the devices in scope; `cap` is the cap that the user states, if any.
    pub fn new(scope: DeviceScope, cap: Option<StatedCap>) -> Self {
        Self {
            scope,
            cap,
            ..Self::default()
        }
    }

    pub fn observe(&mut self, rows: &IntervalRows) {
        let elapsed_s = rows.header.elapsed_s;
        self.intervals += 1;
        self.missed_samples = self
            .missed_samples
            .saturating_add(rows.header.missed_samples);
        self.devices
            .values_mut()
            .for_each(|record| record.incident = None);
        for device in &rows.devices {
            let record = self.devices.entry(device.device().to_owned()).or_default();
            record.totals.observe(device, elapsed_s);
            record.incident = device
                .incident()
                .map(|ongoing| Arc::clone(&ongoing.incident));
        }
        if let Some(attribution) = &rows.attribution {
            self.skipped_scans = self.skipped_scans.saturating_add(attribution.skipped);
            self.cgroups.observe(attribution);
        }
    }

    /// Returns the metrics after the last sample. Devices that are not in it are forgotten.
    pub fn snapshot(&mut self, intervals: &Intervals<'_>) -> MetricsSnapshot {
        if self.topology_revision != Some(intervals.topology_revision) {
            self.topology_revision = Some(intervals.topology_revision);
            self.identify(intervals);
        }
        let sample = intervals.newest();
        let devices = intervals
            .selected_with_peers()
            .filter_map(|(name, counters, over_peers)| {
                let Record {
                    info,
                    totals,
                    incident,
                } = self.devices.get(name)?;
                if !self.is_in_scope(info.node.kind, counters) {
                    return None;
                }
                let (info, totals, incident) = (Arc::clone(info), totals.clone(), incident.clone());
                let stated = self.cap.into_iter().flat_map(|cap| cap.limits(name));
                let limits = stated
                    .chain(totals.reached_limits.iter().flatten().cloned())
                    .collect();
                let health = sample
                    .health
                    .as_ref()
                    .and_then(|facts| facts.get(name))
                    .cloned();
                Some(DeviceSnapshot {
                    info,
                    counters: *counters,
                    totals,
                    limits,
                    health,
                    incident,
                    over_peers,
                })
            });
        MetricsSnapshot {
            at: sample.at.wall,
            intervals: self.intervals,
            missed_samples: self.missed_samples,
            skipped_scans: self.skipped_scans,
            host: sample.host,
            devices: devices.collect(),
            cgroups: self.cgroups.0.values().cloned().collect(),
        }
    }

    /// Learns the identities of the devices of the last sample, and forgets those that it lacks.
    fn identify(&mut self, intervals: &Intervals<'_>) {
        let sample = intervals.newest();
        let topology = intervals.topology();
        // A total over the selected devices would count a volume if its disk is not selected.
        let roles = total_roles(&sample.devices, topology, None);
        let mut known = std::mem::take(&mut self.devices);
        for (device, role) in sample.devices.iter().zip(roles) {
            let mut record = known.remove(&device.name).unwrap_or_default();
            let is_counted = counts_in_total(role, sample);
            record.info = Arc::new(DeviceInfo::new(
                &device.name,
                topology.node(&device.name),
                is_counted,
            ));
            self.devices.entry(device.name.clone()).or_insert(record);
        }
    }

    fn is_in_scope(&self, kind: Kind, counters: &Counters) -> bool {
        let is_often_unused = kind.is_memory() || kind == Kind::Loop;
        let was_ever_active = counters.completed() != [0; 4] || counters.in_flight > 0;
        match kind {
            Kind::Partition => self.scope.partitions,
            _ => self.scope.unused || !is_often_unused || was_ever_active,
        }
    }
}

/// A device and its place in the stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceInfo {
    pub node: Node,
    /// Its place among the others in machine formats: sums over the role `physical` count each request once.
    pub role: &'static str,
}

impl DeviceInfo {
    /// Describes a device by its node of the topology, if it has one. `is_counted` is true if a total over all devices
    /// counts its requests.
    fn new(device: &str, node: Option<&Node>, is_counted: bool) -> Self {
        let unknown = || Node {
            name: device.to_owned(),
            kind: Kind::from_name(device),
            ..Node::default()
        };
        let node = node.cloned().unwrap_or_else(unknown);
        let role = match node.kind {
            _ if is_counted => "physical",
            Kind::Partition => "partition",
            Kind::NvmePath => "path",
            kind if kind.is_memory() => "memory",
            _ => "stacked",
        };
        Self { node, role }
    }

    /// The name that administrators use, such as that of a logical volume; otherwise the kernel's.
    pub fn name(&self) -> &str {
        self.node
            .alias
            .as_deref()
            .filter(|alias| !alias.is_empty())
            .unwrap_or(&self.node.name)
    }

    /// The volume of Kubernetes that the device is, and the UID of the pod that it is mounted for: the kubelet mounts it
    /// at `.../pods/POD/volumes/PLUGIN/VOLUME`, and for CSI at `/mount` below that.
    pub fn kubernetes_volume(&self) -> Option<(&str, &str)> {
        self.node.mountpoints.iter().find_map(|path| {
            let (_, path) = path.split_once("/pods/")?;
            let parts: Vec<&str> = path.split('/').collect();
            match parts[..] {
                [pod, "volumes", _, volume] | [pod, "volumes", _, volume, "mount"] => {
                    Some((volume, pod))
                }
                _ => None,
            }
        })
    }
}

/// The values of a device since the start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DeviceTotals {
    pub sum: Judged,
    /// Seconds in intervals in which requests were in flight and none completed.
    pub stalled_s: f64,
    /// The requests whose times the kernel gives, those of each interval in the bucket of their mean latency. The sums are
    /// in milliseconds.
    pub reads: Buckets<{ LATENCY_BOUNDS_MS.len() }>,
    pub writes: Buckets<{ LATENCY_BOUNDS_MS.len() }>,
    pub discards: Buckets<{ LATENCY_BOUNDS_MS.len() }>,
    /// The mean queue of each interval.
    pub queue: Buckets<{ QUEUE_BOUNDS.len() }>,
    /// The unloaded latency in milliseconds that the latest reads and the latest writes were compared with, and its origin;
    /// `None` before the first.
    pub unloaded: [Option<(f64, BaselineSource)>; 2],
    /// The limits of requests and of bytes that it reached last; `None` before it reached any.
    reached_limits: [Option<Limit>; 2],
}

impl DeviceTotals {
    /// Adds an interval of this length.
    fn observe(&mut self, device: &DeviceInterval, elapsed_s: f64) {
        let Some(activity) = device.activity() else {
            self.sum.times.add(device.verdict(), elapsed_s);
            return;
        };
        let judged = &activity.judged;
        let interval = &judged.interval;
        self.sum += judged;
        if interval.is_stalled() {
            self.stalled_s += interval.seconds();
        }
        self.reads.add_requests(&interval.reads);
        self.writes.add_requests(&interval.writes);
        self.discards.add_requests(&interval.discards);
        if let Some(queue) = interval.queue() {
            self.queue.add(&QUEUE_BOUNDS, queue, 1, queue);
        }
        let requests = [&interval.reads, &interval.writes];
        for (index, unloaded) in self.unloaded.iter_mut().enumerate() {
            let compared = judged.compared[index];
            if let (Some(await_ms), Some(source)) = (
                requests[index].await_ms(),
                judged.assessment().baseline_source,
            ) && compared.unloaded_ms > 0.0
            {
                *unloaded = Some((await_ms * compared.unloaded_ms / compared.taken_ms, source));
            }
        }
        // A limit that the user states is known anyway.
        if let Some(limit) = device
            .reached_limits()
            .find(|limit| limit.source != LimitSource::Given)
        {
            let index = usize::from(limit.unit == RateUnit::Kib);
            self.reached_limits[index] = Some(limit);
        }
    }
}

/// A histogram with fixed buckets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Buckets<const N: usize> {
    /// Observations at or below each bound and above the bound before.
    pub within: [u64; N],
    /// All observations.
    pub count: u64,
    /// Their sum.
    pub sum: f64,
}

impl<const N: usize> Default for Buckets<N> {
    fn default() -> Self {
        Self {
            within: [0; N],
            count: 0,
            sum: 0.0,
        }
    }
}

impl<const N: usize> Buckets<N> {
    /// Adds observations of the same value.
    fn add(&mut self, bounds: &[f64; N], value: f64, count: u64, sum: f64) {
        if let Some(bucket) = bounds.iter().position(|bound| value <= *bound) {
            self.within[bucket] = self.within[bucket].saturating_add(count);
        }
        self.count = self.count.saturating_add(count);
        self.sum += sum;
    }
}

impl Buckets<{ LATENCY_BOUNDS_MS.len() }> {
    fn add_requests(&mut self, completed: &Completed) {
        if let Some(await_ms) = completed.await_ms() {
            self.add(
                &LATENCY_BOUNDS_MS,
                await_ms,
                completed.timed_ios,
                completed.time.ms as f64,
            );
        }
    }
}

/// A cgroup with limits on a device.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LimitedCgroup {
    /// The kernel's name of the device.
    pub device: Arc<str>,
    /// The path of the cgroup; `None` for the sum over all those beyond the first hundred.
    pub cgroup: Option<Arc<str>>,
    /// Seconds at one of its limits since the start.
    pub at_limit_s: f64,
    /// Its limits, reached or not. The sum over cgroups has none.
    pub limits: Vec<Limit>,
}

/// The limits of cgroups and the time that they have been at them, by device and cgroup; `None` for the sum of cgroups
/// without a value of their own.
#[derive(Debug, Default)]
struct CgroupTotals(BTreeMap<(Arc<str>, Option<Arc<str>>), LimitedCgroup>);

impl CgroupTotals {
    /// Adds an interval. Every cgroup with a limit gets a value, so that the value grows from zero once the cgroup
    /// reaches its limit. The value is removed if the cgroup is gone or no longer has a limit.
    fn observe(&mut self, attribution: &Attribution) {
        let mut present = HashSet::new();
        for device in &attribution.devices {
            for cgroup in device
                .cgroups
                .iter()
                .filter(|cgroup| !cgroup.limits.is_empty())
            {
                let own = (Arc::clone(&device.name), Some(Arc::clone(&cgroup.path)));
                let has_own = self.0.contains_key(&own) || self.0.len() < MAX_CGROUPS;
                let key = if has_own {
                    own
                } else {
                    (Arc::clone(&device.name), None)
                };
                let total = self.0.entry(key.clone()).or_default();
                (total.device, total.cgroup) = key.clone();
                let is_at_limit = cgroup.limits.iter().any(|limit| limit.is_reached);
                total.at_limit_s += if is_at_limit {
                    attribution.elapsed_s
                } else {
                    0.0
                };
                if has_own {
                    total.limits = cgroup
                        .limits
                        .iter()
                        .map(|used| used.limit.clone())
                        .collect();
                }
                present.insert(key);
            }
        }
        // A scan that found no cgroups because of an error does not show that they are gone.
        if attribution.problem.is_none() {
            self.0.retain(|key, _| present.contains(key));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::{CgroupUse, DeviceUse, IoDirection, IoRates, LimitUse};
    use crate::counters::CgroupHierarchy;
    use crate::intervals::DeviceActivity;
    use crate::intervals::DeviceState;
    use crate::judge::{Assessment, Compared, Verdict};
    use crate::metrics::Interval;

    #[test]
    fn partitions_and_devices_that_were_never_used_have_no_metrics_by_default() {
        let counters = |ios| {
            let mut counters = Counters::ZERO;
            counters.reads.ios = ios;
            counters
        };
        let is_in_scope =
            |scope, kind, ios| RunningTotals::new(scope, None).is_in_scope(kind, &counters(ios));
        let default = DeviceScope::default();
        assert!(is_in_scope(default, Kind::Disk, 0) && is_in_scope(default, Kind::Lvm, 0));
        assert!(is_in_scope(default, Kind::Loop, 1) && !is_in_scope(default, Kind::Loop, 0));
        assert!(!is_in_scope(default, Kind::Partition, 1));
        let all = DeviceScope {
            partitions: true,
            unused: true,
        };
        assert!(
            Kind::NAMES
                .into_iter()
                .all(|(kind, _)| is_in_scope(all, kind, 0))
        );
    }

    #[test]
    fn only_devices_that_a_total_counts_are_physical() {
        let role = |kind, is_counted| {
            DeviceInfo::new(
                "x",
                Some(&Node {
                    kind,
                    ..Node::default()
                }),
                is_counted,
            )
            .role
        };
        assert_eq!(role(Kind::Disk, true), "physical");
        assert_eq!(role(Kind::Lvm, false), "stacked");
        assert_eq!(role(Kind::Loop, false), "stacked");
        assert_eq!(role(Kind::Partition, false), "partition");
        assert_eq!(role(Kind::NvmePath, false), "path");
        assert_eq!(role(Kind::Zram, false), "memory");
    }

    #[test]
    fn a_volume_of_kubernetes_is_known_by_where_the_kubelet_mounts_it() {
        let volume = |path: &str| {
            let node = Node {
                mountpoints: vec!["/data".into(), path.into()],
                ..Node::default()
            };
            let info = DeviceInfo::new("sda", Some(&node), true);
            info.kubernetes_volume()
                .map(|(volume, pod)| format!("{volume} of {pod}"))
        };
        let expected = Some("pvc-7 of 1f-2e".to_owned());
        assert_eq!(
            volume("/var/lib/kubelet/pods/1f-2e/volumes/kubernetes.io~csi/pvc-7/mount"),
            expected
        );
        assert_eq!(
            volume("/srv/kubelet/pods/1f-2e/volumes/kubernetes.io~local-volume/pvc-7"),
            expected
        );
        assert_eq!(
            volume("/var/lib/kubelet/pods/1f-2e/volume-subpaths/pvc-7/db/0"),
            None
        );
        assert_eq!(volume("/var/lib/pods/volumes"), None);
    }

    #[test]
    fn a_volume_has_the_name_that_administrators_use() {
        let node = Node {
            name: "dm-0".into(),
            alias: Some("vg0-root".into()),
            kind: Kind::Lvm,
            ..Node::default()
        };
        let info = DeviceInfo::new("dm-0", Some(&node), false);
        assert_eq!([&info.node.name, info.name()], ["dm-0", "vg0-root"]);
        assert_eq!(DeviceInfo::new("dm-0", None, false).name(), "dm-0");
    }

    fn interval(state: DeviceState) -> DeviceInterval {
        DeviceInterval::without_alias("sda", state)
    }

    fn active(stats: Interval, assessment: Assessment) -> DeviceInterval {
        let activity = DeviceActivity::example(stats, assessment);
        interval(DeviceState::Active(Box::new(activity)))
    }

    #[test]
    fn every_second_has_a_verdict_or_none() {
        let mut totals = DeviceTotals::default();
        let stats = Interval::unknown(2.0);
        let capped = Assessment {
            verdict: Some(Verdict::Capped),
            ..Assessment::default()
        };
        totals.observe(&active(stats, capped), 2.0);
        totals.observe(&active(stats, Assessment::default()), 2.0);
        totals.observe(
            &interval(DeviceState::AccountingOff(Box::new(Judged::of(
                &stats, None,
            )))),
            2.0,
        );
        totals.observe(&interval(DeviceState::Reset), 2.0);
        let times = totals.sum.times;
        let seconds: Vec<(Option<Verdict>, f64)> =
            times.iter().filter(|(_, seconds)| *seconds > 0.0).collect();
        let expected = [
            (Some(Verdict::Capped), 2.0),
            (Some(Verdict::AccountingOff), 2.0),
            (None, 4.0),
        ];
        assert_eq!(seconds, expected);
    }

    #[test]
    fn intervals_without_completions_are_stalled() {
        let mut totals = DeviceTotals::default();
        let stalled = Interval::unknown(1.5).with_in_flight(3);
        totals.observe(&active(stalled, Assessment::default()), 1.5);
        totals.observe(
            &active(
                Interval {
                    reads: Completed::example(1.5, 1, 1.0),
                    ..stalled
                },
                Assessment::default(),
            ),
            1.5,
        );
        assert_eq!(totals.stalled_s, 1.5);
    }

    #[test]
    fn saturation_over_any_time_follows_from_two_sums() {
        let mut totals = DeviceTotals::default();
        let mut observe = |ios, await_ms, saturation| {
            let reads = Completed::example(1.0, ios, await_ms);
            let assessment = Assessment {
                read_saturation: saturation,
                baseline_source: Some(BaselineSource::Learned),
                ..Assessment::default()
            };
            let stats = Interval {
                reads,
                ..Interval::unknown(1.0).with_queue(2.0)
            };
            totals.observe(&active(stats, assessment), 1.0);
        };
        observe(100, 4.0, Some(8.0));
        observe(300, 1.0, Some(2.0));
        observe(500, 9.0, None);
        let [reads, writes, _] = totals.sum.compared;
        assert_eq!((reads.taken_ms, reads.unloaded_ms), (700.0, 200.0));
        assert_eq!(writes, Compared::default());
        assert_eq!(
            totals.unloaded,
            [Some((0.5, BaselineSource::Learned)), None]
        );
        assert_eq!(
            (totals.queue.count, totals.queue.sum, totals.reads.sum),
            (3, 6.0, 5200.0)
        );
    }

    #[test]
    fn a_value_on_a_bound_belongs_to_its_bucket() {
        let mut counts = Buckets::default();
        for value in [0.0, 1.0, 1.1, 300.0] {
            counts.add(&QUEUE_BOUNDS, value, 2, 2.0 * value);
        }
        assert_eq!((counts.within, counts.count), ([4, 2, 0, 0, 0], 8));
    }

    #[test]
    fn sum_and_count_are_exact() {
        let mut requests = Buckets::default();
        let (mut ios, mut ms) = (0, 0);
        for n in 1..1000_u64 {
            let of_interval = n * 7 % 113;
            let completed = Completed {
                ns: 1,
                ios: n,
                ..Completed::default()
            };
            requests.add_requests(&completed.with_time(Some(of_interval)));
            (ios, ms) = (ios + n, ms + of_interval);
        }
        assert_eq!((requests.count, requests.sum), (ios, ms as f64));
        requests.add_requests(&Completed::example(1.0, 0, 0.0));
        assert_eq!(requests.count, ios);
    }

    fn limited(totals: &CgroupTotals) -> Vec<&LimitedCgroup> {
        totals.0.values().collect()
    }

    fn cgroup(path: String, is_reached: bool) -> CgroupUse {
        let limit = LimitUse {
            limit: Limit {
                owner: Some(path.as_str().into()),
                device: "sda".into(),
                direction: IoDirection::Reads,
                unit: RateUnit::Requests,
                value: 50.0,
                source: LimitSource::Cgroup(CgroupHierarchy::V2),
            },
            rate: 50.0,
            is_reached,
            is_near: is_reached,
        };
        CgroupUse {
            path: path.into(),
            rates: IoRates::default(),
            share_pct: None,
            limits: vec![limit],
        }
    }

    fn attribution(cgroups: Vec<CgroupUse>) -> Attribution {
        let device = DeviceUse {
            name: "sda".into(),
            cgroups,
            ..DeviceUse::default()
        };
        Attribution {
            elapsed_s: 2.0,
            devices: vec![device],
            ..Attribution::default()
        }
    }

    #[test]
    fn time_at_a_limit_adds_up_and_ends_with_the_cgroup() {
        let mut totals = CgroupTotals::default();
        totals.observe(&attribution(vec![
            cgroup("/a".into(), false),
            cgroup("/b".into(), true),
        ]));
        totals.observe(&attribution(vec![
            cgroup("/a".into(), true),
            cgroup("/b".into(), true),
        ]));
        let seconds: Vec<f64> = limited(&totals)
            .iter()
            .map(|cgroup| cgroup.at_limit_s)
            .collect();
        assert_eq!(seconds, [2.0, 4.0]);
        assert_eq!(
            limited(&totals)[0].limits,
            [cgroup("/a".into(), true).limits[0].limit.clone()]
        );
        let unlimited = CgroupUse {
            limits: Vec::new(),
            ..cgroup("/a".into(), true)
        };
        totals.observe(&attribution(vec![unlimited]));
        assert!(limited(&totals).is_empty());
    }

    #[test]
    fn the_number_of_cgroups_is_bounded() {
        let mut totals = CgroupTotals::default();
        let all = || {
            (0..250)
                .map(|at| cgroup(format!("/{at:03}"), true))
                .collect()
        };
        totals.observe(&attribution(all()));
        totals.observe(&attribution(all()));
        let limited = limited(&totals);
        assert_eq!(limited.len(), MAX_CGROUPS + 1);
        let others: Vec<_> = limited.iter().filter(|one| one.cgroup.is_none()).collect();
        assert_eq!((others.len(), others[0].at_limit_s), (1, 150.0 * 4.0));
        assert!(others[0].limits.is_empty());
        assert_eq!(
            limited.iter().map(|cgroup| cgroup.at_limit_s).sum::<f64>(),
            250.0 * 4.0
        );
    }
}
