//! The JSON of hundreds of devices, of which some versions of iostat lose fields.

use std::fmt::Write;

use serde_json::Value;
use tempfile::TempDir;

use super::case::Case;
use super::layout;
use super::machine::Machine;
use super::runner::run_ours;

const DEVICES: u64 = 500;

#[test]
fn json_has_every_field_of_five_hundred_devices() {
    let mut text = "step 100.00\ncpu 1 0 1 9 0\n".to_owned();
    let name = |number: u64| format!("nvme{number}n1");
    for number in 0..DEVICES {
        // Reads, of 8 sectors each, tell the devices apart.
        let reads = 100 + number;
        let counters = format!("{reads} 0 {} 7 0 0 0 0 0 5 7 0 0 0 0 0 0", reads * 8);
        writeln!(text, "disk 259:{number} {} {counters}", name(number)).unwrap();
    }
    text += "step +1.00\ncpu + 1 0 1 9 0\n";
    for number in 0..DEVICES {
        writeln!(text, "add {} {number} 0 {} 1", name(number), number * 8).unwrap();
    }
    let machine = Machine::parse("many-devices", &text);
    let top = TempDir::new().unwrap();
    layout::write_steps(&machine, top.path(), &|path, _| std::fs::write(path, ""));
    let outcome = run_ours(&Case::parse("many-devices", "", 2, "-dx -o JSON @"), &machine, top.path());
    let json: Value = serde_json::from_str(&outcome.stdout).unwrap();
    let reports = json["sysstat"]["hosts"][0]["statistics"].as_array().unwrap();
    assert_eq!(reports.len(), 2);
    let disks = reports[1]["disk"].as_array().unwrap();
    assert_eq!(disks.len() as u64, DEVICES);
    for number in 0..DEVICES {
        let disk = disks.iter().find(|disk| disk["disk_device"] == name(number).as_str()).unwrap();
        // The name and 22 columns.
        assert_eq!(disk.as_object().unwrap().len(), 23, "{disk}");
        let [reads, kib] = ["r/s", "rkB/s"].map(|key| disk[key].as_f64().unwrap());
        assert_eq!([reads, kib], [number as f64, number as f64 * 4.0], "{disk}");
    }
}
