//! Clients of every kind, and what they get.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::fake_root::{FakeRoot, busy_line};
use crate::support::http::{Exporter, exchange, request};
use crate::support::process::{usage, wait_until};
use crate::support::program::BLKSTAT;

fn host() -> FakeRoot {
    let host = FakeRoot::in_memory();
    host.disk("sda", "8:0", 1024)
        .diskstats(&busy_line("8 0", "sda", 100, 0))
        .uptime("1000.00");
    host
}

fn exporter(host: &FakeRoot) -> Exporter {
    Exporter::start(&format!("--root {}", host.path().display()))
}

#[test]
fn each_client_gets_the_text_format_compressed_if_it_reads_gzip() {
    let host = host();
    let exporter = exporter(&host);
    let get = |headers| request(&exporter.address, "GET", "/metrics", headers);
    let classic = get("");
    assert_eq!(classic.status, 200);
    assert!(
        classic
            .head
            .contains("content-type: text/plain; version=0.0.4; charset=utf-8"),
        "{}",
        classic.head
    );
    assert!(
        classic
            .text()
            .contains("blkstat_disk_reads_completed_total{device=\"sda\"} 100\n")
    );
    assert!(!classic.text().contains("# EOF"));
    // A Prometheus that prefers OpenMetrics reads the text format as well.
    let open = get("Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5\r\n");
    assert!(
        open.head
            .contains("content-type: text/plain; version=0.0.4"),
        "{}",
        open.head
    );
    let gzip = get("Accept-Encoding: gzip\r\n");
    assert!(gzip.head.contains("content-encoding: gzip") && gzip.body.starts_with(&[0x1f, 0x8b]));
    assert!(gzip.body.len() < classic.body.len() / 3);
    let mut text = String::new();
    flate2::read::GzDecoder::new(&gzip.body[..])
        .read_to_string(&mut text)
        .unwrap();
    assert!(text.starts_with("# HELP blkstat_build_info ") && text.ends_with('\n'));
}

#[test]
fn other_paths_and_methods_are_refused() {
    let host = host();
    let exporter = exporter(&host);
    for (method, path, status) in [
        ("GET", "/", 200),
        ("GET", "/healthz", 200),
        ("GET", "/metrics?x=1", 200),
        ("GET", "/nosuch", 404),
        ("GET", "/metrics/", 404),
        ("POST", "/x", 404),
        ("POST", "/metrics", 405),
        ("DELETE", "/healthz", 405),
    ] {
        let answer = request(&exporter.address, method, path, "");
        assert_eq!(answer.status, status, "{method} {path}");
    }
    let head = request(&exporter.address, "HEAD", "/metrics", "");
    assert!(head.status == 200 && head.body.is_empty() && head.head.contains("content-length: "));
    assert!(
        exporter.get("/").text().contains("/metrics") && exporter.get("/healthz").text() == "ok\n"
    );
}

#[test]
fn malformed_and_huge_requests_cost_nothing() {
    let host = host();
    let exporter = exporter(&host);
    let huge_header = format!(
        "GET /metrics HTTP/1.1\r\nX: {}\r\n\r\n",
        "x".repeat(1 << 20)
    );
    let many_headers = format!("GET /metrics HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(500));
    let long_path = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(1 << 20));
    let with_body = format!(
        "POST /metrics HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n{}",
        "x".repeat(1 << 22)
    );
    let requests = [
        ("\0\0\0\0\r\n\r\n", &[0, 400][..]),
        ("GET\r\n\r\n", &[400]),
        ("GET /metrics HTTP/9.9\r\n\r\n", &[0, 400, 505]),
        ("GET /metrics HTTP/1.1\r\nbad header\r\n\r\n", &[400]),
        ("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &[0, 400]),
        ("\u{16}\u{3}\u{1}\u{2}\0\u{1}\0", &[0, 400]),
        (&huge_header, &[0, 400, 431]),
        (&many_headers, &[0, 400, 431]),
        (&long_path, &[0, 400, 414, 431]),
        (&with_body, &[0, 405]),
        (
            "GET /metrics HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffff\r\n",
            &[200],
        ),
    ];
    let send_all = || {
        for (bytes, statuses) in requests {
            let answer = exchange(&exporter.address, bytes.as_bytes());
            let start: String = bytes.chars().take(40).collect();
            assert!(
                statuses.contains(&answer.status),
                "{start:?}: {}",
                answer.head
            );
        }
    };
    send_all();
    let before = usage(exporter.child.id()).resident_kib;
    (0..10).for_each(|_| send_all());
    assert_eq!(exporter.get("/metrics").status, 200);
    let after = usage(exporter.child.id()).resident_kib;
    assert!(after < before + 4096, "{before} KiB, then {after} KiB");
}

#[test]
fn a_thousand_idle_connections_and_slow_ones_delay_nobody() {
    let host = host();
    let exporter = exporter(&host);
    let mut idle = Vec::new();
    let mut before = 0;
    for number in 0..1000 {
        let mut stream = TcpStream::connect(&exporter.address).unwrap();
        if number % 2 == 0 {
            // A request that never ends.
            let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\nX: ");
        }
        idle.push(stream);
        if number % 100 == 0 {
            assert_eq!(exporter.get("/metrics").status, 200);
        }
        if number == 200 {
            before = usage(exporter.child.id()).resident_kib;
        }
    }
    let start = Instant::now();
    assert_eq!(exporter.get("/metrics").status, 200);
    assert!(
        start.elapsed() < Duration::from_secs(5),
        "{:?}",
        start.elapsed()
    );
    let after = usage(exporter.child.id());
    assert!(after.open_files < 1040, "{} files", after.open_files);
    let after = after.resident_kib;
    assert!(after < before + 16384, "{before} KiB, then {after} KiB");
    assert_eq!(exporter.get("/healthz").status, 200);
}

#[test]
fn sampling_and_scrapes_go_on_while_clients_take_all_files() {
    let host = host();
    let script = "ulimit -n 64; exec \"$0\" export --listen 0 --root \"$1\" 100ms";
    let program = Command::new("sh")
        .args(["-c", script, BLKSTAT])
        .arg(host.path())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let exporter = Exporter::of(program);
    let idle: Vec<_> = (0..100)
        .map(|_| TcpStream::connect(&exporter.address).unwrap())
        .collect();
    for _ in 0..20 {
        assert_eq!(exporter.get("/metrics").status, 200);
        std::thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(exporter.get("/healthz").text(), "ok\n");
    drop(idle);
}

#[test]
fn a_web_page_that_gives_its_name_the_address_of_this_host_is_refused() {
    let host = host();
    let local = exporter(&host);
    let named = Exporter::start(&format!(
        "--allow-host db1 --root {}",
        host.path().display()
    ));
    let status = |exporter: &Exporter, name: &str| {
        let request = format!("GET /metrics HTTP/1.0\r\nHost: {name}\r\n\r\n");
        exchange(&exporter.address, request.as_bytes()).status
    };
    for (name, expected) in [
        ("localhost:9980", [200, 200]),
        ("127.0.0.1", [200, 200]),
        ("[::1]:9980", [200, 200]),
        ("db1:9980", [403, 200]),
        ("evil.example:9980", [403, 403]),
        ("localhost\r\nHost: evil.example", [403, 403]),
    ] {
        let found = [&local, &named].map(|exporter| status(exporter, name));
        assert_eq!(found, expected, "{name}");
    }
    let with_name_in_target =
        b"GET http://evil.example/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
    assert_eq!(exchange(&local.address, with_name_in_target).status, 403);
    assert_eq!(
        exchange(&local.address, b"GET /metrics HTTP/1.0\r\n\r\n").status,
        200
    );
}

#[test]
fn parallel_scrapes_of_an_interval_get_the_same() {
    let host = host();
    let exporter = Exporter::start(&format!("--root {} 1h", host.path().display()));
    let bodies: Vec<Vec<u8>> = std::thread::scope(|scope| {
        let scrape = || exporter.get("/metrics").body;
        let threads: Vec<_> = (0..20).map(|_| scope.spawn(scrape)).collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    assert!(
        bodies
            .iter()
            .all(|body| *body == bodies[0] && body.len() > 1000)
    );
}

#[test]
fn health_says_when_no_samples_are_taken() {
    let host = host();
    let exporter = Exporter::start(&format!("--root {} 100ms", host.path().display()));
    assert_eq!(exporter.get("/healthz").status, 200);
    // Reading a pipe waits until something is written to it.
    host.pipe("proc/diskstats");
    let mut late = exporter.get("/healthz");
    wait_until(|| {
        late = exporter.get("/healthz");
        late.status != 200
    });
    assert_eq!(late.status, 503);
    assert!(
        late.text().starts_with("late: the last sample is 1."),
        "{}",
        late.text()
    );
    assert_eq!(
        exporter.get("/metrics").status,
        200,
        "the latest sample is still there, with its time"
    );
}
