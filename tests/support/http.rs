//! A minimal HTTP client, and a running exporter.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use super::program::blkstat;

/// The longest wait for an answer.
const TIMEOUT: Duration = Duration::from_secs(30);

/// An answer.
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The status line and the headers.
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

/// Sends a request of HTTP/1.0, so that the answer ends with the connection, and returns the answer.
pub(crate) fn request(address: &str, method: &str, path: &str, headers: &str) -> Answer {
    exchange(
        address,
        format!("{method} {path} HTTP/1.0\r\nHost: {address}\r\n{headers}\r\n").as_bytes(),
    )
}

/// Sends bytes and returns the answer.
pub(crate) fn exchange(address: &str, bytes: &[u8]) -> Answer {
    exchange_after(Duration::ZERO, address, bytes)
}

/// The same, over a network that takes a while.
pub(crate) fn exchange_after(delay: Duration, address: &str, bytes: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    std::thread::sleep(delay);
    stream.set_read_timeout(Some(TIMEOUT)).unwrap();
    // The server may answer and close before it has read everything.
    let _ = stream.write_all(bytes);
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let end = answer
        .windows(4)
        .position(|four| four == b"\r\n\r\n")
        .unwrap_or(answer.len());
    let head = String::from_utf8_lossy(&answer[..end]).into_owned();
    let status = head
        .split(' ')
        .nth(1)
        .and_then(|word| word.parse().ok())
        .unwrap_or(0);
    Answer {
        status,
        head,
        body: answer.get(end + 4..).unwrap_or_default().to_vec(),
    }
}

/// A running `blkstat export --listen`, which ends when this is dropped.
pub(crate) struct Exporter {
    pub(crate) child: Child,
    pub(crate) address: String,
}

impl Exporter {
    /// Starts it at a free port, with more arguments.
    pub(crate) fn start(arguments: &str) -> Self {
        let program = blkstat(&format!("export --listen 0 {arguments}"));
        Self::of(program.spawn(Stdio::null(), Stdio::piped()))
    }

    /// Waits until a program that was just started says where it serves metrics.
    pub(crate) fn of(mut child: Child) -> Self {
        let mut line = String::new();
        let mut errors = BufReader::new(child.stderr.take().unwrap());
        errors.read_line(&mut line).unwrap();
        let address = line
            .split("http://")
            .nth(1)
            .unwrap_or_else(|| panic!("{line}"));
        let address = address.split('/').next().unwrap().to_owned();
        // Whoever writes to a closed pipe gets an error.
        std::thread::spawn(move || std::io::copy(&mut errors, &mut std::io::sink()));
        Self { child, address }
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        request(&self.address, "GET", path, "")
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
