//! Loads in as few bytes as they need.

use std::collections::VecDeque;

use super::sample::LoadSample;
use crate::analysis::stats::IoTotals;

/// Loads that are packed together. Each differs from the one before it in few numbers, so the first takes the most.
const LOADS_OF_CHUNK: usize = 64;

/// The most bytes that a load can take: 15 numbers of two parts with 10 bytes each, two whole ones, the variation and flags.
const MAX_LOAD_BYTES: usize = 15 * 20 + 2 * 10 + 8 + 1;

/// Flags of a packed load.
const IS_STEADY: u8 = 1;
const IS_CPU_SHORT: u8 = 2;
const HAS_BUSY: u8 = 4;
const HAS_IN_FLIGHT_AT_END: u8 = 8;
/// It has a variation, and more than one interval.
const IS_MERGED: u8 = 16;

/// Units of the numbers, one over: the kernel counts in whole ones of them.
const PER_REQUEST: f64 = 1.0;
const PER_KIB: f64 = 2.0;
const PER_MS: f64 = 1.0;
const PER_BUSY_S: f64 = 1e3;
const PER_S: f64 = 1e9;

/// Loads in the order in which they were added, each as it was to the last bit, in a fifth of their memory.
#[derive(Clone, Debug, Default)]
pub(super) struct PackedLoads {
    /// Chunks of [`LOADS_OF_CHUNK`].
    full: VecDeque<Box<[u8]>>,
    /// The chunk that is being filled.
    open: Vec<u8>,
    open_count: usize,
    /// The last load of the open chunk.
    last: Expected,
}

impl PackedLoads {
    /// The number of loads.
    pub(super) fn len(&self) -> usize {
        self.full.len() * LOADS_OF_CHUNK + self.open_count
    }

    /// Adds a load.
    pub(super) fn push(&mut self, load: &LoadSample) {
        let mut bytes = [0; MAX_LOAD_BYTES];
        let mut writer = Writer { bytes: &mut bytes, length: 0 };
        writer.put_load(load, &mut self.last);
        let length = writer.length;
        self.open.extend_from_slice(&bytes[..length]);
        self.open_count += 1;
        if self.open_count == LOADS_OF_CHUNK {
            self.full.push_back(self.open.as_slice().into());
            self.open.clear();
            (self.open_count, self.last) = (0, Expected::default());
        }
    }

    /// The latest loads, `count` at most.
    pub(super) fn latest(&self, count: usize) -> Vec<LoadSample> {
        let full = count.saturating_sub(self.open_count).div_ceil(LOADS_OF_CHUNK).min(self.full.len());
        let chunks = self.full.range(self.full.len() - full..).flat_map(|chunk| Unpacked::new(chunk));
        let loads: Vec<LoadSample> = chunks.chain(Unpacked::new(&self.open)).collect();
        loads[loads.len().saturating_sub(count)..].to_vec()
    }

    /// The loads in full. Their memory is freed as they are taken.
    pub(super) fn into_loads(self) -> Vec<LoadSample> {
        let mut loads = Vec::with_capacity(self.len());
        for chunk in self.full {
            loads.extend(Unpacked::new(&chunk));
        }
        loads.extend(Unpacked::new(&self.open));
        loads
    }
}

/// The numbers of a load from which those of the next one are expected to differ little, in units.
#[derive(Clone, Copy, Debug, Default)]
struct Expected {
    index: i64,
    begin: i64,
    seconds: i64,
}

/// Writes a load.
struct Writer<'a> {
    bytes: &'a mut [u8; MAX_LOAD_BYTES],
    length: usize,
}

impl Writer<'_> {
    fn put_load(&mut self, load: &LoadSample, last: &mut Expected) {
        let is_merged = load.intervals != 1.0 || load.variation.to_bits() != 0;
        let flag = |has: bool, flag: u8| if has { flag } else { 0 };
        self.put_byte(
            flag(load.is_steady, IS_STEADY)
                | flag(load.is_cpu_short, IS_CPU_SHORT)
                | flag(load.busy_s.is_some(), HAS_BUSY)
                | flag(load.in_flight_at_end.is_some(), HAS_IN_FLIGHT_AT_END)
                | flag(is_merged, IS_MERGED),
        );
        let begin = last.begin.wrapping_add(last.seconds);
        last.index = self.put(load.interval_index, PER_REQUEST, last.index);
        last.begin = self.put(load.begin_s, PER_S, begin);
        last.seconds = self.put(load.seconds, PER_S, last.seconds);
        for totals in [&load.reads, &load.writes, &load.flushes] {
            self.put(totals.ios, PER_REQUEST, 0);
            self.put(totals.kib, PER_KIB, 0);
            self.put(totals.ms, PER_MS, 0);
        }
        if let Some(busy_s) = load.busy_s {
            self.put(busy_s, PER_BUSY_S, 0);
        }
        self.put(load.in_flight_change, PER_REQUEST, 0);
        if let Some(in_flight) = load.in_flight_at_end {
            self.put_varint(in_flight);
        }
        self.put_varint(load.in_flight);
        if is_merged {
            self.put(load.intervals, PER_REQUEST, 0);
            load.variation.to_bits().to_le_bytes().into_iter().for_each(|byte| self.put_byte(byte));
        }
    }

    /// Writes a number and returns its nearest whole number of units: its difference from the expected one, and the distance
    /// of the number from it in steps between floats, which mostly is none.
    fn put(&mut self, value: f64, units: f64, expected: i64) -> i64 {
        let nearest = (value * units + 0.5_f64.copysign(value)) as i64;
        // One bit is needed for the sign of the difference, and one for the distance.
        let nearest = if nearest.unsigned_abs() < 1 << 60 { nearest } else { 0 };
        let distance = (value.to_bits() as i64).wrapping_sub((nearest as f64 / units).to_bits() as i64);
        let difference = fold_sign(nearest.wrapping_sub(expected)) << 1;
        if distance == 0 {
            self.put_varint(difference);
        } else {
            self.put_varint(difference | 1);
            self.put_varint(fold_sign(distance));
        }
        nearest
    }

    /// Writes seven bits per byte, the low ones first.
    fn put_varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.put_byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.put_byte(value as u8);
    }

    fn put_byte(&mut self, byte: u8) {
        self.bytes[self.length] = byte;
        self.length += 1;
    }
}

/// Reads the loads of a chunk.
struct Unpacked<'a> {
    bytes: &'a [u8],
    last: Expected,
}

impl<'a> Unpacked<'a> {
    fn new(chunk: &'a [u8]) -> Self {
        Self { bytes: chunk, last: Expected::default() }
    }

    /// Reads what [`Writer::put`] has written: the number and its nearest whole number of units.
    fn get(&mut self, units: f64, expected: i64) -> (f64, i64) {
        let code = self.get_varint();
        let nearest = expected.wrapping_add(unfold_sign(code >> 1));
        let distance = if code & 1 == 0 { 0 } else { unfold_sign(self.get_varint()) };
        let bits = ((nearest as f64 / units).to_bits() as i64).wrapping_add(distance);
        (f64::from_bits(bits as u64), nearest)
    }

    fn get_totals(&mut self) -> IoTotals {
        let (ios, _) = self.get(PER_REQUEST, 0);
        let (kib, _) = self.get(PER_KIB, 0);
        let (ms, _) = self.get(PER_MS, 0);
        IoTotals { ios, kib, ms }
    }

    fn get_varint(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.get_byte();
            value |= u64::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    }

    fn get_byte(&mut self) -> u8 {
        let (first, rest) = self.bytes.split_first().unwrap_or((&0, &[]));
        self.bytes = rest;
        *first
    }
}

impl Iterator for Unpacked<'_> {
    type Item = LoadSample;

    fn next(&mut self) -> Option<LoadSample> {
        if self.bytes.is_empty() {
            return None;
        }
        let flags = self.get_byte();
        let has = |flag: u8| flags & flag != 0;
        let begin = self.last.begin.wrapping_add(self.last.seconds);
        let (interval_index, begin_s, seconds);
        (interval_index, self.last.index) = self.get(PER_REQUEST, self.last.index);
        (begin_s, self.last.begin) = self.get(PER_S, begin);
        (seconds, self.last.seconds) = self.get(PER_S, self.last.seconds);
        let [reads, writes, flushes] = std::array::from_fn(|_| self.get_totals());
        let busy_s = has(HAS_BUSY).then(|| self.get(PER_BUSY_S, 0).0);
        let (in_flight_change, _) = self.get(PER_REQUEST, 0);
        let in_flight_at_end = has(HAS_IN_FLIGHT_AT_END).then(|| self.get_varint());
        let in_flight = self.get_varint();
        let (mut intervals, mut variation) = (1.0, 0.0);
        if has(IS_MERGED) {
            (intervals, _) = self.get(PER_REQUEST, 0);
            variation = f64::from_bits(u64::from_le_bytes(std::array::from_fn(|_| self.get_byte())));
        }
        Some(LoadSample {
            interval_index,
            begin_s,
            seconds,
            intervals,
            reads,
            writes,
            flushes,
            busy_s,
            in_flight_change,
            in_flight_at_end,
            in_flight,
            is_steady: has(IS_STEADY),
            variation,
            is_cpu_short: has(IS_CPU_SHORT),
        })
    }
}

/// Makes small numbers of either sign small ones without a sign.
fn fold_sign(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unfold_sign(folded: u64) -> i64 {
    (folded >> 1) as i64 ^ -((folded & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of a load as bits: numbers that are not equal to themselves must stay what they are, too.
    fn bits(load: &LoadSample) -> (Vec<u64>, Option<u64>, u64, [bool; 3]) {
        let totals = [load.reads, load.writes, load.flushes].into_iter();
        let others = [load.interval_index, load.begin_s, load.seconds, load.intervals, load.variation];
        let numbers = totals.flat_map(|it| [it.ios, it.kib, it.ms]).chain(others);
        let numbers = numbers.chain([load.in_flight_change, load.busy_s.unwrap_or(0.0)]).map(f64::to_bits);
        let flags = [load.is_steady, load.is_cpu_short, load.busy_s.is_some()];
        (numbers.collect(), load.in_flight_at_end, load.in_flight, flags)
    }

    fn assert_unchanged(loads: &[LoadSample]) -> PackedLoads {
        let mut packed = PackedLoads::default();
        loads.iter().for_each(|load| packed.push(load));
        let found: Vec<_> = packed.latest(loads.len()).iter().map(bits).collect();
        assert_eq!(found, loads.iter().map(bits).collect::<Vec<_>>());
        packed
    }

    /// Numbers without a pattern.
    fn random() -> impl FnMut() -> u64 {
        let mut state = 1_u64;
        move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state ^ state >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
        }
    }

    #[test]
    fn any_number_stays_what_it_is() {
        let special = [0.0, -0.0, f64::NAN, f64::INFINITY, f64::MIN, f64::MAX, 5e-324, 1e18, -1.0, 0.1, 9.5];
        let mut random = random();
        let mut number = |range: u64| match random() % range {
            at if at < special.len() as u64 => special[at as usize],
            _ => f64::from_bits(random()),
        };
        let loads: Vec<LoadSample> = (0..1000)
            .map(|index| {
                let range = if index < 500 { special.len() as u64 } else { 1000 };
                let mut number = || number(range);
                let mut totals = || IoTotals { ios: number(), kib: number(), ms: number() };
                let [reads, writes, flushes] = std::array::from_fn(|_| totals());
                LoadSample {
                    interval_index: number(),
                    begin_s: number(),
                    seconds: number(),
                    intervals: number(),
                    reads,
                    writes,
                    flushes,
                    busy_s: (index % 2 == 0).then(&mut number),
                    in_flight_change: number(),
                    in_flight_at_end: (index % 3 == 0).then(|| number().to_bits()),
                    in_flight: number().to_bits(),
                    is_steady: index % 5 == 0,
                    variation: number(),
                    is_cpu_short: index % 7 == 0,
                }
            })
            .collect();
        assert_unchanged(&loads);
    }

    /// Intervals of about a second as they are computed from counters.
    fn measured(count: usize) -> Vec<LoadSample> {
        let (mut random, mut begin_s) = (random(), 0.0);
        let mut loads = Vec::new();
        for index in 0..count {
            let seconds = (1_000_000_000 + random() % 200_000) as f64 / 1e9;
            let mut sum = |range: u64| {
                let rate = (random() % range) as f64 / seconds;
                rate * seconds
            };
            let mut totals = || IoTotals { ios: sum(9000).round(), kib: sum(900_000) / 2.0, ms: sum(30_000) };
            loads.push(LoadSample {
                interval_index: index as f64,
                begin_s,
                seconds,
                intervals: 1.0,
                reads: totals(),
                writes: totals(),
                busy_s: Some(0.812),
                in_flight_at_end: Some(3),
                in_flight: 7,
                in_flight_change: -4.0,
                ..LoadSample::default()
            });
            begin_s += seconds;
        }
        loads
    }

    #[test]
    fn measured_loads_take_a_fifth_of_their_memory() {
        let packed = assert_unchanged(&measured(6400));
        let bytes: usize = packed.full.iter().map(|chunk| chunk.len()).sum();
        assert!(bytes / 6400 <= size_of::<LoadSample>() / 4, "{} bytes", bytes / 6400);
    }

    #[test]
    fn the_latest_loads_are_found_in_several_chunks() {
        for count in [0, 1, 63, 64, 65, 200] {
            let loads = measured(count);
            let packed = assert_unchanged(&loads);
            assert_eq!(packed.len(), count);
            for latest in [0, 1, 64, 100, 500] {
                assert_eq!(packed.latest(latest), loads[count.saturating_sub(latest)..]);
            }
            assert_eq!(packed.into_loads(), loads);
        }
    }
}
