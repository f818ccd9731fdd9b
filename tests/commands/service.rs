//! `blkstat service`: the files for systemd.

use std::ffi::OsString;

use blkstat::commands::{Command, Plan, plan};

use crate::support::program::output;

/// Returns a file that is printed.
fn printed(words: &str) -> String {
    let (out, err, code) = output(&format!("service {words}"), "");
    assert_eq!((err.as_str(), code), ("", 0), "{words}");
    out
}

/// Returns the values of a setting of a unit.
fn values<'a>(unit: &'a str, setting: &str) -> Vec<&'a str> {
    unit.lines()
        .filter_map(|line| line.strip_prefix(setting)?.strip_prefix('='))
        .collect()
}

/// Returns the command that a unit starts.
fn started(unit: &str) -> Command {
    let command = values(unit, "ExecStart");
    let [command] = command.as_slice() else {
        panic!("{command:?}")
    };
    let plan = plan(command.split_whitespace().map(OsString::from), &|_| None);
    let Ok(Plan::Native(command, _)) = plan else {
        panic!("{plan:?}")
    };
    command
}

#[test]
fn the_recorder_rotates_keeps_and_learns_in_its_state_directory() {
    let unit = printed("recorder");
    let Command::Record(record) = started(&unit) else {
        panic!("{unit}")
    };
    let (rotation, kept) = (record.rotate.unwrap(), record.keep.unwrap());
    assert!(
        rotation.size.is_some() && rotation.every.is_some(),
        "{rotation:?}"
    );
    assert!(kept.keep.is_some() && kept.keep_bytes.is_some(), "{kept:?}");
    assert!(record.append && !record.no_who && record.operands == ["1"]);
    // The live views read this file by default.
    assert_eq!(
        record.learn_baseline.unwrap().to_str(),
        Some("/var/lib/blkstat/baseline.json")
    );
    assert!(record.file.starts_with("/var/lib/blkstat"));
    assert_eq!(
        (
            values(&unit, "StateDirectory"),
            values(&unit, "StateDirectoryMode")
        ),
        (vec!["blkstat"], vec!["0755"])
    );
}

#[test]
fn the_exporter_listens_on_the_loopback_address() {
    let unit = printed("exporter");
    let Command::Export(export) = started(&unit) else {
        panic!("{unit}")
    };
    let (Some(address), None) = (export.listen, export.textfile) else {
        panic!("{unit}")
    };
    assert!(address.ip().is_loopback(), "{address}");
    assert!(
        printed("exporter").contains(&format!("http://{address}/metrics")),
        "{address}"
    );
}

#[test]
fn a_unit_hides_nothing_that_blkstat_reads() {
    for name in ["recorder", "exporter"] {
        let unit = printed(name);
        for setting in [
            "ProcSubset",
            "ProtectProc",
            "DynamicUser",
            "PrivateDevices",
            "PrivateUsers",
            "RootDirectory",
        ] {
            assert!(values(&unit, setting).is_empty(), "{name}: {setting}");
        }
        for setting in [
            "OOMScoreAdjust",
            "LimitMEMLOCK",
            "User",
            "ProtectSystem",
            "NoNewPrivileges",
            "SystemCallFilter",
        ] {
            assert!(!values(&unit, setting).is_empty(), "{name}: {setting}");
        }
        assert_eq!(values(&unit, "SuccessExitStatus"), ["130 143"]);
        let user = format!("\nu {} ", values(&unit, "User")[0]);
        assert!(printed("sysusers").contains(&user), "{user}");
    }
}

#[test]
fn an_unknown_file_is_a_usage_error() {
    assert_eq!(output("service nosuch", "").2, 2);
}
