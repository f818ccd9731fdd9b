//! Parses the text of a synthetic machine into steps.

use super::fixtures;

/// A machine: its states, one per sample.
#[derive(Clone)]
pub(crate) struct Machine {
    pub(crate) name: String,
    pub(crate) steps: Vec<Step>,
}

/// The state at one moment.
#[derive(Clone, Default)]
pub(crate) struct Step {
    /// The uptime in hundredths of a second.
    pub(crate) uptime: u64,
    /// The text of /proc/uptime, if it is not the uptime.
    pub(crate) uptime_text: Option<String>,
    pub(crate) cpu: Vec<u64>,
    /// Devices in the order of /proc/diskstats.
    pub(crate) devices: Vec<Device>,
    pub(crate) mapped: Vec<Mapped>,
    /// Links in /dev: paths and targets.
    pub(crate) links: Vec<(String, String)>,
}

/// A disk or a partition.
#[derive(Clone, Default)]
pub(crate) struct Device {
    pub(crate) number: (u32, u32),
    pub(crate) name: String,
    /// The disk that it is a partition of.
    pub(crate) disk: Option<String>,
    pub(crate) counters: Vec<u64>,
    /// The text of its files, if it is not the counters.
    pub(crate) text: Option<String>,
    /// It is missing from /sys.
    pub(crate) hidden: bool,
}

/// A device-mapper name.
#[derive(Clone)]
pub(crate) struct Mapped {
    pub(crate) device: String,
    pub(crate) name: String,
    /// /dev/mapper has a link to the device instead of a node.
    pub(crate) is_link: bool,
}

impl Machine {
    /// Reads `fixtures/machines/NAME.txt`.
    pub(crate) fn load(name: &str) -> Self {
        let path = fixtures().join("machines").join(format!("{name}.txt"));
        let text = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self::parse(name, &text)
    }

    /// Parses the text of a machine.
    pub(crate) fn parse(name: &str, text: &str) -> Self {
        let mut steps: Vec<Step> = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let words: Vec<&str> = line
                .split('#')
                .next()
                .unwrap_or("")
                .split_whitespace()
                .collect();
            let statement = || format!("{name}:{}: {line}", number + 1);
            match words.as_slice() {
                [] => {}
                ["step", uptime] => {
                    let mut step = steps.last().cloned().unwrap_or_default();
                    let moved = hundredths(uptime.trim_start_matches('+'));
                    step.uptime = if uptime.starts_with('+') {
                        step.uptime + moved
                    } else {
                        moved
                    };
                    step.uptime_text = None;
                    steps.push(step);
                }
                words => {
                    let step = steps
                        .last_mut()
                        .unwrap_or_else(|| panic!("no step yet: {}", statement()));
                    step.change(words, line)
                        .unwrap_or_else(|| panic!("not understood: {}", statement()));
                }
            }
        }
        Self {
            name: name.to_owned(),
            steps,
        }
    }

    /// Returns the state at a sample; the last state stays.
    pub(crate) fn step(&self, sample: usize) -> &Step {
        &self.steps[sample.min(self.steps.len() - 1)]
    }
}

impl Step {
    fn change(&mut self, words: &[&str], line: &str) -> Option<()> {
        match words {
            ["uptime", ..] => self.uptime_text = Some(rest(line, 1)),
            ["cpu", "+", numbers @ ..] => add(&mut self.cpu, numbers)?,
            ["cpu", numbers @ ..] => self.cpu = parse(numbers)?,
            ["disk", number, name, counters @ ..] => self.put(number, name, None, counters)?,
            ["part", number, name, counters @ ..] => {
                let disk = self
                    .devices
                    .iter()
                    .rev()
                    .find(|device| device.disk.is_none())?
                    .name
                    .clone();
                self.put(number, name, Some(disk), counters)?;
            }
            ["stat", name, ..] => self.device(name)?.text = Some(rest(line, 2)),
            ["add", name, moves @ ..] => add(&mut self.device(name)?.counters, moves)?,
            ["gone", name] => self
                .devices
                .retain(|d| d.name != *name && d.disk.as_deref() != Some(name)),
            ["hide", name] => self.device(name)?.hidden = true,
            ["dm", device, name, kind] => self.mapped.push(Mapped {
                device: (*device).to_owned(),
                name: (*name).to_owned(),
                is_link: *kind == "link",
            }),
            ["link", path, target] => self.links.push(((*path).to_owned(), (*target).to_owned())),
            ["unlink", path] => self.links.retain(|(link, _)| link != path),
            _ => return None,
        }
        Some(())
    }

    fn put(
        &mut self,
        number: &str,
        name: &str,
        disk: Option<String>,
        counters: &[&str],
    ) -> Option<()> {
        let (major, minor) = number.split_once(':')?;
        let number = (major.parse().ok()?, minor.parse().ok()?);
        let counters = parse(counters)?;
        let device = Device {
            number,
            name: name.to_owned(),
            disk,
            counters,
            ..Device::default()
        };
        match self.devices.iter_mut().find(|device| device.name == name) {
            Some(present) => *present = device,
            None => self.devices.push(device),
        }
        Some(())
    }

    fn device(&mut self, name: &str) -> Option<&mut Device> {
        self.devices.iter_mut().find(|device| device.name == name)
    }
}

fn parse(numbers: &[&str]) -> Option<Vec<u64>> {
    numbers.iter().map(|number| number.parse().ok()).collect()
}

fn add(counters: &mut [u64], moves: &[&str]) -> Option<()> {
    for (counter, by) in counters.iter_mut().zip(moves) {
        *counter = match (by.strip_prefix('='), by.strip_prefix('-')) {
            (Some(to), _) => to.parse().ok()?,
            (_, Some(back)) => counter.wrapping_sub(back.parse().ok()?),
            _ => counter.wrapping_add(by.parse().ok()?),
        };
    }
    (moves.len() <= counters.len()).then_some(())
}

/// Returns the unchanged rest of a line after this many words.
fn rest(line: &str, words: usize) -> String {
    let mut left = line.trim_start();
    for _ in 0..words {
        left = left
            .split_once(char::is_whitespace)
            .map_or("", |(_, rest)| rest);
    }
    left.to_owned()
}

fn hundredths(seconds: &str) -> u64 {
    let (whole, fraction) = seconds.split_once('.').expect("an uptime has two decimals");
    assert_eq!(fraction.len(), 2, "an uptime has two decimals");
    whole.parse::<u64>().expect("seconds") * 100 + fraction.parse::<u64>().expect("hundredths")
}
