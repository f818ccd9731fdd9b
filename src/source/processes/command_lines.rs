//! Reads the command lines of processes.
//!
//! A read takes locks of the memory of a process, for which it may have to wait as long as the process hangs. So all are
//! read in a thread that is left behind if it takes long; until it ends, no other is started.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::attribution::files::parse_command_line;
use crate::source::small_file::{read_bytes, read_within};

/// The time for which command lines are waited for. Reading one takes some microseconds.
pub(in crate::source) const COMMAND_PATIENCE: Duration = Duration::from_millis(50);

pub(super) struct CommandLines {
    proc: PathBuf,
    patience: Duration,
    is_reading: Arc<AtomicBool>,
}

impl CommandLines {
    pub(super) fn new(proc: PathBuf, patience: Duration) -> Self {
        Self {
            proc,
            patience,
            is_reading: Arc::default(),
        }
    }

    /// Returns the beginnings of the command lines of processes. Those that have none, as threads of the kernel, or that
    /// don't answer are missing.
    pub(super) fn read(&self, pids: Vec<u32>) -> HashMap<u32, Arc<str>> {
        if pids.is_empty() || self.is_reading.swap(true, Ordering::Relaxed) {
            return HashMap::new();
        }
        let found = Arc::<Mutex<HashMap<u32, Arc<str>>>>::default();
        let (proc, is_reading) = (self.proc.clone(), Arc::clone(&self.is_reading));
        let results = Arc::clone(&found);
        read_within(self.patience, move || {
            for pid in pids {
                let text = read_bytes(&proc.join(pid.to_string()).join("cmdline"));
                if let Some(command) = text.and_then(|text| parse_command_line(&text)) {
                    let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                    results.insert(pid, command.into());
                }
            }
            is_reading.store(false, Ordering::Relaxed);
        });
        std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
