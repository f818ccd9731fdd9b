//! Reads small files as a whole and in bounded memory, such as those of /proc and /sys, whose values are unknown (`None`)
//! if they cannot be read; saved files, which may be on a disk that hangs; and the names that links lead to.

use std::fs::{File, OpenOptions, read_dir};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_setfl};

use super::until_signal::open_unblocked;
use crate::clock::poll_inputs;
use crate::os_error::is_lack_of_descriptors;

/// The longest file that is read, in bytes: longer than any of these files. The longest ones list mounts, devices or
/// time zone rules.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// Reads the bytes of a file.
pub(crate) fn read_bytes(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    read_bytes_into(path, &mut bytes).ok()?;
    Some(bytes)
}

/// Reads the bytes of a file into a buffer, replacing its contents: for files that are read again and again.
///
/// # Errors
/// If the file cannot be read or is too large.
pub(crate) fn read_bytes_into(path: &Path, bytes: &mut Vec<u8>) -> io::Result<()> {
    read_all(&open(path)?, bytes)
}

/// The longest wait for data from a FIFO.
const MAX_FIFO_WAIT: Duration = Duration::from_millis(100);

/// Opens a file of /proc or /sys. A FIFO in its place, as in a made or damaged copy of them, must not stop the program: it has
/// data soon, or counts as a file that cannot be read.
fn open(path: &Path) -> io::Result<File> {
    let file = open_unblocked(path)?;
    if file.metadata()?.file_type().is_fifo() {
        if poll_inputs(Some(MAX_FIFO_WAIT), &[Some(file.as_fd())]) == [false] {
            return Err(io::Error::new(
                ErrorKind::TimedOut,
                "it is a FIFO that nothing is written to",
            ));
        }
        fcntl_setfl(&file, OFlags::empty())?;
    }
    Ok(file)
}

fn read_all(file: &File, bytes: &mut Vec<u8>) -> io::Result<()> {
    bytes.clear();
    let read = file.take(MAX_BYTES).read_to_end(bytes)?;
    if read < MAX_BYTES as usize {
        Ok(())
    } else {
        Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("longer than {MAX_BYTES} bytes"),
        ))
    }
}

/// A file that each sample reads. It is opened each time, because it may have been replaced; while the process or the system
/// has no more file descriptors, the file that was opened last is read again.
pub(super) struct SampledFile {
    pub(super) path: PathBuf,
    file: Option<File>,
}

impl SampledFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, file: None }
    }

    /// Reads the bytes of the file into a buffer, replacing its contents.
    ///
    /// # Errors
    /// If the file cannot be read or is too large.
    pub(super) fn read_into(&mut self, bytes: &mut Vec<u8>) -> io::Result<()> {
        match (open(&self.path), &mut self.file) {
            (Ok(file), kept) => read_all(kept.insert(file), bytes),
            (Err(error), Some(kept)) if is_lack_of_descriptors(&error) => {
                kept.seek(SeekFrom::Start(0))?;
                read_all(kept, bytes)
            }
            (Err(error), _) => Err(error),
        }
    }
}

/// Reads a file as text, in which bytes that are not UTF-8, as names may have, are replaced.
pub(crate) fn read_text(path: &Path) -> Option<String> {
    Some(String::from_utf8_lossy(&read_bytes(path)?).into_owned())
}

/// Reads the first line of a file without surrounding blanks; `None` also if the line is empty.
pub(crate) fn read_line(path: &Path) -> Option<String> {
    let text = read_text(path)?;
    let line = text.lines().next()?.trim();
    if line.is_empty() {
        return None;
    }
    Some(line.to_owned())
}

/// Reads a text file that a user or blkstat wrote, such as a configuration file.
///
/// # Errors
/// If the file cannot be read, is too large or is not UTF-8.
pub fn read_text_file(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    read_all(&OpenOptions::new().read(true).open(path)?, &mut bytes)?;
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "stream did not contain valid UTF-8"))
}

/// Reads a text file in a thread that is abandoned after `limit`: it may be on a disk that hangs. `None` if there is no such
/// file for this user.
///
/// # Errors
/// If the file cannot be read, or not in time.
pub fn read_text_file_within(path: &Path, limit: Duration) -> io::Result<Option<String>> {
    let path = path.to_owned();
    match read_within(limit, move || read_text_file(&path)) {
        Some(Ok(text)) => Ok(Some(text)),
        Some(Err(error)) if is_unavailable(&error) => Ok(None),
        Some(Err(error)) => Err(error),
        None => Err(io::Error::new(
            ErrorKind::TimedOut,
            format!("not read within {} ms", limit.as_millis()),
        )),
    }
}

/// Returns whether the error says that there is no such file for this user.
fn is_unavailable(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::PermissionDenied
    )
}

/// Returns the last component of a path; `None` if there is none or it is not UTF-8.
pub(crate) fn file_name(path: &Path) -> Option<String> {
    Some(path.file_name()?.to_str()?.to_owned())
}

/// Returns the last component of the path that a symbolic link points to; `None` if this is not a link.
pub(super) fn link_target_name(link: &Path) -> Option<String> {
    file_name(&link.read_link().ok()?)
}

/// Returns the paths of what a directory contains, by name; none if it cannot be read.
pub(crate) fn paths_in(dir: &Path) -> Vec<PathBuf> {
    let entries = read_dir(dir).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    paths
}

/// Returns the names of the symbolic links in a directory, in their order, with the last components of their targets.
pub(super) fn links_in(dir: &Path) -> impl Iterator<Item = (String, String)> + use<> {
    paths_in(dir)
        .into_iter()
        .filter_map(|link| Some((file_name(&link)?, link_target_name(&link)?)))
}

/// Returns the text of the mounts of a system: those of process 1 if `root` belongs to another system, such as the host as
/// seen from a container; otherwise, or if they are not known, those of this process.
pub(super) fn mountinfos(root: &Path) -> impl Iterator<Item = String> {
    let init = (root != Path::new("/")).then_some("proc/1/mountinfo");
    let paths = init.into_iter().chain(["proc/self/mountinfo"]);
    paths.filter_map(|path| read_text(&resolve_in_root(root, root.join(path))))
}

/// Runs `read` in a separate thread and waits for its result, at most for `limit`. `None` if it takes longer, or if no
/// thread can be created. A thread that takes longer is abandoned and ends with the process.
pub(super) fn read_within<T: Send + 'static>(
    limit: Duration,
    read: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = channel();
    let thread = thread::Builder::new().name("read".to_owned());
    // If the receiver is gone, the result came too late.
    thread.spawn(move || drop(sender.send(read()))).ok()?;
    receiver.recv_timeout(limit).ok()
}

/// Resolves a symbolic link at `path` within `root`: an absolute link in a copied tree must not lead to this system.
pub(super) fn resolve_in_root(root: &Path, path: PathBuf) -> PathBuf {
    if root == Path::new("/") {
        return path;
    }
    match path.read_link() {
        Ok(target) if target.is_absolute() && !is_below(&target, root) => {
            root.join(target.strip_prefix("/").unwrap_or(&target))
        }
        _ => path,
    }
}

fn is_below(target: &Path, root: &Path) -> bool {
    if target.starts_with(root) {
        return true;
    }
    match root.canonicalize() {
        Ok(real_root) => target.starts_with(real_root),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_trimmed_and_never_empty() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        for (text, line) in [
            (" a b \nc\n", Some("a b")),
            ("x", Some("x")),
            ("\nx", None),
            ("", None),
        ] {
            std::fs::write(&path, text).unwrap();
            assert_eq!(read_line(&path).as_deref(), line, "{text:?}");
        }
        assert_eq!(read_line(&folder.path().join("none")), None);
        assert_eq!(read_line(folder.path()), None);
    }

    #[test]
    fn text_that_is_not_utf_8_and_files_that_are_too_large_are_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("f");
        std::fs::write(&path, b"\xff").unwrap();
        assert_eq!(
            (read_text(&path), read_bytes(&path)),
            (Some("\u{fffd}".to_owned()), Some(vec![0xff]))
        );
        assert_eq!(read_bytes(Path::new("/dev/zero")), None);
    }

    const LIMIT: Duration = Duration::from_secs(60);

    #[test]
    fn a_saved_file_is_read_if_it_exists_and_is_text() {
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        std::fs::write(path("text"), "text").unwrap();
        std::fs::write(path("binary"), b"\xff").unwrap();
        let read = |path: PathBuf| read_text_file_within(&path, LIMIT);
        assert_eq!(read(path("text")).unwrap().as_deref(), Some("text"));
        assert_eq!(read(path("none")).unwrap(), None);
        assert_eq!(read(path("text/none")).unwrap(), None);
        for path in [path(""), path("binary"), PathBuf::from("/dev/zero")] {
            let found = read(path);
            assert!(found.is_err(), "{found:?}");
        }
    }

    #[test]
    fn a_read_that_hangs_is_left_behind() {
        let (release, hung) = channel::<()>();
        assert_eq!(
            read_within(Duration::from_millis(1), move || hung.recv().is_ok()),
            None
        );
        drop(release);
        assert_eq!(read_within(Duration::from_secs(60), || 7), Some(7));
    }
}
