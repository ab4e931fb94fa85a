//! One connection: the handshake if TLS is spoken, then HTTP. Every request goes through the door before a route sees it.
//! All waiting for the client is bounded.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;

use super::activity::Activity;
use super::door::{Door, Network, State};
use super::impatient::Impatient;
use crate::clock;

/// Longest wait for a handshake.
const HANDSHAKE_WAIT: Duration = Duration::from_secs(10);

/// Longest wait for the first request that is let in.
pub(super) const FIRST_WAIT: Duration = Duration::from_secs(10);

/// Longest wait for a whole request header after that. It also ends idle connections, so that it is longer than the usual minute
/// between two scrapes.
pub(super) const HEADER_WAIT: Duration = Duration::from_secs(90);

/// Longest time a client may take nothing of an answer.
pub(super) const WRITE_WAIT: Duration = Duration::from_secs(30);

/// How often an HTTP/2 connection is looked at for that.
const LOOK: Duration = Duration::from_secs(5);

/// Most bytes of a request line with its headers, and most of an answer that wait in a connection.
pub(super) const BUFFER: usize = 64 * 1024;

/// Most headers of a request.
pub(super) const HEADERS: usize = 64;

/// Requests of one HTTP/2 connection at a time.
const STREAMS: u32 = 8;

/// First byte of a TLS record that begins a handshake.
const HANDSHAKE: u8 = 22;

/// Serves a connection until it ends, or until told to stop and the answer under way is finished.
pub async fn connection(
    stream: TcpStream,
    door: Arc<Door>,
    router: Router,
    mut shutdown: watch::Receiver<bool>,
) {
    // Without this the last piece of an answer can wait 40 ms for nothing; failing to set it costs no more than that.
    let _ = stream.set_nodelay(true);
    let Ok(peer) = stream.peer_addr() else { return };
    let from = Network::from(peer.ip());
    let came_by = door.state().await;
    let Some(tls) = came_by.tls.clone() else {
        let plain = Impatient::new(stream, WRITE_WAIT);
        return serve(plain, false, Way { door, came_by, router, from, shutdown }).await;
    };
    let handshake = async {
        if is_plain(&stream).await {
            refuse_plain(stream).await;
            return None;
        }
        let stream = Impatient::new(stream, WRITE_WAIT);
        match TlsAcceptor::from(tls).accept(stream).await {
            Ok(stream) => Some(stream),
            Err(error) => {
                tracing::debug!(%error, %peer, "TLS handshake failed");
                None
            }
        }
    };
    let stream = tokio::select! {
        done = timeout(HANDSHAKE_WAIT, handshake) => done.ok().flatten(),
        () = stopped(&mut shutdown) => None,
    };
    let Some(stream) = stream else { return };
    let http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    serve(stream, http2, Way { door, came_by, router, from, shutdown }).await;
}

/// What requests go through, and what ends their connection.
struct Way {
    door: Arc<Door>,
    /// What the door was when the connection came in.
    came_by: Arc<State>,
    router: Router,
    from: Network,
    shutdown: watch::Receiver<bool>,
}

async fn serve<S>(stream: S, http2: bool, way: Way)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let Way { door, came_by, router, from, mut shutdown } = way;
    let at = door.clone();
    let routes = TowerToHyperService::new(router);
    let activity = Activity::new();
    let all = activity.clone();
    // What the client showed in its handshake, it showed to the door of then.
    let shown_to = came_by.clone();
    let let_in = Arc::new(AtomicBool::new(false));
    let was = let_in.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let (door, routes, open) = (door.clone(), routes.clone(), all.begin());
        let (shown_to, let_in) = (shown_to.clone(), was.clone());
        async move {
            let state = door.state().await;
            let admitted = match state.serves_those_of(&shown_to) {
                true => door.admit(&state, from, request.headers()).await,
                false => Err(come_again()),
            };
            let mut response: Response = match admitted {
                Ok(()) => {
                    let_in.store(true, Ordering::Relaxed);
                    hyper::service::Service::call(&routes, request).await?
                }
                Err(refusal) => refusal,
            };
            state.dress(&mut response);
            Ok::<_, Infallible>(if http2 {
                response.map(|body| open.answer(body))
            } else {
                response
            })
        }
    });
    let serving = builder(http2).serve_connection(TokioIo::new(stream), service).into_owned();
    tokio::pin!(serving);
    let ended = tokio::select! {
        ended = serving.as_mut() => ended,
        () = never_let_in(&let_in, &activity) => return,
        () = async {
            tokio::select! {
                () = stopped(&mut shutdown) => {}
                // Whoever came in by another door has to come in again, once he has had an answer.
                () = async {
                    at.is_another(&came_by).await;
                    activity.has_begun().await;
                } => {}
                () = given_up(&activity, http2) => {}
            }
        } => {
            serving.as_mut().graceful_shutdown();
            tokio::select! {
                ended = serving.as_mut() => ended,
                () = stalled(&activity, http2) => Ok(()),
            }
        }
    };
    if let Err(error) = ended {
        // A client's doing, nearly always.
        tracing::debug!(%error, "connection ended");
    }
}

fn builder(http2: bool) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_WAIT)
        .max_buf_size(BUFFER)
        .max_headers(HEADERS);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(WRITE_WAIT)
        .keep_alive_timeout(WRITE_WAIT)
        .max_concurrent_streams(STREAMS)
        .max_send_buf_size(BUFFER)
        .max_header_list_size(u32::try_from(BUFFER).unwrap_or(u32::MAX));
    // The handshake has settled which; what a client then sends is not asked.
    if http2 { builder.http2_only() } else { builder.http1_only() }
}

/// Until an HTTP/2 connection is idle for too long, or some answer of it is not taken. HTTP/1 has its own timeouts.
async fn given_up(activity: &Activity, http2: bool) {
    while !http2 || (activity.idle(clock::mono()) < HEADER_WAIT && !is_stalled(activity)) {
        sleep(LOOK).await;
    }
}

/// Until what is left of an HTTP/2 connection that ends is not taken.
async fn stalled(activity: &Activity, http2: bool) {
    sleep(WRITE_WAIT).await;
    // Answers that are all in the connection's buffer are seen by nobody.
    while !http2 || (activity.idle(clock::mono()) < WRITE_WAIT && !is_stalled(activity)) {
        sleep(LOOK).await;
    }
}

fn is_stalled(activity: &Activity) -> bool {
    activity.is_stalled(WRITE_WAIT, clock::mono())
}

/// Until a connection has had its time to show that it belongs here, and none of its requests was let in. One that waits for
/// its password to be checked has its answer first.
async fn never_let_in(let_in: &AtomicBool, activity: &Activity) {
    sleep(FIRST_WAIT).await;
    while let_in.load(Ordering::Relaxed) || activity.idle(clock::mono()).is_zero() {
        sleep(FIRST_WAIT / 10).await;
    }
}

/// The answer on a connection whose handshake was asked for less than is asked now.
fn come_again() -> Response {
    let why = "More is asked of connections now: come in again.\n";
    (StatusCode::MISDIRECTED_REQUEST, [("connection", "close")], why).into_response()
}

/// Whether the client speaks something else than TLS, by its first byte; not read, so that TLS still finds it.
async fn is_plain(stream: &TcpStream) -> bool {
    let mut first = [0];
    !matches!(stream.peek(&mut first).await, Ok(1) if first == [HANDSHAKE])
}

/// Says to whoever sent plain HTTP what is wrong. What he sent is not looked at.
async fn refuse_plain(mut stream: TcpStream) {
    const WHY: &str = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n\
                       TLS is spoken here: write https:// in the URL.\n";
    let _ = stream.write_all(WHY.as_bytes()).await;
    let _ = stream.shutdown().await;
    // Closed with something unread, the answer would be lost with it.
    let mut rest = [0; 4096];
    let _ = timeout(Duration::from_secs(1), stream.read(&mut rest)).await;
}

/// Until told to stop, or until nobody is left who could tell.
pub async fn stopped(shutdown: &mut watch::Receiver<bool>) {
    let _ = shutdown.wait_for(|stop| *stop).await;
}
