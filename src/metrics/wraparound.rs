//! How far the counters of a device went between two readings.

use crate::counters::{Counters, Requests};

/// How far the counters of one kind of request went. `None`: the counter went back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestChange {
    /// Requests completed.
    pub ios: Option<u64>,
    /// Requests merged.
    pub merges: Option<u64>,
    /// Sectors of 512 bytes.
    pub sectors: Option<u64>,
    /// Milliseconds; the kernel counts them in 32 bits.
    pub ms: u64,
}

impl RequestChange {
    /// From one reading to the next.
    pub fn between(older: &Requests, newer: &Requests) -> Self {
        Self {
            ios: newer.ios.checked_sub(older.ios),
            merges: newer.merges.checked_sub(older.merges),
            sectors: newer.sectors.checked_sub(older.sectors),
            ms: wrapping_sub_u32(older.ms, newer.ms),
        }
    }
}

/// The difference of two millisecond counters, which wrap at 2^32 on every kernel (`unsigned int` in the
/// kernel's `diskstats_show`).
pub fn wrapping_sub_u32(older: u64, newer: u64) -> u64 {
    newer.wrapping_sub(older) & u64::from(u32::MAX)
}

/// The difference of two sector counters as iostat totals it: one that went down from below 2^32 wrapped there,
/// as on a 32-bit kernel.
pub fn wrapped_sectors(older: u64, newer: u64) -> u64 {
    if newer < older && u32::try_from(older).is_ok() {
        wrapping_sub_u32(older, newer)
    } else {
        newer.wrapping_sub(older)
    }
}

/// How far a column of milliseconds went that only a busy device moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MillisDelta {
    /// Milliseconds, modulo 2^32.
    pub ms: u64,
    /// The counter is below where it was: it wrapped, or was reset.
    pub went_back: bool,
}

impl MillisDelta {
    /// From one reading to the next.
    pub fn between(older: u64, newer: u64) -> Self {
        // The columns are 32 bits; what stands above these in a made-up file is not counted either.
        Self { ms: wrapping_sub_u32(older, newer), went_back: (newer as u32) < older as u32 }
    }
}

/// Whether the device behind the name was taken away and another one came, by sysstat 12.7.9's rule: its
/// requests together went down, and so did every sector count that was not zero.
///
/// Its counters began at zero within the interval.
pub fn was_replugged(older: &Counters, newer: &Counters) -> bool {
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

    fn requests(ios: u64, sectors: u64) -> Requests {
        Requests { ios, sectors, ..Requests::default() }
    }

    #[test]
    fn counters_advance() {
        let older = Requests { ios: 10, merges: 2, sectors: 80, ms: 7 };
        let newer = Requests { ios: 15, merges: 2, sectors: 180, ms: 9 };
        let expected = RequestChange { ios: Some(5), merges: Some(0), sectors: Some(100), ms: 2 };
        assert_eq!(RequestChange::between(&older, &newer), expected);
    }

    #[test]
    fn a_counter_that_went_back_has_no_change() {
        let change = RequestChange::between(&requests(10, 80), &requests(9, 81));
        assert_eq!((change.ios, change.sectors), (None, Some(1)));
    }

    #[test]
    fn milliseconds_wrap_at_32_bits() {
        assert_eq!(wrapping_sub_u32(4_294_967_290, 4), 10);
        assert_eq!(wrapping_sub_u32(4, 4), 0);
        assert_eq!(MillisDelta::between(4_294_967_290, 4), MillisDelta { ms: 10, went_back: true });
        assert_eq!(MillisDelta::between(4, 10), MillisDelta { ms: 6, went_back: false });
    }

    #[test]
    fn sectors_of_a_32_bit_kernel_wrap() {
        assert_eq!(wrapped_sectors(10, 30), 20);
        assert_eq!(wrapped_sectors(4_294_967_290, 4), 10);
        assert_eq!(wrapped_sectors(1 << 32, 4), 4u64.wrapping_sub(1 << 32));
    }

    #[test]
    fn a_replugged_device_lost_its_requests_and_all_its_sectors() {
        let device = |reads, writes| Counters { reads, writes, ..Counters::default() };
        let older = device(requests(100, 800), requests(0, 0));
        assert!(was_replugged(&older, &device(requests(3, 24), requests(0, 0))));
        assert!(was_replugged(&older, &device(requests(3, 24), requests(9, 900))));
        assert!(!was_replugged(&older, &device(requests(3, 900), requests(0, 0))));
        assert!(!was_replugged(&older, &device(requests(100, 24), requests(0, 0))));
    }
}
