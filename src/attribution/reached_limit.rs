//! Limits that cgroups have reached: do they hold the requests of a device back?

use super::{Attribution, DeviceUse, IoRates, Limit, LimitUse, RateUnit, is_in_cgroup};
use crate::counters::CgroupHierarchy;

/// The fraction of a device's bytes or requests that cgroups at their limits must have for their limits to hold the
/// device back: with less, most of its requests do not wait for a limit.
const MIN_SHARE: f64 = 0.5;

/// The fraction of a device's requests from which cgroups without a limit count as users of it.
const MIN_OTHERS_SHARE: f64 = 0.1;

/// The fractions of a limit between which a limit that has held a device back goes on to do so, without a rate that is
/// exactly at it in three intervals: the load may be a little uneven, and scans come late.
const STILL_REACHED: [f64; 2] = [0.5, 2.0];
/// The smallest request of nearly all file systems.
const PAGE_KIB: f64 = 4.0;

/// How requests wait at a device, or for it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Waits {
    /// Nothing was in flight or completed.
    pub is_idle: bool,
    /// Requests wait between the device and those below it.
    pub is_held: bool,
    /// Tasks wait for I/O that no device shows.
    pub are_hidden: bool,
}

/// A limit that a cgroup has reached, as seen from a device that it is on, or that lies above that one.
#[derive(Clone, Debug, PartialEq)]
pub struct ReachedLimit {
    pub limit: Limit,
    /// The share of the device's bytes, in percent, of the cgroup and all others that the limit applies to; `None`
    /// without bytes.
    pub share_pct: Option<f64>,
    /// True if the limits that were reached hold the device back: its requests wait above the device with the limit, or the
    /// cgroups have at least half of its bytes or requests and others don't use it or wait as well.
    pub holds_device: bool,
    /// True if tasks outside of the cgroups at limits wait for long.
    pub others_wait: bool,
}

impl ReachedLimit {
    /// A limit that holds a device back, whatever the shares of the cgroups.
    pub fn in_force(limit: Limit) -> Self {
        Self {
            limit,
            share_pct: None,
            holds_device: true,
            others_wait: false,
        }
    }
}

impl Attribution {
    /// Returns the limit that a cgroup has reached on a device or on those `below` it: that of the cgroup with most of the
    /// device's bytes. `None` if no cgroup that uses the device has reached one.
    ///
    /// The kernel charges some writes to another cgroup. If nothing completes, or requests are held above the devices below,
    /// any cgroup that uses no other device will therefore do.
    pub fn reached_limit(
        &self,
        device: &str,
        below: &[String],
        waits: Waits,
    ) -> Option<ReachedLimit> {
        let hierarchy = self.hierarchy?;
        let none = DeviceUse::default();
        let usage = self.device(device).unwrap_or(&none);
        let mut candidates = self.reached_on(device, waits);
        for name in below {
            candidates.extend(self.reached_on(name, waits));
        }
        let limited = LimitedCgroups {
            hierarchy,
            limits: &candidates,
        };
        let (first, share) = limited.first_on(usage, device)?;

        let is_elsewhere = self.uses_others(first, device);
        // Where nothing completes, no cgroup is seen to use the device.
        let is_unused = !waits.is_idle
            && usage.total.ios_per_s() == 0.0
            && usage.cgroups.is_empty()
            && !is_elsewhere;
        let is_held = waits.is_held && &*first.device != device && !is_elsewhere;
        let mut paths = usage.cgroups.iter().map(|cgroup| &cgroup.path);
        if !is_unused && !is_held && !paths.any(|path| limited.include(path)) {
            return None;
        }

        let mut others_wait = false;
        for task in &self.blocked {
            let path = task.cgroup.as_deref().unwrap_or("/");
            others_wait |= task.goes_on_waiting() && !task.is_kernel && !limited.include(path);
        }
        let waiting = self.waiting_cgroups();
        let are_all_waiting_limited =
            !waiting.is_empty() && waiting.iter().all(|path| limited.include(path));
        let has_most = limited.have_most(usage);
        let holds_device = is_held
            || has_most && (others_wait || !limited.share_with_others(usage))
            || is_unused && are_all_waiting_limited;
        Some(ReachedLimit {
            limit: first.clone(),
            share_pct: share.map(|share| 100.0 * share),
            holds_device,
            others_wait,
        })
    }

    /// Returns a limit on these devices that permits less than a request per second. Requests that wait for it are in no
    /// counter, and asynchronous ones block no task: it is the cause if a device above has requests in flight of which none
    /// completes, while these devices have none.
    pub fn blocking_limit<'a>(
        &'a self,
        limited: impl IntoIterator<Item = &'a String>,
    ) -> Option<&'a Limit> {
        for name in limited {
            for used in self.limit_uses(name) {
                if permits_less_than_a_page_per_s(&used.limit) {
                    return Some(&used.limit);
                }
            }
        }
        None
    }

    /// Returns whether a limit that has held a device back still does: it is still set, and the rate is near it or, where
    /// it permits less than a request per second, the device is in trouble.
    pub fn still_holds(&self, known: &Limit, is_in_trouble: bool) -> bool {
        let still = STILL_REACHED[0] * known.value..=STILL_REACHED[1] * known.value;
        let is_blocking = permits_less_than_a_page_per_s(known) && is_in_trouble;
        self.limit_uses(&known.device).any(|used| {
            let is_in_force = used.is_reached || used.is_near || used.is_waited_for;
            used.limit == *known && (is_in_force || still.contains(&used.rate) || is_blocking)
        })
    }

    /// The use of all limits on a device.
    fn limit_uses(&self, name: &str) -> impl Iterator<Item = &LimitUse> {
        let cgroups = self.device(name).map_or(&[][..], |device| &device.cgroups);
        cgroups.iter().flat_map(|cgroup| &cgroup.limits)
    }

    /// The cgroups of the tasks that wait, as far as they are known.
    fn waiting_cgroups(&self) -> Vec<&str> {
        let cgroups = self
            .blocked
            .iter()
            .filter_map(|task| task.cgroup.as_deref());
        cgroups.collect()
    }

    /// Returns the limits on a device that were reached. Where requests are held or hidden, a limit that is near counts if
    /// all tasks that wait are in its cgroup.
    fn reached_on(&self, name: &str, waits: Waits) -> Vec<&Limit> {
        let mut reached = Vec::new();
        let Some(usage) = self.device(name) else {
            return reached;
        };
        // Threads of the kernel, which write journals for others, are in the root.
        let mut waiting = self.waiting_cgroups();
        waiting.retain(|path| *path != "/");
        let may_be_near = (waits.is_held || waits.are_hidden) && !waiting.is_empty();
        for cgroup in &usage.cgroups {
            let suffices_near =
                may_be_near && waiting.iter().all(|path| is_in_cgroup(&cgroup.path, path));
            for used in &cgroup.limits {
                if used.is_reached
                    || suffices_near && used.is_near
                    || waits.are_hidden && used.is_waited_for
                {
                    reached.push(&used.limit);
                }
            }
        }
        reached
    }

    /// Returns whether the cgroup of a limit uses a device other than this one and that of the limit.
    fn uses_others(&self, limit: &Limit, device: &str) -> bool {
        for other in &self.devices {
            if &*other.name == device || other.name == limit.device {
                continue;
            }
            for used in &other.cgroups {
                if limit.owner.as_ref() == Some(&used.path) && used.rates.ios_per_s() > 0.0 {
                    return true;
                }
            }
        }
        false
    }
}

/// The cgroups to which limits apply: in version 2, a limit applies to descendants.
struct LimitedCgroups<'a> {
    hierarchy: CgroupHierarchy,
    limits: &'a [&'a Limit],
}

impl<'a> LimitedCgroups<'a> {
    fn include(&self, path: &str) -> bool {
        for limit in self.limits {
            let is_included = match (&limit.owner, self.hierarchy) {
                (None, _) => false,
                (Some(owner), CgroupHierarchy::V1) => **owner == *path,
                (Some(owner), CgroupHierarchy::V2) => is_in_cgroup(owner, path),
            };
            if is_included {
                return true;
            }
        }
        false
    }

    /// Returns the limit of the cgroup with most of the device's bytes and, among those of one cgroup, the one on the device
    /// itself; and the fraction of the bytes that the cgroup has.
    fn first_on(&self, usage: &DeviceUse, device: &str) -> Option<(&'a Limit, Option<f64>)> {
        let mut first = None;
        let mut highest_rank = None;
        for limit in self.limits {
            let alone = LimitedCgroups {
                hierarchy: self.hierarchy,
                limits: &[limit],
            };
            let share = alone.share(usage, IoRates::bytes_per_s);
            let is_on_device = &*limit.device == device;
            let rank = Some((share, is_on_device));
            if rank >= highest_rank {
                highest_rank = rank;
                first = Some((*limit, share));
            }
        }
        first
    }

    /// The fraction of a device's amount that these cgroups have; `None` if there is none.
    fn share(&self, usage: &DeviceUse, amount: fn(&IoRates) -> f64) -> Option<f64> {
        let (mut own, mut sum) = (0.0, 0.0);
        for cgroup in &usage.cgroups {
            let part = amount(&cgroup.rates);
            sum += part;
            if self.include(&cgroup.path) {
                own += part;
            }
        }
        let all = amount(&usage.total).max(sum);
        (all > 0.0).then(|| own / all)
    }

    /// Returns whether they have most of a device's bytes or requests.
    fn have_most(&self, usage: &DeviceUse) -> bool {
        let of_bytes = self.share(usage, IoRates::bytes_per_s);
        let of_requests = self.share(usage, IoRates::ios_per_s);
        of_bytes >= Some(MIN_SHARE) || of_requests >= Some(MIN_SHARE)
    }

    /// Returns whether other cgroups also use a device. Without others, the limit holds back whoever the device is for; with
    /// others that don't wait, it does what it is for.
    fn share_with_others(&self, usage: &DeviceUse) -> bool {
        let mut others_per_s = 0.0;
        for cgroup in &usage.cgroups {
            if !self.include(&cgroup.path) {
                // The root has the journals of file systems, which are written for others.
                others_per_s += match &*cgroup.path {
                    "/" => cgroup.rates.reads_per_s,
                    _ => cgroup.rates.ios_per_s(),
                };
            }
        }
        others_per_s >= MIN_OTHERS_SHARE * usage.total.ios_per_s()
    }
}

fn permits_less_than_a_page_per_s(limit: &Limit) -> bool {
    limit.unit == RateUnit::Kib && limit.value < PAGE_KIB
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::{CgroupUse, IoDirection, LimitSource};
    use crate::counters::BlockedTask;

    fn cgroup(path: &str, bytes: f64, limit: Option<f64>) -> CgroupUse {
        let rates = IoRates {
            reads_per_s: bytes / 4096.0,
            read_bytes_per_s: bytes,
            ..IoRates::default()
        };
        let limits = limit.map(|value| LimitUse {
            limit: Limit {
                owner: Some(path.into()),
                device: "".into(),
                direction: IoDirection::Reads,
                unit: RateUnit::Requests,
                value,
                source: LimitSource::Cgroup(CgroupHierarchy::V2),
            },
            rate: value,
            is_reached: true,
            reached_s: 1.0,
            is_near: true,
            is_waited_for: false,
        });
        CgroupUse {
            path: path.into(),
            rates,
            share_pct: None,
            limits: limits.into_iter().collect(),
        }
    }

    fn waits(is_held: bool) -> Waits {
        Waits {
            is_held,
            ..Waits::default()
        }
    }

    fn device(name: &str, mut cgroups: Vec<CgroupUse>) -> DeviceUse {
        for used in cgroups.iter_mut().flat_map(|cgroup| &mut cgroup.limits) {
            used.limit.device = name.into();
        }
        let bytes: f64 = cgroups
            .iter()
            .map(|cgroup| cgroup.rates.read_bytes_per_s)
            .sum();
        let total = IoRates {
            reads_per_s: bytes / 4096.0,
            read_bytes_per_s: bytes,
            ..IoRates::default()
        };
        DeviceUse {
            name: name.into(),
            total,
            cgroups,
            ..DeviceUse::default()
        }
    }

    fn attribution(mut devices: Vec<DeviceUse>) -> Attribution {
        devices.sort_by(|a, b| a.name.cmp(&b.name));
        Attribution {
            hierarchy: Some(CgroupHierarchy::V2),
            devices,
            ..Attribution::default()
        }
    }

    fn held(
        attribution: &Attribution,
        name: &str,
        below: &[&str],
    ) -> Option<(String, Option<f64>, bool)> {
        let below: Vec<String> = below.iter().map(|name| (*name).to_owned()).collect();
        let reached = attribution.reached_limit(name, &below, Waits::default())?;
        Some((
            format!("{} on {}", reached.limit.owner?, reached.limit.device),
            reached.share_pct,
            reached.holds_device,
        ))
    }

    #[test]
    fn a_limit_of_less_than_a_request_blocks_whoever_is_in_flight_above() {
        let mut limited = cgroup("/db", 0.0, Some(100.0));
        let attribution =
            |limited: &CgroupUse| attribution(vec![device("sda", vec![limited.clone()])]);
        let below = ["sda".to_owned()];
        assert_eq!(attribution(&limited).blocking_limit(&below), None);
        let used = &mut limited.limits[0];
        (used.limit.unit, used.limit.value) = (RateUnit::Kib, 0.1);
        (used.is_reached, used.is_near, used.rate) = (false, false, 0.0);
        let found = attribution(&limited);
        let limit = found.blocking_limit(&below).unwrap();
        assert_eq!(limit.owner.as_deref(), Some("/db"));
        assert!(found.still_holds(limit, true) && !found.still_holds(limit, false));
        limited.limits[0].limit.value = 1024.0;
        assert_eq!(attribution(&limited).blocking_limit(&below), None);
    }

    #[test]
    fn cgroups_at_their_limit_hold_a_device_back_if_most_of_it_is_theirs() {
        let of = |db, other| {
            attribution(vec![device(
                "sda",
                vec![cgroup("/db", db, Some(50.0)), cgroup("/other", other, None)],
            )])
        };
        let found = |share, holds| Some(("/db on sda".to_owned(), Some(share), holds));
        assert_eq!(held(&of(95.0, 5.0), "sda", &[]), found(95.0, true));
        assert_eq!(held(&of(40.0, 60.0), "sda", &[]), found(40.0, false));
        assert_eq!(held(&of(40.0, 60.0), "sdb", &[]), None);
        let without = attribution(vec![device("sda", vec![cgroup("/db", 60.0, None)])]);
        assert_eq!(held(&without, "sda", &[]), None);
    }

    #[test]
    fn several_limited_cgroups_hold_it_together() {
        let cgroups = vec![
            cgroup("/a", 48.0, Some(50.0)),
            cgroup("/b", 48.0, Some(50.0)),
            cgroup("/c", 4.0, None),
        ];
        let (name, share, holds) =
            held(&attribution(vec![device("sda", cgroups)]), "sda", &[]).unwrap();
        assert!(
            name.ends_with("on sda") && share == Some(48.0) && holds,
            "{name}"
        );
    }

    #[test]
    fn in_version_2_a_limit_applies_to_descendants() {
        let cgroups = vec![
            cgroup("/db", 0.0, Some(50.0)),
            cgroup("/db/w", 95.0, None),
            cgroup("/x", 5.0, None),
        ];
        let mut found = attribution(vec![device("sda", cgroups)]);
        assert_eq!(
            held(&found, "sda", &[]),
            Some(("/db on sda".to_owned(), Some(95.0), true))
        );
        found.hierarchy = Some(CgroupHierarchy::V1);
        assert_eq!(
            held(&found, "sda", &[]),
            Some(("/db on sda".to_owned(), Some(0.0), false))
        );
    }

    #[test]
    fn a_limit_on_a_device_below_holds_the_volume() {
        let below = device(
            "sda",
            vec![cgroup("/db", 60.0, Some(50.0)), cgroup("/x", 600.0, None)],
        );
        let volume = device("dm-0", vec![cgroup("/db", 60.0, None)]);
        let other = device("dm-1", vec![cgroup("/x", 600.0, None)]);
        let found = attribution(vec![below, volume, other]);
        assert_eq!(
            held(&found, "dm-0", &["sda"]),
            Some(("/db on sda".to_owned(), Some(100.0), true))
        );
        assert_eq!(held(&found, "dm-1", &["sda"]), None);
        assert!(!held(&found, "sda", &[]).unwrap().2);
    }

    #[test]
    fn requests_that_are_held_above_a_reached_limit_wait_for_it() {
        // The journal below, and buffered writes above, are charged to the root.
        let below = device(
            "sda",
            vec![cgroup("/db", 40.0, Some(50.0)), cgroup("/", 60.0, None)],
        );
        let volume = device("dm-0", vec![cgroup("/", 60.0, None)]);
        let mut found = attribution(vec![below, volume]);
        let below = ["sda".to_owned()];
        let holds = |found: &Attribution, is_held| {
            found
                .reached_limit("dm-0", &below, waits(is_held))
                .is_some_and(|reached| reached.holds_device)
        };
        assert_eq!(
            [false, true].map(|is_held| holds(&found, is_held)),
            [false, true]
        );
        found.hierarchy = Some(CgroupHierarchy::V1);
        assert!(holds(&found, true));
        found
            .devices
            .push(device("dm-1", vec![cgroup("/db", 40.0, None)]));
        assert!(
            !holds(&found, true),
            "it is another volume that the cgroup uses"
        );
    }

    #[test]
    fn where_requests_are_held_a_limit_that_is_near_suffices_if_only_its_cgroup_waits() {
        let mut limited = cgroup("/db", 40.0, Some(50.0));
        limited.limits[0].is_reached = false;
        let volume = device("dm-0", vec![cgroup("/", 60.0, None)]);
        let mut found = attribution(vec![device("sda", vec![limited]), volume]);
        let is_found = |found: &Attribution, is_held| {
            found
                .reached_limit("dm-0", &["sda".to_owned()], waits(is_held))
                .is_some()
        };
        let task = |path: &str| BlockedTask {
            cgroup: Some(path.into()),
            ..BlockedTask::default()
        };
        assert!(!is_found(&found, true));
        found.blocked = vec![task("/db/w"), task("/")];
        assert_eq!(
            [false, true].map(|is_held| is_found(&found, is_held)),
            [false, true]
        );
        found.blocked.push(task("/other"));
        assert!(!is_found(&found, true));
        found.blocked.pop();
        found.devices[1].cgroups[0].limits[0].is_near = false;
        assert!(!is_found(&found, true));
    }

    #[test]
    fn a_limit_that_only_its_own_cgroup_feels_does_not_hold_the_device() {
        let cgroups = || {
            vec![
                cgroup("/batch", 80.0, Some(50.0)),
                cgroup("/db", 20.0, None),
            ]
        };
        let task = |path: &str, waited_ms| BlockedTask {
            cgroup: Some(path.into()),
            waited_ms,
            ..BlockedTask::default()
        };
        let holds = |blocked| {
            let found = Attribution {
                blocked,
                ..attribution(vec![device("sda", cgroups())])
            };
            held(&found, "sda", &[]).unwrap().2
        };
        assert!(!holds(Vec::new()));
        assert!(!holds(vec![task("/batch", 9000), task("/db", 0)]));
        assert!(holds(vec![task("/batch", 9000), task("/db", 9000)]));
    }
}
