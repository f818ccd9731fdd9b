//! What to do about an incident, where that is known.

use crate::attribution::{IoDirection, Limit, LimitSource, RateUnit};
use crate::counters::{CgroupHierarchy, SUSPENDED, SYNC_ACTION};
use crate::intervals::{Cause, Incident};
use crate::judge::HealthEvidence;
use crate::sanitize::shell_word;

/// What to do, in one clause; `None` if the cause does not tell. In commands, each name is a word of the shell: it may come from
/// the recording of another machine.
pub(crate) fn remedy_text(incident: &Incident) -> Option<String> {
    match incident.cause.as_ref()? {
        Cause::CgroupLimit(limit) => Some(raise_text(limit)),
        Cause::Health(health) => health_remedy(health),
        Cause::DeviceBelow(_) | Cause::Evidence("latency") => {
            let unit = shell_word(unit_of(incident.owner.as_deref()?)?);
            let limits = lower_limits(incident);
            Some(format!(
                "to limit it: systemctl set-property {unit} {limits}"
            ))
        }
        Cause::Evidence("waiting_task") => {
            let mount = incident.victim.mountpoints.split(',').next()?;
            if mount.is_empty() {
                return None;
            }
            let mount = shell_word(mount);
            Some(format!("if it is frozen: fsfreeze --unfreeze {mount}"))
        }
        Cause::Cap { .. } | Cause::QueuedAbove(_) | Cause::Evidence(_) => None,
    }
}

/// The properties that limit the unit behind the load to half of what its program reads or writes now; to `N` bytes per
/// second if no program is known.
fn lower_limits(incident: &Incident) -> String {
    let device = &incident.victim.device;
    let Some(program) = &incident.program else {
        let reads = property("IOReadBandwidthMax", device, "N");
        let writes = property("IOWriteBandwidthMax", device, "N");
        return format!("{reads} {writes}");
    };
    let mut properties = Vec::new();
    for (name, per_s) in [
        (
            "IOReadBandwidthMax",
            program.bytes_per_s - program.written_per_s,
        ),
        ("IOWriteBandwidthMax", program.written_per_s),
    ] {
        // What is a small part of the load need not be limited.
        if per_s > 0.2 * program.bytes_per_s {
            properties.push(property(name, device, &bandwidth(per_s / 2.0)));
        }
    }
    properties.join(" ")
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
    let verb = match limit.direction {
        IoDirection::Reads => "read",
        IoDirection::Writes | IoDirection::Flushes => "write",
        IoDirection::Both => "do",
    };
    let less = format!("or {verb} less");
    if limit.source == LimitSource::Cgroup(CgroupHierarchy::V1) {
        let file = match (limit.direction, limit.unit) {
            (IoDirection::Reads, RateUnit::Requests) => "blkio.throttle.read_iops_device",
            (IoDirection::Reads, RateUnit::Kib) => "blkio.throttle.read_bps_device",
            (_, RateUnit::Requests) => "blkio.throttle.write_iops_device",
            (_, RateUnit::Kib) => "blkio.throttle.write_bps_device",
        };
        return format!("raise it in {file} of {owner}, {less}");
    }
    let Some(unit) = unit_of(owner) else {
        return format!("raise it in io.max of {owner}, {less}");
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
    format!("raise it: systemctl set-property {unit} {property}, {less}")
}

/// What ends what the kernel says; `None` if only a look at the device does.
fn health_remedy(health: &HealthEvidence) -> Option<String> {
    let device = &health.device;
    for (fact, _) in health.troubles.iter() {
        match fact.name {
            SUSPENDED => {
                let path = shell_word(&format!("/dev/{device}"));
                return Some(format!("to resume it: dmsetup resume {path}"));
            }
            SYNC_ACTION => {
                return Some(format!("to slow it: /sys/block/{device}/md/sync_speed_max"));
            }
            _ => {}
        }
    }
    None
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

    fn limit(owner: &str, unit: RateUnit, source: LimitSource) -> Incident {
        let limit = Limit {
            owner: Some(owner.into()),
            device: "sda".into(),
            direction: IoDirection::Writes,
            unit,
            value: 100.0,
            source,
        };
        Incident {
            cause: Some(Cause::CgroupLimit(limit)),
            ..Incident::example()
        }
    }

    #[test]
    fn a_limit_is_raised_where_it_was_set() {
        let v2 = LimitSource::Cgroup(CgroupHierarchy::V2);
        for (owner, unit, source, expected) in [
            (
                "/system.slice/orders-db.service",
                RateUnit::Requests,
                v2,
                "raise it: systemctl set-property orders-db.service 'IOWriteIOPSMax=/dev/sda 200', or write less",
            ),
            (
                "/lxc/web",
                RateUnit::Kib,
                v2,
                "raise it in io.max of /lxc/web, or write less",
            ),
            (
                "/h2pg",
                RateUnit::Kib,
                LimitSource::Cgroup(CgroupHierarchy::V1),
                "raise it in blkio.throttle.write_bps_device of /h2pg, or write less",
            ),
        ] {
            let incident = limit(owner, unit, source);
            assert_eq!(remedy_text(&incident).as_deref(), Some(expected));
        }
    }

    #[test]
    fn what_has_no_known_cause_has_no_remedy() {
        assert_eq!(remedy_text(&Incident::example()), None);
        let owned = Incident {
            cause: Some(Cause::Evidence("latency")),
            owner: Some("/system.slice/backup.service".into()),
            ..Incident::example()
        };
        let expected = "to limit it: systemctl set-property backup.service \
             'IOReadBandwidthMax=/dev/sda N' 'IOWriteBandwidthMax=/dev/sda N'";
        assert_eq!(remedy_text(&owned).as_deref(), Some(expected));
    }

    #[test]
    fn names_cannot_end_their_words_in_the_command() {
        let mut incident = limit(
            "/system.slice/a\\x2db;reboot.service",
            RateUnit::Kib,
            LimitSource::Cgroup(CgroupHierarchy::V2),
        );
        if let Some(Cause::CgroupLimit(limit)) = &mut incident.cause {
            limit.device = "sda' $(reboot)".into();
        }
        let unit = r"'a\x2db;reboot.service'";
        let property = r"'IOWriteBandwidthMax=/dev/sda'\'' $(reboot) 1M'";
        let expected = format!("raise it: systemctl set-property {unit} {property}, or write less");
        assert_eq!(remedy_text(&incident), Some(expected));
    }
}
