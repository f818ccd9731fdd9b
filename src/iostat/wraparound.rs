//! Counters that went backwards, as iostat treats them: as wraparound, reset or another device.

use crate::counters::Counters;
use crate::counters::wrapping_sub_u32;

/// Change of a counter between two readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Delta {
    /// The difference, modulo the size of the counter: a huge number if it went backwards. iostat computes means of it.
    pub(super) amount: u64,
    /// True if the counter went backwards: it wrapped around or was reset.
    pub(super) went_back: bool,
}

impl Delta {
    pub(super) fn between(older: u64, newer: u64) -> Self {
        Self { amount: newer.wrapping_sub(older), went_back: newer < older }
    }

    /// Returns the change of a counter of milliseconds. The kernel's have 32 bits; if a file has more, iostat ignores
    /// them.
    pub(super) fn of_millis(older: u64, newer: u64) -> Self {
        Self { amount: wrapping_sub_u32(older, newer), went_back: (newer as u32) < older as u32 }
    }

    /// Returns the amount, or zero if the counter went backwards. iostat computes rates of it.
    pub(super) fn or_zero(self) -> u64 {
        if self.went_back { 0 } else { self.amount }
    }
}

/// Returns the difference of two sector counters as iostat totals it: a counter that went backwards from below 2^32 is
/// assumed to have wrapped around at 2^32, as on a 32-bit kernel.
pub(super) fn wrapped_sectors(older: u64, newer: u64) -> u64 {
    if newer < older && u32::try_from(older).is_ok() {
        wrapping_sub_u32(older, newer)
    } else {
        newer.wrapping_sub(older)
    }
}

/// Returns whether the device was replaced by another one of the same name, by the rule of sysstat 12.7.9: the number
/// of all its requests went backwards, and so did every sector counter that was not zero. The counters of the new
/// device started at zero within the interval.
pub(super) fn was_replugged(older: &Counters, newer: &Counters) -> bool {
    let fell_or_zero = |older: u64, newer: u64| older == 0 || newer < older;
    let requests =
        |counters: &Counters| counters.completed().iter().fold(0u64, |sum, n| sum.wrapping_add(*n));
    requests(newer) < requests(older)
        && fell_or_zero(older.reads.sectors, newer.reads.sectors)
        && fell_or_zero(older.writes.sectors, newer.writes.sectors)
        && fell_or_zero(older.discards.sectors, newer.discards.sectors)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::Requests;

    #[test]
    fn milliseconds_wrap_at_32_bits() {
        assert_eq!(Delta::of_millis(4_294_967_290, 4), Delta { amount: 10, went_back: true });
        assert_eq!(Delta::of_millis(4, 10), Delta { amount: 6, went_back: false });
    }

    #[test]
    fn sectors_of_a_32_bit_kernel_wrap() {
        assert_eq!(wrapped_sectors(10, 30), 20);
        assert_eq!(wrapped_sectors(4_294_967_290, 4), 10);
        assert_eq!(wrapped_sectors(1 << 32, 4), 4u64.wrapping_sub(1 << 32));
    }

    #[test]
    fn a_replugged_device_has_fewer_requests_and_fewer_sectors_of_every_kind() {
        let requests = |ios, sectors| Requests { ios, sectors, ..Requests::default() };
        let device = |reads, writes| Counters { reads, writes, ..Counters::default() };
        let older = device(requests(100, 800), requests(0, 0));
        assert!(was_replugged(&older, &device(requests(3, 24), requests(0, 0))));
        assert!(was_replugged(&older, &device(requests(3, 24), requests(9, 900))));
        assert!(!was_replugged(&older, &device(requests(3, 900), requests(0, 0))));
        assert!(!was_replugged(&older, &device(requests(100, 24), requests(0, 0))));
    }
}
