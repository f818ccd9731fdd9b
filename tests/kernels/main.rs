//! Runs blkstat on Debian's Linux 6.1 and 6.12, on an emulated computer with devices that few test machines have:
//! device-mapper on NVMe, device-mapper multipath on two paths of a SCSI disk, md RAID 1 on partitions of SCSI disks, NVMe
//! with two paths, and zram.
//!
//! `boot` starts a kernel; `guest` runs in it, once, and keeps what iostat and blkstat print. The tests check that. In another
//! guest, `guest_who` limits cgroups of version 2, which are a kernel's own and which few test machines permit to change, and
//! slows a disk down. In a third, `guest_latency` traces single requests, which takes histogram triggers in the kernel, and runs the tests of
//! [`in_guest`] there.
//!
//! They run only if BLKSTAT_KERNELS is set, since they take minutes. They need root, apt with packages of both kernels,
//! and the programs of [`guest::PROGRAMS`]. Without them the tests are skipped; with BLKSTAT_KERNELS=required they fail.

#![allow(clippy::disallowed_methods)] // The kernels run in real time and write real files.

#[cfg(test)]
mod guest;
#[cfg(test)]
mod in_guest;
#[cfg(test)]
mod latency;
#[cfg(test)]
mod limits;

#[cfg(test)]
#[path = "../support"]
mod support {
    #[allow(dead_code)] // The commands use the rest.
    pub(crate) mod in_process;
    #[allow(dead_code)]
    pub(crate) mod program;
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;
    use std::slice::from_ref;

    use serde_json::Value;

    use crate::guest::{Guest, Script, on_each_kernel};

    #[test]
    fn blkstat_prints_what_iostat_prints() {
        on_each_kernel(Script::Devices, |guest| {
            let cases = guest.names_ending_in(".options");
            assert!(
                cases.len() >= 8,
                "{}: only {} cases were run",
                guest.version,
                cases.len()
            );
            let same = |case: &&String| {
                let theirs = guest.read(&format!("{case}.iostat"));
                let reports = theirs.matches("Device").count() + theirs.matches("\"disk\"").count();
                assert_eq!(reports, 2, "{case}: {theirs}");
                theirs == guest.read(&format!("{case}.blkstat"))
            };
            let different: Vec<String> = cases
                .iter()
                .filter(|case| !same(case))
                .map(|case| {
                    format!(
                        "iostat {}--- iostat\n{}--- blkstat\n{}",
                        guest.read(&format!("{case}.options")),
                        guest.read(&format!("{case}.iostat")),
                        guest.read(&format!("{case}.blkstat"))
                    )
                })
                .collect();
            assert!(
                different.is_empty(),
                "{}:\n{}",
                guest.version,
                different.join("\n")
            );
        });
    }

    #[test]
    fn devices_shows_which_device_lies_on_which() {
        on_each_kernel(Script::Devices, |guest| {
            let devices = guest.devices();
            let [disk, head] = ["nvme", "nvme_head"].map(|key| guest.disks(key).remove(0));
            let (nvme_paths, scsi_paths) = (guest.disks("nvme_paths"), guest.disks("scsi_paths"));
            let [sda, sdb]: [String; 2] = guest.disks("scsi").try_into().unwrap();
            let check = |name: &str, kind: &str, backing: &[String]| {
                let device = devices.iter().find(|device| device["name"] == name);
                let device = device.unwrap_or_else(|| panic!("{}: no {name}", guest.version));
                let found = (&device["kind"], &device["backing_devices"]);
                assert_eq!(
                    found,
                    (&kind.into(), &backing.into()),
                    "{}: {name}",
                    guest.version
                );
            };
            check(&sda, "disk", &[]);
            check(&format!("{sda}1"), "partition", from_ref(&sda));
            check("md0", "md", &[format!("{sda}1"), format!("{sdb}1")]);
            check(&disk, "disk", &[]);
            check("dm-0", "dm", from_ref(&disk));
            check("dm-1", "multipath", &scsi_paths);
            let alias = |name: &str| {
                devices
                    .iter()
                    .find(|device| device["name"] == name)
                    .unwrap()["alias"]
                    .clone()
            };
            assert_eq!(
                [alias("dm-0"), alias("dm-1")],
                ["data", "mpatha"],
                "{}",
                guest.version
            );
            check(&head, "disk", &nvme_paths);
            check(&format!("{head}p1"), "partition", from_ref(&head));
            for path in &nvme_paths {
                check(path, "nvme_path", &[]);
            }
            for path in &scsi_paths {
                check(path, "disk", &[]);
            }
            check("zram0", "zram", &[]);
        });
    }

    #[test]
    fn a_recording_is_replayed_here_as_it_is_there() {
        on_each_kernel(Script::Devices, |guest| {
            assert_eq!(
                replay(guest, "recording.txt"),
                guest.read("replay.json"),
                "{}",
                guest.version
            );
            let stacked = ["dm-0", "dm-1", "md0", "zram0"].map(str::to_owned).to_vec();
            for name in [stacked, guest.disks("scsi_paths")].concat() {
                let is_active = |record: &Value| {
                    record["device"] == name && record["writes_per_s"].as_f64() > Some(0.0)
                };
                assert!(
                    guest.replay().iter().any(is_active),
                    "{}: {name} is never active",
                    guest.version
                );
            }
        });
    }

    #[test]
    fn each_request_of_a_multipath_disk_is_counted_by_one_of_its_paths() {
        on_each_kernel(Script::Devices, |guest| {
            let cases = guest.names_ending_in(".options");
            let has_all =
                |case: &&String| guest.read(&format!("{case}.options")).trim_end() == "-d -p ALL";
            let text = guest.read(&format!("{}.blkstat", cases.iter().find(has_all).unwrap()));
            // The devices were idle when both samples were taken, so that the amounts are exact.
            let last_report = text.rsplit_once("Device").unwrap().1;
            let read_and_written = |name: &str| -> [u64; 2] {
                let mut rows = last_report
                    .lines()
                    .map(|line| line.split_whitespace().collect::<Vec<_>>());
                let row = rows.find(|row| row.first() == Some(&name)).unwrap();
                [row[5], row[6]].map(|kib| kib.parse().unwrap())
            };
            let paths = guest.disks("scsi_paths");
            let [first, second] = [0, 1].map(|number| read_and_written(&paths[number]));
            assert!(
                [first, second].concat().iter().all(|kib| *kib > 0),
                "{}: an idle path: {text}",
                guest.version
            );
            let sum = [first[0] + second[0], first[1] + second[1]];
            assert_eq!(sum, read_and_written("dm-1"), "{}: {text}", guest.version);
        });
    }

    /// Returns whether the writes of a device were counted; fails if its flags say otherwise.
    fn is_counted(guest: &Guest, name: &str) -> bool {
        let records = guest.live();
        let of_device: Vec<&Value> = records
            .iter()
            .filter(|record| record["device"] == name)
            .collect();
        assert!(!of_device.is_empty(), "{}: no {name}", guest.version);
        let is_counted = of_device
            .iter()
            .any(|record| record["writes_per_s"].as_f64() > Some(0.0));
        for record in of_device {
            let is_off = record["flags"]
                .as_array()
                .unwrap()
                .contains(&"accounting_off".into());
            assert_eq!(is_off, !is_counted, "{}: {record}", guest.version);
        }
        is_counted
    }

    #[test]
    fn a_disk_with_several_paths_has_no_accounting_on_6_1_and_is_counted_on_6_12() {
        on_each_kernel(Script::Devices, |guest| {
            let expected = guest.version == "6.12";
            let head = guest.disks("nvme_head").remove(0);
            assert_eq!(is_counted(guest, &head), expected, "{}", guest.version);
            let device = guest
                .devices()
                .into_iter()
                .find(|device| device["name"] == head.as_str())
                .unwrap();
            assert_eq!(device["iostats_enabled"], expected, "{}", guest.version);
        });
    }

    #[test]
    fn device_mapper_counts_with_accounting_off_on_6_1_unless_it_is_request_based() {
        on_each_kernel(Script::Devices, |guest| {
            let devices = guest.devices_in("devices-off.json");
            for (name, expected) in [("dm-0", guest.version == "6.1"), ("dm-1", false)] {
                let counters = ["counters-before", "counters-after"].map(|file| {
                    let text = guest.read(file);
                    let mut lines = text
                        .lines()
                        .map(|line| line.split_whitespace().map(str::to_owned));
                    lines
                        .find_map(|mut words| {
                            (words.nth(2)? == name).then(|| words.collect::<Vec<_>>())
                        })
                        .unwrap()
                });
                let is_counted = counters[0] != counters[1];
                assert_eq!(
                    is_counted, expected,
                    "{}: {name}: {counters:?}",
                    guest.version
                );
                let device = devices
                    .iter()
                    .find(|device| device["name"] == name)
                    .unwrap();
                assert_eq!(
                    device["iostats_enabled"], false,
                    "{}: {name}",
                    guest.version
                );
                assert_eq!(
                    device["ignores_iostats"], expected,
                    "{}: {name}",
                    guest.version
                );
            }
        });
    }

    #[test]
    fn zram_is_counted_although_its_accounting_is_set_to_off() {
        on_each_kernel(Script::Devices, |guest| {
            let zram = guest
                .devices()
                .into_iter()
                .find(|device| device["name"] == "zram0")
                .unwrap();
            assert_eq!(zram["iostats_enabled"], false, "{}", guest.version);
            assert!(is_counted(guest, "zram0"), "{}", guest.version);
        });
    }

    #[test]
    fn the_guest_ran_the_kernel_that_was_asked_for() {
        on_each_kernel(Script::Devices, |guest| {
            let release = fs::read_to_string(guest.path("release")).unwrap();
            assert!(
                release.starts_with(&format!("{}.", guest.version)),
                "{release}"
            );
        });
    }

    /// The longest time in seconds after which a state is seen. The recorder reads facts every 10 s, whether or not there is
    /// trouble; a command times out after 2 s, and its retry after 2 more. The guest is slow, and slower where this computer has
    /// more to do.
    const MAX_SEEN_AFTER_S: f64 = 20.0;

    /// Replays a recording of the guest here.
    fn replay(guest: &Guest, recording: &str) -> String {
        let output = Command::new(env!("CARGO_BIN_EXE_blkstat"))
            .args(["--json", "--all", "--partitions", "--from"])
            .arg(guest.path(recording))
            .env("TZ", "UTC")
            .output()
            .unwrap();
        assert!(output.status.success(), "{}: {output:?}", guest.version);
        String::from_utf8(output.stdout).unwrap()
    }

    /// Checks that a device has a state in the live intervals of this name soon after trouble began, and no longer at the end,
    /// and also when their recording is replayed.
    fn check_seen(
        guest: &Guest,
        watch: &str,
        name: &str,
        begin: &str,
        is_seen: &dyn Fn(&Value) -> bool,
    ) {
        let began = guest.read(begin).trim().parse::<f64>().unwrap();
        let after_s = |record: &Value| {
            let at: jiff::Timestamp = record["time"].as_str().unwrap().parse().unwrap();
            at.as_nanosecond() as f64 / 1e9 - began
        };
        for text in [
            guest.read(&format!("{watch}.json")),
            replay(guest, &format!("{watch}.txt")),
        ] {
            let records = text
                .lines()
                .map(|line| serde_json::from_str::<Value>(line).unwrap());
            let records: Vec<Value> = records.filter(|record| record["device"] == name).collect();
            let first = records.iter().find(|record| is_seen(record));
            let first =
                first.unwrap_or_else(|| panic!("{}: {watch}: {name}: not seen", guest.version));
            let seen_after_s = after_s(first);
            assert!(
                (0.0..MAX_SEEN_AFTER_S).contains(&seen_after_s),
                "{}: {watch}: {name}: {seen_after_s} s",
                guest.version
            );
            let last = records.last().unwrap();
            assert!(!is_seen(last), "{}: {watch}: {name}: {last}", guest.version);
        }
    }

    #[test]
    fn what_the_kernel_says_of_health_is_seen_everywhere_and_leaves_again() {
        on_each_kernel(Script::Devices, |guest| {
            let debug = guest.read("debug").trim().to_owned();
            let has = |record: &Value, field: &str, words: &str| {
                record[field]
                    .as_array()
                    .unwrap()
                    .iter()
                    .any(|text| text.as_str().unwrap().contains(words))
            };
            check_seen(guest, "health", "dm-0", "suspend-begin", &|record| {
                record["verdict"] == "stalled" && has(record, "evidence", "dm-0: suspended")
            });
            check_seen(guest, "health", "md0", "health-begin", &|record| {
                has(record, "health", "rebuilding")
            });
            check_seen(guest, "health", &debug, "health-begin", &|record| {
                record["verdict"] == "stalled" && has(record, "evidence", " timeout")
            });
            let disk = guest.disks("nvme").remove(0);
            check_seen(guest, "health", &disk, "reset-begin", &|record| {
                has(record, "health", "state is resetting")
                    || has(record, "health", "state is connecting")
            });
            let health = |file: &str, name: &str| {
                let devices = guest.devices_in(file);
                devices
                    .iter()
                    .find(|device| device["name"] == name)
                    .map(|device| device["health"].clone())
            };
            let (well, trouble) = ("devices-well.json", "devices-trouble.json");
            let suspended = "devices-suspended.json";
            let of = |file: &str, name: &str, fact: &str| health(file, name).unwrap()[fact].clone();
            assert_eq!(
                [
                    of(well, "dm-0", "suspended"),
                    of(suspended, "dm-0", "suspended")
                ],
                [0, 1]
            );
            assert_eq!(
                [
                    of(well, "md0", "sync_action"),
                    of(trouble, "md0", "sync_action")
                ],
                ["idle", "recover"]
            );
            assert_eq!(
                [
                    of(well, "md0", "missing_members"),
                    of(trouble, "md0", "missing_members")
                ],
                [0, 1]
            );
            assert_eq!(of(well, &debug, "timeouts"), 0, "{}", guest.version);
            assert!(
                of(trouble, &debug, "timeouts").as_u64() > Some(0),
                "{}",
                guest.version
            );
            let paths = guest.disks("nvme_paths");
            assert_eq!(of(trouble, &paths[0], "state"), "live");
            assert!(health(well, &paths[1]).is_some() && health(trouble, &paths[1]).is_none());
            // It may come back with another number.
            let devices = guest.devices_in("devices-after.json");
            let is_live = |device: &&Value| {
                device["kind"] == "nvme_path" && device["health"]["state"] == "live"
            };
            assert_eq!(
                devices.iter().filter(is_live).count(),
                2,
                "{}",
                guest.version
            );
            for (file, text) in [
                ("devices-suspended", "dm-0: suspended"),
                ("devices-trouble", "md0: rebuilding"),
                ("devices-trouble", &format!("{debug}: ")),
            ] {
                let tree = guest.read(file);
                assert!(
                    tree.lines().any(|line| line.starts_with(text)),
                    "{}: {text}\n{tree}",
                    guest.version
                );
            }
        });
    }

    #[test]
    fn an_nfs_mount_whose_server_is_out_of_reach_is_named() {
        on_each_kernel(Script::Devices, |guest| {
            let facts = guest.read("nfs.txt");
            let counts = facts
                .split("\"nfs_unanswered\":")
                .skip(1)
                .map(|rest| !rest.starts_with('0'));
            let is_waiting: Vec<bool> = counts.collect();
            assert!(
                is_waiting.contains(&true) && !is_waiting.ends_with(&[true]),
                "{}",
                guest.version
            );
            // On 6.1, a disk with several paths has no accounting, so that it may be the one that tasks wait for.
            if guest.version == "6.12" {
                let disk = &guest.disks("nvme")[0];
                check_seen(guest, "nfs", disk, "nfs-begin", &|record| {
                    let waits = record["nfs_waits"].as_array().unwrap();
                    waits.iter().any(|wait| {
                        wait.as_str().unwrap().starts_with(
                            "NFS at /memory/mount has had requests without an answer for ",
                        )
                    })
                });
            }
        });
    }
}
