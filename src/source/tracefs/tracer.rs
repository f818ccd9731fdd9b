//! Traces requests, with a thread that renews the kernel's histograms in time.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::session::Session;
use super::trace_dir::TraceError;
use crate::clock::{Clock, RealClock};
use crate::counters::{DeviceNumber, TracedIo};

/// Selects the requests and latencies that are traced.
#[derive(Clone, Debug, PartialEq)]
pub struct TraceOptions {
    pub latencies: bool,
    /// The threads that submit I/O.
    pub users: bool,
    /// The whole devices whose latencies are traced; all if empty.
    pub devices: Vec<DeviceNumber>,
    /// The devices and partitions on which the threads are traced; all if empty.
    pub user_devices: Vec<DeviceNumber>,
    /// The most CPU time that tracing may take, as a fraction of that of all CPUs. Above it, tracing pauses.
    pub max_overhead: f64,
}

/// Traces single requests until it is dropped. Dropping it removes everything that it has set up in the kernel.
pub struct Tracer {
    session: Arc<Mutex<Session>>,
    /// The thread ends when this sender is dropped.
    stop: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Tracer {
    /// Starts tracing the system below `root`, for samples that `clock` times.
    ///
    /// # Errors
    /// The reason why requests cannot be traced.
    pub fn start(root: &Path, options: TraceOptions, clock: &dyn Clock) -> Result<Self, TraceError> {
        let session = Session::start(root, options, clock.monotonic())?;
        let mut tracer = Self { session: Arc::new(Mutex::new(session)), stop: None, thread: None };
        if !clock.is_manual() {
            let (stop, stopped) = sync_channel(1);
            let shared = Arc::clone(&tracer.session);
            let run = move || {
                let clock = RealClock::new(None);
                let mut wait = Duration::ZERO;
                while matches!(stopped.recv_timeout(wait), Err(RecvTimeoutError::Timeout)) {
                    wait = lock(&shared).poll(clock.monotonic());
                }
            };
            let spawned = thread::Builder::new().name("blkstat-trace".to_owned()).spawn(run);
            tracer.thread = Some(spawned.map_err(|error| TraceError::of_file(Path::new("thread"), error))?);
            tracer.stop = Some(stop);
        }
        Ok(tracer)
    }

    /// Returns the requests that were completed since the last call; `now` is a monotonic time.
    pub fn read(&self, now: Duration) -> TracedIo {
        lock(&self.session).read(now)
    }

    /// Traces other devices from now on: the latencies of the whole devices `devices`, and threads on the devices and
    /// partitions `user_devices`. A list that was not empty must not become empty.
    pub fn select(&self, devices: &[DeviceNumber], user_devices: &[DeviceNumber]) {
        lock(&self.session).select(devices, user_devices);
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            // If the thread panicked, the session is dropped all the same.
            let _ = thread.join();
        }
    }
}

/// Locks a session. One whose thread panicked is still readable.
fn lock(session: &Mutex<Session>) -> MutexGuard<'_, Session> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}
