//! A simulation as a capture: its counters as text, and the truth beside them.

use std::fmt::Write;

use crate::random::Random;
use crate::simulator::{Device, Host, Nanos, Observed, Setup, Stage, nanos};
use crate::truth::{Truth, truths};

/// The wall clock at the start of every simulation, in seconds since 1970.
const EPOCH_S: u64 = 1_795_198_930;
/// The uptime at the start of every simulation.
const UPTIME_S: u64 = 100_000;

/// A simulated capture.
pub(crate) struct Capture {
    pub(crate) setup: Setup,
    /// The text, as blkstat or pt-diskstats would have written it.
    pub(crate) text: String,
    /// The truth about each device in each interval, the uppermost device first.
    pub(crate) truths: Vec<Vec<Truth>>,
}

/// Simulates a setup.
pub(crate) fn simulate(setup: &Setup, random: &mut Random) -> Capture {
    let mut host = Host::new(setup, random.fork());
    let mut text = String::new();
    if setup.is_recording {
        push_header(setup, &mut text);
    }
    let mut observed: Vec<Observed> = Vec::new();
    for sample in 0..=setup.intervals {
        let deadline = setup.warm_up_s + f64::from(sample) * setup.interval_s;
        // A sample is seldom late, and then by much more than usual.
        let is_late = random.chance(0.02);
        let delay = setup.sample_delay_s * random.exponential() * if is_late { 20.0 } else { 1.0 };
        let at = nanos(deadline + delay.min(0.4 * setup.interval_s));
        observed.push(host.run_until(at));
        push_sample(setup, &mut host, at, &mut text);
    }
    let truths = (0..setup.devices.len())
        .map(|device| truths(setup, &observed, device))
        .collect();
    Capture {
        setup: setup.clone(),
        text,
        truths,
    }
}

/// The model of a device in JSON: one that is as fast as the simulated one. Stacked devices have none, nor have volumes
/// with a limit.
fn model(setup: &Setup, device: &Device) -> &'static str {
    let station = &setup.station;
    let is_within = |seconds: f64| {
        station
            .service_s
            .iter()
            .all(|service_s| *service_s <= seconds)
    };
    match (device.kind, device.name) {
        _ if matches!(setup.stages.last(), Some(Stage::Gate(_))) => "null",
        ("disk", _) if station.sequential_s.is_some() => "\"ST4000NM0035-1V4\"",
        ("disk", "sda") if is_within(0.0004) => "\"Samsung SSD 870 \"",
        ("disk", "nvme0n1") if is_within(0.0002) => "\"SAMSUNG MZQL23T8HCLS-00A07\"",
        _ => "null",
    }
}

fn push_header(setup: &Setup, text: &mut String) {
    let nodes: Vec<String> = setup
        .devices
        .iter()
        .enumerate()
        .map(|(index, device)| {
            let below: Vec<String> =
                setup.devices.get(index + 1).filter(|_| !setup.has_volumes).iter().map(|below| format!("\"{}\"", below.name)).collect();
            format!(
                "{{\"name\":\"{}\",\"major\":{},\"minor\":{},\"kind\":\"{}\",\"backing_devices\":[{}],\
                 \"size_bytes\":107374182400,\"model\":{},\"rotational\":{},\"scheduler\":\"none\",\"iostats_enabled\":true}}",
                device.name,
                device.numbers.0,
                device.numbers.1,
                device.kind,
                below.join(","),
                model(setup, device),
                setup.station.sequential_s.is_some(),
            )
        })
        .collect();
    let _ = writeln!(
        text,
        "#blkstat {{\"version\":\"0.2.0\",\"host\":\"simulated\",\"kernel\":\"6.12.0\",\"boot_id\":\
         \"00000000-0000-0000-0000-000000000001\",\"cpus\":4,\"interval_ns\":{},\"devices\":[{}]}}",
        nanos(setup.interval_s),
        nodes.join(",")
    );
}

fn push_sample(setup: &Setup, host: &mut Host, at: Nanos, text: &mut String) {
    let (seconds, rest) = (EPOCH_S + at / 1_000_000_000, at % 1_000_000_000);
    let time = jiff::Timestamp::from_second(seconds as i64)
        .unwrap()
        .to_string();
    let _ = writeln!(
        text,
        "TS {seconds}.{rest:09} {}",
        time.replace('T', " ").trim_end_matches('Z')
    );
    let columns = host.columns();
    for (device, columns) in setup.devices.iter().zip(columns) {
        let (major, minor) = device.numbers;
        let _ = writeln!(text, "{major:4} {minor:7} {} {columns}", device.name);
    }
    if setup.is_recording {
        let (blocked, some_ns) = host.pressure();
        let ticks = at / 10_000_000;
        let waiting = (some_ns / 10_000_000).min(ticks * 4);
        let user = ticks / 5;
        let _ = writeln!(
            text,
            "cpu  {user} 0 {} {} {waiting} 0 0 0 0 0",
            user / 2,
            ticks * 4 - user - waiting
        );
        let some_us = some_ns / 1000;
        let _ = writeln!(
            text,
            "#blkstat {{\"monotonic_ns\":{},\"uptime_cs\":{},\"blocked\":{blocked},\"pressure_us\":[{some_us},{}],\
             \"dirty_kib\":120,\"writeback_kib\":0,\"complete\":true}}",
            UPTIME_S * 1_000_000_000 + at,
            UPTIME_S * 100 + ticks,
            some_us / 10 * 9,
        );
    }
}
