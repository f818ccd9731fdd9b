//! The cgroups and waiting tasks of an interval in few bytes: unpacked, they would double the memory of an interval.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::bytes::{ByteReader, put_f64, put_u64};
use crate::attribution::{Attribution, CgroupUse, DeviceUse, IoRates, LimitUse};

/// The bits of a cgroup: whether it has a share, and whether each of its four rates comes from a whole number.
const HAS_SHARE: u8 = 1;
const RATES_SHIFT: u8 = 1;

/// The names of the previous interval, which are usually also those of the next one.
#[derive(Debug, Default)]
pub(super) struct LastNames {
    paths: Arc<[Arc<str>]>,
    devices: Arc<[Arc<str>]>,
}

/// Returns `last` if it has these names, otherwise a new list, which shares memory with the names in `last`.
fn share(names: &[&str], last: &mut Arc<[Arc<str>]>) -> Arc<[Arc<str>]> {
    if names.len() != last.len() || names.iter().zip(&**last).any(|(name, last)| **name != **last) {
        let known: HashSet<Arc<str>> = last.iter().map(Arc::clone).collect();
        let name = |name: &&str| known.get(*name).map_or_else(|| Arc::from(*name), Arc::clone);
        *last = names.iter().map(name).collect();
    }
    Arc::clone(last)
}

/// The cgroups that used each device, and the tasks that waited. Processes and totals of devices are left out: the
/// screen does not show them.
#[derive(Clone, Debug)]
pub(super) struct FrameCgroups {
    /// The attribution without devices and processes.
    rest: Attribution,
    /// The paths and the devices of this interval.
    paths: Arc<[Arc<str>]>,
    devices: Arc<[Arc<str>]>,
    limits: Box<[LimitUse]>,
    /// For each device: the number of its cgroups, then the cgroups.
    bytes: Box<[u8]>,
}

impl FrameCgroups {
    pub(super) fn new(mut attribution: Attribution, last: &mut LastNames) -> Self {
        let devices = std::mem::take(&mut attribution.devices);
        attribution.processes = None;
        attribution.blocked.shrink_to_fit();
        let mut paths: Vec<&str> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        let (mut limits, mut bytes) = (Vec::new(), Vec::new());
        for device in &devices {
            put_u64(device.cgroups.len() as u64, &mut bytes);
            for cgroup in &device.cgroups {
                let next = paths.len();
                let at = *places.entry(&cgroup.path).or_insert(next);
                if at == next {
                    paths.push(&cgroup.path);
                }
                put_u64(at as u64, &mut bytes);
                put_u64(cgroup.limits.len() as u64, &mut bytes);
                limits.extend_from_slice(&cgroup.limits);
                put_use(cgroup, attribution.elapsed_s, &mut bytes);
            }
        }
        let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
        let (paths, devices) = (share(&paths, &mut last.paths), share(&names, &mut last.devices));
        Self { rest: attribution, paths, devices, limits: limits.into(), bytes: bytes.into() }
    }

    /// Returns the attribution with one device or, without a name, with all.
    pub(super) fn attribution(&self, only: Option<&str>) -> Attribution {
        let mut attribution = self.rest.clone();
        let mut reader = ByteReader(&self.bytes);
        let mut limits = self.limits.iter();
        for name in &*self.devices {
            let is_wanted = only.is_none_or(|only| *only == **name);
            let mut cgroups = Vec::new();
            for _ in 0..reader.u64() {
                let path = reader.u64() as usize;
                let count = reader.u64() as usize;
                let limits = limits.by_ref().take(count);
                let (share_pct, rates) = read_use(&mut reader, self.rest.elapsed_s);
                match self.paths.get(path).filter(|_| is_wanted) {
                    Some(path) => {
                        let (path, limits) = (Arc::clone(path), limits.copied().collect());
                        cgroups.push(CgroupUse { path, rates, share_pct, limits });
                    }
                    None => limits.for_each(drop),
                }
            }
            if is_wanted {
                let name = name.to_string();
                attribution.devices.push(DeviceUse { name, cgroups, ..DeviceUse::default() });
            }
        }
        attribution
    }

    /// An estimate of its memory, without the names, which are usually shared.
    pub(super) fn memory(&self) -> usize {
        size_of::<Self>()
            + self.limits.len() * size_of::<LimitUse>()
            + self.bytes.len()
            + self.rest.blocked.len() * 90
    }
}

fn rates_of(rates: &IoRates) -> [f64; 4] {
    [rates.reads_per_s, rates.writes_per_s, rates.read_bytes_per_s, rates.write_bytes_per_s]
}

/// Appends the share and the rates of a cgroup. A rate is stored as the whole number that it was computed from, which
/// is shorter.
fn put_use(cgroup: &CgroupUse, elapsed_s: f64, out: &mut Vec<u8>) {
    let counts = rates_of(&cgroup.rates).map(|rate| {
        let count = (rate * elapsed_s).round();
        (count >= 0.0 && count / elapsed_s == rate).then_some(count as u64)
    });
    let whole =
        counts.iter().enumerate().fold(0, |bits, (at, count)| bits | (u8::from(count.is_some()) << at));
    let share = if cgroup.share_pct.is_some() { HAS_SHARE } else { 0 };
    out.push(share | (whole << RATES_SHIFT));
    cgroup.share_pct.into_iter().for_each(|share| put_f64(share, out));
    for (count, rate) in counts.into_iter().zip(rates_of(&cgroup.rates)) {
        match count {
            Some(count) => put_u64(count, out),
            None => put_f64(rate, out),
        }
    }
}

fn read_use(reader: &mut ByteReader<'_>, elapsed_s: f64) -> (Option<f64>, IoRates) {
    let bits = reader.u8();
    let share_pct = (bits & HAS_SHARE > 0).then(|| reader.f64());
    let mut rate = |at: u8| {
        let is_whole = (bits >> RATES_SHIFT >> at) & 1 == 1;
        if is_whole { reader.u64() as f64 / elapsed_s } else { reader.f64() }
    };
    let (reads_per_s, writes_per_s) = (rate(0), rate(1));
    let (read_bytes_per_s, write_bytes_per_s) = (rate(2), rate(3));
    (share_pct, IoRates { reads_per_s, writes_per_s, read_bytes_per_s, write_bytes_per_s })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::attribution::LimitKind;

    fn cgroup(path: &str, number: u64) -> CgroupUse {
        let rates = IoRates {
            reads_per_s: number as f64 / 1.003,
            writes_per_s: 0.1 + 0.2,
            read_bytes_per_s: (number * 4096) as f64 / 1.003,
            write_bytes_per_s: 0.0,
        };
        let limit = LimitUse { kind: LimitKind::ReadIops, value: number, rate: 0.3, is_reached: true };
        let limits = vec![limit; (number % 3) as usize];
        CgroupUse { path: path.into(), rates, share_pct: (number != 1).then_some(100.0 / 3.0), limits }
    }

    #[test]
    fn what_is_shown_of_cgroups_comes_back_and_takes_little_memory() {
        let device = |number: u64| DeviceUse {
            name: format!("nvme{number}n1"),
            cgroups: vec![cgroup("/db", number), cgroup(&format!("/job{}", number % 7), number * 1000)],
            ..DeviceUse::default()
        };
        let devices: Vec<DeviceUse> = (0..100).map(device).collect();
        let all = Attribution { elapsed_s: 1.003, devices, skipped: 2, ..Attribution::default() };
        let mut names = LastNames::default();
        let kept = FrameCgroups::new(all.clone(), &mut names);
        assert_eq!(kept.attribution(None), all);
        let one = kept.attribution(Some("nvme42n1"));
        assert_eq!(one, Attribution { devices: vec![all.devices[42].clone()], ..all.clone() });
        assert_eq!(kept.attribution(Some("sda")).devices, []);
        let without_limits = kept.memory() - kept.limits.len() * size_of::<LimitUse>();
        assert!(without_limits < 100 * 70, "{without_limits}");
        let again = FrameCgroups::new(all.clone(), &mut names);
        assert!(Arc::ptr_eq(&kept.paths, &again.paths) && Arc::ptr_eq(&kept.devices, &again.devices));
        let less = Attribution { devices: all.devices[1..].to_vec(), ..all };
        let changed = FrameCgroups::new(less.clone(), &mut names);
        assert_eq!(changed.attribution(None), less);
        assert!(Arc::ptr_eq(&kept.devices[1], &changed.devices[0]), "names are shared");
    }
}
