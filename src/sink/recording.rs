//! The file of a recording, and its rotation: FILE becomes FILE.1, FILE.1 becomes FILE.2 and so on; a higher number is
//! older. A block is written completely or not at all, as far as the system allows.

use std::fs::{File, Metadata, OpenOptions, create_dir_all, remove_file, rename};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use flate2::bufread::GzDecoder;
use rustix::fs::{FlockOperation, OFlags, fdatasync, flock, fsync};
use rustix::io::Errno;

use super::atomic_write::{
    IfExists, MAX_NUMBER, open_file, refuse_to_shift, rotated_name, rotated_numbers,
};
use super::gzip::{Gzip, damage, recover};
use crate::compression::{Compression, length_without_zeros};
use crate::sanitize::{path_text, sanitize};

/// The first bytes of a capture that is not compressed: of a header, or of a `TS` line.
const CAPTURE_STARTS: [&[u8]; 2] = [b"#blk", b"TS "];

/// The bytes at the beginning of a file that show whether it is a recording.
const HEAD_BYTES: u64 = 64 * 1024;

/// Something that another program, or a limit, did to the file of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Loss {
    /// Its directory may be gone, too.
    Deleted,
    /// Deleted, and there is another file of its name.
    Replaced,
    /// Cut, as `copytruncate` of logrotate does.
    Truncated,
    /// As large as a limit of the process or of the file system allows.
    Full,
}

/// An open recording.
///
/// A write or a rotation that failed can be tried again: data is kept until it is in the file.
pub struct RecordingFile {
    path: PathBuf,
    /// The path that it was opened with; after a loss the file may have another.
    first_path: PathBuf,
    /// The path as it appears in messages.
    name: String,
    file: File,
    gzip: Option<Gzip>,
    rotation: Option<Rotation>,
    /// The time of the first sample, or of the last change of a file that is appended to; `None` for an empty file.
    begin_s: Option<i64>,
    /// The length of the file in bytes, which ends with a complete block; `None` if it is not a regular file.
    length: Option<u64>,
    /// Bytes that could not be written yet.
    pending: Vec<u8>,
    /// True if the last line of the file lacks its newline, which must precede the next block.
    needs_newline: bool,
    /// True if the file was created and is still empty.
    is_new: bool,
    /// True if bytes were written since the file was last synced.
    is_dirty: bool,
    /// True if files were created or renamed since the directory was last synced.
    is_directory_dirty: bool,
    /// The reason why an existing file was rotated instead of being appended to; `None` if it was not.
    pub(super) damage: Option<String>,
}

impl RecordingFile {
    /// Opens a file and locks it against other recordings. A new file is compressed if its name ends in `.gz`; an
    /// existing one keeps its format when it is appended to, and is rotated if it is damaged. `name` is the path as it
    /// appears in messages.
    ///
    /// # Errors
    /// If the file exists but must not, is a directory or a block device, has a name that ends in `.zst`, is a symbolic
    /// link although it is to be rotated, or cannot be written.
    pub fn open(
        path: &Path,
        name: &str,
        if_exists: IfExists,
        rotation: Option<Rotation>,
    ) -> Result<Self> {
        if path.extension().is_some_and(|extension| extension == "zst") {
            bail!("cannot write {name}: zstd files can only be read; use a name that ends in .gz");
        }
        if rotation.is_some() && if_exists == IfExists::Refuse && !path.exists() {
            refuse_to_shift(path, name)?;
        }
        if rotation.is_some() && path.is_symlink() {
            bail!("{name} is a symbolic link; --rotate would rename the link, not the file");
        }
        let (file, is_new) = open_file(path, name, if_exists)?;
        let mut recording = Self {
            path: path.to_owned(),
            first_path: path.to_owned(),
            name: name.to_owned(),
            file,
            gzip: is_gzip_name(path).then(Gzip::new),
            rotation,
            begin_s: None,
            length: None,
            pending: Vec::new(),
            needs_newline: false,
            is_new,
            is_dirty: false,
            is_directory_dirty: is_new,
            damage: None,
        };
        let metadata = recording
            .file
            .metadata()
            .with_context(|| format!("cannot write {name}"))?;
        if !metadata.is_file() {
            if rotation.is_some() {
                bail!("{name} is not a regular file; it cannot be rotated");
            }
            return Ok(recording);
        }
        recording.lock()?;
        match if_exists {
            IfExists::Refuse => {}
            IfExists::Replace => recording
                .file
                .set_len(0)
                .with_context(|| format!("cannot write {name}"))?,
            IfExists::Append if metadata.len() > 0 => {
                recording.begin_s = Some(metadata.mtime());
                match recording.prepare_append() {
                    Err(error) if error.kind() == ErrorKind::InvalidData => {
                        recording.rotate_damaged(&error)?
                    }
                    prepared => prepared.with_context(|| format!("cannot append to {name}"))?,
                }
            }
            IfExists::Append => {}
        }
        let metadata = recording
            .file
            .metadata()
            .with_context(|| format!("cannot write {name}"))?;
        recording.length = Some(metadata.len());
        Ok(recording)
    }

    /// Keeps the file, which cannot be continued, as the latest of the rotated ones, and starts the next one.
    ///
    /// # Errors
    /// If the recording has no rotation, and those of [`Self::rotate`].
    fn rotate_damaged(&mut self, error: &io::Error) -> Result<()> {
        let name = &self.name;
        if self.rotation.is_none() {
            bail!(
                "cannot append to {name}: {error}; record to another file, or add --rotate to keep this one"
            );
        }
        self.damage = Some(error.to_string());
        self.gzip = is_gzip_name(&self.path).then(Gzip::new);
        self.rotate()
    }

    /// Returns whether the file should be rotated before a block of this length, of a sample taken at this time: the
    /// file would exceed its size, or a new period has begun.
    pub fn is_rotation_due(&mut self, block: usize, epoch_s: i64, utc_offset_s: i64) -> bool {
        let (Some(rotation), Some(length)) = (self.rotation, self.length) else {
            return false;
        };
        let begin_s = *self.begin_s.get_or_insert(epoch_s);
        let has_new_period = match rotation.every {
            Some(every) => {
                period(begin_s, utc_offset_s, every) != period(epoch_s, utc_offset_s, every)
            }
            None => false,
        };
        let block = block + usize::from(self.needs_newline);
        let bytes = if self.gzip.is_some() {
            Gzip::max_compressed_bytes(block)
        } else {
            block
        };
        let is_full = match rotation.size {
            Some(size) => length.saturating_add(bytes as u64) > size,
            None => false,
        };
        length > 0 && (has_new_period || is_full)
    }

    /// Completes the file and starts the next one. Nothing is lost if the program is killed meanwhile. After an error, the
    /// next call does what is left: a complete file has nothing to write, and one that was renamed is no longer there.
    ///
    /// # Errors
    /// If a file cannot be written, synced or renamed.
    pub fn rotate(&mut self) -> Result<()> {
        let Some(rotation) = self.rotation else {
            return Ok(());
        };
        self.finish()?;
        self.sync()?;
        let name = &self.name;
        shift_files(&self.path, rotation.keep).with_context(|| format!("cannot rename {name}"))?;
        delete_excess(&self.path, rotation)
            .with_context(|| format!("cannot delete old files of {name}"))?;
        self.start_next()
    }

    /// Continues the file, which may have been completed, after it could not be rotated.
    pub fn go_on(&mut self) {
        self.gzip = self.gzip.is_some().then(Gzip::new);
    }

    /// Returns what happened to the file so that nothing written to it could be read later; `None` if nothing did.
    pub fn loss(&self) -> Option<Loss> {
        let length = self.length?;
        let found = self.file.metadata().ok()?;
        if found.nlink() == 0 {
            let is_replaced = self.path.symlink_metadata().is_ok();
            return Some(if is_replaced {
                Loss::Replaced
            } else {
                Loss::Deleted
            });
        }
        (found.len() < length).then_some(Loss::Truncated)
    }

    /// Goes on after a loss: at the end of the truncated file if it can be repaired, otherwise in a new file of this name or of the
    /// first free name of a rotated file. Returns what happened, for the user.
    ///
    /// # Errors
    /// If no file can be created.
    pub fn recover(&mut self, loss: Loss) -> Result<String> {
        let before = self.name.clone();
        self.gzip = self.gzip.is_some().then(Gzip::new);
        self.pending.clear();
        self.needs_newline = false;
        if loss == Loss::Truncated && self.continue_truncated().is_ok() {
            return Ok(format!(
                "{before} was truncated; the recording goes on in it"
            ));
        }
        if let Some(parent) = self.path.parent() {
            // If it cannot be created, neither can the file.
            let _ = create_dir_all(parent);
        }
        if self.path.symlink_metadata().is_ok() {
            let mut number = 1;
            self.path = rotated_name(&self.first_path, number);
            while number < MAX_NUMBER && self.path.symlink_metadata().is_ok() {
                number += 1;
                self.path = rotated_name(&self.first_path, number);
            }
            self.name = path_text(&self.path);
        }
        self.start_next()?;
        let name = &self.name;
        Ok(match loss {
            Loss::Truncated => {
                format!("{before} was truncated and is damaged; the recording goes on in {name}")
            }
            Loss::Deleted => format!(
                "{before} was deleted, with the samples before; the recording goes on in a new file"
            ),
            Loss::Replaced => format!(
                "{before} was replaced by another file, and its samples are lost; the recording goes on in {name}"
            ),
            Loss::Full => {
                format!("{before} has reached a limit of its size; the recording goes on in {name}")
            }
        })
    }

    /// Repairs what is left of a truncated file, so that what follows can be read.
    ///
    /// # Errors
    /// If it cannot be repaired, or is no longer the file of this name.
    fn continue_truncated(&mut self) -> io::Result<()> {
        let (found, named) = (self.file.metadata()?, self.path.symlink_metadata()?);
        if (found.dev(), found.ino()) != (named.dev(), named.ino()) {
            return Err(ErrorKind::NotFound.into());
        }
        if found.len() > 0 {
            self.prepare_append()?;
        }
        self.length = Some(self.file.metadata()?.len());
        self.begin_s = None;
        Ok(())
    }

    /// Creates an empty file in place of the one that was renamed or deleted.
    fn start_next(&mut self) -> Result<()> {
        (self.file, self.is_new) = open_file(&self.path, &self.name, IfExists::Refuse)?;
        self.length = Some(0);
        self.begin_s = None;
        self.is_directory_dirty = true;
        self.lock()
    }

    /// Writes a block, which readers can decode at once, and returns the number of bytes written.
    ///
    /// # Errors
    /// If the file cannot be written. It then ends with the previous block, and [`Self::write_pending`] can try again.
    pub fn write(&mut self, block: &[u8]) -> Result<u64> {
        let newline: &[u8] = if self.needs_newline { b"\n" } else { b"" };
        let block = [newline, block].concat();
        self.pending = match &mut self.gzip {
            Some(gzip) => gzip
                .compress(&block)
                .with_context(|| format!("cannot write {}", self.name))?,
            None => block,
        };
        self.needs_newline = false;
        self.write_pending()
    }

    /// Writes the bytes that could not be written before, and returns their number.
    ///
    /// # Errors
    /// Those of [`Self::write`].
    pub fn write_pending(&mut self) -> Result<u64> {
        let bytes = self.pending.len() as u64;
        if bytes == 0 {
            return Ok(0);
        }
        if let Err(error) = self.file.write_all(&self.pending) {
            if let Some(length) = self.length {
                // If that fails too, readers see that the last sample is truncated.
                let _ = self.file.set_len(length);
            }
            return Err(error).with_context(|| format!("cannot write {}", self.name));
        }
        self.pending.clear();
        self.length = self.length.map(|length| length + bytes);
        self.is_new = false;
        self.is_dirty = true;
        Ok(bytes)
    }

    /// Completes the file.
    ///
    /// # Errors
    /// If the file cannot be written; every earlier block can still be read.
    pub fn finish(&mut self) -> Result<()> {
        if self.pending.is_empty() {
            self.pending = match &mut self.gzip {
                Some(gzip) => gzip
                    .finish()
                    .with_context(|| format!("cannot write {}", self.name))?,
                // Text that someone appends later must not continue a truncated line.
                None if std::mem::take(&mut self.needs_newline) => b"\n".to_vec(),
                None => Vec::new(),
            };
        }
        self.write_pending().map(|_| ())
    }

    /// Removes the file if nothing could be written to it.
    pub fn remove_if_empty(&self) {
        if self.is_new && self.length == Some(0) {
            // It remains if it cannot be removed.
            let _ = remove_file(&self.path);
        }
    }

    /// Returns whether a failed write can be tried again: true only for a regular file, because other files may already
    /// have received a part.
    pub fn can_retry(&self) -> bool {
        self.length.is_some()
    }

    /// Returns whether the file has bytes that a power failure could destroy.
    pub fn needs_sync(&self) -> bool {
        self.is_dirty && self.length.is_some()
    }

    /// Waits until all written data is on the disk (fdatasync(2)), and also the name of a new file.
    ///
    /// # Errors
    /// If the disk reports an error.
    pub fn sync(&mut self) -> Result<()> {
        if !self.needs_sync() {
            return Ok(());
        }
        match fdatasync(&self.file) {
            // Not every file system can sync.
            Ok(()) | Err(Errno::INVAL | Errno::NOTSUP) => {}
            Err(error) => {
                return Err(io::Error::from(error))
                    .with_context(|| format!("cannot sync {}", self.name));
            }
        }
        self.is_dirty = false;
        if std::mem::take(&mut self.is_directory_dirty) {
            let parent = self
                .path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty());
            let directory = OpenOptions::new()
                .read(true)
                .open(parent.unwrap_or(Path::new(".")));
            // Few file systems need this, and not all support it.
            let _ = directory.map(|directory| fsync(&directory));
        }
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
        (&self.file).take(HEAD_BYTES).read_to_end(&mut start)?;
        check_head(&start)?;
        self.gzip = None;
        let last = match Compression::detect(&start) {
            Some(Compression::Zstd) => {
                return Err(io::Error::new(
                    ErrorKind::Unsupported,
                    "zstd files can only be read",
                ));
            }
            Some(Compression::Gzip) => {
                self.gzip = Some(Gzip::new());
                // The file itself is open for appending only.
                let mut options = OpenOptions::new();
                options.read(true).write(true);
                options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
                recover(&mut options.open(&self.path)?)?
            }
            None if is_gzip_name(&self.path) && start.iter().all(|byte| *byte == 0) => {
                return Err(damage("it begins with zeros, not with gzip data"));
            }
            None => {
                // Only in a capture are zeros at the end no data.
                if CAPTURE_STARTS.iter().any(|first| start.starts_with(first)) {
                    self.file.set_len(length_without_zeros(&self.file, 1)?)?;
                }
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

/// Checks the beginning of a file that is appended to: it has a line of a recording, is of zeros as after a power failure, or
/// ends within its first line.
///
/// # Errors
/// If it is of something else.
fn check_head(start: &[u8]) -> io::Result<()> {
    let text = decompressed(start);
    let is_beginning = CAPTURE_STARTS.iter().any(|first| first.starts_with(&text));
    if has_recorded_line(&text) || is_beginning || text.iter().all(|byte| *byte == 0) {
        return Ok(());
    }
    let text = String::from_utf8_lossy(&text);
    let found: String = text
        .lines()
        .next()
        .unwrap_or_default()
        .chars()
        .take(20)
        .collect();
    let message = format!(
        "it begins with '{}' and is not a recording; record to another file",
        sanitize(&found)
    );
    Err(io::Error::new(ErrorKind::Unsupported, message))
}

/// Returns whether a file begins as a recording does.
pub fn is_recording(path: &Path) -> bool {
    let mut start = Vec::new();
    if let Ok(file) = OpenOptions::new().read(true).open(path) {
        // What cannot be read is none.
        let _ = file.take(HEAD_BYTES).read_to_end(&mut start);
    }
    has_recorded_line(&decompressed(&start))
}

/// The text of the beginning of a file, which may be compressed.
fn decompressed(start: &[u8]) -> Vec<u8> {
    if Compression::detect(start) != Some(Compression::Gzip) {
        return start.to_vec();
    }
    let mut text = Vec::new();
    // What is damaged ends early.
    let _ = GzDecoder::new(start)
        .take(HEAD_BYTES)
        .read_to_end(&mut text);
    text
}

fn has_recorded_line(text: &[u8]) -> bool {
    text.split(|byte| *byte == b'\n')
        .any(|line| CAPTURE_STARTS.iter().any(|first| line.starts_with(first)))
}

/// Returns whether a new file of this name is compressed.
fn is_gzip_name(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "gz")
}

impl Drop for RecordingFile {
    /// Completes compressed data, and unlocks the file explicitly: a child process that is just being started also holds the
    /// lock, until it executes its program.
    fn drop(&mut self) {
        if self.gzip.is_some() {
            let _ = self.finish();
        }
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

/// The conditions for rotating a file, and for keeping rotated files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// The maximum size of a file in bytes; it is exceeded only by a single sample that is larger. `None` for no limit.
    pub size: Option<u64>,
    /// The period of time that a file covers, such as a day from midnight to midnight; `None` for no limit.
    pub every: Option<Duration>,
    /// The number of rotated files to keep, at least 1; `None` keeps all.
    pub keep: Option<u32>,
    /// The most bytes that rotated files may have together; `None` for no limit.
    pub keep_bytes: Option<u64>,
}

/// Returns the number of the period of length `every` that contains a time. The first began at midnight, local time;
/// local clocks are `utc_offset_s` ahead of UTC.
fn period(epoch_s: i64, utc_offset_s: i64, every: Duration) -> i64 {
    let every = i64::try_from(every.as_secs()).unwrap_or(i64::MAX).max(1);
    (epoch_s + utc_offset_s).div_euclid(every)
}

/// Deletes the oldest rotated files until the rest are as few and as small as the rotation allows.
///
/// # Errors
/// If the directory cannot be read or a file cannot be deleted.
fn delete_excess(path: &Path, rotation: Rotation) -> io::Result<()> {
    if (rotation.keep, rotation.keep_bytes) == (None, None) {
        return Ok(());
    }
    let max_bytes = rotation.keep_bytes.unwrap_or(u64::MAX);
    let mut bytes: u64 = 0;
    for (older, number) in (1..).zip(rotated_numbers(path)?) {
        let file = rotated_name(path, number);
        bytes = bytes.saturating_add(file.symlink_metadata()?.len());
        if bytes > max_bytes || older > max_files(rotation.keep) {
            remove_file(file)?;
        }
    }
    Ok(())
}

/// Returns the maximum number of rotated files.
fn max_files(keep: Option<u32>) -> u64 {
    keep.map_or(MAX_NUMBER, |keep| u64::from(keep.max(1)))
}

/// Renames FILE to FILE.1 after renaming the rotated files up to the first gap to the next number. Only the file with
/// the highest number is lost, and only if there is no gap.
///
/// The oldest is renamed first: if the program is killed meanwhile, a gap remains but nothing is lost, and the next
/// rotation fills the gap.
///
/// # Errors
/// If a file cannot be renamed.
fn shift_files(path: &Path, keep: Option<u32>) -> io::Result<()> {
    if path.symlink_metadata().is_err() {
        // It was renamed already, or moved elsewhere, where it is complete.
        return Ok(());
    }
    let last = max_files(keep);
    let mut names = Vec::new();
    for number in 1..=MAX_NUMBER {
        let name = rotated_name(path, number);
        let found = name.symlink_metadata();
        // A directory was put there by someone else, and stays.
        if found.as_ref().is_ok_and(Metadata::is_dir) {
            continue;
        }
        names.push(name);
        if found.is_err() || names.len() as u64 == last {
            break;
        }
    }
    for pair in names.windows(2).rev() {
        rename(&pair[0], &pair[1])?;
    }
    match names.first() {
        Some(first) => rename(path, first),
        None => Ok(()),
    }
}

#[allow(clippy::disallowed_methods)]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::compression::GZIP_MAGIC;

    #[test]
    fn zeros_at_the_end_are_cut_off_a_capture_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        for (start, is_capture) in [
            ("#blkstat {}\n", true),
            ("TS 1.5\n", true),
            ("other\n", false),
            ("", false),
        ] {
            for count in [1, 3, 70_000, 200_000] {
                let text = [start.as_bytes(), &vec![0; count]].concat();
                crate::sink::write_atomically(&path, &text).unwrap();
                let opened = RecordingFile::open(&path, "a", IfExists::Append, None);
                assert_eq!(opened.is_ok(), is_capture || start.is_empty());
                drop(opened);
                let left = if is_capture { start.len() } else { text.len() };
                assert_eq!(
                    path.metadata().unwrap().len(),
                    left as u64,
                    "{start:?} {count}"
                );
            }
        }
    }

    #[test]
    fn a_compressed_file_of_which_only_zeros_are_left_is_rotated() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.gz");
        crate::sink::write_atomically(&path, &[0; 5000]).unwrap();
        assert!(RecordingFile::open(&path, "a.gz", IfExists::Append, None).is_err());
        let rotation = Some(Rotation {
            keep: Some(3),
            ..Rotation::default()
        });
        let mut recording = RecordingFile::open(&path, "a.gz", IfExists::Append, rotation).unwrap();
        recording.write(b"text\n").unwrap();
        assert!(
            recording.damage.is_some() && std::fs::read(&path).unwrap().starts_with(&GZIP_MAGIC)
        );
        assert_eq!(folder.path().join("a.1.gz").metadata().unwrap().len(), 5000);
    }

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

#[allow(clippy::disallowed_methods)]
#[cfg(test)]
mod rotation_tests {
    use super::*;
    use std::fs::{read_to_string, write};

    #[test]
    fn the_number_precedes_the_extension_of_gzip() {
        assert_eq!(
            rotated_name(Path::new("a/host.txt"), 1),
            Path::new("a/host.txt.1")
        );
        assert_eq!(
            rotated_name(Path::new("a/host.txt.gz"), 12),
            Path::new("a/host.txt.12.gz")
        );
    }

    #[test]
    fn files_shift_up_and_a_gap_is_filled_first() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        let text = |n: u64| read_to_string(rotated_name(&path, n)).unwrap_or_default();
        for round in 0..6 {
            write(&path, round.to_string()).unwrap();
            shift_files(&path, Some(3)).unwrap();
        }
        assert_eq!([1, 2, 3, 4].map(text), ["5", "4", "3", ""]);
        std::fs::remove_file(rotated_name(&path, 2)).unwrap();
        write(&path, "6").unwrap();
        shift_files(&path, Some(3)).unwrap();
        assert_eq!([1, 2, 3, 4].map(text), ["6", "5", "3", ""]);
        write(&path, "7").unwrap();
        shift_files(&path, None).unwrap();
        assert_eq!([1, 2, 3, 4].map(text), ["7", "6", "5", "3"]);
    }

    #[test]
    fn only_rotated_files_are_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.txt");
        for other in [
            "f.txt",
            "f.txt.01",
            "f.txt.1.gz",
            "f.txt.0",
            "f.txt.old",
            "f.1.txt",
            "g.txt.1",
        ] {
            write(folder.path().join(other), "").unwrap();
        }
        assert!(rotated_numbers(&path).unwrap().is_empty());
        write(folder.path().join("f.txt.7"), "").unwrap();
        write(folder.path().join("f.txt.3"), "").unwrap();
        assert_eq!(rotated_numbers(&path).unwrap(), [3, 7]);
        write(folder.path().join("f.2.gz"), "").unwrap();
        assert_eq!(rotated_numbers(&folder.path().join("f.gz")).unwrap(), [2]);
    }

    #[test]
    fn the_oldest_files_are_deleted_beyond_a_number_or_a_total_size() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f.gz");
        for number in 1..=12 {
            write(rotated_name(&path, number), [0; 100]).unwrap();
        }
        let left = |keep, keep_bytes| {
            delete_excess(
                &path,
                Rotation {
                    keep,
                    keep_bytes,
                    ..Rotation::default()
                },
            )
            .unwrap();
            rotated_numbers(&path).unwrap()
        };
        assert_eq!(left(None, None).len(), 12);
        assert_eq!(left(None, Some(1000)), (1..=10).collect::<Vec<_>>());
        std::fs::remove_file(rotated_name(&path, 2)).unwrap();
        assert_eq!(left(Some(5), Some(1000)), [1, 3, 4, 5, 6]);
        assert_eq!(left(Some(5), Some(399)), [1, 3, 4]);
        assert!(left(None, Some(0)).is_empty());
    }

    #[test]
    fn periods_begin_at_midnight_of_the_local_time() {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        // 2026-11-20 23:59:59 one hour ahead of UTC.
        let before_midnight = 1_795_215_599;
        let days = [-80_000, 0, 1].map(|seconds| period(before_midnight + seconds, 3600, DAY));
        assert!(days[0] == days[1] && days[2] == days[1] + 1, "{days:?}");
    }
}
