//! Counter differences that allow for wraparound.

use crate::counters::{Requests, wrapping_sub_u32};

/// The change of the counters of one kind of request. `None` means that the counter went backwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestChange {
    /// Requests completed.
    pub ios: Option<u64>,
    pub merges: Option<u64>,
    /// Sectors of 512 bytes.
    pub sectors: Option<u64>,
    /// Milliseconds, modulo 2^32.
    pub ms: u64,
}

impl RequestChange {
    /// Returns the change between two readings.
    pub fn between(older: &Requests, newer: &Requests) -> Self {
        Self {
            ios: newer.ios.checked_sub(older.ios),
            merges: newer.merges.checked_sub(older.merges),
            sectors: newer.sectors.checked_sub(older.sectors),
            ms: wrapping_sub_u32(older.ms, newer.ms),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_grow() {
        let older = Requests { ios: 10, merges: 2, sectors: 80, ms: 7 };
        let newer = Requests { ios: 15, merges: 2, sectors: 180, ms: 9 };
        let expected = RequestChange { ios: Some(5), merges: Some(0), sectors: Some(100), ms: 2 };
        assert_eq!(RequestChange::between(&older, &newer), expected);
    }

    #[test]
    fn a_counter_that_went_backwards_has_no_change() {
        let requests = |ios, sectors| Requests { ios, sectors, ..Requests::default() };
        let change = RequestChange::between(&requests(10, 80), &requests(9, 81));
        assert_eq!((change.ios, change.sectors), (None, Some(1)));
    }
}
