//! Tables and JSON.

use blkstat::exit::Exit;

use super::host::{json, output};

#[test]
fn a_report_shows_the_host_and_every_device() {
    let expected = "\
1970-01-01 UTC
00:00:01  1.000s  cpu 10% user 5% sys 85% avail   io 25% some 5.0% full   blocked 3
device       r/s rMiB/s r_await   w/s wMiB/s w_await queue inflt  util r_sat w_sat        verdict
sda          100   0.39  2.00ms   100   0.39  2.00ms  0.40     0   20%     -     -             ok
sdb        I/O accounting disabled (queue/iostats=0)
sdc         1.00   0.00 ~2.00ms  1.00   0.00 ~2.00ms  0.00     4  0.2%     -     -             ok
sda2         100   0.39  2.00ms   100   0.39  2.00ms  0.40     0   20%     -     -             ok
vg0-root     100   0.39  2.00ms   100   0.39  2.00ms  0.40     0   20%     -     -             ok
└ hidden at width 100: r_sz w_sz d/s dMiB/s d_await d_sz f/s f_await rmrg wmrg dmrg r_qu w_qu d_qu
└   ≤util (--width N, -o)
";
    assert_eq!(
        output("--width 100 1 1", 1),
        (expected.to_owned(), String::new(), Exit::Success)
    );
}

#[test]
fn a_stall_grows_and_hot_plugged_devices_are_named_once() {
    let (out, _, exit) = output("1", 6);
    let sdc: Vec<&str> = out
        .lines()
        .filter(|line| line.starts_with("sdc "))
        .collect();
    assert!(
        sdc[2].ends_with("STALLED for 1.0 s: 4 in flight, nothing completed"),
        "{out}"
    );
    assert!(
        sdc[5].ends_with("STALLED for 4.0 s: 4 in flight, nothing completed"),
        "{out}"
    );
    assert_eq!(out.matches("└ sdd appeared").count(), 1);
    assert_eq!(out.matches("└ sdd disappeared").count(), 1);
    assert_eq!(exit, Exit::Signal(2));
}

#[test]
fn json_has_the_same_numbers() {
    let lines = json("sdb sdc vg0-root 1 4", 4);
    let names: Vec<&str> = lines
        .iter()
        .map(|line| line["device"].as_str().unwrap())
        .take(3)
        .collect();
    assert_eq!(names, ["sdb", "sdc", "dm-0"]);
    assert_eq!(lines[0]["flags"], serde_json::json!(["accounting_off"]));
    assert!(lines[0]["reads_per_s"].is_null());
    let stalled: Vec<f64> = lines
        .iter()
        .filter_map(|line| line["stalled_s"].as_f64())
        .step_by(2)
        .collect();
    assert_eq!(stalled, [0.0, 0.0, 1.0, 2.0]);
    let last = lines.last().unwrap();
    assert_eq!(
        (last["reads_per_s"].as_f64(), last["read_await_ms"].as_f64()),
        (Some(100.0), Some(2.0))
    );
    assert_eq!(
        (
            last["util_pct"].as_f64(),
            last["util_upper_bound_pct"].as_f64()
        ),
        (Some(20.0), Some(40.0))
    );
    assert_eq!(last["cpu_available_pct"].as_f64(), Some(85.0));
    assert_eq!(last["io_pressure_some_pct"].as_f64(), Some(25.0));
}

#[test]
fn averages_since_boot_come_first_on_request() {
    let lines = json("sda --since-boot 1 1", 1);
    assert_eq!(
        (
            lines[0]["elapsed_s"].as_f64(),
            lines[0]["reads_per_s"].as_f64()
        ),
        (Some(100.0), Some(10.0))
    );
    assert_eq!(
        (lines.len(), lines[1]["reads_per_s"].as_f64()),
        (2, Some(100.0))
    );
    assert_eq!(
        (&lines[0]["flags"], &lines[1]["flags"]),
        (&serde_json::json!(["since_boot"]), &serde_json::json!([]))
    );
}

#[test]
fn a_total_is_over_physical_disks() {
    let (out, _, _) = output("--total --width 130 1 1", 1);
    let total = out.lines().find(|line| line.starts_with("total"));
    // sda and sdc, but neither the partition nor the volume.
    assert!(total.unwrap().starts_with("total        101"), "{out}");
}
