//! Reads the facts about the health of devices, in a thread of its own: a read of sysfs may hang with its device, and
//! sampling must not.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;
use std::{io, thread};

use procfs::FromBufRead;
use procfs::process::{MountStat, MountStats};

use super::io_scanner::{STACK_BYTES, Shared};
use super::small_file::{read_line, read_text, resolve_in_root};
use super::topology::{device_dir, list_devices, unescape};
use crate::clock::{Clock, RealClock};
use crate::counters::{FACTS, FactPlace, FactValue, HealthFacts, NFS_UNANSWERED};

/// The time between two readings while all is well.
const INTERVAL: Duration = Duration::from_secs(10);
/// The shortest time between two readings: what the kernel says of trouble may follow it by seconds, as a timeout does.
const MIN_INTERVAL: Duration = Duration::from_secs(2);
/// The age from which facts are no longer known, because a read hangs.
const MAX_AGE: Duration = Duration::from_secs(60);
/// The longest wait for the first reading, which takes a few milliseconds.
const MAX_FIRST_WAIT: Duration = Duration::from_millis(100);

/// The last reading, with its monotonic time; `None` before the first.
type Latest = Option<(Duration, Arc<HealthFacts>)>;

/// Reads the facts of a system again and again.
pub struct HealthReader {
    root: PathBuf,
    latest: Arc<Shared<Latest>>,
    /// Asks for a reading at once. The thread ends with this sender. `None` if there is no thread, because a clock that
    /// advances only while waiting leaves no time for one.
    requests: Option<SyncSender<()>>,
}

impl HealthReader {
    /// Starts to read the facts about the devices of the system below `root`, for samples that `clock` times.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn start(root: &Path, clock: &dyn Clock) -> io::Result<Self> {
        let latest = Arc::<Shared<Latest>>::default();
        let mut reader = Self {
            root: root.to_owned(),
            latest: Arc::clone(&latest),
            requests: None,
        };
        if !clock.is_manual() {
            let (sender, requests) = sync_channel(1);
            let root = root.to_owned();
            thread::Builder::new()
                .name("blkstat-health".to_owned())
                .stack_size(STACK_BYTES)
                .spawn(move || read_until_closed(&root, &requests, &latest))?;
            reader.requests = Some(sender);
        }
        Ok(reader)
    }

    /// Waits until the facts have been read once, but not long, so that the first sample has them.
    pub fn wait_for_first(&self) {
        if self.requests.is_some() {
            drop(
                self.latest
                    .wait_while(MAX_FIRST_WAIT, |latest| latest.is_none()),
            );
        }
    }

    /// Asks for a reading at once, because a device is in trouble.
    pub fn request(&self) {
        match &self.requests {
            // If a request is waiting, another one says the same.
            Some(requests) => drop(requests.try_send(())),
            None => *self.latest.lock() = None,
        }
    }

    /// Returns the facts of the last reading; `now` is a monotonic time. `None` before the first, and while a read
    /// hangs.
    pub fn latest(&self, now: Duration) -> Option<Arc<HealthFacts>> {
        let mut latest = self.latest.lock();
        if self.requests.is_none() {
            let is_due = match &*latest {
                Some((at, _)) => now.saturating_sub(*at) >= INTERVAL,
                None => true,
            };
            if is_due {
                *latest = Some((now, Arc::new(read_health(&self.root))));
            }
        }
        let (at, facts) = latest.as_ref()?;
        if now.saturating_sub(*at) >= MAX_AGE {
            return None;
        }
        Some(Arc::clone(facts))
    }
}

fn read_until_closed(root: &Path, requests: &Receiver<()>, latest: &Shared<Latest>) {
    let clock = RealClock::new(None);
    loop {
        let facts = Arc::new(read_health(root));
        let at = clock.monotonic();
        let mut latest_facts = latest.lock();
        // The same facts share their memory.
        let facts = match latest_facts.take() {
            Some((_, last)) if last == facts => last,
            _ => facts,
        };
        *latest_facts = Some((at, facts));
        drop(latest_facts);
        latest.finished.notify_all();
        match requests.recv_timeout(INTERVAL) {
            Err(RecvTimeoutError::Disconnected) => return,
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) => drop(clock.wait_until(at + MIN_INTERVAL)),
        }
    }
}

/// Reads the facts about the devices of the system below `root`, whole ones and partitions.
fn read_health(root: &Path) -> HealthFacts {
    let mut facts = HealthFacts::new();
    let block = resolve_in_root(root, root.join("sys/block"));
    for name in list_devices(&block).unwrap_or_default() {
        let dir = resolve_in_root(root, device_dir(&block, &name));
        for member in list_devices(&dir.join("md")).unwrap_or_default() {
            if let Some(device) = member.strip_prefix("dev-") {
                read_place(
                    FactPlace::Member,
                    &dir.join("md").join(&member),
                    device,
                    &mut facts,
                );
            }
        }
        read_place(FactPlace::Device, &dir, &name, &mut facts);
    }
    let ext4 = root.join("sys/fs/ext4");
    for name in list_devices(&ext4).unwrap_or_default() {
        read_place(
            FactPlace::FileSystem,
            &device_dir(&ext4, &name),
            &name,
            &mut facts,
        );
    }
    read_btrfs(&root.join("sys/fs/btrfs"), &mut facts);
    if let Some(text) = read_text(&root.join("proc/self/mountstats")) {
        read_nfs(&text, &mut facts);
    }
    facts.retain(|_, health| !health.is_empty());
    facts
}

/// Adds the facts of one directory to those about a device.
fn read_place(place: FactPlace, dir: &Path, device: &str, facts: &mut HealthFacts) {
    let health = Arc::make_mut(facts.entry(device.to_owned()).or_default());
    for fact in FACTS {
        if fact.place == place
            && let Some(line) = read_line(&dir.join(fact.file))
        {
            health.read(fact, &line);
        }
    }
}

/// Adds the errors of btrfs file systems, which do not say which device has which number: the sum is that of each.
fn read_btrfs(btrfs: &Path, facts: &mut HealthFacts) {
    for name in list_devices(btrfs).unwrap_or_default() {
        let dir = btrfs.join(name);
        let Some(errors) = btrfs_errors(&dir.join("devinfo")) else {
            continue;
        };
        for device in list_devices(&dir.join("devices")).unwrap_or_default() {
            let health = Arc::make_mut(facts.entry(device).or_default());
            for fact in FACTS {
                if fact.place == FactPlace::FileSystem {
                    health.insert(fact, Some(FactValue::Number(errors)));
                }
            }
        }
    }
}

/// Sums the errors of all devices of a file system. `None` if no file counts them.
fn btrfs_errors(devices: &Path) -> Option<u64> {
    let mut errors = None;
    for id in list_devices(devices).unwrap_or_default() {
        let Some(text) = read_text(&devices.join(id).join("error_stats")) else {
            continue;
        };
        let sum: &mut u64 = errors.get_or_insert(0);
        for line in text.lines() {
            let number = line.split_whitespace().nth(1).unwrap_or_default();
            *sum = sum.saturating_add(number.parse().unwrap_or(0));
        }
    }
    errors
}

/// What a mount of NFS counts.
struct NfsMount {
    server: String,
    mount_point: String,
    sent: u64,
    answered: u64,
    sent_again: u64,
}

/// Adds the facts about NFS mounts.
///
/// The kernel counts what was sent to a server and what it answered; mounts of one server share the connection, and so
/// these counts. A request that was sent again has one answer, so that those who ended show how many were.
fn read_nfs(text: &str, facts: &mut HealthFacts) {
    let Ok(MountStats(mounts)) = MountStats::from_buf_read(text.as_bytes()) else {
        return;
    };
    let text = format!("\n{text}");
    let mut found = Vec::new();
    let mut all_sent_again = HashMap::<String, u64>::new();
    for (mount, section) in std::iter::zip(&mounts, text.split("\ndevice ").skip(1)) {
        if let Some(mount) = nfs_mount(mount, section) {
            *all_sent_again.entry(mount.server.clone()).or_default() += mount.sent_again;
            found.push(mount);
        }
    }
    let Some(fact) = FACTS.iter().find(|fact| fact.name == NFS_UNANSWERED) else {
        return;
    };
    for mount in found {
        let answered = mount.answered.saturating_add(all_sent_again[&mount.server]);
        let unanswered = mount.sent.saturating_sub(answered);
        let health = Arc::make_mut(facts.entry(mount.mount_point).or_default());
        health.insert(fact, Some(FactValue::Number(unanswered)));
    }
}

/// Returns the counts of a mount with its section; `None` if it is not one of NFS.
fn nfs_mount(mount: &MountStat, section: &str) -> Option<NfsMount> {
    let (mut requests, mut transmissions) = (0_u64, 0_u64);
    for operation in mount.statistics.as_ref()?.per_op_stats.values() {
        requests = requests.saturating_add(operation.operations);
        transmissions = transmissions.saturating_add(operation.transmissions);
    }
    let (server, _) = mount.device.as_ref()?.rsplit_once(":/")?;
    let [sent, answered] = connection(section)?;
    Some(NfsMount {
        server: server.to_owned(),
        mount_point: unescape(&mount.mount_point.to_string_lossy()),
        sent,
        answered,
        sent_again: transmissions.saturating_sub(requests),
    })
}

/// Finds what was sent over the connections of a mount and what was answered, which procfs leaves out, in its section.
fn connection(section: &str) -> Option<[u64; 2]> {
    let mut sum = None;
    for line in section.lines() {
        // A mount may use several connections by turns.
        if let Some([sent, answered]) = transport(line) {
            let [all_sent, all_answered] = sum.unwrap_or([0_u64; 2]);
            sum = Some([
                all_sent.saturating_add(sent),
                all_answered.saturating_add(answered),
            ]);
        }
    }
    sum
}

/// Parses what a line says of a connection. Those of UDP and of local sockets have other columns.
fn transport(line: &str) -> Option<[u64; 2]> {
    let mut words = line.trim().strip_prefix("xprt:")?.split_whitespace();
    let ("tcp" | "rdma") = words.next()? else {
        return None;
    };
    let mut counts = words.skip(5);
    Some([counts.next()?.parse().ok()?, counts.next()?.parse().ok()?])
}
