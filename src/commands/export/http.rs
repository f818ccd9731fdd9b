//! The HTTP server of metrics.
//!
//! It answers GET and HEAD of three paths, reads no bodies, and holds no more than a few connections, each for a few
//! seconds: a client that is slow, broken or hostile delays nothing else. A connection serves one request, so that none
//! stays idle between scrapes.
//!
//! It uses hyper on a single thread of tokio: both are maintained, and parse hostile input in much of the network.
//! tiny_http, which is smaller, was last released in 2022 and cannot limit the time of a connection.

use core::net::SocketAddr;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::poll_fn;
use std::io;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use anyhow::{Context, Result};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;

use super::published::{Published, start_thread};
use crate::clock::{Clock, RealClock};
use crate::report::prometheus::{CONTENT_TYPE, metrics_text};
use crate::sink::gzip_bytes;

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

/// A running server. It ends when this is dropped.
pub(super) struct RunningServer {
    /// The address at which it listens.
    pub(super) address: SocketAddr,
    /// The server ends when this is closed.
    _stop: UnixStream,
}

impl RunningServer {
    /// Serves in a separate thread.
    ///
    /// # Errors
    /// If the system has no more threads or file descriptors.
    pub(super) fn start(listener: TcpListener, published: &Arc<Published>) -> Result<Self> {
        let address = listener.local_addr().context("cannot start to serve")?;
        let (stop, stopped) = UnixStream::pair().context("cannot start to serve")?;
        stopped.set_nonblocking(true).context("cannot start to serve")?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build();
        let runtime = runtime.context("cannot start to serve")?;
        let published = Arc::clone(published);
        start_thread("http", move || {
            // The server ends with the program. If it fails, the other outputs go on.
            let _ = runtime.block_on(serve(listener, stopped, published));
        })?;
        Ok(Self { address, _stop: stop })
    }
}

/// Takes an address. It is served once [`RunningServer::start`] is called.
///
/// # Errors
/// If it cannot be used, for example because another program has it.
pub(super) fn bind(address: SocketAddr) -> Result<TcpListener> {
    let listener = TcpListener::bind(address).with_context(|| format!("cannot listen at {address}"))?;
    listener.set_nonblocking(true).with_context(|| format!("cannot listen at {address}"))?;
    Ok(listener)
}

/// Accepts connections until `stopped` is closed at its other end.
async fn serve(listener: TcpListener, stopped: UnixStream, published: Arc<Published>) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let stopped = tokio::net::UnixStream::from_std(stopped)?;
    let mut connections: VecDeque<AbortHandle> = VecDeque::with_capacity(MAX_CONNECTIONS);
    loop {
        let accepted = poll_fn(|context| match stopped.poll_read_ready(context) {
            Poll::Ready(_) => Poll::Ready(None),
            Poll::Pending => listener.poll_accept(context).map(Some),
        });
        match accepted.await {
            None => return Ok(()),
            Some(Err(_)) => tokio::time::sleep(ACCEPT_PAUSE).await,
            Some(Ok((stream, _))) => {
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
mod tests {
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
