//! Clients that are slow, broken or hostile: an honest one is answered within a second all the same.
//!
//! Each attack takes half a second; `BLKSTAT_ATTACK_S` is another number of seconds.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::support::fake_root::{FakeRoot, busy_line};
use crate::support::http::{Exporter, exchange_after};
use crate::support::process::{Usage, usage};

/// The longest time until an honest client has its answer.
const MAX_ANSWER: Duration = Duration::from_secs(1);
/// The time from the connection of an honest client to its request, as over a network.
const DELAY: Duration = Duration::from_millis(30);
/// The most memory of the exporter, in KiB.
const MAX_RESIDENT_KIB: u64 = 64 * 1024;
/// The time between two bursts. The exporter under test is not optimized, and shares the processors with its attackers.
const PAUSE: Duration = Duration::from_millis(100);
const REQUEST: &[u8] = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

/// Goes on until a time.
type Attack = fn(&str, Instant);

const ATTACKS: [(&str, Attack); 11] = [
    ("bursts of 50 connections", |address, end| {
        burst(address, end, 50)
    }),
    ("bursts of 200 connections", |address, end| {
        burst(address, end, 200)
    }),
    ("bursts of 500 connections", |address, end| {
        burst(address, end, 500)
    }),
    ("idle connections", idle),
    ("slow requests", slow_requests),
    ("requests that never end", unfinished_requests),
    ("answers that are not read", unread_answers),
    ("hang-ups", hang_ups),
    ("resets", resets),
    ("huge heads", huge_heads),
    ("pipelined requests", pipelined),
];

/// Connects; `None` while the server, or this process, has no room.
fn connect(address: &str) -> Option<TcpStream> {
    let stream = TcpStream::connect(address).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    stream
        .set_write_timeout(Some(Duration::from_secs(5)))
        .ok()?;
    Some(stream)
}

fn send(stream: &mut TcpStream, bytes: &[u8]) {
    // The server may hang up at any time.
    let _ = stream.write_all(bytes);
}

/// Opens connections at once, asks on half of them, and closes them all.
fn burst(address: &str, end: Instant, size: usize) {
    while Instant::now() < end {
        let mut streams: Vec<_> = (0..size).filter_map(|_| connect(address)).collect();
        streams
            .iter_mut()
            .step_by(2)
            .for_each(|stream| send(stream, REQUEST));
        thread::sleep(PAUSE);
    }
}

fn idle(address: &str, end: Instant) {
    let mut streams = Vec::new();
    while Instant::now() < end {
        streams.extend(connect(address));
        if streams.len() > 1500 {
            streams.drain(..750);
        }
        thread::sleep(PAUSE / 50);
    }
}

fn slow_requests(address: &str, end: Instant) {
    let mut streams: Vec<_> = (0..300).filter_map(|_| connect(address)).collect();
    while Instant::now() < end {
        streams.iter_mut().for_each(|stream| send(stream, b"G"));
        streams.extend(connect(address));
        thread::sleep(Duration::from_millis(20));
    }
}

/// More than the server holds, and new ones all the time.
fn unfinished_requests(address: &str, end: Instant) {
    let mut streams = Vec::new();
    while Instant::now() < end {
        let mut stream = connect(address);
        stream
            .iter_mut()
            .for_each(|stream| send(stream, b"GET /metrics HTTP/1.1\r\nX: "));
        streams.extend(stream);
        if streams.len() > 600 {
            thread::sleep(PAUSE / 25);
        }
    }
}

fn unread_answers(address: &str, end: Instant) {
    let mut streams = Vec::new();
    while Instant::now() < end {
        let mut stream = connect(address);
        stream.iter_mut().for_each(|stream| send(stream, REQUEST));
        streams.extend(stream);
        if streams.len() > 500 {
            streams.clear();
        }
        thread::sleep(PAUSE / 50);
    }
}

fn hang_ups(address: &str, end: Instant) {
    while Instant::now() < end {
        drop(connect(address));
        connect(address)
            .iter_mut()
            .for_each(|stream| send(stream, REQUEST));
        connect(address)
            .iter_mut()
            .for_each(|stream| send(stream, b"GET /metr"));
        thread::sleep(PAUSE / 100);
    }
}

/// A connection that is closed although something was not read is reset.
fn resets(address: &str, end: Instant) {
    while Instant::now() < end {
        if let Some(mut stream) = connect(address) {
            send(&mut stream, REQUEST);
            let _ = stream.peek(&mut [0]);
        }
        thread::sleep(PAUSE / 50);
    }
}

fn huge_heads(address: &str, end: Instant) {
    let head = format!(
        "GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: {}",
        "x".repeat(1 << 20)
    );
    while Instant::now() < end {
        connect(address)
            .iter_mut()
            .for_each(|stream| send(stream, head.as_bytes()));
    }
}

fn pipelined(address: &str, end: Instant) {
    let requests = REQUEST.repeat(200);
    while Instant::now() < end {
        if let Some(mut stream) = connect(address) {
            send(&mut stream, &requests);
            let _ = stream.read(&mut [0; 4096]);
        }
    }
}

/// Asks again and again until a time. Returns the longest time to an answer.
fn be_honest(address: &str, end: Instant, attack: &str) -> Duration {
    let mut longest = Duration::ZERO;
    let text = format!("GET /metrics HTTP/1.0\r\nHost: {address}\r\n\r\n");
    while Instant::now() < end {
        let asked = Instant::now();
        let answer = exchange_after(DELAY, address, text.as_bytes());
        longest = longest.max(asked.elapsed());
        assert_eq!(answer.status, 200, "{attack}: after {:?}", asked.elapsed());
        assert!(answer.text().ends_with('\n'), "{attack}: the answer is cut");
        thread::sleep(Duration::from_millis(50));
    }
    longest
}

#[test]
fn an_honest_client_is_answered_within_a_second_during_every_attack() {
    // The attackers need thousands of files.
    let files = getrlimit(Resource::Nofile);
    let all = Rlimit {
        current: files.maximum,
        ..files
    };
    setrlimit(Resource::Nofile, all).unwrap();
    let seconds = std::env::var("BLKSTAT_ATTACK_S").map_or(0.5, |text| text.parse().unwrap());
    let host = FakeRoot::new();
    let lines: String = (0..200)
        .map(|at| busy_line(&format!("8 {at}"), &format!("sd{at}"), 1000 + at, 0))
        .collect();
    host.diskstats(&lines).uptime("100.00").folder("sys/block");
    let exporter = Exporter::start(&format!("--root {} 1s", host.path().display()));
    let address = &*exporter.address;
    for (name, attack) in ATTACKS {
        let end = Instant::now() + Duration::from_secs_f64(seconds);
        let longest = thread::scope(|scope| {
            let attackers = [(); 2].map(|()| scope.spawn(move || attack(address, end)));
            let longest = be_honest(address, end, name);
            for attacker in attackers {
                attacker.join().unwrap();
            }
            longest
        });
        let Usage {
            resident_kib,
            open_files,
        } = usage(exporter.child.id());
        println!("{name}: {longest:?}, {resident_kib} KiB, {open_files} files");
        assert!(longest < MAX_ANSWER, "{name}: {longest:?}");
        assert!(
            resident_kib < MAX_RESIDENT_KIB,
            "{name}: {resident_kib} KiB"
        );
    }
    assert_eq!(exporter.get("/healthz").status, 200);
}
