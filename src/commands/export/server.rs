//! The latest metrics, which one thread publishes and others read: the thread that keeps a file up to date with them for
//! node_exporter's textfile collector, whose disk may not answer, and the HTTP server.
//!
//! The server answers GET and HEAD of three paths, reads no bodies, and holds no more than a few connections, each for a few
//! seconds: a client that is slow, broken or hostile delays nothing else. A connection serves one request, so that none
//! stays idle between scrapes.
//!
//! It uses hyper on a single thread of tokio: both are maintained, and parse hostile input in much of the network.
//! tiny_http, which is smaller, was last released in 2022 and cannot limit the time of a connection.

use core::net::SocketAddr;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;

use crate::clock::{Clock, RealClock};
use crate::intervals::MetricsSnapshot;
use crate::os_error::os_error_text;
use crate::report::prometheus::{CONTENT_TYPE, metrics_text};
use crate::sanitize::sanitize;
use crate::schedule::Deadlines;
use crate::sink::{gzip_bytes, remove_file, replace_file};

/// The number of intervals, and below the additional time, after which a sample is late. A busy host may miss one
/// sample.
const MAX_LATE_INTERVALS: u32 = 2;
const MAX_LATE: Duration = Duration::from_secs(1);

pub(super) struct Published {
    pub(super) interval: Duration,
    latest: Mutex<Option<Latest>>,
}

/// Metrics with the monotonic time of their publication.
pub(super) type Latest = (Arc<MetricsSnapshot>, Duration);

impl Published {
    /// Creates a place for metrics that are published after each interval of this length.
    pub(super) fn new(interval: Duration) -> Self {
        Self { interval, latest: Mutex::new(None) }
    }

    pub(super) fn publish(&self, snapshot: MetricsSnapshot, at: Duration) {
        *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some((Arc::new(snapshot), at));
    }

    /// Returns the latest metrics; `None` before the first.
    pub(super) fn latest(&self) -> Option<Latest> {
        self.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the time since the latest metrics if they are late; `None` if they are not.
    pub(super) fn lateness(&self, now: Duration) -> Option<Duration> {
        let age = now.saturating_sub(self.latest()?.1);
        (age > self.interval * MAX_LATE_INTERVALS + MAX_LATE).then_some(age)
    }
}

/// The longest wait for the removal of the file at the end: its disk may not answer.
const MAX_REMOVAL_WAIT: Duration = Duration::from_secs(1);

/// Writes the file until this is dropped, and then removes it: otherwise node_exporter would go on showing metrics that
/// no longer change.
pub(super) struct TextfileWriter {
    /// Messages that have not been printed yet; disconnected when the thread has ended.
    messages: Receiver<String>,
    /// The thread ends when this is gone.
    stop: Option<Sender<()>>,
}

impl Drop for TextfileWriter {
    fn drop(&mut self) {
        self.stop = None;
        // If it takes longer, nothing can be done.
        while self.messages.recv_timeout(MAX_REMOVAL_WAIT).is_ok() {}
    }
}

impl TextfileWriter {
    /// Writes the file once, and from then on in a thread.
    ///
    /// # Errors
    /// If the file cannot be written, or the system has no more threads.
    pub(super) fn start(path: &Path, every: Duration, published: &Arc<Published>) -> Result<Self> {
        let name = sanitize(&path.display().to_string()).into_owned();
        let mut written_at = None;
        write_latest(path, published, &mut written_at).with_context(|| format!("cannot write {name}"))?;
        let (stop, stopped) = channel();
        let (report, messages) = channel();
        let (path, published) = (path.to_owned(), Arc::clone(published));
        start_thread("textfile", move || {
            let clock = RealClock::new(None);
            let mut deadlines = Deadlines::new(clock.monotonic(), every);
            let mut is_failing = false;
            loop {
                let (due, _) = deadlines.next(clock.monotonic());
                let wait = due.saturating_sub(clock.monotonic());
                if stopped.recv_timeout(wait) != Err(RecvTimeoutError::Timeout) {
                    break;
                }
                let written = write_latest(&path, &published, &mut written_at);
                if written.is_err() != std::mem::replace(&mut is_failing, written.is_err()) {
                    // Without a receiver, the program is ending.
                    let _ = report.send(match written {
                        Err(error) => format!("cannot write {name}: {}; trying again", os_error_text(&error)),
                        Ok(()) => format!("writing {name} again"),
                    });
                }
            }
            // After an error, the file remains, as after a crash.
            let _ = remove_file(&path);
        })?;
        Ok(Self { messages, stop: Some(stop) })
    }

    /// Returns a message about the file; `None` if there is no new one.
    pub(super) fn take_message(&self) -> Option<String> {
        self.messages.try_recv().ok()
    }
}

/// Writes the latest metrics unless they have been written already: the age of the file shows when no samples are
/// taken.
fn write_latest(
    path: &Path,
    published: &Published,
    written_at: &mut Option<Duration>,
) -> std::io::Result<()> {
    if let Some((snapshot, at)) = published.latest().filter(|(_, at)| Some(*at) != *written_at) {
        replace_file(path, &metrics_text(&snapshot, published.interval))?;
        *written_at = Some(at);
    }
    Ok(())
}

/// The size of the stack of each further thread, all of which is locked in memory.
const STACK_BYTES: usize = 256 * 1024;

/// Starts a thread with a small stack.
///
/// # Errors
/// If the system has no more threads.
pub(super) fn start_thread(
    name: &str,
    run: impl FnOnce() + Send + 'static,
) -> Result<std::thread::JoinHandle<()>> {
    let builder = std::thread::Builder::new().name(name.to_owned()).stack_size(STACK_BYTES);
    builder.spawn(run).with_context(|| format!("cannot start the thread {name}"))
}

/// The most connections at a time. A further connection ends the oldest one.
const MAX_CONNECTIONS: usize = 64;
/// The longest time of a connection, from its beginning to the end of the answer.
const MAX_CONNECTION_TIME: Duration = Duration::from_secs(10);
/// The longest time until the head of a request is complete.
const MAX_HEAD_TIME: Duration = Duration::from_secs(5);
/// The most bytes of the head of a request; the least that hyper permits.
const MAX_HEAD_BYTES: usize = 8192;
/// The most headers of a request.
const MAX_HEADERS: usize = 64;
/// The wait after a connection could not be accepted, for example for lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The page at `/`.
const INDEX: &str = "blkstat export\n\n/metrics  metrics for Prometheus\n/healthz  200 while samples are taken in time, otherwise 503\n";

/// Serves metrics in a separate thread, until the program ends. Returns the address at which it listens.
///
/// # Errors
/// If the system has no more threads or file descriptors.
pub(super) fn start_server(listener: TcpListener, published: &Arc<Published>) -> Result<SocketAddr> {
    let address = listener.local_addr().context("cannot start to serve")?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
    let (runtime, published) = (runtime.context("cannot start to serve")?, Arc::clone(published));
    start_thread("http", move || {
        // If it fails, the other outputs go on.
        let _ = runtime.block_on(serve(listener, published));
    })?;
    Ok(address)
}

/// Takes an address. It is served once [`start_server`] is called.
///
/// # Errors
/// If it cannot be used, for example because another program has it.
pub(super) fn bind(address: SocketAddr) -> Result<TcpListener> {
    let listener = TcpListener::bind(address).with_context(|| format!("cannot listen at {address}"))?;
    listener.set_nonblocking(true).with_context(|| format!("cannot listen at {address}"))?;
    Ok(listener)
}

/// Accepts connections.
async fn serve(listener: TcpListener, published: Arc<Published>) -> io::Result<Infallible> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut connections: VecDeque<AbortHandle> = VecDeque::with_capacity(MAX_CONNECTIONS);
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        connections.retain(|connection| !connection.is_finished());
        if connections.len() >= MAX_CONNECTIONS
            && let Some(oldest) = connections.pop_front()
        {
            oldest.abort();
        }
        let connection = serve_connection(stream, Arc::clone(&published));
        connections.push_back(tokio::spawn(connection).abort_handle());
    }
}

/// Answers one request.
async fn serve_connection(stream: TcpStream, published: Arc<Published>) {
    let answer = service_fn(move |request: Request<Incoming>| {
        let response = published.answer(&request);
        async move { Ok::<_, Infallible>(response) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(MAX_HEAD_TIME)
        .max_buf_size(MAX_HEAD_BYTES)
        .max_headers(MAX_HEADERS)
        .keep_alive(false)
        .serve_connection(TokioIo::new(stream), answer);
    // A client that does not finish its request or does not read its answer gets no more time. Errors are ignored,
    // because they are the client's.
    let _ = tokio::time::timeout(MAX_CONNECTION_TIME, connection).await;
}

impl Published {
    fn answer<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        let path = request.uri().path();
        if !matches!(path, "/" | "/metrics" | "/healthz") {
            return text(StatusCode::NOT_FOUND, "not found; see /metrics\n");
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let response = text(StatusCode::METHOD_NOT_ALLOWED, "only GET and HEAD are allowed\n");
            return with_header(response, header::ALLOW, "GET, HEAD");
        }
        match path {
            "/metrics" => self.metrics(request),
            "/healthz" => self.health(),
            _ => text(StatusCode::OK, INDEX),
        }
    }

    fn health(&self) -> Response<Full<Bytes>> {
        match self.lateness(RealClock::new(None).monotonic()) {
            None => text(StatusCode::OK, "ok\n"),
            Some(age) => {
                let message = format!("late: the last sample is {:.1} s old\n", age.as_secs_f64());
                text(StatusCode::SERVICE_UNAVAILABLE, message)
            }
        }
    }

    fn metrics<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        let codings = request.headers().get_all(header::ACCEPT_ENCODING);
        let is_gzip = accepts_gzip(codings.iter().filter_map(|value| value.to_str().ok()));
        let Some((snapshot, _)) = self.latest() else {
            return text(StatusCode::SERVICE_UNAVAILABLE, "no sample yet\n");
        };
        let body = metrics_text(&snapshot, self.interval);
        let body = Bytes::from(if is_gzip { gzip_bytes(&body) } else { body });
        let response = with_header(Response::new(Full::new(body)), header::CONTENT_TYPE, CONTENT_TYPE);
        let response = with_header(response, header::VARY, "Accept-Encoding");
        if is_gzip { with_header(response, header::CONTENT_ENCODING, "gzip") } else { response }
    }
}

fn text(status: StatusCode, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    with_header(response, header::CONTENT_TYPE, "text/plain; charset=utf-8")
}

fn with_header(
    mut response: Response<Full<Bytes>>,
    name: HeaderName,
    value: &'static str,
) -> Response<Full<Bytes>> {
    response.headers_mut().insert(name, HeaderValue::from_static(value));
    response
}

/// Returns whether a client with these `Accept-Encoding` headers reads gzip.
fn accepts_gzip<'a>(accept_encoding: impl Iterator<Item = &'a str>) -> bool {
    accept_encoding.flat_map(|header| header.split(',')).any(|coding| {
        let (name, parameters) = coding.split_once(';').unwrap_or((coding, ""));
        let parameters = parameters.trim().to_ascii_lowercase();
        let quality = parameters.strip_prefix("q=").map_or(Ok(1.0), str::parse::<f64>);
        name.trim().eq_ignore_ascii_case("gzip") && quality.is_ok_and(|quality| quality > 0.0)
    })
}

#[cfg(test)]
mod published_tests {
    use super::*;

    #[test]
    fn metrics_are_late_after_two_intervals_and_a_second() {
        let s = Duration::from_secs;
        let published = Published::new(s(5));
        assert!(published.latest().is_none() && published.lateness(s(99)).is_none());
        published.publish(MetricsSnapshot::default(), s(100));
        assert_eq!((published.lateness(s(111)), published.lateness(s(112))), (None, Some(s(12))));
        published.publish(MetricsSnapshot::default(), s(112));
        assert_eq!((published.lateness(s(112)), published.latest().map(|(_, at)| at)), (None, Some(s(112))));
    }
}

#[cfg(test)]
mod http_tests {
    use super::*;

    #[test]
    fn gzip_is_used_only_where_it_is_accepted() {
        for (header, is_accepted) in [
            ("gzip", true),
            ("deflate, GZIP;q=0.5", true),
            ("gzip;q=0", false),
            ("gzip; Q=0", false),
            ("gzip;q=0.0, br", false),
            ("gzip;q=x", false),
            ("identity", false),
            ("xgzip", false),
            ("", false),
        ] {
            assert_eq!(accepts_gzip([header].into_iter()), is_accepted, "{header}");
        }
    }
}
