//! Accepts connections and serves them until told to stop. One bad connection, or a shortage of file descriptors, ends
//! nothing but itself.

use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::connection::{connection, stopped};
use super::door::Door;
use super::room::Room;

/// Connections at a time. With more, one that was never let in gives way, else the one that waits longest for a request.
const CONNECTIONS: usize = 512;

/// Serves until `shutdown` becomes true or its sender is gone, then lets answers under way finish for up to `drain`.
/// Returns how many connections had to be cut off.
pub async fn serve(
    listeners: Vec<TcpListener>,
    router: Router,
    door: Arc<Door>,
    shutdown: watch::Receiver<bool>,
    drain: Duration,
) -> usize {
    let room = Room::new(CONNECTIONS);
    let mut loops = JoinSet::new();
    for listener in listeners {
        let way = (router.clone(), door.clone());
        loops.spawn(accept(listener, way, shutdown.clone(), room.clone(), drain));
    }
    let mut cut = 0;
    while let Some(ended) = loops.join_next().await {
        cut += ended.unwrap_or(0);
    }
    cut
}

async fn accept(
    listener: TcpListener,
    (router, door): (Router, Arc<Door>),
    mut shutdown: watch::Receiver<bool>,
    room: Room,
    drain: Duration,
) -> usize {
    let mut connections = JoinSet::new();
    let mut pause = Backoff::default();
    loop {
        let accepted = tokio::select! {
            biased;
            () = stopped(&mut shutdown) => break,
            Some(_) = connections.join_next() => continue,
            accepted = listener.accept() => accepted,
        };
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                pause.after(&error).await;
                continue;
            }
        };
        pause = Backoff::default();
        let place = tokio::select! {
            () = stopped(&mut shutdown) => break,
            place = room.place() => place,
        };
        let serving =
            connection(stream, door.clone(), place.around(router.clone()), shutdown.clone());
        connections.spawn(async move {
            tokio::select! {
                () = serving => {}
                () = place.is_needed() => {}
            }
        });
    }
    // New connections are refused from here on.
    drop(listener);
    let all = async { while connections.join_next().await.is_some() {} };
    let _ = timeout(drain, all).await;
    // What is left is cut off when the set is dropped.
    connections.len()
}

/// Waits after a failed accept: not at all where only that connection failed, longer and longer where the system is
/// short of something.
#[derive(Default)]
struct Backoff {
    failures: u32,
}

impl Backoff {
    async fn after(&mut self, error: &io::Error) {
        use ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
        if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
            return;
        }
        if self.failures == 0 {
            tracing::warn!(%error, "cannot accept connections, trying again");
        }
        sleep(Duration::from_millis(10 << self.failures.min(7))).await;
        self.failures = self.failures.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::connection::{BUFFER, FIRST_WAIT, HEADER_WAIT, HEADERS, WRITE_WAIT};
    use crate::http::shared::{PAGES, SCRAPES};

    #[test]
    fn limits_are_those_of_the_readme() {
        let readme = include_str!("../../README.md");
        let (headers, writes) = (HEADER_WAIT.as_secs(), WRITE_WAIT.as_secs());
        let first = FIRST_WAIT.as_secs();
        for row in [
            format!("| connections | {CONNECTIONS} |"),
            format!("| a request's line and headers | {BUFFER} bytes, {HEADERS} headers |"),
            format!("| wait for a first request that is let in | {first} s |"),
            format!("| wait for a request, and for its last header | {headers} s |"),
            format!("| wait for a client that takes nothing of its answer | {writes} s |"),
            format!("| scrapes at a time | {SCRAPES} |"),
            format!("| pages and API documents at a time | {PAGES} |"),
        ] {
            assert!(readme.contains(&row), "the README has no row that begins with: {row}");
        }
    }
}
