//! What the kernel knows of a device beside its counters of I/O: errors, states, rebuilds, and settings that change what
//! the counters mean. All of it is in one table, [`FACTS`].

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::de::Deserializer;
use serde::{Deserialize, Serialize, Serializer};

/// The most characters that are kept of a word: more than the kernel prints.
const MAX_WORD_CHARS: usize = 64;

/// The directory that a file of a fact is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactPlace {
    /// The device's own in `/sys/block`.
    Device,
    /// The one that an md array has for a member, `md/dev-sda`. The fact is one about the member.
    Member,
    /// The one of the file system on the device, `/sys/fs/ext4/sda1`.
    FileSystem,
    /// None: `/proc/self/mountstats` has it, and it is about the mount point of an NFS.
    Nfs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactKind {
    /// A count of what went wrong, with its noun.
    Errors(&'static str),
    /// The same, but nearly every device has some from being asked at the start what it can do, so that only those since
    /// then say that something is wrong.
    UsualErrors(&'static str),
    /// A count of what is normal.
    Count,
    /// A number that is 0 unless something is wrong, with its noun.
    Trouble(&'static str),
    /// A word, with what it describes, and the words that say that nothing is wrong.
    State(&'static str, &'static [&'static str]),
    /// A setting, or the extent of what another fact says.
    Amount,
}

impl FactKind {
    /// The noun of a count of what went wrong; `None` for other facts.
    pub fn errors(self) -> Option<&'static str> {
        match self {
            Self::Errors(noun) | Self::UsualErrors(noun) => Some(noun),
            Self::Count | Self::Trouble(_) | Self::State(..) | Self::Amount => None,
        }
    }
}

/// A row of the table.
#[derive(Debug)]
pub struct Fact {
    /// Its name in machine formats.
    pub name: &'static str,
    pub place: FactPlace,
    pub file: &'static str,
    pub kind: FactKind,
    pub meaning: &'static str,
}

impl PartialEq for Fact {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for Fact {}

const fn fact(
    name: &'static str,
    place: FactPlace,
    file: &'static str,
    kind: FactKind,
    meaning: &'static str,
) -> Fact {
    Fact {
        name,
        place,
        file,
        kind,
        meaning,
    }
}

use FactKind::{Amount, Count, Errors, State, Trouble, UsualErrors};
use FactPlace::{Device, FileSystem, Member, Nfs};

/// The name of the fact that a suspended device-mapper device has.
pub const SUSPENDED: &str = "suspended";
/// The state of a SCSI device or of an NVMe controller, and those in which requests wait until it changes.
const STATE: &str = "state";
const HOLDING_STATES: [&str; 4] = ["blocked", "quiesce", "resetting", "connecting"];
/// What an array does; how far it is and how fast belong to it.
pub const SYNC_ACTION: &str = "sync_action";
pub const SYNC_COMPLETED: &str = "sync_completed_pct";
pub const SYNC_SPEED: &str = "sync_kib_per_s";
pub const NFS_UNANSWERED: &str = "nfs_unanswered";

/// All facts, the most important first. Kernels and drivers have only some of the files.
#[rustfmt::skip]
pub static FACTS: &[Fact] = &[
    fact(SUSPENDED, Device, "dm/suspended", Trouble("suspended"),
        "1 while the device-mapper device is suspended and holds back all requests."),
    fact(STATE, Device, "device/state", State("state", &["running", "live", "Connected"]),
        "State of the SCSI or ATA device, or of the NVMe controller; running or live is normal."),
    fact("path_state", Device, "ana_state", State("path", &["optimized", "non-optimized"]),
        "State of an NVMe path (ANA)."),
    fact("timeouts", Device, "device/iotmo_cnt", Errors("timeout"),
        "Commands that timed out at the SCSI or ATA device."),
    fact("errors", Device, "device/ioerr_cnt", UsualErrors("error"),
        "Commands that the SCSI or ATA device completed with an error, including probes of its features."),
    fact("commands", Device, "device/iodone_cnt", Count,
        "Commands that the SCSI or ATA device completed or rejected."),
    fact("command_errors", Device, "diag/command_error_count", Errors("command error"),
        "Commands of an NVMe device or path that failed."),
    fact("command_retries", Device, "diag/command_retries_count", Errors("retried command"),
        "Commands of an NVMe device or path that were retried."),
    fact("failovers", Device, "diag/multipath_failover_count", Errors("failover"),
        "Requests that were moved from this NVMe path to another."),
    fact("held_without_path", Device, "diag/io_requeue_no_usable_path_count", Errors("request held without a path"),
        "Requests of an NVMe multipath disk that had to wait for a usable path."),
    fact("failed_without_path", Device, "diag/io_fail_no_available_path_count", Errors("request failed without a path"),
        "Requests of an NVMe multipath disk that failed because it had no path."),
    fact("controller_resets", Device, "device/diag/reset_count", Errors("controller reset"),
        "Resets of the NVMe controller."),
    fact("controller_reconnects", Device, "device/diag/reconnect_count", Errors("reconnect"),
        "Attempts of the NVMe controller to reconnect."),
    fact("array_state", Device, "md/array_state",
        State("array", &["clean", "active", "active-idle", "write-pending", "readonly", "read-auto"]),
        "State of the md array."),
    fact(SYNC_ACTION, Device, "md/sync_action", State("array", &["idle"]),
        "Current sync action of the md array: idle, recover (onto a new member), resync, check, repair, reshape or frozen."),
    fact(SYNC_COMPLETED, Device, "md/sync_completed", Amount,
        "Completed part of the sync action of the md array."),
    fact(SYNC_SPEED, Device, "md/sync_speed", Amount,
        "Speed of the sync action of the md array."),
    fact("missing_members", Device, "md/degraded", Trouble("missing member"),
        "Members missing from the md array."),
    fact("member_state", Member, "state", State("member", &["in_sync"]),
        "State of the device as a member of an md array; in_sync is normal."),
    fact("member_errors", Member, "errors", Errors("corrected read error"),
        "Read errors of the member that the md array corrected with data of other members."),
    fact("file_system_errors", FileSystem, "errors_count", Errors("file system error"),
        "Errors counted by the file system on the device: for ext4 since it was created or checked, for btrfs on all its devices."),
    fact("read_only", Device, "ro", Amount, "1 if the device is read-only."),
    fact("queue_depth", Device, "device/queue_depth", Amount,
        "Number of commands that the SCSI or ATA device accepts at a time."),
    fact("request_timeout_ms", Device, "queue/io_timeout", Amount,
        "Time after which the kernel gives up on a request and recovers the device."),
    fact("write_latency_target_us", Device, "queue/wbt_lat_usec", Amount,
        "Read latency above which the kernel holds back buffered writes; 0 if it never does."),
    fact("counts_passthrough", Device, "queue/iostats_passthrough", Amount,
        "1 if the counters include pass-through commands that programs send to the device."),
    fact(NFS_UNANSWERED, Nfs, "", Amount,
        "Requests that were sent to the server of an NFS mount and are unanswered."),
];

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum FactValue {
    Number(u64),
    Word(String),
}

/// The facts about one device, in the order of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Health(Vec<(&'static Fact, FactValue)>);

/// The facts about the devices of a host, by the kernel's names, and about its NFS mounts, by their mount points, which
/// begin with a slash. Those without any are left out.
pub type HealthFacts = BTreeMap<String, Arc<Health>>;

impl Health {
    /// Adds a fact from the first line of its file; none if the kernel has nothing to say.
    pub fn read(&mut self, fact: &'static Fact, line: &str) {
        let value = match fact.kind {
            State(..) if line.is_empty() => None,
            State(..) => Some(FactValue::Word(bounded_word(line))),
            _ => number(line).map(FactValue::Number),
        };
        self.insert(fact, value);
    }

    pub fn insert(&mut self, fact: &'static Fact, value: Option<FactValue>) {
        self.0.extend(value.map(|value| (fact, value)));
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = (&'static Fact, &FactValue)> {
        self.0.iter().map(|(fact, value)| (*fact, value))
    }

    /// Returns the value of a fact; `None` if it is not known.
    pub fn value(&self, name: &str) -> Option<&FactValue> {
        self.0
            .iter()
            .find(|(fact, _)| fact.name == name)
            .map(|(_, value)| value)
    }

    /// Returns the number of a fact; `None` if it is not known.
    pub fn number(&self, name: &str) -> Option<u64> {
        match self.value(name)? {
            FactValue::Number(number) => Some(*number),
            FactValue::Word(_) => None,
        }
    }

    /// Returns whether the kernel holds the requests of the device back: it is suspended, or its controller or its link
    /// recovers from an error.
    pub fn holds_requests(&self) -> bool {
        match self.value(STATE) {
            Some(FactValue::Word(word)) if HOLDING_STATES.contains(&&**word) => true,
            _ => self.is_suspended(),
        }
    }

    pub fn is_suspended(&self) -> bool {
        self.number(SUSPENDED) > Some(0)
    }

    /// Returns whether it is a volume of device-mapper.
    pub fn can_be_suspended(&self) -> bool {
        self.number(SUSPENDED).is_some()
    }

    /// Returns the facts that say that something is wrong, with the extent of it. Counts are of what was added since
    /// `before`, all of it without that.
    pub fn troubles(&self, before: Option<&Self>) -> Self {
        let mut troubles = Vec::new();
        for (fact, value) in &self.0 {
            let trouble = match (fact.kind, value) {
                (UsualErrors(_), _) if before.is_none() => continue,
                (kind, FactValue::Number(count)) if kind.errors().is_some() => {
                    let before = match before {
                        Some(before) => before.number(fact.name).unwrap_or(*count),
                        None => 0,
                    };
                    FactValue::Number(count.saturating_sub(before))
                }
                (State(_, normal), FactValue::Word(word)) => {
                    if word.split(',').any(|word| normal.contains(&word)) {
                        continue;
                    }
                    value.clone()
                }
                (Trouble(_), _) => value.clone(),
                (Amount, _) if [SYNC_COMPLETED, SYNC_SPEED].contains(&fact.name) => value.clone(),
                _ => continue,
            };
            if trouble != FactValue::Number(0) {
                troubles.push((*fact, trouble));
            }
        }
        Self(troubles)
    }

    /// Returns whether both differ in more than what changes all the time.
    pub fn differs(&self, other: &Self) -> bool {
        !self.lasting().eq(other.lasting())
    }

    /// The facts that do not change all the time.
    fn lasting(&self) -> impl Iterator<Item = &(&'static Fact, FactValue)> {
        let facts = self.0.iter();
        facts.filter(|(fact, _)| fact.kind != Count && fact.name != SYNC_SPEED)
    }
}

fn bounded_word(text: &str) -> String {
    text.chars()
        .filter(|c| !c.is_control())
        .take(MAX_WORD_CHARS)
        .collect()
}

/// Parses the forms in which the kernel prints a number: `5`, `0x5`, and `123 / 456` as the percentage; `None` for any
/// other text, such as `none`.
fn number(text: &str) -> Option<u64> {
    if let Some((done, all)) = text.split_once(" / ") {
        let (done, all): (u64, u64) = (done.parse().ok()?, all.parse().ok()?);
        return done.saturating_mul(100).checked_div(all);
    }
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

impl Serialize for Health {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(fact, value)| (fact.name, value)))
    }
}

impl<'de> Deserialize<'de> for Health {
    /// Reads facts, without those that only a later version knows.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let values = BTreeMap::<String, serde_json::Value>::deserialize(deserializer)?;
        let mut health = Self::default();
        for fact in FACTS {
            let value = values
                .get(fact.name)
                .and_then(|value| FactValue::deserialize(value).ok());
            let value = value.filter(|value| {
                matches!(fact.kind, State(..)) == matches!(value, FactValue::Word(_))
            });
            health.insert(
                fact,
                value.map(|value| match value {
                    FactValue::Word(word) => FactValue::Word(bounded_word(&word)),
                    number => number,
                }),
            );
        }
        Ok(health)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn health(lines: &[(&str, &str)]) -> Health {
        let mut health = Health::default();
        for fact in FACTS {
            lines
                .iter()
                .filter(|(name, _)| *name == fact.name)
                .for_each(|(_, line)| health.read(fact, line));
        }
        health
    }

    #[test]
    fn the_files_of_the_kernel_give_numbers_and_words() {
        let lines = [
            ("errors", "0x1f"),
            ("state", "offline"),
            ("sync_action", "recover"),
            ("sync_completed_pct", "43 / 100"),
            ("sync_kib_per_s", "none"),
            ("queue_depth", "32"),
        ];
        let json = r#"{"state":"offline","errors":31,"sync_action":"recover","sync_completed_pct":43,"queue_depth":32}"#;
        assert_eq!(serde_json::to_string(&health(&lines)).unwrap(), json);
        assert_eq!(
            serde_json::from_str::<Health>(json).unwrap(),
            health(&lines)
        );
        assert_eq!(number("1 / 0"), None);
    }

    #[test]
    fn facts_of_other_versions_and_of_other_types_are_left_out() {
        let text = r#"{"novel":1,"errors":"many","state":3,"timeouts":2,"queue_depth":-1,"path_state":"a\u001bb"}"#;
        let read: Health = serde_json::from_str(text).unwrap();
        assert_eq!(read, health(&[("timeouts", "2"), ("path_state", "ab")]));
    }

    #[test]
    fn troubles_are_what_is_wrong_and_what_was_added() {
        let before = health(&[
            ("errors", "7"),
            ("timeouts", "1"),
            ("state", "running"),
            ("commands", "50"),
        ]);
        let now = health(&[
            ("errors", "9"),
            ("timeouts", "1"),
            ("state", "running"),
            ("commands", "90"),
        ]);
        assert_eq!(now.troubles(Some(&before)), health(&[("errors", "2")]));
        assert_eq!(now.troubles(None), health(&[("timeouts", "1")]));
        assert_eq!(before.troubles(Some(&before)), Health::default());
        assert!(now.differs(&before));
        let only_commands = health(&[
            ("errors", "7"),
            ("timeouts", "1"),
            ("state", "running"),
            ("commands", "90"),
        ]);
        assert!(!only_commands.differs(&before));
        // A count that was not known before is of an unknown time.
        assert!(
            health(&[("errors", "9")])
                .troubles(Some(&Health::default()))
                .is_empty()
        );
        let member = |state| health(&[("member_state", state)]).troubles(None).is_empty();
        assert!(member("in_sync,write_mostly") && !member("faulty"));
    }

    #[test]
    fn names_are_unique() {
        let names = FACTS.iter().map(|fact| fact.name);
        let distinct: std::collections::BTreeSet<&str> = names.collect();
        assert_eq!(distinct.len(), FACTS.len());
    }
}
