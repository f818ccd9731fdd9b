//! Requests and simulated time.

/// Simulated time in nanoseconds since the start of the simulation.
pub(crate) type Nanos = u64;

/// Converts seconds to simulated time; what lies before the start becomes the start.
pub(crate) fn nanos(seconds: f64) -> Nanos {
    (seconds * 1e9) as Nanos
}

/// The operations that the kernel counts apart, in the order of their columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    Read,
    Write,
    Discard,
    Flush,
}

/// The number of operations.
pub(crate) const OPERATIONS: usize = 4;

/// A request on its way from a client to the servers of a device and back.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) operation: Operation,
    /// Size in sectors of 512 bytes.
    pub(crate) sectors: u32,
    /// Requests of the client that were merged into this one.
    pub(crate) merges: u32,
    /// It continues where the client's last request ended.
    pub(crate) is_sequential: bool,
    /// The index of the load that issued it.
    pub(crate) load: usize,
    /// The next stage of its way.
    pub(crate) stage: usize,
    /// The times at which it entered each accounted device, the uppermost first.
    pub(crate) entered: [Nanos; 2],
    /// The time at which it reached the servers.
    pub(crate) arrived: Nanos,
    /// Time spent waiting at the servers: in line, during pauses, and because others were served beside it.
    pub(crate) wait_ns: f64,
    /// Its expected service time in the state in which the device was.
    pub(crate) state_ns: f64,
    /// Its expected service time on the healthy device, for a request of its kind.
    pub(crate) usual_ns: f64,
    /// The expected service time of the quickest kind of request on the healthy device.
    pub(crate) best_ns: f64,
    /// It holds a server while it is served.
    pub(crate) holds_server: bool,
}

impl Request {
    pub(crate) fn new(operation: Operation, sectors: u32, load: usize) -> Self {
        Self {
            operation,
            sectors,
            merges: 0,
            is_sequential: false,
            load,
            stage: 0,
            entered: [0; 2],
            arrived: 0,
            wait_ns: 0.0,
            state_ns: 0.0,
            usual_ns: 0.0,
            best_ns: 0.0,
            holds_server: false,
        }
    }
}
