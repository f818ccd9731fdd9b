//! The text of an operating-system error, as C programs print it.

use std::io;

use rustix::io::Errno;

/// Returns the operating system's text of an error, such as `No such file or directory`.
pub fn os_error_text(error: &io::Error) -> String {
    without_error_numbers(&error.to_string())
}

/// Removes the error numbers that Rust appends to the texts of the operating system: ` (os error 2)`.
pub fn without_error_numbers(message: &str) -> String {
    let mut parts = message.split(" (os error ");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        text += part.split_once(')').map_or(part, |(_, rest)| rest);
    }
    text
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
        assert_eq!(
            without_error_numbers("a: not a directory (os error 20); b: full (os error 28)"),
            "a: not a directory; b: full"
        );
    }
}
