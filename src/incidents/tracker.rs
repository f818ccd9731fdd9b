//! The pass over the seconds.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;

use super::cause::{Facts, cause_of};
use super::describe::{HostRow, Past};
use super::device::{Device, Row, calm_s, past_s};
use super::episodes::Episodes;
use super::frozen::Frozen;
use super::join::{Joined, join};
use super::limits::{Evidence, Limits, held_since_s};
use super::second::{DeviceSecond, RequestKind, Requests, Scan, Second};
use super::second_cause::SecondCause;
use super::told::Told;
use crate::judge::Verdict;
use crate::topology::{DeviceNames, Topology};

/// For so long, in calms before, an incident is described anew each second; later only its end and its seconds change.
const SETTLED_CALMS: f64 = 5.0;
/// After so many seconds, an incident that goes on is described anew only every few seconds.
const FRESH_S: f64 = 60.0;
const DUE_S: f64 = 10.0;
/// Seconds after its end for which an episode may still be joined by another one, which may be dated back.
const JOINED_S: f64 = 20.0;
/// A rebuild of which no fact was read for so long is over: facts are read every ten seconds where all is well.
const SYNC_GONE_S: f64 = 15.0;

/// Rows for which there is space at first: many devices, such as those of containers, are gone after a few seconds.
const SPARE_ROWS: usize = 8;

/// All incidents of a run, as far as they may still change. Those that are over are handed out and forgotten.
#[derive(Clone, Debug, Default)]
pub struct Incidents {
    devices: HashMap<Arc<str>, Device>,
    hosts: VecDeque<HostRow>,
    scans: Vec<(f64, Scan)>,
    has_scans: bool,
    /// The first second of the segment.
    first_s: Option<f64>,
    limits: Limits,
    frozen: Frozen,
    /// The arrays that are being rebuilt, with the second at which that was last seen.
    syncing: Vec<(Arc<str>, f64)>,
    episodes: Episodes,
    /// The incidents of the latest second that are worth telling, by the number of their first episode.
    told: BTreeMap<u64, Arc<Told>>,
    /// Their numbers, by that of their first episode.
    numbers: HashMap<u64, u64>,
    count: u64,
}

impl Incidents {
    /// Takes the next second. Returns the incidents that are over, which it forgets.
    pub fn push(&mut self, second: Second, topology: &Topology) -> Vec<Told> {
        let now_s = second.end.run_s;
        let first_s = *self.first_s.get_or_insert(now_s);
        self.hosts.push_back(HostRow {
            end: second.end,
            seconds: second.seconds,
            host: second.host,
        });
        if let Some(scan) = second.scan {
            self.has_scans = true;
            self.scans.push((now_s, scan));
        }
        let names = self.take_devices(second.devices, now_s, second.seconds, topology);
        self.take_over(now_s, &second.host, topology);
        let syncing: Vec<Arc<str>> = self
            .syncing
            .iter()
            .map(|(array, _)| Arc::clone(array))
            .collect();
        for name in &names {
            if let Some(device) = self.devices.get(name) {
                self.episodes.observe(device, &syncing);
            }
        }
        let ended = self.tell(now_s, first_s, topology);
        self.forget(now_s);
        ended
    }

    /// The incidents that go on or have just ended, in the order in which they were found.
    pub fn open(&self) -> impl Iterator<Item = &Arc<Told>> {
        self.told.values()
    }

    /// The incident of this number, unless it has been forgotten.
    pub fn told(&self, id: u64) -> Option<&Arc<Told>> {
        self.told.values().find(|told| told.id == id)
    }

    /// Returns whether the past of a device is kept: it must be told of each second.
    pub fn follows(&self, device: &str) -> bool {
        self.devices.contains_key(device)
    }

    /// The word of the incidents for the latest second of a device; `None` if none has one.
    pub fn word(&self, device: &str) -> Option<Verdict> {
        let row = self.devices.get(device)?.rows.back()?;
        let (word, _) = row.class.as_ref()?;
        let is_now = self
            .hosts
            .back()
            .is_some_and(|host| host.end.run_s == row.end_s);
        is_now.then_some(*word)
    }

    /// Notes a break in time: nothing spans it. Returns the incidents, which are over.
    pub fn interrupt(&mut self) -> Vec<Told> {
        let mut ended = Vec::new();
        for told in self.told.values() {
            let mut told = Told::clone(told);
            told.is_ongoing = false;
            ended.push(told);
        }
        *self = Self {
            count: self.count,
            ..Self::default()
        };
        ended
    }

    /// Notes that a device is gone, or another one: what happened to it is over.
    pub fn interrupt_device(&mut self, device: &str) {
        self.episodes.interrupt(Some(device));
    }

    /// Takes the seconds of the devices with what is wrong in each. Returns the names of those that are followed, in their order.
    fn take_devices(
        &mut self,
        devices: Vec<DeviceSecond>,
        end_s: f64,
        seconds: f64,
        topology: &Topology,
    ) -> Vec<Arc<str>> {
        let facts = self.facts(&devices, end_s);
        let host = self.hosts[self.hosts.len() - 1].host;
        let mut names = Vec::with_capacity(devices.len());
        for second in devices {
            let name: Arc<str> = match self.devices.get_key_value(&*second.names.device) {
                Some((name, _)) => Arc::clone(name),
                // Most devices of a large host never do anything.
                None if !second.has_work() => continue,
                None => self.follow(&second.names),
            };
            let Some(device) = self.devices.get_mut(&name) else {
                continue;
            };
            device.place = second.place;
            device.names = Arc::clone(&second.names);
            let mut row = Row {
                end_s,
                seconds,
                second,
                class: None,
                is_used: false,
            };
            row.class = cause_of(device, &row, &host, &facts, topology);
            row.is_used = row.has(&SecondCause::Used);
            device.rows.push_back(row);
            names.push(name);
        }
        names
    }

    /// Begins to follow a device that was idle until now.
    fn follow(&mut self, names: &Arc<DeviceNames>) -> Arc<str> {
        let name: Arc<str> = Arc::from(names.device.as_str());
        let latest = self.hosts.len() - 1;
        // What begins now has its calm before in these.
        let from_s = self.hosts[latest].end.run_s - past_s(self.step_s());
        let first = (self.hosts).partition_point(|host| host.end.run_s < from_s);
        let mut rows = VecDeque::with_capacity(latest - first + SPARE_ROWS);
        for host in self.hosts.range(first..latest) {
            rows.push_back(Row {
                end_s: host.end.run_s,
                seconds: host.seconds,
                second: DeviceSecond::idle(names),
                class: None,
                is_used: false,
            });
        }
        let device = Device {
            names: Arc::clone(names),
            place: 0,
            rows,
        };
        self.devices.insert(Arc::clone(&name), device);
        name
    }

    fn facts(&mut self, devices: &[DeviceSecond], now_s: f64) -> Facts {
        let mut facts = Facts::default();
        for second in devices {
            let name = || Arc::from(second.names.device.as_str());
            if second.is_suspended {
                facts.suspended.push(name());
            }
            if second.is_syncing {
                facts.syncing.push(name());
            }
        }
        self.syncing
            .retain(|(array, at_s)| now_s - at_s <= SYNC_GONE_S && !facts.syncing.contains(array));
        for array in &facts.syncing {
            self.syncing.push((Arc::clone(array), now_s));
        }
        facts
    }

    /// Gives seconds the causes that only several of them show.
    fn take_over(&mut self, now_s: f64, host: &super::second::HostSecond, topology: &Topology) {
        if !self.has_scans {
            return;
        }
        let mut devices: Vec<&Device> = self.devices.values().collect();
        devices.sort_by_key(|device| device.place);
        let found = Evidence {
            now_s,
            scans: &self.scans,
            devices: &devices,
            topology,
        };
        let held = self.limits.observe(&found);
        let frozen = self.frozen.observe(&found, host);
        // A limit that is first seen to hold a device back did so before.
        let mut known = Vec::new();
        for device in devices {
            if let Some((from_s, cause)) = newly_held(device, now_s) {
                known.push((
                    Arc::<str>::from(device.names.device.as_str()),
                    cause,
                    from_s,
                ));
            }
        }
        for one in held {
            let from_s = one.from_s;
            self.hold_back(&one.device, &one.cause, from_s, one.until_s);
        }
        for (device, cause, from_s) in known {
            self.hold_back(&device, &cause, from_s, now_s);
        }
        for one in frozen {
            self.move_to(
                &one.device,
                &SecondCause::Frozen,
                Verdict::Stalled,
                &one.seconds_s,
            );
        }
    }

    /// Gives the seconds of a device to a limit, but those in which nothing completes.
    fn hold_back(&mut self, device: &str, cause: &SecondCause, from_s: f64, until_s: f64) {
        let Some(held) = self.devices.get(device) else {
            return;
        };
        let mut seconds_s = Vec::new();
        for row in held.rows.range(held.index_from(from_s)..) {
            let moves = row.second.requests[..2].iter().any(|one| one.per_s > 0.0);
            let is_stall = match &row.class {
                Some((Verdict::Stalled, SecondCause::Stall)) => !moves,
                Some((Verdict::Stalled, _)) => true,
                _ => false,
            };
            if row.end_s <= until_s && !row.has(cause) && !is_stall {
                seconds_s.push(row.end_s);
            }
        }
        self.move_to(device, cause, Verdict::Throttled, &seconds_s);
    }

    /// Gives seconds of a device another cause. The latest becomes part of an episode with all others of its kind.
    fn move_to(&mut self, device: &str, cause: &SecondCause, word: Verdict, seconds_s: &[f64]) {
        let Some(moved) = self.devices.get_mut(device) else {
            return;
        };
        for end_s in seconds_s {
            let at = moved.index_from(*end_s);
            if let Some(row) = moved.rows.get_mut(at) {
                row.class = Some((word, cause.clone()));
            }
        }
        let now_s = moved.rows.back().map_or(0.0, |row| row.end_s);
        let mut earlier = seconds_s.to_vec();
        earlier.retain(|end_s| *end_s < now_s);
        self.episodes.move_to(moved, cause, word, &earlier);
    }

    /// Tells all incidents anew. Returns those that are over.
    fn tell(&mut self, now_s: f64, first_s: f64, topology: &Topology) -> Vec<Told> {
        if self.episodes.list.is_empty() && self.told.is_empty() {
            return Vec::new();
        }
        let place = |device: &str| self.devices.get(device).map_or(0, |device| device.place);
        let joined = join(&self.episodes.list, place, topology);
        let past = Past {
            devices: &self.devices,
            hosts: &self.hosts,
            scans: &self.scans,
            topology,
            first_s,
            has_scans: self.has_scans,
        };
        let (mut told, mut ended) = (BTreeMap::new(), Vec::new());
        let mut gone = Vec::new();
        for one in &joined {
            let key = self.episodes.list[one.episodes[0]].id;
            let known = self.told.get(&key);
            let is_settled = now_s - one.begin_s > SETTLED_CALMS * calm_s(self.step_s());
            let is_fresh = now_s - one.begin_s <= FRESH_S || now_s - one.end_s >= self.step_s();
            let is_due = is_fresh || now_s % DUE_S < self.step_s();
            let now = match known.filter(|_| is_settled || !is_due) {
                Some(known) => Some(known.continued(one, &self.episodes, now_s)),
                None => past.tell(one, &self.episodes.list, now_s),
            };
            let is_open = one
                .episodes
                .iter()
                .any(|at| self.episodes.list[*at].is_open);
            let is_over = !is_open && now_s - one.end_s > JOINED_S.max(2.0 * self.step_s());
            if is_over {
                gone.extend(one.episodes.iter().map(|at| self.episodes.list[*at].id));
            }
            let Some(mut now) = now else {
                continue;
            };
            let number = self.numbers.entry(key).or_insert_with(|| {
                self.count += 1;
                self.count
            });
            now.id = *number;
            if is_over {
                self.numbers.remove(&key);
                ended.push(now);
            } else {
                told.insert(key, Arc::new(now));
            }
        }
        self.told = told;
        let oldest_s = self.kept_from_s(now_s);
        self.episodes
            .forget(|episode| gone.contains(&episode.id), oldest_s);
        ended
    }

    fn step_s(&self) -> f64 {
        let shortest = self
            .hosts
            .iter()
            .rev()
            .take(3)
            .map(|row| row.seconds)
            .reduce(f64::min);
        shortest.unwrap_or(1.0).max(1.0)
    }

    /// The second from which on the past is kept: the calm before the first incident that is not settled.
    fn kept_from_s(&self, now_s: f64) -> f64 {
        let calm = calm_s(self.step_s());
        let mut oldest_s = now_s;
        for episode in &self.episodes.list {
            oldest_s = oldest_s.min(episode.begin_s());
        }
        oldest_s.max(now_s - SETTLED_CALMS * calm) - calm - JOINED_S
    }

    fn forget(&mut self, now_s: f64) {
        let from_s = self.kept_from_s(now_s);
        while self.hosts.front().is_some_and(|row| row.end.run_s < from_s) {
            self.hosts.pop_front();
        }
        self.scans.retain(|(at_s, _)| *at_s >= from_s);
        let mut in_trouble = HashSet::new();
        for episode in &self.episodes.list {
            in_trouble.insert(&episode.device);
        }
        self.devices.retain(|name, device| {
            device.forget(from_s);
            let is_gone = device.rows.back().is_none_or(|row| row.end_s < now_s);
            let mut rows = device.rows.iter().rev();
            in_trouble.contains(name) || !is_gone && rows.any(|row| row.second.has_work())
        });
    }
}

/// Returns since when a limit holds a device back, if that is first seen now.
fn newly_held(device: &Device, now_s: f64) -> Option<(f64, SecondCause)> {
    let mut rows = device.rows.iter().rev();
    let row = rows.next().filter(|row| row.end_s == now_s)?;
    let limit = row.second.limit.as_ref()?;
    let (_, cause) = row.class.as_ref()?;
    let was_held = rows.next().is_some_and(|before| before.has(cause));
    if was_held || !matches!(cause, SecondCause::Limit(_)) {
        return None;
    }
    Some((held_since_s(device, limit), cause.clone()))
}

impl Told {
    /// What is told of an incident that goes on for long: its end and its seconds are new.
    fn continued(&self, joined: &Joined, episodes: &Episodes, now_s: f64) -> Self {
        let mut told = self.clone();
        told.end = told.begin.at_run_s(joined.end_s);
        told.is_ongoing = joined.goes_on(now_s, 1.0);
        for device in &mut told.devices {
            let mut times = crate::judge::VerdictTimes::default();
            for at in &joined.episodes {
                let episode = &episodes.list[*at];
                if *episode.device == *device.names.device {
                    times.add_all(&episode.earlier);
                    for (_, word) in &episode.bad {
                        times.add(Some(*word), 1.0);
                    }
                }
            }
            device.times = times;
            device.end = told.end;
        }
        if let Some(victim) = told.devices.first() {
            told.bad_s = victim.times.work_s();
        }
        told
    }
}

impl DeviceSecond {
    fn has_work(&self) -> bool {
        self.verdict > Verdict::Idle || self.iops > 0.0 || self.is_waited_for
    }

    /// A second in which nothing happened.
    fn idle(names: &Arc<DeviceNames>) -> Self {
        Self {
            place: 0,
            names: Arc::clone(names),
            verdict: Verdict::Idle,
            limit: None,
            capped_at: None,
            is_suspended: false,
            is_syncing: false,
            is_waited_for: false,
            late_s: 0.0,
            in_flight: 0,
            queue: 0.0,
            util_pct: Some(0.0),
            iops: 0.0,
            kib_per_s: [0.0; 2],
            requests: [Requests::default(); RequestKind::ALL.len()],
        }
    }
}
