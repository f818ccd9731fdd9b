//! Properties of logs of iostat of any interval, version, locale and unit: a rate is shown as it was printed, or not at all.

use std::fmt::Write as _;

use blkstat::capture::Reader;
use blkstat::counters::{LoggedRates, Sample};
use proptest::prelude::*;

/// The form of a log.
#[derive(Clone, Copy, Debug)]
struct Form {
    /// Seconds between two reports.
    seconds: u32,
    has_times: bool,
    has_comma: bool,
    /// The columns of a version, in which `%` stands for the unit of data.
    columns: &'static str,
    unit: &'static str,
}

const VERSIONS: [&str; 3] = [
    // Before 10, before 12, and since then.
    "rrqm/s wrqm/s r/s w/s r%/s w%/s avgrq-sz avgqu-sz await svctm %util",
    "rrqm/s wrqm/s r/s w/s r%/s w%/s avgrq-sz avgqu-sz await r_await w_await svctm %util",
    "r/s r%/s rrqm/s %rrqm r_await rareq-sz w/s w%/s wrqm/s %wrqm w_await wareq-sz aqu-sz %util",
];

fn form() -> impl Strategy<Value = Form> {
    let version = prop::sample::select(&VERSIONS[..]);
    let unit = prop::sample::select(&["kB", "MB", "sec"][..]);
    // Rates of 49 and of 51 s are nearly all the same numbers; people choose lengths such as 60 s.
    let seconds = prop_oneof![2..=40_u32, Just(60)];
    (seconds, any::<bool>(), any::<bool>(), version, unit).prop_map(
        |(seconds, has_times, has_comma, columns, unit)| Form {
            seconds,
            has_times,
            has_comma,
            columns,
            unit,
        },
    )
}

/// The requests of a device in an interval: reads and writes.
type Counts = [u32; 2];

/// The requests of the devices in each interval, the first of which is the time since boot.
fn reports() -> impl Strategy<Value = Vec<Vec<Counts>>> {
    // Numbers of requests that differ, however much a failing case is made smaller.
    (any::<u32>(), 2..4_u32, 20..30_u32).prop_map(|(seed, devices, reports)| {
        let count = |at: u32| {
            let mixed = (seed ^ at.wrapping_mul(0x9E37_79B9)).wrapping_mul(0x85EB_CA6B);
            1 + (mixed ^ mixed >> 13) % 3000
        };
        let of_device = |at: u32| [count(2 * at), count(2 * at + 1)];
        let of_report = |at: u32| (0..devices).map(move |device| of_device(at * devices + device));
        (0..reports).map(|at| of_report(at).collect()).collect()
    })
}

fn name(device: usize) -> String {
    format!("sd{}", char::from(b'a' + device as u8))
}

impl Form {
    fn rate(&self, count: u32) -> String {
        format!("{:.2}", f64::from(count) / f64::from(self.seconds))
    }

    fn log(&self, reports: &[Vec<Counts>]) -> String {
        let mut log = "Linux 5.10.0 (db1) \t01/15/24 \t_x86_64_\t(4 CPU)\n\n".to_owned();
        for (at, devices) in reports.iter().enumerate() {
            if self.has_times {
                let time = at as u32 * self.seconds;
                let (hours, minutes, seconds) = (time / 3600, time / 60 % 60, time % 60);
                writeln!(log, "01/15/24 {hours:02}:{minutes:02}:{seconds:02}").unwrap();
            }
            writeln!(
                log,
                "Device {}",
                self.columns
                    .replace("r%", &format!("r{}", self.unit))
                    .replace("w%/", &format!("w{}/", self.unit))
            )
            .unwrap();
            for (device, [reads, writes]) in devices.iter().enumerate() {
                let mut row = name(device);
                for column in self.columns.split(' ') {
                    row += " ";
                    row += &match column {
                        "r/s" => self.rate(*reads),
                        "w/s" => self.rate(*writes),
                        "rrqm/s" | "wrqm/s" => "0.00".to_owned(),
                        _ => "1.25".to_owned(),
                    };
                }
                writeln!(
                    log,
                    "{}",
                    if self.has_comma {
                        row.replace('.', ",")
                    } else {
                        row
                    }
                )
                .unwrap();
            }
            log += "\n";
        }
        log
    }
}

/// Reads all samples.
fn read(log: &str) -> Vec<Sample> {
    let mut reader = Reader::new(log.as_bytes());
    let (mut previous, mut sample) = (Sample::default(), Sample::default());
    let mut samples = Vec::new();
    while reader.next(&previous, &mut sample).unwrap_or(false) {
        samples.push(sample.clone());
        std::mem::swap(&mut previous, &mut sample);
    }
    samples
}

/// The rates of reads and writes of each device in a sample that ends an interval.
fn rates(sample: &Sample) -> Vec<(&str, [Option<f64>; 2])> {
    let devices = sample.devices.iter().filter_map(|device| {
        let logged = device.logged.as_ref()?;
        let of = |rates: &LoggedRates| rates.ios;
        Some((
            device.name.as_str(),
            [of(&logged.reads), of(&logged.writes)],
        ))
    });
    devices.collect()
}

/// Ways to damage a line of a log.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Lost,
    Doubled,
    /// Only so many words are left.
    Cut(usize),
    JoinedWithNext,
    /// The log ends within it.
    End,
}

fn damage() -> impl Strategy<Value = Damage> {
    prop_oneof![
        Just(Damage::Lost),
        Just(Damage::Doubled),
        (1..10_usize).prop_map(Damage::Cut),
        Just(Damage::JoinedWithNext),
        Just(Damage::End),
    ]
}

fn damaged(log: &str, place: usize, damage: Damage) -> String {
    let lines: Vec<&str> = log.lines().collect();
    let place = place % lines.len();
    let mut damaged = String::new();
    for (at, line) in lines.iter().enumerate() {
        if at != place {
            damaged += &format!("{line}\n");
            continue;
        }
        match damage {
            Damage::Lost => {}
            // A second empty line behind the first line stands for a report that was left out.
            Damage::Doubled if line.is_empty() => damaged += "\n",
            Damage::Doubled => damaged += &format!("{line}\n{line}\n"),
            Damage::Cut(words) => {
                let words: Vec<&str> = line.split(' ').take(words).collect();
                damaged += &format!("{}\n", words.join(" "));
            }
            Damage::JoinedWithNext => damaged += line,
            Damage::End => return damaged + &line[..line.len() / 2],
        }
    }
    damaged
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn rates_are_those_that_were_printed_and_the_length_is_right(form in form(), reports in reports()) {
        let samples = read(&form.log(&reports));
        prop_assert_eq!(samples.len(), reports.len());
        for (sample, devices) in samples.iter().zip(&reports).skip(1) {
            let printed = |count: u32| Some(form.rate(count).parse().unwrap());
            let expected: Vec<(String, [Option<f64>; 2])> = devices
                .iter()
                .enumerate()
                .map(|(device, counts)| (name(device), counts.map(printed)))
                .collect();
            let found = rates(sample);
            prop_assert_eq!(found.len(), expected.len());
            for ((name, rates), (expected_name, expected)) in found.iter().zip(&expected) {
                prop_assert_eq!((*name, rates), (expected_name.as_str(), expected));
            }
        }
        for pair in samples.windows(2) {
            let seconds = pair[1].at.since(&pair[0].at).unwrap().seconds();
            prop_assert_eq!(seconds, f64::from(form.seconds));
        }
    }

    #[test]
    fn a_damaged_line_gives_no_other_number(
        form in form(),
        reports in reports(),
        place in any::<prop::sample::Index>(),
        damage in damage(),
    ) {
        let log = form.log(&reports);
        let place = place.index(log.lines().count());
        let damaged = damaged(&log, place, damage);
        let printed = |device: &str, rates: [Option<f64>; 2]| {
            let device = usize::from(device.as_bytes().get(2).copied().unwrap_or(0).wrapping_sub(b'a'));
            let mut counts = reports.iter().filter_map(|devices| devices.get(device));
            counts.any(|counts| {
                counts.iter().zip(rates).all(|(count, rate)| {
                    rate.is_none_or(|rate| form.rate(*count).parse::<f64>().unwrap() == rate)
                })
            })
        };
        let whole = read(&log).len();
        let samples = read(&damaged);
        prop_assert!(samples.len() <= whole, "{:?}\n{}", damage, damaged);
        for sample in samples.iter().skip(1) {
            for (device, rates) in rates(sample) {
                prop_assert!(printed(device, rates), "{device} {rates:?} {damage:?} line {}\n{damaged}", place + 1);
            }
        }
    }
}
