//! Reads the I/O of processes in a separate thread. A read of /proc/PID/io hangs with a process that hangs while it
//! starts another program, for example because the disk with that program does not answer. Cgroups and blocked tasks
//! must be read even then.

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use super::STACK_BYTES;
use crate::clock::thread_cpu_time;
use crate::counters::{HungRead, ProcessIo};
use crate::source::processes::ProcessIoReader;

/// The time for which a scan waits for the processes that it has requested.
const PATIENCE: Duration = Duration::from_millis(100);
/// The time after which a read is reported to hang.
const MIN_HUNG_TIME: Duration = Duration::from_secs(2);

/// The processes, and the read of one that hangs.
type Found = (Option<Arc<ProcessIo>>, Option<HungRead>);

/// The way in which a scan reads processes.
pub(super) enum Processes {
    /// In the same thread.
    Immediate(ProcessIoReader),
    /// In a thread of its own.
    Thread(ProcessThread),
}

impl Processes {
    /// Asks for processes; `now` is a monotonic time.
    pub(super) fn request(&self, now: Duration) {
        if let Self::Thread(thread) = self {
            thread.request(now);
        }
    }

    /// Returns the requested processes, or the previous ones if reading takes too long; none if the read hangs.
    pub(super) fn read(&mut self, now: Duration) -> Found {
        match self {
            Self::Immediate(reader) => (reader.read(now), None),
            Self::Thread(thread) => thread.read(now),
        }
    }

    /// Returns the CPU time that another thread has used for processes since the last call.
    pub(super) fn take_cpu_time(&mut self) -> Duration {
        match self {
            Self::Immediate(_) => Duration::ZERO,
            Self::Thread(thread) => std::mem::take(&mut thread.shared.lock().cpu_time),
        }
    }
}

/// A thread that reads the I/O of processes. It ends when this is dropped, unless its read hangs.
pub(super) struct ProcessThread {
    requests: SyncSender<Duration>,
    shared: Arc<Shared>,
    /// The process that the thread reads.
    current: Arc<AtomicU32>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    finished: Condvar,
}

#[derive(Default)]
struct State {
    /// The time of the request that the thread is working on; `None` if it waits for one.
    begun: Option<Duration>,
    found: Option<Arc<ProcessIo>>,
    cpu_time: Duration,
}

impl ProcessThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// If it cannot be started.
    pub(super) fn start(mut reader: ProcessIoReader) -> io::Result<Self> {
        let (requests, received) = sync_channel(1);
        let shared = Arc::new(Shared::default());
        let current = reader.current();
        let results = Arc::clone(&shared);
        let run = move || read_on_request(&mut reader, &received, &results);
        thread::Builder::new().name("blkstat-procs".to_owned()).stack_size(STACK_BYTES).spawn(run)?;
        Ok(Self { requests, shared, current })
    }

    fn request(&self, now: Duration) {
        let mut state = self.shared.lock();
        if state.begun.is_none() && self.requests.try_send(now).is_ok() {
            state.begun = Some(now);
        }
    }

    fn read(&self, now: Duration) -> Found {
        let state = self.shared.lock();
        // A read that has already missed its time is not waited for again.
        let is_young = |state: &mut State| state.begun.is_some_and(|begun| now < begun + PATIENCE);
        let waited = self.shared.finished.wait_timeout_while(state, PATIENCE, is_young);
        let state = waited.unwrap_or_else(PoisonError::into_inner).0;
        let elapsed = state.begun.map_or(Duration::ZERO, |begun| now.saturating_sub(begun));
        if elapsed < MIN_HUNG_TIME {
            return (state.found.clone(), None);
        }
        (None, Some(HungRead { pid: self.current.load(Ordering::Relaxed), elapsed }))
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads processes until the sender of requests is gone.
fn read_on_request(reader: &mut ProcessIoReader, requests: &Receiver<Duration>, shared: &Shared) {
    while let Ok(now) = requests.recv() {
        let cpu_before = thread_cpu_time();
        let found = reader.read(now);
        let mut state = shared.lock();
        state.cpu_time += thread_cpu_time().saturating_sub(cpu_before);
        state.found = found;
        state.begun = None;
        shared.finished.notify_all();
    }
}
