//! The memory of the history.

use super::*;

/// A pseudo-random number below `below`, the next after `seed` (Numerical Recipes' generator).
fn random(seed: &mut u64, below: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % below
}

#[test]
fn an_hour_of_100_busy_devices_is_kept_exactly_in_64_mib() {
    const DEVICES: usize = 100;
    let (seed, interval) = (&mut 1, Interval::from_nanos(1_000_000_000).unwrap());
    let mut counters = vec![Counters { columns: Columns::Flushes, ..Counters::ZERO }; DEVICES];
    let names: Vec<String> = (0..DEVICES).map(|number| format!("nvme{number}n1")).collect();
    let mut encoder = FrameEncoder::default();
    let mut app = app(Source::Live);
    // A twelfth of an hour, in a twelfth of the memory.
    app.history = History::new(300.0, LIVE_HISTORY_BYTES / 12);
    let mut texts = SampleTexts::new(300.0, MAX_TEXT_BYTES / 12);
    let topology = Arc::new(crate::topology::Topology::default());
    for second in 0..370 {
        let before = counters.clone();
        let mut text = String::new();
        for (one, name) in counters.iter_mut().zip(&names) {
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
            let Requests { ios, merges, sectors, ms } = one.reads;
            let writes = one.writes;
            text += &format!(
                " 259 0 {name} {ios} {merges} {sectors} {ms} {} {} {} {} {} {} {} 0 0 0 0 {} {}\n",
                writes.ios,
                writes.merges,
                writes.sectors,
                writes.ms,
                one.in_flight,
                one.busy_ms,
                one.weighted_ms,
                one.flushes,
                one.flush_ms
            );
        }
        let at = jiff::Timestamp::from_second(1_700_000_000 + second).unwrap();
        texts.push(Some(at), b"", text.as_bytes());
        let devices = before.iter().zip(&counters).zip(&names).map(|((before, after), name)| {
            let stats = IntervalStats::between(before, after, interval).unwrap();
            DeviceInterval { device: name, label: name, mountpoints: "/srv", state: busy(stats, seed) }
        });
        let header = IntervalHeader { end: Some(at), elapsed_s: 1.0, ..app_header() };
        let rows = IntervalRows {
            header,
            devices: devices.collect(),
            total: None,
            events: Vec::new(),
            attribution: None,
            traced: None,
            has_found_any: true,
        };
        app.push(encoder.encode(rows, Arc::clone(&topology)));
    }
    assert!(app.history.frames().len() >= 300, "{}", app.history.frames().len());
    assert!(texts.snapshot().samples() >= 300, "{}", texts.snapshot().samples());
    let bytes = app.history.memory() + texts.memory();
    assert!(bytes <= (64 << 20) / 12, "{bytes}");
    assert!(app.history.before(app.history.frames()[0].end_s).is_some(), "the time before is known");
}

/// Returns a device that is saturated, with the usual evidence.
fn busy(stats: IntervalStats, seed: &mut u64) -> DeviceState {
    let mut saturation = || Some(3.0 + random(seed, 1000) as f64 / 7.0);
    let (reads, writes) = (saturation(), saturation());
    let evidence = |direction, of: &DirectionStats, saturation| Evidence::Latency {
        direction,
        latency: Latency {
            await_ms: of.await_ms.unwrap_or_default(),
            queue: of.queue.unwrap_or_default(),
            saturation,
        },
        source: Some(BaselineSource::Learned),
        doubt: None,
    };
    let assessment = Assessment {
        verdict: Some(Verdict::Saturated),
        read_saturation: reads,
        write_saturation: writes,
        baseline_source: Some(BaselineSource::Learned),
        evidence: vec![
            evidence(IoDirection::Reads, &stats.reads, reads),
            evidence(IoDirection::Writes, &stats.writes, writes),
        ],
        lasted_s: Some(17.0),
        ..Assessment::default()
    };
    let activity = DeviceActivity { stats, assessment, verdict_s: Some(1.0), ..DeviceActivity::default() };
    DeviceState::Active(Box::new(activity))
}

/// Returns the values of an interval that matter to nothing here.
fn app_header() -> IntervalHeader {
    let (frames, _) = frames_of("captures/pt/ten.txt", false, |_| {});
    frames[0].header
}
