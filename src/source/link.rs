//! The file names that links lead to: kernel names of devices.

use std::path::Path;

/// Returns the last component of a path; `None` if there is none or it is not UTF-8.
pub(super) fn file_name(path: &Path) -> Option<String> {
    path.file_name().and_then(|name| name.to_str()).map(str::to_owned)
}

/// Returns the last component of the path that a symbolic link points to; `None` if this is not a link.
pub(super) fn link_target_name(link: &Path) -> Option<String> {
    file_name(&link.read_link().ok()?)
}
