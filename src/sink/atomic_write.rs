//! Opens files, without touching existing ones unless requested, and writes small ones in full.

use std::fs::{File, OpenOptions, Permissions, rename};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use rustix::fs::OFlags;
use rustix::process::geteuid;

use crate::sanitize::sanitize;

/// Checks that a file can be created, before its contents are produced: it does not exist yet, or it is a regular file
/// that may be overwritten. `name` is the name of the file without control characters, for messages.
///
/// # Errors
/// If it exists and must not be overwritten, or is not a regular file, or its directory does not exist.
pub fn check_new_file(path: &Path, name: &str, may_overwrite: bool) -> Result<()> {
    match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => bail!("{name} is a directory, not a file"),
        Ok(metadata) if metadata.file_type().is_block_device() => {
            bail!("{name} is a block device, not a file to write")
        }
        Ok(metadata) if !metadata.is_file() => bail!("{name} exists and is not a regular file"),
        Ok(_) if !may_overwrite => bail!("{name} already exists; use --force to overwrite it"),
        Ok(_) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let directory = path
                .parent()
                .filter(|parent| !parent.as_os_str().is_empty());
            let is_missing = directory.is_some_and(|directory| !directory.is_dir());
            if is_missing {
                Err(error).with_context(|| format!("cannot write {name}"))
            } else {
                Ok(())
            }
        }
        Err(error) => Err(error).with_context(|| format!("cannot write {name}")),
    }
}

/// Returns whether what is read and what is written are one regular file, by whatever names; `-` is standard input and output.
pub fn is_same_file(from: &Path, to: &Path) -> bool {
    let from = if from.as_os_str() == "-" {
        Path::new("/dev/stdin")
    } else {
        from
    };
    let to = if to.as_os_str() == "-" {
        Path::new("/dev/stdout")
    } else {
        to
    };
    let (Ok(from), Ok(to)) = (from.metadata(), to.metadata()) else {
        return false;
    };
    from.is_file() && (from.dev(), from.ino()) == (to.dev(), to.ino())
}

/// Replaces a file atomically: at any time its contents are either the old or the new ones.
///
/// # Errors
/// If the file cannot be written; the old one then remains.
pub fn write_atomically(path: &Path, text: &[u8]) -> io::Result<()> {
    replace(path, text, ANYONE, File::sync_all)
}

/// Does the same with a file that not every user may read, as of a recording: it names processes and cgroups of all users.
///
/// # Errors
/// Those of [`write_atomically`].
pub fn write_page_atomically(path: &Path, text: &[u8]) -> io::Result<()> {
    replace(path, text, MODE, File::sync_all)
}

/// Atomically replaces a file that is written repeatedly and so need not survive a power failure: nothing waits for the
/// disk. Every user may read the file, whatever the umask, because it is for a program of another user.
///
/// # Errors
/// If the file cannot be written; the old one then remains.
pub fn replace_file(path: &Path, text: &[u8]) -> io::Result<()> {
    replace(path, text, ANYONE, |file| {
        file.set_permissions(Permissions::from_mode(0o644))
    })
}

/// Replaces a file by a new one, which is next to it with `.new` after its name until it is complete.
fn replace(
    path: &Path,
    text: &[u8],
    mode: u32,
    finish: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    remove_file(Path::new(&temporary))?;
    // In a directory that others can write to, an existing link of that name could lead anywhere.
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&temporary)?;
    let written = file
        .write_all(text)
        .and_then(|()| finish(&file))
        .and_then(|()| rename(&temporary, path));
    // A partial file is useless. The error of writing matters more than an error of removing the file.
    written.inspect_err(|_| drop(std::fs::remove_file(&temporary)))
}

/// Removes a file, if there is one.
///
/// # Errors
/// If it cannot be removed.
pub fn remove_file(path: &Path) -> io::Result<()> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The mode of a file that anyone may read and write whom the umask permits that.
const ANYONE: u32 = 0o666;
/// The mode of a new recording. Not every user may read it, because it names processes and cgroups of all users.
const MODE: u32 = 0o640;

/// The action for a file that already exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IfExists {
    #[default]
    Refuse,
    Append,
    Replace,
}

/// The highest number of a rotated file.
pub(super) const MAX_NUMBER: u64 = u32::MAX as u64;

/// Returns the name of a rotated file: `host.txt.1` for `host.txt`, and `host.1.gz` for `host.gz`, so that zcat and
/// similar programs still recognize it.
pub fn rotated_name(path: &Path, number: u64) -> PathBuf {
    let name = path.as_os_str().to_string_lossy();
    if let (Some(stem), true) = (name.strip_suffix(".gz"), path.to_str().is_some()) {
        return PathBuf::from(format!("{stem}.{number}.gz"));
    }
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

/// Returns the numbers of the rotated files of `path`, in ascending order.
///
/// # Errors
/// If the directory cannot be read.
pub(super) fn rotated_numbers(path: &Path) -> io::Result<Vec<u64>> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let mut found = Vec::new();
    for entry in parent.read_dir()? {
        let entry = entry?;
        // A directory was put there by someone else, and stays.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        let name = entry.file_name();
        // The number is the last part of the name, or the one before `gz`.
        for digits in name.as_encoded_bytes().rsplit(|byte| *byte == b'.').take(2) {
            let number = std::str::from_utf8(digits)
                .unwrap_or_default()
                .parse()
                .unwrap_or(0);
            if (1..=MAX_NUMBER).contains(&number)
                && rotated_name(path, number).file_name() == Some(&name)
            {
                found.push(number);
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Fails if there are rotated files, which this recording would rename or delete: like FILE itself, they are not
/// overwritten unless requested.
pub(super) fn refuse_to_shift(path: &Path, name: &str) -> Result<()> {
    // If the directory cannot be read, opening FILE or renaming it reports that.
    let numbers = rotated_numbers(path).unwrap_or_default();
    let Some(number) = numbers.first() else {
        return Ok(());
    };
    // `name` has no control characters and is for messages.
    let existing = rotated_name(Path::new(name), *number);
    bail!(
        "{} already exists and --rotate would rename or delete it; use --append or --force to allow that",
        existing.display()
    )
}

/// Opens the file for appending and returns whether it is new. A block device is always refused, because a recording
/// would overwrite its data; another device or a pipe never is. A link to a file is never followed, because another user may
/// have put it there.
pub(super) fn open_file(path: &Path, name: &str, if_exists: IfExists) -> Result<(File, bool)> {
    let metadata = match OpenOptions::new()
        .read(true)
        .append(true)
        .create_new(true)
        .mode(MODE)
        .open(path)
    {
        Ok(file) => return Ok((file, true)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => path.metadata(),
        Err(error) => return Err(error).with_context(|| format!("cannot write {name}")),
    };
    let is_link = path.is_symlink();
    if is_link {
        check_link(path, name)?;
    }
    let is_special = match metadata {
        Ok(metadata) if metadata.is_dir() => bail!("{name} is a directory, not a file"),
        Ok(metadata) if metadata.file_type().is_block_device() => {
            bail!("{}", block_device_message(name))
        }
        Ok(metadata) => !metadata.is_file(),
        Err(_) => false,
    };
    if if_exists == IfExists::Refuse && !is_special {
        bail!("{name} already exists; use --append to append to it or --force to overwrite it");
    }
    let mut options = OpenOptions::new();
    options.append(true).read(!is_special);
    if !is_link {
        options.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
    }
    let file = options
        .open(path)
        .with_context(|| format!("cannot write {name}"))?;
    Ok((file, false))
}

/// Checks that a link may be followed: it leads to a device or a pipe, as /dev/stdout does, and belongs to this user or to root.
fn check_link(path: &Path, name: &str) -> Result<()> {
    let owner = path.symlink_metadata().map_or(u32::MAX, |link| link.uid());
    if ![0, geteuid().as_raw()].contains(&owner) {
        bail!("{name} is a symbolic link of another user, which is not followed");
    }
    match path.metadata() {
        Ok(target) if target.is_file() => {
            let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
            let real = sanitize(&real.to_string_lossy()).into_owned();
            bail!(
                "{name} is a symbolic link, which is not followed; name the file it leads to: {real}"
            )
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            bail!("{name} is a symbolic link to a file that does not exist")
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Returns the message about a block device that was given as the file to write.
pub fn block_device_message(name: &str) -> String {
    format!(
        "{name} is a block device, not a file to write; to record it: blkstat record FILE {name}"
    )
}

#[cfg(test)]
mod tests {
    use std::fs::{metadata, read_dir, write};
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn a_file_is_replaced_and_links_in_the_way_are_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.prom");
        let other = folder.path().join("other");
        write(&other, "other").unwrap();
        symlink(&other, folder.path().join("a.prom.new")).unwrap();
        replace_file(&path, b"1").unwrap();
        replace_file(&path, b"22").unwrap();
        let bytes = |path| metadata(path).unwrap().len();
        assert_eq!((bytes(&path), bytes(&other)), (2, 5));
        assert_eq!(read_dir(folder.path()).unwrap().count(), 2);
        remove_file(&path).unwrap();
        remove_file(&path).unwrap();
        assert!(replace_file(&folder.path().join("nosuch/a.prom"), b"").is_err());
    }

    #[test]
    fn nothing_remains_of_a_file_that_cannot_be_written() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("page.html");
        // A directory cannot be replaced by a file.
        std::fs::create_dir(&path).unwrap();
        assert!(write_atomically(&path, b"new").is_err());
        assert_eq!(read_dir(directory.path()).unwrap().count(), 1);
    }
}
