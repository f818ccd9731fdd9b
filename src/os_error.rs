//! The text of an operating-system error, as C programs print it.

use std::io;

/// Returns the operating system's text of an error, such as `No such file or directory`, without the error number that
/// Rust appends.
pub fn os_error_text(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error")
        .next()
        .unwrap_or_default()
        .to_owned()
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
