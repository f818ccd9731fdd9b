//! The text of an operating-system error, as C programs print it.

use std::io;

use rustix::io::Errno;

/// Returns the operating system's text of an error, such as `No such file or directory`, without the error number that
/// Rust appends.
pub fn os_error_text(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
}

/// Returns whether the process or the system has no more file descriptors.
pub fn is_lack_of_descriptors(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::MFILE | Errno::NFILE)
    )
}

/// Returns whether the system has no more descriptors or memory.
pub fn is_lack_of_resources(error: &io::Error) -> bool {
    is_lack_of_descriptors(error)
        || matches!(
            Errno::from_io_error(error),
            Some(Errno::NOBUFS | Errno::NOMEM)
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_error_number_is_removed() {
        assert_eq!(
            os_error_text(&io::Error::from_raw_os_error(2)),
            "No such file or directory"
        );
        assert_eq!(
            os_error_text(&io::Error::other("unexpected end")),
            "unexpected end"
        );
    }
}
