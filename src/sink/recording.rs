//! The file of a recording. A block is written completely or not at all, as far as the system allows.

use std::fs::{File, OpenOptions, remove_file};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::gzip::Gzip;
use super::gzip_recovery::recover;
use super::open_file::{IfExists, open_file, refuse_to_shift};
use super::rotation::{Rotation, shift_files};
use crate::compression::Compression;

/// An open recording.
pub struct RecordingFile {
    path: PathBuf,
    /// The path as it appears in messages.
    name: String,
    file: File,
    gzip: Option<Gzip>,
    rotation: Option<Rotation>,
    /// The length of the file in bytes, which ends with a complete block; `None` if it is not a regular file.
    length: Option<u64>,
    /// The last line of the file lacks its newline, which must precede the next block.
    needs_newline: bool,
    /// The file was created and is still empty.
    is_new: bool,
}

impl RecordingFile {
    /// Opens a file and locks it against other recordings. A new file is compressed if its name ends in `.gz`; an
    /// existing one keeps its format when it is appended to. `name` is the path as it appears in messages.
    ///
    /// # Errors
    /// If the file exists and must not, is a directory, or cannot be written.
    pub fn open(path: &Path, name: &str, if_exists: IfExists, rotation: Option<Rotation>) -> Result<Self> {
        if let Some(rotation) = rotation.filter(|_| if_exists == IfExists::Refuse && !path.exists()) {
            refuse_to_shift(path, name, rotation)?;
        }
        let (file, is_new) = open_file(path, name, if_exists)?;
        let is_gzip = path.extension().is_some_and(|extension| extension == "gz");
        let mut recording = Self {
            path: path.to_owned(),
            name: name.to_owned(),
            file,
            gzip: is_gzip.then(Gzip::new),
            rotation,
            length: None,
            needs_newline: false,
            is_new,
        };
        let metadata = recording.file.metadata().with_context(|| format!("cannot write {name}"))?;
        if !metadata.is_file() {
            if rotation.is_some() {
                bail!("{name} is not a regular file; it cannot be rotated");
            }
            return Ok(recording);
        }
        recording.lock()?;
        match if_exists {
            IfExists::Refuse => {}
            IfExists::Replace => recording.file.set_len(0).with_context(|| format!("cannot write {name}"))?,
            IfExists::Append if metadata.len() > 0 => {
                recording.prepare_append().with_context(|| format!("cannot append to {name}"))?;
            }
            IfExists::Append => {}
        }
        let metadata = recording.file.metadata().with_context(|| format!("cannot write {name}"))?;
        recording.length = Some(metadata.len());
        Ok(recording)
    }

    /// Returns whether a block of this length would exceed the size at which the file is rotated.
    pub fn is_full_for(&self, block: usize) -> bool {
        let block = block + usize::from(self.needs_newline);
        let bytes = if self.gzip.is_some() { Gzip::max_compressed_bytes(block) } else { block };
        let (Some(rotation), Some(length)) = (self.rotation, self.length) else { return false };
        length > 0 && length.saturating_add(bytes as u64) > rotation.size
    }

    /// Completes the file and starts the next one. Nothing is lost if the program is killed meanwhile.
    ///
    /// # Errors
    /// If a file cannot be written or renamed.
    pub fn rotate(&mut self) -> Result<()> {
        let Some(rotation) = self.rotation else { return Ok(()) };
        self.finish()?;
        let name = &self.name;
        shift_files(&self.path, rotation.keep).with_context(|| format!("cannot rename {name}"))?;
        (self.file, self.is_new) = open_file(&self.path, name, IfExists::Refuse)?;
        self.length = Some(0);
        self.lock()
    }

    /// Writes a block, which readers can decode at once, and returns the number of bytes written. A block that could
    /// not be written in full is removed.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(&mut self, block: &[u8]) -> Result<u64> {
        let on_new_line;
        let block = if self.needs_newline {
            on_new_line = [b"\n", block].concat();
            &on_new_line
        } else {
            block
        };
        let compressed = self.gzip.as_mut().map(|gzip| gzip.compress(block)).transpose();
        let compressed = compressed.with_context(|| format!("cannot write {}", self.name))?;
        let bytes = compressed.as_deref().unwrap_or(block);
        self.write_bytes(bytes)?;
        self.needs_newline = false;
        Ok(bytes.len() as u64)
    }

    /// Completes the file.
    ///
    /// # Errors
    /// If the file cannot be written; every earlier block can still be read.
    pub fn finish(&mut self) -> Result<()> {
        let end = self.gzip.as_mut().map(Gzip::finish).transpose();
        let end = end.with_context(|| format!("cannot write {}", self.name))?.unwrap_or_default();
        // Text that someone appends later must not continue a truncated line.
        let needs_newline = self.gzip.is_none() && std::mem::take(&mut self.needs_newline);
        let newline: &[u8] = if needs_newline { b"\n" } else { b"" };
        self.write_bytes(&[newline, &end].concat())
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.file.write_all(bytes) {
            // The compressor contains a block that the file lacks, so it cannot complete the file.
            self.gzip = None;
            if let Some(length) = self.length {
                // If that fails too, readers see that the last sample is truncated.
                let _ = self.file.set_len(length);
            }
            if self.is_new && self.length.is_some() {
                let _ = remove_file(&self.path);
            }
            return Err(error).with_context(|| format!("cannot write {}", self.name));
        }
        self.length = self.length.map(|length| length + bytes.len() as u64);
        self.is_new = false;
        Ok(())
    }

    /// Locks the file, because the samples of two recordings in one file would interleave.
    ///
    /// # Errors
    /// If another recording has locked it.
    fn lock(&self) -> Result<()> {
        match flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => bail!("{} is in use by another recording", self.name),
            // Not every file system supports locks.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Prepares the file so that the next block begins on a new line after its contents.
    fn prepare_append(&mut self) -> io::Result<()> {
        let mut start = Vec::new();
        self.file.seek(SeekFrom::Start(0))?;
        (&self.file).take(Compression::MAGIC_BYTES as u64).read_to_end(&mut start)?;
        self.gzip = None;
        let last = match Compression::detect(&start) {
            Some(Compression::Zstd) => {
                return Err(io::Error::new(ErrorKind::Unsupported, "zstd files can only be read"));
            }
            Some(Compression::Gzip) => {
                self.gzip = Some(Gzip::new());
                // The file itself is open for appending only.
                recover(&mut OpenOptions::new().read(true).write(true).open(&self.path)?)?
            }
            None => {
                let mut last = [0];
                self.file.seek(SeekFrom::End(-1))?;
                self.file.read_exact(&mut last)?;
                Some(last[0])
            }
        };
        self.needs_newline = last.is_some_and(|byte| byte != b'\n');
        Ok(())
    }
}

impl Drop for RecordingFile {
    /// Unlocks the file explicitly: a child process that is just being started also holds the lock, until it executes
    /// its program.
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_unlocked_when_its_recording_ends_even_if_a_child_inherited_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.txt");
        let open = || RecordingFile::open(&path, "a.txt", IfExists::Append, None);
        let recording = open().unwrap();
        let inherited = recording.file.try_clone().unwrap();
        assert!(open().is_err());
        drop(recording);
        assert!(open().is_ok());
        drop(inherited);
    }
}
