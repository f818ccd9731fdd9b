//! Which counters of a machine went backwards, and which columns of a report show it.

use super::case::Case;
use super::machine::Machine;

/// The indexes of the counters in a line of /proc/diskstats, after the name.
const READS: Kind = Kind { ios: 0, merges: 1, sectors: 2 };
const WRITES: Kind = Kind { ios: 4, merges: 5, sectors: 6 };
const DISCARDS: Kind = Kind { ios: 11, merges: 12, sectors: 13 };
const ALL: [Kind; 3] = [READS, WRITES, DISCARDS];
const BUSY: usize = 9;
const WEIGHTED: usize = 10;
const FLUSHES: usize = 15;
const COUNTERS: usize = 17;

#[derive(Clone, Copy)]
struct Kind {
    ios: usize,
    merges: usize,
    sectors: usize,
}

/// The expected content of a cell when a counter went backwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cell {
    /// Unchanged: none of its counters went backwards.
    Unchanged,
    /// Zero.
    Zero,
    /// Unknown: one of several counters that it adds up went backwards, and the behavior of 12.7.9 is not known.
    Any,
}

/// The counters of a device at the two ends of a report's interval.
pub(crate) struct Ends {
    /// The device was replaced by another one.
    pub(crate) replugged: bool,
    older: [u64; COUNTERS],
    newer: [u64; COUNTERS],
}

impl Ends {
    /// Returns the counters as iostat compares them: each device has two slots, which the samples use in turn. `None`
    /// if the device is absent, or for the first sample.
    pub(crate) fn of_report(machine: &Machine, case: &Case, device: &str, report: usize) -> Option<Self> {
        let every = case.interval().unwrap_or(1);
        let last = case.first_sample() + report;
        let mut slots = [[0; COUNTERS]; 2];
        for sample in 0..=last {
            if let Some(counters) = machine.step(sample * every).counters(device) {
                slots[sample % 2] = extend_to_17(counters);
            }
        }
        let (newer, older) = (slots[last % 2], slots[(last + 1) % 2]);
        machine.step(last * every).counters(device)?;
        let replugged = was_replugged(&older, &newer);
        (last > 0).then_some(Self { replugged, older: if replugged { [0; COUNTERS] } else { older }, newer })
    }

    /// Returns whether any counter went backwards that a report shows.
    pub(crate) fn has_any_reset(&self) -> bool {
        // Requests in flight, the ninth counter, go up and down; sums of milliseconds wrap.
        (0..COUNTERS).any(|column| ![3, 7, 8, 14, 16].contains(&column) && self.was_reset(column))
    }

    /// Returns the expected content of the column with this title.
    pub(crate) fn cell(&self, title: &str) -> Cell {
        let kind = match title.as_bytes().first() {
            Some(b'r') if title != "rqm/s" => Some(READS),
            Some(b'w') => Some(WRITES),
            Some(b'd') => Some(DISCARDS),
            _ => None,
        };
        match (kind, title.get(1..).unwrap_or("")) {
            (Some(kind), "/s" | "_await") => self.zero(&[kind.ios]),
            (Some(kind), "kB/s") => self.zero(&[kind.sectors]),
            (Some(kind), "rqm/s") => self.zero(&[kind.merges]),
            (Some(kind), "areq-sz") => self.zero(&[kind.ios]),
            _ => self.common_cell(title),
        }
    }

    fn common_cell(&self, title: &str) -> Cell {
        match title {
            "f/s" | "f_await" => self.zero(&[FLUSHES]),
            "aqu-sz" => self.zero(&[WEIGHTED]),
            "util" => self.zero(&[BUSY]),
            "tps" | "await" | "areq-sz" => self.zero(&ALL.map(|kind| kind.ios)),
            "kB/s" => self.zero(&ALL.map(|kind| kind.sectors)),
            "rqm/s" => self.zero(&ALL.map(|kind| kind.merges)),
            _ => Cell::Unchanged,
        }
    }

    fn zero(&self, columns: &[usize]) -> Cell {
        match (self.any(columns), columns) {
            (false, _) => Cell::Unchanged,
            (true, [_]) => Cell::Zero,
            (true, _) => Cell::Any,
        }
    }

    fn was_reset(&self, column: usize) -> bool {
        self.newer[column] < self.older[column]
    }

    fn any(&self, columns: &[usize]) -> bool {
        columns.iter().any(|column| self.was_reset(*column))
    }
}

/// Extends the counters of any kernel to those of the newest. Milliseconds have 32 bits.
fn extend_to_17(counters: &[u64]) -> [u64; COUNTERS] {
    let mut all = [0; COUNTERS];
    if let [reads, read_sectors, writes, write_sectors] = counters {
        (all[0], all[2], all[4], all[6]) = (*reads, *read_sectors, *writes, *write_sectors);
    } else {
        all.iter_mut().zip(counters).for_each(|(to, from)| *to = *from);
    }
    [3, 7, 8, BUSY, WEIGHTED, 14, 16].iter().for_each(|column| all[*column] &= u64::from(u32::MAX));
    all
}

fn was_replugged(older: &[u64; COUNTERS], newer: &[u64; COUNTERS]) -> bool {
    let requests =
        |all: &[u64; COUNTERS]| [0, 4, 11, 15].iter().fold(0u64, |sum, n| sum.wrapping_add(all[*n]));
    let fell_or_zero = |column: usize| older[column] == 0 || newer[column] < older[column];
    requests(newer) < requests(older) && ALL.iter().all(|kind| fell_or_zero(kind.sectors))
}

/// Returns a zero in the format of this cell.
pub(crate) fn zero_like(cell: &str) -> String {
    let (number, suffix) = match cell.char_indices().last() {
        Some((at, '%')) => (&cell[..at], "%"),
        Some((at, last)) if !last.is_ascii_digit() => (&cell[..at], "k"),
        _ => (cell, ""),
    };
    let decimals = number.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    format!("{:.decimals$}{suffix}", 0.0)
}
