//! Loads in as few bytes as they need.

use std::collections::VecDeque;

use super::sample::LoadSample;
use crate::analysis::stats::IoTotals;

/// The number of loads that are packed together. Each differs from the one before it in few numbers, so the first takes
/// the most memory.
const LOADS_OF_CHUNK: usize = 64;

/// The count of numbers in every load. Each takes as many bytes as it needs. Their lengths come first, in half a byte
/// each, so that neither writing nor reading a number needs a loop.
const NUMBERS: usize = 16;
/// The bytes of the flags and the lengths.
const HEAD_BYTES: usize = 1 + NUMBERS / 2;
const MAX_NUMBER_BYTES: usize = 8;

/// Flags of a packed load.
const IS_STEADY: u8 = 1;
const IS_CPU_SHORT: u8 = 2;
const HAS_BUSY: u8 = 4;
const HAS_IN_FLIGHT_AT_END: u8 = 8;
/// It has a variation, and more than one interval.
const IS_MERGED: u8 = 16;
/// Its interval does not follow that of the load before.
const HAS_INDEX: u8 = 32;

/// Units of the numbers, as their reciprocals: the kernel counts in whole units.
const PER_REQUEST: f64 = 1.0;
const PER_KIB: f64 = 2.0;
const PER_MS: f64 = 1.0;
const PER_BUSY_S: f64 = 1e3;
const PER_S: f64 = 1e9;

/// Loads in the order in which they were added, each exact to the last bit, in a fifth of the memory.
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
        pack(load, &mut self.last, &mut self.open);
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
        let mut loads = Vec::with_capacity(full * LOADS_OF_CHUNK + self.open_count);
        for chunk in self.full.range(self.full.len() - full..) {
            Unpacked::new(chunk).append_to(&mut loads);
        }
        Unpacked::new(&self.open).append_to(&mut loads);
        loads.drain(..loads.len().saturating_sub(count));
        loads
    }

    /// The loads in full. Their memory is freed as they are taken.
    pub(super) fn into_loads(self) -> Vec<LoadSample> {
        let mut loads = Vec::with_capacity(self.len());
        for chunk in self.full {
            Unpacked::new(&chunk).append_to(&mut loads);
        }
        Unpacked::new(&self.open).append_to(&mut loads);
        loads
    }
}

/// The numbers of a load, in units. Those of the next load are expected to differ little from them.
#[derive(Clone, Copy, Debug, Default)]
struct Expected {
    index: i64,
    begin: i64,
    seconds: i64,
}

/// Appends a load to those before it.
fn pack(load: &LoadSample, last: &mut Expected, to: &mut Vec<u8>) {
    let mut numbers = Numbers::default();
    let begin = Rounded::of(load.begin_s, PER_S);
    numbers.put(fold_sign(begin.nearest.wrapping_sub(last.begin.wrapping_add(last.seconds))));
    // `begin_s` is a sum of lengths, rounded at each step, so its distance is larger than those of the other numbers.
    numbers.put(fold_sign(begin.distance));
    let seconds = Rounded::of(load.seconds, PER_S);
    numbers.put_rounded(seconds, last.seconds);
    for totals in [&load.reads, &load.writes, &load.flushes] {
        numbers.put_rounded(Rounded::of(totals.ios, PER_REQUEST), 0);
        numbers.put_rounded(Rounded::of(totals.kib, PER_KIB), 0);
        numbers.put_rounded(Rounded::of(totals.ms, PER_MS), 0);
    }
    numbers.put_rounded(Rounded::of(load.busy_s.unwrap_or(0.0), PER_BUSY_S), 0);
    numbers.put_rounded(Rounded::of(load.in_flight_change, PER_REQUEST), 0);
    numbers.put(load.in_flight_at_end.unwrap_or(0));
    numbers.put(load.in_flight);

    let index = Rounded::of(load.interval_index, PER_REQUEST);
    let is_next = (index.nearest, index.distance) == (last.index.wrapping_add(1), 0);
    let is_merged = load.intervals != 1.0 || load.variation.to_bits() != 0;
    let flag = |has: bool, flag: u8| if has { flag } else { 0 };
    let flags = flag(load.is_steady, IS_STEADY)
        | flag(load.is_cpu_short, IS_CPU_SHORT)
        | flag(load.busy_s.is_some(), HAS_BUSY)
        | flag(load.in_flight_at_end.is_some(), HAS_IN_FLIGHT_AT_END)
        | flag(is_merged, IS_MERGED)
        | flag(!is_next, HAS_INDEX);
    numbers.write(flags, to);
    if !is_next {
        put_varint(fold_sign(index.nearest.wrapping_sub(last.index)), to);
        put_varint(fold_sign(index.distance), to);
    }
    if is_merged {
        let intervals = Rounded::of(load.intervals, PER_REQUEST);
        put_varint(fold_sign(intervals.nearest), to);
        put_varint(fold_sign(intervals.distance), to);
        to.extend(load.variation.to_bits().to_le_bytes());
    }
    *last = Expected { index: index.nearest, begin: begin.nearest, seconds: seconds.nearest };
}

/// A number as the nearest integer of units, and its distance from that in steps between floats, which is usually 0 or
/// 1.
#[derive(Clone, Copy)]
struct Rounded {
    nearest: i64,
    distance: i64,
}

impl Rounded {
    #[inline(always)]
    fn of(value: f64, units: f64) -> Self {
        let nearest = (value * units + 0.5_f64.copysign(value)) as i64;
        // The difference of two integers needs one more bit, its sign another one, and the code of the distance two.
        let nearest = if nearest.unsigned_abs() < 1 << 60 { nearest } else { 0 };
        let distance = (value.to_bits() as i64).wrapping_sub((nearest as f64 / units).to_bits() as i64);
        Self { nearest, distance }
    }

    /// The original number.
    #[inline(always)]
    fn value(self, units: f64) -> f64 {
        let bits = ((self.nearest as f64 / units).to_bits() as i64).wrapping_add(self.distance);
        f64::from_bits(bits as u64)
    }
}

/// The code of a distance that is not among [`DISTANCES`].
const IS_FAR: u64 = 3;
/// The distances that have a code.
const DISTANCES: [i64; 4] = [0, 1, -1, 0];

/// The numbers of a load that is being written.
#[derive(Default)]
struct Numbers {
    codes: [u64; NUMBERS],
    count: usize,
    /// The distances that have no code.
    far: [u64; NUMBERS],
    far_count: usize,
}

impl Numbers {
    #[inline(always)]
    fn put(&mut self, number: u64) {
        self.codes[self.count] = number;
        self.count += 1;
    }

    /// Puts the difference from the expected number, and the distance, into one number.
    #[inline(always)]
    fn put_rounded(&mut self, rounded: Rounded, expected: i64) {
        let code = match rounded.distance {
            0 => 0,
            1 => 1,
            -1 => 2,
            _ => IS_FAR,
        };
        if code == IS_FAR {
            self.far[self.far_count] = fold_sign(rounded.distance);
            self.far_count += 1;
        }
        self.put(fold_sign(rounded.nearest.wrapping_sub(expected)) << 2 | code);
    }

    fn write(&self, flags: u8, to: &mut Vec<u8>) {
        let mut bytes = [0; HEAD_BYTES + NUMBERS * MAX_NUMBER_BYTES];
        let (mut lengths, mut end) = (0, HEAD_BYTES);
        for (place, number) in self.codes.iter().enumerate() {
            let length = (71 - number.leading_zeros() as usize) / 8;
            bytes[end..end + MAX_NUMBER_BYTES].copy_from_slice(&number.to_le_bytes());
            lengths |= (length as u64) << (4 * place);
            end += length;
        }
        bytes[0] = flags;
        bytes[1..HEAD_BYTES].copy_from_slice(&lengths.to_le_bytes());
        to.extend_from_slice(&bytes[..end]);
        self.far[..self.far_count].iter().for_each(|distance| put_varint(*distance, to));
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

    /// Reads a number of some bytes, eight at most.
    #[inline(always)]
    fn get(&mut self, length: usize) -> u64 {
        /// The masks for this number of bytes.
        const MASKS: [u64; 16] = {
            let mut masks = [u64::MAX; 16];
            let mut length = 0;
            while length < MAX_NUMBER_BYTES {
                masks[length] = (1 << (8 * length)) - 1;
                length += 1;
            }
            masks
        };
        let word = match self.bytes.first_chunk() {
            Some(word) => u64::from_le_bytes(*word),
            None => self.bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        self.bytes = self.bytes.get(length..).unwrap_or_default();
        word & MASKS[length]
    }

    /// Reads a number that [`Numbers::put_rounded`] has written.
    #[inline(always)]
    fn rounded(&mut self, code: u64, expected: i64) -> Rounded {
        let nearest = expected.wrapping_add(unfold_sign(code >> 2));
        let is_far = code & IS_FAR == IS_FAR;
        let distance =
            if is_far { unfold_sign(self.get_varint()) } else { DISTANCES[(code & IS_FAR) as usize] };
        Rounded { nearest, distance }
    }

    fn get_varint(&mut self) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let byte = self.get(1);
            value |= (byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return value;
            }
        }
    }

    /// Appends the remaining loads to `loads`.
    fn append_to(mut self, loads: &mut Vec<LoadSample>) {
        while !self.bytes.is_empty() {
            loads.push(self.get_load());
        }
    }

    #[inline(always)]
    fn get_load(&mut self) -> LoadSample {
        let flags = self.get(1) as u8;
        let has = |flag: u8| flags & flag != 0;
        let lengths = self.get(NUMBERS / 2);
        let numbers: [u64; NUMBERS] =
            std::array::from_fn(|place| self.get((lengths >> (4 * place)) as usize & 15));
        // The distances that have no code come after all the numbers.
        let [begin, begin_distance, seconds, .., busy, change, in_flight_at_end, in_flight] = numbers;
        let expected = self.last.begin.wrapping_add(self.last.seconds);
        let begin = Rounded {
            nearest: expected.wrapping_add(unfold_sign(begin)),
            distance: unfold_sign(begin_distance),
        };
        let seconds = self.rounded(seconds, self.last.seconds);
        let [reads, writes, flushes] = std::array::from_fn(|place| {
            let ios = self.rounded(numbers[3 + 3 * place], 0).value(PER_REQUEST);
            let kib = self.rounded(numbers[4 + 3 * place], 0).value(PER_KIB);
            let ms = self.rounded(numbers[5 + 3 * place], 0).value(PER_MS);
            IoTotals { ios, kib, ms }
        });
        let busy_s = self.rounded(busy, 0).value(PER_BUSY_S);
        let in_flight_change = self.rounded(change, 0).value(PER_REQUEST);
        let mut index = Rounded { nearest: self.last.index.wrapping_add(1), distance: 0 };
        if has(HAS_INDEX) {
            index.nearest = self.last.index.wrapping_add(unfold_sign(self.get_varint()));
            index.distance = unfold_sign(self.get_varint());
        }
        let (mut intervals, mut variation) = (1.0, 0.0);
        if has(IS_MERGED) {
            let nearest = unfold_sign(self.get_varint());
            intervals = Rounded { nearest, distance: unfold_sign(self.get_varint()) }.value(PER_REQUEST);
            variation = f64::from_bits(self.get(MAX_NUMBER_BYTES));
        }
        self.last = Expected { index: index.nearest, begin: begin.nearest, seconds: seconds.nearest };
        LoadSample {
            interval_index: index.value(PER_REQUEST),
            begin_s: begin.value(PER_S),
            seconds: seconds.value(PER_S),
            intervals,
            reads,
            writes,
            flushes,
            busy_s: has(HAS_BUSY).then_some(busy_s),
            in_flight_change,
            in_flight_at_end: has(HAS_IN_FLIGHT_AT_END).then_some(in_flight_at_end),
            in_flight,
            is_steady: has(IS_STEADY),
            variation,
            is_cpu_short: has(IS_CPU_SHORT),
        }
    }
}

/// Writes seven bits per byte, the low ones first.
fn put_varint(mut value: u64, to: &mut Vec<u8>) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Maps small numbers of either sign to small unsigned ones.
fn fold_sign(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn unfold_sign(folded: u64) -> i64 {
    (folded >> 1) as i64 ^ -((folded & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of a load as bits: NaN, which does not equal itself, must be preserved, too.
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

    /// Random numbers.
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

    /// Intervals of about a second, as computed from counters.
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
