//! The file in which `pt-diskstats --save-samples` saves samples.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result};

/// A file of samples. Each is written completely or not at all.
pub struct SampleFile {
    name: String,
    file: File,
}

impl SampleFile {
    /// Creates the file, or empties it if it exists.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(path: &Path) -> Result<Self> {
        let name = path.display().to_string();
        let file = OpenOptions::new().write(true).create(true).truncate(true).open(path);
        Ok(Self { file: file.with_context(|| format!("cannot write {name}"))?, name })
    }

    /// Appends a sample.
    ///
    /// # Errors
    /// If it cannot be written. A partially written sample is removed if the file can be truncated.
    pub fn append(&mut self, sample: &[u8]) -> Result<()> {
        let length = self.file.metadata().map(|metadata| metadata.len());
        self.file.write_all(sample).with_context(|| {
            let is_intact = length.and_then(|length| self.file.set_len(length)).is_ok();
            let suffix = if is_intact { " (earlier samples are intact)" } else { "" };
            format!("cannot write {}{suffix}", self.name)
        })
    }
}
