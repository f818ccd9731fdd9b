//! Parts from which scenarios are built.

use crate::random::Random;
use crate::simulator::{
    Arrivals, Device, Gate, History, IoTicks, Limited, Load, Mix, Operation, Pacing, Setup, Spread,
    Station, Unit, closed,
};

/// The most requests of a capture, for the sake of the time that a run takes.
const MAX_REQUESTS: f64 = 120_000.0;
/// The shortest capture in intervals.
const MIN_INTERVALS: f64 = 40.0;

/// A spread of service times.
pub(super) fn any_spread(random: &mut Random) -> Spread {
    match (random.unit() * 4.0) as u32 {
        0 => Spread::Exponential,
        1 => Spread::Lognormal(random.between(0.3, 1.2)),
        2 => Spread::Even(random.between(0.1, 0.4)),
        _ => Spread::HeavyTail {
            share: random.between(0.005, 0.03),
            times: random.between(5.0, 30.0),
        },
    }
}

/// Servers with a capacity between 60 and 12,000 requests per second.
pub(super) fn servers(random: &mut Random, count: u32, spread: Spread) -> Station {
    let capacity = random.log_between(60.0, 12_000.0);
    let service_s = (f64::from(count) / capacity).clamp(15e-6, 0.03);
    Station::new(count, service_s, spread)
}

/// Servers of any number and spread.
pub(super) fn any_servers(random: &mut Random) -> Station {
    let (count, spread) = (random.count(1, 64), any_spread(random));
    servers(random, count, spread)
}

/// A hard disk: a seek for each request, unless it continues the one before.
pub(super) fn hard_disk(random: &mut Random) -> Station {
    let mut disk = Station::new(
        1,
        random.between(0.003, 0.012),
        Spread::Even(random.between(0.2, 0.4)),
    );
    disk.sequential_s = Some(random.between(0.00005, 0.0002));
    disk.sector_s = 512.0 / random.between(100e6, 250e6);
    disk
}

/// A capture of a device, of a length for which the simulation does not take long at a rate in requests per second.
pub(super) fn capture(random: &mut Random, station: Station, rate: f64) -> Setup {
    let mut setup = Setup::new(0);
    let seconds = random.log_between(40.0, 300.0);
    setup.interval_s =
        if rate * MIN_INTERVALS > MAX_REQUESTS || (rate > 2000.0 && random.chance(0.1)) {
            0.1
        } else if rate < 1000.0 && random.chance(0.15) {
            random.pick(&[5.0, 10.0])
        } else {
            1.0
        };
    let affordable = MAX_REQUESTS / rate / setup.interval_s;
    setup.intervals = seconds.min(affordable).max(MIN_INTERVALS) as u32;
    setup.warm_up_s = (2.0 * setup.interval_s)
        .max(20.0 * station.service_s[0])
        .max(0.2);
    setup.station = station;
    setup
}

/// A capture of a device that may be busy all the time.
pub(super) fn busy_capture(random: &mut Random, station: Station) -> Setup {
    let rate = station.capacity(8);
    capture(random, station, rate)
}

/// Reads or writes of one size, or a mix of both.
pub(super) fn any_mix(random: &mut Random) -> Mix {
    let sectors = random.pick::<&'static [u32]>(&[&[8], &[16], &[32], &[128]]);
    let reads = random.pick(&[1.0, 1.0, 0.0, 0.7, 0.3]);
    Mix {
        reads,
        sectors,
        ..Mix::READS
    }
}

/// Clients that keep a device a twentieth to a fifth as busy as it can be, one at a time.
pub(super) fn light(random: &mut Random, station: &Station, mix: Mix) -> Load {
    let service_s = station.service_s[0] + f64::from(mix.sectors[0]) * station.sector_s;
    let think_s = service_s * random.between(1.0, 10.0);
    Load::always(
        Arrivals::Closed {
            clients: 1,
            think_s,
        },
        mix,
    )
}

/// A light load until a second of the capture and another load from then on.
pub(super) fn light_then(random: &mut Random, setup: &mut Setup, share: (f64, f64), load: Load) {
    let change_s = setup.seconds() * random.between(share.0, share.1);
    let light = light(random, &setup.station, load.mix);
    setup.loads = vec![
        light.within(f64::NEG_INFINITY, change_s),
        load.within(change_s, f64::INFINITY),
    ];
}

/// Clients without think time.
pub(super) fn clients(count: u32, mix: Mix) -> Load {
    Load::always(closed(count), mix)
}

/// A gate of an odd rate, of any pacing without credits.
pub(super) fn any_gate(random: &mut Random, limited: Limited, unit: Unit, rate: f64) -> Gate {
    let pacing = if random.chance(0.5) {
        Pacing::Slices
    } else {
        Pacing::Spaced
    };
    let mut gate = Gate::new(limited, unit, rate, pacing);
    gate.jitter = random.pick(&[0.0, 0.001, 0.003]);
    gate
}

/// Draws what is left: the kernel, its history since boot, and the way of sampling.
pub(super) fn finish(mut setup: Setup, random: &mut Random) -> Setup {
    setup.hz = random.pick(&[100, 250, 250, 1000]);
    setup.ticks = random.pick(&[IoTicks::AllBeforeEnd, IoTicks::AllInFlight]);
    setup.sample_delay_s = random.log_between(0.00005, 0.002);
    setup.is_recording = setup.devices.len() > 1 || random.chance(0.5);
    for device in &mut setup.devices {
        if device.name == Device::DISK.name && random.chance(0.5) {
            let mapped = [("nvme0n1", (259, 0)), ("vda", (254, 0)), ("xvda", (202, 0))];
            let (name, numbers) = random.pick(&mapped);
            // A partition would have another name, too.
            if setup.stages.len() == 1 && setup.station.sequential_s.is_none() {
                (device.name, device.numbers) = (name, numbers);
            }
        }
    }
    if setup.history.is_empty() && random.chance(0.75) {
        // Mostly an easier life than now, sometimes one like the present.
        let times = if random.chance(0.8) {
            random.between(1.0, 1.3)
        } else {
            random.between(2.0, 8.0)
        };
        // Mostly with requests of the same size, as a device has the same user for long.
        let sizes = setup
            .loads
            .first()
            .map_or(&[8][..], |load| load.mix.sectors);
        let usual = sizes.iter().sum::<u32>() / sizes.len() as u32;
        let sectors = u64::from(if random.chance(0.7) { usual } else { 8 });
        for operation in [Operation::Read, Operation::Write] {
            let ios = random.log_between(1e4, 1e8) as u64;
            let mean_s = setup.station.service_s[operation as usize] * times;
            setup.history.push(History {
                operation,
                ios,
                sectors,
                mean_s,
            });
        }
    }
    // Samples are not in phase with the slices of a limit.
    setup.warm_up_s += random.between(0.0, 0.1);
    setup
}
