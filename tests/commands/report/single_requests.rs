//! Single requests on a page.

use serde_json::Value;

use super::page::{data, many_bad_devices, numbers, page};
use crate::support::program::blkstat;

/// A recording with `--trace` of an NVMe disk, and of a slow volume on a memory disk.
const TRACED: &str = "fixtures/tracefs/recording.txt";
/// The names of its devices in the data of a page, and the kernel's.
const DEVICES: [(&str, &str); 3] = [("slow", "dm-0"), ("nvme0n1", "nvme0n1"), ("nullb0", "nullb0")];

/// Returns the group of a device in the data.
fn group<'a>(data: &'a Value, name: &str) -> &'a Value {
    data["groups"].as_array().unwrap().iter().find(|group| group["name"] == name).unwrap()
}

#[test]
fn percentiles_are_those_of_latency() {
    let data = data(&page(TRACED, ""));
    let (start, ends) = (data["start"].as_f64().unwrap(), numbers(&data["ends"]));
    let lines = blkstat(&format!("latency --json --from {TRACED}")).run().out;
    let mut compared = 0;
    let mut expected_values = 0;
    for line in lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let time: jiff::Timestamp = line["time"].as_str().unwrap().parse().unwrap();
        let time_s = time.as_microsecond() as f64 / 1e6;
        let point = ends.iter().position(|end| (start + end.unwrap() - time_s).abs() < 0.01).unwrap();
        let (name, _) = DEVICES.into_iter().find(|(_, device)| line["device"] == *device).unwrap();
        for (key, series) in group(&data, name)["series"].as_object().unwrap() {
            if !["p50_ms", "p99_ms", "max_ms"].iter().any(|end| key.ends_with(end)) {
                continue;
            }
            let drawn = numbers(&series["mean"]).get(point).copied().flatten();
            match (line[key].as_f64(), drawn) {
                (Some(expected), Some(drawn)) => {
                    assert!((drawn / expected - 1.0).abs() < 1e-5, "{key} of {name} at {time}: {drawn}");
                    compared += 1;
                }
                (expected, drawn) => assert_eq!(drawn, expected, "{key} of {name} at {time}"),
            }
        }
        for kind in ["read", "write", "flush", "discard"] {
            expected_values += 3 * usize::from(line[format!("{kind}_count")].as_u64() > Some(0));
        }
    }
    assert!(compared == expected_values && compared > 40, "{compared} of {expected_values}");
}

#[test]
fn time_without_traces_is_a_gap_that_the_page_names() {
    let text = std::fs::read_to_string(TRACED).unwrap();
    // The volume's load ends in the interval after this sample, whose single requests follow it.
    let kept = text.split_once("TS 1795340542").unwrap().0.len();
    let is_traced = |line: &str| line.starts_with("#blkstat {\"traced\"");
    let rest = text[kept..].split_inclusive('\n').filter(|line| !is_traced(line));
    let cut = text[..kept].to_owned() + &rest.collect::<String>();
    let values = |page: &str, key: &str| {
        let data = data(page);
        let series = numbers(&group(&data, "slow")["series"][key]["mean"]);
        series.into_iter().flatten().count()
    };
    let (whole, cut) = (page("-", &text), page("-", &cut));
    assert_eq!((values(&whole, "read_p99_ms"), values(&whole, "read_await_ms")), (2, 2));
    assert_eq!((values(&cut, "read_p99_ms"), values(&cut, "read_await_ms")), (1, 2));
    assert!(
        whole.contains("Single requests traced in 22 s, with the share of those completed: 46 reads (100%)")
    );
    assert!(
        cut.contains("Single requests traced in 8.0 s, with the share of those completed: 40 reads (100%)")
    );
}

#[test]
fn both_heat_maps_are_named() {
    let traced = page(TRACED, "");
    assert_eq!(traced.matches("<b>Heat map of single requests</b>").count(), 3);
    assert_eq!(traced.matches("<b>Heat map of interval means</b>").count(), 3);
    assert!(traced.contains("<b>Latency of single writes</b>"));
    let means = page("fixtures/captures/capped-3000.txt", "");
    assert!(means.contains("<b>Heat map of interval means</b>"));
    assert!(!means.contains("<b>Heat map of single") && !means.contains("<b>Latency of single"));
    assert!(!means.contains("Single requests traced"));
}

#[test]
fn threads_are_named_unless_they_are_not_to_be() {
    let with = page(TRACED, "");
    let (_, table) = with.split_once("<table class=\"threads\">").unwrap();
    let table = table.split_once("</table>").unwrap().0;
    assert!(table.contains("<td class=\"long\"><bdi>fio</bdi> ") && table.contains(">100%<"), "{table}");
    let without = page(&format!("{TRACED} --no-who"), "");
    assert!(!without.contains("class=\"threads\"") && without.contains("Single requests traced"));
}

#[test]
fn a_page_with_many_traced_devices_is_small() {
    let mut text = String::new();
    for (second, sample) in many_bad_devices(20, 240).split("TS ").skip(1).enumerate() {
        let histogram = |device: u64, kind: &str| {
            let lowers = (0..60u64).map(|at| 400_000 + (at + device) * 40_000 * (1 + second as u64 % 7));
            let buckets = lowers.map(|lower| format!("[{lower},{},5,{}]", lower + 199, 5 * lower + 20));
            let buckets: Vec<String> = buckets.collect();
            format!(
                "#blkstat {{\"traced\":{{\"latencies\":[{{\"number\":[8,{}],\"kind\":\"{kind}\",\"buckets\":[{}]}}]}}}}\n",
                16 * device,
                buckets.join(",")
            )
        };
        text.push_str("#blkstat {\"traced\":{\"elapsed_ns\":1000000000}}\n");
        (0..20).for_each(|device| text.extend(["read", "write"].map(|kind| histogram(device, kind))));
        text.push_str(&format!("TS {sample}"));
    }
    let page = page("-", &text);
    assert_eq!(page.matches("<b>Latency of single reads</b>").count(), 20);
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
    let points = numbers(&data(&page)["starts"]).len();
    assert!((40..240).contains(&points), "{points}");
}
