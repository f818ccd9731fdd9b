//! What to do about an incident, where that helps and harms nobody.

use crate::attribution::{IoDirection, Limit, LimitSource, RateUnit};
use crate::counters::CgroupHierarchy;
use crate::incidents::{Advice, Cause, Told};
use crate::sanitize::shell_word;

/// What to do, in one clause; `None` if nothing helps. In commands, each name is a word of the shell: it may come from the
/// recording of another machine.
pub(crate) fn advice_text(told: &Told) -> Option<String> {
    let bottleneck = &told.bottleneck.device;
    Some(match told.advice? {
        Advice::RaiseLimit => format!("unless it is meant, {}", raise_text(told.limit()?)),
        Advice::Resume => {
            let Cause::Suspended(device) = &told.cause else {
                return None;
            };
            let path = shell_word(&format!("/dev/{device}"));
            format!("to resume it: dmsetup resume {path}")
        }
        Advice::Unfreeze => match told.victim.mountpoints.split(',').next() {
            Some(mount) if !mount.is_empty() => {
                format!("if it is frozen: fsfreeze --unfreeze {}", shell_word(mount))
            }
            _ => "look for a frozen file system (fsfreeze --unfreeze) or a server that does not answer".to_owned(),
        },
        Advice::LookAtPath => format!("look at {bottleneck}, its path and what serves it (kernel log)"),
        Advice::SlowSync => {
            let Cause::Sync(array) = &told.cause else {
                return None;
            };
            format!("to slow it: /sys/block/{array}/md/sync_speed_max")
        }
        Advice::Memory => "give it more memory, or use less".to_owned(),
        Advice::CpuFirst => "look at the CPU first".to_owned(),
        Advice::LookAtDevice => format!(
            "look at {bottleneck}: its health, its path, a snapshot, credits or a limit of the cloud or hypervisor"
        ),
        Advice::LimitOwner => {
            let unit = unit_of(told.owner.as_ref()?.cgroups.first()?)?;
            let properties = ["IOReadBandwidthMax", "IOWriteBandwidthMax"]
                .map(|name| property(name, bottleneck, "N"))
                .join(" ");
            format!(
                "limit it, or run it at another time: systemctl set-property {} {properties}",
                shell_word(unit)
            )
        }
    })
}

/// A property with the limit of a device, as one word.
fn property(name: &str, device: &str, limit: &str) -> String {
    shell_word(&format!("{name}=/dev/{device} {limit}"))
}

/// Bytes per second as systemd reads them, whose units are powers of 1000.
fn bandwidth(bytes_per_s: f64) -> String {
    format!("{}M", (bytes_per_s / 1e6).ceil())
}

/// How a limit of a cgroup is raised.
fn raise_text(limit: &Limit) -> String {
    let owner = limit.owner.as_deref().unwrap_or_default();
    if limit.source == LimitSource::Cgroup(CgroupHierarchy::V1) {
        let file = match (limit.direction, limit.unit) {
            (IoDirection::Reads, RateUnit::Requests) => "blkio.throttle.read_iops_device",
            (IoDirection::Reads, RateUnit::Kib) => "blkio.throttle.read_bps_device",
            (_, RateUnit::Requests) => "blkio.throttle.write_iops_device",
            (_, RateUnit::Kib) => "blkio.throttle.write_bps_device",
        };
        return format!("raise it in {file} of {owner}");
    }
    let Some(unit) = unit_of(owner) else {
        return format!("raise it in io.max of {owner}");
    };
    let name = match (limit.direction, limit.unit) {
        (IoDirection::Reads, RateUnit::Requests) => "IOReadIOPSMax",
        (IoDirection::Reads, RateUnit::Kib) => "IOReadBandwidthMax",
        (_, RateUnit::Requests) => "IOWriteIOPSMax",
        (_, RateUnit::Kib) => "IOWriteBandwidthMax",
    };
    let twice = match limit.unit {
        RateUnit::Requests => (2.0 * limit.value).to_string(),
        RateUnit::Kib => bandwidth(2.0 * 1024.0 * limit.value),
    };
    let unit = shell_word(unit);
    let property = property(name, &limit.device, &twice);
    format!("raise it: systemctl set-property {unit} {property}")
}

/// The unit of systemd that a cgroup is; `None` if it is none.
fn unit_of(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    let (_, kind) = name.rsplit_once('.')?;
    matches!(kind, "service" | "slice" | "scope").then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(owner: &str, unit: RateUnit, source: LimitSource) -> Limit {
        Limit {
            owner: Some(owner.into()),
            device: "sda".into(),
            direction: IoDirection::Writes,
            unit,
            value: 100.0,
            source,
        }
    }

    #[test]
    fn a_limit_is_raised_where_it_was_set() {
        let v1 = LimitSource::Cgroup(CgroupHierarchy::V1);
        let v2 = LimitSource::Cgroup(CgroupHierarchy::V2);
        for (owner, unit, source, expected) in [
            (
                "/system.slice/orders-db.service",
                RateUnit::Requests,
                v2,
                "raise it: systemctl set-property orders-db.service 'IOWriteIOPSMax=/dev/sda 200'",
            ),
            (
                "/lxc/web",
                RateUnit::Kib,
                v2,
                "raise it in io.max of /lxc/web",
            ),
            (
                "/h2pg",
                RateUnit::Kib,
                v1,
                "raise it in blkio.throttle.write_bps_device of /h2pg",
            ),
        ] {
            assert_eq!(raise_text(&limit(owner, unit, source)), expected);
        }
    }

    #[test]
    fn names_cannot_end_their_words_in_the_command() {
        let limit = Limit {
            device: "sda' $(reboot)".into(),
            ..limit(
                "/system.slice/a\\x2db;reboot.service",
                RateUnit::Kib,
                LimitSource::Cgroup(CgroupHierarchy::V2),
            )
        };
        let unit = r"'a\x2db;reboot.service'";
        let property = r"'IOWriteBandwidthMax=/dev/sda'\'' $(reboot) 1M'";
        let expected = format!("raise it: systemctl set-property {unit} {property}");
        assert_eq!(raise_text(&limit), expected);
    }
}
