//! The limit that holds the requests of a device back.

use std::sync::Arc;

use super::attributor::{Attribution, CgroupUse, DeviceUse, contains};
use super::limit_use::{LimitKind, LimitUse};
use crate::counters::CgroupHierarchy;

/// The fraction of a device's bytes or requests that cgroups at their limits must have for their limits to hold the
/// device back: with less, most of its requests do not wait for a limit.
const MIN_SHARE: f64 = 0.5;

/// The fractions of a limit between which a limit that has held a device back goes on to do so, without a rate that is
/// exactly at it in three intervals: the load may be a little uneven, and scans come late.
const STILL_REACHED: [f64; 2] = [0.8, 2.0];
const SMALLEST_REQUEST_BYTES: f64 = 4096.0;

/// A limit that a cgroup has reached, as seen from a device.
#[derive(Clone, Debug, PartialEq)]
pub struct ReachedLimit {
    /// The path of the cgroup.
    pub cgroup: Arc<str>,
    /// The device that the limit is on: this one, or one below it.
    pub limited_device: String,
    pub kind: LimitKind,
    /// Its value, per second.
    pub value: u64,
    pub hierarchy: CgroupHierarchy,
    /// The share of the device's bytes, in percent, of the cgroup and all others that the limit applies to; `None`
    /// without bytes.
    pub share_pct: Option<f64>,
    /// True if the limits that were reached hold the device back: the cgroups have at least half of its bytes or
    /// requests, or are the only ones whose tasks wait, or its requests wait above the device with the limit.
    pub holds_device: bool,
}

/// A reached limit with the path of its cgroup and the name of its device.
type Candidate<'a> = (&'a CgroupUse, &'a str, LimitKind, u64);

impl Attribution {
    /// Returns the limit that holds the requests of a device back, or that of the cgroup with most of its bytes among
    /// those at a limit. The limits are on the device itself or on those `below` it. `None` if no cgroup that uses the
    /// device has reached one; if the device is not idle but completes nothing, or its requests are held above those below
    /// (`is_held`), it may be any that is seen on no other device: the kernel charges some writes to another cgroup. Where
    /// they are held, the rate need only be near the limit if all tasks that wait are in the cgroup.
    pub fn reached_limit(
        &self,
        device: &str,
        below: &[String],
        is_idle: bool,
        is_held: bool,
    ) -> Option<ReachedLimit> {
        let hierarchy = self.hierarchy?;
        let none = DeviceUse::default();
        let usage = self.device(device).unwrap_or(&none);
        let limited = [device].into_iter().chain(below.iter().map(String::as_str));
        let candidates: Vec<Candidate<'_>> =
            limited.flat_map(|name| self.reached_on(name, is_held)).collect();
        let applies = |(limited, ..): &Candidate<'_>, path: &str| match hierarchy {
            CgroupHierarchy::V1 => *limited.path == *path,
            CgroupHierarchy::V2 => contains(&limited.path, path),
        };
        let share = |is_limited: &dyn Fn(&str) -> bool, amount: fn(&CgroupUse) -> f64, total: f64| {
            let held: f64 = usage.cgroups.iter().filter(|cgroup| is_limited(&cgroup.path)).map(amount).sum();
            let all: f64 = usage.cgroups.iter().map(amount).sum();
            let all = total.max(all);
            (all > 0.0).then(|| held / all)
        };
        let bytes = |is_limited: &dyn Fn(&str) -> bool| {
            share(is_limited, |cgroup| cgroup.rates.bytes_per_s(), usage.total.bytes_per_s())
        };
        let requests = |is_limited: &dyn Fn(&str) -> bool| {
            share(is_limited, |cgroup| cgroup.rates.ios_per_s(), usage.total.ios_per_s())
        };
        let share_of =
            |candidate: &Candidate<'_>| bytes(&|path| applies(candidate, path)).unwrap_or_default();
        let first = candidates.iter().max_by(|a, b| {
            // Among the limits of one cgroup, the one on the device itself.
            share_of(a).total_cmp(&share_of(b)).then_with(|| (a.1 == device).cmp(&(b.1 == device)))
        })?;
        let is_any = |path: &str| candidates.iter().any(|candidate| applies(candidate, path));
        let is_much = |share: Option<f64>| share.is_some_and(|share| share >= MIN_SHARE);
        // Where nothing completes, no cgroup is seen to use the device.
        let is_unused = !is_idle && usage.total.ios_per_s() == 0.0 && usage.cgroups.is_empty();
        let is_elsewhere = |path: &str| {
            let others = self.devices.iter().filter(|other| other.name != device && other.name != first.1);
            let mut uses = others.flat_map(|other| &other.cgroups);
            uses.any(|used| *used.path == *path && used.rates.ios_per_s() > 0.0)
        };
        let is_held = is_held && first.1 != device && !is_elsewhere(&first.0.path);
        let uses_device = is_unused || is_held || usage.cgroups.iter().any(|cgroup| is_any(&cgroup.path));
        let mut waiting = self.blocked.iter().filter_map(|task| task.cgroup.as_deref()).peekable();
        let are_all_waiting_limited = waiting.peek().is_some() && waiting.all(is_any);
        let holds_device = is_held
            || is_much(bytes(&is_any))
            || is_much(requests(&is_any))
            || uses_device && are_all_waiting_limited;
        uses_device.then(|| ReachedLimit {
            cgroup: Arc::clone(&first.0.path),
            limited_device: first.1.to_owned(),
            kind: first.2,
            value: first.3,
            hierarchy,
            share_pct: bytes(&|path| applies(first, path)).map(|share| 100.0 * share),
            holds_device,
        })
    }

    /// Returns a limit on these devices that permits less than a request per second. Requests that wait for it are in no
    /// counter, and asynchronous ones block no task: it is the cause if a device above has requests in flight of which none
    /// completes, while these devices have none.
    pub fn blocking_limit<'a>(
        &'a self,
        limited: impl IntoIterator<Item = &'a String>,
    ) -> Option<ReachedLimit> {
        let hierarchy = self.hierarchy?;
        let of_device = |name: &'a String| {
            let cgroups = self.device(name).into_iter().flat_map(|device| &device.cgroups);
            cgroups.flat_map(move |cgroup| cgroup.limits.iter().map(move |limit| (name, cgroup, limit)))
        };
        let mut limits = limited.into_iter().flat_map(of_device);
        let (name, cgroup, limit) = limits.find(|(.., limit)| permits_no_request(limit))?;
        Some(ReachedLimit {
            cgroup: Arc::clone(&cgroup.path),
            limited_device: name.clone(),
            kind: limit.kind,
            value: limit.value,
            hierarchy,
            share_pct: None,
            holds_device: true,
        })
    }

    /// Returns whether a limit that has held a device back still does: it is still set, and the rate is near it or, where
    /// it permits less than a request per second, the device is in trouble.
    pub fn still_holds(&self, known: &ReachedLimit, is_in_trouble: bool) -> bool {
        let cgroups = self.device(&known.limited_device).into_iter().flat_map(|device| &device.cgroups);
        let limits = cgroups.filter(|cgroup| cgroup.path == known.cgroup).flat_map(|cgroup| &cgroup.limits);
        let mut same = limits.filter(|limit| (limit.kind, limit.value) == (known.kind, known.value));
        same.any(|limit| {
            let permitted = limit.value as f64;
            let is_near = (STILL_REACHED[0] * permitted..=STILL_REACHED[1] * permitted).contains(&limit.rate);
            limit.is_reached || limit.is_near || is_near || permits_no_request(limit) && is_in_trouble
        })
    }

    /// Returns the use of a device by the kernel's name; `None` if it had no I/O and no limits.
    pub fn device(&self, name: &str) -> Option<&DeviceUse> {
        self.devices.iter().find(|device| device.name == name)
    }

    fn reached_on<'a>(&'a self, name: &'a str, is_held: bool) -> impl Iterator<Item = Candidate<'a>> {
        let cgroups = self.device(name).into_iter().flat_map(|device| &device.cgroups);
        // Threads of the kernel, which write journals for others, are in the root.
        let has_all_waiting = |path: &str| {
            let paths = self.blocked.iter().filter_map(|task| task.cgroup.as_deref());
            let mut waiting = paths.filter(|path| *path != "/").peekable();
            waiting.peek().is_some() && waiting.all(|task| contains(path, task))
        };
        cgroups.flat_map(move |cgroup| {
            let suffices_near = is_held && has_all_waiting(&cgroup.path);
            let reached =
                cgroup.limits.iter().filter(move |limit| limit.is_reached || suffices_near && limit.is_near);
            reached.map(move |limit| (cgroup, name, limit.kind, limit.value))
        })
    }
}

fn permits_no_request(limit: &LimitUse) -> bool {
    limit.kind.is_bytes() && (limit.value as f64) < SMALLEST_REQUEST_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::IoRates;
    use crate::counters::BlockedTask;

    fn cgroup(path: &str, bytes: f64, limit: Option<u64>) -> CgroupUse {
        let rates = IoRates { reads_per_s: bytes / 4096.0, read_bytes_per_s: bytes, ..IoRates::default() };
        let limits = limit.map(|value| LimitUse {
            kind: LimitKind::ReadIops,
            value,
            rate: value as f64,
            is_reached: true,
            is_near: true,
        });
        CgroupUse { path: path.into(), rates, share_pct: None, limits: limits.into_iter().collect() }
    }

    fn device(name: &str, cgroups: Vec<CgroupUse>) -> DeviceUse {
        let bytes: f64 = cgroups.iter().map(|cgroup| cgroup.rates.read_bytes_per_s).sum();
        let total = IoRates { reads_per_s: bytes / 4096.0, read_bytes_per_s: bytes, ..IoRates::default() };
        DeviceUse { name: name.into(), total, cgroups, ..DeviceUse::default() }
    }

    fn attribution(devices: Vec<DeviceUse>) -> Attribution {
        Attribution { hierarchy: Some(CgroupHierarchy::V2), devices, ..Attribution::default() }
    }

    fn held(attribution: &Attribution, name: &str, below: &[&str]) -> Option<(String, Option<f64>, bool)> {
        let below: Vec<String> = below.iter().map(|name| (*name).to_owned()).collect();
        let limit = attribution.reached_limit(name, &below, false, false)?;
        Some((format!("{} on {}", limit.cgroup, limit.limited_device), limit.share_pct, limit.holds_device))
    }

    #[test]
    fn a_limit_of_less_than_a_request_blocks_whoever_is_in_flight_above() {
        let mut limited = cgroup("/db", 0.0, Some(100));
        let attribution = |limited: &CgroupUse| attribution(vec![device("sda", vec![limited.clone()])]);
        let below = ["sda".to_owned()];
        assert_eq!(attribution(&limited).blocking_limit(&below), None);
        limited.limits[0].kind = LimitKind::ReadBytes;
        let limit = &mut limited.limits[0];
        (limit.is_reached, limit.is_near, limit.rate) = (false, false, 0.0);
        let found = attribution(&limited).blocking_limit(&below).unwrap();
        assert_eq!((&*found.cgroup, found.holds_device), ("/db", true));
        assert!(attribution(&limited).still_holds(&found, true));
        assert!(!attribution(&limited).still_holds(&found, false));
        limited.limits[0].value = 1 << 20;
        assert_eq!(attribution(&limited).blocking_limit(&below), None);
    }

    #[test]
    fn cgroups_at_their_limit_hold_a_device_back_if_most_of_it_is_theirs() {
        let of = |db, other| {
            attribution(vec![device("sda", vec![cgroup("/db", db, Some(50)), cgroup("/other", other, None)])])
        };
        let found = |share, holds| Some(("/db on sda".to_owned(), Some(share), holds));
        assert_eq!(held(&of(60.0, 40.0), "sda", &[]), found(60.0, true));
        assert_eq!(held(&of(40.0, 60.0), "sda", &[]), found(40.0, false));
        assert_eq!(held(&of(40.0, 60.0), "sdb", &[]), None);
        let without = attribution(vec![device("sda", vec![cgroup("/db", 60.0, None)])]);
        assert_eq!(held(&without, "sda", &[]), None);
    }

    #[test]
    fn several_limited_cgroups_hold_it_together() {
        let cgroups =
            vec![cgroup("/a", 30.0, Some(50)), cgroup("/b", 30.0, Some(50)), cgroup("/c", 40.0, None)];
        let (name, share, holds) = held(&attribution(vec![device("sda", cgroups)]), "sda", &[]).unwrap();
        assert!(name.ends_with("on sda") && share == Some(30.0) && holds, "{name}");
    }

    #[test]
    fn in_version_2_a_limit_applies_to_descendants() {
        let cgroups =
            vec![cgroup("/db", 0.0, Some(50)), cgroup("/db/w", 90.0, None), cgroup("/x", 10.0, None)];
        let mut found = attribution(vec![device("sda", cgroups)]);
        assert_eq!(held(&found, "sda", &[]), Some(("/db on sda".to_owned(), Some(90.0), true)));
        found.hierarchy = Some(CgroupHierarchy::V1);
        assert_eq!(held(&found, "sda", &[]), Some(("/db on sda".to_owned(), Some(0.0), false)));
    }

    #[test]
    fn a_limit_on_a_device_below_holds_the_volume() {
        let below = device("sda", vec![cgroup("/db", 60.0, Some(50)), cgroup("/x", 600.0, None)]);
        let volume = device("dm-0", vec![cgroup("/db", 60.0, None)]);
        let other = device("dm-1", vec![cgroup("/x", 600.0, None)]);
        let found = attribution(vec![below, volume, other]);
        assert_eq!(held(&found, "dm-0", &["sda"]), Some(("/db on sda".to_owned(), Some(100.0), true)));
        assert_eq!(held(&found, "dm-1", &["sda"]), None);
        assert!(!held(&found, "sda", &[]).unwrap().2);
    }

    #[test]
    fn requests_that_are_held_above_a_reached_limit_wait_for_it() {
        // The journal below, and buffered writes above, are charged to the root.
        let below = device("sda", vec![cgroup("/db", 40.0, Some(50)), cgroup("/", 60.0, None)]);
        let volume = device("dm-0", vec![cgroup("/", 60.0, None)]);
        let mut found = attribution(vec![below, volume]);
        let below = ["sda".to_owned()];
        let holds = |found: &Attribution, is_held| {
            found.reached_limit("dm-0", &below, false, is_held).is_some_and(|limit| limit.holds_device)
        };
        assert_eq!([false, true].map(|is_held| holds(&found, is_held)), [false, true]);
        found.hierarchy = Some(CgroupHierarchy::V1);
        assert!(holds(&found, true));
        found.devices.push(device("dm-1", vec![cgroup("/db", 40.0, None)]));
        assert!(!holds(&found, true), "it is another volume that the cgroup uses");
    }

    #[test]
    fn where_requests_are_held_a_limit_that_is_near_suffices_if_only_its_cgroup_waits() {
        let mut limited = cgroup("/db", 40.0, Some(50));
        limited.limits[0].is_reached = false;
        let volume = device("dm-0", vec![cgroup("/", 60.0, None)]);
        let mut found = attribution(vec![device("sda", vec![limited]), volume]);
        let is_found = |found: &Attribution, is_held| {
            found.reached_limit("dm-0", &["sda".to_owned()], false, is_held).is_some()
        };
        let task = |path: &str| BlockedTask { cgroup: Some(path.into()), ..BlockedTask::default() };
        assert!(!is_found(&found, true));
        found.blocked = vec![task("/db/w"), task("/")];
        assert_eq!([false, true].map(|is_held| is_found(&found, is_held)), [false, true]);
        found.blocked.push(task("/other"));
        assert!(!is_found(&found, true));
        found.blocked.pop();
        found.devices[0].cgroups[0].limits[0].is_near = false;
        assert!(!is_found(&found, true));
    }

    #[test]
    fn cgroups_that_alone_wait_hold_a_device_back() {
        let cgroups = || vec![cgroup("/db", 1.0, Some(50)), cgroup("/other", 99.0, None)];
        let task = |path: &str| BlockedTask { cgroup: Some(path.into()), ..BlockedTask::default() };
        let with = |blocked| Attribution { blocked, ..attribution(vec![device("sda", cgroups())]) };
        let holds = |found: &Attribution| held(found, "sda", &[]).unwrap().2;
        assert!(holds(&with(vec![task("/db"), task("/db/w")])));
        assert!(!holds(&with(vec![task("/db"), task("/other")])) && !holds(&with(Vec::new())));
    }
}
