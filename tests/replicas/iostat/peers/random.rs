//! Random machines and command lines; the same for the same seed.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::iostat::case::Case;
use crate::iostat::machine::Machine;
use crate::support::random::Random;

/// Command lines per machine.
const LINES: usize = 8;
const STEPS: u64 = 4;

const ENVIRONMENTS: [&str; 5] = ["", "", "", "POSIXLY_CORRECT=1 ", "S_TIME_FORMAT=ISO "];
/// Where devices come and go or counters fall, versions of iostat differ with `-x`.
const PARTS: [&str; 5] = ["", "-d", "-d", "-ds", "-c"];
const STEADY_PARTS: [&str; 3] = ["-dx", "-x", "-xs"];
const OPTIONS: [&str; 21] = [
    "-m",
    "-z",
    "-y",
    "-t",
    "-N",
    "-h",
    "-k",
    "--human",
    "--pretty",
    "--compact",
    "--dec=0",
    "--dec=1",
    "-o JSON",
    "-N -o JSON",
    "-s",
    "-f @CURRENT@/flat",
    "-f @CURRENT@/user",
    "-f @CURRENT@/parts",
    "+f @CURRENT@/user",
    "+f @CURRENT@/listed",
    "+f @CURRENT@/parts",
];

/// The seed of the machines that are always compared, and their number.
pub(crate) const SEED: u64 = 46;
pub(crate) const MACHINES: u64 = 8;

/// Returns random machines by name, their cases, and the texts of the machines.
pub(crate) fn machines(
    seed: u64,
    count: u64,
) -> (
    BTreeMap<String, Machine>,
    Vec<Case>,
    BTreeMap<String, String>,
) {
    let mut machines = BTreeMap::new();
    let mut texts = BTreeMap::new();
    let mut cases = Vec::new();
    for number in 0..count {
        let mut rng = Random(seed.wrapping_add(number));
        let name = format!("seed-{}", seed.wrapping_add(number));
        let (disks, is_steady) = (disks(&mut rng), rng.one_in(2));
        let machine = Machine::parse(
            &name,
            texts
                .entry(name.clone())
                .or_insert(text(&mut rng, &disks, is_steady)),
        );
        for _ in 0..LINES {
            let parts = if is_steady { &STEADY_PARTS[..] } else { &PARTS };
            let line = line(&mut rng, parts, &disks);
            // Contradictory options are an error, which the recorded cases cover.
            if !(line.contains("-k") && line.contains("-m")) {
                cases.push(Case::parse(&name, machine.steps.len(), &line));
            }
        }
        machines.insert(name, machine);
    }
    (machines, cases, texts)
}

struct Disk {
    name: String,
    number: String,
    partitions: Vec<(String, String)>,
    columns: usize,
}

fn disks(rng: &mut Random) -> Vec<Disk> {
    let columns = [11, 15, 17, 17][usize::try_from(rng.below(4)).unwrap()];
    let mut disks = Vec::new();
    for index in 0..1 + rng.below(6) {
        let (name, between, major) = match rng.below(6) {
            0 => (format!("nvme{index}n1"), "p", 259),
            1 => (format!("dm-{}", index * 7), "-none", 253),
            2 => (format!("mmcblk{index}"), "p", 179),
            3 => (format!("cciss/c0d{index}"), "p", 104),
            _ => (
                format!("sd{}", char::from(b'a' + u8::try_from(index).unwrap())),
                "",
                8,
            ),
        };
        let partitions = if name.starts_with("dm-") {
            0
        } else {
            rng.below(4)
        };
        let partitions = (1..=partitions)
            .map(|part| {
                (
                    format!("{name}{between}{part}"),
                    format!("{major}:{}", index * 16 + part),
                )
            })
            .collect();
        disks.push(Disk {
            name,
            number: format!("{major}:{}", index * 16),
            partitions,
            columns,
        });
    }
    disks
}

/// Returns the text of a machine. Unless it is steady, sometimes a disk is removed, added or replugged, or a counter is
/// reset.
fn text(rng: &mut Random, disks: &[Disk], is_steady: bool) -> String {
    let mut text = format!(
        "step {}.{:02}\ncpu {}\n",
        rng.number(24),
        rng.below(100),
        numbers(rng, 10, 30)
    );
    let mut there: Vec<bool> = disks.iter().map(|_| is_steady || !rng.one_in(6)).collect();
    for (disk, _) in disks.iter().zip(&there).filter(|(_, there)| **there) {
        plug(rng, disk, 40, &mut text);
    }
    for disk in disks
        .iter()
        .filter(|disk| disk.name.starts_with("dm-") && is_present(disks, &there, disk))
    {
        // Without a name, none of a device-mapper device can be read.
        if rng.one_in(4) {
            continue;
        }
        writeln!(text, "dm {} {} link", disk.name, mapped_name(disk)).unwrap();
    }
    for _ in 1..STEPS {
        let uptime = if rng.one_in(3) { rng.below(2000) } else { 100 };
        writeln!(
            text,
            "step +{}.{:02}\ncpu + {}",
            uptime / 100,
            uptime % 100,
            numbers(rng, 10, 8)
        )
        .unwrap();
        for (disk, there) in disks.iter().zip(&mut there) {
            match (*there, rng.below(16)) {
                (true, _) if is_steady => add_activity(rng, disk, 0, &mut text),
                (true, 0) => {
                    writeln!(text, "gone {}", disk.name).unwrap();
                    *there = false;
                }
                (true, 1) => replug(rng, disk, &mut text),
                (true, 2..5) => {}
                (true, _) => add_activity(rng, disk, 3, &mut text),
                (false, 0..5) => {
                    plug(rng, disk, 12, &mut text);
                    *there = true;
                }
                (false, _) => {}
            }
        }
    }
    text
}

fn mapped_name(disk: &Disk) -> String {
    format!("vg-{}", disk.number.replace(':', "_"))
}

fn is_present(disks: &[Disk], there: &[bool], disk: &Disk) -> bool {
    disks
        .iter()
        .zip(there)
        .any(|(other, there)| *there && other.name == disk.name)
}

fn plug(rng: &mut Random, disk: &Disk, bits: u64, text: &mut String) {
    let bits = if rng.one_in(4) { 0 } else { bits };
    writeln!(
        text,
        "disk {} {} {}",
        disk.number,
        disk.name,
        numbers(rng, disk.columns, bits)
    )
    .unwrap();
    for (name, number) in &disk.partitions {
        writeln!(
            text,
            "part {number} {name} {}",
            numbers(rng, disk.columns, bits)
        )
        .unwrap();
    }
}

/// Resets the counters of a disk and its partitions with `add`: a `disk` statement for an existing disk would keep its
/// position, and the `part` statements after it would add partitions to the last disk.
fn replug(rng: &mut Random, disk: &Disk, text: &mut String) {
    let bits = if rng.one_in(4) { 0 } else { 6 };
    for name in disk
        .partitions
        .iter()
        .map(|(name, _)| name)
        .chain([&disk.name])
    {
        let counters = numbers(rng, disk.columns, bits).replace(' ', " =");
        writeln!(text, "add {name} ={counters}").unwrap();
    }
}

/// Adds to the counters of a disk and its partitions. Sometimes up to this many counters get another value, which is often
/// smaller.
fn add_activity(rng: &mut Random, disk: &Disk, changes: u64, text: &mut String) {
    for name in disk
        .partitions
        .iter()
        .map(|(name, _)| name)
        .chain([&disk.name])
    {
        let bits = if rng.one_in(8) { 24 } else { 14 };
        let mut words: Vec<String> = numbers(rng, disk.columns, bits)
            .split(' ')
            .map(str::to_owned)
            .collect();
        if changes > 0 && rng.one_in(3) {
            for _ in 0..=rng.below(changes) {
                let column = usize::try_from(rng.below(disk.columns as u64)).unwrap();
                words[column] = format!("={}", number_of_column(rng, column, 40));
            }
        }
        writeln!(text, "add {name} {}", words.join(" ")).unwrap();
    }
}

fn numbers(rng: &mut Random, count: usize, bits: u64) -> String {
    (0..count)
        .map(|column| number_of_column(rng, column, bits).to_string())
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns the value of a column: few requests are in flight, and the kernel counts milliseconds in 32 bits.
fn number_of_column(rng: &mut Random, column: usize, bits: u64) -> u64 {
    let max_bits = match column {
        8 => 10,
        3 | 7 | 9 | 10 | 14 | 16 => 32,
        _ => 64,
    };
    rng.number(bits.min(max_bits))
}

fn line(rng: &mut Random, parts: &[&str], disks: &[Disk]) -> String {
    let mut line = format!("{}{}", rng.pick(&ENVIRONMENTS), rng.pick(parts));
    for _ in 0..rng.below(4) {
        write!(line, " {}", rng.pick(&OPTIONS)).unwrap();
    }
    let mut names: Vec<String> = disks.iter().map(|disk| disk.name.clone()).collect();
    let mapped = disks.iter().filter(|disk| disk.name.starts_with("dm-"));
    names.extend(mapped.map(mapped_name));
    match rng.below(12) {
        7 => write!(line, " -p {},{}", pick(rng, &names), pick(rng, &names)).unwrap(),
        8 => write!(line, " {} -p {}", pick(rng, &names), pick(rng, &names)).unwrap(),
        0 => line.push_str(" ALL"),
        1 => line.push_str(" -p"),
        2 => line.push_str(" -p ALL"),
        3 => write!(line, " -p {}", pick(rng, &names)).unwrap(),
        4 => write!(line, " {} {}", pick(rng, &names), pick(rng, &names)).unwrap(),
        5 => write!(line, " -g one {} {}", pick(rng, &names), pick(rng, &names)).unwrap(),
        6 => write!(
            line,
            " -H -g one {} -g two {}",
            pick(rng, &names),
            pick(rng, &names)
        )
        .unwrap(),
        _ => {}
    }
    line + " @"
}

fn pick<'a>(rng: &mut Random, names: &'a [String]) -> &'a str {
    &names[usize::try_from(rng.below(names.len() as u64)).unwrap()]
}
