//! Clients and the requests that they issue.

use super::request::{Operation, Request};
use crate::random::Random;

/// The times at which requests are issued.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Arrivals {
    /// Clients that issue a request, wait until it is done, and think for an exponential time.
    Closed { clients: u32, think_s: f64 },
    /// At random, with a mean rate per second (Poisson).
    Poisson { rate: f64 },
    /// At even distances with a relative jitter, as with `fio --rate_iops`; no more than `depth` at once.
    Paced { rate: f64, jitter: f64, depth: u32 },
    /// Several at once, at even distances in seconds.
    Bursts { every_s: f64, size: u32 },
}

/// The requests of a load.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Mix {
    /// The share of reads; the rest are writes, or discards.
    pub(crate) reads: f64,
    /// The share of discards among the requests that are not reads.
    pub(crate) discards: f64,
    /// Sizes in sectors, each as likely as the others.
    pub(crate) sectors: &'static [u32],
    pub(crate) is_sequential: bool,
    /// Requests merged into each.
    pub(crate) merges: u32,
    /// A closed client flushes after each of its requests, as a database does with fsync.
    pub(crate) flushes: bool,
}

impl Mix {
    /// Reads of 4 KiB at random.
    pub(crate) const READS: Self = Self {
        reads: 1.0,
        discards: 0.0,
        sectors: &[8],
        is_sequential: false,
        merges: 0,
        flushes: false,
    };
    /// Writes of 4 KiB at random.
    pub(crate) const WRITES: Self = Self {
        reads: 0.0,
        ..Self::READS
    };
    /// Writes of 4 KiB, each followed by a flush.
    pub(crate) const COMMITS: Self = Self {
        flushes: true,
        is_sequential: true,
        ..Self::WRITES
    };

    pub(crate) fn request(&self, load: usize, random: &mut Random) -> Request {
        let operation = if self.reads >= 1.0 || random.chance(self.reads) {
            Operation::Read
        } else if self.discards > 0.0 && random.chance(self.discards) {
            Operation::Discard
        } else {
            Operation::Write
        };
        let sectors = if self.sectors.len() == 1 {
            self.sectors[0]
        } else {
            random.pick(self.sectors)
        };
        let mut request = Request::new(operation, sectors, load);
        (request.is_sequential, request.merges) = (self.is_sequential, self.merges);
        request
    }
}

/// A load, active in seconds of the capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) from_s: f64,
    pub(crate) until_s: f64,
    pub(crate) arrivals: Arrivals,
    pub(crate) mix: Mix,
    /// Its tasks block in the kernel while they wait, so that pressure and blocked tasks show them.
    pub(crate) is_synchronous: bool,
}

impl Load {
    /// A load from before the capture until after its end.
    pub(crate) fn always(arrivals: Arrivals, mix: Mix) -> Self {
        let (from_s, until_s) = (f64::NEG_INFINITY, f64::INFINITY);
        Self {
            from_s,
            until_s,
            arrivals,
            mix,
            is_synchronous: true,
        }
    }

    /// The same load, in a part of the capture only.
    pub(crate) fn within(self, from_s: f64, until_s: f64) -> Self {
        Self {
            from_s,
            until_s,
            ..self
        }
    }

    /// The same load without tasks that block, as with libaio or io_uring.
    pub(crate) fn asynchronous(self) -> Self {
        Self {
            is_synchronous: false,
            ..self
        }
    }
}

/// Clients without think time.
pub(crate) fn closed(clients: u32) -> Arrivals {
    Arrivals::Closed {
        clients,
        think_s: 0.0,
    }
}
