//! Reads that may hang: of a file on a disk that does not answer, or of a sysfs file that sends a request to its
//! device.

use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_read_that_hangs_is_left_behind() {
        let (release, hung) = channel::<()>();
        assert_eq!(read_within(Duration::from_millis(1), move || hung.recv().is_ok()), None);
        drop(release);
        assert_eq!(read_within(Duration::from_secs(60), || 7), Some(7));
    }
}
