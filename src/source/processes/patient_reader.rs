//! Reads files of tasks that may not answer.
//!
//! A read of the command line takes locks of the memory of a process, for which it may have to wait as long as the process
//! hangs. So it is done in a thread that is left behind if it takes long; until it ends, no other is started.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::attribution::files::parse_command_line;
use crate::source::small_file::{read_bytes, read_within};

/// The time for which such files are waited for. Reading one takes some microseconds.
pub(in crate::source) const FILE_PATIENCE: Duration = Duration::from_millis(50);

pub(super) struct PatientReader {
    patience: Duration,
    is_reading: Arc<AtomicBool>,
}

impl PatientReader {
    pub(super) fn new(patience: Duration) -> Self {
        Self {
            patience,
            is_reading: Arc::default(),
        }
    }

    /// Calls `read` with the directory of each task, given with its number. Tasks that do not answer, and those that come
    /// after them, are missing in the result.
    pub(super) fn read<T: Send + 'static>(
        &self,
        tasks: Vec<(u32, PathBuf)>,
        read: fn(&Path) -> T,
    ) -> HashMap<u32, T> {
        if tasks.is_empty() || self.is_reading.swap(true, Ordering::Relaxed) {
            return HashMap::new();
        }
        let found = Arc::<Mutex<HashMap<u32, T>>>::default();
        let (results, is_reading) = (Arc::clone(&found), Arc::clone(&self.is_reading));
        read_within(self.patience, move || {
            for (id, dir) in tasks {
                let result = read(&dir);
                let mut results = results.lock().unwrap_or_else(PoisonError::into_inner);
                results.insert(id, result);
            }
            is_reading.store(false, Ordering::Relaxed);
        });
        std::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// Reads the beginning of the command line of a task. `None` without one, as for threads of the kernel.
pub(super) fn read_command(dir: &Path) -> Option<Arc<str>> {
    let command = parse_command_line(&read_bytes(&dir.join("cmdline"))?)?;
    Some(command.into())
}
