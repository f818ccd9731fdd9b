//! Serves the latest metrics over HTTP, in a thread of its own.
//!
//! The server answers GET and HEAD of three paths and reads no bodies. A connection serves one request, within a few seconds,
//! so that none stays idle between scrapes, and all of them share the text of an interval. Whoever has asked is answered before
//! the next connection is accepted, and where there are too many connections, the oldest of those that have not sent a whole
//! request ends first: a client that is slow, broken or hostile delays nobody else.
//!
//! It uses hyper on a single thread of tokio: both are maintained, and parse hostile input in much of the network.
//! tiny_http, which is smaller, was last released in 2022 and cannot limit the time of a connection.

use core::net::{IpAddr, SocketAddr};
use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context, Result};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, header};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::process::{Resource, getrlimit};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::runtime::Runtime;
use tokio::task::AbortHandle;

use super::published::Published;
use super::start_thread;
use crate::clock::{Clock, RealClock};
use crate::os_error::is_lack_of_resources;
use crate::report::prometheus::CONTENT_TYPE;

/// The most connections at a time, if the limit of open files leaves room for them: enough for any burst, and some megabytes.
const MAX_CONNECTIONS: usize = 1000;
/// The files that this program may need for other things.
const OTHER_FILES: u64 = 40;
/// The connections that are served however few files may be open.
const MIN_CONNECTIONS: usize = 4;
/// The connections that the system may hold until they are accepted, in turn. A further one has to try again after a second.
const BACKLOG: u32 = 1024;
/// The longest time of a connection, from its beginning to the end of the answer.
const MAX_CONNECTION_TIME: Duration = Duration::from_secs(10);
/// The longest time until the head of a request is complete.
const MAX_HEAD_TIME: Duration = Duration::from_secs(5);
/// The most bytes of the head of a request; the least that hyper permits.
const MAX_HEAD_BYTES: usize = 8192;
/// The most headers of a request.
const MAX_HEADERS: usize = 64;
/// The wait after a connection could not be accepted for lack of file descriptors or memory.
const ACCEPT_PAUSE: Duration = Duration::from_millis(10);
/// The page at `/`.
const INDEX: &str = "blkstat export\n\n/metrics  metrics for Prometheus\n/healthz  200 while samples are taken in time, otherwise 503\n";

/// An address that was taken, to be served.
pub(super) struct Server {
    runtime: Runtime,
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Takes an address.
    ///
    /// # Errors
    /// If it cannot be used, for example because another program has it.
    pub(super) fn bind(address: SocketAddr) -> Result<Self> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .enable_time()
            .build()
            .context("cannot start to serve")?;
        let listener = {
            let _runtime = runtime.enter();
            listen(address).with_context(|| format!("cannot listen at {address}"))?
        };
        Ok(Self {
            address: listener.local_addr().context("cannot start to serve")?,
            runtime,
            listener,
        })
    }

    /// The address at which it listens.
    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves metrics in a separate thread, until the program ends.
    ///
    /// # Errors
    /// If the system has no more threads.
    pub(super) fn start(self, hosts: Hosts, published: &Arc<Published>) -> Result<()> {
        let answers = Arc::new(Answers {
            hosts,
            published: Arc::clone(published),
        });
        start_thread("http", move || {
            self.runtime.block_on(serve(self.listener, answers));
        })
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };
    // A port is free although connections of an exporter that has ended are not yet forgotten.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// Returns the most connections at a time.
fn max_connections() -> usize {
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(files.saturating_sub(OTHER_FILES))
        .unwrap_or(MAX_CONNECTIONS)
        .clamp(MIN_CONNECTIONS, MAX_CONNECTIONS)
}

/// A connection: the task that serves it, and whether its request is being answered.
struct Connection {
    task: AbortHandle,
    is_answered: Arc<AtomicBool>,
}

/// Accepts connections.
async fn serve(listener: TcpListener, answers: Arc<Answers>) {
    let max = max_connections();
    // The oldest first.
    let mut connections: Vec<Connection> = Vec::with_capacity(max);
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                if connections.len() >= max {
                    make_room(&mut connections, max);
                }
                let is_answered = Arc::new(AtomicBool::new(false));
                let connection =
                    serve_connection(stream, Arc::clone(&is_answered), Arc::clone(&answers));
                connections.push(Connection {
                    task: tokio::spawn(connection).abort_handle(),
                    is_answered,
                });
            }
            Err(error) if is_lack_of_resources(&error) => {
                let open = connections.len();
                make_room(&mut connections, open);
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
            // The client is gone already.
            Err(_) => {}
        }
        // Whoever has asked is answered before the next connection is accepted.
        tokio::task::yield_now().await;
    }
}

/// Makes connections fewer than `max`: forgets those that have ended, and if there are none, ends the oldest of those that have
/// not sent a whole request, then of those that are being answered. An honest client sends its request soon after it connects, so
/// that those who wait to send theirs, or the rest of it, are older.
fn make_room(connections: &mut Vec<Connection>, max: usize) {
    connections.retain(|connection| !connection.task.is_finished());
    if connections.len() < max {
        return;
    }
    let waits = |connection: &Connection| !connection.is_answered.load(Ordering::Relaxed);
    let at = connections.iter().position(waits).unwrap_or(0);
    if at < connections.len() {
        connections.remove(at).task.abort();
    }
}

/// Answers one request.
async fn serve_connection(stream: TcpStream, is_answered: Arc<AtomicBool>, answers: Arc<Answers>) {
    let answer = service_fn(move |request: Request<Incoming>| {
        is_answered.store(true, Ordering::Relaxed);
        let response = answers.answer(&request);
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

/// The host names that requests may be for.
///
/// A web page can give its own name the address 127.0.0.1 and then read what a server there answers (DNS rebinding); but its
/// browser says which name it asks for. A server that other hosts can reach has names that only its owner knows.
pub(super) struct Hosts {
    allowed: Vec<String>,
    /// True if every name is allowed.
    are_all: bool,
}

impl Hosts {
    /// The names for a server at an address: `allowed` ones, and those of this host.
    pub(super) fn new(listens_at: IpAddr, allowed: &[String]) -> Self {
        Self {
            allowed: allowed.to_vec(),
            are_all: allowed.is_empty() && !is_of_this_host(listens_at),
        }
    }

    /// Returns whether a request for this host, perhaps with a port, is answered.
    fn contain(&self, host: &str) -> bool {
        let name = host_name(host);
        self.are_all
            || is_loopback(name)
            || self
                .allowed
                .iter()
                .any(|allowed| host_name(allowed).eq_ignore_ascii_case(name))
    }
}

/// Returns the name or address in `NAME:PORT` or `[ADDRESS]:PORT`, without brackets and without the dot of the root.
fn host_name(host: &str) -> &str {
    let host = host.trim();
    if let Some((address, _)) = host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return address;
    }
    let name = match host.rsplit_once(':') {
        // Without brackets, an address of version 6 has no port.
        Some((name, _)) if !name.contains(':') => name,
        _ => host,
    };
    name.strip_suffix('.').unwrap_or(name)
}

/// Returns whether only this host can reach an address, in the form of version 4 or 6.
pub(super) fn is_of_this_host(address: IpAddr) -> bool {
    address.to_canonical().is_loopback()
}

/// Returns whether a name or address always means the host itself.
fn is_loopback(name: &str) -> bool {
    if let Ok(address) = name.parse::<IpAddr>() {
        return is_of_this_host(address);
    }
    let name = name.to_ascii_lowercase();
    matches!(&*name, "localhost" | "ip6-localhost" | "ip6-loopback") || name.ends_with(".localhost")
}

/// What is answered.
struct Answers {
    hosts: Hosts,
    published: Arc<Published>,
}

impl Answers {
    fn answer<B>(&self, request: &Request<B>) -> Response<Full<Bytes>> {
        if !self.is_host_allowed(request) {
            return text(
                StatusCode::FORBIDDEN,
                "requests for this host name are not answered; see export --allow-host\n",
            );
        }
        let path = request.uri().path();
        if !matches!(path, "/" | "/metrics" | "/healthz") {
            return text(StatusCode::NOT_FOUND, "not found; see /metrics\n");
        }
        if request.method() != Method::GET && request.method() != Method::HEAD {
            let response = text(
                StatusCode::METHOD_NOT_ALLOWED,
                "only GET and HEAD are allowed\n",
            );
            return with_header(response, header::ALLOW, "GET, HEAD");
        }
        match path {
            "/metrics" => self.metrics(request),
            "/healthz" => self.health(),
            _ => text(StatusCode::OK, INDEX),
        }
    }

    /// Old clients name no host; a browser always does.
    fn is_host_allowed<B>(&self, request: &Request<B>) -> bool {
        let mut named = request.headers().get_all(header::HOST).iter();
        let is_named_allowed = named.all(|host| {
            host.to_str()
                .is_ok_and(|host| host.is_empty() || self.hosts.contain(host))
        });
        let in_target = request.uri().host();
        is_named_allowed && in_target.is_none_or(|host| self.hosts.contain(host))
    }

    fn health(&self) -> Response<Full<Bytes>> {
        match self.published.lateness(RealClock::new(None).monotonic()) {
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
        let Some(latest) = self.published.latest() else {
            return text(StatusCode::SERVICE_UNAVAILABLE, "no sample yet\n");
        };
        let body = if is_gzip {
            latest.compressed()
        } else {
            latest.text()
        };
        let response = with_header(
            Response::new(Full::new(body.clone())),
            header::CONTENT_TYPE,
            CONTENT_TYPE,
        );
        let response = with_header(response, header::VARY, "Accept-Encoding");
        if is_gzip {
            with_header(response, header::CONTENT_ENCODING, "gzip")
        } else {
            response
        }
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
    response
        .headers_mut()
        .insert(name, HeaderValue::from_static(value));
    response
}

/// Returns whether a client with these `Accept-Encoding` headers reads gzip.
fn accepts_gzip<'a>(accept_encoding: impl Iterator<Item = &'a str>) -> bool {
    accept_encoding
        .flat_map(|header| header.split(','))
        .any(|coding| {
            let (name, parameters) = coding.split_once(';').unwrap_or((coding, ""));
            let parameters = parameters.trim().to_ascii_lowercase();
            let quality = parameters
                .strip_prefix("q=")
                .map_or(Ok(1.0), str::parse::<f64>);
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

    #[test]
    fn on_this_host_only_its_own_names_are_answered() {
        let local = Hosts::new("127.0.0.1".parse().unwrap(), &[]);
        let mapped = Hosts::new("::ffff:127.0.0.1".parse().unwrap(), &[]);
        let named = Hosts::new("::1".parse().unwrap(), &["db1.example.org".to_owned()]);
        let open = Hosts::new("0.0.0.0".parse().unwrap(), &[]);
        let closed = Hosts::new("0.0.0.0".parse().unwrap(), &["db1.example.org".to_owned()]);
        for (host, expected) in [
            ("localhost", [true; 4]),
            ("LocalHost:9980", [true; 4]),
            ("localhost.", [true; 4]),
            ("a.localhost:1", [true; 4]),
            ("127.0.0.1:9980", [true; 4]),
            ("127.9.9.9", [true; 4]),
            ("[::1]:9980", [true; 4]),
            ("[::ffff:127.0.0.1]", [true; 4]),
            ("db1.example.org", [false, true, true, true]),
            ("DB1.example.org:80", [false, true, true, true]),
            ("evil.example", [false, false, true, false]),
            ("localhost.evil.example", [false, false, true, false]),
            ("10.0.0.1:9980", [false, false, true, false]),
            ("127.0.0.1.evil.example", [false, false, true, false]),
            ("[::1", [false, false, true, false]),
            (":80", [false, false, true, false]),
        ] {
            let found = [&local, &named, &open, &closed].map(|hosts| hosts.contain(host));
            assert_eq!(found, expected, "{host}");
            assert_eq!(mapped.contain(host), local.contain(host), "{host}");
        }
    }
}
