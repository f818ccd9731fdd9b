//! The file of a recording. Blocks are written whole or not at all, as far as the system lets.

use std::fs::{File, OpenOptions, remove_file};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use super::gzip::Gzip;
use super::repair::repair;
use super::rotation::{Rotation, in_the_way, make_way, rotated_name};

/// What to do with a file that exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfExists {
    /// Refuse it.
    #[default]
    Refuse,
    /// Go on behind what it holds.
    Append,
    /// Write it anew.
    Replace,
}

/// A recording that is written to.
pub struct RecordingFile {
    path: PathBuf,
    /// The path as messages name it.
    name: String,
    file: File,
    gzip: Option<Gzip>,
    rotation: Option<Rotation>,
    /// The bytes of the file that are whole; `None` where it is no regular file.
    length: Option<u64>,
    /// What must come before the next block.
    lead: &'static [u8],
    /// It did not exist before, and nothing was written.
    is_fresh: bool,
}

impl RecordingFile {
    /// Opens a file and keeps other recordings from it. It is compressed if its name ends in `.gz`; one that is to
    /// go on is compressed if it was. `name` is what messages call it.
    ///
    /// # Errors
    /// When it exists and is refused, is a directory, or cannot be written; in words for the user.
    pub fn open(path: &Path, name: &str, existing: IfExists, rotation: Option<Rotation>) -> Result<Self> {
        if let Some(rotation) = rotation.filter(|_| existing == IfExists::Refuse && !path.exists()) {
            refuse_to_move(path, name, rotation)?;
        }
        let (file, is_fresh) = open_file(path, name, existing)?;
        let is_gzip = path.extension().is_some_and(|extension| extension == "gz");
        let mut recording = Self {
            path: path.to_owned(),
            name: name.to_owned(),
            file,
            gzip: is_gzip.then(Gzip::new),
            rotation,
            length: None,
            lead: b"",
            is_fresh,
        };
        let about = recording.file.metadata().with_context(|| format!("cannot write {name}"))?;
        if !about.is_file() {
            if rotation.is_some() {
                bail!("{name} is no regular file, so that no other can follow it");
            }
            return Ok(recording);
        }
        recording.lock()?;
        match existing {
            IfExists::Refuse => {}
            IfExists::Replace => recording.file.set_len(0).with_context(|| format!("cannot write {name}"))?,
            IfExists::Append if about.len() > 0 => {
                recording.go_on().with_context(|| format!("cannot append to {name}"))?;
            }
            IfExists::Append => {}
        }
        let about = recording.file.metadata().with_context(|| format!("cannot write {name}"))?;
        recording.length = Some(about.len());
        Ok(recording)
    }

    /// Whether a block of this length is to go to the next file.
    pub fn is_full_for(&self, block: usize) -> bool {
        let most = if self.gzip.is_some() { Gzip::most(block) } else { block };
        let (Some(rotation), Some(length)) = (self.rotation, self.length) else { return false };
        length > 0 && length.saturating_add((self.lead.len() + most) as u64) > rotation.size
    }

    /// Gives the file its end and begins the next. Nothing is lost at whatever moment the program is killed.
    ///
    /// # Errors
    /// What the system says.
    pub fn rotate(&mut self) -> Result<()> {
        let Some(rotation) = self.rotation else { return Ok(()) };
        self.finish()?;
        let name = &self.name;
        make_way(&self.path, rotation.keep).with_context(|| format!("cannot rename {name}"))?;
        (self.file, self.is_fresh) = open_file(&self.path, name, IfExists::Refuse)?;
        self.length = Some(0);
        self.lock()
    }

    /// Writes a block. What is written can be read at once. Of a block that could not be written nothing stays.
    ///
    /// # Errors
    /// What the system says.
    pub fn write(&mut self, block: &[u8]) -> Result<u64> {
        let led;
        let block = if self.lead.is_empty() {
            block
        } else {
            led = [self.lead, block].concat();
            &led
        };
        let packed = self.gzip.as_mut().map(|gzip| gzip.compress(block)).transpose();
        let packed = packed.with_context(|| format!("cannot write {}", self.name))?;
        let bytes = packed.as_deref().unwrap_or(block);
        self.put(bytes)?;
        self.lead = b"";
        Ok(bytes.len() as u64)
    }

    /// Gives the file its end.
    ///
    /// # Errors
    /// What the system says. What was written before can be read even so.
    pub fn finish(&mut self) -> Result<()> {
        let end = self.gzip.as_mut().map(Gzip::finish).transpose();
        let end = end.with_context(|| format!("cannot write {}", self.name))?.unwrap_or_default();
        // A block that was cut off must not run into what is put behind the file later.
        let lead = if self.gzip.is_some() { b"" } else { std::mem::take(&mut self.lead) };
        self.put(&[lead, &end].concat())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<()> {
        if bytes.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.file.write_all(bytes) {
            // What was compressed and is not in the file must not be ended as if it were.
            self.gzip = None;
            if let Some(length) = self.length {
                // If that fails too, the reader sees that the last sample is not whole.
                let _ = self.file.set_len(length);
            }
            if self.is_fresh && self.length.is_some() {
                let _ = remove_file(&self.path);
            }
            return Err(error).with_context(|| format!("cannot write {}", self.name));
        }
        self.length = self.length.map(|length| length + bytes.len() as u64);
        self.is_fresh = false;
        Ok(())
    }

    /// Two recordings in one file would cut each other off.
    fn lock(&self) -> Result<()> {
        match flock(&self.file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => bail!("another recording is being written to {}", self.name),
            // Not every file system knows locks.
            Ok(()) | Err(_) => Ok(()),
        }
    }

    /// Has the next block begin on a line of its own behind what the file holds.
    fn go_on(&mut self) -> io::Result<()> {
        let mut start = [0; 4];
        self.file.seek(SeekFrom::Start(0))?;
        let read = read_up_to(&mut self.file, &mut start)?;
        if start == [0x28, 0xb5, 0x2f, 0xfd] {
            return Err(io::Error::new(
                ErrorKind::Unsupported,
                "it is compressed with zstd, which is only read",
            ));
        }
        let is_gzip = start[..read].starts_with(&[0x1f, 0x8b]);
        self.gzip = is_gzip.then(Gzip::new);
        let last = if is_gzip {
            repair(&mut OpenOptions::new().read(true).write(true).open(&self.path)?)?
        } else {
            let mut last = [0];
            self.file.seek(SeekFrom::End(-1))?;
            self.file.read_exact(&mut last)?;
            Some(last[0])
        };
        if last.is_some_and(|byte| byte != b'\n') {
            self.lead = b"\n";
        }
        Ok(())
    }
}

impl Drop for RecordingFile {
    /// A process that is just being started from this one has the lock too, until it runs its own program: letting go of
    /// it here frees the file at once.
    fn drop(&mut self) {
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// What others left must not be renamed or deleted unasked, any more than FILE itself be overwritten.
fn refuse_to_move(path: &Path, name: &str, rotation: Rotation) -> Result<()> {
    // Where the folder cannot be read, FILE cannot be written either, or a rename will tell.
    let Ok(Some(number)) = in_the_way(path, rotation.keep) else { return Ok(()) };
    // The name without control characters, as messages have it.
    let other = rotated_name(Path::new(name), number);
    bail!(
        "{} exists already, and --rotate would move or delete it; --append or --force allows that",
        other.display()
    )
}

fn read_up_to(file: &mut File, into: &mut [u8]) -> io::Result<usize> {
    let mut text = Vec::new();
    let read = file.take(into.len() as u64).read_to_end(&mut text)?;
    into[..read].copy_from_slice(&text);
    Ok(read)
}

/// The file, and whether it is new. A device or a pipe is there to be written to.
fn open_file(path: &Path, name: &str, existing: IfExists) -> Result<(File, bool)> {
    let exists = match OpenOptions::new().read(true).append(true).create_new(true).open(path) {
        Ok(file) => return Ok((file, true)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => path.metadata(),
        Err(error) => return Err(error).with_context(|| format!("cannot write {name}")),
    };
    let is_special = match exists {
        Ok(about) if about.is_dir() => bail!("{name} is a directory; a recording goes to a file"),
        Ok(about) => !about.is_file(),
        Err(_) => false,
    };
    if existing == IfExists::Refuse && !is_special {
        bail!("{name} exists already; --append adds to it, --force writes it anew");
    }
    let mut options = OpenOptions::new();
    options.append(true).read(!is_special);
    let file = options.open(path).with_context(|| format!("cannot write {name}"))?;
    Ok((file, false))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_free_when_its_recording_ends_whoever_inherited_it() {
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
