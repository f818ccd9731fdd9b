//! Opens the file of a recording, without touching existing files unless requested.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::rotation::{rotated_name, rotated_numbers};

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

/// Fails if there are rotated files, which this recording would rename or delete: like FILE itself, they are not
/// overwritten unless requested.
pub(super) fn refuse_to_shift(path: &Path, name: &str) -> Result<()> {
    // If the directory cannot be read, opening FILE or renaming it reports that.
    let numbers = rotated_numbers(path).unwrap_or_default();
    let Some(number) = numbers.first() else { return Ok(()) };
    // `name` has no control characters and is for messages.
    let existing = rotated_name(Path::new(name), *number);
    bail!(
        "{} already exists and --rotate would rename or delete it; use --append or --force to allow that",
        existing.display()
    )
}

/// Opens the file for appending and returns whether it is new. A block device is always refused, because a recording
/// would overwrite its data; another device or a pipe never is.
pub(super) fn open_file(path: &Path, name: &str, if_exists: IfExists) -> Result<(File, bool)> {
    let metadata = match OpenOptions::new().read(true).append(true).create_new(true).mode(MODE).open(path) {
        Ok(file) => return Ok((file, true)),
        Err(error) if error.kind() == ErrorKind::AlreadyExists => path.metadata(),
        Err(error) => return Err(error).with_context(|| format!("cannot write {name}")),
    };
    let is_special = match metadata {
        Ok(metadata) if metadata.is_dir() => bail!("{name} is a directory, not a file"),
        Ok(metadata) if metadata.file_type().is_block_device() => bail!("{}", block_device_message(name)),
        Ok(metadata) => !metadata.is_file(),
        Err(error) if error.kind() == ErrorKind::NotFound && path.is_symlink() => {
            bail!("{name} is a symbolic link to a file that does not exist")
        }
        Err(_) => false,
    };
    if if_exists == IfExists::Refuse && !is_special {
        bail!("{name} already exists; use --append to append to it or --force to overwrite it");
    }
    let mut options = OpenOptions::new();
    options.append(true).read(!is_special);
    let file = options.open(path).with_context(|| format!("cannot write {name}"))?;
    Ok((file, false))
}

/// Returns the message about a block device that was given as the file to write.
pub fn block_device_message(name: &str) -> String {
    format!(
        "{name} is a block device, not a file to write; to record it: blkstat record --device {name} FILE"
    )
}
