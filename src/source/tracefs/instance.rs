//! A tracing instance of this process, which is removed when it is dropped.

use super::error::TraceError;
use super::leftovers::remove_instance;
use super::trace_dir::TraceDir;

/// The size in KiB of the buffer of an instance: it holds only events written to its marker.
const BUFFER_KIB: u32 = 4;

/// An instance, with its triggers and the synthetic events whose names begin with its name.
pub(super) struct Instance {
    dir: TraceDir,
    name: String,
}

impl Instance {
    /// Creates an instance.
    ///
    /// # Errors
    /// If the kernel refuses it, or the instance exists.
    pub(super) fn make(dir: &TraceDir, name: String) -> Result<Self, TraceError> {
        dir.make_instance(&name)?;
        let instance = Self { dir: dir.clone(), name };
        // An error does not matter: the buffer is only larger then.
        let _ = instance.write("buffer_size_kb", &BUFFER_KIB.to_string());
        Ok(instance)
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Writes a line to one of its files.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub(super) fn write(&self, file: &str, text: &str) -> Result<(), TraceError> {
        self.dir.write(&self.path_of(file), text)
    }

    /// Defines a synthetic event that triggers of this instance may generate.
    ///
    /// # Errors
    /// If the kernel refuses it.
    pub(super) fn define_event(&self, definition: &str) -> Result<(), TraceError> {
        self.dir.write("synthetic_events", definition)
    }

    /// Reads one of its files into a buffer, replacing its contents.
    ///
    /// # Errors
    /// If it cannot be read.
    pub(super) fn read_into(&self, file: &str, bytes: &mut Vec<u8>) -> Result<(), TraceError> {
        self.dir.read_into(&self.path_of(file), bytes)
    }

    fn path_of(&self, file: &str) -> String {
        format!("instances/{}/{file}", self.name)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        // If the kernel refuses to remove a part of it now, the next run will remove it, as after a kill.
        let _ = remove_instance(&self.dir, &self.name);
    }
}
