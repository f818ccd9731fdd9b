//! The memory of the history.

use super::*;
use crate::attribution::{Attribution, CgroupUse, DeviceUse, IoRates};
use crate::topology::DeviceNames;
use crate::topology::Node;

/// A pseudo-random number below `below`, the next after `seed` (Numerical Recipes' generator).
fn random(seed: &mut u64, below: u64) -> u64 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % below
}

#[test]
fn an_hour_of_8_busy_devices_and_minutes_of_100_are_kept_exactly_in_64_mib() {
    assert_eq!(minutes_kept(8, false), 60);
    assert!(minutes_kept(100, false) >= 3);
}

#[test]
fn cgroups_shorten_the_time_that_is_kept_by_a_quarter_at_most() {
    assert!(minutes_kept(8, true) >= 45);
}

#[test]
fn topologies_count_towards_the_memory() {
    let max_bytes = 4 << 20;
    let mut history = History::new(3600.0, max_bytes);
    let mut topologies = Vec::new();
    for change in 0..2000 {
        let disk = |number: i32| Node {
            name: format!("sd{}", change + number),
            ..Node::default()
        };
        let topology = Arc::new(Topology::new((0..20).map(disk).collect()));
        topologies.push(Arc::downgrade(&topology));
        let rows = IntervalRows {
            header: app_header(),
            ..IntervalRows::default()
        };
        history.push(rows, topology);
    }
    assert!(history.memory() <= max_bytes, "{}", history.memory());
    let kept = topologies.iter().filter_map(std::sync::Weak::upgrade);
    let bytes: usize = kept.map(|topology| topology.memory()).sum();
    assert!((max_bytes / 2..=max_bytes).contains(&bytes), "{bytes}");
}

/// Returns for how many minutes exact intervals of busy devices are kept, with or without a cgroup on each.
fn minutes_kept(device_count: usize, has_cgroups: bool) -> usize {
    let (seed, interval) = (&mut 1, Span::from_nanos(1_000_000_000).unwrap());
    let mut counters = vec![
        Counters {
            columns: Columns::Flushes,
            ..Counters::ZERO
        };
        device_count
    ];
    let names: Vec<String> = (0..device_count)
        .map(|number| format!("nvme{number}n1"))
        .collect();
    let mountpoints = "/srv".to_owned();
    let with_mount = |device: &String| {
        let (device, label) = (device.clone(), device.clone());
        Arc::new(DeviceNames {
            device,
            label,
            mountpoints: mountpoints.clone(),
        })
    };
    let mounted: Vec<Arc<DeviceNames>> = names.iter().map(with_mount).collect();
    let mut app = app(Source::Live);
    // A twelfth of an hour in a twelfth of the memory.
    let all = live_history_bytes(device_count, 0) / 12;
    app.history = History::new(300.0, all);
    let topology = Arc::new(Topology::default());
    for second in 0..370 {
        let before = counters.clone();
        for one in &mut counters {
            for requests in [&mut one.reads, &mut one.writes] {
                let ios = random(seed, 5000);
                requests.ios += ios;
                requests.merges += random(seed, 100);
                requests.sectors += ios * 8;
                requests.ms += ios * (1 + random(seed, 5));
            }
            one.flushes += random(seed, 50);
            one.flush_ms += random(seed, 100);
            one.in_flight = random(seed, 64);
            one.busy_ms += random(seed, 1000);
            one.weighted_ms += random(seed, 30_000);
        }
        let at = jiff::Timestamp::from_second(1_700_000_000 + second).unwrap();
        let between = |(before, after)| Interval::between(before, after, interval).unwrap();
        let stats: Vec<Interval> = before.iter().zip(&counters).map(between).collect();
        let devices = stats
            .iter()
            .zip(&mounted)
            .map(|(stats, names)| DeviceInterval {
                names: Arc::clone(names),
                state: busy(*stats, seed),
            });
        let header = IntervalHeader {
            end: Some(at),
            elapsed_s: 1.0,
            ..app_header()
        };
        let rows = IntervalRows {
            header,
            devices: devices.collect(),
            total: None,
            events: Vec::new(),
            attribution: has_cgroups.then(|| attribution(&names, &stats)),
            has_found_any: true,
        };
        app.push(rows, Arc::clone(&topology));
    }
    let bytes = app.history.memory();
    assert!(bytes <= all, "{bytes}");
    let frames = app.history.frames();
    assert_eq!(frames[0].span.start_s, 0.0, "the time before is known");
    let exact = frames.iter().filter(|frame| frame.is_exact());
    // A minute is five seconds here.
    exact.count().min(300) / 5
}

/// Returns a device that is saturated, with the usual evidence.
fn busy(stats: Interval, seed: &mut u64) -> DeviceState {
    let mut saturation = || Some(3.0 + random(seed, 1000) as f64 / 7.0);
    let (reads, writes, flushes) = (saturation(), saturation(), saturation());
    let evidence = |direction, of: &Completed, saturation| {
        Evidence::Latency(Latency {
            direction,
            verdict: Verdict::Saturated,
            await_ms: of.await_ms().unwrap_or_default(),
            queue: of.queue().unwrap_or_default(),
            saturation,
            source: Some(BaselineSource::Learned),
            seen_s_ago: Some(20.0),
            doubt: None,
        })
    };
    let assessment = Assessment {
        verdict: Some(Verdict::Saturated),
        read_saturation: reads,
        write_saturation: writes,
        flush_saturation: flushes,
        baseline_source: Some(BaselineSource::Learned),
        evidence: vec![
            evidence(IoDirection::Reads, &stats.reads, reads),
            evidence(IoDirection::Writes, &stats.writes, writes),
            evidence(IoDirection::Flushes, &stats.flushes, flushes),
        ],
    };
    let activity = DeviceActivity::example(stats, assessment);
    DeviceState::Active(Box::new(activity))
}

/// Returns a cgroup on each device.
fn attribution(names: &[String], stats: &[Interval]) -> Attribution {
    let usage = |(name, stats): (&String, &Interval)| {
        let rates = IoRates {
            reads_per_s: stats.reads.per_s().unwrap_or_default(),
            writes_per_s: stats.writes.per_s().unwrap_or_default(),
            read_bytes_per_s: stats.reads.kib_per_s().unwrap_or_default() * 1024.0,
            write_bytes_per_s: stats.writes.kib_per_s().unwrap_or_default() * 1024.0,
        };
        let path: Arc<str> = format!("/system.slice/{name}.service").into();
        let cgroup = CgroupUse {
            path,
            rates,
            share_pct: Some(99.9),
            limits: Vec::new(),
        };
        DeviceUse {
            name: name.as_str().into(),
            cgroups: vec![cgroup],
            ..DeviceUse::default()
        }
    };
    let devices = names.iter().zip(stats).map(usage).collect();
    Attribution {
        elapsed_s: 1.0,
        devices,
        ..Attribution::default()
    }
}

/// Returns values of an interval that do not matter here.
fn app_header() -> IntervalHeader {
    let (frames, _) = frames_of("captures/pt/ten.txt", false, |_| {});
    frames[0].0.header.clone()
}
