//! The I/O of threads; there may be very many of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{DeviceNumber, RequestKind, TracedUser};

/// The I/O of threads on devices: each device, thread, name and kind of request once, in the order in which they were
/// added.
#[derive(Clone, Debug, Default)]
pub struct TracedUsers {
    list: Vec<TracedUser>,
    /// The index of each in the list.
    places: BTreeMap<(DeviceNumber, u32, RequestKind, Arc<str>), usize>,
}

impl TracedUsers {
    /// Adds I/O to that of its thread. The process and cgroup stay those that were found first.
    pub fn add(&mut self, user: &TracedUser) {
        let key = (user.number, user.tid, user.kind, Arc::clone(&user.comm));
        let place = *self.places.entry(key).or_insert(self.list.len());
        let Some(own) = self.list.get_mut(place) else {
            self.list.push(user.clone());
            return;
        };
        own.count = own.count.saturating_add(user.count);
        own.sectors = own.sectors.saturating_add(user.sectors);
        own.pid = own.pid.or(user.pid);
        own.cgroup = own.cgroup.take().or_else(|| user.cgroup.clone());
    }

    /// Returns the I/O of all threads.
    pub fn as_slice(&self) -> &[TracedUser] {
        &self.list
    }

    /// Sets the process and the cgroup of each thread to those that `find` returns.
    pub fn set_processes(&mut self, mut find: impl FnMut(&TracedUser) -> (Option<u32>, Option<Arc<str>>)) {
        for user in &mut self.list {
            (user.pid, user.cgroup) = find(user);
        }
    }
}

impl PartialEq for TracedUsers {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl Eq for TracedUsers {}

impl FromIterator<TracedUser> for TracedUsers {
    fn from_iter<T: IntoIterator<Item = TracedUser>>(users: T) -> Self {
        let mut all = Self::default();
        users.into_iter().for_each(|user| all.add(&user));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_thread_is_there_once_by_device_name_and_kind() {
        let user = |minor, tid, comm: &str, kind, pid| TracedUser {
            number: (8, minor),
            tid,
            comm: comm.into(),
            pid,
            cgroup: pid.map(|_| "/a".into()),
            kind,
            count: 2,
            sectors: u64::MAX / 2,
        };
        use RequestKind::{Read, Write};
        let all = [
            user(1, 9, "db", Read, None),
            user(0, 9, "db", Read, Some(8)),
            user(1, 9, "db", Read, Some(7)),
            user(1, 9, "db", Read, Some(6)),
            user(1, 9, "other", Read, None),
            user(1, 9, "db", Write, None),
        ];
        let users: TracedUsers = all.into_iter().collect();
        let summary: Vec<_> =
            users.as_slice().iter().map(|user| (user.number.1, user.pid, user.count)).collect();
        assert_eq!(summary, [(1, Some(7), 6), (0, Some(8), 2), (1, None, 2), (1, None, 2)]);
        assert_eq!(
            (users.as_slice()[0].sectors, users.as_slice()[0].cgroup.as_deref()),
            (u64::MAX, Some("/a"))
        );
    }
}
