//! Writes a small file in full.

use std::fs::{OpenOptions, Permissions, rename};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::Path;

use anyhow::{Context, Result, bail};

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
            let directory = path.parent().filter(|parent| !parent.as_os_str().is_empty());
            let is_missing = directory.is_some_and(|directory| !directory.is_dir());
            if is_missing { Err(error).with_context(|| format!("cannot write {name}")) } else { Ok(()) }
        }
        Err(error) => Err(error).with_context(|| format!("cannot write {name}")),
    }
}

/// Replaces a file atomically: at any time its contents are either the old or the new ones.
///
/// # Errors
/// If the file cannot be written; the old one then remains.
pub fn write_atomically(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).open(&temporary)?;
    let written = file.write_all(text).and_then(|()| file.sync_all()).and_then(|()| rename(&temporary, path));
    // A partial file is useless. The error of writing matters more than an error of removing the file.
    written.inspect_err(|_| drop(std::fs::remove_file(&temporary)))
}

/// Atomically replaces a file that is written repeatedly and so need not survive a power failure: nothing waits for the
/// disk. The temporary file next to it, with `.new` after its name, is always a new one. Every user may read the file,
/// whatever the umask, because it is for a program of another user.
///
/// # Errors
/// If the file cannot be written; the old one then remains.
pub fn replace_file(path: &Path, text: &[u8]) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".new");
    remove_file(Path::new(&temporary))?;
    // In a directory that others can write to, an existing link of that name could lead anywhere.
    let mut file = OpenOptions::new().write(true).create_new(true).open(&temporary)?;
    file.set_permissions(Permissions::from_mode(0o644))?;
    file.write_all(text)?;
    rename(&temporary, path)
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
